"""Conditions: a query, apart from how well anything matches it, as SQL on the table of records.

It knows the columns of that table, called `r`, and the table of places. What is done with the
rows it does not know.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from json.encoder import encode_basestring

from commonplace.hints import Any
from commonplace.index import Query
from commonplace.records import PASSAGE, Sensitivity

SUPERSEDED = """EXISTS(SELECT 1 FROM records s
    WHERE s.supersedes = r.id AND s.supersedes <> '' AND s.lead AND s.id <> r.id)"""
HAS_TAG = "instr(r.tags, ?)"
IN_SESSION = "r.session = ? AND r.session <> ''"
STANDS_IN = """EXISTS(SELECT 1 FROM records v JOIN places p ON p.key = v.key
    WHERE v.id = r.id AND p.document IN (SELECT value FROM json_each(?)))"""
# The same, for when there is nothing else to begin with.
AMONG_THOSE_IN = """r.id IN (SELECT v.id FROM places p JOIN records v ON v.key = p.key
    WHERE p.document IN (SELECT value FROM json_each(?)))"""

as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def fits(query: Query) -> tuple[str, list[Any]]:
    """The condition on a record, apart from the query's text, and what it is bound to."""
    tests = ["r.lead"]
    if not query.include_secret:
        tests.append(f"r.sensitivity <> '{Sensitivity.SECRET}'")
    if not query.include_passages:
        tests.append(f"r.kind <> '{PASSAGE}'")
    if not query.include_superseded:
        tests.append(f"NOT {SUPERSEDED}")
    few, arguments = narrow(query)
    return " AND ".join((*tests, *few)), arguments


def narrow(query: Query) -> tuple[list[str], list[Any]]:
    """The conditions that few records meet."""
    tests: list[str] = []
    arguments: list[Any] = []
    if query.kinds:
        tests.append("r.kind IN (SELECT value FROM json_each(?))")
        arguments.append(clean(as_json(query.kinds)))
    if query.without_kinds:
        tests.append("r.kind NOT IN (SELECT value FROM json_each(?))")
        arguments.append(clean(as_json(query.without_kinds)))
    if query.session:
        tests.append(IN_SESSION)
        arguments.append(clean(query.session))
    if query.since:
        tests.append("r.timestamp >= ?")
        arguments.append(clean(query.since))
    if query.until:
        # Whatever follows in a stamp that begins like this is less than the last letter of all.
        tests.append("r.timestamp <= ? || char(1114111) AND r.timestamp <> ''")
        arguments.append(clean(query.until))
    for tag in query.tags:
        tests.append(HAS_TAG)
        arguments.append(clean(listed((tag,))))
    if query.documents:
        tests.append(STANDS_IN if query.text or query.session else AMONG_THOSE_IN)
        arguments.append(clean(as_json(query.documents)))
    return tests, arguments


def listed(texts: Sequence[str]) -> str:
    """Each text quoted on its own line: the list of one text is part of every list that has it."""
    return "\n".join(("", *map(encode_basestring, texts), "")) if texts else ""


def unlisted(lines: str) -> tuple[str, ...]:
    quoted = lines.split("\n")[1:-1]
    return tuple(json.loads(each) if "\\" in each else each[1:-1] for each in quoted)


def clean(text: str) -> str:
    """The text without halves of surrogate pairs, which SQLite cannot take and no record has."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
