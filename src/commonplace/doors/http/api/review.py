"""The review over HTTP: memories that wait for a person's approval."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from commonplace.doors.http.api.records import may_see, shown_record
from commonplace.doors.http.routes import Id, route
from commonplace.library import accounts
from commonplace.memory import Memory
from commonplace.model.limits import MOST_LISTED
from commonplace.tools.tool import Argument


@route("GET", "/review", scope="admin")
def list_review(memory: Memory) -> Any:
    """What waits for a person's approval, oldest first, for whoever may decide on it."""
    waiting = [record for record in memory.review() if may_see(memory, record)]
    reasons = memory.review_reasons() if waiting else {}
    rests = memory.accounts(waiting)
    return {
        "waiting": [
            {
                **shown_record(record),
                "why": reasons.get(record.id, ""),
                "account": accounts.data_of(rests[record.id]),
            }
            for record in waiting
        ]
    }


@route("POST", "/review", scope="admin")
def decide_on_many(
    memory: Memory,
    ids: Annotated[list[str], Argument("the ids of what to decide on", max_items=MOST_LISTED)],
    decision: Annotated[Literal["approve", "reject"], Argument("what to do with them")],
) -> Any:
    """Let several held memories in exactly as they are, or turn them away: all, or none."""
    decided = memory.decide(decision, ids)
    return {"decision": decision, "decided": [*map(shown_record, decided)]}


@route("POST", "/review/{id}", scope="admin")
def decide_review(
    memory: Memory,
    id: Id,
    decision: Annotated[Literal["approve", "reject"], Argument("what to do with it")],
) -> Any:
    """Let a held memory in exactly as it is, or turn it away."""
    decided = memory.approve(id) if decision == "approve" else memory.reject(id)
    return {"decision": decision, **shown_record(decided)}
