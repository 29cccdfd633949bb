"""Memory: the object that a program holds. It owns the parts of one vault.

It may import every room below it. It knows the rules of storing (limits, trust, provenance), and
does not know how anything is written down.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.library.erase import Receipt
from commonplace.library.library import Library, Written
from commonplace.library.views import Given, View, shown_of
from commonplace.markdown.layouts import (
    Layout,
    check_name,
    copy_of,
    entry_order,
    entry_stamp,
    layout_named,
    split,
)
from commonplace.model import limits as budgets
from commonplace.model.clock import Clock
from commonplace.model.errors import (
    BadName,
    BadValue,
    ChangedSinceShown,
    CommonplaceError,
    HeldForReview,
    NoSuchChange,
    NoSuchRecord,
    NotWaiting,
    Refused,
    Unreadable,
    WouldLose,
)
from commonplace.model.files import StrPath
from commonplace.model.lazy import Lazy
from commonplace.model.options import DEFAULTS
from commonplace.model.records import (
    BEHAVIORAL,
    CHECKPOINT,
    COMPACTION,
    PASSAGE,
    SYSTEM,
    Author,
    Hit,
    Neighbour,
    Origin,
    Place,
    Problem,
    Record,
    SearchResult,
)
from commonplace.opening import VaultParts, parts_at
from commonplace.search.importance import by_standing
from commonplace.search.index import Query
from commonplace.storage.brackets import Brackets
from commonplace.storage.journal import Entry
from commonplace.storage.notices import Notice, Notices
from commonplace.storage.sessions import SessionKind, Sessions, session_kind
from commonplace.trust.origins import BELIEVED, Trust, stamped, trust_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    from commonplace.context import agents
    from commonplace.context import sections as sources
    from commonplace.context.budget import Context, ContextLine
    from commonplace.context.sections import State
    from commonplace.history.conversations import Conversations
    from commonplace.history.messages import History, Message
    from commonplace.library import accounts, copies, quoting, rewriting, steering, undo
    from commonplace.library.experiences import Experiences
    from commonplace.library.rewriting import Rewording, Rewrite
    from commonplace.library.undo import Redone, Restored
    from commonplace.markdown import documents
    from commonplace.memory import status
    from commonplace.search import encoders, time_phrases
    from commonplace.search.engine import Miss
    from commonplace.trust import admission, permission
    from commonplace.upkeep import claw_workspace, scan, window
    from commonplace.upkeep import forget as forgetting
    from commonplace.upkeep.compaction import expand as unfolding
    from commonplace.upkeep.compaction import run as compaction
    from commonplace.upkeep.compaction.plan import CompactionPlan, CompactionReport
    from commonplace.upkeep.jobs import BackgroundCompaction, JobProcesses
    from commonplace.upkeep.scan.duplicates import Nearby
    from commonplace.upkeep.schedule import Schedule
else:
    admission, documents, encoders = (
        Lazy("trust.admission"),
        Lazy("markdown.documents"),
        Lazy("search.encoders"),
    )
    accounts, copies = Lazy("library.accounts"), Lazy("library.copies")
    undo, permission = Lazy("library.undo"), Lazy("trust.permission")
    quoting, steering = Lazy("library.quoting"), Lazy("library.steering")
    rewriting, status, time_phrases = (
        Lazy("library.rewriting"),
        Lazy("memory.status"),
        Lazy("search.time_phrases"),
    )
    agents, sources = Lazy("context.agents"), Lazy("context.sections")
    scan, compaction = Lazy("upkeep.scan"), Lazy("upkeep.compaction.run")
    unfolding, window = Lazy("upkeep.compaction.expand"), Lazy("upkeep.window")
    forgetting, claw_workspace = Lazy("upkeep.forget"), Lazy("upkeep.claw_workspace")

LEAST_LIKE = 0.2
"""How alike an experience must be to a message to be told with it."""
NOWHERE = "/"
"""The name of no document."""
SHORTEST_PART = 6
"""How many characters of an id may stand for it."""
SHARE_OF_FACTS = 30
"""The part of a brief, in a hundred, that behavioural entries leave to others."""
PLACES = ("memory", "history", "all")
"""What a search may look through."""


class Document(Struct, frozen=True):
    """One document with its text and the mark of that text."""

    name: str
    text: str
    etag: str


class Remembered(Struct, frozen=True):
    """A memory that was stored, or was there already."""

    record: Record
    new: bool
    waits: str = ""
    """The id of the agent's wording, where the record is in the user's words and that waits."""


class _Stored(Struct, frozen=True):
    """What became of memories that were given: now there, or waiting for a person."""

    stored: tuple[Record, ...]
    waiting: list[Record]
    new: frozenset[str]
    """The ids of records that were not there before, if they are among those stored."""
    wordings: Mapping[str, str] = field(default_factory=dict)
    """Of records in the user's words, the ids of the agents' wordings that wait."""


class Memory:
    """The memory in one vault, for one session."""

    def __init__(
        self,
        library: Library,
        parts: VaultParts,
        *,
        session: str = "",
        group: str = "",
        origin: str = Origin.AGENT,
        agent: str = "",
        main: bool = False,
    ) -> None:
        self.library = library
        self.parts = parts
        self.options = parts.options
        self.place = parts.place
        self.shown = parts.shown
        self.root_path = parts.root
        self.state_path = parts.state
        self.notes = parts.notes
        self.read_only = parts.read_only
        self.session = session
        self.group = group
        self.origin = origin
        self.agent = agent
        self.main = main
        self.bounded = False
        """Whether only the documents that the layout lets a gateway show are seen."""
        self.sessions = Sessions(parts.notes)
        self.for_agents = False
        """Whether it is agents' tools that are called, whose writes the native tools count."""
        self.run: Callable[[], str] = str
        """What its writes are counted by where it has no session; empty: this object."""
        self._doubtful: dict[str, Record | Neighbour] = {}
        """Untrusted text that was shown since somebody last asked which of it waits."""
        self._views: dict[str, View] = {}
        self._backgrounds: list[BackgroundCompaction] = []
        self._job_processes: JobProcesses | None = None

    @classmethod
    def open(
        cls,
        path: StrPath,
        dialect: str | None = None,
        session: str | None = None,
        *,
        group: str = "",
        origin: str = Origin.AGENT,
        clock: Clock | None = None,
        create: bool = False,
        main: bool = False,
        environ: Mapping[str, str] = os.environ,
        **options: Any,
    ) -> Memory:
        """Open the vault in a directory or at a URL of PostgreSQL.

        `create` makes one that is not there yet. `options` are those of `config.Options`; `origin`
        is where this program's texts come from; `main` says that the session is the direct chat
        with the human, whatever its id.
        """
        session = budgets.check_word(session or "", argument="session")
        group = budgets.check_word(group or environ.get("COMMONPLACE_GROUP", ""), argument="group")
        given = {**options, "dialect": dialect}
        parts = parts_at(path, clock=clock, create=create, environ=environ, options=given)
        settings = parts.options
        library = Library(
            parts.vault,
            parts.journal,
            parts.index,
            notices=Notices(parts.notes, parts.clock),
            brackets=Brackets(parts.notes, lambda: parts.clock.now().timestamp()),
            progress_store=parts.progress_store,
            layout=parts.layout,
            clock=parts.clock,
            lock_seconds=settings.lock_seconds,
            refusal=parts.refusal() if parts.read_only else None,
            encoder=lambda: encoders.encoder_named(settings.encoder, settings),
        )
        library.lose_share = settings.lose_share
        if parts.layout.name == "notebook":
            window.set_cap(library, settings)
        library.document_limit = settings.document_limit
        library.recalls.entries = settings.recall_cache_entries
        library.recalls.seconds = settings.recall_cache_seconds
        agent = environ.get("COMMONPLACE_AGENT", "")
        memory = cls(
            library, parts, session=session, group=group, origin=origin, agent=agent, main=main
        )
        memory.make_first_document()
        return memory

    def for_session(
        self, session: str, *, origin: str = "", main: bool = False, group: str = ""
    ) -> Memory:
        """The same memory as another session sees and writes it. Closing this one closes both."""
        from copy import copy

        other = copy(self)
        other.session = budgets.check_word(session, argument="session")
        other.origin = origin or self.origin
        other.main = main or (self.main and other.session == self.session)
        other.group = budgets.check_word(group, argument="group") or self.group
        other._doubtful = {}
        return other

    def apart(self) -> Memory:
        """The same vault opened anew, as another process would: for a thread of its own."""
        return Memory.open(self.place, clock=self.clock, environ={}, **self._opening())

    def _opening(self) -> dict[str, Any]:
        """What opens the same vault in the same way, but for the clock, as plain data."""
        kept = {name: getattr(self.options, name) for name in DEFAULTS}
        whose = {
            "session": self.session,
            "group": self.group,
            "origin": self.origin,
            "main": self.main,
        }
        return {**kept, **whose, "dialect": self.layout.name}

    def schedule(self, *, elsewhere: bool = False) -> Schedule:
        """What upkeep does from time to time, as the options say.

        `elsewhere`: in processes of their own, for a program that serves meanwhile.
        """
        from commonplace.upkeep.jobs import schedule_of

        return schedule_of(self, elsewhere=elsewhere)

    @property
    def job_processes(self) -> JobProcesses:
        """What has upkeep done in processes of their own."""
        from commonplace.upkeep.jobs import JobProcesses, done_here

        if self._job_processes is None:
            self._job_processes = JobProcesses(
                self.place,
                self._opening(),
                clock=self.clock,
                here=lambda work: done_here(self, work),
            )
        return self._job_processes

    def stop_upkeep(self) -> None:
        """End what is done elsewhere: closing would wait for it."""
        if self._job_processes:
            self._job_processes.stop()

    @property
    def root(self) -> Path:
        """The directory of the vault; `root_path` is the same for who can do without pathlib."""
        from pathlib import Path

        return Path(self.root_path)

    @property
    def state(self) -> Path:
        """The directory of the machine's own files; `state_path` likewise."""
        from pathlib import Path

        return Path(self.state_path)

    @property
    def layout(self) -> Layout:
        return self.library.layout

    @property
    def kind(self) -> SessionKind:
        """What this session is to claw: the main one, a heartbeat's, or one shared with others."""
        return session_kind(self.session, main=self.main, named=self.options.main_sessions)

    @property
    def is_shut(self) -> bool:
        """Whether the layout keeps its memory from this session: claw's is for the main one."""
        others = self.kind == SessionKind.OTHER and self.origin != Origin.OWNER
        return self.layout.only_memory_served and others

    def _check_open(self) -> None:
        if self.is_shut:
            raise Refused(
                f"{self.session} is not the main session, which alone sees this memory.",
                next_step="The option main_sessions names further ones.",
            )

    def serves(self, name: str) -> bool:
        """Whether this reader may see and change a document, by its name."""
        return not self.bounded or self.layout.serves(name)

    def _seen(self, query: Query) -> Query:
        """The query, among the documents that this reader may see."""
        if not (self.bounded and self.layout.only_memory_served):
            return query
        seen = self.documents()
        names = tuple(name for name in seen if name in query.documents or not query.documents)
        return replace(query, documents=names or (NOWHERE,))

    @property
    def clock(self) -> Clock:
        return self.library.clock

    @property
    def author(self) -> Author:
        """Who writes: an agent that has read untrusted content writes as whoever wrote that."""
        return Author(stamped(self.origin, tainted=self.is_tainted), self.session)

    def make_first_document(self) -> None:
        """Claw's workspace has its MEMORY.md, with its template, from the moment it is loaded."""
        name, library = self.layout.memory, self.library

        def is_empty() -> bool:
            stat = library.vault.stat(name)
            return stat is None or stat.size == 0

        def work() -> None:
            if is_empty():
                library.append_text(name, self.layout.header(name), author=SYSTEM, headed=False)

        with suppress(Unreadable):  # Whoever asks for it is told.
            if self.layout.name == "claw" and not self.read_only and is_empty():
                library.locked(work)

    def store(self, text: str, *, kind: str = "note", **rest: Any) -> Record:
        """Store one memory. When this returns it is safe.

        Further arguments: tags, supersedes, username, channel, group, confidence, sensitivity,
        valid_from, valid_to, and `quote`: the user's own words that it rests on. In a session that
        has read untrusted text a rule is stored in the user's words, and this wording waits for a
        person. Of what is remembered already, the record that is there is returned; `remember`
        tells which it was.
        """
        return self.remember(text, kind=kind, **rest).record

    def remember(self, text: str, *, kind: str = "note", **rest: Any) -> Remembered:
        """Store one memory as `store` does, and say whether it was there already."""
        done = self._store_all([{"text": text, "kind": kind, **rest}])
        if done.waiting:
            day = self.library.forgotten_days().get(done.waiting[0].id, "")
            raise HeldForReview(done.waiting[0].id, forgotten=day)
        if not done.stored:
            raise Refused("This text was forgotten.", next_step="Only its owner brings it back.")
        [record] = done.stored
        return Remembered(record, new=record.id in done.new, waits=done.wordings.get(record.id, ""))

    def nearby(self, record: Record) -> Nearby:
        """What says nearly the same as a record, or disagrees with it."""
        from commonplace.upkeep.scan.duplicates import nearby

        return nearby(self.library, record)

    def store_all(
        self, memories: Iterable[Mapping[str, Any]], *, of_the_day: bool = False
    ) -> tuple[Record, ...]:
        """Store several memories as one change: all of them, or none.

        Those that wait for a person's approval are held, and not among what is returned. Those
        `of_the_day` go where the dialect keeps such things, and not into curated memory.
        """
        return self._store_all(memories, of_the_day=of_the_day).stored

    def _store_all(
        self, memories: Iterable[Mapping[str, Any]], *, of_the_day: bool = False
    ) -> _Stored:
        """The same. Returns what was stored, and what waits."""
        memories = list(memories)
        if any(memory.get("supersedes") for memory in memories):
            # What is replaced must still be there when what replaces it is written.
            return self.library.locked(lambda: self._stored(memories, of_the_day=of_the_day))
        return self._stored(memories, of_the_day=of_the_day)

    def _stored(self, memories: Sequence[Mapping[str, Any]], *, of_the_day: bool) -> _Stored:
        author = self.author
        quotes = [memory.get("quote") or "" for memory in memories]
        plain = [{name: memory[name] for name in memory if name != "quote"} for memory in memories]
        records = given = [self._record(author, **memory) for memory in plain]
        named = [memory["id"] for memory in memories if memory.get("id")]
        # Elsewhere everything that is told is written: there a document is a log.
        once = self.layout.name == "native" and not of_the_day and not named
        if self.origin == Origin.IMPORT:
            records = self.library.locked(lambda: self.library.without_forgotten(given))
        given_quotes = {record.id: quote for record, quote in zip(given, quotes)}
        ready: list[Record] = []
        wordings: dict[str, Record] = {}
        waiting: list[Record] = []
        there: list[Record] = []
        for record in records:
            grounds = self._grounds(record, given_quotes[record.id])
            if grounds.told:
                ready.append(grounds.told)
                if grounds.held:
                    wordings[grounds.told.id] = grounds.held
            elif grounds.held:
                held, old = grounds.held, self.library.already(record) if once else None
                (there if old else waiting).append(old or self.library.hold(held, author=author))
        if not ready:
            return _Stored(tuple(there), waiting, frozenset())
        limits = self._window()
        roles = self.layout.logs if of_the_day else self.layout.writes
        to = self._targets(roles)
        stored, back = self.library.admit(ready, to=to, author=author, named=named, once=once)
        waiting += back
        if limits:
            window.trim(self.library, limits)
        if self.options.memory_compaction_enabled and not any(r.is_checkpoint for r in stored):
            self._compact_in_background()
        new = frozenset(record.id for record in (ready if once else stored))
        kept = [record for record in ready if record not in back]
        waits = {
            now.id: self._hold_wording(now, wordings[told.id], author).id
            for told, now in zip(kept, stored)
            if told.id in wordings
        }
        return _Stored((*there, *stored), waiting, new, waits)

    def _grounds(self, record: Record, quote: str) -> quoting.Grounds:
        """Whether a memory is told as it is, in the user's words, or waits whole."""
        budgets.check_type(quote, str, "quote")
        if not admission.must_wait(record, self.options.trust):
            return quoting.Grounds(self._cited(record, quote, quoting.inferred))
        if self.options.trust != "quotes" or self.origin != Origin.AGENT:
            return quoting.Grounds(held=self._cited(record, quote, lambda record: record))
        said = quoting.said_by(self.user_messages())
        return quoting.grounds(record, said, quote, self._alike_words(), new_id=self.clock.new_id)

    def _cited(self, record: Record, quote: str, otherwise: Callable[[Record], Record]) -> Record:
        """A rule with the user's sentence that it rests on: the quoted one, or else a near one."""
        if not quote and not (record.behavioral and self.origin == Origin.AGENT):
            return record
        said = quoting.said_by(self.user_messages())
        if quote:
            return quoting.cited(record, quoting.checked(said, quote))
        return (quoting.cited_if_said(record, said) or otherwise(record)) if said else record

    def _alike_words(self) -> Callable[[str, str], float]:
        """How near two words lie, by the encoder that comes with the package."""
        from commonplace.search.encoders import nearness
        from commonplace.search.encoders.static import StaticEncoder

        return nearness(StaticEncoder())

    def _hold_wording(self, told: Record, wording: Record, author: Author) -> Record:
        """Let the agent's wording wait, to replace the sentence when a person approves it."""
        held = replace(wording, supersedes=wording.supersedes or told.id)
        same = (
            each
            for each in self.library.held()
            if (each.text, each.supersedes) == (held.text, held.supersedes)
        )
        return next(same, None) or self.library.hold(held, author=author)

    def trim(self) -> tuple[str, ...]:
        """Take the oldest records out of the main document where it grew past its window.

        Returns their ids. Every append does this; nothing happens where no window is set.
        """
        limits = self._window()
        return window.trim(self.library, limits) if limits else ()

    def _window(self) -> window.Window | None:
        if not (self.options.memory_max_records or self.options.memory_max_chars):
            return None
        return window.window_of(self.layout, self.options)

    def checkpoint(self) -> Record:
        """Note, before a context is compacted, how far the session had come."""
        self.library.refresh()
        wanted = Query(session=self.session, include_passages=False)
        count = self.library.index.count(wanted) if self.session else 0
        text = f"{CHECKPOINT} {count} records of this session so far."
        done = self._store_all([{"text": text, "kind": COMPACTION}], of_the_day=True)
        return (*done.stored, *done.waiting)[0]

    def store_summary(self, text: str) -> tuple[Record, ...]:
        """Store the summary of a compacted session: whole, in as many records as it needs."""
        parts = budgets.parts(text, limit=self.options.text_limit)
        kept = [{"text": part, "kind": COMPACTION, "tags": ("summary",)} for part in parts]
        return self.store_all(kept, of_the_day=True)

    def compact(
        self, *, forced: bool = False, scheduled: bool = False, min_age_days: float | None = None
    ) -> CompactionReport:
        """Let old records of the main document become summaries, when it is time to.

        It is when a threshold is exceeded, when a schedule calls (`scheduled`) or when a person
        says so (`forced`). Nothing is lost: `expand` shows what a summary was made from.
        """
        run = self._compaction(min_age_days)
        report = run.run(forced=forced, scheduled=scheduled)
        if not (forced or scheduled or report.status == "done"):
            return report
        self._tell_beside()
        return replace(report, rolled_up=self.roll_up_diary())

    def roll_up_diary(self) -> tuple[str, ...]:
        """Sum the diary of each past year up in a document of its own; entries stay as they are."""
        from commonplace.upkeep.diary_rollup import roll_up

        return roll_up(self.library, self.diary())

    def plan_compaction(self, *, min_age_days: float | None = None) -> tuple[CompactionPlan, str]:
        """What a compaction would do now, and that as a difference. Nothing is written."""
        return self._compaction(min_age_days).planned()

    def _compaction(self, min_age_days: float | None = None) -> compaction.Compaction:
        from commonplace.upkeep.compaction.summarizers import WithoutForgotten, summarizer_of

        summarizer = summarizer_of(self.options, notes=self.notes, clock=self.clock)
        return compaction.Compaction(
            self.library,
            compaction.settings_of(self.layout, self.options, min_age_days=min_age_days),
            notes=self.notes,
            summarizer=WithoutForgotten(summarizer, self.library),
            checkpoint=self.checkpoint if self.layout.name == "claw" else lambda: None,
            findings=lambda: self.scan(*compaction.CAUSED),
            beside=self._alone_beside,
        )

    def _alone_beside(self) -> AbstractContextManager[None]:
        """Holds the lock of CursorClaw's own compaction, where that may run in the same place."""
        if not self._is_workspace:
            return nullcontext()
        now = self.clock.now().timestamp()
        return claw_workspace.alone_beside(self.root_path, self.notes, now=now)

    @property
    def _is_workspace(self) -> bool:
        """Whether CursorClaw's own program may work with the same files."""
        return self.layout.name == "claw" and self.parts.database is None

    def _tell_beside(self) -> None:
        """Write what CursorClaw keeps of records and experiences, where an option asks for it."""
        if not (self.options.cursorclaw_files and self._is_workspace) or self.read_only:
            return
        name, most = self.layout.memory, self.options.memory_embeddings_max_records
        parsed = self.library.parse(name, self.library.text(name)[0])
        records = [item.record for item in parsed.items]
        claw_workspace.write_embeddings(self.root_path, records, most=most, at=self.clock.stamp())
        claw_workspace.write_experiences(self.root_path, self.experiences.records())

    def _compact_in_background(self) -> None:
        """Have it compacted elsewhere if an append took the main document over a threshold."""
        from commonplace.upkeep.jobs import BackgroundCompaction

        if not self._backgrounds:
            self._backgrounds.append(
                BackgroundCompaction(self.library, self.options, notes=self.notes)
            )
        self._backgrounds[0].consider(self.job_processes)

    def expand(self, record_id: str) -> list[unfolding.Source]:
        """The records that a summary was made from, exactly as they were."""
        self._check_open()
        sources = unfolding.sources(self.library, self._meant(record_id))
        self.note_shown(source.record for source in sources if source.record)
        return sources

    def bring_back(self, record_ids: Sequence[str]) -> tuple[str, ...]:
        """Put records that were trimmed or compacted back into the main document, as they stood."""
        ids = [self._meant(key) for key in record_ids]
        return unfolding.bring_back(self.library, ids, author=self.author)

    @contextmanager
    def counted(self, *what: str) -> Iterator[list[str]]:
        """Count a store, supersede or delete of this session before it is done in the block.

        Fails when they are used up. What is held for review counts, what is refused does not, and
        what the owner does is not counted. What the block puts into the list was not needed.
        """
        spared: list[str] = []
        if self.origin == Origin.OWNER:
            yield spared
            return
        whose = self.session or self.run()
        limits = {name: getattr(self.options, f"session_{name}") for name in what}
        self._note_session(lambda: self.sessions.spend(whose, limits))
        try:
            yield spared
        except HeldForReview:
            raise
        except CommonplaceError:
            # What went wrong there is of more use than what goes wrong here.
            with suppress(CommonplaceError):
                self._note_session(lambda: self.sessions.give_back(whose, what))
            raise
        if spared:
            self._note_session(lambda: self.sessions.give_back(whose, spared))

    def counted_of_agents(self, *what: str) -> AbstractContextManager[list[str]]:
        """The same where an agent calls its tools; what people and programs do is not counted."""
        return self.counted(*what) if self.for_agents else nullcontext([])

    @property
    def is_tainted(self) -> bool:
        """Whether this session has read untrusted text."""
        return self.sessions.read(self.session).tainted

    def taint(self, what: str = "") -> None:
        """Note that this session has read untrusted content; what it stores counts as such.

        `what` is its name (a page, a file, a tool), which people are shown; never what it says.
        """
        at = self.clock.stamp()
        self._note_session(lambda: self.sessions.taint(self.session, what, at=at))

    def _note_session(self, work: Callable[[], None]) -> None:
        """Change what is known of this session, one at a time of all who speak for it."""
        try:
            self.library.locked(work)
        except OSError as error:
            from commonplace.storage.safe_paths import trouble

            raise trouble(error, self.state_path) from None

    def review(self) -> list[Record]:
        """The records that wait for a person's approval, oldest first."""
        return self.library.held()

    def review_reasons(self) -> dict[str, str]:
        """Why records wait, by their ids, where it is not that they tell agents how to behave."""
        days = self.library.forgotten_days()
        return {key: f"the owner forgot this on {day}" for key, day in days.items()}

    def accounts(self, records: Iterable[Record]) -> dict[str, accounts.Account]:
        """What records rest on, and what became of their wording, by their ids."""
        library = self.library
        targets, said = self._targets(), self.conversations.of_user
        found = accounts.Accounts(library, self.sessions, of_user=said, targets=targets)
        return {record.id: found.of(record) for record in records}

    def one(self, record_id: str) -> tuple[Record, tuple[Place, ...]]:
        """One record with where it stands: nowhere, if it waits for a person's approval."""
        held = {record.id: record for record in self.review()}
        key = self.meant_of_held(record_id)
        if key in held and self.origin == Origin.OWNER:
            return held[key], ()
        hit = self.get(record_id)
        return hit.record, hit.places

    def approve(self, record_id: str) -> Record:
        """Let a held record in, its text exactly as it was held; or make a change that waits."""
        key = self.meant_of_held(record_id)
        if key in (changes := self.library.held_changes()):
            return steering.approve(self.library, key, changes[key], author=self.author)
        record = self.library.approve(key, to=self._targets(), author=self.author)
        self.trim()
        return record

    def reject(self, record_id: str) -> Record:
        """Take a held record off the list."""
        return self.library.reject(self.meant_of_held(record_id), author=self.author)

    def decide(
        self, decision: str, ids: Iterable[str], *, shown: Iterable[Record] = ()
    ) -> list[Record]:
        """Approve or reject several that wait: all of them, or none.

        `shown` are those that whoever decides has seen: one that changed since is refused.
        """
        decide = {"approve": self.approve, "reject": self.reject}[decision]

        def work() -> list[Record]:
            keys = dict.fromkeys(map(self.meant_of_held, ids))
            waiting = {record.id: record for record in self.review()}
            if unknown := [key for key in keys if key not in waiting]:
                raise NotWaiting(unknown)
            for record in shown:
                if waiting.get(record.id, record) != record:
                    raise ChangedSinceShown(record.id)
            return [decide(key) for key in keys]

        return self.library.locked(work)

    def _targets(self, roles: Sequence[str] = ()) -> list[str]:
        """The documents of these roles, or else those that a record stored now goes into."""
        now = self.clock.now()
        day = now.date() if self.layout.utc_days else self.clock.local_day(now)
        names = {
            "memory": self.layout.memory,
            "daily": self.layout.daily_document(day),
            "archive": self.layout.archive,
        }
        return [names[role] for role in roles or self.layout.writes]

    def _record(self, author: Author, *, group: str = "", **given: Any) -> Record:
        if given.get("supersedes"):
            given["supersedes"] = self._meant(given["supersedes"], argument="supersedes")
        record = admission.admitted(
            self.clock,
            self.options,
            session=self.session,
            group=group or self.group,
            origin=author.origin,
            **given,
        )
        if record.supersedes:
            permission.check_replaces(record, self.library.get(record.supersedes))
        return record

    def _meant(self, part: str, *, argument: str = "id") -> str:
        """The id that is meant: the one given, or the only one that it is a part of."""
        key = _id_given(part, argument)
        self.library.refresh()
        if len(key) < SHORTEST_PART or self.library.index.get(key):
            return key
        return _only(self.library.index.ids_with(key, limit=4), key, argument)

    def meant_of_held(self, part: str) -> str:
        """The same of the records that wait for approval."""
        key = _id_given(part, "id")
        waiting = [record.id for record in self.library.held()]
        if len(key) < SHORTEST_PART or key in waiting:
            return key
        return _only([each for each in waiting if key in each], key, "id")

    def supersede(self, record_id: str, text: str, **rest: Any) -> Record:
        """Store a memory that replaces another; the old one stays, marked as replaced."""
        old = permission.check_record(self.get(record_id))
        given = {"kind": old.kind, "tags": old.tags, **rest}
        return self.store(text, supersedes=record_id, **given)

    def get(self, record_id: str) -> Hit:
        """One record, wherever it stands."""
        self._check_open()
        hit = self.library.get(self._meant(record_id))
        if hit.places and not any(self.serves(place.document) for place in hit.places):
            raise NoSuchRecord(hit.record.id)
        return hit

    def search(self, text: str = "", *, within: str = "memory", **filters: Any) -> SearchResult:
        """What fits the words best; without words, the newest. Filters are those of `Query`.

        `within` is memory, history (what was said in conversations) or all.
        """
        budgets.check_type(text, str, "query")
        budgets.check_limit(filters.get("limit", 20), most=1 << 30)
        budgets.check_list(filters.get("tags", ()), argument="tags")
        if within not in PLACES:
            places = ", ".join(PLACES)
            raise BadValue("within", f"{within!r} is no place", next_step=f"Use {places}.")
        filters |= self._bounds(**{name: filters.get(name, "") for name in ("since", "until")})
        query = self._seen(Query(text=text, **filters))
        self._check_open()
        hits = SearchResult() if within == "history" else self.library.find(query)
        self.note_shown(it for hit in hits for it in hit.shown)
        return hits if within == "memory" else _merged(hits, self._said(query), query)

    def _said(self, query: Query) -> SearchResult:
        """The messages that fit a query, wherever there is a history."""
        if not self.parts.has_history():
            return SearchResult()
        found = self.messages.find(query, self.clock)
        self._mind_said((hit.record.session, it.username) for hit in found for it in hit.shown)
        return found

    def why_not(self, record_id: str, text: str, **filters: Any) -> Miss:
        """Why a search for this does not show that record among its first hits."""
        hit = self.get(record_id)
        filters |= self._bounds(**{name: filters.get(name, "") for name in ("since", "until")})
        return self.library.asker.why_not(hit, Query(text=text, **filters))

    def _bounds(self, since: str, until: str) -> dict[str, Any]:
        """Days as a person names them, as the index compares them."""
        if not since and not until:
            return {}
        for name, day in (("since", since), ("until", until)):
            budgets.check_type(day or "", str, name)
        today = self.clock.today()
        first = time_phrases.first_day(self.clock.named_day(since), today) if since else ""
        last = time_phrases.last_day(self.clock.named_day(until), today) if until else ""
        return {"since": first, "until": last, "span": self.clock.span(first, last)}

    def note_shown(self, records: Iterable[Record | Neighbour]) -> None:
        """An agent that was shown untrusted content is tainted by it."""
        doubtful = {it.id: it for it in records if trust_of(it.origin) == Trust.NONE}
        self._doubtful |= doubtful
        self._mind_origins(it.origin for it in doubtful.values())

    def _mind_origins(self, origins: Iterable[str]) -> None:
        if self.origin == Origin.AGENT and self.session and not self.read_only:
            for origin in set(origins):
                if trust_of(origin) == Trust.NONE:
                    self.taint(f"a memory from {origin or 'nobody knows where'}")

    def waiting_shown(self) -> dict[str, str]:
        """What was shown since the last call that waits for approval: the texts by their ids."""
        shown, self._doubtful = self._doubtful, {}
        waiting = self.library.waiting_among(shown.values())
        return {key: shown[key].text for key in shown if key in waiting}

    def recall(self, text: str, *, limit: int = 10) -> list[Hit]:
        """What is most alike by vectors, among the newest records."""
        self._check_open()
        budgets.check_type(text, str, "query")
        budgets.check_limit(limit, most=1 << 30)
        newest = self.options.memory_embeddings_max_records
        hits = self.library.recall(text, limit=limit, newest=newest, writes=not self.read_only)
        hits = [hit for hit in hits if not hit.record.is_checkpoint]
        self._tell_beside()
        self.note_shown(hit.record for hit in hits)
        return hits

    @property
    def experiences(self) -> Experiences:
        """The records that were unlike the ones before them."""
        from commonplace.library.experiences import Experiences
        from commonplace.search.encoders.hashed import HashedEncoder

        return Experiences(self.library, self.notes, encoder=HashedEncoder())

    def take_in_experiences(self) -> list[Record]:
        """Keep the new records that are unlike the experiences there are. Returns those."""
        taken = self.experiences.take_in(threshold=self.options.experience_uniqueness_threshold)
        self._tell_beside()
        return taken

    def recall_experiences(self, text: str, *, limit: int = 10) -> list[Hit]:
        """The experiences most like a text. Before the first upkeep they are taken in now."""
        self._check_open()
        if not self.experiences.are_there() and not self.read_only:
            self.take_in_experiences()
        hits = self.experiences.nearest(text, limit=limit)
        self.note_shown(hit.record for hit in hits)
        return hits

    def brief(self, *, limit: int = 100) -> list[Record]:
        """What to know first: behavioural records before the others, what matters most first."""
        budgets.check_limit(limit, most=1 << 30)
        self._check_open()
        self.library.refresh()
        search, behavioral = self.library.index.search, tuple(sorted(BEHAVIORAL))
        seen = self._seen(Query(limit=limit))
        clock = self.clock
        first = by_standing(search(replace(seen, kinds=behavioral)), clock)
        rest = by_standing(search(replace(seen, without_kinds=(PASSAGE, *behavioral))), clock)
        room = limit - min(len(rest), limit * SHARE_OF_FACTS // 100)
        hits = [*first[:room], *rest][:limit]
        records = [hit.record for hit in hits if not hit.record.is_checkpoint]
        waiting = self.library.waiting_among(records)
        records = [record for record in records if record.id not in waiting]
        self.note_shown(records)
        return records

    def context(
        self,
        message: str = "",
        *,
        agent: str = "session",
        characters: int | None = None,
        tokens: int | None = None,
        system: str = "",
        last: int | None = None,
        dialect: str = "",
        experiences: Callable[[str, int], Sequence[Record]] | None = None,
    ) -> Context:
        """What goes into an agent's prompt: `session`, `conversation` or `heartbeat`.

        `dialect` is whose template to use, when it is not the vault's own; `last` is how many
        messages of history a conversation gets; `experiences` finds those like a message.
        """
        agents.check(message, agent=agent, system=system, last=last)
        if dialect:
            layout_named(dialect)
        state = self._state(
            message,
            agent=agent,
            system=system,
            last=last,
            dialect=dialect,
            experiences=experiences or self._alike(),
        )
        context = agents.context(state, agents.budget(state, characters, tokens))
        self._give_lines(line for line in context.lines if not line.why)
        return self._minded(context)

    def _give_lines(self, lines: Iterable[ContextLine]) -> None:
        """Note which entries of which documents a prompt shows to this session."""
        if self.session and self._view and not self.read_only:
            shown = shown_of((line.document, line.record_id) for line in lines if line.document)
            there = [name for name in shown if self.library.vault.stat(name)]
            self._give({name: Given(self._etag(name), shown[name]) for name in there})

    def _etag(self, name: str) -> str:
        try:
            return self.library.text(name)[1]
        except CommonplaceError:
            return ""

    def relevant(self, message: str, *, characters: int = 1200) -> Context:
        """What is remembered that fits one message; an empty text when nothing does."""
        agents.check(message)
        return self._minded(agents.relevant(self._state(message), agents.limited(characters)))

    def _alike(self) -> Callable[[str, int], Sequence[Record]] | None:
        """What finds the experiences like a message, where they are kept."""
        if not self.options.experience_store_enabled:
            return None

        def alike(text: str, most: int) -> list[Record]:
            hits = self.recall_experiences(text, limit=most)
            return [hit.record for hit in hits if hit.score >= LEAST_LIKE]

        return alike

    def _state(self, message: str, *, dialect: str = "", **rest: Any) -> State:
        self.library.refresh()
        return sources.State(
            self.library,
            self.options,
            dialect=dialect or self.options.dialect or self.layout.name,
            kind=self.kind,
            shut=self.is_shut,
            in_files=self.parts.database is None,
            question=self._question,
            message=message,
            find=self._likely,
            history=self.conversations.last,
            **rest,
        )

    def _question(self) -> str:
        """What asks for the messages of the last hour, in the words of their database."""
        from commonplace.history.sql_questions import IN_POSTGRES, IN_SQLITE

        distant = self.parts.database is not None or self.options.history
        return IN_POSTGRES if distant else IN_SQLITE

    def _likely(self, text: str, limit: int) -> SearchResult:
        """What a context chooses from; neighbours do not get into it."""
        hits = self.library.find(Query(text=text, limit=limit))
        self.note_shown(hit.record for hit in hits)
        return hits

    def _minded(self, context: Context) -> Context:
        self._mind_origins(line.origin for line in context.lines if line.origin)
        return context

    def count(self) -> int:
        """How many records there are that nothing has replaced."""
        self.library.refresh()
        return self.library.index.count(Query(include_passages=False))

    def delete(self, record_id: str, *, history: bool = False, bring_back: bool = False) -> Receipt:
        """Erase a record everywhere it stands, for good; with `history`, what was said of it.

        What it had replaced stays replaced, unless it is to be brought back.
        """
        return self.delete_all([record_id], history=history, bring_back=bring_back)

    def delete_all(
        self,
        record_ids: Sequence[str],
        *,
        history: bool = False,
        words: str = "",
        bring_back: bool = False,
    ) -> Receipt:
        """Erase records with all that was made of them: summaries and experiences.

        The receipt tells which messages of conversations quote them, or say all `words`; with
        `history` these are erased too.
        """
        if history:
            permission.check_erases_messages(self.author.origin)
        ids = [self._meant(key) for key in record_ids]
        receipt = self.library.locked(
            lambda: self._deleted(ids, history=history, words=words, bring_back=bring_back)
        )
        self._mind_said((each["session"], "user") for each in receipt.said)
        self._tell_beside()
        left = claw_workspace.still_there(self.root_path, ids) if self._is_workspace else ()
        left += tuple(self.library.vault.listing().unreadable.values())
        return replace(receipt, out_of_reach=receipt.out_of_reach + left + self.parts.sweep())

    def _deleted(
        self, ids: Sequence[str], *, history: bool, words: str, bring_back: bool
    ) -> Receipt:
        self.library.refresh()
        if self.origin == Origin.OWNER:
            # A wording that waits goes with the sentence that it words.
            ids = [*ids, *(each.id for each in self.library.held() if each.words_one_of(ids))]
        held = self._withheld(ids)
        doomed = [held.get(key) or self.get(key).record for key in ids]
        permission.check_erases(self.author.origin, doomed)
        self.library.recalls.clear()
        return forgetting.forget(
            self.library,
            ids,
            author=self.author,
            history=self._history_if_any(),
            held=held,
            experiences=self.experiences,
            text_limit=self.options.text_limit,
            words=words,
            and_messages=history,
            bring_back=bring_back,
        )

    def to_forget(self, what: str) -> list[Hit]:
        """The record of that id, or of `#` and a part of it, or all with every word of a query."""
        if what.startswith("#"):
            what = self._meant(what)
        return forgetting.matching(self.library, what, held=self._withheld())

    def would_forget(self, record_ids: Sequence[str], *, words: str = "") -> forgetting.Doomed:
        """All that goes when these records are erased, and what conversations say of it."""
        return forgetting.doomed(
            self.library,
            record_ids,
            history=self._history_if_any(),
            held=self._withheld(record_ids),
            words=words,
        )

    def _withheld(self, ids: Sequence[str] = ()) -> dict[str, Record]:
        """Those of the ids that stand in no document any more, and what was ever held for
        approval, which only a person can make go away.
        """
        held = self.library.withheld() if self.origin == Origin.OWNER else {}
        index = self.library.index
        lost = [key for key in ids if key not in held and not index.get(key)]
        departed = self.library.departed(lambda record: record.id in lost) if lost else {}
        return held | {key: gone.record for key, gone in departed.items()}

    def _history_if_any(self) -> History | None:
        return self.messages if self.parts.has_history() else None

    def strike(self, record_ids: Sequence[str]) -> tuple[str, ...]:
        """Take records out of every document they stand in. It can be undone.

        Returns the ids of those that they had replaced, which stay replaced.
        """
        ids = [self._meant(key) for key in record_ids]
        return self.library.strike(ids, author=self.author)

    def unlink(self, record_id: str) -> None:
        """Let a record no longer be replaced by one that is gone; any other, no longer replace one.

        It can be undone.
        """
        self.library.unlink(self._meant(record_id), author=self.author)

    def scan(self, *kinds: str) -> list[scan.Finding]:
        """What is no longer true, said twice or hangs in the air; nothing is changed."""
        return scan.scan(self.library, now=self.clock.now(), root=self.root_path, kinds=kinds)

    def documents(self) -> list[str]:
        """The names of all documents that this session may see."""
        names = () if self.is_shut else self.library.vault.listing().documents
        return list(filter(self.serves, names))

    def read(self, document: str = "") -> Document:
        """One document; without a name, the main one of the vault."""
        page = self.peek(document)
        if self.origin != Origin.OWNER:
            self.note_read(page.name)
            self._give({page.name: Given(page.etag)})
        return page

    def peek(self, document: str = "") -> Document:
        """The same, for who does not show it to the session."""
        self._check_open()
        name = self._document(document)
        if self.origin != Origin.OWNER and self.library.vault.stat(name):
            # What the journal has not seen could not be told again later.
            self.library.refresh()
        text, etag = self.library.text(name)
        if self.origin != Origin.OWNER:
            text = self.library.without_secrets(name, text)
        return Document(name, text, etag)

    @property
    def _view(self) -> View | None:
        """What this session was shown; a person sees the documents."""
        if self.origin == Origin.OWNER:
            return None
        if self.session not in self._views:
            self._views[self.session] = View(
                self.notes,
                self.session,
                otherwise=lambda: self.run() or self.clock.today().isoformat(),
            )
        return self._views[self.session]

    def _give(self, shown: Mapping[str, Given]) -> None:
        """Note what this session is shown: its rewrites are made from that."""
        if self._view and not self.read_only:
            # A disk that takes no note is no reason to show nothing.
            with suppress(CommonplaceError, OSError):
                for name, given in shown.items():
                    self._view.give(name, given)

    def note_read(self, *documents: str) -> None:
        """Note that this session was shown documents: what is untrusted in them taints it."""
        doubtful = Query(
            documents=documents,
            without_origins=BELIEVED,
            include_superseded=True,
            limit=1 << 30,
        )
        if documents:
            self.note_shown(hit.record for hit in self.library.index.search(doubtful))

    def _changeable(self, document: str) -> str:
        """The name of a document that may be changed: a diary entry never is."""
        name = self._document(document)
        if self.layout.diary_time(name) and self.library.vault.stat(name):
            raise Refused(
                f"{name} is a diary entry, and those are never changed.",
                next_step="Write a new entry with diary.",
            )
        if original := copy_of(name):
            raise BadName(
                name,
                f"it is how sync programs name a copy of {original}",
                next_step="'commonplace conflicts --merge' unites the two; or use another name.",
            )
        return name

    def guards(self, document: str) -> bool:
        """Whether what this session writes there waits for a person: prompts are made of it."""
        if not self._steers(document) or self.origin == Origin.OWNER:
            return False
        if permission.is_believed(self.author.origin):
            return self.options.trust == "hold" and self.origin == Origin.AGENT
        if self.options.trust == "open" or self.origin != Origin.AGENT:
            permission.check_steers(self.author.origin, document)
        return True

    def _let_wait(self, name: str, change: steering.Change) -> None:
        """Hold a change of what prompts are made of, and tell what of it the user said."""
        quotes = self.options.trust == "quotes"
        waiting = steering.let_wait(
            self.library,
            name,
            change,
            author=self.author,
            said=quoting.said_by(self.user_messages()) if quotes else (),
            alike=self._alike_words(),
        )
        raise HeldForReview(waiting.id, document=name, told=waiting.told)

    def _steers(self, name: str) -> bool:
        """Whether prompts are made of a document: who agents are, whom they serve, what to do."""
        layout = self.layout
        prompts = (layout.soul, layout.user, self.options.heartbeat_document)
        # On some systems two names that differ by their case are one file.
        return name.casefold() in map(str.casefold, prompts)

    def _document(self, name: str) -> str:
        budgets.check_type(name, str, "document")
        main = self.layout.memory or self.layout.user
        checked = check_name(name or main)
        if not self.serves(checked):
            raise BadName(checked, f"a gateway to a {self.layout.name} vault has no such document")
        if not self.layout.holds(checked):
            raise BadName(
                checked,
                f"the {self.layout.name} layout has no such directory",
                next_step=f"Use a name without a directory, such as {main}.",
            )
        return checked

    def update(
        self,
        content: str,
        *,
        document: str = "",
        mode: str = "append",
        section: str = "",
        etag: str = "",
        confirm: str = "",
        strict: bool = False,
    ) -> Written:
        """Change a document: `append` to its end, `rewrite` it whole, or set one `section`.

        A rewrite is merged with what others wrote since `etag`, and refused when it would drop
        much, unless it comes with the token that the refusal names.
        """
        name = self._changeable(document)
        if mode not in ("append", "rewrite", "section"):
            raise BadValue(
                "mode", f"{mode!r} is not known", next_step="Use append, rewrite or section."
            )
        budgets.check_word(section, argument="section")
        if mode == "section" and not section.strip():
            raise BadValue("section", "it is missing", next_step="Name the heading of the section.")
        self._check_content(content, may_be_empty=mode == "rewrite")
        content = admission.without_secrets(content, self.options)
        section = admission.without_secrets(section, self.options)
        if self.guards(name):
            self._let_wait(name, steering.Change(content, mode, section, etag))
        if mode == "append" and not section:
            written = self.library.locked(lambda: self._appended(name, content))
        else:
            written = self._rewrite(
                rewriting.Rewrite(
                    name,
                    self._to_section(section, content, mode) if section else content,
                    self.author,
                    etag="" if mode == "append" else etag,
                    confirm=confirm,
                    strict=strict,
                    view=self._view,
                    afresh=mode == "append",
                )
            )
        return replace(written, etag=self.library.text(name)[1]) if self.trim() else written

    def _rewrite(self, wanted: Rewrite) -> Written:
        return rewriting.rewrite(self.library, wanted)

    def _appended(self, name: str, content: str) -> Written:
        """Append to a document; who knew all of it does so still."""
        view, library = self._view, self.library
        given = view.given(name) if view else None
        is_new = library.vault.stat(name) is None
        knows = is_new or (given is not None and given == Given(library.text(name)[1]))
        written = library.append_text(name, content, author=self.author)
        if knows:
            self._give({name: Given(written.etag)})
        return written

    def edit(self, document: str, change: Rewording) -> Written:
        """Change a document by a function of its text as it is then, called under the lock.

        Such a change names what it takes out, and needs no confirmation. What takes out guardrails,
        instructions or corrections is done when it is asked for again.
        """

        def checked(text: str) -> str:
            new = change(text)
            self._check_content(new, may_be_empty=True)
            return admission.without_secrets(new, self.options)

        name = self._changeable(document)
        if self.guards(name):
            text, etag = self.library.text(name)
            self._let_wait(name, steering.Change(checked(text), "rewrite", etag=etag))
        wanted = rewriting.Rewrite(name, checked, self.author, view=self._view, afresh=True)
        try:
            return self.library.locked(lambda: self._edited(wanted))
        except WouldLose as loss:
            if self._view:
                self._view.ask(loss.token)
            raise loss.to_repeat() from None

    def _edited(self, wanted: Rewrite) -> Written:
        try:
            return self._rewrite(wanted)
        except WouldLose as loss:
            if loss.guarded and self._view and not self._view.was_asked(loss.token):
                raise
            return self._rewrite(replace(wanted, confirm=loss.token))

    def create(self, content: str, *, document: str) -> Written:
        """Make a document that must not be there yet."""
        self._check_content(content, may_be_empty=True)
        content = admission.without_secrets(content, self.options)
        name = self._changeable(document)
        if self.guards(name):
            self._let_wait(name, steering.Change(content, "rewrite"))
        return self.library.create(name, content, author=self.author)

    @staticmethod
    def _check_content(content: str, *, may_be_empty: bool) -> None:
        if may_be_empty and content == "":
            return
        budgets.check_text(content, limit=budgets.DOCUMENT_LIMIT, argument="content")

    def _to_section(self, section: str, body: str, mode: str) -> Rewording:
        change = documents.append_to_section if mode == "append" else documents.replace_section
        return lambda text: change(text, section, body, day=self.clock.today())

    def remove(self, *documents: str) -> None:
        """Take whole documents away, all of them or none. It can be undone."""
        names = [self._of_no_prompt(self._changeable(name)) for name in documents]
        self.library.remove(names, author=self.author)

    def rename(self, document: str, new: str) -> None:
        """Give a document another name. It can be undone."""
        self.rename_all({document: new})

    def rename_all(self, documents: Mapping[str, str]) -> None:
        """Give documents other names, all of them or none. It can be undone."""
        names = {
            self._of_no_prompt(self._changeable(name)): self._of_no_prompt(self._changeable(new))
            for name, new in documents.items()
        }
        self.library.rename(names, author=self.author)

    def _of_no_prompt(self, name: str) -> str:
        """The name, unless prompts are made of it and this session is not believed."""
        if self._steers(name):
            permission.check_steers(self.author.origin, name)
        return name

    def write_diary(self, text: str) -> Written:
        """Write a diary entry: a document of its own, named by the time, never changed again."""
        text = budgets.check_text(text, limit=budgets.DOCUMENT_LIMIT)
        text = admission.without_secrets(text, self.options)
        directory = self.layout.diary or "diary/"
        if not self.layout.holds(f"{directory}.md"):
            raise Refused(
                f"The {self.layout.name} layout has no diary.",
                next_step="Store it as a record instead: those go with the day they are of.",
            )
        return self.library.write_entry(directory, text, author=self.author)

    def diary(self, since: str = "") -> list[str]:
        """The names of the diary entries, oldest first: all, or those of a day, month or year.

        Entries are named by their time in UTC; which day that was, the user's calendar says.
        """
        directory = self.layout.diary or "diary/"
        start, day_of = since.removeprefix(directory).removesuffix(".md"), self.clock.day_of
        entries = (
            name
            for name in self.documents()
            if name.startswith(directory)
            and (stamp := entry_stamp(name))
            and (split(name)[1] if "T" in start else day_of(stamp)).startswith(start)
        )
        return sorted(entries, key=entry_order)

    def log(self, *, limit: int = 20) -> list[Entry]:
        """The last changes that this reader may see, newest first."""
        self._check_open()
        limit = budgets.check_limit(limit, most=1 << 30)
        if not (self.bounded and self.layout.only_memory_served):
            return undo.log(self.library, limit=limit)
        found = undo.log(self.library, limit=1 << 30)
        return [each for each in found if any(map(self.serves, each.documents()))][:limit]

    def history(self, record_id: str) -> list[Entry]:
        """Every change that was about one record, oldest first."""
        self._check_open()
        return undo.history(self.library, self._meant(record_id))

    @property
    def messages(self) -> History:
        """The messages of the conversations, as they were recorded."""
        return self.parts.history()

    def user_messages(self, session: str = "") -> list[Message]:
        """What the user said in a session, or in this one, oldest first, as hooks and hosts saw it.

        What an agent's own tool appended is not among it. Who calls this is not tainted by it.
        """
        return self.conversations.of_user(session or self.session)

    @property
    def conversations(self) -> Conversations:
        """What was said, and who is talking now, as this session sees it."""
        from commonplace.history.conversations import Conversations

        return Conversations(
            self.parts,
            session=self.session,
            agent=self.agent,
            alone=self.is_shut,
            clean=lambda text: admission.without_secrets(text, self.options),
            shown=self._mind_said,
        )

    def _mind_said(self, said: Iterable[tuple[str, str]]) -> None:
        """What a tool answered may come from anywhere, and so may what a tainted session said."""
        if not (self.origin == Origin.AGENT and self.session and not self.read_only):
            return
        for session, role in sorted(set(said)):
            if role == "tool" or self.sessions.read(session).tainted:
                self.taint(f"what was said in session {session}")

    def blame(self, document: str) -> list[undo.Blame]:
        """Each line of a document with the change that brought it."""
        self._check_open()
        return undo.blame(self.library, self._document(document))

    def undo(self, position: int | None = None, *, session: str = "") -> undo.Undone:
        """Take back the last change (of a session), or the one at a position of the log.

        Edits made by hand are taken back by their position alone. Who has read untrusted text takes
        back its own changes, and none of who is trusted more.
        """
        if not permission.is_believed(self.author.origin):
            entries = self.library.journal.entries()
            self._check_takes_back(next((e for e in entries if e.position == position), None))
            session = self.session
        return undo.undo(self.library, author=self.author, position=position, session=session)

    def redo(self, position: int | None = None, *, session: str = "") -> Redone:
        """Make again what the last undo (of a session) took back, or the one at a position.

        Several undos are taken back one by one, the last first. The position is that of the undo,
        or of the change that it took back. Who has read untrusted text takes back its own undos.
        """
        if not permission.is_believed(self.author.origin):
            undone = None if position is None else undo.undo_of(self.library, position)
            self._check_takes_back(undone)
            session = self.session
        return undo.redo(self.library, author=self.author, position=position, session=session)

    def _check_takes_back(self, entry: Entry | None) -> None:
        """`entry` is the change that is named by its number, if one is."""
        if entry:
            permission.check_takes_back(self.author.origin, change=entry.position, of=entry.origin)
        elif not self.session:
            raise Refused(
                "There is no session, so nothing tells which changes are its own.",
                next_step="Name the change by its number, or ask the user to take it back.",
            )

    def text_at(self, document: str, moment: datetime) -> str:
        """What a document said at that time."""
        self._check_open()
        return undo.text_at(self.library, self._document(document), moment)

    def restore(self, moment: datetime, document: str = "") -> Restored:
        """Make one document, or all, say again what they said at that time, in one change."""
        permission.check_restores(self.author.origin)
        name = self._document(document) if document else ""
        return undo.restore(self.library, moment, author=self.author, document=name)

    def notices(self) -> list[Notice]:
        """What others did to the documents that their owner should hear, until it is settled."""
        return self.library.notices.open()

    def may_have_news(self) -> bool:
        """Whether there is a notice that nobody was told. Also of a memory that is closed."""
        in_files = self.parts.database is None and not self.read_only
        return in_files and any(not notice.told for notice in self.notices())

    def tell_notices(self) -> list[Notice]:
        """Those that nobody was told yet. From now on they count as told."""
        return self.library.undisturbed(self.library.notices.tell)

    def put_back(self, change: int) -> tuple[str, ...]:
        """Put back what an outside save took out, by the number of that change."""
        return undo.put_back(self.library, self._notice(change), author=self.author)

    def dismiss(self, change: int) -> None:
        """Leave out what an outside save took out, and tell of it no more."""
        self._notice(change)
        self.library.undisturbed(lambda: self.library.notices.settle(change))

    def _notice(self, change: int) -> Notice:
        found = next((it for it in self.notices() if it.change == change and it.pieces), None)
        if found is None:
            raise NoSuchChange(change)
        return found

    def unite_copies(self, names: Iterable[str]) -> list[copies.United]:
        """Put what sync programs' copies have into their documents, and take the copies away."""
        permission.check_restores(self.author.origin)
        return copies.unite(self.library, names, author=self.author)

    def rebuild(self, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
        """Make the index anew from the documents. Returns how many records there are."""
        self.library.recalls.clear()
        self.library.rebuild(progress)
        self.library.asker.embed_all(progress)
        return self.count()

    def status(self) -> dict[str, Any]:
        """What the vault holds and how it is, as plain data."""
        return status.status_of(self.library, self.parts)

    def options_described(self) -> list[dict[str, Any]]:
        """Every option with its value and what it does."""
        return self.options.described()

    def problems(self) -> list[Problem]:
        """Every mistake in the documents' text, and everything that cannot be read."""
        return self.library.problems()

    def close(self) -> None:
        """Return when everything is on disk, and let go of the files."""
        for background in self._backgrounds:
            background.wait()
        self.library.close()
        self.parts.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _id_given(part: str, argument: str) -> str:
    key = part.removeprefix("#") if isinstance(part, str) else part
    return budgets.check_id(key, argument=argument)


def _only(found: Sequence[str], key: str, argument: str) -> str:
    """The one id that has this part; the part itself where none has it."""
    if len(found) > 1:
        named = ", ".join(found[:3]) + (" and others" if len(found) > 3 else "")
        raise BadValue(argument, f"{key!r} is part of {named}", next_step="Send more of it.")
    return found[0] if found else key


def _merged(hits: SearchResult, said: SearchResult, query: Query) -> SearchResult:
    """Records and messages together: a score says the same of both how likely each is wanted."""
    both = [*hits, *said]
    if query.text.strip():
        both.sort(key=lambda hit: hit.score, reverse=True)
    else:
        both.sort(key=lambda hit: hit.record.timestamp, reverse=True)
    return SearchResult(both[: query.limit], mode=hits.mode, degraded=hits.degraded)
