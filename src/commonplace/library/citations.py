"""Whether the files and lines that records rest on are still as they were cited.

One look tells that a file was not written since; else it is read once and hashed. What it says is
shown to nobody. A file outside of the vault is looked at only if this user cited it on this
machine, or trusts the vault: a record may come from anywhere, and name any file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from commonplace.library.library import Library
from commonplace.markdown.record_lines import plain
from commonplace.model import citations
from commonplace.model.citations import Citation, placed
from commonplace.model.errors import BadValue, CommonplaceError
from commonplace.model.files import digest
from commonplace.storage import machine_files, outside_files, repository
from commonplace.storage.notes import FileNotes

NOTE = "cited.json"
"""What the last look at each citation found, and that it was made here."""
KEPT = 4096
"""Citations that are remembered; of older ones the files are hashed again."""
RACY_NS = 2_000_000_000
"""A file that was written so short ago may be written again within the same time."""
SEARCHED = 20_000
"""Lines of a file among which cited ones are looked for."""
SINKS = 0.8
"""What a record that rests on something stale counts for, beside others."""


class Freshness(StrEnum):
    """What has become of something that was cited."""

    FRESH = "fresh"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    UNCHECKED = "unchecked"


class CitationStanding(Struct, frozen=True):
    """A citation with what has become of it."""

    citation: Citation
    state: Freshness
    place: str = ""
    """Where it is now, of what moved."""

    @property
    def is_stale(self) -> bool:
        """Whether the record may not be so any more; what moved says the same elsewhere."""
        return self.state in (Freshness.CHANGED, Freshness.GONE)

    def sentence(self) -> str:
        """What is said beside the record; no name, which whoever wrote the record chose."""
        since = f" since {self.citation.day}" if self.citation.day else ""
        what = "line" if self.citation.in_vault else "file"
        return {
            Freshness.MOVED: f"cited {what} moved{since}",
            Freshness.CHANGED: f"cited {what} changed{since}",
            Freshness.GONE: f"cited {what} is gone{since and f', cited on {self.citation.day}'}",
        }.get(self.state, "")


class Found(Struct, frozen=True):
    """What one look sees: its mark, which is another when it is written, and how to read it."""

    mark: tuple[int, int]
    read: Callable[[], bytes]


class Citations:
    """Makes citations for one vault, and checks them."""

    def __init__(
        self,
        library: Library,
        *,
        root: str,
        own: Callable[[], str],
        trusted: Callable[[], bool],
    ) -> None:
        """`root` has the documents, if they are files; `own` is the user's own directory."""
        self._library = library
        self._root = os.path.realpath(root) if root else ""
        self._home = os.path.realpath(os.path.expanduser("~"))
        self._own = own
        self._is_trusted = trusted
        self._fresh: dict[str, list[int | str]] = {}

    @cached_property
    def _noted(self) -> dict[str, list[int | str]]:
        try:
            kept = machine_files.parsed(FileNotes(self._own()).read(NOTE) or b"{}")
        except (OSError, ValueError, CommonplaceError):
            return {}
        return kept if isinstance(kept, dict) else {}

    def cited(self, text: str, *, base: str, outside: bool) -> Citation:
        """What a person or an agent names, as it is now.

        A relative path begins at `base`, or names a document; without `outside` it has to.
        """
        named = citations.named(text)
        path = os.path.expanduser(named.path)
        full = os.path.realpath(os.path.join(base, path))
        document = self._document_at(full) or ("" if os.path.isabs(path) else named.path)
        if document and self._is_document(document) and not self._is_other(full, document):
            return self._made(replace(named, path=document))
        if not outside:
            raise BadValue(
                "evidence",
                f"{text!r} is no document of this vault",
                next_step="Name a document, such as USER.md:12; files are cited on their machine.",
            )
        return self._made(self._placed(named, full))

    def renewed(self, text: str, *, outside: bool) -> Citation:
        """A citation of the same lines as they are now, where they are now."""
        standing = self.standing(text)
        citation = standing.citation
        if not citation.in_vault and not outside and _key(text) not in self._noted:
            raise BadValue(
                "evidence", "it was cited on another machine", next_step="Renew it there."
            )
        if standing.state == Freshness.GONE:
            raise BadValue(
                "evidence",
                f"{citation.place} is gone",
                next_step="Cite another place with 'commonplace cite ID FILE:LINES', or --drop it.",
            )
        if standing.state == Freshness.MOVED:
            now = citations.named(standing.place)
            citation = replace(citation, path=now.path, first=now.first, last=now.last)
        if citation.in_vault:
            return self._made(citation)
        return self._made(self._placed(citation, self._path(citation)))

    def standing(self, text: str) -> CitationStanding:
        """What has become of a citation, as a record's line carries it."""
        citation = citations.read(text)
        if citation is None:
            return CitationStanding(Citation(text), Freshness.UNCHECKED)
        key = _key(text)
        noted = self._fresh.get(key) or self._noted.get(key)
        if not (citation.in_vault or noted or self._is_trusted()):
            return CitationStanding(citation, Freshness.UNCHECKED)
        try:
            found = self._look(citation)
            if found is None:
                return self._lost(citation)
            if noted and [*found.mark] == noted[:2] and not citation.in_vault:
                return CitationStanding(citation, Freshness(str(noted[2])), str(noted[3]))
            standing = _compared(citation, found.read())
        except outside_files.Unseen:
            return CitationStanding(citation, Freshness.UNCHECKED)
        except (OSError, ValueError, CommonplaceError):
            return CitationStanding(citation, Freshness.CHANGED)
        if not citation.in_vault:
            self._note(key, found, standing)
        return standing

    def keep(self) -> None:
        """Note what was found, so that the next look need not read."""
        fresh, self._fresh = self._fresh, {}
        if not fresh:
            return

        def changed(data: bytes | None) -> bytes:
            kept = machine_files.parsed(data or b"{}")
            kept = kept if isinstance(kept, dict) else {}
            for key in fresh:
                kept.pop(key, None)
            return json.dumps(dict([*kept.items(), *fresh.items()][-KEPT:])).encode()

        self._noted.update(fresh)
        # Without it the files are read again.
        with suppress(OSError, ValueError, CommonplaceError):
            directory = self._own()
            machine_files.make_private(directory)
            FileNotes(directory).change(NOTE, changed)

    def _note(self, key: str, found: Found, standing: CitationStanding) -> None:
        size, written = found.mark
        is_racy = abs(self._library.clock.now_ns() - written) < RACY_NS
        self._fresh[key] = [-1 if is_racy else size, written, standing.state, standing.place]

    def _made(self, citation: Citation) -> Citation:
        """A citation with the hashes of today; it is noted that it was made here."""
        try:
            found = self._look(citation)
            data = found.read() if found else None
        except (OSError, CommonplaceError) as error:
            said = f"{citation.place} can't be cited: {error}"
            raise BadValue("evidence", said, next_step="Cite another file.") from None
        if found is None or data is None:
            raise BadValue(
                "evidence", f"{citation.place} is not there", next_step="Use FILE or FILE:12-30."
            )
        lines = _lines(data)
        if citation.last > len(lines):
            raise BadValue(
                "evidence",
                f"{citation.path} has {len(lines)} lines",
                next_step="Use FILE or FILE:12-30.",
            )
        file = citations.file_hash(data)
        made = replace(
            citation,
            commit=self._commit_with(citation, file),
            day=self._library.clock.today().isoformat(),
            file=file,
            hashed=_hash(citation, lines),
        )
        text = citations.written(made)
        if len(text) > citations.LONGEST:
            raise BadValue("evidence", "its path is too long", next_step="Cite another file.")
        if not made.in_vault:
            self._note(_key(text), found, CitationStanding(made, Freshness.FRESH))
        return made

    def _placed(self, named: Citation, full: str) -> Citation:
        """A citation of a file by its real path: below its repository, or else below the home."""
        within = repository.repository_of(full)
        if within is None:
            return replace(named, path=self._short(full), repository="", commit="")
        return replace(
            named,
            path=os.path.relpath(full, within.root).replace(os.sep, "/"),
            repository=self._short(within.root),
            commit=repository.commit_of(within)[: citations.COMMIT],
        )

    def _commit_with(self, citation: Citation, file: str) -> str:
        """The commit that is checked out; none where git's list lacks the text."""
        if not citation.commit:
            return ""
        within = repository.repository_at(self._repository_path(citation))
        return citation.commit if within and repository.name_of(within, file) else ""

    def _repository_path(self, citation: Citation) -> str:
        return self._path(replace(citation, path="."))[: -len("/.")]

    def _short(self, path: str) -> str:
        home = self._home
        if home != os.sep and path.startswith(home + os.sep):
            path = "~" + path[len(home) :]
        return path.replace(os.sep, "/")

    def _path(self, citation: Citation) -> str:
        """Where a cited file is. A path that climbs is none that was ever cited."""
        steps = f"{citation.repository}/{citation.path}" if citation.repository else citation.path
        if ".." in steps.split("/"):
            raise outside_files.Unseen("it is no path")
        return self._home + steps[1:] if steps.startswith("~/") else steps

    def _look(self, citation: Citation) -> Found | None:
        """A look at what is cited; None where it is not there."""
        if citation.in_vault:
            stat = self._library.stat(citation.path)
            read = self._read_document
            mark = (stat.size, stat.mtime_ns) if stat else None
            return Found(mark, lambda: read(citation.path)) if mark else None
        seen = outside_files.look(self._path(citation))
        return Found((seen.size, seen.mtime_ns), seen.read) if seen.there else None

    def _read_document(self, name: str) -> bytes:
        """A document without the data of its records, which change with use."""
        return plain(self._library.text(name)[0]).encode("utf-8", "replace")

    def _lost(self, citation: Citation) -> CitationStanding:
        """What is not there any more, unless git knows the same text by another name."""
        if citation.repository:
            root = self._repository_path(citation)
            within = repository.repository_at(root)
            name = repository.name_of(within, citation.file) if within else ""
            if name and ".." not in name.split("/"):
                seen = outside_files.look(f"{root}/{name}")
                if seen.there and citations.file_hash(seen.read()) == citation.file:
                    place = placed(name, citation.first, citation.last)
                    return CitationStanding(citation, Freshness.MOVED, place)
        return CitationStanding(citation, Freshness.GONE)

    def _document_at(self, full: str) -> str:
        """The document that a path leads to; empty where it leads out of the vault."""
        if not self._root or not full.startswith(self._root + os.sep):
            return ""
        return os.path.relpath(full, self._root).replace(os.sep, "/")

    def _is_document(self, name: str) -> bool:
        try:
            return self._library.stat(name) is not None
        except (OSError, CommonplaceError):
            return False

    def _is_other(self, full: str, document: str) -> bool:
        """Whether a file lies where the caller is, that only has the name of a document."""
        return os.path.isfile(full) and self._document_at(full) != document


def _key(text: str) -> str:
    return digest(text.encode("utf-8", "replace"))[:24]


def _lines(data: bytes) -> list[bytes]:
    return data.removesuffix(b"\n").split(b"\n")


def _hash(citation: Citation, lines: Sequence[bytes]) -> str:
    cited = lines[citation.first - 1 : citation.last]
    return citations.lines_hash(cited) if citation.first else ""


def _compared(citation: Citation, data: bytes) -> CitationStanding:
    if citations.file_hash(data) == citation.file:
        return CitationStanding(citation, Freshness.FRESH)
    if not citation.first:
        return CitationStanding(citation, Freshness.CHANGED)
    lines = _lines(data)
    if _hash(citation, lines) == citation.hashed:
        return CitationStanding(citation, Freshness.FRESH)
    at = _elsewhere(citation, lines)
    if at is None:
        return CitationStanding(citation, Freshness.CHANGED)
    moved = placed(citation.path, at, at + citation.last - citation.first)
    return CitationStanding(citation, Freshness.MOVED, moved)


def _elsewhere(citation: Citation, lines: Sequence[bytes]) -> int | None:
    """Where the cited lines stand now, the nearest to where they stood; None if nowhere."""
    count = citation.last - citation.first + 1
    if len(lines) > SEARCHED or count * len(lines) > 20 * SEARCHED:
        return None
    starts = sorted(range(1, len(lines) - count + 2), key=lambda at: abs(at - citation.first))
    return next(
        (
            at
            for at in starts
            if any(map(bytes.strip, lines[at - 1 : at - 1 + count]))
            and citations.lines_hash(lines[at - 1 : at - 1 + count]) == citation.hashed
        ),
        None,
    )
