"""The options: one value, filled from defaults < files < environment < arguments.

It does not know what an option does, only its name, type and whether the files of a vault that
nobody trusted by hand may set it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from commonplace.model.clock import zone_of
from commonplace.model.errors import BadOption, BrokenOptions, Unreadable
from commonplace.model.hints import Any, StrPath
from commonplace.model.values import field, fields_of, frozen, replace
from commonplace.storage.trusted import Trusted, lapsed, trusted, unheeded

FILE = "commonplace.toml"
CLAW_FILE = "openclaw.json"
CLAW_NAMES = {
    "memoryCompactionScheduleCron": "memory_compaction_schedule",
    "memoryCompactionMaxRecords": "memory_compaction_threshold_records",
    "memoryCompactionMaxChars": "memory_compaction_threshold_chars",
}
"""Keys of CursorClaw's configuration that are called otherwise here."""
URLS = ("postgresql://", "postgres://")
LONGEST = 1 << 20
"""Bytes of a file of options that are read."""
MEND_UNREAD = "Put a plain file there, or take it away."


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

    @classmethod
    def load(
        cls,
        root: StrPath | None,
        *,
        environ: Mapping[str, str] = os.environ,
        arguments: Mapping[str, Any] | None = None,
    ) -> Options:
        """The options in force: later sources win."""
        return load(root, environ=environ, arguments=arguments).options

    def overlaid(self, values: Mapping[str, Any], *, source: str) -> Options:
        """These options with `values` laid over them."""
        return self._laid(_flattened(values), source=source)

    def _laid(self, values: Mapping[str, Any], *, source: str) -> Options:
        """The same, of values that have the options' own names."""
        changes: dict[str, Any] = {}
        for key, value in values.items():
            try:
                changes[key] = _fitting(key, value)
            except ValueError as problem:
                raise BadOption(key, str(problem), source=_with_line(source, key)) from None
        return replace(self, **changes) if changes else self

    def of_vault(self, found: VaultFiles, *, root: StrPath, is_trusted: bool) -> Options:
        """These options with what a vault's files say, as far as it counts."""
        options = self
        for name, said in ((CLAW_FILE, found.claw), (FILE, found.own)):
            ignored = {} if is_trusted else found.harmful.get(name, {})
            counts = {key: value for key, value in said.items() if key not in ignored}
            options = options._laid(counts, source=os.path.join(root, name))
        return options

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


@frozen
class VaultFiles:
    """What the files in a vault set: its own, and CursorClaw's."""

    own: Mapping[str, Any]
    claw: Mapping[str, Any]

    @property
    def harmful(self) -> dict[str, dict[str, Any]]:
        """For each file what counts only where the person has trusted the vault.

        All that CursorClaw's says is harmful: it is a program's, and comes with its workspace.
        """
        own = {key: value for key, value in self.own.items() if not _is_harmless(key)}
        return {name: dict(said) for name, said in ((CLAW_FILE, self.claw), (FILE, own)) if said}

    @property
    def keys(self) -> str:
        """The hash of what is harmful; empty where nothing is."""
        if not self.harmful:
            return ""
        import json

        from commonplace.model.lean import blake2b

        said = json.dumps(self.harmful, sort_keys=True, default=str)
        return blake2b(said.encode(), digest_size=32).hexdigest()

    def is_trusted(self, by: Trusted | None) -> bool:
        """Whether the person has trusted the vault with just these harmful keys."""
        return by is not None and by.keys == self.keys


@frozen
class Loaded:
    """The options in force, and for each file of the vault what it sets that does not count."""

    options: Options
    ignored: Mapping[str, Mapping[str, Any]]
    distrusted: str = ""
    """The same as a sentence, with the reason; also where trust in the vault itself lapsed."""
    unread: tuple[str, ...] = ()
    """A sentence on each file of options that is not read, as it is no plain file."""


def load(
    root: StrPath | None,
    *,
    environ: Mapping[str, str] = os.environ,
    arguments: Mapping[str, Any] | None = None,
) -> Loaded:
    """The options in force, later sources winning, and what of the vault's files does not count."""
    options, ignored, distrusted = Options(), dict[str, dict[str, Any]](), ""
    if os.path.isfile(own := _user_file(environ)):
        options = options.overlaid(_read(own), source=own)
    if path := environ.get("CURSORCLAW_CONFIG_PATH", "") if root else "":
        options = options.overlaid(_continuity(path), source=path)
    if root:
        found = vault_files(root, environ)
        ignored = found.harmful
        if ignored and found.is_trusted(trusted(root, environ=environ)):
            ignored = {}
        distrusted = unheeded(ignored, why_distrusted(root, found, environ))
        options = options.of_vault(found, root=root, is_trusted=not ignored)
    prefix = "COMMONPLACE_"
    spoken = {
        name: environ[prefix + name.upper()] for name in OPTIONS if prefix + name.upper() in environ
    }
    options = options.overlaid(spoken, source="environment")
    given = {name: value for name, value in (arguments or {}).items() if value is not None}
    named = [own, os.path.join(root, FILE)] if root else [own]
    unread = tuple(filter(None, map(_why_unread, named)))
    return Loaded(options.overlaid(given, source="arguments"), ignored, distrusted, unread)


def _why_unread(path: str) -> str:
    """A sentence on what stands where a file of options would be; empty if one does, or nothing."""
    if os.path.isfile(path) or not os.path.lexists(path):
        return ""
    flaw = "it is no plain file"
    if os.path.islink(path):
        flaw = f"it is a link to {'no plain file' if os.path.exists(path) else 'nothing'}"
    return f"{path} is not read: {flaw}."


def why_distrusted(
    root: StrPath, found: VaultFiles, environ: Mapping[str, str] = os.environ
) -> str:
    """Why the person's trust in a vault, or in its harmful keys, counts no longer; else empty."""
    said = trusted(root, environ=environ)
    if said and found.harmful and not found.is_trusted(said):
        return "the keys changed since it was trusted"
    return "" if said else lapsed(root, environ=environ)


def vault_files(root: StrPath, environ: Mapping[str, str] = os.environ) -> VaultFiles:
    """What the files in a vault set. CursorClaw's is left out where the person names another."""
    own, claw = os.path.join(root, FILE), os.path.join(root, CLAW_FILE)
    named = environ.get("CURSORCLAW_CONFIG_PATH", "")
    return VaultFiles(
        _flattened(_read(own)) if os.path.isfile(own) else {},
        _continuity(claw) if not named and os.path.isfile(claw) else {},
    )


def _is_harmless(key: str) -> bool:
    """Whether any vault may set it. That there is no such option is said of any vault too."""
    return key not in OPTIONS or bool(OPTIONS[key].about["harmless"])


def shown_value(value: Any) -> Any:
    """A value as it may be printed: a URL without its password."""
    if not isinstance(value, str) or "://" not in value:
        return value
    value = re.sub(r"(?<=//)([^:/?#@]*):[^/?#]*@", r"\1@", value)
    return re.sub(r"(?<=[?&])password=[^&]*&?", "", value).rstrip("?&")


def _flattened(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with claw's `continuity` table spelled as ours."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if key == "continuity" and isinstance(value, Mapping):
            flat.update({snake(name): entry for name, entry in value.items()})
        else:
            flat[snake(key.removeprefix("continuity."))] = value
    return flat


def _continuity(path: str) -> dict[str, Any]:
    """What CursorClaw's configuration says of memory, as far as it is an option of ours.

    It is a program's of its own: what else is in it, or that it is no JSON, is not for us to say.
    """
    import json

    try:
        with open(path, "rb") as file:
            said = json.loads(file.read(LONGEST))["continuity"]
        pairs = [_ours(name, value) for name, value in said.items()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return {
        name: value
        for name, value in pairs
        if name in OPTIONS and OPTIONS[name].about["harmless"] and value is not None
    }


def _ours(name: str, value: Any) -> tuple[str, Any]:
    """One of CursorClaw's keys under our name."""
    if name == "memoryCompactionIntervalMs" and isinstance(value, int):
        return "memory_compaction_schedule", f"{max(1, value // 60_000)}m"
    return CLAW_NAMES.get(name, snake(name)), value


def snake(name: str) -> str:
    """`memoryMaxRecords` as `memory_max_records`."""
    return name if name.islower() else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _with_line(source: str, key: str) -> str:
    """Where an option is set: the file with its line, where that is found."""
    if not os.path.isfile(source):
        return source
    with open(source, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            name = re.split("[=:]", line)[0].strip(" \t\r\n\"'[]")
            if snake(name.removeprefix("continuity.")) == key:
                return f"{source}, line {number}"
    return source


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


def _read(path: str) -> dict[str, Any]:
    import tomllib

    try:
        with open(path, "rb") as file:
            data = file.read(LONGEST + 1)
    except OSError as error:
        raise Unreadable(path, error.strerror or str(error)) from None
    if len(data) > LONGEST:
        raise BrokenOptions(path, f"it is longer than {LONGEST:,} bytes")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BrokenOptions(path, f"it is not UTF-8 (at line {line})") from None
    except ValueError as error:
        raise BrokenOptions(path, str(error)) from None
    except RecursionError:
        raise BrokenOptions(path, "it is nested too deeply") from None


def _user_file(environ: Mapping[str, str]) -> str:
    home = environ.get("XDG_CONFIG_HOME") or (
        environ.get("HOME", "") and environ["HOME"] + "/.config"
    )
    return os.path.join(home, "commonplace", FILE) if os.path.isabs(home) else ""
