"""See which documents others have changed, and wait until a program has finished saving one.

What such a change means, and what becomes of it, `OutsideEdits` decides: it is made when the first
one is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.library.record_reader import decoded
from commonplace.library.writer import Writer
from commonplace.markdown.layouts import copy_of
from commonplace.model.clock import monotonic
from commonplace.model.errors import NoSuchDocument, Unreadable
from commonplace.model.files import Known
from commonplace.model.records import etag_of
from commonplace.storage.vault import Stat, Unsettled

if TYPE_CHECKING:
    from commonplace.library.outside_edits import OutsideEdits

SETTLED = 0.05
"""Seconds without a write after which an outside save counts as finished …"""
SETTLED_SHRUNK = 1.0
"""… and when much is missing, which may still be on its way."""
PATIENCE = 2.0
"""… and with a program that saves without a pause, when there is nothing to wait for …"""
PATIENCE_SHRUNK = 5.0
"""… even if much is missing: then a short rest is enough …"""
IMPATIENCE = 60.0
"""… for so long."""
SHRUNK = 0.7


class DocumentWatch:
    """The documents of one vault as others leave them."""

    def __init__(self, writer: Writer, make_edits: Callable[[], OutsideEdits]) -> None:
        self.shared = writer.shared
        self.sync = writer.sync
        self.vault = writer.shared.vault
        self.index = writer.shared.index
        self.reader = writer.shared.reader
        self.clock = writer.shared.clock
        self._make_edits = make_edits
        self._edits: OutsideEdits | None = None
        self.troubles: dict[str, str] = {}
        """What could not be read at the last look, and a sentence that says why."""
        self.copies: dict[str, str] = {}
        """What sync programs put beside documents, as seen at the last look."""
        self._missing: dict[str, float] = {}
        self._unlisted: set[str] = set()
        self._unsettled: dict[str, float] = {}

    @property
    def edits(self) -> OutsideEdits:
        if self._edits is None:
            self._edits = self._make_edits()
        return self._edits

    def mark_lost(self) -> None:
        """Mark what was replaced by records that an outside edit took out."""
        if self._edits:
            self._edits.mark_lost()

    def changed(self) -> list[str]:
        """The documents that do not look as the index knows them."""
        if self.vault.transactional:
            return []
        known, listing = self.index.known() | self.sync.progress.documents, self.vault.listing()
        hidden = tuple(listing.unreadable)
        for path in self._unlisted - listing.unreadable.keys():
            self.troubles.pop(path, None)
        self._unlisted = set(listing.unreadable)
        self.troubles.update(listing.unreadable)
        self.copies = listing.copies
        gone = [name for name in known if name not in listing.documents]
        return [name for name in gone if not (hidden and name.startswith(hidden))] + [
            name
            for name, stat in listing.documents.items()
            if not self._same(name, known.get(name), stat)
        ]

    def _same(self, name: str, known: Known | None, stat: Stat) -> bool:
        if known is None:
            return False
        was = known.signature
        if (was.size, was.mtime_ns, was.inode) != (stat.size, stat.mtime_ns, stat.inode):
            return False
        return not was.racy or self._same_text(name, known, stat)

    def _same_text(self, name: str, known: Known, stat: Stat) -> bool:
        """Settle by its text whether a document was changed within a tick of our last look."""
        was = known.signature
        if not was.digest or etag_of(self.vault.read(name)) != was.digest:
            return False
        if not self.sync.is_racy(stat):
            self.index.note(name, known=replace(known, signature=replace(was, racy=False)))
        return True

    def look_at_all(self) -> None:
        """Take in everything that changed. Called under the lock."""
        self.sync.catch_up_index()
        for name in self.changed():
            try:
                self.look(name)
            except Unreadable as error:
                # Not to be read is not the same as deleted: what the index has of it stays.
                self.troubles[name] = str(error)
        self.sync.catch_up_index()
        self.mark_lost()

    def look(self, name: str) -> Known | None:
        """Take in what changed in one document. Called under the lock."""
        known = self.sync.known_of(name)
        if known and self.vault.transactional:
            return known
        if copy_of(name):
            self.index.drop(name)
            return None
        stat = self.vault.stat(name)
        if stat is None:
            if known:
                self._look_again_for(name)
                self.edits.take_in_removal(name)
            return None
        self._missing.pop(name, None)
        if known and self._same(name, known, stat):
            return known
        self.sync.catch_up_index()
        known = self.index.known_of(name)
        self._wait_until_settled(name, known, stat)
        try:
            data = self.vault.read(name)
        except NoSuchDocument:
            raise Unsettled(SETTLED) from None
        if self.vault.stat(name) != stat:
            raise Unsettled(SETTLED)
        data, stat = self.edits.healed(name, data, stat, known)
        parsed = self.reader.parse(name, decoded(name, data))
        self.troubles.pop(name, None)
        return self.edits.take_in(name, data, parsed, stat, known)

    def look_at(self, names: Iterable[str]) -> None:
        """Look at documents that are to be appended to, but for those that we wrote last."""
        self.shared.check_writable()
        for name in names:
            if name not in self.sync.progress.documents:
                self.look(name)

    def _look_again_for(self, name: str) -> None:
        """Wait for a document that is gone: some editors move the old file away first."""
        if monotonic() - self._missing.setdefault(name, monotonic()) < SETTLED:
            raise Unsettled(SETTLED)

    def _wait_until_settled(self, name: str, known: Known | None, stat: Stat) -> None:
        if known is None:
            return
        shrunk = stat.size == 0 or stat.size < SHRUNK * known.signature.size
        age = (self.clock.now_ns() - stat.mtime_ns) / 1e9
        if not 0 <= age < (SETTLED_SHRUNK if shrunk else SETTLED):
            self._unsettled.pop(name, None)
            return
        waited = self._waited(name)
        if shrunk:
            needed = SETTLED_SHRUNK if waited < PATIENCE_SHRUNK else SETTLED
        else:
            needed = SETTLED if waited < PATIENCE else 0.0
        if age < needed:
            self.edits.observe(name, known, stat)
            # Look often: each of several saves tells something.
            raise Unsettled(min(needed - age, SETTLED))

    def _waited(self, name: str) -> float:
        """How long a document has not come to rest; who wrote in spite of that for the last save
        does not wait for the next one from the beginning.
        """
        now = monotonic()
        began = self._unsettled.get(name, now)
        self._unsettled[name] = began = began if now - began < IMPATIENCE else now
        return now - began
