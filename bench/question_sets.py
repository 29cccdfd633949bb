"""Published sets of questions, LoCoMo and LongMemEval, as cases of `commonplace eval`.

    python bench/question_sets.py locomo10.json.gz > locomo.jsonl
    commonplace eval locomo.jsonl

In LoCoMo a turn is a record with its speaker as `username`, its session and the session's date; a
photo is told by its caption. In LongMemEval, as published or with its sessions kept once, a turn is
a record with its role as `username`, and a vault belongs to each question. Questions without an
answer are left out.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from commonplace.doors.admin.evaluate import Case, EvalQuestion, Turn, cases_of, text_of
from commonplace.model.clock import stamp


def cases_in(path: Path) -> list[Case]:
    """The cases of a LoCoMo file, a LongMemEval file or a JSONL of records and questions."""
    text = text_of(path)
    try:
        data = json.loads(text)
    except ValueError:
        return cases_of(text, path)
    if isinstance(data, list) and data and "conversation" in data[0]:
        return [_from_locomo(conversation) for conversation in data]
    if isinstance(data, dict) and "sessions" in data and "questions" in data:
        return list(_from_haystacks(data))
    if isinstance(data, list) and data and "haystack_sessions" in data[0]:
        return [_from_longmemeval(question) for question in data]
    return cases_of(text, path)


def lines_of(case: Case) -> Iterator[str]:
    """A case as lines that `commonplace eval` reads."""
    for each in (*case.turns, *case.questions, *case.unanswered):
        data = asdict(each) | {"vault": case.name}
        if isinstance(each, EvalQuestion):
            data["question"] = data.pop("text")
        yield json.dumps(data, ensure_ascii=False)


LOCOMO_KINDS = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}


def _from_locomo(data: Mapping[str, Any]) -> Case:
    """A turn is a record of its speaker in its session; a shared photo is told by its caption."""
    talk = data["conversation"]
    turns = tuple(
        Turn(
            id=said["dia_id"],
            text=_with_photo(said),
            session=name,
            time=_stamp(talk[f"{name}_date_time"], "%I:%M %p on %d %B, %Y"),
            username=said["speaker"],
        )
        for name in _locomo_sessions(talk)
        for said in talk[name]
    )
    known = {turn.id for turn in turns}
    questions = (
        EvalQuestion(
            str(asked["question"]),
            tuple(dict.fromkeys(_ids(asked.get("evidence") or (), known))),
            LOCOMO_KINDS.get(asked["category"], str(asked["category"])),
        )
        for asked in data["qa"]
    )
    name = str(data.get("sample_id", ""))
    return Case(name, turns, tuple(each for each in questions if each.evidence))


def _locomo_sessions(talk: Mapping[str, Any]) -> list[str]:
    names = [name for name in talk if re.fullmatch(r"session_\d+", name)]
    return sorted(names, key=lambda name: int(name.split("_")[1]))


def _with_photo(said: Mapping[str, Any]) -> str:
    caption = said.get("blip_caption")
    return f"{said['text']} [photo: {caption}]" if caption else str(said["text"])


def _ids(evidence: Iterable[str], known: set[str]) -> Iterator[str]:
    return (part for each in evidence for part in re.split(r"[;,\s]+", each) if part in known)


def _stamp(text: str, form: str) -> str:
    return stamp(datetime.strptime(text, form).replace(tzinfo=UTC))


def _from_haystacks(data: Mapping[str, Any]) -> Iterator[Case]:
    """LongMemEval with the sessions kept once: a vault a question."""
    for asked in data["questions"]:
        sessions = [
            (each["session"], each["date"], data["sessions"][each["session"]]["turns"])
            for each in asked["haystack"]
        ]
        yield _haystack(asked, sessions, set(asked["evidence_sessions"]))


def _from_longmemeval(asked: Mapping[str, Any]) -> Case:
    """LongMemEval as it is published: each question with its sessions."""
    sessions = list(
        zip(asked["haystack_session_ids"], asked["haystack_dates"], asked["haystack_sessions"])
    )
    return _haystack(asked, sessions, set(asked["answer_session_ids"]))


def _haystack(
    asked: Mapping[str, Any], sessions: Sequence[tuple[str, str, Any]], wanted: set[str]
) -> Case:
    """A turn is a record whose username is the role; questions without an answer are left out."""
    turns: list[Turn] = []
    evidence: list[str] = []
    for session, day, said in sessions:
        for number, each in enumerate(said):
            key = f"{session}:{number}"
            turns.append(Turn(key, each["content"], session, _lme_time(day), each["role"]))
            if each.get("has_answer") and session in wanted:
                evidence.append(key)
    question = EvalQuestion(
        asked["question"],
        tuple(evidence),
        asked["question_type"],
        _lme_time(asked["question_date"]),
    )
    absent = asked["question_id"].endswith("_abs")
    return Case(asked["question_id"], tuple(turns), (question,) if evidence and not absent else ())


def _lme_time(text: str) -> str:
    return _stamp(re.sub(r" \(\w+\)", "", text), "%Y/%m/%d %H:%M")


if __name__ == "__main__":
    for found in cases_in(Path(sys.argv[1])):
        print(*lines_of(found), sep="\n")
