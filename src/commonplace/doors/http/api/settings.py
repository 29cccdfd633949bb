"""Settings over HTTP: the options of a vault, and where it is."""

from __future__ import annotations

from typing import Annotated, Any

from commonplace.doors.http.routes import route
from commonplace.memory import Memory
from commonplace.model.options import is_url
from commonplace.storage.option_files import FILE
from commonplace.tools.tool import Argument


@route("GET", "/options", scope="admin")
def list_options(memory: Memory) -> Any:
    """Every option with its value, what it does, where it is set and whether it may be changed."""
    file = "" if is_url(memory.place) else str(memory.root / FILE)
    return {"options": memory.settings(), "file": file}


@route("POST", "/options", scope="admin")
def set_option(
    memory: Memory,
    option: Annotated[str, Argument("its name, such as text_limit", max_length=100)],
    value: Annotated[str, Argument("its new value, as text", max_length=2000)] = "",
    unset: Annotated[bool, Argument("take it out of the file, back to its default")] = False,
) -> Any:
    """Set an option in the vault's file, whose comments stay; for the owner alone.

    The gateway heeds it at once.
    """
    memory.set_option(option, None if unset else value)
    return {"option": option, "value": None if unset else value}
