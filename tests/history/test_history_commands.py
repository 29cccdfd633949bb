"""`commonplace history`: its words, its answers, and what it refuses."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from commonplace.doors import caller
from commonplace.doors.cli.history import WORDS
from commonplace.doors.cli.main import HISTORY_WORDS, main, spelled_out
from commonplace.memory import Memory
from commonplace.model.errors import BadValue


class Ran(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("COMMONPLACE_SESSION", "CLAUDE_CODE_SESSION_ID", "COMMONPLACE_DIALECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COMMONPLACE_VAULT", str(tmp_path / "vault"))
    monkeypatch.setenv("NO_COLOR", "1")
    Memory.open(tmp_path / "vault", create=True).close()
    return tmp_path / "vault"


@pytest.fixture
def run(vault: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(*words: str, stdin: str = "") -> Ran:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capsys.readouterr()
        return Ran(main(words), *capsys.readouterr())

    return run


@pytest.fixture
def talk(run: Run) -> Run:
    """A vault in which two sessions have talked."""
    for session, role, text in [
        ("monday", "user", "Which tea is best?"),
        ("monday", "assistant", "Green tea."),
        ("tuesday", "user", "And which\ncake?"),
    ]:
        assert run("history", "append", "--session", session, "--role", role, text).code == 0
    return run


def test_the_words_are_listed_where_they_are_looked_for() -> None:
    assert list(HISTORY_WORDS) == list(WORDS)


@pytest.mark.parametrize(
    ("words", "spelled"),
    [
        ("history mem-1", "history record mem-1"),
        ("history --json mem-1", "history --json record mem-1"),
        ("--vault last history mem-1", "--vault last history record mem-1"),
        ("history --session sql mem-1", "history --session sql record mem-1"),
        ("history last", "history last"),
        ("history --help", "history --help"),
        ("history", "history"),
        ("search history mem-1", "search history mem-1"),
    ],
)
def test_a_word_that_is_none_of_them_is_a_record(words: str, spelled: str) -> None:
    assert spelled_out(words.split()) == spelled.split()


def test_the_history_of_a_record_is_still_there(run: Run) -> None:
    stored = run("--json", "store", "Likes tea").data["id"]
    [change] = run("history", stored, "--json").data
    assert (change["op"], change["ids"]) == ("add", [stored])
    assert run("history", "record", stored, "--json").data == [change]


def test_what_was_appended_is_listed_oldest_first(talk: Run) -> None:
    assert [each["content"] for each in talk("history", "last", "--json").data] == [
        "Which tea is best?",
        "Green tea.",
        "And which\ncake?",
    ]
    shown = talk("history", "last", "1", "--session", "monday").out
    assert "assistant  Green tea.  [msg-" in shown
    assert shown.count("\n") == 1
    assert talk("history", "last", "--agent", "nobody").out == "Nothing found.\n"


def test_a_message_may_come_from_standard_input_with_an_id_of_its_own(run: Run) -> None:
    words = ("history", "append", "--role", "user", "--id", "turn-1", "-")
    assert run(*words, stdin="Line one\nline two\n").out == "turn-1\n"
    assert run(*words, stdin="Something else").code == 0
    [kept] = run("history", "last", "--json").data
    assert (kept["id"], kept["content"]) == ("turn-1", "Line one\nline two")


def test_messages_are_searched_in_one_session_or_in_all(talk: Run) -> None:
    assert len(talk("history", "search", "tea cake", "--json").data) == 3
    [found] = talk("history", "search", "tea cake", "--session", "tuesday", "--json").data
    assert found["session"] == "tuesday"


@pytest.mark.parametrize("words", [("search", "tea cake"), ("last",)])
def test_a_look_at_one_session_says_so_and_how_to_look_at_all(
    talk: Run, monkeypatch: pytest.MonkeyPatch, vault: Path, words: tuple[str, ...]
) -> None:
    assert talk("history", *words).err == ""
    told = f"Of session monday alone: 'history {words[0]} … --all' looks at all."

    def below_a_client() -> None:
        monkeypatch.setattr("commonplace.doors.processes.keys_above", lambda: iter(["client"]))
        with Memory.open(vault) as memory:
            caller.note_session(memory.notes, "client", "monday")

    def in_its_environment() -> None:
        monkeypatch.setattr("commonplace.doors.processes.keys_above", lambda: iter([]))
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "monday")

    for named in (below_a_client, in_its_environment):
        named()
        alone, every = talk("history", *words, "--json"), talk("history", *words, "--all", "--json")
        assert {each["session"] for each in alone.data} == {"monday"}
        assert told in alone.err
        assert {each["session"] for each in every.data} == {"monday", "tuesday"}
        assert every.err == ""


def test_search_looks_through_memory_history_or_both(talk: Run) -> None:
    talk("store", "Likes tea")
    kinds = {
        place: [hit["kind"] for hit in talk("search", "tea", "--in", place, "--json").data["hits"]]
        for place in ("memory", "history", "all")
    }
    assert kinds["memory"] == ["note"]
    assert kinds["history"] == ["message", "message"]
    assert sorted(kinds["all"]) == ["message", "message", "note"]
    assert len(talk("search", "--in", "all", "--json").data["hits"]) == 4
    shown = talk("search", "green", "--in", "history").out
    assert " assistant in monday: Green tea. [msg-" in shown
    assert talk("search", "tea", "--in", "nowhere").code == 2


def test_a_search_says_what_it_rests_on(talk: Run) -> None:
    talk("store", "Likes tea")
    found = talk("search", "tea", "--json").data
    assert (found["mode"], found["degraded"]) == ("hybrid", "")
    assert sum(talk("status", "--json").data["vectors"].values()) == 1


def test_sessions_are_listed_with_how_much_was_said(talk: Run) -> None:
    listed = talk("history", "sessions", "--json").data
    assert [(each["session"], each["messages"]) for each in listed] == [
        ("tuesday", 1),
        ("monday", 2),
    ]
    assert talk("history", "sessions").out.split()[-1] == "monday"


@pytest.mark.claim("journal.history-by-sql", "journal.heartbeat-queries-history")
def test_an_agent_asks_for_recent_messages_with_sql_from_a_shell(talk: Run, vault: Path) -> None:
    statement = "SELECT role, content FROM messages WHERE session = 'monday' ORDER BY time"
    done = subprocess.run(
        ["bash", "-c", f'{sys.executable} -m commonplace history sql "{statement}"'],
        env=os.environ | {"COMMONPLACE_VAULT": str(vault), "COMMONPLACE_AGENT": "heartbeat"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "role | content\nuser | Which tea is best?\nassistant | Green tea.\n"


def test_sql_answers_as_json_and_says_what_it_left_out(talk: Run) -> None:
    found = talk("history", "sql", "-", "--json", stdin="SELECT count(*) AS n FROM messages").data
    assert found == {"columns": ["n"], "rows": [[3]], "more": False, "cut": 0}
    shown = talk("history", "sql", "SELECT content FROM messages ORDER BY time", "--limit", "1").out
    assert "there is more" in shown
    assert talk("history", "sql", "SELECT content FROM messages WHERE role = 'user'").out == (
        "content\nWhich tea is best?\nAnd which cake?\n"
    )


@pytest.mark.parametrize(
    "statement", ["DELETE FROM messages", "PRAGMA user_version = 3", "SELECT * FROM nowhere", ""]
)
def test_sql_that_is_no_question_is_refused_with_what_can_be_asked(
    talk: Run, statement: str
) -> None:
    done = talk("history", "sql", statement)
    assert (done.code, done.out) == (2, "")
    assert "messages(id, session, agent, channel, role, content, time)" in done.err
    assert len(talk("history", "last", "--json").data) == 3


ONE_LONG_CALL = "SELECT instr(printf('%.*c', 20000000, 'a'), printf('%.*c', 9000000, 'a') || 'b')"


def test_sql_that_nothing_within_it_can_stop_ends_all_the_same(
    talk: Run, vault: Path, tmp_path: Path
) -> None:
    program = (
        "import sys\n"
        "from commonplace.history import sql_questions\n"
        "sql_questions.SQL_LIMITS = sql_questions.SqlLimits(seconds=0.25)\n"
        "from commonplace.doors.cli.main import main\n"
        f"sys.exit(main(['history', 'sql', {ONE_LONG_CALL!r}]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 5
    assert "took over 0.5 s and was stopped" in done.stderr


def test_a_dump_is_loaded_into_another_vault_and_only_once(talk: Run, tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    assert talk("history", "dump", str(file)).out == "3 messages.\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert talk("history", "dump").out == file.read_text(encoding="utf-8")
    other = str(tmp_path / "other")
    Memory.open(other, create=True).close()
    assert talk("--vault", other, "history", "load", str(file)).out == "3 new messages.\n"
    assert talk("--vault", other, "history", "load", "-", stdin=file.read_text()).out == (
        "0 new messages.\n"
    )
    assert talk("--vault", other, "history", "dump").out == file.read_text(encoding="utf-8")


def test_a_dump_with_bad_lines_is_refused_whole_with_their_numbers(
    talk: Run, tmp_path: Path
) -> None:
    file = tmp_path / "said.jsonl"
    good = talk("history", "dump").out.replace("msg-", "msg-x")
    file.write_bytes(good.encode() + b"{\n" + good.encode()[:-3] + b"\xff\n")
    done = talk("history", "load", str(file))
    assert done.code == 2
    assert "line 4: " in done.err
    assert "line 7: " in done.err
    assert len(talk("history", "last", "--json").data) == 3


def test_a_file_that_cannot_be_opened_is_named(talk: Run, tmp_path: Path) -> None:
    for word in ("load", "dump"):
        done = talk("history", word, str(tmp_path / "no" / "file"))
        assert (done.code, "no/file: No such file" in done.err) == (2, True)


def test_forgetting_shows_what_it_would_erase_until_it_is_confirmed(talk: Run) -> None:
    shown = talk("history", "forget", "--query", "green tea")
    assert (shown.code, "Green tea." in shown.out) == (4, True)
    assert "Repeat with --confirm" in shown.err
    assert len(talk("history", "last", "--json").data) == 3
    assert talk("history", "forget", "--query", "green tea", "--confirm").out == (
        "Erased 1 messages.\n"
    )
    assert talk("history", "forget", "--of", "tuesday", "--confirm", "--json").data == {"erased": 1}
    [left] = talk("history", "last", "--json").data
    assert talk("history", "forget", left["id"], "msg-none", "--confirm").code == 0
    assert talk("history", "last").out == "Nothing found.\n"


@pytest.mark.parametrize("words", [(), ("msg-1", "--of", "monday"), ("--query", " ")])
def test_forgetting_needs_one_thing_to_go_by(talk: Run, words: tuple[str, ...]) -> None:
    assert talk("history", "forget", "--confirm", *words).code == 2
    assert len(talk("history", "last", "--json").data) == 3


def test_only_the_messages_without_a_session_are_forgotten_with_an_empty_name(vault: Path) -> None:
    with Memory.open(vault, create=True) as memory:
        memory.conversations.record("user", "Of no session")
        memory.conversations.record("user", "Of monday", session="monday")
        assert [each.content for each in memory.conversations.to_forget(session="")] == [
            "Of no session"
        ]
        with pytest.raises(BadValue):
            memory.conversations.to_forget()


def test_control_characters_of_a_message_do_not_reach_the_terminal(run: Run) -> None:
    run("history", "append", "--role", "user", "-", stdin="Red \x1b[31m alarm \u202e")
    for words in (("last",), ("search", "alarm"), ("sql", "SELECT content FROM messages")):
        out = run("history", *words).out
        assert "alarm" in out
        assert "\x1b" not in out
        assert "\u202e" not in out


def test_reading_what_a_tainted_session_said_taints(vault: Path) -> None:
    with Memory.open(vault, session="web", create=True) as memory:
        memory.conversations.record("assistant", "The page said: obey")
        memory.taint()
    with Memory.open(vault, session="clean", create=True) as memory:
        memory.conversations.record("user", "Tea?")
        memory.conversations.last()
        assert not memory.sessions.read("clean").tainted
        memory.conversations.search("obey", session="")
        assert memory.sessions.read("clean").tainted
    with Memory.open(vault, session="asking", create=True) as memory:
        memory.conversations.ask("SELECT 1")
        assert memory.sessions.read("asking").tainted
    with Memory.open(vault, session="tooling", create=True) as memory:
        memory.conversations.record("tool", "<html>")
        memory.conversations.last()
        assert memory.sessions.read("tooling").tainted
