"""The rolling window: the main document stays within so many records and so many characters.

After an append the oldest records leave it, for the archive where there is one. The newest record
stays, and so does a line that a person wrote by hand, except in a notebook, where every line is by
hand. A notebook's documents also have a cap: past it they must be condensed before more comes in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.library import marking
from commonplace.library.erase import spans_of
from commonplace.library.library import Library
from commonplace.library.record_reader import decoded
from commonplace.markdown.layouts import Layout
from commonplace.markdown.record_lines import alone, plain
from commonplace.model.errors import Refused
from commonplace.model.options import Options
from commonplace.model.records import DERIVED, PASSAGE, SYSTEM, Origin, Record
from commonplace.storage.journal import Change, Cut, Entry, Op, without

if TYPE_CHECKING:
    from commonplace.markdown.documents import Item, Parsed

EXACT_RECORDS, EXACT_CHARACTERS = 200, 40_000
"""Limits up to which each append takes out just what is too much …"""
SLACK = 8
"""… and past which an eighth goes at once: rewriting a long document each time is slow."""
APART = ("archive/", "diary/")
"""Directories of documents that are in no prompt."""


class Window(Struct, frozen=True):
    """How long a document may get, and where the overflow goes; 0 is no limit."""

    document: str
    archive: str = ""
    records: int = 0
    characters: int = 0
    by_hand: bool = False
    """Whether lines that people wrote go as well: undated ones first, the topmost of them first."""


def window_of(layout: Layout, options: Options) -> Window | None:
    """The window of a vault; None when it has none."""
    records, characters = options.memory_max_records, options.memory_max_chars
    if not layout.memory or not (records or characters):
        return None
    by_hand = layout.name == "notebook"
    return Window(layout.memory, layout.trims_to, records, characters, by_hand)


def trim(library: Library, window: Window) -> tuple[str, ...]:
    """Bring the document back within its limits. Returns the ids of what was taken out."""
    known = library.known_of(window.document)
    # Neither are there more records than lines, nor more characters than bytes.
    if known is None or not _exceeds(window, known.lines, known.signature.size):
        return ()
    entry = library.locked(lambda: _trim(library, window))
    return entry.ids if entry else ()


def _trim(library: Library, window: Window) -> Entry | None:
    name = window.document
    if library.look(name) is None:
        return None
    data = library.read(name)
    text = decoded(name, data)
    parsed = library.parse(name, text)
    chosen = _chosen(library, parsed, text, window)
    if not chosen:
        return None
    there = _came_back(library, window.archive, [item.record for item in chosen])
    moved = [item for item in chosen if item.record.id not in there]
    ids = (*(item.record.id for item in moved), *there)
    spans = joined(spans_of(text, parsed, set(ids)))
    changes: list[Change] = [Cut(name, spans)]
    if window.archive and moved:
        changes.insert(0, library.to_append(window.archive))
    texts: marking.Texts = {name: (data, without(data, spans))}
    if not window.archive:
        lost = library.chains.loss(marking.leaving(library.writer, texts))
        changes, texts = marking.marked(library.writer, changes, texts, lost.marks)
    entry = library.entry(
        Op.TRIM,
        changes,
        ids=ids,
        removed=ids,
        lines=tuple(as_line(text[i.start : i.end], i.record) for i in moved),
        author=SYSTEM,
    )
    return library.replace_texts(entry, texts)


def _chosen(library: Library, parsed: Parsed, text: str, window: Window) -> tuple[Item, ...]:
    """The records to remove from a text of the document."""
    known = library.reader.as_indexed(item.record for item in parsed.items)
    items = [
        (item, window.by_hand or bool(item.record.timestamp) or record.origin != Origin.OWNER)
        for item, record in zip(parsed.items, known)
        if item.record.kind != PASSAGE
    ]
    return overflow(items, size=len(text), window=window)


def without_oldest(library: Library, text: str, window: Window) -> str:
    """The text as it will be within the limits."""
    chosen = _chosen(library, library.parse(window.document, text), text, window)
    for item in reversed(chosen):
        text = text[: item.start] + text[item.end :]
    return text


def _came_back(library: Library, archive: str, records: Sequence[Record]) -> tuple[str, ...]:
    """The ids of those that went to the archive before: a stale save brought them back."""
    places = library.places_of
    known = [r for r in records if archive in (place.document for place in places(r.id))]
    return archived(library, archive, known) if archive and known else ()


def archived(library: Library, archive: str, records: Iterable[Record]) -> tuple[str, ...]:
    """The ids of those that stand in the archive word for word."""
    if library.stat(archive) is None:
        return ()
    parsed = library.parse(archive, decoded(archive, library.read(archive)))
    there = {item.record.id: item.record for item in parsed.items}
    return tuple(record.id for record in records if there.get(record.id) == record)


def overflow(items: Sequence[tuple[Item, bool]], *, size: int, window: Window) -> tuple[Item, ...]:
    """The records to take out, in the order of the document, so that what stays fits.

    `items` are the records, each with whether it may go; `size` is that of the whole document.
    """
    count = len(items)
    if not _exceeds(window, count, size):
        return ()
    aim = Window(
        window.document,
        records=_less(window.records, EXACT_RECORDS),
        characters=_less(window.characters, EXACT_CHARACTERS),
    )
    oldest = sorted((item for item, may_go in items[:-1] if may_go), key=_age)
    chosen: list[Item] = []
    for item in oldest:
        if not _exceeds(aim, count, size):
            break
        chosen.append(item)
        count, size = count - 1, size - (item.end - item.start)
    return tuple(sorted(chosen, key=lambda item: item.start))


def _exceeds(window: Window, records: int, characters: int) -> bool:
    return bool(
        (window.records and records > window.records)
        or (window.characters and characters > window.characters)
    )


def _less(limit: int, exact: int) -> int:
    return limit - limit // SLACK if limit > exact else limit


def _age(item: Item) -> tuple[str, str, int]:
    """Older first: by time, in a millisecond by a given id, which sorts finer, then by place."""
    record = item.record
    return record.timestamp, "" if DERIVED.match(record.id) else record.id, item.start


def as_line(raw: str, record: Record) -> str:
    """An item as it stood, as a line of an entry: whole, and with line feeds only."""
    line = raw.replace("\r\n", "\n").replace("\0", "").removesuffix("\n") + "\n"
    return alone(line, record)


def joined(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same stretches with neighbours in one."""
    made: list[tuple[int, int]] = []
    for start, length in spans:
        if made and sum(made[-1]) == start:
            start, length = made[-1][0], made.pop()[1] + length
        made.append((start, length))
    return tuple(made)


def told_size(text: str) -> int:
    """The characters of a text without what lines carry for programs."""
    return len(plain(text))


def set_cap(library: Library, options: Options) -> None:
    """Have a notebook's documents keep within the cap, whoever writes them."""
    if library.layout.name == "notebook" and options.document_cap:
        library.writer.check_growth = lambda name, before, after: check_cap(
            library, options, name, before, after
        )


def check_cap(library: Library, options: Options, name: str, before: str, after: str) -> None:
    """Refuse what makes a document too long; one that is so already may get shorter."""
    cap, kept = options.document_cap, told_size(after)
    apart = name == library.layout.long_memory or name.startswith(APART)
    if not cap or apart or kept <= max(cap, told_size(before)):
        return
    limits = window_of(library.layout, options)
    if limits and name == limits.document:
        kept = told_size(without_oldest(library, after, limits))
    if kept > cap:
        raise Refused(
            f"{name} would have {kept:,} characters, and {cap:,} is the most.",
            next_step="Condense it first: use mode 'rewrite', on one section or on the whole, with "
            "what still matters in fewer words. Then append this again.",
        )
