"""Backups: a whole vault as one file, which is read back and compared before anybody relies on it.

The file holds the documents, the journal with the texts it keeps, the messages, the notes that
sessions share and the options (`backup_file` says how). The index is not in it: it is made again.

For the command line and for the page:

- `backup_name(memory)` proposes a file name with the date.
- `back_up(memory, file)` writes a backup, also of a vault in PostgreSQL, and checks it.
- `check_backup(file)` reads a backup from end to end and returns its manifest.
- `restore_backup(file, place)` makes a vault of it where there is none.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from msgspec import Struct

from commonplace import __version__
from commonplace.doors.admin import backup_file
from commonplace.doors.admin.backup_file import (
    DOCUMENTS,
    FORMAT,
    JOURNAL,
    KEPT_NOTES,
    LONGEST,
    MESSAGES,
    VERSION,
    VERSIONS,
    CheckedData,
    Manifest,
    Member,
)
from commonplace.doors.admin.init import root_of, write_settings
from commonplace.doors.admin.migrate import (
    BATCH_BYTES,
    EVERYTHING,
    NOTES,
    OnProgress,
    Step,
    close_parts,
    move,
)
from commonplace.markdown.layouts import layout_named
from commonplace.memory import Memory
from commonplace.model.errors import AlreadyExists, Conflict, VaultTrouble
from commonplace.model.options import is_url
from commonplace.opening import VaultParts, parts_at
from commonplace.storage.ledger import DIRECTORY as TOLD
from commonplace.storage.option_files import FILE
from commonplace.storage.safe_paths import trouble
from commonplace.storage.sessions import DIRECTORY as SESSIONS

STATE_ELSEWHERE = re.compile(rb"^([ \t]*state_dir[ \t]*=)", re.MULTILINE)
"""The option that would have the journal looked for elsewhere, perhaps where the old vault's is."""


class BackedUp(Struct, frozen=True):
    """A backup that was written and read back."""

    file: str
    size: int
    documents: int
    records: int
    entries: int
    versions: int
    messages: int
    left_out: tuple[str, ...] = ()
    """Files beside the documents that are no memory, and not in it."""


class RestoredVault(Struct, frozen=True):
    """A vault that was made of a backup."""

    place: str
    made: str
    """When the backup was made."""
    documents: int
    records: int
    entries: int
    messages: int
    moved: str = ""
    """Where the vault is now that was there before; empty where there was none."""


def quiet(_: str) -> Step:
    """Progress that nobody looks at."""
    return lambda done, total: None


def backup_name(memory: Memory) -> str:
    """A name for a backup made now: the vault's name and the moment."""
    name = Path(memory.shown.rstrip("/")).name if not is_url(memory.place) else "vault"
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "vault"
    moment = memory.clock.local(memory.clock.now())
    return f"{plain}-{moment:%Y-%m-%d-%H%M}.tar.gz"


def back_up(memory: Memory, file: Path, *, progress: OnProgress = quiet) -> BackedUp:
    """Write a vault into one file, whole or not at all. A file that is there stays as it is.

    Writers wait only while the vault is copied; it is packed, read back and compared afterwards.
    """
    file = file.expanduser().absolute()
    if os.path.lexists(file):
        raise _taken(file)
    memory.library.refresh()
    with _near(file) as spool:
        copied = memory.library.locked(lambda: _Snapshot(memory, spool, progress).take())
        made = file.with_name(f".{file.name}.{secrets.token_hex(6)}.part")
        try:
            backup_file.pack(made, copied, spool, progress("Packing"))
            _compare(made, copied, progress("Checking"))
            _put(made, file)
        finally:
            made.unlink(missing_ok=True)
    return _backed_up(file, copied, memory)


def check_backup(file: Path, *, progress: Step = lambda done, total: None) -> Manifest:
    """Read a backup from end to end; an error says what is wrong with it."""
    with backup_file.sealed(file) as archive:
        manifest = backup_file.manifest_of(archive, file)
        for _ in backup_file.members(archive, file, manifest, progress):
            pass
        return manifest


def restore_backup(
    file: Path, place: str, *, replace: bool = False, progress: OnProgress = quiet
) -> RestoredVault:
    """Make a vault of a backup at a path, or at the URL of a profile that nobody has used.

    The backup is checked whole before anything is written. A path that holds something is refused;
    with `replace` what is there is moved aside, and nothing of it is changed.
    """
    file = file.expanduser().absolute()
    manifest = check_backup(file, progress=progress("Checking"))
    if is_url(place):
        return _restored_in_database(file, manifest, place, progress)
    named = Path(os.path.realpath(os.path.expanduser(place)))
    root = root_of(named, layout_named(manifest.layout))
    if not replace and _is_taken(root):
        raise Conflict(
            f"{root} holds something already. Nothing was written.",
            next_step="Name an empty place; or repeat with --replace, which moves this aside.",
        )
    with _made_beside(root, manifest) as fresh:
        records = _fill(fresh, file, manifest, progress)
        moved = _put_in_place(fresh, root)
    write_settings(root, layout_named(manifest.layout), alone=False)
    return _restored(str(root), manifest, records, moved)


def _restored_in_database(
    file: Path, manifest: Manifest, place: str, progress: OnProgress
) -> RestoredVault:
    """Restore beside, and go on as `migrate` does, which compares both."""
    with tempfile.TemporaryDirectory(prefix="commonplace-") as above:
        fresh = Path(above, "vault")
        fresh.mkdir(mode=0o700)
        _fill(fresh, file, manifest, progress)
        copied = move(str(fresh), place, progress=progress)
    return _restored(copied.target, manifest, copied.records, "")


def _restored(place: str, manifest: Manifest, records: int, moved: str) -> RestoredVault:
    return RestoredVault(
        place=place,
        made=manifest.made,
        documents=manifest.counted(DOCUMENTS),
        records=records,
        entries=manifest.entries,
        messages=manifest.messages,
        moved=moved,
    )


class _Snapshot:
    """What a vault holds at one moment, copied into a file of our own while nobody writes."""

    def __init__(self, memory: Memory, spool: IO[bytes], progress: OnProgress) -> None:
        self.memory = memory
        self.parts = memory.parts
        self.spool = spool
        self.progress = progress
        self.members: list[Member] = []

    def take(self) -> Manifest:
        """Copy everything; again from the start where the lock was lost meanwhile."""
        self.spool.seek(0)
        self.spool.truncate()
        self.members = []
        self._documents(self.progress("Documents"))
        entries = self._add(JOURNAL, (line for _, line in self.parts.journal.lines()))
        self._versions(self.progress("Kept texts"))
        messages = self._messages()
        self._notes()
        self._options()
        return Manifest(
            format=FORMAT,
            version=VERSION,
            made=self.memory.clock.stamp(),
            by=f"commonplace {__version__}",
            layout=self.memory.layout.name,
            records=self.parts.index.count(EVERYTHING),
            entries=max(entries - 1, 0),
            messages=messages,
            members=tuple(self.members),
        )

    def _add(self, name: str, pieces: Iterable[bytes]) -> int:
        """Add one member. Returns of how many pieces it is."""
        digest, size, count = hashlib.sha256(), 0, 0
        for piece in pieces:
            self.spool.write(piece)
            digest.update(piece)
            size, count = size + len(piece), count + 1
        self.members.append(Member(name, size, digest.hexdigest()))
        return count

    def _documents(self, step: Step) -> None:
        listing = self.parts.vault.listing()
        if listing.unreadable:
            why = " ".join(listing.unreadable.values())
            raise VaultTrouble(
                f"{why.rstrip('.')}. No backup was made.",
                next_step="Mend that first: 'commonplace doctor' says how.",
            )
        for done, name in enumerate(sorted(listing.documents), 1):
            self._add(DOCUMENTS + name, [self.parts.vault.read(name)])
            step(done, len(listing.documents))

    def _versions(self, step: Step) -> None:
        names = list(self.parts.journal.versions())
        for done, name in enumerate(names, 1):
            if (data := self.parts.journal.packed(name)) is not None:
                self._add(VERSIONS + name, [data])
            step(done, len(names))

    def _messages(self) -> int:
        if not self.parts.has_history():
            return 0
        lines = self.parts.history().dump()
        return self._add(MESSAGES, (line.encode() + b"\n" for line in lines))

    def _notes(self) -> None:
        notes = self.parts.notes
        for name in [*filter(notes.has, NOTES), *notes.names(SESSIONS), *notes.names(TOLD)]:
            if (data := notes.read(name)) is not None:
                self._add(KEPT_NOTES + name, [data])

    def _options(self) -> None:
        path = Path(self.parts.root, FILE)
        if self.parts.database is None and path.is_file():
            self._add(FILE, [path.read_bytes()])


@contextmanager
def _near(file: Path) -> Iterator[IO[bytes]]:
    """A nameless file where the backup is to be, which has room for it if anything has."""
    try:
        with tempfile.TemporaryFile(dir=file.parent) as spool:
            yield cast(IO[bytes], spool)
    except OSError as error:
        raise trouble(error, str(file.parent)) from None


def _compare(made: Path, manifest: Manifest, step: Step) -> None:
    """Read back what was written, and hold it against what was copied."""
    if check_backup(made, progress=step) != manifest:
        raise VaultTrouble(
            "The backup does not say what was copied. It was deleted.",
            next_step="Check the disk, then try again.",
        )


def _put(made: Path, file: Path) -> None:
    """Give a finished file its name, unless somebody has taken it."""
    try:
        os.link(made, file)
    except FileExistsError:
        raise _taken(file) from None
    except OSError:  # Not every file system has a second name for a file.
        if file.exists():
            raise _taken(file) from None
        os.rename(made, file)


def _taken(file: Path) -> AlreadyExists:
    return AlreadyExists(str(file), next_step="Name another file, or delete this one first.")


def _backed_up(file: Path, manifest: Manifest, memory: Memory) -> BackedUp:
    return BackedUp(
        file=str(file),
        size=file.stat().st_size,
        documents=manifest.counted(DOCUMENTS),
        records=manifest.records,
        entries=manifest.entries,
        versions=manifest.counted(VERSIONS),
        messages=manifest.messages,
        left_out=tuple(_left_out(memory, manifest)),
    )


def _left_out(memory: Memory, manifest: Manifest) -> Iterator[str]:
    """Files in the vault's directory that are no documents: pictures, say."""
    if memory.parts.database is not None:
        return
    inside = {member.name.removeprefix(DOCUMENTS) for member in manifest.members}
    for above, below, names in os.walk(memory.root):
        below[:] = [name for name in below if not name.startswith(".")]
        for name in sorted(names):
            path = os.path.relpath(os.path.join(above, name), memory.root).replace(os.sep, "/")
            if not name.startswith(".") and path not in inside:
                yield path


def _is_taken(root: Path) -> bool:
    """Whether there is anything at a place."""
    return root.exists() and (not root.is_dir() or any(root.iterdir()))


@contextmanager
def _made_beside(root: Path, manifest: Manifest) -> Iterator[Path]:
    """A directory beside the place that becomes the vault at once; gone where that fails."""
    root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    free = shutil.disk_usage(root.parent).free
    if manifest.bytes > free:
        raise VaultTrouble(
            f"The backup holds {manifest.bytes:,} bytes, and {free:,} are free at {root.parent}. "
            "Nothing was written.",
            next_step="Free some space, or name another place.",
        )
    fresh = Path(tempfile.mkdtemp(prefix=f".{root.name}.restoring-", dir=root.parent))
    try:
        yield fresh
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _fill(fresh: Path, file: Path, manifest: Manifest, progress: OnProgress) -> int:
    """Make the vault in an empty directory. Returns how many records it has."""
    given = {"dialect": manifest.layout, "document_limit": LONGEST}
    parts = parts_at(fresh, clock=None, create=True, environ={}, options=given)
    try:
        options = _take_in(parts, file, progress("Restoring"))
    finally:
        close_parts(parts)
    with Memory.open(fresh, manifest.layout, environ={}, document_limit=LONGEST) as memory:
        # Vectors are made when somebody searches: those of many records take minutes.
        memory.library.refresh()
        records = memory.parts.index.count(EVERYTHING)
    if options is not None:
        (fresh / FILE).write_bytes(STATE_ELSEWHERE.sub(rb"# \1", options))
        (fresh / FILE).chmod(0o600)
    return records


def _take_in(parts: VaultParts, file: Path, step: Step) -> bytes | None:
    """Take in every member of a backup. Returns the file of options, if it has one."""
    options = None
    with backup_file.sealed(file) as archive, parts.vault.lock():
        manifest = backup_file.manifest_of(archive, file)
        for member, data in backup_file.members(archive, file, manifest, step):
            kind, _, name = member.name.partition("/")
            if member.name == JOURNAL:
                _take_in_journal(parts, data)
            elif member.name == MESSAGES:
                _take_in_messages(parts, data)
            elif member.name == FILE:
                options = data.read()
            elif f"{kind}/" == DOCUMENTS:
                parts.vault.replace(name, data.read(), expected=None)
            elif f"{kind}/" == VERSIONS:
                parts.journal.take_in_version(name, data.read())
            else:
                parts.notes.write(name, data.read(), durable=True)
    return options


def _take_in_journal(parts: VaultParts, data: CheckedData) -> None:
    at = 0
    for lines in _batches(data):
        numbered = list[tuple[int, bytes]]()
        for line in lines:
            numbered.append((at, line))
            at += len(line)
        parts.journal.take_in(numbered)


def _take_in_messages(parts: VaultParts, data: CheckedData) -> None:
    for lines in _batches(data):
        parts.history().load([line.decode().removesuffix("\n") for line in lines])


def _batches(data: CheckedData) -> Iterator[list[bytes]]:
    """The lines of a member, as many at once as take some megabytes."""
    lines, size = list[bytes](), 0
    for line in data.lines():
        lines.append(line)
        size += len(line)
        if size >= BATCH_BYTES:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def _put_in_place(fresh: Path, root: Path) -> str:
    """Give a vault its place at once. Returns where what was there has gone."""
    moved = ""
    if _is_taken(root):
        moved = f"{root}.before-{secrets.token_hex(3)}"
        os.rename(root, moved)
    try:
        os.rename(fresh, root)
    except OSError as error:
        if moved:
            with suppress(OSError):
                os.rename(moved, root)
        raise trouble(error, str(root)) from None
    return moved
