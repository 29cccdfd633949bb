"""Commonplace: persistent memory for AI agents, kept as markdown.

`Memory` is what a program holds. Names are loaded when they are first used, so that a light
command does not pay for a heavy one.
"""

from __future__ import annotations

from commonplace.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from commonplace.clock import Clock
    from commonplace.config import Options
    from commonplace.errors import CommonplaceError
    from commonplace.memory import Memory
    from commonplace.records import Hit, Origin, Record, Sensitivity

__all__ = [
    "Clock",
    "CommonplaceError",
    "Hit",
    "Memory",
    "Options",
    "Origin",
    "Record",
    "Sensitivity",
]

_HOMES = {
    "Clock": "clock",
    "CommonplaceError": "errors",
    "Hit": "records",
    "Memory": "memory",
    "Options": "config",
    "Origin": "records",
    "Record": "records",
    "Sensitivity": "records",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
