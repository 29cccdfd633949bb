"""How far the documents follow the journal, and how our own writes left each of them.

A writer reads and saves it under the lock, so that storing a record needs no look at the index. It
is one small file, or a field of the profile's row. Losing it costs one look at the documents.
"""

from __future__ import annotations

import json
import os
from typing import Protocol

from commonplace.model.errors import ReadOnly
from commonplace.model.files import Known, Signature, StrPath
from commonplace.storage.machine_files import opened, parsed

BOOT = "/proc/sys/kernel/random/boot_id"


class Progress:
    """What is known of the documents beyond what the index knows."""

    def __init__(
        self,
        end: int = -1,
        settled: int = -1,
        boot: str = "",
        documents: dict[str, Known] | None = None,
        behind: int = -1,
        forgot: int = -1,
        unsettled: dict[str, int] | None = None,
    ) -> None:
        self.end = end
        """The journal position up to which every change is in the documents."""
        self.settled = settled
        """The position up to which the documents are on disk."""
        self.boot = boot
        self.home = ""
        """The directory of the documents when this was saved; empty when it is not known."""
        self.documents = documents or {}
        """Those that we wrote to since the index came level."""
        self.behind = behind
        """The position of a change of whole texts that the index was not told yet; -1 without."""
        self.forgot = forgot
        """Where the journal last tells of what the owner forgot; 0: nowhere, -1: not known."""
        self.unsettled = unsettled or {}
        """The documents that may not be on disk as they are, and the last change of each."""


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
        self._descriptor = -1
        self._process = 0

    def load(self) -> Progress:
        return progress_in(os.pread(self._open(), 1 << 20, 0).split(b"\n", 1)[0])

    def save(self, progress: Progress) -> None:
        # What an older, longer text leaves behind the line's end is never read.
        os.pwrite(self._open(), text_of(progress).encode() + b"\n", 0)

    def _open(self) -> int:
        if self._process == os.getpid():
            return self._descriptor
        self.close()
        try:
            self._descriptor = opened(self.path, os.O_RDWR | os.O_CREAT)
        except OSError:
            raise ReadOnly(os.path.dirname(self.path)) from None
        self._process = os.getpid()
        return self._descriptor

    def close(self) -> None:
        if self._descriptor >= 0 and self._process == os.getpid():
            os.close(self._descriptor)
        self._descriptor, self._process = -1, 0


def progress_in(text: str | bytes) -> Progress:
    """The progress that a text tells; an empty one when it cannot be read."""
    try:
        value = parsed(text)
        documents = {name: _known(*row) for name, row in value["documents"].items()}
        behind, forgot = value.get("behind", -1), value.get("forgot", -1)
        end, settled, boot = value["end"], value["settled"], value["boot"]
        unsettled = dict(value.get("unsettled", ()))
        progress = Progress(end, settled, boot, documents, behind, forgot, unsettled)
        progress.home = value.get("home", "")
        return progress
    except (ValueError, KeyError, TypeError):
        return Progress()


def text_of(progress: Progress) -> str:
    """The progress as the text that `progress_in` reads."""
    rows = {name: _row(known) for name, known in progress.documents.items()}
    value = {
        "end": progress.end,
        "settled": progress.settled,
        "boot": progress.boot,
        "documents": rows,
    }
    if progress.home:
        value["home"] = progress.home
    if progress.behind >= 0:
        value["behind"] = progress.behind
    if progress.forgot >= 0:
        value["forgot"] = progress.forgot
    if progress.unsettled:
        value["unsettled"] = progress.unsettled
    return json.dumps(value)


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
