"""The plan of a compaction, and the report of how it went.

`plan` is a pure function of the records: which leave, and which summaries stand for them. A model's
summary is taken only if it kept what must be kept. The reports are a log of the vault, one line a
run.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import asdict

from commonplace.markdown.layouts import Layout
from commonplace.model.clock import DayOf, parse_stamp, stamp, utc_day
from commonplace.model.errors import CommonplaceError
from commonplace.model.options import Options
from commonplace.model.records import COMPACTION, SHAREABLE, Origin, Record, Sensitivity
from commonplace.storage.machine_files import parsed
from commonplace.storage.notes import Notes
from commonplace.trust.neutralise import one_line
from commonplace.trust.origins import lowest
from commonplace.trust.secrets import redact
from commonplace.upkeep.compaction.extractive import (
    Extractive,
    Summarizer,
    dropped,
    headed,
    most_common,
)

COMPACTABLE = frozenset(("turn-summary", "note", "context", "heartbeat", COMPACTION))
"""Kinds that old records of are compacted; facts, what was learned and how to behave stay."""
LOG = "compaction.jsonl"
NOTHING = "this layout has no document to compact"
LEVELS = list(Sensitivity)
FEW, MOST = 4, 40
"""Fewer records than this join others of their month; more than that make several summaries."""
BODY = 600
"""Characters of what a summary says."""
ASKED = 100
"""Summaries of one run that a model is asked for; the extractive one makes the rest."""


class Settings(Struct, frozen=True):
    """Which records a run may compact, and from which age."""

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


class CompactionPlan(Struct, frozen=True):
    """What a compaction would do: the summaries, and the records that they replace."""

    summaries: tuple[Record, ...] = ()
    leaving: tuple[str, ...] = ()
    """The ids of the records that leave, in the order of the document."""
    refused: tuple[str, ...] = ()
    """Why summaries of a model were not taken."""

    @property
    def sources(self) -> frozenset[str]:
        """The ids of the records that the summaries are made of."""
        return frozenset(key for summary in self.summaries for key in summary.sources)

    @property
    def sentence(self) -> str:
        leaving, coming = len({*self.leaving, *self.sources}), len(self.summaries)
        records = "1 record" if leaving == 1 else f"{leaving:,} records"
        summaries = "1 summary" if coming == 1 else f"{coming:,} summaries"
        return f"{records} would become {summaries}."


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


def in_scope(
    records: Sequence[Record], *, before: str, waiting: Container[str] = ()
) -> list[Record]:
    """The records to compact: old, of a kind that may go, and in no chain of replacements.

    Those that wait for approval stay: a summary would tell them.
    """
    replaced = {record.supersedes for record in records}
    return [
        record
        for record in records
        if not must_stay(record, before=before)
        and not record.supersedes
        and not record.replaced_by
        and record.id not in replaced
        and record.id not in waiting
        and not record.is_checkpoint
    ]


def _old_checkpoints(records: Sequence[Record]) -> set[str]:
    """The checkpoints of runs before: they leave with the next, and become no summary."""
    return set([record.id for record in records if record.is_checkpoint][:-1])


def grouped(records: Iterable[Record], *, day_of: DayOf = utc_day) -> list[list[Record]]:
    """The records in groups that make one summary each: of one month, session, kind and subject.

    Origin and sensitivity are the same in a group, so that no record lowers the trust of another.
    """
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda record: (record.timestamp, record.id)):
        subject = record.tags[0] if record.tags else ""
        month = day_of(record.timestamp)[:7]
        groups[(month, *_alike(record), record.session, subject)].append(record)
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
    return record.kind, record.origin, record.sensitivity


def plan(
    records: Sequence[Record],
    *,
    before: str,
    summarizer: Summarizer,
    new_id: Callable[[], str],
    text_limit: int,
    day_of: DayOf = utc_day,
    waiting: Container[str] = (),
) -> CompactionPlan:
    """What to do with the records of a document: a function of them and of the summarizer."""
    chosen = in_scope(records, before=before, waiting=waiting)
    summaries, refused = [], []
    for number, group in enumerate(grouped(chosen, day_of=day_of)):
        asked = summarizer if number < ASKED else Extractive()
        summary, why = summary_of(group, asked, new_id=new_id, text_limit=text_limit, day_of=day_of)
        summaries.append(summary)
        if why:
            refused.append(why)
    leaving = {record.id for record in chosen}
    leaving |= _old_checkpoints(records) if leaving else set()
    in_order = tuple(record.id for record in records if record.id in leaving)
    return CompactionPlan(tuple(summaries), in_order, tuple(refused))


def summary_of(
    group: Sequence[Record],
    summarizer: Summarizer,
    *,
    new_id: Callable[[], str],
    text_limit: int,
    day_of: DayOf = utc_day,
) -> tuple[Record, str]:
    """The record that stands for a group, and why a model's summary was not taken, if it wasn't."""
    texts = [one_line(record.text) for record in group]
    body, why = said_by(summarizer, group, texts)
    by_model = summarizer.name != Extractive.name and not why
    origins = [record.origin for record in group]
    record = Record(
        id=new_id(),
        kind=COMPACTION,
        text=headed(group, body, limit=text_limit, day_of=day_of),
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


def shown(
    planned: CompactionPlan, records: Iterable[Record], *, document: str, long_document: str
) -> str:
    """A plan as a diff: each summary with the records that it replaces, or that stay in a log."""
    texts = {record.id: one_line(record.text) for record in records}
    leaving = set(planned.leaving)
    parts = []
    for summary in planned.summaries:
        parts.append(f"+ {long_document}: {one_line(summary.text)}")
        parts += [
            f"-   {document}: {texts[key]}" if key in leaving else f"    {texts[key]}"
            for key in summary.sources
        ]
    return "\n".join(parts)


class CompactionReport(Struct, frozen=True):
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


def note_failure(notes: Notes, why: str, *, at: str) -> None:
    """Log a run that could not do so itself."""
    log(notes, CompactionReport("failed", why, at=at))


def log(notes: Notes, report: CompactionReport) -> None:
    notes.add(LOG, json.dumps(asdict(report)))


def last_report(notes: Notes) -> CompactionReport | None:
    """The report of the last run that passed the first checks."""
    found = reports(notes)
    return found[-1] if found else None


def described(report: CompactionReport, day_of: DayOf) -> str:
    """A report in one sentence."""
    day = day_of(report.at)
    if report.status != "done":
        return f"{report.status} on {day}: {report.why}"
    by = f"{report.summaries:,} summaries by {report.summarizer}"
    refused = f", {len(report.refused):,} of them extractive instead" if report.refused else ""
    return (
        f"on {day} from {report.records_before:,} records to {report.records_after:,}, "
        f"{by}{refused}, in {report.seconds:.1f} s"
    )


def reports(notes: Notes) -> list[CompactionReport]:
    """How the runs ended, oldest first."""
    found = []
    for line in (notes.read(LOG) or b"").splitlines():
        with suppress(ValueError, TypeError, KeyError):
            value = parsed(line)
            found.append(
                CompactionReport(**value | {"refused": tuple(value["refused"]), "rolled_up": ()})
            )
    return found
