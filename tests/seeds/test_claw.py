"""What the document of CursorClaw's memory claims, as far as it is built."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from commonplace.doors.admin.init import begin
from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.model.errors import BadOption
from commonplace.model.options import Options, snake
from commonplace.model.records import Record
from commonplace.search.encoders.hashed import HashedEncoder
from commonplace.storage.option_files import FILE, load
from tests.data import clock_at, contents, example
from tests.support.clocks import SkippingClock

TEMPLATE = b"# MEMORY\n\n"
NAMED = ("turn-summary", "compaction", "note", "heartbeat", "learned")


def workspace(tmp_path: Path) -> Path:
    """A CursorClaw workspace without any memory yet."""
    root = tmp_path / "claw"
    (root / "memory").mkdir(parents=True)
    (root / "USER.md").write_text("# USER\n\n- Name: Wren\n", encoding="utf-8")
    return root


def opened(root: Path | str, clock: Clock | None = None, **options: Any) -> Memory:
    return Memory.open(root, session="main", clock=clock or SkippingClock(), **options, create=True)


def records_of(memory: Memory, document: str) -> list[Record]:
    """The records of one document, parsed and in file order."""
    items = memory.library.parse(document, memory.library.text(document)[0]).items
    return [item.record for item in items if item.record.kind != "passage"]


def json_lines(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line.removeprefix("- ")) for line in lines if line.startswith("- {")]


@pytest.mark.claim("claw.memory-file", "claw.line-format", "claw.memory-append-only")
def test_an_append_adds_one_json_line_to_the_end_of_memory_md_at_the_root(tmp_path: Path) -> None:
    root = example("claw", tmp_path)
    before = (root / "MEMORY.md").read_bytes()
    with opened(root) as memory:
        assert memory.layout.memory == "MEMORY.md"
        record = memory.store("Two lines:\nof text", kind="note")
    added = (root / "MEMORY.md").read_bytes().removeprefix(before).decode()
    assert added.startswith('- {"id":')
    assert added.count("\n") == 1
    assert json.loads(added[2:])["id"] == record.id
    assert json.loads(added[2:])["text"] == "Two lines:\nof text"


@pytest.mark.claim("claw.created-on-load")
@pytest.mark.parametrize("there", [None, b""])
def test_loading_a_workspace_makes_a_memory_that_is_missing_or_empty(
    tmp_path: Path, there: bytes | None
) -> None:
    root = workspace(tmp_path)
    if there is not None:
        (root / "MEMORY.md").write_bytes(there)
    with opened(root) as memory:
        assert memory.layout.name == "claw"
    assert (root / "MEMORY.md").read_bytes() == TEMPLATE


@pytest.mark.claim("claw.created-on-load")
def test_a_new_workspace_gets_its_memory_with_the_other_substrate_files(tmp_path: Path) -> None:
    begin(tmp_path, dialect="claw", clock=SkippingClock())
    made = contents(tmp_path)
    assert {"MEMORY.md", "SOUL.md", "USER.md"} <= set(made)
    assert made["MEMORY.md"] == TEMPLATE


@pytest.mark.claim("claw.created-on-first-append")
def test_a_memory_still_missing_at_the_first_append_is_made_from_the_template(
    tmp_path: Path,
) -> None:
    root = workspace(tmp_path)
    with opened(root) as memory:
        (root / "MEMORY.md").unlink()
        memory.store("The first record")
    text = (root / "MEMORY.md").read_bytes()
    assert text.startswith(TEMPLATE + b'- {"id":')
    assert text.count(b"\n") == 3


@pytest.mark.claim("claw.gitignored")
def test_git_ignores_the_memory(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    begin(tmp_path, dialect="claw", clock=SkippingClock())
    with opened(tmp_path) as memory:
        memory.store("Something personal")
    command = ["git", "status", "--porcelain", "--untracked-files=all"]
    seen = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "MEMORY.md" not in seen.stdout
    assert "memory/" not in seen.stdout
    assert ".commonplace/" not in seen.stdout


@pytest.mark.claim(
    "claw.daily-file",
    "claw.daily-same-format",
    "claw.daily-per-calendar-day",
    "claw.daily-created-on-append",
    "claw.append-both",
)
def test_an_append_writes_the_same_line_to_memory_and_to_the_log_of_the_day(
    tmp_path: Path,
) -> None:
    root = workspace(tmp_path)
    clock = clock_at("2026-02-13T22:30:00Z", zone="Europe/Oslo")
    with opened(root, clock) as memory:
        assert list(contents(root)) == ["MEMORY.md", "USER.md"]
        first = memory.store("Half past eleven at night")
        second = memory.store("And again")
        clock.sleep(3600)
        assert sorted(path.name for path in (root / "memory").iterdir()) == ["2026-02-13.md"]
        third = memory.store("Half past midnight")
    made = contents(root)
    lines = made["MEMORY.md"].removeprefix(TEMPLATE).splitlines(keepends=True)
    assert {name: text for name, text in made.items() if name.startswith("memory/")} == {
        "memory/2026-02-13.md": b"".join(lines[:2]),
        "memory/2026-02-14.md": lines[2],
    }
    assert [json.loads(line[2:])["id"] for line in lines] == [first.id, second.id, third.id]


@pytest.mark.claim("claw.record-fields", "claw.provenance-fields")
def test_the_json_of_a_record_has_the_keys_of_the_document(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    with opened(root, clock_at("2026-02-13T22:30:00Z")) as memory:
        record = memory.store(
            "Prefers metric units",
            kind="learned",
            channel="slack",
            confidence=0.5,
            sensitivity="sensitive",
        )
    assert json_lines(root / "MEMORY.md") == [
        {
            "id": record.id,
            "sessionId": "main",
            "category": "learned",
            "text": "Prefers metric units",
            "provenance": {
                "sourceChannel": "slack",
                "confidence": 0.5,
                "timestamp": "2026-02-13T22:30:00.000Z",
                "sensitivity": "sensitive",
            },
        }
    ]


@pytest.mark.claim("claw.categories-named", "claw.categories-open")
def test_categories_are_the_named_ones_and_any_other(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    kinds = [*NAMED, "user-preference", "incident-42"]
    with opened(root) as memory:
        stored = [memory.store(f"A {kind}", kind=kind) for kind in kinds]
        memory.rebuild()
        assert [memory.get(record.id).record for record in stored] == stored
        assert [memory.search(kinds=(kind,))[0].record.kind for kind in kinds] == kinds
    assert [line["category"] for line in json_lines(root / "MEMORY.md")] == kinds


@pytest.mark.claim("claw.read-all")
def test_all_records_of_memory_md_are_read_in_order_and_none_of_a_daily_log(
    place: str,
) -> None:
    with opened(example("claw", place)) as memory:
        found = [
            (record.id, record.kind, record.session) for record in records_of(memory, "MEMORY.md")
        ]
    ids = [found[at] for at in (0, 1, 3, 4, 5)]
    assert ids == [
        ("a1f0", "turn-summary", "main"),
        ("a1f1", "user-preference", "main"),
        ("a1f2", "note", "slack-42"),
        ("a1f3", "note", "main"),
        ("a1f4", "learned", "main"),
    ]
    assert "a1f5" not in [key for key, _, _ in found]  # stands only in a daily log
    assert len(found) == 7  # with the broken line and the one typed by hand


@pytest.mark.claim(
    "claw.retrieve-by-session", "claw.retrieve-without-secret", "claw.retrieve-with-secret"
)
@pytest.mark.parametrize(
    ("session", "allow_secret", "ids"),
    [
        ("main", False, ["a0aa", "a1f0", "a1f1", "a1f4"]),
        ("main", True, ["a0aa", "a1f0", "a1f1", "a1f3", "a1f4"]),
        ("slack-42", False, ["a1f2"]),
        ("nobody", True, []),
    ],
)
def test_records_are_retrieved_by_session_and_secrets_only_when_allowed(
    place: str, session: str, allow_secret: bool, ids: list[str]
) -> None:
    with opened(example("claw", place)) as memory:
        hits = memory.search(session=session, include_secret=allow_secret)
    assert sorted(hit.record.id for hit in hits) == ids


@pytest.mark.claim("claw.unbounded-by-default")
def test_appending_removes_nothing_when_no_limit_is_set(tmp_path: Path) -> None:
    root = example("claw", tmp_path)
    before = (root / "MEMORY.md").read_bytes()
    with opened(root) as memory:
        for start in range(0, 3000, 500):
            memory.store_all({"text": f"Thing {number}"} for number in range(start, start + 500))
    text = (root / "MEMORY.md").read_bytes()
    assert text.startswith(before)
    assert text.count(b"\n") == before.count(b"\n") + 3000


@pytest.mark.claim("claw.manual-edit")
def test_memory_md_may_be_edited_and_shortened_by_hand(tmp_path: Path) -> None:
    root = example("claw", tmp_path)
    path = root / "MEMORY.md"
    with opened(root) as memory:
        assert len(memory.search("operator")) == 2
        lines = path.read_text(encoding="utf-8").split("\n")
        kept = [line.replace("metric", "imperial") for line in lines if '"a1f0"' not in line]
        path.write_text("\n".join(kept), encoding="utf-8")
        edited = path.read_bytes()
        found = [hit.record.text for hit in memory.search("operator imperial")]
        ids = [record.id for record in records_of(memory, "MEMORY.md")]
    assert found[0] == "Operator prefers imperial units and 24-hour times"
    assert "a1f0" not in ids
    assert path.read_bytes() == edited


KEYS = {
    "memoryMaxRecords": (0, 500),
    "memoryMaxChars": (0, 20_000),
    "memoryArchivePath": ("", "memory/MEMORY-archive.md"),
    "memoryEmbeddingsEnabled": (False, True),
    "memoryEmbeddingsMaxRecords": (3000, 100),
    "sessionMemoryEnabled": (True, False),
    "sessionMemoryCap": (32000, 8000),
    "memoryCompactionEnabled": (False, True),
    "longMemoryPath": ("LONGMEMORY.md", "memory/LONG.md"),
    "includeLongMemoryInSession": (True, False),
    "experienceStoreEnabled": (False, True),
    "experienceUniquenessThreshold": (0.8, 0.65),
    "injectExperienceContext": (False, True),
    "memoryCompactionThresholdRecords": (500, 1000),
    "memoryCompactionThresholdChars": (0, 100_000),
    "memoryCompactionMinAgeDays": (30, 14),
    "memoryCompactionSchedule": ("daily", "0 3 * * *"),
}
"""Each key of the `continuity` group with its default and another value."""
WRONG: dict[type, Any] = {int: "many", bool: "perhaps", str: 7, float: "alike"}


@pytest.mark.claim(
    "claw.key-memory-max-records",
    "claw.key-memory-max-chars",
    "claw.key-memory-archive-path",
    "claw.key-embeddings-enabled",
    "claw.key-embeddings-max-records",
    "claw.key-session-memory-enabled",
    "claw.key-session-memory-cap",
    "claw.key-compaction-enabled",
    "claw.key-long-memory-path",
    "claw.key-include-long-memory",
    "claw.key-experience-enabled",
    "claw.key-experience-threshold",
    "claw.key-inject-experience",
    "claw.key-compaction-threshold-records",
    "claw.key-compaction-threshold-chars",
    "claw.key-compaction-min-age",
    "claw.key-compaction-schedule",
)
@pytest.mark.parametrize("key", KEYS)
def test_a_continuity_key_is_accepted_with_its_type_and_has_its_default(
    tmp_path: Path, key: str
) -> None:
    default, other = KEYS[key]
    spelled = json.dumps(other)
    (tmp_path / FILE).write_text(f"[continuity]\n{key} = {spelled}\n", encoding="utf-8")
    assert getattr(load(tmp_path, environ={}).options, snake(key)) == other
    dotted = Options().overlaid({f"continuity.{key}": other}, source="a test")
    assert getattr(dotted, snake(key)) == other
    with pytest.raises(BadOption, match=snake(key)):
        Options().overlaid({"continuity": {key: WRONG[type(default)]}}, source="a test")
    assert getattr(Options(), snake(key)) == default


@pytest.mark.claim("claw.key-compaction-schedule")
@pytest.mark.parametrize("schedule", ["daily", "*/30 * * * *", ""])
def test_a_schedule_is_a_cron_expression_or_daily(schedule: str) -> None:
    options = Options().overlaid({"continuity.memoryCompactionSchedule": schedule}, source="a test")
    assert options.memory_compaction_schedule == schedule


@pytest.mark.claim("claw.key-reference")
def test_every_continuity_key_is_listed_with_its_meaning_and_default(tmp_path: Path) -> None:
    with opened(workspace(tmp_path)) as memory:
        listed = {option["name"]: option for option in memory.options.described()}
    assert {snake(key) for key in KEYS} <= set(listed)
    assert [name for name, option in listed.items() if len(option["description"]) < 10] == []
    assert {name: option["default"] for name, option in listed.items()} == asdict(Options())


@pytest.mark.claim("claw.archive-is-not-a-day")
def test_an_archive_is_not_taken_for_a_daily_log(tmp_path: Path) -> None:
    root = example("claw", tmp_path)
    before = (root / "memory/MEMORY-archive.md").read_bytes()
    with opened(root) as memory:
        assert memory.layout.day_of("memory/MEMORY-archive.md") is None
        [hit] = memory.search("boxes everywhere")
        memory.store("A new record")
    assert hit.record.timestamp == "2025-11-02T10:00:00.000Z"
    assert (root / "memory/MEMORY-archive.md").read_bytes() == before


def vectors(memory: Memory) -> dict[str, tuple[bytes, float]]:
    """The vectors that the index holds, by the text they are of."""
    with sqlite3.connect(memory.state / "index.db") as db:
        rows = """SELECT r.text, v.vector, v.norm FROM vectors v
            JOIN records r ON r.key = v.number & 0xffffffffff"""
        found = {text: (vector, norm) for text, vector, norm in db.execute(rows)}
    db.close()
    return found


@pytest.mark.claim("claw.index-separate-from-code")
def test_the_embedding_index_holds_memory_and_no_code(tmp_path: Path) -> None:
    root = example("claw", tmp_path)
    (root / "main.ts").write_text("- export const zenith = 90;\n", encoding="utf-8")
    with opened(root) as memory:
        memory.recall("zenith declination")
        held = "\n".join(vectors(memory))
        documents = {place.document for hit in memory.recall("zenith") for place in hit.places}
    assert "telescope" in held
    assert not any(word in held for word in ("zenith", "declination", "tracker"))
    assert not any(document.startswith("src/") for document in documents)


@pytest.mark.claim("claw.index-path", "claw.index-survives-restart")
def test_the_embedding_index_is_kept_in_the_machine_state_and_used_after_a_restart(
    tmp_path: Path,
) -> None:
    root = example("claw", tmp_path)
    with opened(root) as memory:
        best = memory.recall("telescope")[0]
        assert memory.state == root / ".commonplace"
    assert not (root / "tmp").exists()
    with sqlite3.connect(root / ".commonplace" / "index.db") as db:
        db.execute("UPDATE vectors SET norm = norm * 0.5")
    db.close()
    with opened(root) as memory:
        again = memory.recall("telescope")[0]
    # The vectors as they were left are used: half as long, they score twice as high.
    assert again.record == best.record
    assert again.score == pytest.approx(min(1.0, 2 * best.score))
    assert again.score > best.score


@pytest.mark.claim("claw.index-hash-vectors")
def test_the_vectors_are_made_by_hashing_the_text(tmp_path: Path) -> None:
    with opened(workspace(tmp_path)) as memory:
        texts = ["The telescope is a Dobson", "The release train leaves on Thursdays"]
        for text in texts:
            memory.store(text)
        assert memory.recall("a telescope")[0].record.text == texts[0]
        held = vectors(memory)
    assert {text: held[text] for text in texts} == dict(zip(texts, HashedEncoder().encode(texts)))


@pytest.mark.claim("claw.index-bounded")
def test_the_embedding_index_holds_no_more_than_its_bound(tmp_path: Path) -> None:
    with opened(workspace(tmp_path), memory_embeddings_max_records=3) as memory:
        for number in range(5):
            memory.store(f"Thing number {number}")
            memory.recall("thing")
            memory.recall("number")
            assert len(vectors(memory)) <= 3
        newest = {hit.record.text for hit in memory.recall("thing number")}
    assert newest <= {f"Thing number {number}" for number in (2, 3, 4)}


@pytest.mark.claim("claw.no-preference-store", "claw.memory-is-truth")
def test_no_record_is_lost_when_all_machine_state_is_deleted(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    (root / "tmp").mkdir()
    (root / "tmp" / "memory-embeddings.json").write_text("{}", encoding="utf-8")
    with opened(root) as memory:
        stored = [
            memory.store("Prefers metric units", kind="user-preference"),
            memory.store("Is called Wren, they/them", kind="learned", sensitivity="sensitive"),
        ]
        memory.recall("units")
    shutil.rmtree(root / "tmp")
    shutil.rmtree(root / ".commonplace")
    shutil.rmtree(root / "memory")
    assert sorted(contents(root)) == ["MEMORY.md", "USER.md"]
    with opened(root, dialect="claw") as memory:
        assert [memory.get(record.id).record for record in stored] == stored
        assert [hit.record for hit in memory.search("metric")] == stored[:1]


@pytest.mark.claim("claw.user-file")
def test_user_md_at_the_root_says_who_the_human_is(place: str) -> None:
    with opened(example("claw", place)) as memory:
        assert memory.layout.user == "USER.md"
        found = {
            query: memory.search(query, documents=("USER.md",))[0].record.text
            for query in ("name", "pronouns", "timezone", "notes sky")
        }
    assert found == {
        "name": "Name: Wren",
        "pronouns": "Pronouns: they/them",
        "timezone": "Timezone: Europe/Oslo",
        "notes sky": "USER: Notes: stays up late when the sky is clear.",
    }


@pytest.mark.claim("claw.user-edited-by-hand")
def test_people_edit_user_md_and_appending_never_changes_it(tmp_path: Path) -> None:
    root = example("claw", tmp_path)
    with opened(root) as memory:
        with (root / "USER.md").open("a", encoding="utf-8") as file:
            file.write("- Has a cat named Luna\n")
        before = (root / "USER.md").read_bytes()
        memory.store("Wren likes toast", kind="user-preference", username="wren")
        memory.store("Another thing about Wren", kind="learned")
        assert memory.search("luna")[0].record.text == "Has a cat named Luna"
    assert (root / "USER.md").read_bytes() == before


@pytest.mark.claim("claw.preferences-persist")
@pytest.mark.parametrize("kind", ["turn-summary", "note", "user-preference", "learned"])
def test_a_preference_is_there_for_later_sessions(tmp_path: Path, kind: str) -> None:
    root = workspace(tmp_path)
    with Memory.open(root, session="one", clock=SkippingClock(), create=True) as memory:
        stored = memory.store("Operator prefers metric units", kind=kind)
    with Memory.open(root, session="two", main=True, clock=SkippingClock(), create=True) as memory:
        assert [hit.record for hit in memory.search("metric")] == [stored]
        assert stored in memory.brief()


@pytest.mark.claim("claw.no-dossier")
def test_nothing_is_recorded_that_nobody_asked_to_record(place: str) -> None:
    root = example("claw", place)
    before = contents(root)
    with opened(root) as memory:
        count = memory.count()
        for words in ("My name is Wren", "remember that I like toast", "telescope"):
            memory.search(words)
            memory.recall(words)
        memory.brief()
        memory.status()
        assert memory.count() == count
        assert contents(root) == before
        memory.store("Likes toast")
        assert memory.count() == count + 1


@pytest.mark.claim("claw.daily-read-alone")
def test_the_records_of_one_day_are_loaded_from_its_log_alone(place: str) -> None:
    with opened(example("claw", place)) as memory:
        day = "memory/2026-02-12.md"
        alone = [record.id for record in records_of(memory, day)]
        hits = memory.search(documents=(day,))
    assert alone == ["a1f4", "a1f5"]
    assert [hit.record.id for hit in hits] == ["a1f5", "a1f4"]
