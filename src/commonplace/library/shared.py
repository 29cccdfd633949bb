"""What the parts of a library share: the vault, its journal, its index and how to read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from commonplace.library.record_reader import RecordReader, decoded
from commonplace.markdown.layouts import Layout
from commonplace.model.clock import Clock
from commonplace.model.errors import CommonplaceError, NoSuchRecord, Paused
from commonplace.model.records import SYSTEM, Author, Hit, Origin, etag_of
from commonplace.search.index import Index
from commonplace.storage.journal import Change, Entry, Journal, Op
from commonplace.storage.pauses import Pauses
from commonplace.storage.progress import ProgressStore
from commonplace.storage.vault import Vault

NEVER_PAUSED = (Origin.OWNER, Origin.SYSTEM, Origin.IMPORT)
DEEDS = frozenset((Op.ADD, Op.REPLACE, Op.STRIKE, Op.UNDO, Op.REDO, Op.REFRESH))
"""What somebody does; the other entries tell what was found, or decided."""


class Shared(Struct, frozen=True):
    """The stores of one vault, handed to every part of its library."""

    vault: Vault
    journal: Journal
    index: Index
    progress_store: ProgressStore
    layout: Layout
    clock: Clock
    reader: RecordReader
    pauses: Pauses
    refusal: CommonplaceError | None = None
    """The error for whoever wants to write; None where writing is allowed."""

    def check_recording(self, author: Author) -> None:
        """Fail while memory is paused, unless the person writes, or upkeep."""
        if author.origin in NEVER_PAUSED:
            return
        if pause := self.pauses.of(author.session, at=self.clock.stamp()):
            raise Paused(session=pause.session)

    def check_writable(self) -> None:
        """Fail where a change would be lost, or could not be taken back."""
        if self.refusal:
            raise self.refusal

    def entry(
        self, op: Op, changes: Iterable[Change], *, author: Author = SYSTEM, **rest: Any
    ) -> Entry:
        """A new journal entry of this moment. Made under the lock: a pause that has begun holds."""
        if op in DEEDS:
            self.check_recording(author)
        return Entry(
            at=self.clock.stamp(),
            op=op,
            changes=tuple(changes),
            origin=author.origin,
            session=author.session,
            **rest,
        )

    def text(self, name: str) -> tuple[str, str]:
        """A document's text and its mark."""
        data = self.vault.read(name)
        return decoded(name, data), etag_of(data)

    def found(self, record_id: str) -> Hit:
        """The record of this id, from the index."""
        hit = self.index.get(record_id)
        if hit is None:
            raise NoSuchRecord(record_id)
        return hit
