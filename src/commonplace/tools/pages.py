"""Documents as a model reads them, for the dialects that show whole files."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.markdown import merge
from commonplace.markdown.record_lines import plain
from commonplace.memory import Memory
from commonplace.memory.documents import Document
from commonplace.model.errors import NoSuchDocument, NotFound
from commonplace.trust.neutralise import neutralise, one_line

NAMED = 20
"""How many documents an error names."""


def shown_line(line: str) -> str:
    """One line as it may be shown: plain, neutralised, and still one line."""
    return neutralise(plain(line).removesuffix("\r")).replace("\n", " ")


def written(new: str, lines: Sequence[str]) -> str:
    """A text that was made of what is shown of some lines, as it is to be written in their place.

    What shows otherwise than it is written stays as it is written, wherever it still shows.
    """
    images = [image for line in lines for image in _images(line)] or [["\n", ""]]
    found, behind, at, taken = [images[0][1]], "", 1, 0
    for what, length in merge.runs("\n".join(map(shown_line, lines)), new):
        if what < 0:
            # What hides behind a text that goes is no part of it.
            behind = images[at + length - 1][1]
        elif what > 0:
            found += (new[taken : taken + length], behind)
        else:
            found += (behind, *map("".join, images[at : at + length]))
        behind = behind if what < 0 else ""
        at += length if what <= 0 else 0
        taken += length if what >= 0 else 0
    return "".join((*found, behind))


def _images(line: str) -> list[list[str]]:
    """What each character shown of a line stands for, and what hides behind it.

    The first is the end of the line above.
    """
    images = [["\n", ""]]
    whole, at, gone = plain(line).removesuffix("\r"), 0, ""
    for what, length in merge.runs(whole, shown_line(line)):
        part, at = whole[at : at + length], at + (length if what <= 0 else 0)
        if what < 0:
            gone = part
            continue
        if what > 0:
            images += [[gone, ""], *(["", ""] for _ in range(length - 1))]
        else:
            images[-1][1] += gone
            images += [[character, ""] for character in part]
        gone = ""
    images[-1][1] += gone
    return images


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
