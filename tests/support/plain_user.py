"""Running Python as somebody whom the modes of files hold back, though the tests run as root."""

from __future__ import annotations

import os
import subprocess
import sys

HELD_BACK = """
import ctypes, os, sys
drop_capability, override_modes = 24, (1, 2)
for capability in override_modes:  # root heeds the modes of files without these
    ctypes.CDLL(None).prctl(drop_capability, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def as_plain_user(
    *words: str, said: str | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments and this on its input."""
    return subprocess.run(
        [sys.executable, "-c", HELD_BACK, *words],
        input=said,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **environ},
    )
