"""Compaction: old records leave the main document, and a line for each group of them says what
they said, in the document of long-term memory.

What goes, and what it becomes, is a pure function of the records (`plan`). A run takes its lock,
keeps a copy, writes once, looks whether all is well and takes it back if not. It knows neither
schedules nor doors, and holds the vault's lock only while it writes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from io import BytesIO

from commonplace import lines, past
from commonplace.clock import monotonic, parse_stamp, stamp
from commonplace.config import Options
from commonplace.documents import Item, Parsed
from commonplace.errors import Busy, CommonplaceError, NoSuchDocument
from commonplace.hints import Any
from commonplace.index import Query
from commonplace.journal import Cut, Entry, Op, Text, without
from commonplace.journal.coding import long_parts
from commonplace.layouts import Layout
from commonplace.library import Library, spans_of
from commonplace.notes import Notes
from commonplace.reader import decoded
from commonplace.records import PASSAGE, SYSTEM, Origin, Record, Sensitivity
from commonplace.replay import grown
from commonplace.safety import lowest, one_line
from commonplace.secrets import redact
from commonplace.upkeep.summaries import Extractive, Summarizer, dropped, headed, most_common
from commonplace.upkeep.window import archived, as_line, joined
from commonplace.values import frozen, replace
from commonplace.vault import Staged

COMPACTION = "compaction"
COMPACTABLE = frozenset(("turn-summary", "note", "context", "heartbeat", COMPACTION))
"""Kinds that old records of are compacted; facts, what was learned and how to behave stay."""
SHAREABLE = (Sensitivity.PUBLIC, Sensitivity.PERSONAL)
LEVELS = list(Sensitivity)
FEW, MOST = 4, 40
"""Fewer records than this join others of their month; more than that make several summaries."""
BODY = 600
"""Characters of what a summary says."""
ASKED = 100
"""Summaries of one run that a model is asked for; the extractive one makes the rest."""
CAUSED = ("contradiction", "stale", "broken-chain", "orphan-summary")
"""What a scan after a run looks for. Problems and the index are looked at in the document itself:
nothing else can come of records that leave.
"""
HEADER = "# Long-term memory\n\n"
LONG, SHARE = 1_000_000, 4
"""Characters from which the archive is written anew, and how many times as long it may be."""
LOG = "compaction.jsonl"
LOCK = "compaction.lock"


@frozen
class Settings:
    """What a run may touch, and from which age on."""

    document: str
    long_document: str
    archive: str
    """Where every record goes that leaves …"""
    refuge: str
    """… or those only that stand in no other document."""
    enabled: bool = False
    threshold_records: int = 0
    threshold_characters: int = 0
    min_age_days: float = 30
    text_limit: int = 2000


def settings_of(layout: Layout, options: Options, *, min_age_days: float | None = None) -> Settings:
    return Settings(
        layout.memory,
        layout.long_memory,
        options.memory_archive_path,
        layout.trims_to,
        enabled=options.memory_compaction_enabled,
        threshold_records=options.memory_compaction_threshold_records,
        threshold_characters=options.memory_compaction_threshold_chars,
        min_age_days=options.memory_compaction_min_age_days
        if min_age_days is None
        else min_age_days,
        text_limit=options.text_limit,
    )


@frozen
class Plan:
    """What a compaction would do: the summaries, and in place of what."""

    summaries: tuple[Record, ...] = ()
    leaving: tuple[str, ...] = ()
    """The ids of the records that leave, in the order of the document."""
    refused: tuple[str, ...] = ()
    """Why summaries of a model were not taken."""

    @property
    def sentence(self) -> str:
        leaving, coming = len(self.leaving), len(self.summaries)
        records = "1 record" if leaving == 1 else f"{leaving:,} records"
        summaries = "1 summary" if coming == 1 else f"{coming:,} summaries"
        return f"{records} would become {summaries}."


@frozen
class Report:
    """How a run ended: done, planned, skipped or failed, and what it did."""

    status: str
    why: str = ""
    at: str = ""
    records_before: int = 0
    records_after: int = 0
    characters_before: int = 0
    characters_after: int = 0
    compacted: int = 0
    summaries: int = 0
    summarizer: str = ""
    refused: tuple[str, ...] = ()
    seconds: float = 0.0
    position: int = -1
    """Of the change in the journal, for undo."""
    backup: str = ""
    """The kept version of the main document as it was."""
    rolled_up: tuple[str, ...] = ()
    """The years of the diary that were summed up as well."""


class Unwell(Exception):
    """What was written is not what a compaction may leave behind."""


def must_stay(record: Record, *, before: str) -> bool:
    """Whether a record is too recent, too sensitive or worth too much to be compacted."""
    return (
        record.kind not in COMPACTABLE
        or record.sensitivity not in SHAREABLE
        or not _is_before(record.timestamp, before)
    )


def _is_before(timestamp: str, before: str) -> bool:
    if timestamp.endswith("Z"):
        return timestamp < before
    with suppress(ValueError):
        return stamp(parse_stamp(timestamp)) < before
    return False  # Its age is not known.


def in_scope(records: Sequence[Record], *, before: str) -> list[Record]:
    """The records to compact: old, of a kind that may go, and in no chain of replacements."""
    replaced = {record.supersedes for record in records}
    return [
        record
        for record in records
        if not must_stay(record, before=before)
        and not record.supersedes
        and record.id not in replaced
    ]


def grouped(records: Iterable[Record]) -> list[list[Record]]:
    """The records in groups that make one summary each: of one month, session, kind and subject.

    Origin and sensitivity are the same in a group, so that no record lowers the trust of another.
    """
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda record: (record.timestamp, record.id)):
        subject = record.tags[0] if record.tags else ""
        groups[(*_alike(record), record.session, subject)].append(record)
    merged: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for key, group in groups.items():
        merged[key if len(group) >= FEW else key[:4]].extend(group)
    found = []
    for group in merged.values():
        group.sort(key=lambda record: (record.timestamp, record.id))
        parts = -(-len(group) // MOST)
        size = -(-len(group) // parts)
        found += [group[at : at + size] for at in range(0, len(group), size)]
    return sorted(found, key=lambda group: (group[0].timestamp, group[0].id))


def _alike(record: Record) -> tuple[str, ...]:
    return record.timestamp[:7], record.kind, record.origin, record.sensitivity


def plan(
    records: Sequence[Record],
    *,
    before: str,
    summarizer: Summarizer,
    new_id: Callable[[], str],
    text_limit: int,
) -> Plan:
    """What to do with the records of a document: a function of them and of the summarizer."""
    chosen = in_scope(records, before=before)
    summaries, refused = [], []
    for number, group in enumerate(grouped(chosen)):
        asked = summarizer if number < ASKED else Extractive()
        summary, why = summary_of(group, asked, new_id=new_id, text_limit=text_limit)
        summaries.append(summary)
        if why:
            refused.append(why)
    leaving = {record.id for record in chosen}
    in_order = tuple(record.id for record in records if record.id in leaving)
    return Plan(tuple(summaries), in_order, tuple(refused))


def summary_of(
    group: Sequence[Record],
    summarizer: Summarizer,
    *,
    new_id: Callable[[], str],
    text_limit: int,
) -> tuple[Record, str]:
    """The record that stands for a group, and why a model's summary was not taken, if it wasn't."""
    texts = [one_line(record.text) for record in group]
    body, why = said_by(summarizer, group, texts)
    by_model = summarizer.name != Extractive.name and not why
    origins = [record.origin for record in group]
    record = Record(
        id=new_id(),
        kind=COMPACTION,
        text=headed(group, body, limit=text_limit),
        timestamp=max(record.timestamp for record in group),
        tags=tuple(most_common(record.kind for record in group)[:3]),
        session=_common(record.session for record in group),
        group=_common(record.group for record in group),
        channel=_common(record.channel for record in group),
        username=_common(record.username for record in group),
        confidence=min(record.confidence for record in group),
        sensitivity=max((record.sensitivity for record in group), key=_level),
        origin=lowest([*origins, Origin.AGENT] if by_model else origins),
        sources=tuple(record.id for record in group),
    )
    return record, why


def said_by(summarizer: Summarizer, group: Sequence[Record], texts: list[str]) -> tuple[str, str]:
    """What a summarizer makes of the records, or the extractive one where that won't do."""
    extractive = Extractive()
    if summarizer.name == extractive.name:
        return extractive.body(group, characters=BODY), ""
    try:
        body = redact(one_line(summarizer.body(group, characters=BODY)))[0]
        lacking = dropped(body, texts)
        why = f"it dropped {', '.join(lacking[:5])}" if lacking else "" if body else "it is empty"
    except CommonplaceError as error:
        body, why = "", getattr(error, "why", str(error))
    return (extractive.body(group, characters=BODY), why) if why else (body, "")


def _common(values: Iterable[str]) -> str:
    found = set(values)
    return found.pop() if len(found) == 1 else ""


def _level(sensitivity: str) -> int:
    return LEVELS.index(Sensitivity(sensitivity))


def shown(planned: Plan, records: Iterable[Record], *, document: str, long_document: str) -> str:
    """A plan as a difference: each summary with what it takes the place of."""
    texts = {record.id: one_line(record.text) for record in records}
    parts = []
    for summary in planned.summaries:
        parts.append(f"+ {long_document}: {one_line(summary.text)}")
        parts += [f"-   {document}: {texts[key]}" for key in summary.sources]
    return "\n".join(parts)


class _Snapshot:
    """The main document as it was read, without keeping anyone from writing on."""

    def __init__(self, name: str, data: bytes, position: int, parsed: Parsed) -> None:
        self.name = name
        self.data = data
        self.position = position
        """Where the journal ended then."""
        self.text = decoded(name, data)
        self.parsed = parsed
        self.items = [item for item in parsed.items if item.record.kind != PASSAGE]
        self.records = [item.record for item in self.items]


@frozen
class _Prepared:
    """What a run writes, as far as it can be said before it has the lock."""

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


@frozen
class _Archive:
    """A long archive before and after, the version of that, and where the journal ended then."""

    before: bytes | None
    after: bytes
    version: str
    position: int


class _Growing:
    """A long text that a little is added to: to add it to bytes would copy all of them."""

    def __init__(self, *parts: bytes) -> None:
        self._buffer = BytesIO()
        self._buffer.writelines(parts)
        self._size = self._buffer.tell()

    def with_(self, tail: bytes) -> bytes:
        self._buffer.seek(self._size)
        self._buffer.truncate()
        self._buffer.write(tail)
        return self._buffer.getvalue()


@frozen
class _Level:
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
    ) -> None:
        self.library = library
        self.settings = settings
        self.notes = notes
        self.summarizer = summarizer
        self.checkpoint = checkpoint
        self.findings = findings

    def run(self, *, forced: bool = False, scheduled: bool = False) -> Report:
        """Compact if it is time to. Whatever goes wrong, the documents are as they were."""
        if not forced and (why := self.not_due(scheduled=scheduled)):
            return Report("skipped", why, at=self.library.clock.stamp())
        started = monotonic()
        try:
            report = self._run()
        except (CommonplaceError, OSError, Unwell) as error:
            report = Report("failed", str(error))
        return self._logged(replace(report, seconds=round(monotonic() - started, 3)))

    def not_due(self, *, scheduled: bool = False) -> str:
        """Why this is not the time; empty when it is."""
        settings = self.settings
        if not settings.document:
            return "this layout has no document to compact"
        if not settings.enabled:
            return "memory_compaction_enabled is off"
        return "" if scheduled or self.is_over() else "no threshold is exceeded"

    def is_over(self) -> bool:
        """Whether the main document has more records or characters than it should."""
        most, characters = self.settings.threshold_records, self.settings.threshold_characters
        self.library.refresh()
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

    def planned(self) -> tuple[Plan, str]:
        """What a run would do now, and that as a difference. Nothing is written."""
        now = self._read()
        made = self._plan(now)
        settings = self.settings
        return made, shown(
            made, now.records, document=settings.document, long_document=settings.long_document
        )

    def _run(self) -> Report:
        if not self._in_scope(self._read()):
            return Report("skipped", "no record is in scope")
        try:
            with self.notes.alone(LOCK):
                if name := self._open_in_editor():
                    return Report("skipped", f"{name} is open in an editor")
                return self._work()
        except Busy:
            return Report("skipped", "another compaction is running")

    def _work(self) -> Report:
        self.checkpoint()
        since = self.library.clock.stamp()
        found = set(map(_key, self.findings()))
        before = self._read()
        made = self._plan(before)
        backup = self.library.journal.keep(before.data)
        entry = self._changed(made, before, backup)
        if isinstance(entry, str):
            return Report("skipped", entry)
        try:
            self.library.level()
            after = self._read()
            self._validate(made, before, after)
            sizes = len(before.records), len(before.text)
            del before  # What a scan holds is as large.
            self._check_findings(found, since=since)
        except Exception as error:
            past.undo(self.library, author=SYSTEM, position=entry.position)
            raise Unwell(f"{error} It was taken back.") from error
        return Report(
            "done",
            records_before=sizes[0],
            records_after=len(after.records),
            characters_before=sizes[1],
            characters_after=len(after.text),
            compacted=len(entry.removed),
            summaries=len(entry.ids) - len(entry.removed),
            summarizer=self.summarizer.name,
            refused=made.refused,
            position=entry.position,
            backup=backup,
        )

    def _changed(self, made: Plan, was: _Snapshot, backup: str) -> Entry | str:
        """Do what was planned. Returns what was journalled, or why nothing was done."""
        prepared = self._prepared(made, was, backup)
        with self._staged(prepared) as staged:
            level = self._caught_up(was, prepared)
            return self.library.locked(partial(self._write, prepared, level, staged))

    def _open_in_editor(self) -> str:
        names = (self.settings.document, self.settings.long_document)
        return next((name for name in names if self.library.vault.being_edited(name)), "")

    def _before(self) -> str:
        days = timedelta(days=self.settings.min_age_days)
        oldest = datetime.fromisoformat("0001-01-02T00:00:00+00:00")
        now = self.library.clock.now()
        return stamp(now - days if now - oldest > days else oldest)

    def _in_scope(self, snapshot: _Snapshot) -> list[Record]:
        return in_scope(snapshot.records, before=self._before())

    def _plan(self, snapshot: _Snapshot) -> Plan:
        return plan(
            snapshot.records,
            before=self._before(),
            summarizer=self.summarizer,
            new_id=self.library.clock.new_id,
            text_limit=self.settings.text_limit,
        )

    def _read(self) -> _Snapshot:
        name = self.settings.document
        data, position = self._text_of(name)
        parsed = self.library.parse(name, decoded(name, data or b""))
        return _Snapshot(name, data or b"", position, parsed)

    def _text_of(self, name: str) -> tuple[bytes | None, int]:
        """What a document says, None when it is not there, and where the journal ended then.

        It is read without the lock, which a long one would hold too long.
        """
        library = self.library

        def look() -> tuple[int, int]:
            known = library.look(name)
            return known.signature.size if known else -1, library.journal.end()

        while True:
            size, position = library.locked(look)
            if size < 0:
                return None, position
            with suppress(NoSuchDocument):
                data = library.vault.read(name)[:size]
                if library.locked(partial(self._grown, name, position)) is not None:
                    return data, position

    def _grown(self, name: str, since: int) -> bytes | None:
        """What we appended to a document, under the lock; None when it was changed otherwise."""
        self.library.look(name)
        return grown(self.library.journal, name, since=since)

    def _moved(self, made: Plan, was: _Snapshot) -> tuple[str, ...]:
        """Of the records that leave, those that go to the archive, and are not there yet."""
        archive, library = self.settings.archive, self.library
        if not archive and not self.settings.refuge:
            return ()
        leaving = set(made.leaving)
        if archive:
            there = set(archived(library, archive, [r for r in was.records if r.id in leaving]))
        else:
            there = library.index.standing_outside(self.settings.document)
        return tuple(key for key in made.leaving if key not in there)

    def _prepared(self, made: Plan, was: _Snapshot, backup: str) -> _Prepared:
        """Everything that takes time and does not need the lock."""
        library, settings = self.library, self.settings
        added = "".join(lines.write(each, library.layout.line) for each in made.summaries)
        long_before, _ = self._text_of(settings.long_document)
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
            library.journal.keep(long_after),
            self._archive(entry),
        )

    def _archive(self, entry: Entry) -> _Archive | None:
        """The archive as a whole text, where much comes to it, and it is not much longer than that.

        To append as much, and to journal its lines, takes long: that would be under the lock.
        """
        name, library = self._archive_name, self.library
        size = sum(map(len, entry.lines))
        if size < LONG or library.vault.transactional:
            return None
        before, position = self._text_of(name)
        change = library.locked(partial(library.to_append, name))
        if change.at != len(before or b"") or change.at > SHARE * size:
            return None
        after = (before or b"") + entry.appended(change)
        return _Archive(before, after, library.journal.keep(after), position)

    @property
    def _archive_name(self) -> str:
        return self.settings.archive or self.settings.refuge

    def _caught_up(self, was: _Snapshot, prepared: _Prepared) -> _Level:
        """Take in what others stored while all was made: little comes to it until the lock."""
        library = self.library
        library.locked(library.levelling.bring_up)
        position = library.locked(library.journal.end)
        tail = grown(library.journal, was.name, since=was.position, until=position)
        if tail is None:
            position, tail = was.position, b""
        return _Level(position, _Growing(was.data, tail), _Growing(prepared.left, tail))

    @contextmanager
    def _staged(self, prepared: _Prepared) -> Iterator[dict[str, Staged]]:
        """The texts on disk, beside the documents whose place they take."""
        vault, settings = self.library.vault, self.settings
        texts = {settings.long_document: prepared.long_after, settings.document: prepared.left}
        if prepared.archive:
            texts[self._archive_name] = prepared.archive.after
        staged: dict[str, Staged] = {}
        try:
            for name, text in texts.items():
                staged[name] = vault.stage(name, text)
            yield staged
        finally:
            for each in staged.values():
                vault.unstage(each)

    def _entry(self, made: Plan, was: _Snapshot, backup: str) -> Entry:
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
        if name := self._open_in_editor():
            return f"{name} is open in an editor"
        tail = self._grown(settings.document, level.position)
        if tail is None:
            return f"{settings.document} changed meanwhile"
        library.look(settings.long_document)
        long_before, long_after, version = self._long_text(prepared)
        entry, written, texts = self._archiving(prepared)
        changes = (
            *entry.changes,
            Text(settings.long_document, version),
            Cut(settings.document, prepared.spans),
        )
        texts[settings.long_document] = long_before, long_after
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
        if archive is None or self._grown(name, archive.position) != b"":
            return replace(entry, changes=(self.library.to_append(name),)), written, {}
        short = {part: text for part, text in written.items() if part != "lines"}
        entry = replace(entry, lines=(), changes=(Text(name, archive.version),))
        return entry, short, {name: (archive.before, archive.after)}

    def _long_text(self, prepared: _Prepared) -> tuple[bytes | None, bytes, str]:
        """The long document before and after, and the name of the version that is kept of it."""
        vault, name = self.library.vault, self.settings.long_document
        now = vault.read(name) if vault.stat(name) else None
        if now == prepared.long_before:
            return now, prepared.long_after, prepared.version
        after = self._lengthened(now, prepared.added)
        return now, after, self.library.journal.keep(after)

    def _lengthened(self, before: bytes | None, added: str) -> bytes:
        text = decoded(self.settings.long_document, before or b"") or HEADER
        guard = "" if text.endswith("\n") else "\n"
        newline = "\r\n" if text.endswith("\r\n") else "\n"
        return (text + guard + added.replace("\n", newline)).encode()

    def _validate(self, made: Plan, before: _Snapshot, after: _Snapshot) -> None:
        """Look whether a compaction did what it may, and nothing else."""
        leaving, there = set(made.leaving), {record.id: record for record in after.records}
        limit = self._before()
        for record in before.records:
            if record.id in leaving and must_stay(record, before=limit):
                raise Unwell(f"{record.id} should have stayed.")
            if record.id not in leaving and there.get(record.id) != record:
                raise Unwell(f"{record.id} is not there any more.")
        fresh = there.keys() - {record.id for record in before.records}
        if leaving & there.keys() or len(there) > len(before.records) + len(fresh):
            raise Unwell("There are not fewer records than before.")
        if [summary.id for summary in made.summaries if self.library.index.get(summary.id) is None]:
            raise Unwell("A summary cannot be found.")
        if wrong := _whats(after) - _whats(before):
            raise Unwell(f"The document has a new problem: {min(wrong)}.")
        self._check_index(after)

    def _check_findings(self, found: set[tuple[str, tuple[str, ...]]], *, since: str) -> None:
        """Look whether a scan finds what it did not find before."""
        told: dict[tuple[str, str], list[frozenset[str]]] = defaultdict(list)
        for kind, ids in found:
            group = frozenset(ids)  # One for all of them: a session may have thousands.
            for key in ids if len(ids) > 1 else ():
                told[kind, key].append(group)
        for kind, ids in map(_key, self.findings()):
            # Of a group of which some left, the rest is nothing new.
            before = told.get((kind, ids[0]), ()) if ids else ()
            if (kind, ids) in found or any(group.issuperset(ids) for group in before):
                continue
            if not self._stored_since(ids, since):
                raise Unwell(f"The scan finds something new: {kind} {', '.join(ids[:3])}.")

    def _stored_since(self, ids: Iterable[str], since: str) -> bool:
        """Whether one of these is a record that somebody stored since, which is not our doing."""
        hits = (self.library.index.get(key) for key in ids)
        return any(hit and hit.record.timestamp >= since for hit in hits)

    def _check_index(self, after: _Snapshot) -> None:
        library, name = self.library, self.settings.document
        library.refresh()
        if library.vault.read(name) != after.data:
            return  # Somebody wrote meanwhile: what the index holds is newer than what was read.
        everything = Query(
            documents=(name,),
            include_superseded=True,
            include_secret=True,
            include_passages=False,
        )
        indexed, written = library.index.count(everything), len({r.id for r in after.records})
        if indexed != written:
            raise Unwell(f"The index holds {indexed:,} of {written:,} records.")

    def _logged(self, report: Report) -> Report:
        report = replace(report, at=self.library.clock.stamp())
        _log(self.notes, report)
        return report


def note_failure(notes: Notes, why: str, *, at: str) -> None:
    """Log a run that could not do so itself."""
    _log(notes, Report("failed", why, at=at))


def _log(notes: Notes, report: Report) -> None:
    notes.add(LOG, json.dumps(report.__dict__))


def last_report(notes: Notes) -> Report | None:
    """How the last run that came past the first checks ended."""
    found = reports(notes)
    return found[-1] if found else None


def described(report: Report) -> str:
    """A report in one sentence."""
    if report.status != "done":
        return f"{report.status} on {report.at[:10]}: {report.why}"
    by = f"{report.summaries:,} summaries by {report.summarizer}"
    refused = f", {len(report.refused):,} of them extractive instead" if report.refused else ""
    return (
        f"on {report.at[:10]} from {report.records_before:,} records to {report.records_after:,}, "
        f"{by}{refused}, in {report.seconds:.1f} s"
    )


def reports(notes: Notes) -> list[Report]:
    """How the runs ended, oldest first."""
    found = []
    for line in (notes.read(LOG) or b"").splitlines():
        with suppress(ValueError, TypeError, KeyError):
            value = json.loads(line)
            found.append(Report(**value | {"refused": tuple(value["refused"]), "rolled_up": ()}))
    return found


def _key(finding: Any) -> tuple[str, tuple[str, ...]]:
    return finding.kind, finding.ids


def _whats(snapshot: _Snapshot) -> set[str]:
    return {problem.what for problem in snapshot.parsed.problems}


def _lines_of(snapshot: _Snapshot, ids: Iterable[str]) -> Iterable[str]:
    items: dict[str, Item] = {item.record.id: item for item in snapshot.items}
    for key in ids:
        yield as_line(snapshot.text[items[key].start : items[key].end])
