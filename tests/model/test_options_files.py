"""Files of options that are broken, or no plain files: who asks is told which, and where."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.doors.admin.doctor import examine
from commonplace.doors.admin.init import begin
from commonplace.doors.cli.main import main as cli
from commonplace.memory import Memory
from commonplace.model.errors import BadOption
from commonplace.storage.option_files import load
from commonplace.storage.trusted import all_trusted

FILE = "commonplace.toml"
NO_TOML: dict[str, tuple[bytes, str]] = {
    "no value": (b"a = = 2\n", "line 1"),
    "an empty value": (b'dialect = "native"\n\ntext_limit = \n', "line 3"),
    "an open text": (b'dialect = "native\n', "line 1"),
    "not UTF-8": (b'dialect = "native"\nencoder_model = "\xff"\n', "line 2"),
    "a long number": (b"text_limit = " + b"9" * 5000 + b"\n", "digits"),
    "deep": (b"text_limit = " + b"[" * 100_000, "nested"),
    "long": (b"#" * (1 << 20) + b"\n", "longer than"),
}
"""Files that are no TOML, and what is said of the place."""
NO_OPTION: dict[str, tuple[bytes, str]] = {
    "a word for a number": (b'dialect = "native"\ntext_limit = "x"\n', "line 2"),
    "no such option": (b"\n\n  no_such = 1\n", "line 3"),
    "no such table": (b'dialect = "native"\n[registry]\ntoken = 1\n', "line 2"),
    "in claw's table": (b'[continuity]\nmemoryMaxRecords = "x"\n', "line 2"),
    "with claw's name": (b'\ncontinuity.memoryMaxRecords = "x"\n', "line 2"),
    "no such choice": (b'# one\n# two\ntokenizer = "guess"\n', "line 3"),
    "quoted": (b'\n"text_limit" = true\n', "line 2"),
}
"""Files that are TOML and set what can't be set."""
BROKEN = {**NO_TOML, **NO_OPTION}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.setenv("HOME", str(made))
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "COMMONPLACE_VAULT"):
        monkeypatch.delenv(name, raising=False)
    return made


def own_file(home: Path) -> Path:
    (home / ".config/commonplace").mkdir(parents=True)
    return home / ".config/commonplace" / FILE


def names_in(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("whose", ["the vault's", "the person's"])
def test_doctor_names_what_is_wrong_with_a_file_of_options_and_goes_on(
    case: str, whose: str, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, where = BROKEN[case]
    root = tmp_path / "vault"
    root.mkdir()
    (root / "linked.md").symlink_to(home)
    path = root / FILE if whose == "the vault's" else own_file(home)
    path.write_bytes(data)
    before = names_in(root)
    assert cli(["--vault", str(root), "doctor", "--json"]) == 1
    found = {each["what"]: each for each in json.loads(capsys.readouterr().out)}
    said = found["options"]
    assert (said["good"], str(path) in said["says"], where in said["says"]) == (False, True, True)
    assert said["fix"]
    assert {"python", "sqlite", "disk", "links", "trusted", "hooks"} <= set(found)
    assert "linked.md" in found["links"]["says"]
    assert names_in(root) == before


def test_doctor_names_it_also_of_a_vault_in_postgresql(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own_file(home).write_text("a = = 2\n")
    assert cli(["--vault", "postgresql://nobody@127.0.0.1:1/none", "doctor", "--json"]) == 1
    found = {each["what"]: each for each in json.loads(capsys.readouterr().out)}
    assert "line 1" in found["options"]["says"]
    assert {"python", "sqlite", "hooks"} <= set(found)


def test_doctor_goes_on_where_a_vault_cannot_be_opened(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state, root = tmp_path / "state", tmp_path / "vault"
    with Memory.open(root, create=True, state_dir=str(state)) as memory:
        memory.store("Prefers tea")
    (root / FILE).write_text(f'state_dir = "{state}"\n')
    assert cli(["--vault", str(root), "doctor", "--json"]) == 1
    found = {each["what"]: each for each in json.loads(capsys.readouterr().out)}
    assert (found["vault"]["good"], "commonplace trust" in found["vault"]["fix"]) == (False, True)
    assert {"python", "disk", "links"} <= set(found)
    assert not (root / ".commonplace").exists()


def test_doctor_has_nothing_to_say_of_a_vault_that_is_not_there(tmp_path: Path, home: Path) -> None:
    assert cli(["--vault", str(tmp_path / "nothing"), "doctor"]) == 3


@pytest.mark.parametrize("case", NO_TOML)
def test_trust_says_that_the_file_cannot_be_read_and_trusts_nothing(
    case: str, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, where = NO_TOML[case]
    (tmp_path / "vault").mkdir()
    path = tmp_path / "vault" / FILE
    path.write_bytes(data)
    assert cli(["trust", str(tmp_path / "vault"), "--yes"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"commonplace: {path} cannot be read as options: " in said.err
    assert where in said.err
    assert "Mend it in an editor" in said.err
    assert all_trusted() == []


@pytest.mark.parametrize("case", BROKEN)
def test_every_other_command_names_the_file_and_the_line(
    case: str, tmp_path: Path, home: Path
) -> None:
    data, where = BROKEN[case]
    (tmp_path / FILE).write_bytes(data)
    with pytest.raises(BadOption) as raised:
        load(tmp_path)
    assert str(tmp_path / FILE) in raised.value.what
    assert where in raised.value.what


def to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "not there")


def to_itself(path: Path) -> None:
    path.symlink_to(path)


def to_a_directory(path: Path) -> None:
    path.symlink_to("/tmp")


def to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_directory(path: Path) -> None:
    path.mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


NO_FILES: dict[Callable[[Path], None], str] = {
    to_nothing: "it is a link to nothing",
    to_itself: "it is a link to nothing",
    to_a_directory: "it is a link to no plain file",
    to_a_device: "it is a link to no plain file",
    a_directory: "it is no plain file",
    a_pipe: "it is no plain file",
}


@pytest.mark.parametrize("made", NO_FILES, ids=lambda made: made.__name__)
@pytest.mark.parametrize("whose", ["the vault's", "the person's"])
def test_a_file_of_options_that_is_no_plain_file_is_said_to_be_left_out(
    made: Callable[[Path], None],
    whose: str,
    tmp_path: Path,
    home: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = tmp_path / "vault"
    begin(root, dialect="native")
    (root / FILE).unlink()
    path = root / FILE if whose == "the vault's" else own_file(home)
    made(path)
    says = f"{path} is not read: {NO_FILES[made]}."
    with Memory.open(root) as memory:
        [found] = [each for each in examine(memory) if each.what == "options"]
        [told] = [each for each in memory.status()["troubles"] if "is not read" in each]
    assert (found.good, found.says) == (False, says)
    assert found.fix
    assert told == f"{says} {found.fix}"
    assert cli(["--vault", str(root), "search", "tea"]) == 0
    assert capsys.readouterr().err.count(says) == 1
    assert cli(["--vault", str(root), "tool", "search", '{"query": "tea"}']) == 0
    assert capsys.readouterr().err == ""


def test_a_link_to_a_plain_file_of_options_is_read(tmp_path: Path, home: Path) -> None:
    (tmp_path / "options").write_text("text_limit = 100\n")
    begin(tmp_path / "vault", dialect="native")
    (tmp_path / "vault" / FILE).unlink()
    (tmp_path / "vault" / FILE).symlink_to(tmp_path / "options")
    with Memory.open(tmp_path / "vault") as memory:
        assert memory.options.text_limit == 100
        assert not [each for each in examine(memory) if not each.good]
