"""Records that wait for a person: held, approved or rejected.

They stand in the journal. Everything that writes here is called under the lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from commonplace.library.index_sync import IndexSync
from commonplace.library.shared import Shared
from commonplace.library.tombstones import Tombstones, normal, pieces
from commonplace.model.errors import NoSuchRecord
from commonplace.model.records import Author, Neighbour, Record
from commonplace.search.index import Query
from commonplace.storage.journal import Op
from commonplace.trust.origins import BELIEVED, Trust, trust_of

FORGOTTEN = "forgotten"
"""Begins the reason for which a record is held that the owner forgot."""

LEARNED = "learned"
"""Begins the reason of what history showed three times; what it was comes next."""
SAID, ASKED, RAN = "said", "asked", "ran"
"""A correction, a question, and a command that helped after a failure."""


class Approvals:
    """What waits in one vault, and what was decided."""

    def __init__(self, shared: Shared, sync: IndexSync, tombstones: Tombstones) -> None:
        self._shared = shared
        self._index = shared.index
        self._sync = sync
        self._tombstones = tombstones

    def waiting_among(self, records: Iterable[Record | Neighbour]) -> frozenset[str]:
        """The ids of those records that a person has to approve before they are told."""
        doubtful = frozenset(it.id for it in records if trust_of(it.origin) == Trust.NONE)
        if not doubtful or self.tells_all:
            return doubtful
        return doubtful & self.unapproved()

    def unapproved(self) -> frozenset[str]:
        """The ids of all records that were held, and that no person has approved since."""
        last = self._last_of(Op.HOLD, Op.APPROVE)
        return frozenset(key for key, op in last.items() if op == Op.HOLD)

    def _last_of(self, *ops: Op) -> dict[str, str]:
        """Which of these was done last to each record that one of them was done to."""
        entries = [entry for op in ops for entry in self._tombstones.entries_of(op)]
        return {e.ids[0]: e.op for e in sorted(entries, key=lambda entry: entry.position)}

    def hold(
        self,
        record: Record,
        author: Author,
        change: Mapping[str, str] | None = None,
        *,
        why: str = "",
    ) -> Record:
        """Keep a record for a person to approve or reject. It goes into no document.

        One that waits already, word for word, is not held twice. `change` tells of a text for a
        document how it is to be changed; `why` is the reason, where it is a suggestion. Of a record
        that the owner forgot, it says when that was, and which hashes an approval lifts.
        """
        found = self._tombstones.forgotten_by_owner(pieces(record.text))
        for each in self.held() if found else ():
            if normal(each.text) == normal(record.text):
                return each
        why = " ".join((FORGOTTEN, max(found.values()), *found)) if found else why
        from commonplace.markdown import record_lines

        line = record_lines.write(record, "native")
        data = {record.id: dict(change)} if change else {}
        self.note(Op.HOLD, record, author, lines=(line,), why=why, data=data)
        return record

    def hold_again(self, ids: Sequence[str], author: Author) -> tuple[str, ...]:
        """Let wait again what was approved of these, as it waited. Returns the ids of those."""
        decided = self.decisions() if ids else {}
        approved = {key for key in ids if decided.get(key) == Op.APPROVE}
        if not approved:
            return ()
        waited = {each.ids[0]: each for each in self._tombstones.entries_of(Op.HOLD)}
        records = self.withheld()
        again = tuple(key for key in waited if key in approved and key in records)
        for key in again:
            entry = waited[key]
            rest = {"lines": entry.lines, "why": entry.why, "data": entry.data}
            self.note(Op.HOLD, records[key], author, **rest)
        return again

    def approve_again(self, ids: Sequence[str], author: Author) -> None:
        """Note as approved what waits of these: it was approved before it was taken back."""
        for record in self.held() if ids else ():
            if record.id in ids:
                self.note(Op.APPROVE, record, author)

    def held_changes(self) -> dict[str, dict[str, str]]:
        """Of the held texts that are meant for a document, how each is to be changed."""
        return {
            entry.ids[0]: entry.data[entry.ids[0]]
            for entry in self._tombstones.entries_of(Op.HOLD)
            if entry.ids[0] in entry.data
        }

    def decisions(self) -> dict[str, str]:
        """What a person decided on held records, by their ids: approve or reject."""
        last = self._last_of(Op.HOLD, Op.APPROVE, Op.REJECT)
        return {key: str(op) for key, op in last.items() if op != Op.HOLD}

    def forgotten_days(self) -> dict[str, str]:
        """Of the records that are held because the owner forgot them, the days of that."""
        told = self._reasons(FORGOTTEN)
        return {key: self._shared.clock.day_of(words[0]) for key, words in told.items()}

    def learned(self) -> dict[str, str]:
        """Of the records that history suggested, what it showed: said, asked or ran."""
        return {key: words[0] for key, words in self._reasons(LEARNED).items()}

    def _reasons(self, word: str) -> dict[str, list[str]]:
        """Of the records that were held for such a reason, what it says more."""
        told = {e.ids[0]: e.why.split() for e in self._tombstones.entries_of(Op.HOLD) if e.why}
        return {key: words[1:] for key, words in told.items() if words[0] == word}

    def held(self) -> list[Record]:
        """The records that wait, oldest first."""
        waiting = self._doubtful() | self.withheld()
        last = self._last_of(Op.HOLD, Op.APPROVE, Op.REJECT) if waiting else {}
        return [r for key, r in waiting.items() if last.get(key, Op.HOLD) == Op.HOLD]

    @property
    def tells_all(self) -> bool:
        """Whether prompts tell all of the main document, as it stands, for the agent's own mind."""
        return self._shared.layout.name == "notebook"

    def _doubtful(self) -> dict[str, Record]:
        """What a session that had read untrusted text wrote into a document that is told whole."""
        if not self.tells_all:
            return {}
        wanted = Query(
            documents=(self._shared.layout.memory, self._shared.layout.long_memory),
            without_origins=BELIEVED,
            include_superseded=True,
            limit=1 << 30,
        )
        return {hit.record.id: hit.record for hit in reversed(self._index.search(wanted))}

    def one_held(self, record_id: str) -> Record:
        """One of the records that wait."""
        found = next((record for record in self.held() if record.id == record_id), None)
        if found is None:
            raise NoSuchRecord(record_id)
        return found

    def withheld(self) -> dict[str, Record]:
        """Every record that was ever held and not forgotten, whatever became of it."""
        entries = list(self._tombstones.entries_of(Op.HOLD))
        forgotten = self._tombstones.all() if entries else {}
        return {
            entry.ids[0]: self._shared.reader.written_record(entry.lines[0], "")
            for entry in entries
            if entry.ids[0] not in forgotten
        }

    def note(self, op: Op, record: Record, author: Author, **rest: Any) -> None:
        """Journal a decision on a record that stands in no document."""
        self._shared.check_writable()
        self._shared.check_recording(author)
        self._sync.catch_up_index()
        entry = self._shared.entry(op, (), ids=(record.id,), author=author, **rest)
        self._shared.journal.append(entry)
        self._sync.mark_all_synced()
