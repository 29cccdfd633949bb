"""start.py, the first command of the README, with a pip and a commonplace that note what is asked.

No environment is made here: that takes a network and a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from tests.support.terminals import INTERRUPT, in_terminal

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

    def run(
        *arguments: str, lacking: str = "nothing", listed: str = "[]", vault: bool = True
    ) -> list[str]:
        for name in ("python", "commonplace"):
            program = tmp_path / name
            program.write_text(
                f'#!/bin/sh\necho "{name} $*" >> {log}\n'
                f"case \"$*\" in *{lacking}*) exit 1;; *--json*) echo '{listed}';; esac\n"
            )
            program.chmod(0o755)
        monkeypatch.setattr(start, "BIN", tmp_path)
        start.main([*arguments, *([str(tmp_path / "vault")] if vault else ())])
        return log.read_text().splitlines()

    return run


def words_of(asked: list[str], *, before: int = 3) -> list[str]:
    """The commands that commonplace was asked for, without how its vault is named."""
    return [line.split()[before] for line in asked if line.startswith("commonplace")]


def test_it_ends_by_serving_the_page(started: Started) -> None:
    asked = started()
    assert asked[0].endswith("[gateway]")
    assert words_of(asked) == ["init", "list", "remember", "search", "serve"]


def test_it_uses_the_vault_that_the_command_finds_by_itself(started: Started) -> None:
    asked = started(vault=False)
    assert words_of(asked, before=1) == ["init", "list", "remember", "search", "serve"]
    assert "--vault" not in "".join(asked)


def test_the_example_is_stored_only_where_nothing_is_remembered(started: Started) -> None:
    asked = started(listed='[{"id": "mem-1"}]')
    assert words_of(asked) == ["init", "list", "list", "serve"]


def test_it_says_what_it_does_and_what_is_next(
    started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    started("--no-serve")
    said = capsys.readouterr().out
    assert "Installing Commonplace and its packages" in said
    assert "Next: " in said


def test_without_the_packages_of_the_gateway_it_shows_the_rest(
    started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = started(lacking="gateway")
    assert words_of(asked) == ["init", "list", "remember", "search"]
    assert "[gateway]" in capsys.readouterr().out


def test_it_can_be_told_not_to_serve(started: Started) -> None:
    asked = started("--no-serve")
    assert not any("gateway" in line or "serve" in line.split() for line in asked)


@pytest.mark.parametrize("running", ["pip", "commonplace"])
def test_ctrl_c_ends_it_quietly(tmp_path: Path, running: str) -> None:
    """While it installs, and while it serves: a command that waits for the key."""
    bin_directory = tmp_path / ".venv" / "bin"
    bin_directory.mkdir(parents=True)
    (tmp_path / "start.py").write_bytes((ROOT / "start.py").read_bytes())
    waits = "trap 'exit 0' INT; echo waiting; while read -r x; do :; done"
    for name, its in {
        "python": waits if running == "pip" else "",
        "commonplace": f'case "$*" in *--json*) echo "[]";; serve) {waits};; esac',
    }.items():
        (bin_directory / name).write_text(f"#!/bin/sh\n{its}\n")
        (bin_directory / name).chmod(0o755)
    shown = in_terminal(
        f"exec {sys.executable} {tmp_path / 'start.py'}",
        environ={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        typed=[("waiting", INTERRUPT)],
    )
    assert "Traceback" not in shown.text
    assert shown.code in (0, 130)


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
