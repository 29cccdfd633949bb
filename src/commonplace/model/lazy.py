"""Modules of ours that are imported when something of them is first asked for.

The facade and the doors name many parts, and one command needs few of them. Elsewhere the import
stands in the function that needs it.
"""

from __future__ import annotations

from typing import Any


def module(name: str) -> Any:
    """A module of ours, as importlib gives it, which would have to be imported itself."""
    return __import__(f"commonplace.{name}", fromlist=["*"])


class Lazy:
    """Stands for a module of ours until something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(module(self._name), attribute)
        setattr(self, attribute, value)
        return value
