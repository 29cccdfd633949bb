"""What a client waits for: cold hooks beside `python3 -c "import json, sqlite3"`, in one run.

python bench/hooks.py [--records 10000] [--rounds 30] [--rules 0]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from core import BARE, filled, turn_by_turn

EVENTS = ("session-start", "prompt-submit", "pre-tool", "post-tool", "stop", "session-end")
COMMAND = Path(sys.executable).with_name("commonplace")


def said(number: int) -> str:
    """What a client hands to the hooks of a turn."""
    given = {
        "session_id": f"s{number}",
        "prompt_id": f"p{number}",
        "prompt": f"what about the gast of item{number}?",
        "source": "startup",
        "last_assistant_message": f"It is item{number}.",
        "transcript_path": "",
        "tool_name": "Bash",
        "tool_input": {"command": f"make item{number}"},
        "tool_use_id": f"t{number}",
    }
    return json.dumps(given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--rules", type=int, default=0, help="rules that are told at a moment")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        vault = Path(directory) / "vault"
        with filled(vault, arguments.records) as memory:
            for number in range(arguments.rules):
                memory.store(f"Rule {number}", kind="instruction", when=[f"Bash(make x{number}*)"])
            memory.rebuild()  # With a vector for each, as a vault in use has them.
        os.environ["XDG_STATE_HOME"] = directory
        runs = {"bare": [sys.executable, "-c", BARE]}
        for event in (
            "session-start",
            "prompt-submit",
            "pre-tool",
            "post-tool",
            "stop",
            "session-end",
        ):
            runs[event] = [str(COMMAND), "--vault", str(vault), "hook", event]
        turn_by_turn(runs, arguments.rounds, said)
        log = Path(directory) / "commonplace" / "hooks.log"
        assert not log.exists(), log.read_text()


if __name__ == "__main__":
    main()
