"""Pauses: while one holds nothing is recorded and nothing is told, and afterwards nothing of it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace import tools
from commonplace.doors.hooks import main
from commonplace.memory import Memory
from commonplace.model.errors import Paused
from commonplace.storage import error_log
from commonplace.storage.pauses import NOTE
from tests.data import clock_at
from tests.support.clocks import FixedClock
from tests.support.surroundings import bare_home

SESSION = "5e55-10"
NOW = "2026-02-12T12:00:00Z"
Hook = Callable[..., Any]


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare_home(monkeypatch, tmp_path / "home")
    monkeypatch.delenv("COMMONPLACE_PAUSED", raising=False)


@pytest.fixture
def clock() -> FixedClock:
    return clock_at(NOW)


@pytest.fixture
def memory(place: str, clock: FixedClock) -> Iterator[Memory]:
    with Memory.open(place, session=SESSION, clock=clock, create=True) as memory:
        with_owner = memory.for_session(SESSION, origin="owner")
        with_owner.store("The boat is called Albatros", kind="fact")
        yield memory


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    path = tmp_path / "vault"
    with Memory.open(path, origin="owner", create=True) as memory:
        memory.store("Prefers dark mode in all editors", kind="preference")
    return path


@pytest.fixture
def hook(
    vault: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Hook:
    """Runs a hook in this process; what it says, as text."""

    def run(event: str, client: str = "claude", **given: Any) -> str:
        data = json.dumps({"session_id": SESSION, **given}).encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsysbinary.readouterr()
        assert main.main(["--vault", str(vault), "hook", event, "--client", client]) == 0
        assert error_log.last(10) == []
        return capsysbinary.readouterr().out.decode()

    return run


def messages(vault: Path, session: str = SESSION) -> list[str]:
    with Memory.open(vault, create=True) as memory:
        return [each.content for each in memory.messages.last(session, 100)]


def command(vault: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A command as a program runs it: at no terminal, so an agent's."""
    return subprocess.run(
        [sys.executable, "-m", "commonplace", "--vault", str(vault), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **environ},
        timeout=300,
    )


# The vault.


def test_what_agents_write_while_memory_is_paused_is_refused(memory: Memory) -> None:
    memory.pause()
    with pytest.raises(Paused, match="commonplace resume"):
        memory.store("Sails on Sundays", kind="fact")
    with pytest.raises(Paused):
        memory.update("Sails on Sundays", document="USER.md", mode="append")
    with pytest.raises(Paused):
        memory.conversations.record("user", "hello")
    assert memory.messages.last(SESSION, 10) == []
    assert memory.count() == 1


def test_a_pause_tells_agents_nothing_and_the_person_everything(memory: Memory) -> None:
    memory.pause()
    assert memory.context("boat").text == ""
    assert memory.relevant("What is the boat called?").text == ""
    person = memory.for_session("", origin="owner")
    assert "Albatros" in person.context().text
    assert person.store("Sails on Sundays", kind="fact").id


@pytest.mark.parametrize("name", ["store", "search", "brief", "read"])
def test_the_tools_of_agents_say_that_memory_is_paused(memory: Memory, name: str) -> None:
    given = {"store": {"text": "Sails"}, "search": {"query": "boat"}}.get(name, {})
    memory.for_agents = True
    memory.pause()
    with pytest.raises(Paused, match="Memory is paused"):
        tools.call(memory, name, given, dialect="native")
    memory.resume()
    tools.call(memory, name, given, dialect="native")


def test_a_pause_ends_by_itself_at_its_time(memory: Memory, clock: FixedClock) -> None:
    memory.pause(seconds=7200)
    clock.sleep(3600 + 59 * 60)
    assert memory.paused()
    clock.sleep(120)
    assert memory.paused() is None
    memory.store("Sails on Sundays", kind="fact")


def test_a_pause_of_one_session_leaves_others_alone(memory: Memory) -> None:
    memory.pause(SESSION)
    with pytest.raises(Paused, match="for this session"):
        memory.store("Sails on Sundays", kind="fact")
    memory.for_session("another").store("Sails on Sundays", kind="fact")


def test_a_pause_lasts_over_restarts_until_it_is_ended(place: str) -> None:
    with Memory.open(place, session=SESSION, create=True) as memory:
        memory.pause(SESSION)
        memory.pause()
    with Memory.open(place, session=SESSION) as memory:
        assert memory.paused()
        assert len(memory.resume()) == 2
    with Memory.open(place, session=SESSION) as memory:
        assert memory.paused() is None


def test_while_the_note_of_pauses_cannot_be_read_memory_is_paused(memory: Memory) -> None:
    memory.pause()
    memory.notes.write(NOTE, b"[{")
    assert memory.paused()
    memory.resume()
    assert memory.paused() is None


def test_no_store_that_was_under_way_lands_after_a_pause_has_begun(place: str) -> None:
    """The store has been judged and waits for the lock, which the pause holds."""
    with Memory.open(place, session=SESSION, create=True) as memory, memory.apart() as other:
        caught: list[BaseException] = []

        def store() -> None:
            with Memory.open(place, session=SESSION) as third:
                try:
                    third.store("Sails on Sundays", kind="fact")
                except Paused as error:
                    caught.append(error)

        stores = threading.Thread(target=store)

        def begin() -> None:
            stores.start()
            stores.join(0.3)
            other.pause()

        other.library.locked(begin)
        stores.join()
        assert len(caught) == 1
        assert memory.count() == 0


def test_a_heartbeat_is_left_out(memory: Memory) -> None:
    from commonplace.upkeep.heartbeat import Heartbeat

    memory.pause()
    beat = Heartbeat(memory, [sys.executable, "-c", ""]).tick()
    assert (beat.outcome, beat.why) == ("skipped", "memory is paused")


# The hooks.


def turns(hook: Hook, words: str) -> list[str]:
    """A whole turn: what the hooks said."""
    return [
        hook("prompt-submit", prompt=words, prompt_id=words),
        hook("pre-tool", tool_name="Bash", tool_input={"command": f"echo {words}"}),
        hook("post-tool", tool_name="Bash", tool_input={"command": f"echo {words}"}),
        hook("stop", last_assistant_message=f"Re: {words}", prompt_id=words),
    ]


def test_a_paused_session_records_nothing_and_is_told_nothing(hook: Hook, vault: Path) -> None:
    with Memory.open(vault, origin="owner") as memory:
        memory.pause()
    assert hook("session-start", source="startup") == ""
    assert turns(hook, "Which mode in editors?") == [""] * 4
    assert hook("pre-compact", trigger="manual") == ""
    assert hook("post-compact", compact_summary="Nothing of this.") == ""
    assert hook("session-end", transcript_path="/tmp/none.jsonl") == ""
    assert messages(vault) == []
    with Memory.open(vault, origin="owner") as memory:
        assert memory.count() == 1
        assert list(memory.ledger.all()) == []
        # That it read something is kept, for safety, and not what.
        assert [what for what, _ in memory.sessions.read(SESSION).taints] == ["untrusted content"]
        assert memory.library.brackets.open() in ([], ())
    state = b"".join(
        path.read_bytes() for path in (vault / ".commonplace").rglob("*") if path.is_file()
    )
    assert b"Which mode" not in state


@pytest.mark.parametrize("first", ["incognito: ", "Off the record: ", "incognito"])
def test_a_first_word_pauses_its_session(hook: Hook, vault: Path, first: str) -> None:
    hook("session-start", source="startup")
    rest = "my boss is leaving" if first.endswith(" ") else ""
    said = hook("prompt-submit", prompt=first + rest, prompt_id="p1")
    assert "Memory is paused for this session" in said
    hook("stop", last_assistant_message="Oh.", prompt_id="p1")
    assert turns(hook, "and so am I") == [""] * 4
    assert messages(vault) == []
    with Memory.open(vault, session="another") as memory:
        assert memory.paused() is None


def test_a_first_word_lets_the_session_go_on(hook: Hook, vault: Path) -> None:
    hook("prompt-submit", prompt="incognito: a", prompt_id="p1")
    hook("stop", last_assistant_message="b", prompt_id="p1")
    said = hook("prompt-submit", prompt="on the record: which mode?", prompt_id="p2")
    assert "dark mode" in said
    hook("stop", last_assistant_message="Dark.", prompt_id="p2")
    assert messages(vault) == ["on the record: which mode?", "Dark."]


def test_the_reply_to_a_paused_prompt_is_not_recorded_though_the_pause_has_ended(
    hook: Hook, vault: Path
) -> None:
    hook("prompt-submit", prompt="incognito: a", prompt_id="p1")
    with Memory.open(vault, origin="owner") as memory:
        memory.resume()
    hook("stop", last_assistant_message="the secret plan", prompt_id="p1")
    assert messages(vault) == []


def said(role: str, text: str, turn: str, at: str) -> str:
    message = {"role": role, "content": text}
    return json.dumps({"type": role, "promptId": turn, "timestamp": at, "message": message})


def test_what_was_said_in_a_pause_is_not_caught_up_from_the_transcript(
    hook: Hook, vault: Path, tmp_path: Path
) -> None:
    with Memory.open(vault, clock=clock_at("2026-02-12T12:00:00Z"), origin="owner") as memory:
        memory.pause(SESSION)
    with Memory.open(vault, clock=clock_at("2026-02-12T13:00:00Z"), origin="owner") as memory:
        memory.resume()
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text(
        "\n".join(
            [
                said("user", "before", "p1", "2026-02-12T11:59:00Z"),
                said("user", "inside", "p2", "2026-02-12T12:30:00Z"),
                said("assistant", "begun inside, ended after", "p2", "2026-02-12T13:00:01Z"),
                said("user", "incognito: by its word", "p3", "2026-02-12T13:30:00Z"),
                said("assistant", "its answer", "p3", "2026-02-12T13:30:02Z"),
                said("user", "after", "p4", "2026-02-12T14:00:00Z"),
                said("user", "no time", "p5", ""),
            ]
        )
    )
    hook("session-end", transcript_path=str(transcript))
    hook("session-start", session_id="later", source="startup")
    assert messages(vault) == ["before", "after"]


def test_the_environment_pauses_a_client_and_its_transcript(
    hook: Hook, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_PAUSED", "1")
    assert hook("session-start", source="startup") == ""
    assert turns(hook, "Which mode?") == [""] * 4
    with Memory.open(vault, session=SESSION) as memory:
        assert memory.paused()
    monkeypatch.delenv("COMMONPLACE_PAUSED")
    hook("session-start", source="resume")
    with Memory.open(vault, session=SESSION) as memory:
        assert memory.paused() is None
        [kept] = memory.library.pauses.all()
        between = kept.since
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text(said("user", "Which mode?", "p1", between))
    hook("session-end", transcript_path=str(transcript))
    hook("session-start", session_id="later", source="startup")
    assert messages(vault) == []


# The commands.


def test_pause_and_resume_are_commands(vault: Path) -> None:
    begun = command(vault, "pause", "--for", "2h", "--reason", "a surprise")
    assert (begun.returncode, "(a surprise)" in begun.stdout) == (0, True)
    searched = command(vault, "search", "mode")
    assert (searched.returncode, searched.stdout) == (5, "")
    assert "Memory is paused" in searched.stderr
    assert "Memory is paused" in command(vault, "status").stdout
    assert "Memory is paused" in command(vault, "doctor").stdout
    assert command(vault, "resume").returncode == 0
    assert "dark mode" in command(vault, "search", "mode").stdout
    again = command(vault, "resume")
    assert (again.returncode, "not paused" in again.stderr) == (3, True)


def test_an_agent_may_not_end_a_pause(vault: Path) -> None:
    command(vault, "pause")
    done = command(vault, "resume", CLAUDECODE="1")
    assert (done.returncode, "Only the person" in done.stderr) == (5, True)
    with Memory.open(vault) as memory:
        assert memory.paused()


def test_a_pause_names_its_session(vault: Path) -> None:
    command(vault, "--session", "s-9", "pause")
    with Memory.open(vault) as memory:
        assert memory.paused() is None
        assert memory.for_session("s-9").paused()
    assert command(vault, "--session", "s-9", "resume").returncode == 0
