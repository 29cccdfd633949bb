"""test.py, with programs that note what is asked of them: which checks each form of it runs."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import conftest

ROOT = Path(__file__).parents[2]
CHECKS = ["ruff check .", "ruff format --check .", "mypy", "lint-imports"]
SPREAD = "-n 2 --dist worksteal"


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        ("", [*CHECKS, f"python -m pytest {SPREAD}"]),
        ("--quick", [*CHECKS, f"python -m pytest --quick {SPREAD}"]),
        ("--quick -k tea", ["python -m pytest --quick -k tea"]),
        ("tests/markdown/test_lines.py -x", ["python -m pytest tests/markdown/test_lines.py -x"]),
    ],
)
def test_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, runs: list[str]
) -> None:
    spec = spec_from_file_location("test_command", ROOT / "test.py")
    assert spec is not None
    assert spec.loader is not None
    command = module_from_spec(spec)
    spec.loader.exec_module(command)
    log = tmp_path / "log"
    for name in ("python", "ruff", "mypy", "lint-imports"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {log}\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(command, "BIN", tmp_path)
    monkeypatch.setattr(sys, "argv", ["test.py", *words.split()])
    command.main()
    locked, installed, *ran = log.read_text().splitlines()
    assert locked.endswith("--require-hashes -r tests/requirements.txt")
    assert installed.endswith("--no-deps --no-build-isolation -e .")
    assert ran == runs


def test_help_is_given_without_any_set_up(tmp_path: Path) -> None:
    copy = tmp_path / "test.py"
    copy.write_text((ROOT / "test.py").read_text())
    told = subprocess.run(
        [sys.executable, str(copy), "--help"], capture_output=True, text=True, check=True
    )
    assert "python3 test.py --quick" in told.stdout
    assert [each.name for each in tmp_path.iterdir()] == ["test.py"]


@pytest.mark.parametrize(
    ("name", "fixtures", "marked", "left_out"),
    [
        ("tests/test_a.py::test_b", [], False, False),
        ("tests/test_a.py::test_b[files]", ["place"], False, False),
        ("tests/test_a.py::test_b[postgres]", ["place"], False, True),
        ("tests/test_a.py::TestPostgres::test_b", [], False, True),
        ("tests/doors/page/test_shell.py::test_b", ["page", "world"], False, True),
        ("tests/test_a.py::test_b", [], True, True),
    ],
)
def test_quick_leaves_out_what_takes_long(
    name: str, fixtures: list[str], marked: bool, left_out: bool
) -> None:
    item = SimpleNamespace(
        nodeid=name,
        fixturenames=fixtures,
        get_closest_marker=lambda name: pytest.mark.long if marked else None,
    )
    assert conftest.takes_long(item) is left_out  # type: ignore[arg-type]
