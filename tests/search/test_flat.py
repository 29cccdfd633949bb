"""The flat file of codes: a copy that is read instead of the index, never believed against it."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from zlib import crc32

import pytest

from commonplace.model.errors import ReadOnly
from commonplace.search.index import Asked, Index, Query
from commonplace.search.sqlite.index import SqliteIndex
from commonplace.search.vectors import codes, flat, table, with_numpy
from commonplace.search.vectors.cosine import code_of
from tests.contracts.in_a_file import InAFile
from tests.contracts.index import MEMORY, RANK, fill, ids, known, record

ROOT = Path(__file__).parents[2]
DIM = 64
NEAR = Query(limit=12)


class TestEveryCodeInAFlatFile(InAFile):
    """All that an index is to do, where one vector is many."""

    @pytest.fixture(autouse=True)
    def _many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(codes, "MANY", 0)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(codes, "MANY", 500)
    monkeypatch.setattr(table, "SHORTLIST", 20)
    return tmp_path / "index.db"


@pytest.fixture(params=[False, True], ids=["plain", "numpy"])
def by_numpy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    with_numpy.load()
    monkeypatch.setattr(codes.Codes, "_by_numpy", lambda _: request.param)
    return bool(request.param)


def opened(path: Path) -> SqliteIndex:
    return SqliteIndex(path, rank=RANK)


def tell(index: Index, numbers: range | list[int]) -> None:
    fill(index, *(record(number, f"t{number}") for number in numbers))


def embed(index: Index, *, model: str = "m", dim: int = 0, turn: int = 0) -> None:
    """The same text always gets the same vector of a model."""
    dim = dim or DIM
    waiting, _ = index.unembedded(model, dim=dim, limit=20_000)
    rows = [(key, _vector(f"{model}{turn}{text}", dim), 99.0) for key, text in waiting]
    index.embed(model, dim=dim, rows=rows)


def _vector(seed: str, dim: int) -> bytes:
    return Random(seed).randbytes(dim)


def answers(index: Index, query: Query = NEAR, *, model: str = "m") -> list[list[str]]:
    asked = [Asked(model, _vector(f"question {seed}", DIM), 99.0) for seed in range(4)]
    return [ids(index.nearest(each, query)) for each in asked]


def answers_without(path: Path, query: Query = NEAR, *, model: str = "m") -> list[list[str]]:
    """From a copy of the index that has no flat file beside it."""
    copy = path.parent / "copy" / path.name
    copy.parent.mkdir()
    for suffix in ("", "-wal"):
        if (file := path.with_name(path.name + suffix)).exists():
            shutil.copy(file, copy.with_name(file.name))
    index = opened(copy)
    found = answers(index, query, model=model)
    index.close()
    shutil.rmtree(copy.parent)
    return found


def flat_files(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}-codes-*"))


def pages_read(index: SqliteIndex, work: Callable[[], object]) -> int:
    """How many pages of codes are read from the index meanwhile."""
    said: list[str] = []
    with index.transaction(), index._connections.lent() as db:
        db.set_trace_callback(said.append)
        work()
        db.set_trace_callback(None)
    return len([each for each in said if each.startswith("SELECT state, sum, slots, codes")])


def filled(path: Path, count: int = 1000) -> SqliteIndex:
    index = opened(path)
    tell(index, range(count))
    embed(index)
    return index


@pytest.mark.usefixtures("by_numpy")
def test_nothing_is_read_from_the_index_that_is_in_the_file(path: Path) -> None:
    filled(path).close()
    [file] = flat_files(path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    index = opened(path)
    found: list[list[str]] = []
    assert pages_read(index, partial(_answer, index, found)) == 0
    assert found == answers_without(path)
    index.close()


@pytest.mark.usefixtures("by_numpy")
def test_only_what_changed_is_read_from_the_index(path: Path) -> None:
    writer, index = filled(path, 5000), opened(path)
    assert pages_read(index, lambda: answers(index)) == 0
    tell(writer, [number for number in range(5100) if number != 1000])
    embed(writer)
    fresh = opened(path)
    for each in (index, fresh):
        found: list[list[str]] = []
        # Keys went on to a new page, and one in the midst is gone.
        assert pages_read(each, partial(_answer, each, found)) == 2
        assert found == answers_without(path)
        each.close()
    writer.close()


@pytest.mark.usefixtures("by_numpy")
def test_a_file_that_takes_its_place_is_read_from_then_on(path: Path) -> None:
    writer, index = filled(path), opened(path)
    answers(index)
    for there in (2000, 3000):
        tell(writer, range(there))
        embed(writer)
        found: list[list[str]] = []
        assert pages_read(index, partial(_answer, index, found)) == 0
        assert found == answers_without(path)
    writer.close()
    index.close()


def _answer(index: Index, found: list[list[str]]) -> None:
    found += answers(index)


def test_fewer_vectors_are_in_no_flat_file(path: Path) -> None:
    index = filled(path, 500)
    assert (flat_files(path), len(answers(index)[0])) == ([], 12)
    tell(index, range(600))
    embed(index)
    assert len(flat_files(path)) == 1
    assert index.size() == sum(file.stat().st_size for file in path.parent.iterdir())
    index.close()


def test_an_index_in_memory_has_none(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    index = SqliteIndex(None, rank=RANK)
    tell(index, range(1000))
    embed(index)
    assert len(answers(index)[0]) == 12
    index.erase(["mem-00001"])
    assert (index.size() > 0, [*path.parent.iterdir()]) == (True, [])
    index.close()


def add_some(index: SqliteIndex, chance: Random, there: list[int]) -> None:
    there += range(max(there, default=0) + 1, max(there, default=0) + chance.randrange(2, 700))
    tell(index, there)
    embed(index)


def remove_some(index: SqliteIndex, chance: Random, there: list[int]) -> None:
    for number in chance.sample(there, chance.randrange(len(there) // 4)):
        there.remove(number)
    tell(index, there)


def erase_some(index: SqliteIndex, chance: Random, there: list[int]) -> None:
    gone = chance.sample(there, 3)
    index.erase([record(number).id for number in gone])
    for number in gone:
        there.remove(number)
    index.note(MEMORY, known=known(len(there)))


def begin_anew(index: SqliteIndex, chance: Random, there: list[int]) -> None:
    with index.anew():
        tell(index, there)
    embed(index)


def take_it_back(index: SqliteIndex, chance: Random, there: list[int]) -> None:
    class TakenBack(Exception):
        pass

    more = [*there, *range(max(there) + 1, max(there) + 400)]
    with suppress(TakenBack), index.transaction():
        tell(index, more)
        embed(index, turn=1)
        raise TakenBack
    assert index.count(Query()) == len(there)


def embed_anew(index: SqliteIndex, chance: Random, there: list[int]) -> None:
    index.keep_models(())
    embed(index, turn=chance.randrange(9))


CHANGES = (add_some, add_some, remove_some, erase_some, begin_anew, take_it_back, embed_anew)


@pytest.mark.long
@pytest.mark.parametrize("dim", [24, DIM])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("by_numpy")
def test_whatever_changes_the_answers_are_those_of_the_index_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, dim: int
) -> None:
    """In the process that writes, in one that is open, and in one that begins."""
    monkeypatch.setattr(sys.modules[__name__], "DIM", dim)
    chance, there = Random(seed), [*range(900)]
    writer, reader = opened(path), opened(path)
    add_some(writer, chance, there)
    used = 0
    for _ in range(12):
        chance.choice(CHANGES)(writer, chance, there)
        expected = answers_without(path)
        fresh = opened(path)
        assert [answers(each) for each in (writer, reader, fresh)] == [expected] * 3
        assert answers(reader, Query(limit=5, include_superseded=True)) == [
            each[:5] for each in expected
        ]
        fresh.close()
        used += len(flat_files(path))
    assert used > 4
    writer.close()
    reader.close()


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 100)


def cut_in_its_head(file: Path) -> None:
    os.truncate(file, 20)


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def lengthened(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\0" * 8)


def flipped(share: float) -> Callable[[Path], None]:
    def flip(file: Path) -> None:
        held = bytearray(file.read_bytes())
        held[int(share * (len(held) - 1))] ^= 0x10
        file.write_bytes(held)

    flip.__name__ = f"flipped at {share:.3f}"
    return flip


def made_a_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def of_another_index(file: Path) -> None:
    other = filled(file.parent / "other.db")
    other.close()
    shutil.move(flat_files(file.parent / "other.db")[0], file)


def of_another_width(file: Path) -> None:
    other = opened(file.parent / "other.db")
    tell(other, range(1000))
    embed(other, dim=2 * DIM)
    other.close()
    shutil.move(flat_files(file.parent / "other.db")[0], file)


def with_right_check(change: Callable[[bytearray], object]) -> Callable[[Path], None]:
    """As another version might write it."""

    def written(file: Path) -> None:
        held = bytearray(file.read_bytes())
        change(held)
        held[: flat.HEAD.size] = flat.HEAD.pack(flat.MAGIC, crc32(held[flat.HEAD.size :]))
        file.write_bytes(held)

    return written


@with_right_check
def laid_out_otherwise(held: bytearray) -> None:
    width, pages, total = flat.COUNTS.unpack_from(held, flat.HEAD.size)
    flat.COUNTS.pack_into(held, flat.HEAD.size, width, pages + 1, total)


@with_right_check
def without_codes(held: bytearray) -> None:
    del held[flat.DIRECTORY :]
    flat.COUNTS.pack_into(held, flat.HEAD.size, DIM // 8, 0, 0)


laid_out_otherwise.__name__ = "laid out otherwise"
without_codes.__name__ = "without codes"

DAMAGES = (
    laid_out_otherwise,
    without_codes,
    cut,
    cut_in_its_head,
    emptied,
    lengthened,
    *(flipped(share) for share in (0, 0.0005, 0.001, 0.0015, 0.002, 0.005, 0.01, 0.3, 0.9, 1)),
    made_a_directory,
    of_another_index,
    of_another_width,
)


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.usefixtures("by_numpy")
def test_a_file_of_no_use_changes_no_answer(path: Path, damage: Callable[[Path], None]) -> None:
    filled(path).close()
    expected = answers_without(path)
    [file] = flat_files(path)
    damage(file)
    index = opened(path)
    found: list[list[str]] = []
    assert pages_read(index, partial(_answer, index, found)) == 4
    assert found == expected
    index.close()


@pytest.mark.long
@pytest.mark.parametrize(
    "damage",
    [each for each in DAMAGES if each is not made_a_directory],
    ids=lambda damage: damage.__name__,
)
def test_a_file_of_no_use_is_made_anew_with_the_next_page(
    path: Path, damage: Callable[[Path], None]
) -> None:
    index = filled(path)
    [file] = flat_files(path)
    damage(file)
    tell(index, range(1030))
    embed(index)
    index.close()
    index = opened(path)
    assert pages_read(index, lambda: answers(index)) == 0
    index.close()


def test_what_is_erased_is_in_no_flat_file(path: Path) -> None:
    index = filled(path)
    code = code_of(_vector("m0t7", DIM))
    [file] = flat_files(path)
    left = file.with_name(file.name + "-new")
    left.write_bytes(file.read_bytes())  # As a process leaves it that is killed while it writes.
    assert code in file.read_bytes()
    index.erase([record(7).id])
    assert flat_files(path) == []
    tell(index, [number for number in range(1030) if number != 7])
    embed(index)
    [file] = flat_files(path)
    assert code not in file.read_bytes()
    assert answers(index) == answers_without(path)
    index.close()


def test_an_erasure_that_cannot_take_the_file_away_is_told(path: Path) -> None:
    index = filled(path)
    [file] = flat_files(path)
    made_a_directory(file)
    with pytest.raises(ReadOnly):
        index.erase([record(7).id])
    assert index.count(Query()) == 1000
    index.close()


def test_an_index_told_anew_leaves_none_of_what_it_knew(path: Path) -> None:
    index = filled(path)
    with index.anew():
        tell(index, range(10))
    assert flat_files(path) == []
    index.close()


def test_two_models_have_a_file_each_and_the_dropped_one_none(path: Path) -> None:
    index = filled(path)
    alone = answers(index)
    embed(index, model="n")
    assert len(flat_files(path)) == 2
    assert answers(index) == alone
    assert answers(index, model="n") == answers_without(path, model="n") != alone
    dropped, kept = flat_files(path)
    dropped.with_name(dropped.name + "-new").touch()
    index.keep_models(["n"])
    assert flat_files(path) == [kept]
    assert answers(index) == [[]] * 4
    assert answers(index, model="n") == answers_without(path, model="n")
    index.close()


def test_a_disk_without_room_for_it_keeps_the_vectors(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as disk:
        disk.setattr(os, "replace", full)
        index = filled(path)
    assert flat_files(path) == []
    assert (index.vectors(), answers(index)) == ({"m": 1000}, answers_without(path))
    index.close()


def test_it_is_written_seldom_while_vectors_come_one_by_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "LACKING", 10)
    index = filled(path, 40 * 256)
    [file] = flat_files(path)
    tell(index, range(44 * 256))
    written = [file.stat().st_mtime_ns]
    waiting, _ = index.unembedded("m", dim=DIM, limit=20_000)
    for key, text in waiting:
        index.embed("m", dim=DIM, rows=[(key, _vector(f"m0{text}", DIM), 99.0)])
        if file.stat().st_mtime_ns != written[-1]:
            written.append(file.stat().st_mtime_ns)
    assert (len(waiting), len(written)) == (4 * 256, 2)
    assert answers(index) == answers_without(path)
    index.close()


KILLED = """
import sys
from pathlib import Path
from commonplace.search.vectors import codes, table as nearest
from tests.search.test_flat import embed, opened, tell

codes.MANY, nearest.LACKING = 500, 10**9
index = opened(Path(sys.argv[1]))
there = int(sys.argv[2])
print("begun", flush=True)
while True:
    there += 260
    tell(index, range(there))
    embed(index)
"""


@pytest.fixture
def killed(path: Path) -> Iterator[Callable[[int, float], None]]:
    """Has a process write and write until it is killed."""
    running: list[subprocess.Popen[str]] = []

    def kill(there: int, seconds: float) -> None:
        program = [sys.executable, "-c", KILLED, str(path), str(there)]
        process = subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()

    yield kill
    for process in running:
        process.kill()
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.long
def test_a_process_that_is_killed_while_it_writes_leaves_no_wrong_answer(
    path: Path, killed: Callable[[int, float], None]
) -> None:
    index, chance = filled(path, 600), Random(5)
    there = 600
    for number in range(12):
        # The last is given the time to write something, however busy the machine is.
        killed(there, chance.uniform(0.05, 0.3) if number < 11 or there > 600 else 5)
        there = index.count(Query())
        assert answers(index) == answers_without(path)
        fresh = opened(path)
        assert answers(fresh) == answers_without(path)
        fresh.close()
    assert there > 600
    index.close()
