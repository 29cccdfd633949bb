"""Vaults as a stranger could make them, opened by every door.

    python3 -m tests.laws.hostile_vaults --count 2000 [--seed N] [--only NUMBER]

Each is a vault in which some things are not what they should be: links, hard links, pipes, devices,
names, modes, owners, state that git keeps, keys of commonplace.toml, contents of machine files. A
process of its own reads and writes it by the command line, hooks, MCP, the gateway and Python. The
law: no byte is written outside of the vault and of the user's own data, and none of a secret is
read, no process is started, no address is reached, nobody waits, and each door answers or says what
is wrong. The exit code is 1 when anything of this does not hold. As root owners and devices too.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import shutil
import signal
import socket
import stat
import struct
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from starlette.testclient import TestClient

import commonplace
from commonplace.doors.admin.init import begin
from commonplace.doors.cli.main import main as cli
from commonplace.doors.hooks.main import main as hook
from commonplace.doors.http import server
from commonplace.history.messages import Message
from commonplace.markdown.layouts import LAYOUTS
from commonplace.memory import Memory
from commonplace.model.errors import CommonplaceError
from commonplace.storage.state_places import STATE

SECONDS = 60
"""After which a door that still waits is hung: each takes a fraction of one."""
SHOWN = 5
QUICK = "/dev/shm"
CANARY = "canary-of-the-private-key"
DIALECTS = ("native", "native", "native", "earl", "claw", "journal", "notebook")
OWN = (".local/share/commonplace", ".local/state/commonplace")
"""Where programs of ours keep what is the user's, below the home."""
STATE_NAMES = (
    "journal.jsonl", "heads.json", "lock", "notes.lock", "dialect", "vault", ".gitignore",
    "index.db", "index.db-wal", "index.db-shm", "index.db-journal",
    "history.db", "history.db-wal", "token", "notices.json",
    "schedule.json", "heartbeat.jsonl", "compactions.jsonl", "tombstones.json", "upkeep.lock",
    "compaction.lock", "versions", "sessions", "leases", "views", "spool", "setup", "versions/aa",
    "spool/aa.json", "setup/claude.json", "sessions/aa.json", "leases/aa.json", "leases/aa.held",
)  # fmt: skip
NAMES = (
    "$(touch x).md", "`touch x`.md", "-rf.md", "a\nb.md", "\x1b[31mred.md", "\u202eevil.md",
    "x" * 251 + ".md", "con.md", " .md", "..md", "a;b|c&d.md", "%2e%2e.md", "SOUL.md", "<b>.md",
    "MEMORY (1).md", "MEMORY.sync-conflict-20261115-103015-ABCDEF2.md", "'quoted'.md", "\udcff.md",
)  # fmt: skip
PROCESSES = (
    "subprocess.Popen", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.system",
    "os.spawn", "pty.spawn", "os.startfile", "webbrowser.open",
)  # fmt: skip
ADDRESSES = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
CHANGES = {"os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.truncate": 1, "os.chmod": 1}
CHANGES |= {"os.rename": 2, "os.link": 2, "os.symlink": 2, "os.chown": 1, "os.utime": 1}


@dataclass
class World:
    """A vault, and what stands around it."""

    place: Path
    chance: random.Random
    below: str = ""
    """Where the vault is in its directory, for dialects that say so."""
    done: list[str] = field(default_factory=list)

    @property
    def vault(self) -> Path:
        return self.place / "vault" / self.below

    @property
    def outside(self) -> Path:
        return self.place / "outside"

    @property
    def home(self) -> Path:
        return self.place / "home"

    @property
    def state(self) -> Path:
        return self.vault / STATE

    def path(self, name: str) -> Path:
        """A path in the vault with nothing there, as far as nothing strange is above it."""
        path = self.vault / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path):
            path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def _load_all() -> None:
    """Import every module once, instead of in each process; none of what an extra would bring."""
    for module in walk_packages(commonplace.__path__, "commonplace."):
        with suppress(ImportError):
            import_module(module.name)


def templates(place: Path) -> dict[str, Path]:
    """Vaults of each dialect in which something was done."""
    found = {}
    for dialect in dict.fromkeys(DIALECTS):
        root = place / f"{dialect}-vault"
        begin(root, dialect=dialect)
        with Memory.open(root, session="earlier", origin="owner") as memory:
            memory.store("Prefers tea to coffee", kind="preference")
            stored = memory.store("The garden gate is green")
            memory.search("gate")
            memory.context()
            memory.messages.append(
                [Message("m1", "earlier", "", "", "user", "hello", "2026-11-17T10:00:00.000Z")]
            )
            memory.conversations.note()
            memory.delete(stored.id)
            found[dialect] = root
    return found


def made(place: Path, number: int, seed: int, kinds: dict[str, Path]) -> World:
    """The world of one number."""
    world = World(place, random.Random(f"{seed}/{number}"))
    world.home.mkdir(parents=True)
    (world.home / ".ssh").mkdir()
    (world.home / ".ssh" / "id_rsa").write_text(f"{CANARY}\n")
    (world.home / ".bashrc").write_text("# rc\n")
    (world.outside / "directory").mkdir(parents=True)
    (world.outside / "file").write_text("# theirs\n")
    (world.outside / "data.json").write_text("{}")
    shutil.copytree(kinds["native"], world.outside / "other")
    (place / "tmp").mkdir()
    dialect = world.chance.choice(DIALECTS)
    world.done.append(dialect)
    shutil.copytree(kinds[dialect], world.place / "vault", symlinks=True)
    world.below = LAYOUTS[dialect].subdirectory
    for _ in range(world.chance.randint(1, 4)):
        trick = world.chance.choice(TRICKS)
        with suppress(OSError):  # One trick may be in the way of another.
            trick(world)
    return world


def strange(world: World, path: Path) -> None:
    """Put something there that is no plain file of the user's."""
    chance, outside = world.chance, world.outside
    kinds: dict[str, Callable[[], object]] = {
        "link": lambda: path.symlink_to(chance.choice([outside / "file", world.home / ".bashrc"])),
        "link to a secret": lambda: path.symlink_to(world.home / ".ssh" / "id_rsa"),
        "relative link": lambda: path.symlink_to(os.path.relpath(outside / "file", path.parent)),
        "link to a directory": lambda: path.symlink_to(outside / "directory"),
        "link to nothing": lambda: path.symlink_to(outside / "new"),
        "link to another vault": lambda: path.symlink_to(outside / "other" / STATE / path.name),
        "link to itself": lambda: path.symlink_to(path.name),
        "link to zeros": lambda: path.symlink_to("/dev/zero"),
        "link to the terminal": lambda: path.symlink_to("/dev/tty"),
        "hard link": lambda: os.link(outside / chance.choice(["file", "data.json"]), path),
        "pipe": lambda: os.mkfifo(path),
        "socket": lambda: _socket(path),
        "directory": path.mkdir,
    }
    if os.geteuid() == 0:
        number = chance.choice([3, 5, 7, 8])
        kinds["device"] = lambda: os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, number))
    name = chance.choice(sorted(kinds))
    kinds[name]()
    world.done.append(f"{path.relative_to(world.vault)}: {name}")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made, suppress(OSError):
        made.bind(str(path))


def strange_state_file(world: World) -> None:
    there = [str(path.relative_to(world.state)) for path in world.state.rglob("*")]
    names = world.chance.choice([STATE_NAMES, sorted(there) or STATE_NAMES])
    strange(world, world.path(f"{STATE}/{world.chance.choice(names)}"))


def strange_state(world: World) -> None:
    path = world.path(STATE)
    if world.chance.random() < 0.5:
        path.symlink_to(world.outside / "other" / STATE)
        world.done.append(f"{STATE}: link to another vault's")
    else:
        strange(world, path)


def strange_document(world: World) -> None:
    names = ["MEMORY.md", "SOUL.md", "USER.md", "LONGMEMORY.md", "memory", "diary", "archive"]
    names += ["memory/2026-11-17.md", "notes.md", "a/b.md", "a", "HEARTBEAT.md", "tmp"]
    strange(world, world.path(world.chance.choice(names)))


def strange_beside(world: World) -> None:
    names = ["commonplace.toml", "openclaw.json", ".gitignore", ".git", ".mem-0a1b2c.tmp"]
    names += [".MEMORY.md.swp", ".#MEMORY.md", "tmp/memory-compaction.lock", ".git/index", ".hg"]
    names += ["tmp/memory-embeddings.json", "tmp/experience-store.json", ".svn/wc.db"]
    strange(world, world.path(world.chance.choice(names)))


def strange_name(world: World) -> None:
    name = world.chance.choice(NAMES)
    world.path(world.chance.choice(["", "memory/", "diary/"]) + name).write_text("# hello\n\nx\n")
    world.done.append(f"named {name!a}")


def strange_mode(world: World) -> None:
    path = world.chance.choice([world.vault, *sorted(world.vault.rglob("*"))])
    mode = world.chance.choice([0o000, 0o200, 0o400, 0o500, 0o4777, 0o6755, 0o777, 0o1777])
    if not path.is_symlink():
        path.chmod(mode)
        world.done.append(f"{path.relative_to(world.vault)}: mode {mode:o}")


def strange_owner(world: World) -> None:
    if os.geteuid() == 0:
        path = world.chance.choice([world.vault, world.state, *sorted(world.vault.rglob("*"))])
        if os.path.lexists(path):
            os.chown(path, world.chance.choice([65534, 4711]), 65534, follow_symlinks=False)
            world.done.append(f"{path.relative_to(world.vault)}: another owner")


def tracked(world: World) -> None:
    """The list of a repository that keeps every file of the vault."""
    git = world.path(".git")
    git.mkdir()
    names = sorted(
        os.fsencode(path.relative_to(world.vault))
        for path in world.vault.rglob("*")
        if not path.is_dir()
    )
    entries = b"".join(map(_entry, names))
    (git / "index").write_bytes(b"DIRC" + struct.pack(">II", 2, len(names)) + entries)
    world.done.append("kept by git")


def _entry(name: bytes) -> bytes:
    entry = bytes(60) + struct.pack(">H", min(len(name), 0xFFF)) + name
    return entry + bytes(8 - len(entry) % 8)


def settings(world: World) -> None:
    """Keys that would run, reach or write something."""
    script = f"touch {world.outside}/ran"
    harmful = [
        f'summarizer = "command"\nsummarizer_command = "{script}"',
        f'heartbeat_command = "{script}"\nheartbeat_schedule = "1m"',
        'summarizer = "openai"\nsummarizer_url = "http://127.0.0.1:9/v1"\n'
        "summarizer_daily_tokens = 100000",
        'encoder = "remote"\nencoder_url = "http://127.0.0.1:9/v1"\nencoder_model = "m"',
        'encoder = "onnx"\nencoder_path = "/dev/zero"',
        'history = "postgresql://127.0.0.1:9/x"',
        f'state_dir = "{world.outside}/directory"',
        f'state_dir = "{world.outside}/other/{STATE}"',
        'secrets = "allow"',
        'main_sessions = "*"',
        "document_limit = 0",
        'trust = "open"',
    ]
    harmless = [
        "memory_compaction_enabled = true\nmemory_compaction_threshold_records = 1\n"
        "memory_compaction_min_age_days = 0\nmemory_compaction_schedule = '1m'",
        f'long_memory_path = "{world.chance.choice(["../outside/file", "/etc/passwd"])}"',
        'memory_archive_path = "../../outside/archive.md"\nmemory_max_records = 1',
        'heartbeat_document = "../home/.ssh/id_rsa"',
        "cursorclaw_files = true\nexperience_store_enabled = true",
        'timezone = "../../../etc/passwd"',
        "no such key = 1",
        "not toml [",
    ]
    texts = world.chance.sample(harmful + harmless, world.chance.randint(1, 3))
    if world.chance.random() < 0.2:
        keys = {"summarizerCommand": script, "memoryArchivePath": "../../outside/archive.md"}
        world.path("openclaw.json").write_text(json.dumps({"continuity": keys}))
        world.done.append("openclaw.json")
    else:
        world.path("commonplace.toml").write_text("\n".join(texts) + "\n")
        world.done.append(f"commonplace.toml: {texts}")


def contents(world: World) -> None:
    """Machine files of the right kind that say what they should not."""
    chance = world.chance
    secret = str(world.home / ".ssh" / "id_rsa")
    lines = [
        {"at": "2026-11-17T10:00:00.000Z", "op": "write", "origin": "owner",
         "changes": [["text", chance.choice(["../outside/file", "/etc/x", "a/../../b.md"]), "00"]]},
        {"at": "x", "op": "append", "changes": [["insert", "../outside/new.md", 0, "text"]]},
        {"op": None}, [], 7, {"at": {}, "changes": {"a": 1}},
    ]  # fmt: skip
    texts: dict[str, bytes] = {
        "journal.jsonl": b"\n".join(json.dumps(line).encode() for line in lines) + b"\n",
        "heads.json": json.dumps(
            {"end": chance.choice([-1, 0, 10**9]), "settled": 0, "boot": "",
             "documents": {"../outside/file": [1, 2, 3, 4, 5, 6]},
             "unsettled": {"../outside/file": 0, "../outside/new.md": 1}}
        ).encode(),
        "index.db": bytes(chance.randrange(256) for _ in range(5000)),
        "history.db": b"SQLite format 3\0" + bytes(chance.randrange(256) for _ in range(4096)),
        "spool/aa.json": json.dumps({"session": "s", "transcript": secret}).encode(),
        "setup/claude.json": b'{"/etc/passwd": {"kind": "server", "there": false, "after": ""}}',
        "dialect": b"claw\n" * 1000,
        "vault": os.fsencode(world.outside / "other"),
        "notices.json": b"[" * 100_000,
        "sessions/aa.json": b'{"tainted": "x"}',
        "versions/aa/aa.z": b"\x78\x9c" + bytes(99),
        "schedule.json": b'{"compaction": {"at": "never"}}',
    }  # fmt: skip
    name = chance.choice(sorted(texts))
    world.path(f"{STATE}/{name}").write_bytes(texts[name])
    world.done.append(f"{STATE}/{name}: says what it should not")


TRICKS: tuple[Callable[[World], None], ...] = (
    *(strange_state_file,) * 5,
    *(strange_state, strange_document, strange_document, strange_beside, strange_beside),
    *(strange_name, strange_mode, strange_owner, tracked, settings, settings, contents, contents),
)


def doors(world: World) -> dict[str, Callable[[], object]]:
    """Every way in, each with something to read and something to write."""
    vault, secret = str(world.vault), str(world.home / ".ssh" / "id_rsa")
    call: dict[str, Any] = {"session_id": "s", "cwd": vault, "transcript_path": secret}
    hooks = [
        *(("session-start", {"source": "startup"}), ("prompt-submit", {"prompt": "tea?"})),
        *(("stop", {"last_assistant_message": "tea"}), ("session-end", {"reason": "other"})),
    ]
    named = ["--vault", vault] if world.chance.random() < 0.7 else []
    reading = ["status", "search tea", "brief", "doctor", "log", "context", "review", "scan"]
    writing = ["store hello", "undo", "compact --force", "rebuild", "upkeep --once", "forget tea"]
    found: dict[str, Callable[[], object]] = {
        **{line: partial(cli, [*named, *line.split()]) for line in (*reading, *writing)},
        **{f"hook {event}": partial(_hook, event, {**call, **more}, named)
           for event, more in hooks},
        "mcp": partial(_mcp, named),
        "serve": partial(_gateway, vault, world),
        "python": partial(_python, vault),
    }  # fmt: skip
    order = sorted(found)
    world.chance.shuffle(order)
    # The last, since it takes the standard streams.
    order.sort(key=lambda name: name == "mcp")
    return {name: found[name] for name in order}


def _hook(event: str, call: dict[str, Any], named: list[str]) -> None:
    sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps(call).encode()))
    hook([*named, "hook", event, "--client", "claude"])


def _mcp(named: list[str]) -> None:
    asked = [
        ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                        "clientInfo": {"name": "x", "version": "1"}}),
        ("tools/list", {}),
        ("tools/call", {"name": "store", "arguments": {"text": "Prefers maps", "kind": "fact"}}),
        ("tools/call", {"name": "search", "arguments": {"query": "maps"}}),
        ("resources/list", {}),
    ]  # fmt: skip
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": given})
        for number, (method, given) in enumerate(asked)
    ]
    with tempfile.TemporaryFile() as said:
        said.write("\n".join(lines).encode() + b"\n")
        said.seek(0)
        os.dup2(said.fileno(), 0)
    cli([*named, "mcp"])


def _gateway(vault: str, world: World) -> None:
    port = 8377
    made = server.gateway(
        [vault],
        lambda path, origin: Memory.open(path, origin=origin),
        port=port,
        tokens=world.place / "tmp" / "tokens.json",
    )
    token = made.tokens.add("admin", "admin")
    at = f"/api/vaults/{next(iter(made.vaults.paths))}"
    headers = {"authorization": f"Bearer {token}"}
    with TestClient(
        made.app,
        base_url=f"http://127.0.0.1:{port}",
        headers=headers,
        raise_server_exceptions=False,
    ) as client:
        for path in ("status", "documents", "search?query=tea", "records", "context", "doctor"):
            client.get(f"{at}/{path}")
        client.post(f"{at}/records", json={"text": "From the page"})
        client.post(f"{at}/upkeep", json={})


def _python(vault: str) -> None:
    with Memory.open(vault, session="p") as memory:
        stored = memory.store("Stored from Python")
        memory.search("python tea")
        memory.context("tea")
        memory.conversations.note()
        memory.messages.append(
            [Message("m9", "p", "", "", "user", "hi", "2026-11-17T10:00:00.000Z")]
        )
        memory.delete(stored.id)


@dataclass
class Watch:
    """Sees what a process does, from the inside."""

    allowed: tuple[str, ...]
    door: str = ""
    seen: list[str] = field(default_factory=list)

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if (event in PROCESSES and not _is_errand(given)) or (
            event in ADDRESSES and not _is_local(given)
        ):
            self.seen.append(f"{self.door}: {event} {given!r:.300}")
        elif event == "open" and _writes(given):
            self._look(event, given[:1])
        elif event in CHANGES:
            self._look(event, given[: CHANGES[event]])
        elif event == "sqlite3.connect":
            self._look(event, given[:1])

    def _look(self, event: str, paths: tuple[Any, ...]) -> None:
        """Relative names are below a directory that is held: what is there is compared later."""
        for path in paths:
            name = os.fsdecode(path) if isinstance(path, str | bytes) else ""
            name = name.removeprefix("file://").partition("?")[0] if "sqlite" in event else name
            if name.startswith("/") and not os.path.realpath(name).startswith(self.allowed):
                self.seen.append(f"{self.door}: {event} {name}")


def _writes(given: tuple[Any, ...]) -> bool:
    flags = given[2] if isinstance(given[2], int) else 0
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))


def _is_errand(given: tuple[Any, ...]) -> bool:
    """Upkeep has a process of our own program beside a door that serves."""
    return list(given[1:2]) == [[sys.executable, "-P", "-m", "commonplace.doors.job_process"]]


def _is_local(given: tuple[Any, ...]) -> bool:
    """Pairs of sockets within the process have no address."""
    return len(given) > 1 and given[1] in ("", b"", None)


def run_doors(world: World) -> list[str]:
    """What went wrong, seen from inside of the process that calls this and then ends."""
    place = os.path.realpath(world.place)
    own = tuple(f"{place}/home/{name}" for name in OWN)
    watch = Watch((f"{place}/vault", f"{place}/tmp", *own, "/dev/null", "/proc/self"))
    calls = doors(world)
    sys.addaudithook(watch)
    for name, call in calls.items():
        watch.door = name
        signal.alarm(SECONDS)
        try:
            call()
        except (CommonplaceError, SystemExit):
            pass
        except BaseException:
            watch.seen.append(f"{name}: {traceback.format_exc()[-1500:]}")
    signal.alarm(0)
    return watch.seen


def _environ(world: World) -> None:
    for name in [*os.environ]:
        if name.startswith(("XDG_", "COMMONPLACE_", "CLAUDE", "CODEX")):
            del os.environ[name]
    os.environ.update(HOME=str(world.home), TMPDIR=str(world.place / "tmp"))
    tempfile.tempdir = None
    os.chdir(world.vault)


def looks(*places: Path, without: tuple[Path, ...] = ()) -> dict[str, object]:
    """What is there and how, links as links."""
    found: dict[str, object] = {}
    for place in places:
        for directory, below, files in os.walk(place):
            below[:] = [name for name in below if Path(directory, name) not in without]
            for name in (*below, *files, ""):
                path = Path(directory, name)
                it = path.lstat()
                kept: object = path.read_bytes() if stat.S_ISREG(it.st_mode) else None
                kept = os.readlink(path) if stat.S_ISLNK(it.st_mode) else kept
                found[str(path)] = (it.st_mode, it.st_uid, kept)
    return found


def leaks(world: World) -> Iterator[str]:
    """Files of the vault and of the user's data that say the secret."""
    for place in (world.vault, *(world.home / name for name in OWN), world.place / "tmp"):
        for path in place.rglob("*"):
            with suppress(OSError):
                if path.is_symlink() or not path.is_file():
                    continue
                if CANARY.encode() in path.read_bytes():
                    yield f"{path.relative_to(world.place)} says the secret"


def examined(number: int, seed: int, kinds: dict[str, Path]) -> tuple[list[str], list[str]]:
    """What was strange about a vault, and what went wrong."""
    # Where nobody waits for a disk; every fourth on one, where devices can be opened.
    where = QUICK if number % 4 and os.path.isdir(QUICK) else None
    with tempfile.TemporaryDirectory(
        prefix="hostile-", dir=where, ignore_cleanup_errors=True
    ) as directory:
        world = made(Path(directory).resolve() / "world", number, seed, kinds)
        without = tuple(world.home / name for name in OWN)
        around = (world.outside, world.home)
        for name in OWN:
            (world.home / name).mkdir(parents=True)
        before = looks(*around, without=without)
        wrong = _in_a_process(world)
        after = looks(*around, without=without)
        wrong += [f"changed: {path}" for path in sorted(before.keys() | after.keys())
                  if before.get(path) != after.get(path)]  # fmt: skip
        return world.done, wrong + list(leaks(world))


def _in_a_process(world: World) -> list[str]:
    report = world.place / "report"
    with warnings.catch_warnings():
        # Of a fork beside threads: those of other tests, which the child does not use.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        code = 1
        try:
            with report.open("w") as kept, (world.place / "said").open("w") as said:
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                _environ(world)
                json.dump(run_doors(world), kept)
                kept.flush()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        hung = os.WTERMSIG(status) == signal.SIGALRM
        return [f"a door {'hung' if hung else f'died of signal {os.WTERMSIG(status)}'}"]
    found: list[str] = json.loads(report.read_text() or '["the process ended early"]')
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, default=-1, help="one vault, by its number")
    asked = parser.parse_args()
    numbers = range(asked.count) if asked.only < 0 else [asked.only]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="hostile-kinds-") as directory:
        os.environ["XDG_DATA_HOME"] = f"{directory}/data"
        kinds = templates(Path(directory))
        _load_all()
        for number in numbers:
            done, wrong = examined(number, asked.seed, kinds)
            failed += bool(wrong)
            if wrong:
                print(f"{number} {done}", *wrong[:SHOWN], sep="\n    ", flush=True)
            if number % 100 == 99:
                print(f"{number + 1} vaults, {failed} of them failed", flush=True)
    print(f"{len(numbers)} vaults, {failed} of them failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
