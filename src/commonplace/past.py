"""What was: the history of a record, who wrote which line, any text at any time, and undo.

Everything is read from the journal; it knows nothing of search.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from datetime import datetime

from commonplace import replay
from commonplace.clock import stamp
from commonplace.errors import NoSuchDocument, NothingToUndo
from commonplace.journal import BLANK, Append, Change, Entry, Gone, Op, Text, without
from commonplace.library import Library, spans_of
from commonplace.merging import merged_bytes
from commonplace.reader import decoded
from commonplace.records import Author
from commonplace.values import frozen

UNDOABLE = frozenset((Op.ADD, Op.REPLACE, Op.STRIKE, Op.RESTORE, Op.COMPACT))
"""What plain `undo` takes back; other changes only when they are named."""

Texts = dict[str, tuple[bytes | None, bytes | None]]


@frozen
class Blame:
    """One line of a document and the change that brought it; None if the journal is younger."""

    line: int
    text: str
    entry: Entry | None


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
    text, until = None, stamp(moment)
    for entry in library.journal.entries():
        if entry.at > until:
            break
        text = replay.after(library.journal, text, entry, document)
    if text is None:
        raise NoSuchDocument(f"{document} at {until}")
    return decoded(document, _shown(text), lenient=True)


def restore(library: Library, document: str, moment: datetime, *, author: Author) -> None:
    """Make a document say again what it said at that time. Can be undone like any change."""

    def work() -> None:
        library.look(document)
        text = text_at(library, document, moment).encode()
        now = library.vault.read(document) if library.vault.stat(document) else None
        library.put_text(Op.RESTORE, document, now, text, author=author)

    library.locked(work)


def documents_at(library: Library, moment: datetime) -> list[str]:
    """The documents that were there at that time: some, or it was before all that is known."""
    there: dict[str, bool] = {}
    for entry in library.journal.entries():
        if entry.at > stamp(moment):
            break
        for change in entry.changes:
            there[change.document] = not isinstance(change, Gone)
    if not any(there.values()):
        raise NoSuchDocument(f"at {stamp(moment)}")
    return sorted(name for name, is_there in there.items() if is_there)


def blame(library: Library, document: str) -> list[Blame]:
    """Each line of a document with the change that brought it."""
    library.refresh()
    library.text(document)
    text = bytearray()
    owners: list[Entry] = []
    for entry in library.journal.entries():
        if added := _added(text, entry, document):
            # Most changes are of this kind, and the text before may be long.
            owners += [entry] * len(_lines(added))
            text += added
        elif document in entry.documents():
            after = replay.after(library.journal, bytes(text), entry, document)
            owners = _attributed(_lines(text), owners, _lines(after or b""), entry)
            text = bytearray(after or b"")
    return [
        Blame(number, line, None if entry.op == Op.SEEN else entry)
        for number, (line, entry) in enumerate(zip(_lines(text), owners), start=1)
    ]


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
    shown = decoded("", _shown(bytes(text)), lenient=True)
    return shown.removesuffix("\n").split("\n") if shown else []


def undo(
    library: Library, *, author: Author, position: int | None = None, session: str = ""
) -> Entry:
    """Take back the last change (of a session), or the one at `position`. Returns that change."""

    def work() -> Entry:
        library.take_in_changes()
        if position is None:
            entry, changes, texts = _last_undoable(library, session)
        else:
            entry = _at(library, position)
            changes, texts = _reverted(library, entry)
        if not changes:
            raise NothingToUndo("what it changed is no longer there")
        undone = library.entry(
            Op.UNDO, changes, ids=entry.ids, author=author, undoes=entry.position
        )
        library.replace_texts(undone, texts)
        return entry

    return library.locked(work)


def _last_undoable(library: Library, session: str) -> tuple[Entry, list[Change], Texts]:
    """The last change of which something is left to take back, and how to."""
    entries = list(library.journal.entries())
    undone = _undone(entries)
    for entry in reversed(entries):
        mine = not session or entry.session == session
        if entry.op in UNDOABLE and entry.position not in undone and mine:
            changes, texts = _reverted(library, entry)
            if changes:
                return entry, changes, texts
    raise NothingToUndo("no change is left to take back")


def _undone(entries: Sequence[Entry]) -> set[int]:
    """The changes that are taken back now: an undo that was itself taken back does not count."""
    undone: set[int] = set()
    for entry in reversed(entries):
        if entry.undoes >= 0 and entry.position not in undone:
            undone.add(entry.undoes)
    return undone


def _at(library: Library, position: int) -> Entry:
    entries = list(library.journal.entries())
    undone = _undone(entries)
    found = next((entry for entry in entries if entry.position == position), None)
    if found is None:
        raise NothingToUndo(f"there is no change {position}")
    if found.op == Op.FORGET:
        raise NothingToUndo("what was forgotten is gone for good")
    if found.position in undone:
        raise NothingToUndo(f"change {position} was taken back already")
    return found


def _reverted(library: Library, entry: Entry) -> tuple[list[Change], Texts]:
    """The documents as they would be without one change, with everything since kept."""
    changes: list[Change] = []
    texts: Texts = {}
    for change in entry.changes:
        name = change.document
        now = library.vault.read(name) if library.vault.stat(name) else None
        new = _without(library, entry, change, now)
        if new != now:
            texts[name] = (now, new)
            changes.append(Gone(name) if new is None else Text(name, library.journal.keep(new)))
    return changes, texts


def _without(library: Library, entry: Entry, change: Change, now: bytes | None) -> bytes | None:
    name = change.document
    if isinstance(change, Append):
        return _less(library, now or b"", entry, change)
    before = replay.state(library.journal, name, until=entry.position)
    after = replay.state(library.journal, name, until=entry.end)
    if before is None:
        return None if now == after else now
    return merged_bytes(_shown(after or b""), _shown(before), now or b"")


def _less(library: Library, now: bytes, entry: Entry, change: Append) -> bytes | None:
    """The text without what was appended, wherever it stands now."""
    if change.at == 0 and now == entry.appended(change):
        return None
    if entry.ids:
        text = decoded(change.document, now)
        found = spans_of(text, library.parse(change.document, text), set(entry.ids))
        return without(now, found)
    for line in reversed(entry.lines):
        data = (line.replace("\n", "\r\n") if change.crlf else line).encode()
        head, found_at, tail = now.rpartition(data)
        now = head + tail if found_at else now
    return now


def _shown(text: bytes) -> bytes:
    """The text without the blanks that stand for what was forgotten."""
    return text.replace(BLANK, b"")
