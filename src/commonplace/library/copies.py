"""Unite a document with the copy that a sync program made when two machines changed it at once.

Lines of the copy that the document never had are added. Lines that were deleted here stay deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

from msgspec import Struct

from commonplace.library.library import Library
from commonplace.library.record_reader import decoded
from commonplace.markdown import record_lines
from commonplace.markdown.merge import merge
from commonplace.model.errors import NoSuchDocument, Unreadable
from commonplace.model.records import DERIVED, SYSTEM, Author
from commonplace.storage.journal import Added, Change, Gone, Op, Text

NUMBERED = re.compile(r"(.+?)(?: \(\d\)| \d|-[^/]+)\.md\Z")
"""How iCloud, Google Drive and OneDrive name a copy, and people what they please."""


class United(Struct, frozen=True):
    """A copy that is part of its document now."""

    copy: str
    document: str
    added: tuple[str, ...]
    """The lines that the document lacked."""


def copies_in(library: Library) -> dict[str, str]:
    """The copies of a vault and their documents: by their names, or by a name like a document's
    and most of its records.
    """
    listing = library.vault.listing()
    found = dict(listing.copies)
    for name in listing.documents:
        match = NUMBERED.match(name)
        original = f"{match[1]}.md" if match else ""
        if original in listing.documents and _are_alike(library, name, original):
            found[name] = original
    return found


def _are_alike(library: Library, name: str, original: str) -> bool:
    one, other = _ids(library, name), _ids(library, original)
    return len(one & other) > min(len(one), len(other)) / 2


def _ids(library: Library, name: str) -> set[str]:
    """The ids that the lines of a document carry."""
    try:
        items = library.parse(name, library.text(name)[0]).items
    except Unreadable:
        return set()
    return {it.record.id for it in items if not DERIVED.match(it.record.id)}


def unite(library: Library, names: Iterable[str], *, author: Author) -> list[United]:
    """Put what copies have into their documents, and take the copies away. Can be undone."""
    return [library.locked(partial(_unite, library, name, author)) for name in names]


def preview(library: Library, name: str) -> United:
    """What uniting a copy with its document would add."""
    document, _, _, new = _united(library, name)
    now = library.text(document)[0] if library.vault.stat(document) else ""
    return United(name, document, _added(now, new))


def _unite(library: Library, name: str, author: Author) -> United:
    library.take_in_changes()
    document, data, before, new = _united(library, name)
    now = decoded(document, before or b"")
    new = library.tombstones.without_returning(document, new, now)
    library.watch.edits.journal_text(Op.SEEN, name, data, SYSTEM)
    library.sync.mark_synced(library.journal.end())
    changes: list[Change] = [Text(document, library.journal.keep(new.encode())), Gone(name)]
    texts = {document: (before, new.encode()), name: (data, None)}
    library.replace_texts(library.entry(Op.REPLACE, changes, author=author), texts)
    return United(name, document, _added(now, new))


def _united(library: Library, name: str) -> tuple[str, bytes, bytes | None, str]:
    """A copy's document, the bytes of both, and the text of the two together."""
    document = copies_in(library).get(name)
    if document is None:
        raise NoSuchDocument(name)
    data = library.vault.read(name)
    before = library.vault.read(document) if library.vault.stat(document) else None
    copy, now = decoded(name, data), decoded(document, before or b"")
    if not now:
        return document, data, before, copy
    known = _ever(library, document) | set(now.split("\n"))
    base = "\n".join(line for line in copy.split("\n") if line in known)
    return document, data, before, _once(library, document, merge(base, copy, now).text, now)


def _ever(library: Library, document: str) -> set[str]:
    """Every line that a document ever had, as far as the journal tells."""
    found: set[str] = set()
    for entry in library.journal.entries():
        for change in entry.changes:
            if change.document != document:
                continue
            if isinstance(change, Added):
                found.update(decoded(document, entry.appended(change), lenient=True).split("\n"))
            elif isinstance(change, Text):
                kept = library.journal.version(change.version) or b""
                found.update(decoded(document, kept, lenient=True).split("\n"))
    return {line.rstrip("\r") for line in found} | found


def _once(library: Library, document: str, text: str, now: str) -> str:
    """The text with each record once: as it stood in the document, and in other words as a line
    of its own.
    """
    items = library.parse(document, text).items
    ids = [item.record.id for item in items]
    for item in reversed(items):
        raw, key = text[item.start : item.end], item.record.id
        if ids.count(key) > 1 and not DERIVED.match(key) and raw.strip() not in now:
            told = record_lines.plain(raw)
            told = "" if told.strip() in record_lines.plain(now) else told
            text = text[: item.start] + told + text[item.end :]
            ids.remove(key)
    return text


def _added(now: str, new: str) -> tuple[str, ...]:
    there = set(now.split("\n"))
    return tuple(line for line in new.split("\n") if line.strip() and line not in there)
