"""The log of errors that nobody was there to read: one line each, at most two small files.

It needs no vault: a hook that finds none must be able to say so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from commonplace.model.errors import StrangeFile
from commonplace.storage import machine_files

NAME = "hooks.log"
MOST = 64 * 1024
"""Bytes of the log; one older log of the same size is kept beside it."""
LINE = 400


def log_path(environ: Mapping[str, str] = os.environ) -> str:
    """Where the log of this user is; empty where no home is known."""
    above = machine_files.user_directory(environ, "XDG_STATE_HOME", ".local/state")
    # It may be behind a link of the person's own.
    return above and os.path.join(os.path.realpath(above), NAME)


def note(what: str, *, at: str, environ: Mapping[str, str] = os.environ) -> None:
    """Add a line with its time. Errors of the log itself are ignored."""
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
