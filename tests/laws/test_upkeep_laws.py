"""The law of upkeep: whatever is trimmed, compacted, taken back and restored, nothing is lost."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from commonplace.memory import Memory
from commonplace.model.errors import NothingToUndo
from commonplace.model.records import Origin, Record, Sensitivity
from commonplace.storage.journal import Op, document_at
from commonplace.trust.origins import trust_of
from commonplace.upkeep.compaction.plan import LEVELS
from tests.laws.test_laws import rebuilt
from tests.support.clocks import SkippingClock
from tests.support.postgres import fresh_url
from tests.support.strategies import texts

DAY = 86_400
TEXTS = texts().filter(lambda text: text.strip() and len(text) <= 500)


def level_of(record: Record) -> int:
    return LEVELS.index(Sensitivity(record.sensitivity))


class UpkeepMachine(RuleBasedStateMachine):
    """An agent stores over months; the window, compaction, undo and restore do what they do."""

    dialect = "notebook"
    in_postgres = False
    options: Mapping[str, Any] = {}

    def __init__(self) -> None:
        super().__init__()
        made = fresh_url if self.in_postgres else partial(tempfile.mkdtemp, prefix="upkeep-laws-")
        self.place = made()
        self.clock = SkippingClock()
        self.clock.skipped = -400 * DAY * 10**9
        self.memory = self.opened()
        self.expected: dict[str, Record] = {}

    def opened(self) -> Memory:
        return Memory.open(
            self.place,
            self.dialect,
            clock=self.clock,
            environ={},
            memory_max_records=6,
            **self.options,
            create=True,
        )

    def teardown(self) -> None:
        self.memory.close()
        if not self.in_postgres:
            shutil.rmtree(self.place)

    @rule(text=TEXTS, kind=st.sampled_from(["note", "turn-summary", "learned", "preference"]))
    def store(self, text: str, kind: str) -> None:
        record = self.memory.store(text, kind=kind)
        self.expected[record.id] = record

    @rule(count=st.integers(2, 9), origin=st.sampled_from([Origin.AGENT, Origin.TOOL, Origin.WEB]))
    def store_many(self, count: int, origin: Origin) -> None:
        memories = [{"text": f"Memory {number} of many", "kind": "note"} for number in range(count)]
        self.memory.origin = origin
        for record in self.memory.store_all(memories):
            self.expected[record.id] = record
        self.memory.origin = Origin.AGENT

    @rule(days=st.integers(1, 60))
    def days_pass(self, days: int) -> None:
        self.clock.sleep(days * DAY)

    @rule()
    def compact(self) -> None:
        assert self.memory.compact(forced=True).status in ("done", "skipped")

    @rule()
    def undo(self) -> None:
        try:
            entry = self.memory.undo().entry
        except NothingToUndo:
            return
        if entry.op == Op.ADD:
            for key in entry.ids:
                self.expected.pop(key, None)

    @rule(back=st.integers(0, 5))
    def undo_upkeep(self, back: int) -> None:
        done = [e for e in self.memory.log(limit=50) if e.op in (Op.TRIM, Op.COMPACT)]
        if back < len(done):
            try:
                self.memory.undo(done[back].position)
            except NothingToUndo:
                return

    @rule(data=st.data())
    def bring_back(self, data: st.DataObject) -> None:
        if self.expected:
            key = data.draw(st.sampled_from(sorted(self.expected)))
            self.memory.bring_back([key])
            assert self.record_in("MEMORY.md", key) == self.expected[key]

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        there = sorted(key for key in self.expected if self.memory.library.index.get(key))
        if there:
            key = data.draw(st.sampled_from(there))
            self.memory.delete(key)
            del self.expected[key]

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = self.opened()

    def records_of(self, document: str) -> list[Record]:
        library = self.memory.library
        if library.vault.stat(document) is None:
            return []
        parsed = library.parse(document, library.text(document)[0])
        return [item.record for item in parsed.items if item.record.kind != "passage"]

    def record_in(self, document: str, key: str) -> Record | None:
        return next((record for record in self.records_of(document) if record.id == key), None)

    @invariant()
    def every_record_stands_somewhere_or_is_the_source_of_a_summary(self) -> None:
        documents = ("MEMORY.md", self.memory.layout.trims_to)
        there = {r.id: r for name in documents if name for r in self.records_of(name)}
        named = {key for r in self.records_of("LONGMEMORY.md") for key in r.sources}
        for key, record in self.expected.items():
            assert there.get(key) == record or key in named

    @invariant()
    def no_summary_is_trusted_more_or_shown_more_freely_than_a_source(self) -> None:
        for summary in self.records_of("LONGMEMORY.md"):
            for source in (self.expected[key] for key in summary.sources if key in self.expected):
                assert trust_of(summary.origin) <= trust_of(source.origin)
                assert level_of(summary) >= level_of(source)

    @invariant()
    def the_kept_index_is_the_rebuilt_one(self) -> None:
        self.memory.library.refresh()
        assert self.memory.library.index.dump() == rebuilt(self.memory)

    @invariant()
    def what_the_journal_says_is_what_the_documents_say(self) -> None:
        library = self.memory.library
        for name in self.memory.documents():
            told = document_at(library.journal, name, since=library.known(name).base)
            assert told == library.vault.read(name)


class ArchivingMachine(UpkeepMachine):
    """The same in claw's lines, with an archive of its own."""

    dialect = "claw"
    options: Mapping[str, Any] = {"memory_archive_path": "memory/MEMORY-archive.md"}


class PostgresMachine(UpkeepMachine):
    """The same in PostgreSQL."""

    in_postgres = True


class PostgresArchivingMachine(ArchivingMachine):
    """And there with an archive."""

    in_postgres = True


LIMITS = settings(
    max_examples=20,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
FEWER = settings(LIMITS, max_examples=6)
"""Where each step waits for a server."""
TestUpkeep = pytest.mark.long(UpkeepMachine.TestCase)
TestUpkeep.settings = LIMITS
TestArchiving = pytest.mark.long(ArchivingMachine.TestCase)
TestArchiving.settings = LIMITS
TestUpkeepInPostgres = PostgresMachine.TestCase
TestUpkeepInPostgres.settings = FEWER
TestArchivingInPostgres = PostgresArchivingMachine.TestCase
TestArchivingInPostgres.settings = FEWER
