"""The shape of the history's tables, as numbered steps that are taken once each and never changed.

It knows statements, not what is done with them. A step is only ever added at the end.
"""

from __future__ import annotations

import sqlite3

from commonplace.model.errors import NewerHistory, VaultTrouble

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
VERSION = len(STEPS)


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
        raise NewerHistory(where, found=found, known=VERSION)
    if not found and db.execute("SELECT 1 FROM sqlite_master").fetchall():
        raise VaultTrouble(
            f"{where} is a database of another program. Nothing was changed.",
            next_step="Move it away, and the history starts in a new file.",
        )


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchall()[0][0])
