"""What went wrong where nobody could be told: one line each, in a log that cannot grow large.

It knows a file and lines, nothing of vaults: a hook that finds no vault has to be able to say so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from commonplace.model.errors import StrangeFile
from commonplace.storage import machine_files

NAME = "hooks.log"
MOST = 64 * 1024
"""Bytes of the log; one older log of the same size is kept beside it."""
LINE = 400


def log_path(environ: Mapping[str, str] = os.environ) -> str:
    """Where the log of this user is; empty where no home is known."""
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    local = environ.get("LOCALAPPDATA") if sys.platform == "win32" else ""
    above = environ.get("XDG_STATE_HOME") or local or (home and f"{home}/.local/state")
    # It may be behind a link of the person's own.
    return os.path.join(os.path.realpath(os.path.join(above, "commonplace")), NAME) if above else ""


def note(what: str, *, at: str, environ: Mapping[str, str] = os.environ) -> None:
    """Add a line with its time. Trouble with the log itself is nobody's trouble."""
    path = log_path(environ)
    line = f"{at} {' '.join(what.split())}"[:LINE].encode("utf-8", "replace") + b"\n"
    try:
        machine_files.make_private(os.path.dirname(path))
        descriptor = machine_files.opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            full = os.fstat(descriptor).st_size + len(line) > MOST
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
        if full:
            os.replace(path, f"{path}.1")
    except (OSError, StrangeFile):
        return


def last(count: int, environ: Mapping[str, str] = os.environ) -> list[str]:
    """The newest lines, oldest first."""
    path, found = log_path(environ), b""
    for name in (f"{path}.1", path):
        try:
            found += machine_files.read(name)
        except (OSError, StrangeFile):
            continue
    return found.decode("utf-8", "replace").splitlines()[-count:]
