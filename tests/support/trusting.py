"""What a person does by hand before a vault's own files may set what could do harm."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from commonplace.storage.option_files import vault_files
from commonplace.storage.trusted import trust

AT = "2026-11-17T23:00:00.000Z"


def trust_as_it_is(root: Path, environ: Mapping[str, str] = os.environ) -> None:
    """Trust a vault with what its files set now."""
    trust(root, keys=vault_files(root, environ).keys, at=AT, environ=environ)
