"""Mends a text in which a power cut left runs of NUL bytes, by the text that the journal tells.

A file system may note that a file has grown before what was written is on disk.
"""

from __future__ import annotations

import re

RUN = re.compile(rb"\0+")
AROUND = (48, 16, 4)
"""Bytes before and after a run by which its place is found in the other text, if need be few."""


def is_damaged(text: bytes, told: bytes) -> bool:
    """Whether a text has runs that the told one has not, or is only the first part of that."""
    hollow = b"\0" in text and b"\0" not in told
    return hollow or (len(text) < len(told) and told.startswith(text))


def refilled(damaged: bytes, told: bytes) -> bytes:
    """The text with what stood where the runs are, as far as that is told; the rest is cut.

    Where nothing but that is damaged, what is missing at its end comes back as well.
    """
    if _is_told(damaged, told):
        return told
    pieces: list[bytes] = []
    last = 0
    for run in RUN.finditer(damaged):
        pieces += (damaged[last : run.start()], _filling(damaged, run.start(), run.end(), told))
        last = run.end()
    mended = b"".join((*pieces, damaged[last:]))
    return mended.decode("utf-8", "ignore").encode() if not _is_text(mended) else mended


def _is_told(damaged: bytes, told: bytes) -> bool:
    """Whether every byte that is left is the one that is told for its place."""
    last = 0
    for run in RUN.finditer(damaged):
        if damaged[last : run.start()] != told[last : run.start()]:
            return False
        last = run.end()
    return damaged[last:] == told[last : len(damaged)]


def _filling(damaged: bytes, start: int, end: int, told: bytes) -> bytes:
    """What stood between what is left on both sides; a line's end where that is not known."""
    before = after = b""
    for around in AROUND:
        before = damaged[max(0, start - around) : start].rpartition(b"\0")[2]
        after = damaged[end : end + around].partition(b"\0")[0]
        found = _between(before, after, end - start, told)
        if found is not None:
            return found
    apart = before and after and not before.endswith(b"\n") and not after.startswith(b"\n")
    return b"\n" if apart else b""


def _between(before: bytes, after: bytes, size: int, told: bytes) -> bytes | None:
    """As many bytes as stand between these two in a text; without the latter, at its end."""
    at = told.find(before)
    while at >= 0:
        start = at + len(before)
        rest = told[start + size :]
        if rest.startswith(after) if after else not rest:
            return told[start : start + size]
        at = told.find(before, at + 1)
    return None


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
