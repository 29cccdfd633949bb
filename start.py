#!/usr/bin/env python3
"""Shows Commonplace at work, with all its own set-up.

It makes your vault, ~/commonplace unless you name another, and stores an example in it if it is
empty. It ends by serving the page and MCP, with the link to them, where their packages can be
installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOME = HERE / ".venv"
BIN = HOME / ("Scripts" if os.name == "nt" else "bin")
USAGE = "python3 start.py [--no-serve] [vault]"
STOPPED = 130
PAGE = "The page needs the extra 'gateway': pip install '.[gateway]', then 'serve'."


def run(*command: str) -> int:
    """Show a command and run it. Returns its exit code."""
    print("\n$", *(f'"{word}"' if " " in word else word for word in command), flush=True)
    process = subprocess.Popen([str(BIN / command[0]), *command[1:]])
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            pass  # The command has it too, and ends by itself.


def check_run(*command: str) -> None:
    code = run(*command)
    if code:
        sys.exit(code)


def is_empty(at: tuple[str, ...]) -> bool:
    """Whether nothing is remembered yet."""
    words = [str(BIN / at[0]), *at[1:], "list", "--limit", "1", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode == 0 and not json.loads(done.stdout or "[]")


def make_environment() -> None:
    print(f"Making an environment for Commonplace in {HOME} …", flush=True)
    try:
        venv.create(HOME, with_pip=True)
    except BaseException:
        shutil.rmtree(HOME, ignore_errors=True)  # Half of one would be taken for a whole.
        raise


def install(what: str) -> bool:
    """Install with pip, and say what it is at. Returns whether that went well."""
    pip = ["-m", "pip", "install", "--disable-pip-version-check", "-e", what]
    words = [str(BIN / "python"), *pip]
    said = []
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            said.append(line)
            show_progress(line.strip())
    show_progress("")
    if process.returncode:
        print("".join(said), end="", file=sys.stderr)
    return not process.returncode


def show_progress(line: str) -> None:
    """Show what pip does on a line of its own, at a terminal alone."""
    if sys.stdout.isatty():
        print(f"\r\x1b[K  {line[:70]}" if line else "\r\x1b[K", end="", flush=True)


def set_up(*, serves: bool) -> bool:
    """Install what is needed. Returns whether the page can be served."""
    if not BIN.exists():
        make_environment()
    print("Installing Commonplace and its packages there; the first time takes a minute …")
    if serves and install(f"{HERE}[gateway]"):
        return True
    if not install(str(HERE)):
        sys.exit("Commonplace could not be installed; pip says why above.")
    return False


def check(named: list[str]) -> None:
    """Only a path is a vault's: whoever asks for help wants nothing set up."""
    if {"--help", "-h"} & {*named}:
        print(f"{USAGE}\n\n{__doc__}")
        sys.exit()
    if strange := next((word for word in named if word.startswith("-")), ""):
        sys.exit(f"There is no option {strange}. Use: {USAGE}")


def show(at: tuple[str, ...]) -> None:
    check_run(*at, "init", "--yes")
    if is_empty(at):
        check_run(*at, "remember", "Prefers dark mode in all editors", "--kind", "preference")
        check_run(*at, "search", "dark or light editor?")
    else:
        check_run(*at, "list", "--limit", "3")


def main(given: list[str]) -> int:
    if sys.version_info < (3, 11):
        sys.exit("Commonplace needs Python 3.11 or newer.")
    named = [word for word in given if word != "--no-serve"]
    check(named)
    wanted = "--no-serve" not in given
    serves = set_up(serves=wanted)
    # Without a name it is the vault that plain `commonplace` finds.
    vault = ("--vault", str(Path(named[0]).expanduser())) if named else ()
    at = ("commonplace", *vault)
    show(at)
    command = " ".join((str(BIN / "commonplace"), *vault))
    print(f"\nNext: {command}     # shows the commands of every day", flush=True)
    print(f"      {command} setup     # connects your agents")
    if serves:
        print("\nThe page is served until you press Ctrl+C.")
        return run(*at, "serve")
    if wanted:
        print(PAGE)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("\nStopped.")
        sys.exit(STOPPED)
