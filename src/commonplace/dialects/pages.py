"""Documents as a model reads them: what the dialects that show whole files have in common.

It does not know the tools, nor their wording.
"""

from __future__ import annotations

from commonplace.errors import NoSuchDocument, NotFound
from commonplace.lines import plain
from commonplace.memory import Document, Memory
from commonplace.safety import neutralise, one_line

NAMED = 20
"""How many documents an error names."""


def shown_line(line: str) -> str:
    """One line as it may be shown: plain, neutralised, and still one line."""
    return neutralise(plain(line).removesuffix("\r")).replace("\n", " ")


def read(memory: Memory, document: str) -> Document:
    """A document that is there; otherwise an error that names those that are."""
    try:
        return memory.read(document)
    except NoSuchDocument as error:
        raise NotFound(error.what, next_step=_listed(memory.documents())) from None


def _listed(names: list[str]) -> str:
    if not names:
        return "There are no documents yet: write one first."
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return one_line(f"There are {', '.join(names[:NAMED])}{more}.")
