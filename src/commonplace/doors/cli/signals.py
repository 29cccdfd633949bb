"""Ending a command that goes on until it is told to stop. What it does it does not know."""

from __future__ import annotations

import signal
from _thread import start_new_thread
from collections.abc import Callable


def stopped_by_signals(stop: Callable[[], None]) -> None:
    """Call `stop` at the signals by which people and systems end a command.

    In a thread of its own: a signal comes at any moment, also while what waits to be stopped holds
    the lock that stopping it takes.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: start_new_thread(stop, ()))
