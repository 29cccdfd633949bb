"""The names of `typing` that our modules use, without the price of importing it.

Importing `typing` and making its protocols takes longer than a search does, and hooks and shells
pay that on every call. Nobody but a type checker asks what most of these names mean, so that at
run time they can be next to nothing. It knows nothing of what is typed.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    import os
    from typing import IO as IO
    from typing import Annotated as Annotated
    from typing import Any as Any
    from typing import BinaryIO as BinaryIO
    from typing import Literal as Literal
    from typing import NamedTuple as NamedTuple
    from typing import NoReturn as NoReturn
    from typing import Protocol as Protocol
    from typing import TextIO as TextIO
    from typing import TypeVar as TypeVar
    from typing import cast as cast
    from typing import dataclass_transform as dataclass_transform

    StrPath = str | os.PathLike[str]
else:
    from collections import namedtuple

    IO = list
    Any = BinaryIO = NoReturn = Protocol = StrPath = TextIO = object

    def TypeVar(name: str) -> str:  # noqa: N802
        return name

    def dataclass_transform(**_):
        return lambda decorator: decorator

    def cast(kind, value):
        return value

    class Annotated:
        """A type and what is said of it, as a pair."""

        def __class_getitem__(cls, pair):
            return pair

    class Literal(tuple):
        """The values that are allowed."""

        def __class_getitem__(cls, values):
            return cls(values if isinstance(values, tuple) else (values,))

    class _Named(type):
        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            names = body.pop("__annotations__")
            defaults = [body.pop(each) for each in names if each in body]
            made = namedtuple(name, names, defaults=defaults)
            return type(name, (made,), {"__slots__": (), **body})

    class NamedTuple(metaclass=_Named):
        """A tuple whose annotated names are its fields."""
