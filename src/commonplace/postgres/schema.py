"""The tables, as numbered steps, and `migrate`, which takes those that a database lacks.

A step is taken once and never changed; new ones are added at the end. Every key begins with
`profile`, which is made by a client and never changes. There are no triggers, sequences,
notifications or advisory locks, so that the tables can be spread over many servers. That is a step
too (`distribution`), which waits until the database has Citus.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any

import psycopg
from msgspec import Struct
from psycopg import sql

from commonplace.model.errors import DatabaseTrouble, NoSuchVault
from commonplace.postgres.distribution import distribute, still_whole
from commonplace.postgres.server import (
    GRAPHS,
    OWN,
    Engine,
    add_vectors,
    graph_of_vectors,
    kept_apart,
    no_cluster,
    probe,
    takes_no_writes,
)

ASKED_FOR = """profile = coalesce(
    (select r.profile from reader r where r.role = current_user),
    nullif(current_setting('commonplace.profile', true), '')::uuid)"""
"""What is read through views: a role that is a reader of one profile sees that one, whatever it
names. Rows of a view are seen with the rights of the view's owner.
"""
TRIES = 20
MADE_AT_ONCE = (
    psycopg.errors.UniqueViolation,
    psycopg.errors.DuplicateTable,
    psycopg.errors.DuplicateSchema,
    psycopg.errors.InternalError_,
)
"""What two hosts get that make the same thing at the same moment."""


def documents_and_journal() -> list[str]:
    """Documents in pieces, so that an append is one small insert; the journal beside them."""
    return [
        """create table profile_name(
            name text primary key, profile uuid not null
        )""",
        """create table profile(
            profile uuid primary key,
            dialect text not null default '',
            journal text not null,
            ended bigint not null default 0,
            marks text not null default '',
            made timestamptz not null default now()
        )""",
        """create table document(
            profile uuid not null, name text collate "C" not null,
            size bigint not null, changed bigint not null,
            primary key (profile, name)
        )""",
        """create table piece(
            profile uuid not null, document text collate "C" not null, at bigint not null,
            data bytea not null,
            primary key (profile, document, at)
        )""",
        """create table entry(
            profile uuid not null, position bigint not null, line bytea not null,
            primary key (profile, position)
        )""",
        """create table version(
            profile uuid not null, name text collate "C" not null, data bytea not null,
            primary key (profile, name)
        )""",
        """create table note(
            profile uuid not null, name text collate "C" not null, data bytea not null,
            primary key (profile, name)
        )""",
        """create table lease(
            profile uuid not null, name text collate "C" not null,
            holder uuid not null, until timestamptz not null, said text not null default '',
            primary key (profile, name, holder)
        )""",
        *kept_apart("profile", "document", "piece", "entry", "version", "note", "lease"),
    ]


def entries_with_data() -> list[str]:
    """Every process asks once for the entries that carry what written lines do not show."""
    return [
        """create index entry_data on entry(profile, position)
            where position('"data":'::bytea in line) > 0"""
    ]


def index_of_words() -> list[str]:
    """Records, where they stand, and their words.

    A b-tree takes no value of more than 2,700 bytes, and a person may write anything anywhere:
    what may be long is in no index whole.
    """
    return [
        """create table level(
            profile uuid primary key,
            position bigint not null default 0, mark text not null default '',
            last_key bigint not null default 0,
            records bigint not null default 0, lexemes bigint not null default 0
        )""",
        """create table known(
            profile uuid not null, name text collate "C" not null,
            size bigint not null, mtime_ns bigint not null, inode text not null,
            digest text not null, racy int not null, atime_ns bigint not null,
            lines bigint not null, base bigint not null, glimpse text not null,
            primary key (profile, name)
        )""",
        """create table record(
            profile uuid not null, key bigint not null, digest bigint not null,
            lead boolean not null, length int not null, words tsvector not null,
            id text collate "C" not null, kind text collate "C" not null,
            text text collate "C" not null, timestamp text collate "C" not null,
            tags text collate "C" not null, supersedes text collate "C" not null,
            session text collate "C" not null, "group" text collate "C" not null,
            channel text collate "C" not null, username text collate "C" not null,
            confidence float8 not null, sensitivity text collate "C" not null,
            origin text collate "C" not null, valid_from text collate "C" not null,
            valid_to text collate "C" not null, sources text collate "C" not null,
            primary key (profile, key)
        )""",
        """create table place(
            profile uuid not null, document text collate "C" not null, line bigint not null,
            key bigint not null,
            primary key (profile, document, line)
        )""",
        *kept_apart("level", "known", "record", "place", forced=False),
        "create unique index record_by_id on record(profile, id, digest)",
        "create index record_by_time on record(profile, left(timestamp, 40)) where lead",
        """create index record_by_session on record(profile, session, timestamp, key)
            where session <> '' and lead and length(session) <= 200 and length(timestamp) <= 40""",
        """create index record_by_superseded on record(profile, supersedes)
            where supersedes <> '' and length(supersedes) <= 100""",
        "create index place_by_key on place(profile, key)",
        # Whoever searches would otherwise read through what all profiles wrote last.
        "create index record_by_words on record using gin(words) with (fastupdate = off)",
    ]


def conversations() -> list[str]:
    """What was said, with the words of it that are searched; and the views that agents may ask.

    `history` counts: how far the positions have come, how many messages and words there are.
    """
    return [
        """create table history(
            profile uuid primary key,
            last bigint not null default 0,
            messages bigint not null default 0,
            words bigint not null default 0
        )""",
        """create table message(
            profile uuid not null, position bigint not null,
            id text collate "C" not null, session text collate "C" not null,
            agent text collate "C" not null, channel text collate "C" not null,
            role text collate "C" not null, content text collate "C" not null,
            time text collate "C" not null,
            exact bytea, words tsvector not null, length int not null,
            primary key (profile, position), unique (profile, id)
        )""",
        "create index message_by_session on message(profile, session, time, position)",
        "create index message_by_time on message(profile, time, position)",
        # Every lexeme begins with a tag of its profile: one column is enough to find by.
        "create index message_by_words on message using gin(words) with (fastupdate = off)",
        "create table reader(role name primary key, profile uuid not null)",
        *kept_apart("history"),
        *kept_apart("message", forced=False, seen=ASKED_FOR),
        f"""create view messages with (security_barrier) as
            select id, session, agent, channel, role, content, time
            from message where {ASKED_FOR}""",
        f"""create view sessions with (security_barrier) as
            select session, count(*) as messages, min(time) as first, max(time) as last
            from message where {ASKED_FOR} group by session""",
    ]


def gateway_tokens() -> list[str]:
    """Who may come in to a gateway, by the hash of a token: the gateways of a database share it."""
    return [
        """create table token(
            hash text primary key, pass text not null, made timestamptz not null default now()
        )"""
    ]


def times_of_messages() -> list[str]:
    """Times that can be reckoned with in the views; who could read them before still can."""
    as_time = """case when {0} ~ '^\\d{{4}}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d'
        then {0}::timestamptz end"""
    return [
        f"""do $step$
        declare
            readers text[] := array(
                select distinct given.grantee::regrole::text
                from pg_class c, aclexplode(c.relacl) given
                where c.oid in ('messages'::regclass, 'sessions'::regclass)
                and given.grantee not in (0, c.relowner));
            reader text;
        begin
            drop view sessions, messages;
            create view messages with (security_barrier) as
                select id, session, agent, channel, role, content,
                    {as_time.format("time")} as time
                from message where {ASKED_FOR};
            create view sessions with (security_barrier) as
                select session, count(*) as messages,
                    {as_time.format("min(time)")} as first, {as_time.format("max(time)")} as last
                from message where {ASKED_FOR} group by session;
            foreach reader in array readers loop
                execute 'grant select on messages, sessions to ' || reader;
            end loop;
        end $step$"""
    ]


def chains_and_duplicates() -> list[str]:
    """What a record says of its successor and of being told again, and a number of its words.

    The records are read anew from the documents.
    """
    return [
        """alter table record
            add column replaced_by text collate "C" not null default '',
            add column seen text collate "C" not null default '',
            add column said bigint not null default 0""",
        """create index record_by_successor on record(profile, replaced_by)
            where replaced_by <> '' and length(replaced_by) <= 100""",
        "create index record_saying on record(profile, said) where said <> 0",
        "update level set mark = ''",
    ]


def evidence() -> list[str]:
    """The user's message that a record rests on, and words of the agent's that find it."""
    return [
        """alter table record
            add column evidence text collate "C" not null default '',
            add column found_by text collate "C" not null default ''""",
        "update level set mark = ''",
    ]


def forms_of_words() -> list[str]:
    """Records are read anew from the documents, with other forms of their words beside them."""
    return ["update level set mark = ''"]


def moments_and_verdicts() -> list[str]:
    """When a record is told, what files it rests on, and what people and agents said of it."""
    names = ("when", "must", "pinned", "citations", "useful", "wrong")
    added = ", ".join(
        f"""add column "{name}" text collate "C" not null default ''""" for name in names
    )
    return [f"alter table record {added}", "update level set mark = ''"]


def proofs_of_commits() -> list[str]:
    """A row for each locked transaction: whoever lost the answer to a commit looks for it."""
    return [
        """create table committed(
            profile uuid not null, mark uuid not null, at timestamptz not null default now(),
            primary key (profile, mark)
        )""",
        *kept_apart("committed"),
    ]


def records_with_a_time() -> list[str]:
    """Records that say from when or until when they hold: few, and asked for by every search."""
    return [
        """create index record_with_a_time on record(profile)
            where lead and (valid_from <> '' or valid_to <> '')""",
    ]


def rows_of_a_named_profile() -> list[str]:
    """Whoever reads messages past the views names the profile, as for all other tables.

    A cluster asks no table of another server before it shows a row.
    """
    return [f"alter policy own on message using ({OWN})"]


def rules_with_moments() -> list[str]:
    """Rules that are told at moments of their own are looked for before every call of a tool."""
    return ["""create index record_with_moments on record(profile) where "when" <> ''"""]


def what_is_always_told() -> list[str]:
    """The few records that a person pinned or that were of use, found without reading all."""
    return [
        "create index record_pinned on record(profile, timestamp) where pinned <> ''",
        """create index record_used on record(profile, timestamp)
            where (seen <> '' or useful <> '')""",
    ]


def states_and_quotas() -> list[str]:
    """What the operator lets a tenant do, and how much of it.

    `renamed` is its name since it was given another one: what has it open by the first one lets go.
    """
    return [
        """alter table profile
            add column state text not null default '',
            add column renamed text not null default '',
            add column most_records bigint not null default 0,
            add column most_bytes bigint not null default 0,
            add column most_requests int not null default 0"""
    ]


STEPS: tuple[Callable[[], list[str]], ...] = (
    documents_and_journal,
    entries_with_data,
    index_of_words,
    conversations,
    gateway_tokens,
    times_of_messages,
    chains_and_duplicates,
    evidence,
    forms_of_words,
    moments_and_verdicts,
    proofs_of_commits,
    records_with_a_time,
    rows_of_a_named_profile,
    distribute,
    rules_with_moments,
    what_is_always_told,
    states_and_quotas,
)
"""A step that is in no database yet stands at the end."""
DISTRIBUTED = 1 + STEPS.index(distribute)
"""The step that waits for Citus, and is taken anew when a later one has made tables."""


def index_of_vectors() -> list[str]:
    """Vectors beside the records; taken when the database has got pgvector, however late."""
    return [
        """create table model(
            profile uuid not null, number int not null, name text collate "C" not null,
            dim int not null, upto bigint not null default 0, graph boolean not null default false,
            primary key (profile, number), unique (profile, name, dim)
        )""",
        """create table embedding(
            profile uuid not null, model int not null, key bigint not null,
            norm float8 not null, vector halfvec not null, graph int not null default 0,
            primary key (profile, model, key)
        )""",
        *kept_apart("model", "embedding", forced=False),
        *(graph_of_vectors(dim) for dim in GRAPHS),
    ]


class Upgraded(Struct, frozen=True):
    """What became of the tables."""

    taken: tuple[str, ...] = ()
    """The steps that were taken now."""
    left: tuple[str, ...] = ()
    """What the database could have, with what to do about it."""


def migrate(
    connection: psycopg.Connection[Any],
    *,
    schema: str,
    where: str,
    create: bool = True,
    spread: bool = False,
) -> tuple[str, ...]:
    """Take the steps that this database has not taken yet, each host waiting for the other.

    Where none was ever taken there is no memory, and only who may create one makes the tables. They
    are spread over a cluster as they are made; those that were there before, when that is asked
    for. It is all one transaction: what fails leaves nothing behind.
    """
    found = _taken(connection)
    if max(found, default=0) > len(STEPS):
        raise DatabaseTrouble(
            where,
            f"its tables have the shape {max(found)}, and this commonplace knows up to "
            f"{len(STEPS)}",
            next_step="Update commonplace on this machine.",
        )
    complete = not spread and not _missing(found)
    if complete and _has_vectors(connection):
        return ()
    engine = probe(connection, where)
    if complete and (engine.replica or not engine.vectors):
        return ()
    if not found and not create:
        raise NoSuchVault(where)
    if engine.replica:
        raise takes_no_writes(where)
    if spread and not engine.citus:
        raise no_cluster(where)
    with connection.transaction():
        if not engine.vectors:
            add_vectors(connection)
        _make_schema(connection, schema)
        # Another host that takes the same steps waits here, and then finds them taken.
        connection.execute("lock table step in exclusive mode")
        return _take(connection, probe(connection, where), spread=spread)


def _take(connection: psycopg.Connection[Any], engine: Engine, *, spread: bool) -> tuple[str, ...]:
    """Take what is missing, and tell the names of these steps."""
    found = _taken(connection)
    done = []
    for number in _missing(found):
        _say(connection, STEPS[number - 1]())
        _note(connection, number)
        done.append(_name(STEPS[number - 1]))
    if engine.vectors and not _has_vectors(connection):
        _say(connection, index_of_vectors())
        done.append(_name(index_of_vectors))
    is_spread = DISTRIBUTED in found
    if engine.citus and (spread or not found or (is_spread and done)) and still_whole(connection):
        _say(connection, distribute())
        _note(connection, DISTRIBUTED)
        done.append(_name(distribute))
    return tuple(done)


def _say(connection: psycopg.Connection[Any], statements: Iterable[str]) -> None:
    for statement in statements:
        connection.execute(statement)


def _note(connection: psycopg.Connection[Any], number: int) -> None:
    said = "insert into step(number) values (%s) on conflict do nothing"
    connection.execute(said, (number,))


def _name(step: Callable[[], list[str]]) -> str:
    return step.__name__.replace("_", " ")


def _missing(taken: Container[int]) -> list[int]:
    """The numbers of the steps to take, without the one that waits for a cluster."""
    return [
        number
        for number in range(1, len(STEPS) + 1)
        if number not in taken and number != DISTRIBUTED
    ]


def left_over(connection: psycopg.Connection[Any], engine: Engine) -> tuple[str, ...]:
    """What the database could have, with what to do about it."""
    whole = still_whole(connection) if engine.citus else []
    spread = (
        f"distribute: the database has Citus, and {len(whole)} tables are on one server still. "
        "'commonplace upgrade URL --distribute' spreads them."
    )
    return tuple(each for each in (whole and spread, engine.without_vectors) if each)


def _taken(connection: psycopg.Connection[Any]) -> set[int]:
    if connection.execute("select to_regclass('step')").fetchall() == [(None,)]:
        return set()
    return {number for (number,) in connection.execute("select number from step").fetchall()}


def _has_vectors(connection: psycopg.Connection[Any]) -> bool:
    return connection.execute("select to_regclass('embedding')").fetchall() != [(None,)]


def _make_schema(connection: psycopg.Connection[Any], schema: str) -> None:
    # Who may not make one may use one that was made for him; "if not exists" is refused even then.
    there = connection.execute("select to_regnamespace(%s)", (schema,)).fetchall() != [(None,)]
    for left in range(TRIES, -1, -1):
        try:
            with connection.transaction():
                name = sql.Identifier(schema)
                if not there:
                    connection.execute(sql.SQL("create schema if not exists {}").format(name))
                connection.execute(
                    sql.SQL(
                        "create table if not exists {}.step("
                        "number int primary key, taken timestamptz not null default now())"
                    ).format(name)
                )
            return
        except MADE_AT_ONCE:
            if not left:
                raise
