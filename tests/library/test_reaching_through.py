"""Other rooms ask the library; they do not reach through it to the stores of a vault."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import commonplace

ROOT = Path(commonplace.__file__).parent
THROUGH = re.compile(r"\blibrary\.(?:index|journal|vault)\b(?! import)")
LEFT = {
    "context/sections.py": 2,
    "doors/admin/doctor.py": 2,
    "doors/admin/migrate.py": 1,
    "doors/admin/selftest.py": 2,
    "doors/hooks/events.py": 1,
    "doors/http/api/overview.py": 1,
    "doors/http/api/records.py": 3,
    "memory/session.py": 1,
    "memory/status.py": 1,
    "memory/upkeep.py": 1,
    "tools/native.py": 1,
    "upkeep/compaction/run.py": 1,
    "upkeep/forget.py": 1,
    "upkeep/window.py": 1,
}
"""The places that still do, by file. The list may only become shorter."""


def test_nobody_reaches_through_the_library() -> None:
    found = Counter(
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT).parts[0] != "library"
        for line in path.read_text(encoding="utf-8").splitlines()
        if "commonplace.library" not in line
        for _ in THROUGH.finditer(line)
    )
    more = {name: count for name, count in found.items() if count > LEFT.get(name, 0)}
    assert more == {}, "ask the library for it: search, hit_of, read, entries, keep …"
