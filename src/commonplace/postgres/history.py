"""The history in PostgreSQL: a row a message, with the words that FTS5 would make of it.

It finds the same messages in the same order as the history in SQLite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import asdict

from commonplace.history import search
from commonplace.history.messages import (
    FIELDS,
    Conversation,
    Message,
    Table,
    line_of,
    loaded,
    message_of,
)
from commonplace.history.search import Bounds
from commonplace.model.clock import Clock
from commonplace.model.errors import BadValue, CommonplaceError
from commonplace.model.records import SearchResult
from commonplace.postgres.connection import Database
from commonplace.postgres.index_queries import DIGITS, query_of, tag_of, vector_of_words
from commonplace.postgres.read_only_sql import ask
from commonplace.search.filters import clean
from commonplace.search.index import BEST, Query
from commonplace.search.words import K1, LEAST, B, cut_terms, lexemes, match, spellings

AT_ONCE = 500
"""Messages that are sent in one statement, or read in one go."""
LONGEST = 400
"""Characters of an id or a session: an index takes 2,700 bytes."""
COLUMNS = ", ".join(FIELDS)
SHOWN = ", ".join(f"m.{name}" for name in (*FIELDS, "exact"))
COUNTER = "insert into history(profile) values (%s) on conflict do nothing"
# Whoever takes positions waits for whoever took the ones before: they are in the order of commits.
TAKE = "update history set last = last + %s where profile = %s returning last"
INSERT = f"""with given as (
        select * from unnest(%s::bigint[], {"%s::text[], " * len(FIELDS)}
            %s::bytea[], %s::text[], %s::int[])
        as given(position, {COLUMNS}, exact, words, length)
    )
    insert into message(profile, position, {COLUMNS}, exact, words, length)
    select %s, position, {COLUMNS}, exact, words::tsvector, length from given order by position
    on conflict (profile, id) do nothing returning length"""
# Who suspends a tenant waits for this row: what is counted by then was in time, and nothing after.
COUNTED = """update history set messages = messages + %(messages)s, words = words + %(words)s
    where profile = %(profile)s and exists(
        select 1 from profile p where p.profile = %(profile)s and p.state = ''
            and p.renamed in ('', %(tenant)s))
    returning last"""
OF = f"select {SHOWN} from message m where m.profile = %s"
NEWEST = "order by m.time desc, m.position desc limit %s"
# BM25 as FTS5 computes it: over all that match, before anything else is asked of them. To
# `ts_rank_cd` every place of a term is a cover of its own, and with these weights each counts 1.
SCORED = f"""
    with term as (
        select number, term::tsquery as term
        from unnest(%(terms)s::text[]) with ordinality as given(term, number)
    ), matched as materialized (
        select position, length, words from message
        where profile = %(profile)s and words @@ %(any)s::tsquery
    ), counted as materialized (
        select position, length, number,
            ts_rank_cd('{{1,1,1,1}}', words, term)::float8 as times
        from matched join term on words @@ term
    ), kept as (
        select messages::float8 as messages, words::float8 / messages as length
        from history where profile = %(profile)s
    ), rarity as (
        select number, case when 2 * count(*) < messages
            then ln((messages - count(*) + 0.5) / (count(*) + 0.5)) else {LEAST} end as rarity
        from counted, kept group by number, messages
    ), scored as (
        select position, round(sum(rarity * times * {K1 + 1}
            / (times + {K1} * ({1 - B} + {B} * counted.length / kept.length))) * {DIGITS})
            / {DIGITS} as score
        from counted join rarity using (number), kept group by position
    )"""
FITS = """m.profile = %(profile)s
    and (%(session)s = '' or m.session = %(session)s) and m.time >= %(since)s
    and (%(until)s = '' or m.time <= %(until)s || chr(1114111))"""
IN_ORDER = "order by s.score desc, m.time desc, m.position desc"
SEARCH = f"""{SCORED} select {SHOWN} from scored s join message m using (position)
    where {FITS} {IN_ORDER} limit %(limit)s"""
BY_WORDS = f"""{SCORED} select m.position, s.score from scored s join message m using (position)
    where {FITS} {IN_ORDER} limit {BEST}"""
TOLD = "m.position, m.id, m.content, m.time, m.session, m.role, m.channel"
CONTAINING = f"""select {{shown}} from message m
    where strpos(m.content, %(text)s) > 0 and {FITS}
    order by m.time desc, m.position desc limit %(limit)s"""
BESIDE = """coalesce((select n.position from message n
    where n.profile = %(profile)s and n.session = m.session
    and (n.time, n.position) {than} (m.time, m.position)
    order by n.time {order}, n.position {order} limit 1), 0)"""
SEEN = f"""select {TOLD}, {BESIDE.format(than="<", order="desc")},
    {BESIDE.format(than=">", order="asc")}
    from message m where m.position = any(%(positions)s) and {FITS}"""
AFTER = f"{OF} and (m.time, m.position) > (%s, %s) order by m.time, m.position limit %s"
PAST = """ and (m.time, m.position) {than} (
    select p.time, p.position from message p where p.profile = %s and p.id = %s)"""
OPENINGS = f"""select distinct on (m.session) {SHOWN} from message m
    where m.profile = %s and m.session = any(%s)
    order by m.session, m.role <> 'user', m.time, m.position"""
SESSIONS = """select session, count(*), min(time), max(time) from message
    where profile = %s group by session order by max(time) desc, session"""
FORGET = "delete from message where profile = %s and id = any(%s) returning length"
SIZE = """select coalesce(sum(pg_column_size(m.*)), 0) from message m where m.profile = %s"""
NO_BOUNDS = {"session": "", "since": "", "until": ""}


class PostgresHistory:
    """The messages of one profile."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._profile = database.profile
        self._tag = tag_of(database.profile)

    def append(self, messages: Iterable[Message]) -> int:
        every = [_indexable(each) for each in messages]
        return self._database.repeated(lambda: self._append(every)) if every else 0

    def get(self, message_id: str) -> Message | None:
        self._database.check_open()
        found = self._messages(f"{OF} and m.id = %s", self._profile, _storable(message_id))
        return found[0] if found else None

    def last(
        self, session: str, count: int, *, agent: str = "", channel: str = ""
    ) -> list[Message]:
        self._database.check_open()
        wanted = {"session": session, "agent": agent, "channel": channel}
        named = {name: _storable(value) for name, value in wanted.items() if value}
        where = "".join(f" and m.{name} = %s" for name in named)
        return self._messages(f"{OF}{where} {NEWEST}", self._profile, *named.values(), count)[::-1]

    def page(
        self, session: str, count: int, *, past: str = "", back: bool = False
    ) -> list[Message]:
        self._database.check_open()
        than, order = ("<", "desc") if back else (">", "asc")
        after = PAST.format(than=than) if past else ""
        asked = f"{OF} and m.session = %s{after} order by m.time {order}, m.position {order}"
        named = (_storable(session), *((self._profile, _storable(past)) if past else ()))
        found = self._messages(f"{asked} limit %s", self._profile, *named, count)
        return found[::-1] if back else found

    def openings(self, sessions: Sequence[str]) -> list[Message]:
        self._database.check_open()
        return self._messages(OPENINGS, self._profile, [_storable(each) for each in sessions])

    def search(self, text: str, *, limit: int, session: str = "") -> list[Message]:
        self._database.check_open()
        if not text.strip():
            return self.last(session, limit)[::-1]
        bounds = {**NO_BOUNDS, "session": session}
        if match(text):
            return _told(self._scored(SEARCH, text, bounds, limit))
        asked = self._arguments(bounds, text=_storable(text.strip()), limit=limit)
        return _told(self._database.rows(CONTAINING.format(shown=SHOWN), asked))

    def find(self, query: Query, clock: Clock) -> SearchResult:
        self._database.check_open()
        return search.found(self, query, clock)

    def by_words(self, text: str, bounds: Bounds) -> list[tuple[int, float]]:
        return self._scored(BY_WORDS, text, bounds)

    def seen(self, positions: Iterable[int], bounds: Bounds) -> list[Any]:
        return self._database.rows(SEEN, self._arguments(bounds, positions=sorted(positions)))

    def containing(self, text: str, bounds: Bounds, limit: int) -> list[Any]:
        asked = self._arguments(bounds, text=_storable(text), limit=limit)
        return self._database.rows(CONTAINING.format(shown=TOLD), asked)

    def sql(self, statement: str, *, limit: int) -> Table:
        self._database.check_open()
        return ask(self._database, statement, limit=limit)

    def dump(self) -> Iterator[str]:
        self._database.check_open()
        time, position = "", 0
        while rows := self._database.rows(
            AFTER.replace(SHOWN, f"{SHOWN}, m.position"), (self._profile, time, position, AT_ONCE)
        ):
            yield from map(line_of, _told(row[:-1] for row in rows))
            time, position = rows[-1][FIELDS.index("time")], rows[-1][-1]

    def load(self, lines: Iterable[str], *, clean: Callable[[str], str] = str) -> int:
        return self.append(loaded(lines, clean))

    def sessions(self) -> list[Conversation]:
        self._database.check_open()
        return [Conversation(*row) for row in self._database.rows(SESSIONS, (self._profile,))]

    def count(self) -> int:
        counted = "select messages from history where profile = %s"
        return sum(number for (number,) in self._database.rows(counted, (self._profile,)))

    def forget(self, ids: Sequence[str]) -> int:
        named = [_storable(each) for each in ids]
        return self._database.repeated(lambda: self._forget(named))

    def healthy(self) -> str:
        try:
            self._database.rows(
                "select 1 from message where profile = %s limit 1", (self._profile,)
            )
        except CommonplaceError as error:
            return str(error)
        return ""

    def size(self) -> int:
        return int(self._database.rows(SIZE, (self._profile,))[0][0])

    def close(self) -> None:
        """The database is its owner's to close."""

    def _append(self, messages: Sequence[Message]) -> int:
        self._database.rows(COUNTER, (self._profile,))
        [(last,)] = self._database.rows(TAKE, (len(messages), self._profile))
        first, lengths = last - len(messages) + 1, list[int]()
        for at in range(0, len(messages), AT_ONCE):
            lengths += self._insert(messages[at : at + AT_ONCE], first + at)
        self._count(len(lengths), sum(lengths))
        return len(lengths)

    def _count(self, messages: int, words: int) -> None:
        """Note how many more there are, if they may be written at all."""
        added: dict[str, object] = {"messages": messages, "words": words, "profile": self._profile}
        added |= {"tenant": self._database.place.profile}
        if not self._database.rows(COUNTED, added):
            self._database.check_written()

    def _insert(self, messages: Sequence[Message], first: int) -> list[int]:
        """Keep these from this position on; the lengths of those that were new."""
        words = lexemes((each.content, spellings(each.content)) for each in messages)
        columns = [[_storable(getattr(each, name)) for each in messages] for name in FIELDS]
        rows = self._database.rows(
            INSERT,
            (
                list(range(first, first + len(messages))),
                *columns,
                [_exact(each) for each in messages],
                [vector_of_words(each, self._tag) for each in words],
                [each.length for each in words],
                self._profile,
            ),
        )
        return [length for (length,) in rows]

    def _forget(self, ids: Sequence[str]) -> int:
        gone = self._database.rows(FORGET, (self._profile, ids))
        lengths = [length for (length,) in gone]
        self._count(-len(lengths), -sum(lengths))
        return len(lengths)

    def _scored(self, statement: str, text: str, bounds: Bounds, limit: int = 0) -> list[Any]:
        wanted = cut_terms(text)
        if not wanted:
            return []
        each = [query_of([term], self._tag) for term in wanted]
        asked = self._arguments(bounds, terms=each, any=query_of(wanted, self._tag), limit=limit)
        return self._database.rows(statement, asked)

    def _arguments(self, bounds: Bounds, **rest: Any) -> Any:
        given = {name: _storable(value) for name, value in bounds.items()}
        return {"profile": self._profile, **given, **rest}

    def _messages(self, statement: str, *arguments: Any) -> list[Message]:
        return _told(self._database.rows(statement, arguments))


def _told(rows: Iterable[Sequence[Any]]) -> list[Message]:
    return [message_of(exact.decode()) if exact else Message(*row) for *row, exact in rows]


def _storable(text: str) -> str:
    """The text as PostgreSQL takes it: without halves of characters, and without NUL."""
    return clean(text).replace("\0", "\ufffd")


def _indexable(message: Message) -> Message:
    """The message, when what it is looked up by is as short as PostgreSQL's indexes need it."""
    for name in ("id", "session", "time"):
        if len(getattr(message, name)) > LONGEST:
            raise BadValue(
                name, f"it is longer than {LONGEST} characters", next_step="Give a shorter one."
            )
    return message


def _exact(message: Message) -> bytes | None:
    """The message as it was given, where PostgreSQL cannot keep it so."""
    line = line_of(message)
    return (
        line.encode() if "\\u0000" in line and "\0" in "".join(asdict(message).values()) else None
    )
