"""Where the vaults of tests are, which tests `--quick` leaves out, and what is said at the end.

What must hold in files must hold in PostgreSQL.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from commonplace.doors.caller import NOTE, VARIABLES, notes_of_user
from commonplace.search.encoders import minilm
from tests.support import skips
from tests.support.cluster_sql import SENT, watched
from tests.support.postgres import made_url

KINDS = ("files", "postgres")
FIXTURES_THAT_TAKE_LONG = {"world", "sizes", "inspector"}
"""A browser, and a client from npm."""

# No example is too slow: how long one takes hangs on what else the machine does.
settings.register_profile("whole", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=10)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out the tests that take long")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("quick" if config.getoption("quick") else "whole")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("quick"):
        config.hook.pytest_deselected(items=[item for item in items if takes_long(item)])
        items[:] = [item for item in items if not takes_long(item)]


def takes_long(item: pytest.Item) -> bool:
    """Whether a test needs a browser, a client from npm or PostgreSQL, or is marked as long."""
    fixtures = getattr(item, "fixturenames", ())
    return (
        item.get_closest_marker("long") is not None
        or not FIXTURES_THAT_TAKE_LONG.isdisjoint(fixtures)
        or "postgres" in item.nodeid.casefold()
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for a `place` runs once for each kind, unless it is marked `in_files`.

    One that has places of its own, on a page or in a path, is left alone.
    """
    own = (mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "place" in metafunc.fixturenames and "place" not in own:
        in_files = metafunc.definition.get_closest_marker("in_files")
        metafunc.parametrize("place", KINDS[:1] if in_files else KINDS, indirect=True)


@pytest.fixture(autouse=True, scope="session")
def _data_apart() -> Iterator[None]:
    """What tests trust is forgotten with them, and they are no agent's, whoever runs them."""
    with (
        tempfile.TemporaryDirectory(prefix="commonplace-data-") as directory,
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setenv("XDG_DATA_HOME", directory)
        for name in VARIABLES:
            patched.delenv(name, raising=False)
        yield


@pytest.fixture(autouse=True, scope="session")
def _static_vectors() -> Iterator[None]:
    """Vectors are the static ones, as without the extra `embeddings`; tests of MiniLM undo it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(minilm, "is_there", lambda: False)
        patched.setenv("COMMONPLACE_ENCODER", "static")
        yield


@pytest.fixture(autouse=True, scope="session")
def _statements_fit_a_cluster() -> Iterator[None]:
    """Whatever our code sends to PostgreSQL, in any test, could be sent to a cluster."""
    with watched() as sent:
        yield
    if os.environ.get(SENT):
        Path(os.environ[SENT]).write_text(json.dumps(sorted(sent)))


@pytest.fixture(autouse=True)
def _no_client_above() -> None:
    """Forget the hooks that an earlier test ran: whatever that process runs would be an agent's."""
    notes = notes_of_user()
    assert notes
    notes.remove(NOTE)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty vault: a directory, or a URL."""
    return str(tmp_path) if request.param == "files" else made_url()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was skipped, with the commands that would run it."""
    reports = terminalreporter.getreports("skipped")
    found = skips.summary((each.nodeid, each.longrepr[2]) for each in reports)
    if terminalreporter.config.getoption("quick"):
        found.append("The tests that take long were left out. Run: python3 test.py")
    if found:
        terminalreporter.section("left out")
    for line in found:
        terminalreporter.write_line(line)
