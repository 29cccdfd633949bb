"""Commonplace: persistent memory for AI agents, kept as markdown.

`Memory` is what a program holds. Names are loaded when they are first used, so that a light
command does not pay for a heavy one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.model.clock import Clock
    from commonplace.model.errors import CommonplaceError
    from commonplace.model.options import Options
    from commonplace.model.records import Hit, Origin, Record, Sensitivity

__version__ = "0.1.0"

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
    "Clock": "model.clock",
    "CommonplaceError": "model.errors",
    "Hit": "model.records",
    "Memory": "memory",
    "Options": "model.options",
    "Origin": "model.records",
    "Record": "model.records",
    "Sensitivity": "model.records",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
