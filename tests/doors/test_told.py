"""What sessions are told: noted, shown, and told once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.doors.admin.backup import back_up, quiet, restore_backup
from commonplace.doors.admin.migrate import move
from commonplace.doors.cli import main as cli
from commonplace.doors.cli.told import _chart
from commonplace.memory import Memory, telling
from commonplace.model.errors import DiskFull, NotFound
from commonplace.storage.ledger import ToldLine
from commonplace.upkeep import jobs
from tests.data import clock_at
from tests.support.postgres import made_url

SESSION = "5e55-10"


@pytest.fixture
def memory(place: str) -> Iterator[Memory]:
    with Memory.open(place, session=SESSION, origin="owner", create=True) as memory:
        yield memory


def told(memory: Memory, message: str) -> str:
    """What fits a message, noted as a hook does."""
    found = memory.relevant(message)
    memory.note_context("prompt", found)
    return found.text


def test_what_a_session_was_told_is_left_out_beside_its_next_prompt(memory: Memory) -> None:
    memory.store("The boat is called Albatros", kind="fact")
    assert "Albatros" in told(memory, "What is the boat called?")
    found = memory.relevant("What is the boat called?")
    assert found.text == ""
    assert [line.why for line in found.left_out] == ["told before in this session"]


def test_another_session_is_told_the_same(memory: Memory) -> None:
    memory.store("The boat is called Albatros", kind="fact")
    told(memory, "What is the boat called?")
    assert "Albatros" in told(memory.for_session("another"), "What is the boat called?")


def test_what_was_reworded_since_is_told_again(memory: Memory) -> None:
    record = memory.store("The boat is called Albatros", kind="fact")
    told(memory, "What is the boat called?")
    memory.revise(record.id, text="The boat is called Pelican", kind="fact", tags=())
    assert "Pelican" in told(memory, "What is the boat called?")


def test_after_a_compaction_it_is_told_again(memory: Memory) -> None:
    memory.store("The boat is called Albatros", kind="fact")
    told(memory, "What is the boat called?")
    memory.ledger.lose(SESSION, at=memory.clock.stamp())
    assert "Albatros" in told(memory, "What is the boat called?")


def test_a_session_without_an_id_is_told_everything(memory: Memory) -> None:
    nameless = memory.for_session("")
    memory.store("The boat is called Albatros", kind="fact")
    assert told(nameless, "What is the boat called?")
    assert told(nameless, "What is the boat called?")
    assert list(memory.ledger.all()) == []


def test_a_subagent_and_its_session_do_not_know_what_the_other_was_told(memory: Memory) -> None:
    record = memory.store("Never force-push to main", kind="instruction")
    memory.note_told("tool", [ToldLine(record.id, "its rule", 6)], aside="reviewer")
    assert memory.known() == frozenset()
    assert memory.known(aside="reviewer") == {record.id}


def test_a_telling_has_each_record_with_its_reason_and_cost(memory: Memory) -> None:
    record = memory.store("The boat is called Albatros", kind="fact")
    found = memory.relevant("What is the boat called?")
    memory.note_context("prompt", found)
    [noted] = memory.ledger.tellings(SESSION)
    assert (noted.event, noted.tokens) == ("prompt", found.tokens)
    assert (noted.lines[0].record, noted.lines[0].why) == (record.id, "it fits this message")
    assert "Albatros" not in str(noted)


def test_a_disk_that_takes_no_note_keeps_no_memory_back(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(name: str, line: str, **rest: int) -> None:
        raise DiskFull("the disk")

    memory.store("The boat is called Albatros", kind="fact")
    monkeypatch.setattr(memory.notes, "add", full)
    assert "Albatros" in told(memory, "What is the boat called?")


def test_a_brief_that_an_agent_asks_for_is_noted_and_one_of_a_person_is_not(
    memory: Memory,
) -> None:
    record = memory.store("The boat is called Albatros", kind="fact")
    memory.brief()
    assert memory.ledger.tellings(SESSION) == []
    memory.for_agents = True
    memory.brief()
    [told] = memory.ledger.tellings(SESSION)
    assert (told.event, [line.record for line in told.lines]) == ("brief", [record.id])
    assert told.tokens > 0


def test_a_brief_is_whole_however_often_it_is_asked_for(memory: Memory) -> None:
    memory.store("The boat is called Albatros", kind="fact")
    memory.for_agents = True
    assert memory.brief() == memory.brief() != []


# Who was told what.


def test_the_sessions_are_listed_with_what_they_cost(memory: Memory) -> None:
    memory.store("The boat is called Albatros", kind="fact")
    told(memory, "What is the boat called?")
    told(memory.for_session("another"), "What is the boat called?")
    found = telling.sessions(memory)
    assert {each.session for each in found} == {SESSION, "another"}
    assert all((each.memories, each.tokens > 0) == (1, True) for each in found)


def test_a_session_is_found_by_its_beginning_and_as_the_last(memory: Memory) -> None:
    memory.store("The boat is called Albatros", kind="fact")
    told(memory, "What is the boat called?")
    assert telling.told_to(memory, "5e55")[0] == telling.told_to(memory, "last")[0] == SESSION
    with pytest.raises(NotFound, match="commonplace told"):
        telling.told_to(memory, "none")


def test_what_was_forgotten_or_is_secret_by_now_is_not_shown(memory: Memory) -> None:
    first = memory.store("The boat is called Albatros", kind="fact")
    second = memory.store("The boat has its berth at Lauwersoog", kind="fact")
    lines = telling.lines_for([first, second], "the agent asked")
    memory.note_told("brief", [*lines, ToldLine("mem-none")])
    memory.delete(first.id)
    _, [at] = telling.told_to(memory, SESSION)
    assert [(line.text, line.gone) for line in at.lines] == [
        ("", "forgotten"),
        (second.text, ""),
        ("", "forgotten"),
    ]
    secret = memory.store("The alarm is 4711", sensitivity="secret")
    memory.note_told("brief", [ToldLine(secret.id, "by mistake", 4)])
    line = telling.told_to(memory, SESSION)[1][-1].lines[0]
    assert (line.text, line.gone) == ("", "secret")


def test_costs_are_summed_by_day(place: str) -> None:
    clock = clock_at("2026-02-10T12:00:00Z")
    with Memory.open(place, session=SESSION, clock=clock, create=True) as memory:
        memory.note_told("start", [ToldLine("", "around", 5)])
        clock.sleep(2 * 86_400)
        memory.note_told("prompt", [ToldLine("", "around", 7)])
        memory.note_told("prompt", [ToldLine("", "around", 1)])
        assert telling.costs(memory, days=3) == [
            ("2026-02-10", 5),
            ("2026-02-11", 0),
            ("2026-02-12", 8),
        ]
        assert [each.tokens for each in telling.sessions(memory, days=1)] == [8]


def test_the_command_shows_sessions_one_session_and_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Memory.open(tmp_path, session=SESSION, origin="owner", create=True) as memory:
        memory.store("The boat is called Albatros", kind="fact")
        told(memory, "What is the boat called?")

    def shown(*words: str) -> str:
        assert cli.main(["--vault", str(tmp_path), "told", *words]) == 0
        return capsys.readouterr().out

    assert SESSION in shown()
    one = shown("last")
    assert "The boat is called Albatros" in one
    assert "beside a prompt" in one
    assert "it fits this message" in one
    assert shown("--costs", "--days", "2").count("\n") == 2  # Yesterday nothing was told.
    [listed] = json.loads(shown("--json"))
    assert listed["tokens"] == json.loads(shown("--costs", "--json"))[-1]["tokens"]
    assert json.loads(shown(SESSION, "--json"))["tellings"][0]["lines"][0]["why"]


def test_the_command_says_so_where_nothing_was_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Memory.open(tmp_path, create=True).close()
    assert cli.main(["--vault", str(tmp_path), "told"]) == 0
    assert capsys.readouterr().out == "No session was told anything yet.\n"
    assert cli.main(["--vault", str(tmp_path), "told", "last"]) == 3
    assert cli.main(["--vault", str(tmp_path), "told", "--days", "-1"]) == 2


def test_upkeep_takes_away_what_was_told_to_sessions_of_long_ago(place: str) -> None:
    clock = clock_at("2026-02-10T12:00:00Z")
    with Memory.open(place, session=SESSION, clock=clock, create=True) as memory:
        memory.note_told("start", [ToldLine("", "around", 5)])
        memory.pause(seconds=60)
        clock.sleep(60 * 86_400)
        memory.for_session("later").note_told("start", [ToldLine("", "around", 5)])
        clock.sleep(31 * 86_400)
        jobs.done_here(memory, "scan")
        assert [told[0].session for told in memory.ledger.all()] == ["later"]
        assert memory.library.pauses.all() == ()


def test_a_backup_and_a_move_to_postgres_take_along_tellings_and_pauses(tmp_path: Path) -> None:
    moved, file, restored = made_url(), tmp_path / "file.tar.gz", str(tmp_path / "restored")
    with Memory.open(tmp_path / "old", create=True, session=SESSION, origin="owner") as memory:
        memory.note_told("start", [ToldLine("mem-1", "always", 5)])
        memory.pause()
        back_up(memory, file)
    move(str(tmp_path / "old"), moved, progress=quiet)
    restore_backup(file, restored)
    for place in (moved, restored):
        with Memory.open(place, session=SESSION) as memory:
            assert memory.ledger.known(SESSION) == {"mem-1"}
            assert memory.paused()


def test_a_denial_is_told_without_the_mark_of_its_call() -> None:
    told = telling.in_words("denied ee099913 at Bash(git push*)")
    assert told == "denied once by the rule, at Bash(git push*)"
    assert telling.in_words("at Bash(git push*)") == "at Bash(git push*)"


def test_a_chart_begins_with_the_first_day_and_has_a_short_bar_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    days = [("2026-02-10", 0), ("2026-02-11", 5), ("2026-02-12", 0), ("2026-02-13", 5)]
    lines = list(_chart(days, for_eyes=True))
    assert [line[:10] for line in lines[:-1]] == ["2026-02-11", "2026-02-12", "2026-02-13"]
    assert lines[-1] == "10 tokens in 3 days"
    [alone, _] = _chart(days[-1:], for_eyes=True)
    assert alone.count("█") == 10
