"""Say in a tool's answer which secrets were redacted from what it was given, and what was kept.

It does not know the tools: it looks at the texts they were given as the core does before a write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from commonplace.model.options import Options
from commonplace.trust.admission import redacted

NOT_KEPT = frozenset(("id", "old_str", "path", "query", "supersedes"))
"""Arguments that name what is there; nothing of them is written."""
SHOWN_MOST = 300
"""Characters of what was kept that an answer shows."""


class Redactions(Struct, frozen=True):
    """The kinds of secrets that were redacted, and the lines they stood in, as they were kept."""

    names: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = " / ".join(self.kept)
        shown = shown if len(shown) <= SHOWN_MOST else shown[: SHOWN_MOST - 1] + "…"
        return f"Redacted before it was stored: {', '.join(self.names)}. Kept: “{shown}”"


def redactions(given: Mapping[str, Any], options: Options) -> Redactions:
    """What the core redacts from the arguments of a call that writes them."""
    names: dict[str, None] = {}
    kept: list[str] = []
    for text in _texts(given):
        clean, found = redacted(text, options)
        if found:
            names |= dict.fromkeys(secret.name for secret in found)
            kept += [line.strip() for line in clean.split("\n") if "[redacted " in line]
    return Redactions(tuple(names), tuple(kept))


def _texts(given: Mapping[str, Any]) -> list[str]:
    values = [value for name, value in given.items() if name not in NOT_KEPT]
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [item for item in items if isinstance(item, str)]
