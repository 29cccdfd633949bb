"""What the document of CursorClaw's memory claims of the memory at the start of a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commonplace.memory import Memory
from commonplace.model.records import Record
from commonplace.tools import claw
from commonplace.tools.claw import Runtime, loadSessionMemoryContext
from tests.data import clock_at, example
from tests.support.clocks import FixedClock

SAID = [{"role": "user", "content": "How is the telescope?"}]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    claw._loaded_contexts.clear()


@pytest.fixture
def clock() -> FixedClock:
    return clock_at("2026-02-12T23:00:00Z")


@pytest.fixture
def root(place: str) -> str:
    return example("claw", place)


def context(root: str, clock: FixedClock, session: str = "main", **options: Any) -> str:
    with Memory.open(root, session=session, clock=clock, **options, create=True) as memory:
        return memory.context("How is the telescope?").text


def headings(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("## ")]


@pytest.mark.claim("claw.inject-sources", "claw.user-every-turn")
def test_the_sources_are_the_user_memory_and_the_logs_of_two_days(
    root: str, clock: FixedClock
) -> None:
    text = context(root, clock, include_long_memory_in_session=False)
    days = ["## memory/2026-02-11.md", "## memory/2026-02-12.md"]
    assert headings(text) == ["## USER.md", "## MEMORY.md", *days]
    assert "- Name: Wren" in text
    assert '- {"id":"a1f4","sessionId":"main","category":"learned",' in text
    assert "2026-02-10.md" not in text
    clock.sleep(86400)
    later = context(root, clock, include_long_memory_in_session=False)
    assert headings(later) == ["## USER.md", "## MEMORY.md", days[1]]


@pytest.mark.claim("claw.inject-combined-cap", "claw.inject-truncation-note")
def test_all_sources_together_stay_under_the_cap_and_a_note_says_what_was_cut(
    root: str, clock: FixedClock
) -> None:
    with Memory.open(root, session="main", clock=clock, create=True) as memory:
        memory.store_all({"text": f"note {number} " + "of the sky " * 8} for number in range(300))
    text = context(root, clock)
    assert 30_000 < len(text) <= 32_000
    assert text.endswith(" older lines are over the cap; they are in the documents.]")
    assert "[Truncated: " in text
    assert "note 299 of" in text
    assert context(root, clock, session_memory_cap=10**6).count("\n- {") > 600


@pytest.mark.in_files
@pytest.mark.claim("claw.inject-cap-configured")
@pytest.mark.parametrize("cap", [0, 50, 700, 1500])
def test_another_cap_takes_the_place_of_the_default(root: str, clock: FixedClock, cap: int) -> None:
    (Path(root) / "commonplace.toml").write_text(f"[continuity]\nsessionMemoryCap = {cap}\n")
    text = context(root, clock)
    assert len(text) <= cap
    assert bool(text) == (cap > 0)


@pytest.mark.claim("claw.inject-not-in-shared")
@pytest.mark.parametrize("session", ["shared:slack-42", "group:family", "heartbeat"])
def test_no_session_but_the_main_one_gets_memory(
    root: str, clock: FixedClock, session: str
) -> None:
    assert context(root, clock, session=session) == ""
    assert context(root, clock, session="main") != ""


@pytest.mark.claim("claw.inject-disabled")
def test_nothing_is_injected_when_it_is_switched_off(root: str, clock: FixedClock) -> None:
    off: dict[str, Any] = {"session_memory_enabled": False}
    assert context(root, clock, **off) == ""
    assert context(root, clock, **off, session_memory_cap=10**6) == ""


@pytest.mark.in_files
@pytest.mark.claim("claw.longmemory-injected-first", "claw.longmemory-within-cap")
def test_long_memory_comes_first_and_counts_towards_the_cap(root: str, clock: FixedClock) -> None:
    assert "LONGMEMORY.md" not in context(root, clock, include_long_memory_in_session=False)
    text = context(root, clock)
    assert text == context(root, clock, include_long_memory_in_session=True)
    wanted = ("## LONGMEMORY.md", "## MEMORY.md", "## memory/2026-02-11.md")
    at = [text.index(f"{heading}\n") for heading in wanted]
    assert at == sorted(at)
    (Path(root) / "LONGMEMORY.md").write_text("A long story.\n" * 10_000, encoding="utf-8")
    capped = context(root, clock, include_long_memory_in_session=True)
    assert len(capped) <= 32_000
    assert '"id":"a1f4"' in capped
    (Path(root) / "summaries.md").write_text("Elsewhere.\n", encoding="utf-8")
    other = context(
        root, clock, include_long_memory_in_session=True, long_memory_path="summaries.md"
    )
    assert "## summaries.md\nElsewhere.\n" in other


@pytest.mark.in_files
@pytest.mark.claim("claw.load-session-context")
def test_load_session_memory_context_takes_root_and_options_and_returns_the_text(
    root: str, clock: FixedClock
) -> None:
    assert loadSessionMemoryContext(str(root), {"clock": clock}) == context(root, clock)
    less = loadSessionMemoryContext(root, {"clock": clock, "sessionMemoryCap": 600})
    assert 0 < len(less) <= 600
    first = loadSessionMemoryContext(root, {"clock": clock, "includeLongMemoryInSession": True})
    assert "## LONGMEMORY.md" in first


@pytest.mark.in_files
@pytest.mark.claim("claw.session-context-cached", "claw.session-context-invalidated")
def test_a_session_context_is_kept_until_something_is_appended(
    root: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []
    load = claw._load

    def counted(root: str, *rest: Any) -> str:
        loads.append(root)
        return load(root, *rest)

    monkeypatch.setattr(claw, "_load", counted)
    first = loadSessionMemoryContext(root, {"clock": clock})
    assert loadSessionMemoryContext(root, {"clock": clock}) == first
    assert len(loads) == 1
    for name in ("MEMORY.md", "memory/2026-02-12.md"):
        with (Path(root) / name).open("a", encoding="utf-8") as file:
            file.write(f"- typed into {name}\n")
        clock.sleep(1)
        assert f"- typed into {name}" in loadSessionMemoryContext(root, {"clock": clock})
    assert len(loads) == 3
    clock.sleep(61)
    loadSessionMemoryContext(root, {"clock": clock})
    assert len(loads) == 4


@pytest.mark.in_files
@pytest.mark.claim("claw.inject-main-session", "claw.inject-needs-wiring")
def test_the_runtime_puts_memory_into_the_system_prompt_when_it_is_wired(
    root: str, clock: FixedClock
) -> None:
    def load(profile: str, options: Any) -> str:
        return loadSessionMemoryContext(profile, {**options, "clock": clock})

    wired = Runtime(getSessionMemoryContext=load, getProfileRoot=lambda: str(root))
    for _ in range(2):
        first, *rest = wired.buildMessages("main", SAID, system="Be kind.")
        assert first["role"] == "system"
        assert first["content"] == f"Be kind.\n\n{context(root, clock)}"
        assert rest == SAID
        with Memory.open(root, session="main", clock=clock, create=True) as memory:
            memory.store("stored between two turns")
    plain = [{"role": "system", "content": "Be kind."}, *SAID]
    assert wired.buildMessages("shared:x", SAID, system="Be kind.") == plain
    for half in (
        Runtime(getSessionMemoryContext=load),
        Runtime(getProfileRoot=lambda: str(root)),
        Runtime(getSessionMemoryContext=load, getProfileRoot=lambda: ""),
        Runtime(),
    ):
        assert half.buildMessages("main", SAID, system="Be kind.") == plain


@pytest.mark.claim("claw.inject-experiences", "claw.inject-experiences-hint")
def test_experiences_like_the_last_message_are_a_block_of_their_own(
    root: str, clock: FixedClock
) -> None:
    asked: list[str] = []

    def find(message: str, limit: int) -> list[Record]:
        asked.append(message)
        return [
            Record("x-1", "learned", "Saturn looked\nsharp", "2026-02-01T10:00:00.000Z"),
            Record("x-2", "learned", "hidden", "2026-02-01T10:00:00.000Z", sensitivity="secret"),
        ][:limit]

    on: dict[str, Any] = {"experience_store_enabled": True, "inject_experience_context": True}
    for session, options, shown in (
        ("main", on, True),
        ("main", {}, False),
        ("shared:x", on, False),
        ("heartbeat", on, False),
    ):
        with Memory.open(root, session=session, clock=clock, **options, create=True) as memory:
            text = memory.context("How is the telescope?", experiences=find).text
        block = "## Relevant past experiences\n- 2026-02-01 learned: Saturn looked sharp"
        assert text.endswith(block) == shown
        assert ("past experiences" in text) == shown
    assert asked == ["How is the telescope?"]


@pytest.mark.claim("claw.inject-experiences")
def test_the_experiences_of_the_profile_are_found_without_being_handed_over(
    root: str, clock: FixedClock
) -> None:
    on: dict[str, Any] = {"experience_store_enabled": True, "inject_experience_context": True}
    with Memory.open(root, session="main", clock=clock, **on, create=True) as memory:
        memory.store("Collimated the telescope mirror, and Saturn was sharp")
        text = memory.context("How is the telescope?").text
    _, _, block = text.partition("## Relevant past experiences\n")
    assert "note: Collimated the telescope mirror" in block
