"""Examine a vault and say what is wrong, with the command that mends it. Changes nothing."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.history.sqlite import SqliteHistory
from commonplace.library.copies import copies_in
from commonplace.markdown.layouts import SKIPPED, flaw_of
from commonplace.memory import Memory
from commonplace.model.clock import Clock, stamp
from commonplace.model.errors import BadModel, BadOption, CommonplaceError, NoDirectory
from commonplace.model.options import is_url
from commonplace.opening import HISTORY, find_root
from commonplace.search.encoders import minilm
from commonplace.search.index import Query
from commonplace.storage import error_log
from commonplace.storage.machine_files import is_shared
from commonplace.storage.option_files import MEND_UNREAD
from commonplace.storage.state_places import STATE, strange_in
from commonplace.storage.trusted import command_for, data_directory, trusted
from commonplace.trust.neutralise import neutralise, one_line
from commonplace.upkeep import heartbeat, schedule

if TYPE_CHECKING:
    from commonplace.postgres.connection import Database

ENOUGH = 100 * 1024 * 1024
LATELY = timedelta(days=7)
CROWDED = 0.9
MOST = 20
"""How many of one kind are listed."""
SERVER = """
select current_setting('server_version'), (select count(*) from pg_stat_activity),
    current_setting('max_connections')::int
"""
# The row is the lock: the transaction that has it is noted there, and says whose it is. It is asked
# of the server that has the row.
HOLDERS = """
select pid, application_name from profile, pg_stat_get_activity(null)
where profile = %s and backend_xid = xmax
"""
PROGRAMS = "select pid, application_name from pg_stat_activity where pid = any(%s)"
OF_A_CLUSTER = re.compile(r"citus_\w+ gpid=(\d+)")
"""How a server of a cluster names whom it works for: by the server where clients connect, and by
the backend there.
"""
OF_ONE_SERVER = 10**10
"""Backends that have a number on one server."""


class Check(Struct, frozen=True):
    """One thing that was looked at: fine, or what is wrong and what to do about it."""

    what: str
    good: bool
    says: str
    fix: str = ""


def examine(memory: Memory) -> list[Check]:
    """Every check, in the order a person would make them."""
    return [
        *_machine(),
        *_own_data(),
        *(_server(memory) if memory.parts.database else _directory(memory)),
        *_options(memory),
        *_documents(memory),
        *_copies(memory),
        *_hollow(memory),
        *_notices(memory),
        *_index(memory),
        *_encoder(memory),
        *_journal(memory),
        *_hooks(memory.clock),
        *_paused(memory),
        *_upkeep(memory),
        *_history(memory),
        *_heartbeat(memory),
        *_other_memories(memory),
    ]


def examine_closed(path: str, error: CommonplaceError) -> list[Check]:
    """The checks of a vault that does not open, and the reason."""
    what = "options" if isinstance(error, BadOption) else "vault"
    return [
        *_machine(),
        *_own_data(),
        Check(what, False, error.what, error.next_step),
        *(() if is_url(path) else _closed_directory(find_root(path))),
        *_hooks(Clock()),
    ]


def _encoder(memory: Memory) -> Iterator[Check]:
    """The weights of the extra `embeddings`, where they are used."""
    if memory.options.encoder in ("auto", "minilm") and minilm.is_there():
        try:
            yield Check("encoder", True, f"minilm at {minilm.checked_file()}")
        except BadModel as error:
            yield Check("encoder", False, error.what, error.next_step)


def _closed_directory(root: str) -> Iterator[Check]:
    yield _disk(root)
    yield _linked(root)
    yield from _strange_state(root)
    yield _trusted(root, "")
    yield _leftovers(root)


def _machine() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", sys.version_info >= (3, 11), version, "Install Python 3.11 or newer.")
    with closing(sqlite3.connect(":memory:")) as db:
        options = {row[0] for row in db.execute("PRAGMA compile_options")}
    there = "ENABLE_FTS5" in options
    yield Check(
        "sqlite",
        there,
        f"{sqlite3.sqlite_version}, full-text search {'there' if there else 'missing'}",
        "Use a Python whose sqlite3 has FTS5.",
    )


def _own_data() -> Iterator[Check]:
    """The directories with this user's own data that others may look into."""
    own = data_directory()
    with suppress(FileNotFoundError):
        for path in (own, *sorted(os.path.join(own, name) for name in os.listdir(own))):
            if os.path.isdir(path) and os.stat(path).st_mode & 0o077:
                says = f"{path} can be read by others"
                yield Check("privacy", False, says, f"chmod go= {shlex.quote(path)}")


def _server(memory: Memory) -> Iterator[Check]:
    database = memory.parts.database
    assert database is not None
    engine = database.engine
    where = f"{memory.shown}, dialect {memory.layout.name}"
    yield Check(
        "vault",
        not memory.read_only,
        where + (", a replica that takes no writes" if memory.read_only else ""),
        "Name the primary server in the URL.",
    )
    [(version, used, most)] = database.rows(SERVER)
    pooled = database.is_pooled
    through = ", through a pooler: each transaction is told the profile" if pooled else ""
    yield Check("server", True, f"PostgreSQL {version}{through}")
    yield Check(
        "connections",
        used < CROWDED * most,
        f"{used} of {most} are in use",
        "Raise max_connections there, or put a pooler before it.",
    )
    yield Check(
        "vectors",
        not engine.without_vectors,
        engine.without_vectors or f"pgvector {'.'.join(map(str, engine.vectors))}",
        "Install pgvector there, have its owner say 'create extension vector', then: "
        "commonplace rebuild",
    )
    if engine.citus:
        yield _spread(database)
    holders = _holders(database)
    yield Check(
        "lock",
        not holders,
        "; ".join(f"held by {name or 'a program'} (backend {pid})" for pid, name in holders)
        or "free",
        "Wait for it; a client that is gone loses it within a minute.",
    )


def _spread(database: Database) -> Check:
    from commonplace.postgres.distribution import WHOLE

    whole = len(database.rows(WHOLE))
    return Check(
        "cluster",
        not whole,
        f"Citus, with {whole} tables on one server still" if whole else "Citus; tables are spread",
        "commonplace upgrade URL --distribute",
    )


def _holders(database: Database) -> list[tuple[Any, ...]]:
    """The backends that hold the profile, with their programs: where clients connect."""
    found = database.rows(HOLDERS, (database.profile,))
    told = [(pid, OF_A_CLUSTER.match(name or "")) for pid, name in found]
    if not any(match for _, match in told):
        return found
    pids = [int(match[1]) % OF_ONE_SERVER if match else pid for pid, match in told]
    return database.rows(PROGRAMS, (pids,))


def _directory(memory: Memory) -> Iterator[Check]:
    yield from _place(memory)
    yield _trusted(memory.parts.root, memory.parts.distrusted)
    yield from _in_the_way(memory)
    yield from _lock(memory)
    yield from _names(memory)
    yield _leftovers(memory.parts.root)


def _leftovers(root: str) -> Check:
    leftovers = list(Path(root).rglob(".mem-*.tmp*"))
    return Check(
        "leftovers",
        not leftovers,
        f"{len(leftovers)} of interrupted saves" if leftovers else "none of interrupted saves",
        "Look at them and delete them: find . -name '.mem-*.tmp*'",
    )


def _trusted(root: str, distrusted: str) -> Check:
    says = (
        "by hand" if trusted(root) else "not by hand: hooks and MCP use it only where it is named"
    )
    return Check("trusted", not distrusted, distrusted or says, command_for(root))


def _options(memory: Memory) -> Iterator[Check]:
    for says in memory.parts.unread:
        yield Check("options", False, says, MEND_UNREAD)


def _place(memory: Memory) -> Iterator[Check]:
    yield Check(
        "vault",
        not memory.read_only,
        f"{memory.root}, dialect {memory.layout.name}"
        + (", read-only" if memory.read_only else ""),
        "Give this user write permission, or set state_dir to a place that has it.",
    )
    yield _disk(memory.parts.root)
    loose = [name for name in memory.documents() if _is_loose(memory, name)]
    yield Check(
        "privacy",
        not loose,
        f"{len(loose)} documents can be read by others" if loose else "only you can read it",
        f"chmod -R go= {shlex.quote(memory.parts.root)}",
    )
    yield _linked(memory.parts.root)
    yield from _state(memory)


def _in_the_way(memory: Memory) -> Iterator[Check]:
    """Files and links in the place of a directory for documents."""
    layout = memory.layout
    places = (layout.daily, layout.diary, layout.archive, layout.trims_to)
    for place in sorted({each.rpartition("/")[0] for each in places} - {"", "."}):
        try:
            memory.library.stat(f"{place}/any.md")
        except NoDirectory as error:
            yield Check("place", False, f"{error.place} {error.why}", error.next_step)


def _disk(root: str) -> Check:
    free = shutil.disk_usage(root).free
    return Check("disk", free > ENOUGH, f"{free / 1e9:.1f} GB free", "Free some space.")


def _linked(root: str) -> Check:
    links = sorted(_links(root))
    return Check(
        "links",
        not links,
        f"{', '.join(links[:3])}: links are not followed" if links else "none",
        "Put the file itself, or the directory, into the vault.",
    )


def _links(root: str) -> Iterator[str]:
    """Links where a document, or a directory of documents, would be read."""
    for directory, below, files in os.walk(root):
        below[:] = [name for name in below if name[0] != "." and name not in SKIPPED]
        for name in (*below, *files):
            path = os.path.join(directory, name)
            if os.path.islink(path) and (name.endswith(".md") or not os.path.isfile(path)):
                yield one_line(os.path.relpath(path, root))


def _state(memory: Memory) -> Iterator[Check]:
    """Where the machine state is, and which files of `.commonplace` are not used."""
    strange = [*_strange_state(memory.parts.root)]
    if memory.parts.apart:
        yield Check("state", False, memory.parts.apart)
    elif not strange:
        yield Check("state", True, f"{memory.state_path}, of plain files that are yours")
    yield from strange


def _strange_state(root: str) -> Iterator[Check]:
    inside = os.path.join(root, STATE)
    strange = sorted(strange_in(inside, shared=is_shared(inside), deep=True))
    for name, flaw in strange[:MOST]:
        says = f"{one_line(name)} is not used: {flaw}"
        yield Check(
            "state", False, says, f"Look at what it is, and delete it: ls -l {shlex.quote(inside)}"
        )


def _lock(memory: Memory) -> Iterator[Check]:
    holders = lock_holders(memory.state / "lock")
    yield Check(
        "lock",
        not holders,
        f"held by process {', '.join(map(str, holders))}" if holders else "free",
        "Wait for it, or look what that process does: ps -p NUMBER",
    )


def lock_holders(path: Path) -> list[int]:
    """The processes that hold a file's lock, where the system tells."""
    try:
        inode = os.stat(path).st_ino
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return []
    return [int(row[4]) for row in rows if "->" not in row and row[5].endswith(f":{inode}")]


def _is_loose(memory: Memory, name: str) -> bool:
    return bool(stat.S_IMODE(os.stat(memory.root / name).st_mode) & 0o077)


def _documents(memory: Memory) -> Iterator[Check]:
    problems = memory.problems()
    for problem in problems[:MOST]:
        if problem.line:
            says = f"{problem.document}:{problem.line} {problem.what}"
            yield Check("document", False, says, "Mend the line in an editor.")
        else:
            yield Check("document", False, problem.what, "Until then nothing of it is told.")
    if not problems:
        yield Check("documents", True, f"{len(memory.documents())} read without a problem")
    elif len(problems) > MOST:
        yield Check("document", False, f"… and {len(problems) - MOST} more", "")


def _copies(memory: Memory) -> Iterator[Check]:
    """Conflict copies that sync programs put beside documents."""
    for name, original in copies_in(memory.library).items():
        says = f"{one_line(name)} is a copy of {one_line(original)}, as sync programs make them"
        yield Check("copy", False, says, "commonplace conflicts --merge")


def _notices(memory: Memory) -> Iterator[Check]:
    """Notices about edits by others that nobody has settled."""
    memory.library.refresh()
    notices = memory.notices()
    for notice in notices[-MOST:]:
        yield Check("edit", False, notice.says, notice.fix)
    if not notices:
        yield Check("edits", True, "no save took out what was just written")


def _hollow(memory: Memory) -> Iterator[Check]:
    """Documents in which a power cut, or another program, left NUL bytes."""
    for name in memory.documents():
        with suppress(CommonplaceError):
            count = memory.library.read(name).count(b"\0")
            if count:
                yield Check(
                    "hollow",
                    False,
                    f"{name} holds {count:,} NUL bytes, where a text may be missing",
                    f"Look at 'commonplace blame {name}' for what is known of it, then delete them "
                    "in an editor.",
                )


def _names(memory: Memory) -> Iterator[Check]:
    """Markdown files that are ignored, though somebody may count on them."""
    strange = sorted(_misnamed(memory))
    for name, why in strange[:MOST]:
        says = f"{one_line(name)} is no document: {why}"
        yield Check("name", False, says, "Rename or move it, and it is read and found.")
    if len(strange) > MOST:
        yield Check("name", False, f"… and {len(strange) - MOST} more", "")


def _misnamed(memory: Memory) -> Iterator[tuple[str, str]]:
    for directory, below, files in os.walk(memory.root):
        below[:] = [name for name in below if name[0] != "." and name not in SKIPPED]
        for file in files:
            path = os.path.join(directory, file)
            name = os.path.relpath(path, memory.root).replace(os.sep, "/")
            looks = file[0] != "." and file.lower().endswith(".md") and not os.path.islink(path)
            if looks and memory.layout.holds(name) and (why := flaw_of(name)):
                yield name, why


def _index(memory: Memory) -> Iterator[Check]:
    index = memory.parts.index
    memory.library.refresh()
    ill = index.healthy()
    count = index.count(Query(include_superseded=True, include_secret=True))
    says = ill or f"level with the documents, entries: {count:,}, {index.size() / 1e6:.1f} MB"
    yield Check("index", not ill, says, "commonplace rebuild")


def _journal(memory: Memory) -> Iterator[Check]:
    journal = memory.parts.journal
    total, last = 0, ""
    for entry in journal.entries():
        total, last = total + 1, entry.at
    damaged = journal.damaged()
    says = f"{total:,} changes, {journal.end() / 1e6:.1f} MB" + (f", last {last}" if last else "")
    yield Check(
        "journal",
        not damaged,
        says + (f", {damaged} lines cannot be read" if damaged else ""),
        "Nothing to do: the documents are whole; only history is missing those changes.",
    )


def _hooks(clock: Clock) -> Iterator[Check]:
    """Errors of hooks, which show nothing to anybody."""
    since = stamp(clock.now() - LATELY)
    lines = [line for line in error_log.last(1000) if line >= since]
    for line in lines[-5:]:
        yield Check("hook", False, neutralise(line), "")
    yield Check(
        "hooks",
        not lines,
        f"{len(lines)} went wrong in the last 7 days" if lines else "none went wrong lately",
        f"When it is mended, delete {error_log.log_path()}",
    )


def _paused(memory: Memory) -> Iterator[Check]:
    """Pauses that hold: nothing is wrong, but whoever asks why nothing is remembered looks here."""
    from commonplace.memory.pausing import sentence

    for each in memory.library.pauses.now(at=memory.clock.stamp()):
        yield Check("paused", True, sentence(each, memory.clock))


def _upkeep(memory: Memory) -> Iterator[Check]:
    failed = schedule.failures(memory.notes)
    for run in failed:
        says = f"{run.name} failed on {memory.clock.day_of(run.at)}: {run.what}"
        yield Check("upkeep", False, says, f"commonplace upkeep --once --job {run.name}")
    late = memory.schedule().late()
    for says in late:
        yield Check("upkeep", False, says, "commonplace upkeep --once")
    if not failed and not late:
        yield Check("upkeep", True, schedule.told(memory.notes) or "nothing has run yet")


def _history(memory: Memory) -> Iterator[Check]:
    if not memory.parts.has_history():
        return
    try:
        history = memory.messages
        ill = history.healthy()
        says = ill or f"{history.count():,} messages, {history.size() / 1e6:.1f} MB"
        fix = (
            "Load your last dump into a new vault."
            if memory.parts.database or memory.options.history
            else "Move history.db away, keep it for repair, and load your last dump into a new one."
        )
    except CommonplaceError as error:
        ill = says = error.what
        fix = error.next_step
    yield Check("history", not ill, says, fix)
    yield from _left_behind(memory)


def _left_behind(memory: Memory) -> Iterator[Check]:
    """Messages in the file, where the option `history` has them looked for elsewhere."""
    file = memory.state / HISTORY
    if memory.parts.database or not memory.options.history or not file.exists():
        return
    with closing(SqliteHistory(file)) as history:
        count = history.count()
    yield Check(
        "history",
        not count,
        f"{count:,} messages are in {file}, and the option history names another place",
        "COMMONPLACE_HISTORY= commonplace history dump FILE; commonplace history load FILE; then "
        f"move {file} away.",
    )


def _heartbeat(memory: Memory) -> Iterator[Check]:
    log = heartbeat.Log(memory.notes)
    beats = log.read()
    if beats:
        bad = beats[-1].outcome in (heartbeat.Outcome.FAILED, heartbeat.Outcome.TIMED_OUT)
        fix = "Try the command by hand; 'commonplace status' tells how the last beats went."
        yield Check("heartbeat", not bad, heartbeat.told(memory.notes), fix)


def _other_memories(memory: Memory) -> Iterator[Check]:
    """Second memories of the clients that use this vault: an agent with two asks the wrong one."""
    from commonplace.doors.setup.connections import clients_here, here, vault_of
    from commonplace.doors.setup.copying import uncopied
    from commonplace.doors.setup.memory_entries import commands, entries_of, told

    where, vault = here(), vault_of(memory)
    for client in clients_here(vault, where=where):
        for other in client.memories if client.connected else ():
            entries = entries_of(other, where)
            if entries.found and not uncopied(memory, entries.found):
                says = f"{told(other, entries)} All of that was copied here."
                yield Check("memories", True, says)
            else:
                fix = commands(other, entries, vault=vault)
                yield Check("memories", False, told(other, entries), fix)
