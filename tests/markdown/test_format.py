"""docs/format.md is right: its examples are read as it says, and its tables name what there is."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from commonplace.markdown import record_lines
from commonplace.markdown.layouts import LAYOUTS
from commonplace.markdown.record_lines import Reading
from commonplace.model.records import DEFAULTS, Record

PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"<!-- example: (\w+) -->\n```\n(.*?)```\n```json\n(.*?)\n```", re.DOTALL)
EXAMPLES = [(form, line, json.loads(told)) for form, line, told in EXAMPLE.findall(PAGE)]
LOG = Reading("memory/2026-11-15.md", day=date(2026, 11, 15), zone="UTC")
READINGS = {
    "sentence": Reading("MEMORY.md", kind="preference", sections={"preferences": "preference"}),
    "log": LOG,
    "claw": LOG,
}


@pytest.mark.parametrize(("form", "line", "told"), EXAMPLES)
def test_an_example_is_read_as_the_page_says(form: str, line: str, told: dict[str, Any]) -> None:
    record = record_lines.read(line, reading=READINGS[form]).record
    assert record is not None
    found = {
        name: list(value) if isinstance(value, tuple) else value
        for name in Record.__struct_fields__
        if (value := getattr(record, name)) != DEFAULTS.get(name, "")
    }
    if "id" not in told:
        assert str(found.pop("id")).startswith("mem-")
    assert found == told


@pytest.mark.parametrize(
    ("line", "told"), [(line, told) for form, line, told in EXAMPLES if form == "sentence"]
)
def test_a_sentence_of_the_page_is_written_so(line: str, told: dict[str, Any]) -> None:
    if "id" not in told:
        return
    record = record_lines.read(line, reading=READINGS["sentence"]).record
    assert record is not None
    assert record_lines.write(record, "sentence", kind="preference", day="2026-11-15") == line


def table_below(heading: str) -> list[list[str]]:
    rows = re.findall(r"^\|(.*)\|$", PAGE.split(f"## {heading}\n")[1].split("\n## ")[0], re.M)
    return [[cell.strip() for cell in row.split("|")] for row in rows[2:]]


def test_the_page_names_every_key_of_the_data() -> None:
    named = {key for keys, *_ in table_below("The data") for key in re.findall(r"`(\w+)`", keys)}
    assert named == {*Record.__struct_fields__, "day"}


def test_the_page_names_every_section() -> None:
    named = {heading: kind.strip("`") for heading, kind in table_below("Sections")}
    assert named == dict(LAYOUTS["native"].sections)
