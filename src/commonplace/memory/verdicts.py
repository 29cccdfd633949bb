"""Say that memories were useful or wrong, and pin them: who may, and as whom."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from commonplace.library import verdicts
from commonplace.library.revising import Revised
from commonplace.library.verdicts import Verdict
from commonplace.model.errors import BadValue
from commonplace.model.records import Origin
from commonplace.trust import permission

if TYPE_CHECKING:
    from commonplace.memory import Memory


def judge(memory: Memory, verdict: str, record_ids: Iterable[str]) -> Revised:
    if verdict not in list(Verdict):
        raise BadValue("verdict", f"{verdict!r} is none", next_step="Use useful or wrong.")
    permission.check_judges(memory.author.origin)
    found = _ids(memory, record_ids)
    whose, author = _whose(memory), memory.author
    return verdicts.judge(memory.library, found, Verdict(verdict), session=whose, author=author)


def _whose(memory: Memory) -> str:
    """The session whose verdict it is; empty for the owner, who has one of their own."""
    if memory.origin == Origin.OWNER:
        return ""
    return memory.session or memory.run() or memory.origin


def pin(memory: Memory, record_ids: Iterable[str]) -> Revised:
    permission.check_pins(memory.author.origin)
    return verdicts.pin(memory.library, _ids(memory, record_ids), author=memory.author)


def unpin(memory: Memory, record_ids: Iterable[str]) -> Revised:
    permission.check_pins(memory.author.origin)
    return verdicts.unpin(memory.library, _ids(memory, record_ids), author=memory.author)


def _ids(memory: Memory, record_ids: Iterable[str]) -> list[str]:
    return [permission.check_record(memory.get(key)).id for key in record_ids]
