#!/usr/bin/env python3
"""Shows Commonplace at work, with all its own set-up: python3 start.py [vault]."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOME = HERE / ".venv"
BIN = HOME / ("Scripts" if os.name == "nt" else "bin")


def run(*command: str) -> None:
    print("\n$", *command, flush=True)
    done = subprocess.run([str(BIN / command[0]), *command[1:]], check=False)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    if sys.version_info < (3, 11):
        sys.exit("Commonplace needs Python 3.11 or newer.")
    vault = str(Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "my-memory").expanduser())
    if not BIN.exists():
        print(f"Making {HOME} …", flush=True)
        venv.create(HOME, with_pip=True)
    install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "-e", str(HERE)]
    subprocess.run([str(BIN / "python"), *install], check=True)
    at = ("commonplace", "--vault", vault)
    run(*at, "init", "--yes")
    run(*at, "store", "Prefers dark mode in all editors", "--kind", "preference")
    run(*at, "search", "which editor theme?")
    run(*at, "status")
    print(f"\nYour memory is plain markdown in {vault}: open MEMORY.md in any editor.")
    print(f"Next: {BIN / 'commonplace'} --help")


if __name__ == "__main__":
    main()
