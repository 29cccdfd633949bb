"""What our own writes left: how far the documents have come in the journal, and how they look.

It stands between journal and index, so that storing a record needs neither: a small file that is
written in place under the lock, or a field of the profile's row. It does not know what the
documents say. Losing it costs one look at the documents.
"""

from __future__ import annotations

import json
import os
from typing import Protocol

from commonplace.model.errors import ReadOnly
from commonplace.model.files import StrPath
from commonplace.model.signature import Known, Signature
from commonplace.storage.machine_files import opened, parsed

BOOT = "/proc/sys/kernel/random/boot_id"


class Marks:
    """The documents as they are known beyond what the index knows."""

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
        """Where the documents were that these marks are of; empty when it is not known."""
        self.documents = documents or {}
        """Those that we wrote to since the index came level."""
        self.behind = behind
        """The position of a change of whole texts that the index was not told yet; -1 without."""
        self.forgot = forgot
        """Where the journal last tells of what the owner forgot; 0: nowhere, -1: not known."""
        self.unsettled = unsettled or {}
        """The documents that may not be on disk as they are, and the last change of each."""


class Heads(Protocol):
    """Where the marks are kept, to be read and written under the lock."""

    boot: str
    """What tells one run of the machine, and one device, from the next; the same always where a
    power cut leaves nothing half done.
    """
    home: str
    """What tells the documents' directory from any other; empty where there is none."""

    def load(self) -> Marks:
        """The marks as the last writer left them; empty ones when there is nothing to read."""

    def save(self, marks: Marks) -> None: ...

    def close(self) -> None: ...


class FileHeads:
    """A file that keeps the marks."""

    def __init__(self, path: StrPath, *, root: StrPath = "") -> None:
        """`root` is the directory of the documents that the marks are of."""
        self.path = os.fspath(path)
        found = os.stat(root) if root else None
        self.boot = f"{_boot_id()} {found.st_dev}" if found else _boot_id()
        self.home = str(found.st_ino) if found else ""
        self._descriptor = -1
        self._process = 0

    def load(self) -> Marks:
        return marks_in(os.pread(self._open(), 1 << 20, 0).split(b"\n", 1)[0])

    def save(self, marks: Marks) -> None:
        # What an older, longer text leaves behind the line's end is never read.
        os.pwrite(self._open(), text_of(marks).encode() + b"\n", 0)

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


def marks_in(text: str | bytes) -> Marks:
    """The marks that a text tells; empty ones when it cannot be read."""
    try:
        value = parsed(text)
        documents = {name: _known(*row) for name, row in value["documents"].items()}
        behind, forgot = value.get("behind", -1), value.get("forgot", -1)
        end, settled, boot = value["end"], value["settled"], value["boot"]
        unsettled = dict(value.get("unsettled", ()))
        marks = Marks(end, settled, boot, documents, behind, forgot, unsettled)
        marks.home = value.get("home", "")
        return marks
    except (ValueError, KeyError, TypeError):
        return Marks()


def text_of(marks: Marks) -> str:
    """The marks as the text that `marks_in` reads."""
    rows = {name: _row(known) for name, known in marks.documents.items()}
    value = {"end": marks.end, "settled": marks.settled, "boot": marks.boot, "documents": rows}
    if marks.home:
        value["home"] = marks.home
    if marks.behind >= 0:
        value["behind"] = marks.behind
    if marks.forgot >= 0:
        value["forgot"] = marks.forgot
    if marks.unsettled:
        value["unsettled"] = marks.unsettled
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
