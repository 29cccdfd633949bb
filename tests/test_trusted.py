"""The store of the vaults that a person trusted by hand."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from commonplace.trusted import Trusted, all_trusted, revoke, trust, trusted

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
    assert said == Trusted(str(vault.resolve()), os.getuid(), "k", False, AT)
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
