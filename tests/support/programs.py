"""Programs that some tests need and pip does not bring: found, or installed first in CI.

It knows Debian's names of packages, not what the programs are for.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.support.skips import unavailable

LOCK = Path(tempfile.gettempdir()) / "commonplace-tests-install.lock"


def needed(*names: str, package: str) -> str:
    """The path of a program by any of its names. In CI a test without it fails, and is not skipped.

    CI installs what is missing.
    """
    if "CI" in os.environ and not _found(names):
        _install(names, package)
    return _found(names) or unavailable(
        f"there is no {names[0]} here", get=f"apt-get install {package}"
    )


def _found(names: tuple[str, ...]) -> str:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    return next((found for name in names if (found := shutil.which(name, path=path))), "")


def _install(names: tuple[str, ...], package: str) -> None:
    """One at a time: the tests run in several processes, and apt lets in one of them."""
    if not shutil.which("apt-get"):
        return
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _found(names) and subprocess.run(_apt("install", package), check=False).returncode:
            subprocess.run(_apt("update"), check=False)
            subprocess.run(_apt("install", package), check=False)


def _apt(*words: str) -> list[str]:
    return ["apt-get", "-y", "-q", "-o", "DPkg::Lock::Timeout=300", *words]
