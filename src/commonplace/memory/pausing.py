"""Pauses: while one holds, nothing of a session is recorded or told.

The person's own commands and page go on; what agents had read still marks their sessions.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.model import limits
from commonplace.model.clock import parse_stamp, stamp
from commonplace.model.errors import Paused
from commonplace.model.records import Origin
from commonplace.storage.pauses import Pause
from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.model.clock import Clock

OUTSIDE = "COMMONPLACE_PAUSED"
"""The environment variable that pauses a program, and the reason of its pause."""
LONGEST_REASON = 200


def paused(memory: Memory) -> Pause | None:
    if memory.paused_outside:
        return Pause("", session=memory.session, reason=OUTSIDE)
    return memory.library.pauses.of(memory.session, at=memory.clock.stamp())


def check(memory: Memory) -> None:
    if memory.origin != Origin.OWNER and (found := paused(memory)):
        raise Paused(session=found.session, outside=memory.paused_outside)


def sentence(pause: Pause, clock: Clock) -> str:
    """A pause in words: what it is for, since when and until when."""
    whose = f"session {pause.session}" if pause.session else ""
    why = f" ({one_line(pause.reason)})" if pause.reason else ""
    if pause.reason == OUTSIDE:
        held = f"Memory is paused for {whose or 'this program'}: COMMONPLACE_PAUSED is set."
        return f"{held} Nothing is recorded or told."
    since = f" since {_local(pause.since, clock)}" if pause.since else ""
    until = f" until {_local(pause.until, clock)}" if pause.until else ""
    return (
        f"Memory is paused for {whose or 'agents'}{since}{until}{why}: "
        "nothing is recorded or told. 'commonplace resume' ends it; your own commands work."
    )


def _local(moment: str, clock: Clock) -> str:
    return f"{clock.local(parse_stamp(moment)):%Y-%m-%d %H:%M}"


def pause(memory: Memory, session: str, *, seconds: float, reason: str) -> Pause:
    limits.check_word(session, argument="session")
    limits.check_text(reason or "-", limit=LONGEST_REASON, argument="reason")

    def begin() -> Pause:
        now = memory.clock.now()
        until = stamp(now + timedelta(seconds=seconds)) if seconds else ""
        begun = Pause(memory.clock.stamp(), session=session, until=until, reason=reason)
        memory.library.pauses.begin(begun)
        return begun

    # Under the lock: a store that is under way is done before, and the next one sees the pause.
    return memory.library.locked(begin)


def resume(memory: Memory, session: str | None) -> tuple[Pause, ...]:
    now = memory.clock.stamp()
    pauses = memory.library.pauses

    def end() -> tuple[Pause, ...]:
        held = [each for each in pauses.all() if not each.ended and each.covers(now)]
        ended = tuple(each for each in held if session is None or each.session == session)
        for each in {each.session for each in ended}:
            pauses.end(each, at=now)
        return ended

    return memory.library.undisturbed(end)
