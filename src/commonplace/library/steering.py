"""Let changes of the documents that prompts are made of wait for a person.

The sentences among them that the user said are written at once, in the user's words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from commonplace.library import quoting
from commonplace.library.library import Library
from commonplace.library.rewriting import Rewording, Rewrite, rewrite
from commonplace.markdown import documents, merge
from commonplace.model.clock import Clock
from commonplace.model.errors import WouldLose
from commonplace.model.records import Author, Origin, Record
from commonplace.trust.evidence import Alike, Evidence, UserMessage
from commonplace.trust.neutralise import one_line

DOCUMENT = "document"
"""The kind of a held text that is meant for a document."""


class Change(Struct, frozen=True):
    """What a document is to say: a text, and whether it is added, sets a section or is all."""

    content: str
    mode: str
    section: str = ""
    etag: str = ""


class Waiting(Struct, frozen=True):
    """A change that waits, and the sentences of the user's that were written meanwhile."""

    id: str
    told: str = ""


def let_wait(
    library: Library,
    name: str,
    change: Change,
    *,
    author: Author,
    said: Sequence[UserMessage],
    alike: Alike,
) -> Waiting:
    """Hold a change; write down what of its new lines the user said in a message."""

    def work() -> Waiting:
        before, etag = library.text(name) if library.vault.stat(name) else ("", "")
        there = set(before.splitlines())
        added = [line for line in change.content.splitlines() if line not in there]
        rests_on = quoting.of_lines(added, said, alike)
        told = [_line(each, library.clock) for each in rests_on]
        fresh = [line for line in told if line not in there]
        held = {
            "document": name,
            "mode": change.mode,
            "section": change.section,
            "etag": change.etag or etag,
            "told": "\n".join(fresh),
        }
        record = _record(library.clock, change, author, rests_on)
        library.hold(record, author=author, change=held)
        if fresh:
            whose = replace(author, origin=Origin.AGENT)
            library.documents.append_text(name, "\n".join(fresh), author=whose)
        return Waiting(record.id, one_line(" ".join(line.removeprefix("- ") for line in told)))

    return library.locked(work)


def _line(evidence: Evidence, clock: Clock) -> str:
    return f"- “{one_line(evidence.sentence)}” (the user, {clock.day_of(evidence.time)})"


def _record(
    clock: Clock, change: Change, author: Author, rests_on: Sequence[Evidence] = ()
) -> Record:
    """The change as it waits, with all the sentences that are told, of the first message."""
    said = " ".join(each.sentence for each in rests_on)
    return Record(
        id=clock.new_id(),
        kind=DOCUMENT,
        text=change.content,
        timestamp=clock.stamp(),
        session=author.session,
        origin=author.origin,
        evidence=(rests_on[0].message, rests_on[0].time, said) if rests_on else (),
    )


def approve(library: Library, key: str, held: Mapping[str, str], *, author: Author) -> Record:
    """Make a change that waited, in place of what was written of it in the user's words."""

    def work() -> Record:
        record = library.approvals.one_held(key)
        name = held["document"]
        if held["told"] and library.vault.stat(name):
            _rewrite(library, Rewrite(name, _without(held["told"]), _owner(author), afresh=True))
        wanted = _wanted(library, record, held, _owner(author))
        _rewrite(library, wanted)
        library.approved(key, author=author)
        return record

    return library.locked(work)


def _owner(author: Author) -> Author:
    return replace(author, origin=Origin.OWNER)


def _rewrite(library: Library, wanted: Rewrite) -> None:
    """Write what a person has seen and approved, whatever goes by it."""
    try:
        rewrite(library, wanted)
    except WouldLose as loss:
        rewrite(library, replace(wanted, confirm=loss.token))


def _wanted(library: Library, record: Record, held: Mapping[str, str], author: Author) -> Rewrite:
    name, etag = held["document"], held["etag"]
    if held["mode"] == "append" or held["section"]:
        return Rewrite(name, _added(library, record.text, held), author, afresh=True)
    known = (
        etag and library.vault.stat(name) and library.documents.text_marked(name, etag) is not None
    )
    return Rewrite(name, record.text, author, etag=etag if known else "")


def _added(library: Library, content: str, held: Mapping[str, str]) -> Rewording:
    content = documents.disarm(content, keep=())

    def changed(text: str) -> str:
        if held["section"]:
            append = held["mode"] == "append"
            change = documents.append_to_section if append else documents.replace_section
            return change(text, held["section"], content, day=library.clock.today())
        guard = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{guard}{content.rstrip()}\n"

    return changed


def _without(told: str) -> Rewording:
    gone = set(told.splitlines())
    return lambda text: "".join(
        line for line in text.splitlines(keepends=True) if line.rstrip("\r\n") not in gone
    )


def foreseen(library: Library, record: Record, held: Mapping[str, str]) -> str:
    """What an approval would change, as a difference."""
    name = held["document"]
    now = library.text(name)[0] if library.vault.stat(name) else ""
    before = _without(held["told"])(now)
    wanted = _wanted(library, record, held, Author(Origin.OWNER))
    after = wanted.change if isinstance(wanted.change, str) else wanted.change(before)
    return merge.diff(now, after)
