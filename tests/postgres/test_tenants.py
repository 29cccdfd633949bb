"""Tenants of a database: what is set for one holds at once, and nothing of another is touched."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from commonplace.doors.admin import migrate
from commonplace.doors.admin.tenants import move_tenant
from commonplace.history.messages import Message
from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.model.errors import (
    AlreadyExists,
    BadValue,
    CommonplaceError,
    Conflict,
    NoSuchVault,
    NotFound,
    QuotaSpent,
    ReadOnly,
    TenantClosed,
)
from commonplace.postgres.connection import SUSPENDED, Database
from commonplace.postgres.notes import PostgresNotes
from commonplace.postgres.read_only_sql import make_reader
from commonplace.postgres.tenants import Tenant, Tenants
from commonplace.postgres.urls import parse_url
from tests.support.postgres import fresh_url, rows_of, url_of_server

pytestmark = pytest.mark.long
READ_ONLY = "read-only"


@pytest.fixture
def tenants() -> Iterator[Tenants]:
    """The tenants of tables that are apart from those of other tests: `ann` and `bob`."""
    server = url_of_server()
    schema = f"schema=t{uuid.uuid4().hex[:12]}"
    url = f"{server}{'&' if '?' in server else '?'}{schema}"
    Database.open(parse_url(f"{url}&profile=ann"), clock=Clock()).close()
    found = Tenants(url, clock=Clock())
    found.create("bob")
    yield found
    found.close()


def opened(tenants: Tenants, name: str) -> Memory:
    return Memory.open(tenants.url_of(name), environ={})


def nothing(_: Database) -> None:
    """No tokens are kept here."""


def quiet(_: str) -> migrate.Step:
    return lambda done, total: None


def said(number: int) -> Message:
    return message(f"m{number}", f"word{number} of tea")


def message(key: str, content: str) -> Message:
    return Message(key, "s", "", "", "user", content, "2026-03-04T10:00:00.000Z")


def searched_until_the_index_is_presumed_level(memory: Memory) -> None:
    """The first search makes vectors, the second finds them all, and a third is one statement."""
    for _ in range(3):
        assert memory.search("tea")


def texts(memory: Memory) -> set[str]:
    """All that is remembered."""
    return {hit.record.text for hit in memory.search(limit=10_000)}


def test_each_tenant_is_told_with_what_it_has(tenants: Tenants) -> None:
    with opened(tenants, "ann") as memory:
        memory.store("Ann likes tea", kind="preference")
        memory.parts.history().append([said(1)])
        newest = list(memory.library.entries())[-1].at
    tenants.set_quota("ann", records=10, requests=60)
    ann, bob = tenants.all()
    assert (ann.name, ann.state, ann.records, ann.messages) == ("ann", "open", 1, 1)
    assert (ann.used, ann.bytes > 100) == (newest, True)
    assert (ann.most_records, ann.most_bytes, ann.most_requests_a_minute) == (10, 0, 60)
    assert bob == Tenant("bob")
    assert tenants.requests("ann") == 60
    assert tenants.requests("bob") == tenants.requests("nobody") == 0


def test_a_name_is_taken_once_and_checked(tenants: Tenants) -> None:
    with pytest.raises(AlreadyExists):
        tenants.create("ann")
    with pytest.raises(BadValue):
        tenants.create("../ann")
    with pytest.raises(AlreadyExists):
        tenants.rename("ann", "bob", also=nothing)
    with pytest.raises(NotFound):
        tenants.set_state("nobody", SUSPENDED)


READS: dict[str, Callable[[Memory], object]] = {
    "search": lambda memory: memory.search("tea"),
    "brief": lambda memory: memory.brief(),
    "list": lambda memory: memory.log(),
    "documents": lambda memory: memory.documents(),
    "read": lambda memory: memory.read("MEMORY.md"),
    "messages": lambda memory: memory.parts.history().search("tea", limit=5),
    "sessions": lambda memory: memory.parts.history().sessions(),
    "sql": lambda memory: memory.parts.history().sql("select 1 from messages", limit=1),
}
WRITES: dict[str, Callable[[Memory], object]] = {
    "store": lambda memory: memory.store("Ann likes coffee"),
    "update": lambda memory: memory.update("- Ann", document="USER.md"),
    "messages": lambda memory: memory.parts.history().append([said(2)]),
    "forget a message": lambda memory: memory.parts.history().forget(["m1"]),
}


@pytest.mark.parametrize("name", [*READS, *(f"{name} (write)" for name in WRITES)])
def test_a_suspended_tenant_refuses_what_has_it_open_until_it_is_open_again(
    tenants: Tenants, name: str
) -> None:
    deed = READS.get(name) or WRITES[name.removesuffix(" (write)")]
    with opened(tenants, "ann") as memory:
        memory.store("Ann likes tea", kind="preference")
        memory.parts.history().append([said(1)])
        searched_until_the_index_is_presumed_level(memory)
        tenants.set_state("ann", SUSPENDED)
        with pytest.raises(TenantClosed, match="open ann"):
            deed(memory)
        with pytest.raises(TenantClosed):
            opened(tenants, "ann")
        with opened(tenants, "bob") as other:
            other.store("Bob likes tea")
        tenants.set_state("ann", "")
        deed(memory)


@pytest.mark.parametrize("name", WRITES)
def test_a_read_only_tenant_is_searched_and_nothing_in_it_changes(
    tenants: Tenants, name: str
) -> None:
    with opened(tenants, "ann") as memory:
        memory.store("Ann likes tea", kind="preference")
        memory.parts.history().append([said(1)])
        tenants.set_state("ann", READ_ONLY)
        end, count = memory.library.end(), memory.parts.history().count()
        with pytest.raises(ReadOnly, match="read-only"):
            WRITES[name](memory)
        for read in READS.values():
            read(memory)
        assert (memory.library.end(), memory.parts.history().count()) == (end, count)
    with opened(tenants, "ann") as memory:
        memory.rebuild(lambda done, total: None)
        assert [hit.record.text for hit in memory.search("tea")] == ["Ann likes tea"]


def test_what_was_acknowledged_before_a_suspension_is_there_and_nothing_after(
    tenants: Tenants,
) -> None:
    acknowledged, kept, begun = list[str](), list[str](), threading.Event()

    def store(number: int) -> None:
        with opened(tenants, "ann") as memory:
            for turn in range(1000):
                text = f"Writer {number} said {turn}"
                try:
                    memory.store(text)
                    acknowledged.append(text)
                    memory.parts.history().append([message(text, text)])
                    kept.append(text)
                except TenantClosed:
                    return
                if len(acknowledged) > 8:
                    begun.set()

    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(store, number) for number in range(3)]
        assert begun.wait(60)
        tenants.set_state("ann", SUSPENDED)
        told = tenants.about("ann")
        for writer in writers:
            writer.result()
    assert tenants.about("ann") == told
    tenants.set_state("ann", "")
    with opened(tenants, "ann") as memory:
        assert texts(memory) == set(acknowledged)
        assert memory.parts.history().count() == len(kept) == told.messages


def test_a_suspension_waits_for_messages_that_are_being_written(tenants: Tenants) -> None:
    with opened(tenants, "ann") as memory, ThreadPoolExecutor(1) as pool:
        with memory.parts.in_database().transaction():
            memory.parts.history().append([said(1)])
            suspended = pool.submit(tenants.set_state, "ann", SUSPENDED)
            with pytest.raises(TimeoutError):
                suspended.result(timeout=0.3)
        suspended.result(timeout=60)
        assert tenants.about("ann").messages == 1


def test_a_quota_of_records_holds_against_writers_at_once_and_lets_them_remove(
    tenants: Tenants,
) -> None:
    tenants.set_quota("ann", records=5)
    refused = list[str]()

    def store(number: int) -> None:
        with opened(tenants, "ann") as memory:
            try:
                memory.store(f"Ann likes tea number {number}")
            except QuotaSpent as error:
                refused.append(str(error))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(store, range(9)))
    assert (tenants.about("ann").records, len(refused)) == (5, 4)
    assert "5 records" not in refused[0]
    assert "6 records, and may have 5" in refused[0]
    tenants.set_quota("ann", records=3)
    with opened(tenants, "ann") as memory:
        memory.strike([memory.search("tea")[0].record.id])
        with pytest.raises(QuotaSpent):
            memory.store("One more")
    tenants.set_quota("ann", records=0)
    store(10)
    assert tenants.about("ann").records == 5


def test_a_quota_of_bytes_counts_documents_and_journal(tenants: Tenants) -> None:
    with opened(tenants, "ann") as memory:
        kept = memory.store("Ann likes tea")
        tenants.set_quota("ann", size=tenants.about("ann").bytes + 50)
        with pytest.raises(QuotaSpent, match="bytes"):
            memory.store("Ann has said something that is a little longer than what is left")
        memory.strike([kept.id])


def test_a_renamed_tenant_keeps_its_rows_and_its_old_name_is_free(tenants: Tenants) -> None:
    with opened(tenants, "ann") as memory:
        memory.store("Ann likes tea")
        searched_until_the_index_is_presumed_level(memory)
        profile = memory.parts.in_database().profile
        tenants.rename("ann", "anna", also=nothing)
        tenants.create("ann")
        for deed in (*READS.values(), *WRITES.values()):
            with pytest.raises(NoSuchVault):
                deed(memory)
    with opened(tenants, "anna") as memory:
        assert memory.parts.in_database().profile == profile
        assert [hit.record.text for hit in memory.search("tea")] == ["Ann likes tea"]
    with opened(tenants, "ann") as memory:
        assert memory.search("tea") == []


def test_nothing_of_a_dropped_tenant_is_in_any_table(tenants: Tenants) -> None:
    with opened(tenants, "ann") as memory:
        memory.store("Ann likes Lapsang", kind="preference")
        memory.search("lapsang")
        memory.parts.history().append([said(1)])
        memory.notes.write("sessions/x.json", b"{}")
        rows = memory.parts.in_database()
        profile = rows.profile
        make_reader(rows, "analyst")
        what = tenants.drop("ann", also=nothing)
        assert (what.records, what.messages) == (1, 1)
        for deed in (*READS.values(), *WRITES.values()):
            with pytest.raises(NoSuchVault):
                deed(memory)
    left = tenants.database.beside("ann", profile)
    assert not any(rows_of(left).values())
    assert tenants.database.rows("select 1 from reader where profile = %s", (profile,)) == []
    assert [each.name for each in tenants.all()] == ["bob"]


def test_a_drop_that_was_cut_off_can_be_done_again_and_nobody_opens_what_is_left(
    tenants: Tenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CutOff(Exception):
        pass

    def fail(_: Database) -> None:
        raise CutOff

    with monkeypatch.context() as patched:
        patched.setattr(Database, "erase", fail)
        with pytest.raises(CutOff):
            tenants.drop("ann", also=nothing)
    with pytest.raises(NoSuchVault):
        Memory.open(tenants.url_of("ann"), create=True, environ={})
    assert tenants.about("ann").state == "dropped"
    tenants.set_state("ann", "")
    assert tenants.about("ann").state == "dropped"
    tenants.drop("ann", also=nothing)
    assert list(tenants) == ["bob"]


def test_a_note_that_came_after_the_others_were_erased_goes_as_well(
    tenants: Tenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    erase, erased = Database.erase, list[str]()

    def note_after(one: Database) -> None:
        erase(one)
        if not erased:
            PostgresNotes(one).write("sessions/late.json", b"late")
        erased.append(one.profile)

    monkeypatch.setattr(Database, "erase", note_after)
    tenants.drop("ann", also=nothing)
    assert not any(rows_of(tenants.database.beside("ann", erased[0])).values())


def test_a_drop_under_load_leaves_nothing_and_fails_no_call_of_another(tenants: Tenants) -> None:
    with opened(tenants, "ann") as memory:
        profile = memory.parts.in_database().profile
    over, begun = threading.Event(), threading.Barrier(5, timeout=60)

    def use(name: str) -> list[CommonplaceError]:
        failed = list[CommonplaceError]()
        with opened(tenants, name) as memory:
            bounded = memory.for_session(f"s-{threading.get_ident()}")
            for turn in range(1000):
                try:
                    bounded.store(f"{name} likes tea {turn}")
                    bounded.search("tea")
                    bounded.parts.history().append([said(turn)])
                except CommonplaceError as error:
                    failed.append(error)
                    if name == "ann":
                        return failed
                if turn == 2:
                    begun.wait()
                if over.is_set() and turn > 5:
                    break
        return failed

    with ThreadPoolExecutor(4) as pool:
        doomed, others = ([pool.submit(use, name) for _ in range(2)] for name in ("ann", "bob"))
        begun.wait()
        tenants.drop("ann", also=nothing)
        ended = [each.result() for each in doomed]
        over.set()
        assert [each.result() for each in others] == [[], []]
    assert [type(failed[0]) for failed in ended] == [NoSuchVault, NoSuchVault]
    assert not any(rows_of(tenants.database.beside("ann", profile)).values())


def test_a_move_loses_nothing_of_what_is_written_meanwhile(tenants: Tenants) -> None:
    with opened(tenants, "ann") as memory:
        for number in range(20):
            memory.store(f"Ann likes tea {number}")
    target = fresh_url()
    acknowledged, refused = list[str](), list[CommonplaceError]()
    begun = threading.Event()

    def write() -> None:
        with opened(tenants, "ann") as memory:
            for turn in range(2000):
                text = f"Ann said {turn}"
                try:
                    memory.store(text)
                    memory.parts.history().append([message(text, text)])
                except CommonplaceError as error:
                    refused.append(error)
                    return
                acknowledged.append(text)
                begun.set()

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        assert begun.wait(60)
        copied = move_tenant(tenants, "ann", target, progress=quiet)
        writer.result()
    assert copied
    assert isinstance(refused[0], ReadOnly)
    with Memory.open(target, environ={}) as memory:
        assert texts(memory) >= {
            *acknowledged,
            *(f"Ann likes tea {number}" for number in range(20)),
        }
        kept = {message.content for message in memory.parts.history().last("s", 5000)}
        assert kept >= set(acknowledged)
    assert tenants.about("ann").state == "moved"
    with pytest.raises(TenantClosed, match="moved"):
        opened(tenants, "ann")


def test_a_move_that_was_cut_off_goes_on_when_it_is_done_again(
    tenants: Tenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CutOff(Exception):
        pass

    def cut(*_: object) -> None:
        raise CutOff

    with opened(tenants, "ann") as memory:
        memory.store("Ann likes tea")
    target = fresh_url()
    for where in ("_documents", "_known_there", "_counted"):
        with monkeypatch.context() as patched:
            patched.setattr(f"commonplace.doors.admin.migrate._Copying.{where}", cut)
            with pytest.raises(CutOff):
                move_tenant(tenants, "ann", target, progress=quiet)
    with opened(tenants, "ann") as memory:
        assert len(memory.search("tea")) == 1
    assert move_tenant(tenants, "ann", target, progress=quiet)
    assert move_tenant(tenants, "ann", target, progress=quiet) is None
    with opened(tenants, "bob") as memory:
        memory.store("Bob likes tea")
    with pytest.raises(Conflict, match="not to there"):
        move_tenant(tenants, "ann", tenants.url_of("bob"), progress=quiet)
    tenants.set_state("bob", SUSPENDED)
    with pytest.raises(Conflict, match="suspended"):
        move_tenant(tenants, "bob", fresh_url(), progress=quiet)
