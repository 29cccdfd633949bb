"""Every test that is skipped says what would run it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support import skips

TESTS = Path(__file__).parents[1]


def skips_in(path: Path) -> Iterator[str]:
    """The calls that skip, as they are written."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = ast.unparse(node.func)
            if name in ("pytest.skip", "pytest.importorskip", "pytest.mark.skipif"):
                yield f"{path.name}: {ast.unparse(node)}"


def test_no_skip_keeps_to_itself_what_would_run_the_test() -> None:
    found = [each for path in sorted(TESTS.rglob("*.py")) for each in skips_in(path)]
    assert len(found) > 1
    assert [
        each
        for each in found
        if skips.TO_RUN not in each and not each.startswith(f"{Path(skips.__file__).name}: ")
    ] == []


def test_the_end_of_a_run_counts_the_skipped_and_names_them_with_the_command() -> None:
    reason = "Skipped: there is no chromium here; to run it: apt-get install chromium"
    other = "Skipped: there is no sh; to run it: use Linux"
    skipped = [(f"tests/doors/page/test_shell.py::test_a[{number}]", reason) for number in (1, 2)]
    assert skips.summary([*skipped, ("tests/doors/test_shell.py::test_c", other)]) == [
        "3 skipped:",
        "  2 because there is no chromium here. Run: apt-get install chromium",
        "    tests/doors/page/test_shell.py::test_a (2)",
        "  1 because there is no sh. Run: use Linux",
        "    tests/doors/test_shell.py::test_c (1)",
        "What can be installed is, as root on Debian, by: CI=true python3 test.py",
    ]
    assert skips.summary([]) == []
