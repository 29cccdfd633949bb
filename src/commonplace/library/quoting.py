"""Find the user's sentence that a memory rests on.

A rule from a session that has read untrusted text is stored in the user's own words. The agent's
wording waits for a person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from commonplace.history.messages import Message
from commonplace.model.errors import BadValue
from commonplace.model.records import BEHAVIORAL, INFERRED, Origin, Record
from commonplace.trust.evidence import (
    LONGEST,
    SHORTEST,
    Alike,
    Evidence,
    UserMessage,
    bare,
    found,
    quoted,
    search_words,
)
from commonplace.trust.neutralise import one_line

DEFAULT_KIND = "preference"
"""The kind of a sentence whose memory was of a kind of the agent's own."""
LATELY = 50
"""How many of the last messages are looked through for a sentence in a clean session."""


class Grounds(Struct, frozen=True):
    """What becomes of one memory: the sentence that is told, and the wording that waits."""

    told: Record | None = None
    held: Record | None = None


def said_by(messages: Iterable[Message]) -> list[UserMessage]:
    """The user's messages, as evidence is looked for in them."""
    return [UserMessage(each.id, each.time, each.content) for each in messages]


def evidence_of(
    said: Sequence[UserMessage], text: str, quote: str, alike: Alike
) -> Evidence | None:
    """The sentence that a memory rests on: the one that is quoted, or else the nearest."""
    if quote:
        return checked(said, quote)
    return next(iter(found(said, text, alike)), None)


def checked(said: Sequence[UserMessage], quote: str) -> Evidence:
    """The sentence that a quote stands in; fails where it stands in none."""
    if not SHORTEST <= len(quote.strip()) <= LONGEST:
        raise BadValue(
            "quote",
            f"it has {len(quote.strip())} characters",
            next_step=f"Quote {SHORTEST} to {LONGEST} characters of the user's message.",
        )
    evidence = quoted(said, quote)
    if evidence is None:
        raise BadValue(
            "quote",
            "it stands in no message that the user typed in this session",
            next_step="Copy the user's words exactly, not from a pasted text, or leave quote out.",
        )
    return evidence


def grounds(
    record: Record,
    said: Sequence[UserMessage],
    quote: str,
    alike: Alike,
    *,
    new_id: Callable[[], str],
) -> Grounds:
    """The record in the user's words, where a sentence is near, and the wording that waits."""
    evidence = evidence_of(said, record.text, quote, alike)
    if evidence is None:
        return Grounds(held=record)
    told = in_users_words(record, evidence)
    if bare(record.text) == bare(told.text) and not record.supersedes:
        return Grounds(told)
    return Grounds(told, cited(replace(record, id=new_id()), evidence))


def in_users_words(record: Record, evidence: Evidence) -> Record:
    """A record that says the sentence, and nothing else that the user did not say in it."""
    typed = f" {bare(evidence.sentence)} "
    return Record(
        id=record.id,
        kind=record.kind if record.kind in BEHAVIORAL else DEFAULT_KIND,
        text=one_line(evidence.sentence),
        timestamp=record.timestamp,
        tags=tuple(tag for tag in record.tags if f" {bare(tag)} " in typed and bare(tag)),
        session=_id_like(record.session),
        group=_id_like(record.group),
        sensitivity=record.sensitivity,
        origin=Origin.AGENT,
        evidence=(evidence.message, evidence.time),
        found_by=search_words(record.text, evidence.sentence),
        when=_typed_moments(record.when, typed) if record.when else (),
    )


def _typed_moments(when: Sequence[str], typed: str) -> tuple[str, ...]:
    """The moments that the user named: at any other the sentence would be kept back."""
    from commonplace.model.moments import moments

    return tuple(str(it) for it in moments(when) if f" {bare(it.literal)} " in typed)


def _id_like(name: str) -> str:
    """The name of a session or a group; one that could be a sentence is left out."""
    return "" if any(map(str.isspace, name)) else name


def cited(record: Record, evidence: Evidence) -> Record:
    """A record in the agent's wording that cites the user's sentence."""
    return replace(record, evidence=(evidence.message, evidence.time, evidence.sentence))


def cited_if_said(record: Record, said: Sequence[UserMessage]) -> Record | None:
    """The same, where a sentence has the words of the record; without their likeness, so that who
    stores in a session that has read nothing untrusted does not wait.
    """
    near = found(said[-LATELY:], record.text, lambda one, other: 0.0)
    return cited(record, near[0]) if near and near[0].score > 0 else None


def inferred(record: Record) -> Record:
    """A record that rests on nothing which the user said."""
    return replace(record, evidence=INFERRED)


def of_lines(added: Iterable[str], said: Sequence[UserMessage], alike: Alike) -> list[Evidence]:
    """The sentences that lines for a document rest on, each once."""
    near = (evidence_of(said, line, "", alike) for line in added if any(map(str.isalnum, line)))
    return list({each.sentence: each for each in near if each}.values())
