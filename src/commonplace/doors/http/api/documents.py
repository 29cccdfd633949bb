"""Documents over HTTP: list, read, write, append to and remove them."""

from __future__ import annotations

from typing import Annotated, Any

from commonplace.doors.http.routes import Name, Reply, route
from commonplace.markdown.layouts import check_name
from commonplace.markdown.merge import merge
from commonplace.memory import Memory
from commonplace.model.errors import BadName, DocumentChanged
from commonplace.model.records import Origin
from commonplace.storage.journal import Gone
from commonplace.tools.tool import Argument

LOOKED_AT = 50
"""Changes among which our own is looked for: others may have written since."""


def served(memory: Memory, name: str) -> str:
    """The name of a document that the layout lets a gateway show and change."""
    if not memory.serves(check_name(name)):
        raise BadName(name, f"a gateway to a {memory.layout.name} vault has no such document")
    return name


def without_secrets(memory: Memory, name: str, text: str) -> str:
    """A document's text as this reader may see it."""
    return (
        text
        if memory.origin == Origin.OWNER
        else memory.library.documents.without_secrets(name, text)
    )


@route("GET", "/documents", scope="read")
def list_documents(memory: Memory) -> Any:
    """Every document with its size, the role it has, and whether it is kept as it is."""
    roles = {
        memory.layout.soul: "soul",
        memory.layout.user: "user",
        memory.layout.memory: "memory",
        memory.layout.status: "status",
    }
    return {"documents": [_document(memory, name, roles) for name in memory.documents()]}


def _document(memory: Memory, name: str, roles: dict[str, str]) -> dict[str, Any]:
    stat = memory.library.stat(name)
    return {
        "name": name,
        "size": stat.size if stat else 0,
        "role": roles.get(name, ""),
        "kept": memory.layout.diary_time(name) is not None,
    }


@route("GET", "/documents/{name:document}", scope="read")
def read_document(memory: Memory, name: Name) -> Any:
    """One document's text, with the etag that a change must bring along."""
    found = memory.read(served(memory, name))
    return Reply({"name": found.name, "text": found.text, "etag": found.etag}, etag=found.etag)


@route("PUT", "/documents/{name:document}", scope="write")
def write_document(
    memory: Memory,
    name: Name,
    text: Annotated[str, Argument("the whole new text")],
    etag: Annotated[str, Argument("of the text it was made from", max_length=80)] = "",
    confirm: Annotated[str, Argument("the token of a refusal", max_length=200)] = "",
    new: Annotated[bool, Argument("only when there is no document of that name")] = False,
) -> Any:
    """Put a whole new text in place; what others wrote since is merged in where it can be."""
    if new:
        done = memory.create(text, document=served(memory, name))
    else:
        done = memory.update(
            text,
            document=served(memory, name),
            mode="rewrite",
            etag=etag,
            confirm=confirm,
            strict=True,
        )
    answer = {"name": done.document, "etag": done.etag, "merged": done.merged}
    answer["dropped"] = list(done.dropped)
    if done.merged:
        answer["text"] = memory.read(name).text
    return Reply(answer, etag=done.etag)


def merge_offered(memory: Memory, error: DocumentChanged, given: dict[str, Any]) -> dict[str, Any]:
    """What a page needs to settle a conflict: the text as it is now, and both put together."""
    now = memory.read(given["name"])
    base = memory.library.documents.text_marked(now.name, given.get("etag", "")) or b""
    known = without_secrets(memory, now.name, base.decode("utf-8", "replace"))
    offered = merge(known, str(given.get("text", "")), now.text)
    return {
        "current": now.text,
        "etag": error.etag,
        "merged": memory.library.tombstones.without_returning(now.name, offered.text, now.text),
        "conflicts": offered.conflicts,
    }


@route("POST", "/documents/{name:path}/append", scope="write")
def append_to_document(
    memory: Memory, name: Name, text: Annotated[str, Argument("what to add at the end")]
) -> Any:
    """Add text to the end of a document, whatever others do meanwhile."""
    done = memory.update(text, document=served(memory, name))
    return Reply({"name": done.document, "etag": done.etag}, etag=done.etag)


@route("DELETE", "/documents/{name:document}", scope="write")
def remove_document(memory: Memory, name: Name) -> Any:
    """Take a document away. It can be undone, by the position in the answer."""
    memory.read(served(memory, name))
    memory.remove(name)
    return {"removed": name, "position": _left_at(memory, name)}


@route("POST", "/rename/{name:path}", scope="write")
def rename_document(
    memory: Memory, name: Name, to: Annotated[str, Argument("its new name", max_length=400)]
) -> Any:
    """Give a document another name, which must be free. It can be undone."""
    memory.rename(served(memory, name), served(memory, to))
    return {"name": to, "position": _left_at(memory, name)}


def _left_at(memory: Memory, name: str) -> int | None:
    """Where the journal tells that a document went away, for who would take that back."""
    changes = memory.log(limit=LOOKED_AT)
    return next((each.position for each in changes if Gone(name) in each.changes), None)
