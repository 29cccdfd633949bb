"""What stood where setup wrote, kept so that unsetup can bring back the exact bytes.

It does not know clients or formats. Only the part of a file that setup replaced is kept: the rest
of such files holds other people's keys, and those have no business in a vault's state.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from commonplace.doors.setup.config_files import Kind
from commonplace.storage import machine_files


@dataclass(frozen=True)
class Receipt:
    """One file: how to get from the text after setup to the one before."""

    kind: Kind
    there: bool
    after: str
    start: int = 0
    end: int = 0
    old: str = ""
    made: tuple[str, ...] = ()

    def fits(self, text: str) -> bool:
        """Whether the text is the one that setup wrote."""
        return _digest(text) == self.after

    def previous(self, text: str) -> str | None:
        """What the file said before; None when it was not there."""
        return text[: self.start] + self.old + text[self.end :] if self.there else None


def receipt(before: str | None, after: str, *, kind: Kind, made: tuple[str, ...] = ()) -> Receipt:
    """The receipt of one change."""
    if before is None:
        return Receipt(kind, False, _digest(after), made=made)
    start = len(os.path.commonprefix([before, after]))
    rest = min(len(before), len(after)) - start
    same = len(os.path.commonprefix([before[::-1][:rest], after[::-1][:rest]]))
    end, old = len(after) - same, before[start : len(before) - same]
    return Receipt(kind, True, _digest(after), start, end, old, made)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def load(state: Path, client: str) -> dict[Path, Receipt]:
    """The receipts of a client, by file."""
    try:
        kept = json.loads(machine_files.read(str(file(state, client)), depth=2))
    except FileNotFoundError:
        return {}
    return {
        Path(path): Receipt(**{**entry, "kind": Kind(entry["kind"]), "made": tuple(entry["made"])})
        for path, entry in kept.items()
    }


def serialised(receipts: Mapping[Path, Receipt]) -> str:
    data = {str(path): asdict(each) for path, each in receipts.items()}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def file(state: Path, client: str) -> Path:
    return state / "setup" / f"{client}.json"
