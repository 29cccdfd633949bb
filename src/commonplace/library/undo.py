"""Show the history of a record or a text, take changes back, and make them again.

All of it is read from the journal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from commonplace.library import marking
from commonplace.library.blame import shown
from commonplace.library.erase import spans_of
from commonplace.library.library import Library
from commonplace.library.record_reader import decoded
from commonplace.markdown.merge import merged_bytes
from commonplace.model.clock import stamp
from commonplace.model.errors import NoSuchDocument, NothingToUndo
from commonplace.model.records import SYSTEM, Author
from commonplace.search.chains import Marks
from commonplace.storage.journal import (
    BLANK,
    FOLLOWS,
    Added,
    Change,
    Entry,
    Gone,
    Insert,
    Op,
    Text,
    after_entry,
    document_at,
    documents_at,
    without,
)
from commonplace.storage.notices import Notice

UNDOABLE = frozenset(
    (
        *(Op.ADD, Op.REFRESH, Op.REPLACE, Op.STRIKE, Op.RESTORE, Op.COMPACT, Op.TIDY),
        *(Op.PIN, Op.UNPIN),
    )
)
"""What plain `undo` takes back; other changes only when they are named."""
FINAL = frozenset((Op.FORGET, Op.REJECT))
"""What a person does for good."""
UNASKED = FINAL | {Op.ADD}
"""What nobody asked for where the system did it: a template, or a summary made anew."""
EDITS_TOLD = 3
"""The most edits made by hand of which an undo tells that it left them, the newest first."""

Texts = dict[str, tuple[bytes | None, bytes | None]]


class Undone(Struct, frozen=True):
    """A change that was taken back, and the documents that this changed."""

    entry: Entry
    documents: tuple[str, ...]
    edits: tuple[Entry, ...] = ()
    """Newer changes that were passed over because a person made them by hand."""
    waiting: tuple[str, ...] = ()
    """The ids of those that had been approved, and wait for that again."""

    def left_by_hand(self) -> str:
        """How to take those back; empty without any."""
        return _ways_back(self.edits)


class Redone(Struct, frozen=True):
    """A change that was made again, the undo that had taken it back, and the documents changed."""

    entry: Entry
    undo: Entry
    documents: tuple[str, ...]


def said_in(library: Library, entry: Entry) -> list[str]:
    """What the records say that an entry added or took out."""
    if entry.lines:
        return [text for line in entry.lines for text in _texts_of(library, entry, line)]
    return [text for key in entry.ids if (text := _said_by(library, key))]


def _said_by(library: Library, key: str) -> str:
    """What a record says, or said last before it was taken out."""
    if hit := library.hit_of(key):
        return hit.record.text
    told = [
        text
        for entry in library.journal.about(key)
        for each, line in zip(entry.ids, entry.lines)
        if each == key
        for text in _texts_of(library, entry, line)
    ]
    return told[-1] if told else ""


def _texts_of(library: Library, entry: Entry, line: str) -> list[str]:
    name = next(iter(entry.documents()), "") or library.layout.memory
    return [item.record.text for item in library.parse(name, line).items]


class Restored(Struct, frozen=True):
    """The documents that say again what they said, and those that are taken away."""

    documents: tuple[str, ...]
    removed: tuple[str, ...] = ()


def log(library: Library, *, limit: int) -> list[Entry]:
    """The last changes, newest first."""
    return list(deque(library.journal.entries(), maxlen=limit))[::-1]


def history(library: Library, record_id: str) -> list[Entry]:
    """Every change that was about one record, oldest first."""
    return [
        entry
        for entry in library.journal.about(record_id)
        if record_id in entry.ids or record_id in entry.removed
    ]


def text_at(library: Library, document: str, moment: datetime) -> str:
    """What a document said at that time."""
    return decoded(document, _said(library, moment, document)[document], lenient=True)


def _said(library: Library, moment: datetime, document: str) -> dict[str, bytes]:
    """What one document, or without a name each, said at that time: some, or it is an error."""
    until = _first_after(library, moment)
    said = documents_at(library.journal, until=until, only=(document,) if document else None)
    if not said:
        raise NoSuchDocument(f"{document} at {stamp(moment)}".lstrip())
    return {name: shown(text) for name, (_, text) in said.items()}


def _first_after(library: Library, moment: datetime) -> int:
    """Where the journal tells of the first change after that time."""
    until = stamp(moment)
    later = (entry.position for entry in library.journal.entries() if entry.at > until)
    return next(later, library.journal.end())


def restore(library: Library, moment: datetime, *, author: Author, document: str = "") -> Restored:
    """Make one document, or all, say again what they said at that time, in one change.

    Of all, those that were made since are taken away. Can be undone like any change.
    """

    def work() -> Restored:
        library.take_in_changes()
        wanted: dict[str, bytes | None] = {**_said(library, moment, document)}
        if not document:
            wanted |= dict.fromkeys(_made_after(library, moment) - wanted.keys())
        texts = {name: (_now(library, name), then) for name, then in sorted(wanted.items())}
        texts = {name: (now, then) for name, (now, then) in texts.items() if now != then}
        if texts:
            library.tombstones.refuse_forgotten(texts, author=author)
            entry = library.entry(Op.RESTORE, _changes(library, texts), author=author)
            library.replace_texts(entry, texts)
        return Restored(
            tuple(name for name, (_, then) in texts.items() if then is not None),
            tuple(name for name, (_, then) in texts.items() if then is None),
        )

    return library.locked(work)


def put_back(library: Library, notice: Notice, *, author: Author) -> tuple[str, ...]:
    """Append what an outside save took out of a document to it again. Can be undone.

    Returns the lines that were not there.
    """

    def work() -> tuple[str, ...]:
        library.take_in_changes()
        now = library.text(notice.document)[0] if library.look(notice.document) else ""
        there = {item.record.id for item in library.parse(notice.document, now).items}
        lines = {
            piece: (line, kind)
            for piece, (line, kind) in _taken(library, notice).items()
            if (piece[1] not in there if piece[1] else line not in now)
        }
        if lines:
            library.watch.look_at([notice.document])
            again = [(key, line, kind) for (_, key), (line, kind) in lines.items()]
            library.writer.add_again(Op.RESTORE, notice.document, again, author=author)
        library.notices.settle(notice.change)
        return tuple(line for line, _ in lines.values())

    return library.locked(work)


def taken_lines(library: Library, notice: Notice) -> dict[tuple[int, str], str]:
    """What an outside save took out, as the journal has it; without what was forgotten since."""
    return {piece: line for piece, (line, _) in _taken(library, notice).items()}


def _taken(library: Library, notice: Notice) -> dict[tuple[int, str], tuple[str, str]]:
    """The same, each line with the kind that it has if it names none."""
    found: dict[tuple[int, str], tuple[str, str]] = {}
    for position, key in notice.pieces:
        entry = next(iter(library.journal.entries(since=position)), None)
        if entry is None or entry.position != position:
            continue
        for change in entry.changes:
            if change.document != notice.document or not isinstance(change, Added):
                continue
            line = "".join(line for each, line in entry.pieces(change) if each == key)
            if line.strip(f"{BLANK.decode()}\r\n"):
                found[position, key] = line, change.kind
    return found


def _made_after(library: Library, moment: datetime) -> set[str]:
    """The documents that were made after that time, but for diary entries: those never change."""
    first: dict[str, str] = {}
    for entry in library.journal.entries(since=_first_after(library, moment)):
        for name in entry.documents():
            first.setdefault(name, entry.op)
    # What a person made is older than the first look at it, and may be older than the moment.
    made = {name for name, op in first.items() if op != Op.SEEN}
    return {name for name in made if not library.layout.diary_time(name)}


def _now(library: Library, name: str) -> bytes | None:
    """What a document says; None when it is not there. What can't be read is an error."""
    return library.vault.read(name) if library.look(name) else None


def _changes(library: Library, texts: Texts) -> list[Change]:
    """What to journal so that documents become these texts, which are kept."""
    return [
        Gone(name) if new is None else Text(name, library.journal.keep(new))
        for name, (_, new) in texts.items()
    ]


def undo(
    library: Library,
    *,
    author: Author,
    position: int | None = None,
    session: str = "",
    origin: str = "",
) -> Undone:
    """Take back the last change (of a session, of an origin), or the one at `position`.

    An edit made by hand is taken back by its position alone: nobody undoes a person unasked.
    """

    def work() -> Undone:
        library.take_in_changes()
        edits: list[Entry] = []
        if position is None:
            entry, texts = _last_undoable(library, session, origin, edits)
        else:
            entry = _at(library, position)
            texts = _texts_without(library, entry)
        if not texts:
            raise NothingToUndo("what it changed is no longer there")
        library.tombstones.refuse_forgotten(texts, author=author)
        left = _still_there(library, edits)
        marks = _marks(library, entry, texts)
        _, texts = marking.marked(library.writer, (), texts, marks)
        approved = entry.ids if entry.op == Op.ADD else ()
        with library.transactions.together():
            library.replace_texts(
                library.entry(
                    Op.UNDO,
                    _changes(library, texts),
                    ids=entry.ids,
                    author=author,
                    undoes=entry.position,
                    data=marking.unwritten(library.writer, marks),
                ),
                texts,
            )
            waiting = library.approvals.hold_again(approved, author)
        return Undone(entry, tuple(texts), left, waiting)

    return library.locked(work)


def redo(
    library: Library,
    *,
    author: Author,
    position: int | None = None,
    session: str = "",
    origin: str = "",
) -> Redone:
    """Make again what the last undo (of a session, of an origin), or the one at `position`, took.

    What was changed since the undo stays, as what was changed since a change stays when it is
    undone. `position` is that of the undo, or of the change that it took back.
    """

    def work() -> Redone:
        library.take_in_changes()
        if position is None:
            undone, texts = _last_redoable(library, session, origin)
        else:
            undone = undo_of(library, position)
            texts = _texts_without(library, undone)
        if not texts:
            raise NothingToUndo(
                "what it would bring back is there already, or was forgotten", wanted="redone"
            )
        library.tombstones.refuse_forgotten(texts, author=author)
        changes = _changes(library, texts)
        made, ids = _change_behind(library, undone), undone.ids
        approved = ids if made.op == Op.ADD else ()
        with library.transactions.together():
            library.replace_texts(
                library.entry(Op.REDO, changes, ids=ids, author=author, undoes=undone.position),
                texts,
            )
            library.approvals.approve_again(approved, author)
        return Redone(made, undone, tuple(texts))

    return library.locked(work)


def undo_of(library: Library, position: int) -> Entry:
    """The undo at a position, or the one that took back the change there, if it still counts."""
    entries = list(library.journal.entries())
    counting = _undos(entries)
    found = next((e for e in counting if position in (e.position, e.undoes)), None)
    if found is None:
        there = any(entry.position == position for entry in entries)
        why = f"change {position} is not taken back" if there else f"there is no change {position}"
        raise NothingToUndo(why, wanted="redone")
    return found


def _is_of(entry: Entry, session: str, origin: str) -> bool:
    """Whether a change is of a session and of an origin, as far as they are named."""
    return session in ("", entry.session) and origin in ("", entry.origin)


def _last_redoable(library: Library, session: str, origin: str) -> tuple[Entry, Texts]:
    """The last undo of which something is left to make again, and the texts with that."""
    for entry in _undos(list(library.journal.entries())):
        if _is_of(entry, session, origin) and (texts := _texts_without(library, entry)):
            return entry, texts
    raise NothingToUndo("no undo is left to take back", wanted="redone")


def _undos(entries: Sequence[Entry]) -> list[Entry]:
    """The undos that nobody took back, newest first."""
    taken_back = _undone(entries)
    undos = (entry for entry in reversed(entries) if entry.op == Op.UNDO)
    return [entry for entry in undos if entry.undoes >= 0 and entry.position not in taken_back]


def _change_behind(library: Library, undone: Entry) -> Entry:
    """The change that an undo took back; of an undo of an undo, the one at the very start."""
    at = {entry.position: entry for entry in library.journal.entries()}
    found = undone
    while found.undoes in at:
        found = at[found.undoes]
    return found


def _marks(library: Library, entry: Entry, texts: Texts) -> Marks:
    """What becomes of marks when records are taken back that had replaced others."""
    if entry.op not in (Op.ADD, Op.PUT_BACK):
        return {}  # The text before it has the marks of then.
    return library.chains.undone(marking.leaving(library.writer, texts))


def _last_undoable(
    library: Library, session: str, origin: str, edits: list[Entry]
) -> tuple[Entry, Texts]:
    """The last change of which something is left to take back, and the texts without it.

    Newer ones that were made by hand are put into `edits`. Who has just done what cannot be taken
    back did not mean the change before it, and nobody means what came before the vault was made.
    """
    entries = list(library.journal.entries())
    undone = _undone(entries)
    final: Entry | None = None
    for entry in reversed(entries):
        if _begins(entry):
            raise _made_then(entry, final, _still_there(library, edits), undone)
        is_of = _is_of(entry, session, origin)
        if entry.position in undone or not (is_of or entry.op == Op.EDITED):
            continue
        if entry.op == Op.EDITED:
            edits.append(entry)
        elif entry.origin == SYSTEM.origin and entry.op in UNASKED:
            continue
        elif entry.op in FINAL:
            final = final or entry
        elif entry.op in UNDOABLE and (texts := _texts_without(library, entry)):
            if final:
                raise _no_way_back(final, entry)
            return entry, texts
    raise _nothing_to_undo(
        "no change is left to take back", _ways_back(_still_there(library, edits))
    )


def _begins(entry: Entry) -> bool:
    """Whether a change is that of `init`, which older journals call an addition of whole texts."""
    whole = entry.op == Op.ADD and any(isinstance(change, Text) for change in entry.changes)
    return entry.op == Op.INIT or whole


def _made_then(
    made: Entry, final: Entry | None, edits: Sequence[Entry], undone: set[int]
) -> NothingToUndo:
    """Why nothing from before the vault was made is taken back, and how to take back the making."""
    names = ", ".join(made.documents())
    way = f"'commonplace undo --change {made.position}' takes away what init made ({names})."
    why = f"what was {_fate(final)}" if final else "nothing was changed since the vault was made"
    stored = _if_rejected(final)
    return _nothing_to_undo(why, stored, _ways_back(edits), "" if made.position in undone else way)


def _nothing_to_undo(why: str, *ways: str) -> NothingToUndo:
    """The error with the ways there are; without any, it names the log."""
    told = " ".join(filter(None, ways))
    return NothingToUndo(why, next_step=told) if told else NothingToUndo(why)


def _fate(final: Entry) -> str:
    return "forgotten is gone for good" if final.op == Op.FORGET else "rejected stays so"


def _if_rejected(final: Entry | None) -> str:
    """How to have it all the same; empty where nothing was rejected."""
    if final is None or final.op != Op.REJECT:
        return ""
    return "To keep it all the same, store it yourself: commonplace store TEXT."


def _no_way_back(final: Entry, before: Entry) -> NothingToUndo:
    return _nothing_to_undo(
        f"what was {_fate(final)}",
        _if_rejected(final),
        f"'commonplace undo --change {before.position}' takes back the change before it "
        f"({', '.join(before.documents())}).",
    )


def _still_there(library: Library, edits: Sequence[Entry]) -> tuple[Entry, ...]:
    """Of the newest of these changes, those of which something is left to take back."""
    # Each takes a look at the whole journal, under the lock: some are enough to tell of.
    return tuple(entry for entry in edits[:EDITS_TOLD] if _texts_without(library, entry))


def _ways_back(edits: Sequence[Entry]) -> str:
    """How to take back edits that were made by hand; empty without any."""
    ways = [f"'commonplace undo --change {e.position}' ({', '.join(e.documents())})" for e in edits]
    if not ways:
        return ""
    return (
        "Edits made by hand stay; 'commonplace log' lists them. "
        f"To take them back: {', '.join(ways)}."
    )


def _undone(entries: Sequence[Entry]) -> set[int]:
    """The changes that are taken back now: an undo that was itself taken back does not count."""
    return set(undos_by_change(entries))


def undos_by_change(entries: Sequence[Entry]) -> dict[int, int]:
    """The positions of the changes that are taken back now, each with that of its undo."""
    undone: dict[int, int] = {}
    for entry in reversed(entries):
        if entry.undoes >= 0 and entry.position not in undone:
            undone.setdefault(entry.undoes, entry.position)
    return undone


def _at(library: Library, position: int) -> Entry:
    entries = list(library.journal.entries())
    undone = _undone(entries)
    found = next((entry for entry in entries if entry.position == position), None)
    if found is None:
        raise NothingToUndo(f"there is no change {position}")
    if found.op == Op.FORGET:
        raise NothingToUndo("what was forgotten is gone for good")
    if found.op == Op.SEEN:
        names = ", ".join(found.documents())
        raise NothingToUndo(f"{names} was there before, and change {position} only notes it")
    if found.position in undone:
        raise NothingToUndo(f"change {position} was taken back already")
    return found


def _texts_without(library: Library, entry: Entry) -> Texts:
    """The documents that one change is still seen in, as they are now and without it."""
    whole = {change.document for change in entry.changes if not isinstance(change, Added)}
    # One look at the journal for all of them; what was only appended needs none.
    said = documents_at(library.journal, until=entry.position, only=whole) if whole else {}
    texts: Texts = {}
    for change in entry.changes:
        name = change.document
        now = _now(library, name)
        if isinstance(change, Added):
            new = _less(library, texts[name][1] if name in texts else now, entry, change)
        else:
            before = said[name][1] if name in said else None
            new = _taken_back(before, after_entry(library.journal, before, entry, name), now)
        if new != now:
            texts[name] = (now, new)
    for follower in _followers(library, entry):
        texts |= _texts_without(library, follower)
    return texts


def _followers(library: Library, entry: Entry) -> list[Entry]:
    """What was done to the copies of lines that a person edited."""
    if entry.op != Op.EDITED:
        return []
    later = library.journal.about(f'"{FOLLOWS}":{entry.position}', since=entry.end)
    return [each for each in later if each.data.get(FOLLOWS) == entry.position]


def _taken_back(before: bytes | None, after: bytes | None, now: bytes | None) -> bytes | None:
    """What a document says without the change from one text to another, and with all since."""
    before, after = before and shown(before), after and shown(after)
    if now == after:
        return before
    base, ours, theirs = after or b"", before or b"", now or b""
    if theirs.endswith(b"\n"):
        # An end that a last line lacked came with what was added below it.
        base, ours = _ended(base), _ended(ours)
    merged = merged_bytes(base, ours, theirs)
    if merged == theirs:
        return now
    return None if before is None and not merged else merged


def _ended(text: bytes) -> bytes:
    return text if not text or text.endswith(b"\n") else text + b"\n"


def _less(library: Library, now: bytes | None, entry: Entry, change: Added) -> bytes | None:
    """The text without what was added, wherever it stands now.

    Where nothing else is left, the document is again what it was: empty, or not there.
    """
    if now is None:
        return None
    if change.at == 0 and now == entry.appended(change):
        return document_at(library.journal, change.document, until=entry.position)
    if entry.ids and _stands_there(now, entry, change):
        return _taken_out(library, now, entry, change)
    if entry.ids:
        text = decoded(change.document, now)
        found = spans_of(text, library.parse(change.document, text), set(entry.ids))
        return without(now, found)
    for line in reversed(entry.lines):
        data = (line.replace("\n", "\r\n") if change.crlf else line).encode()
        head, found_at, tail = now.rpartition(data)
        now = head + tail if found_at else now
    return now


def _stands_there(now: bytes, entry: Entry, change: Added) -> bool:
    """Whether lines stand where they were put, and no line that came later needs their heading."""
    added = entry.appended(change)
    below = now[change.at + len(added) :]
    needed = change.lead and below.strip() and not below.startswith((b"\n", b"\r\n", b"#"))
    return now.startswith(added, change.at) and not needed


def _taken_out(library: Library, now: bytes, entry: Entry, change: Added) -> bytes:
    """The text without lines that stand where they were put, and with the section's day of then."""
    left = now[: change.at] + now[change.at + len(entry.appended(change)) :]
    if isinstance(change, Insert) and change.dated and _is_last(library, entry, change.document):
        start, was, _ = change.dated
        return left[:start] + was.encode() + left[start + len(was) :]
    return left


def _is_last(library: Library, entry: Entry, name: str) -> bool:
    """Whether a document was not changed since an entry."""
    later = library.journal.entries(since=entry.end)
    return not any(name in each.documents() for each in later)
