"""The history in one SQLite file, with an FTS5 table over the messages.

It does not know the vault it belongs to. Nothing is acknowledged before it is on the disk.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from commonplace.errors import BadLines, BadValue, CommonplaceError
from commonplace.hints import TYPE_CHECKING, Any
from commonplace.history import FIELDS, Conversation, Message, Table, line_of, message_of
from commonplace.history.asking import asked
from commonplace.history.migrations import migrate
from commonplace.index.connections import Connections
from commonplace.index.words import match, spellings
from commonplace.lazily import Lazy

if TYPE_CHECKING:
    from datetime import date

    from commonplace.history import finding
    from commonplace.index import Query
    from commonplace.records import Found
else:
    finding = Lazy("history.finding")

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
SESSIONS = "SELECT session, messages, first, last FROM sessions ORDER BY last DESC, session"
BY_ID = "id IN (SELECT value FROM json_each(?))"
UNWORD = f"""INSERT INTO message_words(message_words, rowid, content, words)
    SELECT 'delete', position, content, words FROM message WHERE {BY_ID}"""
PROBLEMS = 20
"""How many bad lines of a dump are named."""


class SqliteHistory:
    """The messages of one vault; of a program's own while it runs when there is no path."""

    def __init__(self, path: Path | None) -> None:
        is_new = path is not None and not path.exists()
        self._connections = Connections(path, migrate=migrate)
        if path and is_new:
            _keep_name(path.parent)

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

    def search(self, text: str, *, limit: int, session: str = "") -> list[Message]:
        if not text.strip():
            return self.last(session, limit)[::-1]
        words = match(text)
        found = (FOUND, words) if words else (CONTAINING, _encodable(text.strip()))
        return self._messages(*found, session, session, limit)

    def find(self, query: Query, today: date) -> Found:
        with self._connections.lent() as db:
            return finding.found(db, query, today)

    def sql(self, statement: str, *, limit: int) -> Table:
        if self._connections.path:
            return asked(self._connections.path, statement, limit=limit)
        raise BadValue(
            "statement", "a history in memory takes no SQL", next_step="Open one in a file."
        )

    def dump(self) -> Iterator[str]:
        with self._connections.lent() as db:
            for row in db.execute(ALL):
                yield line_of(Message(*row))

    def load(self, lines: Iterable[str], *, clean: Callable[[str], str] = str) -> int:
        new, problems = 0, list[str]()
        with self._connections.transaction() as db:
            for number, line in enumerate(lines, 1):
                if not line.strip() or len(problems) > PROBLEMS:
                    continue
                try:
                    message = message_of(line)
                    fields = {**message.__dict__, "content": clean(message.content)}
                    new += not problems and _insert(db, Message(**fields))
                except BadValue as error:
                    problems.append(f"line {number}: {error.what}")
            if problems:
                raise BadLines(problems[:PROBLEMS], more=len(problems) > PROBLEMS)
        return new

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


def _insert(db: sqlite3.Connection, message: Message) -> bool:
    values = [getattr(message, name) for name in FIELDS]
    placed = db.execute(INSERT, (*values, spellings(message.content))).fetchall()
    for position in placed:
        db.execute(WORD, position)
    return bool(placed)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _keep_name(directory: Path) -> None:
    """Put the directory on the disk too, or the new file in it could be lost with its name."""
    if os.name == "nt":  # pragma: no cover - another system's branch
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
