"""Tombstones: salted hashes of the texts that were forgotten, so that none comes back unasked.

They stand in the journal, with who forgot what when.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from commonplace.library.index_sync import IndexSync
from commonplace.library.record_reader import decoded
from commonplace.library.shared import Shared
from commonplace.model.errors import Refused
from commonplace.model.records import DERIVED, Author, Origin, Record
from commonplace.search.index import Query
from commonplace.storage.journal import Entry, Op

if TYPE_CHECKING:
    from commonplace.markdown.documents import Item

MOST_ALIKE = 50
"""Lines that are looked through for one that says what was forgotten."""

UNSAID = {number: None for number in range(128) if not chr(number).isalnum()}
"""The letters of ASCII that say nothing."""


def normal(text: str) -> str:
    """A text without its case, spacing and punctuation; one of nothing else stays what it is."""
    if text.isascii():
        said = text.lower().translate(UNSAID)
    else:
        from unicodedata import category, normalize

        letters = normalize("NFKC", normalize("NFKC", text).casefold())
        said = "".join(letter for letter in letters if category(letter)[0] in "LNM")
    return said or " ".join(text.split())


def pieces(text: str) -> tuple[str, ...]:
    """A text, and each of its lines where there are several."""
    lines = [line for line in text.splitlines() if line.strip()]
    return (text, *lines) if len(lines) > 1 else (text,)


class Tombstones:
    """What was forgotten according to the journal of one vault."""

    def __init__(self, shared: Shared, sync: IndexSync) -> None:
        self._journal = shared.journal
        self._index = shared.index
        self._reader = shared.reader
        self._clock = shared.clock
        self._sync = sync
        self._read: tuple[str, int] = ("", -1)
        self._by_owner_read: dict[str, str] = {}

    def entries_of(self, op: Op) -> Iterator[Entry]:
        """The journal's entries that say this was done."""
        return (entry for entry in self._journal.about(f'"op":"{op}"') if entry.op == op)

    def exact(self, text: str) -> str:
        """The hash of a text as it stands."""
        return self._hashes(self._journal.mark(), text)[0]

    def of(self, text: str) -> str:
        """What is written down of a text that is forgotten: its hash, and that of its words."""
        return " ".join(self._hashes(self._journal.mark(), text, normal(text)))

    @staticmethod
    def _hashes(mark: str, *texts: str) -> list[str]:
        from hashlib import blake2b

        salted = blake2b(key=mark.encode()[:64], digest_size=16)
        found = []
        for text in texts:
            each = salted.copy()
            each.update(text.encode())
            found.append(each.hexdigest())
        return found

    def all(self) -> dict[str, str]:
        """The id of every record that was ever forgotten, by whomever, and its text's hash."""
        found: dict[str, str] = {}
        for entry in self.entries_of(Op.FORGET):
            found |= {key: str(stone).partition(" ")[0] for key, stone in entry.data.items()}
        return found

    def _last(self) -> int:
        """The end of the last entry that changed what the owner has forgotten; 0 without any."""
        forgets = [e.end for e in self.entries_of(Op.FORGET) if e.origin == Origin.OWNER]
        approvals = [e.end for e in self.entries_of(Op.APPROVE)] if forgets else []
        return max((*forgets, *approvals), default=0)

    def _forgotten_now(self, text: str, *, last: int) -> dict[str, str]:
        """Those hashes of a text that the owner has forgotten and not let in since, and when.

        `last` tells whether what was read of the journal is still all there is.
        """
        stand = (self._journal.mark(), last)
        if stand != self._read:
            self._by_owner_read, self._read = self._by_owner(), stand
        stones = self._hashes(stand[0], text, normal(text))
        return {
            stone: self._by_owner_read[stone] for stone in stones if stone in self._by_owner_read
        }

    def _by_owner(self) -> dict[str, str]:
        """The hashes of what the owner has forgotten and not let in since, and when that was."""
        held = {entry.ids[0]: entry.why for entry in self.entries_of(Op.HOLD)}
        told = (*self.entries_of(Op.FORGET), *self.entries_of(Op.APPROVE))
        found: dict[str, str] = {}
        for entry in sorted(told, key=lambda entry: entry.position):
            if entry.op == Op.APPROVE:
                for stone in held.get(entry.ids[0], "").split():
                    found.pop(stone, None)
            elif entry.origin == Origin.OWNER:
                stones = (stone for each in entry.data.values() for stone in str(each).split())
                found |= dict.fromkeys(stones, entry.at)
        return found

    def forgotten_by_owner(self, texts: Sequence[str]) -> dict[str, str]:
        """The hashes of these texts that the owner forgot, and when. Called under the lock.

        What the owner has written again since is forgotten no more.
        """
        last = self._last_forgot()
        stones = ((text, self._forgotten_now(text, last=last)) for text in texts if last)
        found = (each for text, each in stones if each and not self._owner_says(text))
        return {stone: at for each in found for stone, at in each.items()}

    def _last_forgot(self) -> int:
        """Where the journal last tells of what the owner forgot; 0 where it never does."""
        progress = self._sync.progress
        if progress.forgot < 0:
            progress.forgot = self._last()
        return progress.forgot

    def _owner_says(self, text: str) -> bool:
        """Whether a line that the owner wrote says this."""
        self._sync.catch_up_index()
        hits = self._index.search(Query(text=text, limit=MOST_ALIKE))
        owned = (hit.record.text for hit in hits if hit.record.origin == Origin.OWNER)
        return any(normal(piece) == normal(text) for said in owned for piece in pieces(said))

    def refuse_forgotten(
        self, texts: Mapping[str, tuple[bytes | None, bytes | None]], *, author: Author
    ) -> None:
        """Fail where documents, `{name: (before, after)}`, would say again what the owner forgot.

        The owner may; for anybody else only what was there before stays. Called under the lock.
        """
        if author.origin == Origin.OWNER or not self._last_forgot():
            return
        there = {piece for name, (before, _) in texts.items() for piece in self._says(name, before)}
        for name, (_, after) in texts.items():
            fresh = [piece for piece in self._says(name, after) if piece not in there]
            for at in self.forgotten_by_owner(fresh).values():
                raise Refused(
                    f"{name} would say again what the owner forgot on {self._clock.day_of(at)}.",
                    next_step="Leave that line out; only the owner brings it back.",
                )

    def _says(self, name: str, data: bytes | None) -> list[str]:
        """The lines of a text, and what its records say."""
        text = decoded(name, data or b"", lenient=True)
        records = (item.record.text for item in self._reader.parse(name, text).items)
        return [piece for each in (text, *records) for piece in pieces(each)]

    def without_forgotten(self, records: Iterable[Record]) -> list[Record]:
        """The records but for those whose very text somebody erased who is not the owner.

        What the owner forgot is not dropped, but held. Called under the lock.
        """
        hashes = set(self.all().values())
        return [
            record
            for record in records
            if self.exact(record.text) not in hashes or self.forgotten_by_owner(pieces(record.text))
        ]

    def without_returning(self, name: str, text: str, now: str) -> str:
        """A new text without what was forgotten since somebody read the old one.

        A text typed again has another id, and is the person's wish.
        """
        back = {key for key in self.all() if key in text and key not in now}
        items = self._reader.parse(name, text).items if back else ()
        for item in reversed(self.returning(item for item in items if item.record.id in back)):
            text = text[: item.start] + text[item.end :]
        return text

    def returning(self, items: Iterable[Item]) -> list[Item]:
        """Those of the items that were forgotten: the very text under the very id."""
        named = [item for item in items if not DERIVED.match(item.record.id)]
        forgotten = self.all() if named else {}
        return [
            item for item in named if forgotten.get(item.record.id) == self.exact(item.record.text)
        ]
