"""Vaults and journals in files and in PostgreSQL: the contracts, and what only one goes through."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from commonplace.markdown.layouts import LAYOUTS
from commonplace.model.clock import Clock
from commonplace.model.errors import CommonplaceError
from commonplace.model.files import Known, Signature
from commonplace.postgres.connection import Database
from commonplace.postgres.journal import PostgresJournal
from commonplace.postgres.urls import parse_url
from commonplace.postgres.vault import PostgresVault, ProgressRow
from commonplace.storage.file_journal import FileJournal
from commonplace.storage.file_vault import FileVault
from commonplace.storage.journal import Journal
from commonplace.storage.progress import Progress, ProgressFile, ProgressStore
from commonplace.storage.vault import Cancelled, Vault
from tests.contracts.journal import JournalContract, entry
from tests.contracts.vault import LOCK_SECONDS, NAME, VaultContract, append
from tests.support.postgres import fresh_url

LAYOUT = LAYOUTS["native"]
OPENED: list[Database] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def database(url: str = "", *, seconds: float = 20.0) -> Database:
    place = parse_url(url or fresh_url())
    OPENED.append(Database.open(place, clock=Clock(), seconds=seconds))
    return OPENED[-1]


class TestAVaultInFiles(VaultContract):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        self.factory, self.vaults = tmp_path_factory, list[FileVault]()
        yield
        for vault in self.vaults:
            vault.close()

    def opened(self, root: Path) -> FileVault:
        (root / ".commonplace").mkdir(exist_ok=True)
        vault = FileVault(
            root,
            state=root / ".commonplace",
            layout=LAYOUT,
            clock=Clock(),
            lock_seconds=LOCK_SECONDS,
        )
        self.vaults.append(vault)
        return vault

    def fresh(self) -> Vault:
        return self.opened(self.factory.mktemp("vault"))

    def again(self, vault: Vault) -> Vault:
        assert isinstance(vault, FileVault)
        return self.opened(Path(vault.root))


class TestAVaultInPostgres(VaultContract):
    def fresh(self) -> Vault:
        self.database = database(seconds=LOCK_SECONDS)
        return PostgresVault(self.database, layout=LAYOUT, clock=Clock())

    def again(self, vault: Vault) -> Vault:
        other = database(self.database.place.url(), seconds=LOCK_SECONDS)
        return PostgresVault(other, layout=LAYOUT, clock=Clock())


class TestAJournalInFiles(JournalContract):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.factory = tmp_path_factory

    def fresh(self) -> Journal:
        return FileJournal(self.factory.mktemp("journal"), clock=Clock())

    def again(self, journal: Journal) -> Journal:
        assert isinstance(journal, FileJournal)
        return FileJournal(Path(journal.path).parent, clock=Clock())


def test_many_threads_keep_one_text_in_a_file_at_once(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path, clock=Clock())
    with ThreadPoolExecutor(8) as threads:
        for number in range(20):
            text = b"- a quince %d\n" % number
            [name] = set(threads.map(lambda _, text=text: journal.keep(text), range(8)))
            assert journal.version(name) == text
    assert len(list(tmp_path.rglob("versions/*/*"))) == 20
    journal.close()


class TestAJournalInPostgres(JournalContract):
    @pytest.fixture(autouse=True)
    def _databases(self) -> None:
        self.databases = dict[int, Database]()

    def fresh(self, url: str = "") -> Journal:
        found = database(url)
        journal = PostgresJournal(found, clock=Clock())
        self.databases[id(journal)] = found
        return journal

    def again(self, journal: Journal) -> Journal:
        return self.fresh(self.databases[id(journal)].place.url())

    def lock(self, journal: Journal) -> AbstractContextManager[None]:
        return self.databases[id(journal)].locked()


def test_the_same_entries_have_the_same_places_in_a_file_and_in_rows(tmp_path: Path) -> None:
    told = [entry("one", "mem-1"), entry("zwei ☂"), entry("three", kind="note")]
    file = FileJournal(tmp_path, clock=Clock(now_ns=lambda: 1))
    rows = PostgresJournal(database(), clock=Clock(now_ns=lambda: 1))
    shift = len(file.mark()) - len(rows.mark())
    assert [(each.position - shift, each.end - shift) for each in map(file.append, told)] == [
        (each.position, each.end) for each in map(rows.append, told)
    ]
    file.close()


@pytest.fixture
def stored() -> Database:
    return database()


@pytest.fixture
def vault(stored: Database) -> PostgresVault:
    return PostgresVault(stored, layout=LAYOUT, clock=Clock())


def test_an_error_under_the_lock_lets_nothing_happen(
    stored: Database, vault: PostgresVault
) -> None:
    append(vault, b"one\n")
    journal, store, told = PostgresJournal(stored, clock=Clock()), ProgressRow(stored), []
    before = (journal.end(), store.load().end)

    def fail() -> None:
        with vault.lock(undone=lambda: told.append("undone")):
            vault.append(NAME, b"two\n", like=vault.stat(NAME))
            vault.replace("a.md", b"three\n", expected=None)
            journal.append(entry("two"))
            journal.keep(b"three\n")
            store.save(Progress(end=7))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert told == ["undone"]
    assert (vault.read(NAME), list(vault.listing().documents)) == (b"one\n", [NAME])
    assert (list(journal.entries()), list(journal.versions())) == ([], [])
    assert (journal.end(), store.load().end) == before


def test_a_server_that_goes_away_cancels_what_was_done_under_the_lock(
    stored: Database, vault: PostgresVault
) -> None:
    end_all = """
        select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'commonplace' and pid = %s
    """

    def cut_off() -> None:
        with vault.lock():
            [(backend,)] = stored.rows("select pg_backend_pid()")
            vault.append(NAME, b"one\n", like=None)
            database(stored.place.url()).rows(end_all, (backend,))
            vault.stat(NAME)

    with pytest.raises(Cancelled) as told:
        cut_off()
    assert isinstance(told.value.error, CommonplaceError)
    assert vault.stat(NAME) is None
    append(vault, b"one\n")
    assert vault.read(NAME) == b"one\n"


def test_an_error_that_is_swallowed_under_the_lock_is_not_acknowledged(
    stored: Database, vault: PostgresVault
) -> None:
    def swallow() -> None:
        with vault.lock():
            vault.append(NAME, b"one\n", like=None)
            with pytest.raises(CommonplaceError):
                stored.rows("select 1 / 0")

    with pytest.raises(CommonplaceError, match="division by zero"):
        swallow()
    assert vault.stat(NAME) is None


def test_an_append_writes_one_small_row(stored: Database, vault: PostgresVault) -> None:
    append(vault, b"x" * 100_000)
    append(vault, b"one\n")
    pieces = "select at, length(data) from piece where profile = %s order by at"
    found = stored.rows(pieces, (stored.profile,))
    assert found == [(0, 100_000), (100_000, 4)]


@pytest.mark.parametrize("kind", ["file", "profile"])
def test_marks_are_there_when_they_are_loaded_again(kind: str, tmp_path: Path) -> None:
    stored = database() if kind == "profile" else None

    def opened() -> ProgressStore:
        return (
            ProgressRow(stored) if stored else ProgressFile(tmp_path / "heads.json", root=tmp_path)
        )

    def save(progress: Progress) -> None:
        one = opened()
        if stored:
            with stored.locked():
                one.save(progress)
        else:
            one.save(progress)
        one.close()

    known = Known(Signature(1, 2, 3, atime_ns=4), 5, 6)
    save(Progress(10, 9, "boot", {"a long name of a document.md": known}, behind=7))
    save(Progress(12, 11, "boot", {"a.md": known}))
    found = opened().load()
    assert (found.end, found.settled, found.boot, found.behind) == (12, 11, "boot", -1)
    assert found.documents == {"a.md": known}


def test_there_are_no_marks_before_the_first(tmp_path: Path) -> None:
    for store in (ProgressFile(tmp_path / "heads.json", root=tmp_path), ProgressRow(database())):
        assert store.load().end == -1
        store.close()


@pytest.mark.parametrize(
    "written",
    [b"", b"[]", b"{}", b'{"end": "x", "documents": {}}', b'{"unsettled": [1], "documents": {}}'],
)
def test_marks_that_cannot_be_read_are_those_of_a_new_vault(tmp_path: Path, written: bytes) -> None:
    (tmp_path / "heads.json").write_bytes(written + b"\n")
    assert ProgressFile(tmp_path / "heads.json", root=tmp_path).load() == Progress()
