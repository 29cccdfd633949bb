"""All current memories in one text, to be carried away: markdown under their days, or JSONL."""

from __future__ import annotations

import json
from collections.abc import Sequence

from commonplace.memory import Memory
from commonplace.model.records import Record
from commonplace.tools.hits import described
from commonplace.trust.neutralise import one_line

FORMS = {"markdown": "md", "jsonl": "jsonl"}
"""The forms of an export, each with how its files end."""
EVERYTHING = 1 << 30


def exported(memory: Memory, form: str) -> tuple[str, int]:
    """The text of every memory that counts and is no secret, oldest first, and how many."""
    records = current(memory)[::-1]
    return (_jsonl(records) if form == "jsonl" else _markdown(records, memory)), len(records)


def current(memory: Memory) -> list[Record]:
    """Every memory that counts, the newest first."""
    hits = memory.search("", include_passages=False, current=False, limit=EVERYTHING)
    return [hit.record for hit in hits]


def _jsonl(records: Sequence[Record]) -> str:
    return "".join(f"{json.dumps(described(each), ensure_ascii=False)}\n" for each in records)


def _markdown(records: Sequence[Record], memory: Memory) -> str:
    lines, last = ["# Memories", ""], ""
    for record in records:
        day = memory.clock.day_of(record.said_at) or "undated"
        if day != last:
            lines += [f"## {day}", ""] if not last else ["", f"## {day}", ""]
        last = day
        labels = ", ".join([record.kind, *(f"#{tag}" for tag in record.tags)])
        lines.append(f"- {one_line(record.text)} ({labels})")
    return "\n".join(lines) + "\n"
