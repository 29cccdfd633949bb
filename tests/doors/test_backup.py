"""Backups: one file with the whole vault, found out if a byte of it is wrong, and back again."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from commonplace.doors.admin import backup_file
from commonplace.doors.admin.backup import back_up, backup_name, check_backup, restore_backup
from commonplace.doors.admin.backup_file import Manifest, Member
from commonplace.doors.admin.init import begin
from commonplace.memory import Memory
from commonplace.model.errors import AlreadyExists, Conflict, NotFound, VaultTrouble
from commonplace.storage.file_journal import FileJournal
from tests.data import EXAMPLES, example
from tests.doors.test_moving import everything, fill
from tests.support.postgres import fresh_url

WRITERS, STORES = 4, 12


def backed_up(place: str, file: Path) -> Path:
    with Memory.open(place) as memory:
        back_up(memory, file)
    return file


@pytest.fixture
def filled(tmp_path: Path) -> str:
    place = str(tmp_path / "old")
    fill(place)
    return place


@pytest.fixture
def saved(filled: str, tmp_path: Path) -> Path:
    return backed_up(filled, tmp_path / "saved.tar.gz")


def test_a_vault_comes_back_as_it_was(filled: str, saved: Path, tmp_path: Path) -> None:
    done = restore_backup(saved, str(tmp_path / "new"))
    assert done.place == str(tmp_path / "new")
    assert everything(done.place) == everything(filled)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_vault_of_every_layout_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    old = example(name, tmp_path)
    with Memory.open(old, session="monday", main=True) as memory:
        memory.conversations.record("user", "Hello")
        memory.store("Something new in it")
    file = backed_up(str(old), tmp_path / "b.tar.gz")
    done = restore_backup(file, str(tmp_path / "new"))
    assert everything(done.place) == everything(str(old))


def test_a_vault_in_postgres_is_backed_up_and_restored_too(tmp_path: Path) -> None:
    url, other = fresh_url(), fresh_url()
    fill(url)
    file = backed_up(url, tmp_path / "b.tar.gz")
    restore_backup(file, str(tmp_path / "new"))
    restore_backup(file, other)
    assert everything(url) == everything(str(tmp_path / "new")) == everything(other)


def test_the_past_works_on_after_a_restore(tmp_path: Path) -> None:
    old = str(tmp_path / "old")
    with Memory.open(old, create=True, origin="owner") as memory:
        gone = memory.store("The safe is behind the stove", kind="fact")
        memory.delete(gone.id)
        kept = memory.store("The tea is green", kind="fact")
        memory.supersede(kept.id, "The tea is black")
        ops = [each.op for each in memory.log()]
    file = backed_up(old, tmp_path / "b.tar.gz")
    assert b"behind the stove" not in gzip.decompress(file.read_bytes())
    place = restore_backup(file, str(tmp_path / "new")).place
    with Memory.open(place, origin="owner") as memory:
        assert [each.op for each in memory.log()] == ops
        memory.undo()
        assert [hit.record.text for hit in memory.search("tea", include_passages=False)] == [
            "The tea is green"
        ]
    with Memory.open(place, origin="import") as memory:
        # What was forgotten stays so.
        assert not memory.store_all([{"text": "The safe is behind the stove", "kind": "fact"}])


def test_options_come_back_and_harmful_ones_count_only_when_trusted(tmp_path: Path) -> None:
    begin(tmp_path / "old", dialect="native")
    options = tmp_path / "old/commonplace.toml"
    options.write_text('dialect = "native"\ntag_limit = 3\nsummarizer = "command"\n')
    file = backed_up(str(tmp_path / "old"), tmp_path / "b.tar.gz")
    restore_backup(file, str(tmp_path / "new"))
    assert (tmp_path / "new/commonplace.toml").read_bytes() == options.read_bytes()
    with Memory.open(tmp_path / "new") as memory:
        assert memory.options.tag_limit == 3
        assert memory.options.summarizer != "command"


def test_a_state_directory_of_the_old_vault_is_not_the_new_ones(tmp_path: Path) -> None:
    begin(tmp_path / "old", dialect="native")
    options = tmp_path / "old/commonplace.toml"
    options.write_text(f'dialect = "native"\nstate_dir = "{tmp_path}/elsewhere"\n')
    file = backed_up(str(tmp_path / "old"), tmp_path / "b.tar.gz")
    restore_backup(file, str(tmp_path / "new"))
    assert "\n# state_dir = " in (tmp_path / "new/commonplace.toml").read_text()
    with Memory.open(tmp_path / "new") as memory:
        assert memory.state == tmp_path / "new/.commonplace"
        assert not memory.parts.distrusted


def test_nobody_else_can_read_a_backup_or_what_it_becomes(saved: Path, tmp_path: Path) -> None:
    place = Path(restore_backup(saved, str(tmp_path / "new")).place)
    for path in (saved, place, *place.rglob("*")):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_any_system_can_unpack_a_backup(saved: Path, filled: str, tmp_path: Path) -> None:
    subprocess.run(["tar", "xzf", saved, "-C", tmp_path], check=True)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    for member in manifest["members"]:
        data = (tmp_path / member["name"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (member["size"], member["sha256"])
    documents = {path.name: path.read_bytes() for path in (tmp_path / "documents").rglob("*.md")}
    assert documents == {path.name: path.read_bytes() for path in Path(filled).rglob("*.md")}


def test_a_file_that_is_there_is_not_overwritten(filled: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.tar.gz"
    file.write_text("mine")
    with pytest.raises(AlreadyExists):
        backed_up(filled, file)
    assert file.read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["mine.tar.gz", "old"]


def test_a_backup_that_cannot_be_written_leaves_nothing_behind(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(VaultTrouble), Memory.open(filled) as memory:
        back_up(memory, tmp_path / "nowhere" / "b.tar.gz")

    def wrong(made: Path, *rest: Any) -> None:
        packed(made, *rest)
        made.write_bytes(made.read_bytes()[:-200])

    packed = backup_file.pack
    monkeypatch.setattr(backup_file, "pack", wrong)
    with pytest.raises(VaultTrouble, match="damaged"):
        backed_up(filled, tmp_path / "b.tar.gz")
    assert os.listdir(tmp_path) == ["old"]


def test_a_place_that_holds_something_is_refused_until_it_may_be_moved_aside(
    saved: Path, filled: str, tmp_path: Path
) -> None:
    place = tmp_path / "there"
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    with pytest.raises(Conflict, match="--replace"):
        restore_backup(saved, str(place))
    assert os.listdir(place) == ["mine.txt"]
    done = restore_backup(saved, str(place), replace=True)
    assert everything(str(place)) == everything(filled)
    assert (Path(done.moved) / "mine.txt").read_text() == "mine"
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(Conflict):
        restore_backup(saved, str(file))


def test_a_restore_that_fails_leaves_the_place_as_it_was(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> int:
        raise VaultTrouble("The disk is gone.")

    monkeypatch.setattr(FileJournal, "take_in", fail)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(VaultTrouble, match="disk is gone"):
        restore_backup(saved, str(tmp_path / "new"))
    assert sorted(os.listdir(tmp_path)) == before


def test_every_wrong_byte_and_every_cut_is_found(saved: Path, tmp_path: Path) -> None:
    whole, hurt = saved.read_bytes(), tmp_path / "hurt.tar.gz"
    for place in range(len(whole)):
        hurt.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(VaultTrouble, match="Nothing was written"):
            check_backup(hurt)
    for length in (*range(0, len(whole), 97), len(whole) - 1):
        hurt.write_bytes(whole[:length])
        with pytest.raises(VaultTrouble, match="Nothing was written"):
            check_backup(hurt)
    hurt.write_bytes(whole + b"\0")
    with pytest.raises(VaultTrouble, match="Nothing was written"):
        check_backup(hurt)


def forged(file: Path, inside: list[tuple[tarfile.TarInfo, bytes]], **said: Any) -> Path:
    """An archive with a right seal whose members are whatever is given."""
    given: dict[str, Any] = {
        "format": backup_file.FORMAT,
        "version": 1,
        "made": "2026-01-01T00:00:00.000Z",
        "by": "somebody",
        "layout": "native",
        "records": 0,
        "entries": 0,
        "messages": 0,
        "members": tuple(
            Member(info.name, info.size, hashlib.sha256(data).hexdigest()) for info, data in inside
        ),
    }
    manifest = msgspec.json.encode(Manifest(**given | said))
    packed = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        archive.addfile(plain("manifest.json", len(manifest)), io.BytesIO(manifest))
        for info, data in inside:
            archive.addfile(info, io.BytesIO(data))
    body = packed.getvalue()
    file.write_bytes(body + backup_file._seal(hashlib.sha256(body).hexdigest()))
    return file


def plain(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    return info


def link(name: str, to: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


@pytest.mark.parametrize(
    "name",
    [
        "documents/../../evil.md",
        "documents//etc/evil.md",
        "documents/.hidden.md",
        "documents/evil.sh",
        "documents/.commonplace/evil.md",
        "../evil",
        "/etc/evil",
        "versions/../../evil",
        "notes/../../evil",
        "notes/index.db",
        "index.db",
        "manifest.json",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    file = forged(tmp_path / "b.tar.gz", [(plain(name, 1), b"x")])
    with pytest.raises(VaultTrouble, match="Nothing was written"):
        restore_backup(file, str(tmp_path / "new"))
    assert os.listdir(tmp_path) == ["b.tar.gz"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(kind: bytes, tmp_path: Path) -> None:
    info = link("documents/MEMORY.md", "/etc/passwd", kind)
    file = forged(tmp_path / "b.tar.gz", [(info, b"")])
    with pytest.raises(VaultTrouble, match="not in its place"):
        restore_backup(file, str(tmp_path / "new"))
    assert os.listdir(tmp_path) == ["b.tar.gz"]


Forge = Callable[[Path], Path]


def more_than_named(file: Path) -> Path:
    return forged(file, [(plain("documents/a.md", 1), b"x")], members=())


def less_than_named(file: Path) -> Path:
    return forged(file, [], members=(Member("documents/a.md", 1, "0" * 64),))


def another_text(file: Path) -> Path:
    said = (Member("documents/a.md", 1, hashlib.sha256(b"y").hexdigest()),)
    return forged(file, [(plain("documents/a.md", 1), b"x")], members=said)


def named_twice(file: Path) -> Path:
    return forged(file, [(plain("documents/a.md", 1), b"x")] * 2)


def newer(file: Path) -> Path:
    return forged(file, [], version=99)


def of_another_layout(file: Path) -> Path:
    return forged(file, [], layout="klingon")


def no_archive(file: Path) -> Path:
    body = gzip.compress(b"no archive", mtime=0)
    file.write_bytes(body + backup_file._seal(hashlib.sha256(body).hexdigest()))
    return file


@pytest.mark.parametrize(
    "forge",
    [
        *(more_than_named, less_than_named, another_text, named_twice),
        *(newer, of_another_layout, no_archive),
    ],
)
def test_an_archive_that_is_not_what_it_says_is_refused(forge: Forge, tmp_path: Path) -> None:
    file = forge(tmp_path / "b.tar.gz")
    with pytest.raises(VaultTrouble, match="Nothing was written"):
        restore_backup(file, str(tmp_path / "new"))
    assert os.listdir(tmp_path) == ["b.tar.gz"]


def test_a_small_file_does_not_become_an_endless_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_file, "LARGEST_MANIFEST", 4096)
    info = plain("documents/a.md", 1)
    info.pax_headers = {"comment": "x" * 1_000_000}
    file = forged(tmp_path / "b.tar.gz", [(info, b"x")])
    assert file.stat().st_size < 5000
    with pytest.raises(VaultTrouble, match="more than it announces"):
        restore_backup(file, str(tmp_path / "new"))


def test_a_backup_larger_than_the_disk_is_refused_before_it_is_unpacked(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 10

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage)
    with pytest.raises(VaultTrouble, match="are free"):
        restore_backup(saved, str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_what_is_no_backup_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        check_backup(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(VaultTrouble):
            check_backup(tmp_path / name)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(VaultTrouble, match="no backup of Commonplace"):
        check_backup(tmp_path / "text")


def test_a_name_is_proposed_with_the_vault_and_the_day(filled: str) -> None:
    with Memory.open(filled) as memory:
        day = memory.clock.local(memory.clock.now()).date().isoformat()
        assert backup_name(memory).startswith(f"old-{day}-")
        assert backup_name(memory).endswith(".tar.gz")


def test_progress_goes_up_to_the_whole_and_tells_it_once(saved: Path) -> None:
    told = list[tuple[int, int]]()
    manifest = check_backup(saved, progress=lambda done, total: told.append((done, total)))
    assert told == [(manifest.bytes, manifest.bytes)]


def test_files_that_are_no_memory_are_named(filled: str, tmp_path: Path) -> None:
    (Path(filled) / "picture.png").write_bytes(b"x")
    with Memory.open(filled) as memory:
        assert back_up(memory, tmp_path / "b.tar.gz").left_out == ("picture.png",)


WRITER = """
import sys
from commonplace.memory import Memory
place, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Memory.open(place, session=name) as memory:
    for number in range(count):
        memory.store(f"{name} stores number {number}", kind="fact")
        memory.conversations.record("user", f"{name} says {number}")
        print(number, flush=True)
"""


@pytest.mark.long
def test_a_backup_among_writers_is_one_moment_of_the_vault(tmp_path: Path) -> None:
    place = tmp_path / "vault"
    begin(place, dialect="native")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(place), f"w{number}", str(STORES)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(WRITERS)
    ]
    told: list[tuple[Path, int]] = []
    with Memory.open(place) as memory:
        for number in range(STORES):
            for each in writers:
                assert each.stdout is not None
                each.stdout.readline()
            if number % 3 == 0:
                file = tmp_path / f"{number}.tar.gz"
                back_up(memory, file)
                told.append((file, number))
    for each in writers:
        assert each.wait(60) == 0
        assert each.stdout is not None
        each.stdout.close()
    assert told
    for file, acknowledged in told:
        restored = restore_backup(file, str(tmp_path / file.stem))
        with Memory.open(restored.place) as memory:
            before = memory.parts.journal.end()
            texts = {hit.record.text for hit in memory.search("", limit=500)}
            # The documents say what the journal tells: nothing had to be taken in or mended.
            assert memory.parts.journal.end() == before
            said = [each for each in memory.messages.dump() if '"user"' in each]
        for writer in range(WRITERS):
            own = {text for text in texts if text.startswith(f"w{writer} ")}
            wanted = {f"w{writer} stores number {each}" for each in range(len(own))}
            # Without a gap, and all that was acknowledged before.
            assert own == wanted
            assert len(own) > acknowledged
            assert sum(f"w{writer} says" in each for each in said) > acknowledged
