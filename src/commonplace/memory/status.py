"""Say what a vault holds and how it is, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from commonplace.library.library import Library
from commonplace.memory.pausing import sentence
from commonplace.model.errors import VaultTrouble
from commonplace.model.records import is_over, now_of
from commonplace.opening import VaultParts
from commonplace.search.encoders import minilm
from commonplace.search.index import Index, Query
from commonplace.storage.option_files import MEND_UNREAD
from commonplace.storage.trusted import command_for
from commonplace.upkeep import heartbeat, schedule
from commonplace.upkeep.compaction.plan import described, last_report
from commonplace.upkeep.compaction.summarizers import tokens_of


def status_of(library: Library, parts: VaultParts, *, late: Sequence[str]) -> dict[str, Any]:
    """The vault in a dozen lines; `late` says which jobs of upkeep are."""
    library.refresh()
    index, everything = parts.index, Query(include_superseded=True, include_secret=True)
    return {
        "vault": parts.shown,
        "dialect": library.layout.name,
        "records": index.count(Query(include_passages=False)),
        "kinds": _kinds(index),
        "replaced": index.count(everything) - index.count(Query(include_secret=True)),
        "over": sum(is_over(each, now_of(parts.clock)) for each in library.timed()),
        "documents": len(library.listing().documents),
        "journal": f"{library.end() / 1e6:.2f} MB",
        "index": f"{index.size() / 1e6:.2f} MB",
        "encoder": _encoder(parts),
        "vectors": index.vectors(),
        "messages": _messages(parts),
        "heartbeat": heartbeat.told(parts.notes) or "never",
        "compaction": _last_compaction(parts),
        "upkeep": schedule.told(parts.notes) or "never",
        "read only": parts.read_only,
        "paused": [
            sentence(each, parts.clock) for each in library.pauses.now(at=parts.clock.stamp())
        ],
        "ignored": [f"{name}: {key}" for name in parts.ignored for key in parts.ignored[name]],
        "troubles": [
            *filter(None, (parts.apart,)),
            *_untrusted(parts),
            *(f"{each} {MEND_UNREAD}" for each in parts.unread),
            *library.troubles.values(),
            *library.unmerged(),
            *(notice.sentence for notice in library.notices.open()),
            *late,
        ],
    }


def _kinds(index: Index) -> dict[str, int]:
    """How many memories there are of each kind, the most first: together all that a list shows."""
    found: Counter[str] = Counter()
    for tally in index.tallies(Query(include_passages=False)):
        found[tally.kind] += tally.number
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def _encoder(parts: VaultParts) -> str:
    """What makes the vectors, and where."""
    if parts.options.encoder != "auto":
        return parts.options.encoder
    made = parts.index.vectors()
    strong, most = made.get(minilm.MODEL, 0), max(made.values(), default=0)
    if not minilm.is_there():
        return "static; the extra embeddings, which made others, is gone" if strong else "static"
    if strong < most:
        return "static until a server or 'commonplace rebuild' has made all vectors of minilm"
    return "minilm in servers, static in commands and hooks"


def _untrusted(parts: VaultParts) -> list[str]:
    """What the vault's own files set that does not count, and how to let it."""
    said = parts.distrusted
    return [f"{said} '{command_for(parts.root)}' shows and trusts it."] if said else []


def _messages(parts: VaultParts) -> int | str:
    """How many messages there are, or why that cannot be told."""
    try:
        return parts.history().count() if parts.has_history() else 0
    except VaultTrouble as error:
        return error.what


def _last_compaction(parts: VaultParts) -> str:
    last = last_report(parts.notes)
    said = described(last, parts.clock.day_of) if last else "none yet"
    if parts.options.summarizer != "openai":
        return said
    tokens = tokens_of(parts.notes, parts.options, parts.clock)
    return f"{said}; {tokens.spent():,} of {tokens.limit:,} tokens today"
