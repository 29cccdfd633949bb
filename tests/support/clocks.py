"""Clocks that tests move themselves."""

from __future__ import annotations

import time

from commonplace.model.clock import Clock


class SkippingClock(Clock):
    """The real time, except that sleeping only moves it on: nothing waits."""

    def __init__(self, *, zone: str = "UTC") -> None:
        self.skipped = 0
        super().__init__(zone=zone, now_ns=lambda: time.time_ns() + self.skipped)

    def sleep(self, seconds: float) -> None:
        self.skipped += int(seconds * 1e9) + 1


class FixedClock(Clock):
    """A time that stands still until it is moved."""

    def __init__(self, nanoseconds: int, *, zone: str = "UTC") -> None:
        self.nanoseconds = nanoseconds
        super().__init__(zone=zone, now_ns=lambda: self.nanoseconds)

    def sleep(self, seconds: float) -> None:
        self.nanoseconds += int(seconds * 1e9)
