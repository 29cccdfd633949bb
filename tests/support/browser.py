"""A real browser for the tests of the page: the system's Chromium, driven by Playwright.

Knows where a browser may be and how to get one; nothing of the page.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs import needed

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The shell that has no windows first: it takes about half of the processor time."""
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


def executable() -> str:
    """The browser's path. In CI it is installed when it is missing, and never skipped."""
    return needed(*NAMES, package="chromium-headless-shell")


@contextmanager
def opened() -> Iterator[Any]:
    """A browser that is closed at the end."""
    from playwright.sync_api import sync_playwright

    path = executable()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def serving(
    vault: Path, home: Path, *more: Path, options: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """`commonplace serve` as a person starts it: its address, and the link that lets one in."""
    port = free_port()
    environ = {**os.environ, "XDG_STATE_HOME": str(home), "HOME": str(home)}
    vaults = [str(each) for each in (vault, *more)]
    command = [sys.executable, "-m", "commonplace", "serve", *vaults, *options]
    command += ["--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
    try:
        assert server.stdout is not None
        lines = [server.stdout.readline() for _ in range(4)]
        link = next(line for line in lines if "/login?code=" in line).split()[-1]
        base = f"http://127.0.0.1:{port}"
        _wait_for(port)
        yield base, link
    finally:
        server.terminate()
        server.communicate(timeout=120)


def _wait_for(port: int) -> None:
    import time

    for _ in range(1200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the gateway did not start")
