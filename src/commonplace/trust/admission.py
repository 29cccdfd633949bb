"""Admission: a memory as it was given becomes a record that may be stored, or an error.

Every value is held against its limits and every text is looked through for secrets. It does not
know the vault: whether what is to be replaced is there, others look.
"""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.model import limits
from commonplace.model.clock import Clock, from_ns, stamp
from commonplace.model.errors import SecretFound
from commonplace.model.options import Options
from commonplace.model.records import PLAIN, Origin, Record
from commonplace.trust.neutralise import neutralise
from commonplace.trust.origins import Trust, needs_review, trust_of
from commonplace.trust.secrets import Secret, find_secrets, redact


def admitted(
    clock: Clock,
    options: Options,
    *,
    session: str,
    group: str,
    origin: str,
    text: str,
    kind: str = "note",
    tags: Sequence[str] = (),
    supersedes: str = "",
    username: str = "",
    channel: str = "",
    confidence: float = 1.0,
    sensitivity: str = "personal",
    valid_from: str = "",
    valid_to: str = "",
    sources: Sequence[str] = (),
    when: Sequence[str] = (),
    must: bool = False,
    id: str = "",
    timestamp: str = "",
) -> Record:
    """The record of one memory, new from now on; or of that id and time, where they are given."""
    text = limits.check_text(text, limit=options.text_limit)
    when = _checked_when(when, must=must, origin=origin) if when or must else ()
    words = (
        limits.check_word(group, argument="group"),
        limits.check_word(channel, argument="channel"),
        limits.check_word(username, argument="username"),
        *limits.check_tags(tags, options=options),
    )
    if sensitivity != "secret":
        text, words = without_secrets(text, options), _clean_words(words, options)
        when = _clean_words(tuple(when), options)
    group, channel, username, *tagged = words
    now = clock.now_ns()
    return Record(
        id=limits.check_id(id) if id else clock.new_id(now),
        kind=limits.check_kind(kind),
        text=text,
        timestamp=limits.check_time(timestamp, "timestamp", zone=clock.zone) or stamp(from_ns(now)),
        tags=tuple(dict.fromkeys(tagged)),
        supersedes=limits.check_id(supersedes, argument="supersedes") if supersedes else "",
        session=session,
        group=group,
        channel=channel,
        username=username,
        confidence=limits.check_confidence(confidence),
        sensitivity=limits.check_sensitivity(sensitivity),
        origin=origin,
        valid_from=limits.check_time(valid_from, "valid_from", zone=clock.zone),
        valid_to=limits.check_time(valid_to, "valid_to", zone=clock.zone, last=True),
        sources=tuple(limits.check_id(key, argument="sources") for key in sources),
        when=tuple(when),
        must=stamp(from_ns(now)) if must else "",
    )


def _checked_when(when: Sequence[str], *, must: bool, origin: str) -> tuple[str, ...]:
    """The moments of a rule, if its writer may give it these."""
    from commonplace.model.moments import check_moments
    from commonplace.trust.permission import check_must

    if must:
        check_must(origin, when)
    return check_moments(when)


def without_secrets(text: str, options: Options) -> str:
    """The text as it may be journalled: secrets redacted, refused or let through."""
    clean, found = redacted(text, options)
    if found and options.secrets == "refuse":
        raise SecretFound(sorted({secret.name for secret in found}))
    return clean


def redacted(text: str, options: Options) -> tuple[str, tuple[Secret, ...]]:
    """The text with its secrets redacted, and what they were; none where the vault allows them."""
    if options.secrets == "allow":
        return text, ()
    found = _secrets_in(text)
    if not found:
        return text, ()
    clean, left = redact(text)
    if left and not find_secrets(neutralise(clean)):
        return clean, found
    return redact(neutralise(text))[0], found


def _secrets_in(text: str) -> tuple[Secret, ...]:
    plain = neutralise(text)
    return find_secrets(text) or (find_secrets(plain) if plain is not text else ())


def _clean_words(words: tuple[str, ...], options: Options) -> tuple[str, ...]:
    """Each word without its secrets; one look tells that there are none, as nearly always."""
    said = "\n".join(filter(None, words))
    if not said or options.secrets == "allow" or not _secrets_in(said):
        return words
    return tuple(without_secrets(word, options) for word in words)


def must_wait(record: Record, trust: str) -> bool:
    """Whether a person has to approve it first; `trust` is the option of that name.

    Of untrusted text also what is of a kind that nobody knows: its name may be an order.
    """
    if trust == "hold" and record.behavioral:
        return record.origin != Origin.OWNER
    strange = trust_of(record.origin) == Trust.NONE and record.kind not in PLAIN
    rules = record.behavioral or strange
    return needs_review(behavioral=rules, origin=record.origin, tainted=False)
