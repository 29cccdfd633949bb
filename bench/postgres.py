"""What a memory in PostgreSQL costs as the database grows, and whether it finds the same.

python bench/postgres.py [--records 100000,1000000] [--profiles 1000] [--url URL]
python bench/postgres.py --agreement FILE… [--cases 40] [--url URL]

The first profile is filled by the product itself, with texts as in bench/search.py; the others are
copies of its rows. The copies lie scattered, as if all profiles had grown at the same time. Without
a URL a server is started that ends with the run.

A busy machine makes waits longer and says little about the work: beside the waits stands the
processor time of the client and of the server together. As the machine is faster at one minute than
at another, all sizes are filled first and then measured turn by turn. `bare` is the one statement
that finds the candidates of a question, sent by itself; `said` is all that the searches of the same
round sent, sent again.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import psycopg

from commonplace.doors.admin.evaluate import CaseVault, Remembering, measured
from commonplace.memory import Memory
from commonplace.model.clock import uuid7
from commonplace.postgres import index_queries
from commonplace.search.index import Query
from question_sets import cases_in
from search import question, sentence

SESSION = 20
TOGETHER = 20
"""Records of a profile that lie side by side: those of one session come at once."""
PROFILES = 40
"""So many are asked, each with so many questions and stores in each round."""
EACH = 3
ROUNDS = 5
CUTS = (1, 5, 10)
TABLES = """select table_name, array_agg(column_name::text order by ordinal_position)
    from information_schema.columns where table_schema = current_schema()
        and table_name in (select tablename from pg_tables where schemaname = current_schema())
    group by table_name
    having bool_or(column_name = 'profile') and table_name <> 'profile_name'"""
GIN = "create index record_by_words on record using gin(words) with (fastupdate = off)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", default="100000,1000000")
    parser.add_argument("--profiles", type=int, default=1000)
    parser.add_argument("--agreement", nargs="+", type=Path)
    parser.add_argument("--cases", type=int, default=0, help="so many of each file, all without")
    parser.add_argument("--url", default="")
    given = parser.parse_args()
    url = given.url or started()
    if given.agreement:
        agreement(url, given.agreement, most=given.cases)
        return
    sizes = [grown(url, int(count), profiles=given.profiles) for count in given.records.split(",")]
    for _ in range(ROUNDS):
        for size in sizes:
            size.measure()
    found = [size.told() for size in sizes]
    for what in ("store", "search"):
        ratio = found[-1][what] / found[0][what]
        print(f"{what} at {given.records.replace(',', ' against ')}: {ratio:.2f} x (mark 1.3)")


def started() -> str:
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.support.postgres import new_server

    server = new_server("bench")
    server.stop()
    server.settings |= {
        "shared_buffers": "1GB",
        "max_wal_size": "8GB",
        "maintenance_work_mem": "1GB",
    }
    server.start()
    return server.url()


def grown(url: str, records: int, *, profiles: int) -> Size:
    """So many records in so many profiles, of which some are asked."""
    schema = f"bench{records}"
    began = time.perf_counter()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"drop schema if exists {schema} cascade")
        first = place(url, schema, 0)
        filled(first, records // profiles)
        db.execute(f"set search_path = {schema}, public")
        copied(db, profiles)
        took = time.perf_counter() - began
        size = db.execute(
            "select sum(pg_total_relation_size(c.oid)) from pg_class c "
            "join pg_namespace n on n.oid = c.relnamespace "
            "where n.nspname = %s and c.relkind = 'r'",
            (schema,),
        ).fetchall()[0][0]
    print(
        f"{records:,} records in {profiles:,} profiles: {float(size) / 1e9:.1f} GB, "
        f"filled in {took:.0f} s, load {os.getloadavg()[0]:.1f}"
    )
    chance = random.Random(5)
    chosen = chance.sample(range(1, profiles), min(PROFILES, profiles - 1))
    memories = [Memory.open(place(url, schema, number), create=True) for number in chosen]
    return Size(f"{records:,} records", memories, chance)


def place(url: str, schema: str, number: int) -> str:
    return f"{url}{'&' if '?' in url else '?'}schema={schema}&profile=p{number}"


def filled(url: str, count: int) -> None:
    """One profile as the product makes it."""
    memory = Memory.open(url, create=True)
    chance = random.Random(7)
    for start in range(0, count, SESSION):
        memory.session = f"session-{start // SESSION}"
        some = min(SESSION, count - start)
        memory.store_all({"text": sentence(chance), "kind": "fact"} for _ in range(some))
    memory.library.refresh()
    memory.library.engine.embedder.embed_all(lambda done, total: None)
    memory.close()


def copied(db: psycopg.Connection[Any], profiles: int) -> None:
    """Give every other profile the rows of the first."""
    ((first,),) = db.execute("select profile::text from profile").fetchall()
    made = [uuid7(time.time_ns() + 1_000_000 * number) for number in range(1, profiles)]
    names = [f"p{number}" for number in range(1, profiles)]
    db.execute(
        "insert into profile_name(name, profile) select * from unnest(%s::text[], %s::uuid[])",
        (names, made),
    )
    db.execute("drop index record_by_words")
    for table, columns in db.execute(TABLES).fetchall():
        copy_table(db, table, columns, first, made)
    db.execute(GIN)
    db.execute("vacuum analyze")


def copy_table(
    db: psycopg.Connection[Any], table: str, columns: Sequence[str], first: str, made: list[str]
) -> None:
    values = {name: f't."{name}"' for name in columns} | {"profile": "new.profile"}
    if table == "record":
        tag = index_queries.tag_of(first)
        own = "chr(39) || right(new.profile::text, 6)"
        values["words"] = f"replace(t.words::text, chr(39) || '{tag}', {own})::tsvector"
    order = f"order by t.key / {TOGETHER}, new.profile, t.key" if "key" in columns else ""
    db.execute(
        f"insert into {table}({', '.join(map(_quoted, columns))}) "
        f"select {', '.join(values[name] for name in columns)} "
        f"from {table} t cross join unnest(%s::uuid[]) new(profile) where t.profile = %s {order}",
        (made, first),
    )


def _quoted(name: str) -> str:
    return f'"{name}"'


class Busy:
    """Processor time of this process and of the servers that work for it."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self.pids = set()
        for memory in memories:
            database = memory.library.index._database
            self.pids.add(database.rows("select pg_backend_pid()")[0][0])

    def seconds(self) -> float:
        server = 0
        for pid in self.pids:
            server += int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
        return time.process_time() + server / 1e9


class Heard:
    """What is sent to the server while it listens, with who sent it."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self.said: list[tuple[Any, str, Any]] = []
        self._listens = False
        for memory in memories:
            self._listen_to(memory.library.index._database)

    def _listen_to(self, database: Any) -> None:
        rows = database.rows

        def heard(statement: str, arguments: Any = ()) -> Any:
            if self._listens:
                self.said.append((rows, statement, arguments))
            return rows(statement, arguments)

        database.rows = heard

    def __enter__(self) -> None:
        self.said.clear()
        self._listens = True

    def __exit__(self, *_: object) -> None:
        self._listens = False


class Size:
    """What a store and a search cost at one size, measured round by round."""

    def __init__(self, name: str, memories: Sequence[Memory], chance: random.Random) -> None:
        self.name = name
        self._memories = memories
        self._chance = chance
        self._busy = Busy(memories)
        self._asked = [question(chance) for _ in range(PROFILES * EACH)]
        for memory in memories:
            for text in self._asked[:6]:
                memory.search(text)
        engine = memories[0].library.engine
        vectors = {text: engine.asked(text)[0] for text in self._asked}
        self._heard = Heard(memories)
        self._sent = [
            (memory, statement(memory, text, vectors[text]))
            for memory, text in paired(memories, self._asked)
        ]
        self._work = {
            "store": (self._store, EACH),
            "level": (self._level, 1),
            "search": (self._search, EACH),
            "bare": (self._bare, EACH),
            "said": (self._say_again, EACH),
        }
        self._found: dict[str, list[tuple[float, float]]] = {name: [] for name in self._work}

    def _store(self) -> None:
        for memory in self._memories:
            for _ in range(EACH):
                memory.store(sentence(self._chance), kind="fact")

    def _level(self) -> None:
        for memory in self._memories:
            memory.search(self._asked[0])

    def _search(self) -> None:
        with self._heard:
            for memory, text in paired(self._memories, self._asked):
                memory.search(text)

    def _say_again(self) -> None:
        for rows, statement, arguments in self._heard.said:
            rows(statement, arguments)

    def _bare(self) -> None:
        for memory, said in self._sent:
            database = memory.library.index._database
            database.rows(said.text, {"profile": database.profile, **said.values})

    def measure(self) -> None:
        """One round."""
        for name, (run, _) in self._work.items():
            self._found[name].append(taken(run, self._busy))

    def told(self) -> dict[str, float]:
        """Print the least of the rounds; give the milliseconds of the processor."""
        print(f"{self.name}, load {os.getloadavg()[0]:.1f}")
        best = {
            name: tuple(
                min(times) / len(self._memories) / self._work[name][1] * 1e3
                for times in zip(*rounds)
            )
            for name, rounds in self._found.items()
        }
        for name, (waited, worked) in best.items():
            print(f"  {name}: processor {worked:.2f} ms, waited {waited:.2f} ms")
        for name, what in (("bare", "the bare statement"), ("said", "all that it sends")):
            ratio, waits = (best["search"][at] / best[name][at] for at in (1, 0))
            print(f"  search beside {what}: {ratio:.2f} x, by waits {waits:.2f} (mark 2)")
        for memory in self._memories:
            memory.close()
        return {name: worked for name, (_, worked) in best.items()}


def paired(memories: Sequence[Memory], asked: Sequence[str]) -> list[tuple[Memory, str]]:
    return [(memories[at % len(memories)], text) for at, text in enumerate(asked)]


def statement(memory: Memory, text: str, vector: Any) -> Any:
    tag = index_queries.tag_of(memory.library.index._database.profile)
    return index_queries.candidates(Query(text), vector, tag)


def taken(run: Callable[[], None], busy: Busy) -> tuple[float, float]:
    """Seconds that were waited, and seconds that were worked."""
    worked, began = busy.seconds(), time.perf_counter()
    run()
    return time.perf_counter() - began, busy.seconds() - worked


def agreement(url: str, files: Sequence[Path], *, most: int) -> None:
    """Ask the same of a vault in files and of one in PostgreSQL, of most cases or all."""
    remembering = Remembering()
    shared: dict[int, list[float]] = {cut: [] for cut in CUTS}
    recall: dict[str, dict[int, list[float]]] = {
        kind: {cut: [] for cut in CUTS} for kind in ("files", "postgres")
    }
    first = 0
    for file in files:
        cases = [each for each in cases_in(file) if each.questions]
        # Spread over the file, which has questions of one sort side by side.
        step = len(cases) / most if 0 < most < len(cases) else 1.0
        chosen = [cases[int(at * step)] for at in range(int(len(cases) / step))]
        for number, case in enumerate(chosen):
            with tempfile.TemporaryDirectory() as root:
                there = place(url, "agreement", 0) + f"-{file.name[:3]}-{number}"
                vaults = {
                    kind: CaseVault(case, at, remembering=remembering)
                    for kind, at in (("files", Path(root)), ("postgres", there))
                }
                for asked in case.questions:
                    answers = {kind: vault.ask(asked, 20) for kind, vault in vaults.items()}
                    one, other = answers["files"], answers["postgres"]
                    first += one[:1] == other[:1]
                    for cut in CUTS:
                        wanted = max(min(cut, len(one)), 1)
                        shared[cut].append(len({*one[:cut]} & {*other[:cut]}) / wanted)
                        for kind, ids in answers.items():
                            figures = measured(ids, asked.evidence, CUTS)
                            recall[kind][cut].append(figures[f"R@{cut}"])
                for vault in vaults.values():
                    vault.memory.close()
    count = len(shared[1])
    print(f"{count} questions")
    for cut in CUTS:
        both = ", ".join(
            f"R@{cut} {kind} {100 * statistics.mean(values[cut]):.1f}"
            for kind, values in recall.items()
        )
        print(f"first {cut}: {100 * statistics.mean(shared[cut]):.1f} % the same; {both}")


if __name__ == "__main__":
    main()
