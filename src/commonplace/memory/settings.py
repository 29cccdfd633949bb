"""The options of a vault as a person sees and changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.model.errors import Refused
from commonplace.model.options import CHOICES, DEFAULTS, GROUPS, Options, is_url
from commonplace.model.records import Origin
from commonplace.storage import option_edits
from commonplace.storage.option_files import FILE, load

if TYPE_CHECKING:
    from commonplace.memory import Memory

SCHEDULES = frozenset(
    (
        "memory_compaction_schedule",
        "experience_schedule",
        "learning_schedule",
        "scan_schedule",
        "heartbeat_schedule",
    )
)
IN_A_DATABASE = "A vault in PostgreSQL has no file of its own: your own file sets its options."


def described(memory: Memory) -> list[dict[str, Any]]:
    """Every option in its group: its value, where that comes from, whether it may be changed."""
    root = None if is_url(memory.place) else memory.root_path
    told = {each["name"]: each for each in memory.options.described()}
    sources = option_edits.sources(root)
    stored = load(root).options
    return [
        {**told[name], **_about(memory, name, sources, stored), "group": group}
        for group, names in GROUPS.items()
        for name in names.split()
    ]


def _about(memory: Memory, name: str, sources: dict[str, str], stored: Options) -> dict[str, Any]:
    is_given = getattr(stored, name) != getattr(memory.options, name)
    source = "the command that serves" if is_given else sources.get(name, "")
    return {
        "type": type(DEFAULTS[name]).__name__,
        "choices": list(CHOICES.get(name, ())),
        "source": source,
        "fixed": _why_fixed(memory, name, source),
    }


def _why_fixed(memory: Memory, name: str, source: str) -> str:
    """Why an option cannot be changed here; empty if it can."""
    if is_url(memory.place):
        return IN_A_DATABASE
    if source and not source.endswith(FILE):
        return f"It is set by {source}, which counts more than the vault's file."
    return option_edits.why_fixed(name)


def set_option(memory: Memory, name: str, value: Any) -> None:
    """Set an option in the vault's file; None takes it out of there, back to its default."""
    if memory.origin != Origin.OWNER:
        raise Refused(
            "Only the owner of a vault changes its options.",
            next_step=f"Do it on the page, logged in, or in {FILE}.",
        )
    if is_url(memory.place):
        raise Refused(IN_A_DATABASE, next_step="Edit ~/.config/commonplace/commonplace.toml.")
    if name in SCHEDULES and value:
        from commonplace.upkeep.schedule import read_when

        read_when(str(value), argument=name)
    memory.library.undisturbed(lambda: option_edits.set_option(memory.root_path, name, value))
