"""The commands of every day that are no tools: list, today, edit, tags, export, help.

What a terminal listed last is remembered, so that a number stands for a memory there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from commonplace.doors.cli import pages
from commonplace.doors.cli.main import (
    COMMANDS,
    EVERYDAY,
    GROUPS,
    is_for_eyes,
    open_memory,
    show,
)
from commonplace.doors.cli.terminal import paint
from commonplace.model.errors import BadInput, BadValue, CommonplaceError, Conflict
from commonplace.model.records import Record
from commonplace.tools.hits import described, line
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from commonplace.memory import Memory

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
            limit=arguments.limit,
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


def _listed(memory: Memory, arguments: argparse.Namespace, **which: Any) -> int:
    hits = memory.search("", include_passages=False, **which)
    data = [described(hit.record) for hit in hits]
    if is_for_eyes(arguments):
        _note_listed(memory, [hit.record.id for hit in hits])
        text = pages.memories(data, memory.clock)
    else:
        text = "\n".join(line(hit.record, memory.clock, hit) for hit in hits)
    show(Answer(data, text or "Nothing is remembered here yet."), as_json=arguments.json)
    return 0


def seen(memory: Memory, tool: str, answer: Answer) -> Answer:
    """The answer of a tool as a person reads it, with its hits remembered by their numbers."""
    data = answer.data
    if tool == "store" and "nearby" not in data:
        return Answer(data, pages.kept(data, memory.clock))
    if tool == "undo":
        made = "Taken back" if "edits" in data else "Made again"
        return Answer(data, pages.taken_back(data, memory.clock, made=made))
    if tool == "search":
        _note_listed(memory, [each["id"] for each in data["hits"] or data["nearest"]])
        page = pages.gathered if "groups" in data else pages.found
        return Answer(data, page(data, memory.clock))
    return answer


def _terminal() -> str:
    return f"{os.getsid(0)}" if hasattr(os, "getsid") else "0"


def _note_listed(memory: Memory, ids: Sequence[str]) -> None:
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
    listed = _kept(memory.notes.read(LISTED)).get(_terminal(), [])
    if not 0 < int(said) <= len(listed):
        step = "Search or list first; the numbers are those of the last list in this terminal."
        raise BadValue("ID", f"no memory was listed as {said}", next_step=step)
    return listed[int(said) - 1]


def edit_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a number of the last list, 'last', or an id")
    parser.add_argument("text", nargs="?", default="", help="the new text; else $EDITOR asks")


def edit(arguments: argparse.Namespace) -> int:
    """Change what a memory says: the new text, or your editor. Can be undone."""
    with open_memory(arguments) as memory:
        old = memory.get(meant(memory, arguments.id)).record
        text = arguments.text.strip() or _in_editor(old.text)
        if text == old.text:
            raise Conflict("The text is as it was.", next_step="Nothing was changed.")
        new = memory.supersede(old.id, text)
        told = f"{one_line(old.text)}\nnow says\n{one_line(new.text)}"
        show(Answer(described(new) | {"before": old.text}, told), as_json=arguments.json)
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
    with open_memory(arguments) as memory:
        records = _all(memory)
    by_tag = Counter(tag for record in records for tag in record.tags)
    by_kind = Counter(record.kind for record in records)
    rows = [(f"#{one_line(tag)}", count) for tag, count in _most_first(by_tag)]
    rows += [(kind, count) for kind, count in _most_first(by_kind)]
    text = "\n".join(f"{count:>6}  {name}" for name, count in rows)
    data = {"tags": dict(by_tag), "kinds": dict(by_kind)}
    show(Answer(data, text or "Nothing is remembered here yet."), as_json=arguments.json)
    return 0


def _most_first(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _all(memory: Memory) -> list[Record]:
    hits = memory.search("", include_passages=False, limit=EVERYTHING)
    return [hit.record for hit in hits]


def export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="-", help="where to; '-': standard output")
    parser.add_argument("--jsonl", action="store_true", help="a JSON object a line, with all data")


def export(arguments: argparse.Namespace) -> int:
    """Write all current memories into one file: markdown under their days, or JSONL.

    A file that is there is not overwritten.
    """
    with open_memory(arguments) as memory:
        records = _all(memory)[::-1]
        as_lines = arguments.jsonl or arguments.json
        text = _jsonl(records) if as_lines else _markdown(records, memory)
    if arguments.file == "-":
        sys.stdout.write(text)
        return 0
    try:
        with open(arguments.file, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        step = "Name another file, or delete this one first."
        raise Conflict(f"{arguments.file} is there already.", next_step=step) from None
    count = "1 memory" if len(records) == 1 else f"{len(records):,} memories"
    print(f"Wrote {count} to {arguments.file}.")
    return 0


def _jsonl(records: Sequence[Record]) -> str:
    return "".join(f"{json.dumps(described(each), ensure_ascii=False)}\n" for each in records)


def _markdown(records: Sequence[Record], memory: Memory) -> str:
    lines, last = ["# Memories", ""], ""
    for record in records:
        day = memory.clock.day_of(record.said_at) or "undated"
        if day != last:
            lines += [f"## {day}", ""] if not last else ["", f"## {day}", ""]
        last = day
        labels = ", ".join([record.kind, *(f"#{tag}" for tag in record.tags)])
        lines.append(f"- {one_line(record.text)} ({labels})")
    return "\n".join(lines) + "\n"


def explain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", nargs="?", default="", help="the command to explain")
    parser.add_argument("--all", action="store_true", help="every command, by its purpose")


def explain(arguments: argparse.Namespace) -> int:
    """Show the commands of every day, all of them with --all, or one command's help."""
    if arguments.command:
        from commonplace.doors.cli.parser import build_parser

        build_parser([arguments.command]).parse_args([arguments.command, "--help"])
    print(_groups(GROUPS) if arguments.all else front_page())
    return 0


def front_page() -> str:
    """What `commonplace` alone shows."""
    return "\n".join(
        [
            "Persistent memory for AI agents, kept as markdown.",
            "",
            _groups(EVERYDAY),
            "",
            "An ID is a number of the last list, 'last', or a part of an id.",
            f"'commonplace COMMAND --help' explains one; 'commonplace help --all' lists all "
            f"{len(COMMANDS)}.",
        ]
    )


FORMS = {
    "remember": "remember TEXT",
    "edit": "edit ID",
    "remove": "remove ID",
    "search": "search WORDS",
    "show": "show ID",
}
ABOUT = {
    "remember": "keep something in mind, for you and your agents",
    "edit": "change what a memory says",
    "remove": "take a memory out; undo brings it back",
    "undo": "take back your last change",
    "search": "find memories by words or meaning",
    "list": "the newest memories",
    "show": "one memory: where it came from and stands",
    "today": "what was remembered today",
    "status": "what the vault holds and how it is",
    "serve": "open the page in a browser",
}
"""What the commands of every day do, in a few words."""


def _groups(groups: dict[str, dict[str, str]]) -> str:
    blocks = []
    for title, commands in groups.items():
        rows = [f"  {FORMS.get(name, name):<16}{_about(name)}" for name in commands]
        blocks.append("\n".join([paint(title, "bold"), *rows]))
    return "\n\n".join(blocks)


def _about(name: str) -> str:
    if name in ABOUT:
        return ABOUT[name]
    from importlib import import_module

    from commonplace import tools

    module, _, function = COMMANDS[name].partition(".")
    if module == "tools":
        said = tools.table("native")[function].description
    else:
        said = getattr(import_module(f"commonplace.doors.cli.{module}"), function).__doc__ or ""
    return said.split("\n")[0]
