"""Do to the copy of a line what a person did to the line.

CursorClaw, and native vaults of the older form, write a record into two documents. Whoever deletes
or rewords one of the two lines means the memory.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.library.erase import spans_of
from commonplace.library.record_reader import decoded
from commonplace.library.writer import Writer
from commonplace.model.records import DERIVED, OWNER
from commonplace.storage.journal import FOLLOWS, Added, Op, Text, without

if TYPE_CHECKING:
    from commonplace.markdown.documents import Parsed


class PersonsEdit(Struct, frozen=True):
    """What a person did to lines of a document that carry the ids of records."""

    document: str
    position: int
    removed: frozenset[str]
    reworded: dict[str, str]
    """The new lines."""


class Copies:
    """The copies of lines in the documents of one vault. Called under the lock."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self._edits: list[PersonsEdit] = []

    def note(
        self,
        name: str,
        position: int,
        before: Parsed,
        after: Parsed,
        *,
        removed: Collection[str],
        back: set[str],
        since: int,
    ) -> None:
        """Remember what an edit did. What stands `back` in the document soon was not deleted.

        Nor was a line of which we put the copy back `since` the document was last looked at: who
        wrote this text had not seen it, as one who brings documents of another vault.
        """
        kept = back.union(self._put_back(since)) if removed else back
        gone = frozenset(key for key in removed if not DERIVED.match(key) and key not in kept)
        was = {item.record.id: item.record for item in before.items}
        text = decoded(name, self.writer.vault.read(name), lenient=True)
        reworded = {
            item.record.id: text[item.start : item.end]
            for item in after.items
            if item.record.id in was
            and was[item.record.id] != item.record
            and not DERIVED.match(item.record.id)
        }
        if gone or reworded:
            self._edits.append(PersonsEdit(name, position, gone, reworded))

    def follow(self, name: str) -> None:
        """Change the copies of lines as they were changed, now that a document was taken in.

        A copy in a document that somebody else is just changing waits until that is taken in.
        """
        pending, self._edits = self._edits, []
        for edit in pending:
            for document in self._copied_to(edit):
                if document == name or self._is_as_we_left_it(document):
                    self._change(edit, document)
                else:
                    self._edits.append(edit)

    def _copied_to(self, edit: PersonsEdit) -> list[str]:
        """The documents into which we wrote copies of the lines."""
        found: dict[str, None] = {}
        for key in (*edit.removed, *edit.reworded):
            for place in self.writer.index.documents_of(key):
                if place.document != edit.document and self._wrote(key, place.document):
                    found[place.document] = None
        return list(found)

    def _wrote(self, key: str, document: str) -> bool:
        """Whether the line was ours there: a person may have moved it there by hand."""
        return any(
            change.document == document
            for entry in self.writer.journal.about(key)
            for change in entry.changes
            if isinstance(change, Added) and key in entry.ids
        )

    def _put_back(self, since: int) -> set[str]:
        """The records that were put back from a position of the journal on."""
        entries = self.writer.journal.about(Op.PUT_BACK, since=max(since, 0))
        return {key for entry in entries if entry.op == Op.PUT_BACK for key in entry.ids}

    def _is_as_we_left_it(self, document: str) -> bool:
        known, stat = self.writer.sync.known_of(document), self.writer.vault.stat(document)
        if known is None or stat is None:
            return False
        was = known.signature
        return (was.size, was.mtime_ns, was.inode) == (stat.size, stat.mtime_ns, stat.inode)

    def _change(self, edit: PersonsEdit, name: str) -> None:
        writer = self.writer
        before = writer.vault.read(name)
        text = decoded(name, before)
        parsed = writer.reader.parse(name, text)
        newline = "\r\n" if "\r\n" in text else "\n"
        for item in reversed(parsed.items):
            if line := edit.reworded.get(item.record.id):
                line = line.replace("\r\n", "\n").removesuffix("\n") + "\n"
                text = text[: item.start] + line.replace("\n", newline) + text[item.end :]
        spans = spans_of(text, writer.reader.parse(name, text), set(edit.removed))
        after = without(text.encode(), spans)
        if after == before:
            return
        ids = (*edit.reworded, *edit.removed)
        entry = writer.shared.entry(
            Op.FOLLOW,
            [Text(name, writer.journal.keep(after))],
            ids=tuple(key for key in ids if key.encode() in before),
            removed=tuple(key for key in edit.removed if key.encode() in before),
            author=OWNER,
            data={FOLLOWS: edit.position},
        )
        writer.replace_texts(entry, {name: (before, after)})
