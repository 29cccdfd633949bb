"""What is done to a memory through a gateway, whichever door it came through: counted, and traced.

The names of operations are those of OpenTelemetry's conventions for generative AI.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from commonplace.doors.http.metrics import Metrics

SEARCH, CREATE = "search_memory", "create_memory"
UPDATE, DELETE = "update_memory", "delete_memory"
NAMES = {
    SEARCH: """
        search search_messages search_memory recall_memory query_experiences memory_search""",
    CREATE: """
        add_record append_to_document store diary save_memory remember_this memory_store""",
    UPDATE: """
        supersede_record edit_record change_citations change_records judge_records pin_records
        restore_records write_document rename_document restore_document undo_change redo_change
        decide_on_many decide_review decide_on_findings tidy_vault compact_vault
        update undo rewrite_memory memory_update""",
    DELETE: """
        forget_record remove_records remove_document forget_messages delete memory_delete""",
}
"""The routes and tools that are each operation."""
OPERATIONS = {name: operation for operation, names in NAMES.items() for name in names.split()}
FILES = {
    "create": CREATE,
    "str_replace": UPDATE,
    "insert": UPDATE,
    "rename": UPDATE,
    "delete": DELETE,
}
"""The commands of Anthropic's memory tool, which is one tool for all of them."""


class TroubledAnswer(Protocol):
    """What a door answers."""

    @property
    def trouble(self) -> str:
        """What kind of error it is, in a word; empty where it is none."""


Answer = TypeVar("Answer", bound=TroubledAnswer)
Tracer = Callable[
    [str, Mapping[str, Any], str, Callable[[], Awaitable[TroubledAnswer]]], Awaitable[Any]
]
"""Does what is done as a span: the operation, its arguments, the vault, and the work."""


def operation_of(name: str, given: Mapping[str, Any]) -> str:
    """The operation that a route or a tool is; empty where it is none."""
    if name == "memory":
        return FILES.get(str(given.get("command")), "")
    return OPERATIONS.get(name, "")


class Operations:
    """Counts operations, and has them traced where somebody asked for it."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self.trace: Tracer | None = None
        """Does operations as spans, once somebody collects them."""

    async def done(
        self,
        vault: str,
        name: str,
        given: Mapping[str, Any],
        work: Callable[[], Awaitable[Answer]],
    ) -> Answer:
        """Do what a route or a tool is asked for."""
        operation = operation_of(name, given)
        if not operation:
            return await work()
        answer: Answer
        if self.trace:
            answer = await self.trace(operation, given, vault, work)
        else:
            answer = await work()
        self._metrics.did(operation, failed=bool(answer.trouble))
        return answer
