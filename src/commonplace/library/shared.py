"""What the parts of a library share: the vault, its journal, its index and how to read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from commonplace.library.record_reader import RecordReader, decoded
from commonplace.markdown.layouts import Layout
from commonplace.model.clock import Clock
from commonplace.model.errors import CommonplaceError, NoSuchRecord
from commonplace.model.records import SYSTEM, Author, Hit, etag_of
from commonplace.search.index import Index
from commonplace.storage.journal import Change, Entry, Journal, Op
from commonplace.storage.progress import ProgressStore
from commonplace.storage.vault import Vault


class Shared(Struct, frozen=True):
    """The stores of one vault, handed to every part of its library."""

    vault: Vault
    journal: Journal
    index: Index
    progress_store: ProgressStore
    layout: Layout
    clock: Clock
    reader: RecordReader
    refusal: CommonplaceError | None = None
    """The error for whoever wants to write; None where writing is allowed."""

    def check_writable(self) -> None:
        """Fail where a change would be lost, or could not be taken back."""
        if self.refusal:
            raise self.refusal

    def entry(
        self, op: Op, changes: Iterable[Change], *, author: Author = SYSTEM, **rest: Any
    ) -> Entry:
        """A new journal entry of this moment."""
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
