"""A vault in files whose messages are in PostgreSQL: seed 001's own arrangement."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.doors.admin.doctor import examine
from commonplace.doors.admin.migrate import move
from commonplace.history.messages import History
from commonplace.history.sql_questions import IN_POSTGRES
from commonplace.memory import Memory
from commonplace.model.errors import BadInput, BadOption, NoServer
from commonplace.postgres import read_only_sql
from commonplace.storage.option_files import load
from commonplace.upkeep.heartbeat import Heartbeat
from tests.contracts.history import HistoryContract, told
from tests.support.postgres import fresh_url
from tests.support.trusting import trust_as_it_is

OPENED: list[Memory] = []


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def opened(path: Path, url: str = "") -> Memory:
    OPENED.append(Memory.open(path, "journal", "monday", history=url or fresh_url(), create=True))
    return OPENED[-1]


class TestBesideFiles(HistoryContract):
    last_hour = IN_POSTGRES

    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.factory = tmp_path_factory

    def fresh(self) -> History:
        return opened(self.factory.mktemp("vault")).messages


@pytest.mark.claim("journal.history-beside-files")
def test_memories_are_on_disk_and_messages_are_not(tmp_path: Path) -> None:
    url = fresh_url()
    memory = opened(tmp_path, url)
    memory.update("- Likes tea\n", document="user.md", mode="rewrite")
    memory.conversations.record("user", "Which tea is best?")
    assert (memory.root / "user.md").read_text() == "- Likes tea\n"
    assert not (memory.state / "history.db").exists()
    with Memory.open(url, create=True) as other:
        assert told(other.messages.last("", 5)) == ["Which tea is best?"]
        assert other.documents() == []


def test_the_environment_and_a_file_name_it_too(tmp_path: Path) -> None:
    url = fresh_url()
    (tmp_path / "commonplace.toml").write_text(f'history = "{url}"\n')
    trust_as_it_is(tmp_path)
    with Memory.open(tmp_path, session="monday") as memory:
        memory.conversations.record("user", "Hello")
    with Memory.open(
        tmp_path / "other", environ={"COMMONPLACE_HISTORY": url}, create=True
    ) as memory:
        assert told(memory.messages.last("", 5)) == ["Hello"]


def test_a_file_that_nobody_trusted_does_not_name_it(tmp_path: Path) -> None:
    (tmp_path / "commonplace.toml").write_text('history = "postgresql://h/db"\n')
    with Memory.open(tmp_path) as memory:
        assert memory.options.history == ""


@pytest.mark.parametrize("value", ["history.db", "mysql://me:pa55@h/db", "/tmp/pa55"])
def test_what_is_no_url_of_postgresql_is_refused_and_not_repeated(value: str) -> None:
    with pytest.raises(BadOption) as error:
        load(None, environ={}, arguments={"history": value})
    assert "pa55" not in str(error.value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("postgresql://me:pa55@h:1/db?profile=p", "postgresql://me@h:1/db?profile=p"),
        ("postgresql://me:p@a55@h/db", "postgresql://me@h/db"),
        ("postgresql://h/db?password=pa55", "postgresql://h/db"),
        ("postgresql://h/db?password=pa55&profile=p", "postgresql://h/db?profile=p"),
        ("postgresql://h/db", "postgresql://h/db"),
    ],
)
def test_no_list_of_options_shows_its_password(value: str, shown: str) -> None:
    options = load(None, environ={}, arguments={"history": value}).options
    [told] = [each["value"] for each in options.described() if each["name"] == "history"]
    assert told == shown


def test_the_vault_opens_and_is_searched_while_the_server_is_away(tmp_path: Path) -> None:
    memory = opened(tmp_path, "postgresql://me@127.0.0.1:1/db")
    memory.write_diary("The tide was high")
    assert [hit.record.text for hit in memory.search("tide")] == ["The tide was high"]
    assert "postgresql://me@127.0.0.1:1/db" in str(memory.status()["messages"])
    [bad] = [each for each in examine(memory) if each.what == "history"]
    assert not bad.good
    with pytest.raises(NoServer):
        memory.conversations.record("user", "Hello")


def test_a_url_without_a_database_is_named_when_it_is_used(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="it names no database"):
        opened(tmp_path, "postgresql://h").conversations.record("user", "Hello")


def test_a_heartbeat_waits_for_the_conversation_and_has_no_history(tmp_path: Path) -> None:
    memory, seen = opened(tmp_path), tmp_path / "seen"
    write = f"import sys; open({str(seen)!r}, 'w').write(sys.stdin.read())"
    beating = Heartbeat(memory, [sys.executable, "-c", write])
    memory.conversations.record("user", "The parrot is called Ahab")
    assert beating.tick().outcome == "skipped"
    memory.conversations.end()
    assert beating.tick().outcome == "done"
    assert "Ahab" not in seen.read_text()


def test_a_conversation_has_its_messages_and_status_counts_them(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.conversations.record("user", "The parrot is called Ahab")
    assert "Ahab" in memory.context("And its age?", agent="conversation").text
    assert memory.status()["messages"] == 1
    [good] = [each for each in examine(memory) if each.what == "history"]
    assert good.good
    assert good.says.startswith("1 messages")


def test_forgetting_reaches_the_server_and_says_what_it_keeps(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    record = memory.store("The safe is behind the parrot")
    memory.conversations.record("user", f"Forget {record.text}")
    receipt = memory.delete(record.id, history=True)
    assert memory.messages.count() == 0
    assert any("server" in each for each in receipt.out_of_reach)


def test_messages_go_along_when_the_vault_moves(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "commonplace.toml").write_text(f'history = "{fresh_url()}"\n')
    trust_as_it_is(tmp_path / "old")
    with Memory.open(tmp_path / "old", session="monday", create=True) as memory:
        memory.store("The parrot is called Ahab")
        memory.conversations.record("user", "And its age?")
    for target in (str(tmp_path / "new"), fresh_url()):
        copied = move(str(tmp_path / "old"), target, progress=lambda stage: lambda done, of: None)
        assert copied.messages == 1
        with Memory.open(target, create=True) as memory:
            assert told(memory.messages.last("", 5)) == ["And its age?"]


def test_the_doctor_names_the_messages_that_stayed_in_the_file(tmp_path: Path) -> None:
    with Memory.open(tmp_path, session="monday") as memory:
        memory.conversations.record("user", "Said before")
    memory = opened(tmp_path)
    [good, left] = [each for each in examine(memory) if each.what == "history"]
    assert (good.good, left.good) == (True, False)
    assert "1 messages are in" in left.says
    with Memory.open(tmp_path, history="") as before:
        memory.conversations.load(before.messages.dump())
    assert told(memory.messages.last("", 5)) == ["Said before"]


def test_psql_has_a_reader_of_the_messages(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    database = memory.parts.in_database()
    made = read_only_sql.make_reader(database, "analyst")
    assert read_only_sql.readers_of(database) == ["analyst"]
    assert read_only_sql.revoke_reader(database, "analyst") == made.role
