"""The vault: the protocol of a place for documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct, field

from commonplace.model.errors import CommonplaceError


class Stat(Struct, frozen=True, eq=False):
    """What a look at a document from outside tells."""

    size: int
    mtime_ns: int
    inode: int
    atime_ns: int = 0
    """When someone else last read it; 0 where the system does not keep it."""
    stamped: bool = False
    """Whether its time is one that we set and no other write can leave."""

    def __eq__(self, other: object) -> bool:
        """Whether both tell of the same text: reading a document changes nothing of it."""
        return isinstance(other, Stat) and (self.size, self.mtime_ns, self.inode) == (
            other.size,
            other.mtime_ns,
            other.inode,
        )

    def __ne__(self, other: object) -> bool:
        return not self == other


class Listing(Struct, frozen=True):
    """Every document there is, and what could not be read, with the reason."""

    documents: dict[str, Stat]
    unreadable: dict[str, str]
    copies: dict[str, str] = field(default_factory=dict)
    """What sync programs put beside a document that two machines changed, and that document."""


class Staged(Struct, frozen=True):
    """A text that is written down beside a document already, to be put in its place soon."""

    name: str
    data: bytes
    path: str = ""


class TryAgain(Exception):
    """The work under the lock is to be done again from its start, `after` so many seconds.

    `error` is what to say when it stays so; None where the vault is just busy.
    """

    after: float = 0.0
    error: CommonplaceError | None = None


class Moved(TryAgain):
    """A document is not as the caller thought: somebody else wrote it."""


class Unsettled(TryAgain):
    """Somebody is writing a document right now."""

    def __init__(self, after: float) -> None:
        super().__init__(after)
        self.after = after


class Cancelled(TryAgain):
    """A server let nothing of the work happen, through no fault of its own."""

    after = 0.1
    error: CommonplaceError

    def __init__(self, error: CommonplaceError) -> None:
        super().__init__(str(error))
        self.error = error


class Vault(Protocol):
    """Documents by name, as bytes. Every write happens inside `lock`."""

    transactional: bool
    """Whether all that is done under the lock, by whichever part, happens when it is let go or not
    at all. Four things follow: a failed change need not be taken back; no document waits to be
    synced; nobody edits from outside; long work under the lock can't be done in slices.
    """

    def lock(self, *, undone: Callable[[], None] | None = None) -> AbstractContextManager[None]:
        """Keep every other writer out, in this process and others.

        Of a transactional vault, `undone` is called before the next one comes in when an error
        let nothing of it happen; `Cancelled` when it may be done again.
        """

    def listing(self) -> Listing:
        """What is there."""

    def stat(self, name: str) -> Stat | None:
        """One document; None when it is not there."""

    def read(self, name: str) -> bytes:
        """The whole document."""

    def tail(self, name: str, *, size: int) -> bytes:
        """The last bytes of a document that is `size` long; empty when there is none."""

    def append(self, name: str, data: bytes, *, like: Stat | None) -> Stat:
        """Add to the end of a document that looks like this, or make it: all of it or nothing.

        `Moved` when it looks otherwise by now.
        """

    def cut(self, name: str, *, at: int, size: int) -> None:
        """Take back an append: shorten a document of `size` to `at`."""

    def stage(self, name: str, data: bytes) -> Staged:
        """Write down, without the lock, a long text or the start of it, for `replace`."""

    def unstage(self, staged: Staged) -> None:
        """Take away what was staged, if it is still there."""

    def replace(
        self,
        name: str,
        data: bytes,
        *,
        expected: bytes | None,
        like: Stat | None = None,
        staged: Staged | None = None,
    ) -> Stat:
        """Put a new text in place of the expected one, at once or not at all.

        A document that still looks `like` this has the expected text: it need not be read. Who
        staged the text, or its start, unstages it afterwards.
        """

    def remove(self, name: str) -> None:
        """Take a document away."""

    def sweep(self, needles: Sequence[bytes]) -> int:
        """Delete what dead writers left beside the documents, if one of these is in it.

        Returns how many there were.
        """

    def sync(self, name: str) -> None:
        """Return when the document is on disk."""

    def being_edited(self, name: str) -> bool:
        """Whether an editor has the document open, as far as it leaves traces."""

    def close(self) -> None:
        """Let go of what is held open."""
