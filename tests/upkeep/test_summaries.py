"""Summarizers: what the extractive one chooses, and how others are kept within bounds."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from commonplace.memory import Memory
from commonplace.model.errors import BadOption, SummarizerFailed
from commonplace.model.options import Options
from commonplace.model.records import Record
from commonplace.storage.notes import FileNotes
from commonplace.upkeep.compaction.extractive import (
    Extractive,
    agreed,
    dropped,
    facts,
    headed,
    shortened,
)
from commonplace.upkeep.compaction.summarizers import (
    TOKENS,
    Chat,
    Command,
    DailyTokens,
    prompt,
    summarizer_of,
)
from tests.support.clocks import SkippingClock
from tests.upkeep.test_compact import old_notes


def record(text: str, **rest: Any) -> Record:
    return Record(**{"id": "mem-1", "kind": "note", "timestamp": "2026-01-02T03:04:05.000Z", **rest,
                     "text": text})  # fmt: skip


def summed(*texts: str, characters: int = 200) -> str:
    return Extractive().body([record(text) for text in texts], characters=characters)


def test_what_is_said_twice_is_said_once() -> None:
    said = summed(
        "The heating of the house was repaired in March.",
        "The heating of the house was repaired in March!",
        "the heating of the house was repaired in march",
        "The garden needs a new fence.",
    )
    assert said.lower().count("heating") == 1
    assert "fence" in said


def test_the_sentences_that_share_most_with_the_others_are_chosen_first() -> None:
    said = summed(
        "The boiler in the cellar leaks water.",
        "A plumber looked at the boiler in the cellar.",
        "The boiler in the cellar was replaced by the plumber.",
        "Lunch was soup.",
        characters=60,
    )
    assert "boiler" in said
    assert "soup" not in said


def test_what_the_texts_agree_on_is_kept_even_where_there_is_no_room() -> None:
    texts = [f"{word} of Anna Berg is due on 2026-03-04" for word in ("rent", "power", "water")]
    said = summed(*texts, characters=10)
    assert dropped(said, texts) == []
    assert "2026-03-04" in said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("We met Anna at 10:30 on 2026-01-05", {"Anna", "10:30", "2026-01-05"}),
        ("The total is 1,204.50 or 20%", {"1,204.50", "20%"}),
        ("asked about pgBouncer and the API", {"pgBouncer", "API"}),
        ("ask @anna.b about it", {"@anna.b"}),
        ("Nothing here", set()),
        ("version v2 of x1", set()),
    ],
)
def test_names_dates_and_numbers_are_facts(text: str, found: set[str]) -> None:
    assert facts(text) == found


def test_a_fact_is_agreed_on_when_more_than_half_name_it() -> None:
    assert agreed(["we saw Anna", "we met Anna", "we saw Bert"]) == ["Anna"]
    assert agreed(["we saw Anna", "we met Bert"]) == []


def test_a_number_within_a_number_does_not_count() -> None:
    assert dropped("It was in 2012.", ["paid 12", "got 12"]) == ["12"]
    assert dropped("It was 12.", ["paid 12", "got 12"]) == []


def test_a_summary_says_for_what_it_stands_and_keeps_to_its_limit() -> None:
    group = [record("a"), record("b", timestamp="2026-02-02T00:00:00.000Z")]
    assert headed(group, "a; b", limit=100) == "2026-01-02 to 2026-02-02, 2 note records: a; b"
    assert len(shortened("word " * 100, 50)) <= 50
    assert shortened("x" * 100, 50) == "x" * 48 + " …"


def test_the_extractive_one_takes_any_text() -> None:
    assert summed("") == ""
    assert summed("…", "!!!") == "…; !!!"
    assert summed("昨日は雨でした。", "今日は晴れです。") != ""


def program(tmp_path: Path, code: str) -> list[str]:
    path = tmp_path / "program.py"
    path.write_text(code, encoding="utf-8")
    return [sys.executable, str(path)]


def test_a_program_reads_the_records_and_prints_the_summary(tmp_path: Path) -> None:
    words = program(tmp_path, "import sys\nprint(sys.stdin.read().upper())")
    said = Command(words).body([record("the fence is new")], characters=100)
    assert "2026-01-02 THE FENCE IS NEW" in said


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    words = program(tmp_path, "import sys\nsys.exit('no model here')")
    with pytest.raises(SummarizerFailed, match="no model here"):
        Command(words).body([record("x")], characters=100)
    with pytest.raises(SummarizerFailed, match="does not start"):
        Command(["/no/such/program"]).body([record("x")], characters=100)


def test_a_program_that_takes_too_long_ends_with_all_it_started(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(3600)\n"
    )
    said, seconds = tmp_path / "pid", 1
    while not said.exists() or not said.read_text(encoding="ascii"):
        # On a busy machine the program may be ended before it has said anything.
        seconds *= 2
        with pytest.raises(SummarizerFailed, match="took over"):
            Command(program(tmp_path, code), seconds=seconds).body([record("x")], characters=100)
    child, deadline = int(said.read_text(encoding="ascii")), time.monotonic() + 120
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(child)


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_no_sensitive_record_is_handed_to_anyone() -> None:
    for level in ("sensitive", "secret"):
        with pytest.raises(SummarizerFailed, match="never handed out"):
            prompt([record("fine"), record("the pin", sensitivity=level)], characters=100)


class Endpoint(BaseHTTPRequestHandler):
    """An endpoint that says what the test wants."""

    answer: Any = None
    asked: ClassVar[list[Any]] = []
    redirect = ""

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        asked = json.loads(self.rfile.read(size))
        type(self).asked.append((self.path, self.headers["Authorization"], asked))
        if self.redirect:
            self.send_response(302)
            self.send_header("Location", self.redirect)
            self.end_headers()
            return
        data = self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    Endpoint.asked, Endpoint.redirect = [], ""
    server = HTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def said_with(text: str, tokens: int) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}}], "usage": {"total_tokens": tokens}}


def chat(url: str, state: Path, limit: int) -> Chat:
    tokens = DailyTokens(FileNotes(state), limit=limit, clock=SkippingClock())
    return Chat(url, model="small", key="k-1", tokens=tokens)


def test_an_endpoint_is_asked_and_its_tokens_are_counted(endpoint: str, tmp_path: Path) -> None:
    Endpoint.answer = said_with("The fence is new.", 77)
    one = chat(endpoint, tmp_path, 10_000)
    assert one.body([record("the fence is new")], characters=100) == "The fence is new."
    assert one.tokens.spent() == 77
    [(path, key, asked)] = Endpoint.asked
    assert (path, key, asked["model"]) == ("/v1/chat/completions", "Bearer k-1", "small")
    assert one.body([record("x")], characters=100)
    assert one.tokens.spent() == 154


def test_no_more_tokens_than_the_days_are_spent(endpoint: str, tmp_path: Path) -> None:
    Endpoint.answer = said_with("ok", 400)
    one = chat(endpoint, tmp_path, 600)
    one.body([record("x")], characters=100)
    for _ in range(3):
        with pytest.raises(SummarizerFailed, match="400 of today's 600 tokens"):
            one.body([record("x")], characters=100)
    assert len(Endpoint.asked) == 1
    one.tokens.clock.sleep(86_400)
    assert one.tokens.spent() == 0
    one.body([record("x")], characters=100)


def test_what_was_reserved_for_a_call_that_failed_stays_spent(tmp_path: Path) -> None:
    one = chat("http://127.0.0.1:9", tmp_path, 10_000)
    with pytest.raises(SummarizerFailed, match="no answer"):
        one.body([record("x")], characters=100)
    assert one.tokens.spent() > 0


def test_an_endpoint_without_a_budget_is_never_asked(endpoint: str, tmp_path: Path) -> None:
    with pytest.raises(SummarizerFailed, match="0 of today's 0"):
        chat(endpoint, tmp_path, Options().summarizer_daily_tokens).body(
            [record("x")], characters=100
        )
    assert Endpoint.asked == []


def test_the_key_is_not_sent_on_to_where_an_endpoint_points(endpoint: str, tmp_path: Path) -> None:
    Endpoint.redirect = f"{endpoint}/elsewhere"
    with pytest.raises(SummarizerFailed, match="no answer"):
        chat(endpoint, tmp_path, 10_000).body([record("x")], characters=100)
    assert len(Endpoint.asked) == 1


@pytest.mark.parametrize("answer", [{}, [], {"choices": []}, {"choices": [{"message": None}]}])
def test_an_answer_without_a_text_is_an_error(endpoint: str, tmp_path: Path, answer: Any) -> None:
    Endpoint.answer = answer
    with pytest.raises(SummarizerFailed, match="no text"):
        chat(endpoint, tmp_path, 10_000).body([record("x")], characters=100)


DEEP = b"[" * 100_000


def test_an_answer_that_is_nested_too_deeply_is_an_error(endpoint: str, tmp_path: Path) -> None:
    Endpoint.answer = DEEP
    with pytest.raises(SummarizerFailed, match="nested too deeply"):
        chat(endpoint, tmp_path, 10_000).body([record("x")], characters=100)


def test_a_count_of_tokens_that_is_nested_too_deeply_starts_anew(tmp_path: Path) -> None:
    (tmp_path / TOKENS).write_bytes(DEEP)
    assert chat("http://127.0.0.1:9", tmp_path, 10_000).tokens.spent() == 0


def options(**given: Any) -> Options:
    return Options().overlaid(given, source="test")


def test_the_options_name_the_summarizer(tmp_path: Path) -> None:
    def chosen(environ: dict[str, str] | None = None, **given: Any) -> Any:
        return summarizer_of(
            options(**given),
            notes=FileNotes(tmp_path),
            clock=SkippingClock(),
            environ=environ or {},
        )

    assert isinstance(chosen(), Extractive)
    assert chosen(summarizer="command", summarizer_command="claude -p 'sum up'").words == [
        "claude", "-p", "sum up",
    ]  # fmt: skip
    near: dict[str, Any] = {"summarizer": "openai", "summarizer_url": "http://localhost:11434/v1"}
    assert chosen({"OPENAI_API_KEY": "k"}, **near).key == "k"
    assert chosen(**near).key == ""
    for wrong in ("", "ftp://x/v1", "http://example.org/v1"):
        with pytest.raises(BadOption, match="summarizer_url"):
            chosen({"OPENAI_API_KEY": "k"}, summarizer="openai", summarizer_url=wrong)
    with pytest.raises(BadOption, match="summarizer_command"):
        chosen(summarizer="command")
    with pytest.raises(BadOption, match="not extractive, command or openai"):
        options(summarizer="magic")


def test_status_shows_what_of_the_days_tokens_is_spent(endpoint: str, tmp_path: Path) -> None:
    Endpoint.answer = said_with("Talked about the kitchen of the Miller house.", 321)
    old_notes(tmp_path, dialect="native")
    given: dict[str, Any] = {
        "summarizer": "openai",
        "summarizer_url": endpoint,
        "summarizer_daily_tokens": 5000,
    }
    with Memory.open(tmp_path, clock=SkippingClock(), environ={}, **given) as memory:
        report = memory.compact(forced=True)
        assert (report.summarizer, report.refused) == ("openai", ())
        shown = memory.status()["compaction"]
        assert "321 of 5,000 tokens today" in shown
        assert "Talked about the kitchen" in memory.read("LONGMEMORY.md").text
    assert os.listdir(tmp_path / ".commonplace").count("summarizer-tokens.json") == 1


@pytest.mark.parametrize("text", ["The 3rd of them", "Tea at 4pm", "Costs ¤4rà", "See v. 2. 5kg"])
def test_a_number_with_letters_behind_it_is_kept_whole(text: str) -> None:
    record = Record(id="mem-1", kind="note", text=text, timestamp="2026-01-01T00:00:00Z")
    assert dropped(Extractive().body([record], characters=600), [text]) == []
