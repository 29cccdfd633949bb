"""The protocol of an index: the words and vectors of every record, and the places where it stands.

An index can be dropped at any time: it is filled again from the documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from commonplace.model.files import Known
from commonplace.model.records import Hit, Place, Record
from commonplace.search.typos import Slipped

Result = TypeVar("Result")
Entry = tuple[Record, int]
"""A record and the line it starts on."""
BEST = 100
"""How many candidates the words give."""
NEAREST = 50
"""How many the vectors give: what is further away is found by its words, or not wanted."""
FORMS = 20
"""How many texts show the forms of a stem."""
STEEP = 10.0
"""The rank that says half as much as the first."""


NEWEST, OLDEST, LONGEST, REPEATED = ORDERS = ("newest", "oldest", "longest", "repeated")
"""How records may be sorted; `repeated` is by how often each was told again."""


class Query(Struct, frozen=True):
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
    containing: tuple[str, ...] = ()
    """With each of these in its text or its tags, be it a part of a word."""
    people: tuple[str, ...] = ()
    """Of any of these people: by their name, or by a tag such as person:ann."""
    projects: tuple[str, ...] = ()
    """Of any of these projects: by their group, or by a tag such as project:boat."""
    pinned: bool = False
    """Whether only what a person pinned."""
    used: bool = False
    """Whether only what was told again or called useful."""
    session: str = ""
    sensitivity: str = ""
    origins: tuple[str, ...] = ()
    """From any of these."""
    without_origins: tuple[str, ...] = ()
    """From none of these."""
    at_moments: bool = False
    """Told at moments of their own."""
    since: str = ""
    """Of this time or later: the beginning of a stamp, such as a day."""
    until: str = ""
    """Of this time or earlier, with the whole of the day when it is a day."""
    span: tuple[str, str] = ("", "")
    """The same two for stamps in UTC, where the user's days are not those of UTC."""
    ids: tuple[str, ...] = ()
    """Any of these."""
    without_ids: tuple[str, ...] = ()
    """None of these."""
    current: bool = False
    """Only what holds now: a record may name its own time. The engine finds what does not."""
    as_of: str = ""
    """Only what held on this day, replaced since or not: the engine reads it as `stood_at`."""
    stood_at: str = ""
    """Begun by this stamp, and not replaced by then."""
    include_superseded: bool = False
    include_secret: bool = False
    include_passages: bool = True
    limit: int = 20
    offset: int = 0
    """How many to leave out first, of what is not sorted by how well it fits."""
    order: str = NEWEST
    """One of `ORDERS`, for what is not sorted by how well it fits."""
    explain: bool = False
    """Whether the hits say why they stand where they do."""


class Tally(NamedTuple):
    """How many records are alike in what lists are sorted out by."""

    kind: str
    tags: tuple[str, ...]
    group: str
    username: str
    origin: str
    number: int


class Asked(Struct, frozen=True):
    """A question as a vector: the model that made it, signed bytes, and their length."""

    model: str
    vector: bytes
    norm: float


class Candidate(NamedTuple):
    """Something that may answer a question, with what a ranking decides by.

    Ranks count from 0, and are -1 for what was not among the best of that sort; a score is then
    0.0. What stands beside a candidate may not be one itself, when it does not fit the query.
    """

    key: int
    """Its number in this index, as `hits` takes it; good until the index changes."""
    id: str
    kind: str
    text: str
    timestamp: str
    session: str
    username: str
    channel: str
    origin: str
    superseded: bool
    within: str
    """The session, or the document of what is in no session."""
    before: int
    """The key of what is right before it in there: 0 when there is nothing, -1 when that is not
    told, of what is neither among the very best nor beside one of them.
    """
    after: int
    words: float
    """BM25, from 0 up."""
    words_rank: int
    cosine: float
    cosine_rank: int


class Followed(Protocol):
    """A journal, as far as an index that follows it has to know."""

    def stand(self) -> tuple[str, int]:
        """Which one it is, and where it ends."""


class Index(Protocol):
    """What the library asks of an index.

    One record may be told differently in two documents. The index keeps both, and shows and
    searches the one in the document of the lowest rank.
    """

    @property
    def without_vectors(self) -> str:
        """Why no vectors are kept here, as the rest of a sentence; empty when they are."""

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing for the writes inside; one inside another joins it."""

    def level(self) -> int:
        """How far in the journal the index has come; 0 for an empty one."""

    def set_level(self, position: int) -> None: ...

    def mark(self) -> str:
        """Which journal the level counts in; empty for an empty index."""

    def set_mark(self, mark: str) -> None: ...

    def is_level_with(self, journal: Followed) -> bool:
        """Whether it is this journal that it follows, and up to its end."""

    def while_level(self, search: Callable[[], Result]) -> Result | None:
        """What a search finds if the index is as level as it was at the last look; None if not.

        None, too, where to look again costs less than to find out by the way.
        """

    def known(self) -> dict[str, Known]: ...

    def known_of(self, document: str) -> Known | None: ...

    def add(self, document: str, entries: Sequence[Entry], *, known: Known) -> None:
        """Take in records that were appended to the end of a document."""

    def put(self, document: str, entries: Sequence[Entry], *, known: Known) -> None:
        """Make a document hold exactly these, at the cost of what differs."""

    def note(self, document: str, *, known: Known) -> None:
        """Change what is known of a document, and nothing that stands in it."""

    def put_lines(self, document: str, entries: Sequence[Entry], *, first: int, last: int) -> None:
        """Make the lines from `first` to `last` of a document hold just these."""

    def drop(self, document: str) -> None:
        """Forget a document and what stood only in it."""

    def get(self, record_id: str) -> Hit | None: ...

    def get_all(self, record_ids: Iterable[str]) -> dict[str, Record]:
        """Those of these records that there are, by their ids."""

    def ids_with(self, part: str, *, limit: int) -> list[str]:
        """Ids that this is a part of, sorted, so many at most."""

    def children(self, record_id: str) -> tuple[str, ...]:
        """The ids of the records that supersede this one, sorted."""

    def replaced(self, record_ids: Iterable[str]) -> set[str]:
        """Those of these records that another one supersedes, or did when it was there."""

    def marked(self, record_ids: Iterable[str]) -> list[Record]:
        """The records whose own line says that one of these replaced them, sorted by id."""

    def saying(self, number: int) -> list[Record]:
        """The records whose words and kind have this number, but for replaced ones, oldest first.

        `records.wording_key` gives the number; 0 is that of no record.
        """

    def timed(self) -> list[Record]:
        """The records that name a time of their own, from which or until which they hold, by id."""

    def documents_of(self, record_id: str) -> tuple[Place, ...]:
        """Everywhere it stands, the most trusted document first."""

    def standing_outside(self, document: str) -> set[str]:
        """The ids of all that stands in other documents than this one."""

    def count(self, query: Query) -> int:
        """How many records fit, whatever the query's limit."""

    def tallies(self, query: Query) -> list[Tally]:
        """The records that fit, counted by what lists are sorted out by, in any order."""

    def kinds(self) -> dict[str, int]:
        """How many records there are of each kind, replaced ones too, the most first."""

    def search(self, query: Query) -> list[Hit]:
        """The records that fit: the best match first, or the newest when there is no text."""

    def erase(self, record_ids: Iterable[str]) -> None:
        """Remove records so that no byte of them is left in what the index keeps."""

    def candidates(self, query: Query, asked: Asked | None = None) -> list[Candidate]:
        """What may answer a query with text, to be ranked, in no order that means anything.

        The `BEST` by words, with `asked` the `NEAREST` by vectors, and what stands right before and
        after those that lead in both together. All of them fit the query; its limit is not used.
        """

    def hits(self, scored: Sequence[tuple[int, float]]) -> list[Hit]:
        """Keys of candidates with the scores they were given, as hits, in that order."""

    def rarity(self, words: Sequence[str]) -> dict[str, float]:
        """How rare each word is here: the logarithm of how many times more records there are."""

    def stems(self, word: Slipped) -> list[str]:
        """The stems of its words that begin as a misspelt word does, or that it may be undone to.

        Of the words that no slip leads to, none need be there.
        """

    def having_stems(self, stems: Sequence[str], query: Query) -> list[tuple[str, int]]:
        """Texts of records that have one of these stems and fit the query, and how many have it.

        For each stem there are `FORMS` texts at most.
        """

    def unembedded(
        self, model: str, *, dim: int, limit: int, sensitive: bool = True
    ) -> tuple[list[tuple[int, str]], int]:
        """Texts that have no vector of this model, with the key for `embed`, and how many in all.

        That is about how many when they are very many. Secrets are never among
        them, and what is sensitive only where it may be.
        """

    def window(self, model: str, *, size: int) -> list[tuple[int, str]]:
        """Drop vectors so that only the newest texts have one; those of them that have none."""

    def embed(self, model: str, *, dim: int, rows: Iterable[tuple[int, bytes, float]]) -> None:
        """Keep vectors: key, signed bytes, length. One whose text is gone by now is left out."""

    def keep_models(self, models: Iterable[str]) -> None:
        """Drop the vectors of every other model."""

    def vectors(self) -> dict[str, int]:
        """How many texts have a vector, by the model that made it."""

    def nearest(self, asked: Asked, query: Query) -> list[Hit]:
        """The most alike by cosine of those that fit the query, whose text is not used.

        None where no vectors are kept.
        """

    def dump(self) -> list[tuple[Any, ...]]:
        """Everything it was told, sorted: equal for equal vaults however they came to be.

        Left out are vectors, which are made when they are first wanted, and what tells one write
        of a file from another. `dump_vectors` has those.
        """

    def dump_vectors(self) -> list[tuple[Any, ...]]:
        """Model, dimension, id, digest of the text, length, vector and code of each, sorted."""

    def anew(self) -> AbstractContextManager[None]:
        """A transaction that begins with forgetting everything, the level and the mark too."""

    def healthy(self) -> str:
        """What is wrong with the index; empty when nothing is."""

    def size(self) -> int:
        """Bytes that it takes."""

    def close(self) -> None: ...
