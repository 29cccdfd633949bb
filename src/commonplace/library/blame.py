"""Who wrote each line of a document, and what each change did to it, by the journal."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Sequence

from msgspec import Struct

from commonplace.library.library import Library
from commonplace.library.record_reader import decoded
from commonplace.markdown.record_lines import plain
from commonplace.storage.journal import BLANK, Append, Entry, Gone, Op, after_entry

BLANKED = re.compile(rb"^\x7f+\r?\n", re.MULTILINE)
"""A line of which nothing is left."""


class Blame(Struct, frozen=True):
    """One line of a document and the change that brought it; None if the journal is younger."""

    line: int
    text: str
    entry: Entry | None


class Version(Struct, frozen=True):
    """One change of a document: how many lines it added and took out, as a person reads them."""

    entry: Entry
    added: int
    removed: int
    name_before: str = ""
    """What the document was called until then, where it was given another name."""


def versions_of(library: Library, document: str) -> list[Version]:
    """Every change that a document went through, newest first."""
    library.refresh()
    text = bytearray()
    found: list[Version] = []
    for entry in library.journal.entries():
        if added := _added(text, entry, document):
            text += added
            found.append(Version(entry, len(_lines(added)), 0))
        elif document in entry.documents():
            after = after_entry(library.journal, bytes(text), entry, document) or b""
            found.append(_compared(entry, document, text, after))
            text = bytearray(after)
    return found[::-1]


def _compared(entry: Entry, document: str, before: bytes | bytearray, after: bytes) -> Version:
    was, now = (Counter(map(plain, _lines(text))) for text in (before, after))
    gone = (each.document for each in entry.changes if isinstance(each, Gone))
    name = "" if before else next((name for name in gone if name != document), "")
    return Version(entry, (now - was).total(), (was - now).total(), name)


def lines_of(library: Library, document: str) -> list[Blame]:
    """Each line of a document with the change that brought it."""
    library.refresh()
    library.text(document)
    text, owners = _attributed_text(library, document)
    return [
        Blame(number, line, None if entry.op == Op.SEEN else entry)
        for number, (line, entry) in enumerate(zip(_lines(text), owners), start=1)
    ]


def entries_of(library: Library, document: str) -> list[Entry]:
    """The change that brought each line of a document, or at which it was first seen."""
    return _attributed_text(library, document)[1]


def _attributed_text(library: Library, document: str) -> tuple[bytearray, list[Entry]]:
    text = bytearray()
    owners: list[Entry] = []
    for entry in library.journal.entries():
        if added := _added(text, entry, document):
            # Most changes are of this kind, and the text before may be long.
            owners += [entry] * len(_lines(added))
            text += added
        elif document in entry.documents():
            after = after_entry(library.journal, bytes(text), entry, document)
            owners = _attributed(_lines(text), owners, _lines(after or b""), entry)
            text = bytearray(after or b"")
    return text, owners


def _added(text: bytearray, entry: Entry, document: str) -> bytes:
    """The lines that an entry put after a text's own; empty when it did anything else to it."""
    changes = [change for change in entry.changes if change.document == document]
    if len(changes) != 1 or not isinstance(changes[0], Append):
        return b""
    goes_on = changes[0].at == len(text) and (not text or text.endswith(b"\n"))
    return entry.appended(changes[0]) if goes_on else b""


def _attributed(
    before: Sequence[str], owners: Sequence[Entry], after: Sequence[str], entry: Entry
) -> list[Entry]:
    """Whom each line is from once `entry` was made: lines that were there keep theirs."""
    pool: dict[str, deque[Entry]] = defaultdict(deque)
    for line, owner in zip(before, owners):
        pool[line].append(owner)
    return [pool[line].popleft() if pool[line] else entry for line in after]


def _lines(text: bytes | bytearray) -> list[str]:
    said = decoded("", shown(bytes(text)), lenient=True)
    return said.removesuffix("\n").split("\n") if said else []


def shown(text: bytes) -> bytes:
    """The text without the blanks that stand for what was forgotten."""
    return BLANKED.sub(b"", text).replace(BLANK, b"")
