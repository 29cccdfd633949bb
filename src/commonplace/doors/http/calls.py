"""A call: what a request wants of a vault, apart from HTTP: a route or a tool.

Whoever has the vaults can answer it, on any thread or in another process. It does not know who may
ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from commonplace import tools
from commonplace.doors.http import api, overviews, upkeep
from commonplace.doors.http.responses import Ready, answered, problem, problem_of
from commonplace.doors.http.routes import Reply, Route
from commonplace.doors.http.vaults import Reader, Vaults
from commonplace.memory import Memory
from commonplace.model.errors import AlreadyExists, CommonplaceError, DocumentChanged
from commonplace.tools.tool import Answer

ROUTES = tuple(
    each
    for module in (api, overviews, upkeep)
    for each in vars(module).values()
    if isinstance(each, Route)
)
BY_NAME = {each.name: each for each in ROUTES}


class Call(Struct, frozen=True):
    """One route, for one reader of one vault, with its arguments."""

    route: str
    vault: str
    reader: Reader
    given: dict[str, Any]

    @property
    def long(self) -> bool:
        return BY_NAME[self.route].long

    def run(self, memory: Memory) -> Ready:
        try:
            return ready(BY_NAME[self.route].run(memory, self.given))
        except DocumentChanged as error:
            return problem_of(error, **api.merge_offered(memory, error, self.given))
        except AlreadyExists as error:
            # Who meets it here had set that as a condition, and HTTP has a status for those.
            return problem(412, str(error), error=type(error).__name__)


class ToolCall(Struct, frozen=True):
    """One tool of a dialect, likewise."""

    long = False
    tool: str
    dialect: str
    vault: str
    reader: Reader
    given: dict[str, Any]

    def run(self, memory: Memory) -> Ready:
        memory.run = lambda: memory.clock.today().isoformat()
        return ready(tools.own(self.tool, dialect=self.dialect).call(memory, self.given))


class Work(Struct, frozen=True):
    """What another door wants of a vault: done by who has it, and told as that door has it."""

    long = False
    vault: str
    reader: Reader
    deed: Callable[[Memory], Any]

    def run(self, memory: Memory) -> Any:
        return self.deed(memory)


def answer(vaults: Vaults, call: Call | ToolCall | Work) -> Any:
    """What comes of a call; what goes wrong is told in its own words."""
    try:
        return call.run(vaults.memory(call.vault, call.reader))
    except CommonplaceError as error:
        return problem_of(error)


def ready(result: Any) -> Ready:
    """What a route or a tool returned, as an answer."""
    reply = result if isinstance(result, Reply) else Reply(result)
    data = reply.data
    if isinstance(data, Answer):
        data = {"data": data.data, "text": str(data)}
    return answered(data, reply.status, etag=reply.etag)
