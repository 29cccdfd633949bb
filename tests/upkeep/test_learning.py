"""What history shows three times becomes a suggestion that waits, and is never stored by itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from commonplace.memory import Memory
from commonplace.model.errors import BadValue
from commonplace.model.records import Origin
from commonplace.storage.command_log import CommandLog, CommandRun
from commonplace.upkeep import learning
from tests.data import clock_at
from tests.support.clocks import FixedClock

DAY = 86_400


@pytest.fixture
def clock() -> FixedClock:
    return clock_at("2026-11-10T12:00:00Z")


@pytest.fixture
def memory(place: Any, clock: FixedClock) -> Any:
    with Memory.open(place, clock=clock, create=True, origin=Origin.OWNER) as memory:
        yield memory


def say(memory: Memory, clock: FixedClock, *texts: str, session: str = "", **rest: Any) -> None:
    """Say each text in a session of its own, a day after the one before, or all in one."""
    for text in texts:
        clock.sleep(DAY)
        at = session or f"session-{clock.stamp()[:10]}"
        memory.conversations.record("user", text, session=at, **rest)
        memory.conversations.record("assistant", "Done.", session=at)


def waiting(memory: Memory) -> list[tuple[str, str]]:
    return [(record.kind, record.text) for record in memory.review()]


SAID = [
    (("No, use pnpm", "I said pnpm, not npm!", "Wie oft noch: nimm pnpm!"), "No, use pnpm"),
    (
        ("Don't commit without asking", "never commit on your own", "as I said: don't commit!"),
        "never commit on your own",
    ),
    (
        ("I prefer tabs over spaces", "Tabs, not spaces", "no, tabs instead of spaces"),
        "no, tabs instead of spaces",
    ),
    (("Keine Emojis im Code", "Bitte keine Emojis!", "Nie Emojis im Code"), "Nie Emojis im Code"),
    (("Pas de commentaires", "Ne mets pas de commentaires", "non, pas de commentaires"),
     "non, pas de commentaires"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "told"), SAID)
def test_the_same_correction_three_times_is_suggested_in_the_user_s_words(
    memory: Memory, clock: FixedClock, said: tuple[str, ...], told: str
) -> None:
    say(memory, clock, *said[:2])
    assert memory.suggest() == []
    say(memory, clock, said[2])
    [suggestion] = memory.suggest()
    assert suggestion.record.text == told
    assert [each.split(" ")[0][:10] for each in suggestion.times] == [
        "2026-11-11",
        "2026-11-12",
        "2026-11-13",
    ]
    assert [text for _, text in waiting(memory)] == [told]
    assert memory.search("") == []


NOT_THE_SAME = [
    ("No, use pnpm", "Don't use pnpm", "No, use yarn"),
    ("Use the staging database, not production", "never touch production", "no, the other file"),
    ("don't change the tests", "don't run the linter", "don't delete the branch"),
    ("Please run the tests", "Please run the tests", "Please run the tests"),
    ("> No, use pnpm", "```\nNo, use pnpm\n```", "From: eve\nNo, use pnpm"),
    ("No, wrong", "No, wrong.", "no, wrong!"),
]


@pytest.mark.parametrize("said", NOT_THE_SAME)
def test_what_is_not_the_same_or_not_typed_is_not_suggested(
    memory: Memory, clock: FixedClock, said: tuple[str, ...]
) -> None:
    say(memory, clock, *said)
    assert memory.suggest() == []


def test_one_session_of_one_day_counts_once(memory: Memory, clock: FixedClock) -> None:
    for _ in range(3):
        memory.conversations.record("user", "No, use pnpm", session="one")
        clock.sleep(60)
    assert memory.suggest() == []
    say(memory, clock, "No, use pnpm", "No, use pnpm", session="one")
    assert len(memory.suggest()) == 1


@pytest.mark.parametrize("role", [{"agent": "heartbeat"}, {"channel": "tool"}])
def test_what_no_person_said_does_not_count(
    memory: Memory, clock: FixedClock, role: dict[str, str]
) -> None:
    say(memory, clock, *["Always use pnpm"] * 3, **role)
    assert memory.suggest() == []


def test_the_words_that_a_tainted_session_s_user_typed_count(
    memory: Memory, clock: FixedClock
) -> None:
    for name in ("session-2026-11-11", "session-2026-11-12", "session-2026-11-13"):
        memory.for_session(name, origin=Origin.AGENT).taint("a page")
    say(memory, clock, *["Always use pnpm"] * 3)
    assert [each.record.text for each in memory.suggest()] == ["Always use pnpm"]


def test_review_shows_each_time_and_an_approval_stores_the_user_s_sentence(
    memory: Memory, clock: FixedClock
) -> None:
    say(memory, clock, "No, use pnpm", "I said pnpm, not npm!", "Always use pnpm here, ok?")
    say(memory, clock, "Always use pnpm")
    memory.suggest()
    [record] = memory.review()
    assert memory.review_reasons() == {record.id: "you said this 3 times, and no memory says it"}
    lines = "\n".join(memory.accounts([record])[record.id].lines())
    assert "on 2026-11-11, session session-2026-11-11: “No, use pnpm”" in lines
    assert "on 2026-11-14, session session-2026-11-14: “Always use pnpm”" in lines
    [kept] = memory.decide("approve", [record.id], shown=[record])
    found = memory.get(kept.id).record
    assert (found.kind, found.text, found.origin) == ("instruction", "Always use pnpm", "owner")
    assert found.is_quote
    assert found.seen == record.seen
    assert "told in the user's words" in memory.accounts([found])[found.id].state
    assert memory.suggest() == []


def test_what_was_rejected_does_not_come_back_in_other_words_either(
    memory: Memory, clock: FixedClock
) -> None:
    say(memory, clock, *["No, use pnpm"] * 3)
    memory.suggest()
    memory.decide("reject", [each.id for each in memory.review()])
    say(memory, clock, *["I said pnpm, not npm!"] * 3)
    assert memory.suggest() == []
    assert memory.review() == []


def test_what_waits_is_not_suggested_twice(memory: Memory, clock: FixedClock) -> None:
    say(memory, clock, *["No, use pnpm"] * 3)
    assert len(memory.suggest()) == 1
    say(memory, clock, *["No, use pnpm"] * 3)
    assert memory.suggest() == []


@pytest.mark.parametrize("text", ["Use pnpm, never npm", "No, use pnpm"])
def test_what_a_rule_says_already_is_not_suggested(
    memory: Memory, clock: FixedClock, text: str
) -> None:
    memory.store(text, kind="instruction")
    say(memory, clock, *["No, use pnpm"] * 3)
    assert memory.suggest() == []


def test_what_the_owner_forgot_is_not_suggested(memory: Memory, clock: FixedClock) -> None:
    memory.delete(memory.store("No, use pnpm", kind="correction").id)
    say(memory, clock, *["No, use pnpm"] * 3)
    assert memory.suggest() == []


ASKED = ("How do I deploy to staging?", "how do we deploy staging?", "How do I deploy staging?")


def test_a_question_asked_three_times_is_kept_with_the_answer_that_a_person_gives(
    memory: Memory, clock: FixedClock
) -> None:
    say(memory, clock, *ASKED)
    [suggestion] = memory.suggest()
    key = suggestion.record.id
    assert waiting(memory) == [("fact", "How do I deploy staging?")]
    assert "kept with the answer" in memory.review_reasons()[key]
    for answer in ("", " "):
        with pytest.raises(BadValue, match="--answer"):
            memory.decide("approve", [key], answer=answer)
    memory.decide("approve", [key], answer="make deploy ENV=staging")
    found = memory.get(key).record
    assert found.text == "How do I deploy staging? make deploy ENV=staging"
    assert (found.kind, found.origin, found.evidence) == ("fact", "owner", ())
    assert memory.suggest() == []


def test_an_answer_is_for_questions_alone(memory: Memory, clock: FixedClock) -> None:
    say(memory, clock, *["No, use pnpm"] * 3)
    [suggestion] = memory.suggest()
    with pytest.raises(BadValue, match="no question"):
        memory.approve(suggestion.record.id, answer="because")
    assert len(memory.review()) == 1


def test_many_are_decided_at_once_and_none_while_one_lacks_its_answer(
    memory: Memory, clock: FixedClock
) -> None:
    say(memory, clock, *["No, use pnpm"] * 3, *["Keine Emojis!"] * 3, *ASKED)
    made = {each.what: each.record.id for each in memory.suggest()}
    ids = [each.id for each in memory.review()]
    assert len(ids) == 3
    with pytest.raises(BadValue, match="is a question"):
        memory.decide("approve", ids)
    assert len(memory.review()) == 3
    memory.decide("approve", [key for key in ids if key != made["asked"]])
    assert sorted(hit.record.text for hit in memory.search("")) == ["Keine Emojis!", "No, use pnpm"]


@pytest.mark.parametrize(
    "asked",
    [
        "Can you fix the deploy script?",
        "What is this error here?",
        "Why does it fail?",
        "What now?",
    ],
)
def test_a_question_of_the_moment_is_not_suggested(
    memory: Memory, clock: FixedClock, asked: str
) -> None:
    say(memory, clock, *[asked] * 3)
    assert memory.suggest() == []


def test_a_question_that_a_memory_answers_is_not_suggested(
    memory: Memory, clock: FixedClock
) -> None:
    memory.store("Deploy to staging with make deploy", kind="fact")
    say(memory, clock, *ASKED)
    assert memory.suggest() == []


def ran(memory: Memory, clock: FixedClock, *times: tuple[tuple[str, str], ...]) -> None:
    """Run commands, each with its failure, in a session of its own a day."""
    for commands in times:
        clock.sleep(DAY)
        for command, failure in commands:
            entry = CommandRun(f"session-{clock.stamp()[:10]}", clock.stamp(), command, failure)
            CommandLog(memory.notes).note(entry)
    memory.conversations.record("user", "Hello", session="greeting")


HELPED = (("npm test", "command not found"), ("pnpm test", ""))


def test_the_same_command_after_the_same_failure_is_suggested_and_believed_of_nobody(
    memory: Memory, clock: FixedClock
) -> None:
    ran(memory, clock, HELPED, HELPED, (*HELPED, *HELPED))
    [suggestion] = memory.suggest()
    record = suggestion.record
    assert (record.kind, record.origin) == ("learned", "tool")
    assert record.text == "When `npm test` fails (command not found), run `pnpm test`."
    assert len(record.seen) == 3
    assert memory.review_reasons()[record.id] == "it helped 3 times after this failure"
    memory.decide("approve", [record.id])
    assert memory.get(record.id).record.origin == Origin.AGENT
    assert memory.suggest() == []


def test_another_failure_or_another_command_is_not_the_same(
    memory: Memory, clock: FixedClock
) -> None:
    other = (("npm test", "exit code 1"), ("pnpm test", ""))
    again = (("npm test", "command not found"), ("npm test", ""))
    ran(memory, clock, HELPED, HELPED, other, again)
    assert memory.suggest() == []


def test_commands_that_are_old_leave_the_log(memory: Memory, clock: FixedClock) -> None:
    ran(memory, clock, HELPED, HELPED)
    clock.sleep(100 * DAY)
    ran(memory, clock, HELPED)
    memory.suggest()
    assert len(CommandLog(memory.notes).all()) == 2


def test_a_dry_run_writes_nothing(memory: Memory, clock: FixedClock) -> None:
    say(memory, clock, *["No, use pnpm"] * 3)
    before = memory.library.end()
    assert len(memory.suggest(dry_run=True)) == 1
    assert memory.review() == []
    assert memory.library.end() == before


def test_the_schedule_looks_once_a_day_and_again_only_at_what_is_new(
    memory: Memory, clock: FixedClock
) -> None:
    say(memory, clock, *["No, use pnpm"] * 3)
    assert [job.name for job in memory.schedule().jobs] == ["learning"]
    [run] = memory.schedule().once("learning")
    assert run.what == "1 suggested: 'commonplace review' lists them"
    stand = memory.notes.read(learning.NAME)
    [run] = memory.schedule().once("learning")
    assert run.what == "nothing was found"
    say(memory, clock, *["Keine Emojis!"] * 3)
    [run] = memory.schedule().once("learning")
    assert run.what.startswith("1 suggested")
    assert memory.notes.read(learning.NAME) != stand


def test_the_same_history_gives_the_same_suggestions(tmp_path: Path) -> None:
    told = []
    for name in ("one", "two"):
        clock = clock_at("2026-11-10T12:00:00Z")
        with Memory.open(tmp_path / name, clock=clock, create=True) as memory:
            say(memory, clock, *SAID[0][0], *ASKED, *SAID[3][0])
            told.append([(each.record.text, each.times) for each in memory.suggest()])
    assert told[0] == told[1]
    assert len(told[0]) == 3


def test_two_that_look_at_once_suggest_once(place: Any, clock: FixedClock) -> None:
    with Memory.open(place, clock=clock, create=True) as memory:
        say(memory, clock, *["No, use pnpm"] * 3)

    def look(number: int) -> int:
        with Memory.open(place, clock=clock) as memory:
            ready.wait()
            return len(memory.suggest())

    ready = Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(look, range(4)))
    with Memory.open(place, clock=clock) as memory:
        assert len(memory.review()) == 1
    assert sorted(made) == [0, 0, 0, 1]
