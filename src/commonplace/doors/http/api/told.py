"""What sessions were told, and pauses, over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec.structs import asdict

from commonplace.doors.caller import client_title
from commonplace.doors.http.routes import Limit, Offset, route
from commonplace.memory import Memory
from commonplace.tools.tool import Argument

WEEK = 7 * 86_400
OfSession = Annotated[str, Argument("its id; empty: the whole vault", max_length=200)]


@route("GET", "/told", scope="read")
def list_told(
    memory: Memory,
    days: Annotated[int, Argument("days of the costs", minimum=1, maximum=90)] = 30,
    offset: Offset = 0,
    limit: Limit = 50,
) -> Any:
    """The sessions that were told anything, the last first, and the tokens told on each day."""
    from commonplace.memory import telling

    found = telling.sessions(memory)
    return {
        "sessions": [
            asdict(each) | {"client": client_title(each.client)}
            for each in found[offset : offset + limit]
        ],
        "count": len(found),
        "tokens": sum(each.tokens for each in found),
        "costs": telling.costs(memory, days=days),
    }


@route("GET", "/told/session", scope="read")
def show_told(
    memory: Memory,
    session: Annotated[str, Argument("its id, a beginning of it, or last", max_length=200)],
) -> Any:
    """What one session was told, moment by moment, with the memories as they are now."""
    from commonplace.memory import telling

    key, told = telling.told_to(memory, session)
    return {
        "session": key,
        "tellings": [asdict(at) | {"lines": [asdict(line) for line in at.lines]} for at in told],
    }


@route("GET", "/pauses", scope="read")
def list_pauses(memory: Memory) -> Any:
    """The pauses that hold now: while one does, nothing of its sessions is recorded or told."""
    held = memory.library.pauses.now(at=memory.clock.stamp())
    return {"pauses": [asdict(each) for each in held]}


@route("POST", "/pause", scope="admin")
def begin_pause(
    memory: Memory,
    session: OfSession = "",
    seconds: Annotated[
        int, Argument("when it ends by itself; 0: never", minimum=0, maximum=52 * WEEK)
    ] = 0,
    reason: Annotated[str, Argument("why", max_length=200)] = "",
) -> Any:
    """Record and tell nothing from now on, until it is ended."""
    return asdict(memory.pause(session, seconds=seconds, reason=reason))


@route("POST", "/resume", scope="admin")
def end_pause(
    memory: Memory,
    session: OfSession = "",
    every: Annotated[bool, Argument("end the pauses of sessions too")] = False,
) -> Any:
    """End the pause of the vault, or of a session, or every pause."""
    return {"ended": [asdict(each) for each in memory.resume(None if every else session)]}
