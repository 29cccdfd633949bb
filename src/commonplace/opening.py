"""Open the parts of a vault: in a directory, or in PostgreSQL.

It may import every room below it. This is the only module that chooses between the two.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.markdown.layouts import LAYOUTS, SHARED, Layout, configured, detect, layout_named
from commonplace.model.clock import Clock
from commonplace.model.errors import (
    BadValue,
    CommonplaceError,
    DiskFull,
    NoSuchVault,
    ReadOnly,
    StrangeFile,
)
from commonplace.model.files import StrPath
from commonplace.model.options import Options, is_url
from commonplace.search.index import Index
from commonplace.search.sqlite.index import SqliteIndex
from commonplace.storage import machine_files
from commonplace.storage.file_journal import FileJournal
from commonplace.storage.file_vault import FileVault
from commonplace.storage.journal import Journal
from commonplace.storage.machine_files import look
from commonplace.storage.notes import FileNotes, Notes
from commonplace.storage.option_files import load
from commonplace.storage.progress import ProgressFile, ProgressStore
from commonplace.storage.safe_paths import Tree
from commonplace.storage.state_places import (
    STATE,
    check_unused,
    find_state,
    own_place,
    was_written,
)
from commonplace.storage.vault import Vault

if TYPE_CHECKING:
    from commonplace.history.messages import History
    from commonplace.postgres.connection import Database
    from commonplace.storage.leases import Leases

HISTORY = "history.db"
DIALECT = "dialect"
"""The file of a state directory that names what its vault was written in."""
OLD_CODES = "index.db-codes-"
"""Files of vectors that the index no longer makes; what they tell of erased records goes too."""


class VaultParts(Protocol):
    """Everything that one vault is made of."""

    place: str
    """The path or URL that opens it again, with its password."""
    shown: str
    """The same without the password."""
    root: str
    """The directory of the documents; this machine's own where they are in no directory."""
    state: str
    """What belongs to this machine: what hooks could not say at once, the gateway's token."""
    apart: str
    """Why machine state is not in the vault though nobody chose that, as it is told to people."""
    database: Database | None
    """Where the rows are; None of a vault in files."""
    read_only: bool
    options: Options
    ignored: Mapping[str, Mapping[str, Any]]
    """What the vault's own files set that does not count, because nobody has trusted them."""
    distrusted: str
    """The same as a sentence, with the reason; empty where there is nothing to say."""
    unread: tuple[str, ...]
    """A sentence on each file of options that is not read, as it is no plain file."""
    layout: Layout
    clock: Clock
    vault: Vault
    journal: Journal
    index: Index
    progress_store: ProgressStore
    notes: Notes

    def sweep(self) -> tuple[str, ...]:
        """Clear away what was erased, and tell where it may still be, beside anywhere else."""

    def leases(self) -> Leases: ...

    def own(self) -> str:
        """Where the person keeps what opens doors, or is written elsewhere: never in a vault."""

    def history(self) -> History:
        """The messages; opened once, and closed with the parts."""

    def has_history(self) -> bool:
        """Whether any message may have been kept."""

    def in_database(self) -> Database:
        """The database of the messages in PostgreSQL; an error says so where there is none."""

    def refusal(self) -> CommonplaceError:
        """What to say to who wants to write where `read_only` is set."""

    def close(self) -> None:
        """Let go of what is not a store of its own."""


def parts_at(
    path: StrPath,
    *,
    clock: Clock | None,
    create: bool,
    environ: Mapping[str, str],
    options: Mapping[str, Any],
) -> VaultParts:
    """Open the parts of a vault. `create` makes a vault that is not there yet."""
    kind: Any = _in_postgres() if is_url(path) else FileParts
    try:
        found: VaultParts = kind(path, clock=clock, create=create, environ=environ, options=options)
    except NoSuchVault as error:
        raise NoSuchVault(error.path, dialect=options.get("dialect") or "") from None
    return found


def _in_postgres() -> Any:
    from commonplace.postgres.opening import PostgresParts

    return PostgresParts


class FileParts:
    """A vault in a directory."""

    database = None

    def __init__(
        self,
        path: StrPath,
        *,
        clock: Clock | None,
        create: bool,
        environ: Mapping[str, str],
        options: Mapping[str, Any],
    ) -> None:
        named = os.path.expanduser(path)
        if create:
            make_directory(named)
        if not os.path.isdir(named):
            raise NoSuchVault(os.fspath(named))
        self.root = self.place = self.shown = find_root(named)
        loaded = load(self.root, environ=environ, arguments=options)
        self.options, self.ignored = loaded.options, loaded.ignored
        self.distrusted, self.unread = loaded.distrusted, loaded.unread
        check_unused(self.root, loaded)
        self.clock = clock or Clock(zone=self.options.timezone)
        self._environ = environ
        place = find_state(self.root, self.options, environ)
        self.state, self.read_only, self.apart = place.path, place.read_only, place.told()
        self.layout = configured(layout_of(self.root, self.options, self.state), self.options)
        self.vault = FileVault(
            self.root,
            state=self.state,
            layout=self.layout,
            clock=self.clock,
            lock_seconds=self.options.lock_seconds,
            limit=self.options.document_limit,
        )
        self.journal = FileJournal(self.state, clock=self.clock, copied=place.copied)
        self.index = self._open_index()
        self.progress_store = ProgressFile(os.path.join(self.state, "heads.json"), root=self.root)
        self.notes = FileNotes(self.state)
        self._history: History | None = None
        self._messages: Database | None = None
        """The database of the messages, where they are not in a file."""

    def _open_index(self) -> SqliteIndex:
        """The index; in memory, made from the documents, where the disk has no room to read it."""
        try:
            return SqliteIndex(os.path.join(self.state, "index.db"), rank=self.layout.rank)
        except DiskFull:
            return SqliteIndex(None, rank=self.layout.rank)

    def own(self) -> str:
        return own_place(self.root, self._environ)

    def leases(self) -> Leases:
        from commonplace.storage.leases import FileLeases

        return FileLeases(os.path.join(self.state, "leases"), clock=self.clock)

    def history(self) -> History:
        if self._history is None:
            self._history = self._distant() if self.options.history else self._beside()
        return self._history

    def _distant(self) -> History:
        from commonplace.postgres.history import PostgresHistory

        return PostgresHistory(self.in_database())

    def _beside(self) -> History:
        from commonplace.history.sqlite import SqliteHistory

        return SqliteHistory(os.path.join(self.state, HISTORY))

    def has_history(self) -> bool:
        return bool(self.options.history) or look(os.path.join(self.state, HISTORY)) is not None

    def in_database(self) -> Database:
        if not self.options.history:
            raise BadValue(
                "vault",
                "its messages are in a file, and not in PostgreSQL",
                next_step="'history sql' asks them; the option 'history' puts them there.",
            )
        if self._messages is None:
            self._messages = _opened(self.options, self.clock)
        return self._messages

    def refusal(self) -> CommonplaceError:
        return ReadOnly(self.shown)

    def sweep(self) -> tuple[str, ...]:
        for name in machine_files.names_in(self.state, depth=0):
            if name.startswith(OLD_CODES):
                machine_files.remove(os.path.join(self.state, name))
        if self._messages is None:
            return ()
        from commonplace.postgres.opening import SERVERS_OWN

        self._messages.sweep()
        return (SERVERS_OWN,)

    def close(self) -> None:
        if self._history:
            self._history.close()
        if self._messages:
            self._messages.close()
        if self.read_only:
            from shutil import rmtree

            rmtree(self.state, ignore_errors=True)


def _opened(options: Options, clock: Clock) -> Database:
    """The database that a vault in files keeps its messages in."""
    from commonplace.postgres.connection import Database
    from commonplace.postgres.urls import parse_url

    return Database.open(parse_url(options.history), clock=clock, seconds=options.lock_seconds)


def make_directory(path: StrPath) -> None:
    """Make the directory of a vault, which only its owner may look into."""
    try:
        os.makedirs(path, 0o700, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NoSuchVault(os.fspath(path)) from None
    except OSError:
        raise ReadOnly(os.fspath(path)) from None


def find_root(path: StrPath) -> str:
    """The vault itself when the directory above it was named: `memories/` or `data/`."""
    if _is_noted(path) or detected(path):
        return os.fspath(path)
    for layout in LAYOUTS.values():
        below = os.path.join(path, layout.subdirectory)
        if layout.subdirectory and os.path.isdir(below):
            found = detected(below)
            if found and found.name == layout.name:
                return below
    return os.fspath(path)


def has_layout(path: StrPath) -> bool:
    """Whether a directory is already a vault of some dialect."""
    root = find_root(path)
    return _is_noted(root) or detected(root) is not None


def dialect_of(root: StrPath) -> str:
    """The dialect that a vault was written in or shows; empty where nothing tells."""
    if _is_noted(root):
        return _noted_dialect(os.path.join(root, STATE))
    found = detected(root)
    return found.name if found else ""


def _is_noted(path: StrPath) -> bool:
    """Whether it was written to before, as most that are opened: no document need be read to tell.

    Whoever only looked into an empty directory has made no vault of it.
    """
    state = os.path.join(path, STATE)
    return _noted_dialect(state) in LAYOUTS and was_written(state)


def detected(path: StrPath) -> Layout | None:
    """The layout that the names in a directory and the beginnings of its documents show."""
    return detect(_names_in(path), lambda name: _start_of(path, name))


def _names_in(path: StrPath) -> list[str]:
    """What is in a directory, as `detect` takes it."""
    with os.scandir(path) as entries:
        return [entry.name + "/" * entry.is_dir(follow_symlinks=False) for entry in entries]


def _start_of(directory: StrPath, name: str) -> str:
    """The beginning of a file, as `detect` takes it.

    Without a trace in its access time, by which a stale save is told from a deletion.
    """
    tree = Tree(directory)
    try:
        return tree.read(name, most=65536).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        tree.close()


def layout_of(root: StrPath, options: Options, state: str) -> Layout:
    """The layout that was asked for, or that the vault was written in before, or that it shows.

    What is written first, a lone USER.md say, must not make another dialect of a vault; nor must
    who asks once for another dialect.
    """
    apart = not options.dialect or options.dialect in SHARED
    asked = None if apart else layout_named(options.dialect)
    noted = LAYOUTS.get(_noted_dialect(state))
    written = noted if noted and was_written(state) else detected(root)
    layout = asked or written or noted or LAYOUTS["native"]
    own = written or layout
    if noted != own:
        _note_dialect(state, own.name)
    return layout


def _noted_dialect(state: str) -> str:
    try:
        said = machine_files.read(os.path.join(state, DIALECT), most=100)
    except (OSError, StrangeFile):
        return ""
    return said.decode("utf-8", "replace").strip()


def _note_dialect(state: str, name: str) -> None:
    """At once or not at all: other processes open the vault while this one is killed.

    It is on disk before the first record: documents that a power cut emptied tell no dialect.
    """
    machine_files.write(os.path.join(state, DIALECT), f"{name}\n".encode(), durable=True)
