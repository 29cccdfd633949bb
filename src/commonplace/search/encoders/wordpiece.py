"""Words as BERT's uncased models see them, and their pieces, for text in any script."""

from __future__ import annotations

from collections.abc import Callable

LONGEST_WORD = 100
"""A longer word has no pieces: that is how the teacher was taught."""
IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def words(text: str) -> list[str]:
    """The words in small letters without accents; each sign and each ideograph is a word."""
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFD", text)
    return text.translate(LETTERS).split()


def pieces(word: str, find: Callable[[str], int], *, longest: int) -> list[int]:
    """The rows of a word's pieces, the longest first from the left; none when one is unknown.

    `find` gives the row of a piece, or -1; no piece is longer than `longest`.
    """
    found: list[int] = []
    start, size = 0, len(word)
    while start < size <= LONGEST_WORD:
        mark = "##" if start else ""
        for end in range(min(size, start + longest - len(mark)), start, -1):
            row = find(mark + word[start:end])
            if row >= 0:
                break
        else:
            return []
        found.append(row)
        start = end
    return found


class _Letters(dict[int, str]):
    """What is written for a letter, found out when the letter is first met."""

    def __missing__(self, code: int) -> str:
        written = self[code] = _written(chr(code))
        return written


LETTERS = _Letters()


def _written(letter: str) -> str:
    if letter in "\t\n\r ":
        return " "
    if letter.isascii():
        if letter.isalnum():
            return letter.lower()
        return f" {letter} " if letter.isprintable() else ""
    from unicodedata import category

    kind = category(letter)
    if kind[0] == "Z":
        return " "
    if kind[0] == "C" or kind == "Mn" or letter == "\ufffd":
        return ""
    if kind[0] == "P" or any(first <= ord(letter) <= last for first, last in IDEOGRAPHS):
        return f" {letter} "
    # `lower` of a text would write a final sigma; letter by letter there is none.
    return letter.lower()
