"""Carry a plan out: every file whole or not at all, with its mode kept and a receipt first."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import msgspec

from commonplace.doors.setup.config_files import Kind, containers, server_of, switched
from commonplace.doors.setup.plan import (
    FileChange,
    SetupPlan,
    SetupReceipt,
    receipt,
    text_of,
    without_us,
)
from commonplace.model.clock import Clock
from commonplace.model.errors import CommonplaceError, Conflict, Refused, VaultTrouble
from commonplace.storage import machine_files
from commonplace.storage.locks import Lock

NEW = 0o600
NEW_FOR_ALL = 0o644
"""Of a new file; of the other, umask takes what others may not do in this project."""
LOCK = "lock"
"""The vault's own."""
LOCK_SECONDS = 10.0


def set_up(plan: SetupPlan, *, state: Path) -> None:
    """Write what a plan says. The receipts come first: a kill in between loses nothing."""
    with _alone(plan, state):
        kept = load(state, plan.client)
        fresh = {change.path: _receipt(change, kept.get(change.path)) for change in plan.changes}
        _keep(state, plan.client, kept | fresh)
        try:
            _write_all(plan.changes)
        except CommonplaceError:
            _keep(state, plan.client, kept)
            raise


def take_back(plan: SetupPlan, *, state: Path, undone: Iterable[Path]) -> None:
    """Write what undoing says and forget the receipts of those files."""
    with _alone(plan, state):
        kept = load(state, plan.client)
        _write_all(plan.changes)
        gone = {path: kept.pop(path) for path in undone if path in kept}
        _keep(state, plan.client, kept)
        made = {Path(name) for each in gone.values() for name in each.made}
        for directory in sorted(made, key=lambda path: len(path.parts), reverse=True):
            # Somebody else's file may be in it by now.
            with suppress(OSError):
                directory.rmdir()


@contextmanager
def _alone(plan: SetupPlan, state: Path) -> Iterator[None]:
    """Keep every other setup and unsetup of the vault out, and check the plan before and inside."""
    _check(plan)
    machine_files.make_private(state)
    lock = Lock(state / LOCK, seconds=LOCK_SECONDS, clock=Clock())
    try:
        with lock.held():
            _check(plan)
            yield
    finally:
        lock.close()


def _receipt(change: FileChange, earlier: SetupReceipt | None) -> SetupReceipt:
    """The receipt of a change, back to what was there before any earlier setup."""
    before, made = change.before, _missing(change.path)
    if earlier and before is not None:
        before = without_us(before, change.shape, earlier)
        made = earlier.made
    after = change.after or ""
    keys = tuple(_keys(change, earlier))
    done = tuple(switched(change.shape, before or "", after, each) for each in keys)
    above = tuple(each[:-1] for each in keys if each[:-1])
    return receipt(
        before,
        after,
        kind=change.shape.kind,
        made=made,
        switched=done,
        containers=containers(change.shape, before or "", also=above),
        server=server_of(change.shape, before or ""),
    )


def _keys(change: FileChange, earlier: SetupReceipt | None) -> Iterable[tuple[str, ...]]:
    """The values that were switched, by this change or before it."""
    before = [each.keys for each in earlier.switched] if earlier else []
    return dict.fromkeys([*before, *(each.keys for each in change.switches)])


def _missing(path: Path) -> tuple[str, ...]:
    """The directories above a file that are not there yet."""
    return tuple(str(above) for above in path.parents if not above.exists())


def load(state: Path, client: str) -> dict[Path, SetupReceipt]:
    """The receipts of a client, by file."""
    try:
        data = machine_files.read(str(_receipts_file(state, client)), depth=2)
    except FileNotFoundError:
        return {}
    kept = msgspec.json.decode(data, type=dict[str, SetupReceipt])
    return {Path(path): each for path, each in kept.items()}


def receipts_in(state: Path, client: str, project: Path | None) -> dict[Path, SetupReceipt]:
    """The receipts of a client in one project when one is named, else all of them."""
    real, kept = project and project.resolve(), load(state, client)
    return {path: each for path, each in kept.items() if not real or real in path.parents}


def _receipts_file(state: Path, client: str) -> Path:
    return state / "setup" / f"{client}.json"


def _keep(state: Path, client: str, kept: Mapping[Path, SetupReceipt]) -> None:
    path = _receipts_file(state, client)
    try:
        if kept:
            machine_files.make_directory(str(path.parent))
            data = {str(each): asdict(told) for each, told in kept.items()}
            text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
            machine_files.write(str(path), text.encode(), depth=2, durable=True)
        else:
            with suppress(FileNotFoundError):
                machine_files.remove(str(path), depth=2)
            with suppress(OSError):
                path.parent.rmdir()
    except OSError as error:
        raise _trouble(path, error) from None


def _check(plan: SetupPlan) -> None:
    """Fail before the first write, when one of them could not be done."""
    for change in plan.changes:
        _check_unchanged(change.path, change.before)
        if not _writable(change.path):
            raise Refused(
                f"{change.path} is read-only. Nothing was changed.",
                next_step="Make it writable, or change it by hand as the diff says.",
            )


def _check_unchanged(path: Path, before: str | None) -> None:
    if text_of(path) != before:
        raise Conflict(
            f"{path} changed meanwhile. Nothing was changed.",
            next_step="Look at the new diff: run this again.",
        )


def _writable(path: Path) -> bool:
    there = next(each for each in (path, *path.parents) if each.exists())
    # The mode is asked as well: to root every file is writable, even one that is marked otherwise.
    return bool(there.stat().st_mode & 0o200) and os.access(there, os.W_OK)


def _write_all(changes: tuple[FileChange, ...]) -> None:
    """Write each change; after a failure put back what was written."""
    done: list[FileChange] = []
    for change in changes:
        try:
            _set(change.path, change.after, before=change.before, new=_new(change))
        except (OSError, Conflict) as error:
            for earlier in reversed(done):
                with suppress(OSError, Conflict):
                    _set(earlier.path, earlier.before, before=earlier.after)
            raise _trouble(change.path, error) if isinstance(error, OSError) else error from None
        done.append(change)


def _new(change: FileChange) -> int:
    """The mode of a file where there is none yet. Prose is for all who work on a project; what
    starts a server may hold a password.
    """
    return NEW_FOR_ALL if change.shape.kind == Kind.BLOCK else NEW


def _set(path: Path, text: str | None, *, before: str | None, new: int = NEW) -> None:
    """FileChange a file that still says what it said before; a client may save it at any time."""
    if text is None:
        _check_unchanged(path, before)
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(path, text, new=new, ready=lambda: _check_unchanged(path, before))


def _write(path: Path, text: str, *, new: int, ready: Callable[[], None]) -> None:
    """Replace a file in one step; its mode stays. `ready` is called right before."""
    mode = path.stat().st_mode & 0o7777 if path.exists() else None
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, new if mode is None else NEW), "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        ready()
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _trouble(path: Path, error: OSError) -> VaultTrouble:
    return VaultTrouble(
        f"{path} cannot be written: {(error.strerror or str(error)).lower()}. Nothing was changed.",
        next_step="Mend that and run this again.",
    )
