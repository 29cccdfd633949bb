"""The development sets as groups of records with questions and the evidence for each.

It does not know how anything is found, nor the forms of the files: `commonplace eval` reads them.
A group is what one memory holds: a conversation of LoCoMo, the haystack of one question of
LongMemEval.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from commonplace.evaluate import Case, Question, cases_in

Group = dict[str, Any]


def locomo(path: Path, questions: int) -> list[Group]:
    """Every conversation, with as many of its questions as asked for, evenly taken."""
    cases = cases_in(path)
    most = questions // len(cases)
    return [_group(case, _evenly(case.questions, most)) for case in cases]


def longmemeval(path: Path, questions: int) -> list[Group]:
    """So many questions, evenly taken, but for those without an answer; sessions count."""
    taken = _evenly(cases_in(path), questions)
    groups = [_group(case, case.questions) for case in taken if case.questions]
    return [group | {"evidence": _sessions(group)} for group in groups]


def _evenly(of: Any, most: int) -> Any:
    return of[:: max(1, len(of) // most)][:most]


def _group(case: Case, questions: tuple[Question, ...]) -> Group:
    records = [
        {
            "id": turn.id,
            "session": turn.session,
            "date": _plain(turn.time),
            "speaker": turn.username,
            "text": turn.text,
        }
        for turn in case.turns
        if turn.text.strip()
    ]
    last = max(turn.time for turn in case.turns)
    return {
        "records": records,
        "questions": [{"text": each.text, "date": _plain(each.time or last)} for each in questions],
        "evidence": [list(each.evidence) for each in questions],
    }


def _plain(time: str) -> str:
    return datetime.fromisoformat(time).isoformat()


def _sessions(group: Group) -> list[list[str]]:
    session = {record["id"]: record["session"] for record in group["records"]}
    return [sorted({session[turn] for turn in each}) for each in group["evidence"]]
