"""Where the vaults of tests are: what must hold in files must hold in PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import skips
from tests.postgres import made_url

KINDS = ("files", "postgres")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for a `place` runs once for each kind, unless it is marked `in_files`.

    One that has places of its own, on a page or in a path, is left alone.
    """
    own = (mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "place" in metafunc.fixturenames and "place" not in own:
        in_files = metafunc.definition.get_closest_marker("in_files")
        metafunc.parametrize("place", KINDS[:1] if in_files else KINDS, indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty vault: a directory, or a URL."""
    return str(tmp_path) if request.param == "files" else made_url()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was skipped, with the commands that would run it."""
    reports = terminalreporter.getreports("skipped")
    found = skips.summary((each.nodeid, each.longrepr[2]) for each in reports)
    if found:
        terminalreporter.section("skipped")
    for line in found:
        terminalreporter.write_line(line)
