"""`python -m commonplace`, and what the installed command runs."""

from __future__ import annotations

import gc
import os
import sys

UNTIL_COLLECTED = 50_000


def main() -> None:
    # What a short command makes lives as long as it does: looking for rubbish finds none, and
    # takes longer than a search.
    gc.set_threshold(UNTIL_COLLECTED)
    words = sys.argv[1:]
    # Clients run hooks many times a day and wait for each: no parser is built for one.
    if "hook" in words and "--help" not in words and "-h" not in words:
        from commonplace.doors.hooks import is_hook
        from commonplace.doors.hooks import main as answer

        if is_hook(words):
            # Nothing is left to write, and taking down the interpreter is a tenth of the wait.
            os._exit(answer(words))
    from commonplace.doors.cli import main as run

    sys.exit(run(words))


if __name__ == "__main__":
    main()
