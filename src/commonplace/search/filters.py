"""The filters of a query as SQL conditions on the tables of records (`r`) and places.

The conditions are written for SQLite unless another `Wording` is given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from commonplace.model.records import BEHAVIORAL, PASSAGE, PERSON, PROJECT, Sensitivity
from commonplace.search.index import LONGEST, NEWEST, OLDEST, REPEATED, Query

SUPERSEDED = """(r.replaced_by <> '' OR EXISTS(SELECT 1 FROM records s
    WHERE s.supersedes = r.id AND s.supersedes <> '' AND s.lead AND s.id <> r.id))"""
# What begins without saying when began when it was stored.
BEGUN = "(r.valid_from <> '' OR r.timestamp <= ?)"
REPLACED_BY_THEN = """(r.replaced_by <> '' OR EXISTS(SELECT 1 FROM records s
    WHERE s.supersedes = r.id AND s.supersedes <> '' AND s.lead AND s.id <> r.id
    AND CASE WHEN s.valid_from <> '' THEN s.valid_from ELSE s.timestamp END <= ?))"""
STANDS_IN = """EXISTS(SELECT 1 FROM records v JOIN places p ON p.key = v.key
    WHERE v.id = r.id AND p.document IN (SELECT value FROM json_each(?)))"""
# The same, for when there is nothing else to begin with.
AMONG_THOSE_IN = """r.id IN (SELECT v.id FROM places p JOIN records v ON v.key = p.key
    WHERE p.document IN (SELECT value FROM json_each(?)))"""

IS_BEHAVIORAL = "kind IN ('{}')".format("', '".join(sorted(BEHAVIORAL)))

HAS_MOMENTS = """r."when" <> ''"""

as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def clean(text: str) -> str:
    """The text without halves of surrogate pairs, which SQLite cannot take and no record has."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class Wording(NamedTuple):
    """What a database calls things, with a question mark where a value goes."""

    superseded: str = SUPERSEDED
    replaced_by_then: str = REPLACED_BY_THEN
    among: str = "{} IN (SELECT value FROM json_each(?))"
    since: str = "r.timestamp >= ?"
    until: str = "r.timestamp <= ? || char(1114111) AND r.timestamp <> ''"
    """Whatever follows in a stamp that begins like this is less than the last letter of all."""
    in_utc: str = "substr(r.timestamp, -1) = 'Z'"
    has: str = "instr({}, ?)"
    """Whether a column has a text in it."""
    newline: str = "char(10)"
    stands_in: str = STANDS_IN
    among_those_in: str = AMONG_THOSE_IN
    text: Callable[[str], str] = clean
    texts: Callable[[Sequence[str]], Any] = lambda texts: clean(as_json(texts))


SQLITE = Wording()


def fits(query: Query, wording: Wording = SQLITE) -> tuple[str, list[Any]]:
    """The condition on a record, apart from the query's text, and what it is bound to."""
    tests = ["r.lead"]
    if not query.include_secret:
        tests.append(f"r.sensitivity <> '{Sensitivity.SECRET}'")
    if not query.include_passages:
        tests.append(f"r.kind <> '{PASSAGE}'")
    if not query.include_superseded:
        tests.append(f"NOT {wording.superseded}")
    few, arguments = narrow(query, wording)
    if query.without_ids:
        tests.append(f"NOT {wording.among.format('r.id')}")
        arguments = [wording.texts(query.without_ids), *arguments]
    return " AND ".join((*tests, *few)), arguments


def narrow(query: Query, wording: Wording = SQLITE) -> tuple[list[str], list[Any]]:
    """The conditions that few records meet."""
    tests: list[str] = []
    arguments: list[Any] = []
    if query.kinds:
        tests.append(wording.among.format("r.kind"))
        arguments.append(wording.texts(query.kinds))
        if BEHAVIORAL.issuperset(query.kinds):
            # Which says nothing new, but lets a database look through those alone.
            tests.append(f"r.{IS_BEHAVIORAL}")
    if query.pinned:
        tests.append("r.pinned <> ''")
    if query.used:
        tests.append("(r.seen <> '' OR r.useful <> '')")
    if query.without_kinds:
        tests.append(f"NOT {wording.among.format('r.kind')}")
        arguments.append(wording.texts(query.without_kinds))
    if query.ids:
        tests.append(wording.among.format("r.id"))
        arguments.append(wording.texts(query.ids))
    if query.stood_at:
        tests += [BEGUN, f"NOT {wording.replaced_by_then}"]
        arguments += [wording.text(query.stood_at)] * 2
    if query.at_moments:
        tests.append(HAS_MOMENTS)
    if query.session:
        tests.append("r.session = ? AND r.session <> ''")
        arguments.append(wording.text(query.session))
    if query.sensitivity:
        tests.append("r.sensitivity = ?")
        arguments.append(wording.text(query.sensitivity))
    if query.origins:
        tests.append(wording.among.format("r.origin"))
        arguments.append(wording.texts(query.origins))
    for origin in query.without_origins:
        tests.append("r.origin <> ?")
        arguments.append(wording.text(origin))
    bounds = ((wording.since, query.since), (wording.until, query.until))
    for (test, day), stamp in zip(bounds, query.span):
        if day:
            tests.append(_bound(test, wording) if stamp else test)
            arguments += map(wording.text, (stamp, day) if stamp else (day,))
    for tag in query.tags:
        tests.append(wording.has.format("r.tags"))
        arguments.append(wording.text(listed((tag,))))
    for told in (
        *(_having(word, wording) for word in query.containing),
        *filter(None, (_whose(query.people, "r.username", PERSON, wording),)),
        *filter(None, (_whose(query.projects, 'r."group"', PROJECT, wording),)),
    ):
        tests.append(told[0])
        arguments += told[1]
    if query.documents:
        tests.append(wording.stands_in if query.text or query.session else wording.among_those_in)
        arguments.append(wording.texts(query.documents))
    return tests, arguments


def _having(word: str, wording: Wording) -> tuple[str, list[Any]]:
    """That a word is in a text or its tags; databases know the cases of few letters but these."""
    spelt = [word.lower()] if word.isascii() else list(_spellings(word))
    columns = ("lower(r.text)", "lower(r.tags)") if word.isascii() else ("r.text", "r.tags")
    tests = [wording.has.format(column) for column in columns for _ in spelt]
    return _either(tests), [wording.text(each) for each in (*spelt, *spelt)]


def _spellings(word: str) -> dict[str, None]:
    return dict.fromkeys((word, word.lower(), word.upper(), word.capitalize()))


def _whose(
    names: Sequence[str], column: str, prefix: str, wording: Wording
) -> tuple[str, list[Any]] | None:
    """That one of these names stands in a column or, after a prefix, among the tags."""
    if not names:
        return None
    tags = [wording.text(listed((prefix + name,))) for name in names]
    tests = [wording.among.format(column), *(wording.has.format("r.tags") for _ in tags)]
    return _either(tests), [wording.texts(names), *tags]


def _either(tests: Sequence[str]) -> str:
    # A test may be a number, which not every database takes for true or false.
    return f"({' OR '.join(tests)})"


def sorted_by(order: str, wording: Wording = SQLITE) -> str:
    """What to sort records by, for `ORDER BY`."""
    newest = "r.timestamp DESC, r.id DESC"
    lines = f"length(r.seen) - length(replace(r.seen, {wording.newline}, ''))"
    return {
        NEWEST: newest,
        OLDEST: "r.timestamp, r.id",
        LONGEST: f"length(r.text) DESC, {newest}",
        REPEATED: f"{lines} DESC, {newest}",
    }[order]


def _bound(test: str, wording: Wording) -> str:
    """Of what is not stamped in UTC, as a person may write it, the day that it says counts."""
    return f"CASE WHEN {wording.in_utc} THEN {test} ELSE {test} END"


def listed(texts: Sequence[str]) -> str:
    """Each text quoted on its own line: the list of one text is part of every list that has it."""
    return "\n".join(("", *map(encode_basestring, texts), "")) if texts else ""


def unlisted(lines: str) -> tuple[str, ...]:
    if not lines:
        return ()
    quoted = lines.split("\n")[1:-1]
    return tuple(json.loads(each) if "\\" in each else each[1:-1] for each in quoted)
