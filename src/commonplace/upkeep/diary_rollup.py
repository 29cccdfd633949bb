"""The yearly roll-up of the diary: a document for each past year, made from its entries.

The entries themselves are only read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from commonplace.library.library import Library
from commonplace.library.record_reader import decoded
from commonplace.markdown import documents
from commonplace.model.errors import NoSuchDocument, Unreadable
from commonplace.model.records import Author, Origin, Record
from commonplace.search.index import Query
from commonplace.storage.journal import Op
from commonplace.trust.neutralise import one_line
from commonplace.trust.origins import lowest
from commonplace.upkeep.compaction.extractive import Extractive

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


def roll_up(library: Library, names: Iterable[str]) -> tuple[str, ...]:
    """Write the roll-ups that are missing or out of date. Returns their names."""
    years: dict[int, dict[str, datetime]] = defaultdict(dict)
    for name in names:
        moment = library.layout.diary_time(name)
        local = moment and library.clock.local(moment)
        if local and local.year < library.clock.today().year:
            years[local.year][name] = local
    return tuple(
        rolled
        for year, entries in sorted(years.items())
        if (rolled := _roll_up_year(library, year, entries))
    )


def _roll_up_year(library: Library, year: int, entries: Mapping[str, datetime]) -> str:
    name = f"{library.layout.diary}{year}.md"
    texts = []
    for entry, moment in entries.items():
        try:
            texts.append((entry, moment, library.text(entry)[0]))
        except (NoSuchDocument, Unreadable):
            continue
    text = documents.disarm(rolled_up(year, texts)).encode()
    author = Author(_origin(library, entries))

    def work() -> str:
        before = library.read(name) if library.look(name) else None
        if before == text or (before and MARK.encode() not in before):
            return ""  # It says so already, or a person made it their own.
        data = library.documents.provenance(name, "", decoded(name, text), author)
        library.documents.put_text(Op.REPLACE, name, before, text, author=author, data=data)
        return name

    return library.locked(work)


def _origin(library: Library, names: Iterable[str]) -> str:
    """The least trusted of all who wrote in these entries; what a program made is no owner's."""
    everything = Query(documents=tuple(names), include_superseded=True, limit=1 << 30)
    origins = [hit.record.origin for hit in library.find(everything)]
    return lowest([Origin.AGENT, *origins])


def rolled_up(year: int, entries: Sequence[tuple[str, datetime, str]]) -> str:
    """The text of a year: a paragraph for each entry, under its month.

    Entries are named by their time in UTC, and told with that of the user's clock.
    """
    count = f"{len(entries)} entries" if len(entries) != 1 else "1 entry"
    parts = [f"# Diary of {year}\n\n{MARK} {count}.*\n"]
    month = 0
    for name, moment, text in entries:
        if moment.month != month:
            month = moment.month
            parts.append(f"\n## {MONTHS[month - 1]}\n")
        parts.append(f"\n**{moment.isoformat(' ')[:16]}** {_gist(text)} ({name})\n")
    return "".join(parts)


def _gist(text: str) -> str:
    """What an entry says, in a line."""
    said = Record("", "diary", text, "")
    return one_line(Extractive().body([said], characters=CHARACTERS))
