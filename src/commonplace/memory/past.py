"""Log, blame, undo, redo, restore, and notices of outside edits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from commonplace.library import copies, undo
from commonplace.library.blame import Blame, Version, lines_of, versions_of
from commonplace.memory import session
from commonplace.model import limits
from commonplace.model.errors import NoSuchRecord, NotFound, Refused
from commonplace.model.lazy import Lazy
from commonplace.model.records import Record
from commonplace.storage.journal import Entry, Op
from commonplace.storage.notices import Notice
from commonplace.trust import permission

if TYPE_CHECKING:
    from commonplace.library import record_past
    from commonplace.library.record_past import RecordVersion, Removed
    from commonplace.library.undo import Redone, Restored
    from commonplace.memory import Memory
else:
    record_past = Lazy("library.record_past")


def log(memory: Memory, *, limit: int = 20) -> list[Entry]:
    session.check_open(memory)
    limit = limits.check_limit(limit, most=1 << 30)
    if not (memory.bounded and memory.layout.only_memory_served):
        return undo.log(memory.library, limit=limit)
    found = undo.log(memory.library, limit=1 << 30)
    return [each for each in found if any(map(memory.serves, each.documents()))][:limit]


def history(memory: Memory, record_id: str) -> list[Entry]:
    session.check_open(memory)
    return undo.history(memory.library, session.meant(memory, record_id))


def record_versions(memory: Memory, record_id: str) -> list[RecordVersion]:
    session.check_open(memory)
    found = record_past.versions(memory.library, session.meant(memory, record_id))
    memory.note_shown(each.record for each in found if each.record)
    return found


def removed(memory: Memory) -> list[Removed]:
    session.check_open(memory)
    memory.library.refresh()
    found = memory.library.removed_records.all()
    return [each for each in found if any(map(memory.serves, each.entry.documents()))]


def forgotten(memory: Memory) -> list[tuple[str, int]]:
    session.check_open(memory)
    return record_past.forgotten(memory.library)


def put_back_records(memory: Memory, record_ids: Sequence[str]) -> tuple[Record, ...]:
    permission.check_restores(memory.author.origin)
    wanted = dict.fromkeys(record_ids)

    def work() -> tuple[Record, ...]:
        memory.library.take_in_changes()
        there = {each.record.id: each for each in removed(memory)}
        missing = [key for key in wanted if key not in there]
        if missing:
            raise NoSuchRecord(missing[0])
        return _put_back(memory, [there[key] for key in wanted])

    return memory.library.locked(work)


def _put_back(memory: Memory, wanted: Sequence[Removed]) -> tuple[Record, ...]:
    """Records where they stood, if one strike took out these and no others; else with the rest."""
    records = tuple(each.record for each in wanted)
    struck = wanted[0].entry
    if struck.op == Op.STRIKE and sorted(struck.removed) == sorted(r.id for r in records):
        undo.undo(memory.library, author=memory.author, position=struck.position)
        return records
    texts = {"": (None, "\n".join(record.text for record in records).encode())}
    memory.library.tombstones.refuse_forgotten(texts, author=memory.author)
    from commonplace.memory import storing

    return memory.library.store.add(
        records,
        to=lambda record: storing.targets(memory, record),
        author=memory.author,
        op=Op.RESTORE,
    )


def blame(memory: Memory, document: str) -> list[Blame]:
    session.check_open(memory)
    return lines_of(memory.library, session.document_named(memory, document))


def versions(memory: Memory, document: str) -> list[Version]:
    session.check_open(memory)
    return versions_of(memory.library, session.document_named(memory, document))


def undo_change(
    memory: Memory, position: int | None = None, *, session: str = "", mine: bool = False
) -> undo.Undone:
    if not permission.is_believed(memory.author.origin):
        entries = memory.library.entries()
        _check_takes_back(memory, next((e for e in entries if e.position == position), None))
        session = memory.session
    author = memory.author
    own = author.origin if mine else ""
    return undo.undo(memory.library, author=author, position=position, session=session, origin=own)


def redo_change(
    memory: Memory, position: int | None = None, *, session: str = "", mine: bool = False
) -> Redone:
    if not permission.is_believed(memory.author.origin):
        undone = None if position is None else undo.undo_of(memory.library, position)
        _check_takes_back(memory, undone)
        session = memory.session
    author = memory.author
    own = author.origin if mine else ""
    return undo.redo(memory.library, author=author, position=position, session=session, origin=own)


def _check_takes_back(memory: Memory, entry: Entry | None) -> None:
    """`entry` is the change that is named by its number, if one is."""
    if entry:
        permission.check_takes_back(memory.author.origin, change=entry.position, of=entry.origin)
    elif not memory.session:
        raise Refused(
            "There is no session, so nothing tells which changes are its own.",
            next_step="Name the change by its number, or ask the user to take it back.",
        )


def text_at(memory: Memory, document: str, moment: datetime) -> str:
    session.check_open(memory)
    return undo.text_at(memory.library, session.document_named(memory, document), moment)


def restore(memory: Memory, moment: datetime, document: str = "") -> Restored:
    permission.check_restores(memory.author.origin)
    name = session.document_named(memory, document) if document else ""
    return undo.restore(memory.library, moment, author=memory.author, document=name)


def put_back(memory: Memory, change: int) -> tuple[str, ...]:
    return undo.put_back(memory.library, _notice(memory, change), author=memory.author)


def dismiss(memory: Memory, change: int) -> None:
    _notice(memory, change)
    memory.library.undisturbed(lambda: memory.library.notices.settle(change))


def _notice(memory: Memory, change: int) -> Notice:
    found = next((it for it in memory.notices() if it.change == change and it.pieces), None)
    if found is None:
        raise NotFound(
            f"No save is noted as change {change} that took out what was just written.",
            next_step="'commonplace put-back' lists them; 'commonplace log' lists all changes.",
        )
    return found


def unite_copies(memory: Memory, names: Iterable[str]) -> list[copies.United]:
    permission.check_restores(memory.author.origin)
    return copies.unite(memory.library, names, author=memory.author)
