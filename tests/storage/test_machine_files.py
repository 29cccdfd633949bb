"""Machine files of a vault that came from a stranger: links, other names, pipes, other owners.

The law: nothing outside of the vault and of the user's own data is written, nobody waits for a pipe
or follows a link, and what is stored is there afterwards, wherever the state is kept.
"""

from __future__ import annotations

import gc
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest

from commonplace.doors.admin.doctor import examine
from commonplace.doors.admin.init import begin
from commonplace.doors.cli.main import main as cli
from commonplace.doors.hooks import spool
from commonplace.doors.hooks.main import main as hook
from commonplace.doors.mcp.http import token_in
from commonplace.history.messages import Message
from commonplace.memory import Memory
from commonplace.model.errors import CommonplaceError, StrangeFile
from commonplace.search.sqlite import connections
from commonplace.search.sqlite.connections import Connections
from commonplace.storage import error_log
from commonplace.storage.journal_format import entry_in
from commonplace.storage.machine_files import make, opened, read, share, unfinished, write
from commonplace.storage.state_places import STATE, outside_of, strange_in
from commonplace.storage.trusted import trust
from commonplace.storage.version_control import is_kept
from tests.support.programs import needed
from tests.support.skips import skip

AT = "2026-11-17T23:00:00.000Z"
NOBODY, SHARING = 65534, 4700
RC = "# the shell of somebody\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, with what an attacker would like to write to."""
    made = tmp_path / "home"
    made.mkdir()
    (made / ".bashrc").write_text(RC)
    monkeypatch.setenv("HOME", str(made))
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "COMMONPLACE_VAULT"):
        monkeypatch.delenv(name, raising=False)
    return made


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Who waits for a pipe is woken, and fails."""

    def wake(*_: object) -> None:
        raise AssertionError(f"it took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, wake)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def lived_in(root: Path) -> Path:
    """A vault in which something of every kind was done."""
    begin(root, dialect="native")
    with Memory.open(root, session="earlier") as memory:
        memory.store("Prefers tea to coffee", kind="preference")
        memory.update("Some prose about gardens", document="notes.md")
        memory.search("gardens")
        memory.context()
        memory.messages.append([Message("m1", "earlier", "", "", "user", "hello", AT)])
        memory.conversations.note()
        memory.taint("a page")
        memory.undo()
    return root


def used(root: Path) -> str:
    """Do a little of everything. Returns the text that was stored."""
    text = "The printer stands in the cellar"
    with Memory.open(root, session="s") as memory:
        memory.store(text)
        memory.search("printer")
        memory.context()
        memory.messages.append([Message("m2", "s", "", "", "user", "where is it", AT)])
        memory.conversations.note()
        memory.status()
    with Memory.open(root) as memory:
        assert text in {hit.record.text for hit in memory.search("printer cellar")}
    return text


def state_files(root: Path) -> list[str]:
    state = root / STATE
    return sorted(str(path.relative_to(state)) for path in state.rglob("*") if path.is_file())


def everything(*places: Path) -> dict[str, object]:
    """What is in these places, links as links, pipes unread."""
    found: dict[str, object] = {}
    for place in places:
        for path in (place, *sorted(place.rglob("*"))):
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                found[str(path)] = os.readlink(path)
            else:
                found[str(path)] = path.read_bytes() if stat.S_ISREG(mode) else stat.S_IFMT(mode)
    return found


def to_a_file(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "rc")


def to_nothing(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "not there")


def to_another_vault(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "other" / STATE / path.name)


def as_another_name(path: Path, outside: Path) -> None:
    os.link(outside / "rc", path)


def as_a_pipe(path: Path, outside: Path) -> None:
    os.mkfifo(path)


def as_a_directory(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "directory")


ATTACKS: tuple[Callable[[Path, Path], None], ...] = (
    to_a_file,
    to_nothing,
    to_another_vault,
    as_another_name,
    as_a_pipe,
    as_a_directory,
)


def outside_in(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    (outside / "directory").mkdir(parents=True)
    (outside / "rc").write_text(RC)
    lived_in(outside / "other")
    return outside


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_no_machine_file_leads_out_of_a_vault(
    attack: Callable[[Path, Path], None], tmp_path: Path, home: Path
) -> None:
    outside, original = outside_in(tmp_path), lived_in(tmp_path / "original")
    before = everything(outside)
    names = [*state_files(original), *("history.db-wal", "index.db-wal", "notices.json", "token")]
    assert {"journal.jsonl", "heads.json", "lock", "index.db", "history.db"} <= set(names)
    for number, name in enumerate(names):
        root = tmp_path / f"vault{number}"
        shutil.copytree(original, root)
        path = root / STATE / name
        path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        attack(path, outside)
        # Below a directory of the state each file is looked at when it is opened.
        refused = suppress(StrangeFile) if "/" in name else nullcontext()
        with within(60), refused:
            used(root)
        assert everything(outside) == before, name
        assert (home / ".bashrc").read_text() == RC


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_no_state_directory_leads_out_of_a_vault(
    attack: Callable[[Path, Path], None], tmp_path: Path, home: Path
) -> None:
    outside = outside_in(tmp_path)
    before = everything(outside)
    root = tmp_path / "vault"
    root.mkdir()
    (root / "MEMORY.md").write_text("# Notes\n\n- Likes maps\n")
    if attack is to_another_vault:
        (root / STATE).symlink_to(outside / "other" / STATE)
    else:
        attack(root / STATE, outside)
    with within(60):
        used(root)
    assert everything(outside) == before
    with Memory.open(root) as memory:
        assert memory.state_path == outside_of(str(root), os.environ)
        assert memory.parts.apart.startswith(f"Machine state is kept in {memory.state_path}")
        assert memory.parts.apart in memory.status()["troubles"]
        assert STATE in " ".join(each.says for each in examine(memory) if each.what == "state")


def test_a_directory_of_the_state_that_is_a_link_is_not_used(tmp_path: Path, home: Path) -> None:
    outside, root = outside_in(tmp_path), lived_in(tmp_path / "vault")
    before = everything(outside)
    for name in sorted(path.name for path in (root / STATE).iterdir() if path.is_dir()):
        shutil.rmtree(root / STATE / name)
        (root / STATE / name).symlink_to(outside / "directory")
        with within(60):
            used(root)
        assert everything(outside) == before, name
        (root / STATE / name).unlink()


@pytest.mark.parametrize("tracked", [True, False])
def test_a_clone_writes_nothing_into_the_shells_file(
    tracked: bool, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "clone"
    (root / STATE).mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Notes\n")
    (root / "$(touch x).md").write_text("hello\n")
    (root / STATE / "journal.jsonl").symlink_to(home / ".bashrc")
    if tracked:
        _git(root, "init", "-q")
        _git(root, "add", "-A")
    given = json.dumps({"session_id": "s", "cwd": str(root), "hook_event_name": "SessionStart"})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    monkeypatch.chdir(root)
    hook(["--vault", str(root), "hook", "session-start", "--client", "claude"])
    assert (home / ".bashrc").read_text() == RC
    assert [path.name for path in (root / STATE).iterdir()] == ["journal.jsonl"]
    with Memory.open(root) as memory:
        assert memory.state_path.startswith(str(home))


def _git(root: Path, *words: str) -> str:
    git = needed("git", package="git")
    done = subprocess.run(
        [git, *words],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"},
    )
    return done.stdout


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_what_git_keeps_is_read_from_its_list(version: int, form: str, tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q", f"--object-format={form}")
    _git(tmp_path, "config", "index.version", str(version))
    names = (
        *("a.md", ".commonplace-not/x", "deep/.commonplace/x", "mixed/.CommonPlace/journal.jsonl"),
        *(f"long/{'k' * 200}/x", "notours.commonplace/x", ".commonplacf"),
    )
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    _git(tmp_path, "add", "-A")
    (tmp_path / "later").write_text("x")
    _git(tmp_path, "add", "-N", "later")  # Which the third version is for.
    assert [is_kept(tmp_path / each, STATE) for each in ("", "deep", "mixed", "long")] == [
        *(False, True, True, False)
    ]
    (tmp_path / "link").symlink_to(tmp_path / "deep")
    assert is_kept(tmp_path / "link", STATE)
    (tmp_path / STATE).mkdir()
    (tmp_path / STATE / "heads.json").write_text("{}")
    assert not is_kept(tmp_path, STATE)
    _git(tmp_path, "add", "-f", f"{STATE}/heads.json")
    assert is_kept(tmp_path, STATE)
    _git(tmp_path, "update-index", "--split-index")
    assert is_kept(tmp_path, STATE)
    _git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
    _git(tmp_path, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert is_kept(tmp_path / "tree", STATE)
    assert is_kept(tmp_path / "tree" / "deep", STATE)
    assert not is_kept(tmp_path / "tree" / "long", STATE)


@pytest.mark.parametrize("name", [".hg/dirstate", ".jj/working_copy/tree_state", ".svn/wc.db"])
def test_what_other_programs_keep_is_read_from_their_lists(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_bytes(b"\0\1sub/.commonplace/journal.jsonl\2rest")
    (tmp_path / "sub").mkdir()
    assert is_kept(tmp_path / "sub", STATE)
    assert not is_kept(tmp_path / "other", STATE)


@pytest.mark.parametrize("what", ["a pipe", "a link to itself", "rubbish", "a cut list"])
def test_a_list_that_cannot_be_read_keeps_nobody_waiting(what: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    index = tmp_path / ".git" / "index"
    if what == "a pipe":
        os.mkfifo(index)
    elif what == "a link to itself":
        index.symlink_to("index")
    else:
        index.write_bytes(b"DIRC\0\0\0\4\xff\xff\xff\xff" if what == "a cut list" else b"\xff" * 99)
    with within(20):
        assert not is_kept(tmp_path, STATE)


def test_state_that_version_control_keeps_is_used_once_the_vault_is_trusted(
    tmp_path: Path, home: Path
) -> None:
    root = lived_in(tmp_path / "vault")
    _git(root, "init", "-q")
    _git(root, "add", "-f", ".")
    before = everything(root / STATE)
    used(root)
    assert everything(root / STATE) == before
    with Memory.open(root) as memory:
        assert "version control" in memory.parts.apart
        assert memory.state_path == outside_of(str(root), os.environ)
    trust(root, keys="", at=AT)
    with Memory.open(root) as memory:
        assert (memory.state_path, memory.parts.apart) == (str(root / STATE), "")


def test_state_that_was_begun_outside_stays_there_until_it_is_moved(
    tmp_path: Path, home: Path
) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    (root / STATE).symlink_to(tmp_path)
    with Memory.open(root) as memory:
        stored = memory.store("Written while the link was there")
    (root / STATE).unlink()
    with Memory.open(root) as memory:
        assert [entry.ids for entry in memory.log()] == [(stored.id,)]
        assert f"Move it to {root / STATE}" in memory.parts.apart
    shutil.move(outside_of(str(root), os.environ), root / STATE)
    with Memory.open(root) as memory:
        assert [entry.ids for entry in memory.log()] == [(stored.id,)]
        assert (memory.state_path, memory.parts.apart) == (str(root / STATE), "")


def as_root() -> None:
    if os.name == "nt" or os.geteuid():
        skip("only root gives files to others", get="sudo python3 -m pytest")


@pytest.mark.parametrize("name", ["", "journal.jsonl", "versions"])
def test_another_users_state_is_used_only_where_it_is_shared(
    name: str, tmp_path: Path, home: Path
) -> None:
    as_root()
    root = lived_in(tmp_path / "vault")
    os.chown(root / STATE / name, NOBODY, NOBODY)
    before = everything(root / STATE)
    used(root)
    assert everything(root / STATE) == before
    with Memory.open(root) as memory:
        assert f"another user ({NOBODY})" in memory.parts.apart
        assert f"commonplace trust {root} --shared" in memory.parts.apart
    trust(root, keys="", at=AT)
    with Memory.open(root) as memory:
        assert memory.state_path == outside_of(str(root), os.environ)
    trust(root, keys="", at=AT, shared=True)
    with Memory.open(root) as memory:
        assert (memory.state_path, memory.parts.apart) == (str(root / STATE), "")
        memory.store("Stored beside the other user")
        assert not [each for each in examine(memory) if each.what == "state" and not each.good]


def test_two_users_of_a_shared_vault_have_one_lock(tmp_path: Path, home: Path) -> None:
    as_root()
    root = lived_in(tmp_path / "vault")
    for path in (root, *root.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    trust(root, keys="", at=AT, shared=True)
    with Memory.open(root) as ours, ours.library.vault.lock():
        theirs = os.stat(root / STATE / "lock")
        assert theirs.st_uid == NOBODY
        assert f":{theirs.st_ino} " in Path("/proc/locks").read_text()


def _stored_as(user: int, root: Path, home: Path, count: int) -> int:
    """A process of another user that stores records. Returns its id."""
    with warnings.catch_warnings():
        # Of a fork beside threads: those of other tests, which the child does not use.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.environ["HOME"] = str(home)
        os.setgroups([])
        os.setgid(SHARING)
        os.setuid(user)
        trust(root, keys="", at=AT, shared=True)
        for number in range(count):
            with Memory.open(root, session=f"of {user}") as memory:
                assert memory.parts.apart == ""
                memory.store(f"number {number} of {user}")
                memory.search("number")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def test_users_of_a_group_share_a_vault(home: Path) -> None:
    as_root()
    # Not below the directory of the tests, which other users may not enter.
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        root, users, count = Path(directory, "vault"), (4711, 4712), 12
        used(lived_in(Path(directory, "loads every module")))
        homes = [Path(directory, str(user)) for user in users]
        for path, user in ((root, users[0]), *zip(homes, users)):
            path.mkdir(mode=0o700)
            os.chown(path, user, SHARING)
        root.chmod(0o2770)
        # The first makes the vault for itself alone, and shares it later.
        assert os.waitpid(_stored_as(users[0], root, homes[0], 1), 0)[1] == 0
        children = [_stored_as(user, root, home, count) for user, home in zip(users, homes)]
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
        text = "".join(path.read_text() for path in root.rglob("*.md"))
        for user in users:
            assert all(text.count(f"number {number} of {user} ") for number in range(count))
        assert {path.stat().st_uid for path in (root / STATE).glob("lock")} == {users[0]}
        assert not any(list((home / ".local/share/commonplace").glob("state/*")) for home in homes)


def _open_below(root: Path) -> list[str]:
    found = (f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd"))
    places = [os.readlink(each) for each in found if os.path.lexists(each)]
    return [place for place in places if place.startswith(str(root))]


def test_a_memory_that_is_dropped_unclosed_keeps_no_file_open(tmp_path: Path) -> None:
    if not os.path.isdir("/proc/self/fd"):
        skip("what is open is not told here", get="Linux")
    memory: Memory | None = Memory.open(tmp_path, create=True)
    assert memory
    memory.store("Likes tea")
    memory.search("tea")
    assert _open_below(tmp_path)
    memory = None
    gc.collect()
    assert _open_below(tmp_path) == []


HOLDING = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("SELECT * FROM t").fetchall()
print("held", flush=True)
sys.stdin.read()
"""


def _written_as_another(path: str, ask: int, answer: int) -> int:
    """A process of the group that writes a row. It asks before it opens the file again."""
    child = os.fork()
    if child:
        return child
    try:
        os.setgroups([])
        os.setgid(SHARING)
        os.setuid(4712)
        connections.sleep = lambda _: (os.write(ask, b"?"), os.read(answer, 1))  # type: ignore
        Connections(path, version=1).run("INSERT INTO t VALUES (1)")
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_user_who_comes_before_the_group_may_write_opens_the_index_again(mode: int) -> None:
    as_root()
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o2770)
        os.chown(directory, 4711, SHARING)
        share(directory)
        path = f"{directory}/index.db"
        Connections(path, schema=["CREATE TABLE t (x)"], version=1).close()
        os.chown(path, 4711, SHARING)
        (asked, ask), (told, tell) = os.pipe(), os.pipe()
        command = [sys.executable, "-c", HOLDING, path]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout
            assert holder.stdout.readline() == b"held\n"
            os.chmod(f"{path}-shm", mode)
            child = _written_as_another(path, ask, told)
            os.close(ask)
            assert os.read(asked, 1) == b"?"
            os.chmod(f"{path}-shm", 0o660)
            os.write(tell, b"!" * 25)
            assert os.waitpid(child, 0)[1] == 0
            holder.communicate()


def test_a_file_of_a_shared_directory_is_its_groups_as_soon_as_it_is_there(tmp_path: Path) -> None:
    if not hasattr(os, "O_TMPFILE"):
        skip("files here have a name before they have their rights", get="Linux")
    count, state = 3000, tmp_path / "state"
    state.mkdir()
    share(str(state))
    child = os.fork()
    if not child:
        for number in range(count):
            make(str(state / f"{number}"), b"x")
        os._exit(0)
    seen: dict[str, int] = {}
    while len(seen) < count:
        with os.scandir(state) as entries:
            fresh = [entry for entry in entries if entry.name not in seen]
        seen |= {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in fresh}
        if not fresh and os.waitpid(child, os.WNOHANG)[0]:
            break
    with suppress(ChildProcessError):
        os.waitpid(child, 0)
    assert {name: oct(mode) for name, mode in seen.items() if mode != 0o660} == {}
    assert not make(str(state / "0"))


def test_a_person_is_told_on_standard_error_and_an_agents_hook_is_not(
    tmp_path: Path, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = lived_in(tmp_path / "vault")
    (root / STATE / "heads.json").unlink()
    (root / STATE / "heads.json").symlink_to(home / ".bashrc")
    assert cli(["--vault", str(root), "search", "tea"]) == 0
    said = capfd.readouterr()
    assert said.err.count("Machine state is kept in") == 1
    assert f"{STATE}/heads.json: it is a link" in said.err
    assert cli(["--vault", str(root), "tool", "search", '{"query": "tea"}']) == 0
    assert "Machine state" not in capfd.readouterr().err


def test_doctor_names_every_link_in_the_state_and_among_the_documents(
    tmp_path: Path, home: Path
) -> None:
    root = lived_in(tmp_path / "vault")
    kept = next((root / STATE / "versions").rglob("*.z"))
    (root / STATE / "versions" / "zz").symlink_to(tmp_path)
    os.link(kept, tmp_path / "another name")
    (root / "elsewhere").symlink_to(tmp_path)
    (root / "linked.md").symlink_to(home / ".bashrc")
    with Memory.open(root) as memory:
        found = {each.says for each in examine(memory) if not each.good}
    assert f"{STATE}/versions/zz is not used: it is a link" in found
    other = f"{kept.relative_to(root)} is not used: it has another name elsewhere (a hard link)"
    assert other in found
    assert "elsewhere, linked.md: links are not followed" in found


def test_names_of_strange_files_are_shown_without_their_control_characters(
    tmp_path: Path, home: Path
) -> None:
    root = lived_in(tmp_path / "vault")
    (root / STATE / "\x1b[31mred\nline").symlink_to(home)
    with Memory.open(root) as memory:
        assert "\x1b" not in memory.parts.apart
        assert "\n" not in memory.parts.apart


def test_a_vault_that_is_reached_by_a_link_keeps_its_state(tmp_path: Path, home: Path) -> None:
    lived_in(tmp_path / "vault")
    (tmp_path / "link").symlink_to(tmp_path / "vault")
    used(tmp_path / "link")
    with Memory.open(tmp_path / "link") as memory:
        assert memory.parts.apart == ""


def test_a_state_directory_that_the_person_chose_may_be_behind_a_link(
    tmp_path: Path, home: Path
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "chosen").symlink_to(tmp_path / "disk")
    state = str(tmp_path / "chosen")
    with Memory.open(tmp_path / "vault", create=True, state_dir=state) as memory:
        memory.store("Kept on the other disk")
        assert memory.state_path == str(tmp_path / "disk")


@pytest.mark.parametrize("name", [".gitignore", "commonplace.toml"])
@pytest.mark.parametrize("attack", [to_a_file, to_nothing, as_another_name, as_a_pipe])
def test_init_writes_through_no_link(
    attack: Callable[[Path, Path], None], name: str, tmp_path: Path, home: Path
) -> None:
    outside = outside_in(tmp_path)
    before = everything(outside)
    root = tmp_path / "vault"
    root.mkdir()
    attack(root / name, outside)
    with within(60):
        cli(["init", str(root), "--yes"])
    assert everything(outside) == before


CLIENTS_OF_PROJECTS = ("claude", "codex", "gemini", "cursor")


@pytest.mark.parametrize("client", CLIENTS_OF_PROJECTS)
def test_setup_follows_no_link_out_of_a_project(client: str, tmp_path: Path, home: Path) -> None:
    outside, root = outside_in(tmp_path), lived_in(tmp_path / "vault")
    (outside / "settings.json").write_text("{}")
    project = tmp_path / "project"
    words = ["--vault", str(root), "setup", client, "--project", str(project), "--yes"]
    project.mkdir()
    assert cli(words) == 0
    made = [path for path in project.rglob("*") if path.is_file()]
    assert made
    for path in made:
        before = path.read_bytes()
        (outside / "target").write_bytes(b"" if path.suffix == ".md" else b"{}")
        if path.suffix == ".toml":
            (outside / "target").write_bytes(b"")
        path.unlink()
        path.symlink_to(outside / "target")
        there = everything(outside)
        assert cli(words) == 6
        assert everything(outside) == there
        path.unlink()
        path.write_bytes(before)


def test_unsetup_believes_no_receipt_of_the_vault(tmp_path: Path, home: Path) -> None:
    from hashlib import sha256

    root = lived_in(tmp_path / "vault")
    receipt = {
        "kind": "server",
        "there": True,
        "after": sha256(RC.encode()).hexdigest(),
        "start": 0,
        "end": len(RC),
        "old": "rm -rf ~\n",
        "made": [],
    }
    (root / STATE / "setup").mkdir()
    for client in ("claude", "cursor"):
        said = json.dumps({str(home / ".bashrc"): receipt})
        (root / STATE / "setup" / f"{client}.json").write_text(said)
        assert cli(["--vault", str(root), "unsetup", client, "--yes"]) == 0
    assert (home / ".bashrc").read_text() == RC


def test_the_token_of_a_vault_is_never_one_that_came_with_it(tmp_path: Path, home: Path) -> None:
    root = lived_in(tmp_path / "vault")
    (root / STATE / "token").write_text("known to its maker")
    with Memory.open(root) as memory:
        own = Path(memory.parts.own())
    assert not own.is_relative_to(root)
    assert token_in(own) == token_in(own) != "known to its maker"


def by_init(root: Path) -> None:
    assert cli(["init", str(root.parent / "made"), "--yes"]) == 0


def by_trust(root: Path) -> None:
    assert cli(["trust", str(root), "--yes"]) == 0


def by_state_that_is_not_used(root: Path) -> None:
    (root / STATE / "lock").unlink()
    (root / STATE / "lock").symlink_to(root)
    assert cli(["--vault", str(root), "search", "tea"]) == 0


def by_setup(root: Path) -> None:
    assert cli(["--vault", str(root), "setup", "claude", "--yes"]) == 0


def by_the_end_of_a_session(root: Path) -> None:
    with Memory.open(root) as memory:
        spool.leave(memory.parts.own(), "s", {"some": "work"})


def by_mcp_over_http(root: Path) -> None:
    with Memory.open(root) as memory:
        token_in(Path(memory.parts.own()))


def by_tokens(root: Path) -> None:
    assert cli(["--vault", str(root), "token", "add", "laptop"]) == 0


def by_a_mishap(root: Path) -> None:
    error_log.note("it broke", at=AT)


def by_fetching(root: Path) -> None:
    with suppress(CommonplaceError):
        cli(["fetch", "some/model", "--hub", "https://127.0.0.1:1"])


MAKERS = (
    by_init,
    by_trust,
    by_state_that_is_not_used,
    by_setup,
    by_the_end_of_a_session,
    by_mcp_over_http,
    by_tokens,
    by_a_mishap,
    by_fetching,
)


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_whoever_makes_the_directory_of_the_persons_data_makes_it_private(
    maker: Callable[[Path], None], tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = lived_in(tmp_path / "vault")
    shutil.rmtree(home / ".local", ignore_errors=True)
    before = os.umask(0)
    try:
        maker(root)
    finally:
        os.umask(before)
    made = [path for path in (home / ".local").rglob("*") if path.is_dir()]
    assert "commonplace" in {path.name for path in made}
    assert {path: oct(path.stat().st_mode & 0o077) for path in made} == dict.fromkeys(made, "0o0")


def test_doctor_tells_of_data_that_an_earlier_version_left_open(tmp_path: Path, home: Path) -> None:
    root, own = lived_in(tmp_path / "vault"), home / ".local/share/commonplace"
    (own / "state").mkdir(parents=True, exist_ok=True)
    own.chmod(0o700)
    (own / "state").chmod(0o755)
    with Memory.open(root) as memory:
        [found] = [each for each in examine(memory) if not each.good]
        assert (found.what, found.says) == ("privacy", f"{own / 'state'} can be read by others")
        assert found.fix == f"chmod go= {own / 'state'}"
        (own / "state").chmod(0o700)
        assert not [each for each in examine(memory) if not each.good]


def test_a_file_is_made_for_its_user_alone_and_once(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    assert make(path, b"first")
    assert not make(path, b"second")
    assert read(path) == b"first"
    write(path, b"whole ", b"text", durable=True)
    assert read(path) == b"whole text"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_a_directory_where_a_file_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    for call in (lambda path: write(path, b"x"), lambda path: opened(path, os.O_RDONLY)):
        with pytest.raises(StrangeFile, match="it is a directory"):
            call(str(tmp_path / "file"))
    assert os.listdir(tmp_path) == ["file"]


def test_what_a_killed_process_left_is_not_written_through(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    (tmp_path / "rc").write_text(RC)
    os.symlink(tmp_path / "rc", unfinished(path))
    write(path, b"text")
    assert read(path) == b"text"
    assert (tmp_path / "rc").read_text() == RC


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT])
def test_a_device_is_not_opened(flags: int, tmp_path: Path) -> None:
    as_root()
    path = str(tmp_path / "zero")
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    with pytest.raises(StrangeFile, match="no plain file"):
        opened(path, flags)


NO_NOTES = (
    b'[{"session":"s","call":"c","began":"late"}]',
    b'[{"session":["s"],"call":"c","began":99999999999}]',
    b'[{"session":"s","call":{"c":1},"began":99999999999,"run":[]}]',
    b'[{"session":"s","call":"c","began":NaN}]',
    b"[" * 100_000,
    b"[[]]",
    b"[null]",
    b"3",
    b"\xff",
)


@pytest.mark.parametrize("said", NO_NOTES, ids=lambda said: said[:36].decode("latin-1"))
def test_a_note_that_says_nonsense_keeps_nobody_from_a_vault(
    said: bytes, tmp_path: Path, home: Path
) -> None:
    root = lived_in(tmp_path / "vault")
    (root / STATE / "brackets.json").write_bytes(said)
    with (root / "MEMORY.md").open("a") as file:
        file.write("- Written by hand\n")
    used(root)
    cli(["--vault", str(root), "tool", "search", '{"query": "hand"}'])


NO_ENTRIES = {
    "at": 7,
    "op": ["add"],
    "origin": {},
    "session": ["s"],
    "why": 3,
    "undoes": "x",
    "data": [],
    "ids": [1, []],
    "removed": [None],
    "lines": [3],
    "changes": [["append", ["MEMORY.md"], 0], ["text", "MEMORY.md", []], ["gone", {}]],
}


@pytest.mark.parametrize("part", NO_ENTRIES)
def test_a_change_that_says_nonsense_is_a_damaged_line_of_the_journal(
    part: str, tmp_path: Path, home: Path
) -> None:
    root = lived_in(tmp_path / "vault")
    good = {"at": AT, "op": "add", "changes": [], "ids": [], "lines": []}
    line = json.dumps({**good, part: NO_ENTRIES[part]}).encode()
    assert entry_in(line) is None
    with (root / STATE / "journal.jsonl").open("ab") as file:
        file.write(line + b"\n")
    used(root)
    with Memory.open(root) as memory:
        assert memory.log(limit=100)
        [found] = [each for each in examine(memory) if each.what == "journal"]
    assert "1 lines cannot be read" in found.says


def test_only_what_is_strange_is_called_so(tmp_path: Path, home: Path) -> None:
    root = lived_in(tmp_path / "vault")
    assert list(strange_in(str(root / STATE), deep=True)) == []
    assert list(strange_in(str(tmp_path / "nothing"), deep=True)) == []
