"""Suggest the rules that stand in a file for agents: they wait for a person."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.memory import storing
from commonplace.model.errors import CommonplaceError
from commonplace.model.records import Author, Origin, Record, same_words

if TYPE_CHECKING:
    from commonplace.markdown.rule_lists import ListedRule
    from commonplace.memory import Memory

TAG = 50
"""Characters of a file's name that make a tag."""


def suggest(
    memory: Memory, listed: Sequence[ListedRule], source: str, *, dry_run: bool = False
) -> list[ListedRule]:
    """Hold the rules of a file for a person to approve. Returns those that are new."""
    author = Author(Origin.IMPORT, memory.session)
    path = os.path.abspath(source)

    def work() -> list[ListedRule]:
        withheld = memory.library.approvals.withheld().values()
        known = {same_words(record.text) for record in withheld}
        fresh: list[ListedRule] = []
        for rule in listed:
            record = _record(memory, rule, path, author, cited=not dry_run)
            if record is None or same_words(record.text) in known or _is_there(memory, record):
                continue
            known.add(same_words(record.text))
            fresh.append(rule)
            if not dry_run:
                memory.library.hold(record, author=author)
        return fresh

    return memory.library.locked(work)


def _record(
    memory: Memory, rule: ListedRule, path: str, author: Author, *, cited: bool
) -> Record | None:
    """The record of a rule in a file; None for one that may not be kept, as for a secret in it."""
    lines = f"{rule.line}-{rule.last}" if rule.last > rule.line else f"{rule.line}"
    try:
        return storing.record_of(
            memory,
            author,
            text=rule.text,
            kind="instruction",
            tags=[os.path.basename(path)[:TAG]],
            when=rule.when,
            evidence=[f"{path}:{lines}"] if cited else (),
        )
    except CommonplaceError:
        return None


def _is_there(memory: Memory, record: Record) -> bool:
    """Whether a rule is stored, or was forgotten by its owner."""
    same = memory.library.saying(record)
    kept = memory.library.tombstones.without_forgotten([record])
    return not kept or any(same_words(each.text) == same_words(record.text) for each in same)
