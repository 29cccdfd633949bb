"""The commands of every day that are no tools: list, today, edit, tags, export.

What a terminal listed last is remembered, so that a number stands for a memory there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from commonplace.doors.cli import pages
from commonplace.doors.cli.main import is_for_eyes, open_memory, show
from commonplace.model.errors import BadInput, BadValue, CommonplaceError, Conflict
from commonplace.storage.journal import Op
from commonplace.tools.hits import described, line
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.model.records import Hit, Record
    from commonplace.storage.journal import Entry

LISTED = "listed.json"
"""The note of what each terminal listed last."""
TERMINALS = 16
"""Terminals of which that is remembered."""
LAST = "last"
"""Stands for the newest memory."""
EVERYTHING = 1 << 30


def list_memories_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kind", action="append", default=[], help="only this kind; repeatable")
    parser.add_argument("--tag", action="append", default=[], help="with this tag; repeatable")
    parser.add_argument("--since", default="", metavar="DAY", help="of this day or later")
    parser.add_argument("--until", default="", metavar="DAY", help="of this day or earlier")
    parser.add_argument("--pinned", action="store_true", help="only what you pinned")
    parser.add_argument("--expired", action="store_true", help="only those whose time is over")
    parser.add_argument("--limit", type=int, default=20, help="most memories (default 20)")


def list_memories(arguments: argparse.Namespace) -> int:
    """List memories, the newest first."""
    with open_memory(arguments) as memory:
        return _listed(
            memory,
            arguments,
            kinds=tuple(arguments.kind),
            tags=tuple(arguments.tag),
            since=arguments.since,
            until=arguments.until,
            pinned=arguments.pinned,
            limit=arguments.limit,
            expired=arguments.expired,
        )


def recent(arguments: argparse.Namespace) -> int:
    """List the ten newest memories."""
    with open_memory(arguments) as memory:
        return _listed(memory, arguments, limit=10)


def today(arguments: argparse.Namespace) -> int:
    """List what was remembered today."""
    with open_memory(arguments) as memory:
        day = memory.clock.today().isoformat()
        return _listed(memory, arguments, since=day, until=day, limit=EVERYTHING)


def _listed(
    memory: Memory, arguments: argparse.Namespace, *, expired: bool = False, **which: Any
) -> int:
    find = memory.expired if expired else partial(memory.search, include_passages=False)
    hits = find(**which)
    data = [described(hit.record) for hit in hits]
    if is_for_eyes(arguments):
        note_listed(memory, [hit.record.id for hit in hits])
        shown = pages.memories(data, memory.clock)
        text = "\n".join(filter(None, (shown, _more(find, which))))
    else:
        text = "\n".join(line(hit.record, memory.clock, hit) for hit in hits)
    nothing = "No memory's time is over." if expired else _nothing(memory)
    show(Answer(data, text or nothing), as_json=arguments.json)
    return 0


def _more(find: Callable[..., Sequence[Hit]], which: dict[str, Any]) -> str:
    """How many memories a list of the newest leaves out, and how to see them."""
    limit = which["limit"]
    if limit >= EVERYTHING:
        return ""
    count = len(find(**which | {"limit": EVERYTHING}))
    return pages.left_out(limit, count) if count > limit else ""


def _nothing(memory: Memory) -> str:
    if memory.search("", include_passages=False, limit=1):
        return "No memory is like that. 'commonplace list' shows the newest of all."
    return "Nothing is remembered yet. 'commonplace remember TEXT' keeps something."


def seen(memory: Memory, tool: str, answer: Answer) -> Answer:
    """The answer of a tool as a person reads it, with its hits remembered by their numbers."""
    return Answer(answer.data, FORMS[tool](memory, answer))


def _stored(memory: Memory, answer: Answer) -> str:
    data = answer.data
    beside = [described(memory.get(key).record) for key in data.get("nearby", ())]
    if beside:
        note_listed(memory, [str(each["id"]) for each in beside])
    return pages.kept(data, beside, memory.clock)


def _undone(memory: Memory, answer: Answer) -> str:
    data = answer.data
    if "edits" not in data:
        return pages.taken_back(data, memory.clock, made="Made again")
    return pages.taken_back(data, memory.clock, made="Taken back", again=_said_again(memory, data))


def _said_again(memory: Memory, data: dict[str, Any]) -> str:
    """What a memory says again whose edit was taken back; empty where it was no edit."""
    undone = memory.log(limit=1)[0].undoes
    entry = next((each for each in memory.library.entries() if each.position == undone), None)
    [old] = corrected(memory, entry)[:1] or [""] if entry else [""]
    hit = memory.library.hit_of(old) if old and data["op"] == Op.ADD else None
    return hit.record.text if hit else ""


def corrected(memory: Memory, entry: Entry) -> list[str]:
    """The ids of the memories that what a change added takes the place of."""
    name = next(iter(entry.documents()), "") or memory.layout.memory
    added = (item.record for each in entry.lines for item in memory.library.parse(name, each).items)
    return [record.supersedes for record in added if record.supersedes]


def _found(memory: Memory, answer: Answer) -> str:
    data = answer.data
    note_listed(memory, [each["id"] for each in data["hits"] or data["nearest"]])
    page = pages.gathered if "groups" in data else pages.found
    return page(data, memory.clock)


def _briefed(memory: Memory, answer: Answer) -> str:
    return pages.told_to_agents(answer.text, len(answer.data["entries"]))


FORMS = {"store": _stored, "undo": _undone, "search": _found, "brief": _briefed}
"""How a person at a terminal reads the answers of tools."""


def _terminal() -> str:
    return f"{os.getsid(0)}" if hasattr(os, "getsid") else "0"


def note_listed(memory: Memory, ids: Sequence[str]) -> None:
    """Remember what this terminal was shown, by its numbers."""

    def changed(data: bytes | None) -> bytes:
        kept = _kept(data)
        kept.pop(_terminal(), None)
        newest = [*kept.items(), (_terminal(), list(ids))][-TERMINALS:]
        return json.dumps(dict(newest)).encode()

    # Without it the numbers of this list stand for nothing.
    with suppress(OSError, CommonplaceError):
        memory.notes.change(LISTED, changed)


def _kept(data: bytes | None) -> dict[str, list[str]]:
    from commonplace.storage.machine_files import parsed

    kept = parsed(data or b"{}")
    return kept if isinstance(kept, dict) else {}


def meant(memory: Memory, said: str) -> str:
    """The id that a person means: a number of the last list, `last`, an id or a part of one."""
    if said == LAST:
        newest = memory.search("", include_passages=False, limit=1)
        if not newest:
            raise BadValue("ID", "nothing is remembered yet", next_step="commonplace remember TEXT")
        return newest[0].record.id
    if not said.isdecimal() or len(said) > 3:
        return said
    if key := listed_as(memory, said):
        return key
    step = "Search or list first; the numbers are those of the last list in this terminal."
    raise BadValue("ID", f"no memory was listed as {said}", next_step=step)


def listed_as(memory: Memory, number: str) -> str:
    """The id of a memory by its number in the last list of this terminal; empty if it has none."""
    listed = _kept(memory.notes.read(LISTED)).get(_terminal(), [])
    at = int(number) if number.isdecimal() else 0
    return listed[at - 1] if 0 < at <= len(listed) else ""


def edit_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a number of the last list, 'last', or an id")
    parser.add_argument("text", nargs="*", help="the new text; else $EDITOR asks")
    parser.add_argument(
        "--from", dest="valid_from", default="", metavar="DAY", help="the day from which it holds"
    )
    parser.add_argument(
        "--until",
        dest="valid_to",
        default="",
        metavar="DAY",
        help="the last day on which it holds, such as 2w or 2026-12-01; 'never' takes it away",
    )
    rule = parser.add_mutually_exclusive_group()
    rule.add_argument(
        "--when",
        action="append",
        metavar="MOMENT",
        help="tell it at this moment only, such as 'Bash(git push*)'; repeatable",
    )
    rule.add_argument("--always", action="store_true", help="tell it at any time again")
    deny = parser.add_mutually_exclusive_group()
    deny.add_argument("--must", action="store_true", default=None, help="deny the first such call")
    deny.add_argument("--no-must", action="store_false", dest="must", help="deny no call")


def edit(arguments: argparse.Namespace) -> int:
    """Change what a memory says, how long it holds, or when it is told. Can be undone.

    The new text, or your editor; the options alone change its days and moments where it stands.
    """
    when = [] if arguments.always else arguments.when
    with open_memory(arguments) as memory:
        old = memory.get(meant(memory, arguments.id)).record
        days = {"valid_from": arguments.valid_from, "valid_to": arguments.valid_to}
        text = " ".join(arguments.text).strip()
        if when is not None or arguments.must is not None:
            from commonplace.doors.cli import rules

            old = rules.told_when(memory, old, when, must=arguments.must)
            if not text and not any(days.values()):
                show(Answer(described(old), rules.line(old)), as_json=arguments.json)
                return 0
        if not text and any(days.values()):
            return _redated(memory, old, days, arguments)
        text = text or _in_editor(old.text)
        if text == old.text:
            raise Conflict("The text is as it was.", next_step="Nothing was changed.")
        kept = {"valid_from": old.valid_from, "valid_to": old.valid_to}
        new = memory.supersede(old.id, text, **{name: days[name] or kept[name] for name in days})
        data = described(new) | {"before": old.text}
        told = f"{one_line(old.text)}\nnow says\n{one_line(new.text)}"
        if is_for_eyes(arguments):
            told = pages.changed(old.text, data, memory.clock)
        show(Answer(data, told), as_json=arguments.json)
    return 0


def _redated(
    memory: Memory, old: Record, days: dict[str, str], arguments: argparse.Namespace
) -> int:
    said: dict[str, Any] = {"text": old.text, "kind": old.kind, "tags": old.tags, **days}
    done = memory.revise(old.id, **said)
    [new] = done.records
    data = described(new) | {"before": old.text}
    told = f"{one_line(new.text)}\n{pages.holds(data, memory.clock) or 'It holds always.'}"
    if is_for_eyes(arguments):
        told = "\n".join([*pages.heading("Changed:", "green"), *pages.memory(data, memory.clock)])
    show(Answer(data, told), as_json=arguments.json)
    return 0


def _in_editor(text: str) -> str:
    """The text as a person's editor leaves it."""
    import shlex
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="commonplace-") as place:
        path = os.path.join(place, "memory.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
        try:
            ended = subprocess.run([*shlex.split(editor), path], check=False).returncode
        except OSError as error:
            step = "Set EDITOR, or give the new text after the id."
            raise BadInput(f"{editor} does not start: {error.strerror}.", next_step=step) from None
        with open(path, encoding="utf-8") as file:
            new = file.read().strip()
    if ended or not new:
        raise Conflict(f"{editor} left no text.", next_step="Nothing was changed.")
    return new


def tags(arguments: argparse.Namespace) -> int:
    """List the tags and kinds of memories, with how many have each."""
    from commonplace.doors.admin.export import current

    with open_memory(arguments) as memory:
        records = current(memory)
    by_tag = Counter(tag for record in records for tag in record.tags)
    by_kind = Counter(record.kind for record in records)
    data = {"tags": dict(by_tag), "kinds": dict(by_kind)}
    rows = [("#" + tag, count) for tag, count in _most_first(by_tag)] + _most_first(by_kind)
    text = "\n".join(f"{count:>6}  {one_line(name)}" for name, count in rows)
    if is_for_eyes(arguments):
        text = pages.counts({"Kinds": _most_first(by_kind), "Tags": _most_first(by_tag)})
    nothing = "Nothing is remembered yet. 'commonplace remember TEXT' keeps something."
    show(Answer(data, text or nothing), as_json=arguments.json)
    return 0


def _most_first(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="-", help="where to; '-': standard output")
    parser.add_argument(
        "directory", nargs="?", default="", metavar="DIR", help="after 'skills': where to"
    )
    parser.add_argument("--jsonl", action="store_true", help="a JSON object a line, with all data")


def _export_skills(arguments: argparse.Namespace) -> int:
    from msgspec.structs import asdict

    from commonplace.doors.admin.skills import export_skills

    if arguments.file != "skills":
        raise BadValue(
            "DIR", "only skills go into a directory", next_step="Use 'export skills DIR'."
        )
    with open_memory(arguments) as memory:
        done = export_skills(memory, arguments.directory)
    lines = [f"wrote {path}" for path in done.written]
    lines += [f"is the same {path}" for path in done.same]
    lines += [f"left alone, you changed it: {path}" for path in done.kept]
    lines += ["Read them before you install any." if lines else "Nothing learned is to be written."]
    show(Answer(asdict(done), "\n".join(map(one_line, lines))), as_json=arguments.json)
    return 0


def export(arguments: argparse.Namespace) -> int:
    """Write all current memories into one file: markdown under their days, or JSONL.

    A file that is there is not overwritten. 'export skills DIR' writes what was learned as
    candidate skills instead, a SKILL.md for each; it installs none, and leaves files that you
    changed as they are.
    """
    if arguments.directory:
        return _export_skills(arguments)
    from commonplace.doors.admin.export import exported

    with open_memory(arguments) as memory:
        as_lines = arguments.jsonl or arguments.json
        text, written = exported(memory, "jsonl" if as_lines else "markdown")
    if arguments.file == "-":
        sys.stdout.write(text)
        return 0
    try:
        with open(arguments.file, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        step = "Name another file, or delete this one first."
        raise Conflict(f"{arguments.file} is there already.", next_step=step) from None
    count = "1 memory" if written == 1 else f"{written:,} memories"
    print(f"Wrote {count} to {arguments.file}.")
    return 0
