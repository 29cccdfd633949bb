"""The ledger: what sessions were told, and what a compaction takes away from them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commonplace.storage.ledger import LOST, Ledger, Telling, ToldLine
from commonplace.storage.notes import FileNotes

AT = "2026-11-15T14:30:00.000Z"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(FileNotes(tmp_path))


def telling(*records: str, session: str = "s1", event: str = "prompt") -> Telling:
    return Telling(session, AT, event, tuple(ToldLine(key, "it fits", 7) for key in records))


def test_a_session_knows_what_it_was_told(ledger: Ledger) -> None:
    first, second = telling("mem-1", "mem-2", event="start"), telling("mem-3")
    ledger.note(first)
    ledger.note(second)
    assert ledger.tellings("s1") == [first, second]
    assert ledger.known("s1") == {"mem-1", "mem-2", "mem-3"}
    assert first.tokens == 14


def test_a_session_knows_nothing_of_what_another_was_told(ledger: Ledger) -> None:
    ledger.note(telling("mem-1", session="s1"))
    ledger.note(telling("mem-2", session="s2"))
    assert ledger.known("s1") == {"mem-1"}
    assert sorted(told[0].session for told in ledger.all()) == ["s1", "s2"]


def test_a_compaction_loses_what_was_told_before_it(ledger: Ledger) -> None:
    ledger.note(telling("mem-1"))
    ledger.lose("s1", at=AT)
    ledger.note(telling("mem-2"))
    assert ledger.known("s1") == {"mem-2"}
    assert [each.event for each in ledger.tellings("s1")] == ["prompt", LOST, "prompt"]


def test_a_line_that_is_no_record_is_noted_and_not_known(ledger: Ledger) -> None:
    ledger.note(telling(""))
    assert (ledger.known("s1"), ledger.tellings("s1")[0].tokens) == (frozenset(), 7)


def test_nothing_is_noted_of_a_caller_without_a_session(ledger: Ledger) -> None:
    ledger.note(telling("mem-1", session=""))
    assert list(ledger.all()) == []


def test_two_hooks_of_one_session_note_at_the_same_time(ledger: Ledger, tmp_path: Path) -> None:
    def note(number: int) -> None:
        Ledger(FileNotes(tmp_path)).note(telling(f"mem-{number}"))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(note, range(200)))
    assert ledger.known("s1") == {f"mem-{number}" for number in range(200)}


def test_a_line_that_was_cut_off_takes_no_other_with_it(ledger: Ledger, tmp_path: Path) -> None:
    ledger.note(telling("mem-1"))
    [log] = (tmp_path / "told").iterdir()
    log.write_bytes(log.read_bytes() + b'["s1","2026')
    ledger.note(telling("mem-2"))
    assert ledger.known("s1") == {"mem-1", "mem-2"}


def test_what_a_subagent_was_told_its_session_does_not_know(ledger: Ledger) -> None:
    ledger.note(Telling("s1", AT, "tool", (ToldLine("mem-1", "its rule", 6),), "reviewer"))
    assert ledger.known("s1") == frozenset()
    assert ledger.known("s1", aside="reviewer") == {"mem-1"}
