"""The options of a vault: their names, types, defaults and descriptions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from commonplace.model.clock import zone_of
from commonplace.model.errors import BadOption

URLS = ("postgresql://", "postgres://")


def is_url(vault: object) -> bool:
    """Whether what names a vault is a URL of PostgreSQL rather than a directory."""
    return isinstance(vault, str) and vault.startswith(URLS)


HARMFUL = frozenset(
    {
        "state_dir",
        "history",
        "document_limit",
        "secrets",
        "trust",
        "elicitation",
        "main_sessions",
        "encoder",
        "encoder_path",
        "encoder_before_question",
        "encoder_before_text",
        "encoder_url",
        "encoder_model",
        "summarizer",
        "summarizer_command",
        "summarizer_url",
        "summarizer_model",
        "summarizer_daily_tokens",
        "heartbeat_schedule",
        "heartbeat_command",
    }
)
"""Options that a vault may set only where its person has trusted it."""


class Options(Struct, frozen=True):
    """Every option. `continuity.memoryMaxRecords` is another name for `memory_max_records`."""

    dialect: Annotated[str, "native, earl, journal, notebook, claw; empty: detected"] = ""
    timezone: Annotated[str, "zone of the user's calendar day; empty: this machine's"] = ""
    state_dir: Annotated[
        str, "where journal and index of this vault live; empty: .commonplace in the vault"
    ] = ""
    history: Annotated[
        str, "postgresql://… that keeps the messages of a vault in files; empty: a file beside it"
    ] = ""
    text_limit: Annotated[int, "longest text of a record, in characters"] = 2000
    tag_limit: Annotated[int, "most tags of a record"] = 10
    tag_length: Annotated[int, "longest tag, in characters"] = 50
    query_limit: Annotated[int, "longest query of the typed search tool, in characters"] = 500
    document_cap: Annotated[
        int, "characters of a notebook's document past which it must be condensed first; 0: none"
    ] = 4000
    document_limit: Annotated[
        int, "bytes up to which a document is read and written; 0: any number"
    ] = 8_000_000
    secrets: Annotated[str, "what to do with a secret in a text: redact, refuse or allow"] = (
        "redact"
    )
    trust: Annotated[
        str,
        "rules of sessions that read untrusted text: quotes tells them in the user's words, hold "
        "lets all rules of agents wait, open lets those of such sessions wait",
    ] = "quotes"
    elicitation: Annotated[
        str,
        "what you are asked in clients that can show a question: confirm (before agents erase, or "
        "drop much), rules (also whether what waits is approved) or never",
    ] = "confirm"
    session_stores: Annotated[int, "stores of agents' tools a session; 0: any number"] = 20
    session_supersedes: Annotated[int, "replacements of agents' tools a session; 0: any number"] = 5
    session_deletes: Annotated[int, "deletes of agents' tools a session; 0: any number"] = 5
    main_sessions: Annotated[
        str, "ids of sessions that are claw's main one, with commas; * stands for any text"
    ] = ""
    tokenizer: Annotated[str, "how tokens are counted: estimate, or o200k (an extra)"] = "estimate"
    context_tokens: Annotated[
        int, "most tokens of a conversation's or a heartbeat's context; 0: any number"
    ] = 32000
    context_messages: Annotated[int, "messages of history in a conversation's context"] = 20
    heartbeat_document: Annotated[str, "document of the heartbeat prompt, if any"] = "HEARTBEAT.md"
    session_sweep: Annotated[
        int,
        "turns of the user after which an agent that stops is asked once to look back; 0: never",
    ] = 6
    lose_share: Annotated[
        float, "share of a document's entries that a rewrite may drop without a confirm token"
    ] = 0.3
    lock_seconds: Annotated[float, "how long to wait for another writer"] = 30.0
    conversation_minutes: Annotated[
        int, "how long after its last turn a conversation keeps the heartbeat away"
    ] = 10
    memory_max_records: Annotated[int, "rolling window of MEMORY.md in records; 0: none"] = 0
    memory_max_chars: Annotated[int, "rolling window of MEMORY.md in characters; 0: none"] = 0
    memory_archive_path: Annotated[str, "document that takes what the window trims"] = ""
    memory_embeddings_enabled: Annotated[bool, "offer claw's recall by likeness"] = False
    memory_embeddings_max_records: Annotated[int, "records that claw's recall looks at"] = 3000
    encoder: Annotated[
        str,
        "what makes the vectors of search: auto (static, and minilm in servers where the extra "
        "embeddings is installed), static, minilm, hashed, onnx or remote",
    ] = "auto"
    encoder_path: Annotated[
        str,
        "file of a static model or folder of an onnx one; empty: the static one that comes along",
    ] = ""
    encoder_before_question: Annotated[
        str,
        "what an onnx model wants before a question, such as 'query: '; empty: as its folder says",
    ] = ""
    encoder_before_text: Annotated[
        str, "what it wants before a text, as 'passage: '; empty: as its folder says"
    ] = ""
    encoder_url: Annotated[
        str, "endpoint of the remote encoder, such as http://127.0.0.1:11434/v1"
    ] = ""
    encoder_model: Annotated[str, "model that the remote encoder is asked for"] = ""
    recall_cache_entries: Annotated[int, "answers of recall kept in memory; 0: none"] = 256
    recall_cache_seconds: Annotated[float, "how long such an answer is kept; 0: any time"] = 300.0
    session_memory_enabled: Annotated[bool, "inject memory at session start"] = True
    session_memory_cap: Annotated[int, "most characters injected at session start"] = 32000
    start_characters: Annotated[
        int,
        "most characters that hooks tell at the start of a session, up to 10000; 0: as many as "
        "clients show",
    ] = 3600
    long_memory_path: Annotated[str, "document of the long-term summaries"] = "LONGMEMORY.md"
    include_long_memory_in_session: Annotated[bool, "inject the long-term summaries first"] = True
    memory_compaction_enabled: Annotated[bool, "compact old records on a schedule"] = False
    memory_compaction_threshold_records: Annotated[
        int, "compact past this many records; 0: not by their number"
    ] = 500
    memory_compaction_threshold_chars: Annotated[
        int, "compact past this many characters; 0: not by their number"
    ] = 0
    memory_compaction_min_age_days: Annotated[int, "youngest record to compact, in days"] = 30
    memory_compaction_schedule: Annotated[
        str, "when to compact: cron or an interval; empty: not by the clock"
    ] = "daily"
    summarizer: Annotated[str, "who sums up what is compacted: extractive, command or openai"] = (
        "extractive"
    )
    summarizer_command: Annotated[str, "program that reads text and prints its summary"] = ""
    summarizer_url: Annotated[
        str, "OpenAI-compatible endpoint, such as http://localhost:11434/v1"
    ] = ""
    summarizer_model: Annotated[str, "model that the endpoint is asked for"] = ""
    summarizer_daily_tokens: Annotated[
        int, "most tokens a day that go to the endpoint; 0: none, so it is never asked"
    ] = 0
    experience_schedule: Annotated[
        str, "when to take in experiences; empty: with compaction, or daily"
    ] = ""
    learning_schedule: Annotated[
        str, "when to look for what history shows three times; empty: never"
    ] = "daily"
    scan_schedule: Annotated[str, "when to look the vault over; empty: never"] = ""
    heartbeat_schedule: Annotated[str, "when upkeep runs the heartbeat; empty: never"] = ""
    heartbeat_command: Annotated[str, "the agent's command that upkeep's heartbeat runs"] = ""
    experience_store_enabled: Annotated[bool, "keep a store of distinct experiences"] = False
    experience_uniqueness_threshold: Annotated[float, "likeness from which nothing is new"] = 0.8
    inject_experience_context: Annotated[bool, "inject past experiences like the message"] = False
    cursorclaw_files: Annotated[
        bool, "write tmp/memory-embeddings.json and tmp/experience-store.json, as CursorClaw does"
    ] = False

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
        about = descriptions()
        return [
            {
                "name": name,
                "value": shown_value(getattr(self, name)),
                "default": default,
                "description": about[name],
            }
            for name, default in DEFAULTS.items()
        ]


def descriptions() -> dict[str, str]:
    """What each option does, by its name."""
    hints = get_type_hints(Options, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in DEFAULTS}


GROUPS = {
    "What a memory may be": "text_limit tag_limit tag_length query_limit secrets",
    "What agents are told": "session_memory_enabled start_characters session_memory_cap "
    "include_long_memory_in_session context_tokens context_messages heartbeat_document tokenizer",
    "What agents may do": "session_stores session_supersedes session_deletes session_sweep "
    "conversation_minutes trust elicitation main_sessions",
    "Rolling window": "memory_max_records memory_max_chars memory_archive_path",
    "Compaction": "memory_compaction_enabled memory_compaction_schedule "
    "memory_compaction_threshold_records memory_compaction_threshold_chars "
    "memory_compaction_min_age_days long_memory_path summarizer summarizer_command "
    "summarizer_url summarizer_model summarizer_daily_tokens",
    "Schedule": "learning_schedule scan_schedule heartbeat_schedule heartbeat_command",
    "Experiences": "experience_store_enabled experience_schedule "
    "experience_uniqueness_threshold inject_experience_context cursorclaw_files",
    "Search": "memory_embeddings_enabled memory_embeddings_max_records recall_cache_entries "
    "recall_cache_seconds encoder encoder_path encoder_before_question encoder_before_text "
    "encoder_url encoder_model",
    "Documents": "timezone document_cap lose_share lock_seconds dialect state_dir history "
    "document_limit",
}
"""What options are about, each with the names of its options: every option is in one group."""

DEFAULTS = dict(zip(Options.__struct_fields__, Options.__struct_defaults__))


def is_harmless(key: str) -> bool:
    """Whether an untrusted vault may set the option. An unknown one is reported either way."""
    return key not in HARMFUL


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
    """The value in the type of its option; a ValueError says why it does not fit."""
    if key not in DEFAULTS:
        raise ValueError("there is no such option")
    typed = _typed(value, type(DEFAULTS[key]))
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
    """Check the options that take one of a few values."""
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
    "encoder": ("auto", "static", "minilm", "hashed", "onnx", "remote"),
    "tokenizer": ("estimate", "o200k"),
    "secrets": ("redact", "refuse", "allow"),
    "trust": ("quotes", "hold", "open"),
    "elicitation": ("confirm", "rules", "never"),
    "summarizer": ("extractive", "command", "openai"),
}
TRUTH = {"1": True, "true": True, "yes": True, "on": True}
TRUTH |= {"0": False, "false": False, "no": False, "off": False}
NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
