"""Commonplace as in with_commonplace, but a session's turns are stored at once, with one fsync.

Other peers are given a hundred turns at a time or write none to the disk before they answer.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from adapter import run
from with_commonplace import encoding, made_ready, search, start


def add(peer: Any, records: list[dict[str, str]]) -> None:
    ordered = sorted(records, key=lambda record: (record["date"], record["session"]))
    for (date, session), turns in groupby(ordered, lambda each: (each["date"], each["session"])):
        peer["clock"].put(date)
        peer["memory"].session = session
        said = list(turns)
        told = [{"text": each["text"], "username": each["speaker"]} for each in said]
        stored = peer["memory"].store_all(told)
        peer["ids"].update(zip((each.id for each in stored), (each["id"] for each in said)))
    made_ready(peer)


if __name__ == "__main__":
    run(start, add, search, encoding)
