"""Changes for a person to read: what each said before and after, and whether it can be taken back.

All of it is read from the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from commonplace.library.blame import shown
from commonplace.library.library import Library
from commonplace.library.record_reader import decoded
from commonplace.library.undo import undos_by_change
from commonplace.markdown.documents import Item
from commonplace.markdown.merge import hunks
from commonplace.model.records import DERIVED, PASSAGE
from commonplace.storage.journal import (
    Append,
    Change,
    Entry,
    Gone,
    Insert,
    Journal,
    Op,
    Text,
    applied,
    insert,
)

WHOLE = frozenset((Op.INIT, Op.SEEN))
"""Changes that are told by the names of their documents: they brought whole texts."""
FOR_GOOD = frozenset((Op.FORGET, Op.REJECT))
BESIDE = frozenset((Op.USEFUL, Op.WRONG, Op.PIN, Op.UNPIN))
"""Changes of what is noted beside a memory: its text is as it was."""
DECISIONS = frozenset((Op.APPROVE, Op.REJECT))
UNCHANGING = frozenset((Op.SEEN, Op.HOLD))
"""Changes that changed no document, so that nothing of them can be taken back."""


class Piece(Struct, frozen=True):
    """What a change did to one memory or one piece of prose; empty where it was not there."""

    document: str
    before: str = ""
    after: str = ""
    id: str = ""
    """Of the memory; empty for prose."""
    moved_from: str = ""
    """The document that a memory stood in before, where it only moved."""


class Activity(Struct, frozen=True):
    """One change, with its texts."""

    entry: Entry
    pieces: tuple[Piece, ...] = ()
    undo: int = -1
    """The position of the undo that took it back; -1 while it counts."""

    @property
    def way(self) -> str:
        """How a person takes it back: `undo`, `redo`, or not at all."""
        return _way(self.entry, is_undone=self.undo >= 0)


def _way(entry: Entry, *, is_undone: bool) -> str:
    if entry.op in FOR_GOOD | UNCHANGING or not entry.changes:
        return ""
    if entry.op == Op.UNDO:
        return "" if is_undone else "redo"
    return "redo" if is_undone else "undo"


class Page(Struct, frozen=True):
    """Some of the changes that fit, newest first, and how many fit in all."""

    changes: tuple[Activity, ...]
    count: int


def page(
    library: Library,
    fits: Callable[[Entry], bool],
    *,
    before: int,
    limit: int,
    way: str = "",
    served: Callable[[str], bool] = lambda document: True,
) -> Page:
    """The newest changes before a position that fit, with the texts of served documents."""
    entries = list(library.journal.entries())
    undone = undos_by_change(entries)
    fitting = [
        entry
        for entry in entries
        if fits(entry) and way in ("", _way(entry, is_undone=entry.position in undone))
    ]
    wanted = [entry for entry in fitting if entry.position < before][-limit:]
    told = Telling(library, served).all(wanted, among=entries)
    found = (Activity(e, told[e.position], undone.get(e.position, -1)) for e in reversed(wanted))
    return Page(tuple(found), len(fitting))


class Telling:
    """Tells the texts of changes, as one reader may see them."""

    def __init__(self, library: Library, served: Callable[[str], bool]) -> None:
        self._library = library
        self._served = served

    def all(
        self, wanted: Sequence[Entry], *, among: Iterable[Entry]
    ) -> dict[int, tuple[Piece, ...]]:
        """The pieces of each change, by its position."""
        replayed = {
            entry.position
            for entry in wanted
            if entry.op not in BESIDE and not _is_told_by_lines(entry)
        }
        names = {
            change.document
            for entry in wanted
            if entry.position in replayed and entry.op not in WHOLE
            for change in entry.changes
        }
        sides = _sides(self._library.journal, among, replayed, names) if names else {}
        return {entry.position: self._told(entry, sides) for entry in wanted}

    def _told(self, entry: Entry, sides: Mapping[int, list[Side]]) -> tuple[Piece, ...]:
        if entry.op in BESIDE:
            return self._of_records(entry)
        if _is_told_by_lines(entry):
            return self._of_lines(entry)
        if entry.op in DECISIONS and not entry.changes:
            return self._of_held(entry)
        return self._of_sides(sides.get(entry.position, ()))

    def _of_records(self, entry: Entry) -> tuple[Piece, ...]:
        """What the memories say beside which something was noted; gone ones are left out."""
        name = next(filter(self._served, entry.documents()), "")
        texts = self._library.index.get_all(entry.ids if name else ())
        return tuple(Piece(name, each.text, each.text, each.id) for each in texts.values())

    def _of_held(self, entry: Entry) -> tuple[Piece, ...]:
        """What was decided on: it waited, and no document has changed."""
        names = entry.documents() or (self._library.layout.memory,)
        name = next(filter(self._served, names), "")
        held = self._library.approvals.withheld() if name else {}
        found = (held[key] for key in entry.ids if key in held)
        return tuple(Piece(name, after=each.text, id=each.id) for each in found)

    def _of_lines(self, entry: Entry) -> tuple[Piece, ...]:
        """What was appended, or waits; each once, though it stands in two documents."""
        names = entry.documents() or (self._library.layout.memory,)
        name = next(filter(self._served, names), "")
        if not name:
            return ()
        text = shown("".join(entry.lines).encode()).decode()
        return tuple(
            Piece(name, after=_text(item), id=_id(item)) for item in self._items(name, text)
        )

    def _of_sides(self, sides: Iterable[Side]) -> tuple[Piece, ...]:
        served = (side for side in sides if self._served(side.document))
        return tuple(_once(piece for side in served for piece in self._of_side(side)))

    def _of_side(self, side: Side) -> Iterator[Piece]:
        old, new = _lines(side.before), _lines(side.after)
        for hunk in hunks(old, new):
            before = self._items(side.document, _joined(old[hunk.start : hunk.end]))
            after = self._items(side.document, _joined(hunk.lines))
            yield from _of_hunk(side.document, before, after)

    def _items(self, name: str, text: str) -> list[Item]:
        items = self._library.parse(name, text).items
        return [item for item in items if _text(item)]


class Side(Struct, frozen=True):
    """A document before and after a change."""

    document: str
    before: bytes | None
    after: bytes | None


def _is_told_by_lines(entry: Entry) -> bool:
    """Whether what it brought stands in the entry itself."""
    added = (isinstance(change, Append | Insert) for change in entry.changes)
    return bool(entry.lines) and all(added)


def _of_hunk(name: str, before: Sequence[Item], after: Sequence[Item]) -> Iterator[Piece]:
    """What lines in one place became. Prose, and as many lines as there were, were reworded."""
    for item in filter(_has_id, before):
        yield Piece(name, before=_text(item), id=item.record.id)
    for item in filter(_has_id, after):
        yield Piece(name, after=_text(item), id=item.record.id)
    old, new = ([each for each in side if not _has_id(each)] for side in (before, after))
    if len(old) == len(new):
        yield from (Piece(name, _text(was), _text(now), _id(now)) for was, now in zip(old, new))
        return
    yield from (Piece(name, before=_text(each)) for each in old)
    yield from (Piece(name, after=_text(each), id=_id(each)) for each in new)


def _once(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces with a memory that was reworded, moved, or stands in two documents, told once."""
    found: dict[tuple[str, ...], Piece] = {}
    for piece in pieces:
        named = piece.id and not DERIVED.match(piece.id)
        key = (piece.id,) if named else (piece.document, piece.before, piece.after)
        found[key] = _united(found[key], piece) if key in found else piece
    return (each for each in found.values() if each.before != each.after or each.moved_from)


def _united(one: Piece, other: Piece) -> Piece:
    """Two pieces of one memory in one: what was taken out here and put in there was moved."""
    if bool(one.before) == bool(other.before):
        return one
    gone, come = (one, other) if one.before else (other, one)
    moved = gone.document if gone.document != come.document else ""
    return Piece(come.document, gone.before, come.after, come.id, moved)


def _text(item: Item) -> str:
    return item.record.text[item.headings :].strip()


def _id(item: Item) -> str:
    return "" if item.record.kind == PASSAGE else item.record.id


def _has_id(item: Item) -> bool:
    """Whether the line itself says which memory it is, however it is worded."""
    return bool(_id(item)) and not DERIVED.match(item.record.id)


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _lines(text: bytes | None) -> list[str]:
    said = decoded("", shown(text or b""), lenient=True).replace("\r\n", "\n")
    return said.removesuffix("\n").split("\n") if said else []


def _sides(
    journal: Journal, entries: Iterable[Entry], wanted: Container[int], names: Container[str]
) -> dict[int, list[Side]]:
    """The documents before and after each wanted change, in one walk through the journal."""
    documents: dict[str, _Replay] = {}
    found: dict[int, list[Side]] = {}
    for entry in entries:
        for name, changes in _by_document(entry, names).items():
            replay = documents.setdefault(name, _Replay(journal))
            before = replay.text() if entry.position in wanted else None
            for change in changes:
                replay.take(entry, change)
            if entry.position in wanted:
                found.setdefault(entry.position, []).append(Side(name, before, replay.text()))
    return found


def _by_document(entry: Entry, names: Container[str]) -> Mapping[str, list[Change]]:
    found: dict[str, list[Change]] = {}
    for change in entry.changes:
        if change.document in names:
            found.setdefault(change.document, []).append(change)
    return found


class _Replay:
    """One document through the journal. A text is made only where somebody asks for it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._text: bytearray | None = None
        self._since: list[tuple[Entry, Change]] = []

    def take(self, entry: Entry, change: Change) -> None:
        if isinstance(change, Text | Gone):
            # What the document said before is of no account.
            self._text, self._since = None, []
        self._since.append((entry, change))

    def text(self) -> bytes | None:
        for entry, change in self._since:
            if isinstance(change, Append | Insert):
                # In place: a copy for each line would take long where there are many.
                self._text = self._text if self._text is not None else bytearray()
                _add(self._text, change, entry)
                continue
            version = self._journal.version(change.version) if isinstance(change, Text) else None
            before = None if self._text is None else bytes(self._text)
            after = applied(before, change, entry=entry, text=version)
            self._text = None if after is None else bytearray(after)
        self._since = []
        return None if self._text is None else bytes(self._text)


def _add(text: bytearray, change: Append | Insert, entry: Entry) -> None:
    if isinstance(change, Insert):
        insert(text, change, entry)
    else:
        text[change.at :] = entry.appended(change)
