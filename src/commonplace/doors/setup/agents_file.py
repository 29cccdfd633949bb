"""A block in AGENTS.md, for clients without hooks: that there is a memory, and how to use it.

The block stands between two comments; every byte outside of them is the person's. It holds no
memory: such a file is often committed.
"""

from __future__ import annotations

from pathlib import Path

from commonplace.doors.setup.clients import Where
from commonplace.doors.setup.config_files import NAME, Kind, Shape, Target

AGENTS = "agents-md"
"""What `setup` calls it, in the place of a client."""
TITLE = "AGENTS.md"
ABOUT = "tells agents that there is a memory, and how to use it"
BEGIN = "<!-- commonplace: begin. `commonplace setup agents-md` writes this block anew. -->"
END = "<!-- commonplace: end. `commonplace unsetup agents-md` takes it out. -->"
BLOCK = f"""\
{BEGIN}
There is a memory that lasts from one session to the next, Commonplace (MCP server `{NAME}`): call \
its tool `brief` when a session starts, or run `commonplace brief`, and heed what the user asked \
for there. When the user prefers, corrects or decides something that lasts, keep it with `store`, \
and look with `search` before you ask what you may have been told.
{END}
"""


def target(where: Where) -> Target:
    """The project's file with what is to stand in it."""
    path = (where.project or Path.cwd()) / TITLE
    return Target(path, Shape(Kind.BLOCK), text=BLOCK, about=ABOUT)
