"""The development sets as groups of records with questions and the evidence for each.

It does not know how anything is found. A group is what one memory holds: a conversation of LoCoMo,
the haystack of one question of LongMemEval.
"""

from __future__ import annotations

import gzip
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

Group = dict[str, Any]


def locomo(path: Path, questions: int) -> list[Group]:
    """Every conversation, with as many of its questions as asked for, evenly taken."""
    told = json.loads(gzip.decompress(path.read_bytes()))
    return [_conversation(each, questions // len(told)) for each in told]


def _conversation(told: dict[str, Any], most: int) -> Group:
    records = []
    for name, turns in told["conversation"].items():
        if re.fullmatch(r"session_\d+", name):
            date = _locomo_date(told["conversation"][f"{name}_date_time"])
            records += [
                {
                    "id": turn["dia_id"],
                    "session": turn["dia_id"].split(":")[0],
                    "date": date,
                    "speaker": turn["speaker"],
                    "text": _with_picture(turn),
                }
                for turn in turns
            ]
    ids = {record["id"] for record in records}
    asked = [
        (question["question"], evidence)
        for question in told["qa"]
        if (evidence := _evidence(question, ids))
    ]
    asked = asked[:: max(1, len(asked) // most)][:most]
    return _group(records, asked)


def _with_picture(turn: dict[str, Any]) -> str:
    picture = turn.get("blip_caption")
    return f"{turn['text']} [picture: {picture}]" if picture else str(turn["text"])


def _evidence(question: dict[str, Any], ids: set[str]) -> list[str]:
    named = re.findall(r"D\d+:\d+", " ".join(map(str, question.get("evidence", []))))
    return sorted(set(named) & ids)


def _locomo_date(text: str) -> str:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").isoformat() + "+00:00"


def longmemeval(path: Path, questions: int) -> list[Group]:
    """As many questions as asked for, evenly taken, each with its haystack; sessions count."""
    told = json.loads(gzip.decompress(path.read_bytes()))
    answerable = [each for each in told["questions"] if each["evidence_sessions"]]
    step = max(1, len(answerable) // questions)
    return [_haystack(each, told["sessions"]) for each in answerable[::step][:questions]]


def _haystack(question: dict[str, Any], sessions: dict[str, Any]) -> Group:
    records = [
        {
            "id": f"{place['session']}/{at}",
            "session": place["session"],
            "date": _longmemeval_date(place["date"]),
            "speaker": turn["role"],
            "text": turn["content"],
        }
        for place in question["haystack"]
        for at, turn in enumerate(sessions[place["session"]]["turns"])
        if turn["content"].strip()
    ]
    return _group(records, [(question["question"], question["evidence_sessions"])])


def _longmemeval_date(text: str) -> str:
    return datetime.strptime(text, "%Y/%m/%d (%a) %H:%M").isoformat() + "+00:00"


def _group(records: list[dict[str, str]], asked: list[tuple[str, list[str]]]) -> Group:
    return {
        "records": records,
        "questions": [question for question, _ in asked],
        "evidence": [evidence for _, evidence in asked],
    }
