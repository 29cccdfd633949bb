"""The options of a vault: their names, types, defaults and descriptions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from commonplace.model.clock import zone_of
from commonplace.model.errors import BadOption
from commonplace.model.hints import Any
from commonplace.model.values import field, fields_of, frozen, replace

URLS = ("postgresql://", "postgres://")


def is_url(vault: object) -> bool:
    """Whether what names a vault is a URL of PostgreSQL rather than a directory."""
    return isinstance(vault, str) and vault.startswith(URLS)


def _option(default: Any, description: str, *, harmless: bool = True) -> Any:
    return field(default=default, about={"description": description, "harmless": harmless})


@frozen
class Options:
    """Every option. `continuity.memoryMaxRecords` is another name for `memory_max_records`."""

    dialect: str = _option("", "native, earl, journal, notebook, claw; empty: detected")
    timezone: str = _option("", "zone of the user's calendar day; empty: this machine's")
    state_dir: str = _option(
        "",
        "where journal and index of this vault live; empty: .commonplace in the vault",
        harmless=False,
    )
    history: str = _option(
        "",
        "postgresql://… that keeps the messages of a vault in files; empty: a file beside it",
        harmless=False,
    )
    text_limit: int = _option(2000, "longest text of a record, in characters")
    tag_limit: int = _option(10, "most tags of a record")
    tag_length: int = _option(50, "longest tag, in characters")
    query_limit: int = _option(500, "longest query of the typed search tool, in characters")
    document_cap: int = _option(
        4000, "characters of a notebook's document past which it must be condensed first; 0: none"
    )
    document_limit: int = _option(
        8_000_000,
        "bytes up to which a document is read and written; 0: any number",
        harmless=False,
    )
    secrets: str = _option(
        "redact", "what to do with a secret in a text: redact, refuse or allow", harmless=False
    )
    trust: str = _option(
        "quotes",
        "rules of sessions that read untrusted text: quotes tells them in the user's words, hold "
        "lets all rules of agents wait, open lets those of such sessions wait",
        harmless=False,
    )
    session_stores: int = _option(20, "stores of agents' tools a session; 0: any number")
    session_supersedes: int = _option(5, "replacements of agents' tools a session; 0: any number")
    session_deletes: int = _option(5, "deletes of agents' tools a session; 0: any number")
    main_sessions: str = _option(
        "",
        "ids of sessions that are claw's main one, with commas; * stands for any text",
        harmless=False,
    )
    tokenizer: str = _option("estimate", "how tokens are counted: estimate, or o200k (an extra)")
    context_tokens: int = _option(
        32000, "most tokens of a conversation's or a heartbeat's context; 0: any number"
    )
    context_messages: int = _option(20, "messages of history in a conversation's context")
    heartbeat_document: str = _option("HEARTBEAT.md", "document of the heartbeat prompt, if any")
    session_sweep: int = _option(
        6, "turns of the user after which an agent that stops is asked once to look back; 0: never"
    )
    lose_share: float = _option(
        0.3, "share of a document's entries that a rewrite may drop without a confirm token"
    )
    lock_seconds: float = _option(30.0, "how long to wait for another writer")
    conversation_minutes: int = _option(
        10, "how long after its last turn a conversation keeps the heartbeat away"
    )
    memory_max_records: int = _option(0, "rolling window of MEMORY.md in records; 0: none")
    memory_max_chars: int = _option(0, "rolling window of MEMORY.md in characters; 0: none")
    memory_archive_path: str = _option("", "document that takes what the window trims")
    memory_embeddings_enabled: bool = _option(False, "offer claw's recall by likeness")
    memory_embeddings_max_records: int = _option(3000, "records that claw's recall looks at")
    encoder: str = _option(
        "static", "what makes the vectors of search: static, hashed, onnx or remote", harmless=False
    )
    encoder_path: str = _option(
        "",
        "file of a static model or folder of an onnx one; empty: the static one that comes along",
        harmless=False,
    )
    encoder_url: str = _option(
        "", "endpoint of the remote encoder, such as http://127.0.0.1:11434/v1", harmless=False
    )
    encoder_model: str = _option("", "model that the remote encoder is asked for", harmless=False)
    recall_cache_entries: int = _option(256, "answers of recall kept in memory; 0: none")
    recall_cache_seconds: float = _option(300.0, "how long such an answer is kept; 0: any time")
    session_memory_enabled: bool = _option(True, "inject memory at session start")
    session_memory_cap: int = _option(32000, "most characters injected at session start")
    long_memory_path: str = _option("LONGMEMORY.md", "document of the long-term summaries")
    include_long_memory_in_session: bool = _option(True, "inject the long-term summaries first")
    memory_compaction_enabled: bool = _option(False, "compact old records on a schedule")
    memory_compaction_threshold_records: int = _option(
        500, "compact past this many records; 0: not by their number"
    )
    memory_compaction_threshold_chars: int = _option(
        0, "compact past this many characters; 0: not by their number"
    )
    memory_compaction_min_age_days: int = _option(30, "youngest record to compact, in days")
    memory_compaction_schedule: str = _option(
        "daily", "when to compact: cron or an interval; empty: not by the clock"
    )
    summarizer: str = _option(
        "extractive", "who sums up what is compacted: extractive, command or openai", harmless=False
    )
    summarizer_command: str = _option(
        "", "program that reads text and prints its summary", harmless=False
    )
    summarizer_url: str = _option(
        "", "OpenAI-compatible endpoint, such as http://localhost:11434/v1", harmless=False
    )
    summarizer_model: str = _option("", "model that the endpoint is asked for", harmless=False)
    summarizer_daily_tokens: int = _option(
        0,
        "most tokens a day that go to the endpoint; 0: none, so it is never asked",
        harmless=False,
    )
    experience_schedule: str = _option(
        "", "when to take in experiences; empty: with compaction, or daily"
    )
    scan_schedule: str = _option("", "when to look the vault over; empty: never")
    heartbeat_schedule: str = _option(
        "", "when upkeep runs the heartbeat; empty: never", harmless=False
    )
    heartbeat_command: str = _option(
        "", "the agent's command that upkeep's heartbeat runs", harmless=False
    )
    experience_store_enabled: bool = _option(False, "keep a store of distinct experiences")
    experience_uniqueness_threshold: float = _option(0.8, "likeness from which nothing is new")
    inject_experience_context: bool = _option(False, "inject past experiences like the message")
    cursorclaw_files: bool = _option(
        False, "write tmp/memory-embeddings.json and tmp/experience-store.json, as CursorClaw does"
    )

    def overlaid(self, values: Mapping[str, Any], *, source: str) -> Options:
        """These options with `values` laid over them."""
        return self.laid(flattened(values), source=source)

    def laid(self, values: Mapping[str, Any], *, source: str) -> Options:
        """The same, of values that have the options' own names."""
        changes: dict[str, Any] = {}
        for key, value in values.items():
            try:
                changes[key] = _fitting(key, value)
            except ValueError as problem:
                raise BadOption(key, str(problem), source=source) from None
        return replace(self, **changes) if changes else self

    def described(self) -> list[dict[str, Any]]:
        """Every option with its value, without passwords, and what it does."""
        return [
            {
                "name": name,
                "value": shown_value(getattr(self, name)),
                "default": option.default,
                "description": option.about["description"],
            }
            for name, option in OPTIONS.items()
        ]


OPTIONS = fields_of(Options)


def is_harmless(key: str) -> bool:
    """Whether any vault may set it. That there is no such option is said of any vault too."""
    return key not in OPTIONS or bool(OPTIONS[key].about["harmless"])


def shown_value(value: Any) -> Any:
    """A value as it may be printed: a URL without its password."""
    if not isinstance(value, str) or "://" not in value:
        return value
    value = re.sub(r"(?<=//)([^:/?#@]*):[^/?#]*@", r"\1@", value)
    return re.sub(r"(?<=[?&])password=[^&]*&?", "", value).rstrip("?&")


def flattened(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with claw's `continuity` table spelled as ours."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if key == "continuity" and isinstance(value, Mapping):
            flat.update({snake(name): entry for name, entry in value.items()})
        else:
            flat[snake(key.removeprefix("continuity."))] = value
    return flat


def snake(name: str) -> str:
    """`memoryMaxRecords` as `memory_max_records`."""
    return name if name.islower() else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _fitting(key: str, value: Any) -> Any:
    """The value in the type of its option; a ValueError says why it takes none such."""
    if key not in OPTIONS:
        raise ValueError("there is no such option")
    typed = _typed(value, type(OPTIONS[key].default))
    _check_choice(key, typed)
    return typed


def _typed(value: Any, kind: type) -> Any:
    if kind is bool and isinstance(value, str) and value.lower() in TRUTH:
        return TRUTH[value.lower()]
    if (
        kind in (int, float)
        and isinstance(value, str | int | float)
        and not isinstance(value, bool)
    ):
        try:
            return _not_negative(kind(value))
        except (ValueError, OverflowError):
            raise ValueError(f"{value!r} is no number from 0 up") from None
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    raise ValueError(f"{value!r} is not {NAMES[kind]}")


def _check_choice(key: str, value: Any) -> None:
    """Some texts must name something that there is."""
    if key == "timezone":
        try:
            zone_of(value)
        except (ValueError, OSError, KeyError):
            raise ValueError(f"there is no time zone {value!r}") from None
    if key == "history" and value and not is_url(value):
        # Not shown: a password may be in it.
        raise ValueError("it is no postgresql://… URL")
    if value not in CHOICES.get(key, (value,)):
        *others, last = CHOICES[key]
        raise ValueError(f"{value!r} is not {', '.join(others)} or {last}")


def _not_negative(number: Any) -> Any:
    if not number >= 0:
        raise ValueError
    return number


CHOICES = {
    "encoder": ("static", "hashed", "onnx", "remote"),
    "tokenizer": ("estimate", "o200k"),
    "secrets": ("redact", "refuse", "allow"),
    "trust": ("quotes", "hold", "open"),
    "summarizer": ("extractive", "command", "openai"),
}
TRUTH = {"1": True, "true": True, "yes": True, "on": True}
TRUTH |= {"0": False, "false": False, "no": False, "off": False}
NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
