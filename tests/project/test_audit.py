"""The lock of the test environment, and what is known against the packages in it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.laws import audit
from tests.laws.audit import Audit
from tests.support.skips import library, skip

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "tests/requirements.txt").read_text(encoding="utf-8")


def pinned() -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", LOCK, re.M))


def test_what_the_project_asks_for_is_locked_in_a_version_that_it_takes() -> None:
    requirements = library("packaging.requirements")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    asked += project["project"]["optional-dependencies"]["test"]
    locked = pinned()
    for line in asked:
        requirement = requirements.Requirement(line)
        assert locked[requirement.name] in requirement.specifier, line


def test_every_package_of_the_lock_has_checksums_and_no_address() -> None:
    entries = re.split(r"\n(?=[A-Za-z0-9._-]+==)", re.sub(r"^#.*\n", "", LOCK, flags=re.M))
    assert len(entries) == len(pinned())
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.search(r"https?://|--(?:extra-)?index-url|--find-links", LOCK)


SKIPPED = {"name": "tea", "skip_reason": "not found"}
SOUND = {"name": "tea", "version": "1.0", "vulns": []}
FAULTY = {"name": "cup", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}
OPEN = {"name": "cup", "version": "2.0", "vulns": [{"id": "PYSEC-2", "fix_versions": []}]}


@pytest.mark.parametrize(
    ("packages", "said"),
    [
        ([SOUND], Audit()),
        ([SOUND, SKIPPED], Audit()),
        ([FAULTY, SKIPPED], Audit(("cup 2.0: PYSEC-1, mended in 2.1",))),
        ([OPEN], Audit(("cup 2.0: PYSEC-2, not mended yet",))),
        ([SKIPPED], Audit(why_not="none of 1 packages could be looked up: not found")),
    ],
)
def test_an_audit_that_looked_nothing_up_is_none(packages: list[Any], said: Audit) -> None:
    assert audit.python_audit({"dependencies": packages}) == said


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ({"vulnerabilities": {}}, Audit()),
        (
            {"vulnerabilities": {"tea": {"range": "<2", "severity": "high", "fixAvailable": True}}},
            Audit(("tea <2: high, mended in a newer one",)),
        ),
        ({"message": "405 Method Not Allowed"}, Audit(why_not="405 Method Not Allowed")),
    ],
)
def test_an_answer_of_npm_without_a_list_is_none(report: dict[str, Any], said: Audit) -> None:
    assert audit.page_audit(report) == said


@pytest.mark.long
@pytest.mark.parametrize("asked", [audit.of_python, audit.of_page])
def test_nothing_that_a_newer_version_mends_is_known_against_the_packages(
    asked: Callable[[], Audit],
) -> None:
    done = asked()
    if done.why_not:
        skip(f"no database of vulnerabilities: {done.why_not}", get="python -m tests.laws.audit")
    assert [each for each in done.found if "not mended" not in each] == []
