"""Notes in files and in PostgreSQL: the contract, and what becomes of those whose holder died."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.model.clock import Clock
from commonplace.model.errors import Busy
from commonplace.postgres import notes as postgres_notes
from commonplace.postgres.connection import Database
from commonplace.postgres.notes import PostgresLeases, PostgresNotes
from commonplace.postgres.urls import parse_url
from commonplace.storage.leases import Lease
from commonplace.storage.notes import FileNotes, Notes
from tests.contracts.notes import NotesContract
from tests.support.clocks import FixedClock
from tests.support.faults import in_child
from tests.support.postgres import fresh_url

NOON = 1_763_208_000_000_000_000
OPENED: list[Database] = []
END = "update lease set until = now() - interval '1 second' where profile = %s"
UNTIL = "select until from lease where profile = %s"


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def database(url: str = "") -> Database:
    OPENED.append(Database.open(parse_url(url or fresh_url()), clock=Clock(), seconds=20))
    return OPENED[-1]


class TestInFiles(NotesContract):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> None:
        self.directory = tmp_path

    def fresh(self) -> Notes:
        return FileNotes(self.directory)

    def again(self, notes: Notes) -> Notes:
        return FileNotes(self.directory)


class TestInPostgres(NotesContract):
    def fresh(self) -> Notes:
        self.database = database()
        return PostgresNotes(self.database)

    def again(self, notes: Notes) -> Notes:
        return PostgresNotes(database(self.database.place.url()))


def test_notes_are_for_their_owner_alone(tmp_path: Path) -> None:
    notes = FileNotes(tmp_path)
    notes.write("sessions/a.json", b"x")
    notes.add("log.jsonl", "x")
    assert (tmp_path / "sessions").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "sessions" / "a.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "log.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_name_held_in_postgres_is_free_when_its_dead_holder_has_been_silent() -> None:
    url = fresh_url()

    def die_holding() -> None:
        with PostgresNotes(database(url)).alone("upkeep.lock"):
            os._exit(9)

    assert in_child(die_holding) == 9
    found = database(url)
    notes = PostgresNotes(found)

    def take() -> None:
        with notes.alone("upkeep.lock"):
            pass

    with pytest.raises(Busy):
        take()
    found.rows(END, (found.profile,))
    take()


def test_who_was_silent_too_long_does_not_take_it_from_the_next() -> None:
    found = database()
    notes, other = PostgresNotes(found), PostgresNotes(found)
    with notes.alone("upkeep.lock"):
        found.rows(END, (found.profile,))
        next_one = other.alone("upkeep.lock")
        next_one.__enter__()
    with pytest.raises(Busy), notes.alone("upkeep.lock"):
        pass
    next_one.__exit__(None, None, None)


def test_a_holder_that_is_at_work_says_so_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_notes, "HELD_SECONDS", 0.3)
    found = database()
    said = threading.Event()
    rows = found.rows

    def heard(statement: str, *rest: object) -> object:
        if statement == postgres_notes.KEEP:
            said.set()
        return rows(statement, *rest)  # type: ignore[arg-type]

    found.rows = heard  # type: ignore[method-assign,assignment]
    with PostgresNotes(found).alone("upkeep.lock"):
        [(first,)] = rows(UNTIL, (found.profile,))
        assert said.wait(10)
        said.clear()
        assert said.wait(10)
        [(last,)] = rows(UNTIL, (found.profile,))
    assert last > first
    assert rows(UNTIL, (found.profile,)) == []


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


@pytest.fixture
def leases(clock: FixedClock) -> PostgresLeases:
    return PostgresLeases(database(), clock=clock)


def test_a_noted_conversation_runs_until_its_time_is_over(
    leases: PostgresLeases, clock: FixedClock
) -> None:
    assert leases.running() == []
    leases.note("monday", seconds=60)
    assert leases.running() == [Lease("monday", "2025-11-15T12:01:00.000Z")]
    clock.sleep(59)
    leases.note("monday", seconds=60)
    clock.sleep(59)
    assert [lease.session for lease in leases.running()] == ["monday"]
    clock.sleep(2)
    assert leases.running() == []


def test_sessions_are_told_apart_and_ended_one_by_one(leases: PostgresLeases) -> None:
    leases.note("monday", seconds=60)
    leases.note("../tuesday\n", seconds=60)
    leases.end("monday")
    leases.end("never begun")
    assert [lease.session for lease in leases.running()] == ["../tuesday\n"]


def test_a_held_conversation_ends_with_its_block_or_after_its_time(
    leases: PostgresLeases, clock: FixedClock
) -> None:
    with leases.held("monday", seconds=60), leases.held("monday", seconds=3600):
        assert [lease.session for lease in leases.running()] == ["monday", "monday"]
        clock.sleep(61)
        # Nobody renewed them on this clock: a holder that died is gone after a minute.
        assert leases.running() == []
    with leases.held("monday", seconds=60):
        assert leases.running()
    assert leases.running() == []


def test_old_leases_are_cleared_away(leases: PostgresLeases, clock: FixedClock) -> None:
    leases.note("monday", seconds=60)
    clock.sleep(90_000)
    leases.note("tuesday", seconds=60)
    stored = OPENED[-1]
    count = "select count(*) from lease where profile = %s"
    assert stored.rows(count, (stored.profile,)) == [(1,)]
