"""Tombstones: salted hashes of the texts that were forgotten, so that none comes back unasked.

They stand in the journal, with who forgot what when. It does not know the documents.
"""

from __future__ import annotations

from collections.abc import Iterator

from commonplace.model.records import Origin
from commonplace.storage.journal import Entry, Journal, Op

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
    """What was forgotten according to one journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._read: tuple[str, int] = ("", -1)
        self._forgotten: dict[str, str] = {}

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

    def last(self) -> int:
        """The end of the last entry that changed what the owner has forgotten; 0 without any."""
        forgets = [e.end for e in self.entries_of(Op.FORGET) if e.origin == Origin.OWNER]
        approvals = [e.end for e in self.entries_of(Op.APPROVE)] if forgets else []
        return max((*forgets, *approvals), default=0)

    def forgotten(self, text: str, *, last: int) -> dict[str, str]:
        """Those hashes of a text that the owner has forgotten and not let in since, and when.

        `last` tells whether what was read of the journal is still all there is.
        """
        stand = (self._journal.mark(), last)
        if stand != self._read:
            self._forgotten, self._read = self._by_owner(), stand
        stones = self._hashes(stand[0], text, normal(text))
        return {stone: self._forgotten[stone] for stone in stones if stone in self._forgotten}

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
