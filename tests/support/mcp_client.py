"""The other end of the MCP door, for tests: messages, a conversation in memory, a real child.

It knows the protocol's envelope, not what the tools should answer.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from commonplace.doors.mcp.stdio import Loop
from commonplace.memory import Memory

Answer = Any
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
PROGRAM = """
import sys
from commonplace.doors.mcp.stdio import run

def open_memory(session):
    from commonplace.memory import Memory
    return Memory.open(sys.argv[1], session=session, create=False)

sys.exit(run(open_memory, sys.argv[2], sys.argv[3]))
"""


def ask(method: str, params: Any = None, *, id: Any = 1) -> dict[str, Any]:
    rest = {} if params is None else {"params": params}
    return {"jsonrpc": "2.0", "id": id, "method": method, **rest}


def ask_stateless(method: str, params: dict[str, Any] | None = None, *, id: Any = 1) -> Any:
    return ask(method, {**(params or {}), "_meta": ENVELOPE}, id=id)


def tell(method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


def initialize(version: str = HANDSHAKE[-1], *, id: Any = "init") -> dict[str, Any]:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    return ask("initialize", params, id=id)


def call(name: str, arguments: dict[str, Any] | None = None, *, id: Any = 1) -> dict[str, Any]:
    return ask("tools/call", {"name": name, "arguments": arguments or {}}, id=id)


def encoded(message: Any) -> bytes:
    """A message as a line; bytes are taken as they are."""
    return message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"


def opener(root: Path, **options: Any) -> Callable[[str], Memory]:
    return lambda session: Memory.open(root, session=session, create=False, **options)


def talk(
    open_memory: Callable[[str], Memory] | Path,
    *messages: Any,
    dialect: str = "native",
    session: str = "test",
) -> list[Answer]:
    """Everything a server says to these messages, in its order."""
    if isinstance(open_memory, Path):
        open_memory = opener(open_memory)
    stdin, stdout = io.BytesIO(b"".join(map(encoded, messages))), io.BytesIO()
    Loop(open_memory, dialect=dialect, session=session, stdout=stdout).run(stdin)
    return [json.loads(line) for line in stdout.getvalue().splitlines(keepends=False)]


def text_of(answer: Answer) -> str:
    [content] = answer["result"]["content"]
    return str(content["text"])


def command(root: Path, dialect: str = "native", session: str = "") -> list[str]:
    """What starts a server on stdio."""
    options = ["--vault", str(root), "--dialect", dialect, "--session", session]
    return [sys.executable, "-m", "commonplace", *options, "mcp"]


class Child:
    """A server in a process of its own."""

    def __init__(self, words: list[str], **options: Any) -> None:
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def send(self, *messages: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"".join(map(encoded, messages)))
        self.process.stdin.flush()

    def answers(self) -> Iterator[Answer]:
        assert self.process.stdout
        for line in self.process.stdout:
            yield json.loads(line)

    def ask(self, message: Any) -> Answer:
        """Send a request and wait for the next thing that is said."""
        self.send(message)
        return next(self.answers())

    def end(self, *, seconds: float = 300) -> tuple[int, list[Answer], str]:
        """Close its input: the exit code, what it still said, and what it said on stderr."""
        out, err = self.process.communicate(timeout=seconds)
        return (
            self.process.returncode,
            [json.loads(line) for line in out.splitlines()],
            err.decode(),
        )

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def asked(root: Path, dialect: str, name: str, arguments: dict[str, Any]) -> str:
    """The text a real child answers to one call of a tool."""
    lines = [initialize(), tell("notifications/initialized"), call(name, arguments)]
    done = subprocess.run(
        command(root, dialect, "parity"),
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout.strip().split("\n")[-1])
    return str(answer["result"]["content"][0]["text"])
