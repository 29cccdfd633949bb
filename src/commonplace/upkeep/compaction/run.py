"""Compaction: old records leave the main document, and a summary of each group goes into the
document of long-term memory.

`plan` says which records go and what they become. A run takes its lock, keeps a copy, writes once,
checks the result and undoes it if something is wrong. It holds the vault's lock only while it
writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime, timedelta
from functools import partial
from io import BytesIO
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.library import undo
from commonplace.library.erase import spans_of
from commonplace.library.library import Library
from commonplace.library.record_reader import decoded
from commonplace.markdown import record_lines
from commonplace.markdown.documents import Item
from commonplace.model.clock import monotonic, stamp
from commonplace.model.errors import Busy, CommonplaceError, ToBeFinished
from commonplace.model.records import SYSTEM, Hit, Record
from commonplace.search.index import Query
from commonplace.storage.journal import Change, Cut, Entry, Op, Text, without
from commonplace.storage.journal_format import long_parts
from commonplace.storage.notes import Notes
from commonplace.storage.vault import Staged
from commonplace.upkeep.claw_workspace import HELD as BESIDE
from commonplace.upkeep.compaction.check import (
    DocumentSnapshot,
    Unwell,
    check_findings,
    check_result,
    finding_key,
)
from commonplace.upkeep.compaction.extractive import Summarizer
from commonplace.upkeep.compaction.plan import (
    COMPACTABLE,
    NOTHING,
    CompactionPlan,
    CompactionReport,
    Settings,
    in_scope,
    log,
    plan,
    shown,
)
from commonplace.upkeep.window import archived, as_line, joined

CAUSED = ("contradiction", "stale", "broken-chain", "orphan-summary")
"""What a scan after a run looks for. Problems and the index are looked at in the document itself:
nothing else can come of records that leave.
"""
HEADER = "# Long-term memory\n\n"
LONG, SHARE = 1_000_000, 4
"""Characters from which the archive is written anew, and how many times as long it may be."""
LOCK = "compaction.lock"


class _Prepared(Struct, frozen=True):
    """What a run will write, prepared before it takes the lock."""

    entry: Entry
    """What is journalled, but for the changes …"""
    written: dict[str, bytes]
    """… and the long parts of it, written down."""
    spans: tuple[tuple[int, int], ...]
    """What is cut out of the main document …"""
    left: bytes
    """… and what is left of it."""
    added: str
    """The lines of the summaries."""
    long_before: bytes | None
    long_after: bytes
    version: str
    archive: _Archive | None


class _Archive(Struct, frozen=True):
    """A long archive before and after, the version of that, and where the journal ended then."""

    before: bytes | None
    after: bytes
    version: str
    position: int


class _Growing:
    """A long text with a growing tail, in a buffer: adding to bytes would copy all of them."""

    def __init__(self, *parts: bytes) -> None:
        self._buffer = BytesIO()
        self._buffer.writelines(parts)
        self._size = self._buffer.tell()

    def with_(self, tail: bytes) -> bytes:
        self._buffer.seek(self._size)
        self._buffer.truncate()
        self._buffer.write(tail)
        return self._buffer.getvalue()


class _Level(Struct, frozen=True):
    """The main document before and after, with what was appended to it up to a position."""

    position: int
    before: _Growing
    after: _Growing


class Compaction:
    """One run, from the checks to the report."""

    def __init__(
        self,
        library: Library,
        settings: Settings,
        *,
        notes: Notes,
        summarizer: Summarizer,
        checkpoint: Callable[[], object] = lambda: None,
        findings: Callable[[], Iterable[Any]] = lambda: (),
        beside: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.library = library
        self.texts = library.long_texts
        self.settings = settings
        self.notes = notes
        self.summarizer = summarizer
        self.checkpoint = checkpoint
        self.findings = findings
        self.beside = beside
        """Keeps other programs that compact the same documents away."""

    def run(self, *, forced: bool = False, scheduled: bool = False) -> CompactionReport:
        """Compact if it is time to. Whatever goes wrong, the documents are as they were."""
        why = self.not_due(scheduled=scheduled)
        if why and not (forced and self.settings.document):
            return CompactionReport("skipped", why, at=self.library.clock.stamp())
        started = monotonic()
        try:
            report = self._run()
        except (CommonplaceError, OSError, Unwell) as error:
            report = CompactionReport("failed", str(error))
        return self._logged(replace(report, seconds=round(monotonic() - started, 3)))

    def not_due(self, *, scheduled: bool = False) -> str:
        """Why no compaction is due; empty when one is."""
        settings = self.settings
        if not settings.document:
            return NOTHING
        if not settings.enabled:
            return "memory_compaction_enabled is off"
        return "" if scheduled or self.is_over() else "no threshold is exceeded"

    def is_over(self) -> bool:
        """Whether the main document has more records or characters than it should."""
        most, characters = self.settings.threshold_records, self.settings.threshold_characters
        self.library.refresh()
        if self.library.layout.sections:
            return self._is_much(self._known(self._read())[0])
        known = self.library.known_of(self.settings.document)
        if known is None:
            return False
        # Cheap bounds first: neither are there more records than lines, nor characters than bytes.
        over_lines = most and known.lines > most
        over_bytes = characters and known.signature.size > characters
        if not (over_lines or over_bytes):
            return False
        now = self._read()
        return bool(
            (most and len(now.records) > most) or (characters and len(now.text) > characters)
        )

    def _is_much(self, records: Sequence[Record]) -> bool:
        most, characters = self.settings.threshold_records, self.settings.threshold_characters
        size = sum(len(record.text) for record in records)
        return bool((most and len(records) > most) or (characters and size > characters))

    def _logged_records(self) -> list[Record]:
        """The records of daily logs that no summary was made of yet.

        Where a record stands in its log alone, it stays there when it is summed up.
        """
        library = self.library
        if not library.layout.sections:
            return []
        wanted = Query(kinds=tuple(COMPACTABLE), include_passages=False, limit=1 << 30)
        logged = [hit.record for hit in library.search(wanted) if _is_logged(library, hit)]
        name = self.settings.long_document
        summaries = library.parse(name, decoded(name, self.texts.read(name)[0] or b"")).items
        told = {key for item in summaries for key in item.record.sources}
        return [record for record in reversed(logged) if record.id not in told]

    def planned(self) -> tuple[CompactionPlan, str]:
        """What a run would do now, and that as a difference. Nothing is written."""
        if not self.settings.document:
            return CompactionPlan(), f"{NOTHING.capitalize()}."
        now = self._read()
        made = self._plan(now)
        settings = self.settings
        return made, shown(
            made,
            self._known(now)[0],
            document=settings.document,
            long_document=settings.long_document,
        )

    def _run(self) -> CompactionReport:
        if not self._in_scope(self._read()):
            return CompactionReport("skipped", "no record is in scope")
        try:
            with self.notes.alone(LOCK), self.beside():
                if name := self._open_in_editor():
                    return CompactionReport("skipped", f"{name} is open in an editor")
                return self._work()
        except Busy as busy:
            held = f" ({BESIDE})" if BESIDE in busy.what else ""
            return CompactionReport("skipped", f"another compaction is running{held}")

    def _work(self) -> CompactionReport:
        if not any(record.is_checkpoint for record in self._read().records[-1:]):
            self.checkpoint()  # The one before is of a run that was left off.
        since = self.library.clock.stamp()
        found = set(map(finding_key, self.findings()))
        before = self._read()
        made = self._plan(before)
        backup = self.library.keep(before.data)
        entry = self._changed(made, before, backup)
        if isinstance(entry, str):
            return CompactionReport("skipped", entry)
        try:
            self.library.level()
            after = self._read()
            check_result(self.library, made, before, after, limit=self._before())
            sizes = len(before.records), len(before.text)
            del before  # What a scan holds is as large.
            check_findings(self.library, found, self.findings(), since=since)
        except Exception as error:
            self._take_back(entry, error)
            raise Unwell(f"{error} It was taken back.") from error
        return CompactionReport(
            "done",
            records_before=sizes[0],
            records_after=len(after.records),
            characters_before=sizes[1],
            characters_after=len(after.text),
            compacted=len({*entry.removed, *made.sources}),
            summaries=len(entry.ids) - len(entry.removed),
            summarizer=self.summarizer.name,
            refused=made.refused,
            position=entry.position,
            backup=backup,
        )

    def _changed(self, made: CompactionPlan, was: DocumentSnapshot, backup: str) -> Entry | str:
        """Do what was planned. Returns what was journalled, or why nothing was done."""
        prepared = self._prepared(made, was, backup)
        settings = self.settings
        texts = {settings.long_document: prepared.long_after}
        if prepared.spans:
            texts[settings.document] = prepared.left
        if prepared.archive:
            texts[self._archive_name] = prepared.archive.after
        with self.texts.staged(texts) as staged:
            level = self._caught_up(was, prepared)
            return self.library.locked(partial(self._write, prepared, level, staged))

    def _take_back(self, entry: Entry, error: Exception) -> None:
        try:
            undo.undo(self.library, author=SYSTEM, position=entry.position)
        except (CommonplaceError, OSError):
            raise ToBeFinished(error) from error

    def _open_in_editor(self) -> str:
        return self.texts.open_in_editor(self.settings.document, self.settings.long_document)

    def _before(self) -> str:
        days = timedelta(days=self.settings.min_age_days)
        oldest = datetime.fromisoformat("0001-01-02T00:00:00+00:00")
        now = self.library.clock.now()
        return stamp(now - days if now - oldest > days else oldest)

    def _in_scope(self, snapshot: DocumentSnapshot) -> list[Record]:
        records, waiting = self._known(snapshot)
        return in_scope(records, before=self._before(), waiting=waiting)

    def _known(self, snapshot: DocumentSnapshot) -> tuple[list[Record], frozenset[str]]:
        """The records with the origin that the index knows, and those that wait for approval."""
        self.library.refresh()
        known = self.library.records_of(record.id for record in snapshot.records)
        records = [
            replace(record, origin=known[record.id].origin) if record.id in known else record
            for record in snapshot.records
        ]
        records = [*self._logged_records(), *records]
        return records, self.library.approvals.waiting_among(records)

    def _plan(self, snapshot: DocumentSnapshot) -> CompactionPlan:
        records, waiting = self._known(snapshot)
        made = plan(
            records,
            before=self._before(),
            waiting=waiting,
            summarizer=self.summarizer,
            new_id=self.library.clock.new_id,
            text_limit=self.settings.text_limit,
            day_of=self.library.clock.day_of,
        )
        there = {record.id for record in snapshot.records}
        return replace(made, leaving=tuple(key for key in made.leaving if key in there))

    def _read(self) -> DocumentSnapshot:
        name = self.settings.document
        data, position = self.texts.read(name)
        parsed = self.library.parse(name, decoded(name, data or b""))
        return DocumentSnapshot(name, data or b"", position, parsed)

    def _moved(self, made: CompactionPlan, was: DocumentSnapshot) -> tuple[str, ...]:
        """Of the records that leave, those that go to the archive, and are not there yet."""
        archive, library = self.settings.archive, self.library
        if not archive and not self.settings.refuge:
            return ()
        leaving = set(made.leaving)
        if archive:
            there = set(archived(library, archive, [r for r in was.records if r.id in leaving]))
        else:
            there = library.standing_outside(self.settings.document)
        there |= {record.id for record in was.records if record.is_checkpoint}
        return tuple(key for key in made.leaving if key not in there)

    def _prepared(self, made: CompactionPlan, was: DocumentSnapshot, backup: str) -> _Prepared:
        """Prepare everything that takes time and needs no lock."""
        library, settings = self.library, self.settings
        added = "".join(record_lines.write(each, library.layout.line) for each in made.summaries)
        long_before, _ = self.texts.read(settings.long_document)
        long_after = self._lengthened(long_before, added)
        spans = joined(spans_of(was.text, was.parsed, set(made.leaving)))
        left = without(was.data, spans)
        entry = self._entry(made, was, backup)
        return _Prepared(
            entry,
            long_parts(entry),
            spans,
            left,
            added,
            long_before,
            long_after,
            library.keep(long_after),
            self._archive(entry),
        )

    def _archive(self, entry: Entry) -> _Archive | None:
        """The archive as a whole text, where much comes to it, and it is not much longer than that.

        To append as much, and to journal its lines, takes long: that would be under the lock.
        """
        name, library = self._archive_name, self.library
        size = sum(map(len, entry.lines))
        if size < LONG or not self.texts.appends_slowly:
            return None
        before, position = self.texts.read(name)
        change = library.locked(partial(library.to_append, name))
        if change.at != len(before or b"") or change.at > SHARE * size:
            return None
        after = (before or b"") + entry.appended(change)
        return _Archive(before, after, library.keep(after), position)

    @property
    def _archive_name(self) -> str:
        return self.settings.archive or self.settings.refuge

    def _caught_up(self, was: DocumentSnapshot, prepared: _Prepared) -> _Level:
        """Take in what others stored meanwhile, so that little is left to do under the lock."""
        tail, position = self.texts.appended_so_far(was.name, since=was.position)
        if tail is None:
            position, tail = was.position, b""
        return _Level(position, _Growing(was.data, tail), _Growing(prepared.left, tail))

    def _entry(self, made: CompactionPlan, was: DocumentSnapshot, backup: str) -> Entry:
        """What is journalled, but for the changes to the documents."""
        moved = self._moved(made, was)
        archived = set(moved)
        rest = (key for key in made.leaving if key not in archived)
        return self.library.entry(
            Op.COMPACT,
            (),
            ids=(*moved, *rest, *(summary.id for summary in made.summaries)),
            removed=made.leaving,
            lines=tuple(_lines_of(was, moved)),
            why=f"backup {backup}",
            author=SYSTEM,
        )

    def _write(self, prepared: _Prepared, level: _Level, staged: dict[str, Staged]) -> Entry | str:
        """Make the change, under the lock: the entry, or why nothing was done."""
        library, settings = self.library, self.settings
        if not self.notes.still_alone(LOCK):
            return "another host took over while this one was stopped"
        if name := self._open_in_editor():
            return f"{name} is open in an editor"
        tail = self.texts.appended(settings.document, since=level.position)
        if tail is None:
            return f"{settings.document} changed meanwhile"
        library.look(settings.long_document)
        long_before, long_after, version = self._long_text(prepared)
        entry, written, texts = self._archiving(prepared)
        changes: tuple[Change, ...] = (*entry.changes, Text(settings.long_document, version))
        texts[settings.long_document] = long_before, long_after
        if prepared.spans:
            changes = (*changes, Cut(settings.document, prepared.spans))
            texts[settings.document] = level.before.with_(tail), level.after.with_(tail)
        entry = replace(entry, at=library.clock.stamp(), changes=changes)
        return library.replace_long_texts(entry, texts, written=written, staged=staged)

    def _archiving(
        self, prepared: _Prepared
    ) -> tuple[Entry, dict[str, bytes], dict[str, tuple[bytes | None, bytes | None]]]:
        """The entry with what it does to the archive, its long parts, and the archive's text.

        It comes first of all texts: what leaves stands there before it is gone.
        """
        entry, written, archive = prepared.entry, prepared.written, prepared.archive
        name = self._archive_name
        if not entry.lines:
            return entry, written, {}
        if archive is None or self.texts.appended(name, since=archive.position) != b"":
            return replace(entry, changes=(self.library.to_append(name),)), written, {}
        short = {part: text for part, text in written.items() if part != "lines"}
        entry = replace(entry, lines=(), changes=(Text(name, archive.version),))
        return entry, short, {name: (archive.before, archive.after)}

    def _long_text(self, prepared: _Prepared) -> tuple[bytes | None, bytes, str]:
        """The long document before and after, and the name of the version that is kept of it."""
        library, name = self.library, self.settings.long_document
        now = library.read(name) if library.stat(name) else None
        if now == prepared.long_before:
            return now, prepared.long_after, prepared.version
        after = self._lengthened(now, prepared.added)
        return now, after, self.library.keep(after)

    def _lengthened(self, before: bytes | None, added: str) -> bytes:
        text = decoded(self.settings.long_document, before or b"") or HEADER
        guard = "" if text.endswith("\n") else "\n"
        newline = "\r\n" if text.endswith("\r\n") else "\n"
        return (text + guard + added.replace("\n", newline)).encode()

    def _logged(self, report: CompactionReport) -> CompactionReport:
        report = replace(report, at=self.library.clock.stamp())
        # What was done is done, whether or not it can be noted.
        with suppress(CommonplaceError, OSError):
            log(self.notes, report)
        return report


def _is_logged(library: Library, hit: Hit) -> bool:
    """Whether a record stands in a daily log, and not in the main document as well."""
    names = {place.document for place in hit.places}
    return library.layout.memory not in names and any(map(library.layout.day_of, names))


def _lines_of(snapshot: DocumentSnapshot, ids: Iterable[str]) -> Iterable[str]:
    items: dict[str, Item] = {item.record.id: item for item in snapshot.items}
    for key in ids:
        yield as_line(snapshot.text[items[key].start : items[key].end], items[key].record)
