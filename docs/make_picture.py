"""Writes docs/terminal.svg, the picture of the README, by running its commands.

python docs/make_picture.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

COMMANDS = (
    'commonplace store "Prefers dark mode in all editors" --kind preference',
    "tail -n 1 ~/commonplace/MEMORY.md",
    'commonplace search "dark or light editor?"',
    "commonplace undo",
)
WIDTH, LINE, LEFT = 96, 21, 24


def shown(command: str, home: str) -> list[str]:
    """The command as it is typed, and what it prints, with a fixed time and a short id."""
    done = subprocess.run(
        ["bash", "-c", command],
        env={"HOME": home, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"},
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    text = re.sub(r"mem-[0-9a-f-]{36}", "mem-0190…", done.stdout)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "2026-11-15T14:30:00Z", text)
    text = re.sub(r"\d{4}-\d\d-\d\d(?!T)", "2026-11-15", text)
    text = re.sub(r"\d\d:\d\d UTC", "14:30 UTC", text)
    lines = [line for line in text.splitlines() if not line.startswith("Learned in")]
    return [f"$ {command}", *lines, ""]


def picture() -> str:
    with tempfile.TemporaryDirectory() as home:
        shown("commonplace init ~/commonplace", home)
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
