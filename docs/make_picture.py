"""Writes docs/terminal.svg, the picture of the README, by running its commands.

python docs/make_picture.py
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from html import escape
from pathlib import Path

COMMANDS = (
    'commonplace remember "Prefers dark mode in all editors" --kind preference',
    "tail -n 1 ~/commonplace/MEMORY.md",
    'commonplace search "dark or light editor?"',
    "commonplace undo",
)
WIDTH, LINE, LEFT = 96, 21, 24


def shown(command: str, home: str) -> list[str]:
    """The command as it is typed, and what a terminal shows, with a fixed time and a short id."""
    text = _in_terminal(command, home)
    text = re.sub(r"mem-[0-9a-f-]{36}", "mem-0190…", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "2026-11-15T14:30:00Z", text)
    text = re.sub(r"\d{4}-\d\d-\d\d(?!T)", "2026-11-15", text)
    text = re.sub(r"\d\d:\d\d(?= UTC| ·)", "14:30", text)
    text = re.sub(r"· [0-9a-f]{8}$", "· 5e1f09c2", text, flags=re.MULTILINE)
    return [f"$ {command}", *text.splitlines(), ""]


def _in_terminal(command: str, home: str) -> str:
    """What a command prints to a person, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, WIDTH, 0, 0))
    process = subprocess.Popen(
        ["bash", "-c", command],
        env={
            "HOME": home,
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "NO_COLOR": "1",
            "LANG": "C.UTF-8",
        },
        cwd=home,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    said = b""
    while part := _part(ours):
        said += part
    os.close(ours)
    if process.wait():
        sys.exit(f"{command}\n{said.decode()}")
    return said.decode().replace("\r\n", "\n")


def _part(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""  # Everything that ran in it has ended.


def picture() -> str:
    with tempfile.TemporaryDirectory() as home:
        shown("commonplace init --yes", home)
        lines = [line for command in COMMANDS for line in shown(command, home)][:-1]
    height = 2 * LEFT + LINE * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="880" height="{height}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">',
        f'<rect width="880" height="{height}" rx="10" fill="#1c2128"/>',
    ]
    for number, line in enumerate(lines):
        cut = line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
        colour = "#7ee0a1" if line.startswith("$") else "#d5dbe3"
        down = LEFT + 14 + LINE * number
        parts.append(
            f'<text x="{LEFT}" y="{down}" fill="{colour}" xml:space="preserve">{escape(cut)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    (Path(__file__).parent / "terminal.svg").write_text(picture(), encoding="utf-8")
