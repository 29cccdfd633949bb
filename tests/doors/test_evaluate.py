"""Measuring search: the files that questions come in, the measures, and the command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from commonplace.doors.admin.evaluate import (
    Answered,
    Case,
    CaseVault,
    Doubt,
    EvalQuestion,
    Remembering,
    Turn,
    cases_in,
    doubt,
    known_items,
    measured,
    run,
    summed,
)
from commonplace.doors.cli.main import main
from commonplace.memory import Memory
from commonplace.model.errors import BadModel, BadValue
from commonplace.model.records import WEAK

LINES = """{"id": "a", "text": "The kettle is blue.", "session": "s", "username": "Ann"}
{"id": "b", "text": "The lamp is green."}

{"question": "Which colour is the kettle?", "evidence": ["a"], "category": "colour"}
{"question": "Which colour is the moon?", "evidence": []}
"""


def written(directory: Path, content: Any) -> Path:
    path = directory / "questions"
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_a_line_is_a_record_or_a_question(tmp_path: Path) -> None:
    (case,) = cases_in(written(tmp_path, LINES))
    assert [turn.id for turn in case.turns] == ["a", "b"]
    assert case.questions == (EvalQuestion("Which colour is the kettle?", ("a",), "colour"),)
    assert case.unanswered == (EvalQuestion("Which colour is the moon?", ()),)


def test_a_record_is_stored_with_its_kind(tmp_path: Path) -> None:
    line = '{"id": "a", "text": "Likes tea.", "kind": "preference"}\n'
    (case,) = cases_in(written(tmp_path, line + '{"question": "tea?", "evidence": ["a"]}'))
    vault = CaseVault(case, tmp_path / "vault", remembering=Remembering())
    with vault.memory as memory:
        assert memory.search("tea")[0].record.kind == "preference"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "line 1 of .* is neither"),
        ('{"id": "a", "text": "t"}\nnonsense', "line 2 of .* is neither"),
        ('{"id": "a", "text": "t"}', "has no questions"),
    ],
)
def test_a_file_that_cannot_be_measured_says_why(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(BadValue, match=says):
        cases_in(written(tmp_path, text))
    with pytest.raises(BadValue, match="cannot be read"):
        cases_in(tmp_path / "absent")


def test_what_an_answer_is_worth() -> None:
    figures = measured(["x", "a", "y", "b"], ["a", "b"])
    assert (figures["R@1"], figures["R@5"]) == (0.0, 1.0)
    assert (figures["any@5"], figures["all@5"]) == (1.0, 1.0)
    assert figures["MRR"] == 0.5
    assert 0 < figures["NDCG@10"] < 1
    assert measured(["a", "b"], ["a", "b"])["NDCG@10"] == pytest.approx(1.0)
    assert set(measured([], ["a"]).values()) == {0.0}


def test_every_system_answers_every_question(tmp_path: Path) -> None:
    cases = cases_in(written(tmp_path, LINES))
    steps: list[tuple[int, int]] = []
    results = run(cases, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 2), (2, 2)]
    figures = summed(results)
    assert list(figures) == ["all", "colour"]
    assert figures["all"]["questions"] == 1
    for system in ("commonplace", "bm25", "grep"):
        assert figures["all"][system]["turns"]["R@1"] == 100.0


def test_the_encoder_that_the_environment_names_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = cases_in(written(tmp_path, LINES))
    monkeypatch.setenv("COMMONPLACE_ENCODER", "onnx")
    monkeypatch.setenv("COMMONPLACE_ENCODER_PATH", str(tmp_path / "absent"))
    with pytest.raises(BadModel, match="absent"):
        run(cases)


def test_limit_takes_the_first_questions() -> None:
    turns = (Turn("a", "The kettle is blue."),)
    asked = tuple(EvalQuestion(f"kettle {number}", ("a",)) for number in range(5))
    assert len(run([Case("one", turns, asked)], limit=2)) == 2 * 3


def test_evidence_that_a_context_has_is_counted(tmp_path: Path) -> None:
    cases = cases_in(written(tmp_path, LINES))
    assert "in context" not in summed(run(cases))["all"]
    assert summed(run(cases, tokens=2000))["all"]["in context"] == 100.0
    assert summed(run(cases, tokens=1))["all"]["in context"] == 0.0


def test_doubt_is_told_by_weak_first_scores() -> None:
    def given(score: float, evidence: tuple[str, ...], hit: float) -> Answered:
        figures = {"any@1": hit} if evidence else {}
        return Answered("commonplace", EvalQuestion("?", evidence), figures, {}, score)

    weak, sure = WEAK / 2, WEAK * 2
    right = [given(sure, ("a",), 1.0), given(weak, ("a",), 1.0), given(weak, ("a",), 0.0)]
    without = [given(0.0, (), 0.0), given(sure, (), 0.0)]
    assert doubt([*right, *without]) == Doubt(2, 50.0, 50.0, 0.583)
    assert doubt(right) is None


def test_known_items_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path, "native", environ={})
    for word in ("kettle", "lamp", "carpet", "window", "cellar"):
        memory.store(f"The {word} was painted green by uncle Heinrich")
    first, again = (known_items(memory, count=3, seed=7) for _ in range(2))
    assert first == again
    assert len(first.questions) == 3
    assert first != known_items(memory, count=3, seed=8)


def test_the_command_measures_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(written(tmp_path, LINES)), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["figures"]["all"]["questions"] == 1
    assert data["version"].startswith("commonplace 0.")
    assert main(["eval", str(written(tmp_path, LINES))]) == 0
    printed = capsys.readouterr().out
    assert "| colour" in printed
    assert "no answer: for" in printed
    assert all(len(line) <= 80 for line in printed.splitlines()[1:])
    assert "| any@1 | any@5 | R@5   | R@10  | context |" in printed


def test_the_command_asks_the_vault_about_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vault = ["--vault", str(tmp_path)]
    Memory.open(tmp_path, "native", environ={}).store("The kettle was painted blue in April")
    assert main([*vault, "eval", "--self"]) == 0
    assert "All 1 were among the first ten." in capsys.readouterr().out
    key = Memory.open(tmp_path, environ={}).search("kettle")[0].record.id
    assert main([*vault, "why-not", key, "kettle"]) == 0
    assert "It is found, as number 1." in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [["eval"], ["eval", "x", "--self"], ["eval", "x", "--limit", "-1"], ["eval", "--tokens", "-1"]],
)
def test_the_command_takes_one_thing_to_measure(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) != 0
    assert capsys.readouterr().err.startswith("commonplace: ")
