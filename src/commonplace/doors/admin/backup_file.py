"""The file of a backup: packed, sealed, and read back member by member.

It is a tar archive packed with gzip. The first member, `manifest.json`, has the size and SHA-256 of
each other. The end is a gzip member of no data whose comment is the SHA-256 of all before it, so
that a single wrong byte is found. It does not know vaults: `backup` fills and reads the file.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

import msgspec
from msgspec import Struct

from commonplace.doors.admin.migrate import NOTES, Step
from commonplace.markdown.layouts import LAYOUTS, Layout, flaw_of, layout_named
from commonplace.model.errors import NotFound, VaultTrouble
from commonplace.storage.ledger import DIRECTORY as TOLD
from commonplace.storage.option_files import FILE
from commonplace.storage.safe_paths import trouble
from commonplace.storage.sessions import DIRECTORY as SESSIONS

FORMAT = "commonplace backup"
VERSION = 1
MANIFEST = "manifest.json"
JOURNAL, MESSAGES = "journal.jsonl", "messages.jsonl"
DOCUMENTS, VERSIONS, KEPT_NOTES = "documents/", "versions/", "notes/"
VERSION_NAME = re.compile(r"[0-9a-f]{8,128}\Z")
SESSION_NOTE = re.compile(
    rf"({SESSIONS}/[0-9a-f]{{8,128}}\.json|{TOLD}/[0-9a-f]{{8,128}}\.jsonl)\Z"
)
LARGEST_MANIFEST = 64 << 20
LONGEST = 1 << 30
"""Bytes of one document, text, note or line; only journal and messages are longer."""
PIECE = 1 << 20
TAR_OVERHEAD = 10_240
"""Bytes that a member may take beside its data: headers, long names, the end of the archive."""


class Member(Struct, frozen=True):
    """One file in a backup."""

    name: str
    size: int
    sha256: str


class Manifest(Struct, frozen=True):
    """What a backup holds."""

    format: str
    version: int
    made: str
    by: str
    layout: str
    records: int
    entries: int
    messages: int
    members: tuple[Member, ...]

    @property
    def bytes(self) -> int:
        return sum(member.size for member in self.members)

    def counted(self, prefix: str) -> int:
        """How many members are of one kind."""
        return sum(member.name.startswith(prefix) for member in self.members)


class _Hashing(io.RawIOBase):
    """Writes to a file, and knows the digest of all that was written."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(cast(bytes, data))
        self.digest.update(piece)
        return self.file.write(piece)


def pack(made: Path, manifest: Manifest, spool: IO[bytes], step: Step) -> None:
    """Write the archive, for nobody but its owner, and wait for the disk."""
    spool.seek(0)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(made, flags, 0o600), "wb") as file:
        hashing = _Hashing(file)
        with (
            gzip.GzipFile("", "wb", 6, hashing, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            said = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
            archive.addfile(_headed(MANIFEST, len(said)), io.BytesIO(said))
            done = 0
            for member in manifest.members:
                archive.addfile(_headed(member.name, member.size), spool)
                done += member.size
                step(done, manifest.bytes)
        file.write(_seal(hashing.digest.hexdigest()))
        file.flush()
        os.fsync(file.fileno())


def _headed(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info


def _seal(digest: str) -> bytes:
    """The end of a backup: a gzip member of no data, with the digest as its comment."""
    header = b"\x1f\x8b\x08\x10\0\0\0\0\0\xff"
    return header + f"sha256 {digest}".encode() + b"\0" + b"\x03\0" + bytes(8)


SEALED = len(_seal(hashlib.sha256().hexdigest()))


@contextmanager
def sealed(file: Path) -> Iterator[BinaryIO]:
    """A backup, open to be read, of which every byte is as it was written."""
    with _opened(file) as archive:
        _check_seal(archive, file)
        yield archive


def manifest_of(archive: BinaryIO, file: Path) -> Manifest:
    """The manifest of a backup, with names in it that may be written."""
    archive.seek(0)
    with _explained(file), _tar(archive, 0, 0) as tar:
        first = tar.next()
        if first is None or first.name != MANIFEST or not first.isreg():
            raise _damaged(file, "it has no manifest")
        data = tar.extractfile(first)
        assert data is not None
        found = msgspec.json.decode(data.read(LARGEST_MANIFEST), type=Manifest)
    _check_manifest(found, file)
    return found


def members(
    archive: BinaryIO, file: Path, manifest: Manifest, step: Step
) -> Iterator[tuple[Member, CheckedData]]:
    """Each member that the manifest names with its data, in its order; all else is an error.

    What is not read of one is read before the next, so that every digest is compared.
    """
    archive.seek(0)
    with _explained(file), _tar(archive, manifest.bytes, len(manifest.members)) as tar:
        infos, done = iter(tar), 0
        next(infos)

        def seen(size: int) -> None:
            nonlocal done
            before, done = done, done + size
            # A line at a time would be told a hundred thousand times.
            if size and (done // PIECE > before // PIECE or done == manifest.bytes):
                step(done, manifest.bytes)

        for member in manifest.members:
            data = _data_of(tar, next(infos, None), member, file)
            checked = CheckedData(data, member, file, seen)
            yield member, checked
            checked.finish()
        if next(infos, None) is not None:
            raise _damaged(file, "it holds more than its manifest names")


def _data_of(
    tar: tarfile.TarFile, info: tarfile.TarInfo | None, member: Member, file: Path
) -> IO[bytes]:
    """The data of a member, which must stand there as the manifest says: as a plain file."""
    if info is None or not info.isreg() or (info.name, info.size) != (member.name, member.size):
        raise _damaged(file, f"{member.name!r} is not in its place")
    data = tar.extractfile(info)
    assert data is not None
    return data


class CheckedData:
    """The data of one member; at its end it must have been what the manifest says."""

    def __init__(
        self, data: IO[bytes], member: Member, file: Path, seen: Callable[[int], None]
    ) -> None:
        self._data = data
        self._member = member
        self._file = file
        self._tell = seen
        self._digest = hashlib.sha256()

    def read(self, size: int = LONGEST + 1) -> bytes:
        return self._seen(self._data.read(size))

    def lines(self) -> Iterator[bytes]:
        while line := self._seen(self._data.readline(LONGEST + 1)):
            if len(line) > LONGEST:
                raise _damaged(self._file, f"a line of {self._member.name} is too long")
            yield line

    def finish(self) -> None:
        while self.read(PIECE):
            pass
        if self._digest.hexdigest() != self._member.sha256:
            raise _damaged(self._file, f"{self._member.name} is not what its manifest says")

    def _seen(self, piece: bytes) -> bytes:
        self._digest.update(piece)
        self._tell(len(piece))
        return piece


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    """A backup that is a plain file; a link to one is followed, since a person named it."""
    try:
        with open(os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as archive:
            if not stat.S_ISREG(os.fstat(archive.fileno()).st_mode):
                raise _damaged(file, "it is no plain file")
            yield archive
    except FileNotFoundError:
        raise NotFound(f"There is no file {file}.", next_step="Name a backup.") from None
    except OSError as error:
        raise trouble(error, str(file)) from None


def _check_seal(archive: BinaryIO, file: Path) -> None:
    """Fail unless every byte is as it was written."""
    end = archive.seek(0, os.SEEK_END) - SEALED
    archive.seek(0)
    digest, left = hashlib.sha256(), max(end, 0)
    while left and (piece := archive.read(min(PIECE, left))):
        digest.update(piece)
        left -= len(piece)
    if end < 0 or archive.read() != _seal(digest.hexdigest()):
        raise _damaged(file, "it is damaged, cut off, or no backup of Commonplace")
    archive.seek(0)


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Say of any flaw of an archive that it is one."""
    try:
        yield
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, msgspec.DecodeError) as error:
        raise _damaged(file, str(error) or "it is cut off") from None


class _Bounded(io.RawIOBase):
    """Reads no more than was announced: a small file must not become an endless one."""

    def __init__(self, data: IO[bytes], most: int) -> None:
        self._data = data
        self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        piece = self._data.read(len(view))
        self._left -= len(piece)
        if self._left < 0:
            raise tarfile.ReadError("it unpacks to more than it announces")
        view[: len(piece)] = piece
        return len(piece)


@contextmanager
def _tar(archive: BinaryIO, size: int, members: int) -> Iterator[tarfile.TarFile]:
    most = size + LARGEST_MANIFEST + (members + 2) * TAR_OVERHEAD
    with gzip.GzipFile(fileobj=archive, mode="rb") as packed:
        stream = io.BufferedReader(_Bounded(cast(IO[bytes], packed), most))
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            yield tar


def _check_manifest(found: Manifest, file: Path) -> None:
    if found.format != FORMAT or found.version > VERSION or found.layout not in LAYOUTS:
        raise _damaged(file, f"it is of a form that only another version reads ({found.by!r})")
    layout = layout_named(found.layout)
    names = [member.name for member in found.members]
    if len(set(names)) != len(names):
        raise _damaged(file, "a name stands in it twice")
    for member in found.members:
        is_long = member.size > LONGEST and member.name not in (JOURNAL, MESSAGES)
        if member.size < 0 or is_long or not _is_known(member.name, layout):
            raise _damaged(file, f"{member.name!r} may not be in a backup")


def _is_known(name: str, layout: Layout) -> bool:
    """Whether a member is one that a backup may have, so that no name leads elsewhere."""
    if name in (JOURNAL, MESSAGES, FILE):
        return True
    if name.startswith(DOCUMENTS):
        document = name.removeprefix(DOCUMENTS)
        return layout.holds(document) and not flaw_of(document)
    if name.startswith(VERSIONS):
        return bool(VERSION_NAME.match(name.removeprefix(VERSIONS)))
    note = name.removeprefix(KEPT_NOTES)
    return name.startswith(KEPT_NOTES) and (note in NOTES or bool(SESSION_NOTE.match(note)))


def _damaged(file: Path, why: str) -> VaultTrouble:
    return VaultTrouble(
        f"{file} cannot be restored: {why}. Nothing was written.",
        next_step="Use another copy of it, or an older backup.",
    )
