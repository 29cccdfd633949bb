"""The HTTP API: one module a resource, one function a route, and the calls that run them.

The functions call the memory and answer plain data; they know neither headers nor tokens. `Memory`
decides what its caller may see, and nothing here reaches past it.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from commonplace import tools
from commonplace.doors.http.api import (
    activity,
    changes,
    clients,
    days,
    documents,
    history,
    map,
    overview,
    records,
    review,
    revisions,
    settings,
    told,
    upkeep,
)
from commonplace.doors.http.responses import Ready, answered, problem, problem_of
from commonplace.doors.http.routes import Reply, Route
from commonplace.doors.http.workers import Caller
from commonplace.memory import Memory
from commonplace.model.errors import AlreadyExists, DocumentChanged, RecordChanged
from commonplace.tools.tool import Answer

RESOURCES = (
    activity,
    overview,
    records,
    revisions,
    documents,
    changes,
    days,
    map,
    review,
    history,
    upkeep,
    settings,
    clients,
    told,
)
ROUTES = tuple(
    each for module in RESOURCES for each in vars(module).values() if isinstance(each, Route)
)
BY_NAME = {each.name: each for each in ROUTES}


class RouteCall(Struct, frozen=True):
    """One route, for one caller of one vault, with its arguments."""

    route: str
    vault: str
    caller: Caller
    given: dict[str, Any]

    @property
    def long(self) -> bool:
        return BY_NAME[self.route].long

    def run(self, memory: Memory) -> Ready:
        memory.check_recording()
        try:
            return ready(BY_NAME[self.route].run(memory, self.given))
        except RecordChanged as error:
            return problem_of(error, current=records.show_record.tool.run(memory, id=error.id))
        except DocumentChanged as error:
            return problem_of(error, **documents.merge_offered(memory, error, self.given))
        except AlreadyExists as error:
            if not self.given.get("new"):
                raise
            # It was set as a condition, and HTTP has a status for those.
            return problem(412, str(error), error=type(error).__name__)


class ToolCall(Struct, frozen=True):
    """One tool of a dialect, likewise."""

    long = False
    tool: str
    dialect: str
    vault: str
    caller: Caller
    given: dict[str, Any]

    def run(self, memory: Memory) -> Ready:
        memory.check_recording()
        memory.run = lambda: memory.clock.today().isoformat()
        return ready(tools.own(self.tool, dialect=self.dialect).call(memory, self.given))


def ready(result: Any) -> Ready:
    """What a route or a tool returned, as an answer."""
    reply = result if isinstance(result, Reply) else Reply(result)
    data = reply.data
    if isinstance(data, Answer):
        data = {"data": data.data, "text": str(data)}
    return answered(data, reply.status, etag=reply.etag)
