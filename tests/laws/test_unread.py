"""A document that cannot be read is missing from a prompt, and the prompt says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace import tools
from commonplace.doors.admin import doctor
from commonplace.doors.cli.main import main
from commonplace.markdown.layouts import LAYOUTS
from commonplace.memory import Memory
from tests.support.trusting import trust_as_it_is

LIMIT = 4_000


def not_utf8(path: Path) -> str:
    path.write_bytes(b"# Notes\n- one\n- caf\xe9\n")
    return "byte 19 (line 3) is not UTF-8"


def a_directory(path: Path) -> str:
    path.unlink()
    path.mkdir()
    return "it is not a plain file"


def a_link(path: Path) -> str:
    path.rename(path.parent / "elsewhere.txt")
    path.symlink_to("elsewhere.txt")
    return "it is a link"


def too_big(path: Path) -> str:
    path.write_bytes(b"- a line\n" * LIMIT)
    return "documents are read up to"


HARMS = (not_utf8, a_directory, a_link, too_big)
SHOWN = {
    "native": ("SOUL.md", "USER.md", "MEMORY.md"),
    "earl": ("SOUL.md", "USER.md"),
    "journal": ("soul.md", "user.md"),
    "notebook": ("MEMORY.md",),
    "claw": ("USER.md", "MEMORY.md"),
}
"""What each dialect puts into every prompt."""
CASES = [(dialect, name) for dialect, names in SHOWN.items() for name in names]


@pytest.fixture
def harmed(
    tmp_path: Path, dialect: str, name: str, harm: Callable[[Path], str]
) -> tuple[Path, str]:
    """A vault with a document that cannot be read, and why."""
    with Memory.open(tmp_path, dialect, create=True) as memory:
        for document in SHOWN[dialect]:
            memory.update("- Something that is known", document=document)
        root = memory.root
    (root / "commonplace.toml").write_text(
        f'dialect = "{dialect}"\ndocument_limit = {LIMIT}\n', encoding="utf-8"
    )
    trust_as_it_is(root)
    return root, harm(root / name)


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize(("dialect", "name"), CASES)
@pytest.mark.parametrize("agent", ["session", "conversation", "heartbeat"])
def test_every_prompt_says_which_document_is_missing_and_why(
    harmed: tuple[Path, str], dialect: str, name: str, agent: str
) -> None:
    root, why = harmed
    with Memory.open(root) as memory:
        context = memory.context(agent=agent)
        [line] = [line for line in context.lines if line.section == "unread"]
        assert (line.document, line.reason) == (name, "it cannot be read")
        assert line.text.startswith(f"[{name} ")
        assert why in line.text
        assert line.text in context.text
        assert context.text.count(f"[{name} ") == 1
        asked = [line.text for line in context.lines if line.section in ("system", "trigger")]
        small = memory.context(agent=agent, characters=len("\n".join(asked)) + 320)
        assert f"[{name} " in small.text


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize(("dialect", "name"), CASES)
def test_the_command_line_says_it_in_every_form(
    harmed: tuple[Path, str], capsys: pytest.CaptureFixture[str], name: str
) -> None:
    root, why = harmed
    for form in ((), ("--explain",), ("--json",), ("--format", "anthropic")):
        assert main(["--vault", str(root), "context", *form]) == 0
        said = capsys.readouterr()
        assert f"{name} " in said.err
        assert why in said.err
        assert name in said.out
    assert "cannot be read" in said.out or "left out" in said.out


@pytest.mark.parametrize("harm", HARMS[:1])
@pytest.mark.parametrize(("dialect", "name"), CASES)
def test_doctor_names_the_byte_and_the_line(harmed: tuple[Path, str], name: str) -> None:
    root, why = harmed
    with Memory.open(root) as memory:
        [finding] = [it for it in doctor.examine(memory) if it.what == "document"]
    assert finding.says.startswith(f"{name} cannot be read: {why}")
    assert finding.fix


@pytest.mark.parametrize("harm", HARMS[:1])
@pytest.mark.parametrize(("dialect", "name"), [("native", "MEMORY.md")])
@pytest.mark.parametrize(("tools_of", "tool"), [("native", "brief"), ("typed", "memory_brief")])
def test_a_brief_says_it_in_its_text_its_data_and_on_standard_error(
    harmed: tuple[Path, str], capsys: pytest.CaptureFixture[str], tools_of: str, tool: str
) -> None:
    root, why = harmed
    with Memory.open(root) as memory:
        answer = tools.table(tools_of)[tool].call(memory, {})
    assert why in answer.data["unread"][0]
    assert why in str(answer)
    assert main(["--vault", str(root), "brief"]) == 0
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("harm", HARMS[:1])
@pytest.mark.parametrize(("dialect", "name"), [("native", "MEMORY.md")])
def test_a_typed_prompt_says_it_too_and_the_document_stays_as_it_is(
    harmed: tuple[Path, str],
) -> None:
    root, why = harmed
    before = (root / "MEMORY.md").read_bytes()
    with Memory.open(root) as memory:
        assert why in memory.context(dialect="typed").text
        memory.rebuild()
    assert (root / "MEMORY.md").read_bytes() == before


@pytest.mark.parametrize("harm", HARMS[:1])
@pytest.mark.parametrize(("dialect", "name"), [("claw", "MEMORY.md")])
def test_a_session_that_is_told_nothing_is_not_told_this_either(harmed: tuple[Path, str]) -> None:
    with Memory.open(harmed[0], session="shared:channel") as memory:
        assert memory.context().text == ""


@pytest.mark.parametrize("harm", HARMS[:1])
@pytest.mark.parametrize(("dialect", "name"), [("native", "MEMORY.md")])
def test_many_of_them_are_counted(harmed: tuple[Path, str]) -> None:
    root, _ = harmed
    for number in range(9):
        (root / f"notes-{number}.md").write_bytes(b"\xff")
    with Memory.open(root) as memory:
        lines = [line for line in memory.context().lines if line.section == "unread"]
    assert len(lines) == 6
    assert "5 more documents" in lines[-1].text


@pytest.mark.parametrize("dialect", LAYOUTS)
def test_where_all_can_be_read_nothing_is_said(tmp_path: Path, dialect: str) -> None:
    with Memory.open(tmp_path, dialect, create=True) as memory:
        memory.store("Prefers dark mode", kind="preference")
        assert "cannot be read" not in memory.context().text
        assert json.dumps(memory.status()["troubles"]) == "[]"
