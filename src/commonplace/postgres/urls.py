"""The URL of a memory in PostgreSQL: server and database, schema and profile.

What libpq knows of a URL (hosts, sslmode, service files) is left to libpq.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from commonplace.model.errors import BadInput
from commonplace.model.options import is_url

OF_A_USER = ("user", "password", "passfile", "sslcert", "sslkey", "options")
PROFILE = re.compile(r"[\w][\w.@+-]{0,99}\Z")
SCHEMA_NAME = "commonplace"
SCHEMA = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")


class DatabaseUrl(Struct, frozen=True):
    """One profile in one schema of one database."""

    server: str
    """The URL as libpq takes it."""
    profile: str = "default"
    schema: str = SCHEMA_NAME

    def shown(self) -> str:
        """The URL as it may be printed: without its password."""
        parts = urlsplit(self.server)
        user, at, host = parts.netloc.rpartition("@")
        netloc = f"{user.partition(':')[0]}{at}{host}"
        hidden = [(name, value) for name, value in _query(self.server) if name != "password"]
        own = [] if self.schema == SCHEMA_NAME else [("schema", self.schema)]
        return _joined(self.server, [*hidden, ("profile", self.profile), *own], netloc=netloc)

    def url_for(self, user: str, password: str) -> str:
        """The URL with which another user reaches the same database, as libpq takes it."""
        host = urlsplit(self.server).netloc.rpartition("@")[2]
        rest = [(name, value) for name, value in _query(self.server) if name not in OF_A_USER]
        return _joined(self.server, rest, netloc=f"{quote(user)}:{quote(password)}@{host}")

    def url(self) -> str:
        """The URL that `parse_url` reads as this place."""
        return _joined(
            self.server,
            [*_query(self.server), ("profile", self.profile), ("schema", self.schema)],
        )


def parse_url(url: str) -> DatabaseUrl:
    """What a URL such as `postgresql://me@host/memories?profile=alice` names."""
    try:
        parts, given = urlsplit(url), dict(_query(url))
        for host in parts.netloc.rpartition("@")[2].split(","):
            _ = urlsplit(f"//{host}").port
    except ValueError as error:
        raise _bad_url(str(error)) from None
    if not is_url(url) or not (parts.path.strip("/") or "dbname" in given or "service" in given):
        raise _bad_url("it names no database")
    profile, schema = given.pop("profile", "default"), given.pop("schema", SCHEMA_NAME)
    if not PROFILE.match(profile):
        raise _bad_url(f"{profile!r} is not the name of a profile")
    if not SCHEMA.match(schema):
        raise _bad_url(f"{schema!r} is not the name of a schema")
    return DatabaseUrl(_joined(url, given.items()), profile, schema)


def _query(url: str) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(url).query, keep_blank_values=True)


def _joined(url: str, query: Iterable[tuple[str, str]], *, netloc: str | None = None) -> str:
    parts = urlsplit(url)
    where = parts.netloc if netloc is None else netloc
    return urlunsplit(
        ("postgresql", where, parts.path or "/", urlencode(list(query), quote_via=quote), "")
    )


def _bad_url(problem: str) -> BadInput:
    return BadInput(
        f"The URL of the memory cannot be used: {problem}.",
        next_step="Write it as postgresql://user:password@host:5432/database?profile=name.",
    )
