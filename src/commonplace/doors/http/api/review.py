"""The review over HTTP: memories that wait for a person's approval."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from commonplace.doors.caller import client_title
from commonplace.doors.http.api.records import may_see, shown_record
from commonplace.doors.http.routes import Id, route
from commonplace.library import accounts
from commonplace.memory import Memory
from commonplace.model import citations
from commonplace.model.errors import Conflict
from commonplace.model.files import digest
from commonplace.model.limits import MOST_LISTED
from commonplace.model.records import Origin, Record
from commonplace.tools.tool import Argument
from commonplace.trust.neutralise import one_line


@route("GET", "/review", scope="admin")
def list_review(memory: Memory) -> Any:
    """What waits for a person's approval, oldest first, for whoever may decide on it."""
    waiting = [record for record in memory.review() if may_see(memory, record)]
    reasons = memory.review_reasons() if waiting else {}
    learned = memory.library.approvals.learned() if waiting else {}
    rests = memory.accounts(waiting)
    clients = memory.clients(record.session for record in waiting)
    return {
        "waiting": [
            {
                **shown_record(record),
                "etag": _etag(record),
                "why": reasons.get(record.id, ""),
                "learned": learned.get(record.id, ""),
                "client": client_title(clients.get(record.session, "")),
                "stood": _stood(record),
                "account": accounts.data_of(rests[record.id]),
            }
            for record in waiting
        ]
    }


def _stood(record: Record) -> str:
    """The file and line in which an imported rule stood; empty for any other."""
    if record.origin != Origin.IMPORT:
        return ""
    cited = next(filter(None, map(citations.read, record.citations)), None)
    return one_line(os.path.basename(cited.place) if cited else next(iter(record.tags), ""))


def _etag(record: Record) -> str:
    return digest(record.text.encode())


@route("POST", "/review", scope="admin")
def decide_on_many(
    memory: Memory,
    ids: Annotated[list[str], Argument("the ids of what to decide on", max_items=MOST_LISTED)],
    decision: Annotated[Literal["approve", "reject"], Argument("what to do with them")],
    etags: Annotated[
        list[str], Argument("of what was shown, one for each id", max_items=MOST_LISTED)
    ] = [],  # noqa: B006
) -> Any:
    """Let several held memories in exactly as they are, or turn them away: all, or none.

    With `etags`, none is decided on if one reads otherwise than when it was shown. `positions` are
    those of the changes, for who would take an approval back.
    """
    shown = memory.review(ids) if etags else []
    if [_etag(record) for record in shown] != etags:
        raise Conflict(
            "What waits reads otherwise than when it was shown; nothing was decided.",
            next_step="Look at it again.",
        )
    decided = memory.decide(decision, ids, shown=shown)
    keys = {record.id for record in decided}
    # Each approval is an addition and a note of it.
    last = memory.log(limit=2 * len(ids) + 2)
    made = [each for each in last if each.changes and keys.intersection(each.ids)]
    return {
        "decision": decision,
        "decided": [*map(shown_record, decided)],
        "positions": [each.position for each in made],
    }


@route("POST", "/review/{id}", scope="admin")
def decide_review(
    memory: Memory,
    id: Id,
    decision: Annotated[Literal["approve", "reject"], Argument("what to do with it")],
    answer: Annotated[str, Argument("the answer to a question that is approved")] = "",
) -> Any:
    """Let a held memory in exactly as it is, or turn it away.

    A question that history suggested (`learned` is `asked`) is kept with its answer.
    """
    [decided] = memory.decide(decision, [id], answer=answer)
    return {"decision": decision, **shown_record(decided)}
