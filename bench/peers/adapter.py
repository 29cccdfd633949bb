"""What every peer's script shares: reads the task, times add and search, writes what was found.

It does not know any peer. A script gives three functions: `start(home, endpoint)` returns whatever
the peer works with, `add(peer, records)` takes records in, `search(peer, question, limit)` gives
the ids found, best first. One that makes its vectors itself also gives `encoding()`, the seconds
that it has taken for them so far; of the others the encoder on loopback knows.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any


def run(
    start: Callable[..., Any],
    add: Callable[..., Any],
    search: Callable[..., Any],
    encoding: Callable[[], float] | None = None,
) -> None:
    """Do the task named on the command line."""
    task = json.loads(Path(sys.argv[1]).read_text())
    home = Path(task["home"])
    encoding = encoding or partial(_spent, task["endpoint"])
    if "cold" in task:
        search(start(home, task["endpoint"]), task["cold"], 10)
        return
    found, added, encoded, asked = [], 0.0, 0.0, []
    for number, group in enumerate(task["groups"]):
        peer = start(home / str(number), task["endpoint"])
        spent, before = encoding(), time.perf_counter()
        add(peer, group["records"])
        added += time.perf_counter() - before
        encoded += encoding() - spent
        for question in group["questions"]:
            before = time.perf_counter()
            found.append(search(peer, question, 50))
            asked.append(time.perf_counter() - before)
    told = {"found": found, "added": added, "encoded": encoded, "asked": asked}
    Path(task["result"]).write_text(json.dumps(told))


def _spent(endpoint: str) -> float:
    """Seconds that the encoder on loopback has taken so far."""
    # Not above: a cold start would pay for it.
    from urllib.request import urlopen

    with urlopen(f"{endpoint}/spent") as answer:
        return float(json.load(answer)["seconds"])


def told(record: dict[str, str]) -> str:
    """A turn as text: when, who, what; a memory is nobody's."""
    who = f"{record['speaker']}: " if record["speaker"] else ""
    return f"[{record['date']}] {who}{record['text']}"
