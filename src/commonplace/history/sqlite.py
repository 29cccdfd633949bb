"""The history in one SQLite file, with an FTS5 table over the messages.

Nothing is acknowledged before it is on the disk.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.history.messages import FIELDS, Conversation, Message, Table, line_of, loaded
from commonplace.model.errors import BadValue, CommonplaceError, VaultTrouble
from commonplace.model.files import StrPath
from commonplace.search.index import BEST
from commonplace.search.sqlite.connections import Connections
from commonplace.search.words import match, spellings
from commonplace.storage import machine_files

if TYPE_CHECKING:
    from commonplace.history.search import Bounds
    from commonplace.model.clock import Clock
    from commonplace.model.records import SearchResult
    from commonplace.search.index import Query

STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE message(
            position INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
            session TEXT NOT NULL, agent TEXT NOT NULL, channel TEXT NOT NULL, role TEXT NOT NULL,
            content TEXT NOT NULL, time TEXT NOT NULL, words TEXT NOT NULL
        )""",
        "CREATE INDEX message_by_session ON message(session, time, position)",
        "CREATE INDEX message_by_time ON message(time, position)",
        """CREATE VIRTUAL TABLE message_words USING fts5(
            content, words, content='message', content_rowid='position',
            tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* M* Co'"
        )""",
        """CREATE VIEW messages AS
            SELECT id, session, agent, channel, role, content, time FROM message""",
        """CREATE VIEW sessions AS
            SELECT session, count(*) AS messages, min(time) AS first, max(time) AS last
            FROM message GROUP BY session""",
    ),
    # Times as SQLite's own datetime() writes them, so that the two compare.
    (
        "DROP VIEW sessions",
        "DROP VIEW messages",
        """CREATE VIEW messages AS
            SELECT id, session, agent, channel, role, content,
                replace(replace(time, 'T', ' '), 'Z', '') AS time FROM message""",
        """CREATE VIEW sessions AS
            SELECT session, count(*) AS messages,
                replace(replace(min(time), 'T', ' '), 'Z', '') AS first,
                replace(replace(max(time), 'T', ' '), 'Z', '') AS last
            FROM message GROUP BY session""",
    ),
)
"""The tables. A step is taken once and never changed; new ones are added at the end."""
VERSION = len(STEPS)
COLUMNS = ", ".join(FIELDS)
SHOWN = ", ".join(f"m.{name}" for name in FIELDS)
INSERT = f"""INSERT INTO message({COLUMNS}, words) VALUES({"?, " * len(FIELDS)}?)
    ON CONFLICT(id) DO NOTHING RETURNING position"""
WORD = """INSERT INTO message_words(rowid, content, words)
    SELECT position, content, words FROM message WHERE position = ?"""
GET = f"SELECT {COLUMNS} FROM message WHERE id = ?"
LAST = f"""SELECT {COLUMNS} FROM message
    WHERE {{where}} ORDER BY time DESC, position DESC LIMIT ?"""
FOUND = f"""SELECT {SHOWN} FROM message_words w JOIN message m ON m.position = w.rowid
    WHERE message_words MATCH ? AND (? = '' OR m.session = ?)
    ORDER BY w.rank, m.time DESC, m.position DESC LIMIT ?"""
# For what has no words in it, such as a picture character.
CONTAINING = f"""SELECT {COLUMNS} FROM message WHERE instr(content, ?) AND (? = '' OR session = ?)
    ORDER BY time DESC, position DESC LIMIT ?"""
ALL = f"SELECT {COLUMNS} FROM message ORDER BY time, position"
PAGE = f"""SELECT {COLUMNS} FROM message WHERE session = ?{{past}}
    ORDER BY time {{order}}, position {{order}} LIMIT ?"""
PAST = " AND (time, position) {than} (SELECT p.time, p.position FROM message p WHERE p.id = ?)"
OPENINGS = f"""SELECT {SHOWN} FROM json_each(?) j CROSS JOIN message m ON m.position = (
    SELECT n.position FROM message n WHERE n.session = j.value
    ORDER BY n.role != 'user', n.time, n.position LIMIT 1)"""
SESSIONS = """SELECT session, count(*), min(time), max(time) FROM message
    GROUP BY session ORDER BY max(time) DESC, session"""
TOLD = "m.position, m.id, m.content, m.time, m.session, m.role, m.channel"
FITS = """(:session = '' OR m.session = :session) AND m.time >= :since
    AND (:until = '' OR m.time <= :until || char(1114111))"""
BEST_BY_WORDS = f"""SELECT m.position, -w.rank FROM message_words w
    CROSS JOIN message m ON m.position = w.rowid
    WHERE message_words MATCH :words AND {FITS}
    ORDER BY w.rank, m.time DESC, m.position DESC LIMIT {BEST}"""
TOLD_CONTAINING = f"""SELECT {TOLD} FROM message m WHERE instr(m.content, :text) AND {FITS}
    ORDER BY m.time DESC, m.position DESC LIMIT :limit"""
BESIDE = """coalesce((SELECT n.position FROM message n WHERE n.session = m.session
    AND (n.time, n.position) {than} (m.time, m.position)
    ORDER BY n.time {order}, n.position {order} LIMIT 1), 0)"""
BEFORE = BESIDE.format(than="<", order="DESC")
AFTER = BESIDE.format(than=">", order="ASC")
SEEN = f"""SELECT {TOLD}, {BEFORE}, {AFTER} FROM json_each(:positions) j
    CROSS JOIN message m ON m.position = j.value WHERE {FITS}"""
BY_ID = "id IN (SELECT value FROM json_each(?))"
UNWORD = f"""INSERT INTO message_words(message_words, rowid, content, words)
    SELECT 'delete', position, content, words FROM message WHERE {BY_ID}"""


class SqliteHistory:
    """The messages of one vault; of a program's own while it runs when there is no path."""

    def __init__(self, path: StrPath | None) -> None:
        is_new = path is not None and machine_files.look(os.fspath(path)) is None
        self._connections = Connections(path, migrate=migrate)
        if path and is_new:
            _keep_name(os.path.dirname(path))

    def append(self, messages: Iterable[Message]) -> int:
        with self._connections.transaction() as db:
            return sum(_insert(db, message) for message in messages)

    def get(self, message_id: str) -> Message | None:
        found = self._messages(GET, message_id)
        return found[0] if found else None

    def last(
        self, session: str, count: int, *, agent: str = "", channel: str = ""
    ) -> list[Message]:
        wanted = {"session": session, "agent": agent, "channel": channel}
        named = {name: value for name, value in wanted.items() if value}
        where = " AND ".join(f"{name} = ?" for name in named) or "1"
        return self._messages(LAST.format(where=where), *named.values(), count)[::-1]

    def page(
        self, session: str, count: int, *, past: str = "", back: bool = False
    ) -> list[Message]:
        than, order = ("<", "DESC") if back else (">", "ASC")
        asked = PAGE.format(past=PAST.format(than=than) if past else "", order=order)
        found = self._messages(asked, session, *filter(None, (past,)), count)
        return found[::-1] if back else found

    def openings(self, sessions: Sequence[str]) -> list[Message]:
        return self._messages(OPENINGS, json.dumps(list(dict.fromkeys(sessions))))

    def search(self, text: str, *, limit: int, session: str = "") -> list[Message]:
        if not text.strip():
            return self.last(session, limit)[::-1]
        words = match(text)
        found = (FOUND, words) if words else (CONTAINING, _encodable(text.strip()))
        return self._messages(*found, session, session, limit)

    def find(self, query: Query, clock: Clock) -> SearchResult:
        from commonplace.history.search import found

        with self._connections.lent() as db:
            return found(_SqliteSource(db), query, clock)

    def sql(self, statement: str, *, limit: int) -> Table:
        if self._connections.path:
            from commonplace.history.sql_questions import asked

            return asked(self._connections.path, statement, limit=limit)
        raise BadValue(
            "statement", "a history in memory takes no SQL", next_step="Open one in a file."
        )

    def dump(self) -> Iterator[str]:
        with self._connections.lent() as db:
            for row in db.execute(ALL):
                yield line_of(Message(*row))

    def load(self, lines: Iterable[str], *, clean: Callable[[str], str] = str) -> int:
        with self._connections.transaction() as db:
            return sum(_insert(db, message) for message in loaded(lines, clean))

    def sessions(self) -> list[Conversation]:
        return [Conversation(*row) for row in self._connections.rows(SESSIONS)]

    def count(self) -> int:
        return int(self._connections.rows("SELECT count(*) FROM message")[0][0])

    def forget(self, ids: Sequence[str]) -> int:
        named = json.dumps(list(ids))
        with self._connections.transaction() as db:
            db.execute(UNWORD, (named,))
            gone = db.execute(f"DELETE FROM message WHERE {BY_ID}", (named,)).rowcount
            # Merged into one, the words of what was deleted are in no segment any more.
            db.execute("INSERT INTO message_words(message_words) VALUES('optimize')")
            self._connections.scrub()
        return gone

    def healthy(self) -> str:
        try:
            [(said, *_), *_] = self._connections.rows("PRAGMA quick_check(1)")
        except CommonplaceError as error:
            return str(error)
        return "" if said == "ok" else str(said)

    def size(self) -> int:
        return self._connections.size()

    def close(self) -> None:
        self._connections.close()

    def _messages(self, sql: str, *arguments: Any) -> list[Message]:
        return [Message(*row) for row in self._connections.rows(sql, *arguments)]


class _SqliteSource:
    """The messages as `search` asks for them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def by_words(self, text: str, bounds: Bounds) -> list[tuple[int, float]]:
        return self._db.execute(BEST_BY_WORDS, {**bounds, "words": match(text)}).fetchall()

    def seen(self, positions: Iterable[int], bounds: Bounds) -> list[Any]:
        wanted = json.dumps(sorted(positions))
        return self._db.execute(SEEN, {**bounds, "positions": wanted}).fetchall()

    def containing(self, text: str, bounds: Bounds, limit: int) -> list[Any]:
        asked = {**bounds, "text": text, "limit": limit}
        return self._db.execute(TOLD_CONTAINING, asked).fetchall()


def _insert(db: sqlite3.Connection, message: Message) -> bool:
    values = [getattr(message, name) for name in FIELDS]
    placed = db.execute(INSERT, (*values, spellings(message.content))).fetchall()
    for position in placed:
        db.execute(WORD, position)
    return bool(placed)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _keep_name(directory: str) -> None:
    """Put the directory on the disk too, or the new file in it could be lost with its name."""
    if os.name == "nt":  # pragma: no cover - another system's branch
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def migrate(db: sqlite3.Connection, where: str) -> None:
    """Take the steps that this file has not taken yet, all or none."""
    if _version(db) == VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    # Another process may have taken them meanwhile.
    found = _version(db)
    _check(db, found, where)
    for step in STEPS[found:]:
        for statement in step:
            db.execute(statement)
    db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


def _check(db: sqlite3.Connection, found: int, where: str) -> None:
    if found > VERSION:
        raise VaultTrouble(
            f"{where} has the shape {found}, and this commonplace knows up to {VERSION}. Nothing "
            "was changed.",
            next_step="Update commonplace on this machine.",
        )
    if not found and db.execute("SELECT 1 FROM sqlite_master").fetchall():
        raise VaultTrouble(
            f"{where} is a database of another program. Nothing was changed.",
            next_step="Move it away, and the history starts in a new file.",
        )


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchall()[0][0])
