"""Take records out of the documents: strike them, so that an undo brings them back, or erase them
for good.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.library import marking
from commonplace.library.approvals import Approvals
from commonplace.library.record_reader import decoded
from commonplace.library.tombstones import Tombstones
from commonplace.library.writer import Writer
from commonplace.markdown import record_lines
from commonplace.markdown.documents import Parsed
from commonplace.model.errors import CommonplaceError, ToBeFinished
from commonplace.model.records import PASSAGE, SYSTEM, Author, Record, derived_id
from commonplace.search.chains import Chains
from commonplace.storage.journal import BLANK, Cut, Op, Text, without
from commonplace.trust.neutralise import one_line

OUT_OF_REACH = (
    "copies outside the vault: backups, synced folders, git history",
    "what agents have already been shown",
)
TOLD = 3
"""Sessions, or messages, that a receipt names one by one."""
BACK = "'commonplace unlink {}' brings it back"
WHOLE = "native"
"""The form of a line that tells all of a record, wherever it stands."""
RUN_ON = re.compile("\x7f(?=[^\x7f\r\n])")
DATA_OF = rb'<!-- \{"id":"%s".*?-->'


class Receipt(Struct, frozen=True):
    """What was erased when records were forgotten, and what could not be reached."""

    ids: tuple[str, ...]
    documents: tuple[str, ...]
    texts: int
    """Entries and kept versions of the journal that were blanked."""
    held: tuple[str, ...] = ()
    """Of the ids, those of records that had been held for a person's approval."""
    summaries: tuple[str, ...] = ()
    """Summaries that were erased because they were made from these; made anew from the others."""
    experiences: int = 0
    messages: int = 0
    """Messages of the conversation history that were erased because they say it."""
    said: tuple[dict[str, Any], ...] = ()
    """The sessions whose messages say it still: session, messages, quote, ids."""
    out_of_reach: tuple[str, ...] = OUT_OF_REACH
    replaced: tuple[str, ...] = ()
    """Older records that these had replaced, and that stay replaced."""
    brought_back: tuple[str, ...] = ()
    """Older records that count again, because that was asked for."""

    def chain(self) -> str:
        """What became of the older records, in words; empty without any."""
        return said_of_chain(self.replaced, self.brought_back)

    def places(self) -> str:
        """Where it was erased from, in words."""
        held = ["what waited for approval"] if self.held else []
        return ", ".join([*self.documents, *held]) or "what the journal had kept"

    def still_said(self) -> str:
        """What stands in the conversation history still, and the command that erases it."""
        if not self.said:
            return ""
        count = sum(each["messages"] for each in self.said)
        ids = [key for each in self.said for key in each["ids"]]
        return (
            f"{told_sessions(self.said)} still say{'s' * (count == 1)} it: "
            f"'commonplace history forget {' '.join(ids[:TOLD])}{' …' * (len(ids) > TOLD)} "
            "--confirm' erases."
        )


class Departed(Struct, frozen=True):
    """A record that stands in no document any more, and how it was written."""

    record: Record
    raws: frozenset[bytes]


class _Struck(Struct, frozen=True):
    """A document before and after records are taken out of it, and where they stood, in bytes."""

    change: Cut | Text
    before: bytes
    after: bytes
    spans: tuple[tuple[int, int], ...]

    def raw_items(self) -> Iterator[bytes]:
        """The records as they stood there."""
        for start, length in self.spans:
            yield self.before[start : start + length].strip(b"\r\n")


class Eraser:
    """Takes the records of one vault out of it. Everything here is called under the lock."""

    def __init__(self, writer: Writer, tombstones: Tombstones, approvals: Approvals) -> None:
        self.writer = writer
        self.tombstones = tombstones
        self.approvals = approvals
        self.shared = writer.shared
        self.vault = writer.shared.vault
        self.journal = writer.shared.journal
        self.index = writer.shared.index
        self.reader = writer.shared.reader

    def strike(self, ids: Sequence[str], *, author: Author) -> tuple[str, ...]:
        """Take records out of every document they stand in. The journal keeps them.

        Returns the ids of those that they had replaced, which stay replaced.
        """
        struck = self._struck(ids)
        records = [self.shared.found(key).record for key in ids]
        lost = Chains(self.index).loss(records)
        changes, texts = marking.marked(
            self.writer, [each.change for each in struck], _texts_of(struck), lost.marks
        )
        entry = self.shared.entry(
            Op.STRIKE,
            changes,
            ids=tuple(ids),
            removed=tuple(ids),
            lines=tuple(record_lines.write(record, WHOLE) for record in records),
            author=author,
            data=marking.unwritten(self.writer, lost.marks),
        )
        self.writer.replace_texts(entry, texts)
        return lost.returning

    def _struck(self, ids: Sequence[str], *, torn: Iterable[str] = ()) -> list[_Struck]:
        """The documents that these records stand in, and how they are without them.

        Those named `torn` hold pieces of them.
        """
        there = [key for key in ids if self.index.get(key)]
        names = {place.document for key in there for place in self.shared.found(key).places}
        return [self._struck_from(name, set(ids)) for name in sorted(names.union(torn))]

    def _torn(self, ids: Iterable[str]) -> set[str]:
        """The documents in which the data of one of these records stands: where a person wrote
        into the middle of it, that is prose, and no place of the record.
        """
        marks = [f'{{"id":"{key}"'.encode() for key in ids]
        texts = {name: self.vault.read(name) for name in self.vault.listing().documents}
        return {name for name, data in texts.items() if any(mark in data for mark in marks)}

    def _struck_from(self, name: str, ids: set[str]) -> _Struck:
        before = self.vault.read(name)
        text = decoded(name, before)
        spans = spans_of(text, self.reader.parse(name, text), ids)
        after = without(before, spans)
        apart = _without_data(self._told_apart(name, decoded(name, after), ids), ids)
        if apart == after:
            return _Struck(Cut(name, spans), before, after, spans)
        return _Struck(Text(name, self.journal.keep(apart)), before, apart, spans)

    def _told_apart(self, name: str, text: str, ids: set[str]) -> bytes:
        """The text with ids of their own in lines that somebody copied from one of these records
        and reworded: they would pass for it once it is gone.
        """

        def apart(record: Record) -> Record:
            return replace(record, id=derived_id(record.id, record.text))

        return self.rewritten(name, text, ids, apart)

    def rewritten(
        self, name: str, text: str, ids: set[str], change: Callable[[Record], Record]
    ) -> bytes:
        """The text with the lines of these records written anew."""
        found = [item for item in self.reader.parse(name, text).items if item.record.id in ids]
        for item in reversed(found):
            record = change(item.record)
            day = self.shared.clock.day_of(record.timestamp)
            said = '"kind"' in text[item.start : item.end]
            line = record_lines.write(
                record,
                self.shared.layout.form(name),
                kind="" if said else item.record.kind,
                day=day,
            )
            if "\r\n" in text[item.start : item.end]:
                line = line.replace("\n", "\r\n")
            text = text[: item.start] + line + text[item.end :]
        return text.encode()

    def forget(self, ids: Sequence[str], author: Author, *, bring_back: bool = False) -> Receipt:
        """Erase records for good: documents, kept versions, journal, index.

        With `bring_back`, what they had replaced counts again.
        """
        withheld = self.approvals.withheld()
        held = tuple(key for key in ids if key in withheld)
        lost = [key for key in ids if key not in held and not self.index.get(key)]
        departed = self.departed(lambda record: record.id in lost) if lost else {}
        live = [key for key in ids if self.index.get(key)]
        loss = Chains(self.index).loss([self.shared.found(key).record for key in live])
        back = loss.returning if bring_back else ()
        marks = loss.marks | dict.fromkeys(back, "")
        if not self.shared.layout.carries_data:
            # The data of an entry that forgets is about what is forgotten.
            marking.mark(self.writer, marks)
        struck = self._struck(ids, torn=self._torn(ids))
        past = withheld | {key: gone.record for key, gone in departed.items()}
        told = {key: (past.get(key) or self.shared.found(key).record).text for key in ids}
        needles = [*ids, *map(_needle, told.values())]
        raws = {raw for each in struck for raw in each.raw_items()}
        raws.update(raw for gone in departed.values() for raw in gone.raws)
        hashes = {key: self.tombstones.of(text) for key, text in told.items()}
        changes, texts = marking.marked(
            self.writer, [each.change for each in struck], _texts_of(struck), marks
        )
        entry = self.shared.entry(Op.FORGET, changes, ids=tuple(ids), author=author, data=hashes)
        entry = replace(entry, removed=tuple(ids))
        self.writer.sync.progress.forgot = -1
        self.writer.write_texts(entry, texts)
        try:
            erased = self._erase(ids, needles, raws)
        except (CommonplaceError, OSError) as error:
            self.writer.sync.astray = True
            raise ToBeFinished(error) from error
        self.writer.sync.mark_all_synced()
        documents = tuple(each.change.document for each in struck)
        replaced = tuple(key for key in loss.returning if key not in back)
        return Receipt(
            tuple(ids), documents, erased, held, replaced=replaced, brought_back=tuple(back)
        )

    def forget_again(self, parsed: Parsed) -> None:
        """Forget anew what a stale save brought back. A text typed again is the person's wish."""
        back = {item.record.id for item in self.tombstones.returning(parsed.items)}
        if back:
            self.forget(sorted(back), SYSTEM)

    def departed(
        self, wanted: Callable[[Record], bool], *, words: Iterable[str] = ()
    ) -> dict[str, Departed]:
        """The records that stand in no document any more, of which the journal still tells.

        With `words`, only kept texts are looked at in which all of them stand, in whatever case.
        """
        found = self._once_written(wanted, words)
        return {key: gone for key, gone in found.items() if not self.index.get(key)}

    def reworded(self, wanted: Callable[[Record], bool], *, words: Iterable[str]) -> list[str]:
        """The ids of records that were once so, and say something else now."""
        return [key for key in self._once_written(wanted, words) if self.index.get(key)]

    def _once_written(
        self, wanted: Callable[[Record], bool], words: Iterable[str]
    ) -> dict[str, Departed]:
        found: dict[str, Departed] = {}
        for record, raw in self._told_of([word.casefold() for word in words]):
            if record.kind != PASSAGE and wanted(record):
                before = found.get(record.id)
                raws = before.raws | {raw} if before else frozenset((raw,))
                found[record.id] = Departed(record, raws)
        forgotten = self.tombstones.all() if found else {}
        return {key: gone for key, gone in found.items() if key not in forgotten}

    def _told_of(self, words: Sequence[str]) -> Iterator[tuple[Record, bytes]]:
        """Every record in the journal's lines and kept texts, with how it was written there.

        But for those that were held: they are a person's to judge.
        """
        for entry in self.journal.entries():
            if entry.op == Op.HOLD:
                continue
            name = next(iter(entry.documents()), "")
            for line, key in zip_longest(entry.lines, entry.ids[: len(entry.lines)]):
                for record, raw in self._written_in(name, line):
                    yield replace(record, id=key or record.id), raw
            for change in entry.changes:
                if isinstance(change, Text):
                    kept = self.journal.version(change.version) or b""
                    text = decoded(change.document, kept, lenient=True)
                    if all(word in text.casefold() for word in words):
                        yield from self._written_in(change.document, text)

    def _written_in(self, name: str, text: str) -> Iterator[tuple[Record, bytes]]:
        for item in self.reader.parse(name, text).items:
            yield item.record, text[item.start : item.end].encode().strip(b"\r\n")

    def _erase(self, ids: Sequence[str], needles: Sequence[str], raws: set[bytes]) -> int:
        wanted = set(ids)

        def clean(data: bytes) -> bytes:
            text = decoded("", data, lenient=True)
            if text.encode() != data:
                return data
            # Where the end of a line was blanked, too, what follows would not be seen.
            text = RUN_ON.sub("\n", text)
            data = _blanked(data, spans_of(text, self.reader.parse("", text), wanted))
            for raw in raws:
                data = data.replace(raw, BLANK * len(raw))
            return data

        told = [needle for needle in needles if needle.strip()]
        erased = self.journal.scrub(ids, needles=told, clean=clean)
        self.index.erase(ids)
        return erased + self.vault.sweep([*map(str.encode, told), *filter(None, raws)])

    def finish_forgetting(self, level: int) -> None:
        for entry in list(self.journal.entries(since=level)):
            if entry.op == Op.FORGET:
                raws = {
                    line.encode().strip(b"\r\n")
                    for key in entry.ids
                    for told in self.journal.about(key)
                    for name, line in zip(told.ids, told.lines)
                    if name == key
                }
                self._erase(entry.ids, entry.ids, raws)


def told_sessions(said: Sequence[Mapping[str, Any]]) -> str:
    """How many messages of which sessions, with a few of their words."""
    count = sum(each["messages"] for each in said)
    names = [each["session"] or "without a session" for each in said[:TOLD]]
    more = f" and {len(said) - TOLD} more" if len(said) > TOLD else ""
    quote = f" (“{said[0]['quote']}”)" if said[0]["quote"] else ""
    return f"{count} message{'s' * (count > 1)} of {', '.join(map(one_line, names))}{more}{quote}"


def said_of_chain(replaced: Sequence[str], brought_back: Sequence[str] = ()) -> str:
    """What became of the records that were replaced by what is gone, in words."""
    told = []
    if brought_back:
        told.append(f"What it had replaced counts again: {', '.join(brought_back)}.")
    for key in replaced:
        told.append(f"{key}, which it had replaced, stays replaced; {BACK.format(key)}.")
    return " ".join(told)


def _without_data(text: bytes, ids: Iterable[str]) -> bytes:
    """A text without the data of these records, where no line has it any more."""
    for key in ids:
        if key.encode() in text:
            text = re.sub(DATA_OF % re.escape(key).encode(), b"", text)
    return text


def _texts_of(struck: Iterable[_Struck]) -> dict[str, tuple[bytes | None, bytes | None]]:
    return {each.change.document: (each.before, each.after) for each in struck}


def _needle(text: str) -> str:
    """By which a kept version that holds a record of this text can be told."""
    return max(text.split("\n"), key=len)


def spans_of(text: str, parsed: Parsed, ids: set[str]) -> tuple[tuple[int, int], ...]:
    """Where these records stand in a text, in bytes."""
    spans: list[tuple[int, int]] = []
    at = offset = 0
    for item in parsed.items:
        if item.record.id in ids:
            start = offset + len(text[at : item.start].encode())
            spans.append((start, len(text[item.start : item.end].encode())))
            at, offset = item.end, sum(spans[-1])
    return tuple(spans)


def _blanked(data: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """The text with these stretches blanked, but for their ends: what follows begins a line."""
    blank = bytearray(data)
    for start, length in spans:
        said = len(data[start : start + length].rstrip(b"\r\n"))
        blank[start : start + said] = BLANK * said
    return bytes(blank)
