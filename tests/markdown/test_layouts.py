"""The layouts of the seeds: each example opens as it is and is written in its own way."""

from __future__ import annotations

import stat
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from commonplace.markdown.layouts import LAYOUTS, detect, layout_named
from commonplace.memory import Memory
from commonplace.model.errors import BadInput
from commonplace.model.records import Problem, Record
from commonplace.storage.option_files import FILE
from tests.data import EXAMPLES, clock_at, contents, example
from tests.support.clocks import SkippingClock

DOCUMENTS = {
    "earl": ["2025-01-14.md", "2025-01-15.md", "2025-01-18.md", "SOUL.md", "USER.md"],
    "journal": [
        "soul.md",
        "user.md",
        "diary/2026-02-01T14-30-00.md",
        "diary/2026-02-01T20-15-00.md",
        "diary/2026-02-03T07-05-09.md",
        "sailing/tides.md",
    ],
    "notebook": ["MEMORY.md", "facts.md", "projects.md"],
    "claw": [
        "LONGMEMORY.md",
        "MEMORY.md",
        "SOUL.md",
        "USER.md",
        "memory/2026-02-10.md",
        "memory/2026-02-11.md",
        "memory/2026-02-12.md",
        "memory/MEMORY-archive.md",
    ],
    "native": [
        "LONGMEMORY.md",
        "MEMORY.md",
        "SOUL.md",
        "USER.md",
        "archive/MEMORY.md",
        "diary/2026-11-13T21-40-05.md",
        "memory/2026-11-12.md",
        "memory/2026-11-13.md",
        "memory/2026-11-14.md",
        "projects/garden.md",
    ],
}
ROOTS = {"journal": "memories", "notebook": "data"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_opens_as_what_it_is(tmp_path: Path, name: str) -> None:
    vault = example(name, tmp_path)
    with Memory.open(vault, clock=SkippingClock(), create=True) as memory:
        assert (memory.layout, memory.root, memory.documents()) == (
            LAYOUTS[name],
            vault / ROOTS.get(name, ""),
            DOCUMENTS[name],
        )


@pytest.mark.parametrize("name", EXAMPLES)
def test_looking_changes_no_byte_and_adds_nothing_but_machine_state(
    tmp_path: Path, name: str
) -> None:
    vault = example(name, tmp_path)
    before = contents(vault)
    root = vault / ROOTS.get(name, "")
    names = {path.name for path in root.iterdir()}
    with Memory.open(vault, clock=SkippingClock(), create=True) as memory:
        assert memory.search("the", limit=100)
        memory.brief()
        memory.recall("what does the user like")
        memory.status()
        memory.problems()
        memory.rebuild()
        for document in memory.documents():
            memory.read(document)
    assert contents(vault) == before
    assert {path.name for path in root.iterdir()} - names == {".commonplace"}
    assert stat.S_IMODE((root / ".commonplace").stat().st_mode) == 0o700


FINDS = {
    "earl": {
        "authentication refactor": "Working on the authentication refactor this week",
        "migration asking": "EARL > Boundaries: 1. Never run a migration without asking.",
        "espresso": 'Chiara\'s build machine is called "Espresso" ☕',
        "火曜日": "会議は火曜日の朝がよい",
        "nothing of the sort": "",
    },
    "journal": {
        "walnuts": "Vegetarian, allergic to walnuts",
        "gasket Tuesday": "The shop called: the gasket is there on Tuesday.",
        "Saint-Malo harbour": "Leave the harbour of Saint-Malo before 07:00",
        "apologise": "What I have learned about myself:",
    },
    "notebook": {
        "viola": "Two children, Inês and Rui; plays the viola badly 🎻",
        "caldeira": "A caldeira é de 1987",
        "cupboard stairs": "Memory > Machine / Runtime: Mac Mini M4",
        "carburettor": "",  # stands beside data/, in README.md
    },
    "claw": {
        "telescope": "Wren's telescope is a 200 mm Dobson; first light was Saturn 🪐",
        "release train": "The release train leaves on Thursdays — résolu",
        "fjord": "LONGMEMORY > November 2025: Wren moved to the hill above the fjord",
        "finder scope": "and a bullet by hand, about the finder scope",
        "zenith": "",  # stands in code
        "declination": "",  # stands in a README of the code
        "bookcase": "",  # is secret
    },
    "native": {
        "dark mode": "Prefers dark mode in all editors",
        "soup Kartoffeln": "Grandmother's soup, in two lines:\nLauch, Kartoffeln, ein Ei -->",
        "steam engine": "A calm day. We sorted the photographs from Semmering",
        "hellebore": "Garden: The hellebore goes north of the shed.",
        "green door": "The old flat had a green door",
        "neighbour": "",  # is secret
    },
}
"""For each example how the best hit of a query starts; empty where there must be none."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_searchable_at_once(tmp_path: Path, name: str) -> None:
    with Memory.open(example(name, tmp_path), clock=SkippingClock()) as memory:
        best = {query: memory.search(query, limit=1) for query in FINDS[name]}
    found = {
        query: hits[0].record.text[: len(FINDS[name][query])] if hits else ""
        for query, hits in best.items()
    }
    assert found == FINDS[name]
    assert [query for query, hits in best.items() if hits and not FINDS[name][query]] == []


def test_a_record_that_stands_in_two_documents_is_found_once_with_both_places(
    tmp_path: Path,
) -> None:
    with Memory.open(example("native", tmp_path), clock=SkippingClock()) as memory:
        [hit] = memory.search("dark mode")
    assert [(place.document, place.line) for place in hit.places] == [
        ("MEMORY.md", 14),
        ("memory/2026-11-12.md", 3),
    ]
    assert hit.record == Record(
        id="mem-019c1a20-4d5e-7f6a-8b9c-0d1e2f3a4b50",
        kind="preference",
        text="Prefers dark mode in all editors",
        timestamp="2026-11-12T14:30:00.000Z",
        tags=("editor",),
        session="s-1",
        username="alice",
    )


PROBLEMS = [
    ("earl", Problem("2025-01-14.md", 7, "its data comment is not valid JSON")),
    ("journal", Problem("sailing/tides.md", 7, "its data comment is not valid JSON")),
    ("notebook", Problem("MEMORY.md", 40, "its data comment is not valid JSON")),
    ("claw", Problem("MEMORY.md", 5, "it is not valid JSON")),
    ("native", Problem("MEMORY.md", 18, "its data comment is not valid JSON")),
]


@pytest.mark.parametrize(("name", "problem"), PROBLEMS)
def test_a_line_that_cannot_be_read_is_a_problem_with_its_place(
    tmp_path: Path, name: str, problem: Problem
) -> None:
    with Memory.open(example(name, tmp_path), clock=SkippingClock()) as memory:
        assert memory.problems() == [problem]


NATIVE = (
    '- **09:41 UTC** | `@alice` | Likes tea <!-- {{"id":"{id}","kind":"preference",'
    '"timestamp":"{day}T09:41:00.000Z","tags":["drinks"],"session":"s-9"}} -->\n'
)
SECTION = (
    "\n## Preferences\n*Updated: {day}*\n\n"
    '- Likes tea ({day}) <!-- {{"id":"{id}","tags":["drinks"],"session":"s-9",'
    '"username":"alice"}} -->\n'
)
CLAW = (
    '- {{"id":"{id}","sessionId":"s-9","category":"preference","text":"Likes tea","provenance":'
    '{{"sourceChannel":"","confidence":1.0,"timestamp":"{day}T09:41:00.000Z",'
    '"sensitivity":"personal"}},"tags":["drinks"],"username":"alice"}}\n'
)
WRITES = [
    (
        "earl, a new day",
        "earl",
        "2025-01-19",
        {"2025-01-19.md": "# Memories for {day}\n\n- **09:41 UTC** | `@alice` | Likes tea\n"},
    ),
    (
        "earl, a day whose file has no final newline",
        "earl",
        "2025-01-18",
        {"2025-01-18.md": "\n- **09:41 UTC** | `@alice` | Likes tea\n"},
    ),
    (
        "journal",
        "journal",
        "2026-02-04",
        {"memories/notes/2026-02-04.md": "# Notes for {day}\n\n" + NATIVE},
    ),
    ("notebook", "notebook", "2026-02-04", {"data/MEMORY.md": "\n" + NATIVE}),
    (
        "claw, a new day",
        "claw",
        "2026-02-13",
        {"MEMORY.md": CLAW, "memory/2026-02-13.md": CLAW},
    ),
    (
        "claw, a day whose file has no final newline",
        "claw",
        "2026-02-12",
        {"MEMORY.md": CLAW, "memory/2026-02-12.md": "\n" + CLAW},
    ),
    (
        "claw, a day in CRLF",
        "claw",
        "2026-02-10",
        {"MEMORY.md": CLAW, "memory/2026-02-10.md": CLAW.replace("\n", "\r\n")},
    ),
    (
        "native, a new day",
        "native",
        "2026-11-15",
        {"MEMORY.md": SECTION},
    ),
    (
        "native, another day",
        "native",
        "2026-11-13",
        {"MEMORY.md": SECTION},
    ),
]


@pytest.mark.parametrize(
    ("name", "day", "added"), [case[1:] for case in WRITES], ids=[case[0] for case in WRITES]
)
def test_a_record_is_appended_in_the_form_of_the_vault_and_nothing_else_changes(
    tmp_path: Path, name: str, day: str, added: dict[str, str]
) -> None:
    vault = example(name, tmp_path)
    expected = contents(vault)
    with Memory.open(vault, session="s-9", main=True, clock=clock_at(f"{day}T09:41:00Z")) as memory:
        record = memory.store("Likes tea", kind="preference", tags=["drinks"], username="alice")
        assert [hit.record for hit in memory.search("likes tea")][:1] == [record]
    for document, text in added.items():
        new = text.format(id=record.id, day=day).encode()
        expected[document] = expected.get(document, b"") + new
    assert contents(vault) == expected


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_record_is_read_back_as_it_was_stored_from_the_documents_alone(
    tmp_path: Path, name: str
) -> None:
    """EARL's lines show only time, user and text: the rest is history, kept in the journal."""
    vault = example(name, tmp_path)
    clock = clock_at("2026-11-15T09:41:00Z")
    with Memory.open(vault, session="s-9", clock=clock, create=True) as memory:
        stored = memory.store("Likes tea | and <!-- toast -->\nin bed", username="alice")
        state = memory.state
    with Memory.open(vault, clock=clock, create=True) as memory:
        assert memory.get(stored.id).record == stored
    for path in sorted(state.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    with Memory.open(vault, clock=clock, create=True) as memory:
        read = memory.get(stored.id).record
    shown = {"id", "text", "timestamp", "username", "kind"}
    for field in shown if name == "earl" else Record.__struct_fields__:
        assert getattr(read, field) == getattr(stored, field)


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("earl", "USER.md"),
        ("journal", "user.md"),
        ("notebook", "projects.md"),
        ("native", "USER.md"),
    ],
)
def test_text_appended_to_a_document_in_crlf_is_in_crlf(
    tmp_path: Path, name: str, document: str
) -> None:
    with Memory.open(example(name, tmp_path), clock=SkippingClock()) as memory:
        path = memory.root / document
        before = path.read_bytes()
        memory.update("- Two\n- lines", document=document)
        assert path.read_bytes() == before + b"- Two\r\n- lines\r\n"


def records_in(memory: Memory, document: str) -> list[tuple[Record, int]]:
    parsed = memory.library.parse(document, memory.read(document).text)
    return [(item.record, item.line) for item in parsed.items]


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("earl", "2025-01-14.md"),
        ("journal", "sailing/tides.md"),
        ("notebook", "MEMORY.md"),
        ("claw", "MEMORY.md"),
        ("native", "MEMORY.md"),
        ("native", "memory/2026-11-13.md"),
    ],
)
def test_an_agent_that_adds_a_section_changes_no_line_that_was_there(
    tmp_path: Path, name: str, document: str
) -> None:
    """The line that cannot be read among them, records of several lines, and CRLF."""
    with Memory.open(example(name, tmp_path), clock=SkippingClock()) as memory:
        path = memory.root / document
        before = path.read_bytes()
        records = records_in(memory, document)
        memory.update("Nothing yet.", document=document, mode="section", section="Plans")
        assert path.read_bytes().startswith(before)
        assert records_in(memory, document)[: len(records)] == records


MINIMAL: list[tuple[str | None, dict[str, str]]] = [
    ("earl", {"SOUL.md": ""}),
    ("earl", {"USER.md": "- Prefers dark mode\n"}),
    ("earl", {"2025-01-15.md": "# Memories for 2025-01-15\n"}),
    ("earl", {"SOUL.md": "", "USER.md": "", "2025-01-15.md": ""}),
    ("journal", {"soul.md": ""}),
    ("journal", {"user.md": ""}),
    ("journal", {"diary/2026-02-01T14-30-00.md": "A day."}),
    ("journal", {"soul.md": "", "user.md": "", "diary/2026-02-01T14-30-00.md": ""}),
    ("notebook", {"MEMORY.md": ""}),
    ("notebook", {"MEMORY.md": "# Memory\n\n## About Me\n\n- Tomás\n"}),
    ("notebook", {"MEMORY.md": '- Tea <!-- {"id":"mem-1"} -->\n', "facts.md": ""}),
    ("claw", {"MEMORY.md": '- {"id":"a","text":"b"}\n'}),
    ("claw", {"MEMORY.md": "# MEMORY\n\n", "memory/2026-02-10.md": ""}),
    ("claw", {"USER.md": "", "memory/2026-02-10.md": ""}),
    ("native", {"MEMORY.md": '- Tea <!-- {"id":"mem-1"} -->\n', "memory/2026-11-12.md": ""}),
    (None, {}),
    (None, {"README.md": "# Something else\n"}),
    (None, {"notes/today.md": "", "photo.jpg": ""}),
    (None, {"2026-13-45.txt": "", "2026-02-10": ""}),
]


@pytest.mark.parametrize(("name", "files"), MINIMAL)
def test_a_layout_is_told_by_few_files(name: str | None, files: dict[str, str]) -> None:
    names = {first + slash for first, slash, _ in (file.partition("/") for file in files)}
    layout = detect(names, lambda name: files[name])
    assert (layout.name if layout else None) == name


@pytest.mark.parametrize("files", [[], ["README.md", "photo.jpg"]])
def test_a_directory_of_which_nothing_tells_is_native(tmp_path: Path, files: list[str]) -> None:
    for file in files:
        (tmp_path / file).write_text("# Something else\n", encoding="utf-8")
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        assert memory.layout.name == "native"
        assert memory.documents() == [file for file in files if file.endswith(".md")]


def test_a_directory_that_is_not_there_is_made_and_is_native(tmp_path: Path) -> None:
    path = tmp_path / "new" / "vault"
    with Memory.open(path, clock=SkippingClock(), create=True) as memory:
        assert (memory.layout.name, memory.documents(), memory.search()) == ("native", [], [])
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert contents(path) == {}


ABOVE = [
    ("journal", {"memories/soul.md": "", "src/main.py": ""}, "memories"),
    ("journal", {"memories/diary/2026-02-01T14-30-00.md": ""}, "memories"),
    ("notebook", {"data/MEMORY.md": "# Memory\n", "SYSTEM_PROMPT.md": ""}, "data"),
    ("native", {"data/soul.md": ""}, ""),
    ("native", {"memories/MEMORY.md": "# Memory\n"}, ""),
    ("native", {"data/readme.txt": ""}, ""),
    ("claw", {"MEMORY.md": '- {"id":"a","text":"b"}\n', "data/MEMORY.md": "# Memory\n"}, ""),
]


@pytest.mark.parametrize(("name", "files", "below"), ABOVE)
def test_the_directory_above_a_vault_may_be_named(
    tmp_path: Path, name: str, files: dict[str, str], below: str
) -> None:
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        assert (memory.layout.name, memory.root) == (name, tmp_path / below)
    assert not below or not (tmp_path / ".commonplace").exists()


@pytest.mark.parametrize("name", ["journal", "notebook"])
def test_a_vault_is_the_same_whether_it_or_the_directory_above_is_named(
    tmp_path: Path, name: str
) -> None:
    above = example(name, tmp_path)
    with Memory.open(above, clock=SkippingClock(), create=True) as memory:
        stored = memory.store("Told from above")
    with Memory.open(above / ROOTS[name], clock=SkippingClock(), create=True) as memory:
        assert memory.get(stored.id).record == stored
        assert memory.layout.name == name


@pytest.mark.parametrize("dialect", ["native", "earl", "journal", "notebook", "claw"])
def test_a_dialect_that_is_named_wins_over_the_files(tmp_path: Path, dialect: str) -> None:
    root = example("earl", tmp_path)
    (root / FILE).write_text('dialect = "notebook"\n', encoding="utf-8")
    with Memory.open(root, dialect, clock=SkippingClock(), create=True) as memory:
        assert memory.layout.name == dialect
    with Memory.open(root, clock=SkippingClock(), create=True) as memory:
        assert memory.layout.name == "notebook"
    environ = {"COMMONPLACE_DIALECT": dialect}
    with Memory.open(root, clock=SkippingClock(), environ=environ, create=True) as memory:
        assert memory.layout.name == dialect


@pytest.mark.parametrize("dialect", ["native", "earl", "journal", "notebook", "claw"])
def test_a_new_vault_keeps_the_dialect_it_was_opened_with(tmp_path: Path, dialect: str) -> None:
    with Memory.open(tmp_path, dialect, clock=SkippingClock()) as memory:
        stored = memory.store("The first memory")
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        assert (memory.layout.name, memory.get(stored.id).record) == (dialect, stored)


@pytest.mark.parametrize("written", [False, True])
def test_who_asks_once_for_another_dialect_changes_none(tmp_path: Path, written: bool) -> None:
    vault = example("earl", tmp_path)
    if written:
        with Memory.open(vault, clock=SkippingClock(), create=True) as memory:
            memory.store("The boat is blue")
    with Memory.open(vault, "native", clock=SkippingClock(), create=True) as memory:
        assert memory.layout is LAYOUTS["native"]
    with Memory.open(vault, clock=SkippingClock(), create=True) as memory:
        assert memory.layout is LAYOUTS["earl"]


@pytest.mark.parametrize("asked", [None, "journal", "native"])
def test_who_only_looked_into_an_empty_directory_has_made_no_vault_of_it(
    tmp_path: Path, asked: str | None
) -> None:
    with Memory.open(tmp_path, asked, clock=SkippingClock()) as memory:
        assert memory.search("Pip") == []
    (tmp_path / "memories").mkdir()
    for name, text in (("soul.md", "I am Pip.\n"), ("user.md", "")):
        (tmp_path / "memories" / name).write_text(text, encoding="utf-8")
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        assert (memory.layout, memory.root) == (LAYOUTS["journal"], tmp_path / "memories")


@pytest.mark.parametrize(
    "document", ["USER.md", "SOUL.md", "MEMORY.md", "diary/2026-11-15T10-00-00.md"]
)
def test_a_native_vault_stays_native_whatever_is_written_first(
    tmp_path: Path, document: str
) -> None:
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        memory.update("Some words.", document=document)
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        assert memory.layout.name == "native"


@pytest.mark.parametrize("dialect", ["typed", "anthropic"])
def test_a_dialect_of_tools_alone_has_the_native_layout(dialect: str) -> None:
    assert layout_named(dialect) == LAYOUTS["native"]


def test_a_dialect_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(BadInput, match="Use native, earl, journal, notebook, claw"):
        layout_named("klingon")


DAYS = [
    ("earl", "2025-01-15.md", date(2025, 1, 15)),
    ("earl", "notes/2025-01-15.md", None),
    ("earl", "2025-02-30.md", None),
    ("native", "memory/2026-11-12.md", date(2026, 11, 12)),
    ("native", "2026-11-12.md", None),
    ("native", "memory/old/2026-11-12.md", None),
    ("claw", "memory/2026-02-10.md", date(2026, 2, 10)),
    ("claw", "memory/MEMORY-archive.md", None),
    ("journal", "notes/2026-02-04.md", date(2026, 2, 4)),
    ("notebook", "2026-02-04.md", None),
]


@pytest.mark.parametrize(("dialect", "name", "day"), DAYS)
def test_a_daily_log_is_told_by_its_name_and_place(
    dialect: str, name: str, day: date | None
) -> None:
    assert LAYOUTS[dialect].day_of(name) == day


ENTRIES = [
    ("diary/2026-02-01T14-30-00.md", datetime(2026, 2, 1, 14, 30, tzinfo=UTC)),
    ("diary/2026-02-01T14-30-00-2.md", datetime(2026, 2, 1, 14, 30, tzinfo=UTC)),
    ("diary/2026-02-01T25-30-00.md", None),
    ("diary/thoughts.md", None),
    ("2026-02-01T14-30-00.md", None),
]


@pytest.mark.parametrize(("name", "moment"), ENTRIES)
def test_a_diary_entry_is_told_by_its_name_and_place(name: str, moment: datetime | None) -> None:
    assert LAYOUTS["journal"].diary_time(name) == moment


def test_the_day_of_a_native_log_is_the_users_and_that_of_an_earl_log_is_utc(
    tmp_path: Path,
) -> None:
    late = clock_at("2026-06-30T22:30:00Z", zone="Europe/Vienna")
    with Memory.open(tmp_path / "native", "native", clock=late, create=True) as memory:
        memory.store("Half an hour past midnight in Vienna")
        memory.store("Lives in Vienna", kind="fact")
        assert memory.documents() == ["MEMORY.md", "memory/2026-07-01.md"]
        assert "\n- Lives in Vienna (2026-07-01) <!-- {" in memory.read("MEMORY.md").text
    with Memory.open(tmp_path / "earl", "earl", clock=late, create=True) as memory:
        memory.store("Half past ten in Greenwich")
        assert memory.documents() == ["2026-06-30.md"]


@pytest.mark.parametrize("left", ["", "\n", "nonsense\n"])
def test_a_note_of_the_dialect_that_was_cut_off_is_written_anew(tmp_path: Path, left: str) -> None:
    with Memory.open(tmp_path, "earl", clock=SkippingClock()) as memory:
        memory.store("Likes tea")
        noted = memory.state / "dialect"
    noted.write_text(left, encoding="utf-8")
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        assert memory.layout.name == "earl"
    assert noted.read_text(encoding="utf-8") == "earl\n"
