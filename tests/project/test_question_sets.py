"""Published sets of questions, as bench/question_sets.py reads them."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from commonplace.doors.admin import evaluate
from commonplace.doors.admin.evaluate import Case, EvalQuestion, Turn

LOCOMO = [
    {
        "sample_id": "one",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I bought a kayak."},
                {"speaker": "Bob", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a red door"},
            ],
        },
        "qa": [
            {"question": "What did Ann buy?", "evidence": ["D1:1; D1:2"], "category": 4},
            {"question": "What is not there?", "evidence": [], "category": 5},
        ],
    }
]
SESSION = [
    {"role": "user", "content": "My cat is called Tom.", "has_answer": True},
    {"role": "assistant", "content": "A fine name."},
]
ASKED = {
    "question_id": "q1",
    "question_type": "single",
    "question": "What is my cat called?",
    "question_date": "2023/05/30 (Tue) 10:00",
}
HAYSTACKS = {
    "sessions": {"s1": {"date": "2023/05/23 (Tue) 19:23", "turns": SESSION}},
    "questions": [
        ASKED
        | {
            "haystack": [{"session": "s1", "date": "2023/05/23 (Tue) 19:23"}],
            "evidence_sessions": ["s1"],
        }
    ],
}
PUBLISHED = [
    ASKED
    | {
        "haystack_session_ids": ["s1"],
        "haystack_dates": ["2023/05/23 (Tue) 19:23"],
        "haystack_sessions": [SESSION],
        "answer_session_ids": ["s1"],
    }
]


@pytest.fixture(scope="module")
def sets() -> ModuleType:
    path = Path(__file__).parents[2] / "bench" / "question_sets.py"
    spec = spec_from_file_location("question_sets", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(sets: ModuleType, directory: Path, data: Any) -> list[Case]:
    path = directory / "set.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    cases: list[Case] = sets.cases_in(path)
    return cases


def test_a_locomo_turn_has_its_speaker_session_time_and_photo(
    sets: ModuleType, tmp_path: Path
) -> None:
    (case,) = read(sets, tmp_path, LOCOMO)
    assert case.turns[1] == Turn(
        "D1:2", "Look! [photo: a red door]", "session_1", "2023-05-08T13:56:00.000Z", "Bob"
    )
    assert case.questions == (EvalQuestion("What did Ann buy?", ("D1:1", "D1:2"), "single-hop"),)


@pytest.mark.parametrize("data", [HAYSTACKS, PUBLISHED], ids=["sessions once", "as published"])
def test_a_longmemeval_turn_has_its_role_and_session(
    sets: ModuleType, tmp_path: Path, data: Any
) -> None:
    (case,) = read(sets, tmp_path, data)
    when = "2023-05-23T19:23:00.000Z"
    assert case.turns[0] == Turn("s1:0", "My cat is called Tom.", "s1", when, "user")
    (question,) = case.questions
    assert question.evidence == ("s1:0",)
    assert question.time == "2023-05-30T10:00:00.000Z"


@pytest.mark.parametrize("data", [LOCOMO, HAYSTACKS, PUBLISHED])
def test_its_lines_are_what_the_command_reads(sets: ModuleType, tmp_path: Path, data: Any) -> None:
    cases = read(sets, tmp_path, data)
    path = tmp_path / "lines.jsonl"
    path.write_text("\n".join(line for case in cases for line in sets.lines_of(case)), "utf-8")
    assert evaluate.cases_in(path) == cases
