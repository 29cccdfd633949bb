"""Rows of records and of their places in PostgreSQL, changed to just what is to be there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from commonplace.model.records import Record
from commonplace.postgres.index_queries import ESCAPE, kept, unkept, vector_of_words
from commonplace.postgres.index_vectors import PostgresVectors
from commonplace.search.rows import (
    COLUMNS,
    CONFIDENCE,
    FIELDS,
    Identity,
    IndexRow,
    Piece,
    Row,
    differing,
    record_of,
)
from commonplace.search.words import lexemes

STANDING = """select p.line, p.key, r.id, r.digest
    from place p join record r on r.profile = p.profile and r.key = p.key
    where p.profile = %(profile)s and p.document = %(document)s
        and p.line between %(first)s and %(last)s"""
PLACED = """insert into place(profile, document, line, key)
    select %(profile)s, * from unnest(
        %(documents)s::text[], %(lines)s::bigint[], %(keys)s::bigint[])
    on conflict (profile, document, line)"""
ADD_PLACES = f"{PLACED} do nothing returning document, line"
SET_PLACES = f"{PLACED} do update set key = excluded.key"
CLEAR_PLACES = """delete from place p using unnest(%(lines)s::bigint[]) t(line)
    where p.profile = %(profile)s and p.document = %(document)s and p.line = t.line"""
CLEAR_PLACES_OF = """delete from place p using record r
    where p.profile = %(profile)s and r.profile = %(profile)s and r.key = p.key
        and r.id = any(%(ids)s)"""

# Joined, and not told by `any`: of many at once each row would be compared with each.
VARIANTS = """select r.id, r.digest, r.key from unnest(%(ids)s::text[]) t(id)
    join record r on r.profile = %(profile)s and r.id = t.id"""
VALUES = ", ".join(
    f"%({name})s::{'float8' if name == 'confidence' else 'text'}[]" for name in FIELDS
)
# The row of the level counts what is there, and gives the keys.
INSERT = f"""with counted as (
    insert into level(profile, last_key, records, lexemes)
    values (%(profile)s, %(count)s, %(count)s, %(total)s)
    on conflict (profile) do update set last_key = level.last_key + %(count)s,
        records = level.records + %(count)s, lexemes = level.lexemes + %(total)s
    returning last_key)
insert into record(profile, key, digest, lead, length, words, said, {COLUMNS})
select %(profile)s, counted.last_key - %(count)s + t.at, t.digest, t.lead, t.length,
    t.words::tsvector, t.said, {", ".join(f't."{name}"' for name in FIELDS)}
from counted, unnest(%(digests)s::bigint[], %(leads)s::boolean[], %(lengths)s::int[],
    %(words)s::text[], %(said)s::bigint[], {VALUES})
    with ordinality t(digest, lead, length, words, said, {COLUMNS}, at)
returning id, digest, key"""
# One that has no place left goes, and its vectors with it.
REMOVE = """with gone as (
    delete from record r using unnest(%(keys)s::bigint[]) t(key)
    where r.profile = %(profile)s and r.key = t.key
        and not exists(select 1 from place p where p.profile = %(profile)s and p.key = r.key)
    returning r.key, r.length)
update level set records = records - (select count(*) from gone),
    lexemes = lexemes - (select coalesce(sum(length), 0) from gone)
where profile = %(profile)s"""
# Told in two ways, and where.
OTHERWISE = """select r.id, r.key, p.document, p.line
    from record r join place p on p.profile = r.profile and p.key = r.key
    where r.profile = %(profile)s and r.id in (
        select v.id from unnest(%(ids)s::text[]) t(id)
        join record v on v.profile = %(profile)s and v.id = t.id
        group by v.id having count(*) > 1 or not bool_and(v.lead))"""
SET_LEADS = """update record r set lead = (r.key = t.key)
    from unnest(%(ids)s::text[], %(keys)s::bigint[]) t(id, key)
    where r.profile = %(profile)s and r.id = t.id and r.lead <> (r.key = t.key)"""


class PostgresRecords:
    """The records of one profile, each with the documents and lines that it stands in."""

    def __init__(
        self,
        rows: Callable[..., list[Row]],
        vectors: PostgresVectors,
        *,
        tag: str,
        rank: Callable[[str], tuple[int, str]],
    ) -> None:
        self._rows = rows
        self._vectors = vectors
        self._tag = tag
        self._rank = rank

    def place(self, wanted: Mapping[tuple[str, int], IndexRow]) -> None:
        """Put records on lines where nothing stands; where something does, in its place."""
        keys, settled = self._keys(wanted.values())
        placed = self._rows(
            ADD_PLACES,
            documents=[document for document, _ in wanted],
            lines=[line for _, line in wanted],
            keys=[keys[told.identity] for told in wanted.values()],
        )
        for document, line in set(wanted).difference(placed):
            self.replace(document, [(line, line, {line: wanted[document, line]})])
        if not settled:
            self._settle({id_ for id_, _ in keys})

    def replace(self, document: str, some: Iterable[Piece]) -> None:
        """Make these pieces of a document hold just this."""
        left: set[int] = set()
        touched: set[str] = set()
        for first, last, wanted in some:
            keys, ids = self._replace_piece(document, wanted, first=first, last=last)
            left |= keys
            touched |= ids
        if left:
            self._remove(left)
        if touched:
            self._settle(touched)

    def _replace_piece(
        self, document: str, wanted: Mapping[int, IndexRow], *, first: int, last: int
    ) -> tuple[set[int], set[str]]:
        """Write what differs; give the keys that lost a place and the ids that gained or lost."""
        rows = self._rows(STANDING, document=document, first=first, last=last)
        standing = {line: (key, (id_, digest)) for line, key, id_, digest in rows}
        fresh, left = differing(standing, wanted)
        if fresh:
            keys, _ = self._keys(fresh.values())
            placed = [keys[told.identity] for told in fresh.values()]
            documents = [document] * len(fresh)
            self._rows(SET_PLACES, documents=documents, lines=list(fresh), keys=placed)
        gone = [line for line in left if line not in wanted]
        if gone:
            self._rows(CLEAR_PLACES, document=document, lines=gone)
        ids = {it.identity[0] for it in fresh.values()} | {id_ for _, (id_, _) in left.values()}
        return {key for key, _ in left.values()}, ids

    def _keys(self, tolds: Iterable[IndexRow]) -> tuple[dict[Identity, int], bool]:
        """The key of each, with a row made for those that have none.

        And whether each record is told in one way only.
        """
        wanted = {told.identity: told for told in tolds}
        ids = sorted({id_ for id_, _ in wanted})
        keys = {(id_, digest): key for id_, digest, key in self._rows(VARIANTS, ids=ids)}
        leading = {id_ for id_, _ in keys}
        missing = [told for identity, told in wanted.items() if identity not in keys]
        if missing:
            leads = []
            for told in missing:
                leads.append(told.identity[0] not in leading)
                leading.add(told.identity[0])
            keys |= self._insert(missing, leads)
        return keys, len(keys) == len(ids)

    def _insert(self, tolds: Sequence[IndexRow], leads: Sequence[bool]) -> dict[Identity, int]:
        found = lexemes([(told.record.text, told.words) for told in tolds])
        columns = zip(*(told.values for told in tolds), strict=True)
        values = {
            name: list(column) if name == "confidence" else [kept(each) for each in column]
            for name, column in zip(FIELDS, columns, strict=True)
        }
        rows = self._rows(
            INSERT,
            count=len(tolds),
            total=sum(each.length for each in found),
            digests=[told.identity[1] for told in tolds],
            leads=list(leads),
            lengths=[each.length for each in found],
            words=[vector_of_words(each, self._tag) for each in found],
            said=[told.said for told in tolds],
            **values,
        )
        return {(id_, digest): key for id_, digest, key in rows}

    def _remove(self, keys: Iterable[int]) -> None:
        self._rows(REMOVE, keys=list(keys))
        self._vectors.remove(list(keys))

    def _settle(self, ids: Iterable[str]) -> None:
        """Decide which telling of a record leads: of two in one document, the later."""
        told: dict[str, list[tuple[Any, int]]] = {}
        for id_, key, document, line in self._rows(OTHERWISE, ids=sorted(ids)):
            told.setdefault(id_, []).append(((self._rank(document), -line), key))
        if told:
            self._rows(SET_LEADS, ids=list(told), keys=[min(each)[1] for each in told.values()])

    def erase(self, record_ids: Sequence[str]) -> None:
        """Remove records wherever they stand."""
        keys = [key for _, _, key in self._rows(VARIANTS, ids=record_ids)]
        self._rows(CLEAR_PLACES_OF, ids=record_ids)
        self._remove(keys)


def record_in(row: Row) -> Record:
    """The record that the columns `SHOWN` of a row tell."""
    # To look through each value for what is hardly ever there costs more than to join them.
    texts = (*row[:CONFIDENCE], *row[CONFIDENCE + 1 : len(FIELDS)])
    if ESCAPE in "".join(texts):
        row = tuple(unkept(each) if isinstance(each, str) else each for each in row)
    return record_of(row)
