"""How long a document of a notebook may get: past the cap it is condensed before more comes in.

It knows sizes, and what the window would take out by itself; not who writes.
"""

from __future__ import annotations

from commonplace.library.library import Library
from commonplace.markdown.record_lines import plain
from commonplace.model.errors import Refused
from commonplace.model.options import Options
from commonplace.upkeep import window

APART = ("archive/", "diary/")
"""Directories of documents that are in no prompt."""


def size(text: str) -> int:
    """How many characters of a text are told: what lines carry for programs is not."""
    return len(plain(text))


def set_cap(library: Library, options: Options) -> None:
    """Have a notebook's documents keep within the cap, whoever writes them."""
    if library.layout.name == "notebook" and options.document_cap:
        library.check_growth = lambda name, before, after: check(
            library, options, name, before, after
        )


def check(library: Library, options: Options, name: str, before: str, after: str) -> None:
    """Refuse what makes a document too long; one that is so already may get shorter."""
    cap, kept = options.document_cap, size(after)
    apart = name == library.layout.long_memory or name.startswith(APART)
    if not cap or apart or kept <= max(cap, size(before)):
        return
    limits = window.window_of(library.layout, options)
    if limits and name == limits.document:
        kept = size(window.without_oldest(library, after, limits))
    if kept > cap:
        raise Refused(
            f"{name} would have {kept:,} characters, and {cap:,} is the most.",
            next_step="Condense it first: use mode 'rewrite', on one section or on the whole, with "
            "what still matters in fewer words. Then append this again.",
        )
