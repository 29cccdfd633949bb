"""Tests that cannot run here: each says why and what would run it; the end of a run lists both."""

from __future__ import annotations

import importlib
import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NoReturn

import pytest

TO_RUN = "; to run it: "


def skip(why: str, *, get: str) -> NoReturn:
    """Skip a test that cannot run here, and say what would run it."""
    pytest.skip(f"{why}{TO_RUN}{get}", allow_module_level=True)


def unavailable(why: str, *, get: str) -> NoReturn:
    """The same for what CI must have: there the test fails."""
    if "CI" in os.environ:
        pytest.fail(why)
    skip(why, get=get)


def library(name: str) -> Any:
    """A module that the extra for tests brings."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        unavailable(f"there is no {name} here", get="pip install -e '.[test]'")


def summary(skipped: Iterable[tuple[str, str]]) -> list[str]:
    """How many tests were skipped, why, what would run them, and which they are.

    Each is given as its name and the reason of the skip.
    """
    tests: dict[str, Counter[str]] = defaultdict(Counter)
    for name, reason in skipped:
        tests[reason.removeprefix("Skipped: ")][name.partition("[")[0]] += 1
    total = sum(count.total() for count in tests.values())
    lines = [f"{total} skipped:"] if total else []
    for reason, count in sorted(tests.items()):
        why, _, run = reason.partition(TO_RUN)
        lines.append(f"  {count.total()} because {why}. Run: {run}")
        lines += [f"    {name} ({some})" for name, some in sorted(count.items())]
    if total:
        lines.append("What can be installed is, as root on Debian, by: CI=true python3 test.py")
    return lines
