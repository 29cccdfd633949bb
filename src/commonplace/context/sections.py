"""Where the lines of a context come from: documents as they read, records as the index has them.

No more of a document is read than could be shown, and no line that nobody may be shown. Of records
that fit a message, `relevant_hits` takes few, and none for small talk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.context.budget import ContextLine
from commonplace.library.library import Library
from commonplace.library.placing import LONG
from commonplace.library.record_reader import decoded
from commonplace.markdown.blocks import UPDATED
from commonplace.model.clock import parse_stamp
from commonplace.model.errors import CommonplaceError, NoSuchDocument
from commonplace.model.options import Options
from commonplace.model.records import (
    BEHAVIORAL,
    PASSAGE,
    Hit,
    Now,
    Origin,
    Record,
    Sensitivity,
    is_over,
    is_to_come,
    now_of,
    short_id,
)
from commonplace.search.importance import weight
from commonplace.search.question import question_in
from commonplace.search.words import words_of
from commonplace.storage.sessions import SessionKind
from commonplace.trust.neutralise import neutralise, one_line
from commonplace.trust.origins import Trust, trust_of

if TYPE_CHECKING:
    from commonplace.history.messages import Message

SPARE = 4
"""How many characters of a document to look at for each that there is room for, at most: what a
record carries for programs may be longer than what it says.
"""
STEPS, LEAST_READ = 10, 4096
"""In how many pieces that is read, from the end: most often half of them are enough. And the
least that is worth a piece.
"""
CURATED = 3
"""The share of the room, as a divisor, that the beginning of a document may take before its end."""
HEADING = re.compile(r"#{1,6}(?=[ \t]|$)")
COMMENT = re.compile(r"<!--.*-->\s*\Z")
MOST_RELEVANT = 10
MOST_WORDS = 24
"""Words of a message's question that are looked at."""
ENGLISH = """again alright awesome bye cheers continue cool correct done excellent fine go going
good goodbye great haha hello help hey hi hmm keep let lol look looks lot make maybe morning need
next nice nope oh ok okay perfect please right say says see show sorry start stop sure tell thank
thanks thing things think tomorrow try understood use want well yeah yep yes"""
SMALL_TALK = frozenset(ENGLISH.split())
"""Words that say nothing of what a message is about."""
LEAST_SHARE = 0.4
"""The share of a message's telling words that a memory must have, counted by how rare they are."""
LEAST_SCORE = 0.3
"""The score that makes up for a smaller share."""
LEAST_ALIKE = 0.1
"""The score from which a memory is alike that has none of the words."""
NEAR_BEST, BEST_BY_LIKENESS = 0.5, 0.9
"""How far below the best a memory may score; one without the words must be nearly the best, as
what stands beside a good one scores by that alone.
"""
KNOWN = 0.5
"""What a memory that the session knows counts as the best of the hits."""
ENDINGS = ("ing", "ed", "s")

Find = Callable[[str, int], Sequence[Hit]]
"""What fits a message best, at most so many."""


class State(Struct, frozen=True, dict=True):
    """What the stages of a context are made from: one vault, one message, one kind of agent."""

    library: Library
    options: Options
    dialect: str = ""
    agent: str = "session"
    kind: SessionKind = SessionKind.MAIN
    shut: bool = False
    """Whether the vault's memory is kept from the session."""
    in_files: bool = True
    """Whether the documents are files that a shell can reach."""
    question: Callable[[], str] | None = None
    """Gives an example of a question in SQL over the messages, as their database takes it."""
    message: str = ""
    system: str = ""
    room: int = 32_000
    """Characters that there is room for in all: nobody need read much more."""
    find: Find | None = None
    experiences: Callable[[str, int], Sequence[Record]] | None = None
    history: Callable[[int], Sequence[Message]] | None = None
    """The last messages before this one, oldest first."""
    last: int | None = None
    """How many of them; None: as the options say."""
    seen: dict[str, Record] = field(default_factory=dict)
    """Records by their lines: most stand in two documents."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Documents that were to be shown and cannot be read, each with a sentence that says why."""
    counts: bool = True
    """Whether what is not read is counted: not where the index knows how many records there are."""
    stale: Callable[[Sequence[Record]], Mapping[str, str]] | None = None
    """Tells what became of files that records rest on, by the ids of the records."""
    told: frozenset[str] = frozenset()
    """The ids of the records that the session was told already and still has in its context."""

    @property
    def today(self) -> date:
        clock = self.library.clock
        return clock.now().date() if self.library.layout.utc_days else clock.today()

    def daily(self, back: int) -> str:
        """The name of the daily log of so many days ago."""
        return self.library.layout.daily_document(self.today - timedelta(days=back))

    @cached_property
    def now(self) -> Now:
        """One moment for the whole context."""
        return now_of(self.library.clock)

    @cached_property
    def unapproved(self) -> frozenset[str]:
        """The records that a person has to approve before they are told."""
        return self.library.approvals.unapproved()

    def waits(self, record: Record) -> bool:
        """Whether a person has to approve it first."""
        if trust_of(record.origin) != Trust.NONE:
            return False
        return self.library.approvals.tells_all or record.id in self.unapproved

    def age_days(self, timestamp: str) -> int | None:
        if not timestamp:
            return None
        try:
            return max(0, (self.now.moment - parse_stamp(timestamp)).days)
        except ValueError:
            return None  # Not every line that a person wrote says when.


class DocumentLines(Struct, frozen=True):
    """The lines of a document, and which of them are worth most."""

    lines: tuple[ContextLine, ...] = ()
    order: tuple[int, ...] | None = None
    unread: int = 0
    left_out: tuple[ContextLine, ...] = ()


EMPTY = DocumentLines()
WAITS = "waits for approval"
TOLD = "told before in this session"
Write = Callable[[State, Record, str], str]
"""How a record's line is shown: from the record, or from its line as it stands."""


def as_it_stands(state: State, record: Record, raw: str) -> str:
    """The line of the document, without what it carries for programs."""
    from commonplace.markdown.record_lines import plain

    return neutralise(plain(raw)).rstrip()


def dated(state: State, record: Record, raw: str = "") -> str:
    """A record on one line with its day and kind; a line that says neither as it stands."""
    if not record.timestamp:
        return as_it_stands(state, record, raw)
    who = f" (@{record.username})" if record.username else ""
    day = state.library.clock.day_of(record.said_at)
    return one_line(f"- {day} {record.kind}{who}{record.told_text}{_staleness(state, record)}")


def _staleness(state: State, record: Record) -> str:
    """What became of a file that it rests on, in brackets; empty where that is as it was."""
    told = state.stale([record]) if record.citations and state.stale else {}
    return f" ({told[record.id]})" if told else ""


def named(state: State, record: Record, raw: str = "") -> str:
    """The same with the end of its id, by which an agent can correct, erase or judge it."""
    told = dated(state, record, raw)
    return f"{told} #{short_id(record.id)}" if record.timestamp else told


def named_within(day: str) -> Write:
    """How a record is shown below a heading that says its day."""

    def write(state: State, record: Record, raw: str = "") -> str:
        told = named(state, record, raw)
        return f"- {told.removeprefix(f'- {day} ')}" if told.startswith(f"- {day} ") else told

    return write


def text_of(state: State, name: str) -> str:
    """A document's text; empty when it is not there or cannot be read, which is noted."""
    if not name:
        return ""
    try:
        # Without its mark: hashing a long document takes longer than reading it.
        return decoded(name, state.library.read(name))
    except NoSuchDocument:
        return ""
    except CommonplaceError as error:
        state.unreadable[name] = str(error)
        return ""


def document_lines(
    state: State, name: str, *, reason: str, newest: bool = False, write: Write
) -> DocumentLines:
    """A document as lines; of a long one the beginning, or with `newest` beginning and end."""
    text = text_of(state, name)
    if not text or text.isspace():
        return EMPTY
    # The new lines of a longer one stand at its end.
    if newest and state.library.layout.form(name) == "sentence" and len(text) <= LONG:
        return _sectioned_lines(state, name, text, reason, write)
    most = max(state.room * SPARE, 4096)
    if len(text) <= most or not newest:
        head = text.find("\n", most) + 1 or len(text)
        found = list(_lines(state, name, text[:head], reason, write))
    else:
        head, found = 0, []
        while head < most // CURATED and not _ends_top(found, state.room // CURATED):
            start, head = head, _item_after(text, head + LEAST_READ)
            found += _lines(state, name, text[start:head], reason, write)
    start = len(text) if newest else head
    last: list[ContextLine] = []
    while newest and start > max(head, len(text) - most) and not _fill(last, state.room):
        size = max(most // STEPS, LEAST_READ)
        end, start = start, _item_before(text, start, size=size, first=head)
        last[:0] = _lines(state, name, text[start:end], reason, write)
    top = sum(not line.why for line in found)
    shown = [line for line in (*found, *last) if not line.why]
    while shown and not shown[-1].text.strip():
        shown.pop()
    order = _newest_order(shown[:top], len(shown), state.room // CURATED) if newest else None
    end = start if newest else len(text)
    unread = text.count("\n- ", head, end) if state.counts else text.find("\n- ", head, end) >= 0
    left_out = tuple(line for line in (*found, *last) if line.why)
    return DocumentLines(tuple(shown), order, int(unread), left_out)


def _sectioned_lines(
    state: State, name: str, text: str, reason: str, write: Write
) -> DocumentLines:
    """A document with sections as lines: what matters most first, wherever it stands."""
    lines = _lines(state, name, text, reason, write)
    found = [line for line in lines if not (is_stamp(line) or _is_above_rules(state, line))]
    shown = [line for line in found if not line.why]
    top = list(takewhile(lambda line: line.age_days is None, shown))
    first = _top_order(top, state.room // CURATED)
    weights = _weights(shown)
    rest = sorted(range(len(first), len(shown)), key=lambda number: (-weights[number], -number))
    left_out = tuple(line for line in found if line.why)
    return DocumentLines(tuple(shown), (*first, *rest), 0, left_out)


def is_stamp(line: ContextLine) -> bool:
    """Whether a line only says when a section was updated."""
    return bool(UPDATED.match(line.text))


def _is_above_rules(state: State, line: ContextLine) -> bool:
    """Whether a line is the heading of rules: those are told elsewhere, and what anybody else wrote
    below it must not read like one.
    """
    title = line.text.lstrip("# ").strip()
    return bool(heading_level(line)) and state.library.layout.sections.get(title) in BEHAVIORAL


def _weights(lines: Sequence[ContextLine]) -> list[float]:
    """How much each line matters. One that is no record matters as much as the best below it."""
    weights: list[float] = []
    best = 0.0
    for line in reversed(lines):
        if line.record_id and not line.is_heading:
            weights.append(_weight(line))
            best = max(best, weights[-1])
        else:
            weights.append(best)
        if heading_level(line):
            best = 0.0
    return weights[::-1]


def _weight(line: ContextLine) -> float:
    """What a line is worth; one that does not say its day is told after those that do."""
    if line.record is None or line.age_days is None:
        return 0.0
    return weight(line.record, line.age_days)


def _ends_top(found: Sequence[ContextLine], room: int) -> bool:
    """Whether the first record is among the lines, or they are all that the top may take."""
    return any(line.age_days is not None for line in found) or _fill(found, room)


def _item_after(text: str, at: int) -> int:
    """Where a list item begins soon after a place; else where the next line does."""
    item = text.find("\n- ", at, at + LEAST_READ)
    return item + 1 or text.find("\n", at) + 1 or len(text)


def _item_before(text: str, end: int, *, size: int, first: int) -> int:
    """Where a list item begins so far above a place, or a line; always above it."""
    at = end - size
    if at <= first:
        return first
    item = text.find("\n- ", at, end - 1)
    return item + 1 or text.find("\n", at, end - 1) + 1 or max(first, text.rfind("\n", 0, at) + 1)


def _fill(found: Sequence[ContextLine], room: int) -> bool:
    """Whether the lines fill the room."""
    return sum(len(line.text) + 1 for line in found if not line.why) > room


def _newest_order(top: Sequence[ContextLine], count: int, room: int) -> tuple[int, ...]:
    """What a person wrote at the top first, then all from the end upwards."""
    first = _top_order(top, room)
    return (*first, *range(count - 1, len(first) - 1, -1))


def _top_order(top: Sequence[ContextLine], room: int) -> list[int]:
    """The lines that a person wrote at the top, as many as have room."""
    first: list[int] = []
    for number, line in enumerate(top):
        room -= len(line.text) + 1
        if room < 0 or line.age_days is not None:
            break
        first.append(number)
    return first


def _lines(state: State, name: str, text: str, reason: str, write: Write) -> Iterator[ContextLine]:
    """What a piece of a document says, line by line; a record is one line however long."""
    items = state.library.parse(name, text, seen=state.seen).items
    told = records_of(state, [item.record for item in items])
    at = 0
    for item, (record, why) in zip(items, told):
        yield from _between(name, text[at : item.start], reason)
        raw, at = text[item.start : item.end], item.end
        if not why and record.kind == PASSAGE:
            shown = [each.rstrip() for each in neutralise(raw).rstrip("\n").split("\n")]
        else:
            shown = ["" if why else write(state, record, raw)]
        # Alone on its line: one that the list below it left bare, and no line of code.
        bare = record.kind == PASSAGE and len(shown) == 1 and HEADING.match(raw) is not None
        for each in shown:
            line = line_of(state, record, each, reason=reason, document=name, why=why)
            yield replace(line, is_heading=True) if bare else line
    yield from _between(name, text[at:], reason)


def line_of(
    state: State, record: Record, text: str = "", *, reason: str, document: str = "", why: str = ""
) -> ContextLine:
    """The context line of a record. A line that is left out keeps its text, unless it is secret."""
    if why and record.sensitivity != Sensitivity.SECRET:
        text = one_line(record.text)
    return ContextLine(
        text,
        document=document,
        record_id=record.id,
        reason=reason,
        age_days=state.age_days(record.timestamp),
        origin=record.origin,
        is_record=record.kind != PASSAGE,
        is_behavioral=record.behavioral,
        why=why,
        record=None if why else record,
    )


def _between(name: str, text: str, reason: str) -> Iterator[ContextLine]:
    """Headings, blank lines and rules; comments are for programs."""
    if not text:
        return
    for each in neutralise(text).removesuffix("\n").split("\n"):
        if COMMENT.match(each.strip()):
            continue
        # A record that cannot be read may have been meant for its owner only.
        why = "cannot be read" if each.startswith("- {") else ""
        yield ContextLine("" if why else each.rstrip(), document=name, reason=reason, why=why)


def records_of(state: State, records: Sequence[Record]) -> list[tuple[Record, str]]:
    """Each record as the index knows it, and why it may not be shown; empty when it may."""
    replaced = state.library.chains.replaced(record.id for record in records)
    # What its line does not carry, or says falsely, the index knows.
    known = state.library.records_of(record.id for record in records)
    told = (known.get(record.id, record) for record in records)
    return [
        (record, unfit(state, record) or ("replaced" if record.id in replaced else ""))
        for record in told
    ]


def prompt_of(state: State, name: str) -> str:
    """The text of a document that is a prompt; empty where untrusted text got into it."""
    text = text_of(state, name)
    items = state.library.parse(name, text).items if text else ()
    told = records_of(state, [item.record for item in items])
    return "" if any(trust_of(record.origin) == Trust.NONE for record, _ in told) else text


def is_untrusted(line: ContextLine) -> bool:
    """Whether a line came from text that anybody may have written."""
    return bool(line.origin) and trust_of(line.origin) == Trust.NONE


def is_suggestion(line: ContextLine) -> bool:
    """Whether a line asks for something that the owner did not ask for, or anybody wrote it."""
    return (line.is_behavioral and line.origin != Origin.OWNER) or is_untrusted(line)


def suggests(record: Record) -> bool:
    """The same of a record."""
    asks = record.behavioral and record.origin != Origin.OWNER
    return asks or trust_of(record.origin) == Trust.NONE


def unfit(state: State, record: Record) -> str:
    """Why a record may not be shown, by what it says of itself."""
    if record.sensitivity == Sensitivity.SECRET:
        return "secret"
    if record.is_checkpoint:
        return "a checkpoint"
    if state.waits(record):
        return WAITS
    if is_over(record, state.now):
        return "no longer valid"
    if is_to_come(record, state.now):
        return "not valid yet"
    return f"told at: {one_line(', '.join(record.when))}" if record.when else ""


def record_lines(
    state: State, hits: Iterable[Hit], *, reason: str, write: Write = dated
) -> tuple[tuple[ContextLine, ...], tuple[ContextLine, ...]]:
    """Records as lines: those to show, and those that may not be."""
    shown: list[ContextLine] = []
    left_out: list[ContextLine] = []
    for hit in hits:
        document = hit.places[0].document if hit.places else ""
        why = unfit(state, hit.record)
        text = "" if why else write(state, hit.record, f"- {one_line(hit.record.text)}")
        line = line_of(state, hit.record, text, reason=reason, document=document, why=why)
        (left_out if why else shown).append(line)
    return tuple(shown), tuple(left_out)


BEHAVIORAL_KINDS = tuple(sorted(BEHAVIORAL))


def heading_level(line: ContextLine) -> int:
    """The level of a line that is a heading; 0 for any other."""
    told = line.is_heading or not line.record_id
    heading = HEADING.match(line.text) if told else None
    return len(heading[0]) if heading else 0


def tidy(found: Sequence[ContextLine]) -> Iterator[ContextLine]:
    """Lines for a context with headings of its own: no blank ones, headings two levels down."""
    return (deeper(line) for line in found if line.text.strip())


def deeper(line: ContextLine) -> ContextLine:
    """A line, two levels further down if it is a heading."""
    level = heading_level(line)
    return replace(line, text="#" * min(6, level + 2) + line.text[level:]) if level else line


def relevant_hits(state: State) -> list[Hit]:
    """The memories to show with the message; none when it is about nothing that is kept."""
    question = question_in(state.message, state.library.rarity)
    telling = [word for word in words_of(question.text) if word not in SMALL_TALK][:MOST_WORDS]
    if not telling or state.find is None:
        return []
    hits = state.find(state.message, MOST_RELEVANT)
    if not hits:
        return []
    rarity = state.library.rarity(telling)
    # What the session knows already counts half: a question that comes again wants something else.
    best = max(hit.score * (KNOWN if hit.record.id in state.told else 1.0) for hit in hits)
    return [hit for hit in hits if _fits(hit, rarity, best)]


def _fits(hit: Hit, rarity: Mapping[str, float], best: float) -> bool:
    share = _share(hit, rarity)
    if not share:
        return hit.score >= max(LEAST_ALIKE, best * BEST_BY_LIKENESS)
    return hit.score >= best * NEAR_BEST and (share >= LEAST_SHARE or hit.score >= LEAST_SCORE)


def _share(hit: Hit, rarity: Mapping[str, float]) -> float:
    """The share of the message's subject that the memory covers."""
    record = hit.record
    has = {stem(word) for word in words_of(f"{record.text} {' '.join(record.tags)}")}
    found = sum(weight for word, weight in rarity.items() if stem(word) in has)
    return found / (sum(rarity.values()) or 1.0)


def stem(word: str) -> str:
    """An English word without its ending, so that `tests` and `testing` are one."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            return word[:-1] if len(word) > 3 and word[-1] == word[-2] != "s" else word
    return word
