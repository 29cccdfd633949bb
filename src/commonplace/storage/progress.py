"""How far the documents follow the journal, and how our own writes left each of them.

A writer reads and saves it under the lock, so that storing a record needs no look at the index. It
is one small file, or a field of the profile's row. Losing it costs one look at the documents.
"""

from __future__ import annotations

import json
import os
from typing import Protocol

from msgspec import Struct, convert, field
from msgspec.structs import asdict

from commonplace.model.files import Known, Signature, StrPath
from commonplace.storage.machine_files import OpenFile, parsed

BOOT = "/proc/sys/kernel/random/boot_id"


class Progress(Struct):
    """What is known of the documents beyond what the index knows."""

    end: int = -1
    """The journal position up to which every change is in the documents."""
    settled: int = -1
    """The position up to which the documents are on disk."""
    boot: str = ""
    documents: dict[str, Known] = field(default_factory=dict)
    """Those that we wrote to since the index came level."""
    behind: int = -1
    """The position of a change of whole texts that the index was not told yet; -1 without."""
    forgot: int = -1
    """Where the journal last tells of what the owner forgot; 0: nowhere, -1: not known."""
    unsettled: dict[str, int] = field(default_factory=dict)
    """The documents that may not be on disk as they are, and the last change of each."""
    home: str = ""
    """The directory of the documents when this was saved; empty when it is not known."""


class ProgressStore(Protocol):
    """Where the progress is kept. It is loaded and saved under the lock."""

    boot: str
    """What tells one run of the machine, and one device, from the next; the same always where a
    power cut leaves nothing half done.
    """
    home: str
    """What tells the documents' directory from any other; empty where there is none."""

    def load(self) -> Progress:
        """The progress as the last writer saved it; an empty one when there is nothing to read."""

    def save(self, progress: Progress) -> None: ...

    def close(self) -> None: ...


class ProgressFile:
    """A file that keeps the progress."""

    def __init__(self, path: StrPath, *, root: StrPath = "") -> None:
        """`root` is the directory of the documents."""
        self.path = os.fspath(path)
        found = os.stat(root) if root else None
        self.boot = f"{_boot_id()} {found.st_dev}" if found else _boot_id()
        self.home = str(found.st_ino) if found else ""
        self._file = OpenFile(self.path)

    def load(self) -> Progress:
        return progress_in(os.pread(self._open(), 1 << 20, 0).split(b"\n", 1)[0])

    def save(self, progress: Progress) -> None:
        # What an older, longer text leaves behind the line's end is never read.
        os.pwrite(self._open(), text_of(progress).encode() + b"\n", 0)

    def _open(self) -> int:
        return self._file.descriptor if self._file.is_open else self._file.open()

    def close(self) -> None:
        self._file.close()


def progress_in(text: str | bytes) -> Progress:
    """The progress that a text tells; an empty one when it cannot be read."""
    try:
        value = parsed(text)
        documents = {name: _known(*row) for name, row in value["documents"].items()}
        return convert({**value, "documents": documents}, Progress)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Progress()


def text_of(progress: Progress) -> str:
    """The progress as the text that `progress_in` reads."""
    rows = {name: _row(known) for name, known in progress.documents.items()}
    return json.dumps({**asdict(progress), "documents": rows})


def _boot_id() -> str:
    try:
        with open(BOOT, "rb") as file:
            return file.read().strip().decode()
    except OSError:
        return ""


def _row(known: Known) -> list[int]:
    it = known.signature
    row = [it.size, it.mtime_ns, it.inode, it.atime_ns, known.lines, known.base]
    return [*row, 1] if it.racy else row


def _known(
    size: int, mtime_ns: int, inode: int, atime_ns: int, lines: int, base: int, racy: int = 0
) -> Known:
    signature = Signature(size, mtime_ns, inode, atime_ns=atime_ns, racy=bool(racy))
    return Known(signature, lines, base)
