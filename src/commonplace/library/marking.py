"""Marks in the lines of replaced records, written with the change that makes them needed.

Which records are to be marked `chains` knows. Where lines carry no data the journal has the marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.library.record_reader import decoded
from commonplace.library.writer import Ledger
from commonplace.model.lazy import Lazy
from commonplace.model.records import SYSTEM, Record
from commonplace.search import chains
from commonplace.search.chains import Marks
from commonplace.storage.journal import Change, Op, Text

if TYPE_CHECKING:
    from commonplace.markdown import record_lines
else:
    record_lines = Lazy("markdown.record_lines")

Texts = dict[str, tuple[bytes | None, bytes | None]]


def leaving(ledger: Ledger, texts: Mapping[str, tuple[bytes | None, bytes | None]]) -> list[Record]:
    """The records that replace others and stand nowhere once documents say something else."""
    found: dict[str, Record] = {}
    for name, (before, _) in texts.items():
        found |= {record.id: record for record in _replacing(ledger, name, before)}
    if not found:
        return []
    ledger.levelling.bring_up()
    stay: set[str] = set()
    for name, (_, after) in texts.items():
        text = decoded(name, after or b"", lenient=True)
        stay.update(item.record.id for item in ledger.parse(name, text).items)
    for key in found.keys() - stay:
        places = ledger.index.documents_of(key)
        stay.update(key for place in places if place.document not in texts)
    return [record for key, record in found.items() if key not in stay]


def _replacing(ledger: Ledger, name: str, data: bytes | None) -> Iterable[Record]:
    """The records of a text that supersede another."""
    if not data or (ledger.layout.carries_data and b'"supersedes"' not in data):
        return ()
    items = ledger.parse(name, decoded(name, data, lenient=True)).items
    records = ledger.reader.as_indexed(item.record for item in items)
    return [record for record in records if record.supersedes]


def marked(
    ledger: Ledger, changes: Iterable[Change], texts: Texts, marks: Marks
) -> tuple[list[Change], Texts]:
    """A change of documents with these marks made in them as well."""
    noted = dict(texts)
    for key, record in ledger.index.get_all(marks).items():
        if record.replaced_by != marks[key]:
            _mark_everywhere(ledger, noted, record, marks[key])
    fresh = [name for name in noted if name not in texts or noted[name] != texts[name]]
    kept = [change for change in changes if change.document not in fresh]
    kept += [Text(name, ledger.journal.keep(noted[name][1] or b"")) for name in fresh]
    return kept, noted


def _mark_everywhere(ledger: Ledger, texts: Texts, record: Record, by: str) -> None:
    places = ledger.index.documents_of(record.id)
    for name in dict.fromkeys(place.document for place in places):
        now = None if name in texts else ledger.vault.read(name)
        before, after = texts.get(name, (now, now))
        if after is not None and ledger.layout.carries_data:
            after = with_note(ledger, name, after, record, replaced_by=by)
        texts[name] = (before, after)


def with_note(ledger: Ledger, name: str, data: bytes, record: Record, **notes: Any) -> bytes:
    """A document with some data changed in the lines of one record."""
    text = decoded(name, data)
    for item in reversed(ledger.parse(name, text).items):
        if item.record.id == record.id:
            line = record_lines.noted(text[item.start : item.end], record, **notes)
            text = text[: item.start] + line + text[item.end :]
    return text.encode()


def unwritten(ledger: Ledger, marks: Marks) -> dict[str, dict[str, Any]]:
    """The marks as the journal carries them, where lines carry no data."""
    if ledger.layout.carries_data:
        return {}
    known = ledger.index.get_all(marks)
    return {key: replace(it, replaced_by=marks[key]).data() for key, it in known.items()}


def mark(ledger: Ledger, marks: Marks) -> None:
    """Make marks as a change of its own. Called under the lock."""
    changes, texts = marked(ledger, (), {}, marks)
    if texts:
        data = unwritten(ledger, marks)
        entry = ledger.entry(Op.MARK, changes, ids=tuple(marks), author=SYSTEM, data=data)
        ledger.replace_texts(entry, texts)


def mark_lost(ledger: Ledger, records: Iterable[Record]) -> None:
    """Mark what these records had replaced, as far as they stand nowhere any more."""
    ledger.levelling.bring_up()
    gone = [record for record in records if not ledger.index.get(record.id)]
    mark(ledger, chains.loss(ledger.index, gone).marks)
