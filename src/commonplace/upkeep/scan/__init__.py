"""Find stale, contradictory, duplicate and orphaned memories, with a suggested fix for each.

A scan changes nothing: a person or an agent decides which of the suggested commands to run.
"""

from __future__ import annotations

import gc
import os
import shlex
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property

from msgspec import Struct

from commonplace.library.citations import Citations, CitationStanding, Freshness
from commonplace.library.library import Library
from commonplace.markdown import documents
from commonplace.markdown.layouts import Layout
from commonplace.markdown.record_lines import HEAD
from commonplace.model.clock import Clock, parse_stamp
from commonplace.model.errors import BadValue, NoSuchDocument, Unreadable
from commonplace.model.records import (
    PASSAGE,
    PASSING,
    Hit,
    Place,
    Problem,
    Record,
    Sensitivity,
    is_over,
    now_of,
)
from commonplace.search.index import Query
from commonplace.storage.journal import Op
from commonplace.trust.neutralise import one_line
from commonplace.trust.origins import trust_of
from commonplace.upkeep.scan import duplicates
from commonplace.upkeep.scan.contradictions import Claim, claims, disagree

STALE = timedelta(days=120)
EVERYTHING = Query(include_superseded=True, include_secret=True, limit=1 << 30)
SHOWN = 70
"""Characters of a text that a finding quotes."""
NAMED = 20
"""Ids that a command names at most: the scan after it finds the rest."""


class Finding(Struct, frozen=True):
    """Something that a scan saw: what kind of thing, where, in a sentence, and what mends it."""

    kind: str
    ids: tuple[str, ...]
    what: str
    fix: str = ""
    places: tuple[str, ...] = ()


class ScannedVault:
    """A vault as one scan looks at it."""

    def __init__(
        self,
        library: Library,
        *,
        now: datetime,
        root: str = "",
        citations: Citations | None = None,
    ) -> None:
        library.refresh()
        self.library = library
        self.citations = citations
        self.root = root
        self.now = now
        self.hits: list[Hit] = library.search(EVERYTHING)

    @cached_property
    def records(self) -> dict[str, Record]:
        return {hit.record.id: hit.record for hit in self.hits if hit.record.kind != PASSAGE}

    @cached_property
    def places(self) -> dict[str, tuple[Place, ...]]:
        return {hit.record.id: hit.places for hit in self.hits}

    @cached_property
    def current(self) -> list[Record]:
        """What counts now, oldest first: not replaced, and not only in a log or the archive."""
        replaced = {r.supersedes for r in self.records.values() if r.supersedes != r.id}
        found = [
            record
            for key, record in self.records.items()
            if key not in replaced
            and not record.replaced_by
            and any(self._counts(place) for place in self.places[key])
        ]
        return sorted(found, key=lambda record: (record.timestamp, record.id))

    @cached_property
    def valid(self) -> list[Record]:
        now = now_of(self.library.clock, self.now)
        return [record for record in self.current if not is_over(record, now)]

    def _counts(self, place: Place) -> bool:
        layout, name = self.library.layout, place.document
        if layout.day_of(name):
            return not layout.memory or bool(layout.sections)
        archived = bool(layout.archive) and name == layout.archive
        return not archived and name != layout.long_memory

    @cached_property
    def texts(self) -> dict[str, str]:
        """Every document that can be read."""
        found = {}
        listing = self.library.listing()
        self.unreadable = [Problem(path, 0, why) for path, why in listing.unreadable.items()]
        for name in listing.documents:
            try:
                found[name] = self.library.text(name)[0]
            except Unreadable as error:
                self.unreadable.append(Problem(name, 0, str(error)))
            except NoSuchDocument:
                continue
        return found

    @cached_property
    def parsed(self) -> dict[str, documents.Parsed]:
        seen: dict[str, Record] = {}
        reading = self.library.reading
        return {
            name: documents.parse(text, reading=reading(name), seen=seen)
            for name, text in self.texts.items()
        }

    @cached_property
    def problems(self) -> list[Problem]:
        """What is wrong in the documents, and what cannot be read."""
        told = [problem for parsed in self.parsed.values() for problem in parsed.problems]
        return self.unreadable + told

    @cached_property
    def journalled(self) -> tuple[set[str], set[str]]:
        """The records that the journal knows, and of them the ones that were forgotten."""
        known: set[str] = set()
        forgotten: set[str] = set()
        for entry in self.library.entries():
            known.update(entry.ids, entry.removed)
            if entry.op == Op.FORGET:
                forgotten.update(entry.ids)
        return known, forgotten


def scan(
    library: Library,
    *,
    now: datetime,
    root: str = "",
    citations: Citations | None = None,
    kinds: Collection[str] = (),
) -> list[Finding]:
    """Look the records, documents and journal over. Without `kinds`, for all that fit the layout.

    `root` is where the documents are, for the commands that name one. `citations` tell what has
    become of the files that records rest on.

    The contradictions of claw's document, any two texts of one session and category, are looked
    for in its own layout, and elsewhere when they are asked for.
    """
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise BadValue("kind", f"{unknown[0]!r} is not known", next_step=f"Use {', '.join(KINDS)}.")
    wanted = kinds or [
        kind for kind in KINDS if kind != "contradiction" or library.layout.name == "claw"
    ]
    # Many values and no cycles among them: looking for some would take a third of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        seen = ScannedVault(library, now=now, root=root, citations=citations)
        return [finding for kind in KINDS if kind in wanted for finding in KINDS[kind](seen)]
    finally:
        if collecting:
            gc.enable()


def _contradictions(seen: ScannedVault) -> Iterator[Finding]:
    yield from session_contradictions(seen.current)


def session_contradictions(records: Iterable[Record]) -> Iterator[Finding]:
    """One finding for each session and category that says more than one thing."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        if record.session:
            groups[record.session, record.kind].append(record)
    for (session, category), group in groups.items():
        texts = {record.text for record in group}
        if len(texts) > 1:
            what = f"{len(texts)} different texts of category {category} in session {session}"
            kept = _kept(group)
            older = [record for record in group if record.text != kept.text]
            yield Finding("contradiction", _ids(group), what, _struck(older))


def _disagreements(seen: ScannedVault) -> Iterator[Finding]:
    """Facts about the same subject that cannot all be so."""
    told: dict[tuple[str, ...], list[tuple[Record, Claim]]] = defaultdict(list)
    for record in seen.valid:
        for claim in claims(record.text):
            told[record.username, record.group, *claim.key].append((record, claim))
    found: set[tuple[str, ...]] = set()
    for said in told.values():
        if len(said) > 1:
            yield from _differing(said, found)


def _differing(
    said: Sequence[tuple[Record, Claim]], found: set[tuple[str, ...]]
) -> Iterator[Finding]:
    kept = _kept([record for record, _ in said])
    ours = next(claim for record, claim in said if record is kept)
    others = {
        record.id: record
        for record, claim in said
        if record.id != kept.id and disagree(ours, claim)
    }
    ids = (*others, kept.id)
    if others and ids not in found:
        found.add(ids)
        older = list(others.values())
        what = f"{_quoted(older[-1])} and {_quoted(kept)} cannot both be so"
        more = len(older) - 1
        yield Finding(
            "disagreement", ids, what + (f" ({more} more)" if more else ""), _struck(older)
        )


def _stale(seen: ScannedVault) -> Iterator[Finding]:
    # What stands in a log tells of its day, and does not grow old.
    logged = PASSING if seen.library.layout.sections else ()
    yield from stale(seen.current, now=seen.now, clock=seen.library.clock, ageless=logged)
    for name, text in seen.texts.items():
        # Most documents say no such thing, and finding their sections takes long.
        if "*Updated: " in text and seen._counts(Place(name, 1)):
            yield from _stale_sections(seen, name, text)


def stale(
    records: Iterable[Record], *, now: datetime, clock: Clock, ageless: Collection[str] = ()
) -> Iterator[Finding]:
    """What was stored over 120 days ago, or says itself that its time is over.

    Records of the `ageless` kinds only end by the time that they say.
    """
    at, day_of = now_of(clock, now), clock.day_of
    for record in records:
        if is_over(record, at):
            what = f"it was valid until {day_of(record.valid_to)}: {_quoted(record)}"
            yield Finding("stale", (record.id,), what, _struck([record]))
        elif record.kind not in ageless and _is_past(record.timestamp, now - STALE):
            day = day_of(record.timestamp)
            # Age alone is no reason to take a memory out: no command is suggested.
            what = f"older than {STALE.days} days: {_quoted(record)} is of {day}"
            yield Finding("stale", (record.id,), what)


def _stale_sections(seen: ScannedVault, name: str, text: str) -> Iterator[Finding]:
    before = seen.library.clock.local_day(seen.now - STALE)
    ours = seen.library.reading(name).sections
    for section in documents.sections(text):
        # The lines of our own sections have days of their own.
        is_ours = section.title.casefold() in ours
        if section.updated and section.updated < before and not is_ours:
            what = f"section {section.title!r} was last updated on {section.updated}"
            title, document = shlex.quote(section.title), shlex.quote(name)
            fix = f"commonplace update {document} - --mode section --section {title}"
            yield Finding("stale", (), what, fix, (f"{name}:{section.line}",))


def _is_past(time: str, moment: datetime) -> bool:
    try:
        return bool(time) and parse_stamp(time) < moment
    except ValueError:
        return False  # A person's line may say no time, or none that can be read.


def _evidence(seen: ScannedVault) -> Iterator[Finding]:
    """Records that rest on a file or document that is not as it was cited."""
    if seen.citations is None:
        return
    for record in seen.valid:
        for cited in record.citations:
            standing = seen.citations.standing(cited)
            if standing.state == Freshness.MOVED:
                yield _cited(record, standing, f", now {one_line(standing.place)}", "--renew")
            elif standing.is_stale:
                deed = "--drop" if standing.state == Freshness.GONE else "--renew"
                yield _cited(record, standing, f": {standing.sentence()}", deed)
    seen.citations.keep()


def _cited(record: Record, standing: CitationStanding, fate: str, deed: str) -> Finding:
    place = one_line(standing.citation.place)
    what = f"{_quoted(record)} rests on {place}{fate}"
    # It names the place: the record may rest on others that are fresh.
    fix = f"commonplace cite {record.id} {deed} {shlex.quote(place)}"
    return Finding("evidence", (record.id,), what, fix)


def _duplicates(seen: ScannedVault) -> Iterator[Finding]:
    for group in _grouped(seen.valid, duplicates.same):
        kept, *others = _ranked(group)
        what = f"{len(group)} records say {_quoted(kept)}"
        yield Finding("duplicate", _ids(group), what, _struck(others))


def _near_duplicates(seen: ScannedVault) -> Iterator[Finding]:
    for group in _grouped(seen.valid, duplicates.alike):
        kept, *others = _ranked(group)
        what = f"{_quoted(others[0])} says nearly what {_quoted(kept)} says"
        more = len(others) - 1
        what += f" ({more} more)" if more else ""
        yield Finding("near-duplicate", _ids(group), what, _struck(others))


def _grouped(
    records: Iterable[Record], find: Callable[[Mapping[str, str]], list[tuple[str, ...]]]
) -> Iterator[list[Record]]:
    """Records of the same person, group and moments whose texts go together."""
    whose: dict[tuple[str, ...], dict[str, Record]] = defaultdict(dict)
    for record in records:
        whose[record.username, record.group, *sorted(record.when)][record.id] = record
    for theirs in whose.values():
        for keys in find({key: record.text for key, record in theirs.items()}):
            yield [theirs[key] for key in keys]


def _broken_chains(seen: ScannedVault) -> Iterator[Finding]:
    above = {r.id: r.supersedes for r in seen.records.values() if r.supersedes}
    yield from _cycles(above)
    for key, target in above.items():
        if target not in seen.records and target not in seen.journalled[0]:
            what = f"{key} replaces {target}, which is nowhere"
            yield Finding("broken-chain", (key,), what, f"commonplace unlink {key}")


def _cycles(above: Mapping[str, str]) -> Iterator[Finding]:
    """Records that replace each other in a circle: every one of them is hidden by another."""
    done: set[str] = set()
    for start in above:
        path: dict[str, None] = {}
        key = start
        while key in above and key not in done and key not in path:
            path[key] = None
            key = above[key]
        if key in path:
            circle = list(path)[list(path).index(key) :]
            what = f"{' and '.join(circle)} replace each other, so that none of them is found"
            # Ids sort by time: the oldest cannot have replaced a later one.
            yield Finding("broken-chain", tuple(circle), what, f"commonplace unlink {min(circle)}")
        done.update(path)


def _orphan_summaries(seen: ScannedVault) -> Iterator[Finding]:
    for record in seen.records.values():
        if record.sources:
            known, forgotten = seen.journalled if _lacking(record, seen.records) else (set(), set())
            gone = [
                key
                for key in _lacking(record, seen.records)
                if key not in known or key in forgotten
            ]
            if gone:
                count = f"{len(gone)} of its {len(record.sources)} sources are gone"
                what = f"{_quoted(record)} cannot be unfolded: {count}"
                yield Finding("orphan-summary", (record.id,), what, _struck([record]))


def _lacking(record: Record, there: Collection[str]) -> list[str]:
    return [key for key in record.sources if key not in there]


def _problems(seen: ScannedVault) -> Iterator[Finding]:
    for problem in seen.problems:
        path = os.path.join(seen.root, problem.document)
        fix = f"${{EDITOR:-vi}} {f'+{problem.line} ' if problem.line else ''}{shlex.quote(path)}"
        yield Finding("problem", (), problem.what, fix, (_placed(problem),))


def _placed(problem: Problem) -> str:
    return f"{problem.document}:{problem.line}" if problem.line else problem.document


def _index_drift(seen: ScannedVault) -> Iterator[Finding]:
    """Documents of which the index does not know what stands in them."""
    indexed: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for hit in seen.hits:
        for place in hit.places:
            indexed[place.document].add((place.line, hit.record.id))
    there = seen.library.listing().documents
    drifted = [
        name
        for name, parsed in seen.parsed.items()
        if _standing(parsed) != indexed[name] and _differs(seen.library, name)
    ] + [name for name in indexed if name not in there]
    if drifted:
        what = f"the index does not say what {_listed(drifted)} says"
        yield Finding("index-drift", (), what, "commonplace rebuild", tuple(drifted))


def _listed(names: Sequence[str]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")


def _standing(parsed: documents.Parsed) -> set[tuple[int, str]]:
    return {(item.line, item.record.id) for item in parsed.items}


def _differs(library: Library, name: str) -> bool:
    """Whether index and document still differ under the lock, when nobody writes."""

    def look() -> bool:
        library.take_in_changes()
        within = Query(
            documents=(name,), include_superseded=True, include_secret=True, limit=1 << 30
        )
        indexed = {
            (place.line, hit.record.id)
            for hit in library.search(within)
            for place in hit.places
            if place.document == name
        }
        return _standing(library.parse(name, library.text(name)[0])) != indexed

    return library.locked(look)


def _quarantined(seen: ScannedVault) -> Iterator[Finding]:
    for record in seen.library.approvals.held():
        what = f"{record.kind} from {record.origin} waits for approval: {_quoted(record)}"
        fix = f"commonplace review {record.id} --approve"
        yield Finding("quarantined", (record.id,), what, fix)


def _ids(records: Iterable[Record]) -> tuple[str, ...]:
    return tuple(record.id for record in records)


def _ranked(records: Iterable[Record]) -> list[Record]:
    """The one to keep first: the most trusted, of those one that replaces another, the newest."""
    return sorted(
        records,
        key=lambda r: (trust_of(r.origin), bool(r.supersedes), r.timestamp, r.id),
        reverse=True,
    )


def _kept(records: Sequence[Record]) -> Record:
    """The record to believe: the most trusted, then the newest, then the last."""
    return max(reversed(records), key=lambda record: (trust_of(record.origin), record.timestamp))


def _struck(records: Sequence[Record]) -> str:
    return " ".join(("commonplace strike", *_ids(records)[:NAMED]))


def _quoted(record: Record) -> str:
    if record.sensitivity == Sensitivity.SECRET:
        return f"the secret {record.id}"
    text = one_line(record.text)
    return f"“{text[:SHOWN]}{'…' if len(text) > SHOWN else ''}”"


def _untidy(seen: ScannedVault) -> Iterator[Finding]:
    """Lines of a native vault that stand in no section, and memories that stand twice."""
    layout = seen.library.layout
    if not layout.sections:
        return
    loose = [line for line in seen.texts.get(layout.memory, "").split("\n") if HEAD.match(line)]
    twice = [key for key, places in seen.places.items() if _stands_twice(layout, places)]
    if loose or twice:
        what = (
            f"{layout.memory} has {len(loose):,} lines in no section, and {len(twice):,} memories "
            "stand in a log as well"
        )
        yield Finding("untidy", (), what, "commonplace tidy", (layout.memory,))


def _stands_twice(layout: Layout, places: Iterable[Place]) -> bool:
    names = {place.document for place in places}
    return layout.memory in names and any(map(layout.day_of, names))


KINDS: dict[str, Callable[[ScannedVault], Iterator[Finding]]] = {
    "contradiction": _contradictions,
    "disagreement": _disagreements,
    "stale": _stale,
    "evidence": _evidence,
    "duplicate": _duplicates,
    "near-duplicate": _near_duplicates,
    "broken-chain": _broken_chains,
    "orphan-summary": _orphan_summaries,
    "problem": _problems,
    "untidy": _untidy,
    "index-drift": _index_drift,
    "quarantined": _quarantined,
}
"""What a scan looks for, in the order that it tells."""
