"""The tenants of one database: its profiles by name, each with the URL that opens it.

Which there are is asked of the database when somebody wants to know, so that one that was made a
moment ago is there without a restart. What an operator does to one stands in its own row, which
every write and every search reads anyway: it holds at once, on every host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from commonplace.model.clock import Clock
from commonplace.model.errors import AlreadyExists, BadValue, NotFound
from commonplace.postgres.connection import DROPPED, LOCK, NAME_PROFILE, Database
from commonplace.postgres.history import COUNTER
from commonplace.postgres.urls import PROFILE, parse_url
from commonplace.storage import journal_format

NAMES = "select name from profile_name order by name"
THERE = "select 1 from profile_name where name = %s"
PROFILES = "select name, profile::text from profile_name order by name"
FIND = "select profile::text from profile_name where name = %s"
ABOUT = """
select p.state, p.most_records, p.most_bytes, p.most_requests,
    (select coalesce(max(l.records), 0) from level l where l.profile = %(profile)s),
    p.ended + (select coalesce(sum(d.size), 0)::bigint from document d
        where d.profile = %(profile)s),
    (select coalesce(max(h.messages), 0) from history h where h.profile = %(profile)s)
from profile p where p.profile = %(profile)s
"""
NEWEST = "select line from entry where profile = %s order by position desc limit 1"
BEGINNING = "select line from entry where profile = %s order by position limit 1"
SET_STATE = "update profile set state = %s where profile = %s and state <> 'dropped'"
WAIT_FOR_MESSAGES = "select last from history where profile = %s for update"
SET_QUOTA = """
update profile set most_records = coalesce(%s::bigint, most_records),
    most_bytes = coalesce(%s::bigint, most_bytes),
    most_requests = coalesce(%s::int, most_requests) where profile = %s
"""
REQUESTS = "select most_requests from profile where profile = %s"
RENAME = "update profile_name set name = %s where name = %s"
NOTE_RENAMED = "update profile set renamed = %s where profile = %s"

Also = Callable[[Database], None]
"""What is done in the same transaction."""


class Tenant(Struct, frozen=True):
    """What the operator is told of one."""

    name: str
    state: str = "open"
    records: int = 0
    bytes: int = 0
    """Of its documents and its journal."""
    messages: int = 0
    used: str = ""
    """The time of the newest entry of its journal; empty where there is none."""
    most_records: int = 0
    """Its quotas; 0: none."""
    most_bytes: int = 0
    most_requests_a_minute: int = 0


class Tenants(Mapping[str, str]):
    """The URL of each profile of a database, by the profile's name."""

    def __init__(self, url: str, *, clock: Clock) -> None:
        self.place = parse_url(url)
        self._clock = clock
        self._database: Database | None = None
        self._process = 0

    @property
    def database(self) -> Database:
        """The database as this process reaches it: a fork has connections of its own."""
        if self._database is None or self._process != os.getpid():
            self._database = Database.open_whole(self.place, clock=self._clock)
            self._process = os.getpid()
        return self._database

    def __getitem__(self, name: str) -> str:
        if name not in self:
            raise KeyError(name)
        return self.url_of(name)

    def __contains__(self, name: object) -> bool:
        return bool(self.database.rows(THERE, (name,)))

    def __iter__(self) -> Iterator[str]:
        return (name for (name,) in self.database.rows(NAMES))

    def __len__(self) -> int:
        return len(self.database.rows(NAMES))

    def values(self) -> list[str]:  # type: ignore[override]
        """All their URLs, found with one question."""
        return [self.url_of(name) for name in self]

    def url_of(self, name: str) -> str:
        """The URL that opens a tenant of this name."""
        return replace(self.place, profile=name).url()

    def close(self) -> None:
        if self._database and self._process == os.getpid():
            self._database.close()
        self._database = None

    def all(self) -> list[Tenant]:
        """Every tenant, by name."""
        found = self.database.rows(PROFILES)
        return [_told(self.database.beside(name, profile)) for name, profile in found]

    def about(self, name: str) -> Tenant:
        return _told(self._rows_of(name))

    def beginning(self, name: str) -> bytes:
        """The first line of a tenant's journal, also of one that is closed: it is in no other."""
        one = self._rows_of(name)
        rows = one.rows(BEGINNING, (one.profile,))
        return bytes(rows[0][0]) if rows else b""

    def requests(self, name: str) -> int:
        """How many requests a minute a tenant may send; 0: any number."""
        found = self.database.rows(FIND, (name,))
        rows = [
            row
            for (profile,) in found
            for row in self.database.beside(name, profile).rows(REQUESTS, (profile,))
        ]
        return int(rows[0][0]) if rows else 0

    def create(self, name: str) -> None:
        """Make a tenant that has nothing yet."""
        _check(name)
        named = f"{NAME_PROFILE} returning name"
        if not self.database.rows(named, (name, self.database.new_uuid())):
            raise _taken(name)
        Database.open(replace(self.place, profile=name), clock=self._clock).close()

    def set_state(self, name: str, state: str) -> None:
        """Let a tenant be read and written, or not, from now on and on every host.

        What was acknowledged before this returns is there; what comes later is refused.
        """
        one = self._rows_of(name)
        one.rows(SET_STATE, (state, one.profile))
        _wait_for_messages(one)

    def set_quota(
        self,
        name: str,
        *,
        records: int | None = None,
        size: int | None = None,
        requests: int | None = None,
    ) -> None:
        """Change the quotas that are named; 0 is none."""
        one = self._rows_of(name)
        one.rows(SET_QUOTA, (records, size, requests, one.profile))

    def rename(self, name: str, new: str, *, also: Also) -> None:
        """Give a tenant another name: its rows stay as they are. `also` sees to its tokens."""
        _check(new)
        one = self._rows_of(name)

        def work() -> None:
            one.rows(LOCK, (one.profile,))
            if one.rows(THERE, (new,)):
                raise _taken(new)
            one.rows(RENAME, (new, name))
            one.rows(NOTE_RENAMED, (new, one.profile))
            also(one)

        one.repeated(work)

    def drop(self, name: str, *, also: Also) -> Tenant:
        """Erase a tenant, with all that it has. Returns what that was.

        Calls to it are refused from the first moment on. Cut off, it can be dropped again.
        """
        from commonplace.postgres.read_only_sql import readers_of, revoke_reader

        one, what = self._rows_of(name), self.about(name)

        def close() -> None:
            one.rows(SET_STATE, (DROPPED, one.profile))
            also(one)

        one.repeated(close)
        _wait_for_messages(one)
        for reader in readers_of(one):
            revoke_reader(one, reader)
        one.erase()
        # Sessions note things without the lock: one that was at it may have come after the first.
        one.erase()
        one.sweep()
        return what

    def _rows_of(self, name: str) -> Database:
        found = self.database.rows(FIND, (name,))
        if not found:
            raise NotFound(
                f"There is no tenant {name!r}.", next_step="'commonplace tenants URL' lists them."
            )
        return self.database.beside(name, found[0][0])


def _wait_for_messages(one: Database) -> None:
    """Wait for who is writing messages: that is done without the lock, with the row that counts."""
    one.rows(COUNTER, (one.profile,))
    one.rows(WAIT_FOR_MESSAGES, (one.profile,))


def _told(one: Database) -> Tenant:
    rows = one.rows(ABOUT, {"profile": one.profile})
    if not rows:
        return Tenant(one.place.profile)
    state, most_records, most_bytes, most_requests, records, size, messages = rows[0]
    newest = one.rows(NEWEST, (one.profile,))
    entry = journal_format.entry_in(newest[0][0]) if newest else None
    return Tenant(
        name=one.place.profile,
        state=state or "open",
        records=records,
        bytes=size,
        messages=messages,
        used=entry.at if entry else "",
        most_records=most_records,
        most_bytes=most_bytes,
        most_requests_a_minute=most_requests,
    )


def _check(name: str) -> None:
    if not PROFILE.match(name):
        raise BadValue(
            "name", f"{name!r} is not the name of a tenant", next_step="Use letters, digits, _.@+-."
        )


def _taken(name: str) -> AlreadyExists:
    return AlreadyExists(f"A tenant {name!r}", next_step="Choose another name.")
