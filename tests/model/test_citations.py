"""The written form of a citation: short, readable, and the same when it is read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.model.citations import (
    LONGEST,
    Citation,
    file_hash,
    lines_hash,
    named,
    read,
    written,
)
from commonplace.model.errors import BadValue

HEX = "0123456789abcdef"


def hexes(size: int) -> st.SearchStrategy[str]:
    return st.text(HEX, min_size=size, max_size=size)


@st.composite
def citations(draw: st.DrawFn) -> Citation:
    first = draw(st.integers(0, 9999))
    inside = draw(st.booleans())
    return Citation(
        draw(st.text(min_size=1, max_size=60)),
        first,
        first + draw(st.integers(0, 99)) if first else 0,
        draw(st.sampled_from(["~", "/srv", "C:"])) + "/" + draw(st.text(max_size=30))
        if inside
        else "",
        draw(st.sampled_from(["", "1a2b3c4d5e"])) if inside else "",
        draw(st.sampled_from(["", "2026-11-18"])),
        draw(hexes(16)),
        draw(hexes(16)) if first else "",
    )


@given(citations())
def test_any_citation_is_read_back_as_it_was(citation: Citation) -> None:
    text = written(citation)
    assert text.isprintable()
    if len(text) <= LONGEST:
        assert read(text) == citation


def test_a_citation_is_written_short_and_plain() -> None:
    rest = {"day": "2026-11-18", "file": "9f3c0d11a2b3c4d5", "hashed": "77aa00bb11cc22dd"}
    inside = Citation("src/app.py", 12, 30, "~/code/app", "1a2b3c4d5e", **rest)
    hashes = "#9f3c0d11a2b3c4d5.77aa00bb11cc22dd"
    assert written(inside) == f"src/app.py:12-30 ~/code/app@1a2b3c4d5e 2026-11-18 {hashes}"
    assert written(Citation("USER.md", 4, 4, **rest)) == f"USER.md:4 2026-11-18 {hashes}"
    assert (inside.in_vault, Citation("USER.md").in_vault) == (False, True)


@pytest.mark.parametrize("text", ["", "USER.md:12", "a b c", "x #123", "x:3-\n #" + "0" * 16])
def test_what_is_no_citation_is_none(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "path", "first", "last"),
    [
        ("src/app.py:12-30", "src/app.py", 12, 30),
        ("USER.md:4", "USER.md", 4, 4),
        ("notes/a: b.md", "notes/a: b.md", 0, 0),
        ("C:/code/app.py:7", "C:/code/app.py", 7, 7),
    ],
)
def test_people_name_a_file_and_its_lines(text: str, path: str, first: int, last: int) -> None:
    found = named(text)
    assert (found.path, found.first, found.last) == (path, first, last)


@pytest.mark.parametrize("text", ["", "a:9-3", "a\0b", "x" * 1001])
def test_what_names_no_lines_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match="evidence"):
        named(text)


def test_a_file_is_hashed_as_git_names_it_and_lines_however_they_end() -> None:
    assert file_hash(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"[:16]
    assert lines_hash([b"a\r", b"b"]) == lines_hash([b"a", b"b"])
