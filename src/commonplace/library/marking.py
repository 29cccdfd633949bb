"""Marks in the lines of replaced records, written with the change that makes them needed.

Which records are to be marked `chains` knows. Where lines carry no data the journal has the marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from commonplace.library.record_reader import decoded
from commonplace.library.writer import Writer
from commonplace.markdown import record_lines
from commonplace.model.records import SYSTEM, Record
from commonplace.search.chains import Chains, Marks
from commonplace.storage.journal import Change, Op, Text

Texts = dict[str, tuple[bytes | None, bytes | None]]


def leaving(writer: Writer, texts: Mapping[str, tuple[bytes | None, bytes | None]]) -> list[Record]:
    """The records that replace others and stand nowhere once documents say something else."""
    found: dict[str, Record] = {}
    for name, (before, _) in texts.items():
        found |= {record.id: record for record in _replacing(writer, name, before)}
    if not found:
        return []
    writer.sync.catch_up_index()
    stay: set[str] = set()
    for name, (_, after) in texts.items():
        text = decoded(name, after or b"", lenient=True)
        stay.update(item.record.id for item in writer.reader.parse(name, text).items)
    for key in found.keys() - stay:
        places = writer.index.documents_of(key)
        stay.update(key for place in places if place.document not in texts)
    return [record for key, record in found.items() if key not in stay]


def _replacing(writer: Writer, name: str, data: bytes | None) -> Iterable[Record]:
    """The records of a text that supersede another."""
    if not data or (writer.layout.carries_data and b'"supersedes"' not in data):
        return ()
    items = writer.reader.parse(name, decoded(name, data, lenient=True)).items
    records = writer.reader.as_indexed(item.record for item in items)
    return [record for record in records if record.supersedes]


def marked(
    writer: Writer, changes: Iterable[Change], texts: Texts, marks: Marks
) -> tuple[list[Change], Texts]:
    """A change of documents with these marks made in them as well."""
    noted = dict(texts)
    for key, record in writer.index.get_all(marks).items():
        if record.replaced_by != marks[key]:
            _mark_everywhere(writer, noted, record, marks[key])
    fresh = [name for name in noted if name not in texts or noted[name] != texts[name]]
    kept = [change for change in changes if change.document not in fresh]
    kept += [Text(name, writer.journal.keep(noted[name][1] or b"")) for name in fresh]
    return kept, noted


def _mark_everywhere(writer: Writer, texts: Texts, record: Record, by: str) -> None:
    places = writer.index.documents_of(record.id)
    for name in dict.fromkeys(place.document for place in places):
        now = None if name in texts else writer.vault.read(name)
        before, after = texts.get(name, (now, now))
        if after is not None and writer.layout.carries_data:
            after = with_note(writer, name, after, record, replaced_by=by)
        texts[name] = (before, after)


def with_note(writer: Writer, name: str, data: bytes, record: Record, **notes: Any) -> bytes:
    """A document with some data changed in the lines of one record."""
    text = decoded(name, data)
    for item in reversed(writer.reader.parse(name, text).items):
        if item.record.id == record.id:
            line = record_lines.noted(text[item.start : item.end], record, **notes)
            text = text[: item.start] + line + text[item.end :]
    return text.encode()


def unwritten(writer: Writer, marks: Marks) -> dict[str, dict[str, Any]]:
    """The marks as the journal carries them, where lines carry no data."""
    if writer.layout.carries_data:
        return {}
    known = writer.index.get_all(marks)
    return {key: replace(it, replaced_by=marks[key]).data() for key, it in known.items()}


def mark(writer: Writer, marks: Marks) -> None:
    """Make marks as a change of its own. Called under the lock."""
    changes, texts = marked(writer, (), {}, marks)
    if texts:
        data = unwritten(writer, marks)
        entry = writer.shared.entry(Op.MARK, changes, ids=tuple(marks), author=SYSTEM, data=data)
        writer.replace_texts(entry, texts)


def mark_lost(writer: Writer, records: Iterable[Record]) -> None:
    """Mark what these records had replaced, as far as they stand nowhere any more."""
    writer.sync.catch_up_index()
    gone = [record for record in records if not writer.index.get(record.id)]
    mark(writer, Chains(writer.index).loss(gone).marks)
