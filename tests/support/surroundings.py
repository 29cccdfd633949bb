"""What a hook finds around it: a home of the test's own, and no client above it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

OTHERS = ("COMMONPLACE_", "CLAUDE", "XDG_", "AI_AGENT")
"""How the names of variables begin that would name another vault or session."""


def bare_home(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Let this process be in an empty home, with nothing that names a vault or a session."""
    for name in os.environ:
        if name.startswith(OTHERS):
            monkeypatch.delenv(name)
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    # A hook ends its process without it; this one goes on.
    monkeypatch.setattr("gc.disable", lambda: None)
