"""Read and replace long documents while others write: the lock is held for moments only.

A document is read without the lock, together with a position in the journal. Lines that others
append meanwhile are found in the journal from that position on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

from commonplace.library.transactions import Transactions
from commonplace.model.errors import NoSuchDocument
from commonplace.storage.journal import appended_since
from commonplace.storage.vault import Staged


class LongTexts:
    """The long documents of one vault."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._vault, self._journal = transactions.vault, transactions.journal

    @property
    def appends_slowly(self) -> bool:
        """Whether a long append takes time under the lock: in files it does, not in a database."""
        return not self._vault.transactional

    def read(self, name: str) -> tuple[bytes | None, int]:
        """A document, None when it is not there, and where the journal ended then."""
        locked = self._transactions.locked
        while True:
            size, position = locked(partial(self._size_and_position, name))
            if size is None:
                return None, position
            with suppress(NoSuchDocument):
                data = self._vault.read(name)[:size]
                if locked(partial(self.appended, name, since=position)) is not None:
                    return data, position

    def _size_and_position(self, name: str) -> tuple[int | None, int]:
        known = self._transactions.watch.look(name)
        return known.signature.size if known else None, self._journal.end()

    def appended(self, name: str, *, since: int) -> bytes | None:
        """The bytes appended to a document since a position; None after any other change.

        Called under the lock.
        """
        self._transactions.watch.look(name)
        return appended_since(self._journal, name, since=since)

    def appended_so_far(self, name: str, *, since: int) -> tuple[bytes | None, int]:
        """The same without the lock, and the position up to which it is so."""
        self._transactions.locked(self._transactions.sync.catch_up_index)
        position = self._transactions.locked(self._journal.end)
        return appended_since(self._journal, name, since=since, until=position), position

    def open_in_editor(self, *names: str) -> str:
        """The first of these documents that somebody edits just now; empty when nobody does."""
        return next((name for name in names if self._vault.being_edited(name)), "")

    @contextmanager
    def staged(self, texts: Mapping[str, bytes]) -> Iterator[dict[str, Staged]]:
        """Write the texts to disk, beside the documents whose place they are to take."""
        staged: dict[str, Staged] = {}
        try:
            for name, text in texts.items():
                staged[name] = self._vault.stage(name, text)
            yield staged
        finally:
            for each in staged.values():
                self._vault.unstage(each)
