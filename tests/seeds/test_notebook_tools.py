"""What the document of the notebook claims of its two tools, its limitations and its ideas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace import tools
from commonplace.memory import Memory
from commonplace.model.errors import BadValue, NotFound, Refused, WouldLose
from tests.data import clock_at, documents_of, example


@pytest.fixture
def memory(place: str) -> Iterator[Memory]:
    """The example notebook, on a day in March."""
    root = example("notebook", place)
    with Memory.open(root, clock=clock_at("2026-03-05T09:00:00Z"), create=True) as memory:
        yield memory


def run(memory: Memory, name: str, **arguments: Any) -> str:
    return str(tools.call(memory, name, arguments, dialect="notebook"))


def update(memory: Memory, content: str, mode: str = "append", **rest: Any) -> str:
    return run(memory, "memory_update", content=content, mode=mode, **rest)


def sections(text: str) -> dict[str, str]:
    """The text below each heading of the second level."""
    parts = text.split("\n## ")[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


@pytest.mark.in_files
@pytest.mark.claim("notebook.read-whole-file", "notebook.read-stays-available")
def test_memory_read_returns_all_of_memory_md(memory: Memory) -> None:
    assert list(tools.table("notebook")) == ["memory_read", "memory_update"]
    text = (memory.root / "MEMORY.md").read_text(encoding="utf-8")
    assert run(memory, "memory_read") == text


@pytest.mark.in_files
@pytest.mark.claim("notebook.category-read-alone")
def test_one_category_is_read_without_the_others(memory: Memory) -> None:
    assert run(memory, "memory_read", document="facts.md") == (memory.root / "facts.md").read_text(
        encoding="utf-8"
    )
    with pytest.raises(NotFound, match=r"no document fax\.md\. There are MEMORY\.md, facts\.md"):
        run(memory, "memory_read", document="fax.md")


def test_a_category_is_a_file_of_its_own(memory: Memory) -> None:
    before = documents_of(memory)
    assert update(memory, "- Prefers tables", document="preferences.md") == (
        "preferences.md is updated: 30 of 4,000 characters."
    )
    assert documents_of(memory) == before | {"preferences.md": b"- Prefers tables (2026-03-05)\n"}


@pytest.mark.claim("notebook.update-two-modes")
def test_there_are_two_modes_and_no_other(memory: Memory) -> None:
    schema = tools.find("memory_update", dialect="notebook").schema()
    assert schema["properties"]["mode"]["enum"] == ["append", "rewrite"]
    assert schema["required"] == ["content", "mode"]
    before = documents_of(memory)
    for mode in ("prepend", "section", "", "Append"):
        with pytest.raises(BadValue, match="Use append, rewrite"):
            update(memory, "More.", mode)
    assert documents_of(memory) == before


@pytest.mark.claim("notebook.update-append")
def test_append_adds_at_the_end(memory: Memory) -> None:
    before = documents_of(memory)["MEMORY.md"]
    update(memory, "- The harbour opens at six\n- and shuts at ten")
    after = documents_of(memory)["MEMORY.md"]
    assert after.removeprefix(before).lstrip() == (
        b"- The harbour opens at six (2026-03-05)\n- and shuts at ten (2026-03-05)\n"
    )


@pytest.mark.claim("notebook.update-rewrite", "notebook.rewrite-guarded")
def test_rewrite_replaces_everything_once_a_great_loss_is_confirmed(memory: Memory) -> None:
    before = documents_of(memory)
    with pytest.raises(WouldLose) as refusal:
        update(memory, "# Memory\n\nNothing much.\n", "rewrite")
    assert documents_of(memory) == before
    assert "-- Never print the contents of .env" in str(refusal.value)
    assert f"confirm='{refusal.value.token}'" in str(refusal.value)
    with pytest.raises(WouldLose):
        update(memory, "# Memory\n\nNothing much.\n", "rewrite", confirm="deadbeef")
    update(memory, "# Memory\n\nNothing much.\n", "rewrite", confirm=refusal.value.token)
    assert run(memory, "memory_read") == "# Memory\n\nNothing much.\n"


def test_a_rewrite_that_keeps_what_is_there_needs_no_token(memory: Memory) -> None:
    new = run(memory, "memory_read").replace("badly 🎻", "well")
    update(memory, new, "rewrite")
    assert run(memory, "memory_read") == new


@pytest.mark.claim("notebook.duplicate-not-appended")
@pytest.mark.parametrize(
    "content",
    [
        "- Short answers. No emoji in code.",
        "Short answers. No emoji in code.",
        "*   short ANSWERS.  No emoji in code.\n\n- One fact a line.\n",
        "Mac Mini M4, 24 GB, in the cupboard under the stairs.",
    ],
)
def test_what_is_there_already_is_not_appended_again(memory: Memory, content: str) -> None:
    before = documents_of(memory)
    assert update(memory, content) == "MEMORY.md says this already: nothing was added."
    assert update(memory, content, section="About Me").endswith("nothing was added.")
    assert documents_of(memory) == before


def test_of_a_list_only_the_new_items_are_appended(memory: Memory) -> None:
    before = documents_of(memory)["MEMORY.md"]
    update(memory, "- One fact a line.\n- Uses C++\n- Ask before `git push --force`")
    update(memory, "- Uses C")
    assert documents_of(memory)["MEMORY.md"].removeprefix(before).split() == (
        b"- Uses C++ (2026-03-05) - Uses C (2026-03-05)".split()
    )


def test_a_record_of_another_tool_is_not_said_twice(place: str) -> None:
    with Memory.open(place, clock=clock_at("2026-03-05T09:00:00Z")) as memory:
        memory.store("Likes tea", kind="preference", username="alice")
        assert update(memory, "- likes tea").endswith("nothing was added.")


def test_an_update_of_a_section_touches_and_dates_that_section_only(memory: Memory) -> None:
    before = sections(run(memory, "memory_read"))
    update(memory, "- Learns the cello", section="About Me")
    after = sections(run(memory, "memory_read"))
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"About Me"}
    assert after["About Me"].startswith("*Updated: 2026-03-05*\n\n- Tomás")
    assert after["About Me"].rstrip().endswith("🎻\n- Learns the cello (2026-03-05)")


def test_a_section_is_rewritten_alone(memory: Memory) -> None:
    before = sections(run(memory, "memory_read"))
    text, section = "- Never print secrets\n- Ask before a force push", "Safety + Guardrails"
    with pytest.raises(WouldLose) as asked:
        update(memory, text, "rewrite", section=section)
    update(memory, text, "rewrite", section=section, confirm=asked.value.token)
    after = sections(run(memory, "memory_read"))
    assert after["Safety + Guardrails"].split("\n")[:4] == [
        "*Updated: 2026-03-05*",
        "",
        "- Never print secrets",
        "- Ask before a force push",
    ]
    assert after["Memory Management Policy"] == before["Memory Management Policy"]
    assert after["About Me"] == before["About Me"]


@pytest.mark.claim("notebook.size-cap", "notebook.condense-before-append")
def test_an_append_past_the_cap_asks_to_condense_first(place: str) -> None:
    with Memory.open(place, "notebook", clock=clock_at("2026-03-05T09:00:00Z")) as memory:
        update(memory, "word " * 700 + "end", document="facts.md")
        before = documents_of(memory)
        with pytest.raises(Refused) as refusal:
            update(memory, "- Something new, in more than a few words. " * 12, document="facts.md")
        assert "facts.md would have 4,0" in str(refusal.value)
        assert "4,000 is the most" in str(refusal.value)
        assert "Condense it first" in refusal.value.next_step
        assert documents_of(memory) == before
        update(memory, "One word to the end.", "rewrite", document="facts.md")
        update(memory, "- Something new", document="facts.md")
        assert (
            run(memory, "memory_read", document="facts.md")
            == "One word to the end.\n- Something new (2026-03-05)\n"
        )


@pytest.mark.parametrize(("cap", "fits"), [(100, False), (0, True)])
def test_the_cap_is_an_option_and_holds_for_sections_and_rewrites(
    place: str, cap: int, fits: bool
) -> None:
    memory = Memory.open(
        place, "notebook", clock=clock_at("2026-03-05T09:00:00Z"), document_cap=cap
    )
    with memory:
        update(memory, "# Facts\n", "rewrite", document="facts.md")
        for mode, section in (("append", "New"), ("rewrite", "New"), ("rewrite", "")):
            change = {"mode": mode, "section": section, "document": "facts.md"}
            if fits:
                update(memory, f"{mode} " * 30, **change)
            else:
                with pytest.raises(Refused, match="100 is the most"):
                    update(memory, f"{mode} " * 30, **change)


def test_a_document_over_the_cap_may_still_get_shorter(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n" + "tea and milk " * 500, encoding="utf-8")
    with Memory.open(tmp_path, "notebook", clock=clock_at("2026-03-05T09:00:00Z")) as memory:
        update(memory, "# Memory\n\n" + "tea and milk " * 400, "rewrite")
        assert len(run(memory, "memory_read")) > 4000
        with pytest.raises(Refused, match="Condense it first"):
            update(memory, "- More")


@pytest.mark.in_files
@pytest.mark.claim("notebook.size-cap")
@pytest.mark.parametrize("options", [{}, {"memory_max_chars": 6000}, {"memory_max_records": 900}])
@pytest.mark.parametrize("way", ["append", "section", "rewrite", "update", "store", "edit"])
def test_whatever_writes_keeps_within_the_cap_with_a_window_or_without(
    tmp_path: Path, way: str, options: dict[str, Any]
) -> None:
    text = "# Memory\n\n## Facts\n\n" + "- A fact of one line, by hand\n" * 130
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "MEMORY.md").write_text(text, encoding="utf-8")
    more = "- " + "word " * 60
    with Memory.open(tmp_path, clock=clock_at("2026-03-05T09:00:00Z"), **options) as memory:
        ways: dict[str, Callable[[], object]] = {
            "append": lambda: update(memory, more),
            "section": lambda: update(memory, more, section="Facts"),
            "rewrite": lambda: update(memory, text + more, "rewrite"),
            "update": lambda: memory.update(more),
            "store": lambda: memory.store(more),
            "edit": lambda: memory.edit("MEMORY.md", lambda now: now + more),
        }
        before = documents_of(memory)
        with pytest.raises(Refused, match=r"MEMORY\.md would have 4,.* and 4,000 is the most"):
            ways[way]()
        assert documents_of(memory) == before


@pytest.mark.claim("notebook.size-cap")
def test_a_window_below_the_cap_makes_room_by_itself(place: str) -> None:
    clock = clock_at("2026-03-05T09:00:00Z")
    with Memory.open(place, "notebook", clock=clock, memory_max_chars=3900) as memory:
        for number in range(120):
            update(memory, f"- Fact {number} of a long life, told in a line of its own")
        assert len(run(memory, "memory_read")) <= 3900
        assert "Fact 119 of" in run(memory, "memory_read")


@pytest.mark.claim("notebook.append-dated")
def test_an_append_is_dated_in_its_line_and_in_its_section(place: str) -> None:
    clock = clock_at("2026-03-05T09:00:00Z")
    with Memory.open(place, "notebook", clock=clock) as memory:
        start = "# Memory\n\n## Facts\n\n*Updated: 2026-01-01*\n\n- By hand\n"
        memory.edit("facts.md", lambda _: start)
        update(memory, "- Uses pnpm\n- Moved in (2025-06-01)\n- By HAND", document="facts.md")
        assert memory.read("facts.md").text == (
            "# Memory\n\n## Facts\n\n*Updated: 2026-03-05*\n\n- By hand\n"
            "- Uses pnpm (2026-03-05)\n- Moved in (2025-06-01)\n"
        )
        assert update(memory, "- uses pnpm", document="facts.md").endswith("nothing was added.")
        days = {
            hit.record.text: hit.record.timestamp[:10]
            for hit in memory.search("", include_passages=False)
        }
        assert days == {
            "By hand": "",
            "Uses pnpm (2026-03-05)": "2026-03-05",
            "Moved in (2025-06-01)": "2025-06-01",
        }


@pytest.mark.claim("notebook.periodic-compaction", "notebook.summary-in-prompt")
def test_what_was_appended_is_compacted_once_it_is_old_and_its_summary_is_in_the_prompt(
    place: str,
) -> None:
    clock = clock_at("2026-01-05T09:00:00Z")
    with Memory.open(place, "notebook", clock=clock) as memory:
        for number in range(12):
            update(memory, f"- The harbour light number {number} was mended by Marta")
        clock.sleep(90 * 24 * 3600)
        update(memory, "- Uses pnpm")
        assert memory.compact(forced=True).status == "done"
        kept = run(memory, "memory_read")
        assert "harbour light number 3 " not in kept
        assert "- Uses pnpm" in kept
        text = memory.context().text
        assert "## LONGMEMORY.md" in text
        assert "harbour light" in text
        assert "Uses pnpm" in text
