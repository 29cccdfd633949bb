"""Bad input and bad disks: a clear error with the next step, and nothing lost or half-written."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace import tools
from commonplace.doors.cli.main import main
from commonplace.memory import Memory
from commonplace.model.clock import parse_stamp
from commonplace.model.errors import (
    BadInput,
    BadName,
    BadOption,
    BadValue,
    CommonplaceError,
    DocumentChanged,
    NoDirectory,
    NoSuchDocument,
    NoSuchRecord,
    NoSuchVault,
    NothingToUndo,
    Refused,
    Unreadable,
    VaultTrouble,
    WouldLose,
)
from commonplace.model.records import Hit
from commonplace.storage.option_files import FILE
from tests.data import contents, example
from tests.support.clocks import SkippingClock
from tests.support.plain_user import as_plain_user
from tests.support.postgres import fresh_url
from tests.support.skips import skip

TEA = "mem-019c1a23-4d5e-7f6a-8b9c-0d1e2f3a4b53"
HALF = "half a character: \ud800"

Call = Callable[[Memory], object]
State = tuple[dict[str, bytes], list[Hit], int]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return example("native", tmp_path)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """One vault for all calls that must change nothing in it."""
    with opened(example("native", tmp_path_factory.mktemp("calls"))) as memory:
        memory.search("tea")
        yield memory


def opened(root: Path, **options: Any) -> Memory:
    # Whoever waits for a document that never settles fails soon, not after half a minute.
    return Memory.open(root, clock=SkippingClock(), **{"lock_seconds": 0.2, **options}, create=True)


def _id_of_the_owners(memory: Memory) -> str:
    """A line that a person wrote by hand."""
    records = (hit.record for hit in everything(memory))
    return next(each.id for each in records if (each.origin, each.kind) == ("owner", "note"))


def everything(memory: Memory) -> list[Hit]:
    return memory.search(limit=1000, include_superseded=True, include_secret=True)


def state(memory: Memory) -> State:
    """All bytes of the documents, all that is found in them, and how long the journal is."""
    hits = everything(memory)
    return contents(memory.root), hits, memory.library.journal.end()


def refused(memory: Memory, call: Call) -> CommonplaceError:
    """The error of a call, after which everything must be as before."""
    before = state(memory)
    with pytest.raises(CommonplaceError) as caught:
        call(memory)
    assert state(memory) == before
    return caught.value


BAD_CALLS: dict[str, tuple[Call, type[CommonplaceError], str]] = {
    "a text too long": (lambda m: m.store("x" * 2001), BadValue, "split it into several"),
    "no text": (lambda m: m.store(""), BadValue, "Say what is to be remembered."),
    "a text of blanks": (lambda m: m.store(" \n\t "), BadValue, "Say what is to be remembered."),
    "a text that is a number": (lambda m: m.store(7), BadValue, "Send a text."),  # type: ignore[arg-type]
    "a text that is nothing": (lambda m: m.store(None), BadValue, "Send a text."),  # type: ignore[arg-type]
    "half a character": (lambda m: m.store(HALF), BadValue, "valid Unicode"),
    "one bad text among good ones": (
        lambda m: m.store_all([{"text": "good"}, {"text": ""}]),
        BadValue,
        "Say what",
    ),
    "a kind with a space": (lambda m: m.store("x", kind="my kind"), BadValue, "Use preference"),
    "a kind in capitals": (lambda m: m.store("x", kind="Fact"), BadValue, "small letters"),
    "a kind too long": (lambda m: m.store("x", kind="k" * 41), BadValue, "Use preference"),
    "a kind that is a list": (lambda m: m.store("x", kind=["fact"]), BadValue, "Send a text."),  # type: ignore[arg-type]
    "the kind of a passage": (lambda m: m.store("x", kind="passage"), BadValue, "Use preference"),
    "tags in one text": (lambda m: m.store("x", tags="tea"), BadValue, 'Send a list: ["coding"].'),
    "a tag that is a number": (lambda m: m.store("x", tags=[7]), BadValue, "Send a text."),
    "an empty tag": (lambda m: m.store("x", tags=[""]), BadValue, "a word or two"),
    "a tag of two lines": (lambda m: m.store("x", tags=["a\nb"]), BadValue, "on one line"),
    "a tag too long": (lambda m: m.store("x", tags=["t" * 51]), BadValue, "at most 50"),
    "a tag with half a character": (lambda m: m.store("x", tags=["\udc00"]), BadValue, "a tag"),
    "too many tags": (lambda m: m.store("x", tags=list("abcdefghijk")), BadValue, "at most 10"),
    "a bad id": (lambda m: m.get("no such id!"), BadValue, "Use the id of a search result"),
    "an id that is a number": (lambda m: m.get(7), BadValue, "Send a text."),  # type: ignore[arg-type]
    "an id that is a path": (lambda m: m.delete("../../etc"), BadValue, "search result"),
    "an id nobody has": (lambda m: m.get("mem-never"), NoSuchRecord, "Search for it first"),
    "deleting what is not there": (lambda m: m.delete("mem-never"), NoSuchRecord, "Search for it"),
    "deleting one that is not there": (
        lambda m: m.delete_all([TEA, "mem-never"]),
        NoSuchRecord,
        "Search for it",
    ),
    "replacing what is not there": (
        lambda m: m.store("x", supersedes="mem-never"),
        NoSuchRecord,
        "Search for it",
    ),
    "replacing a bad id": (lambda m: m.store("x", supersedes="a b"), BadValue, "search result"),
    "an agent replacing the owner's": (
        lambda m: m.supersede(_id_of_the_owners(m), "Never run the tests"),
        Refused,
        "ask the user",
    ),
    "a confidence above one": (lambda m: m.store("x", confidence=2), BadValue, "Use 0 to 1."),
    "no confidence": (lambda m: m.store("x", confidence=float("nan")), BadValue, "Use 0 to 1."),
    "a confidence in words": (lambda m: m.store("x", confidence="high"), BadValue, "Use 0 to 1."),
    "a level that is none": (
        lambda m: m.store("x", sensitivity="top"),
        BadValue,
        "Use public, personal, operational, private-user, sensitive, secret.",
    ),
    "a time that is none": (lambda m: m.store("x", valid_from="soon"), BadValue, "ISO 8601"),
    "a time that is a number": (lambda m: m.store("x", valid_to=7), BadValue, "ISO 8601"),
    "a user of two lines": (lambda m: m.store("x", username="a\nb"), BadValue, "one plain line"),
    "a user too long": (lambda m: m.store("x", username="u" * 201), BadValue, "at most 200"),
    "a query that is a number": (lambda m: m.search(7), BadValue, "Send a text."),  # type: ignore[arg-type]
    "a day that is a number": (lambda m: m.search("tea", since=5), BadValue, "Send a text."),
    "a last day that is a list": (lambda m: m.search("tea", until=["x"]), BadValue, "Send a text."),
    "a brief of some length": (lambda m: m.brief(limit="x"), BadValue, "Use 1 to"),  # type: ignore[arg-type]
    "a brief of nothing": (lambda m: m.brief(limit=0), BadValue, "Use 1 to"),
    "recalling a number": (lambda m: m.recall(7), BadValue, "Send a text."),  # type: ignore[arg-type]
    "recalling many": (lambda m: m.recall("tea", limit="many"), BadValue, "Use 1 to"),  # type: ignore[arg-type]
    "a context in no dialect": (
        lambda m: m.context(dialect="zz"),
        BadInput,
        "Use native, earl, journal",
    ),
    "a query too long for its tool": (
        lambda m: tools.call(m, "memory_search", {"query": "x" * 501}, dialect="typed"),
        BadValue,
        "at most 500 are taken. Ask with fewer words",
    ),
    "no results": (lambda m: m.search("tea", limit=0), BadValue, "Use 1 to"),
    "fewer than no results": (lambda m: m.search("tea", limit=-1), BadValue, "Use 1 to"),
    "many results": (lambda m: m.search("tea", limit="many"), BadValue, "Use 1 to"),
    "a log of less than nothing": (lambda m: m.log(limit=-1), BadValue, "Use 1 to"),
    "a change that is none": (lambda m: m.undo(10**9), NothingToUndo, "'commonplace log' lists"),
    "history of a bad id": (lambda m: m.history("a b"), BadValue, "search result"),
    "a document that is not there": (
        lambda m: m.read("nothing.md"),
        NoSuchDocument,
        "'commonplace read' lists",
    ),
    "a document at no time": (
        lambda m: m.text_at("SOUL.md", parse_stamp("1999-01-01")),
        NoSuchDocument,
        "'commonplace read' lists",
    ),
    "restoring what never was": (
        lambda m: m.restore(m.clock.now(), "nothing.md"),
        NoSuchDocument,
        "'commonplace read' lists",
    ),
    "content that is a number": (lambda m: m.update(7), BadValue, "Send a text."),  # type: ignore[arg-type]
    "content with half a character": (lambda m: m.update(HALF), BadValue, "valid Unicode"),
    "a rewrite with half a character": (
        lambda m: m.update(HALF, document="new.md", mode="rewrite"),
        BadValue,
        "valid Unicode",
    ),
    "a section with half a character": (
        lambda m: m.update(HALF, document="USER.md", mode="section", section="Tea"),
        BadValue,
        "valid Unicode",
    ),
    "an append of nothing": (lambda m: m.update(" \n"), BadValue, "Say what"),
    "an unknown mode": (lambda m: m.update("x", mode="prepend"), BadValue, "Use append, rewrite"),
    "a section without its name": (
        lambda m: m.update("x", document="new.md", mode="section"),
        BadValue,
        "section",
    ),
    "a rewrite that drops much": (
        lambda m: m.update("x", mode="rewrite"),
        WouldLose,
        "repeat the call with confirm=",
    ),
    "a rewrite with another's token": (
        lambda m: m.update("x", mode="rewrite", confirm="00000000"),
        WouldLose,
        "repeat the call with confirm=",
    ),
    "a rewrite of a text nobody read": (
        lambda m: m.update("x", mode="rewrite", etag="0" * 32),
        DocumentChanged,
        "Read it again",
    ),
    "an empty diary entry": (lambda m: m.write_diary(" "), BadValue, "Say what"),
    "a diary entry with half a character": (
        lambda m: m.write_diary(HALF),
        BadValue,
        "valid Unicode",
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_bad_call_is_refused_with_the_next_step_and_changes_nothing(
    memory: Memory, name: str
) -> None:
    call, error, says = BAD_CALLS[name]
    caught = refused(memory, call)
    assert (type(caught), says in str(caught)) == (error, True), str(caught)


BAD_NAMES = [
    "../up.md",
    "memory/../../up.md",
    "/etc/passwd.md",
    ".hidden.md",
    "notes/.hidden/x.md",
    ".commonplace/journal.md",
    "MEMORY.txt",
    "MEMORY",
    "a//b.md",
    "a/",
    "C:\\x.md",
    "x\0.md",
    "x\n.md",
    "\ud800.md",
    "a/b/c/d/e/f/g/h/i.md",
    "x" * 300 + ".md",
    "x /y.md",
    'say "x".md',
]
DEEDS_WITH_A_NAME: dict[str, Callable[[Memory, str], object]] = {
    "read": lambda m, name: m.read(name),
    "append": lambda m, name: m.update("x", document=name),
    "rewrite": lambda m, name: m.update("x", document=name, mode="rewrite"),
    "section": lambda m, name: m.update("x", document=name, mode="section", section="x"),
    "blame": lambda m, name: m.blame(name),
    "restore": lambda m, name: m.restore(m.clock.now(), name),
    "text_at": lambda m, name: m.text_at(name, m.clock.now()),
}


@pytest.mark.parametrize("deed", DEEDS_WITH_A_NAME)
def test_a_bad_name_is_refused_by_every_deed(memory: Memory, deed: str) -> None:
    above, before = contents(memory.root.parent), state(memory)
    said = {}
    for name in BAD_NAMES:
        with pytest.raises(CommonplaceError) as caught:
            DEEDS_WITH_A_NAME[deed](memory, name)
        said[name] = (type(caught.value), caught.value.next_step)
    assert state(memory) == before
    assert contents(memory.root.parent) == above
    step = "Use a relative path of plain names that ends in .md, such as home.md."
    assert said == dict.fromkeys(BAD_NAMES, (BadName, step))


@pytest.mark.parametrize("deed", DEEDS_WITH_A_NAME)
def test_a_name_that_is_no_text_is_refused(memory: Memory, deed: str) -> None:
    refused(memory, lambda m: DEEDS_WITH_A_NAME[deed](m, 7))  # type: ignore[arg-type]


def link_out(root: Path) -> str:
    outside = root.parent / "outside.md"
    outside.write_text("- not yours\n", encoding="utf-8")
    (root / "odd.md").symlink_to(outside)
    return "odd.md"


def link_to_nothing(root: Path) -> str:
    (root / "odd.md").symlink_to(root.parent / "nothing.md")
    return "odd.md"


def link_in_circles(root: Path) -> str:
    (root / "odd.md").symlink_to(root / "odd.md")
    return "odd.md"


def linked_directory(root: Path) -> str:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "odd.md").write_text("- not yours\n", encoding="utf-8")
    (root / "linked").symlink_to(outside)
    return "linked/odd.md"


def directory_as_document(root: Path) -> str:
    (root / "odd.md").mkdir()
    return "odd.md"


def fifo(root: Path) -> str:
    os.mkfifo(root / "odd.md")
    return "odd.md"


def not_utf8(root: Path) -> str:
    (root / "odd.md").write_bytes("- café\n".encode("latin-1"))
    return "odd.md"


ODD_FILES = [
    link_out,
    link_to_nothing,
    link_in_circles,
    linked_directory,
    directory_as_document,
    fifo,
    not_utf8,
]


def outside_of(root: Path) -> dict[str, bytes]:
    """What is beside the vault, and every odd thing in it, by kind."""
    found = contents(root.parent)
    for path in root.rglob("*"):
        kind = stat.S_IFMT(path.lstat().st_mode)
        target = os.readlink(path).encode() if path.is_symlink() else b""
        if ".commonplace" not in path.parts:
            found[f"kind of {path.name}"] = b"%d %s" % (kind, target)
    return found


SAYS_SO = (NoDirectory, Unreadable, NoSuchDocument)


def said(
    deed: Callable[[Memory, str], object], memory: Memory, name: str
) -> type[CommonplaceError] | None:
    """The kind of error that a deed meets; None when there is none."""
    try:
        deed(memory, name)
    except CommonplaceError as error:
        return type(error)
    return None


@pytest.mark.long
@pytest.mark.parametrize(
    "deeds",
    [("read", "text_at", "restore"), ("blame",), ("append",), ("rewrite",), ("section",)],
    ids=" ".join,
)
@pytest.mark.parametrize("odd", ODD_FILES)
def test_what_is_no_readable_file_is_an_error_for_every_deed_and_harms_nothing(
    vault: Path, odd: Callable[[Path], str], deeds: tuple[str, ...]
) -> None:
    name = odd(vault)
    with opened(vault) as memory:
        before, found = outside_of(vault), everything(memory)
        answers = {deed: said(DEEDS_WITH_A_NAME[deed], memory, name) for deed in deeds}
        assert [deed for deed, answer in answers.items() if answer not in SAYS_SO] == []
        assert outside_of(vault) == before
        assert everything(memory) == found
        stored = memory.store("Life goes on")
    with opened(vault) as memory:
        assert memory.get(stored.id).record == stored


def make_unreadable(path: Path) -> None:
    """What was a document is no text any more."""
    path.write_bytes(path.read_bytes() + b"\xff\xfe\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.store("x", kind="fact"),
        lambda m: m.update("x"),
        lambda m: m.update("x", mode="rewrite"),
        lambda m: m.update("x", mode="section", section="Tea"),
        lambda m: m.delete(TEA),
        lambda m: m.supersede(TEA, "x"),
        lambda m: m.read(),
    ],
    ids=["store", "append", "rewrite", "section", "delete", "supersede", "read"],
)
def test_a_memory_that_is_no_text_any_more_takes_no_change_and_loses_none(
    vault: Path, call: Call, known: bool
) -> None:
    """Whether the index had read it before or not."""
    if known:
        with opened(vault) as memory:
            memory.search("tea")
    make_unreadable(vault / "MEMORY.md")
    before = contents(vault)
    with opened(vault) as memory:
        with pytest.raises(
            Unreadable, match=r"MEMORY\.md cannot be read: byte [\d,]+ \(line \d+\) is not"
        ):
            call(memory)
        assert contents(vault) == before
        # What can still be read is still found: the daily logs have it too.
        assert [hit.record.id for hit in memory.search("tea tin")] == [TEA]
        assert [problem.document for problem in memory.problems()] == ["MEMORY.md"]


def test_a_mended_document_is_found_again_at_once(vault: Path) -> None:
    good = (vault / "USER.md").read_bytes()
    with opened(vault) as memory:
        make_unreadable(vault / "USER.md")
        assert "Ada, Wien, Europe/Vienna" not in [
            hit.record.text for hit in memory.search("vienna")
        ]
        assert memory.library.troubles
        (vault / "USER.md").write_bytes(good)
        assert memory.search("vienna")[0].record.text == "Ada, Wien, Europe/Vienna"
        assert memory.library.troubles == {}


BAD_SESSIONS: list[Any] = ["a\nb", "\x1b[31m", "s" * 201, "\ud800", 7]


@pytest.mark.parametrize("session", BAD_SESSIONS)
def test_a_bad_session_is_refused(vault: Path, session: Any) -> None:
    before, held = contents(vault), len(os.listdir("/dev/fd"))
    with pytest.raises(BadValue, match="session"):
        opened(vault, session=session)
    assert contents(vault) == before
    assert len(os.listdir("/dev/fd")) == held, "what was opened is closed again"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"nonsense": 1}, "there is no such option"),
        ({"text_limit": "many"}, "'many' is no number from 0 up"),
        ({"text_limit": -1}, "-1 is no number from 0 up"),
        ({"text_limit": True}, "True is not a whole number"),
        ({"text_limit": float("inf")}, "is no number from 0 up"),
        ({"lose_share": float("nan")}, "nan is no number from 0 up"),
        ({"memory_embeddings_enabled": "perhaps"}, "'perhaps' is not true or false"),
        ({"secrets": "perhaps"}, "'perhaps'"),
        ({"timezone": 7}, "7 is not a text"),
        ({"timezone": "Mars/Olympus"}, "Mars/Olympus"),
        ({"timezone": "../../etc/passwd"}, "passwd"),
    ],
)
def test_a_bad_option_is_refused_with_where_they_are_listed(
    vault: Path, options: dict[str, Any], says: str
) -> None:
    before = contents(vault)
    with pytest.raises(BadOption, match="'commonplace status --options' lists") as caught:
        Memory.open(vault, **options, create=True).store("x")
    assert says in str(caught.value)
    assert contents(vault) == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"nonsense = 1\n", "nonsense"),
        (b"text_limit = 'many'\n", "text_limit"),
        (b"text_limit = [1]\n", "text_limit"),
        (b"dialect = 7\n", "dialect"),
        (b"[continuity]\nmemoryMaxRecords = 'few'\n", "memory_max_records"),
        (b"continuity = 7\n", "continuity"),
        (b"text_limit = \n", "cannot be read as options: "),
        (b"# caf\xe9\n", "cannot be read as options: "),
    ],
)
def test_a_bad_options_file_is_named_in_the_error(
    vault: Path, capsys: pytest.CaptureFixture[str], text: bytes, says: str
) -> None:
    (vault / FILE).write_bytes(text)
    before = contents(vault)
    assert main(["--vault", str(vault), "store", "x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(("commonplace: Option ", f"commonplace: {vault / FILE} "))
    assert says in said
    assert str(vault / FILE) in said
    assert contents(vault) == before


@pytest.mark.parametrize("dialect", ["klingon", "", "Native", "../native"])
def test_an_unknown_dialect_is_refused_with_those_that_are_known(vault: Path, dialect: str) -> None:
    if dialect:
        with pytest.raises(BadInput, match="Use native, earl, journal, notebook, claw"):
            opened(vault, dialect=dialect)
    else:
        with opened(vault, dialect=dialect) as memory:
            assert memory.layout.name == "native"


def test_a_vault_that_is_missing_or_a_file_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(NoSuchVault, match=r"'commonplace init .*nowhere' makes one"):
        Memory.open(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for create in (True, False):
        with pytest.raises(NoSuchVault):
            Memory.open(tmp_path / "file", create=create)
        with pytest.raises(CommonplaceError):
            Memory.open(tmp_path / "file" / "below", create=create)
    assert contents(tmp_path) == {"file": b"x"}


@pytest.mark.parametrize("kind", ["files", "postgres"])
@pytest.mark.parametrize("dialect", ["", "native", "earl", "journal", "notebook", "claw"])
def test_a_vault_that_is_not_there_is_made_only_by_who_asks_for_it(
    tmp_path: Path, kind: str, dialect: str
) -> None:
    place = str(tmp_path / "typo") if kind == "files" else fresh_url()
    said = f"commonplace --dialect {dialect} init" if dialect else "commonplace init"
    for _ in range(2):
        with pytest.raises(NoSuchVault, match=re.escape(f"'{said} ")):
            Memory.open(place, dialect)
    assert contents(tmp_path) == {}
    Memory.open(place, dialect, create=True).close()
    Memory.open(place, dialect).close()


@pytest.mark.parametrize(
    "deed",
    [
        lambda m: m.store("Likes rye"),
        lambda m: m.search("tea"),
        lambda m: m.read("MEMORY.md"),
        lambda m: m.update("- rye", document="MEMORY.md"),
        lambda m: m.brief(),
        lambda m: m.documents(),
        lambda m: m.write_diary("A calm day."),
        lambda m: m.undo(),
    ],
)
def test_a_memory_that_was_closed_says_so(vault: Path, deed: Call) -> None:
    with opened(vault) as memory:
        memory.search("tea")
    before = contents(vault)
    with pytest.raises(VaultTrouble) as refusal:
        deed(memory)
    assert str(refusal.value) == "This memory was closed. Open it again: Memory.open(path)."
    assert contents(vault) == before


def test_a_vault_that_is_deleted_while_it_is_open_is_said_to_be_gone(vault: Path) -> None:
    with opened(vault) as memory:
        memory.search("tea")
        shutil.rmtree(vault)
        with pytest.raises(CommonplaceError):
            memory.store("x")
    assert not vault.exists()


BAD_ARGUMENTS: dict[str, tuple[str, str, type[CommonplaceError], str]] = {
    "no JSON": ("store", "{text: tea}", BadValue, "Quote them for the shell"),
    "half of it": ("store", '{"text": "tea"', BadValue, "Quote them for the shell"),
    "a list": ("store", '["tea"]', BadValue, 'Send {"name": value, …}.'),
    "a text": ("store", '"tea"', BadValue, 'Send {"name": value, …}.'),
    "nothing": ("store", "null", BadValue, 'Send {"name": value, …}.'),
    "a deep well": ("store", "[" * 100_000, BadValue, ""),
    "half a character": ("store", '{"text": "\\ud800"}', BadValue, "valid Unicode"),
    "half a character in a document": (
        "update",
        '{"document": "USER.md", "content": "\\ud800"}',
        BadValue,
        "valid Unicode",
    ),
    "a missing argument": ("store", "{}", BadValue, "Say what is to be remembered"),
    "an unknown argument": ("store", '{"text": "x", "origin": "owner"}', BadValue, "text, kind"),
    "a number for a text": ("store", '{"text": 7}', BadValue, "Send a text."),
    "no list": ("store", '{"text": "x", "tags": {"a": 1}}', BadValue, "a list of texts"),
    "numbers in a list": ("store", '{"text": "x", "tags": [7]}', BadValue, "a list of texts"),
    "a text too long": ("store", json.dumps({"text": "x" * 2001}), BadValue, "split it"),
    "a truth for a number": ("search", '{"limit": true}', BadValue, "a whole number"),
    "a number too high": ("search", '{"limit": 101}', BadValue, "Use 1 to 100."),
    "a number too low": ("search", '{"limit": 0}', BadValue, "Use 1 to 100."),
    "a fraction": ("search", '{"limit": 1.5}', BadValue, "a whole number"),
    "a word for a truth": ("search", '{"include_superseded": "yes"}', BadValue, "true or false"),
    "an unknown type": (
        "memory_store",
        '{"type": "rumour", "content": "x"}',
        BadValue,
        "Use preference, fact, instruction, context, correction.",
    ),
    "a query too long": (
        "memory_search",
        json.dumps({"query": "x" * 501}),
        BadValue,
        "at most 500",
    ),
    "an unknown mode": (
        "update",
        '{"document": "USER.md", "content": "x", "mode": "prepend"}',
        BadValue,
        "Use append, rewrite, section.",
    ),
    "a bad name": ("read", '{"document": "../x.md"}', BadName, "such as home.md"),
    "a bad id": ("delete", '{"id": "a b"}', BadValue, "search result"),
    "an id nobody has": ("delete", '{"id": "mem-never"}', NoSuchRecord, "Search for it first"),
    "an unknown tool": ("remember", "{}", BadInput, "Use store, search, brief"),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments_of_a_tool_are_refused_with_exit_code_and_sentence(
    memory: Memory, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    tool, arguments, error, says = BAD_ARGUMENTS[name]
    caught = refused(
        memory,
        lambda m: tools.call(m, tool, tools.parse_arguments(arguments), dialect="native"),
    )
    assert (type(caught), says in str(caught)) == (error, True), str(caught)
    before = state(memory)
    assert main(["--vault", str(memory.root), "tool", tool, arguments]) == error.exit_code
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"commonplace: {caught}\n")
    assert state(memory) == before


def test_an_ipc_name_of_another_form_is_refused(
    vault: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("tool.invoke.", "x.tool.invoke.memory_store"):
        assert main(["--vault", str(vault), "ipc", name, "{}"]) == 2
        assert "tool.invoke.NAME" in capsys.readouterr().err


EXITS = {
    ("tool", "store", "{"): 2,
    ("--vault", "/nowhere/at/all", "search", "tea"): 3,
    ("read", "odd.md"): 6,
}


@pytest.mark.parametrize("words", EXITS, ids=lambda words: " ".join(words)[:30])
def test_a_process_ends_with_the_code_of_its_error(vault: Path, words: tuple[str, ...]) -> None:
    not_utf8(vault)
    before = contents(vault)
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", "--vault", str(vault), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (EXITS[words], "")
    assert done.stderr.startswith("commonplace: ")
    assert "Traceback" not in done.stderr
    assert contents(vault) == before


COMMANDS = """
import contextlib, io, json, sys
from commonplace.doors.cli.main import main
ran = []
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    ran.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(ran))
"""


def cli_as_plain_user(root: Path, *commands: tuple[str, ...]) -> list[tuple[int, str, str]]:
    """The exit code and both outputs of each command."""
    words = json.dumps([("--vault", str(root), *command) for command in commands])
    done = as_plain_user("-c", COMMANDS, words)
    assert done.stderr == ""
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


@pytest.fixture
def place(vault: Path) -> Iterator[Path]:
    """A vault on a machine where modes count."""
    closed_file = vault.parent / "closed"
    closed_file.touch(mode=0)
    reads = f"open({str(closed_file)!r})"
    if as_plain_user("-c", reads).returncode == 0:
        why = "this is root, and root cannot give up the right to read a file of mode 000"
        skip(why, get="run it as another user")
    closed_file.unlink()
    yield vault
    for path in (vault, *vault.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)


def closed(root: Path) -> None:
    """Take the right to write from everybody, everywhere in the vault."""
    for path in (root, *root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


@pytest.mark.long
@pytest.mark.parametrize("used", [False, True])
def test_a_read_only_vault_is_searched_and_refuses_every_write(place: Path, used: bool) -> None:
    """Whether it was used before, and has machine state that is read-only too, or not."""
    if used:
        with opened(place) as memory:
            memory.search("tea")
    closed(place)
    before = contents(place)
    writes = (("store", "x"), ("update", "USER.md", "x"), ("delete", TEA))
    (code, out, err), *refusals = cli_as_plain_user(place, ("search", "tea tin"), *writes)
    assert (code, err) == (0, "")
    assert f"The tea is in the green tin now [{TEA}]" in out
    for code, out, err in refusals:
        assert (code, out) == (6, ""), err
        assert "cannot be written. Nothing was changed. Give this user write permission" in err
    assert contents(place) == before


def test_the_past_of_a_read_only_vault_can_be_read(
    place: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    passing = tmp_path_factory.mktemp("passing")
    monkeypatch.setenv("TMPDIR", str(passing))
    with opened(place) as memory:
        memory.update("The first wording\n", document="notes.md", mode="rewrite")
        memory.update("The second wording\n", document="notes.md", mode="rewrite")
        memory.conversations.record("user", "Which tea is best?")
        told = [entry.position for entry in memory.log(limit=2)]
    closed(place)
    log, blame, said = cli_as_plain_user(
        place, ("log", "--limit", "2", "--json"), ("blame", "notes.md"), ("history", "last")
    )
    assert [entry["change"] for entry in json.loads(log[1])] == told
    assert "The second wording" in blame[1]
    assert "Which tea is best?" in said[1]
    assert list(passing.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [("store", "x"), ("update", "USER.md", "x"), ("delete", TEA), ("undo",)]
)
def test_what_could_not_be_journalled_is_not_written(place: Path, words: tuple[str, ...]) -> None:
    """The documents take writes, and the machine's own directory does not."""
    with opened(place) as memory:
        memory.store("Something to take back")
    (place / ".commonplace").chmod(0o500)
    before = contents(place)
    [(code, out, err)] = cli_as_plain_user(place, words)
    assert (code, out) == (6, "")
    assert "cannot be written. Nothing was changed. Give this user write permission" in err
    assert contents(place) == before


def test_a_document_nobody_may_read_is_said_to_be_so_and_the_rest_is_found(place: Path) -> None:
    """Its mode is 000."""
    garden = "projects/garden.md"
    (place / garden).chmod(0)
    read, search, update, status = cli_as_plain_user(
        place,
        ("read", garden),
        ("search", "tea tin"),
        ("update", garden, "x"),
        ("status", "--json"),
    )
    assert read[:2] == (6, "")
    assert f"{garden} cannot be read: permission denied. Nothing was changed." in read[2]
    assert "Mend the file (save it as UTF-8, give permission to read it" in read[2]
    assert (search[0], TEA in search[1]) == (0, True)
    assert update[:2] == (6, "")
    assert "garden.md cannot be read" in json.loads(status[1])["troubles"][0]
    (place / garden).chmod(0o600)
    [(code, out, _)] = cli_as_plain_user(place, ("search", "hellebore"))
    assert (code, "The hellebore goes north of the shed." in out) == (0, True)


def test_a_directory_nobody_may_read_does_not_make_its_documents_deleted(place: Path) -> None:
    with opened(place) as memory:
        memory.search("hellebore")
    (place / "projects").chmod(0)
    search, log = cli_as_plain_user(place, ("search", "hellebore"), ("log", "--json"))
    assert (search[0], "The hellebore goes north" in search[1]) == (0, True)
    assert [entry for entry in json.loads(log[1]) if entry["op"] == "edited"] == []


ON_A_DAY = """
import sys
sys.path.insert(0, sys.argv[2])
from commonplace.model.errors import CommonplaceError
from commonplace.memory import Memory
from tests.data import clock_at
with Memory.open(sys.argv[1], clock=clock_at("2026-11-15T10:00:00Z")) as memory:
    try:
        memory.store_all([{"text": "x", "kind": "fact"}, {"text": "x x"}])
    except CommonplaceError as error:
        print(type(error).__name__, error)
    print(len(memory.search("x")))
"""


@pytest.mark.long
@pytest.mark.parametrize("target", ["memory", "memory/2026-11-15.md", "MEMORY.md"])
def test_records_of_which_one_does_not_fit_are_both_left_out(place: Path, target: str) -> None:
    daily = place / "memory" / "2026-11-15.md"
    if target != "memory":
        daily.write_text("# Memories for 2026-11-15\n\n", encoding="utf-8")
    (place / target).chmod(0o500 if target == "memory" else 0o400)
    before = contents(place)
    done = as_plain_user("-c", ON_A_DAY, str(place), str(Path(__file__).parents[2]))
    assert done.stderr == ""
    said, found = done.stdout.strip().split("\n")
    assert said.startswith("ReadOnly ")
    assert "cannot be written. Nothing was changed." in said
    assert found == "0"
    assert contents(place) == before


def test_a_state_directory_is_one_vaults_alone(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    with opened(tmp_path / "work", state_dir=state) as memory:
        memory.store("Meet on Friday")
    with pytest.raises(Refused, match=r"keeps the state of the vault at .*/work"):
        opened(tmp_path / "private", state_dir=state)
    with opened(tmp_path / "work", state_dir=state) as memory:
        assert len(memory.log()) == 1


def test_a_state_directory_goes_along_with_a_vault_that_moves(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    with opened(tmp_path / "here", state_dir=state) as memory:
        stored = memory.store("Meet on Friday")
    (tmp_path / "here").rename(tmp_path / "there")
    with opened(tmp_path / "there", state_dir=state) as memory:
        assert [entry.ids for entry in memory.log()] == [(stored.id,)]


def test_a_directory_in_which_no_vault_can_be_made_is_said_to_be_so(place: Path) -> None:
    (place / "projects").chmod(0o500)
    [(code, out, err)] = cli_as_plain_user(place, ("init", str(place / "projects" / "new")))
    assert (code, out) == (6, "")
    assert "cannot be written. Nothing was changed. Give this user write permission" in err


FULL_FILE = """
import json, resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from commonplace.model.errors import CommonplaceError
from commonplace.memory import Memory
from tests.data import clock_at

root, what = Path(sys.argv[1]), sys.argv[2]

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def said(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, getattr(error, "exit_code", 0), str(error)]
    return ["done", 0, ""]

more = "One more thing " + "x" * 1500
deeds = {
    "store": lambda: memory.store(more, kind="fact" if long == "MEMORY.md" else "note"),
    "append": lambda: memory.update(more, document=long),
    "rewrite": lambda: memory.update(memory.read(long).text + more, document=long, mode="rewrite"),
}
with Memory.open(root, "native", clock=clock_at("2026-11-15T10:00:00Z"), create=True) as memory:
    kind = "note" if what.startswith("memory") else "fact"
    memory.store("There before the disk was full", kind=kind)
    memory.search("before")
    long = "MEMORY.md" if what == "journal" else what
    path = memory.state / "journal.jsonl" if what == "journal" else root / what
    documents = {name: memory.read(name).text for name in memory.documents()}
    limit(path.stat().st_size + 100)
    answers = {name: said(deed) for name, deed in deeds.items()}
    limit(resource.RLIM_INFINITY)
    changed = [name for name in documents if memory.read(name).text != documents[name]]
    found = [hit.record.text for hit in memory.search("before more")]
    again = {name: said(deed) for name, deed in deeds.items()}
print(json.dumps({"answers": answers, "changed": changed, "found": found, "again": again}))
"""


@pytest.mark.long
@pytest.mark.parametrize("what", ["journal", "MEMORY.md", "memory/2026-11-15.md"])
def test_a_file_that_can_grow_no_more_takes_nothing_in_part(tmp_path: Path, what: str) -> None:
    """The limit on the size of a file cuts a write short like a full disk, and counts as one."""
    (tmp_path / "memory").mkdir()
    if what != "journal":
        # Long, and nothing in it to be indexed: no other file comes near the limit.
        remark = f"<!--\n{'a remark in a comment ' * 24_000}\n-->\n\n"
        (tmp_path / what).write_text(remark, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", FULL_FILE, str(tmp_path), what, str(Path(__file__).parents[2])],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert {name: tuple(answer[:2]) for name, answer in told["answers"].items()} == dict.fromkeys(
        ("store", "append", "rewrite"), ("DiskFull", 6)
    )
    for *_, sentence in told["answers"].values():
        assert sentence.startswith("The disk is full: nothing more can be written to ")
        assert sentence.endswith("What was stored is safe. Free some space and store it again.")
    assert told["changed"] == []
    assert told["found"] == ["There before the disk was full"]
    assert {name: answer[0] for name, answer in told["again"].items()} == dict.fromkeys(
        ("store", "append", "rewrite"), "done"
    )
    with opened(tmp_path, dialect="native") as memory:
        kept = memory.library.index.dump()
        memory.rebuild()
        assert memory.library.index.dump() == kept


SMALL_DISK = 'mount -t tmpfs -o size="$1" disk "$2" && shift 2 && exec "$@"'
FULL_DISK = """
import json, sys
from pathlib import Path
from commonplace.model.errors import DiskFull
from commonplace.memory import Memory

disk = Path(sys.argv[1])
root, filler = disk / "vault", disk / "filler"
with Memory.open(root, create=True) as memory:
    stored, errors = [memory.store("The first").id], []
    filler.write_bytes(b"x" * 4_000_000)
    for number in range(3000):
        try:
            stored.append(memory.store(f"Thing {number} " + "x" * 800).id)
        except DiskFull as error:
            errors.append(str(error))
            if len(errors) == 3:
                break
    texts = {name: (root / name).read_text() for name in memory.documents()}
filler.unlink()
with Memory.open(root, create=True) as memory:
    stored.append(memory.store("The last").id)
    hits = memory.search(limit=5000)
    kept = memory.library.index.dump()
    memory.rebuild()
    same = memory.library.index.dump() == kept
    problems = [problem.what for problem in memory.problems()]
print(json.dumps({
    "errors": errors, "same": same, "problems": problems,
    "lost": sorted(set(stored) - {hit.record.id for hit in hits}),
    "strange": sorted({hit.record.id for hit in hits} - set(stored)),
    "torn": [name for name, text in texts.items() if not text.endswith("\\n")],
}))
"""


def run_on_a_small_disk(script: str, disk: Path) -> Any:
    """What a script prints that has a disk of five megabytes."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL_DISK, "sh"]
    disk.mkdir()
    python = [*command, "5m", str(disk), sys.executable, "-c"]
    trial = [*python, "print('mounted')"]
    if subprocess.run(trial, capture_output=True, check=False).stdout != b"mounted\n":
        why = "a disk of this test's own cannot be mounted here"
        skip(why, get="sysctl -w user.max_user_namespaces=1000")
    done = subprocess.run(
        [*python, script, str(disk)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


READ_FROM_A_FULL_DISK = """
import contextlib, json, os, subprocess, sys
from pathlib import Path
from commonplace.memory import Memory

disk = Path(sys.argv[1])
root = str(disk / "vault")
with Memory.open(root, create=True) as memory:
    memory.store("The tea is in the green tin", kind="fact")
    memory.conversations.record("user", "Where is the tea?")
    memory.search("tea")
with contextlib.suppress(OSError), open(disk / "filler", "wb", buffering=0) as file:
    while True:
        file.write(b"x" * 4096)
told = {}
for words in (
    "search tea", "brief", "log", "read MEMORY.md", "status", "history last",
    "hook prompt-submit", "hook session-start",
):
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", "--vault", root, *words.split()],
        input='{"session_id": "s", "prompt": "Where is the tea?"}',
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(disk)},
    )
    told[words] = [done.returncode, done.stdout, done.stderr]
print(json.dumps(told))
"""


@pytest.mark.long
def test_what_is_on_a_full_disk_can_be_read(tmp_path: Path) -> None:
    told = run_on_a_small_disk(READ_FROM_A_FULL_DISK, tmp_path / "disk")
    for words in (
        "search tea",
        "brief",
        "read MEMORY.md",
        "hook prompt-submit",
        "hook session-start",
    ):
        code, out, err = told[words]
        assert (code, "The tea is in the green tin" in out) == (0, True), (words, out, err)
    assert [told[words][0] for words in ("log", "status")] == [0, 0]
    code, out, err = told["history last"]
    assert (code, out) == (6, "")
    assert "The disk is full: nothing more can be written to " in err


def test_a_full_disk_refuses_what_does_not_fit_and_keeps_what_was_stored(tmp_path: Path) -> None:
    told = run_on_a_small_disk(FULL_DISK, tmp_path / "disk")
    assert len(told.pop("errors")) == 3
    assert told == {
        "same": True,
        "problems": [],
        "lost": [],
        "strange": [],
        "torn": [],
    }
