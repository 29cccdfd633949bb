"""What `doctor` and the tests ask of the index in PostgreSQL: its contents, health and size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from commonplace.model.errors import CommonplaceError
from commonplace.postgres.index_queries import vector_of_words
from commonplace.postgres.index_rows import record_in
from commonplace.search.rows import SHOWN, Row, row_of
from commonplace.search.words import lexemes

BLOCK = 8192
"""The least that a table takes."""
AT_ONCE = 1000
"""Records that are looked through at once."""
DUMP_RECORDS = f"""select r.digest, r.lead, {SHOWN}, p.document, p.line
    from record r left join place p on p.profile = r.profile and p.key = r.key
    where r.profile = %(profile)s"""
DUMP_KNOWN = "select name, lines, size from known where profile = %(profile)s"
SIZE = """select coalesce(sum(pg_column_size(r.*)), 0) from {table} r
    where r.profile = %(profile)s"""
COUNTED = """select coalesce(l.records, 0), coalesce(l.lexemes, 0), r.records, r.lexemes
    from (select count(*) as records, coalesce(sum(length), 0) as lexemes
        from record where profile = %(profile)s) r
    left join level l on l.profile = %(profile)s"""
SOME_RECORDS = f"""select r.key, {SHOWN} from record r
    where r.profile = %(profile)s and r.key > %(after)s order by r.key limit {AT_ONCE}"""
OTHER_WORDS = """select t.key from record r
    join unnest(%(keys)s::bigint[], %(lengths)s::int[], %(words)s::text[]) t(key, length, words)
        on r.key = t.key
    where r.profile = %(profile)s and (r.length <> t.length or r.words <> t.words::tsvector)"""
TABLES = ("level", "known", "record", "place")

Rows = Callable[..., list[Row]]
"""Sends a statement with the values of its names."""


def dump(rows: Rows) -> list[tuple[Any, ...]]:
    """Everything that the index says of records and documents."""
    records: dict[Row, list[tuple[str, int]]] = {}
    for digest, lead, *values, document, line in rows(DUMP_RECORDS):
        told = row_of(record_in(tuple(values)))
        row = (digest, int(lead), told.words, *told.values)
        records.setdefault(row, []).append((document, line))
    return sorted(
        ("record", *row, tuple(sorted(places))) for row, places in records.items()
    ) + sorted(("document", *row) for row in rows(DUMP_KNOWN))


def healthy(rows: Rows, *, tag: str) -> str:
    """What is wrong with the index; empty when nothing is."""
    try:
        return _miscounted(rows) or _misread(rows, tag)
    except CommonplaceError as error:
        return str(error)


def _miscounted(rows: Rows) -> str:
    ((records, words, found_records, found_words),) = rows(COUNTED)
    if (records, words) == (found_records, found_words):
        return ""
    return (
        f"There are {found_records} records of {found_words} words, "
        f"but {records} of {words} are counted."
    )


def _misread(rows: Rows, tag: str) -> str:
    """Whether the words are those of the texts."""
    after = -1
    while some := rows(SOME_RECORDS, after=after):
        records = [record_in(row[1:]) for row in some]
        found = lexemes([(it.text, row_of(it).words) for it in records])
        wrong = rows(
            OTHER_WORDS,
            keys=[row[0] for row in some],
            lengths=[each.length for each in found],
            words=[vector_of_words(each, tag) for each in found],
        )
        if wrong:
            return f"The words of {len(wrong)} records do not fit their texts."
        after = some[-1][0]
    return ""


def size(rows: Rows, vector_tables: Sequence[str]) -> int:
    """Bytes of the profile's rows."""
    tables = (*TABLES, *vector_tables)
    found = [rows(SIZE.format(table=table))[0][0] for table in tables]
    return BLOCK * len(tables) + sum(map(int, found))
