"""Modules and patterns made when they are first used: a search need not pay for what a write needs.

It knows names, not what the modules and patterns are for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any


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


if TYPE_CHECKING:
    pattern = re.compile
else:

    class pattern:  # noqa: N801
        """Stands for a regular expression until a text is held against it.

        Compiling one takes as long as reading ten records; most commands need few of ours.
        """

        def __init__(self, pattern: str, flags: int = 0) -> None:
            self.pattern, self.flags = pattern, flags

        def __getattr__(self, attribute: str) -> Any:
            value = getattr(re.compile(self.pattern, self.flags), attribute)
            setattr(self, attribute, value)
            return value
