"""Memory: the object that a program holds. It owns the parts of one vault.

It may import every room below it. It knows the rules of storing (limits, trust, provenance), and
does not know how anything is written down.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from commonplace.library.library import Library
from commonplace.library.views import View
from commonplace.markdown.layouts import Layout
from commonplace.model import limits
from commonplace.model.clock import Clock
from commonplace.model.errors import Unreadable
from commonplace.model.files import StrPath
from commonplace.model.lazy import Lazy
from commonplace.model.options import DEFAULTS
from commonplace.model.records import (
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
from commonplace.search.index import Query
from commonplace.storage.journal import Entry
from commonplace.storage.ledger import Ledger, ToldLine
from commonplace.storage.notices import Notice
from commonplace.storage.pauses import Pause
from commonplace.storage.sessions import SessionKind, Sessions, session_kind
from commonplace.trust.origins import stamped

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    from commonplace.context.budget import Context
    from commonplace.history.conversations import Conversations
    from commonplace.history.messages import History, Message
    from commonplace.library import accounts, copies, undo
    from commonplace.library.activity import Activity
    from commonplace.library.activity import Page as ActivityPage
    from commonplace.library.blame import Blame, Version
    from commonplace.library.citations import Citations, CitationStanding
    from commonplace.library.documents import Written
    from commonplace.library.erase import Receipt
    from commonplace.library.experiences import Experiences
    from commonplace.library.record_past import RecordVersion, Removed
    from commonplace.library.revising import Revised
    from commonplace.library.rewriting import Rewording
    from commonplace.library.undo import Redone, Restored
    from commonplace.markdown.rule_lists import ListedRule
    from commonplace.memory import activity as _activity
    from commonplace.memory import citing as _citing
    from commonplace.memory import counting as _counting
    from commonplace.memory import documents as _documents
    from commonplace.memory import finding as _finding
    from commonplace.memory import past as _past
    from commonplace.memory import pausing as _pausing
    from commonplace.memory import prompt as _prompt
    from commonplace.memory import review as _review
    from commonplace.memory import rules as _rules
    from commonplace.memory import rules_of_files as _rules_of_files
    from commonplace.memory import session as _session
    from commonplace.memory import settings as _settings
    from commonplace.memory import status
    from commonplace.memory import storing as _storing
    from commonplace.memory import telling as _telling
    from commonplace.memory import upkeep as _upkeep
    from commonplace.memory import verdicts as _verdicts
    from commonplace.memory.counting import Counts
    from commonplace.memory.documents import Document
    from commonplace.memory.finding import Gathered
    from commonplace.memory.rules import ToldRules
    from commonplace.memory.storing import Remembered
    from commonplace.memory.telling import AtStart
    from commonplace.model.moments import CalledTool
    from commonplace.search.engine import Miss
    from commonplace.trust import admission
    from commonplace.upkeep import forget as forgetting
    from commonplace.upkeep import scan, window
    from commonplace.upkeep.compaction import expand as unfolding
    from commonplace.upkeep.compaction.plan import CompactionPlan, CompactionReport
    from commonplace.upkeep.jobs import BackgroundCompaction, JobProcesses
    from commonplace.upkeep.learning import Suggestion
    from commonplace.upkeep.scan.decisions import Marked
    from commonplace.upkeep.scan.duplicates import Nearby
    from commonplace.upkeep.schedule import Schedule
    from commonplace.upkeep.tidy import TidyPlan
else:
    _session = Lazy("memory.session")
    _citing = Lazy("memory.citing")
    _storing = Lazy("memory.storing")
    _review = Lazy("memory.review")
    _finding = Lazy("memory.finding")
    _counting = Lazy("memory.counting")
    _prompt = Lazy("memory.prompt")
    _telling = Lazy("memory.telling")
    _rules = Lazy("memory.rules")
    _rules_of_files = Lazy("memory.rules_of_files")
    _documents = Lazy("memory.documents")
    _activity = Lazy("memory.activity")
    _past = Lazy("memory.past")
    _pausing = Lazy("memory.pausing")
    _settings = Lazy("memory.settings")
    _upkeep = Lazy("memory.upkeep")
    _verdicts = Lazy("memory.verdicts")
    admission = Lazy("trust.admission")
    status = Lazy("memory.status")
    scan = Lazy("upkeep.scan")
    window = Lazy("upkeep.window")


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
        self.ledger = Ledger(parts.notes)
        self.paused_outside = False
        """Whether the environment says that memory is paused for this program."""
        self.for_agents = False
        """Whether it is agents' tools that are called, whose writes the native tools count."""
        self.client = ""
        """The program that calls for an agent, as it calls itself; empty if nobody said."""
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
        session = limits.check_word(session or "", argument="session")
        group = limits.check_word(group or environ.get("COMMONPLACE_GROUP", ""), argument="group")
        given = {**options, "dialect": dialect}
        parts = parts_at(path, clock=clock, create=create, environ=environ, options=given)
        library = Library(
            parts.vault,
            parts.journal,
            parts.index,
            progress_store=parts.progress_store,
            layout=parts.layout,
            notes=parts.notes,
            clock=parts.clock,
            options=parts.options,
            refusal=parts.refusal() if parts.read_only else None,
        )
        if parts.layout.name == "notebook":
            window.set_cap(library, parts.options)
        agent = environ.get("COMMONPLACE_AGENT", "")
        memory = cls(
            library, parts, session=session, group=group, origin=origin, agent=agent, main=main
        )
        memory.paused_outside = bool(environ.get("COMMONPLACE_PAUSED"))
        memory.make_first_document()
        return memory

    def for_session(
        self, session: str, *, origin: str = "", main: bool = False, group: str = ""
    ) -> Memory:
        """The same memory as another session sees and writes it. Closing this one closes both."""
        from copy import copy

        other = copy(self)
        other.session = limits.check_word(session, argument="session")
        other.origin = origin or self.origin
        other.main = main or (self.main and other.session == self.session)
        other.group = limits.check_word(group, argument="group") or self.group
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
        return _upkeep.schedule(self, elsewhere=elsewhere)

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

    def serves(self, name: str) -> bool:
        """Whether this reader may see and change a document, by its name."""
        return not self.bounded or self.layout.serves(name)

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
            stat = library.stat(name)
            return stat is None or stat.size == 0

        def work() -> None:
            if is_empty():
                library.documents.append_text(
                    name, self.layout.header(name), author=SYSTEM, headed=False
                )

        with suppress(Unreadable):  # Whoever asks for it is told.
            if self.layout.name == "claw" and not self.read_only and is_empty():
                library.locked(work)

    def store(self, text: str, *, kind: str = "note", **rest: Any) -> Record:
        """Store one memory. When this returns it is safe.

        Further arguments: tags, supersedes, username, channel, group, confidence, sensitivity,
        `valid_from` and `valid_to` (stamps, days, or words such as 2w), `when`: the moments at
        which a rule is told (`model.moments`), `must`: whether it denies the first such call, and
        `quote`: the user's own words that it rests on. In a session that has read untrusted text a
        rule is stored in the user's words, and this wording waits for a person. Of what is
        remembered already, the record that is there is returned; `remember` tells which it was.
        """
        return self.remember(text, kind=kind, **rest).record

    def remember(self, text: str, *, kind: str = "note", **rest: Any) -> Remembered:
        """Store one memory as `store` does, and say whether it was there already."""
        return _storing.remember(self, text, kind=kind, **rest)

    def nearby(self, record: Record) -> Nearby:
        """What says nearly the same as a record, or disagrees with it."""
        from commonplace.upkeep.scan.duplicates import nearby

        return nearby(self.library, record)

    def expired(self, **filters: Any) -> list[Hit]:
        """The records whose own time is over, with the filters of a list."""
        return _finding.expired(self, **filters)

    def store_all(
        self, memories: Iterable[Mapping[str, Any]], *, of_the_day: bool = False
    ) -> tuple[Record, ...]:
        """Store several memories as one change: all of them, or none.

        Those that wait for a person's approval are held, and not among what is returned. Those
        `of_the_day` go where the dialect keeps such things, and not into curated memory.
        """
        return _storing.store_all(self, memories, of_the_day=of_the_day)

    def trim(self) -> tuple[str, ...]:
        """Take the oldest records out of the main document where it grew past its window.

        Returns their ids. Every append does this; nothing happens where no window is set.
        """
        return _storing.trim(self)

    def checkpoint(self) -> Record:
        """Note, before a context is compacted, how far the session had come."""
        return _storing.checkpoint(self)

    def store_summary(self, text: str) -> tuple[Record, ...]:
        """Store the summary of a compacted session: whole, in as many records as it needs."""
        return _storing.store_summary(self, text)

    def compact(
        self, *, forced: bool = False, scheduled: bool = False, min_age_days: float | None = None
    ) -> CompactionReport:
        """Let old records of the main document become summaries, when it is time to.

        It is when a threshold is exceeded, when a schedule calls (`scheduled`) or when a person
        says so (`forced`). Nothing is lost: `expand` shows what a summary was made from.
        """
        return _upkeep.compact(self, forced=forced, scheduled=scheduled, min_age_days=min_age_days)

    def plan_tidy(self) -> TidyPlan:
        """What `tidy` would change now. Nothing is written."""
        return _upkeep.plan_tidy(self)

    def tidy(self, shown: TidyPlan | None = None) -> TidyPlan:
        """Sort the lines of a native vault: each memory in one place, in the section of its kind.

        With `shown`, it is done only if it would change what that plan says. One undo takes it
        back.
        """
        return _upkeep.tidy(self, shown)

    def roll_up_diary(self) -> tuple[str, ...]:
        """Sum the diary of each past year up in a document of its own; entries stay as they are."""
        return _upkeep.roll_up_diary(self)

    def plan_compaction(self, *, min_age_days: float | None = None) -> tuple[CompactionPlan, str]:
        """What a compaction would do now, and that as a difference. Nothing is written."""
        return _upkeep.plan_compaction(self, min_age_days=min_age_days)

    def expand(self, record_id: str) -> list[unfolding.Source]:
        """The records that a summary was made from, exactly as they were."""
        return _upkeep.expand(self, record_id)

    def bring_back(self, record_ids: Sequence[str]) -> tuple[str, ...]:
        """Put records that were trimmed or compacted back into the main document, as they stood."""
        return _upkeep.bring_back(self, record_ids)

    def counted(self, *what: str) -> AbstractContextManager[list[str]]:
        """Count a store, supersede or delete of this session before it is done in the block.

        Fails when they are used up. What is held for review counts, what is refused does not, and
        what the owner does is not counted. What the block puts into the list was not needed.
        """
        return _session.counted(self, *what)

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
        _session.taint(self, what)

    def paused(self) -> Pause | None:
        """The pause in which nothing of this session is recorded or told; None while all is."""
        return _pausing.paused(self)

    def check_recording(self) -> None:
        """Fail while memory is paused, unless it is the person who asks."""
        _pausing.check(self)

    def pause(self, session: str = "", *, seconds: float = 0, reason: str = "") -> Pause:
        """Record and tell nothing from now on: of one session, or in the whole vault.

        It ends after so many seconds, or with `resume`; stores that are under way come before it.
        """
        return _pausing.pause(self, session, seconds=seconds, reason=reason)

    def resume(self, session: str | None = None) -> tuple[Pause, ...]:
        """End the pauses of a session, or of the vault (""), or all. Returns those that ended."""
        return _pausing.resume(self, session)

    def review(self, ids: Iterable[str] | None = None) -> list[Record]:
        """The records that wait for a person's approval, oldest first; or those named by id."""
        return _review.waiting(self, ids)

    def review_reasons(self) -> dict[str, str]:
        """Why records wait, by their ids, where it is not that they tell agents how to behave."""
        return _review.reasons(self)

    def accounts(self, records: Iterable[Record]) -> dict[str, accounts.Account]:
        """What records rest on, and what became of their wording, by their ids."""
        return _review.accounts_of(self, records)

    def one(self, record_id: str) -> tuple[Record, tuple[Place, ...]]:
        """One record with where it stands: nowhere, if it waits for a person's approval."""
        return _review.one(self, record_id)

    def approve(self, record_id: str, *, answer: str = "") -> Record:
        """Let a held record in, its text exactly as it was held; or make a change that waits.

        A question that history suggested is kept with the `answer` that a person gives.
        """
        return _review.approve(self, record_id, answer)

    def reject(self, record_id: str) -> Record:
        """Take a held record off the list."""
        return self.library.store.reject(self.meant_of_held(record_id), author=self.author)

    def decide(
        self,
        decision: str,
        ids: Iterable[str],
        *,
        shown: Iterable[Record] = (),
        answer: str = "",
    ) -> list[Record]:
        """Approve or reject several that wait: all of them, or none.

        `shown` are those that whoever decides has seen: one that changed since is refused.
        """
        return _review.decide(self, decision, ids, shown=shown, answer=answer)

    def meant_of_held(self, part: str) -> str:
        """The same of the records that wait for approval."""
        return _session.meant_of_held(self, part)

    def supersede(self, record_id: str, text: str, **rest: Any) -> Record:
        """Store a memory that replaces another; the old one stays, marked as replaced."""
        return _storing.supersede(self, record_id, text, **rest)

    def revise(
        self,
        record_id: str,
        *,
        text: str,
        kind: str,
        tags: Sequence[str],
        when: Sequence[str] | None = None,
        must: bool | None = None,
        mark: str = "",
        valid_from: str = "",
        valid_to: str = "",
    ) -> Revised:
        """Change a memory where it stands; it keeps its id. It can be undone.

        `when` are its moments and `must` is whether it denies a call: None leaves them as they are.

        `mark` is that of the record which it was made from (`revising.mark_of`): one that was
        changed since is not written over. An empty day stays as it is; `never` takes it away.
        """
        return _storing.revise(
            self,
            record_id,
            text=text,
            kind=kind,
            tags=tags,
            when=when,
            must=must,
            mark=mark,
            valid_from=valid_from,
            valid_to=valid_to,
        )

    def revise_all(
        self,
        record_ids: Sequence[str],
        *,
        kind: str = "",
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
    ) -> Revised:
        """Give memories another kind, and tags, in one change: all of them, or none."""
        return _storing.revise_all(
            self, record_ids, kind=kind, add_tags=add_tags, remove_tags=remove_tags
        )

    def judge(self, verdict: str, *record_ids: str) -> Revised:
        """Say that memories were `useful`, or `wrong`: one verdict a session and memory.

        A repeated one changes nothing. Sessions that have read untrusted text give none.
        """
        return _verdicts.judge(self, verdict, record_ids)

    def pin(self, *record_ids: str) -> Revised:
        """Let memories be told before all others, for the owner alone. It can be undone."""
        return _verdicts.pin(self, record_ids)

    def unpin(self, *record_ids: str) -> Revised:
        """Let pinned memories be told like others again."""
        return _verdicts.unpin(self, record_ids)

    @cached_property
    def citations(self) -> Citations:
        """What makes and checks citations of files and documents."""
        return _citing.citations_of(self)

    def cite(self, record_id: str, *evidence: str) -> Revised:
        """Let a memory rest on lines of files or documents, such as `src/app.py:12-30`."""
        return _citing.cite(self, record_id, evidence)

    def renew_citations(self, record_id: str, *places: str) -> Revised:
        """Cite the same lines as they are now, where they are now; without places, all."""
        return _citing.renew(self, record_id, places)

    def drop_citations(self, record_id: str, *places: str) -> Revised:
        """Let a memory rest on these places no longer; without any, on none."""
        return _citing.drop(self, record_id, places)

    def standings(self, record: Record) -> list[CitationStanding]:
        """What a memory cites, each with what has become of it."""
        return _citing.standings(self, record)

    def stale(self, records: Sequence[Record]) -> dict[str, str]:
        """What is to be said of memories that rest on something stale, by their ids."""
        return _citing.stale(self, records) if any(each.citations for each in records) else {}

    def get(self, record_id: str) -> Hit:
        """One record, wherever it stands."""
        return _finding.get(self, record_id)

    def search(self, text: str = "", *, within: str = "memory", **filters: Any) -> SearchResult:
        """What fits the words best; without words, the newest. Filters are those of `Query`.

        `within` is memory, history (what was said in conversations) or all.
        """
        return _finding.search(self, text, within=within, **filters)

    def listed(self, **filters: Any) -> list[Hit]:
        """A page of the memories that fit, in an order. Filters are those of `Query`, but its text.

        `containing` are words that all of them have.
        """
        return _finding.listed(self, **filters)

    def counts(self, **filters: Any) -> Counts:
        """How many memories there are, how many fit, and what else could be asked for."""
        return _counting.counts(self, **filters)

    def all_about(self, text: str, *, limit: int = 100, **filters: Any) -> Gathered:
        """Everything that may be about something, in groups, for whoever has to count.

        `limit` is how many are shown; the filters are those of `search`.
        """
        return _finding.all_about(self, text, limit=limit, **filters)

    def why_not(self, record_id: str, text: str, **filters: Any) -> Miss:
        """Why a search for this does not show that record among its first hits."""
        return _finding.why_not(self, record_id, text, **filters)

    def note_shown(self, records: Iterable[Record | Neighbour]) -> None:
        """An agent that was shown untrusted content is tainted by it."""
        _session.note_shown(self, records)

    def waiting_shown(self) -> dict[str, str]:
        """What was shown since the last call that waits for approval: the texts by their ids."""
        return _session.waiting_shown(self)

    def recall(self, text: str, *, limit: int = 10) -> list[Hit]:
        """What is most alike by vectors, among the newest records."""
        return _finding.recall(self, text, limit=limit)

    @property
    def experiences(self) -> Experiences:
        """The records that were unlike the ones before them."""
        return _finding.experiences(self)

    def take_in_experiences(self) -> list[Record]:
        """Keep the new records that are unlike the experiences there are. Returns those."""
        return _finding.take_in_experiences(self)

    def recall_experiences(self, text: str, *, limit: int = 10) -> list[Hit]:
        """The experiences most like a text. Before the first upkeep they are taken in now."""
        return _finding.recall_experiences(self, text, limit=limit)

    def brief(self, *, limit: int = 100, by_standing: bool = True) -> list[Record]:
        """What to know first, in the order in which a session is told it at its start.

        Not `by_standing`: of the newest, how to behave before the rest, by importance alone.
        """
        return _finding.brief(self, limit=limit, by_standing=by_standing)

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
        return _prompt.context(
            self,
            message,
            agent=agent,
            characters=characters,
            tokens=tokens,
            system=system,
            last=last,
            dialect=dialect,
            experiences=experiences,
        )

    def news(self, *, characters: int | None = None, dialect: str = "") -> Context:
        """What of its context this session neither knows nor wrote: for one that is taken up."""
        return _prompt.news(self, characters=characters, dialect=dialect)

    def relevant(self, message: str, *, characters: int = 1200) -> Context:
        """What is remembered that fits one message and this session does not know yet."""
        return _prompt.relevant(self, message, characters=characters, told=self.known())

    def note_told(self, event: str, lines: Iterable[ToldLine], *, aside: str = "") -> None:
        """Note what this session is told at an event: start, prompt, tool or brief.

        `aside` is the subagent that is told, which shares no context with the session's own agent.
        """
        _telling.note_told(self, event, lines, aside=aside)

    def note_context(self, event: str, context: Context) -> None:
        """Note that this session is told a context."""
        _telling.note_told(self, event, _telling.lines_of(context))

    def note_lost(self) -> None:
        """Note that this session's context was compacted or cleared: it knows nothing any more."""
        _telling.note_lost(self)

    def drop_old_tellings(self) -> None:
        """Take away what was told to sessions that ended long ago; upkeep calls it."""
        _telling.drop_old(self)

    def told_at_start(self) -> AtStart:
        """Whether this session was told its memory at the start, and has it still."""
        return _telling.told_at_start(self)

    def known(self, *, aside: str = "") -> frozenset[str]:
        """The ids of the records that this session was told and still has in its context."""
        return _telling.known(self, aside=aside)

    def rules(self) -> list[Record]:
        """The rules that are told at their moments, the newest first."""
        return _rules.with_moments(self)

    def rules_told(self) -> dict[str, tuple[int, int]]:
        """How often each rule was told at its moment, and how often it denied a call."""
        return _rules.times_told(self)

    def suggest_rules(
        self, listed: Sequence[ListedRule], source: str, *, dry_run: bool = False
    ) -> _rules_of_files.SuggestedRules:
        """Hold the rules that stand in a file for a person to approve, those that are new."""
        return _rules_of_files.suggest(self, listed, source, dry_run=dry_run)

    def tell_rules(
        self,
        call: CalledTool,
        *,
        event: str = "tool",
        characters: int = 1200,
        aside: str = "",
        may_deny: bool = False,
        only_denials: bool = False,
    ) -> ToldRules:
        """Tell the rules that fit a call of a tool, or a prompt, and that are not known yet.

        `aside` is the subagent that is told; `may_deny` says that the call has not run yet, and
        `only_denials` leaves the rules that deny nothing for later.
        """
        return _rules.tell(
            self,
            call,
            event=event,
            characters=characters,
            aside=aside,
            may_deny=may_deny,
            only_denials=only_denials,
        )

    def count(self) -> int:
        """How many records there are that nothing has replaced."""
        self.library.refresh()
        return self.library.count(Query(include_passages=False))

    def delete(self, record_id: str, *, history: bool = False, bring_back: bool = False) -> Receipt:
        """Erase a record everywhere it stands, for good; with `history`, what was said of it.

        What it had replaced stays replaced, unless it is to be brought back.
        """
        return self.delete_all([record_id], history=history, bring_back=bring_back)

    def suggest(self, *, again: bool = True, dry_run: bool = False) -> list[Suggestion]:
        """Let what history shows three times wait in review; with `dry_run` nothing is written.

        Unless it is to look `again`, nothing is done where history has not grown since.
        """
        return _upkeep.suggest(self, again=again, dry_run=dry_run)

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
        return _upkeep.delete_all(
            self, record_ids, history=history, words=words, bring_back=bring_back
        )

    def to_forget(self, what: str) -> list[Hit]:
        """The record of that id, or of `#` and a part of it, or all with every word of a query."""
        return _upkeep.to_forget(self, what)

    def would_forget(self, record_ids: Sequence[str], *, words: str = "") -> forgetting.Doomed:
        """All that goes when these records are erased, and what conversations say of it."""
        return _upkeep.would_forget(self, record_ids, words=words)

    def strike(self, record_ids: Sequence[str]) -> tuple[str, ...]:
        """Take records out of every document they stand in. It can be undone.

        Returns the ids of those that they had replaced, which stay replaced.
        """
        return _upkeep.strike(self, record_ids)

    def unlink(self, record_id: str) -> None:
        """Let a record no longer be replaced by one that is gone; any other, no longer replace one.

        It can be undone.
        """
        _upkeep.unlink(self, record_id)

    def scan(self, *kinds: str) -> list[scan.Finding]:
        """Find stale, contradictory, duplicate and orphaned memories. Nothing is changed.

        Findings that a person chose to leave are not among them.
        """
        return [each.finding for each in _upkeep.findings(self, *kinds) if not each.left]

    def findings(self, *kinds: str) -> list[Marked]:
        """The same with their marks, and with those that were left."""
        return _upkeep.findings(self, *kinds)

    def leave_findings(self, marks: Iterable[str]) -> None:
        """Leave findings as they are: not shown again until one of their memories changes."""
        _upkeep.leave_findings(self, marks)

    def look_again(self, marks: Iterable[str]) -> None:
        """Show findings again that were left."""
        _upkeep.look_again(self, marks)

    def mend(self, findings: Sequence[Marked], *, keep: str = "") -> tuple[str, ...]:
        """Do what mends these findings, if their memories still say what they said.

        `keep` is the record of a finding that stays instead of the suggested one. Returns the
        records that were changed.
        """
        return _upkeep.mend(self, findings, keep=keep)

    def settings(self) -> list[dict[str, Any]]:
        """Every option with its value, where that comes from and whether it may be changed."""
        return _settings.described(self)

    def set_option(self, name: str, value: Any) -> None:
        """Set an option in the vault's file; None takes it out of there, back to its default.

        It counts for whoever opens the vault from now on.
        """
        _settings.set_option(self, name, value)

    def documents(self) -> list[str]:
        """The names of all documents that this session may see."""
        return _documents.names(self)

    def read(self, document: str = "") -> Document:
        """One document; without a name, the main one of the vault."""
        return _documents.read(self, document)

    def peek(self, document: str = "") -> Document:
        """The same, for who does not show it to the session."""
        return _documents.peek(self, document)

    def note_read(self, *documents: str) -> None:
        """Note that this session was shown documents: what is untrusted in them taints it."""
        _session.note_read(self, *documents)

    def guards(self, document: str) -> bool:
        """Whether what this session writes there waits for a person: prompts are made of it."""
        return _documents.guards(self, document)

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
        return _documents.update(
            self,
            content,
            document=document,
            mode=mode,
            section=section,
            etag=etag,
            confirm=confirm,
            strict=strict,
        )

    def edit(self, document: str, change: Rewording) -> Written:
        """Change a document by a function of its text as it is then, called under the lock.

        Such a change names what it takes out, and needs no confirmation. What takes out guardrails,
        instructions or corrections is done when it is asked for again.
        """
        return _documents.edit(self, document, change)

    def create(self, content: str, *, document: str) -> Written:
        """Make a document that must not be there yet."""
        return _documents.create(self, content, document=document)

    def remove(self, *documents: str) -> None:
        """Take whole documents away, all of them or none. It can be undone."""
        _documents.remove(self, *documents)

    def rename(self, document: str, new: str) -> None:
        """Give a document another name. It can be undone."""
        self.rename_all({document: new})

    def rename_all(self, documents: Mapping[str, str]) -> None:
        """Give documents other names, all of them or none. It can be undone."""
        _documents.rename_all(self, documents)

    def write_diary(self, text: str) -> Written:
        """Write a diary entry: a document of its own, named by the time, never changed again."""
        return _documents.write_diary(self, text)

    def diary(self, since: str = "") -> list[str]:
        """The names of the diary entries, oldest first: all, or those of a day, month or year.

        Entries are named by their time in UTC; which day that was, the user's calendar says.
        """
        return _documents.diary(self, since)

    def log(self, *, limit: int = 20) -> list[Entry]:
        """The last changes that this reader may see, newest first."""
        return _past.log(self, limit=limit)

    def activity(
        self,
        *,
        who: str = "",
        deed: str = "",
        day: str = "",
        document: str = "",
        way: str = "",
        before: int | None = None,
        limit: int = 50,
    ) -> ActivityPage:
        """Changes with what they said before and after, newest first; the texts for the owner.

        `who` is one of `memory.activity.Who`, `deed` of `Deed`, `day` of the user's calendar.
        `way` leaves those that can be taken back (`undo`) or made again (`redo`). `before` is
        the position of the last change of the page before.
        """
        filters = {"who": who, "deed": deed, "day": day, "document": document, "way": way}
        return _activity.page(self, before=before, limit=limit, **filters)

    def change(self, position: int) -> Activity:
        """One change with what it said before and after."""
        return _activity.one(self, position)

    def clients(self, sessions: Iterable[str]) -> dict[str, str]:
        """The client of each session that said its own or whose messages are kept."""
        return _activity.clients(self, sessions)

    def history(self, record_id: str) -> list[Entry]:
        """Every change that was about one record, oldest first."""
        return _past.history(self, record_id)

    def record_versions(self, record_id: str) -> list[RecordVersion]:
        """What became of one record, change by change, oldest first."""
        return _past.record_versions(self, record_id)

    def removed(self) -> list[Removed]:
        """The records that were taken out and can be brought back, the last one first."""
        return _past.removed(self)

    def forgotten(self) -> list[tuple[str, int]]:
        """When records were erased for good, and how many each time, oldest first."""
        return _past.forgotten(self)

    def put_back_records(self, record_ids: Sequence[str]) -> tuple[Record, ...]:
        """Bring back records that were taken out: all of them, or none. It can be undone."""
        return _past.put_back_records(self, record_ids)

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
            shown=partial(_session.mind_said, self),
            paused=self.library.pauses.left_out,
        )

    def blame(self, document: str) -> list[Blame]:
        """Each line of a document with the change that brought it."""
        return _past.blame(self, document)

    def versions(self, document: str) -> list[Version]:
        """Every change that a document went through, newest first, with what it did to it."""
        return _past.versions(self, document)

    def undo(
        self, position: int | None = None, *, session: str = "", mine: bool = False
    ) -> undo.Undone:
        """Take back the last change (of a session), or the one at a position of the log.

        `mine`: the last one that came from where this program's do, such as the owner's own.
        Edits made by hand are taken back by their position alone. Who has read untrusted text takes
        back its own changes, and none of who is trusted more.
        """
        return _past.undo_change(self, position, session=session, mine=mine)

    def redo(self, position: int | None = None, *, session: str = "", mine: bool = False) -> Redone:
        """Make again what the last undo (of a session, or `mine`) took back, or one at a position.

        Several undos are taken back one by one, the last first. The position is that of the undo,
        or of the change that it took back. Who has read untrusted text takes back its own undos.
        """
        return _past.redo_change(self, position, session=session, mine=mine)

    def text_at(self, document: str, moment: datetime) -> str:
        """What a document said at that time."""
        return _past.text_at(self, document, moment)

    def restore(self, moment: datetime, document: str = "") -> Restored:
        """Make one document, or all, say again what they said at that time, in one change."""
        return _past.restore(self, moment, document)

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
        return _past.put_back(self, change)

    def dismiss(self, change: int) -> None:
        """Leave out what an outside save took out, and tell of it no more."""
        _past.dismiss(self, change)

    def unite_copies(self, names: Iterable[str]) -> list[copies.United]:
        """Put what sync programs' copies have into their documents, and take the copies away."""
        return _past.unite_copies(self, names)

    def rebuild(self, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
        """Make the index anew from the documents. Returns how many records there are."""
        return _upkeep.rebuild(self, progress)

    def load_encoder(self) -> None:
        """Open the encoder of the extra `embeddings` in the background, as servers do.

        Search asks with it once every text has its vector of it. Without the extra, or with an
        encoder that an option names, nothing happens.
        """
        self.library.engine.embedder.stay()

    def status(self) -> dict[str, Any]:
        """What the vault holds and how it is, as plain data."""
        return status.status_of(self.library, self.parts, late=self.schedule().late())

    def problems(self) -> list[Problem]:
        """Every mistake in the documents' text, and everything that cannot be read."""
        return self.library.documents.problems()

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
