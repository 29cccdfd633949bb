"""A job of upkeep in a process of its own, for one that serves.

It is told on standard input what to do in which vault, answers on standard output, and ends when
its input does: so it never outlives who asked. One that is left alone answers nobody, and ends when
its job is done. What the jobs do it does not know.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from commonplace.doors.cli.terminal import stopped_by_signals
from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.trust.neutralise import one_line
from commonplace.upkeep.compaction.summarizers import end_programs
from commonplace.upkeep.jobs import BEGUN, GRACE, STOPPABLE, done

NICE = 3
"""How far behind those who are waited for."""


def main() -> None:
    """Do one job, and say what came of it."""
    order = json.loads(sys.stdin.readline())
    answer = _taken()
    answer(BEGUN)
    job, ending = order["job"], threading.Event()
    if job not in STOPPABLE:
        with suppress(AttributeError, OSError):
            os.nice(NICE)
    stop = partial(_stop, ending, grace=GRACE if job in STOPPABLE else 0.0)
    stopped_by_signals(stop)
    # Ctrl+C goes to all of them: who asked says when it is over.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not order.get("alone"):
        threading.Thread(target=_stop_with_input, args=(stop,), daemon=True).start()
    done = _done(order, ending)
    answer(json.dumps(done).encode())
    if order.get("alone") and "failed" in done:
        sys.exit(1)


def _taken() -> Callable[[bytes], object]:
    """What writes a line of the answer; what prints by mistake goes elsewhere."""
    own = os.dup(1)
    os.dup2(2, 1)
    return lambda line: os.write(own, line + b"\n")


def _stop_with_input(stop: Callable[[], None]) -> None:
    os.read(0, 1)
    stop()


def _stop(ending: threading.Event, *, grace: float) -> None:
    """End, and leave no program behind that was asked something."""
    ending.set()
    time.sleep(grace)
    end_programs()
    os._exit(1)


def _done(order: dict[str, Any], ending: threading.Event) -> dict[str, str]:
    try:
        clock = Clock(zone=order["zone"])
        with Memory.open(order["place"], clock=clock, environ={}, **order["opening"]) as memory:
            return {"done": done(memory, order["job"], ending)}
    except Exception as error:  # Who asked is told, whatever it is.
        return {"failed": one_line(str(error)) or repr(error)}


if __name__ == "__main__":
    main()
