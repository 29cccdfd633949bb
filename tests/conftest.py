"""Where the vaults of tests are: what must hold in files must hold in PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.postgres import fresh_url

KINDS = ("files", "postgres")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for a `place` runs once for each kind, unless it is marked `in_files`."""
    if "place" in metafunc.fixturenames:
        in_files = metafunc.definition.get_closest_marker("in_files")
        metafunc.parametrize("place", KINDS[:1] if in_files else KINDS, indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a vault may be made: a directory, or a URL."""
    return str(tmp_path) if request.param == "files" else fresh_url()
