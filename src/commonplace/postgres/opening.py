"""Open the parts of a vault in PostgreSQL: one profile of one database."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from commonplace.markdown.layouts import LAYOUTS, SHARED, Layout, configured, layout_named
from commonplace.model.clock import Clock
from commonplace.model.errors import CommonplaceError
from commonplace.model.files import StrPath
from commonplace.model.options import Options
from commonplace.postgres.connection import Database
from commonplace.postgres.index import PostgresIndex
from commonplace.postgres.journal import PostgresJournal
from commonplace.postgres.notes import PostgresLeases, PostgresNotes
from commonplace.postgres.server import takes_no_writes
from commonplace.postgres.urls import parse_url
from commonplace.postgres.vault import PostgresVault, ProgressRow
from commonplace.storage.error_log import log_path
from commonplace.storage.option_files import load

if TYPE_CHECKING:
    from commonplace.history.messages import History
    from commonplace.storage.leases import Leases

SERVERS_OWN = (
    "what the server keeps: room in its files that nobody used again yet, its log, backups"
)
ANY_MESSAGE = "select 1 from message where profile = %s limit 1"


class PostgresParts:
    """A vault in a profile of a PostgreSQL database."""

    apart = distrusted = ""
    ignored: Mapping[str, Mapping[str, Any]]

    def __init__(
        self,
        path: StrPath,
        *,
        clock: Clock | None,
        create: bool,
        environ: Mapping[str, str],
        options: Mapping[str, Any],
    ) -> None:
        loaded = load(None, environ=environ, arguments=options)
        self.options, self.ignored, self.unread = loaded.options, loaded.ignored, loaded.unread
        self.clock = clock or Clock(zone=self.options.timezone)
        where = parse_url(str(path))
        seconds = self.options.lock_seconds
        self.database = Database.open(where, clock=self.clock, seconds=seconds, create=create)
        self.place, self.shown = where.url(), where.shown()
        self.read_only = self.database.engine.replica
        self.state = self.root = _own_state(self.options, self.database.profile, environ)
        try:
            self.layout = configured(_noted_layout(self.database, self.options), self.options)
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        database, clock = self.database, self.clock
        self.vault = PostgresVault(database, layout=self.layout, clock=clock)
        self.journal = PostgresJournal(database, clock=clock)
        self.index = PostgresIndex(database, rank=self.layout.rank)
        self.progress_store = ProgressRow(database)
        self.notes = PostgresNotes(database)

    def own(self) -> str:
        return self.state

    def leases(self) -> Leases:
        return PostgresLeases(self.database, clock=self.clock)

    def history(self) -> History:
        from commonplace.postgres.history import PostgresHistory

        return PostgresHistory(self.database)

    def has_history(self) -> bool:
        return bool(self.database.rows(ANY_MESSAGE, (self.database.profile,)))

    def in_database(self) -> Database:
        return self.database

    def refusal(self) -> CommonplaceError:
        return takes_no_writes(self.shown)

    def sweep(self) -> tuple[str, ...]:
        self.database.sweep()
        return (SERVERS_OWN,)

    def close(self) -> None:
        self.database.close()


def _noted_layout(database: Database, options: Options) -> Layout:
    """The layout that was asked for, or that the profile was opened with before."""
    noted = database.head().dialect
    if options.dialect and options.dialect not in SHARED:
        layout = layout_named(options.dialect)
    else:
        layout = LAYOUTS.get(noted) or LAYOUTS["native"]
    if not noted and not database.engine.replica:
        database.set_dialect(layout.name)
    return layout


def _own_state(options: Options, profile: str, environ: Mapping[str, str]) -> str:
    """Where this machine keeps what belongs to it alone; whoever has something makes it."""
    near = options.state_dir or os.path.dirname(log_path(environ) or log_path())
    return os.path.join(os.path.expanduser(near), profile)
