"""The vectors in PostgreSQL: kept by model as pgvector's half-precise numbers, which is exact.

A signed byte has a half-precise number of its own, and so the cosines are those of SQLite's
index.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from commonplace.postgres.index_queries import MODEL, kept, unkept, vector_text
from commonplace.postgres.server import GRAPHS
from commonplace.search.index import Asked
from commonplace.search.rows import Row
from commonplace.search.vectors.cosine import code_of
from commonplace.search.vectors.table import COUNTED_ONE_BY_ONE, STRIDE, WITHHELD

MANY = 20_000
"""Records from which on vectors are found by a graph: to compare so many takes some 10 ms."""
EAGERNESS = 4
"""How many that had no place in the graph get theirs with each new one."""

SEEN = "l.last_key, l.records, l.position, coalesce(m.upto, 0), coalesce(m.graph, false)"
OF_MODEL = """left join model m
    on m.profile = l.profile and m.name = %(model)s and m.dim = %(dim)s"""
REACHED = "select {seen} from level l {model} where l.profile = %(profile)s"
WAITING = f"""from record r where r.profile = %(profile)s and r.key > %(upto)s
    and r.sensitivity not in ({{withheld}})
    and not exists(select 1 from embedding e
        where e.profile = %(profile)s and e.model = {MODEL} and e.key = r.key)"""
ADD_MODEL = """insert into model(profile, number, name, dim)
    select %(profile)s, coalesce(max(number), 0) + 1, %(model)s, %(dim)s
    from model where profile = %(profile)s
    on conflict (profile, name, dim) do nothing"""
SET_REACHED = """update model set upto = %(upto)s
    where profile = %(profile)s and name = %(model)s and dim = %(dim)s"""
# Asked of the tables again: another process may have dropped the vectors of this model meanwhile.
SET_COMPLETE = f"""update model m set upto = l.last_key from level l
    where m.profile = %(profile)s and m.name = %(model)s and m.dim = %(dim)s
        and l.profile = %(profile)s and not exists(
            select 1 from record r where r.profile = %(profile)s and r.key > m.upto
                and r.sensitivity not in ({WITHHELD[True]}) and not exists(
                    select 1 from embedding e where e.profile = %(profile)s
                        and e.model = m.number and e.key = r.key))"""
# One whose text is gone by now is left out.
EMBED = f"""insert into embedding(profile, model, key, norm, vector, graph)
    select %(profile)s, {MODEL}, r.key, t.norm, t.vector::halfvec, %(graph)s
    from unnest(%(keys)s::bigint[], %(norms)s::float8[], %(vectors)s::text[]) t(key, norm, vector)
    join record r on r.profile = %(profile)s and r.key = t.key
    on conflict (profile, model, key) do update
        set norm = excluded.norm, vector = excluded.vector, graph = excluded.graph"""
INTO_GRAPH = f"""update embedding set graph = %(dim)s
    where profile = %(profile)s and model = {MODEL} and key in (
        select key from embedding
        where profile = %(profile)s and model = {MODEL} and graph = 0 limit %(some)s)
    returning key"""
SET_GRAPH = """update model set graph = true
    where profile = %(profile)s and name = %(model)s and dim = %(dim)s"""
REMOVE = """delete from embedding e using model m, unnest(%(keys)s::bigint[]) t(key)
    where e.profile = %(profile)s and m.profile = %(profile)s and e.model = m.number
        and e.key = t.key and not exists(
            select 1 from record r where r.profile = %(profile)s and r.key = e.key)"""
OF_NAME = "(select number from model where profile = %(profile)s and name = %(model)s)"
NEWEST_FEW = f"""select r.key from record r
    where r.profile = %(profile)s and r.lead and r.sensitivity not in ({WITHHELD[True]})
    order by left(r.timestamp, 40) desc, r.timestamp desc, r.id desc limit %(size)s"""
OUT_OF_WINDOW = f"""delete from embedding
    where profile = %(profile)s and model in {OF_NAME} and key not in ({NEWEST_FEW})"""
IN_WINDOW = f"""select r.key, r.text from record r
    where r.profile = %(profile)s and r.key in ({NEWEST_FEW}) and not exists(
        select 1 from embedding e
        where e.profile = %(profile)s and e.model in {OF_NAME} and e.key = r.key)
    order by r.timestamp desc, r.id desc"""
COUNTED = """select m.name, count(*)
    from model m join embedding e on e.profile = m.profile and e.model = m.number
    where m.profile = %(profile)s group by m.name order by m.name"""
KEEP_ONLY = """with gone as (
    delete from model where profile = %(profile)s and name <> all(%(models)s) returning number)
delete from embedding where profile = %(profile)s and model in (select number from gone)"""
DUMPED = """select m.name, m.dim, r.id, r.digest, e.norm, e.vector::text
    from embedding e
    join model m on m.profile = e.profile and m.number = e.model
    join record r on r.profile = e.profile and r.key = e.key
    where e.profile = %(profile)s"""
TABLES = ("model", "embedding")


class PostgresVectors:
    """The vectors of one profile; none where the server can keep none."""

    def __init__(self, rows: Callable[..., list[Row]], *, can_be_kept: bool) -> None:
        self._asked = rows
        self.tables = TABLES if can_be_kept else ()
        self.records = 0
        """How many records there were at the last look."""
        self.position = 0
        """How far in the journal the index had come by then."""
        self._model = ("", 0)
        """The model and dimension that were asked for last."""
        self._threads = threading.local()
        self._in_graph: dict[tuple[str, int], bool] = {}
        """Models by whether all their vectors were in the graph at the last look."""

    def _rows(self, statement: str, **values: Any) -> list[Row]:
        return self._asked(statement, **values) if self.tables else []

    def unembedded(
        self, model: str, *, dim: int, limit: int, sensitive: bool
    ) -> tuple[list[tuple[int, str]], int, int]:
        """Texts without a vector in the order of their keys, and how many there are in all.

        Also the key up to which every text that is to have a vector has one, when that is worth
        noting, or 0.
        """
        named = {"model": kept(model), "dim": dim}
        last, upto = self._just_seen(model, dim) or self._reached(model, dim)
        if upto == last:
            return [], 0, 0
        waiting = WAITING.format(withheld=WITHHELD[sensitive])
        some = f"select r.key, r.text {waiting} order by r.key limit %(limit)s"
        rows = self._rows(some, **named, upto=upto, limit=limit)
        if not rows:
            return [], 0, last
        done, total = rows[0][0] - 1, len(rows)
        self._threads.given_all = total < limit
        if total == limit:
            total = last - done
            if total <= COUNTED_ONE_BY_ONE:
                total = self._rows(f"select count(*) {waiting}", **named, upto=done)[0][0]
        return _texts(rows), total, done if done - upto >= STRIDE else 0

    def looked(self, statement: str) -> bool:
        """Whether a question about the level has an answer.

        How far the vectors have come is seen by the way: whoever asks mostly searches next.
        """
        model, dim = self._model
        named = {"model": kept(model), "dim": dim}
        rows = self._rows(statement.format(seen=SEEN, model=OF_MODEL), **named)
        self._threads.seen = None
        if rows:
            last, self.records, position, upto, self._in_graph[model, dim] = rows[0]
            self.position = position
            self._threads.seen = (model, dim, position, last, upto)
        return bool(rows)

    def note_level(self, is_level: bool) -> None:
        """Note whether the index was level at this look, and every text had its vector."""
        seen = self._threads.seen
        self._threads.level = seen if is_level and seen[3] == seen[4] else None

    def presume(self) -> bool:
        """Take what was noted for granted until a statement tells; False when nothing was."""
        self._threads.seen = self._threads.presumed = getattr(self._threads, "level", None)
        return self._threads.presumed is not None

    def presumed(self) -> tuple[str, int, int] | None:
        """The model, its dimension and the position that are taken for granted, and no longer."""
        presumed = getattr(self._threads, "presumed", None)
        self._threads.presumed = None
        return presumed and presumed[:3]

    def _just_seen(self, model: str, dim: int) -> tuple[int, int] | None:
        """What this thread has seen just now; the next time it has to look again."""
        seen = getattr(self._threads, "seen", None)
        self._threads.seen = None
        return seen[3:] if seen and seen[:2] == (model, dim) else None

    def look_again(self) -> None:
        """What was seen is not so any more."""
        self._threads.seen = self._threads.level = None

    def _reached(self, model: str, dim: int) -> tuple[int, int]:
        """The last key, and the key up to which all records have a vector."""
        self._model = (model, dim)
        self.looked(REACHED)
        return self._just_seen(model, dim) or (0, 0)

    def in_graph(self, asked: Asked) -> bool:
        """Whether the nearest can be found by the graph."""
        return self._in_graph.get((asked.model, len(asked.vector)), False)

    def reached(self, model: str, *, dim: int, upto: int) -> None:
        """Note that every text up to this key that is to have a vector has one."""
        self._rows(ADD_MODEL, model=kept(model), dim=dim)
        self._rows(SET_REACHED, model=kept(model), dim=dim, upto=upto)

    def embed(self, model: str, dim: int, rows: Sequence[tuple[int, bytes, float]]) -> None:
        """Keep vectors; one whose text is gone by now is left out."""
        named = {"model": kept(model), "dim": dim}
        self._rows(ADD_MODEL, **named)
        self._reached(model, dim)
        many = self.records >= MANY and dim in GRAPHS
        self._rows(
            EMBED,
            **named,
            graph=dim if many else 0,
            keys=[key for key, _, _ in rows],
            norms=[norm for _, _, norm in rows],
            vectors=[vector_text(vector) for _, vector, _ in rows],
        )
        if getattr(self._threads, "given_all", False):
            # Otherwise whoever searches next would have to look, and to write it.
            self._rows(SET_COMPLETE, **named)
        if many and not self._in_graph[model, dim]:
            some = EAGERNESS * len(rows)
            if not self._rows(INTO_GRAPH, **named, some=some):
                self._rows(SET_GRAPH, **named)

    def remove(self, keys: Sequence[int]) -> None:
        """Drop the vectors of records that are gone."""
        self._rows(REMOVE, keys=keys)

    def window(self, model: str, *, size: int) -> list[tuple[int, str]]:
        """Drop the vectors of all but the newest texts; give those of these that have none."""
        self._rows(OUT_OF_WINDOW, model=kept(model), size=size)
        return _texts(self._rows(IN_WINDOW, model=kept(model), size=size))

    def keep_only(self, models: Sequence[str]) -> None:
        """Drop the vectors of every other model."""
        self._rows(KEEP_ONLY, models=[kept(name) for name in models])

    def counted(self) -> dict[str, int]:
        """How many vectors there are of each model."""
        return dict(self._rows(COUNTED))

    def dumped(self) -> list[tuple[Any, ...]]:
        """Every vector with its code, as `Index.dump_vectors` gives them."""
        return sorted(
            (*row, vector, int.from_bytes(code_of(vector), "little"))
            for *row, text in self._rows(DUMPED)
            for vector in [bytes(int(value) & 0xFF for value in json.loads(text))]
        )

    def clear(self) -> None:
        for table in self.tables:
            self._rows(f"delete from {table} where profile = %(profile)s")


def _texts(rows: Sequence[Row]) -> list[tuple[int, str]]:
    return [(key, unkept(text)) for key, text in rows]
