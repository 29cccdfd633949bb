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

import pytest

LOCK = Path(tempfile.gettempdir()) / "commonplace-tests-install.lock"


def needed(*names: str, package: str) -> str:
    """The path of a program by any of its names. In CI a test without it fails, and is not skipped.

    CI installs what is missing.
    """
    in_ci = "CI" in os.environ
    if in_ci and not _found(names):
        _install(names, package)
    found = _found(names)
    if not found:
        unavailable = pytest.fail if in_ci else pytest.skip
        unavailable(f"there is no {names[0]} here (apt-get install {package})")
    return found


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
