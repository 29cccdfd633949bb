"""Find the installed command, which a client can start by itself."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from commonplace.model.errors import NotFound

INSTALL = "uv tool install commonplace-memory"
# Where uvx keeps what it runs: `uv cache clean` takes it away.
PASSING = re.compile(r"[/\\]uv[/\\](cache[/\\])?(archive|environments|builds)-v\d+[/\\]")


def find_command() -> str:
    """The installed command: next to this Python, or on the path."""
    name = "commonplace.exe" if sys.platform == "win32" else "commonplace"
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.is_file() else shutil.which("commonplace")
    if not found:
        raise NotFound(
            "The command 'commonplace' is not installed where a client could start it.",
            next_step=f"'{INSTALL}' or 'pipx install commonplace-memory' does that.",
        )
    if PASSING.search(found):
        raise NotFound(
            f"{found} is in a cache and will not stay there.",
            next_step=f"'{INSTALL}' installs it for good; then run this again.",
        )
    return os.path.abspath(found)
