"""Other rooms ask the library; they do not reach through it to the stores of a vault."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import commonplace

ROOT = Path(commonplace.__file__).parent
THROUGH = re.compile(r"\blibrary\.(?:index|journal|vault)\b(?! import)")


def test_nobody_reaches_through_the_library() -> None:
    found = Counter(
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT).parts[0] != "library"
        for line in path.read_text(encoding="utf-8").splitlines()
        if "commonplace.library" not in line
        for _ in THROUGH.finditer(line)
    )
    assert found == {}, "ask the library for it: search, hit_of, read, entries, keep …"
