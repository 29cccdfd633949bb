"""The `history` command: what was said in conversations, and what became of one record.

Each word of it is a parser and a few lines that call the core and print. `history ID` is short for
`history record ID`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from commonplace.doors.cli.everyday import meant
from commonplace.doors.cli.main import (
    Run,
    complain,
    open_memory,
    said,
    show,
    standard_input,
    unconfirmed,
    write_letters,
)
from commonplace.doors.cli.parser import AddArguments, add
from commonplace.doors.cli.terminal import paint
from commonplace.model.errors import BadValue
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import neutralise, one_line

if TYPE_CHECKING:
    from commonplace.history.messages import Message, Table
    from commonplace.memory import Memory


def history_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "'commonplace history WORD --help' explains a word."
    words = parser.add_subparsers(
        dest="word", metavar="WORD", required=True, prog="commonplace history"
    )
    for name, (run, add_arguments) in WORDS.items():
        add(words, name, run, add_arguments)


def history(arguments: argparse.Namespace) -> int:
    """Show and search past conversations; with a record id, list every change to the record.

    'history ID' is short for 'history record ID'.
    """
    run, _ = WORDS[arguments.word]
    return run(arguments)


def _record_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a record id")


def record(arguments: argparse.Namespace) -> int:
    """List every change to one record, oldest first."""
    from commonplace.doors.cli.records import show_history

    with open_memory(arguments) as memory:
        memory.library.refresh()
        key = meant(memory, arguments.id)
        entries = memory.history(key)
        if not entries:
            memory.get(key)  # A mistyped word is no record without a past.
        return show_history(memory, entries, arguments)


def _last_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("count", nargs="?", type=int, default=20, help="how many (default 20)")
    parser.add_argument("--agent", default="", help="only with this agent")
    parser.add_argument("--channel", default="", help="only of this channel")
    _all_argument(parser)


def last(arguments: argparse.Namespace) -> int:
    """Show the last messages, oldest first: of --session, or of all sessions without one."""
    with open_memory(arguments) as memory:
        session = _session_looked_at(memory, arguments)
        found = memory.conversations.last(
            arguments.count, agent=arguments.agent, channel=arguments.channel, session=session
        )
    return _show_messages(found, arguments)


def _search_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="words, in any order")
    parser.add_argument("--limit", type=int, default=20, help="most messages (default 20)")
    _all_argument(parser)


def _all_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="of all sessions, also within one")


def _session_looked_at(memory: Memory, arguments: argparse.Namespace) -> str:
    """The session whose messages are meant, empty for all; a client may have named it."""
    if arguments.all or not memory.session:
        return ""
    words = f"history {arguments.word}"
    complain([f"Of session {one_line(memory.session)} alone: '{words} … --all' looks at all."])
    return memory.session


def search(arguments: argparse.Namespace) -> int:
    """Search the messages, best first: of --session, or of all sessions without one."""
    with open_memory(arguments) as memory:
        session = _session_looked_at(memory, arguments)
        found = memory.conversations.search(arguments.text, limit=arguments.limit, session=session)
    return _show_messages(found, arguments)


def _append_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="what was said; '-' reads it from standard input")
    parser.add_argument("--role", required=True, help="user, assistant, system or tool")
    parser.add_argument("--agent", default="", help="which agent it was said to or by")
    parser.add_argument("--channel", default="", help="where it was said")
    parser.add_argument("--id", default="", help="an id of your own; a message that has it stays")


def append(arguments: argparse.Namespace) -> int:
    """Keep one message. It is on disk when its id is printed."""
    text = said(arguments.text)
    with open_memory(arguments) as memory:
        message = memory.conversations.record(
            arguments.role,
            text,
            agent=arguments.agent,
            channel=arguments.channel,
            message_id=arguments.id,
        )
    show(Answer(asdict(message), message.id), as_json=arguments.json)
    return 0


def sessions(arguments: argparse.Namespace) -> int:
    """List the sessions with their number of messages, the last active one first."""
    with open_memory(arguments) as memory:
        found = memory.messages.sessions()
    lines = [
        f"{each.last[:16]}  {each.messages:>7,}  {neutralise(each.session) or '(no name)'}"
        for each in found
    ]
    data = [asdict(each) for each in found]
    show(Answer(data, "\n".join(lines) or "Nothing was said yet."), as_json=arguments.json)
    return 0


def _sql_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("statement", help="one SELECT; '-' reads it from standard input")
    parser.add_argument("--limit", type=int, default=100, help="most rows (default 100)")


def sql(arguments: argparse.Namespace) -> int:
    """Answer one SELECT over the messages; nothing can be changed with it.

    The views are messages(id, session, agent, channel, role, content, time) and
    sessions(session, messages, first, last). Times are UTC, such as 2026-11-15T14:30:00.000Z.
    """
    statement = said(arguments.statement)
    with open_memory(arguments) as memory, _stopped_in_time():
        table = memory.conversations.ask(statement, limit=arguments.limit)
    show(Answer(asdict(table), _tabled(table)), as_json=arguments.json)
    return 0


@contextmanager
def _stopped_in_time() -> Iterator[None]:
    """End the process when one call within SQLite takes so long that nothing else can stop it."""
    from threading import Timer

    from commonplace.history.sql_questions import SQL_LIMITS

    timer = Timer(2 * SQL_LIMITS.seconds, _give_up, [2 * SQL_LIMITS.seconds])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _give_up(seconds: float) -> None:
    import os

    from commonplace.history.sql_questions import too_slow

    error = too_slow(seconds)
    print(f"commonplace: {error}", file=sys.stderr, flush=True)
    # Nothing was written, so there is nothing to put in order.
    os._exit(error.exit_code)


def _tabled(table: Table) -> str:
    lines = [" | ".join(table.columns)]
    lines += [" | ".join(_cell(value) for value in row) for row in table.rows]
    if table.more:
        lines.append("… there is more: raise --limit, or ask for less.")
    if table.cut:
        lines.append(f"… {table.cut} long texts were cut; substr(content, …) shows a part.")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    return "" if value is None else one_line(str(value))


def _reader_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="reader", help="its name (default: reader)")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--list", action="store_true", help="only name those there are")
    action.add_argument("--revoke", action="store_true", help="take it away")


def reader(arguments: argparse.Namespace) -> int:
    """Make a login with which psql reads the messages of a vault in PostgreSQL, and nothing else.

    The URL is shown this once; made again, the reader has a new password.
    """
    from commonplace.postgres import read_only_sql

    with open_memory(arguments) as memory:
        database = memory.parts.in_database()
        if arguments.list:
            names = read_only_sql.readers_of(database)
            answer = Answer({"readers": names}, "\n".join(names) or "There are none.")
        elif arguments.revoke:
            role = read_only_sql.revoke_reader(database, arguments.name)
            answer = Answer({"revoked": role}, f"{role} can no longer log in.")
        else:
            made = read_only_sql.make_reader(database, arguments.name)
            answer = Answer(asdict(made), f"psql '{made.url}'")
    show(answer, as_json=arguments.json)
    return 0


def _dump_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="-", help="where to (default: standard output)")


def dump(arguments: argparse.Namespace) -> int:
    """Write every message as a line of JSON, oldest first."""
    with open_memory(arguments) as memory:
        if arguments.file == "-":
            write_letters(encoding="utf-8")
            for line in memory.messages.dump():
                print(line)
            return 0
        count = _write(arguments.file, memory.messages.dump())
    show(
        Answer({"messages": count, "file": arguments.file}, f"{count:,} messages."),
        as_json=arguments.json,
    )
    return 0


def _write(path: str, lines: Iterator[str]) -> int:
    """Write a file that only its owner may read, whole or not at all."""
    import os

    fresh, count = f"{path}.{os.getpid()}.tmp", 0
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except OSError as error:
        raise _no_file(path, error) from None
    return count


def _load_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a dump; '-' reads standard input")


def load(arguments: argparse.Namespace) -> int:
    """Keep the messages of a dump: all of them, or none when a line is bad.

    Messages that are there already are skipped, so that a dump can be loaded twice.
    """
    with open_memory(arguments) as memory:
        if arguments.file == "-":
            count = memory.conversations.load(standard_input())
        else:
            try:
                with open(arguments.file, encoding="utf-8", errors="surrogateescape") as lines:
                    count = memory.conversations.load(lines)
            except OSError as error:
                raise _no_file(arguments.file, error) from None
    show(Answer({"new": count}, f"{count:,} new messages."), as_json=arguments.json)
    return 0


def _no_file(path: str, error: OSError) -> BadValue:
    return BadValue("file", f"{path}: {error.strerror}", next_step="Name another file.")


def _forget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="*", help="ids of messages")
    parser.add_argument("--query", default="", metavar="TEXT", help="what holds all these words")
    parser.add_argument("--of", default=None, metavar="SESSION", help="a whole session")
    parser.add_argument("--confirm", action="store_true", help="erase it; else it is only shown")


def forget(arguments: argparse.Namespace) -> int:
    """Erase messages for good: by id, by what they say, or a whole session.

    Without --confirm it shows what would be erased, and exits with 4.
    """
    with open_memory(arguments) as memory:
        found = memory.conversations.to_forget(
            ids=arguments.id, query=arguments.query, session=arguments.of
        )
        if not arguments.confirm:
            _show_messages(found, arguments)
            return unconfirmed()
        count = memory.conversations.forget([each.id for each in found])
    show(Answer({"erased": count}, f"Erased {count:,} messages."), as_json=arguments.json)
    return 0


def _show_messages(found: list[Message], arguments: argparse.Namespace) -> int:
    data = [asdict(each) for each in found]
    show(Answer(data, _listed(found) or "Nothing found."), as_json=arguments.json)
    return 0


def _listed(found: list[Message]) -> str:
    return "\n".join(
        f"{each.time[:19]}  {paint(each.role, 'cyan')}  {one_line(each.content)}  "
        f"{paint(f'[{neutralise(each.id)}]', 'dim')}"
        for each in found
    )


WORDS: dict[str, tuple[Run, AddArguments | None]] = {
    "record": (record, _record_arguments),
    "last": (last, _last_arguments),
    "search": (search, _search_arguments),
    "append": (append, _append_arguments),
    "sessions": (sessions, None),
    "sql": (sql, _sql_arguments),
    "reader": (reader, _reader_arguments),
    "dump": (dump, _dump_arguments),
    "load": (load, _load_arguments),
    "forget": (forget, _forget_arguments),
}
