"""The journal: every change to the documents in order, and the texts that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct, field


class Op(StrEnum):
    """What was done."""

    INIT = "init"
    """The first documents of a vault."""
    ADD = "add"
    REPLACE = "replace"
    STRIKE = "strike"
    FORGET = "forget"
    UNDO = "undo"
    REDO = "redo"
    """An undo was taken back."""
    RESTORE = "restore"
    SEEN = "seen"
    """A document as it was when it was first looked at."""
    EDITED = "edited"
    """A document that somebody changed from outside."""
    MENDED = "mended"
    """A document in which a power cut left NUL bytes: as it was found, and what it says again."""
    PUT_BACK = "put-back"
    """Records that a stale save had overwritten."""
    HOLD = "hold"
    """A record that waits for a person's approval. No document changes."""
    APPROVE = "approve"
    REJECT = "reject"
    TRIM = "trim"
    """The oldest records of a document that grew past its limit were taken out."""
    COMPACT = "compact"
    """Old records were taken out, and summaries of them written."""
    REFRESH = "refresh"
    """What is to be remembered was remembered already, which is noted in its line."""
    MARK = "mark"
    """What replaced some records was lost, which is noted in their lines; or the kind of a line
    that left its section.
    """
    TIDY = "tidy"
    """Lines were sorted into their sections, and copies of them taken out."""
    USEFUL = "useful"
    """Records were called useful, which is noted in their lines; or wrong."""
    WRONG = "wrong"
    PIN = "pin"
    """Records were marked to be told before all others."""
    UNPIN = "unpin"
    FOLLOW = "follow"
    """What a person did to a line was done to the copy of it in another document."""


class Append(Struct, frozen=True, array_like=True, tag="append"):
    """`lead` and lines of the entry were added to the end of a document that was `at` bytes long.

    They are all of its lines, or `count` of them from the one with the number `first` on.
    """

    document: str
    at: int
    lead: str = ""
    read: int = 0
    """When somebody else had last read the document, as seen after the append before this one."""
    crlf: bool = False
    first: int = 0
    count: int = -1
    kind: str = "note"
    """The kind of lines that name none."""


class Insert(Struct, frozen=True, array_like=True, tag="insert"):
    """The same in the middle of a document, `at` so many bytes."""

    document: str
    at: int
    lead: str
    read: int
    crlf: bool
    first: int
    count: int
    kind: str
    dated: tuple[int, str, str] | None
    """Where the day stands on which the section was updated, that day, and the one it became."""


class Cut(Struct, frozen=True, array_like=True, tag="cut"):
    """The byte ranges `(start, length)` were taken out of a document."""

    document: str
    spans: tuple[tuple[int, int], ...]


class Text(Struct, frozen=True, array_like=True, tag="text"):
    """A document became the kept version of that name."""

    document: str
    version: str


class Gone(Struct, frozen=True, array_like=True, tag="gone"):
    """A document went away."""

    document: str


Added = Append | Insert
Change = Append | Insert | Cut | Text | Gone
OWES = "owes"
"""In the data of an outside save that lacks lines of ours, which are put back next: the position
from which on they were written.
"""
FOLLOWS = "follows"
"""In the data of such a change: the position of the person's."""
BLANK = b"\x7f"
"""What stands for each byte of a forgotten text, so that positions stay true."""


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """One change: when, what, by whom, to which documents."""

    at: str
    op: str
    changes: tuple[Change, ...]
    ids: tuple[str, ...] = ()
    """The records it is about."""
    removed: tuple[str, ...] = ()
    """Of these, the ones that were taken out."""
    lines: tuple[str, ...] = ()
    """What was appended: one for each of `ids`, or any text where there are none.

    Of a trim and of a strike, what was taken out, be it appended somewhere or not.
    """
    data: dict[str, Any] = field(default_factory=dict)
    """What a record carries that its written form does not show, by its id; or `OWES`."""
    origin: str = ""
    session: str = ""
    why: str = ""
    undoes: int = -1
    position: int = -1
    """Where it stands in the journal; set by the journal."""
    end: int = -1

    def appended(self, change: Added) -> bytes:
        """The bytes this entry added to one document."""
        text = "".join((change.lead, *self._of(change, self.lines)))
        return (text.replace("\n", "\r\n") if change.crlf else text).encode()

    def pieces(self, change: Added) -> list[tuple[str, str]]:
        """The lines this entry added to one document, each with its record's id, if it has one."""
        lines = self._of(change, self.lines)
        return list(zip(self._of(change, self.ids) or ("",) * len(lines), lines))

    def _of(self, change: Added, values: tuple[str, ...]) -> tuple[str, ...]:
        last = None if change.count < 0 else change.first + change.count
        return values[change.first : last]

    def documents(self) -> tuple[str, ...]:
        return tuple(change.document for change in self.changes)


class Journal(Protocol):
    """Entries in order. Appending happens inside the vault's lock."""

    def mark(self) -> str:
        """The identity of this journal: another one starts again at nothing."""

    def end(self) -> int:
        """The position after the last entry."""

    def stand(self) -> tuple[str, int]:
        """Mark and end, at one look."""

    def append(self, entry: Entry, *, written: Mapping[str, bytes] | None = None) -> Entry:
        """Write an entry. It is safe once `sync` returned.

        `written` are its `journal_format.long_parts`, made before the lock was taken.
        """

    def sync(self) -> None:
        """Return when everything appended so far is on disk."""

    def take_back(self, position: int) -> None:
        """Remove everything from `position` on: the write it announced could not be done."""

    def entries(self, *, since: int = 0) -> Iterator[Entry]:
        """The entries from a position on, oldest first; damaged ones are passed over."""

    def damaged(self) -> int:
        """How many lines cannot be read."""

    def about(self, needle: str, *, since: int = 0) -> Iterator[Entry]:
        """The entries from a position on in whose written form `needle` occurs."""

    def keep(self, data: bytes) -> str:
        """Keep a whole text. Returns the name of the version."""

    def version(self, name: str) -> bytes | None:
        """A kept text; None when it is not there."""

    def versions(self) -> Iterator[str]:
        """The names of all kept texts."""

    def lines(self, *, since: int = 0) -> Iterator[tuple[int, bytes]]:
        """Every whole line from a position on just as it is written, its end with it."""

    def take_in(self, lines: Sequence[tuple[int, bytes]]) -> None:
        """Go on with the lines of another journal, at the positions that they have there.

        What stands from the first of them on is replaced. On disk on return.
        """

    def packed(self, name: str) -> bytes | None:
        """A kept text as it is written down; None when it is not there."""

    def take_in_version(self, name: str, data: bytes) -> None:
        """Keep what another journal has `packed` under this name."""

    def scrub(
        self, ids: Iterable[str], *, needles: Iterable[str], clean: Callable[[bytes], bytes]
    ) -> int:
        """Forget these records: blank their lines, and `clean` every text with a needle in it.

        `clean` keeps the length of what it is given. Returns how many texts were changed.
        """

    def close(self) -> None:
        """Let go of what is held open."""


def applied(
    before: bytes | None, change: Change, *, entry: Entry, text: bytes | None
) -> bytes | None:
    """What a document says after a change. `text` is the kept version of a `Text` change."""
    match change:
        case Append(at=at):
            return (before or b"")[:at] + entry.appended(change)
        case Insert():
            text_now = bytearray(before or b"")
            insert(text_now, change, entry)
            return bytes(text_now)
        case Cut(spans=spans):
            return without(before or b"", spans)
        case Text():
            return text
        case Gone():
            return None


def insert(text: bytearray, change: Insert, entry: Entry) -> None:
    """Put what an entry inserted into a document's text, in place."""
    if change.dated:
        start, _, day = change.dated
        text[start : start + len(day)] = day.encode()
    text[change.at : change.at] = entry.appended(change)


def without(data: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """`data` less the byte ranges `(start, length)`, which are sorted and do not overlap."""
    kept, last = [], 0
    for start, length in spans:
        kept.append(data[last:start])
        last = start + length
    return b"".join((*kept, data[last:]))


def document_at(
    journal: Journal, name: str, *, since: int = 0, until: int | None = None
) -> bytes | None:
    """The text of a document as the journal tells it; None when it was not there."""
    found = documents_at(journal, since=since, until=until, only=(name,)).get(name)
    return found[1] if found else None


def documents_at(
    journal: Journal,
    *,
    since: int = 0,
    until: int | None = None,
    only: Container[str] | None = None,
) -> dict[str, tuple[int, bytes]]:
    """For each document the position of its last whole text, and the text the journal tells."""
    texts: dict[str, bytearray] = {}
    bases: dict[str, int] = {}
    for entry in journal.entries(since=max(since, 0)):
        if until is not None and entry.position >= until:
            break
        for change in entry.changes:
            name = change.document
            if only is not None and name not in only:
                continue
            if isinstance(change, Append):
                # In place: a copy a line would take hours where there are many.
                texts.setdefault(name, bytearray())[change.at :] = entry.appended(change)
                bases.setdefault(name, entry.position)
                continue
            if isinstance(change, Insert) and name in texts:
                insert(texts[name], change, entry)
                continue
            told = after_entry(journal, bytes(texts.get(name, b"")), entry, name)
            if told is None:
                texts.pop(name, None)
                bases.pop(name, None)
            else:
                texts[name] = bytearray(told)
                bases[name] = entry.position if isinstance(change, Text) else bases.get(name, 0)
    return {name: (bases[name], bytes(text)) for name, text in texts.items()}


def find_text(journal: Journal, name: str, is_it: Callable[[bytes], bool]) -> bytes | None:
    """Search the texts that a document has had, from its last whole text back to the first."""
    stretches: list[list[Entry]] = [[]]
    for entry in journal.entries():
        if name in entry.documents():
            if any(isinstance(each, Text) and each.document == name for each in entry.changes):
                stretches.append([])
            stretches[-1].append(entry)
    texts = (text for entries in reversed(stretches) for text in _texts(journal, name, entries))
    return next(filter(is_it, texts), None)


def _texts(journal: Journal, name: str, entries: Sequence[Entry]) -> Iterator[bytes]:
    text: bytes | None = None
    for entry in entries:
        text = after_entry(journal, text, entry, name)
        if text is not None:
            yield text


def appended_since(
    journal: Journal, name: str, *, since: int, until: int | None = None
) -> bytes | None:
    """The bytes appended to a document from a position on; None after any other change."""
    pieces = []
    for entry in journal.entries(since=since):
        if until is not None and entry.position >= until:
            break
        for change in entry.changes:
            if change.document == name:
                if not isinstance(change, Append):
                    return None
                pieces.append(entry.appended(change))
    return b"".join(pieces)


def after_entry(journal: Journal, text: bytes | None, entry: Entry, name: str) -> bytes | None:
    """The text of a document that was `text` before an entry."""
    for change in entry.changes:
        if change.document == name:
            kept = journal.version(change.version) if isinstance(change, Text) else None
            text = applied(text, change, entry=entry, text=kept)
    return text
