"""The files that CursorClaw's own program keeps in `tmp/` of its workspace, for who runs both.

The lock and the two files have the form that CursorClaw publishes.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha1
from math import sqrt
from typing import Any

from commonplace.model.errors import Busy, StrangeFile
from commonplace.model.records import PASSAGE, Record, Sensitivity
from commonplace.storage import machine_files
from commonplace.storage.machine_files import unfinished
from commonplace.storage.notes import Notes

DIRECTORY = "tmp"
LOCK = "memory-compaction.lock"
HELD = f"{DIRECTORY}/{LOCK}"
EMBEDDINGS = "memory-embeddings.json"
EXPERIENCES = "experience-store.json"
OURS = "beside.lock"
"""The note of what stands in the lock while it is ours."""
VERSION = 1
DIMENSIONS, MOST_WORDS = 128, 2000
WORD = re.compile(r"[a-z0-9_]{2,}")
LONG_AGO = 86_400
"""Seconds after which a lock is let be no longer, if no process has its number."""


@contextmanager
def alone_beside(root: str, notes: Notes, *, now: float) -> Iterator[None]:
    """Hold CursorClaw's lock of compaction; `Busy` while another program does.

    Only one of us asks at a time: what a note says is ours was left by one that was killed.
    """
    with _directory(root) as directory:
        left, age = _found(directory, now)
        if left is not None and (left == notes.read(OURS) or (age > LONG_AGO and not _runs(left))):
            _remove(directory)
        mine = str(os.getpid()).encode()
        notes.write(OURS, mine)
        try:
            _take(directory, mine)
            try:
                yield
            finally:
                _remove(directory)
        finally:
            notes.remove(OURS)


@contextmanager
def _directory(root: str) -> Iterator[int]:
    """The directory `tmp`, which must be none that a link leads to."""
    path = os.path.join(root, DIRECTORY)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield directory
    finally:
        os.close(directory)


def _take(directory: int, mine: bytes) -> None:
    try:
        descriptor = os.open(LOCK, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=directory)
    except FileExistsError:
        raise Busy(HELD, 0) from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(mine)


def _remove(directory: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(LOCK, dir_fd=directory)


def _found(directory: int, now: float) -> tuple[bytes | None, float]:
    """What a lock says that is there, and its age in seconds."""
    try:
        descriptor = os.open(LOCK, os.O_RDONLY | machine_files.LEAF, dir_fd=directory)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(20), now - os.fstat(descriptor).st_mtime
    except OSError:
        return None, 0.0


def _runs(number: bytes) -> bool:
    try:
        os.kill(int(number), 0)
    except (ValueError, ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # Another user's.
    return True


def write_embeddings(root: str, records: Iterable[Record], *, most: int, at: str) -> None:
    """Write the vectors of the newest records."""
    shown = [record for record in records if _may_be_written(record)][-most:]
    chunks = [_chunk(record, at) for record in shown]
    _write(root, EMBEDDINGS, {"version": VERSION, "chunks": chunks})


def _chunk(record: Record, at: str) -> dict[str, Any]:
    return {
        "id": record.id,
        "recordId": record.id,
        "text": record.text,
        "category": record.kind,
        "sessionId": record.session,
        "updatedAt": at,
        "vector": vector_of(record.text),
    }


def write_experiences(root: str, records: Iterable[Record]) -> None:
    """Write the experiences with their vectors."""
    found = [_experience(record) for record in records if _may_be_written(record)]
    _write(root, EXPERIENCES, {"version": VERSION, "experiences": found})


def _experience(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "text": record.text,
        "category": record.kind,
        "sessionId": record.session,
        "recordId": record.id,
        "timestamp": record.timestamp,
        "vector": vector_of(record.text),
    }


def _may_be_written(record: Record) -> bool:
    return record.kind != PASSAGE and record.sensitivity != Sensitivity.SECRET


def vector_of(text: str) -> list[float]:
    """The words of a text counted into buckets by their hash, as one vector of length 1."""
    counts = Counter(map(_bucket, WORD.findall(text.lower())[:MOST_WORDS]))
    length = sqrt(sum(count * count for count in counts.values())) or 1.0
    return [counts[at] / length for at in range(DIMENSIONS)]


def _bucket(word: str) -> int:
    return int.from_bytes(sha1(word.encode()).digest()[:4], "big") % DIMENSIONS


def _write(root: str, name: str, value: dict[str, Any]) -> None:
    """Whole or not at all: the other program reads it at any time."""
    with _directory(root) as directory:
        fresh = os.path.basename(unfinished(name))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(fresh, flags, 0o600, dir_fd=directory), "w") as file:
            json.dump(value, file, ensure_ascii=False, indent=2)
        os.replace(fresh, name, src_dir_fd=directory, dst_dir_fd=directory)


def still_there(root: str, ids: Sequence[str]) -> tuple[str, ...]:
    """Which of the files quote these records."""
    return tuple(
        f"{DIRECTORY}/{name}, which CursorClaw writes anew when it next recalls"
        for name in (EMBEDDINGS, EXPERIENCES)
        if _names(os.path.join(root, DIRECTORY, name), ids)
    )


def _names(path: str, ids: Sequence[str]) -> bool:
    try:
        text = machine_files.read(path).decode("utf-8", "replace")
    except (OSError, StrangeFile):
        return False
    return any(json.dumps(key) in text for key in ids)
