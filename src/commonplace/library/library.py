"""The records and documents of one vault: a library, made of parts.

Each part does one thing and is handed the parts it needs. The methods that other rooms call stand
here, and pass the call on to the part. A part that only some commands need is made on first use.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace.library.approvals import Approvals
from commonplace.library.document_watch import DocumentWatch
from commonplace.library.index_sync import IndexSync
from commonplace.library.record_reader import RecordReader, decoded
from commonplace.library.shared import Shared
from commonplace.library.tombstones import Tombstones
from commonplace.library.transactions import Transactions
from commonplace.library.writer import Writer
from commonplace.markdown.layouts import Layout
from commonplace.model.clock import Clock
from commonplace.model.errors import CommonplaceError, VaultTrouble
from commonplace.model.options import Options
from commonplace.model.records import Author, Hit, Place, Record, SearchResult, wording_key
from commonplace.search.chains import Chains
from commonplace.search.engine import SearchEngine
from commonplace.search.index import Index, Query, Tally
from commonplace.storage.journal import Append, Entry, Journal, Op
from commonplace.storage.notes import Notes
from commonplace.storage.notices import Notices
from commonplace.storage.pauses import Pauses
from commonplace.storage.progress import ProgressStore
from commonplace.storage.vault import Listing, Stat, Vault

if TYPE_CHECKING:
    from commonplace.library.documents import Documents
    from commonplace.library.erase import Eraser, Receipt
    from commonplace.library.long_texts import LongTexts
    from commonplace.library.outside_edits import OutsideEdits
    from commonplace.library.record_past import RemovedRecords
    from commonplace.library.recovery import OnProgress
    from commonplace.library.store import RecordStore
    from commonplace.search.encoders import Encoder, Stronger
    from commonplace.search.recall import RecallCache
    from commonplace.storage.brackets import Brackets

Result = TypeVar("Result")


class Library:
    """The records and documents of one vault."""

    def __init__(
        self,
        vault: Vault,
        journal: Journal,
        index: Index,
        *,
        layout: Layout,
        progress_store: ProgressStore,
        notes: Notes,
        clock: Clock,
        options: Options,
        refusal: CommonplaceError | None = None,
    ) -> None:
        """`refusal` is the error for whoever wants to write; without one, everybody may."""
        reader = RecordReader(journal, layout=layout, clock=clock)
        self.pauses = Pauses(notes)
        shared = Shared(
            vault, journal, index, progress_store, layout, clock, reader, self.pauses, refusal
        )
        self.shared = shared
        self.vault, self.journal, self.index, self.progress_store = (
            vault,
            journal,
            index,
            progress_store,
        )
        self.layout, self.clock, self.reader = layout, clock, reader
        self.options = options
        self.notes, self.notices = notes, Notices(notes, clock)
        self.sync = IndexSync(shared)
        self.writer = Writer(shared, self.sync, document_limit=options.document_limit)
        self.tombstones = Tombstones(shared, self.sync)
        self.approvals = Approvals(shared, self.sync, self.tombstones)
        self.watch = DocumentWatch(self.writer, self._outside_edits)
        self.transactions = Transactions(
            self.writer,
            self.watch,
            eraser=lambda: self.eraser,
            lock_seconds=options.lock_seconds,
        )
        self.chains = Chains(index)
        self.engine = SearchEngine(index, self._encoder, clock=clock, stronger=self._stronger)
        self.lose_share = options.lose_share
        """The share of a document's entries that a rewrite may drop without its confirm token."""
        # The calls that other rooms make most.
        self.parse, self.reading = reader.parse, reader.reading
        self.entry, self.found, self.text = shared.entry, shared.found, shared.text
        self.locked, self.undisturbed = self.transactions.locked, self.transactions.undisturbed
        self.refresh, self.level = self.transactions.refresh, self.transactions.level
        self.look, self.take_in_changes = self.watch.look, self.watch.look_at_all
        self.known, self.known_of = self.sync.known, self.sync.known_of
        self.replace_texts = self.writer.replace_texts
        self.replace_long_texts = self.writer.replace_long_texts

    @cached_property
    def documents(self) -> Documents:
        from commonplace.library.documents import Documents

        return Documents(self.transactions, self.tombstones)

    @cached_property
    def store(self) -> RecordStore:
        from commonplace.library.store import RecordStore

        return RecordStore(
            self.transactions, self.tombstones, self.approvals, documents=lambda: self.documents
        )

    @cached_property
    def long_texts(self) -> LongTexts:
        from commonplace.library.long_texts import LongTexts

        return LongTexts(self.transactions)

    @cached_property
    def eraser(self) -> Eraser:
        from commonplace.library.erase import Eraser

        return Eraser(self.writer, self.tombstones, self.approvals)

    @cached_property
    def removed_records(self) -> RemovedRecords:
        from commonplace.library.record_past import RemovedRecords

        return RemovedRecords(self)

    @cached_property
    def brackets(self) -> Brackets:
        from commonplace.storage.brackets import Brackets

        return Brackets(self.notes, lambda: self.clock.now().timestamp())

    @cached_property
    def recalls(self) -> RecallCache:
        from commonplace.search.recall import RecallCache

        return RecallCache(
            entries=self.options.recall_cache_entries,
            seconds=self.options.recall_cache_seconds,
            now_ns=self.clock.now_ns,
        )

    def _encoder(self) -> Encoder:
        from commonplace.search.encoders import encoder_named

        return encoder_named(self.options.encoder, self.options)

    def _stronger(self) -> Stronger | None:
        from commonplace.search.encoders import stronger_than

        return stronger_than(self.options.encoder)

    def _outside_edits(self) -> OutsideEdits:
        from commonplace.library.outside_edits import OutsideEdits

        return OutsideEdits(self.writer, self.eraser, notices=self.notices, brackets=self.brackets)

    def close(self) -> None:
        self.engine.close()
        self.transactions.close()
        for store in (self.progress_store, self.index, self.journal, self.vault):
            store.close()

    @property
    def troubles(self) -> dict[str, str]:
        """What could not be read at the last look, and a sentence that says why."""
        return self.watch.troubles

    def settle(self) -> None:
        """Return when the documents, too, are on disk: a power cut then needs no repair."""
        self.transactions.settle()

    def rebuild(self, progress: OnProgress) -> None:
        """Make the index anew from the documents."""
        self.transactions.rebuild(progress)

    def fingerprint(self) -> Hashable:
        """How journal and documents look: the same as before, and nothing has changed since.

        None when that can't be told: a document was written just now, and may be again unseen.
        """
        if self.vault.transactional:
            return self.journal.stand()
        listing = self.vault.listing()
        if any(self.sync.is_racy(stat) for stat in listing.documents.values()):
            return None
        looks = ((name, s.size, s.mtime_ns, s.inode) for name, s in listing.documents.items())
        return (*self.journal.stand(), *looks, *sorted(listing.unreadable))

    def find(self, query: Query) -> SearchResult:
        """Search the records."""
        found = self.index.while_level(lambda: self.engine.find(query))
        if found is None:
            self.refresh()
            found = self.engine.find(query)
        if self.troubles or self.watch.copies:
            lacking = " ".join((found.degraded, *self.troubles.values(), *self.unmerged())).strip()
            found.degraded = lacking
        return found

    def recall(self, text: str, *, limit: int, newest: int, writes: bool) -> list[Hit]:
        """The records most like a text, from the cache while nothing has changed."""
        from commonplace.search.recall import most_alike

        question, fingerprint = (text, limit), self.fingerprint()
        hits = self.recalls.get(question, fingerprint=fingerprint)
        if hits is None:
            self.refresh()
            hits = most_alike(self.index, text, limit=limit, newest=newest, writes=writes)
            # A change during the search may be missing from its answer.
            if fingerprint == self.fingerprint():
                self.recalls.put(question, hits, fingerprint=fingerprint)
        return hits

    def unmerged(self) -> list[str]:
        """A sentence for each copy that a sync program put beside a document."""
        return [
            f"{name} is a sync program's copy of {original}, and nothing of it is told. "
            "'commonplace conflicts --merge' unites the two."
            for name, original in self.watch.copies.items()
        ]

    def get(self, record_id: str) -> Hit:
        """The record of this id."""
        self.refresh()
        return self.found(record_id)

    def search(self, query: Query) -> list[Hit]:
        """The records that fit, as the index has them now: the best match or the newest first."""
        return self.index.search(query)

    def rules(self) -> list[Record]:
        """The records that are told at moments of their own, as the index has them now."""
        wanted = Query(at_moments=True, include_passages=False, limit=1 << 30)
        return [hit.record for hit in self.index.search(wanted)]

    def count(self, query: Query) -> int:
        """How many records fit, whatever the query's limit."""
        return self.index.count(query)

    def tallies(self, query: Query) -> list[Tally]:
        """The records that fit, counted by what lists are sorted out by."""
        return self.index.tallies(query)

    def hit_of(self, record_id: str) -> Hit | None:
        """The record of this id, as the index has it now; None when there is none."""
        return self.index.get(record_id)

    def timed(self) -> Sequence[Record]:
        """The records that name a time for which they hold."""
        return self.index.timed()

    def saying(self, record: Record) -> Sequence[Record]:
        """The records that say the same in the same words, of the same kind and user."""
        return self.index.saying(wording_key(record))

    def records_of(self, record_ids: Iterable[str]) -> dict[str, Record]:
        """Those of these records that there are, by their ids."""
        return self.index.get_all(record_ids)

    def ids_with(self, part: str, *, limit: int) -> Sequence[str]:
        """The ids of which this is a part."""
        return self.index.ids_with(part, limit=limit)

    def standing_outside(self, document: str) -> set[str]:
        """The ids of the records that stand in some other document."""
        return self.index.standing_outside(document)

    def rarity(self, words: Sequence[str]) -> Mapping[str, float]:
        """How rare each word is among the records."""
        return self.index.rarity(words)

    def places_of(self, record_id: str) -> tuple[Place, ...]:
        """Everywhere a record stands, the most trusted document first."""
        return self.index.documents_of(record_id)

    def listing(self) -> Listing:
        """The documents that there are."""
        return self.vault.listing()

    def stat(self, name: str) -> Stat | None:
        """How a document looks; None when it is not there."""
        return self.vault.stat(name)

    def read(self, name: str) -> bytes:
        """A document's bytes."""
        return self.vault.read(name)

    def end(self) -> int:
        """The position after the journal's last entry."""
        return self.journal.end()

    def entries(self, *, since: int = 0) -> Iterator[Entry]:
        """The journal's entries from a position on, oldest first."""
        return self.journal.entries(since=since)

    def entries_about(self, needle: str) -> Iterator[Entry]:
        """The journal's entries in whose written form `needle` occurs."""
        return self.journal.about(needle)

    def keep(self, data: bytes) -> str:
        """Keep a whole text in the journal. Returns the name of the version."""
        return self.journal.keep(data)

    def kept(self, version: str) -> bytes | None:
        """A text that the journal keeps; None when it is not there."""
        return self.journal.version(version)

    def append(self, op: Op, text: tuple[str, ...], *, to: Sequence[str], **rest: Any) -> Entry:
        """Append lines to documents as they are now. Called under the lock."""
        self.watch.look_at(to)
        return self.writer.append(op, text, to=to, **rest)

    def to_append(self, name: str) -> Append:
        """The change that appends an entry's lines to a document. Called under the lock."""
        self.look(name)
        return self.writer.to_append(name)

    def hold(
        self, record: Record, *, author: Author, change: Mapping[str, str] | None = None
    ) -> Record:
        """Keep a record for a person to approve or reject. It goes into no document."""
        return self.locked(lambda: self.approvals.hold(record, author, change))

    def approved(self, record_id: str, *, author: Author) -> None:
        """Note that a held text was let in, in whatever way."""
        note, one_held = self.approvals.note, self.approvals.one_held
        self.locked(lambda: note(Op.APPROVE, one_held(record_id), author))

    def strike(self, ids: Sequence[str], *, author: Author) -> tuple[str, ...]:
        """Take records out of every document they stand in. The journal keeps them.

        Returns the ids of those that they had replaced, which stay replaced.
        """

        def work() -> tuple[str, ...]:
            self.take_in_changes()
            return self.eraser.strike(ids, author=author)

        return self.locked(work)

    def forget(self, ids: Sequence[str], *, author: Author, bring_back: bool = False) -> Receipt:
        """Erase records for good: documents, kept versions, journal, index.

        With `bring_back`, what they had replaced counts again.
        """

        def work() -> Receipt:
            self.take_in_changes()
            for name, why in self.troubles.items():
                # A document that cannot be read may hold what is to be erased.
                decoded(name, self.vault.read(name))
                raise VaultTrouble(why)
            return self.eraser.forget(ids, author, bring_back=bring_back)

        return self.locked(work)
