"""The development sets as groups of records with questions and the evidence for each.

It does not know how anything is found; bench/question_sets.py reads the files.
A group is what one memory holds: a conversation of LoCoMo, the haystack of one question of
LongMemEval, or all the one-line memories of a file.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from commonplace.doors.admin.evaluate import Case, EvalQuestion
from question_sets import cases_in

Group = dict[str, Any]


def locomo(path: Path, questions: int, conversations: int) -> list[Group]:
    """So many conversations, and of each as many questions as come to its part, evenly taken."""
    cases = cases_in(path)[:conversations]
    most = questions // len(cases)
    return [_group(case, _evenly(case.questions, most)) for case in cases]


def longmemeval(path: Path, questions: int, sessions: int) -> list[Group]:
    """So many questions, evenly taken, but for those without an answer; sessions count.

    A haystack is cut to so many sessions: those with the answer, and then the first of the others.
    """
    taken = [case for case in _evenly(cases_in(path), questions) if case.questions]
    groups = [_group(_cut(case, sessions), case.questions) for case in taken]
    return [group | {"evidence": _sessions(group)} for group in groups]


def memories(path: Path) -> list[Group]:
    """One-line memories with all their questions, but for those without an answer."""
    return [_group(case, case.questions) for case in cases_in(path) if case.questions]


def _cut(case: Case, sessions: int) -> Case:
    wanted = {turn for question in case.questions for turn in question.evidence}
    holding = [turn.session for turn in case.turns if turn.id in wanted]
    kept = list(dict.fromkeys([*holding, *(turn.session for turn in case.turns)]))[:sessions]
    turns = tuple(turn for turn in case.turns if turn.session in kept)
    return Case(case.name, turns, case.questions)


def _evenly(of: Any, most: int) -> Any:
    return of[:: max(1, len(of) // max(1, most))][:most]


def _group(case: Case, questions: tuple[EvalQuestion, ...]) -> Group:
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
        "categories": [each.category for each in questions],
    }


def _plain(time: str) -> str:
    return datetime.fromisoformat(time).isoformat()


def _sessions(group: Group) -> list[list[str]]:
    session = {record["id"]: record["session"] for record in group["records"]}
    return [sorted({session[turn] for turn in each}) for each in group["evidence"]]
