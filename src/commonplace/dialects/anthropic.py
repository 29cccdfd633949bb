"""Anthropic's memory tool, `memory_20250818`: six commands on a `/memories` view of the vault.

It knows the wording that Claude was taught, and how a path becomes a document's name; the files
behind it are the vault's.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import unquote

from commonplace.dialects import Answer, Argument, Parameter, Tool, pages
from commonplace.errors import (
    BadInput,
    BadName,
    BadValue,
    CommonplaceError,
    Conflict,
    MissingExtra,
    NoSuchDocument,
    NotFound,
    WouldLose,
)
from commonplace.layouts import check_name
from commonplace.memory import Document, Memory

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAbstractMemoryTool

ROOT = "/memories"
MOST_LINES = 999_999
AROUND = 2
"""Lines shown on either side of a change."""
EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")

