"""What rewrites take out: what needs a confirmation, and what others wrote stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from commonplace import tools
from commonplace.library.documents import Written
from commonplace.library.rewriting import WHOLE, Loss
from commonplace.markdown.documents import NOWHERE, parse
from commonplace.memory import Memory
from commonplace.model.errors import DocumentChanged, WouldLose
from commonplace.model.records import Origin


def opened(place: str, session: str = "s-1", dialect: str = "native", **rest: Any) -> Memory:
    return Memory.open(place, dialect, session, environ={}, create=True, **rest)


def facts(*numbers: int) -> str:
    return "# Facts\n\n" + "".join(f"- Fact number {n}\n" for n in numbers)


def loss_of(before: str, after: str) -> Loss:
    was, now = (parse(text, reading=NOWHERE) for text in (before, after))
    return Loss(before, after, was, now)


LOST = [
    ("- Likes tea\n- Likes coffee\n", "- Likes tea\n", ["Likes coffee"]),
    ("- Likes tea\n- Likes coffee\n", "- Likes tea and coffee\n", []),
    ("- Prefers dark mode in editors\n", "- Prefers a dark mode in all editors\n", []),
    ("- Fact 1\n- Fact 2\n- Fact 3\n", "- Fact 99\n", ["Fact 1", "Fact 2", "Fact 3"]),
    ("- Fact 1\n- Fact 2\n", "- Fact 2\n", ["Fact 1"]),
    ("# A\n\n- one two\n\n# B\n\n- three four\n", "# B\n\n- three four\n- one two\n", ["A"]),
    ("- a b c\n", "- a b c <!-- not data -->\n", []),
    ("- !!\n", "", ["!!"]),
]


@pytest.mark.parametrize(("before", "after", "gone"), LOST)
def test_what_is_said_in_other_words_is_not_lost(before: str, after: str, gone: list[str]) -> None:
    assert [item.record.text for item in loss_of(before, after).gone] == gone


GUARDED = [
    ("## Safety + Guardrails\n\n- Ask first\n", "## Safety + Guardrails\n\nnone\n", ["Ask first"]),
    ("## House rules\n\nAsk first.\nBe kind.\n", "## House rules\n\nBe kind.\n", ["Ask first."]),
    ("## Rules\n\nAsk first.\n", "## Rules\n\nAsk first.\nBe kind.\n", []),
    ("## Never\n\n- push to main\n", "## Often\n\n- push to main\n", ["Never"]),
    ("## Always\n\n### At night\n\n- Ask\n", "## Always\n\n### At night\n", ["Ask"]),
    ("## Corrections\n\n- Not tea\n", "- Not tea\n\n## Corrections\n", []),
    ("## Instructions\n\n- Never lie\n", "## Instructions\n\n- Always lie\n", ["Never lie"]),
    ("## Ruled paper\n\n- Lined\n", "", []),
]


@pytest.mark.parametrize(("before", "after", "gone"), GUARDED)
def test_no_line_below_a_heading_of_guardrails_goes_unnoticed(
    before: str, after: str, gone: list[str]
) -> None:
    assert loss_of(before, after).guarded == gone


def test_what_went_is_counted_in_the_whole_and_right_below_each_heading() -> None:
    before = "# Top\n\n- a b\n\n## A\n\n- c d\n- e f\n\n## B\n\n- g h\n"
    after = "# Top\n\n- a b\n\n## A\n\n## B\n\n- g h\n"
    lost = loss_of(before, after)
    assert lost.lost == {WHOLE: 2, "A": 2}
    assert lost.exceeds(0.3, {})
    assert not lost.exceeds(0.7, {})


def told_of(*dropped: str) -> str:
    return Written("facts.md", "", dropped=dropped).dropped_sentence


def test_what_was_dropped_is_told_in_short() -> None:
    assert told_of() == ""
    assert told_of("Likes tea") == "Dropped 1 line: Likes tea."
    many = told_of(*(f"{n} " + "x" * 80 for n in range(7)))
    assert many.startswith("Dropped 7 lines: 0 xxx")
    assert many.endswith("…; and 2 more.")
    assert len(many) < 400


@pytest.mark.parametrize("session", ["s-1", ""])
def test_several_rewrites_of_a_session_add_up(place: str, session: str) -> None:
    """Ten facts become 7, and not 5; each time by a process of its own."""
    with opened(place, session="") as memory:
        memory.update(facts(*range(10)), document="facts.md", mode="rewrite")
    with opened(place, session) as memory:
        memory.read("facts.md")
        done = memory.update(facts(*range(7)), document="facts.md", mode="rewrite")
        assert done.dropped == ("Fact number 7", "Fact number 8", "Fact number 9")
    with opened(place, session) as memory:
        with pytest.raises(WouldLose, match="2 of its 8 entries, after 3 that") as refusal:
            memory.update(facts(*range(5)), document="facts.md", mode="rewrite")
        done = memory.update(
            facts(*range(5)), document="facts.md", mode="rewrite", confirm=refusal.value.token
        )
        assert done.dropped == ("Fact number 5", "Fact number 6")
        memory.update(facts(*range(4)), document="facts.md", mode="rewrite")
        with pytest.raises(WouldLose):
            memory.update(facts(*range(3)), document="facts.md", mode="rewrite")


def test_the_share_is_counted_in_each_section(place: str) -> None:
    many = "".join(f"- Known thing {n}\n" for n in range(40))
    text = f"## Much\n\n{many}\n## Little\n\n- Anna likes tea\n- Ben likes rowing\n"
    with opened(place) as memory:
        memory.update(text, document="facts.md", mode="rewrite")
        shorter = text.replace("- Ben likes rowing\n", "")
        with pytest.raises(WouldLose):
            memory.update(shorter, document="facts.md", mode="rewrite")


def test_a_session_that_was_not_shown_a_document_drops_nothing_of_it_unasked(place: str) -> None:
    with opened(place, "other") as memory:
        memory.update(facts(*range(10)), document="facts.md", mode="rewrite")
    with opened(place) as memory:
        with pytest.raises(WouldLose, match="this session has not read it") as refusal:
            memory.update(facts(*range(9)), document="facts.md", mode="rewrite")
        memory.update(facts(*range(11)), document="facts.md", mode="rewrite")
        with pytest.raises(WouldLose, match="has not read"):
            opened(place, "third").update(facts(1), document="facts.md", mode="rewrite")
    assert "-- Fact number 9" in str(refusal.value)


def notebook_rewrite(memory: Memory, document: str, text: str, confirm: str) -> Any:
    given = {"document": document, "content": text, "mode": "rewrite", "confirm": confirm}
    return tools.own("memory_update", dialect="notebook").call(memory, given)


def journal_rewrite(memory: Memory, document: str, text: str, confirm: str) -> Any:
    given = {"file": document, "content": text, "confirm": confirm}
    return tools.own("rewrite_memory", dialect="journal").call(memory, given)


def native_rewrite(memory: Memory, document: str, text: str, confirm: str) -> Any:
    given = {"document": document, "content": text, "mode": "rewrite", "confirm": confirm}
    return tools.own("update", dialect="native").call(memory, given)


def notebook_section(memory: Memory, document: str, text: str, confirm: str) -> Any:
    """The same, of all that stands below the first heading."""
    heading, _, body = text.partition("\n\n")
    given = {"document": document, "content": body, "mode": "rewrite", "confirm": confirm}
    given |= {"section": heading.removeprefix("# ")}
    return tools.own("memory_update", dialect="notebook").call(memory, given)


Rewriter = Callable[[Memory, str, str, str], Any]
REWRITERS: dict[str, tuple[str, Rewriter]] = {
    "notebook.memory_update": ("notebook", notebook_rewrite),
    "notebook.memory_update of a section": ("notebook", notebook_section),
    "journal.rewrite_memory": ("journal", journal_rewrite),
    "native.update": ("native", native_rewrite),
}


@pytest.mark.parametrize("tool", REWRITERS)
def test_what_others_added_since_a_session_read_stays_and_what_goes_is_told(
    place: str, tool: str
) -> None:
    dialect, rewrite = REWRITERS[tool]
    with opened(place, "other", dialect) as memory:
        memory.update(facts(*range(10)), document="facts.md", mode="rewrite")
    with opened(place, "mine", dialect) as memory:
        memory.read("facts.md")
    with opened(place, "other", dialect) as memory:
        memory.update("- Added by another", document="facts.md")
    with opened(place, "mine", dialect) as memory:
        answer = rewrite(memory, "facts.md", facts(*range(9)), "")
        assert "Dropped 1 line: Fact number 9." in str(answer)
        assert list(answer.data["dropped"]) == ["Fact number 9"]
        assert "Added by another" in memory.library.text("facts.md")[0]
        rewrite(memory, "facts.md", facts(*range(8), 11), "")
        text = memory.read("facts.md").text
        assert "Added by another" in text
        assert "Fact number 8\n" not in text
        rewrite(memory, "facts.md", facts(*range(8), 11), "")
        assert "Added by another" not in memory.read("facts.md").text


@pytest.mark.parametrize(
    ("tool", "document"),
    [
        *((tool, "facts.md") for tool in REWRITERS),
        ("journal.rewrite_memory", "soul.md"),
        ("journal.rewrite_memory", "user.md"),
        ("native.update", "SOUL.md"),
        ("native.update", "USER.md"),
    ],
)
def test_a_guardrail_goes_only_with_the_token(place: str, tool: str, document: str) -> None:
    dialect, rewrite = REWRITERS[tool]
    before = "# Safety + Guardrails\n\n- Never push to main\n- Ask before deleting\n"
    with opened(place, "mine", dialect) as memory:
        memory.update(before, document=document, mode="rewrite")
        for after in ("none\n", "- Never push to main\n- Always delete\n"):
            with pytest.raises(WouldLose, match="of its guardrails") as refusal:
                rewrite(memory, document, f"# Safety + Guardrails\n\n{after}", "")
        answer = rewrite(memory, document, f"# Safety + Guardrails\n\n{after}", refusal.value.token)
        assert "Ask before deleting" in str(answer)
        assert "Ask before deleting" not in memory.read(document).text


@pytest.mark.parametrize("kind", ["instruction", "correction"])
def test_an_instruction_or_correction_is_kept_though_a_tool_shows_it_without_its_data(
    place: str, kind: str
) -> None:
    with opened(place, dialect="notebook") as memory:
        record = memory.store("Never push to main on Fridays", kind=kind)
        memory.store("Has a dog", kind="fact")
        shown = "\n".join(
            line.partition(" <!--")[0] for line in memory.read("MEMORY.md").text.split("\n")
        )
        notebook_rewrite(memory, "MEMORY.md", shown + "- Has a cat\n", "")
        assert memory.get(record.id).record == record
        without = "\n".join(line for line in shown.split("\n") if "Fridays" not in line)
        with pytest.raises(WouldLose, match="instructions or corrections"):
            notebook_rewrite(memory, "MEMORY.md", without, "")


def test_what_a_prompt_showed_counts_as_read_and_what_it_did_not_show_stays(place: str) -> None:
    with opened(place, "other", "notebook") as memory:
        memory.update(facts(*range(10)), document="MEMORY.md", mode="rewrite")
        old = memory.store("Lives in Rome", kind="fact")
        memory.supersede(old.id, "Lives in Oslo")
    with opened(place, "mine", "notebook") as memory:
        shown = memory.context().text
        assert "Fact number 9" in shown
        assert "Rome" not in shown
        answer = notebook_rewrite(memory, "MEMORY.md", facts(*range(9)) + "- Lives in Oslo\n", "")
        assert list(answer.data["dropped"]) == ["Fact number 9"]
        text = memory.library.text("MEMORY.md")[0]
        assert "Lives in Rome" in text
        assert text.count("Lives in Oslo") == 1


def test_a_text_that_is_no_longer_known_must_be_read_again(place: str) -> None:
    with opened(place) as memory:
        memory.update(facts(1), document="facts.md", mode="rewrite")
        with pytest.raises(DocumentChanged, match="Read it again"):
            memory.update(facts(2), document="facts.md", mode="rewrite", etag="0" * 32)


def test_a_person_is_asked_as_before(place: str) -> None:
    guarded = "# Rules\n\n" + "".join(f"- Rule number {n}\n" for n in range(10))
    with opened(place, "", origin=Origin.OWNER) as memory:
        memory.update(guarded, document="rules.md", mode="rewrite")
        for last in range(9, 0, -1):
            fewer = guarded.partition(f"- Rule number {last}\n")[0]
            if last < 4:
                break
            done = memory.update(fewer, document="rules.md", mode="rewrite")
            assert done.dropped == (f"Rule number {last}",)
        with pytest.raises(WouldLose):
            memory.update("# Rules\n", document="rules.md", mode="rewrite")


def edit(memory: Memory, **given: Any) -> str:
    return str(tools.own("memory", dialect="anthropic").call(memory, given))


def test_an_edit_of_a_guardrail_is_made_when_it_is_asked_for_again(place: str) -> None:
    change = {"command": "str_replace", "path": "/memories/rules.md"}
    change |= {"old_str": "- Never push to main\n", "new_str": ""}
    with opened(place) as memory:
        memory.update("# Rules\n\n- Never push to main\n- Be kind\n", document="rules.md")
        with pytest.raises(WouldLose, match="make the same call again"):
            edit(memory, **change)
        assert "Never push" in memory.read("rules.md").text
    with opened(place) as memory:
        assert "Dropped 1 line: Never push to main." in edit(memory, **change)
        assert memory.read("rules.md").text == "# Rules\n\n- Be kind\n"


def test_an_edit_that_names_what_it_takes_out_needs_no_token(place: str) -> None:
    change = {"command": "str_replace", "path": "/memories/facts.md"}
    change |= {"old_str": "- Fact number 1\n- Fact number 2\n", "new_str": ""}
    with opened(place) as memory:
        memory.update(facts(1, 2), document="facts.md", mode="rewrite")
        assert "Dropped 2 lines: Fact number 1; Fact number 2." in edit(memory, **change)


def test_a_line_that_the_session_itself_appended_may_go_again(place: str) -> None:
    with opened(place) as memory:
        memory.update(facts(*range(10)), document="facts.md", mode="rewrite")
        memory.update("- Tried by myself", document="facts.md")
        memory.update(facts(*range(10)), document="facts.md", mode="rewrite")
        assert "Tried by myself" not in memory.read("facts.md").text
