"""The terminal: colour, questions, a progress bar for slow work, the signals that end a command."""

from __future__ import annotations

import os
import signal
import sys
from _thread import start_new_thread
from collections.abc import Callable, Mapping
from typing import TextIO

from commonplace.model.clock import monotonic

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def has_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour: on a terminal, unless NO_COLOR says not to."""
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    return bool(environ.get("FORCE_COLOR")) or stream.isatty()


def paint(text: str, style: str, *, stream: TextIO | None = None) -> str:
    if not has_colour(stream or sys.stdout):
        return text
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def at_terminal() -> bool:
    """Whether there may be somebody to ask."""
    return bool(sys.stdin and sys.stdin.isatty())


def agrees(question: str) -> bool:
    """Whether the person at the terminal says yes. The end of what they type is a no."""
    return ask(f"{question} [y/N] ") in ("y", "yes")


def ask(question: str) -> str:
    """What the person at the terminal answers, in small letters; nothing at the end of input."""
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower()


def answer_to(question: str) -> str:
    """What the person at the terminal answers, on one line. Where they end typing: EOFError."""
    print(question, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        print(file=sys.stderr)
        raise EOFError
    return line.strip()


def progress_bar(what: str, *, stream: TextIO | None = None) -> Callable[[int, int], None]:
    """A bar on stderr that appears once the work has taken a second."""
    out, started = stream or sys.stderr, monotonic()
    shown = False

    def step(done: int, total: int) -> None:
        nonlocal shown
        if not out.isatty() or (not shown and monotonic() - started < 1):
            return
        shown = True
        width = 30
        filled = width * done // total if total else width
        bar = "█" * filled + "·" * (width - filled)
        print(f"\r{what} {bar} {done:,}/{total:,}", end="", file=out, flush=True)
        if done >= total:
            print(file=out)

    return step


def stopped_by_signals(stop: Callable[[], None]) -> None:
    """Call `stop` at the signals by which people and systems end a command.

    In a thread of its own: a signal comes at any moment, also while what waits to be stopped holds
    the lock that stopping it takes.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: start_new_thread(stop, ()))
