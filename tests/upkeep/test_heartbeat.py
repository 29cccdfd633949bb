"""The heartbeat: what the command gets, what becomes of it, and what it can do to us."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.doors.admin.doctor import examine
from commonplace.doors.cli.agents import CODES
from commonplace.doors.cli.main import main
from commonplace.memory import Memory
from commonplace.model.errors import BadValue
from commonplace.storage.notes import FileNotes
from commonplace.upkeep import heartbeat as module
from commonplace.upkeep.compaction.plan import CompactionReport
from commonplace.upkeep.heartbeat import LOG, Beat, Heartbeat, Log, Outcome, seconds_of, told
from tests.support import mcp_client
from tests.upkeep.test_compact import old_notes, opened, summaries

PYTHON = [sys.executable, "-c"]
ECHO = "import sys; text = sys.stdin.read(); open(sys.argv[1], 'w').write(text)"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "vault", session="program", create=True) as memory:
        yield memory


def program(code: str, *arguments: object) -> list[str]:
    return [*PYTHON, code, *map(str, arguments)]


def beating(memory: Memory, code: str, *arguments: object, **rest: Any) -> Heartbeat:
    return Heartbeat(memory, program(code, *arguments), **rest)


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 120
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(pid)


def test_the_command_gets_the_heartbeat_context_on_standard_input(
    memory: Memory, tmp_path: Path
) -> None:
    memory.update("I am a careful gardener.", document="SOUL.md", mode="rewrite")
    given = tmp_path / "given"
    beat = beating(memory, ECHO, given).tick()
    assert (beat.outcome, beat.code, beat.diary) == ("done", 0, "")
    text = given.read_text()
    assert "I am a careful gardener." in text
    assert "<diary>" in text
    assert f"commonplace --vault {memory.root} history sql" in text


@pytest.mark.claim("journal.heartbeat-reflects")
def test_the_prompt_asks_to_reflect_and_to_write_a_diary_entry(
    memory: Memory, tmp_path: Path
) -> None:
    given = tmp_path / "given"
    beating(memory, ECHO, given).tick()
    prompt = given.read_text().split("## Heartbeat")[1]
    assert "reflect on what has happened since the last heartbeat" in prompt
    assert "write a diary entry" in prompt


def test_a_prompt_of_ones_own_takes_the_place_of_ours(memory: Memory, tmp_path: Path) -> None:
    given = tmp_path / "given"
    beating(memory, ECHO, given, prompt="Water the plants.").tick()
    assert "Water the plants." in given.read_text()
    assert "nobody has written to you" not in given.read_text()


@pytest.mark.claim("claw.heartbeat-hygiene")
def test_the_template_can_ask_to_keep_the_index_level_after_a_trim(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "vault", dialect="claw", create=True) as memory:
        memory.store("Likes tea")
        (memory.root / "HEARTBEAT.md").write_text(
            "After a compaction or trim, see to it that the index is level: run the doctor.\n"
        )
        code = (
            "import subprocess, sys\n"
            "assert 'the index is level' in sys.stdin.read()\n"
            "done = subprocess.run([sys.executable, '-m', 'commonplace', 'doctor', '--json'],"
            " stdout=subprocess.PIPE, text=True)\n"
            "good = [each['good'] for each in json.loads(done.stdout) if each['what'] == 'index']\n"
            "print(f'<diary>The index is level: {good}</diary>')\n"
        )
        beat = beating(memory, "import json\n" + code).tick()
        [kept] = [memory.get(key).record for key in beat.diary.split()]
    assert (kept.kind, kept.text) == ("heartbeat", "The index is level: [True]")


@pytest.mark.parametrize("dialect", ["claw", "earl", "notebook"])
def test_a_long_entry_becomes_records_where_there_is_no_diary(tmp_path: Path, dialect: str) -> None:
    with Memory.open(tmp_path / "vault", dialect=dialect, create=True) as memory:
        beat = beating(memory, "print('<diary>' + 'word ' * 600 + '</diary>')").tick()
        kept = [memory.get(key).record for key in beat.diary.split()]
        assert [record.kind for record in kept] == ["heartbeat"] * 2
        assert sum(record.text.count("word") for record in kept) == 600


@pytest.mark.claim("claw.heartbeat-compaction")
def test_a_beat_compacts_when_compaction_is_enabled(tmp_path: Path) -> None:
    old_notes(tmp_path)
    with opened(tmp_path) as memory:
        assert beating(memory, "pass").tick().compacted == 0
        assert "LONGMEMORY.md" not in memory.documents()
    with opened(tmp_path, memory_compaction_enabled=True) as memory:
        assert beating(memory, "raise SystemExit(1)").tick().compacted == 0
        assert beating(memory, "pass").tick().compacted == 8
        assert summaries(memory) != []


def test_a_compaction_that_fails_is_told_and_does_not_undo_the_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = CompactionReport("failed", "The disk is full.")
    monkeypatch.setattr(Memory, "compact", lambda self, **_: failed)
    with opened(tmp_path, memory_compaction_enabled=True) as memory:
        beat = beating(memory, "pass").tick()
    assert (beat.outcome, beat.why) == ("done", "the compaction failed: The disk is full.")


@pytest.mark.claim("journal.diary-by-heartbeat")
def test_what_the_command_tags_becomes_a_diary_entry_by_an_agent(memory: Memory) -> None:
    memory.origin = "owner"
    code = "print('thinking\\n<diary>\\nA quiet day.\\n</diary>\\nbye <DIARY>Two birds.</DIARY>')"
    beat = beating(memory, code).tick()
    assert memory.diary() == [beat.diary]
    assert memory.read(beat.diary).text.strip() == "A quiet day.\n\nTwo birds."
    [entry] = memory.log(limit=1)
    assert (entry.origin, entry.session) == ("agent", f"heartbeat-{beat.at}")


@pytest.mark.parametrize("output", ["", "nothing to say", "<diary> \n </diary>", "<diary>open"])
def test_without_an_entry_nothing_is_written(memory: Memory, output: str) -> None:
    assert beating(memory, f"print({output!r})").tick().outcome == "done"
    assert memory.diary() == []


def test_a_command_that_quotes_its_prompt_makes_no_entry_of_it(memory: Memory) -> None:
    assert Heartbeat(memory, ["cat"]).tick().diary == ""
    assert memory.diary() == []
    code = "import sys; print(sys.stdin.read() + '<diary>A quiet day.</diary>')"
    entry = beating(memory, code).tick().diary
    assert memory.read(entry).text == "A quiet day.\n"


def test_all_of_the_output_is_the_entry_when_that_is_asked_for(memory: Memory) -> None:
    beat = beating(memory, "print('A quiet day.')", diary_from_output=True).tick()
    assert memory.read(beat.diary).text.strip() == "A quiet day."
    tagged = beating(memory, "print('hm <diary>Only this.</diary>')", diary_from_output=True).tick()
    assert memory.read(tagged.diary).text.strip() == "Only this."


@pytest.mark.claim("journal.heartbeat-updates-files")
def test_a_beat_can_rewrite_the_soul_and_the_user(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memories", dialect="journal", create=True) as memory:
        code = (
            "import json, subprocess, sys\n"
            "for file in ('soul', 'user'):\n"
            "    given = json.dumps({'file': file, 'content': f'The {file} after reflection'})\n"
            "    subprocess.run([sys.executable, '-m', 'commonplace', 'tool', 'rewrite_memory',"
            " given], check=True)\n"
        )
        assert beating(memory, code).tick().outcome == "done"
        assert memory.read("soul.md").text.strip() == "The soul after reflection"
        assert memory.read("user.md").text.strip() == "The user after reflection"


@pytest.mark.claim("journal.heartbeat-skips-busy")
def test_a_beat_is_left_out_while_a_conversation_is_running(memory: Memory, tmp_path: Path) -> None:
    given = tmp_path / "given"
    memory.conversations.note()
    beat = beating(memory, ECHO, given).tick()
    assert (beat.outcome, beat.why) == ("skipped", "a conversation is running")
    assert not given.exists()
    memory.conversations.end()
    with memory.for_session("other").conversations.held():
        assert beating(memory, ECHO, given).tick().outcome == "skipped"
    assert beating(memory, ECHO, given).tick().outcome == "done"


def test_what_the_command_records_does_not_keep_the_next_beat_away(memory: Memory) -> None:
    code = (
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'commonplace', 'history', 'append', '--role',"
        " 'assistant', 'Reflected.'], check=True)\n"
    )
    assert beating(memory, code).tick().outcome == "done"
    [said] = memory.messages.last("", 5)
    assert (said.agent, said.session.startswith("heartbeat-")) == ("heartbeat", True)
    assert beating(memory, "pass").tick().outcome == "done"


def test_a_command_that_fails_is_told_with_its_last_words(memory: Memory) -> None:
    key = "AKIAZ7QX4TNNPLW3RM5C"
    code = f"import sys; print('<diary>no</diary>'); sys.exit('no such key {key}\\x1b[31m')"
    beat = beating(memory, code).tick()
    assert (beat.outcome, beat.code, memory.diary()) == ("failed", 1, [])
    assert beat.why.startswith("it ended with code 1: no such key [redacted")
    assert "\x1b" not in beat.why
    assert key not in (memory.state / "heartbeat.jsonl").read_text()


def test_a_command_that_is_not_there_is_a_failed_beat(memory: Memory) -> None:
    beat = Heartbeat(memory, ["/no/such/agent"]).tick()
    assert (beat.outcome, beat.why) == ("failed", "/no/such/agent: No such file or directory")
    with pytest.raises(BadValue):
        Heartbeat(memory, [])


def test_a_command_that_kills_itself_is_a_failed_beat(memory: Memory) -> None:
    beat = beating(memory, "import os; os.kill(os.getpid(), 9)").tick()
    assert (beat.outcome, beat.code) == ("failed", -9)


HANGING = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.replace(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""


def test_a_command_that_hangs_is_ended_with_its_children(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE", 0.1)
    pids, seconds = tmp_path / "pids", 1
    while not pids.exists():
        # On a busy machine the command may be ended before it has said anything.
        seconds *= 2
        beat = beating(memory, HANGING, pids, timeout=float(seconds)).tick()
    assert (beat.outcome, beat.why) == ("timed out", f"it took over {seconds} s and was ended")
    assert all(gone(int(pid)) for pid in pids.read_text().split())


def test_what_a_command_leaves_behind_is_ended_and_not_waited_for(memory: Memory) -> None:
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(f'<diary>{child.pid}</diary>')\n"
    )
    beat = beating(memory, code).tick()
    assert beat.outcome == "done"
    assert gone(int(memory.read(beat.diary).text))


def test_enormous_output_neither_fills_the_memory_nor_stops_the_command(memory: Memory) -> None:
    code = (
        "import sys\n"
        "print('<diary>At first.</diary>')\n"
        "for stream in (sys.stdout, sys.stderr):\n"
        "    for _ in range(60): stream.write('x' * 1_000_000)\n"
        "print('<diary>Too late.</diary>')\n"
    )
    beat = beating(memory, code).tick()
    assert (beat.outcome, beat.output > 60_000_000) == ("done", True)
    assert memory.read(beat.diary).text.strip() == "At first."
    assert (memory.state / "heartbeat.jsonl").stat().st_size < 1000


def test_a_command_that_reads_nothing_is_not_waited_for(memory: Memory) -> None:
    memory.update("x " * 500_000, document="SOUL.md", mode="rewrite")
    assert beating(memory, "import os; os.close(0)").tick().outcome == "done"


def test_bytes_that_are_no_text_are_no_trouble(memory: Memory) -> None:
    code = "import sys; sys.stdout.buffer.write(b'<diary>caf\\xc3\\xa9 \\xff\\0</diary>')"
    assert memory.read(beating(memory, code).tick().diary).text.strip() == "café \ufffd"


def test_a_beat_does_not_overlap_another_even_of_a_killed_process(
    memory: Memory, tmp_path: Path
) -> None:
    pids, root = tmp_path / "pids", str(memory.root)
    words = ["--vault", root, "heartbeat", "--once", "--", *program(HANGING, pids)]
    other = subprocess.Popen([sys.executable, "-m", "commonplace", *words])
    while not pids.exists():
        time.sleep(0.02)
    command = [int(pid) for pid in pids.read_text().split()]
    assert beating(memory, "pass").tick().outcome == "overlapping"
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    assert beating(memory, "pass").tick().outcome == "overlapping"
    os.killpg(command[0], signal.SIGKILL)
    assert all(gone(pid) for pid in command)
    assert beating(memory, "pass").tick().outcome == "done"


def test_a_tainted_beat_writes_its_diary_as_untrusted(memory: Memory) -> None:
    code = (
        "import os\n"
        "from commonplace import Memory\n"
        "with Memory.open(os.environ['COMMONPLACE_VAULT'],"
        " session=os.environ['COMMONPLACE_SESSION']) as memory:\n"
        "    memory.taint()\n"
        "print('<diary>From the web.</diary>')\n"
    )
    assert beating(memory, code).tick().outcome == "done"
    [entry] = memory.log(limit=1)
    assert entry.origin not in ("agent", "owner")
    assert not memory.sessions.read("program").tainted


def test_it_beats_on_until_it_is_stopped_and_says_when_the_next_is_due(memory: Memory) -> None:
    beats: list[Beat] = []
    heart = beating(memory, "pass")

    def after(beat: Beat) -> None:
        beats.append(beat)
        if len(beats) == 3:
            heart.stop()

    heart.run(0.05, after=after)
    assert [beat.outcome for beat in beats] == ["done"] * 3
    assert all(beat.next > beat.at for beat in beats)


def test_a_failed_beat_does_not_end_the_heart(memory: Memory) -> None:
    beats: list[str] = []
    heart = beating(memory, "raise SystemExit(1)")

    def after(beat: Beat) -> None:
        beats.append(beat.outcome)
        if len(beats) == 2:
            heart.stop()

    heart.run(0.05, after=after)
    assert beats == ["failed", "failed"]


def test_after_a_start_the_first_beat_comes_when_it_is_due(memory: Memory) -> None:
    heart = beating(memory, "pass")
    assert heart._left(3600) == 0
    heart.tick()
    assert 3590 < heart._left(3600) <= 3600


@pytest.mark.long
def test_a_signal_ends_the_heart_and_its_command(memory: Memory, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    for number in (signal.SIGTERM, signal.SIGINT):
        pids.unlink(missing_ok=True)
        (memory.state / "heartbeat.jsonl").unlink(missing_ok=True)
        words = ["--vault", str(memory.root), "heartbeat", "--every", "1h", "--"]
        process = subprocess.Popen(
            [sys.executable, "-m", "commonplace", *words, *program(HANGING, pids)],
            stdout=subprocess.PIPE,
            text=True,
        )
        while not pids.exists():
            time.sleep(0.02)
        process.send_signal(number)
        out, _ = process.communicate(timeout=120)
        assert (process.returncode, "stopped" in out) == (0, True)
        assert all(gone(int(pid)) for pid in pids.read_text().split())


def test_a_signal_between_two_beats_ends_the_heart_at_once(memory: Memory) -> None:
    words = ["--vault", str(memory.root), "heartbeat", "--every", "1h", "--json", "--", "true"]
    process = subprocess.Popen(
        [sys.executable, "-m", "commonplace", *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert json.loads(process.stdout.readline())["outcome"] == "done"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == 0


def once(memory: Memory, *words: str, code: str = "pass") -> int:
    return main(["--vault", str(memory.root), "heartbeat", "--once", *words, "--", *program(code)])


def test_once_ends_with_a_code_that_tells_what_happened(
    memory: Memory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    monkeypatch.setattr(module, "GRACE", 0.1)
    assert once(memory) == 0
    assert once(memory, code="raise SystemExit(7)") == 1
    assert once(memory, "--timeout", "1s", code="import time; time.sleep(60)") == 124
    memory.conversations.note()
    assert once(memory) == 5
    shown = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[1] for line in shown] == ["done", "failed", "timed out", "skipped"]
    assert set(CODES) == {str(outcome) for outcome in Outcome}
    for number, handler in zip((signal.SIGTERM, signal.SIGINT), before):
        signal.signal(number, handler)


@pytest.mark.parametrize(
    "words",
    [
        ("--every", "soon", "--", "true"),
        ("--every", "0s", "--", "true"),
        ("--once", "--every", "1h", "--", "true"),
        ("--", "true"),
        ("--once",),
        ("--once", "--timeout", "-5", "--", "true"),
        ("--once", "--prompt", "/no/such/file", "--", "true"),
    ],
)
def test_what_makes_no_heartbeat_is_refused(memory: Memory, words: tuple[str, ...]) -> None:
    assert main(["--vault", str(memory.root), "heartbeat", *words]) == 2
    assert not (memory.state / "heartbeat.jsonl").exists()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30m", 1800), ("1h", 3600), ("90s", 90), ("1h30m", 5400), ("45", 45), (" 2h5s ", 7205)],
)
def test_times_are_written_as_people_write_them(text: str, seconds: float) -> None:
    assert seconds_of(text, argument="--every") == seconds


@pytest.mark.parametrize("text", ["", "m", "1.5h", "-1m", "1d", "h1", "30 m", "9" * 30])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match="--every"):
        seconds_of(text, argument="--every")


def test_the_log_keeps_the_last_beats_and_does_not_grow_without_end(tmp_path: Path) -> None:
    log = Log(FileNotes(tmp_path))
    assert log.read() == []
    for number in range(4000):
        log.append(Beat("2026-11-15T14:30:00.000Z", Outcome.DONE, code=number))
    assert (tmp_path / LOG).stat().st_size < 300_000
    assert [beat.code for beat in log.read()[-2:]] == [3998, 3999]
    with (tmp_path / LOG).open("a") as file:
        file.write('{"at": "2026-11-15T14:\n{}\n[]\n')
    assert log.read()[-1].code == 3999


def test_the_status_tells_of_the_last_beat_the_next_and_the_failures(memory: Memory) -> None:
    assert memory.status()["heartbeat"] == "never"
    beating(memory, "raise SystemExit(3)").tick()
    beating(memory, "pass").tick(next_at="2026-11-15T14:30:00.000Z")
    said = memory.status()["heartbeat"]
    assert said == told(memory.notes)
    assert said.endswith("Z done, next 2026-11-15T14:30:00Z, 1 of the last 2 failed")
    [fine] = [finding for finding in examine(memory) if finding.what == "heartbeat"]
    assert (fine.good, fine.says) == (True, said)
    beating(memory, "raise SystemExit(3)").tick()
    [bad] = [finding for finding in examine(memory) if finding.what == "heartbeat"]
    assert not bad.good


def test_an_agent_that_calls_a_tool_over_mcp_is_in_a_conversation(memory: Memory) -> None:
    mcp_client.asked(memory.root, "native", "search", {"query": "tea"})
    assert beating(memory, "pass").tick().outcome == "skipped"
