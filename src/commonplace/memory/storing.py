"""Store memories: admit, quote, hold, write and trim."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.library import quoting
from commonplace.memory import session, upkeep, validity
from commonplace.model import limits
from commonplace.model.errors import HeldForReview, Refused
from commonplace.model.lazy import Lazy
from commonplace.model.records import CHECKPOINT, COMPACTION, Author, Origin, Record
from commonplace.search.index import Query
from commonplace.trust import admission, permission

if TYPE_CHECKING:
    from commonplace.library import revising
    from commonplace.memory import Memory, citing
    from commonplace.upkeep import window
else:
    citing = Lazy("memory.citing")
    revising = Lazy("library.revising")
    window = Lazy("upkeep.window")


class Remembered(Struct, frozen=True):
    """A memory that was stored, or was there already."""

    record: Record
    new: bool
    waits: str = ""
    """The id of the agent's wording, where the record is in the user's words and that waits."""


class _Stored(Struct, frozen=True):
    """What became of memories that were given: now there, or waiting for a person."""

    stored: tuple[Record, ...]
    waiting: list[Record]
    new: frozenset[str]
    """The ids of records that were not there before, if they are among those stored."""
    wordings: Mapping[str, str] = field(default_factory=dict)
    """Of records in the user's words, the ids of the agents' wordings that wait."""


class _Judged(Struct):
    """Memories by what is to become of them."""

    ready: list[Record] = field(default_factory=list)
    """Those to be stored."""
    there: list[Record] = field(default_factory=list)
    """Records that said the same before."""
    waiting: list[Record] = field(default_factory=list)
    wordings: dict[str, Record] = field(default_factory=dict)
    """The agents' wordings, by the ids of the records in the user's words."""


def remember(memory: Memory, text: str, *, kind: str = "note", **rest: Any) -> Remembered:
    done = _store_all(memory, [{"text": text, "kind": kind, **rest}])
    if done.waiting:
        day = memory.library.approvals.forgotten_days().get(done.waiting[0].id, "")
        raise HeldForReview(done.waiting[0].id, forgotten=day)
    if not done.stored:
        raise Refused("This text was forgotten.", next_step="Only its owner brings it back.")
    [record] = done.stored
    return Remembered(record, new=record.id in done.new, waits=done.wordings.get(record.id, ""))


def store_all(
    memory: Memory, memories: Iterable[Mapping[str, Any]], *, of_the_day: bool = False
) -> tuple[Record, ...]:
    return _store_all(memory, memories, of_the_day=of_the_day).stored


def _store_all(
    memory: Memory, memories: Iterable[Mapping[str, Any]], *, of_the_day: bool = False
) -> _Stored:
    """Store several memories as one change. Returns what was stored, and what waits."""
    memories = list(memories)
    if any(each.get("supersedes") for each in memories):
        # What is replaced must still be there when what replaces it is written.
        return memory.library.locked(lambda: _stored(memory, memories, of_the_day=of_the_day))
    return _stored(memory, memories, of_the_day=of_the_day)


def _stored(memory: Memory, memories: Sequence[Mapping[str, Any]], *, of_the_day: bool) -> _Stored:
    author = memory.author
    named = [each["id"] for each in memories if each.get("id")]
    # Elsewhere everything that is told is written: there a document is a log.
    once = memory.layout.name == "native" and not of_the_day and not named
    judged = _judged(memory, memories, author, once=once)
    if not judged.ready:
        return _Stored(tuple(judged.there), judged.waiting, frozenset())
    stored, back = memory.library.store.admit(
        judged.ready,
        to=lambda record: targets(memory, record, of_the_day=of_the_day),
        author=author,
        named=named,
        once=once,
    )
    trim(memory)
    if memory.options.memory_compaction_enabled and not any(r.is_checkpoint for r in stored):
        upkeep.compact_in_background(memory)
    kept = [record for record in judged.ready if record not in back]
    return _Stored(
        (*judged.there, *stored),
        [*judged.waiting, *back],
        frozenset(record.id for record in (judged.ready if once else stored)),
        {
            now.id: _hold_wording(memory, now, judged.wordings[told.id], author).id
            for told, now in zip(kept, stored)
            if told.id in judged.wordings
        },
    )


def _judged(
    memory: Memory, memories: Sequence[Mapping[str, Any]], author: Author, *, once: bool
) -> _Judged:
    """Make the records of memories, and hold those that wait whole."""
    quotes: dict[str, str] = {}
    records: list[Record] = []
    for each in memories:
        record = record_of(memory, author, **{name: each[name] for name in each if name != "quote"})
        quotes[record.id] = each.get("quote") or ""
        records.append(record)
    if memory.origin == Origin.IMPORT:
        given, tombstones = records, memory.library.tombstones
        records = memory.library.locked(lambda: tombstones.without_forgotten(given))
    judged = _Judged()
    for record in records:
        grounds = _grounds(memory, record, quotes[record.id])
        if grounds.told:
            judged.ready.append(grounds.told)
            if grounds.held:
                judged.wordings[grounds.told.id] = grounds.held
        elif grounds.held and once and (old := memory.library.store.already(record)):
            judged.there.append(old)
        elif grounds.held:
            judged.waiting.append(memory.library.hold(grounds.held, author=author))
    return judged


def _grounds(memory: Memory, record: Record, quote: str) -> quoting.Grounds:
    """Whether a memory is told as it is, in the user's words, or waits whole."""
    limits.check_type(quote, str, "quote")
    if not admission.must_wait(record, memory.options.trust):
        return quoting.Grounds(_cited(memory, record, quote, quoting.inferred))
    if memory.options.trust != "quotes" or memory.origin != Origin.AGENT:
        return quoting.Grounds(held=_cited(memory, record, quote, lambda record: record))
    said = quoting.said_by(memory.user_messages())
    return quoting.grounds(record, said, quote, alike_words(memory), new_id=memory.clock.new_id)


def _cited(
    memory: Memory, record: Record, quote: str, otherwise: Callable[[Record], Record]
) -> Record:
    """A rule with the user's sentence that it rests on: the quoted one, or else a near one."""
    if not quote and not (record.behavioral and memory.origin == Origin.AGENT):
        return record
    said = quoting.said_by(memory.user_messages())
    if quote:
        return quoting.cited(record, quoting.checked(said, quote))
    return (quoting.cited_if_said(record, said) or otherwise(record)) if said else record


def alike_words(memory: Memory) -> Callable[[str, str], float]:
    """How near two words lie, by the encoder that comes with the package."""
    from commonplace.search.encoders import nearness
    from commonplace.search.encoders.static import StaticEncoder

    return nearness(StaticEncoder())


def _hold_wording(memory: Memory, told: Record, wording: Record, author: Author) -> Record:
    """Let the agent's wording wait, to replace the sentence when a person approves it."""
    held = replace(wording, supersedes=wording.supersedes or told.id)
    same = (
        each
        for each in memory.library.approvals.held()
        if (each.text, each.supersedes) == (held.text, held.supersedes)
    )
    return next(same, None) or memory.library.hold(held, author=author)


def revise(
    memory: Memory,
    record_id: str,
    *,
    text: str,
    kind: str,
    tags: Sequence[str],
    when: Sequence[str] | None = None,
    must: bool | None = None,
    mark: str = "",
    valid_from: str = "",
    valid_to: str = "",
) -> revising.Revised:
    def change(record: Record) -> Record:
        revising.unchanged(record, mark)
        record = validity.redated(record, valid_from, valid_to, memory.clock)
        moments = record.when if when is None else when
        denies = bool(record.must and moments) if must is None else must
        return _revised(memory, record, text=text, kind=kind, tags=tags, when=moments, must=denies)

    return _revise(memory, [record_id], change)


def revise_all(
    memory: Memory,
    record_ids: Sequence[str],
    *,
    kind: str,
    add_tags: Sequence[str],
    remove_tags: Sequence[str],
) -> revising.Revised:
    def change(record: Record) -> Record:
        kept = [tag for tag in record.tags if tag not in remove_tags]
        tags = dict.fromkeys((*kept, *add_tags))
        return _revised(
            memory,
            record,
            text=record.text,
            kind=kind or record.kind,
            tags=tuple(tags),
            when=record.when,
            must=bool(record.must),
        )

    return _revise(memory, record_ids, change)


def _revise(
    memory: Memory, record_ids: Sequence[str], change: Callable[[Record], Record]
) -> revising.Revised:
    permission.check_revises(memory.author.origin)
    found = [permission.check_record(memory.get(key)).id for key in record_ids]
    done = revising.revise(memory.library, dict.fromkeys(found, change), author=memory.author)
    trim(memory)
    return done


def _revised(
    memory: Memory,
    record: Record,
    *,
    text: str,
    kind: str,
    tags: Sequence[str],
    when: Sequence[str],
    must: bool,
) -> Record:
    """A record with other words. New words are their writer's, and rest on no message.

    What its owner lets deny a call is the owner's from then on.
    """
    given: dict[str, Any] = {
        "text": text,
        "kind": kind,
        "tags": tags,
        "sensitivity": record.sensitivity,
    }
    is_rule_changed = (tuple(when), must) != (record.when, bool(record.must))
    rule: dict[str, Any] = {"when": when, "must": must} if is_rule_changed else {}
    new = record_of(memory, memory.author, **given, **rule)
    record = replace(record, kind=new.kind, tags=new.tags)
    if rule:
        record = replace(record, when=new.when, must=new.must and (record.must or new.must))
        record = replace(record, origin=new.origin) if must else record
    if new.text == record.text:
        return record
    own = replace(record, text=new.text, origin=new.origin, evidence=(), found_by=())
    return replace(own, useful=(), wrong=())


def trim(memory: Memory) -> tuple[str, ...]:
    options = memory.options
    if not (options.memory_max_records or options.memory_max_chars):
        return ()
    limited = window.window_of(memory.layout, options)
    return window.trim(memory.library, limited) if limited else ()


def checkpoint(memory: Memory) -> Record:
    memory.library.refresh()
    wanted = Query(session=memory.session, include_passages=False)
    count = memory.library.count(wanted) if memory.session else 0
    text = f"{CHECKPOINT} {count} records of this session so far."
    done = _store_all(memory, [{"text": text, "kind": COMPACTION}], of_the_day=True)
    return (*done.stored, *done.waiting)[0]


def store_summary(memory: Memory, text: str) -> tuple[Record, ...]:
    parts = limits.parts(text, limit=memory.options.text_limit)
    kept = [{"text": part, "kind": COMPACTION, "tags": ("summary",)} for part in parts]
    return memory.store_all(kept, of_the_day=True)


def targets(memory: Memory, record: Record, *, of_the_day: bool = False) -> list[str]:
    """The documents that a record goes into that is stored now."""
    now = memory.clock.now()
    day = now.date() if memory.layout.utc_days else memory.clock.local_day(now)
    names = {
        "memory": memory.layout.memory,
        "daily": memory.layout.daily_document(day),
        "archive": memory.layout.archive,
    }
    roles = memory.layout.logs if of_the_day else memory.layout.roles(record.kind)
    return [names[role] for role in roles]


def record_of(memory: Memory, author: Author, *, group: str = "", **given: Any) -> Record:
    if given.get("supersedes"):
        given["supersedes"] = session.meant(memory, given["supersedes"], argument="supersedes")
    given = validity.spelled_out(given, memory.clock)
    evidence = given.pop("evidence", ())
    record = admission.admitted(
        memory.clock,
        memory.options,
        session=memory.session,
        group=group or memory.group,
        origin=author.origin,
        **given,
    )
    if record.supersedes:
        permission.check_replaces(record, memory.library.get(record.supersedes))
    return replace(record, citations=citing.made(memory, evidence)) if evidence else record


def supersede(memory: Memory, record_id: str, text: str, **rest: Any) -> Record:
    old = permission.check_record(memory.get(record_id))
    given = {"kind": old.kind, "tags": old.tags, "when": old.when, **rest}
    if old.must and given["when"] and memory.author.origin == Origin.OWNER:
        given.setdefault("must", True)
    return memory.store(text, supersedes=record_id, **given)
