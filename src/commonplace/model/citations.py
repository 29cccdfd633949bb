"""Citations: the file or document that a record rests on, as its line carries it.

    src/app.py:12-30 ~/code/app@1a2b3c4d5e 2026-11-18 #9f3c0d11a2b3c4d5.77aa00bb11cc22dd
    ~/notes/todo.txt:3 2026-11-18 #9f3c0d11a2b3c4d5.77aa00bb11cc22dd
    USER.md:12 2026-11-18 #9f3c0d11a2b3c4d5.77aa00bb11cc22dd

A path with the lines; the root of its repository, and the commit that was checked out; the day; the
hash of the file, as git names such a text, and that of the lines. A path that is neither below a
repository nor begins at the root or the home is a document of the vault.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from msgspec import Struct

from commonplace.model.errors import BadValue
from commonplace.model.files import digest

MOST = 10
"""Citations of one record."""
LONGEST = 1000
"""Characters of one as it is written."""
HASH = 16
"""Hexadecimal digits of a hash that are kept."""
COMMIT = 10
"""Those of a commit."""
NAMED = re.compile(r"(?P<path>.+?)(?::(?P<first>[1-9]\d{0,6})(?:-(?P<last>[1-9]\d{0,6}))?)?\Z")
WRITTEN = re.compile(
    r"(?P<path>[^\s:#]+)(?::(?P<first>[1-9]\d{0,6})(?:-(?P<last>[1-9]\d{0,6}))?)?"
    r"(?: (?P<repository>[~/A-Za-z][^\s@#]*)(?:@(?P<commit>[0-9a-f]{7,64}))?)?"
    r"(?: (?P<day>\d{4}-\d\d-\d\d))?"
    rf" #(?P<file>[0-9a-f]{{{HASH}}})(?:\.(?P<hashed>[0-9a-f]{{{HASH}}}))?\Z"
)
SIGNS = " %:@#"
UNQUOTED = re.compile(rb"%([0-9A-F]{2})")
ABSOLUTE = re.compile(r"(?:/|~/|[A-Za-z]:[\\/])")


class Citation(Struct, frozen=True):
    """What a record rests on: some lines of a file as they were on a day, or all of it."""

    path: str
    first: int = 0
    """The first line that is cited, from 1; 0 for the whole file."""
    last: int = 0
    repository: str = ""
    """The root that the path is relative to; the home may stand as `~`."""
    commit: str = ""
    day: str = ""
    file: str = ""
    """How git names a text like that of the file, shortened."""
    hashed: str = ""
    """The hash of the lines, where some are cited."""

    @property
    def in_vault(self) -> bool:
        """Whether it is a document of the vault."""
        return not self.repository and not ABSOLUTE.match(self.path)

    @property
    def place(self) -> str:
        """The path with the lines, as people write it."""
        return placed(self.path, self.first, self.last)


def placed(path: str, first: int, last: int) -> str:
    """A path with its lines."""
    if not first:
        return path
    return f"{path}:{first}" if first == last else f"{path}:{first}-{last}"


def named(text: str) -> Citation:
    """What a person or an agent names, such as `src/app.py:12-30`; nothing is read yet."""
    match = NAMED.match(text) if isinstance(text, str) else None
    if not match or "\0" in text or len(text) > LONGEST:
        raise BadValue("evidence", f"{text!r} names no file", next_step="Use FILE or FILE:12-30.")
    first = int(match["first"] or 0)
    last = int(match["last"] or first)
    if last < first:
        raise BadValue("evidence", f"{text!r} ends before it begins", next_step="Use FILE:12-30.")
    return Citation(match["path"], first, last)


def written(citation: Citation) -> str:
    """A citation as the line of its record carries it."""
    source = _quoted(citation.repository)
    commit = f"@{citation.commit}" if source and citation.commit else ""
    hashes = f"#{citation.file}" + (f".{citation.hashed}" if citation.hashed else "")
    path = placed(_quoted(citation.path), citation.first, citation.last)
    return " ".join(filter(None, (path, source + commit, citation.day, hashes)))


def read(text: str) -> Citation | None:
    """The citation that a line carries; None for what is none."""
    match = WRITTEN.match(text) if len(text) <= LONGEST else None
    if not match:
        return None
    first = int(match["first"] or 0)
    return Citation(
        _unquoted(match["path"]),
        first,
        int(match["last"] or first),
        _unquoted(match["repository"] or ""),
        match["commit"] or "",
        match["day"] or "",
        match["file"],
        match["hashed"] or "",
    )


def file_hash(data: bytes) -> str:
    """How git names a text like this, shortened."""
    named = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    named.update(data)
    return named.hexdigest()[:HASH]


def lines_hash(lines: Sequence[bytes]) -> str:
    """The hash of lines, however they end."""
    return digest(b"\n".join(line.rstrip(b"\r") for line in lines))[:HASH]


def _quoted(text: str) -> str:
    """A path without what would end it: spaces, the signs of the form, what cannot be shown."""
    return "".join(
        each if each.isprintable() and each not in SIGNS else _percents(each) for each in text
    )


def _percents(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogateescape"))


def _unquoted(text: str) -> str:
    raw = UNQUOTED.sub(lambda found: bytes([int(found[1], 16)]), text.encode("utf-8", "replace"))
    return raw.decode("utf-8", "surrogateescape")
