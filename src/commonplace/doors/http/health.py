"""How a gateway is: whether it answers, whether it can be used, and what is wrong with it.

A probe brings no token and is told one word. Who brings a token is told which vaults are away and
which jobs are late, as far as the token opens them.
"""

from __future__ import annotations

import asyncio
import threading
import traceback
from concurrent.futures import Future
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.doors.http import event_stream
from commonplace.doors.http.responses import Ready, Scope, answered
from commonplace.doors.http.workers import Caller
from commonplace.model.clock import monotonic
from commonplace.model.errors import CommonplaceError
from commonplace.model.records import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.doors.http.access_tokens import AccessTokens
    from commonplace.doors.http.schedules import Schedules
    from commonplace.doors.http.workers import Vaults

LIVE, READY = "/health/live", "/health/ready"
PROBES = (LIVE, READY)
"""What anybody may ask, under any host name: probes ask by an address."""
WAIT = 1.0
"""Seconds that a probe waits for the vaults. One that does not answer for longer is not ready."""
FRESH = 2.0
"""Seconds for which what was seen holds: probes from many sides cost one look."""
TRIED = 16
"""Vaults that are tried at each look; no more of them stay open for it."""


class Look(Struct, frozen=True):
    """What was seen the last time."""

    reason: str = ""
    """Why nobody should be sent here, in a word; empty when all is well."""
    away: dict[str, str] = {}
    """Vaults that cannot be reached, each with the name of the error."""
    until: float = 0.0
    """Until when it holds."""


class Health:
    """Looks at what a gateway needs, on a thread that nobody waits for at the end.

    A database that is gone keeps who asks it for as long as calls wait for it.
    """

    def __init__(self, vaults: Vaults, tokens: AccessTokens) -> None:
        self._vaults = vaults
        self._tokens = tokens
        self.is_stopping = False
        self.schedules: Schedules | None = None
        """The schedules of the vaults, once they run."""
        self._looking: Future[Look] | None = None
        self._asked: SimpleQueue[Future[Look] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def live(self, scope: Scope, receive: Any, send: Any) -> None:
        """Whether the process answers: it does."""
        await answered({"status": "live"})(scope, receive, send)

    async def ready(self, scope: Scope, receive: Any, send: Any) -> None:
        """Whether requests should be sent here, and if not, why in one word."""
        await self._readiness(await self._look())(scope, receive, send)

    def _readiness(self, look: Look) -> Ready:
        reason = "stopping" if self.is_stopping else look.reason
        return answered({"status": reason or "ready"}, 503 if reason else 200)

    async def away(self) -> dict[str, str]:
        """The vaults that cannot be reached, by their names, as far as they were tried."""
        look, by_path = await self._look(), self.schedules.away() if self.schedules else {}
        return self._named(by_path) | look.away

    def late(self) -> dict[str, tuple[str, ...]]:
        """A sentence on each job that is late, by the names of the vaults."""
        return self._named(self.schedules.late()) if self.schedules else {}

    def _named(self, by_path: Mapping[str, Any]) -> dict[str, Any]:
        """What is told of paths, told of the names of their vaults."""
        if not by_path:
            return {}
        names = dict(zip(self._vaults.paths.values(), self._vaults.paths))
        return {names[path]: told for path, told in by_path.items() if path in names}

    async def _look(self) -> Look:
        """What is seen now, or was seen a moment ago."""
        if self._looking is None or (
            self._looking.done() and self._looking.result().until < monotonic()
        ):
            self._looking = self._begin()
        await asyncio.wait([asyncio.wrap_future(self._looking)], timeout=WAIT)
        return self._looking.result() if self._looking.done() else Look("slow")

    def _begin(self) -> Future[Look]:
        if self._thread is None:
            self._thread = threading.Thread(target=self._go_on, name="gateway-health", daemon=True)
            self._thread.start()
        asked: Future[Look] = Future()
        self._asked.put(asked)
        return asked

    def _go_on(self) -> None:
        while (asked := self._asked.get()) is not None:
            try:
                asked.set_result(self._seen())
            except Exception:
                # Whatever ails us, the next probe must be answered; the terminal says what it is.
                traceback.print_exc()
                asked.set_result(Look("fault", until=monotonic() + FRESH))

    def _seen(self) -> Look:
        try:
            self._tokens.find("")
            # Any question shows whether a database of tenants is there.
            paths = {} if "" in self._vaults.paths else self._vaults.paths
        except (CommonplaceError, OSError):
            return Look("database", until=monotonic() + FRESH)
        tried = list(islice(paths, TRIED)) if isinstance(paths, dict) else []
        away = {name: why for name in tried if (why := self._trouble(name))}
        reason = "vaults" if tried and len(away) == len(tried) else ""
        return Look(reason, away, monotonic() + FRESH)

    def _trouble(self, name: str) -> str:
        """Why a vault cannot be reached: the error's name, since sentences name places."""
        try:
            event_stream.end_of(self._vaults.memory(name, Caller(Origin.AGENT)))
        except (CommonplaceError, OSError) as error:
            return type(error).__name__
        return ""

    def close(self) -> None:
        """Let the thread end once it has seen what it looks at."""
        self._asked.put(None)
