"""`python -m commonplace`, and what the installed command runs."""

from __future__ import annotations

import sys


def main() -> None:
    from commonplace.doors.cli import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()
