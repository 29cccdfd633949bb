"""Fuzzes a running gateway with schemathesis from its own OpenAPI document.

    python bench/fuzz_gateway.py [--examples 100] [-- further arguments of schemathesis]

Needs `schemathesis` on the path (pip install schemathesis). The gateway is a real one on a free
port of this machine, over a vault that is made for it and thrown away; every answer must conform
to the document and none may be a fault of ours.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from commonplace import Memory

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "ignored_auth",
    "unsupported_method",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=100, help="requests for each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("rest", nargs="*")
    given = parser.parse_args()
    program = shutil.which("schemathesis")
    if program is None:
        sys.exit("schemathesis is not on the path: pip install schemathesis")
    with tempfile.TemporaryDirectory() as folder:
        return fuzzed(program, Path(folder), given)


def fuzzed(program: str, folder: Path, given: argparse.Namespace) -> int:
    """The exit code of schemathesis against a gateway that lives as long as it."""
    environ = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)}
    with Memory.open(folder / "book", origin="owner", create=True) as memory:
        memory.store("Ann likes green tea", kind="preference", tags=["tea"])
        memory.conversations.record("user", "Please remember the tea", session="first")
    ours = [sys.executable, "-m", "commonplace"]
    add = [*ours, "token", "add", "fuzz", "--scope", "admin"]
    token = subprocess.run(add, env=environ, capture_output=True, text=True, check=True).stdout
    serve = [*ours, "serve", str(folder / "book"), "--port", "0"]
    with subprocess.Popen(serve, env=environ, stdout=subprocess.PIPE, text=True) as gateway:
        try:
            base = _address(gateway)
            command = [
                *(program, "run", f"{base}/api/openapi.json"),
                *("--header", f"Authorization: Bearer {token.strip()}"),
                *("--checks", ",".join(CHECKS), "--mode", "all", "--seed", str(given.seed)),
                *("--phases", "examples,coverage,fuzzing", "--continue-on-failure"),
                *("--max-examples", str(given.examples), "--generation-database", "none"),
                # A stream has no end to wait for.
                *("--exclude-operation-id", "hear_changes"),
                *given.rest,
            ]
            return subprocess.run(command, cwd=folder, check=False).returncode
        finally:
            gateway.terminate()


def _address(gateway: subprocess.Popen[str]) -> str:
    """Where the gateway says it is."""
    assert gateway.stdout is not None
    for line in gateway.stdout:
        for word in line.split():
            if word.startswith("http://"):
                found = urlsplit(word)
                return f"http://{found.netloc}"
    sys.exit("The gateway did not start.")


if __name__ == "__main__":
    sys.exit(main())
