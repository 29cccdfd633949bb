"""The tables, as numbered steps that are taken once each and never changed.

Every key begins with `profile`, which is made by a client and never changes. There are no triggers,
sequences, notifications or advisory locks, so that the tables can be spread over many servers. A
step is only ever added at the end. It does not know who reads or writes the rows.
"""

from __future__ import annotations

from collections.abc import Callable

from commonplace.database.engines import Engine, kept_apart, known_everywhere


def documents_and_journal(engine: Engine) -> list[str]:
    """Documents in pieces, so that an append is one small insert; the journal beside them."""
    return [
        """create table profile_name(
            name text primary key, profile uuid not null
        )""",
        *known_everywhere(engine, "profile_name"),
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
        *kept_apart(engine, "profile", "document", "piece", "entry", "version", "note", "lease"),
    ]


def entries_with_data(_: Engine) -> list[str]:
    """Every process asks once for the entries that carry what written lines do not show."""
    return [
        """create index entry_data on entry(profile, position)
            where position('"data":'::bytea in line) > 0"""
    ]


STEPS: tuple[Callable[[Engine], list[str]], ...] = (documents_and_journal, entries_with_data)
