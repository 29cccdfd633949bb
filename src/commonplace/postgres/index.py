"""The index in PostgreSQL: the rows of one profile, with their words and vectors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from commonplace.model.files import Known
from commonplace.model.records import Hit, Place, Record
from commonplace.postgres import index_checks, index_queries
from commonplace.postgres.connection import Database
from commonplace.postgres.index_queries import (
    NOTHING,
    SUPERSEDED,
    WORDING,
    Clause,
    array_of,
    by_vectors,
    by_words,
    fitting,
    having_words,
    kept,
    made,
    query_of,
    still_level,
    tag_of,
    unkept,
)
from commonplace.postgres.index_rows import PostgresRecords, record_in
from commonplace.postgres.index_vectors import PostgresVectors
from commonplace.search.filters import narrow, sorted_by
from commonplace.search.index import (
    FORMS,
    NEWEST,
    Asked,
    Candidate,
    Entry,
    Followed,
    Query,
    Result,
    Tally,
)
from commonplace.search.rows import (
    SHOWN,
    IndexRow,
    Row,
    known_of,
    known_row,
    pieces,
    rarity,
    row_of,
    score,
    tally_of,
)
from commonplace.search.sqlite.candidates import CountCache
from commonplace.search.typos import Slipped
from commonplace.search.words import STOP, cut_terms_of, record_terms

# The journal is in the same database.
IS_LEVEL = """select {seen} from profile p join level l on l.profile = p.profile {model}
    where p.profile = %(profile)s and l.mark = p.journal and l.position = p.ended
        and p.state in ('', 'read-only') and p.renamed in ('', %(tenant)s)"""
GET_LEVEL = "select mark, position from level where profile = %(profile)s"
SET_LEVEL = """insert into level(profile, position) values (%(profile)s, %(position)s)
    on conflict (profile) do update set position = excluded.position"""
SET_MARK = """insert into level(profile, mark) values (%(profile)s, %(mark)s)
    on conflict (profile) do update set mark = excluded.mark"""
# The keys go on from where they were: one that was told to somebody never names another record.
CLEAR_LEVEL = """update level set position = 0, mark = '', records = 0, lexemes = 0
    where profile = %(profile)s"""

KNOWN = "name, size, mtime_ns, inode, digest, racy, atime_ns, lines, base, glimpse"
GET_KNOWN = f"select {KNOWN} from known where profile = %(profile)s"
GET_ONE_KNOWN = f"{GET_KNOWN} and name = %(name)s"
KNOWN_TYPES = ("text", "bigint", "bigint", "text", "text", "int", *("bigint",) * 3, "text")
KNOWN_VALUES = ", ".join(
    f"%({name})s::{kind}[]" for name, kind in zip(KNOWN.split(", "), KNOWN_TYPES, strict=True)
)
SET_KNOWN = f"""insert into known(profile, {KNOWN})
    select %(profile)s, * from unnest({KNOWN_VALUES})
    on conflict (profile, name) do update set
    {", ".join(f"{name} = excluded.{name}" for name in KNOWN.split(", ")[1:])}"""
DROP_KNOWN = "delete from known where profile = %(profile)s and name = %(name)s"

PLACES = "p.documents, p.lines"
STANDING_IN = """cross join lateral (
        select array_agg(p.document) as documents, array_agg(p.line) as lines
        from record v join place p on p.profile = v.profile and p.key = v.key
        where v.profile = %(profile)s and v.id = r.id) p"""
OF_KEYS = f"""select {SHOWN}, r.key, {PLACES} from record r {STANDING_IN}
    where r.profile = %(profile)s and r.key = any(%(keys)s::bigint[])"""
OF_ID = f"""select {SHOWN}, 0.0::float8, {PLACES} from record r {STANDING_IN}
    where r.profile = %(profile)s and r.id = %(id)s and r.lead"""
OF_IDS = f"""select {SHOWN} from record r
    where r.profile = %(profile)s and r.id = any(%(ids)s) and r.lead"""
PLACES_OF_ID = """select p.document, p.line
    from record r join place p on p.profile = r.profile and p.key = r.key
    where r.profile = %(profile)s and r.id = %(id)s"""
OUTSIDE = """select distinct r.id
    from place p join record r on r.profile = p.profile and r.key = p.key
    where p.profile = %(profile)s and p.document <> %(document)s"""
REPLACED = f"""select r.id from record r
    where r.profile = %(profile)s and r.id = any(%(ids)s) and r.lead and {SUPERSEDED}"""
MARKED = f"""select {SHOWN} from record r
    where r.profile = %(profile)s and r.replaced_by = any(%(ids)s) and r.replaced_by <> ''
        and length(r.replaced_by) <= 100 and r.lead and r.id <> r.replaced_by order by r.id"""
SAYING = f"""select {SHOWN} from record r
    where r.profile = %(profile)s and r.said = %(number)s and r.said <> 0 and r.lead
        and not {SUPERSEDED} order by r.timestamp, r.id"""
TIMED = f"""select {SHOWN} from record r
    where r.profile = %(profile)s and r.lead and (r.valid_from <> '' or r.valid_to <> '')
    order by r.id"""
CHILDREN = """select distinct id from record
    where profile = %(profile)s and supersedes = %(id)s and supersedes <> ''
        and length(supersedes) <= 100 and lead and id <> supersedes order by id"""
IDS_WITH = """select distinct id from record
    where profile = %(profile)s and position(%(part)s in id) > 0 and lead
    order by id limit %(limit)s"""
KINDS = """select kind, count(*) as n from record
    where profile = %(profile)s and lead group by kind order by n desc, kind"""
NEWEST_FIRST = "order by left(r.timestamp, 40) desc, r.timestamp desc, r.id desc"
IN_ORDER = f"""select {SHOWN}, 0.0::float8, {PLACES} from (
        select r.* from record r where r.profile = %(profile)s and {{fits}}
        {{order}} limit %(limit)s offset %(offset)s) r
    {STANDING_IN} {{order}}"""
TALLIES = """select r.kind, r.tags, r."group", r.username, r.origin, count(*) from record r
    where r.profile = %(profile)s and {fits} group by 1, 2, 3, 4, 5"""
BEST_BY_WORDS = f"""with {{found}}
select {SHOWN}, w.score, {PLACES} from by_words w
join record r on r.profile = %(profile)s and r.key = w.key {STANDING_IN} order by w.rank"""
NEAREST = f"""with {{found}}
select {SHOWN}, v.cosine, {PLACES} from by_vectors v
join record r on r.profile = %(profile)s and r.key = v.key {STANDING_IN} order by v.rank"""
COUNT = "select count(*) from record r where r.profile = %(profile)s and {fits}"
HAS_SIGN = "strpos(r.text, %(sign)s) > 0"
HAVING = """select l.records, t.at, (select count(*) from record r
        where r.profile = %(profile)s and r.words @@ t.query::tsquery)
    from level l cross join unnest(%(queries)s::text[]) with ordinality t(query, at)
    where l.profile = %(profile)s and t.query is not null"""
# A record may begin its words in many ways: the condition finds it, and then they are looked at.
STEMS = """select distinct substr(w.lexeme, %(tagged)s) from record r
    cross join lateral unnest(r.words) w
    where r.profile = %(profile)s and r.words @@ %(query)s::tsquery
        and starts_with(w.lexeme, %(beginning)s)
    union select substr(t.lexeme, %(tagged)s) from unnest(%(undone)s::text[]) t(lexeme)
    where exists(select 1 from record r
        where r.profile = %(profile)s and r.words @@ ('''' || t.lexeme || '''')::tsquery)"""
HAVING_STEMS = f"""select h.said, (select count(*) from record r
        where r.profile = %(profile)s and r.words @@ t.query::tsquery)
    from unnest(%(queries)s::text[]) t(query) cross join lateral (
        select r.text || ' ' || r.tags || ' ' || r.username as said from record r
        where r.profile = %(profile)s and r.words @@ t.query::tsquery and {{fits}}
        order by r.key limit {FORMS}) h"""
PLANNED = 10
"""How long a list is that PostgreSQL plans for once and for all; for a shorter one it would make a
plan each time, which takes longer than to count."""


class Added:
    """What was added to documents, and is written all at once."""

    def __init__(self) -> None:
        self.tolds: dict[tuple[str, int], IndexRow] = {}
        self.known: dict[str, Known] = {}

    def take(self, document: str, tolds: Mapping[int, IndexRow], known: Known) -> None:
        self.tolds |= {(document, line): told for line, told in tolds.items()}
        self.known[document] = known


class IndexMoved(Exception):
    """What was presumed of the index is not so any more, or cannot be told by the way."""


class PostgresIndex:
    """The index of one profile."""

    def __init__(self, database: Database, *, rank: Callable[[str], tuple[int, str]]) -> None:
        self._database = database
        self._tag = tag_of(database.profile)
        self._rank = lru_cache(maxsize=4096)(rank)
        self._last_told: IndexRow | None = None
        self._tolds: dict[int, IndexRow] | None = None
        """While all is told anew: most records stand in two documents."""
        self._threads = threading.local()
        self._remembered = CountCache()
        self._vectors = PostgresVectors(self._rows, can_be_kept=not self.without_vectors)
        self._records = PostgresRecords(self._rows, self._vectors, tag=self._tag, rank=self._rank)

    @property
    def without_vectors(self) -> str:
        return self._database.engine.without_vectors

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._database.locked():
            if self._added() is not None:
                yield
                return
            self._vectors.look_again()
            self._threads.added = Added()
            try:
                yield
                self._flush()
            finally:
                self._threads.added = None

    def _flush(self) -> None:
        """Write what was added: whoever asks next, or ends the transaction, must find it."""
        added = self._added()
        if added is not None and (added.tolds or added.known):
            self._threads.added = Added()
            self._append(added)

    def _write(self, work: Callable[[], Result]) -> Result:
        """Do work that changes rows, as one deed."""

        def under_lock() -> Result:
            with self._database.locked():
                return work()

        self._vectors.look_again()
        return self._database.repeated(under_lock)

    def _rows(self, statement: str, **values: Any) -> list[Row]:
        self._flush()
        own = {"profile": self._database.profile, "tenant": self._database.place.profile}
        return self._database.rows(statement, own | values)

    def _said(self, statement: str, *parts: Clause, **values: Any) -> list[Row]:
        for part in parts:
            values |= part.values
        return self._rows(statement, **values)

    def is_level_with(self, journal: Followed) -> bool:
        if self._database.is_locked:
            # What the journal has got under the lock is not in its row yet.
            return self._stand() == journal.stand()
        if self.without_vectors:
            return bool(self._rows(IS_LEVEL.format(seen="1", model="")))
        is_level = self._vectors.looked(IS_LEVEL)
        self._vectors.note_level(is_level)
        return is_level

    def while_level(self, search: Callable[[], Result]) -> Result | None:
        if self._database.in_transaction or not self._vectors.presume():
            return None
        try:
            return search()
        except IndexMoved:
            return None
        finally:
            self._vectors.presumed()

    def _stand(self) -> tuple[str, int]:
        rows = self._rows(GET_LEVEL)
        return rows[0] if rows else ("", 0)

    def level(self) -> int:
        return self._stand()[1]

    def set_level(self, position: int) -> None:
        self._write(lambda: self._rows(SET_LEVEL, position=position))

    def mark(self) -> str:
        return self._stand()[0]

    def set_mark(self, mark: str) -> None:
        self._write(lambda: self._rows(SET_MARK, mark=mark))

    def known(self) -> dict[str, Known]:
        return {row[0]: known_of(row) for row in self._rows(GET_KNOWN)}

    def known_of(self, document: str) -> Known | None:
        added = self._added()
        if added is not None and document in added.known:
            return added.known[document]
        rows = self._rows(GET_ONE_KNOWN, name=document)
        return known_of(rows[0]) if rows else None

    def note(self, document: str, *, known: Known) -> None:
        self._add(document, {}, known)

    def add(self, document: str, entries: Sequence[Entry], *, known: Known) -> None:
        self._add(document, {line: self._tell(record) for record, line in entries}, known)

    def _add(self, document: str, tolds: Mapping[int, IndexRow], known: Known) -> None:
        added = self._added()
        if added is None:
            added = Added()
            added.take(document, tolds, known)
            self._write(lambda: self._append(added))
        else:
            added.take(document, tolds, known)

    def _added(self) -> Added | None:
        """What was added in this thread's transaction and is not written yet; None outside one."""
        found: Added | None = getattr(self._threads, "added", None)
        return found

    def _tell(self, record: Record) -> IndexRow:
        """As it is told; a record mostly goes to a second document right after the first."""
        told = self._last_told
        if told is None or told.record is not record:
            self._last_told = told = row_of(record)
        return told

    def _append(self, added: Added) -> None:
        if added.tolds:
            self._records.place(added.tolds)
        if added.known:
            columns = zip(*(known_row(*each) for each in added.known.items()), strict=True)
            self._rows(SET_KNOWN, **dict(zip(KNOWN.split(", "), map(list, columns), strict=True)))

    def put(self, document: str, entries: Sequence[Entry], *, known: Known) -> None:
        def work() -> None:
            self._records.replace(document, pieces(entries, self._tolds))
            self.note(document, known=known)

        self._write(work)

    def put_lines(self, document: str, entries: Sequence[Entry], *, first: int, last: int) -> None:
        wanted = {line: row_of(record) for record, line in entries}
        self._write(lambda: self._records.replace(document, [(first, last, wanted)]))

    def drop(self, document: str) -> None:
        def work() -> None:
            self._records.replace(document, pieces((), None))
            self._rows(DROP_KNOWN, name=document)

        self._write(work)

    def get(self, record_id: str) -> Hit | None:
        return next(iter(self._hits(self._rows(OF_ID, id=kept(record_id)))), None)

    def get_all(self, record_ids: Iterable[str]) -> dict[str, Record]:
        rows = self._rows(OF_IDS, ids=[kept(id_) for id_ in record_ids])
        return {row[0]: record_in(row) for row in rows}

    def ids_with(self, part: str, *, limit: int) -> list[str]:
        rows = self._rows(IDS_WITH, part=kept(part), limit=limit)
        return [id_ for (id_,) in rows]

    def children(self, record_id: str) -> tuple[str, ...]:
        return tuple(id_ for (id_,) in self._rows(CHILDREN, id=kept(record_id)))

    def replaced(self, record_ids: Iterable[str]) -> set[str]:
        wanted = [kept(id_) for id_ in record_ids if id_]
        return {id_ for (id_,) in self._rows(REPLACED, ids=wanted)}

    def marked(self, record_ids: Iterable[str]) -> list[Record]:
        wanted = [kept(id_) for id_ in record_ids if id_]
        return [record_in(row) for row in self._rows(MARKED, ids=wanted)]

    def timed(self) -> list[Record]:
        return [record_in(row) for row in self._rows(TIMED)]

    def saying(self, number: int) -> list[Record]:
        return [record_in(row) for row in self._rows(SAYING, number=number)]

    def documents_of(self, record_id: str) -> tuple[Place, ...]:
        return self._places(self._rows(PLACES_OF_ID, id=kept(record_id)))

    def standing_outside(self, document: str) -> set[str]:
        return {id_ for (id_,) in self._rows(OUTSIDE, document=document)}

    def _places(self, found: Iterable[Row]) -> tuple[Place, ...]:
        places = sorted(found, key=lambda place: (self._rank(place[0]), place[1]))
        return tuple(Place(document, line) for document, line in places)

    def _hits(self, rows: Iterable[Row]) -> list[Hit]:
        """Rows of a record, its score and its places, as hits."""
        return [
            Hit(record_in(row), self._places(zip(row[-2], row[-1], strict=True)), row[-3])
            for row in rows
            if row[-2]
        ]

    def count(self, query: Query) -> int:
        return int(self._of_all_that_fit(COUNT, query)[0][0])

    def _of_all_that_fit(self, statement: str, query: Query) -> list[Row]:
        """What a statement says of the records that fit a query and its text."""
        condition = fitting(query)
        words = self._asked_for(query)
        both = f"{condition.text} and {words.text}" if words else condition.text
        return self._said(statement.format(fits=both), condition, *((words,) if words else ()))

    def _asked_for(self, query: Query) -> Clause | None:
        """What the text of a query asks of a record."""
        text = query.text.strip()
        words = having_words(text, self._tag)
        if words or not text:
            return words
        # No word in it, but perhaps an emoji or a sign.
        return Clause(HAS_SIGN, {"sign": kept(text)})

    def tallies(self, query: Query) -> list[Tally]:
        rows = self._of_all_that_fit(TALLIES, query)
        return [tally_of((*map(unkept, row[:-1]), row[-1])) for row in rows]

    def kinds(self) -> dict[str, int]:
        return dict(self._rows(KINDS))

    def search(self, query: Query) -> list[Hit]:
        if self._vectors.presumed():
            raise IndexMoved
        condition = fitting(query)
        words = by_words(query, condition, self._tag, best=max(query.limit, 0))
        if words:
            rows = self._said(BEST_BY_WORDS.format(found=words.text), condition, words)
            return [Hit(it.record, it.places, score(it.score)) for it in self._hits(rows)]
        sign = self._asked_for(query)
        both = f"{condition.text} and {sign.text}" if sign else condition.text
        asked = (sign,) if sign else ()
        limit = max(query.limit, 0)
        other = f"order by {sorted_by(query.order, WORDING)}"
        order = NEWEST_FIRST if query.order == NEWEST else other
        said = IN_ORDER.format(fits=both, order=order)
        offset = max(query.offset, 0)
        return self._hits(self._said(said, condition, *asked, limit=limit, offset=offset))

    def erase(self, record_ids: Iterable[str]) -> None:
        ids = [kept(id_) for id_ in record_ids]

        self._write(lambda: self._records.erase(ids))
        self._last_told = None

    def candidates(self, query: Query, asked: Asked | None = None) -> list[Candidate]:
        asked = None if self.without_vectors else asked
        in_graph = asked is not None and self._in_graph(asked, query)
        presumed = self._vectors.presumed()
        level = still_level(*presumed) if presumed else NOTHING
        said = index_queries.candidates(query, asked, self._tag, in_graph=in_graph, level=level)
        rows = self._said(said.text, said) if said else []
        if presumed and not rows:
            raise IndexMoved
        return made(rows)

    def hits(self, scored: Sequence[tuple[int, float]]) -> list[Hit]:
        rows = self._rows(OF_KEYS, keys=array_of(key for key, _ in scored))
        found = {row[-3]: row for row in rows}
        return self._hits(
            (*found[key][:-3], value, *found[key][-2:]) for key, value in scored if key in found
        )

    def rarity(self, words: Sequence[str]) -> dict[str, float]:
        wanted = [word for word in dict.fromkeys(words) if word not in STOP]
        asked = {
            word: each
            for word, each in zip(wanted, cut_terms_of(wanted, record_terms), strict=True)
            if each
        }
        having = self._remembered.good_for(self._vectors.records, at=self._vectors.position)
        missing = [word for word in asked if word not in having]
        if missing:
            queries = [f'"{query_of(asked[word], self._tag)}"' for word in missing]
            queries += ["null"] * (PLANNED - len(queries))
            for total, at, count in self._rows(HAVING, queries=array_of(queries)):
                self._vectors.records = total
                having[missing[at - 1]] = count
        total = self._vectors.records
        return {word: rarity(word, having=having.get(word, 0), total=total) for word in words}

    def stems(self, word: Slipped) -> list[str]:
        undone = [term.words[0] for each in cut_terms_of(word.undone) for term in each]
        beginning = self._tag + word.beginning
        rows = self._rows(
            STEMS,
            tagged=len(self._tag) + 1,
            query=f"'{beginning}':*",
            beginning=beginning,
            undone=[self._tag + each for each in undone],
        )
        return [stem for (stem,) in rows]

    def having_stems(self, stems: Sequence[str], query: Query) -> list[tuple[str, int]]:
        condition = fitting(query)
        queries = [f"'{self._tag}{stem}'" for stem in stems]
        rows = self._said(HAVING_STEMS.format(fits=condition.text), condition, queries=queries)
        return [(unkept(said), count) for said, count in rows]

    def unembedded(
        self, model: str, *, dim: int, limit: int, sensitive: bool = True
    ) -> tuple[list[tuple[int, str]], int]:
        rows, total, done = self._vectors.unembedded(
            model, dim=dim, limit=limit, sensitive=sensitive
        )
        if done:
            self._write(lambda: self._vectors.reached(model, dim=dim, upto=done))
        return rows, total

    def window(self, model: str, *, size: int) -> list[tuple[int, str]]:
        return self._write(lambda: self._vectors.window(model, size=size))

    def embed(self, model: str, *, dim: int, rows: Iterable[tuple[int, bytes, float]]) -> None:
        told = list(rows)
        self._write(lambda: self._vectors.embed(model, dim, told))

    def keep_models(self, models: Iterable[str]) -> None:
        names = list(models)
        if set(self.vectors()).difference(names):
            self._write(lambda: self._vectors.keep_only(names))

    def vectors(self) -> dict[str, int]:
        return self._vectors.counted()

    def nearest(self, asked: Asked, query: Query) -> list[Hit]:
        if self.without_vectors or not asked.norm:
            return []
        condition = fitting(query)
        in_graph = self._in_graph(asked, query)
        near = by_vectors(asked, condition, nearest=max(query.limit, 0), in_graph=in_graph)
        hits = self._hits(self._said(NEAREST.format(found=near.text), condition, near))
        return [Hit(it.record, it.places, min(max(it.score, 0.0), 1.0)) for it in hits]

    def _in_graph(self, asked: Asked, query: Query) -> bool:
        """Whether the nearest are found by the graph: of those that few fit, each is compared."""
        return self._vectors.in_graph(asked) and not narrow(query)[0]

    def dump(self) -> list[tuple[Any, ...]]:
        return index_checks.dump(self._rows)

    def dump_vectors(self) -> list[tuple[Any, ...]]:
        return self._vectors.dumped()

    @contextmanager
    def anew(self) -> Iterator[None]:
        with self.transaction():
            self._write(self._clear)
            self._tolds = {}
            try:
                yield
            finally:
                self._tolds = None

    def _clear(self) -> None:
        for table in ("known", "place", "record"):
            self._rows(f"delete from {table} where profile = %(profile)s")
        self._rows(CLEAR_LEVEL)
        self._vectors.clear()

    def healthy(self) -> str:
        return index_checks.healthy(self._rows, tag=self._tag)

    def size(self) -> int:
        return index_checks.size(self._rows, self._vectors.tables)

    def close(self) -> None:
        """The connections are the database's."""
