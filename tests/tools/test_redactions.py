"""What a tool answers when a secret was redacted from what it was given, in every dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commonplace import tools
from commonplace.memory import Memory
from commonplace.tools.answers import Redactions, redactions

KEY = "gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
SAID = f"Pushes with {KEY} and her password is hunter2"
KEPT = "Pushes with [redacted github token] and her password is [redacted password]"

CALLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("native", "store", {"text": SAID}),
    ("native", "store", {"text": "Likes tea", "tags": [KEY]}),
    ("native", "update", {"document": "USER.md", "content": f"- {SAID}"}),
    ("native", "diary", {"text": SAID}),
    ("earl", "save_memory", {"text": SAID}),
    ("typed", "memory_store", {"type": "fact", "content": SAID}),
    ("claw", "remember_this", {"text": SAID}),
    ("anthropic", "memory", {"command": "create", "path": "/memories/a.md", "file_text": SAID}),
)


@pytest.mark.parametrize(("dialect", "name", "given"), CALLS)
def test_the_answer_says_what_was_redacted_and_shows_what_was_kept(
    tmp_path: Path, dialect: str, name: str, given: dict[str, Any]
) -> None:
    layout = dialect if dialect in ("earl", "claw") else "native"
    with Memory.open(tmp_path, dialect=layout, session="main", create=True) as memory:
        answer = tools.call(memory, name, given, dialect=dialect)
        written = "\n".join(path.read_text() for path in tmp_path.rglob("*.md"))
    assert "Redacted before it was stored: github token" in str(answer)
    assert "[redacted github token]" in str(answer)
    assert KEY not in json.dumps(answer.data) + str(answer) + written
    if "tags" not in given:
        assert KEPT in str(answer)
        assert KEPT in written


def test_an_answer_without_a_secret_says_nothing_of_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path, session="a", create=True) as memory:
        answer = tools.call(memory, "store", {"text": "Likes tea"}, dialect="native")
    assert "edacted" not in str(answer) + json.dumps(answer.data)


def test_where_secrets_are_allowed_nothing_is_said_to_be_redacted(tmp_path: Path) -> None:
    (tmp_path / "commonplace.toml").write_text("")
    with Memory.open(tmp_path, session="a", create=True, secrets="allow") as memory:
        assert redactions({"text": SAID}, memory.options) == Redactions()
        answer = tools.call(memory, "store", {"text": SAID}, dialect="native")
    assert "edacted" not in str(answer)


def test_a_long_text_is_shown_in_part() -> None:
    many = Redactions(("password",), ("x" * 400,))
    assert str(many).endswith("x…”")
    assert len(str(many)) < 400
