"""The `diary` command: writing an entry, and looking at those that were written.

`diary TEXT` writes; `diary list`, `diary show` and `diary search` are words of their own.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from commonplace.doors.cli.main import open_memory, said, show
from commonplace.model.errors import BadValue, NoSuchDocument
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import neutralise, one_line

if TYPE_CHECKING:
    from commonplace.memory import Memory

WORDS = ("list", "show", "search")


def diary_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text",
        nargs="*",
        help="the entry to write ('-' reads it from standard input), or list, show or search and "
        "what follows; none: list the entries",
    )


def diary(arguments: argparse.Namespace) -> int:
    """Write a diary entry, a document of its own that is never changed, or look at the entries.

    'diary list [YEAR[-MONTH[-DAY]]]', 'diary show [ENTRY]' and 'diary search WORDS' look; anything
    else is written down.
    """
    word, *rest = arguments.text or ["list"]
    with open_memory(arguments) as memory:
        if word in WORDS:
            answer = {"list": _listed, "show": _shown, "search": _found}[word](memory, rest)
        else:
            answer = _written(memory, [word, *rest])
    show(answer, as_json=arguments.json)
    return 0


def _written(memory: Memory, words: list[str]) -> Answer:
    done = memory.write_diary(said(" ".join(words)))
    return Answer({"document": done.document}, f"Wrote {done.document}.")


def _listed(memory: Memory, rest: list[str]) -> Answer:
    since = rest[0] if rest else ""
    names = memory.diary(since)
    nothing = f"No entry of the diary begins {since}." if memory.diary() else "The diary is empty."
    return Answer({"entries": names}, "\n".join(names) or nothing)


def _shown(memory: Memory, rest: list[str]) -> Answer:
    start = rest[0] if rest else ""
    names = memory.diary(start) or [name for name in memory.diary() if _begins(name, start)]
    if not names:
        raise NoSuchDocument(start or "diary entry")
    page = memory.read(names[-1])
    return Answer({"document": page.name, "text": page.text}, neutralise(page.text))


def _begins(name: str, start: str) -> bool:
    """Whether an entry is called so: by its time in UTC, which may be another day of the user's."""
    return start in (name, name.removesuffix(".md")) or name.rpartition("/")[2].startswith(start)


def _found(memory: Memory, rest: list[str]) -> Answer:
    if not rest:
        raise BadValue("text", "there is nothing to look for", next_step="diary search WORDS")
    entries = memory.diary()
    hits = memory.search(" ".join(rest), documents=tuple(entries)) if entries else []
    data = [
        {"document": hit.places[0].document, "text": hit.record.text, "score": round(hit.score, 4)}
        for hit in hits
    ]
    lines = [f"{each['document']}  {one_line(str(each['text']))[:200]}" for each in data]
    return Answer(data, "\n".join(lines) or "Nothing found.")
