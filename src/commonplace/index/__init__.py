"""The index: the words and vectors of every record, and where each stands, kept to be found fast.

It does not know markdown, files or the journal: it is told what stands where, and can be dropped
at any time for the price of being told again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from commonplace.records import Hit, Place, Record
from commonplace.values import frozen

Entry = tuple[Record, int]
"""A record and the line it starts on."""


@frozen
class Signature:
    """What tells, without reading it, that a document is still the one that was read."""

    size: int
    mtime_ns: int
    inode: int
    digest: str = ""
    racy: bool = False
    """Whether it was written so short ago that a later change may have left the same time."""
    atime_ns: int = 0
    """When somebody else had last read it."""


@frozen
class Known:
    """What the index knows of one document."""

    signature: Signature
    lines: int
    base: int
    """The journal position of its last whole text."""
    glimpse: str = ""
    """What was seen of outside saves that are not taken in yet, as whoever notes it writes it."""


@frozen
class Query:
    """What to look for: records that fit every field that is set."""

    text: str = ""
    kinds: tuple[str, ...] = ()
    """Any of these."""
    without_kinds: tuple[str, ...] = ()
    """None of these."""
    tags: tuple[str, ...] = ()
    """All of these."""
    documents: tuple[str, ...] = ()
    """Standing in any of these."""
    session: str = ""
    include_superseded: bool = False
    include_secret: bool = False
    include_passages: bool = True
    limit: int = 20


class Index(Protocol):
    """What the library asks of an index.

    One record may be told differently in two documents. The index keeps both, and shows and
    searches the one in the document of the lowest rank.
    """

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing for the writes inside; one inside another joins it."""

    def level(self) -> int:
        """How far in the journal the index has come; 0 for an empty one."""

    def set_level(self, position: int) -> None: ...

    def mark(self) -> str:
        """Which journal the level counts in; empty for an empty index."""

    def set_mark(self, mark: str) -> None: ...

    def known(self) -> dict[str, Known]: ...

    def known_of(self, document: str) -> Known | None: ...

    def add(self, document: str, entries: Sequence[Entry], *, known: Known) -> None:
        """Take in records that were appended to the end of a document."""

    def put(self, document: str, entries: Sequence[Entry], *, known: Known) -> None:
        """Make a document hold exactly these, at the cost of what differs."""

    def note(self, document: str, *, known: Known) -> None:
        """Change what is known of a document, and nothing that stands in it."""

    def drop(self, document: str) -> None:
        """Forget a document and what stood only in it."""

    def get(self, record_id: str) -> Hit | None: ...

    def children(self, record_id: str) -> tuple[str, ...]:
        """The ids of the records that supersede this one, sorted."""

    def documents_of(self, record_id: str) -> tuple[Place, ...]:
        """Everywhere it stands, the most trusted document first."""

    def count(self, query: Query) -> int:
        """How many records fit, whatever the query's limit."""

    def kinds(self) -> dict[str, int]:
        """How many records there are of each kind, replaced ones too, the most first."""

    def search(self, query: Query) -> list[Hit]:
        """The records that fit: the best match first, or the newest when there is no text."""

    def erase(self, record_ids: Iterable[str]) -> None:
        """Remove records so that no byte of them is left in what the index keeps."""

    def unembedded(self, model: str, *, limit: int) -> list[tuple[int, str]]:
        """Which of the `limit` newest texts have no vector of this model, with the key for `embed`.

        Secrets are never among them. Vectors of older texts are dropped.
        """

    def embed(self, model: str, *, dim: int, rows: Iterable[tuple[int, bytes, float]]) -> None:
        """Keep vectors: key, signed bytes, length. One whose text is gone by now is left out."""

    def nearest(self, model: str, *, vector: bytes, norm: float, query: Query) -> list[Hit]:
        """The most alike by cosine of those that fit the query, whose text is not used."""

    def dump(self) -> list[tuple[Any, ...]]:
        """Everything it was told, sorted: equal for equal vaults however they came to be.

        Left out are vectors, which are made when they are first wanted, and what tells one write
        of a file from another.
        """

    def clear(self) -> None:
        """Forget everything, the level and the mark too."""

    def healthy(self) -> str:
        """What is wrong with the index; empty when nothing is."""

    def size(self) -> int:
        """Bytes that it takes."""

    def close(self) -> None: ...
