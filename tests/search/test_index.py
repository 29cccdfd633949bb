"""The SQLite index: the contract, and what only a file can go through."""

from __future__ import annotations

import gc
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from commonplace.model.errors import DiskFull, ReadOnly, StrangeFile, VaultTrouble
from commonplace.model.records import Record
from commonplace.search.filters import fits
from commonplace.search.index import BEST, Index, Query
from commonplace.search.sqlite import row_cache
from commonplace.search.sqlite.index import BATCH, SqliteIndex
from commonplace.search.vectors import codes, table, with_numpy
from tests.contracts.in_a_file import InAFile
from tests.contracts.index import (
    DAILY,
    MEMORY,
    OTHER,
    RANK,
    IndexContract,
    asked,
    embed,
    fill,
    found,
    ids,
    known,
    record,
    waiting_for,
)

ROOT = Path(__file__).parents[2]


class TestInMemory(IndexContract):
    def fresh(self) -> Index:
        return SqliteIndex(None, rank=RANK)


class TestInAFile(InAFile):
    """The contract, in a file."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


def opened(path: Path | None) -> SqliteIndex:
    return SqliteIndex(path, rank=RANK)


def bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def test_an_index_is_there_when_it_is_opened_again(path: Path) -> None:
    first = opened(path)
    fill(first, record(1, "quince"), record(2))
    first.set_level(7)
    before = first.dump()
    first.close()
    again = opened(path)
    assert (again.dump(), again.level(), found(again, "quince")) == (before, 7, ["mem-00001"])
    again.close()


def test_a_closed_index_opens_when_it_is_used(path: Path) -> None:
    index = opened(path)
    index.close()
    fill(index, record(1))
    index.close()
    assert found(index) == ["mem-00001"]
    index.close()


def test_only_its_owner_can_read_the_files(path: Path) -> None:
    index = opened(path)
    fill(index, record(1))
    modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {0o600}
    index.close()


def test_no_byte_of_erased_records_is_left(path: Path) -> None:
    index = opened(path)
    records = [record(number, f"common words secretive{number}x end") for number in range(2000)]
    erased = [each for each in records if int(each.id[-5:]) % 16 == 3]
    fill(index, *records[:1000])
    for line, each in enumerate(records[1000:], 1001):
        index.add(MEMORY, [(each, line)], known=known(line))
    fill(index, *records[500:1500], document=DAILY)
    # Some were taken out before: their words are still in old segments.
    fill(index, *(each for each in records if each not in erased[:20]))
    keys, _ = index.unembedded("m", dim=9, limit=2000)
    index.embed("m", dim=9, rows=[(key, text[13:].encode()[:9], 1.0) for key, text in keys])
    assert all(
        f"secretive{each.id[-3:].lstrip('0')}x".encode() in bytes_of(path) for each in erased[60:70]
    )
    index.erase(each.id for each in erased)
    kept = bytes_of(path)
    assert len(erased) == 125
    assert not [each for each in erased if each.text[13:-4].encode() in kept]
    assert not [each for each in erased if each.id.encode() in kept]
    assert (index.count(Query()), index.healthy()) == (1875, "")
    index.close()
    assert not [each for each in erased if each.text[13:-4].encode() in bytes_of(path)]


def test_an_erasure_inside_a_transaction_is_finished_with_it(path: Path) -> None:
    index = opened(path)
    fill(index, record(1, "quincequince"), record(2))
    with index.transaction():
        index.erase(["mem-00001"])
        fill(index, record(2))
    assert b"quincequince" not in bytes_of(path)
    index.close()


def test_an_erasure_that_another_program_holds_up_is_told(path: Path) -> None:
    index = opened(path)
    fill(index, record(1, "quincequince"), record(2))
    with index._connections.lent() as db:
        db.execute("PRAGMA busy_timeout = 1")
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM records").fetchall()
    with pytest.raises(VaultTrouble, match="another program"):
        index.erase(["mem-00001"])
    reader.close()
    assert found(index) == ["mem-00002"]
    index.erase(["mem-00001"])
    assert b"quincequince" not in bytes_of(path)
    index.close()


def test_threads_write_and_read_side_by_side(path: Path) -> None:
    index = opened(path)

    def work(number: int) -> None:
        for line in range(1, 101):
            told = record(number * 1000 + line, f"thread{number} word{line}")
            index.add(f"notes/{number}.md", [(told, line)], known=known(line))
            assert told.id in found(index, f"word{line}", limit=1000)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert (index.count(Query()), index.healthy()) == (400, "")
    index.close()


def test_threads_share_an_index_in_memory() -> None:
    index = opened(None)

    def work(number: int) -> None:
        for line in range(1, 101):
            with index.transaction():
                told = record(number * 1000 + line, f"thread{number}")
                index.add(f"notes/{number}.md", [(told, line)], known=known(line))
                index.set_level(index.level() + 1)
            index.search(Query(f"thread{number}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert (index.count(Query()), index.level(), index.healthy()) == (400, 400, "")
    index.close()


WRITER = """
import sys
from pathlib import Path
from tests.contracts.index import RANK, known, record
from commonplace.search.sqlite.index import SqliteIndex

index = SqliteIndex(Path(sys.argv[1]), rank=RANK)
number = int(sys.argv[2])
for line in range(1, 201):
    with index.transaction():
        told = record(number * 1000 + line, f"process{number} word{line}")
        index.add(f"notes/{number}.md", [(told, line)], known=known(line))
        index.set_level(index.level() + 1)
index.close()
"""


def test_processes_write_side_by_side_from_the_first_moment(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)], env=environment)
        for number in range(3)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    index = opened(path)
    assert (index.level(), index.count(Query()), index.healthy()) == (600, 600, "")
    assert index.count(Query("word7")) == 3
    index.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here; to run it: use Linux")
def test_a_forked_child_and_its_parent_go_on(path: Path) -> None:
    index = opened(path)
    fill(index, record(1, "before"))
    child = in_child(lambda: fill_each(index, range(10, 60)))
    fill_each(index, range(100, 150))
    index.close()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (index.count(Query()), index.healthy()) == (101, "")
    index.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here; to run it: use Linux")
def test_a_child_forked_inside_a_transaction_is_not_in_it(path: Path) -> None:
    index = opened(path)
    with index.transaction():
        fill(index, record(1))
        child = in_child(lambda: index.count(Query()) and os._exit(3))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert index.count(Query()) == 1
    index.close()


def fill_each(index: Index, numbers: range) -> None:
    for number in numbers:
        fill(index, record(number), document=f"notes/{number}.md")


def in_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


def not_a_database(path: Path) -> None:
    path.write_bytes(b"this was never a database " * 200)


def another_version(path: Path) -> None:
    opened(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()


def another_program(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE records(mine)")
    db.close()


def overwritten_within(path: Path) -> None:
    index = opened(path)
    fill(index, *(record(number) for number in range(500)))
    index.close()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 4000)


def without_its_log(path: Path) -> None:
    index = opened(path)
    fill(index, record(1))
    log = Path(f"{path}-wal").read_bytes()
    index.close()
    path.unlink()
    Path(f"{path}-wal").write_bytes(log)


@pytest.mark.parametrize(
    "damage",
    [not_a_database, another_version, another_program, overwritten_within, without_its_log],
)
def test_a_file_of_no_use_is_made_anew(path: Path, damage: Callable[[Path], None]) -> None:
    damage(path)
    index = opened(path)
    assert (index.level(), index.mark(), index.dump()) == (0, "", [])
    fill(index, record(1, "quince"))
    assert (found(index, "quince"), index.healthy()) == (["mem-00001"], "")
    index.close()


def test_damage_met_on_the_way_is_told_and_the_next_call_starts_anew(path: Path) -> None:
    index = opened(path)
    fill(index, *(record(number, f"word{number} " * 20) for number in range(2000)))
    index.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (size - 8192))
    index = opened(path)
    with pytest.raises(VaultTrouble, match="damaged"):
        index.search(Query("word7"))
    assert (index.level(), index.search(Query("word7")), index.healthy()) == (0, [], "")
    index.close()


@pytest.mark.long
@pytest.mark.parametrize(
    "damage",
    [
        "codes = zeroblob(length(codes))",
        "slots = zeroblob(length(slots))",
        "codes = substr(codes, 2)",
        "slots = x'', codes = x''",
        "sum = sum + 1",
    ],
)
def test_damaged_codes_hide_nothing_and_are_made_anew(path: Path, damage: str) -> None:
    index = opened(path)
    texts = {f"t{number}": (100, number - 300) for number in range(600)}
    fill(index, *(record(number, text) for number, text in enumerate(texts)))
    embed(index, "m", texts)
    before, near = index.dump_vectors(), Query(limit=5)
    expected = ids(index.nearest(asked("m", 1, 1), near))
    index.close()
    with sqlite3.connect(path) as db:
        assert db.execute(f"UPDATE codes SET {damage}").rowcount == 3
    db.close()
    index = opened(path)
    assert ids(index.nearest(asked("m", 1, 1), near)) == expected
    assert index.dump_vectors() == before
    index.close()


@pytest.mark.parametrize("dim", [24, 64])
@pytest.mark.parametrize("by_numpy", [False, True])
def test_codes_that_rested_find_what_they_found_before_and_what_is_new(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, by_numpy: bool, dim: int
) -> None:
    with_numpy.load()
    monkeypatch.setattr(codes.Codes, "by_numpy", lambda _: by_numpy)
    monkeypatch.setattr(table, "SHORTLIST", 20)
    index = opened(path)
    chance = Random(1)
    vectors = {f"t{number}": chance.randbytes(dim) for number in range(1300)}
    records = [record(number, text) for number, text in enumerate(vectors)]
    near, question = Query(limit=12), asked("m", *([3, -1, 2, 5] * (dim // 4)))
    for there in (1200, 1300, 700):
        fill(index, *records[:there])
        waiting, _ = index.unembedded("m", dim=dim, limit=1300)
        index.embed("m", dim=dim, rows=[(key, vectors[text], 99.0) for key, text in waiting])
        fresh = opened(path)
        with monkeypatch.context() as plainly:
            plainly.setattr(codes.Codes, "by_numpy", lambda _: False)
            expected = ids(fresh.nearest(question, near))
        fresh.close()
        for _ in range(3):
            assert ids(index.nearest(question, near)) == expected
    index.close()


TEA = record(1, "tea of the day")


def tell_all_anew(index: Index) -> None:
    with index.anew():
        fill(index, record(3))
        index.set_mark("new")


def give_its_key_to_another(index: Index) -> None:
    index.erase([TEA.id])
    fill(index, record(4, "tea again"))


def tell(*numbers: int, session: str = "", line: int = 1) -> Callable[[Index], None]:
    told = [record(number, "tea", session=session) for number in numbers]
    return lambda index: index.add(
        MEMORY, [(each, at) for at, each in enumerate(told, line)], known=known()
    )


CHANGES: dict[str, Callable[[Index], None]] = {
    "a place more": lambda index: fill(index, TEA, document=OTHER),
    "a place less": lambda index: index.drop(DAILY),
    "a successor": lambda index: index.add(
        OTHER, [(record(2, "coffee", supersedes=TEA.id), 1)], known=known()
    ),
    "another text": lambda index: fill(index, record(1, "tea of the night"), document=MEMORY),
    "erased": lambda index: index.erase([TEA.id]),
    "all told anew": tell_all_anew,
    "its key for another": give_its_key_to_another,
}


@pytest.mark.parametrize("by_another", [False, True])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_was_seen_before_is_not_told_after_it_changed(
    path: Path, change: Callable[[Index], None], *, by_another: bool
) -> None:
    index, other = opened(path), opened(path)
    index.set_mark("first")
    fill(index, TEA)
    fill(index, TEA, document=DAILY)
    query = Query("tea", include_superseded=True)
    before = index.candidates(query)
    assert [each.within for each in before] == [DAILY]
    change(other if by_another else index)
    fresh = opened(path)
    expected = fresh.candidates(query)
    assert index.candidates(query) == expected != before
    for each in (index, other, fresh):
        each.close()


@pytest.mark.parametrize(("session", "number", "line"), [("", 10, 5), ("s", 6, 8)])
def test_what_stood_side_by_side_does_not_when_something_comes_between(
    path: Path, session: str, number: int, line: int
) -> None:
    index = opened(path)
    index.set_mark("first")
    tell(2, 4, session=session, line=2)(index)
    tell(8, session=session, line=6)(index)
    query = Query("tea")

    def beside() -> list[tuple[int, int, int]]:
        fresh = opened(path)
        assert sorted(index.candidates(query)) == sorted(fresh.candidates(query))
        fresh.close()
        return [(each.before, each.key, each.after) for each in sorted(index.candidates(query))]

    assert beside() == [(0, 1, 2), (1, 2, 3), (2, 3, 0)]
    tell(9, session=session, line=7)(index)
    assert beside() == [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 0)]
    # In the middle of the document, or at its end with a time in the middle of the session.
    tell(number, session=session, line=line)(index)
    assert beside() == [(0, 1, 2), (1, 2, 5), (5, 3, 4), (3, 4, 0), (2, 5, 3)]
    index.close()


def test_no_more_is_kept_than_there_is_room_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_cache, "MOST", 5)
    index = opened(path)
    index.set_mark("first")
    texts = ["tea"] * 10 + ["coffee"] * 10
    fill(index, *(record(at, text, session=text) for at, text in enumerate(texts)))
    for word in ("tea", "coffee", "tea"):
        query = Query(word)
        found = index.candidates(query)
        assert {each.text for each in found} == {word}
        kept = index._cache._kept
        # The first and the last of a session have nothing on one side yet.
        assert (len(kept._rows[False, False, True, ()]), len(kept._neighbours)) == (10, 8)
    index.close()


def test_rows_that_were_read_are_not_read_again_because_others_were_added(path: Path) -> None:
    index = opened(path)
    index.set_mark("first")
    read: list[str] = []
    with index._connections.lent() as db:
        db.set_trace_callback(read.append)
    for number in range(3):
        told = record(number, "tea")
        index.add(MEMORY, [(told, number + 1)], known=known())
        index.candidates(Query("tea"))
    wanted = [each for each in read if "r.text" in each]
    assert [each.split("json_each('")[1].split("'")[0] for each in wanted] == ["[1]", "[2]", "[3]"]
    index.close()


VERY_MANY = """
import sys
from pathlib import Path
from tests.contracts.index import RANK, asked, embed, fill, record
from commonplace.search.index import Query; from commonplace.search.vectors import codes
from commonplace.search.sqlite.index import SqliteIndex

codes.MANY = int(sys.argv[1])
index = SqliteIndex(None, rank=RANK)
texts = {f"t{number}": (100, number) for number in range(30)}
fill(index, *(record(number, text) for number, text in enumerate(texts)))
embed(index, "m", texts)
for _ in range(codes.RESTED + 1):
    print("numpy" in sys.modules)
    index.nearest(asked("m", 1, 1), Query(limit=1))
print("numpy" in sys.modules)
"""


@pytest.mark.parametrize(("many", "at_last"), [(29, True), (30, False)])
def test_numpy_is_imported_for_very_many_vectors_that_are_asked_again(
    many: int, *, at_last: bool
) -> None:
    program = [sys.executable, "-c", VERY_MANY, str(many)]
    said = subprocess.check_output(program, cwd=ROOT, text=True).split()
    assert said == [*["False"] * (codes.RESTED + 1), str(at_last)]


@pytest.mark.parametrize("at_hand", [10, 1000])
def test_vectors_in_memory_are_those_of_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, at_hand: int
) -> None:
    monkeypatch.setattr(table, "AT_HAND", at_hand)
    index, writer = opened(path), opened(path)
    fill(writer, *(record(number, f"t{number}") for number in range(60)))
    for first in (10, 50, 30):
        turned = {f"t{number}": (100, abs(number - first)) for number in range(60)}
        writer.keep_models(())
        embed(writer, "m", turned)
        for _ in range(3):
            (best,) = index.nearest(asked("m", 1, 0), Query(limit=1))
            assert best.record.text == f"t{first}"
    index.close()
    writer.close()


def test_where_telling_words_find_too_little_a_common_one_brings_the_newest(path: Path) -> None:
    index = opened(path)
    texts = ["alice saw a quokka", *(f"alice again {number}" for number in range(1200))]
    fill(index, *(record(number, text) for number, text in enumerate(texts)))
    found = [each for each in index.candidates(Query("alice quokka")) if each.words_rank >= 0]
    found.sort(key=lambda each: each.words_rank)
    assert [each.text for each in found] == [texts[0], *reversed(texts[-BEST + 1 :])]
    assert found[0].words > 1.0
    index.close()


def test_a_filter_that_few_pass_finds_them_among_many_that_match_better(path: Path) -> None:
    index = opened(path)
    better = (record(number, "alice alice") for number in range(BEST * 3))
    few = (record(900 + number, f"alice and {number}", kind="rare") for number in range(3))
    passages = (record(950 + number, "alice", kind="passage") for number in range(BEST * 3))
    fill(index, *better, *few, *passages)
    by_kind = index.candidates(Query("alice", kinds=("rare",)))
    assert sorted(each.text for each in by_kind) == ["alice and 0", "alice and 1", "alice and 2"]
    without = index.candidates(Query("alice", include_passages=False))
    assert sum(each.words_rank >= 0 for each in without) == BEST
    index.close()


def test_how_many_have_a_word_is_counted_anew_once_there_are_more(path: Path) -> None:
    index = opened(path)
    records = [record(number, f"text {number}") for number in range(1000)]
    fill(index, *records)
    never = index.rarity(["quokka"])["quokka"]
    records += [record(number, "a quokka") for number in range(1000, 1030)]
    fill(index, *records)
    assert index.rarity(["quokka"])["quokka"] < never / 2
    index.close()


def test_batches_of_vectors_go_on_where_the_last_one_ended(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "STRIDE", 8)
    monkeypatch.setattr(table, "COUNTED_ONE_BY_ONE", 10)
    index = opened(path)
    hidden = {"sensitivity": "secret"}
    fill(index, *(record(n, f"t{n}", **(hidden if n % 5 == 0 else {})) for n in range(60)))
    starts, left = [], 60
    while left:
        rows, total = index.unembedded("m", dim=1, limit=7)
        index.embed("m", dim=1, rows=[(key, b"\x01", 1.0) for key, _ in rows])
        left = total - len(rows)
        with sqlite3.connect(path) as db:
            starts += [upto for (upto,) in db.execute("SELECT upto FROM models")]
        db.close()
    assert index.vectors() == {"m": 48}
    assert starts == sorted(starts)
    assert 40 < starts[-1] < 60
    fill(index, *(record(n, f"t{n}") for n in range(60)))
    assert len(waiting_for(index, "m", dim=1)) == 12
    index.close()


def test_what_says_how_to_behave_is_found_without_a_look_at_the_rest(path: Path) -> None:
    SqliteIndex(path, rank=RANK).close()
    db = sqlite3.connect(path)
    for kinds, alone in (("preference", "correction"), True), (("preference", "fact"), False):
        condition, values = fits(Query(kinds=kinds))
        asked = f"SELECT r.id FROM records r WHERE {condition} ORDER BY r.timestamp DESC"
        plan = str(db.execute(f"EXPLAIN QUERY PLAN {asked}", values).fetchall())
        assert ("records_on_behavior" in plan) is alone
    db.close()


def test_an_index_told_anew_is_made_as_a_new_one_and_until_then_read_as_it_was(path: Path) -> None:
    def made() -> set[tuple[str, str]]:
        return set(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index'"))

    index = opened(path)
    db = sqlite3.connect(path)
    fresh = made()
    fill(index, record(1, "quince"))
    with index.anew():
        fill(index, record(2, "medlar"))
        assert made() == fresh
        assert db.execute("SELECT text FROM records").fetchall() == [("quince",)]
    assert made() == fresh
    assert db.execute("SELECT text FROM records").fetchall() == [("medlar",)]
    db.close()
    index.close()


def test_words_that_do_not_fit_the_records_are_noticed(path: Path) -> None:
    index = opened(path)
    fill(index, record(1, "quince"), record(2, "medlar"))
    index.close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE records SET text = 'rowan' WHERE id = 'mem-00001'")
    db.close()
    assert index.healthy().startswith("The words do not fit the records")
    index.close()


def test_an_index_that_is_forgotten_leaves_no_file_open(path: Path) -> None:
    index = opened(path)
    with index._connections.lent() as db:
        pass
    del index
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        db.execute("SELECT 1")


def test_a_place_that_takes_no_writes_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (Path("/proc/index.db"), tmp_path / "no" / "i.db"):
        with pytest.raises(ReadOnly):
            opened(place)
    with pytest.raises(StrangeFile, match="not a directory"):
        opened(tmp_path / "file" / "index.db")


def test_a_full_disk_is_told_and_loses_nothing(path: Path) -> None:
    index = opened(path)
    fill(index, record(1, "quince"))
    with index._connections.lent() as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(DiskFull):
        fill(index, *(record(number, "many words " * 50) for number in range(500)))
    assert (found(index, "quince"), index.count(Query())) == (["mem-00001"], 1)
    index.close()


def test_added_records_wait_for_their_words_until_somebody_asks(path: Path) -> None:
    index = opened(path)
    for line in range(1, BATCH):
        index.add(MEMORY, [(record(line, "quince"), line)], known=known(line))
    other = opened(path)
    assert other.count(Query("quince")) == BATCH - 1
    for each in (index, other):
        each.close()


def test_a_small_change_to_a_long_document_writes_little(path: Path) -> None:
    index = opened(path)
    records = [record(number, f"words of {number}") for number in range(5000)]
    fill(index, *records)
    keys = [key for key, _ in index.unembedded("m", dim=1, limit=5000)[0]]
    index.embed("m", dim=1, rows=[(key, b"\x01", 1.0) for key in keys])
    changed: list[Record] = [*records[:2500], record(2500, "other"), *records[2501:]]
    fill(index, *changed)
    assert waiting_for(index, "m", dim=1) == ["other"]
    fill(index, record(9000, "on top"), *changed)
    assert waiting_for(index, "m", dim=1) == ["other", "on top"]
    index.close()


def test_one_opening_in_a_process_leaves_the_locks_of_the_others(tmp_path: Path) -> None:
    """A descriptor closed beside SQLite's own would drop every lock of the process on the file."""
    path = tmp_path / "index.db"
    first, second = (SqliteIndex(path, rank=RANK) for _ in range(2))
    first.set_level(1)
    second.set_level(2)
    passing = (
        f"import sqlite3; sqlite3.connect({str(path)!r}).execute('SELECT * FROM places').close()"
    )
    subprocess.run([sys.executable, "-c", passing], check=True)
    first.set_level(3)
    assert second.level() == 3
    assert Path(f"{path}-wal").stat().st_size > 0
