"""Texts of documents as an agent may be shown them, without parsing those that hide nothing.

The index knows which documents hold secret records. It does not know who asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.model.records import Sensitivity, etag_of
from commonplace.search.index import Query

if TYPE_CHECKING:
    from commonplace.library.library import Library

SAYS_SO = f'{Sensitivity.SECRET}"'
"""What stands in every line that says of itself that it is secret."""
KEPT = 64
"""How many texts are kept as they are shown."""


class Screen:
    """Screens the documents of one vault as they are now."""

    def __init__(self, library: Library) -> None:
        library.refresh()
        self._library = library
        self._known = library.index.known()
        self._level = library.index.level()
        secret = Query(
            sensitivity=Sensitivity.SECRET,
            include_secret=True,
            include_superseded=True,
            limit=1 << 30,
        )
        hits = library.index.search(secret)
        self._hiding = {place.document for hit in hits for place in hit.places}

    def shown(self, name: str, text: str) -> str:
        """The text of a document as an agent may be shown it."""
        return self._parsed(name, text) if self._may_hide(name, text) else text

    def _may_hide(self, name: str, text: str) -> bool:
        if name in self._hiding or SAYS_SO in text:
            return True
        # Written to since the index was asked: what came may be secret.
        known = self._known.get(name)
        return known is None or known.signature.size != len(text.encode())

    def _parsed(self, name: str, text: str) -> str:
        """The same, parsed once as long as neither the text nor the index changes."""
        key = (name, etag_of(text.encode()), self._level)
        kept = self._library.screened
        if key not in kept:
            while len(kept) >= KEPT:
                kept.pop(next(iter(kept)))
            kept[key] = self._library.without_secrets(name, text)
        return kept[key]
