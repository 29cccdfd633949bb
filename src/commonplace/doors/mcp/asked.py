"""A request over HTTP apart from how it came: what any process that has the vault can answer.

It knows neither the SDK nor the web.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.doors import attached
from commonplace.doors.mcp import methods
from commonplace.doors.mcp.calls import fault_of
from commonplace.doors.mcp.jsonrpc import Fault, Object

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.tools.tool import Tool


class Told(Struct, frozen=True):
    """What comes of a request: its result, or what the fault is made of."""

    result: Object
    fault: tuple[int, str, Any] | None = None

    def result_or_fault(self) -> Object:
        if self.fault:
            raise Fault(*self.fault)
        return self.result


class Asked(Struct, frozen=True):
    """A method with its params, for one session, and what the host says that it has read."""

    method: str
    given: Object
    dialect: str
    session: str
    main: bool
    group: str
    read: tuple[str | None, ...] = ()

    @property
    def only_asks(self) -> bool:
        """Whether nothing is changed: then it matters to nobody else when it is answered."""
        if self.method != "tools/call":
            return self.method in methods.WITH_MEMORY
        tool = self._offered().get(str(self.given.get("name")))
        return tool is not None and tool.read_only

    def __call__(self, memory: Memory) -> Told:
        """The answer, of a memory that any session's may be made of."""
        return self.answered(lambda: memory)

    def answered(self, recall: methods.Recall) -> Told:
        """The same; the memory is opened by what needs it."""
        try:
            return Told(self._answer(recall))
        except Exception as error:
            fault = fault_of(error)
            return Told({}, (fault.code, fault.message, fault.data))

    def _answer(self, recall: methods.Recall) -> Object:
        if self.method not in methods.WITH_MEMORY:
            return methods.AT_ONCE[self.method](self.given, self._offered)
        return methods.WITH_MEMORY[self.method](
            self.given, self._offered, lambda: self._own(recall())
        )

    def _own(self, memory: Memory) -> Memory:
        own = memory.for_session(self.session, main=self.main, group=self.group)
        own.bounded = own.for_agents = True
        for each in self.read:
            attached.mark(own, each)
        return own

    def _offered(self) -> dict[str, Tool]:
        return methods.tools_of(self.dialect)
