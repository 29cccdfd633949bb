"""The processes above this one, and which run of an agent a command belongs to.

Behind shells and the like stands the program that runs the command, the same for every command of
one run. Where no such program is seen, the run is the day.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

SHELLS = frozenset(
    [
        "sh",
        "bash",
        "dash",
        "ash",
        "zsh",
        "fish",
        "ksh",
        "mksh",
        "tcsh",
        "csh",
        "busybox",
        "pwsh",
        "nu",
        "elvish",
        "xonsh",
    ]
)
WRAPPERS = frozenset(
    [
        "env",
        "nice",
        "ionice",
        "nohup",
        "timeout",
        "setsid",
        "stdbuf",
        "time",
        "xargs",
        "sudo",
        "su",
        "runuser",
        "doas",
        "script",
        "unshare",
        "strace",
        "ltrace",
        "flock",
        "parallel",
        "make",
        "npm",
        "npx",
        "uv",
        "uvx",
        "pipx",
        "commonplace",
        "ipc",
    ]
)
"""Programs that run another one and end with it."""
KEEPERS = frozenset(
    [
        "init",
        "systemd",
        "launchd",
        "login",
        "sshd",
        "cron",
        "crond",
        "atd",
        "tmux",
        "screen",
        "tini",
        "docker-init",
        "dumb-init",
        "runc",
        "containerd-shim",
        "containerd-shim-runc-v2",
        "conmon",
        "supervisord",
    ]
)
"""Programs that start others of any kind, of many runs."""
SANDBOX = "plugin-sandbox-bootstrap"
"""The script in which Cline runs plugins: it belongs to the process above."""
DEEPEST = 64
MOST_WORDS = 8


class Process(Struct, frozen=True):
    """A process that is running, as far as it matters here."""

    pid: int
    parent: int
    name: str
    started: str
    at_terminal: bool
    """Whether it leads the session of a terminal, as the shell in a window does."""
    for_one_command: bool = False
    """Whether it is a shell that was given its command."""
    title: str = ""
    """What it calls itself."""
    words: tuple[str, ...] = ()
    """The first words of its command."""

    @property
    def key(self) -> str:
        return f"{os.uname().nodename}:{self.pid}:{self.started}"

    @property
    def is_sandbox(self) -> bool:
        """Whether it runs the plugins of a client."""
        return any(SANDBOX in word for word in self.words)


Find = Callable[[int], Process | None]


def run_of(find: Find, pid: int) -> str:
    """The run that the process belongs to whose parent is `pid`; empty when nothing tells."""
    outermost = ""
    for process in _upwards(find, pid):
        if process.pid <= 1 or process.name in KEEPERS:
            return outermost
        if process.name in SHELLS and not process.for_one_command:
            outermost = process.key
            if process.at_terminal:
                return outermost
        elif process.name not in SHELLS | WRAPPERS and not process.is_sandbox:
            return process.key
    return outermost


def _upwards(find: Find, pid: int) -> Iterator[Process]:
    for _ in range(DEEPEST):
        process = find(pid)
        if process is None:
            return
        yield process
        pid = process.parent


def agent_run() -> str:
    """The run of the agent that started this process; empty when nothing tells."""
    return run_of(_find(), os.getppid()) if os.name == "posix" else ""


def all_above(find: Find | None = None) -> Iterator[Process]:
    """The processes above this one, nearest first, as far as they can be seen."""
    if find or os.name == "posix":
        yield from _upwards(find or _find(), os.getppid())


def keys_above() -> Iterator[str]:
    """The keys of the processes above this one, nearest first."""
    return (process.key for process in all_above())


def _find() -> Find:
    return in_proc if os.path.exists("/proc/self/stat") else _listed().get


def ancestors() -> list[Process]:
    """What stands above this process, up to the program that runs it; none where nothing tells."""
    if not os.path.exists("/proc/self/stat"):
        return []
    found: list[Process] = []
    for process in _upwards(in_proc, os.getppid()):
        found.append(process)
        if process.pid <= 1 or process.name not in SHELLS | WRAPPERS:
            break
    return found


def is_running(key: str) -> bool:
    """Whether the process of that key still runs, as far as it can be told."""
    host, _, rest = key.partition(":")
    pid, _, started = rest.partition(":")
    if not os.path.exists("/proc/self/stat") or host != os.uname().nodename or not pid.isdigit():
        return True
    process = in_proc(int(pid))
    return process is not None and process.started == started


def environment(pid: int) -> dict[str, str]:
    """The variables that a process was started with; none where nothing tells."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = file.read().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return {name: value for name, equals, value in (w.partition("=") for w in words) if equals}


def in_proc(pid: int) -> Process | None:
    """A process as Linux shows it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read().decode(errors="replace")
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().decode(errors="replace").split("\0")
    except OSError:
        return None
    name, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
    _, parent, _, session, terminal = rest[:5]
    leads = int(session) == pid and terminal != "0"
    return Process(
        pid,
        int(parent),
        _program(pid, name),
        rest[19],
        leads,
        _has_command(words),
        name,
        tuple(words[:MOST_WORDS]),
    )


def _program(pid: int, name: str) -> str:
    """What a process runs: a script is named by its own name, and not by its shell's."""
    try:
        path = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return name
    return os.path.basename(path.removesuffix(" (deleted)"))


def _has_command(words: list[str]) -> bool:
    options = [word for word in words[1:3] if word.startswith("-") and not word.startswith("--")]
    return any("c" in option for option in options)


def _listed() -> Mapping[int, Process]:
    """Every process, as `ps` lists them where there is no /proc."""
    import subprocess

    command = ["ps", "-axwwo", "pid=,ppid=,stat=,tty=,lstart=,command="]
    environ = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, env=environ, check=False, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return {}
    return listed(done.stdout.decode(errors="replace"))


def listed(text: str) -> dict[int, Process]:
    """The processes in what `ps` printed: pid, ppid, stat, tty, lstart (five words), command."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 10 and words[0].isdigit() and words[1].isdigit():
            pid, command = int(words[0]), words[9:]
            name = os.path.basename(command[0].removeprefix("-"))
            leads = "s" in words[2] and not words[3].startswith("?")
            started = "-".join(words[4:9])
            found[pid] = Process(
                pid,
                int(words[1]),
                name,
                started,
                leads,
                _has_command(command),
                words=tuple(command[:MOST_WORDS]),
            )
    return found
