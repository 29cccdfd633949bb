"""Moving a tenant from one database to another while its agents go on writing."""

from __future__ import annotations

from functools import partial

from commonplace.doors.admin import migrate
from commonplace.memory import Memory
from commonplace.model.errors import Conflict
from commonplace.postgres.connection import MOVED, READ_ONLY
from commonplace.postgres.tenants import Tenants


def move_tenant(
    tenants: Tenants, name: str, target: str, *, progress: migrate.OnProgress
) -> migrate.Copied | None:
    """Copy a tenant, catch up while it is only read, and switch. None when that was done before.

    Cut off, it goes on where it was when it is called again.
    """
    state = tenants.about(name).state
    if state == MOVED:
        _check_there(tenants, name, target)
        return None
    if state not in ("open", READ_ONLY):
        raise Conflict(
            f"The tenant {name} is {state}.",
            next_step=f"'commonplace tenants URL read-only {name}' lets it be moved.",
        )
    set_state = partial(tenants.set_state, name)
    switch = migrate.CutOver(closing=lambda: set_state(READ_ONLY), closed=lambda: set_state(MOVED))
    return migrate.move(tenants.url_of(name), target, progress=progress, switch=switch)


def _check_there(tenants: Tenants, name: str, target: str) -> None:
    """Refuse a place that the tenant was not moved to."""
    with Memory.open(target) as there:
        _, line = next(there.parts.journal.lines(), (0, b""))
    if line != tenants.beginning(name):
        raise Conflict(
            f"{name} has moved, but not to there. Nothing was changed.",
            next_step="Name the place that it was moved to.",
        )
