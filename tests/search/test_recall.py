"""The recall cache: the same answers as without it, sooner, and never one that is out of date."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from commonplace.memory import Memory
from commonplace.model.errors import NothingToUndo
from commonplace.model.records import Hit, Record
from commonplace.search.recall import BESIDE, RecallCache
from tests.support.clocks import SkippingClock

TEXTS = ("Green tea is drunk", "The kettle whistles", "Tea with milk", "A cat sleeps", "Old boots")


def hit(text: str) -> Hit:
    return Hit(Record("mem-1", "note", text, "2026-11-15T12:00:00.000Z"), (), 0.5)


class Time:
    """Nanoseconds that a test moves."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.mark.claim("claw.cache-lru", "claw.cache-bounded")
def test_a_full_cache_gives_up_what_was_used_least_recently(time: Time) -> None:
    cache = RecallCache(entries=2, seconds=0, now_ns=time)
    for question in "ab":
        cache.put(question, [hit(question)], fingerprint=1)
    assert cache.get("a", fingerprint=1) == [hit("a")]
    cache.put("c", [hit("c")], fingerprint=1)
    assert len(cache) == 2
    assert [cache.get(question, fingerprint=1) is not None for question in "abc"] == [
        True,
        False,
        True,
    ]


def test_it_never_holds_more_characters_than_it_may(time: Time) -> None:
    cache = RecallCache(entries=100, seconds=0, now_ns=time, characters=3 * BESIDE)
    for number in range(50):
        cache.put(number, [hit("x" * 100)] * (number % 4), fingerprint=1)
        assert cache.held <= 3 * BESIDE
    assert cache.held == sum(
        len(each.record.text) + BESIDE
        for n in range(50)
        for each in cache.get(n, fingerprint=1) or ()
    )


@pytest.mark.claim("claw.cache-ttl")
def test_an_answer_expires_after_its_time_if_one_is_set(time: Time) -> None:
    for seconds, there in ((10, False), (0, True)):
        cache = RecallCache(entries=2, seconds=seconds, now_ns=time)
        cache.put("a", [hit("a")], fingerprint=1)
        time.now += 10 * 10**9
        assert cache.get("a", fingerprint=1) is not None
        time.now += 1
        assert (cache.get("a", fingerprint=1) is not None) == there
        assert cache.held == (BESIDE + 1 if there else 0)


def test_another_fingerprint_or_none_empties_it(time: Time) -> None:
    cache = RecallCache(entries=2, seconds=0, now_ns=time)
    for fingerprint in (2, None):
        cache.put("a", [hit("a")], fingerprint=1)
        assert cache.get("a", fingerprint=fingerprint) is None
        assert len(cache) == 0
    cache.put("a", [hit("a")], fingerprint=None)
    assert len(cache) == 0


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "vault", "claw", clock=SkippingClock(), create=True) as memory:
        for text in TEXTS:
            memory.store(text)
        memory.clock.sleep(1)
        yield memory


def asked_index(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes every use of the index from now on."""
    used: list[str] = []

    class Watched:
        def __init__(self, index: Any) -> None:
            self._index = index

        def __getattr__(self, name: str) -> Any:
            used.append(name)
            return getattr(self._index, name)

    monkeypatch.setattr(memory.library, "index", Watched(memory.library.index))
    return used


@pytest.mark.claim("claw.cache-repeats-faster", "claw.cache-key")
def test_a_repeated_question_is_answered_without_the_index(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = memory.recall("tea")
    used = asked_index(memory, monkeypatch)
    assert memory.recall("tea") == first
    assert used == []
    assert memory.recall("tea", limit=1) == first[:1]
    assert memory.recall("kettle") != first
    assert used != []


@pytest.mark.claim("claw.cache-refilled")
def test_another_process_begins_with_an_empty_cache_and_fills_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = memory.recall("tea")
    with memory.apart() as again:
        assert len(again.library.recalls) == 0
        assert again.recall("tea") == first
        assert len(again.library.recalls) == 1


@pytest.mark.claim("claw.cache-on-durable", "claw.cache-after-write")
def test_what_was_written_is_on_disk_and_then_in_the_answer(memory: Memory) -> None:
    memory.recall("tea")
    record = memory.store("Tea from Assam")
    assert record.id in (memory.root / "MEMORY.md").read_text(encoding="utf-8")
    assert record in [hit.record for hit in memory.recall("tea")]


@pytest.mark.claim("claw.cache-after-trim")
def test_trimming_and_compacting_empty_the_cache(memory: Memory) -> None:
    memory.recall("tea")
    memory.clock.sleep(90 * 24 * 3600)
    assert memory.compact(forced=True).status == "done"
    fingerprint = memory.library.fingerprint()
    assert memory.library.recalls.get(("tea", 10), fingerprint=fingerprint) is None
    assert {hit.record.kind for hit in memory.recall("tea")} >= {"compaction"}


@pytest.mark.claim("claw.cache-after-resync")
def test_syncing_the_vectors_again_empties_the_cache(memory: Memory) -> None:
    before = memory.recall("tea")
    memory.rebuild()
    assert len(memory.library.recalls) == 0
    assert memory.recall("tea") == before


def test_forgetting_leaves_no_text_in_the_cache(memory: Memory) -> None:
    [first, *_] = memory.recall("tea")
    memory.delete(first.record.id)
    assert len(memory.library.recalls) == 0


def test_with_no_entries_nothing_is_kept(tmp_path: Path) -> None:
    with Memory.open(tmp_path, "claw", recall_cache_entries=0) as memory:
        memory.store("Green tea")
        memory.recall("tea")
        assert len(memory.library.recalls) == 0


def test_a_write_of_another_process_is_in_the_next_answer(memory: Memory) -> None:
    memory.recall("tea")
    program = (
        "import sys; from commonplace.memory import Memory\n"
        "with Memory.open(sys.argv[1]) as m: m.store('Tea of another process')"
    )
    subprocess.run([sys.executable, "-c", program, str(memory.root)], check=True)
    assert "Tea of another process" in [hit.record.text for hit in memory.recall("tea")]


class Interleaved(RuleBasedStateMachine):
    """Two programs with one vault and a person with an editor; one of the programs has a cache."""

    def __init__(self) -> None:
        super().__init__()
        from tempfile import TemporaryDirectory

        self.directory = TemporaryDirectory()
        root = Path(self.directory.name)
        clock = SkippingClock()
        self.cached = Memory.open(root, "claw", clock=clock, create=True)
        self.other = Memory.open(root, "claw", clock=clock, recall_cache_entries=0, create=True)

    def teardown(self) -> None:
        self.cached.close()
        self.other.close()
        self.directory.cleanup()

    @rule(text=st.sampled_from(TEXTS), ours=st.booleans())
    def store(self, text: str, ours: bool) -> None:
        (self.cached if ours else self.other).store(text)

    @rule(ours=st.booleans())
    def delete(self, ours: bool) -> None:
        found = self.other.search("tea", include_passages=False)
        if found:
            (self.cached if ours else self.other).delete(found[0].record.id)

    @rule(text=st.sampled_from(TEXTS))
    def edit(self, text: str) -> None:
        with (self.other.root / "MEMORY.md").open("a", encoding="utf-8") as file:
            file.write(f"- {text} by hand\n")

    @rule()
    def wait(self) -> None:
        self.cached.clock.sleep(1)

    @rule()
    def rebuild(self) -> None:
        self.other.rebuild()

    @rule()
    def undo(self) -> None:
        with suppress(NothingToUndo):
            self.other.undo()

    @invariant()
    def the_cache_changes_no_answer(self) -> None:
        for question in ("tea", "kettle"):
            ours = [(each.record.id, each.score) for each in self.cached.recall(question)]
            assert ours == [(each.record.id, each.score) for each in self.other.recall(question)]


TestInterleaved = Interleaved.TestCase
TestInterleaved.settings = settings(
    max_examples=10,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
