"""`python -m commonplace`, and what the installed command runs."""

from __future__ import annotations

import os
import sys


def main() -> None:
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
