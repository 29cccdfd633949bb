"""What the document of the notebook memory claims, as far as it is built."""

from __future__ import annotations

import subprocess
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest

from commonplace.doors.admin.init import begin
from commonplace.markdown.documents import sections
from commonplace.memory import Memory
from commonplace.model.errors import WouldLose
from tests.data import clock_at, contents, example
from tests.support.clocks import SkippingClock

SECTIONS = [
    "About Me",
    "Interaction Preferences",
    "Safety + Guardrails",
    "Machine / Runtime",
    "Memory Management Policy",
]


def rewrite(memory: Memory, text: str, section: str = "") -> None:
    """Set all of it, or one section, and confirm what is asked."""
    with pytest.raises(WouldLose) as asked:
        memory.update(text, mode="rewrite", section=section)
    memory.update(text, mode="rewrite", section=section, confirm=asked.value.token)


def new_memory(tmp_path: Path) -> str:
    """The MEMORY.md of a vault that was just made."""
    done = begin(tmp_path, dialect="notebook", clock=SkippingClock())
    return (Path(done.shown) / "MEMORY.md").read_text(encoding="utf-8")


@pytest.mark.claim("notebook.file")
def test_the_memory_is_the_one_document_in_data(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "data", "notebook", clock=SkippingClock(), create=True) as memory:
        memory.store("The viola needs strings")
        memory.update("- Two children")
        assert memory.read().name == "MEMORY.md"
    assert list(contents(tmp_path)) == ["data/MEMORY.md"]


@pytest.mark.claim("notebook.persistent")
def test_what_is_put_in_the_file_is_there_in_every_later_conversation(place: str) -> None:
    root = example("notebook", place)
    with Memory.open(root, session="one", clock=SkippingClock(), create=True) as memory:
        memory.update("- Likes rain")
        stored = memory.store("The viola needs strings")
    with Memory.open(root, session="two", clock=SkippingClock(), create=True) as memory:
        text = memory.read().text
        assert [hit.record for hit in memory.search("strings")] == [stored]
    assert "- Likes rain\n" in text
    assert "The viola needs strings" in text


@pytest.mark.claim("notebook.gitignored")
def test_git_ignores_the_memory(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    begin(tmp_path, dialect="notebook", clock=SkippingClock())
    command = ["git", "status", "--porcelain", "--untracked-files=all"]
    seen = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert seen.stdout == "?? .gitignore\n"


@pytest.mark.claim("notebook.beside-the-database")
def test_other_files_in_data_are_neither_memory_nor_changed(tmp_path: Path) -> None:
    root = example("notebook", tmp_path)
    (root / "data" / "backup.md.bak").write_text("- walrus\n", encoding="utf-8")
    (root / "data" / "notes.txt").write_text("- walrus\n", encoding="utf-8")
    with Memory.open(root, clock=SkippingClock(), create=True) as memory:
        memory.store("The viola needs strings")
        memory.rebuild()
        assert memory.documents() == ["MEMORY.md", "facts.md", "projects.md"]
        assert not [hit for hit in memory.search("walrus sqlite") if "walrus" in hit.record.text]
    there, before = contents(root), contents(example("notebook", tmp_path / "again"))
    changed = [name for name in before if there[name] != before[name]]
    assert changed == ["data/MEMORY.md"]


@pytest.mark.claim("notebook.rule-at-top")
def test_a_new_memory_opens_with_its_own_rule(tmp_path: Path) -> None:
    top = new_memory(tmp_path).split("\n## ")[0].lower()
    assert "three months" in top or "3+ months" in top
    assert "changes behaviour" in top
    assert "only" in top


@pytest.mark.claim(
    "notebook.section-about-me",
    "notebook.section-interaction-preferences",
    "notebook.section-safety-guardrails",
    "notebook.section-machine-runtime",
    "notebook.section-memory-policy",
)
def test_a_new_memory_has_the_five_sections(tmp_path: Path) -> None:
    found = [section.title for section in sections(new_memory(tmp_path)) if section.level == 2]
    assert found == SECTIONS


@pytest.mark.claim("notebook.operations-elsewhere")
def test_the_policy_sends_operational_instructions_to_the_system_prompt(tmp_path: Path) -> None:
    text = new_memory(tmp_path)
    policy = next(part for part in sections(text) if part.title == "Memory Management Policy")
    assert "SYSTEM_PROMPT.md" in text[policy.body : policy.end]


FREE = """\
Free   form,\twith a tab
* a star *and* emphasis
<!-- a remark -->

    indented code

| a | b |
|---|---|

Setext
======
no newline at the end"""


@pytest.mark.claim("notebook.free-form-kept", "notebook.structure-kept")
@pytest.mark.parametrize("text", [FREE, FREE.replace("\n", "\r\n"), FREE + "\n\n\n"])
def test_free_markdown_is_kept_byte_for_byte_through_later_appends(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_bytes(text.encode())
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        memory.store("The viola needs strings")
        memory.update("A paragraph.")
        memory.update("- and a line", section="New")
        assert path.read_bytes().startswith(text.encode())


def outline(text: str) -> dict[str, list[str]]:
    """The lines that stand right below each heading."""
    found: dict[str, list[str]] = {}
    parts = sections(text)
    for part, after in zip(parts, [*parts[1:], None]):
        end = after.start if after else len(text)
        found[part.title] = text[part.body : end].split("\n")
    return found


@pytest.mark.claim("notebook.structure-kept")
@pytest.mark.parametrize("section", SECTIONS)
def test_adding_to_a_section_loses_no_heading_and_moves_no_line(place: str, section: str) -> None:
    with Memory.open(example("notebook", place), clock=SkippingClock()) as memory:
        before = outline(memory.read().text)
        memory.update("- Something new", section=section)
        memory.update("## A heading of its own\n\n- below it")
        memory.store("Stored at the end")
        after = outline(memory.read().text)
    assert list(after) == [*before, "A heading of its own"]
    for title, lines in before.items():
        kept = [line for line in lines if line and not line.startswith("*Updated")]
        new = [line for line in after[title] if line and not line.startswith("*Updated")]
        assert new == kept + (["- Something new"] if title == section else [])


@pytest.mark.claim("notebook.rewrite-recoverable")
def test_the_text_that_a_rewrite_replaced_can_be_brought_back(tmp_path: Path) -> None:
    root = example("notebook", tmp_path)
    before = contents(root)
    clock = clock_at("2026-02-05T10:00:00Z")
    with Memory.open(root, clock=clock, create=True) as memory:
        memory.library.refresh()
        then = clock.now()
        clock.sleep(60)
        rewrite(memory, "Forgot everything.\n")
        assert (root / "data/MEMORY.md").read_bytes() == b"Forgot everything.\n"
        memory.undo()
        assert contents(root) == before
        memory.read()
        rewrite(memory, "Forgot it again.\n")
        memory.restore(then, "MEMORY.md")
    assert contents(root) == before


@pytest.mark.claim("notebook.defined-sections")
def test_memory_is_read_as_sections_each_a_heading_with_what_stands_below(place: str) -> None:
    with Memory.open(example("notebook", place), clock=SkippingClock()) as memory:
        text = memory.read().text
        [hit] = memory.search("cupboard")
    parts = [(part.title, part.level, part.updated) for part in sections(text)]
    assert parts == [
        ("Memory", 1, None),
        ("About Me", 2, date(2026, 1, 20)),
        ("Interaction Preferences", 2, date(2026, 2, 2)),
        ("Safety + Guardrails", 2, None),
        ("Machine / Runtime", 2, None),
        ("Memory Management Policy", 2, None),
    ]
    assert hit.record.text.startswith("Memory > Machine / Runtime: Mac Mini M4")
    guard = next(part for part in sections(text) if part.title == "Safety + Guardrails")
    assert text[guard.body : guard.end].strip() == (
        "- Never print the contents of .env\n- Ask before `git push --force`"
    )


@pytest.mark.claim("notebook.front-matter-kept")
def test_front_matter_stays_at_the_head_and_is_no_memory(place: str) -> None:
    with Memory.open(example("notebook", place), clock=SkippingClock()) as memory:
        rewrite(memory, "- Likes rain", section="About Me")
        memory.store("The viola needs strings")
        assert memory.read().text.startswith("---\ntitle: Memory\nowner: Tomás\n---\n\n# Memory\n")
        records = [hit.record.text for hit in memory.search(include_passages=False, limit=100)]
    assert [text for text in records if "title" in text or "owner" in text] == []


@pytest.mark.claim("notebook.section-updated-alone", "notebook.section-last-updated")
def test_one_section_is_set_with_its_date_and_every_other_stays_byte_for_byte(
    place: str,
) -> None:
    root = example("notebook", place)
    clock = clock_at("2026-02-05T10:00:00Z")
    with Memory.open(root, clock=clock, create=True) as memory:
        before = memory.read().text
        rewrite(memory, "- Tomás, Lisboa now", section="About Me")
        clock.sleep(24 * 3600)
        rewrite(memory, "- Ask before pushing at all", section="Safety + Guardrails")
        after = memory.read().text
    old = {part.title: before[part.start : part.end] for part in sections(before)[1:]}
    new = {part.title: after[part.start : part.end] for part in sections(after)[1:]}
    assert new == old | {
        "About Me": "## About Me\n*Updated: 2026-02-05*\n\n- Tomás, Lisboa now\n\n",
        "Safety + Guardrails": (
            "## Safety + Guardrails\n*Updated: 2026-02-06*\n\n- Ask before pushing at all\n\n"
        ),
    }
    assert after.partition("## ")[0] == before.partition("## ")[0]


@pytest.mark.claim("notebook.append-only-entries")
def test_memory_can_be_kept_as_entries_each_with_its_time(place: str) -> None:
    clock = clock_at("2026-02-05T10:00:00Z")
    texts = []
    with Memory.open(place, "notebook", clock=clock) as memory:
        for words in ("First", "Second", "Third"):
            memory.store(words)
            texts.append(memory.read().text)
            clock.sleep(3600)
        stamps = {hit.record.text: hit.record.timestamp for hit in memory.search()}
    assert all(after.startswith(before) for before, after in pairwise(texts))
    assert [line[:23] for line in texts[2].split("\n") if line.startswith("- ")] == [
        "- **10:00 UTC** | First",
        "- **11:00 UTC** | Secon",
        "- **12:00 UTC** | Third",
    ]
    assert {text: stamps[text] for text in ("First", "Second", "Third")} == {
        "First": "2026-02-05T10:00:00.000Z",
        "Second": "2026-02-05T11:00:00.000Z",
        "Third": "2026-02-05T12:00:00.000Z",
    }


@pytest.mark.claim("notebook.category-files")
def test_memory_can_be_split_into_files_by_category(place: str) -> None:
    with Memory.open(example("notebook", place), clock=SkippingClock()) as memory:
        memory.update("- Answers in the language of the question", document="preferences.md")
        assert memory.documents() == ["MEMORY.md", "facts.md", "preferences.md", "projects.md"]
        assert memory.read("facts.md").text.startswith("- Inês starts school in September\n")
        found = {
            word: memory.search(word)[0].places[0].document
            for word in ("crane", "september", "question", "viola")
        }
    assert found == {
        "crane": "projects.md",
        "september": "facts.md",
        "question": "preferences.md",
        "viola": "MEMORY.md",
    }
