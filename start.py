#!/usr/bin/env python3
"""Shows Commonplace at work, with all its own set-up.

It ends by serving the page and MCP, with the link to them, where their packages can be installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOME = HERE / ".venv"
BIN = HOME / ("Scripts" if os.name == "nt" else "bin")
USAGE = "python3 start.py [--no-serve] [vault]"


def run(*command: str) -> None:
    print("\n$", *command, flush=True)
    done = subprocess.run([str(BIN / command[0]), *command[1:]], check=False)
    if done.returncode:
        sys.exit(done.returncode)


def install(what: str) -> bool:
    pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "-e", what]
    return subprocess.run([str(BIN / "python"), *pip], check=False).returncode == 0


def check(named: list[str]) -> None:
    """Only a path is a vault's: whoever asks for help wants nothing set up."""
    if {"--help", "-h"} & {*named}:
        print(f"{USAGE}\n\n{__doc__}")
        sys.exit()
    if strange := next((word for word in named if word.startswith("-")), ""):
        sys.exit(f"There is no option {strange}. Use: {USAGE}")


def main(given: list[str]) -> None:
    if sys.version_info < (3, 11):
        sys.exit("Commonplace needs Python 3.11 or newer.")
    named = [word for word in given if word != "--no-serve"]
    check(named)
    vault = str(Path(named[0] if named else HERE / "my-memory").expanduser())
    if not BIN.exists():
        print(f"Making {HOME} …", flush=True)
        venv.create(HOME, with_pip=True)
    serves = "--no-serve" not in given and install(f"{HERE}[gateway]")
    if not serves and not install(str(HERE)):
        sys.exit("Commonplace could not be installed; pip says why above.")
    at = ("commonplace", "--vault", vault)
    run(*at, "init", "--yes")
    run(*at, "store", "Prefers dark mode in all editors", "--kind", "preference")
    run(*at, "search", "dark or light editor?")
    run(*at, "status")
    print(f"\nYour memory is plain markdown in {vault}: open MEMORY.md in any editor.")
    print(f"Next: {BIN / 'commonplace'} --help")
    if serves:
        run(*at, "serve")
    elif "--no-serve" not in given:
        print("The page needs the extra 'gateway': pip install '.[gateway]', then 'serve'.")


if __name__ == "__main__":
    main(sys.argv[1:])
