"""A terminal in which a test types: a pty of a given width, and what it shows, without colours."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

STYLE = re.compile(r"\x1b\[[0-9;]*m")
SECONDS = 60
"""A terminal that shows nothing for so long hangs."""
INTERRUPT = "\x03"


class Shown(Struct, frozen=True):
    """What a terminal showed, and the exit code of what ran in it."""

    text: str
    code: int


def in_terminal(
    script: str,
    *,
    environ: Mapping[str, str],
    columns: int = 80,
    cwd: Path | None = None,
    typed: Sequence[tuple[str, str]] = (),
) -> Shown:
    """Run a script of the shell in a terminal of its own.

    `typed` are pairs: once the terminal has shown the first, the second is typed.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        [shutil.which("bash") or "sh", "-c", script],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environ, "TERM": "xterm"},
        cwd=cwd,
        preexec_fn=_with_this_terminal,
    )
    os.close(theirs)
    try:
        shown = _read(ours, list(typed))
        os.close(ours)
        return Shown(STYLE.sub("", shown.decode()).replace("\r\n", "\n"), process.wait(SECONDS))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _with_this_terminal() -> None:
    """Make the terminal the one that its keys, such as Ctrl+C, are sent to, and have them heeded.

    A shell that runs the tests in the background lets them ignore Ctrl+C.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read(terminal: int, typed: list[tuple[str, str]]) -> bytes:
    shown, told, last, waited = b"", 0, "", 0
    while waited < SECONDS:
        if not select.select([terminal], [], [], 1)[0]:
            waited += 1
            if last == INTERRUPT:
                # A signal right before a program waits for a line is heard after the line.
                os.write(terminal, last.encode())
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break  # Everything that ran in it has ended.
        if not part:
            break
        shown, waited = shown + part, waited if part == b"^C" else 0
        if typed and (at := shown.find(typed[0][0].encode(), told)) >= 0:
            told = at + len(typed[0][0].encode())
            last = typed.pop(0)[1]
            os.write(terminal, last.encode())
    return shown
