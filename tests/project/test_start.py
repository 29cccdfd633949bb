"""start.py, the first command of the README, with a pip and a commonplace that note what is asked.

No environment is made here: that takes a network and a minute.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Started = Callable[..., list[str]]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    """Runs start.py; returns the commands that it gave."""
    spec = spec_from_file_location("start", ROOT / "start.py")
    assert spec is not None
    assert spec.loader is not None
    start = module_from_spec(spec)
    spec.loader.exec_module(start)
    log = tmp_path / "log"

    def run(*arguments: str, lacking: str = "nothing") -> list[str]:
        for name in ("python", "commonplace"):
            program = tmp_path / name
            program.write_text(
                f'#!/bin/sh\necho "{name} $*" >> {log}\ncase "$*" in *{lacking}*) exit 1;; esac\n'
            )
            program.chmod(0o755)
        monkeypatch.setattr(start, "BIN", tmp_path)
        start.main([*arguments, str(tmp_path / "vault")])
        return log.read_text().splitlines()

    return run


def test_it_ends_by_serving_the_page(started: Started) -> None:
    asked = started()
    assert asked[0].endswith("[gateway]")
    assert [line.split()[3] for line in asked[1:]] == ["init", "store", "search", "status", "serve"]


def test_without_the_packages_of_the_gateway_it_shows_the_rest(
    started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = started(lacking="gateway")
    assert [line.split()[3] for line in asked[2:]] == ["init", "store", "search", "status"]
    assert "[gateway]" in capsys.readouterr().out


def test_it_can_be_told_not_to_serve(started: Started) -> None:
    asked = started("--no-serve")
    assert not any("gateway" in line or "serve" in line.split() for line in asked)


def test_what_cannot_be_installed_ends_it(started: Started) -> None:
    with pytest.raises(SystemExit, match="could not be installed"):
        started("--no-serve", lacking="pip")


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_who_asks_for_help_gets_that_and_nothing_is_set_up(
    started: Started, capsys: pytest.CaptureFixture[str], tmp_path: Path, word: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        started(word)
    assert not ended.value.code
    assert "python3 start.py [--no-serve] [vault]" in capsys.readouterr().out
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("word", ["--no-sevre", "-x"])
def test_an_option_that_is_none_is_no_vault(started: Started, tmp_path: Path, word: str) -> None:
    with pytest.raises(SystemExit, match=f"no option {word}.*python3 start.py"):
        started(word)
    assert not (tmp_path / "log").exists()
