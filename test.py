#!/usr/bin/env python3
"""Runs every check of the project, with all its own set-up: python3 test.py [pytest arguments]."""

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
    print("$", *command, flush=True)
    done = subprocess.run([str(BIN / command[0]), *command[1:]], cwd=HERE, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    if sys.version_info < (3, 11):
        sys.exit("Commonplace needs Python 3.11 or newer.")
    if not BIN.exists():
        print(f"Making {HOME} …", flush=True)
        venv.create(HOME, with_pip=True)
    run("python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "-e", ".[test]")
    wanted = sys.argv[1:]
    if not wanted:
        run("ruff", "check", ".")
        run("ruff", "format", "--check", ".")
        run("mypy")
        run("lint-imports")
    run("python", "-m", "pytest", *(wanted or ["-n", "2", "--dist", "worksteal"]))


if __name__ == "__main__":
    main()
