"""Changes over HTTP: the log, undo and redo, and a document's past."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from commonplace.doors.http import event_stream
from commonplace.doors.http.api import activity, documents
from commonplace.doors.http.api.documents import served, without_secrets
from commonplace.doors.http.routes import Limit, Name, Offset, route
from commonplace.library.blame import Version
from commonplace.memory import Memory
from commonplace.model.clock import parse_stamp
from commonplace.model.errors import BadValue, NoSuchDocument
from commonplace.tools.tool import Argument

Mine = Annotated[bool, Argument("the caller's own last: never what somebody else did")]
Moment = Annotated[str, Argument("a time, ISO 8601", max_length=40)]


@route("GET", "/log", scope="read")
def list_changes(memory: Memory, limit: Limit = 50) -> Any:
    """The last changes, newest first."""
    memory.library.refresh()
    return {"changes": [event_stream.told(memory, entry) for entry in memory.log(limit=limit)]}


@route("POST", "/undo", scope="write")
def undo_change(
    memory: Memory,
    position: Annotated[
        int, Argument("which change; else the last", minimum=0, maximum=1 << 53)
    ] = -1,
    mine: Mine = False,
) -> Any:
    """Take back the last change made through Commonplace, or the one at a position of the log.

    Newer edits made by hand stay, and are told: they are taken back by their positions alone.
    """
    done = memory.undo(None if position < 0 else position, mine=mine)
    undone = activity.one(memory, done.entry.position) | {"documents": list(done.documents)}
    return {"undone": undone, "edits": [event_stream.told(memory, edit) for edit in done.edits]}


@route("POST", "/redo", scope="write")
def redo_change(
    memory: Memory,
    position: Annotated[
        int,
        Argument("an undo, or what it took back; else the last", minimum=0, maximum=1 << 53),
    ] = -1,
    mine: Mine = False,
) -> Any:
    """Take back the last undo, or one by its position; what was changed since stays."""
    done = memory.redo(None if position < 0 else position, mine=mine)
    redone = activity.one(memory, done.entry.position) | {"documents": list(done.documents)}
    return {"redone": redone}


@route("GET", "/versions/{name:path}", scope="read", long=True)
def list_versions(memory: Memory, name: Name, offset: Offset = 0, limit: Limit = 100) -> Any:
    """Every change that a document went through, newest first, with how many lines it changed."""
    found = memory.versions(served(memory, name))
    if not found:
        raise NoSuchDocument(name)
    page = found[offset : offset + limit]
    clients = memory.clients(each.entry.session for each in page)
    return {
        "versions": [_version(memory, each, clients) for each in page],
        "count": len(found),
        "more": len(found) > offset + limit,
    }


def _version(memory: Memory, version: Version, clients: Mapping[str, str]) -> dict[str, Any]:
    before = version.name_before
    return {
        **activity.told_by(memory, version.entry, clients),
        "lines_added": version.added,
        "lines_removed": version.removed,
        "name_before": before if before and memory.serves(before) else "",
    }


@route("GET", "/texts/{name:path}", scope="read", long=True)
def text_at(memory: Memory, name: Name, moment: Moment) -> Any:
    """What a document said at a time."""
    text = memory.text_at(served(memory, name), _moment(moment))
    return {"name": name, "moment": moment, "text": without_secrets(memory, name, text)}


@route("POST", "/restore/{name:path}", scope="write")
def restore_document(memory: Memory, name: Name, moment: Moment) -> Any:
    """Make a document say again what it said at a time. It can be undone."""
    memory.restore(_moment(moment), served(memory, name))
    return documents.read_document.tool.run(memory, name=name)


@route("GET", "/blame/{name:path}", scope="read", long=True)
def blame_document(memory: Memory, name: Name) -> Any:
    """Each line of a document with the change that brought it."""
    lines = memory.blame(served(memory, name))
    whole = "\n".join(each.text for each in lines)
    clients = memory.clients(each.entry.session for each in lines if each.entry)
    shown = set(without_secrets(memory, name, whole).split("\n"))
    return {
        "lines": [
            {
                "line": each.line,
                "text": each.text.removesuffix("\r"),
                "change": activity.told_by(memory, each.entry, clients) if each.entry else None,
            }
            for each in lines
            if each.text in shown
        ]
    }


def _moment(text: str) -> datetime:
    try:
        return parse_stamp(text)
    except (ValueError, TypeError):
        raise BadValue("moment", f"{text!r} is no time", next_step="Use ISO 8601.") from None
