"""The journal as rows of PostgreSQL, written in the transaction of the change itself.

Positions and lines are those that the same journal would have in a file, so that it can be copied
either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.model.clock import Clock
from commonplace.model.errors import QuotaSpent
from commonplace.model.records import etag_of
from commonplace.storage import journal_format
from commonplace.storage.journal import Entry, Op

if TYPE_CHECKING:
    from commonplace.postgres.connection import Database

BATCH = 1000
"""Entries that are fetched at once."""
SHORTEST = 100
"""Bytes that a record takes at least in the journal."""
INDEXED = """
select coalesce(max(records), 0)::bigint, coalesce(max(position), 0)::bigint
from level where profile = %s
"""
ADD = "insert into entry(profile, position, line) values (%s, %s, %s)"
LINES = """
select position, line from entry where profile = %s and position >= %s
order by position limit %s
"""
ABOUT = """
select position, line from entry
where profile = %s and position >= %s and position(%s in line) > 0
order by position limit %s
"""
# Written out as in the index that the server keeps of them: every process asks for these.
WITH_DATA = '"data":'
ABOUT_DATA = ABOUT.replace("position(%s in line)", "position('\"data\":'::bytea in line)")
TOLD = "select position, line from entry where profile = %s and ({}) order by position"
REWRITE = "update entry set line = %s where profile = %s and position = %s"
TAKE_BACK = "delete from entry where profile = %s and position >= %s"
KEEP = """
insert into version(profile, name, data) values (%s, %s, %s) on conflict do nothing
"""
KEEP_AS = """
insert into version(profile, name, data) values (%s, %s, %s)
on conflict (profile, name) do update set data = excluded.data
"""
KEPT = "select data from version where profile = %s and name = %s"
NAMES = "select name from version where profile = %s order by name"
KEEP_ANEW = "update version set data = %s where profile = %s and name = %s"


class PostgresJournal:
    """The journal of one profile."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def mark(self) -> str:
        return self._database.head().journal

    def end(self) -> int:
        return self._database.head().ended

    def stand(self) -> tuple[str, int]:
        head = self._database.head()
        return head.journal, head.ended

    def append(self, entry: Entry, *, written: Mapping[str, bytes] | None = None) -> Entry:
        with self._database.locked():
            self._check_quota(entry)
            if not self.end():
                self._write(journal_format.first_line(self.mark(), since=self._clock.stamp()))
            position = self.end()
            self._write(b"".join(journal_format.line_of(entry, written)))
            return replace(entry, position=position, end=self.end())

    def _check_quota(self, entry: Entry) -> None:
        """Refuse records beyond those that the tenant may have. The newest may be here alone."""
        most = self._database.head().most_records
        if not most or entry.op != Op.ADD:
            return
        [(there, level)] = self._database.rows(INDEXED, (self._database.profile,))
        there += len(entry.ids)
        if there + (self.end() - level) // SHORTEST > most:
            newest = self.entries(since=level)
            there += sum(len(each.ids) * (each.op == Op.ADD) - len(each.removed) for each in newest)
            if there > most:
                raise QuotaSpent(self._database.place.profile, "records", there=there, most=most)

    def _write(self, line: bytes) -> None:
        end = self.end()
        self._database.rows(ADD, (self._database.profile, end, line))
        self._database.set_head(ended=end + len(line))

    def sync(self) -> None:
        """What is committed is on disk."""

    def take_back(self, position: int) -> None:
        with self._database.locked():
            self._database.rows(TAKE_BACK, (self._database.profile, position))
            self._database.set_head(ended=position)

    def entries(self, *, since: int = 0) -> Iterator[Entry]:
        return self._read(LINES, since)

    def about(self, needle: str, *, since: int = 0) -> Iterator[Entry]:
        if needle == WITH_DATA:
            return self._read(ABOUT_DATA, since)
        return self._read(ABOUT, since, needle.encode())

    def _read(self, statement: str, since: int, *needle: bytes) -> Iterator[Entry]:
        for position, line in self._lines(statement, since, *needle):
            entry = journal_format.entry_in(line)
            if entry:
                yield replace(entry, position=position, end=position + len(line))

    def _lines(self, statement: str, since: int, *needle: bytes) -> Iterator[tuple[int, bytes]]:
        self._database.check_open()
        profile = self._database.profile
        while rows := self._database.rows(statement, (profile, since, *needle, BATCH)):
            yield from rows
            if len(rows) < BATCH:
                return
            since = rows[-1][0] + 1

    def damaged(self) -> int:
        lines = (line for position, line in self._lines(LINES, 1))
        return sum(journal_format.entry_in(line) is None for line in lines)

    def lines(self, *, since: int = 0) -> Iterator[tuple[int, bytes]]:
        return self._lines(LINES, since)

    def take_in(self, lines: Sequence[tuple[int, bytes]]) -> None:
        profile, (position, _), (last, line) = self._database.profile, lines[0], lines[-1]
        with self._database.locked():
            if position > self.end():
                raise ValueError(f"the journal ends before {position}")
            self.take_back(position)
            self._database.many(ADD, [(profile, *each) for each in lines])
            self._database.set_head(ended=last + len(line))

    def keep(self, data: bytes) -> str:
        name = etag_of(data)
        self._database.rows(KEEP, (self._database.profile, name, journal_format.packed(data)))
        return name

    def packed(self, name: str) -> bytes | None:
        found = self._database.rows(KEPT, (self._database.profile, name))
        return bytes(found[0][0]) if found else None

    def take_in_version(self, name: str, data: bytes) -> None:
        self._database.rows(KEEP_AS, (self._database.profile, name, data))

    def version(self, name: str) -> bytes | None:
        data = self.packed(name)
        return None if data is None else journal_format.unpacked(data)

    def versions(self) -> Iterator[str]:
        for (name,) in self._database.rows(NAMES, (self._database.profile,)):
            yield name

    def scrub(
        self, ids: Iterable[str], *, needles: Iterable[str], clean: Callable[[bytes], bytes]
    ) -> int:
        wanted, texts = set(ids), list(needles)
        with self._database.locked():
            return self._scrub_entries(wanted, texts, clean) + sum(
                self._scrub_version(name, [text.encode() for text in texts], clean)
                for name in list(self.versions())
            )

    def _scrub_entries(
        self, ids: set[str], needles: list[str], clean: Callable[[bytes], bytes]
    ) -> int:
        told: list[Any] = [*map(str.encode, sorted(ids)), *map(journal_format.written, needles)]
        if not told:
            return 0
        any_of = " or ".join(["position(%s in line) > 0"] * len(told))
        profile, found = self._database.profile, 0
        for position, line in self._database.rows(TOLD.format(any_of), (profile, *told)):
            blank = journal_format.blanked(line[:-1], ids, clean) + b"\n"
            if blank != line:
                self._database.rows(REWRITE, (blank, profile, position))
                found += 1
        return found

    def _scrub_version(
        self, name: str, needles: list[bytes], clean: Callable[[bytes], bytes]
    ) -> bool:
        data = self.version(name) or b""
        cleaned = journal_format.cleaned(data, needles, clean)
        if cleaned != data:
            row = (journal_format.packed(cleaned), self._database.profile, name)
            self._database.rows(KEEP_ANEW, row)
        return cleaned != data

    def close(self) -> None:
        """The connections are the database's."""
