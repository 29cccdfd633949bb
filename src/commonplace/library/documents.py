"""Whole documents: make, append to, rename and remove them, and show agents what they may see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.library import marking
from commonplace.library.record_reader import decoded
from commonplace.library.tombstones import Tombstones
from commonplace.library.transactions import Transactions
from commonplace.markdown import documents, record_lines
from commonplace.markdown.documents import Item
from commonplace.markdown.layouts import entry_names
from commonplace.model.errors import AlreadyExists, NoSuchDocument, Refused, Unreadable
from commonplace.model.records import (
    DERIVED,
    PASSAGE,
    Author,
    Origin,
    Problem,
    Record,
    Sensitivity,
    etag_of,
)
from commonplace.search.chains import Chains
from commonplace.search.index import Query
from commonplace.storage.journal import Change, Gone, Op, Text, find_text
from commonplace.trust.origins import lowest, needs_review

SAYS_SO = f'{Sensitivity.SECRET}"'
"""What stands in every line that says of itself that it is secret."""
KEPT = 64
"""How many texts are kept as they are shown."""
SHOWN, WIDTH = 5, 60
"""Entries of which an answer tells that they were dropped, and characters of each."""


class Written(Struct, frozen=True):
    """A document after a write: its text's mark, and whether other changes were merged into it."""

    document: str
    etag: str
    merged: bool = False
    conflicts: int = 0
    dropped: tuple[str, ...] = ()
    """The lines that are gone by it."""

    @property
    def dropped_sentence(self) -> str:
        """What was dropped, in a sentence; empty when nothing was."""
        if not self.dropped:
            return ""
        first = self.dropped[:SHOWN]
        shown = "; ".join(line if len(line) <= WIDTH else line[:WIDTH] + "…" for line in first)
        more = len(self.dropped) - SHOWN
        lines = "1 line" if len(self.dropped) == 1 else f"{len(self.dropped)} lines"
        return f"Dropped {lines}: {shown}{f'; and {more} more' if more > 0 else ''}."


class Documents:
    """The documents of one vault."""

    def __init__(self, transactions: Transactions, tombstones: Tombstones) -> None:
        self.transactions = transactions
        self.tombstones = tombstones
        self.writer = transactions.writer
        self.watch = transactions.watch
        self.shared = self.writer.shared
        self.vault = self.shared.vault
        self.journal = self.shared.journal
        self.index = self.shared.index
        self.layout = self.shared.layout
        self.reader = self.shared.reader
        self.screened: dict[tuple[str, str, int], str] = {}
        """Texts without their secrets, by what they were made of."""

    def create(self, name: str, text: str, *, author: Author) -> Written:
        """Make a document that must not be there yet."""

        def work() -> Written:
            if self.watch.look(name) is not None:
                raise AlreadyExists(name, next_step="Choose another name, or update that document.")
            return self._append_text(name, text, author, headed=False)

        return self.transactions.locked(work)

    def write_entry(self, directory: str, text: str, *, author: Author) -> Written:
        """Make a diary entry, named by this second or by the next one that has none."""

        def work() -> Written:
            taken = self.vault.listing().documents
            names = entry_names(directory, self.shared.clock.now())
            name = next(
                name for name in names if name not in taken and self.watch.look(name) is None
            )
            return self._append_text(name, text, author, headed=False)

        return self.transactions.locked(work)

    def append_text(self, name: str, text: str, *, author: Author, headed: bool = True) -> Written:
        """Add any text to the end of a document, on a line of its own."""
        return self.transactions.locked(
            lambda: self._append_text(name, text, author, headed=headed)
        )

    def _append_text(self, name: str, text: str, author: Author, *, headed: bool = True) -> Written:
        whole = text if text.endswith("\n") else text + "\n"
        if author.origin != Origin.OWNER:
            # Nor may it join the item above, or leave a fence open over what comes below.
            whole = documents.closed(documents.apart(documents.disarm(whole, keep=())))
        before = self.text_before(name, headed=headed)
        if self.writer.check_growth:
            self.writer.check_growth(name, before, before + whole)
        self.tombstones.refuse_forgotten(
            {name: (before.encode(), (before + whole).encode())}, author=author
        )
        data = self.provenance(name, before, before + whole, author)
        self.watch.look_at([name])
        self.writer.append(Op.ADD, (whole,), to=(name,), author=author, headed=headed, data=data)
        return Written(name, etag_of(self.vault.read(name)))

    def text_before(self, name: str, *, headed: bool) -> str:
        """What stands above a text that is appended; its headings are part of what it says."""
        if self.watch.look(name) is None:
            return self.layout.header(name) if headed else ""
        text = self.shared.text(name)[0]
        return text if documents.ends_clean(text) else text + "\n"

    def remove(self, names: Sequence[str], *, author: Author) -> None:
        """Take whole documents away, in one change. The journal keeps them."""

        def work() -> None:
            texts: marking.Texts = {name: (self._there(name), None) for name in names}
            self._replace_texts(Op.REPLACE, map(Gone, names), texts, author=author)

        self.transactions.locked(work)

    def rename(self, names: Mapping[str, str], *, author: Author) -> None:
        """Give documents other names, `{name: new}`, in one change."""

        def work() -> None:
            self.watch.look_at_all()
            changes: list[Change] = []
            texts: marking.Texts = {}
            known: dict[str, dict[str, Any]] = {}
            for name, new in names.items():
                data = self._there(name)
                self._check_new_name(name, new, decoded(name, data), author)
                known |= self._known_as(name, new, decoded(name, data))
                changes += (Text(new, self.journal.keep(data)), Gone(name))
                texts |= {new: (None, data), name: (data, None)}
            entry = self.shared.entry(Op.REPLACE, changes, author=author, data=known)
            self.writer.replace_texts(entry, texts)

        self.transactions.locked(work)

    def _check_new_name(self, name: str, new: str, text: str, author: Author) -> None:
        """Fail when the name is taken, or would show an agent what it may not see."""
        if self.watch.look(new) is not None:
            raise AlreadyExists(new, next_step="Choose another name, or delete that one first.")
        records = {i.start for i in self.reader.parse(new, text).items if i.record.kind != PASSAGE}
        prose = any(item.start not in records for item in self._secrets(name, text))
        if prose and author.origin != Origin.OWNER:
            raise Refused(
                f"{name} holds what only its owner may see, and {new} has no records.",
                next_step="Choose another name, or ask the user to rename it.",
            )

    def _known_as(self, name: str, new: str, text: str) -> dict[str, dict[str, Any]]:
        """What is known of a text's lines, by the ids they have in a document of another name."""
        was = self.reader.parse(name, text).items
        known = self.index.get_all(item.record.id for item in was)
        records = {item.start: known.get(item.record.id, item.record) for item in was}
        # What is one piece under the new name may have been several, of different people.
        least = lowest([Origin.OWNER, *(record.origin for record in records.values())])
        found: dict[str, dict[str, Any]] = {}
        for start, fresh in (
            (item.start, item.record) for item in self.reader.parse(new, text).items
        ):
            old = records.get(start)
            if fresh.id in known:
                continue
            if old is None or PASSAGE in (old.kind, fresh.kind):
                found[fresh.id] = {"origin": least}
            else:
                found[fresh.id] = {**old.data(), "id": fresh.id, "origin": old.origin}
        return found

    def _there(self, name: str) -> bytes:
        """What a document says, which must be there."""
        if self.watch.look(name) is None:
            raise NoSuchDocument(name)
        return self.vault.read(name)

    def provenance(
        self, name: str, before: str, after: str, author: Author
    ) -> dict[str, dict[str, str]]:
        """Whom the lines of a text are from that say nothing of it: else they pass for the owner's.

        What stands in the text twice, or stood in it before, keeps the origin it had.
        """
        if author.origin == Origin.OWNER:
            return {}
        there = {item.record.id for item in self.reader.parse(name, before).items}
        fresh = (item.record.id for item in self.reader.parse(name, after).items)
        return {key: {"origin": author.origin} for key in fresh if key not in there}

    def disarmed(self, name: str, before: str, after: str, author: Author) -> str:
        """The text with no data but what was there, and of records whose words alone are new."""
        keep = documents.carried(before)
        gone = keep - documents.carried(after)
        secret = {item.record.id for item in self._secrets(name, before)} if gone else set()
        known = {
            item.record.id: item.record
            for item in (self.reader.parse(name, before).items if gone else ())
            if item.record.id not in secret
            and not gone.isdisjoint(documents.carried(before[item.start : item.end]))
        }
        text = documents.disarm(
            after, keep=keep, otherwise=lambda item: _reworded(item, known, author)
        )
        return self._with_kinds_kept(name, before, text) if self.layout.sections else text

    def _with_kinds_kept(self, name: str, before: str, text: str) -> str:
        """The text with the kind written into lines that an agent moved below another heading.

        Only a person makes a rule of a fact by moving it.
        """
        was = {item.record.id: item.record for item in self.reader.parse(name, before).items}
        for item in reversed(self.reader.parse(name, text).items):
            old = was.get(item.record.id)
            if old and old.kind != item.record.kind and PASSAGE not in (old.kind, item.record.kind):
                line = record_lines.noted(text[item.start : item.end], old, kind=old.kind)
                text = text[: item.start] + line + text[item.end :]
        return text

    def with_secrets(self, name: str, before: str, after: str) -> str:
        """The text with the secret records it lacks: who is not shown them can't keep them."""
        there = {item.record.id for item in self.reader.parse(name, after).items}
        lines_kept = [
            record_lines.alone(before[item.start : item.end], item.record)
            for item in self._secrets(name, before)
            if item.record.id not in there
        ]
        if not lines_kept:
            return after
        guard = "" if not after or after.endswith("\n") else "\n"
        return after + guard + "".join(lines_kept)

    def without_secrets(self, name: str, text: str) -> str:
        """The text as an agent may be shown it."""
        for item in reversed(self._secrets(name, text)):
            text = text[: item.start] + text[item.end :]
        return text

    def _secrets(self, name: str, text: str) -> list[Item]:
        """What of a text only its owner may see."""
        items = self.reader.parse(name, text).items
        records = (item.record for item in items if item.record.kind != PASSAGE)
        # What a line does not say of itself the index knows.
        unsaid = [record for record in records if DERIVED.match(record.id)]
        known = self.index.get_all(record.id for record in unsaid)
        # It has let go of what stands in old texts alone, and may not have heard of the newest.
        rest = [record for record in unsaid if record.id not in known]
        if rest:
            known |= {record.id: record for record in self.reader.as_journalled(rest)}
        return [
            item
            for item in items
            if known.get(item.record.id, item.record).sensitivity == Sensitivity.SECRET
        ]

    def put_text(
        self,
        op: Op,
        name: str,
        before: bytes | None,
        after: bytes,
        *,
        author: Author,
        data: dict[str, dict[str, str]] | None = None,
    ) -> None:
        """Journal and make a whole new text. Called under the lock."""
        version = Text(name, self.journal.keep(after))
        self._replace_texts(op, [version], {name: (before, after)}, author=author, data=data)

    def _replace_texts(
        self,
        op: Op,
        changes: Iterable[Change],
        texts: marking.Texts,
        *,
        author: Author,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a change of whole texts, with a mark on what the records it drops had replaced."""
        marks = Chains(self.index).loss(marking.leaving(self.writer, texts)).marks
        told, texts = marking.marked(self.writer, changes, texts, marks)
        known = {**(data or {}), **marking.unwritten(self.writer, marks)}
        changed, removed = self._touched(texts)
        entry = self.shared.entry(
            op, told, ids=changed + removed, removed=removed, author=author, data=known
        )
        self.writer.replace_texts(entry, texts)

    def _touched(self, texts: marking.Texts) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The records that new texts have changed or brought, and those that they lack."""
        was = self._records_in({name: before for name, (before, _) in texts.items()})
        now = self._records_in({name: after for name, (_, after) in texts.items()})
        changed = tuple(key for key, record in now.items() if was.get(key) != record)
        return changed, tuple(key for key in was if key not in now)

    def _records_in(self, texts: Mapping[str, bytes | None]) -> dict[str, Record]:
        """The records of some texts, by their ids; prose is none."""
        items = (
            item
            for name, data in texts.items()
            for item in self.reader.parse(name, decoded(name, data or b"", lenient=True)).items
        )
        return {item.record.id: item.record for item in items if item.record.kind != PASSAGE}

    def text_marked(self, name: str, etag: str) -> bytes | None:
        """The text of a document that had this mark, from what the journal kept."""
        kept = self.journal.version(etag)
        if kept is not None:
            return kept
        return find_text(self.journal, name, lambda text: etag_of(text) == etag)

    def problems(self) -> list[Problem]:
        """Every mistake in the documents' text, and everything that cannot be read."""
        listing = self.vault.listing()
        found = [Problem(path, 0, why) for path, why in listing.unreadable.items()]
        for name in listing.documents:
            try:
                found += self.reader.parse(name, self.shared.text(name)[0]).problems
            except Unreadable as error:
                found.append(Problem(name, 0, str(error)))
        return found


class Screen:
    """Screens the documents of one vault as they are now."""

    def __init__(self, documents: Documents) -> None:
        documents.transactions.refresh()
        self._documents = documents
        self._known = documents.index.known()
        self._level = documents.index.level()
        secret = Query(
            sensitivity=Sensitivity.SECRET,
            include_secret=True,
            include_superseded=True,
            limit=1 << 30,
        )
        hits = documents.index.search(secret)
        self._hiding = {place.document for hit in hits for place in hit.places}

    def shown(self, name: str, text: str) -> str:
        """The text of a document as an agent may be shown it."""
        return self._parsed(name, text) if self._may_hide(name, text) else text

    def _may_hide(self, name: str, text: str) -> bool:
        if name in self._hiding or SAYS_SO in text:
            return True
        # Written to since the index was asked: what came may be secret.
        known = self._known.get(name)
        return known is None or known.signature.size != len(text.encode())

    def _parsed(self, name: str, text: str) -> str:
        """The same, parsed once as long as neither the text nor the index changes."""
        key = (name, etag_of(text.encode()), self._level)
        kept = self._documents.screened
        if key not in kept:
            while len(kept) >= KEPT:
                kept.pop(next(iter(kept)))
            kept[key] = self._documents.without_secrets(name, text)
        return kept[key]


def _reworded(item: str, known: dict[str, Record], author: Author) -> str:
    """A line with data as an agent leaves it: new words of a known record, and nothing else new.

    They are the agent's from then on, and what needs a person's approval loses its data.
    """
    said = record_lines.read(item, reading=documents.NOWHERE).record
    old = known.pop(said.id, None) if said else None
    if said is None or old is None:
        return documents.harmless(item)
    new = replace(old, text=said.text, origin=lowest((old.origin, author.origin)))
    if new == said:
        return item
    held = needs_review(behavioral=new.behavioral, origin=new.origin, tainted=False)
    form = "plain" if held else record_lines.form_of(item)
    line = record_lines.write(new, form, kind="", day=record_lines.shown_day(item))
    return line.replace("\n", "\r\n") if "\r\n" in item else line
