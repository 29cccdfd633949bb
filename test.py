#!/usr/bin/env python3
"""Runs the checks of the project, with all their own set-up.

    python3 test.py             everything: lint, types, the direction of imports, every test
    python3 test.py --quick     the same without the tests that take long: a few minutes
    python3 test.py WORDS…      pytest with these words, such as tests/markdown -k escape

What was skipped is named at the end, with the command that would run it. With CI=true, as root on
Debian, programs that are missing are installed first. docs/testing.md has the long runs.
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
SPREAD = ("-n", "2", "--dist", "worksteal")


def run(*command: str) -> None:
    print("$", *command, flush=True)
    done = subprocess.run([str(BIN / command[0]), *command[1:]], cwd=HERE, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def set_up() -> None:
    if not BIN.exists():
        print(f"Making {HOME} …", flush=True)
        venv.create(HOME, with_pip=True)
    pip = ("python", "-m", "pip", "install", "-q", "--disable-pip-version-check")
    run(*pip, "--require-hashes", "-r", "tests/requirements.txt")
    run(*pip, "--no-deps", "--no-build-isolation", "-e", ".")


def main() -> None:
    if sys.version_info < (3, 11):
        sys.exit("Commonplace needs Python 3.11 or newer.")
    wanted = sys.argv[1:]
    if wanted in (["--help"], ["-h"]):
        sys.exit(print(__doc__))
    set_up()
    if wanted in ([], ["--quick"]):
        run("ruff", "check", ".")
        run("ruff", "format", "--check", ".")
        run("mypy")
        run("lint-imports")
        wanted += SPREAD
    run("python", "-m", "pytest", *wanted)


if __name__ == "__main__":
    main()
