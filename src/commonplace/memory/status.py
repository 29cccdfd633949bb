"""Status: what a vault holds and how it is, as plain data for whoever shows it.

It does not know who asks, nor how any of it is shown.
"""

from __future__ import annotations

from typing import Any

from commonplace.library.library import Library
from commonplace.model.errors import VaultTrouble
from commonplace.opening import Stores
from commonplace.search.index import Query
from commonplace.storage.option_files import MEND_UNREAD
from commonplace.storage.trusted import command_for
from commonplace.upkeep import heartbeat, schedule
from commonplace.upkeep.compaction import reports
from commonplace.upkeep.compaction.summarizers import tokens_of


def status_of(library: Library, stores: Stores) -> dict[str, Any]:
    """The vault in a dozen lines."""
    library.refresh()
    index, everything = library.index, Query(include_superseded=True, include_secret=True)
    return {
        "vault": stores.shown,
        "dialect": library.layout.name,
        "records": index.count(Query(include_passages=False)),
        "kinds": index.kinds(),
        "replaced": index.count(everything) - index.count(Query(include_secret=True)),
        "documents": len(library.vault.listing().documents),
        "journal": f"{library.journal.end() / 1e6:.2f} MB",
        "index": f"{index.size() / 1e6:.2f} MB",
        "vectors": index.vectors(),
        "messages": _messages(stores),
        "heartbeat": heartbeat.told(stores.notes) or "never",
        "compaction": _last_compaction(stores),
        "upkeep": schedule.told(stores.notes) or "never",
        "read only": stores.read_only,
        "ignored": [f"{name}: {key}" for name in stores.ignored for key in stores.ignored[name]],
        "troubles": [
            *filter(None, (stores.apart,)),
            *_untrusted(stores),
            *(f"{each} {MEND_UNREAD}" for each in stores.unread),
            *library.troubles.values(),
            *library.unmerged(),
            *(notice.sentence for notice in library.notices.open()),
        ],
    }


def _untrusted(stores: Stores) -> list[str]:
    """What the vault's own files set that does not count, and how to let it."""
    said = stores.distrusted
    return [f"{said} '{command_for(stores.root)}' shows and trusts it."] if said else []


def _messages(stores: Stores) -> int | str:
    """How many messages there are, or why that cannot be told."""
    try:
        return stores.history().count() if stores.has_history() else 0
    except VaultTrouble as error:
        return error.what


def _last_compaction(stores: Stores) -> str:
    last = reports.last_report(stores.notes)
    said = reports.described(last, stores.clock.day_of) if last else "none yet"
    if stores.options.summarizer != "openai":
        return said
    tokens = tokens_of(stores.notes, stores.options, stores.clock)
    return f"{said}; {tokens.spent():,} of {tokens.limit:,} tokens today"
