"""The tables of the index in one SQLite file."""

from __future__ import annotations

from zlib import crc32

from commonplace.search.filters import IS_BEHAVIORAL
from commonplace.search.rows import COLUMNS
from commonplace.search.words import TOKENIZER

EDITION = 9
"""To be raised when the same tables are filled otherwise. A file of other tables or of another
edition is dropped.
"""
SCHEMA = (
    """CREATE TABLE documents(
        name TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, inode TEXT, digest TEXT,
        racy INTEGER, atime_ns INTEGER, lines INTEGER, base INTEGER,
        glimpse TEXT
    ) WITHOUT ROWID""",
    f"CREATE TABLE records(key INTEGER PRIMARY KEY, digest, lead, words, said, {COLUMNS})",
    "CREATE UNIQUE INDEX records_by_id ON records(id, digest)",
    # With what is counted and chosen by, so that nobody reads the rows for that.
    "CREATE INDEX records_by_time ON records(timestamp, kind, sensitivity) WHERE lead",
    # Few, and asked for whenever a session starts.
    f"""CREATE INDEX records_on_behavior ON records(timestamp, kind, origin)
        WHERE lead AND {IS_BEHAVIORAL}""",
    "CREATE INDEX records_pinned ON records(timestamp) WHERE pinned <> ''",
    "CREATE INDEX records_used ON records(timestamp) WHERE (seen <> '' OR useful <> '')",
    # Asked for before every call of a tool.
    """CREATE INDEX records_with_moments ON records(timestamp) WHERE lead AND "when" <> ''""",
    "CREATE INDEX records_by_session ON records(session, timestamp) WHERE session <> '' AND lead",
    "CREATE INDEX records_by_superseded ON records(supersedes) WHERE supersedes <> ''",
    "CREATE INDEX records_by_successor ON records(replaced_by) WHERE replaced_by <> ''",
    # Few, and asked for by every search.
    "CREATE INDEX records_with_a_time ON records(id)"
    " WHERE lead AND (valid_from <> '' OR valid_to <> '')",
    # Of kinds that last alone: the others may say the same any number of times.
    "CREATE INDEX records_by_words ON records(said) WHERE said <> 0",
    "CREATE INDEX records_told_otherwise ON records(id) WHERE NOT lead",
    """CREATE TABLE places(document TEXT, line INTEGER, key INTEGER, PRIMARY KEY(document, line))
        WITHOUT ROWID""",
    "CREATE INDEX places_by_key ON places(key)",
    """CREATE TABLE models(
        number INTEGER PRIMARY KEY, name TEXT, dim INTEGER, upto INTEGER, state INTEGER,
        UNIQUE(name, dim))""",
    # Numbered by model and key: rows that come in the order of their number fill their pages.
    "CREATE TABLE vectors(number INTEGER PRIMARY KEY, norm REAL, vector BLOB)",
    """CREATE TABLE codes(
        model INTEGER, page INTEGER, state INTEGER, sum INTEGER, slots BLOB, codes BLOB,
        PRIMARY KEY(model, page))""",
    f"""CREATE VIRTUAL TABLE fts USING fts5(
        text, words, content='records', content_rowid='key',
        tokenize="{TOKENIZER}"
    )""",
    "CREATE VIRTUAL TABLE stems USING fts5vocab(fts, 'row')",
    "CREATE VIRTUAL TABLE stem_places USING fts5vocab(fts, 'instance')",
)
VERSION = crc32(f"{EDITION} {SCHEMA}".encode()) & 0x7FFFFFFF
INDEXES = {
    made.partition(" ON ")[0].rpartition(" ")[2]: made for made in SCHEMA if " INDEX " in made
}
TABLES = ("documents", "records", "places", "models", "vectors", "codes")

# FTS5's own table of sizes has a row for each row that it holds, and new keys are the highest.
WAITING = "FROM records WHERE key > (SELECT coalesce(max(id), 0) FROM fts_docsize)"
IS_BEHIND = f"SELECT 1 {WAITING} LIMIT 1"
CATCH_UP = f"INSERT INTO fts(rowid, text, words) SELECT key, text, words {WAITING}"
