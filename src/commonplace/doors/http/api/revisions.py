"""Changes of records over HTTP: edit them in place, take them out, bring them back; versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from commonplace.doors.http import event_stream
from commonplace.doors.http.api import activity
from commonplace.doors.http.api.records import (
    Begins,
    Ends,
    Evidence,
    may_see,
    redacted,
    seen_removed,
    shown_hit,
    shown_record,
)
from commonplace.doors.http.routes import Id, Limit, Offset, Reply, route
from commonplace.library.record_past import RecordVersion, Removed
from commonplace.library.revising import Revised, mark_of
from commonplace.memory import Memory
from commonplace.model.errors import NoSuchRecord
from commonplace.model.limits import MOST_LISTED
from commonplace.storage.journal import Op
from commonplace.tools.cited import data_of
from commonplace.tools.tool import Argument

Ids = Annotated[list[str], Argument("the ids of records", max_items=MOST_LISTED)]
SHOWN_OF_VERSIONS = (
    *("text", "kind", "tags", "when", "must", "pinned", "citations", "useful", "wrong"),
    *("valid_from", "valid_to", "seen", "sensitivity"),
)
"""What a version tells of its record: what a person may have changed."""

Moments = Annotated[list[str], Argument("the moments at which it is told", max_items=10)]
Denies = Annotated[bool, Argument("whether it denies the first such call of a session")]


@route("PUT", "/records/{id}", scope="write")
def edit_record(
    memory: Memory,
    id: Id,
    text: Annotated[str, Argument("what it is to say", max_length=20_000)],
    kind: Annotated[str, Argument("preference, fact, instruction …", max_length=50)],
    tags: Annotated[list[str], Argument("all of its tags", max_items=20)],
    etag: Annotated[str, Argument("of the record that was read", max_length=80)] = "",
    valid_from: Begins = "",
    valid_to: Ends = "",
    when: Moments = None,  # type: ignore[assignment]
    must: Denies = None,  # type: ignore[assignment]
) -> Any:
    """Change a memory where it stands, for its owner; it keeps its id. It can be undone.

    What is not sent stays as it is; a day of `never` takes it away.
    """
    done = memory.revise(
        _visible(memory, id),
        text=text,
        kind=kind,
        tags=tags,
        mark=etag,
        valid_from=valid_from,
        valid_to=valid_to,
        when=when,
        must=must,
    )
    hit = memory.get(done.records[0].id)
    told = shown_hit(hit) | redacted(memory, text, *tags) | {"change": _change(done)}
    return Reply(told, etag=mark_of(hit.record))


@route("POST", "/records/{id}/citations", scope="write")
def change_citations(
    memory: Memory,
    id: Id,
    do: Annotated[Literal["add", "renew", "drop"], Argument("what to do with what it cites")],
    evidence: Evidence = [],  # noqa: B006
) -> Any:
    """Let a memory rest on documents or files, on the same ones as they are now, or on none.

    To renew or to drop, name the places, or none for all. It can be undone.
    """
    key = _visible(memory, id)
    if do == "renew":
        done = memory.renew_citations(key, *evidence)
    elif do == "add":
        done = memory.cite(key, *evidence)
    else:
        done = memory.drop_citations(key, *evidence)
    record = memory.get(key).record
    return {
        "id": key,
        "cited": [data_of(each) for each in memory.standings(record)],
        "change": _change(done),
    }


@route("POST", "/records/change", scope="write")
def change_records(
    memory: Memory,
    ids: Ids,
    kind: Annotated[str, Argument("the kind of all of them; empty: as it is", max_length=50)] = "",
    add_tags: Annotated[list[str], Argument("tags for all of them", max_items=20)] = [],  # noqa: B006
    remove_tags: Annotated[list[str], Argument("tags to take off", max_items=20)] = [],  # noqa: B006
) -> Any:
    """Give memories another kind, and tags, in one change: all of them, or none."""
    for key in ids:
        _visible(memory, key)
    done = memory.revise_all(ids, kind=kind, add_tags=add_tags, remove_tags=remove_tags)
    return {"ids": [record.id for record in done.records], "change": _change(done)}


@route("POST", "/records/verdict", scope="write")
def judge_records(
    memory: Memory,
    ids: Ids,
    verdict: Annotated[Literal["useful", "wrong"], Argument("what is said of them")],
) -> Any:
    """Say of memories that they helped, or are wrong: one verdict a session and memory.

    Said again, it changes nothing. `change` is the position by which it is taken back.
    """
    return _noted(memory.judge(verdict, *(_visible(memory, key) for key in ids)))


@route("POST", "/records/pin", scope="write")
def pin_records(
    memory: Memory,
    ids: Ids,
    pinned: Annotated[bool, Argument("false takes the pin off")] = True,
) -> Any:
    """Let memories be told before all others, for their owner. It can be undone."""
    pin = memory.pin if pinned else memory.unpin
    return _noted(pin(*(_visible(memory, key) for key in ids)))


def _noted(done: Revised) -> dict[str, Any]:
    return {"records": [*map(shown_record, done.records)], "change": _change(done)}


def _change(done: Revised) -> int | None:
    return None if done.change < 0 else done.change


def _visible(memory: Memory, id: str) -> str:
    """The id of a record that this reader may see."""
    record = memory.get(id).record
    if not may_see(memory, record):
        raise NoSuchRecord(id)
    return record.id


@route("POST", "/records/remove", scope="write")
def remove_records(memory: Memory, ids: Ids) -> Any:
    """Take memories out of every document, in one change. It can be undone."""
    wanted = list(dict.fromkeys(_visible(memory, key) for key in ids))
    replaced = memory.strike(wanted) if wanted else ()
    return {
        "ids": wanted,
        "replaced": list(replaced),
        "change": _last_change(memory, (Op.STRIKE,), wanted),
    }


def _last_change(memory: Memory, ops: Sequence[Op], ids: Sequence[str]) -> int | None:
    """The position of the last such change of all of these records."""
    entries = memory.library.entries_about(ids[0]) if ids else ()
    found = [each.position for each in entries if each.op in ops and set(ids) <= set(each.ids)]
    return found[-1] if found else None


@route("GET", "/records/{id}/versions", scope="read", long=True)
def list_record_versions(memory: Memory, id: Id) -> Any:
    """What became of one memory, change by change, oldest first."""
    hit = memory.get(id)
    if not may_see(memory, hit.record):
        raise NoSuchRecord(id)
    found = [
        each
        for each in memory.record_versions(hit.record.id)
        if event_stream.is_seen(memory, each.entry) and _may_see_version(memory, each)
    ]
    clients = memory.clients(each.entry.session for each in found)
    return {"versions": [_shown_version(memory, each, clients) for each in found]}


def _may_see_version(memory: Memory, version: RecordVersion) -> bool:
    return version.record is None or may_see(memory, version.record)


def _shown_version(
    memory: Memory, version: RecordVersion, clients: Mapping[str, str]
) -> dict[str, Any]:
    record = version.record
    return {
        "change": activity.told_by(memory, version.entry, clients),
        "record": record and {name: getattr(record, name) for name in SHOWN_OF_VERSIONS},
    }


@route("GET", "/trash", scope="read", long=True)
def list_removed(memory: Memory, offset: Offset = 0, limit: Limit = 50) -> Any:
    """Memories that were taken out and can be brought back, the last one first.

    Of what was erased for good, only how much and when is told.
    """
    found = seen_removed(memory)
    page = found[offset : offset + limit]
    memory.note_shown(each.record for each in page)
    clients = memory.clients(each.entry.session for each in page)
    forgotten = memory.forgotten()
    return {
        "count": len(found),
        "removed": [_shown_removed(memory, each, clients) for each in page],
        "more": len(found) > offset + limit,
        "forgotten": {
            "count": sum(count for _, count in forgotten),
            "last": forgotten[-1][0] if forgotten else None,
        },
    }


def _shown_removed(memory: Memory, removed: Removed, clients: Mapping[str, str]) -> dict[str, Any]:
    record = removed.record
    return {
        "id": record.id,
        "text": record.text,
        "kind": record.kind,
        "tags": list(record.tags),
        "timestamp": record.timestamp,
        "origin": record.origin,
        "change": activity.told_by(memory, removed.entry, clients),
    }


@route("POST", "/trash/restore", scope="write")
def restore_records(memory: Memory, ids: Ids) -> Any:
    """Bring back memories that were taken out: all of them, or none. It can be undone."""
    seen = {each.record.id for each in seen_removed(memory)}
    for key in ids:
        if key not in seen:
            raise NoSuchRecord(key)
    back = memory.put_back_records(ids) if ids else ()
    ids = [record.id for record in back]
    return {"ids": ids, "change": _last_change(memory, (Op.RESTORE, Op.UNDO), ids)}
