"""`python -m commonplace`, and what the installed command runs."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

UNTIL_COLLECTED = 50_000


def main() -> None:
    # What a short command makes lives as long as it does: looking for rubbish finds none, and
    # takes longer than a search.
    gc.set_threshold(UNTIL_COLLECTED)
    words = sys.argv[1:]
    # Clients run hooks many times a day and wait for each: no parser is built for one.
    if "hook" in words and "--help" not in words and "-h" not in words:
        from commonplace.doors.hooks.main import is_hook
        from commonplace.doors.hooks.main import main as answer

        if is_hook(words):
            # Whatever a thread still does, the client does not wait for it.
            os._exit(answer(words))
    from commonplace.doors.cli.main import main as run

    end(run(words))


def end(code: int) -> NoReturn:
    """Leave at once where no thread can be left: taking down the interpreter is a tenth of a wait.

    Everything is closed and written by then but for what stands in the buffers of the streams.
    """
    if "threading" in sys.modules:
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
