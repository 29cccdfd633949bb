"""Where each dialect keeps its documents, and which dialect a directory is written in.

Pure data and rules on names: nothing here opens a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from commonplace.model.errors import BadInput, BadName, BadOption
from commonplace.model.options import Options
from commonplace.model.records import PASSING

DAY = r"\d{4}-\d{2}-\d{2}\Z"
DIARY_STEM = r"(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})(?:-\d+)?\Z"
SECOND = len("2026-02-01T14-30-00")
RECORD_LINE = r"(?m)^- \{"
DATA_COMMENT = r"(?m)^- .*<!-- \{"
SENTENCE = r"(?m)^- (?!\*\*\d\d:\d\d UTC).*\(\d{4}-\d\d-\d\d\) <!-- \{"
COPIES = tuple(
    f"(?i)(.+?){mark}\\Z"
    for mark in (
        r" \((?:[^()]*\W)?conflicted copy(?: [^()]*)?\)(?: \(\d+\))?",  # Dropbox, Nextcloud
        r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?",  # Syncthing
        r"_conflict-\d{8}-\d{6}",  # ownCloud
        r" \(SFConflict [^()]*\)",  # Seafile
    )
)
"""The stems that sync programs give to the copy of a file that two machines changed at once."""
FORBIDDEN = frozenset('\x7f\\:*?"<>|').union(map(chr, range(32)))
SKIPPED = frozenset(("node_modules", "tmp", "__pycache__"))
DEPTH = 8
LONGEST = 240
"""Bytes of one step of a path: what is saved beside it needs a few more."""


SECTIONS = {
    "Instructions": "instruction",
    "Corrections": "correction",
    "Preferences": "preference",
    "Facts": "fact",
    "Context": "context",
    "Decisions": "decision",
    "People": "person",
    "Goals": "goal",
    "Learned": "learned",
    "Notes": "note",
}
"""The sections of a native MEMORY.md in their order, and the kind of the lines in each."""
NEW_SECTION = "New"
"""The last section, for new lines of a document that is too long to be written anew each time."""
WITH_OTHERS = {"user-preference": "Preferences"}
"""Kinds that stand in the section of another."""

NOTEBOOK = """\
# Memory

*Only what will still matter in three months or more and changes behaviour belongs here.*

## About Me

## Interaction Preferences

## Safety + Guardrails

## Machine / Runtime

## Memory Management Policy

Keep one fact a line, correct a line instead of adding another, and leave out what the system prompt
already covers: instructions on how to work belong in SYSTEM_PROMPT.md.

"""


class Layout(Struct, frozen=True):
    """One dialect's map of a vault: what its documents are called and how its lines are written."""

    name: str
    line: str
    """The form its records are written in: log, native, claw, earl or plain."""
    writes: tuple[str, ...]
    """The roles of the documents a stored record goes into."""
    sections: Mapping[str, str] = {}
    """The sections of the main document and the kinds of their lines, where it has sections.

    Then it alone takes what lasts, and the daily log alone takes what happened.
    """
    logs: tuple[str, ...] = ("daily",)
    """The roles of the documents that take what is of a day: checkpoints and summaries."""
    soul: str = ""
    user: str = ""
    memory: str = ""
    long_memory: str = ""
    status: str = ""
    daily: str = ""
    """The directory of the daily logs with a trailing slash; "./" for the vault's own."""
    daily_header: str = ""
    memory_header: str = ""
    diary: str = ""
    archive: str = ""
    trims_to: str = ""
    """The document that what the window trims goes into when no option names one."""
    anywhere: bool = False
    """Whether markdown in further directories is memory too."""
    subdirectory: str = ""
    """Where the vault is when the directory above it was named."""
    utc_days: bool = False
    only_memory_served: bool = False
    """Whether a gateway and MCP show and change the main document and the daily logs alone."""

    @property
    def carries_data(self) -> bool:
        """Whether a written line says everything about its record."""
        return self.line in ("log", "native", "claw")

    def form(self, name: str) -> str:
        """The form that records are written in in a document."""
        return "sentence" if self.sections and name == self.memory else self.line

    def roles(self, kind: str) -> tuple[str, ...]:
        """The roles of the documents that a record of a kind goes into."""
        if not self.sections:
            return self.writes
        return ("daily",) if kind in PASSING else ("memory",)

    def section(self, kind: str) -> str:
        """The title of the section for lines of a kind."""
        own = (title for title, each in self.sections.items() if each == kind)
        return WITH_OTHERS.get(kind) or next(own, own_title(kind))

    def kind_below(self, title: str) -> str:
        """The kind of the lines of a section that name none."""
        return self.sections.get(title, "note")

    def daily_document(self, day: date) -> str:
        return self.daily.removeprefix("./") + f"{day.isoformat()}.md"

    def day_of(self, name: str) -> date | None:
        """The day of a daily log; None for any other document."""
        directory, stem = split(name)
        if self.daily and directory == self.daily.removeprefix("./") and re.match(DAY, stem):
            return _date(stem)
        return None

    def diary_time(self, name: str) -> datetime | None:
        """When a diary entry was written, from its name; None for any other document."""
        directory, stem = split(name)
        match = re.match(DIARY_STEM, stem) if self.diary and directory == self.diary else None
        return _moment(match) if match else None

    def holds(self, name: str) -> bool:
        """Whether a well-formed name is a document of this layout."""
        directory, _ = split(name)
        further = (split(self.archive)[0], split(self.long_memory)[0])
        return self.anywhere or directory in ("", self.daily, self.diary, *further)

    def serves(self, name: str) -> bool:
        """Whether a gateway or MCP may show and change a document by its name."""
        return not self.only_memory_served or name == self.memory or bool(self.day_of(name))

    def header(self, name: str) -> str:
        """What a new document starts with."""
        if name == self.memory:
            return self.memory_header
        day = self.day_of(name)
        return self.daily_header.format(day=day) if day else ""

    def rank(self, name: str) -> tuple[int, str]:
        """Order of trust when two documents tell the same record differently: lowest first."""
        if name in (self.soul, self.user, self.memory):
            return (0, name)
        if self.day_of(name):
            return (2, name)
        return (3, name) if name.startswith(self.archive or "\0") else (1, name)


def own_title(kind: str) -> str:
    """The title of a section that is made for a kind which none of the usual ones is for."""
    return kind.replace("-", " ").capitalize()


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout(
            name="native",
            line="log",
            writes=("memory",),
            sections=SECTIONS,
            soul="SOUL.md",
            user="USER.md",
            memory="MEMORY.md",
            memory_header="# Memory\n\n",
            long_memory="LONGMEMORY.md",
            status="STATUS.md",
            daily="memory/",
            daily_header="# Memories for {day}\n\n",
            diary="diary/",
            archive="archive/MEMORY.md",
            trims_to="archive/MEMORY.md",
            anywhere=True,
        ),
        Layout(
            name="earl",
            line="earl",
            writes=("daily",),
            soul="SOUL.md",
            user="USER.md",
            daily="./",
            daily_header="# Memories for {day}\n\n",
            utc_days=True,
        ),
        Layout(
            name="journal",
            line="native",
            writes=("daily",),
            soul="soul.md",
            user="user.md",
            status="status.md",
            daily="notes/",
            daily_header="# Notes for {day}\n\n",
            diary="diary/",
            anywhere=True,
            subdirectory="memories",
        ),
        Layout(
            name="notebook",
            line="native",
            writes=("memory",),
            logs=("archive",),
            memory="MEMORY.md",
            memory_header=NOTEBOOK,
            long_memory="LONGMEMORY.md",
            archive="archive/MEMORY.md",
            trims_to="archive/MEMORY.md",
            anywhere=True,
            subdirectory="data",
        ),
        Layout(
            name="claw",
            line="claw",
            writes=("memory", "daily"),
            logs=("memory", "daily"),
            soul="SOUL.md",
            user="USER.md",
            memory="MEMORY.md",
            memory_header="# MEMORY\n\n",
            long_memory="LONGMEMORY.md",
            status="STATUS.md",
            daily="memory/",
            archive="memory/MEMORY-archive.md",
            only_memory_served=True,
        ),
    )
}
SHARED = {"typed": "native", "anthropic": "native"}
"""Dialects that bring tools but no layout of their own."""


def layout_named(dialect: str) -> Layout:
    try:
        return LAYOUTS[SHARED.get(dialect, dialect)]
    except KeyError:
        known = ", ".join((*LAYOUTS, *SHARED))
        raise BadInput(f"There is no dialect {dialect!r}.", next_step=f"Use {known}.") from None


def configured(layout: Layout, options: Options) -> Layout:
    """The layout with the documents that options name in place of its own."""
    archive, long = options.memory_archive_path, options.long_memory_path
    if not layout.memory or (not archive and long == layout.long_memory):
        return layout
    layout = replace(layout, long_memory=_extra(layout, "long_memory_path", long))
    if not archive:
        return layout
    return replace(
        layout,
        archive=_extra(layout, "memory_archive_path", archive),
        trims_to=archive,
    )


def _extra(layout: Layout, option: str, name: str) -> str:
    """A document that an option names: none that is something else already."""
    taken = (layout.soul, layout.user, layout.memory, layout.status)
    try:
        if check_name(name) in taken or layout.day_of(name) or layout.diary_time(name):
            raise BadName(name, "it is another document of this layout")
    except BadName as error:
        raise BadOption(option, error.what.removesuffix("."), source="options") from None
    return name


def detect(names: Iterable[str], peek: Callable[[str], str]) -> Layout | None:
    """The layout of a directory with these names in it; None when nothing tells.

    `names` are the markdown files, with directories ending in a slash; `peek` reads the start of
    one of them.
    """
    found = set(names)
    days = [name for name in found if name.endswith(".md") and re.match(DAY, name[:-3])]
    if "MEMORY.md" in found:
        return LAYOUTS[_memory_dialect(found, peek)]
    if found & {"soul.md", "user.md"} or ("diary/" in found and "SOUL.md" not in found):
        return LAYOUTS["journal"]
    if found & {"SOUL.md", "USER.md"} or days:
        return LAYOUTS["claw" if "memory/" in found else "earl"]
    return None


def _memory_dialect(found: set[str], peek: Callable[[str], str]) -> str:
    start = peek("MEMORY.md")
    if re.search(RECORD_LINE, start):
        return "claw"
    if re.search(DATA_COMMENT, start):
        # A notebook's lines begin with their time.
        return "native" if "memory/" in found or re.search(SENTENCE, start) else "notebook"
    if "memory/" not in found:
        return "notebook"
    return "native" if start.startswith(LAYOUTS["native"].memory_header.rstrip("\n")) else "claw"


@lru_cache(maxsize=4096)
def check_name(name: str) -> str:
    """The name itself when it is a well-formed document name; otherwise a `BadName`."""
    if why := flaw_of(name):
        raise BadName(name, why)
    return name


def flaw_of(name: str) -> str:
    """Why a name cannot be a document's; empty when it can."""
    parts = name.split("/")
    if len(parts) > DEPTH:
        return f"it is over {DEPTH} names deep"
    if not name.endswith(".md"):
        return "it must end in .md"
    flawed = (part for part in parts if not is_plain(part) or part in SKIPPED)
    return next((f"{part!r} {_flaw(part)}" for part in flawed), "")


def _flaw(part: str) -> str:
    """What is wrong with a step of a path that is not plain."""
    if held := FORBIDDEN.intersection(part):
        return f"holds {min(held)!r}"
    too_long = len(part.encode("utf-8", "surrogatepass")) > LONGEST
    return f"is over {LONGEST} bytes long" if too_long else "is not a plain file name"


def is_plain(part: str) -> bool:
    """Whether one step of a path is a visible name that goes nowhere else and works everywhere."""
    return (
        0 < len(part.encode("utf-8", "surrogatepass")) <= LONGEST
        and part[0] != "."
        and part[-1] not in ". "
        and FORBIDDEN.isdisjoint(part)
        and (part.isascii() or not any("\ud800" <= c <= "\udfff" for c in part))
    )


@lru_cache(maxsize=4096)
def copy_of(name: str) -> str:
    """The document of which a sync program made a copy of this name; empty for any other name."""
    directory, stem = split(name)
    if "onflict" not in stem:
        return ""
    found = (match[1] for each in COPIES if (match := re.match(each, stem)))
    return next((f"{directory}{original}.md" for original in found), "")


def split(name: str) -> tuple[str, str]:
    """The directory with its slash, and the stem: `diary/x.md` is `("diary/", "x")`."""
    directory, slash, last = name.rpartition("/")
    return directory + slash, last.removesuffix(".md")


def entry_names(directory: str, moment: datetime) -> Iterator[str]:
    """The names that an entry may have: that of its second, or those of the seconds after it."""
    while True:
        yield f"{directory}{moment.strftime('%Y-%m-%dT%H-%M-%S')}.md"
        moment += timedelta(seconds=1)


def entry_stamp(name: str) -> str:
    """When a diary entry was written, from its name; empty for what is none."""
    match = re.match(DIARY_STEM, split(name)[1])
    return "{}T{}:{}:{}Z".format(*match.groups()) if match else ""


def entry_order(name: str) -> tuple[str, int]:
    """What diary entries are sorted by: their time, and which one of its second each is."""
    stem = split(name)[1]
    return stem[:SECOND], int(stem[SECOND + 1 :] or 1)


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _moment(match: re.Match[str]) -> datetime | None:
    day, hour, minute, second = match.groups()
    try:
        return datetime.fromisoformat(f"{day}T{hour}:{minute}:{second}+00:00")
    except ValueError:
        return None
