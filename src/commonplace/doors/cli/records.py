"""The commands about single records, documents and changes; `tool` and `ipc` call any tool.

Each command is a parser and a few lines that call the core and print.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from commonplace.doors.caller import client_title
from commonplace.doors.cli import pages
from commonplace.doors.cli.everyday import corrected, meant
from commonplace.doors.cli.main import (
    is_for_eyes,
    open_memory,
    run_tool,
    said,
    show,
    tool_dialect,
    wait_for_vectors,
)
from commonplace.doors.cli.terminal import paint
from commonplace.library import accounts, copies, undo
from commonplace.markdown import record_lines
from commonplace.model.errors import BadValue
from commonplace.storage.journal import Op
from commonplace.tools.cited import data_of, lines_of
from commonplace.tools.hits import described, standing
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import neutralise, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.library.activity import Activity
    from commonplace.library.undo import Restored
    from commonplace.memory import Memory
    from commonplace.storage.journal import Entry


def show_record_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a number of the last list, 'last', or an id")


def show_record(arguments: argparse.Namespace) -> int:
    """Show one memory: where it stands, the user's message and sentence, the agent's wording."""
    with open_memory(arguments) as memory:
        record, places = memory.one(meant(memory, arguments.id))
        account = memory.accounts([record])[record.id]
        cited = memory.standings(record)
        newer = list(map(memory.get, memory.library.chains.successors(record)))
    where = [f"{place.document}:{place.line}" for place in places]
    about = ", ".join((record.kind, *record.tags, f"from {record.origin}", *standing(record)))
    session = f", session {record.session}" if record.session else ""
    lines = [
        f"{record.id}  {record.timestamp[:16]}  {one_line(about + session)}",
        f"    {neutralise(record.text)}",
        *(f"    {neutralise(line)}" for line in account.lines()),
        *(f"    rests on {line}" for line in lines_of(cited)),
        *(
            f"    {_replaced(hit.record.text, hit.record.id, hit.record.timestamp)}"
            for hit in newer
        ),
        *([f"    stands in {one_line(', '.join(where))}"] if where else []),
    ]
    data = described(record) | {"places": where, "account": accounts.data_of(account)}
    data |= {"citations": [data_of(each) for each in cited]} if cited else {}
    data |= {"superseded_by": [hit.record.id for hit in newer]} if newer else {}
    told = "\n".join(lines)
    if is_for_eyes(arguments):
        rests = [f"rests on {line}" for line in lines_of(cited)]
        rests += [
            _replaced(it.text, pages.short_id(it.id), pages.when(it.timestamp, memory.clock))
            for it in (hit.record for hit in newer)
        ]
        told = pages.whole(data, [*account.lines(), *rests], memory.clock)
    show(Answer(data, told), as_json=arguments.json)
    return 0


def _replaced(text: str, key: str, at: str) -> str:
    return f"replaced by “{one_line(text)}” ({key}), {at}"


def redo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--change", type=int, default=-1, help="the undo, or what it took back; else the last"
    )


def redo(arguments: argparse.Namespace) -> int:
    """Take back the last undo, of this session if it has one; again for the one before it.

    What was changed since the undo stays.
    """
    from commonplace import tools

    arguments.redo = True
    return run_tool(tools.table("native")["undo"], arguments)


def log_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=20, help="most changes (default 20)")


def log(arguments: argparse.Namespace) -> int:
    """List the last changes, newest first, each with its number for undo."""
    with open_memory(arguments) as memory:
        memory.library.refresh()
        if is_for_eyes(arguments):
            return _show_changes(memory, memory.activity(limit=min(arguments.limit, 500)).changes)
        return _show_entries(memory.log(limit=arguments.limit), arguments)


def show_history(memory: Memory, entries: list[Entry], arguments: argparse.Namespace) -> int:
    """Print the changes to one record."""
    if is_for_eyes(arguments):
        return _show_changes(memory, [memory.change(entry.position) for entry in entries])
    return _show_entries(entries, arguments)


def _show_changes(memory: Memory, changes: Sequence[Activity]) -> int:
    """Print changes for reading: the texts, what was done, by whom and when."""
    clients = memory.clients(each.entry.session for each in changes)
    told = [
        line
        for each in changes
        for line in pages.change(
            each,
            memory.clock,
            is_edit=each.entry.op == Op.ADD and bool(corrected(memory, each.entry)),
            client=client_title(clients.get(each.entry.session, "")),
        )
    ]
    print("\n".join(told) or "Nothing yet.")
    return 0


def _show_entries(entries: list[Entry], arguments: argparse.Namespace) -> int:
    """Print changes, each with its number, when, what, who and where."""
    lines = [
        f"{entry.position:>8}  {entry.at}  {paint(f'{_deed(entry):<8}', 'cyan')}  {_who(entry)}  "
        f"{one_line(', '.join(entry.documents()))}  {one_line(' '.join(entry.ids[:3]))}"
        for entry in entries
    ]
    data = [_entry_data(entry) for entry in entries]
    show(Answer(data, "\n".join(lines) or "Nothing yet."), as_json=arguments.json)
    return 0


def _deed(entry: Entry) -> str:
    """What was done; of an undo or a redo, to which change."""
    return entry.op if entry.undoes < 0 else f"{entry.op} of {entry.undoes}"


def _who(entry: Entry) -> str:
    session = one_line(entry.session)
    return (entry.origin or "unknown") + (f" ({session})" if session else "")


def _entry_data(entry: Entry) -> dict[str, Any]:
    return {
        "change": entry.position,
        "at": entry.at,
        "op": entry.op,
        "origin": entry.origin,
        "session": entry.session,
        "documents": entry.documents(),
        "ids": entry.ids,
        "removed": entry.removed,
        "lines": entry.lines,
        "undoes": None if entry.undoes < 0 else entry.undoes,
    }


def blame_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("document", help="such as MEMORY.md")


def blame(arguments: argparse.Namespace) -> int:
    """Show who wrote each line of a document, and when."""
    with open_memory(arguments) as memory:
        found = memory.blame(arguments.document)
    data = [
        {
            "line": line.line,
            "text": _without_end(line.text),
            "at": line.entry.at if line.entry else None,
            "origin": line.entry.origin if line.entry else None,
            "session": line.entry.session if line.entry else None,
            "change": line.entry.position if line.entry else None,
        }
        for line in found
    ]
    shown = [
        f"{line.entry.at[:19] if line.entry else 'before':<19}  "
        f"{_who(line.entry) if line.entry else '-':<12}  {line.line:>4}  "
        f"{neutralise(_without_end(line.text))}"
        for line in found
    ]
    show(Answer(data, "\n".join(shown)), as_json=arguments.json)
    return 0


def _without_end(line: str) -> str:
    """A line of a document whose lines end as on Windows, as it is shown."""
    return line.removesuffix("\r")


def restore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("document", nargs="?", default="", help="one document; else all")
    parser.add_argument("--as-of", required=True, metavar="TIME", help="ISO 8601")
    parser.add_argument("--show", action="store_true", help="only print the text of that time")


def restore(arguments: argparse.Namespace) -> int:
    """Restore one document, or all of them, to an earlier time. Can be undone.

    Restoring all also removes the documents made since, except diary entries and files that were
    put there by hand.
    """
    from commonplace.model.clock import parse_stamp

    try:
        moment = parse_stamp(arguments.as_of)
    except ValueError:
        raise BadValue(
            "--as-of", f"{arguments.as_of!r} is no time", next_step="Use 2026-11-15T14:30."
        ) from None
    with open_memory(arguments) as memory:
        memory.library.refresh()
        if arguments.show:
            text = memory.text_at(arguments.document, moment)
            show(Answer({"text": text}, neutralise(text)), as_json=arguments.json)
            return 0
        done = memory.restore(moment, arguments.document)
    data = {"restored": done.documents, "removed": done.removed}
    show(Answer(data, _restored(done)), as_json=arguments.json)
    return 0


def _restored(done: Restored) -> str:
    restored = f"Restored {', '.join(done.documents)}." if done.documents else ""
    removed = f"Took away {', '.join(done.removed)}." if done.removed else ""
    return f"{restored} {removed}".strip() or "Nothing differs from what was there then."


def put_back_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("change", nargs="?", type=int, metavar="NUMBER", help="none: list them")
    parser.add_argument(
        "--dismiss", action="store_true", help="leave it out, and say no more of it"
    )


def put_back(arguments: argparse.Namespace) -> int:
    """Put back lines that another program's save took out soon after they were written.

    Such a save may have deleted them, or have been made from an older text. The lines go to the
    end of their document. Can be undone.
    """
    if arguments.dismiss and arguments.change is None:
        raise BadValue("NUMBER", "it is missing", next_step="commonplace put-back lists them.")
    with open_memory(arguments) as memory:
        memory.library.refresh()
        if arguments.change is None:
            answer = _taken_out(memory)
        elif arguments.dismiss:
            memory.dismiss(arguments.change)
            answer = Answer({"dismissed": arguments.change}, "It stays as the save left it.")
        else:
            back = [record_lines.plain(line).strip() for line in memory.put_back(arguments.change)]
            said = "\n".join(map(one_line, back))
            answer = Answer(
                {"put_back": back}, f"Put back:\n{said}" if back else "It is all there."
            )
    show(answer, as_json=arguments.json)
    return 0


def _taken_out(memory: Memory) -> Answer:
    data, rows = [], []
    for notice in memory.notices():
        if not notice.pieces:
            continue
        taken = undo.taken_lines(memory.library, notice).values()
        said = [one_line(record_lines.plain(line).strip()) for line in taken]
        rows += [f"{notice.change}  {notice.document}, {notice.at}", *(f"    {it}" for it in said)]
        data.append({"change": notice.change, "document": notice.document, "lines": said})
    text = "\n".join(rows) or "No save has taken out what was just written."
    return Answer(data, text)


def conflicts_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="*", metavar="COPY", help="only these; none: all there are")
    parser.add_argument("--merge", action="store_true", help="unite them with their documents")


def conflicts(arguments: argparse.Namespace) -> int:
    """List the copies that sync programs made of documents, and what each has that is new.

    With --merge each is united with its document and taken away: nothing of either is dropped, and
    what was deleted here stays deleted. Can be undone.
    """
    with open_memory(arguments) as memory:
        memory.library.refresh()
        names = arguments.name or list(copies.copies_in(memory.library))
        if arguments.merge:
            done = memory.unite_copies(names)
        else:
            done = [copies.preview(memory.library, name) for name in names]
    said = "added to" if arguments.merge else "lacking in"
    rows = []
    for each in done:
        new = [f"  + {one_line(record_lines.plain(line))}" for line in each.added]
        rows += [f"{each.copy}: {len(each.added)} lines {said} {each.document}", *new]
    text = "\n".join(rows) or "No sync program has left a copy of a document."
    show(Answer([asdict(each) for each in done], text), as_json=arguments.json)
    return 0


def tool_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="", help="the tool; none: list them")
    parser.add_argument("arguments", nargs="?", default="{}", help="a JSON object, or - for stdin")


def tool(arguments: argparse.Namespace) -> int:
    """Call any tool with JSON in, and print its own answer."""
    from commonplace import tools
    from commonplace.doors.processes import agent_run

    dialect = tool_dialect(arguments)
    if not arguments.name:
        listed = [
            {"name": each.name, "description": each.description, "inputSchema": each.schema()}
            for each in tools.table(dialect).values()
        ]
        shown = "\n".join(f"{each['name']}: {each['description']}" for each in listed)
        show(Answer(listed, shown), as_json=arguments.json)
        return 0
    given = tools.parse_arguments(said(arguments.arguments))
    with open_memory(arguments, for_tools=True) as memory:
        memory.for_agents = True
        memory.run = lambda: agent_run() or memory.clock.today().isoformat()
        wait_for_vectors(memory)
        answer = tools.call(memory, arguments.name, given, dialect=dialect)
    show(answer, as_json=arguments.json)
    return 0


def ipc_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="tool.invoke.NAME", help="the tool")
    parser.add_argument("arguments", nargs="?", default="{}", help="a JSON object")


def ipc(arguments: argparse.Namespace) -> int:
    """The same as 'tool', in the form 'ipc tool.invoke.NAME JSON'."""
    prefix, _, name = arguments.name.rpartition("tool.invoke.")
    if prefix or not name:
        raise BadValue("name", f"{arguments.name!r} is not known", next_step="tool.invoke.NAME")
    arguments.name = name
    return tool(arguments)
