"""The clients: where each keeps its configuration, how it writes a server and which hooks it has.

Claude Code takes a plugin: server, hooks and skill in one directory that it loads by itself.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commonplace import __version__
from commonplace.doors.setup.config_files import NAME, Kind, Shape, Switch, Target
from commonplace.doors.setup.json_edit import Flavour
from commonplace.model.errors import BadValue

STRICT = Flavour(mark=False)
MARKED = Flavour()
COMMENTED = Flavour(comments=True, mark=False)
RELAXED = Flavour(comments=True, commas=True)
OPENCODE = """{
  "$schema": "https://opencode.ai/config.json"
}
"""

PREFIX = "COMMONPLACE_"
"""How the variables begin that set options."""
CODEX = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "PreToolUse": "pre-tool",
    "PostToolUse": "post-tool",
    "PreCompact": "pre-compact",
    "PostCompact": "post-compact",
    "Stop": "stop",
    "SessionEnd": "session-end",
}
ALIKE = {**CODEX, "PostToolUseFailure": "post-tool"}
MATCHERS = {
    ("claude", "pre-tool"): "Bash|PowerShell|Monitor|Write|Edit|MultiEdit|NotebookEdit|WebFetch"
    "|WebSearch|Agent|Task|Skill|mcp__.*",
}
"""The tools that an event is about, where a client can be told: each hook takes a while. Tools that
only read files are called most, and rules about them are told after them.
"""
SERVER = "starts the memory server"
HOOKS_ABOUT = "brings memories into sessions and keeps what was said"
PLUGINS = "enabledPlugins"
SECONDS = 10
# Clients wait no longer for a session's end; Codex says so in a warning.
LAST_SECONDS = 3
ABOUT = "Memory that lasts from one session to the next, kept as markdown you can read and edit."
README = f"""# Commonplace for Claude Code

{ABOUT}

`commonplace setup claude` wrote this directory and `commonplace unsetup claude` takes it away
again. It holds the memory server (`.mcp.json`), the hooks that bring memories into a session and
keep what was said (`hooks/`, unless it was set up with `--no-hooks`), and the skill that says when
to remember and when to recall (`skills/`). The memories are not here: they are in the vault whose
path `.mcp.json` names.
"""


@dataclass(frozen=True)
class Where:
    """Where a client's files are looked for."""

    home: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    project: Path | None = None
    platform: str = sys.platform

    def directory(self, variable: str, default: str) -> Path:
        """The directory that a variable names, else one below the home."""
        named = self.environ.get(variable, "").strip()
        return self.home / (re.sub(r"^~[/\\]", "", named) or default)

    def chosen(self, in_project: str, own: Path) -> Path:
        """The project's file when a project is meant, else the person's own."""
        return self.project / in_project if self.project else own

    def applications(self) -> Path:
        """Where this system keeps what applications remember of their user."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.directory("APPDATA", "AppData/Roaming")
        return self.directory("XDG_CONFIG_HOME", ".config")


@dataclass(frozen=True)
class Launch:
    """How the installed command is started for one vault."""

    command: str
    vault: str
    dialect: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    platform: str = sys.platform
    named: bool = False
    """Whether memory comes with the name of its vault."""

    def arguments(self, *command: str) -> list[str]:
        chosen = ["--dialect", self.dialect] if self.dialect else []
        return ["--vault", self.vault, *chosen, *command]

    def words(self, *command: str) -> list[str]:
        return [self.command, *self.arguments(*command)]

    def hook_words(self, event: str, client: str) -> list[str]:
        """The command of a hook. A shell has no field for variables: options go along as words."""
        options = [f"{name.removeprefix(PREFIX).lower()}={self.env[name]}" for name in self.env]
        return self.words(
            *("hook", event, "--client", client),
            *(word for option in options for word in ("--set", option)),
            *(["--named"] if self.named else []),
        )

    def hook(self, event: str, client: str) -> str:
        """The command line of a hook, for the shell that the client runs it in."""
        words = self.hook_words(event, client)
        if self.platform != "win32":
            return shlex.join(words)
        # One spelling that bash, cmd and PowerShell read alike.
        return subprocess.list2cmdline([word.replace("\\", "/") for word in words])


Entry = Callable[[Launch], dict[str, Any]]


@dataclass(frozen=True)
class Client:
    """One client: its names, its files and the form of what stands in them."""

    title: str
    file: Callable[[Where], Path]
    entry: Entry
    shape: Shape
    program: str = ""
    """The command that a person starts it with."""
    events: Mapping[str, str] = field(default_factory=dict)
    """What the client calls them, and what they are to us."""
    hooks_file: Callable[[Where], Path] | None = None
    plugin: Callable[[Where], Path] | None = None
    """A script of ours that the client loads, where that is how it tells of its events."""
    note: str = ""
    hooks_note: str = ""


def _plain(launch: Launch, **more: Any) -> dict[str, Any]:
    env = {"env": dict(launch.env)} if launch.env else {}
    return {"command": launch.command, "args": launch.arguments("mcp"), **env, **more}


def _typed(launch: Launch, **more: Any) -> dict[str, Any]:
    return {"type": "stdio", **_plain(launch, **more)}


def _claude_entry(launch: Launch) -> dict[str, Any]:
    """What `claude mcp add-json` takes. The tools are few: they are always in sight."""
    return _typed(launch, alwaysLoad=True)


def _opencode_entry(launch: Launch) -> dict[str, Any]:
    env = {"environment": dict(launch.env)} if launch.env else {}
    return {"type": "local", "command": launch.words("mcp"), **env}


def _copilot_entry(launch: Launch) -> dict[str, Any]:
    return _typed(launch, tools=["*"])


def _codex_entry(launch: Launch) -> dict[str, Any]:
    """On a loaded machine the second that Codex waits by default may be too short."""
    return _plain(launch, startup_timeout_sec=20)


def claude_directory(where: Where) -> Path:
    """Where Claude Code keeps what is the person's."""
    return where.directory("CLAUDE_CONFIG_DIR", ".claude")


def _claude_file(where: Where) -> Path:
    moved = where.environ.get("CLAUDE_CONFIG_DIR", "").strip()
    above = claude_directory(where) if moved else where.home
    return where.chosen(".mcp.json", above / ".claude.json")


def claude_own_settings(where: Where) -> Path:
    """The settings of the person, whatever the project."""
    return claude_directory(where) / "settings.json"


def claude_settings(where: Where) -> Path:
    return where.chosen(".claude/settings.local.json", claude_own_settings(where))


def codex_directory(where: Where) -> Path:
    """Where Codex keeps what is the person's, or the project's."""
    return where.chosen(".codex", where.directory("CODEX_HOME", ".codex"))


def _gemini_file(where: Where) -> Path:
    above = where.project or where.directory("GEMINI_CLI_HOME", "")
    return above / ".gemini" / "settings.json"


def _opencode_file(where: Where) -> Path:
    """Both names are read, and the second wins."""
    below = where.project or where.directory("XDG_CONFIG_HOME", ".config") / "opencode"
    other = below / "opencode.jsonc"
    return other if other.is_file() else below / "opencode.json"


def _opencode_plugin(where: Where) -> Path:
    """Beside the person's settings, and in a directory of its own in a project."""
    below = where.chosen(".opencode", _opencode_file(where).parent)
    return below / "plugins" / f"{NAME}.js"


def _qwen_entry(launch: Launch) -> dict[str, Any]:
    """Without it the tools are only names until the agent looks one up."""
    return _plain(launch, alwaysLoadTools=True)


def _qwen_file(where: Where) -> Path:
    return where.chosen(".qwen", where.directory("QWEN_HOME", ".qwen")) / "settings.json"


def _copilot_directory(where: Where) -> Path:
    return where.directory("COPILOT_HOME", ".copilot")


def _copilot_file(where: Where) -> Path:
    return where.chosen(".mcp.json", _copilot_directory(where) / "mcp-config.json")


def _copilot_hooks_file(where: Where) -> Path:
    return where.chosen(".github", _copilot_directory(where)) / "hooks" / f"{NAME}.json"


def _cline_directory(where: Where) -> Path:
    return where.directory("CLINE_DIR", ".cline")


def _cline_file(where: Where) -> Path:
    if where.project:
        raise BadValue(
            "--project", "Cline has no servers of a project", next_step="Leave it out: all have it."
        )
    data = where.directory("CLINE_DATA_DIR", str(_cline_directory(where) / "data"))
    default = data / "settings" / "cline_mcp_settings.json"
    return where.directory("CLINE_MCP_SETTINGS_PATH", str(default))


def _cursor_file(where: Where) -> Path:
    return (where.project or where.home) / ".cursor" / "mcp.json"


def _vscode_file(where: Where) -> Path:
    portable = where.environ.get("VSCODE_PORTABLE", "").strip()
    data = Path(portable) / "user-data" if portable else where.applications() / "Code"
    return where.chosen(".vscode", data / "User") / "mcp.json"


def _servers(flavour: Flavour, key: str = "mcpServers") -> Shape:
    return Shape(Kind.JSON, key, flavour)


CLIENTS = {
    "claude": Client(
        "Claude Code",
        _claude_file,
        _claude_entry,
        _servers(MARKED),
        program="claude",
        events=ALIKE,
        hooks_file=claude_settings,
        note="Claude Code reads it when the next session starts.",
    ),
    "codex": Client(
        "Codex",
        lambda where: codex_directory(where) / "config.toml",
        _codex_entry,
        Shape(Kind.TOML, "mcp_servers", STRICT),
        program="codex",
        events=CODEX,
        hooks_file=lambda where: codex_directory(where) / "hooks.json",
        hooks_note="Codex skips hooks until you trust them: open it and type /hooks.",
    ),
    "gemini": Client(
        "Gemini CLI",
        _gemini_file,
        _plain,
        _servers(COMMENTED),
        program="gemini",
        events={
            "SessionStart": "session-start",
            "BeforeAgent": "prompt-submit",
            "BeforeTool": "pre-tool",
            "AfterTool": "post-tool",
            "PreCompress": "pre-compact",
            "AfterAgent": "stop",
            "SessionEnd": "session-end",
        },
        note="Gemini CLI starts servers only in folders that you trust.",
    ),
    "opencode": Client(
        "opencode",
        _opencode_file,
        _opencode_entry,
        # It adds the schema to a file that has none, which would then not be as we left it.
        Shape(Kind.JSON, "mcp", RELAXED, OPENCODE),
        program="opencode",
        plugin=_opencode_plugin,
    ),
    "qwen": Client(
        "Qwen Code",
        _qwen_file,
        _qwen_entry,
        _servers(COMMENTED),
        program="qwen",
        events=ALIKE,
    ),
    "copilot": Client(
        "Copilot CLI",
        _copilot_file,
        _copilot_entry,
        _servers(RELAXED),
        program="copilot",
        events={
            "sessionStart": "session-start",
            "userPromptSubmitted": "prompt-submit",
            "preToolUse": "pre-tool",
            "postToolUse": "post-tool",
            "postToolUseFailure": "post-tool",
            "preCompact": "pre-compact",
            "agentStop": "stop",
            "sessionEnd": "session-end",
        },
        hooks_file=_copilot_hooks_file,
    ),
    "cline": Client(
        "Cline",
        _cline_file,
        _plain,
        _servers(STRICT),
        program="cline",
        plugin=lambda where: _cline_directory(where) / "plugins" / f"{NAME}.js",
    ),
    "cursor": Client(
        "Cursor",
        _cursor_file,
        _typed,
        _servers(RELAXED),
        program="cursor",
        note="Cursor asks once, in its settings, whether the server may run.",
    ),
    "vscode": Client(
        "VS Code",
        _vscode_file,
        _typed,
        _servers(RELAXED, "servers"),
        program="code",
        note="VS Code asks once whether you trust the server.",
    ),
}


def hook_groups(name: str, launch: Launch) -> dict[str, Any]:
    """What a client's file says for each event that it has."""
    events = CLIENTS[name].events
    return {theirs: _group(name, launch, event) for theirs, event in events.items()}


def _group(name: str, launch: Launch, event: str) -> dict[str, Any]:
    seconds = LAST_SECONDS if event == "session-end" else SECONDS
    # Gemini CLI counts in milliseconds, and so does Qwen Code from 1,000 up, in all its versions.
    timeout = seconds * 1000 if name in ("gemini", "qwen") else seconds
    hook = {"type": "command", "command": launch.hook(event, name), "timeout": timeout}
    matcher = "*" if name == "gemini" else MATCHERS.get((name, event))
    return ({"matcher": matcher} if matcher else {}) | {"hooks": [hook]}


def _copilot_hooks(launch: Launch) -> dict[str, Any]:
    """Copilot CLI takes whole files of hooks, each with a line for either kind of shell."""
    return {
        "version": 1,
        "hooks": {
            theirs: [_copilot_hook(launch, event)]
            for theirs, event in CLIENTS["copilot"].events.items()
        },
    }


def _copilot_hook(launch: Launch, event: str) -> dict[str, Any]:
    words = launch.hook_words(event, "copilot")
    quoted = ["'" + word.replace("'", "''") + "'" for word in words]
    seconds = LAST_SECONDS if event == "session-end" else SECONDS
    return {
        "type": "command",
        "bash": shlex.join(words),
        "powershell": "& " + " ".join(quoted),
        "timeoutSec": seconds,
    }


def targets(name: str, launch: Launch, where: Where, *, hooks: bool) -> tuple[Target, ...]:
    """The files of a client with what is to stand in them."""
    client = CLIENTS[name]
    path, entry = client.file(where), client.entry(launch)
    groups = hook_groups(name, launch) if hooks else {}
    if hooks and client.plugin:
        script = _whole(client.plugin(where), plugin_script(name, launch), HOOKS_ABOUT)
        return Target(path, client.shape, entry, about=SERVER), script
    if not groups or client.hooks_file is None:
        about = SERVER + (f"; {HOOKS_ABOUT}" if groups else "")
        return (Target(path, client.shape, entry, groups, about=about),)
    return Target(path, client.shape, entry, about=SERVER), _hooks_target(
        name, launch, where, groups
    )


def plugin_switched_off(where: Where) -> Target | None:
    """The settings of a project in which Claude Code is to leave out our plugin for all projects.

    Else its agent would have the tools twice.
    """
    there = (plugin_directory(where) / ".claude-plugin" / "plugin.json").is_file()
    if not (where.project and there):
        return None
    switch = Switch((PLUGINS, f"{NAME}@skills-dir"), False)
    about = "leaves out the plugin for all projects here"
    return Target(claude_settings(where), hooks_shape("claude"), switches=(switch,), about=about)


def _hooks_target(name: str, launch: Launch, where: Where, groups: Mapping[str, Any]) -> Target:
    """The file of the hooks alone. Copilot CLI reads any file in a directory: that one is ours."""
    if name == "copilot":
        text = _json_text(_copilot_hooks(launch))
        return _whole(_copilot_hooks_file(where), text, HOOKS_ABOUT)
    file = CLIENTS[name].hooks_file
    assert file is not None
    return Target(file(where), hooks_shape(name), hooks=groups, about=HOOKS_ABOUT)


def plugin_script(name: str, launch: Launch) -> str:
    """The script of a client that loads scripts: it runs the hooks."""
    about = f"""\
// Commonplace: {HOOKS_ABOUT}.
// `commonplace setup {name}` wrote this file and `commonplace unsetup {name}` takes it away again.
// It runs `commonplace hook session-start --client {name}` and the like.
"""
    called = f"const WORDS = {json.dumps(launch.hook_words('EVENT', name))}\n"
    scripts = Path(__file__).with_name("plugins")
    parts = [(scripts / f"{part}.js").read_text(encoding="utf-8") for part in ("asking", name)]
    imports, _, rest = parts[0].partition("\n\n")
    return "\n".join([about + imports + "\n", called + "\n" + rest, parts[1]])


def shape(name: str, kind: Kind) -> Shape:
    """The shape of a client's files of one kind."""
    if kind in (Kind.WHOLE, Kind.BLOCK):
        return Shape(kind)
    own = CLIENTS[name].shape
    return own if own.kind == kind else hooks_shape(name)


def hooks_shape(name: str) -> Shape:
    """The shape of a client's file of hooks alone."""
    return Shape(Kind.JSON, "", CLIENTS[name].shape.flavour)


def _whole(path: Path, text: str, about: str) -> Target:
    """A file that is all ours."""
    return Target(path, Shape(Kind.WHOLE), text=text, about=about)


def _json_text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def plugin_directory(where: Where) -> Path:
    """Where Claude Code finds plugins without being told."""
    return claude_directory(where) / "skills" / NAME


def plugin_targets(root: Path, launch: Launch, *, hooks: bool) -> tuple[Target, ...]:
    """The files of the plugin in `root`."""
    shape, entry = CLIENTS["claude"].shape, _claude_entry(launch)
    server = Target(root / ".mcp.json", shape, entry, about=SERVER)
    groups = hook_groups("claude", launch)
    file = root / "hooks" / "hooks.json"
    events = Target(file, hooks_shape("claude"), hooks=groups, about=HOOKS_ABOUT)
    manifest = _json_text(_manifest())
    return (
        _whole(root / ".claude-plugin" / "plugin.json", manifest, "names the plugin"),
        server,
        *((events,) if hooks else ()),
        _whole(root / "skills" / NAME / "SKILL.md", skill(), "tells when to remember and recall"),
        _whole(root / "README.md", README, "tells you what the directory is"),
    )


def skill() -> str:
    """When to remember and when to recall."""
    return Path(__file__).with_name("SKILL.md").read_text(encoding="utf-8")


def _manifest() -> dict[str, object]:
    return {
        "name": NAME,
        "version": __version__,
        "description": ABOUT,
        "author": {"name": "Commonplace"},
        "license": "MIT",
        "keywords": ["memory", "markdown", "mcp"],
    }
