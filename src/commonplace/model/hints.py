"""The names of `typing` and `enum` that our modules use, without the price of what is behind them.

Importing `typing` and making its protocols takes longer than a search does, and hooks and shells
pay that on every call. Nobody but a type checker asks what most of these names mean, so that at
run time they can be next to nothing. It knows nothing of what is typed.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    import os
    from enum import StrEnum as StrEnum
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
    try:
        from _collections import _tuplegetter as _getter
    except ImportError:
        from operator import itemgetter

        def _getter(place, _):
            return property(itemgetter(place))

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

    class _Listed(type):
        def __iter__(cls):
            return (value for name, value in vars(cls).items() if name.isupper())

        def __call__(cls, value):
            if value not in tuple(cls):
                raise ValueError(f"{value!r} is no {cls.__name__}")
            return value

    class StrEnum(metaclass=_Listed):
        """Names for the few words that something may be; at run time each is just that word."""

    class _Named(type):
        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            names = tuple(body.pop("__annotations__"))
            defaults = {each: body.pop(each) for each in names if each in body}
            fields = {each: _getter(place, each) for place, each in enumerate(names)}
            made = type(name, (_Tuple,), {"__slots__": (), **fields, **body})
            made._fields = made.__match_args__ = names
            made.__new__ = _first(made, defaults)
            return made

    class _Tuple(tuple):
        __slots__ = ()

        @classmethod
        def _make(cls, values):
            return tuple.__new__(cls, values)

        def _replace(self, **changes):
            return type(self)(**{**dict(zip(self._fields, self)), **changes})

        def __repr__(self):
            parts = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
            return f"{type(self).__name__}({parts})"

        def __getnewargs__(self):
            return tuple(self)

    class NamedTuple(metaclass=_Named):
        """A tuple whose annotated names are its fields."""

    def _first(made, defaults):
        """Makes the first value: of most classes a command makes none, and compiling is dear."""

        def new(cls, *values, **named):
            heads = [f"{each}=_{each}" if each in defaults else each for each in made._fields]
            source = f"lambda cls, {', '.join(heads)}: make(cls, ({', '.join(made._fields)},))"
            given = {f"_{each}": value for each, value in defaults.items()}
            made.__new__ = eval(source, {"make": tuple.__new__, **given})
            return made.__new__(cls, *values, **named)

        return new
