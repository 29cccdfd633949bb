"""Anthropic's memory tool, `memory_20250818`: six commands on a `/memories` view of the vault.

A vault holds markdown only, while Claude may choose any name. So `/memories/plan.txt` is kept as
`plan.txt.md` and listed as `plan.txt`, and every path finds again what was created under it.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import unquote

from msgspec.structs import asdict

from commonplace.library.documents import Written
from commonplace.markdown import documents
from commonplace.markdown.layouts import RECORD_LINE, check_name
from commonplace.markdown.merge import alike, newline_of, with_newlines
from commonplace.markdown.record_lines import plain
from commonplace.memory import Memory
from commonplace.memory.documents import Document
from commonplace.model.errors import (
    BadInput,
    BadName,
    BadValue,
    CommonplaceError,
    Conflict,
    MissingExtra,
    NoSuchDocument,
    NotFound,
    Refused,
)
from commonplace.tools import pages
from commonplace.tools.tool import Answer, Argument, Parameter, Tool, coerced, tool

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAbstractMemoryTool

ROOT = "/memories"
MOST_LINES = 999_999
DEPTH = 2
AROUND = 2
"""Lines shown before and after a change."""
EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")
LOOK = f"View {ROOT} to see what is there."
MISSING: Any = None


def view(memory: Memory, path: str, *, view_range: Sequence[int] | None = None) -> str:
    """A directory, two levels deep, or a file with its lines numbered."""
    below = _below(memory, path)
    if not below or _is_directory(memory, below):
        return _listing(memory, path.rstrip("/"), f"{below}/" if below else "")
    page = _page(memory, path)
    if page is None:
        raise NotFound(f"The path {path} does not exist. Please provide a valid path.")
    lines = _lines(page.text)
    if len(lines) > MOST_LINES and not view_range:
        raise BadInput(
            f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines.",
            next_step="View a part of it with view_range.",
        )
    first, last = _span(view_range, len(lines))
    memory.note_read(page.name) if view_range else memory.read(page.name)
    numbered = _numbered(lines, first, last)
    return f"Here's the content of {path} with line numbers:\n{numbered}"


def create(memory: Memory, path: str, *, file_text: str) -> str:
    """Make a new file."""
    below = _below(memory, path)
    name = _document(below)
    _check_usable(memory, name, path)

    def work() -> str:
        if memory.library.stat(name) or _is_directory(memory, below):
            raise Conflict(
                f"Error: File {path} already exists.",
                next_step="Change it with str_replace or insert, or choose another path.",
            )
        memory.update(_or_nothing(file_text), document=name, mode="rewrite")
        return f"File created successfully at: {path}"

    if memory.guards(name):
        memory.update(_or_nothing(file_text), document=name, mode="rewrite")
    return memory.library.locked(work)


def str_replace(memory: Memory, path: str, *, old_str: str, new_str: str = "") -> str:
    """Replace a text that stands once in a file."""
    page = _page(memory, path)
    if page is None:
        raise NotFound(f"Error: The path {path} does not exist. Please provide a valid path.")
    places: list[int] = []

    def replaced(text: str) -> str:
        new, line = _replaced(text, old_str, new_str, path)
        places.append(line)
        return new

    done = _write(memory, page.name, replaced)
    lines, first = _lines(memory.peek(page.name).text), places[-1]
    memory.note_read(page.name)
    snippet = _numbered(lines, first - AROUND, first + new_str.count("\n") + AROUND)
    return (
        "The memory file has been edited. Here is the snippet showing the change "
        f"(with line numbers):\n{snippet}{_dropped(done)}"
    )


def insert(memory: Memory, path: str, *, insert_line: int, insert_text: str) -> str:
    """Put text below a line of a file; 0 is above the first."""
    page = _page(memory, path)
    if page is None:
        raise NotFound(f"Error: The path {path} does not exist.", next_step=LOOK)

    def inserted(text: str) -> str:
        lines = _lines(text)
        if not 0 <= insert_line <= len(lines):
            raise BadInput(
                f"Error: Invalid `insert_line` parameter: {insert_line}. It should be within the "
                f"range of lines of the file: [0, {len(lines)}]"
            )
        lines[insert_line:insert_line] = insert_text.removesuffix("\n").split("\n")
        return _unshown("\n".join(lines) + "\n", text)

    _write(memory, page.name, inserted)
    return f"The file {path} has been edited."


def delete(memory: Memory, path: str) -> str:
    """Take a file away, or a directory with all that is in it. It can be undone."""
    memory.remove(*_meant(memory, path, verb="delete"))
    return f"Successfully deleted {path}"


def rename(memory: Memory, old_path: str, *, new_path: str) -> str:
    """Move a file, or a directory with all that is in it."""
    names = _meant(memory, old_path, verb="rename")
    old, new = _below(memory, old_path), _below(memory, new_path)
    if not new or _is_directory(memory, new) or _page(memory, new_path):
        raise Conflict(
            f"Error: The destination {new_path} already exists.",
            next_step="Choose another path, or delete that one first.",
        )
    targets = [
        _document(new if name == _document(old) else new + name[len(old) :]) for name in names
    ]
    for target in targets:
        _check_usable(memory, target, new_path)
    memory.rename_all(dict(zip(names, targets)))
    return f"Successfully renamed {old_path} to {new_path}"


COMMANDS: dict[str, tuple[Callable[..., str], tuple[str, ...], tuple[str, ...]]] = {
    "view": (view, ("path",), ("view_range",)),
    "create": (create, ("path", "file_text"), ()),
    "str_replace": (str_replace, ("path", "old_str"), ("new_str",)),
    "insert": (insert, ("path", "insert_line", "insert_text"), ()),
    "delete": (delete, ("path",), ()),
    "rename": (rename, ("old_path", "new_path"), ()),
}
"""What each command does, and the arguments it needs and may have."""


@tool(name="memory", destructive=True, always=True)
def run(
    memory: Memory,
    command: Annotated[
        Literal["view", "create", "str_replace", "insert", "delete", "rename"],
        Argument("What to do."),
    ],
    path: Annotated[str, Argument("File or directory below /memories; all but rename.")] = MISSING,
    view_range: Annotated[list[int], Argument("view: first and last line; -1: end.")] = MISSING,
    file_text: Annotated[str, Argument("create: the text of the file.")] = MISSING,
    old_str: Annotated[str, Argument("str_replace: the text that goes, verbatim.")] = MISSING,
    new_str: Annotated[str, Argument("str_replace: what comes instead.")] = MISSING,
    insert_line: Annotated[int, Argument("insert: the line to insert after; 0: top.")] = MISSING,
    insert_text: Annotated[str, Argument("insert: the text.")] = MISSING,
    old_path: Annotated[str, Argument("rename: what to move.")] = MISSING,
    new_path: Annotated[str, Argument("rename: where to.")] = MISSING,
) -> Answer:
    """Your memory directory, /memories, which lasts from one conversation to the next.

    View it before you start on anything else, and note down what you learn as you go.
    """
    given = {
        "path": path,
        "view_range": view_range,
        "file_text": file_text,
        "old_str": old_str,
        "new_str": new_str,
        "insert_line": insert_line,
        "insert_text": insert_text,
        "old_path": old_path,
        "new_path": new_path,
    }
    function, needs, takes = COMMANDS[command]
    for name in needs:
        if given[name] is None:
            raise BadValue(
                name, f"{command} needs it", next_step=f"Send {' and '.join(needs)} with {command}."
            )
    where, *rest = needs
    named = {name: given[name] for name in (*rest, *takes) if given[name] is not None}
    text = function(memory, given[where], **named)
    return Answer({"command": command, "result": text}, text)


class _Range(Parameter, frozen=True):
    """A list of two numbers, where the lists of other tools are of texts."""

    def schema(self) -> dict[str, Any]:
        two = {"items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
        return super().schema() | two

    def checked(self, value: Any) -> list[int]:
        sent = coerced(value, "array")
        two = [coerced(number, "integer") for number in sent] if isinstance(sent, list) else []
        if len(two) == 2 and all(type(number) is int for number in two):
            return two
        raise BadValue(
            self.name, f"{value!r} is not two line numbers", next_step="Send [first, last]."
        )


class _MemoryTool(Tool, frozen=True, dict=True):
    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            _Range(**asdict(each)) if each.name == "view_range" else each
            for each in super().parameters
        )


TOOLS = (_MemoryTool(**asdict(run)),)


def memory_tool(memory: Memory) -> BetaAbstractMemoryTool:
    """The memory as a tool of Anthropic's SDK, to be handed to its tool runner."""
    try:
        from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
    except ImportError:
        raise MissingExtra("The Anthropic memory tool", "anthropic") from None

    class MemoryTool(BetaAbstractMemoryTool):  # type: ignore[misc, unused-ignore]
        def call(self, input: object) -> str:
            try:
                return str(TOOLS[0].call(memory, input if isinstance(input, dict) else {}))
            except CommonplaceError as error:
                raise ToolError(str(error)) from error

        def execute(self, command: Any) -> str:
            return self.call(command.model_dump(exclude_none=True))

        view = create = str_replace = insert = delete = rename = execute

    return MemoryTool()


def _below(memory: Memory, path: str) -> str:
    """The steps of a path below `/memories`; one that leads out is refused however it is spelt."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise BadInput(
            f"Path must start with {ROOT}, got: {path}.", next_step=f"Use {ROOT}/notes.md, say."
        )
    if ".." in re.split(r"[/\\]", _decoded(path)):
        raise BadInput(f"Path {path} would escape {ROOT} directory.", next_step=LOOK)
    steps = [step for step in path.removeprefix(ROOT).split("/") if step not in ("", ".")]
    if _is_linked(memory, steps):
        raise BadInput(f"Path {path} would escape {ROOT} directory via symlink.", next_step=LOOK)
    return "/".join(steps)


def _decoded(path: str) -> str:
    """The path with nothing left in it that some program could take for an encoded character."""
    while (plain := unquote(path)) != path:
        path = plain
    return path


def _is_linked(memory: Memory, steps: Sequence[str]) -> bool:
    """Whether the path leads through a link. The vault follows none; this names the reason."""
    ways = ["/".join(steps[:count]) for count in range(1, len(steps) + 1)]
    return any(
        os.path.islink(memory.root / way) for way in (*ways, *(_document(way) for way in ways[-1:]))
    )


def _document(below: str) -> str:
    return below if below.endswith(".md") else f"{below}.md"


def _path(name: str) -> str:
    """A document's name as it is listed: `plan.txt.md` was created as `plan.txt`."""
    stem = name.removesuffix(".md")
    return stem if EXTENSION.search(stem) else name


def _check_usable(memory: Memory, name: str, path: str) -> None:
    """Fail when no document of the vault may have that name."""
    try:
        if memory.layout.holds(check_name(name)):
            return
        problem = f"a vault laid out as {memory.layout.name} has no such directory"
    except BadName:
        problem = (
            'a name in it is hidden, too long or too deep, or has one of \\ : * ? " < > | in it'
        )
    raise BadInput(
        f"The path {path} cannot be used: {problem}.",
        next_step=f"Use plain names below {ROOT}, such as {ROOT}/notes.md.",
    )


def _page(memory: Memory, path: str) -> Document | None:
    """The file at a path; None when there is none, or a directory."""
    try:
        return memory.peek(_document(_below(memory, path)))
    except (NoSuchDocument, BadName):
        return None


def _is_directory(memory: Memory, below: str) -> bool:
    return any(name.startswith(f"{below}/") for name in memory.documents())


def _meant(memory: Memory, path: str, *, verb: str) -> list[str]:
    """The documents at a path: one, or all of a directory."""
    below = _below(memory, path)
    if not below:
        raise Refused(
            f"Cannot {verb} the {ROOT} directory itself.",
            next_step="Name a file or a directory in it.",
        )
    names = [name for name in memory.documents() if name.startswith(f"{below}/")]
    page = None if names else _page(memory, path)
    if not names and page is None:
        raise NotFound(f"Error: The path {path} does not exist.", next_step=LOOK)
    return names or [_document(below)]


def _listing(memory: Memory, path: str, prefix: str) -> str:
    sizes: dict[str, int] = defaultdict(int)
    for name, stat in memory.library.listing().documents.items():
        if name.startswith(prefix):
            *above, last = _path(name)[len(prefix) :].split("/")
            ways = [f"{'/'.join(above[:count])}/" for count in range(1, len(above) + 1)]
            for way in ("", *[*ways, "/".join((*above, last))][:DEPTH]):
                sizes[f"{path}/{way}" if way else path] += stat.size
    sizes.setdefault(path, 0)
    shown = "\n".join(f"{_human(size)}\t{way}" for way, size in sorted(sizes.items()))
    return (
        f"Here're the files and directories up to {DEPTH} levels deep in {path}, excluding hidden "
        f"items and node_modules:\n{shown}"
    )


def _human(size: int) -> str:
    if size < 1024:
        return f"{size}B"
    return f"{size / 1024:.1f}K" if size < 1024**2 else f"{size / 1024**2:.1f}M"


def _span(view_range: Sequence[int] | None, count: int) -> tuple[int, int]:
    """The first and the last line of the range."""
    first, last = view_range or (1, -1)
    last = count if last == -1 else last
    if view_range and not (1 <= first <= max(count, 1) and first <= max(last, 1)):
        raise BadInput(
            f"Error: Invalid `view_range` parameter: {list(view_range)}. It should be within the "
            f"range of lines of the file: [1, {count}]"
        )
    return first, last


def _shown(text: str) -> str:
    """A file as Claude sees it, line for line: what lines carry for programs is left out."""
    return "\n".join(map(pages.shown_line, text.split("\n")))


def _lines(text: str) -> list[str]:
    return _shown(text).removesuffix("\n").split("\n") if text else []


def _numbered(lines: Sequence[str], first: int, last: int) -> str:
    first = max(first, 1)
    shown = lines[first - 1 : max(last, 0)]
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(shown, start=first))


def _replaced(text: str, old_str: str, new_str: str, path: str) -> tuple[str, int]:
    """A text with another in place of one that stands in it once, and the line where it is.

    That may be given as it is shown, or as it is written.
    """
    shown = _shown(text)
    seen = shown if old_str in shown else text.replace("\r\n", "\n")
    place = _only_place(seen, old_str, path)
    new = seen[:place] + _spelt(seen, place, old_str, new_str) + seen[place + len(old_str) :]
    whole = _unshown(new, text) if seen is shown else with_newlines(new, newline_of(text))
    return whole, seen.count("\n", 0, place) + 1


def _only_place(text: str, old_str: str, path: str) -> int:
    count = text.count(old_str) if old_str else 0
    if count == 1:
        return text.index(old_str)
    if not count:
        raise BadInput(
            f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.",
            next_step="View the file and copy the text from it.",
        )
    starts = [at for at in range(len(text)) if text.startswith(old_str, at)]
    numbers = dict.fromkeys(str(text.count("\n", 0, at) + 1) for at in starts)
    raise BadInput(
        f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: "
        f"{', '.join(numbers)}. Please ensure it is unique"
    )


def _spelt(text: str, place: int, old_str: str, new_str: str) -> str:
    """The replacement, escaped if it goes into a record that is JSON."""
    start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place + len(old_str))
    before, behind = text[start:place], text[place + len(old_str) : end if end >= 0 else None]
    if "\n" in old_str or not documents.carries(before + old_str + behind):
        return new_str
    for spelt in (new_str, json.dumps(new_str, ensure_ascii=False)[1:-1]):
        if documents.carries(before + spelt + behind):
            return spelt
    if not re.match(RECORD_LINE, before + new_str + behind):
        return new_str
    raise BadInput(
        f"No replacement was performed. Line {text.count(chr(10), 0, place) + 1} would no longer "
        "be a record.",
        next_step="Replace words of its text, or the whole line.",
    )


def _write(memory: Memory, name: str, edit: Callable[[str], str]) -> Written:
    """Edit a document, from the text that it has then, as it may be shown."""

    def change(text: str) -> str:
        shown = memory.library.documents.without_secrets(name, text)
        new = edit(shown)
        for item in documents.carried(new) - documents.carried(shown):
            # A record that reads otherwise is no longer what its data says, if that is not shown.
            new = new.replace(item, plain(item))
        return _or_nothing(new)

    return memory.edit(name, change)


def _dropped(done: Written) -> str:
    """The line that tells what an edit took out; empty when it took out nothing."""
    told = done.dropped_sentence
    return f"\n{told}" if told else ""


def _or_nothing(text: str) -> str:
    """The text, or an empty one if it is blank."""
    return text if text.strip() else ""


def _unshown(text: str, before: str) -> str:
    """An edited text as it is kept: lines that read as they did are what they were."""
    old, new = before.split("\n"), text.split("\n")
    shown = list(map(pages.shown_line, old))
    head = alike(shown, new)
    tail = alike(shown[head:][::-1], new[head:][::-1])
    changed, given = slice(head, len(old) - tail), new[head : len(new) - tail]
    kept: dict[str, deque[str]] = defaultdict(deque)
    for line, whole in zip(shown[changed], old[changed]):
        kept[line].append(whole)
    written = pages.written("\n".join(given), old[changed]).split("\n")
    ends = newline_of(before).removesuffix("\n")
    lines = [
        kept[line].popleft() if kept[line] else whole + ends for line, whole in zip(given, written)
    ]
    if lines and not tail:
        lines[-1] = lines[-1].removesuffix(ends)
    if lines and head == len(old):
        # What was the last line is followed by others now.
        old[-1] = old[-1].removesuffix(ends) + ends
    return "\n".join([*old[:head], *lines, *old[len(old) - tail :]])
