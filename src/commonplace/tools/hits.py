"""What was found, as plain data for programs and as lines for people and agents.

It does not know how anything is found: hits bring their reasons along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.model.records import MESSAGE, PASSAGE, Hit, Origin, Record, SearchResult
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import FRAMING, SUGGESTIONS, one_line
from commonplace.trust.origins import Trust, trust_of

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.memory.finding import Gathered
    from commonplace.model.clock import Clock

BESIDE = 200
"""Characters of a neighbour that a hit shows."""
FEW = 5
"""Hits that are told of those that are all weak: more would fill a context with guesses."""
SAID_MOST = 4000
"""Characters of one message that are shown: a pasted log would fill a context."""
MOST_VERDICTS = 5
"""As `library.verdicts` keeps: importing that here would cost every search."""
FURTHER = "To look further: other words, past conversations too, or also what was replaced."

Replaced = Mapping[str, tuple[str, ...]]
"""The ids of hits that are no longer current, each with what took its place."""


def described(record: Record) -> dict[str, object]:
    """A record as plain data."""
    data = {"id": record.id, "kind": record.kind, "text": record.text, **record.data()}
    return data | {"behavioral": record.behavioral}


def standing(record: Record) -> list[str]:
    """What people and agents said of a record: that it is pinned, how often useful, or wrong."""
    said = {"useful": len(record.useful), "wrong": len(record.wrong)}
    told = [f"{verdict} {times(count)}" for verdict, count in said.items() if count]
    return (["pinned"] if record.pinned else []) + told


def times(count: int) -> str:
    """How often something was said; a line keeps the newest few only."""
    if count >= MOST_VERDICTS:
        return f"{count} times or more"
    return "once" if count == 1 else f"{count} times"


def said_of_moments(data: Mapping[str, Any]) -> str:
    """At which moments alone a record is told, and whether it denies; empty for any time."""
    when = data.get("when") or ()
    if not when:
        return ""
    # Most answers need it not.
    from commonplace.model.moments import unknown_tools

    told = f"Told only at: {'; '.join(when)}."
    denies = "It denies the first such call." if data.get("must") else ""
    return " ".join(filter(None, (told, denies, unknown_tools(when))))


def said_of_time(data: Mapping[str, Any]) -> str:
    """That a record is over already; empty for one that is not."""
    return "It is over already: no search and no prompt has it." if data.get("over") else ""


def found(hit: Hit, replaced: Replaced | None = None) -> dict[str, object]:
    """A hit as plain data: the record, how well it fits, where it stands and what is beside it."""
    places = [f"{place.document}:{place.line}" for place in hit.places]
    data = described(hit.record) | {"score": round(hit.score, 4), "places": places}
    if _is_said(hit):
        data["text"] = shortened(hit.record.text)
    if hit.is_weak:
        data["weak"] = True
    if hit.reasons:
        data["reasons"] = list(hit.reasons)
    if hit.stale:
        data["stale"] = hit.stale
    if hit.beside:
        data["beside"] = [
            {"id": each.id, "username": each.username, "text": one_line(each.text)[:BESIDE]}
            for each in hit.beside
        ]
    if hit.why:
        data["why"] = {name: round(part, 2) for name, part in hit.why}
    if replaced and hit.record.id in replaced:
        data["superseded_by"] = list(replaced[hit.record.id])
    return data


def replaced_among(memory: Memory, hits: Sequence[Hit]) -> Replaced:
    """The hits that are no longer current, each with what took its place."""
    chains = memory.library.chains
    replaced = chains.replaced(hit.record.id for hit in hits)
    records = [hit.record for hit in hits if hit.record.id in replaced]
    return {record.id: chains.successors(record) for record in records}


def answer(memory: Memory, hits: SearchResult, replaced: Replaced) -> Answer:
    """The hits of a search, best first."""
    data = {
        "hits": [found(hit, replaced) for hit in hits],
        "weak": hits.is_weak,
        "nearest": [found(hit, replaced) for hit in hits.nearest],
        **_how(hits),
    }
    return Answer(data, "\n".join(_lines(memory, hits, replaced)))


def _lines(memory: Memory, hits: SearchResult, replaced: Replaced) -> list[str]:
    shown = [*(hits[:FEW] if hits.is_weak else hits), *hits.nearest]
    lines = _framed(memory, shown, [_told(hit, memory.clock, replaced) for hit in shown])
    lines = judged(lines or ["Nothing found."], verdict(hits))
    return [*lines, *notes(hits)]


def _how(hits: SearchResult) -> dict[str, object]:
    return {"mode": hits.mode, "degraded": hits.degraded, "readings": hits.readings}


def notes(hits: SearchResult) -> list[str]:
    """How a question was read, and what its answer lacks, as lines."""
    read = ", ".join(f"“{word}” read as “{meant}”" for word, meant in hits.readings.items())
    return [f"({one_line(said)})" for said in (read, hits.degraded) if said]


def verdict(hits: SearchResult) -> str:
    """What is said of hits that are probably no answer."""
    if hits.nearest:
        return "Nothing found. The nearest, which are probably no answer:"
    return "Weak: perhaps none of these is an answer." if hits.is_weak else ""


def judged(lines: list[str], verdict: str) -> list[str]:
    """The lines below a verdict, with how to go on from there."""
    return [verdict, *lines, FURTHER] if verdict else lines


def answer_gathered(memory: Memory, gathered: Gathered) -> Answer:
    """Everything about something, in its groups, with how many there are."""
    data = {
        "hits": [found(hit) | {"group": name} for name, hit in gathered.in_order()],
        "about": gathered.text,
        "count": gathered.count,
        "more": gathered.more,
        "groups": {name: len(hits) for name, hits in gathered.groups.items()},
        "weak": gathered.found.is_weak,
        "nearest": [found(hit) for hit in gathered.found.nearest],
        **_how(gathered.found),
    }
    if not gathered.count:
        return Answer(data, "\n".join(_lines(memory, gathered.found, {})))
    return Answer(data, "\n".join([*_in_groups(memory, gathered), *notes(gathered.found)]))


def _in_groups(memory: Memory, gathered: Gathered) -> list[str]:
    counted = "1 memory" if gathered.count == 1 else f"{gathered.count} memories"
    lines = [f"{counted} may be about “{one_line(gathered.text)}”, the newest of each kind first:"]
    for name, hits in gathered.groups.items():
        told = [line(hit.record, memory.clock, hit) for hit in hits]
        lines += ["", f"{name} ({len(hits)})", *told]
    if gathered.more:
        lines += ["", f"+{gathered.more} more: narrow it by kind, tags or days to see them."]
    framed = _framed(memory, [hit for _, hit in gathered.in_order()], lines)
    return judged(framed, verdict(gathered.found))


def _framed(memory: Memory, hits: Sequence[Hit], lines: list[str]) -> list[str]:
    """The lines under what has to be known of those that tell an agent how to behave."""
    if any(map(_is_said, hits)):
        return [FRAMING, *lines]
    if memory.origin != Origin.OWNER and any(needs_frame(hit.record) for hit in hits):
        return [SUGGESTIONS, *lines]
    return lines


def needs_frame(record: Record) -> bool:
    """Whether it has to be told as a suggestion: a rule that is not the user's, or untrusted."""
    learned = record.behavioral and record.origin != Origin.OWNER
    return learned or trust_of(record.origin) == Trust.NONE


def _told(hit: Hit, clock: Clock, replaced: Replaced) -> str:
    by = replaced.get(hit.record.id)
    fate = f", replaced by {', '.join(by)}" if by else ""
    numbers = f"\n    {in_numbers(found(hit))}" if hit.why else ""
    if hit.why and (said := standing(hit.record)):
        numbers += f"; {', '.join(said)}"
    return line(hit.record, clock, hit) + fate + because(hit) + numbers


def because(hit: Hit) -> str:
    """Why it was found, on a line of its own."""
    return "\n    " + "; ".join(hit.reasons) if hit.reasons else ""


def in_numbers(data: Mapping[str, Any]) -> str:
    """The score of a hit and what each signal gave to its rank, of its plain data."""
    from commonplace.search.reasons import label

    parts = ", ".join(f"{label(name)} {part:+.2f}" for name, part in data["why"].items())
    return f"{data['score']:.2f}: {parts}"


def line(record: Record, clock: Clock, hit: Hit | None = None, *, stale: str = "") -> str:
    """One record on one line: day, kind, text, and how to point at it.

    `stale` is what became of a file that it rests on, where the hit does not say that.
    """
    if hit and _is_said(hit):
        said = f"{record.timestamp[:16]} {record.username} in {record.session or 'no session'}"
        return one_line(f"- {said}: {shortened(record.text)} [{record.id}]")
    day = clock.day_of(record.said_at) or "undated"
    place = hit.places[0] if hit and hit.places else None
    named = "" if record.kind == PASSAGE else f" [{record.id}]"
    where = f" ({place.document}:{place.line})" if place else ""
    pinned = ", pinned" if record.pinned else ""
    stale = (hit.stale if hit else "") or stale
    stale = f" ({stale})" if stale else ""
    return one_line(f"- {day} {record.kind}{pinned}{record.told_text}{stale}{named}{where}")


def _is_said(hit: Hit) -> bool:
    """Whether it is a message; a record may be of that kind too, but stands somewhere."""
    return hit.record.kind == MESSAGE and not hit.places


def shortened(text: str) -> str:
    """As much of a message as fits a context."""
    return text if len(text) <= SAID_MOST else text[:SAID_MOST] + "…"
