"""Modules that are imported when they are first used: a search need not pay for what a write needs.

It knows names, not what the modules are for.
"""

from __future__ import annotations

from typing import Any


class Lazy:
    """Stands for a module of ours until something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        from importlib import import_module

        value = getattr(import_module(f"commonplace.{self._name}"), attribute)
        setattr(self, attribute, value)
        return value
