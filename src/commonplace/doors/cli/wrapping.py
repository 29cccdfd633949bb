"""Text within the columns of a terminal, where some letters take two of them and some none.

It does not know what the text is about.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

USUAL = 80
"""Columns where nothing tells how many there are."""
FEWEST = 20


def columns(descriptor: int = 1) -> int:
    """The columns of the terminal behind a stream, standard output unless another is named."""
    try:
        found = os.get_terminal_size(descriptor).columns
    except OSError:
        said = os.environ.get("COLUMNS", "")
        found = int(said) if said.isdecimal() else USUAL
    return max(found or USUAL, FEWEST)


def cells(text: str) -> int:
    """The columns that a text takes."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def _cells_of(letter: str) -> int:
    from unicodedata import category, east_asian_width

    if category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def padded(text: str, width: int) -> str:
    """The text with the spaces that fill its column."""
    return text + " " * (width - cells(text))


def folded(text: str, width: int) -> list[str]:
    """Lines of at most this width: broken between words, and anywhere in text without spaces."""
    lines = [""]
    for word in text.split():
        lead = f"{lines[-1]} " if lines[-1] else ""
        if cells(lead) + cells(word) <= width:
            lines[-1] = lead + word
        elif cells(word) <= width and not _has_no_spaces(word):
            lines.append(word)
        else:
            first, *more = _filled(word, width, used=cells(lead))
            lines[-1:] = [(lead + first).rstrip(), *more]
    return lines if lines[0] or len(lines) == 1 else lines[1:]


def _has_no_spaces(word: str) -> bool:
    """Whether it is of a script that breaks its lines anywhere."""
    return cells(word) > len(word)


def _filled(word: str, width: int, *, used: int) -> Iterator[str]:
    """The word in pieces: the first fills a line of which a part is used."""
    piece, room = "", width - used
    for letter in word:
        taken = _cells_of(letter)
        if taken > room and (piece or used):
            yield piece
            piece, room, used = "", width, 0
        piece, room = piece + letter, room - taken
    yield piece


def below(name: str, text: str, *, indent: int, gap: int, width: int) -> list[str]:
    """A row of a table: the name, and beside it the text in lines below each other.

    Where the terminal is too narrow for that, the text is below the name.
    """
    if width - gap < FEWEST:
        return [" " * indent + name, *(" " * (indent + 2) + x for x in folded(text, width - 4))]
    first, *more = folded(text, width - gap)
    return [padded(" " * indent + name, gap) + first, *(" " * gap + line for line in more)]
