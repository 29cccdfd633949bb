"""Candidate skills from what was learned: a directory with a SKILL.md for each, to be read first.

Nothing is installed. A file that a person changed stays as it is.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from commonplace.doors.admin.export import current
from commonplace.memory import Memory
from commonplace.model.clock import DayOf
from commonplace.model.errors import Refused
from commonplace.model.files import digest
from commonplace.model.records import PERSON, PROJECT, SHAREABLE, Record, is_over, now_of, short_id
from commonplace.trust.evidence import telling
from commonplace.trust.neutralise import neutralise, one_line
from commonplace.trust.origins import BELIEVED

LEARNED = ("learned", "experience")
"""The kinds that tell how something is done."""
EXPERIENCED = (*LEARNED, "decision", "note")
"""The kinds that do so where they are among the experiences."""
LONGEST_NAME, LONGEST_DESCRIPTION = 64, 1024
"""Characters, by the specification of agent skills."""
NAMING_WORDS = 6
LOADED_FROM = re.compile(r"[/\\]\.(?:claude|codex|agents|gemini|qwen|copilot|github|opencode)[/\\]")
"""Where clients load skills from."""
MARK = re.compile(r'^  commonplace: "([0-9a-f]+)"\n', re.M)
FILE = "SKILL.md"


class Exported(Struct, frozen=True):
    """What an export of skills did."""

    written: tuple[str, ...] = ()
    """The files that are new, or say something else than before."""
    same: tuple[str, ...] = ()
    """Those that said the same already."""
    kept: tuple[str, ...] = ()
    """Those that a person changed, and that were left alone."""


def export_skills(memory: Memory, directory: str) -> Exported:
    """Write a candidate for each tag of what was learned, and for each memory without a tag."""
    root = Path(directory).expanduser()
    if LOADED_FROM.search(f"{root.resolve()}{os.sep}"):
        raise Refused(
            f"{directory} is where a client loads skills from, and nothing is installed by itself.",
            next_step="Export elsewhere, read the files, and move those that you want.",
        )
    done: dict[str, list[str]] = {"written": [], "same": [], "kept": []}
    for name, records in _grouped(_learned(memory)).items():
        path = root / name / FILE
        done[_put(path, skill_of(name, records, memory.clock.day_of))].append(str(path))
    return Exported(**{what: tuple(paths) for what, paths in done.items()})


def _learned(memory: Memory) -> list[Record]:
    """What was learned and may be handed on, oldest first: nothing untrusted, private or over."""
    shelf = {record.id for record in memory.experiences.records()}
    now = now_of(memory.clock)
    return [
        record
        for record in reversed(current(memory))
        if record.kind in (EXPERIENCED if record.id in shelf else LEARNED)
        and record.origin in BELIEVED
        and record.sensitivity in SHAREABLE
        and not is_over(record, now)
    ]


def _grouped(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records by the names of their skills."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        tags = [tag for tag in record.tags if not tag.startswith((PERSON, PROJECT))]
        name = slug(tags[0]) if tags else slug(" ".join(telling(record.text)[:NAMING_WORDS]))
        if name in groups and not tags:
            name = slug(f"{name[: LONGEST_NAME - 13]} {short_id(record.id)}")
        groups.setdefault(name or slug(f"memory {short_id(record.id)}"), []).append(record)
    return groups


def slug(text: str) -> str:
    """A name by the specification: small letters and digits, with single hyphens between them."""
    letters = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[:LONGEST_NAME].strip("-")


def skill_of(name: str, records: Sequence[Record], day_of: DayOf) -> str:
    """The text of a SKILL.md, with a mark of itself by which a change is seen."""
    about = name.replace("-", " ")
    first = one_line(records[0].text)
    description = f"Learned about {about}: {first} Use it when the work is about {about}."
    head = f"name: {name}\ndescription: {_quoted(description[:LONGEST_DESCRIPTION])}\n"
    lines = [f"- {_indented(record.text)} ({day_of(record.said_at)})" for record in records]
    body = "\n".join(
        (
            f"# {about.capitalize()}",
            "",
            "A candidate, made from memories. Read it through and reword it before you install it.",
            "",
            *lines,
        )
    )
    return _marked(f"---\n{head}metadata:\n---\n\n{body}\n")


def _quoted(text: str) -> str:
    """A text in the quotation marks of JSON, which YAML reads, too."""
    return json.dumps(text, ensure_ascii=False)


def _indented(text: str) -> str:
    return "\n  ".join(line for line in neutralise(text).splitlines() if line.strip())


def _marked(text: str) -> str:
    line = f'metadata:\n  commonplace: "{digest(text.encode())}"\n'
    return text.replace("metadata:\n", line, 1)


def _is_ours(text: str) -> bool:
    """Whether a file is as we wrote it."""
    found = MARK.search(text)
    return found is not None and digest(MARK.sub("", text, count=1).encode()) == found[1]


def _put(path: Path, text: str) -> str:
    """Write a file, unless it says so already or somebody changed it. Returns which it was."""
    try:
        there = path.read_text(encoding="utf-8") if os.path.lexists(path) else None
    except (OSError, UnicodeDecodeError):
        return "kept"
    if there == text:
        return "same"
    if there is not None and (path.is_symlink() or not _is_ours(there)):
        return "kept"
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{FILE}.new")
    new.unlink(missing_ok=True)
    with open(new, "x", encoding="utf-8", newline="\n") as file:
        file.write(text)
    os.replace(new, path)
    return "written"
