"""Moving a vault: all that is in one is copied to where there is nothing yet, and then compared.

It does not know what the two are kept in. A copy that was cut off goes on where it was. It is done
when a look at both from end to end finds nothing left to copy; the source is never changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, zip_longest
from pathlib import Path

from msgspec import Struct

from commonplace.doors.admin.init import root_of, write_settings
from commonplace.doors.setup.copying import NOTE as COPIED
from commonplace.history.messages import History, message_of
from commonplace.library.experiences import NAME as EXPERIENCES
from commonplace.memory import Memory
from commonplace.model.errors import BadValue, NoSuchDocument, Refused, VaultTrouble
from commonplace.model.options import is_url
from commonplace.opening import VaultParts, parts_at
from commonplace.search.index import Query
from commonplace.storage.ledger import DIRECTORY as TOLD
from commonplace.storage.option_files import FILE
from commonplace.storage.pauses import NOTE as PAUSES
from commonplace.storage.sessions import DIRECTORY as SESSIONS
from commonplace.storage.state_places import STATE
from commonplace.storage.vault import Cancelled, Stat
from commonplace.upkeep.compaction.plan import LOG as COMPACTIONS
from commonplace.upkeep.compaction.summarizers import TOKENS
from commonplace.upkeep.heartbeat import LOG as HEARTBEATS
from commonplace.upkeep.schedule import NAME as SCHEDULE

MARK = "moving.json"
"""The note in a target that says what is being copied into it."""
OURS = {STATE, FILE, ".gitignore"}
"""What a directory may have in it before anything is copied there."""
NOTES = (EXPERIENCES, COMPACTIONS, HEARTBEATS, SCHEDULE, TOKENS, COPIED, PAUSES)
BATCH = 500
"""Lines of the journal, or messages, that are written at once."""
BATCH_BYTES = 4_000_000
PASSES = 5
EVERYTHING = Query(include_superseded=True, include_secret=True)

Step = Callable[[int, int], None]
OnProgress = Callable[[str], Step]
"""Gives for a stage of the work what is told how much of it is done, of how much."""


class Copied(Struct, frozen=True):
    """What is in both places now."""

    source: str
    target: str
    documents: int
    bytes: int
    records: int
    entries: int
    versions: int
    messages: int
    notes: int


class CutOver(Struct, frozen=True):
    """What is done so that nobody writes to the source any more."""

    closing: Callable[[], None]
    """Once most of it is copied: from here on the source is only read."""
    closed: Callable[[], None]
    """Once both are the same: from here on only the copy is used."""


def move(
    source: str, target: str, *, progress: OnProgress, switch: CutOver | None = None
) -> Copied:
    """Copy a vault to where there is none, or go on doing so.

    With a `switch` everybody is to go over to the copy.
    """
    with Memory.open(source) as old:
        if old.read_only:
            raise old.parts.refusal()
        old.library.refresh()
        if not (is_url(source) or is_url(target)):
            _check_apart(old.root, root_of(Path(target).expanduser(), old.layout))
        new = _opened(target, old)
        try:
            _check(old.parts, new)
            if not is_url(target):
                write_settings(Path(new.root), old.layout, alone=False)
            return _Copying(old, new, progress).run(switch)
        except Cancelled as cancelled:
            raise cancelled.error from None
        finally:
            close_parts(new)


def _check_apart(source: Path, target: Path) -> None:
    """What is copied into the source would be part of it, and copied again, without end."""
    one, other = source.resolve(), target.resolve()
    if one in other.parents or other in one.parents:
        raise BadValue(
            "to", "one of the two places is inside the other", next_step="Name one beside it."
        )


def _opened(target: str, old: Memory) -> VaultParts:
    layout = old.layout
    place: str | Path = target
    if not is_url(target):
        place = root_of(Path(target).expanduser(), layout)
        if place.exists() and {entry.name for entry in place.iterdir()} - OURS:
            _check_begun(place)
    given = {"dialect": layout.name, "document_limit": old.options.document_limit}
    return parts_at(place, clock=None, create=True, environ={}, options=given)


def _check_begun(root: Path) -> None:
    """A directory with anything in it is let be, unless it is a copy that was cut off."""
    if not (root / STATE / MARK).is_file():
        raise _taken(str(root))


def close_parts(parts: VaultParts) -> None:
    """Close a vault that was opened part by part."""
    for store in (parts.index, parts.journal, parts.progress_store, parts.vault):
        store.close()
    parts.close()


def _check(old: VaultParts, new: VaultParts) -> None:
    """Whether the target is empty, or holds the beginning of this very copy."""
    if new.place == old.place or new.state == old.state:
        raise BadValue("to", "it is where the vault is already", next_step="Name another place.")
    said = new.notes.read(MARK)
    mine = json.dumps({"journal": old.journal.mark(), "from": old.shown}).encode()
    if said is None and _is_empty(new):
        new.notes.write(MARK, mine, durable=True)
    elif not said or json.loads(said)["journal"] != old.journal.mark():
        raise _taken(new.shown)


def _is_empty(parts: VaultParts) -> bool:
    listing = parts.vault.listing()
    said = parts.has_history() and parts.history().count()
    return not (listing.documents or listing.unreadable or said or any(parts.journal.entries()))


class _Copying:
    def __init__(self, old: Memory, new: VaultParts, progress: OnProgress) -> None:
        self.memory = old
        self.old = old.parts
        self.new = new
        self.progress = progress

    def run(self, switch: CutOver | None) -> Copied:
        if switch:
            self._pass()
            switch.closing()
        seen = self._copy()
        known = self._known_there()
        with self.old.vault.lock():
            # What was written meanwhile is little, and nothing more is while we hold the lock.
            if self._look() != seen:
                self._copy()
                known = self._known_there()
            self.memory.library.refresh()
            if known != _known(self.memory):
                raise _not_the_same(self.new.shown, "it has other records")
            copied = self._counted(known[0])
        if switch:
            switch.closed()
        self.new.notes.remove(MARK)
        return copied

    def _look(self) -> object:
        """What tells without reading it all whether the source has changed."""
        messages = self.old.history().count() if self.old.has_history() else 0
        return self.old.journal.end(), self.old.vault.listing(), messages

    def _copy(self) -> object:
        """Copy until a pass finds nothing to do. Returns how the source looked before that one."""
        for _ in range(PASSES):
            seen = self._look()
            if not self._pass():
                return seen
        raise _not_the_same(self.new.shown, "the source is written to faster than it can be copied")

    def _pass(self) -> int:
        """Copy what differs. Returns how many things did."""
        return sum(
            (
                self._versions(self.progress("Kept texts")),
                self._journal(self.progress("Journal")),
                self._messages(self.progress("Messages")),
                self._documents(self.progress("Documents")),
                self._notes(),
            )
        )

    def _versions(self, step: Step) -> int:
        names = list(self.old.journal.versions())
        copied = 0
        for done, name in enumerate(names, 1):
            data = self.old.journal.packed(name)
            if data is not None and data != self.new.journal.packed(name):
                self.new.journal.take_in_version(name, data)
                copied += 1
            step(done, len(names))
        return copied

    def _journal(self, step: Step) -> int:
        at = begin = self._agreed()
        lines = self.old.journal.lines(since=begin)
        while batch := _batch(lines):
            with self.new.vault.lock():
                self.new.journal.take_in(batch)
            at = batch[-1][0] + len(batch[-1][1])
            step(at, max(at, self.old.journal.end()))
        if at and self.new.journal.end() > at:
            with self.new.vault.lock():
                self.new.journal.take_back(at)
            return 1
        return int(at > begin)

    def _agreed(self) -> int:
        """The position up to which both journals say the same."""
        at = 0
        for one, other in zip(self.old.journal.lines(), self.new.journal.lines()):
            if one != other:
                break
            at = one[0] + len(one[1])
        return at

    def _messages(self, step: Step) -> int:
        if not self.old.has_history():
            return 0
        old, new = self.old.history(), self.new.history()
        both = enumerate(zip_longest(old.dump(), new.dump()))
        begin = next((at for at, (one, other) in both if one != other), None)
        if begin is None:
            return 0
        if new.count() > begin:
            _forget_others(old, new)
        done = begin
        lines = islice(old.dump(), begin, None)
        while batch := list(islice(lines, BATCH)):
            new.load(batch)
            done += len(batch)
            step(done, max(done, old.count()))
        return 1

    def _documents(self, step: Step) -> int:
        listing = self.old.vault.listing()
        if listing.unreadable:
            raise _not_the_same(self.new.shown, " ".join(listing.unreadable.values()).rstrip("."))
        wanted = listing.documents
        there = self.new.vault.listing().documents
        extra = [name for name in there if name not in wanted]
        copied, total = 0, len(wanted) + len(extra)
        for done, names in _portions({**wanted, **{name: there[name] for name in extra}}):
            with self.new.vault.lock():
                copied += sum(self._document(name, name in there) for name in names)
            step(done, total)
        return copied

    def _document(self, name: str, is_there: bool) -> bool:
        before = self.new.vault.read(name) if is_there else None
        try:
            text = self.old.vault.read(name)
        except NoSuchDocument:
            self.new.vault.remove(name)
            return True
        if text == before:
            return False
        self.new.vault.replace(name, text, expected=before)
        return True

    def _notes(self) -> int:
        copied = 0
        for name in self._note_names():
            data = self.old.notes.read(name)
            if data is not None and data != self.new.notes.read(name):
                self.new.notes.write(name, data, durable=True)
                copied += 1
        return copied

    def _note_names(self) -> list[str]:
        kept = self.old.notes
        return [*filter(kept.has, NOTES), *kept.names(SESSIONS), *kept.names(TOLD)]

    def _known_there(self) -> tuple[int, dict[str, int]]:
        """What the target knows when it has read all that it was given."""
        end = self.new.journal.end()
        limit = self.new.options.document_limit
        with Memory.open(self.new.place, environ={}, document_limit=limit) as memory:
            memory.rebuild(self.progress("Records"))
            found = _known(memory)
        if self.new.journal.end() != end:
            raise _not_the_same(self.new.shown, "its journal does not tell what its documents say")
        return found

    def _counted(self, records: int) -> Copied:
        documents = self.old.vault.listing().documents
        return Copied(
            source=self.old.shown,
            target=self.new.shown,
            documents=len(documents),
            bytes=sum(stat.size for stat in documents.values()),
            records=records,
            entries=sum(1 for _ in self.new.journal.entries()),
            versions=sum(1 for _ in self.new.journal.versions()),
            messages=self.new.history().count(),
            notes=len(self._note_names()),
        )


def _known(memory: Memory) -> tuple[int, dict[str, int]]:
    index = memory.parts.index
    return index.count(EVERYTHING), dict(sorted(index.kinds().items()))


def _forget_others(old: History, new: History) -> None:
    """Erase what the source has forgotten since it was copied."""
    kept = set(old.dump())
    new.forget([message_of(line).id for line in new.dump() if line not in kept])


def _batch(lines: Iterator[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    found, size = list[tuple[int, bytes]](), 0
    for line in lines:
        found.append(line)
        size += len(line[1])
        if len(found) >= BATCH or size >= BATCH_BYTES:
            break
    return found


def _portions(documents: Mapping[str, Stat]) -> Iterator[tuple[int, list[str]]]:
    """Names of documents to be written at once, and how many there are up to the last of them."""
    names, size = list[str](), 0
    for done, (name, stat) in enumerate(documents.items(), 1):
        names.append(name)
        size += stat.size
        if len(names) >= BATCH or size >= BATCH_BYTES or done == len(documents):
            yield done, names
            names, size = [], 0


def _taken(where: str) -> Refused:
    return Refused(
        f"{where} holds something already. Nothing was copied.",
        next_step="Name an empty directory or a profile that nobody has used.",
    )


def _not_the_same(where: str, problem: str) -> VaultTrouble:
    return VaultTrouble(
        f"{where} is not a true copy: {problem}. The source is as it was.",
        next_step="Run the command again while nobody writes to either of the two.",
    )
