"""Merges and differences of texts, line by line.

It compares lines, and knows neither records nor sections.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

WIDTH = 200
"""Characters of a line that a difference shows."""
FENCES = ("```", "~~~")
DEEPEST = 6
"""The deepest level of a heading."""


class Merge(Struct, frozen=True):
    """Two changes of one text in one, and how often they met in the same lines."""

    text: str
    conflicts: int


def merge(base: str, ours: str, theirs: str) -> Merge:
    """Both changes of `base` in one text, line by line.

    A line that either side removed is gone, and every line that either side added is there: theirs
    first where both added at the same place. Lines that both changed are a conflict, and both
    versions of them are kept.
    """
    if ours in (base, theirs):
        return Merge(theirs, 0)
    if theirs == base:
        return Merge(ours, 0)
    if len({newline_of(text) for text in (base, ours, theirs)}) > 1:
        newline = newline_of(theirs)
        base, ours, theirs = (with_newlines(text, newline) for text in (base, ours, theirs))
    old, our, their = (text.split("\n") for text in (base, ours, theirs))
    if old[-1] == our[-1] == their[-1] == "":
        # The end of the last line is no line of its own, or it would move with what is appended.
        merged, conflicts = _merge_lines(old[:-1], our[:-1], their[:-1])
        return Merge("".join(f"{line}\n" for line in merged), conflicts)
    merged, conflicts = _merge_lines(old, our, their)
    return Merge("\n".join(merged), conflicts)


def _merge_lines(old: list[str], ours: list[str], theirs: list[str]) -> tuple[list[str], int]:
    our_hunks, their_hunks = hunks(old, ours), hunks(old, theirs)
    gone = {n for hunk in (*our_hunks, *their_hunks) for n in range(hunk.start, hunk.end)}
    added = {hunk.start: hunk.lines for hunk in their_hunks}
    for hunk in our_hunks:
        added[hunk.start] = _union(added.get(hunk.start, []), hunk.lines)
    merged: list[str] = []
    for number in range(len(old) + 1):
        merged += added.get(number, ())
        if number < len(old) and number not in gone:
            merged.append(old[number])
    return _with_chapters_once(merged, ours, theirs), _conflicts(our_hunks, their_hunks)


def merged_bytes(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """The merge of texts that may hold bytes which are none."""
    texts = (data.decode("utf-8", "replace") for data in (base, ours, theirs))
    return merge(*texts).text.encode()


class Hunk(NamedTuple):
    """Lines `start` to `end` of the old text are replaced by `lines`."""

    start: int
    end: int
    lines: list[str]


def _union(first: list[str], second: list[str]) -> list[str]:
    """All of both, with what they have in common once. What is below a heading stays below it."""
    level = min(filter(None, (*_levels(first), *_levels(second))), default=0)
    if not level:
        return _woven(first, second)
    united = _chapters(first, level)
    for heading, below in _chapters(second, level).items():
        if heading in united:
            united[heading] = _spaced(united[heading], below)
        else:
            _set_off(united)
            united[heading] = below
    return [
        line
        for (title, _), below in united.items()
        for line in ((title, *below) if title else below)
    ]


def _with_chapters_once(merged: list[str], ours: list[str], theirs: list[str]) -> list[str]:
    """Put what both added below the same heading, at different places, below the first of them."""
    paths = _paths(merged)
    spare = Counter(paths) - (Counter(_paths(ours)) | Counter(_paths(theirs)))
    del spare[()]
    for path in spare:
        first, second = [n for n, each in enumerate(paths) if each == path][:2]
        end, second_end = _chapter_end(merged, first), _chapter_end(merged, second)
        below = _spaced(merged[first + 1 : end], merged[second + 1 : second_end])
        rest = merged[end:second] + merged[second_end:]
        return _with_chapters_once([*merged[: first + 1], *below, *rest], ours, theirs)
    return merged


def _paths(lines: list[str]) -> list[tuple[str, ...]]:
    """The headings above each line that is one, and itself; nothing for any other line."""
    path: list[tuple[int, str]] = []
    paths: list[tuple[str, ...]] = []
    for line, level in zip(lines, _levels(lines), strict=True):
        if level:
            path = [*(each for each in path if each[0] < level), (level, line.rstrip())]
        paths.append(tuple(title for _, title in path) if level else ())
    return paths


def _chapter_end(lines: list[str], start: int) -> int:
    """Where the chapter of the heading in line `start` ends."""
    levels = _levels(lines)
    ends = (n for n in range(start + 1, len(lines)) if 0 < levels[n] <= levels[start])
    return next(ends, len(lines))


def _spaced(first: list[str], second: list[str]) -> list[str]:
    """The union of two chapters, with the blank lines at their ends at its end."""
    blank = max(len(lines) - _text_end(lines) for lines in (first, second))
    return _union(first[: _text_end(first)], second[: _text_end(second)]) + [""] * blank


def _text_end(lines: list[str]) -> int:
    return max((n + 1 for n, line in enumerate(lines) if line.strip()), default=0)


def _levels(lines: list[str]) -> list[int]:
    """The level of each line's heading; 0 for a line that is none."""
    levels, fenced = [], False
    for line in lines:
        marks = len(line) - len(line.lstrip("#"))
        is_heading = not fenced and line[marks : marks + 1] in (" ", "\t", "")
        levels.append(marks if is_heading and marks <= DEEPEST else 0)
        fenced ^= line.startswith(FENCES)
    return levels


def _chapters(lines: list[str], level: int) -> dict[tuple[str, int], list[str]]:
    """What is below each heading of a level, by the heading and which of the same words it is.

    What is above the first heading has the key `("", 0)`.
    """
    below: list[str] = []
    chapters, seen = {("", 0): below}, Counter[str]()
    for line, marks in zip(lines, _levels(lines), strict=True):
        if marks != level:
            below.append(line)
            continue
        below = []
        chapters[line.rstrip(), seen[line.rstrip()]] = below
        seen[line.rstrip()] += 1
    return chapters


def _set_off(chapters: dict[tuple[str, int], list[str]]) -> None:
    """Put a blank line at the end of the last chapter that has lines, if there is none."""
    last = [*chapters.values()][-1]
    if last and last[-1].strip():
        last.append("")


def _woven(first: list[str], second: list[str]) -> list[str]:
    """All of both in one run of lines, with what they have in common once.

    Whole items are compared, not their lines: two items with a line in common would be woven into
    each other.
    """
    ones, others = _items(first), _items(second)
    united, at = [], 0
    for hunk in hunks(ones, others):
        united += [*ones[at : hunk.end], *hunk.lines]
        at = hunk.end
    return [line for item in united + ones[at:] for line in item.split("\n")]


def _items(lines: list[str]) -> list[str]:
    """Lines with what belongs to them: what is indented or blank below, the rest of a fence."""
    items: list[list[str]] = []
    fenced = False
    for line in lines:
        begins = bool(line.strip()) and not line[0].isspace()
        if items and (fenced or not begins):
            items[-1].append(line)
        else:
            items.append([line])
        fenced ^= begins and line.startswith(FENCES)
    return ["\n".join(item) for item in items]


def _conflicts(ours: list[Hunk], theirs: list[Hunk]) -> int:
    count = at = 0
    for hunk in ours:
        while at < len(theirs) and theirs[at].end < hunk.start:
            at += 1
        count += any(_clash(hunk, other) for other in _until(theirs, at, hunk.end))
    return count


def _until(theirs: list[Hunk], at: int, end: int) -> Iterator[Hunk]:
    while at < len(theirs) and theirs[at].start <= end:
        yield theirs[at]
        at += 1


def _clash(hunk: Hunk, other: Hunk) -> bool:
    """Whether both changed the same lines, and not in the same way."""
    if hunk == other or not (hunk.lines or other.lines):
        return False
    return max(hunk.start, other.start) < min(hunk.end, other.end) or (
        hunk.start < other.start < hunk.end or other.start < hunk.start < other.end
    )


def hunks(old: list[str], new: list[str]) -> list[Hunk]:
    """The differences between two lists of lines, in order."""
    head = alike(old, new)
    tail = alike(old[head:][::-1], new[head:][::-1])
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    if not (before and after):
        return [Hunk(head, head + len(before), after)] if before or after else []
    return _fold(_differences(before, after), head, after)


def alike(one: list[str], other: list[str]) -> int:
    """How many lines the two start with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _differences(before: list[str], after: list[str]) -> list[tuple[int, int]]:
    """Runs of lines that are removed (-1), kept (0) or added (1), with their lengths."""
    codes: dict[str, str] = {}
    for line in (*before, *after):
        if line not in codes:
            codes[line] = _character(len(codes))
    if len(codes) > CODES:
        return [(-1, len(before)), (1, len(after))]
    return runs(*("".join(map(codes.__getitem__, side)) for side in (before, after)))


def runs(before: str, after: str) -> list[tuple[int, int]]:
    """Runs of characters that are removed (-1), kept (0) or added (1), with their lengths."""
    from diff_match_patch import diff_match_patch

    engine = diff_match_patch()
    engine.Diff_Timeout = 1.0
    return [(what, len(run)) for what, run in engine.diff_main(before, after, False)]


CODES = 0x10FFFF - 0x800


def _character(number: int) -> str:
    """One character a line, none of them a surrogate."""
    number += 1
    return chr(min(number if number < 0xD800 else number + 0x800, 0x10FFFF))


def _fold(runs: list[tuple[int, int]], at: int, after: list[str]) -> list[Hunk]:
    """Hunks from runs: what is removed and added between two kept runs is one hunk."""
    found, start, taken = [], at, 0
    added: list[str] = []
    for what, length in [*runs, (0, 0)]:
        if what == 0:
            if at > start or added:
                found.append(Hunk(start, at, added))
            start = at = at + length
            added = []
            taken += length
        elif what < 0:
            at += length
        else:
            added = added + after[taken : taken + length]
            taken += length
    return found


def diff(before: str, after: str, *, limit: int = 40) -> str:
    """What changed, as a unified diff without context, of at most `limit` lines."""
    old, new = before.split("\n"), after.split("\n")
    shown: list[str] = []
    shift = 0
    for hunk in hunks(old, new):
        removed, added = old[hunk.start : hunk.end], hunk.lines
        place = hunk.start + 1
        shown.append(f"@@ -{place},{len(removed)} +{place + shift},{len(added)} @@")
        shown += [f"-{line}" for line in removed] + [f"+{line}" for line in added]
        shift += len(added) - len(removed)
    more = len(shown) - limit
    if more > 0:
        shown[limit - 1 :] = [f"… and {more + 1} more lines"]
    return "\n".join(line if len(line) <= WIDTH else line[:WIDTH] + "…" for line in shown)


def newline_of(text: str) -> str:
    """How a text breaks its lines: as it does at its last line break."""
    at = text.rfind("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def with_newlines(text: str, newline: str) -> str:
    text = text.replace("\r\n", "\n")
    return text if newline == "\n" else text.replace("\n", newline)
