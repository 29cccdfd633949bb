"""The laws of a vault, for any sequence of what agents and people do to it."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
)

from commonplace.library.record_reader import decoded
from commonplace.memory import Memory
from commonplace.model.errors import Conflict, NothingToUndo, Unreadable
from commonplace.model.records import Record
from commonplace.search.sqlite.index import SqliteIndex
from commonplace.search.vectors.cosine import code_of
from commonplace.storage.journal import document_at
from tests.data import documents_of
from tests.support.clocks import SkippingClock
from tests.support.postgres import fresh_url
from tests.support.strategies import texts

WORDS = st.text(alphabet="abcdefghij äöü中文-|`*<>{}\n", min_size=1, max_size=40).filter(str.strip)


def rebuilt(memory: Memory) -> list[tuple[object, ...]]:
    """What an index made from nothing but the documents would say."""
    library = memory.library
    fresh = SqliteIndex(None, rank=memory.layout.rank)
    for name in memory.documents():
        parsed = library.parse(name, decoded(name, library.vault.read(name)))
        fresh.put(name, library.reader.rows(parsed), known=library.known(name))
    return fresh.dump()


class VaultMachine(RuleBasedStateMachine):
    """Agents store, supersede and delete, wherever the vault is."""

    records: Bundle[Record] = Bundle("records")
    dialect = "native"

    def __init__(self) -> None:
        super().__init__()
        self.place = self.new_place()
        self.memory = self.opened()
        self.expected: dict[str, str] = {}
        self.moves = 0

    def new_place(self) -> str:
        raise NotImplementedError

    def opened(self) -> Memory:
        return Memory.open(self.place, self.dialect, clock=SkippingClock(), create=True)

    def new_name(self) -> str:
        """A name that no document had before: what is moved must not land on another."""
        self.moves += 1
        return f"moved-{self.moves}.md"

    def teardown(self) -> None:
        self.memory.close()

    @rule(target=records, text=texts().filter(lambda text: text.strip() and len(text) <= 2000))
    def store(self, text: str) -> Record:
        record = self.memory.store(text, kind="fact", tags=["law"])
        self.expected[record.id] = record.text
        return record

    @rule(target=records, old=records, text=WORDS)
    def supersede(self, old: Record, text: str) -> Record | MultipleResults[Record]:
        if old.id not in self.expected:
            return multiple()
        try:
            record = self.memory.supersede(old.id, text)
        except Conflict as error:
            if "was replaced already" not in str(error):
                raise
            return multiple()
        self.expected[record.id] = record.text
        return record

    @rule(record=consumes(records))
    def delete(self, record: Record) -> None:
        if record.id in self.expected:
            self.memory.delete(record.id)
            del self.expected[record.id]
            data = b"".join(documents_of(self.memory).values())
            assert f'{{"id":"{record.id}"'.encode() not in data

    @rule(name=st.sampled_from(["notes.md", "projects/garden.md"]), text=WORDS)
    def write_document(self, name: str, text: str) -> None:
        if self.memory.layout.holds(name):
            self.memory.update(text, document=name)

    @rule()
    def undo(self) -> None:
        try:
            entry = self.memory.undo().entry
        except NothingToUndo:
            return
        for record_id in entry.ids:
            self.expected.pop(record_id, None)

    @rule(text=WORDS)
    def search(self, text: str) -> None:
        found = self.memory.search(text)
        assert (found.mode in ("words", "vectors", "hybrid"), found.degraded) == (True, "")

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = self.opened()

    @invariant()
    def the_kept_index_is_the_rebuilt_one(self) -> None:
        self.memory.library.refresh()
        assert self.memory.library.index.dump() == rebuilt(self.memory)

    @invariant()
    def every_vector_is_that_of_its_text(self) -> None:
        self.memory.library.refresh()
        library, encoder = self.memory.library, self.memory.library.engine.embedder.encoder()
        texts = {(row[4], row[1]): row[6] for row in library.index.dump() if row[0] == "record"}
        for model, dim, *identity, norm, vector, code in library.index.dump_vectors():
            assert (model, dim) == (encoder.model, encoder.dim)
            assert [(vector, norm)] == encoder.encode([texts[tuple(identity)]])
            assert code == int.from_bytes(code_of(vector), "little")

    @invariant()
    def every_record_is_there_with_its_text(self) -> None:
        for record_id, text in self.expected.items():
            assert self.memory.get(record_id).record.text == text

    @invariant()
    def what_the_journal_says_is_what_the_documents_say(self) -> None:
        library = self.memory.library
        for name in self.memory.documents():
            told = document_at(library.journal, name, since=library.known(name).base)
            assert told == library.vault.read(name)


class FileMachine(VaultMachine):
    """People edit, move and delete the files, too."""

    def new_place(self) -> str:
        self.root = Path(tempfile.mkdtemp(prefix="laws-"))
        return str(self.root)

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.root)

    def document(self) -> Path:
        return self.root / (self.memory.layout.memory or "USER.md")

    def edited(self, change: str) -> None:
        # A person takes longer than a tick of the file system's clock to load a text.
        time.sleep(0.006)
        path = self.document()
        text = path.read_bytes().decode() if path.exists() else ""
        lines = text.split("\n")
        if change == "append":
            lines.append("- a thought of my own")
        elif change == "insert":
            lines.insert(len(lines) // 2, "Some prose\n")
        elif change == "shout":
            lines = [line.replace("a thought", "A THOUGHT") for line in lines]
        path.write_bytes("\n".join(lines).encode())

    @rule(change=st.sampled_from(["append", "insert", "shout"]))
    def hand_edit(self, change: str) -> None:
        self.edited(change)

    @rule(record=consumes(VaultMachine.records))
    def hand_delete(self, record: Record) -> None:
        time.sleep(0.006)
        self.memory.library.refresh()
        for path in [*self.root.glob("*.md"), *self.root.glob("memory/*.md")]:
            name = path.relative_to(self.root).as_posix()
            text = path.read_bytes().decode()
            for item in reversed(self.memory.library.parse(name, text).items):
                if item.record.id == record.id:
                    text = text[: item.start] + text[item.end :]
            path.write_bytes(text.encode())
        self.expected.pop(record.id, None)

    @rule(name=st.sampled_from(["notes.md", "projects/garden.md"]))
    def move_document(self, name: str) -> None:
        path = self.root / name
        if path.exists():
            path.rename(self.root / self.new_name())

    @rule(name=st.sampled_from(["notes.md", "projects/garden.md"]))
    def delete_document(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)


class ClawMachine(FileMachine):
    """The same laws where records are lines of JSON."""

    dialect = "claw"


class PostgresMachine(VaultMachine):
    """Another host writes to the same profile, and documents are moved and taken away."""

    def __init__(self) -> None:
        super().__init__()
        self.other = self.opened()

    def new_place(self) -> str:
        return fresh_url()

    def teardown(self) -> None:
        super().teardown()
        self.other.close()

    @rule(target=VaultMachine.records, text=WORDS)
    def store_elsewhere(self, text: str) -> Record:
        record = self.other.store(text, kind="fact")
        self.expected[record.id] = record.text
        return record

    @rule(text=WORDS)
    def search_elsewhere(self, text: str) -> None:
        assert self.other.search(text).degraded == ""

    @rule(name=st.sampled_from(["notes.md", "projects/garden.md"]))
    def move_document(self, name: str) -> None:
        if name in self.memory.documents():
            self.other.rename(name, self.new_name())

    @rule(name=st.sampled_from(["notes.md", "projects/garden.md"]))
    def delete_document(self, name: str) -> None:
        if name in self.memory.documents():
            self.memory.remove(name)

    @rule()
    def trouble(self) -> None:
        """A change that fails halfway never was."""

        def fail(*_: object, **__: object) -> None:
            raise Unreadable("MEMORY.md", "it was not to be")

        sync = self.memory.library.sync
        sync.mark = fail  # type: ignore[method-assign]
        with pytest.raises(Unreadable):
            self.memory.store("Never stored")
        del sync.mark
        assert "Never stored" not in str(documents_of(self.memory))


class PostgresEarlMachine(PostgresMachine):
    """The same laws where lines carry no data, and the journal does."""

    dialect = "earl"


LIMITS = settings(
    max_examples=15,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestVault = FileMachine.TestCase
TestVault.settings = LIMITS
TestClaw = ClawMachine.TestCase
TestClaw.settings = LIMITS
TestPostgres = PostgresMachine.TestCase
TestPostgres.settings = settings(LIMITS, max_examples=10)
TestPostgresEarl = PostgresEarlMachine.TestCase
TestPostgresEarl.settings = settings(LIMITS, max_examples=5)
