"""The history in SQLite: the contract, what only a file can go through, and the memory's part."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.doors.admin.doctor import examine
from commonplace.history.messages import History
from commonplace.history.sql_questions import SqlLimits
from commonplace.history.sqlite import STEPS, SqliteHistory
from commonplace.memory import Memory
from commonplace.model.errors import BadValue, ReadOnly, Refused, SecretFound, VaultTrouble
from tests.contracts.history import RUNAWAY, HistoryContract, message, told
from tests.support.clocks import FixedClock

KEY = "AKIAZ7QX4TNNPLW3RM5C"


class TestInAFile(HistoryContract):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.directory = tmp_path_factory.mktemp("history")
        self.made = 0

    def fresh(self) -> History:
        self.made += 1
        return SqliteHistory(self.directory / f"{self.made}.db")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def test_messages_are_there_when_the_file_is_opened_again(path: Path) -> None:
    first = SqliteHistory(path)
    first.append([message(1)])
    first.close()
    assert SqliteHistory(path).last("monday", 9) == [message(1)]


def test_the_file_is_for_its_owner_alone(path: Path) -> None:
    SqliteHistory(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_commit_waits_for_the_disk(path: Path) -> None:
    history = SqliteHistory(path)
    assert history._connections.rows("PRAGMA synchronous") == [(2,)]
    assert history._connections.rows("PRAGMA journal_mode") == [("wal",)]


def test_a_file_of_a_newer_commonplace_is_refused_and_left_as_it_is(path: Path) -> None:
    history = SqliteHistory(path)
    history.append([message(1)])
    history.close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = path.read_bytes()
    with pytest.raises(VaultTrouble, match=r"99.*Update commonplace"):
        SqliteHistory(path)
    assert path.read_bytes() == before


def test_a_file_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE theirs(a)")
    db.close()
    with pytest.raises(VaultTrouble, match="another program"):
        SqliteHistory(path)
    db = sqlite3.connect(path)
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    db.close()


def test_a_damaged_file_is_reported_and_never_replaced(path: Path) -> None:
    path.write_bytes(b"This is no database, but somebody may still mend it. " * 100)
    before = path.read_bytes()
    with pytest.raises(VaultTrouble, match=r"damaged.*left as it is"):
        SqliteHistory(path)
    assert path.read_bytes() == before


def test_what_is_forgotten_leaves_no_byte_in_any_file(path: Path) -> None:
    history = SqliteHistory(path)
    history.append(message(number, f"Filler {number} " + "words " * 50) for number in range(300))
    history.append([message(900, "The zanzibarquince is mine"), message(901, "kept persimmon")])
    assert b"zanzibarquince" in bytes_of(path)
    assert history.forget(["msg-00900"]) == 1
    assert b"zanzibarquince" not in bytes_of(path)
    assert b"persimmon" in bytes_of(path)
    assert told(history.search("persimmon", limit=2)) == ["kept persimmon"]


@pytest.mark.parametrize("statement", RUNAWAY)
def test_a_question_without_end_is_stopped(
    path: Path, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.history.sql_questions.SQL_LIMITS", SqlLimits(seconds=0.05))
    with pytest.raises(Refused, match="stopped"):
        SqliteHistory(path).sql(statement, limit=5)


def test_threads_may_append_and_read_at_once(path: Path) -> None:
    history = SqliteHistory(path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: history.append([message(number)]), range(40)))
    assert history.count() == 40


WRITER = """
import sys
from commonplace.memory import Memory
with Memory.open(sys.argv[1], session=sys.argv[2]) as memory:
    while True:
        print(memory.conversations.record("user", "said once").id, flush=True)
"""


def test_no_acknowledged_message_is_lost_when_writers_are_killed(tmp_path: Path) -> None:
    Memory.open(tmp_path).close()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), f"writer {number}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    acknowledged = set()
    for writer in writers:
        assert writer.stdout
        acknowledged |= {writer.stdout.readline().strip() for _ in range(20)}
    for writer in writers:
        os.kill(writer.pid, signal.SIGKILL)
        assert writer.stdout
        # A line that a kill cut short was not acknowledged.
        acknowledged |= {line.strip() for line in writer.stdout if line.endswith("\n")}
        writer.wait()
        writer.stdout.close()
    with Memory.open(tmp_path) as memory:
        kept = {each.id for each in memory.messages.last("", 1_000_000)}
        assert len(acknowledged) >= 60
        assert acknowledged - kept == set()
        assert len(memory.messages.search("once", limit=1_000_000)) == len(kept)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.open(tmp_path, session="monday", clock=FixedClock(1_763_217_000_000_000_000))


@pytest.mark.claim("journal.history-both-roles", "journal.history-written-by-application")
def test_the_application_records_what_both_sides_said(memory: Memory) -> None:
    asked_ = memory.conversations.record("user", "Which tea?", channel="#home")
    answered = memory.conversations.record("assistant", "Green.", agent="main")
    assert memory.messages.last("monday", 5) == [asked_, answered]
    assert asked_.id.startswith("msg-")
    assert (asked_.session, asked_.channel, asked_.time) == (
        "monday",
        "#home",
        "2025-11-15T14:30:00.000Z",
    )


@pytest.mark.claim("journal.history-apart-from-memory", "journal.no-automated-trigger")
def test_recording_messages_writes_no_memory(memory: Memory) -> None:
    before = {name: memory.read(name).text for name in memory.documents()}
    memory.conversations.record("user", "I always want tabs, remember that!")
    assert {name: memory.read(name).text for name in memory.documents()} == before
    assert (memory.count(), memory.search("tabs"), memory.log()) == (0, [], [])
    assert memory.messages.count() == 1


def test_a_message_recorded_twice_under_one_id_is_kept_once(memory: Memory) -> None:
    first = memory.conversations.record("user", "Hello", message_id="turn-1")
    assert memory.conversations.record("user", "Hello again", message_id="turn-1") == first
    assert memory.messages.count() == 1


def test_a_secret_does_not_reach_the_file(memory: Memory) -> None:
    kept = memory.conversations.record("user", f"The key is {KEY}, use it")
    assert KEY not in kept.content
    assert "[redacted" in kept.content
    assert KEY.encode() not in bytes_of(memory.state / "history.db")
    memory.conversations.load([line.replace(kept.id, "msg-2") for line in memory.messages.dump()])
    line = next(iter(memory.messages.dump())).replace(kept.id, "msg-3")
    memory.conversations.load([line.replace(kept.content, f"again {KEY}")])
    assert KEY.encode() not in bytes_of(memory.state / "history.db")


def test_a_vault_that_refuses_secrets_refuses_the_message(tmp_path: Path) -> None:
    with Memory.open(tmp_path, secrets="refuse") as memory:
        with pytest.raises(SecretFound):
            memory.conversations.record("user", f"The key is {KEY}")
        assert memory.messages.count() == 0


@pytest.mark.parametrize(
    ("role", "content", "rest"),
    [
        ("", "x", {}),
        ("Robot One", "x", {}),
        ("user", " ", {}),
        ("user", "\ud800", {}),
        ("user", "x", {"channel": "a\nb"}),
        ("user", "x", {"session": "a" * 300}),
    ],
)
def test_a_message_that_cannot_be_kept_is_refused_in_words(
    memory: Memory, role: str, content: str, rest: dict[str, str]
) -> None:
    with pytest.raises(BadValue):
        memory.conversations.record(role, content, **rest)
    assert memory.messages.count() == 0


@pytest.mark.claim("journal.recover-from-history")
def test_what_a_rewrite_displaced_is_found_in_the_history(memory: Memory) -> None:
    memory.conversations.record("user", "My dentist is called Quimby")
    memory.update("- The dentist is called Quimby\n", document="USER.md", mode="rewrite")
    memory.update("- Something else\n", document="USER.md", mode="rewrite", etag="")
    assert told(memory.messages.search("dentist", limit=1)) == ["My dentist is called Quimby"]


def test_a_vault_that_cannot_be_written_keeps_no_message_it_would_lose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Memory.open(tmp_path).close()
    monkeypatch.setattr("os.access", lambda *_: False)
    with Memory.open(tmp_path) as memory:
        for write in (
            lambda: memory.conversations.record("user", "Hello"),
            lambda: memory.conversations.load([]),
            lambda: memory.conversations.forget(["msg-1"]),
        ):
            pytest.raises(ReadOnly, write)


def test_a_memory_of_another_session_shares_what_is_open(memory: Memory) -> None:
    other = memory.for_session("tuesday")
    kept = other.conversations.record("user", "Hello")
    assert (kept.session, memory.session) == ("tuesday", "monday")
    assert memory.messages is other.messages


def test_the_doctor_looks_at_the_history(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        assert "history" not in {finding.what for finding in examine(memory)}
        memory.conversations.record("user", "Hello")
        [good] = [finding for finding in examine(memory) if finding.what == "history"]
        assert (good.good, good.says.startswith("1 messages")) == (True, True)
    (tmp_path / ".commonplace" / "history.db").write_bytes(b"no database at all " * 100)
    with Memory.open(tmp_path) as memory:
        [bad] = [finding for finding in examine(memory) if finding.what == "history"]
        assert (bad.good, "damaged" in bad.says) == (False, True)


@pytest.mark.claim("journal.history-last-hour")
def test_a_history_of_before_has_times_that_compare(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        for statement in STEPS[0]:
            db.execute(statement)
        db.execute("PRAGMA user_version = 1")
    with closing(SqliteHistory(path)) as history:
        history.append([message(1)])
        assert history.sql("SELECT time FROM messages", limit=1).rows == (
            ("2026-11-15 14:00:01.000",),
        )
        assert history.sessions()[0].last == "2026-11-15T14:00:01.000Z"
