"""What the document of the journal's memories claims, as far as it is built."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.doors.admin.init import begin
from commonplace.memory import Memory
from commonplace.model.errors import AlreadyExists, BadInput, Refused
from tests.data import clock_at, contents, documents_at, documents_of, example
from tests.support.clocks import SkippingClock

SOUL = "I am a bold assistant.\n\nWhat I have learned: to say what I will do, and do it.\n"
USER = "# Nadia\n\nTeaches in Nantes now.\n\n- Vegetarian, allergic to walnuts\n- Sold the boat\n"


def vault(place: str) -> str:
    """A copy of the example, without its file that has a mistake in it."""
    root = example("journal", place)
    with Memory.open(root, clock=SkippingClock(), create=True) as memory:
        memory.remove("sailing/tides.md")
    return root


@pytest.mark.in_files
@pytest.mark.claim(
    "journal.persists-across-runs", "journal.markdown-on-disk", "journal.memories-directory"
)
def test_what_one_run_writes_is_a_markdown_file_below_memories_for_the_next(
    place: str,
) -> None:
    root = vault(place)
    before = contents(root)
    run = "from commonplace.memory import Memory; import sys\nwith Memory.open(sys.argv[1]) as m:"
    run += " m.update('- Has a new mast', document='user.md'); m.store('The mast is ash')"
    subprocess.run([sys.executable, "-c", run, root], check=True)
    new = {name: text for name, text in contents(root).items() if before.get(name) != text}
    assert sorted(name.rpartition("/")[0] for name in new) == ["memories", "memories/notes"]
    assert all(name.endswith(".md") for name in new)
    with Memory.open(root, clock=SkippingClock(), create=True) as memory:
        found = {hit.record.text for hit in memory.search("mast")}
    assert found == {"Has a new mast", "The mast is ash"}


@pytest.mark.in_files
@pytest.mark.claim("journal.shell-writes-are-memory")
def test_what_a_shell_writes_is_memory_at_once_as_it_stands(place: str) -> None:
    root = vault(place)
    with Memory.open(root, clock=SkippingClock(), create=True) as memory:
        before = [hit.record.text for hit in memory.search("rudder anchor")]
        assert not [text for text in before if "rudder" in text or "anchor" in text]
        script = """
            cd memories
            printf 'The rudder   is loose.' > soul.md
            mkdir boat && echo '* the anchor is rusty' > boat/todo.md
        """
        subprocess.run(["sh", "-c", script], cwd=root, check=True)
        assert memory.read("soul.md").text == "The rudder   is loose."
        assert [hit.record.text for hit in memory.search("rudder")] == ["The rudder   is loose."]
        assert [hit.record.text for hit in memory.search("anchor")] == ["the anchor is rusty"]
        assert memory.search("patient") == []


@pytest.mark.claim("journal.agent-managed")
def test_opening_and_reading_leave_every_file_byte_for_byte(place: str) -> None:
    root = example("journal", place)
    before = contents(root)
    with Memory.open(root, clock=SkippingClock(), create=True) as memory:
        for document in memory.documents():
            memory.read(document)
        memory.search("gasket")
        memory.brief()
    assert contents(root) == before


@pytest.mark.claim("journal.soul-file", "journal.user-file")
def test_soul_and_user_are_called_so_in_lower_case(tmp_path: Path) -> None:
    done = begin(tmp_path, dialect="journal", clock=SkippingClock())
    root = tmp_path / "memories"
    assert done.shown == str(root)
    assert {"soul.md", "user.md"} <= set(done.created)
    names = {path.name for path in root.iterdir()}
    assert {"soul.md", "user.md"} <= names
    assert not {"SOUL.md", "USER.md"} & names
    with Memory.open(vault(str(tmp_path)), clock=SkippingClock()) as memory:
        assert (memory.layout.soul, memory.layout.user) == ("soul.md", "user.md")


@pytest.mark.claim("journal.soul-free-markdown", "journal.user-free-markdown")
@pytest.mark.parametrize("document", ["soul.md", "user.md"])
@pytest.mark.parametrize(
    "text", ["", "just words", "---\nno: schema\n---\n\n<b>x</b>\r\n", "- {\n"]
)
def test_soul_and_user_are_free_markdown(tmp_path: Path, document: str, text: str) -> None:
    (tmp_path / document).write_bytes(text.encode())
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        assert memory.layout.name == "journal"
        assert memory.read(document).text == text
        assert memory.problems() == []


@pytest.mark.claim("journal.soul-rewritten-whole", "journal.user-rewritten-whole")
@pytest.mark.parametrize(
    ("document", "text"), [("soul.md", SOUL), ("user.md", USER)], ids=["soul", "user"]
)
def test_an_update_replaces_the_whole_document(place: str, document: str, text: str) -> None:
    """With nobody asked: these two are rewritten in full whenever there is something new."""
    with Memory.open(vault(place), clock=SkippingClock()) as memory:
        before = memory.read(document)
        memory.update(text, document=document, mode="rewrite")
        assert memory.read(document).text == text
        memory.undo()
        assert memory.read(document) == before


@pytest.mark.claim("journal.diary-directory", "journal.diary-listing", "journal.diary-on-demand")
def test_the_diary_is_a_directory_whose_names_sort_by_time_and_are_read_one_by_one(
    place: str,
) -> None:
    with Memory.open(vault(place), clock=clock_at("2026-02-02T09:00:00Z")) as memory:
        written = memory.write_diary("Between the others.").document
        listed = sorted(name for name in documents_of(memory) if name.startswith("diary/"))
        assert memory.diary() == listed
        assert listed == [
            "diary/2026-02-01T14-30-00.md",
            "diary/2026-02-01T20-15-00.md",
            "diary/2026-02-02T09-00-00.md",
            "diary/2026-02-03T07-05-09.md",
        ]
        assert written == listed[2]
        assert memory.read(listed[1]).text.startswith("The shop called: the gasket is there")


@pytest.mark.claim(
    "journal.diary-after-conversation",
    "journal.diary-file-per-entry",
    "journal.diary-file-name",
    "journal.diary-free-markdown",
)
def test_every_entry_is_a_new_file_named_by_its_moment_and_kept_whole(place: str) -> None:
    root = vault(place)
    before = documents_at(root)
    entry = "# After the talk\n\n- kept *as it is*\n\n```\ncode\n```\n\n| a |\n|---|\n"
    clock = clock_at("2026-02-04T21:07:09Z", zone="Asia/Tokyo")
    with Memory.open(root, clock=clock, create=True) as memory:
        memory.write_diary(entry)
        clock.sleep(1)
        memory.write_diary("Another.\n")
        memory.write_diary("In the same second.\n")
    assert documents_at(root) == before | {
        "diary/2026-02-04T21-07-09.md": entry.encode(),
        "diary/2026-02-04T21-07-10.md": b"Another.\n",
        "diary/2026-02-04T21-07-11.md": b"In the same second.\n",
    }


@pytest.mark.claim("journal.diary-never-modified")
@pytest.mark.parametrize("mode", ["append", "rewrite", "section"])
def test_a_diary_entry_is_never_changed(place: str, mode: str) -> None:
    root = vault(place)
    before = contents(root)
    with Memory.open(root, clock=SkippingClock(), create=True) as memory:
        section = "Later" if mode == "section" else ""
        with pytest.raises((Refused, BadInput, AlreadyExists)):
            memory.update("More.", document=memory.diary()[0], mode=mode, section=section)
    assert contents(root) == before


@pytest.mark.claim("journal.diary-no-cleanup")
def test_no_diary_entry_goes_for_age_or_number(tmp_path: Path) -> None:
    root = tmp_path / "memories" / "diary"
    root.mkdir(parents=True)
    for day in range(84):
        name = f"{1990 + day // 28}-02-{day % 28 + 1:02}T07-00-00.md"
        (root / name).write_text(f"Day {day}.\n", encoding="utf-8")
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        memory.write_diary("One more.")
        memory.rebuild()
        assert len(memory.diary()) == 85
    assert len(list(root.iterdir())) == 85


@pytest.mark.claim("journal.gitignored")
@pytest.mark.parametrize("there", ["", "*.pyc", "dist/\nmemories/\n"])
def test_the_gitignore_that_goes_with_the_vault_names_memories(tmp_path: Path, there: str) -> None:
    ignore = tmp_path / ".gitignore"
    if there:
        ignore.write_text(there, encoding="utf-8")
    begin(tmp_path, dialect="journal", clock=SkippingClock())
    lines = ignore.read_text(encoding="utf-8").split("\n")
    assert lines.count("memories/") == 1
    assert [line for line in there.split("\n") if line not in lines] == []


@pytest.mark.claim("journal.first-run-opens")
def test_a_vault_without_any_file_opens_and_reads_as_empty(place: str) -> None:
    with Memory.open(place, "journal", clock=SkippingClock()) as memory:
        empty = (memory.documents(), memory.diary(), memory.search(), memory.brief())
        assert empty == ([], [], [], [])
        assert memory.count() == 0


@pytest.mark.claim("journal.first-run-creates")
def test_writing_a_file_that_does_not_exist_creates_it_and_its_directories(place: str) -> None:
    with Memory.open(place, "journal", clock=SkippingClock()) as memory:
        memory.update(SOUL, document="soul.md", mode="rewrite")
        memory.update("- Nadia", document="user.md")
        memory.update("High at six.", document="sailing/brittany/tides.md")
    assert contents(place) == {
        "soul.md": SOUL.encode(),
        "user.md": b"- Nadia\n",
        "sailing/brittany/tides.md": b"High at six.\n",
    }


REWRITER = """
import sys
from commonplace.memory import Memory
lasting = "\\n".join(f"Thought {line}.\\n" for line in range(40))
with Memory.open(sys.argv[1]) as memory:
    for number in range(10):
        mark = f"Rewritten by {sys.argv[2]}, {number}.\\n"
        memory.update(f"{mark}\\n{lasting}\\n{mark}", document="soul.md", mode="rewrite")
"""


@pytest.mark.claim("journal.concurrent-rewrites")
def test_two_agents_rewrite_the_soul_at_once_and_the_later_text_stands_untorn(
    tmp_path: Path,
) -> None:
    (tmp_path / "user.md").write_text("- Nadia\n", encoding="utf-8")
    command = [sys.executable, "-c", REWRITER, str(tmp_path)]
    agents = [subprocess.Popen([*command, name]) for name in "AB"]
    assert [agent.wait(60) for agent in agents] == [0, 0]
    first, *lasting, last = (tmp_path / "soul.md").read_text(encoding="utf-8").split("\n\n")
    # What the other wrote meanwhile, and the later one was not shown, stands beside it.
    assert {*first.split("\n")} <= {"Rewritten by A, 9.", "Rewritten by B, 9."}
    assert last == first + "\n"
    assert lasting == [f"Thought {line}." for line in range(40)]


@pytest.mark.in_files
@pytest.mark.claim("journal.new-categories")
def test_a_subdirectory_that_the_agent_adds_is_a_category_like_the_rest(place: str) -> None:
    root = vault(place)
    recipes = Path(root) / "memories" / "recipes" / "bread"
    recipes.mkdir(parents=True)
    (recipes / "rye.md").write_text("# Rye\n\nSourdough and caraway.\n", encoding="utf-8")
    with Memory.open(root, clock=SkippingClock(), create=True) as memory:
        assert "recipes/bread/rye.md" in memory.documents()
        assert memory.read("recipes/bread/rye.md").text == "# Rye\n\nSourdough and caraway.\n"
        [hit] = memory.search("caraway")
        assert hit.places[0].document == "recipes/bread/rye.md"
