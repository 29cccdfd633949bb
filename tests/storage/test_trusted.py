"""The store of the vaults that a person trusted by hand."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.storage.trusted import Trusted, all_trusted, lapsed, revoke, trust, trusted

AT = "2026-11-17T23:00:00.000Z"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_DATA_HOME": str(tmp_path / "data")}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    made = tmp_path / "vault"
    made.mkdir()
    return made


def test_a_vault_is_trusted_by_its_real_path_and_owner(
    tmp_path: Path, vault: Path, environ: dict[str, str]
) -> None:
    assert trusted(vault, environ=environ) is None
    said = trust(vault, keys="k", at=AT, environ=environ)
    assert said == Trusted(str(vault.resolve()), os.getuid(), "k", False, AT, said.directory)
    (tmp_path / "link").symlink_to(vault)
    assert trusted(tmp_path / "link", environ=environ) == said
    assert trusted(vault / ".." / "vault", environ=environ) == said
    assert trusted(tmp_path, environ=environ) is None
    assert trusted(vault, environ={}) is None


def test_what_another_user_wrote_or_owns_counts_for_nothing(
    tmp_path: Path, vault: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trust(vault, keys="k", at=AT, environ=environ)
    [kept] = (tmp_path / "data" / "commonplace" / "trusted").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    said = kept.read_text()
    kept.write_text(said.replace(f'"owner": {os.getuid()}', '"owner": 4711'))
    assert trusted(vault, environ=environ) is None
    kept.write_text(said)
    assert trusted(vault, environ=environ)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert trusted(vault, environ=environ) is None
    monkeypatch.undo()
    kept.rename(kept.with_name("elsewhere"))
    kept.symlink_to("elsewhere")
    assert trusted(vault, environ=environ) is None


@pytest.mark.parametrize("said", ["", "{", "[]", "{}", '"text"', "\udcff"])
def test_a_torn_file_trusts_nothing(
    tmp_path: Path, vault: Path, environ: dict[str, str], said: str
) -> None:
    trust(vault, keys="k", at=AT, environ=environ)
    [kept] = (tmp_path / "data" / "commonplace" / "trusted").iterdir()
    kept.write_bytes(os.fsencode(said))
    assert trusted(vault, environ=environ) is None
    assert all_trusted(environ) == []


def test_trust_is_listed_and_taken_back(vault: Path, environ: dict[str, str]) -> None:
    shared = trust(vault, keys="k", shared=True, at=AT, environ=environ)
    assert all_trusted(environ) == [shared]
    assert revoke(vault, environ=environ)
    assert not revoke(vault, environ=environ)
    assert all_trusted(environ) == []
    assert trusted(vault, environ=environ) is None


def _moved_aside(vault: Path) -> None:
    vault.rename(vault.with_name("aside"))


@pytest.mark.parametrize("away", [Path.rmdir, _moved_aside])
def test_another_directory_at_a_trusted_path_is_not_trusted(
    vault: Path, environ: dict[str, str], away: Callable[[Path], None]
) -> None:
    said = trust(vault, keys="k", at=AT, environ=environ)
    (vault / "note.md").write_text("x")
    (vault / "note.md").unlink()
    vault.chmod(0o750)
    assert trusted(vault, environ=environ) == said
    away(vault)
    assert trusted(vault, environ=environ) is None
    vault.mkdir()
    assert trusted(vault, environ=environ) is None
    assert "another directory" in lapsed(vault, environ=environ)
    trust(vault, keys="k", at=AT, environ=environ)
    assert trusted(vault, environ=environ)
    assert lapsed(vault, environ=environ) == ""


def test_what_was_trusted_before_directories_were_remembered_stays_so(
    tmp_path: Path, vault: Path, environ: dict[str, str]
) -> None:
    trust(vault, keys="k", at=AT, environ=environ)
    [kept] = (tmp_path / "data" / "commonplace" / "trusted").iterdir()
    said = json.loads(kept.read_text())
    del said["directory"]
    kept.write_text(json.dumps(said))
    vault.rmdir()
    vault.mkdir()
    assert trusted(vault, environ=environ)


@pytest.mark.parametrize("instead", ["nothing", "a link to another", "a directory"])
def test_trust_is_taken_back_by_the_path_that_is_listed(
    tmp_path: Path, vault: Path, environ: dict[str, str], instead: str
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    kept = trust(other, keys="", at=AT, environ=environ)
    trust(vault, keys="", at=AT, environ=environ)
    vault.rmdir()
    if instead == "a link to another":
        vault.symlink_to(other)
    if instead == "a directory":
        vault.mkdir()
    assert revoke(vault, environ=environ)
    assert all_trusted(environ) == [kept]


def _trusting(root: str, number: int, environ: dict[str, str]) -> None:
    trust(f"{root}/{number}", keys=str(number), at=AT, environ=environ)
    trust(f"{root}/all", keys=str(number), at=AT, environ=environ)


def test_many_that_trust_at_once_are_all_remembered(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    numbers = range(24)
    for name in [*map(str, numbers), "all"]:
        (tmp_path / name).mkdir()
    with multiprocessing.get_context("fork").Pool(8) as pool:
        pool.starmap(_trusting, [(str(tmp_path), number, environ) for number in numbers])
    for number in numbers:
        found = trusted(tmp_path / str(number), environ=environ)
        assert found
        assert found.keys == str(number)
    last = trusted(tmp_path / "all", environ=environ)
    assert last
    assert last.keys in map(str, numbers)
    assert len(all_trusted(environ)) == len(numbers) + 1
    assert len(os.listdir(tmp_path / "data" / "commonplace" / "trusted")) == len(numbers) + 1
