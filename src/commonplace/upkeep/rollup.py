"""The yearly roll-up of the diary: a document for each past year, made from its entries.

The entries themselves are read and never touched. What they say it knows only as text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date

from commonplace import documents
from commonplace.errors import NoSuchDocument, Unreadable
from commonplace.index import Query
from commonplace.journal import Op
from commonplace.library import Library
from commonplace.reader import decoded
from commonplace.records import Author, Origin, Record
from commonplace.safety import lowest, one_line
from commonplace.upkeep.summaries import Extractive

MARK = "*Made from the entries below, which are as they were."
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
CHARACTERS = 240
"""What an entry is cut down to."""


def roll_up(library: Library, names: Iterable[str], *, today: date) -> tuple[str, ...]:
    """Write the roll-ups that are missing or out of date. Returns their names."""
    years: dict[int, list[str]] = defaultdict(list)
    for name in names:
        moment = library.layout.diary_time(name)
        if moment and moment.year < today.year:
            years[moment.year].append(name)
    return tuple(
        rolled
        for year, entries in sorted(years.items())
        if (rolled := _roll_up_year(library, year, entries))
    )


def _roll_up_year(library: Library, year: int, names: Sequence[str]) -> str:
    name = f"{library.layout.diary}{year}.md"
    texts = []
    for entry in names:
        try:
            texts.append((entry, library.text(entry)[0]))
        except (NoSuchDocument, Unreadable):
            continue
    text = documents.disarm(rolled_up(year, texts)).encode()
    author = Author(_origin(library, names))

    def work() -> str:
        before = library.vault.read(name) if library.look(name) else None
        if before == text or (before and MARK.encode() not in before):
            return ""  # It says so already, or a person made it their own.
        data = library.provenance(name, "", decoded(name, text), author)
        library.put_text(Op.REPLACE, name, before, text, author=author, data=data)
        return name

    return library.locked(work)


def _origin(library: Library, names: Sequence[str]) -> str:
    """The least trusted of all who wrote in these entries; what a program made is no owner's."""
    everything = Query(documents=tuple(names), include_superseded=True, limit=1 << 30)
    origins = [hit.record.origin for hit in library.find(everything)]
    return lowest([Origin.AGENT, *origins])


def rolled_up(year: int, entries: Sequence[tuple[str, str]]) -> str:
    """The text of a year: a paragraph for each entry, under its month."""
    count = f"{len(entries)} entries" if len(entries) != 1 else "1 entry"
    parts = [f"# Diary of {year}\n\n{MARK} {count}.*\n"]
    month = ""
    for name, text in entries:
        stem = name.rpartition("/")[2].removesuffix(".md")
        if stem[5:7] != month:
            month = stem[5:7]
            parts.append(f"\n## {MONTHS[int(month) - 1]}\n")
        parts.append(f"\n**{stem[:10]} {stem[11:16].replace('-', ':')}** {_gist(text)} ({name})\n")
    return "".join(parts)


def _gist(text: str) -> str:
    """What an entry says, in a line."""
    said = Record("", "diary", text, "")
    return one_line(Extractive().body([said], characters=CHARACTERS))
