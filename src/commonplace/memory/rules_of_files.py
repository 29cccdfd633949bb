"""Suggest the rules that stand in a file for agents: they wait for a person."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.memory import storing
from commonplace.model.errors import CommonplaceError
from commonplace.model.records import Author, Origin, Record, same_words

if TYPE_CHECKING:
    from commonplace.markdown.rule_lists import ListedRule
    from commonplace.memory import Memory

TAG = 50
"""Characters of a file's name that make a tag."""


class SuggestedRules(Struct, frozen=True):
    """What became of the rules of a file."""

    fresh: tuple[ListedRule, ...]
    waiting: int = 0
    """How many wait already."""
    decided: int = 0
    """How many were stored, rejected or forgotten before."""
    refused: int = 0
    """How many may not be kept, as for a secret in them."""


def suggest(
    memory: Memory, listed: Sequence[ListedRule], source: str, *, dry_run: bool = False
) -> SuggestedRules:
    """Hold the rules of a file for a person to approve, those that are new."""
    author = Author(Origin.IMPORT, memory.session)
    path = os.path.abspath(source)

    def work() -> SuggestedRules:
        approvals = memory.library.approvals
        known = {same_words(record.text) for record in approvals.withheld().values()}
        waits = {same_words(record.text) for record in approvals.held()}
        fresh: list[ListedRule] = []
        waiting = decided = refused = 0
        for rule in listed:
            record = _record(memory, rule, path, author, cited=not dry_run)
            words = same_words(record.text) if record else ""
            if record is None:
                refused += 1
            elif words in waits:
                waiting += 1
            elif words in known or _is_there(memory, record):
                decided += 1
            else:
                waits.add(words)
                fresh.append(rule)
                if not dry_run:
                    memory.library.hold(record, author=author)
        return SuggestedRules(tuple(fresh), waiting, decided, refused)

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
