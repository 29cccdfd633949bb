"""The real clients: found where they are installed, and installed where CI must have them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from commonplace.model.clock import Clock
from commonplace.storage.locks import Lock
from tests.support.skips import skip

ROOT = Path(__file__).parents[2]
PACKAGES = {
    # Named exactly: with an older Node npm would take an old one, which does not compact so soon.
    "claude": "@anthropic-ai/claude-code@2.1.325",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
    # The same; it runs with the Node that comes last.
    "qwen": "@qwen-code/qwen-code@0.24.4",
    "copilot": "@github/copilot",
    "cline": "cline",
    "node": "node@22",
}
QUIET = {
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
    "NO_COLOR": "1",
}


PATH = os.pathsep.join((str(ROOT / "node_modules/.bin"), os.environ["PATH"]))
"""With the clients, and the Node that they need."""


def installed(client: str) -> str | None:
    return shutil.which(client, path=PATH)


def install_in_ci(client: str) -> None:
    """The clients, which CI must have, by one of the processes that run the tests."""
    words = ["npm", "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund"]
    path = Path(tempfile.gettempdir()) / "commonplace-clients.lock"
    lock = Lock(path, seconds=700, clock=Clock())
    with lock.held():
        if not installed(client):
            packages = PACKAGES.values()
            subprocess.run([*words, "--prefix", str(ROOT), *packages], check=True, timeout=600)
    lock.close()


def real(client: str) -> str:
    """The installed client, or a skip that says how to get it."""
    if os.environ.get("CI") and client in PACKAGES and not installed(client):
        install_in_ci(client)
        assert installed(client), f"npm did not install {client}"
    found = installed(client)
    if not found:
        package = PACKAGES.get(client, client)
        skip(f"there is no {client} here", get=f"npm install --no-save --prefix . {package}")
    return found
