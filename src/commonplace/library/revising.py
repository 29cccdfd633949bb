"""Change records where they stand: their text, their kind and their tags, in one change.

The record keeps its id. Where lines carry none, a new text gives the record the id that it is read
with from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.library.library import Library
from commonplace.library.record_reader import decoded
from commonplace.model.errors import RecordChanged
from commonplace.model.files import digest
from commonplace.model.records import Author, Record
from commonplace.storage.journal import Op, Text

Change = Callable[[Record], Record]
"""What a record is to be; called under the lock, with the record as it is then."""
Texts = dict[str, tuple[bytes | None, bytes | None]]


def mark_of(record: Record) -> str:
    """The mark of what a person may change of a record."""
    days = (record.valid_from, record.valid_to)
    rule = (*record.when, record.must)
    said = (record.kind, record.text, *days, *record.tags, *rule)
    return digest("\0".join(said).encode("utf-8", "replace"))


def unchanged(record: Record, mark: str) -> Record:
    """The record, unless it is another one than was read."""
    if mark and mark_of(record) != mark:
        raise RecordChanged(record.id)
    return record


REVISED = (
    "text",
    "kind",
    "tags",
    "origin",
    "evidence",
    "found_by",
    "valid_from",
    "valid_to",
    "when",
    "must",
    "pinned",
    "citations",
    "useful",
    "wrong",
)
"""What a revision may change. The rest of a line stays as it stands."""


class Revised(Struct, frozen=True):
    """Records as they are now, and the change that made them so."""

    records: tuple[Record, ...]
    change: int = -1
    """Its position in the journal; -1 where all of them were so already."""


def revise(
    library: Library, changes: Mapping[str, Change], *, author: Author, op: Op = Op.REPLACE
) -> Revised:
    """Change records wherever they stand: all of them, or none. It can be undone."""

    def work() -> Revised:
        library.take_in_changes()
        hits = {key: library.found(key) for key in changes}
        wanted = {key: changes[key](hit.record) for key, hit in hits.items()}
        fresh = {key: wanted[key] for key, hit in hits.items() if wanted[key] != hit.record}
        names = dict.fromkeys(place.document for key in fresh for place in hits[key].places)
        texts: Texts = {name: _revised(library, name, fresh) for name in names}
        if not texts:
            return Revised(tuple(wanted.values()))
        library.tombstones.refuse_forgotten(texts, author=author)
        ids = _new_ids(library, texts, fresh)
        now = {key: replace(record, id=ids.get(key, key)) for key, record in wanted.items()}
        entry = library.entry(
            op,
            [Text(name, library.keep(after or b"")) for name, (_, after) in texts.items()],
            ids=tuple(dict.fromkeys((*fresh, *(now[key].id for key in fresh)))),
            author=author,
            data=_unwritten(library, [now[key] for key in fresh]),
        )
        return Revised(tuple(now.values()), library.replace_texts(entry, texts).position)

    return library.locked(work)


def _revised(
    library: Library, name: str, fresh: Mapping[str, Record]
) -> tuple[bytes | None, bytes | None]:
    """A document before and after its lines of these records are written anew."""
    before = library.read(name)

    def change(old: Record) -> Record:
        new = fresh[old.id]
        return replace(old, **{each: getattr(new, each) for each in REVISED})

    after = library.eraser.rewritten(name, decoded(name, before), set(fresh), change)
    if library.layout.form(name) == "sentence":
        from commonplace.library.placing import resettled

        after = resettled(after, fresh, library.reader, layout=library.layout, clock=library.clock)
    if library.writer.check_growth:
        library.writer.check_growth(name, decoded(name, before), after.decode())
    return before, after


def _new_ids(library: Library, texts: Texts, fresh: Mapping[str, Record]) -> dict[str, str]:
    """The ids that records have in the new texts, where lines carry none, by the old ones."""
    found: dict[str, str] = {}
    for name, (before, after) in texts.items() if not library.layout.carries_data else ():
        was, now = (
            library.parse(name, decoded(name, data or b"")).items for data in (before, after)
        )
        # Lines were changed, and none was added or taken out.
        for old, new in zip(was, now):
            if old.record.id in fresh:
                found.setdefault(old.record.id, new.record.id)
    return found


def _unwritten(library: Library, records: list[Record]) -> dict[str, Any]:
    """What the lines of records do not carry, for the journal."""
    if library.layout.carries_data:
        return {}
    return {record.id: record.data() for record in records}
