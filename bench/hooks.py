"""What a client waits for: cold hooks beside `python3 -c "import json, sqlite3"`, in one run.

python bench/hooks.py [--records 10000] [--rounds 30]
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import commonplace
from core import filled

COMMAND = Path(sys.executable).with_name("commonplace")
MARK = 3
BARE = "import json, sqlite3"


def cost(words: list[str], data: str) -> tuple[float, float]:
    """Seconds of one run: of the processor, and by the clock on the wall."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, input=data.encode(), stdout=subprocess.DEVNULL, check=True)
    waited, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, waited


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    # As pip leaves an installed package.
    compileall.compile_dir(str(Path(commonplace.__file__).parent), quiet=2)
    with tempfile.TemporaryDirectory() as directory:
        vault = Path(directory) / "vault"
        with filled(vault, arguments.records) as memory:
            memory.rebuild()  # With a vector for each, as a vault in use has them.
        os.environ["XDG_STATE_HOME"] = directory
        runs = {"bare": ([sys.executable, "-c", BARE], "")}
        for event in ("session-start", "prompt-submit", "stop", "session-end"):
            runs[event] = ([str(COMMAND), "--vault", str(vault), "hook", event], "")
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for number in range(arguments.rounds):
            given = {
                "session_id": f"s{number}",
                "prompt_id": f"p{number}",
                "prompt": f"what about the gast of item{number}?",
                "source": "startup",
                "last_assistant_message": f"It is item{number}.",
                "transcript_path": "",
            }
            for name, (words, _) in runs.items():
                found[name].append(cost(words, json.dumps(given)))
        log = Path(directory) / "commonplace" / "hooks.log"
        assert not log.exists(), log.read_text()
    bare_used, bare_waited = (min(each) for each in zip(*found["bare"]))
    for name, times in found.items():
        used, waited = (min(each) for each in zip(*times))
        print(
            f"{name:>14}: processor {used * 1e3:6.1f} ms, {used / bare_used:4.2f} x; "
            f"waited {waited * 1e3:6.1f} ms, {waited / bare_waited:4.2f} x (mark {MARK} x)"
        )


if __name__ == "__main__":
    main()
