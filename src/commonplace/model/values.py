"""Frozen classes with named fields: what dataclasses are, at a price that a cold start can pay.

Importing dataclasses and making thirty of them takes longer than a search does; hooks and shells
pay that on every call. One compiled function a class is enough here. It knows nothing of what the
values mean.
"""

from __future__ import annotations

from operator import attrgetter

from commonplace.model.hints import Any, NoReturn, TypeVar, dataclass_transform

Class = TypeVar("Class")
MISSING = object()
SELDOM = 20
"""Values of a class that are made before it gets a compiled `__init__`."""


class Field:
    """What is said of a field beside its type."""

    def __init__(self, default: Any, default_factory: Any, *, compare: bool, about: Any) -> None:
        self.default = default
        self.default_factory = default_factory
        self.compare = compare
        self.about = about


def field(
    *, default: Any = MISSING, default_factory: Any = None, compare: bool = True, about: Any = None
) -> Any:
    """A field with a default made anew each time, or one that does not count when comparing."""
    return Field(default, default_factory, compare=compare, about=about)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[Class]) -> type[Class]:
    """Make a class whose annotated names are the fields of frozen, comparable values."""
    fields = {name: _field_of(cls, name) for name in cls.__dict__["__annotations__"]}
    for name, each in fields.items():
        if each.default is not MISSING:
            setattr(cls, name, each.default)
        elif name in cls.__dict__:
            delattr(cls, name)
    made: Any = cls
    made.__fields__ = fields
    made.__match_args__ = tuple(fields)  # type: ignore[misc]
    made.__init__ = _first_init(made, fields)
    made.__setattr__ = made.__delattr__ = _refuse
    made.__repr__ = _shown
    made.__eq__ = _equal
    made.__hash__ = _hashed
    compared = [name for name, each in fields.items() if each.compare]
    made._key = property(attrgetter(*compared) if compared else lambda self: ())
    return cls


def fields_of(cls: type) -> dict[str, Field]:
    """The fields of a class of values, in order."""
    found: dict[str, Field] = cls.__fields__  # type: ignore[attr-defined]
    return found


def replace(of: Class, **changes: Any) -> Class:
    """The same value with some fields changed."""
    cls, fields = type(of), fields_of(type(of))
    held = of.__dict__ | changes
    if len(held) > len(fields):
        # It remembers more than its fields say, or a name is wrong, which making one tells.
        return cls(**({name: of.__dict__[name] for name in fields} | changes))
    made = object.__new__(cls)
    made.__dict__.update(held)
    return made


def _field_of(cls: type, name: str) -> Field:
    given = cls.__dict__.get(name, MISSING)
    return given if isinstance(given, Field) else Field(given, None, compare=True, about=None)


def _first_init(made: Any, fields: dict[str, Field]) -> Any:
    """`__init__` of a class of which few were made yet: compiling one takes as long as a hundred.

    What it cannot make of what is given, the compiled one says.
    """
    left = SELDOM

    def plainly(self: Any, *values: Any, **named: Any) -> None:
        nonlocal left
        left -= 1
        given = {**dict(zip(fields, values)), **named}
        doubled = len(given) < len(values) + len(named)
        whole = {n: given.pop(n) if n in given else _default(each) for n, each in fields.items()}
        if left and not doubled and not given and all(v is not MISSING for v in whole.values()):
            self.__dict__.update(whole)
        else:
            made.__init__ = _init(fields)
            made.__init__(self, *values, **named)

    return plainly


def _default(each: Field) -> Any:
    return each.default_factory() if each.default_factory else each.default


def _init(fields: dict[str, Field]) -> Any:
    """`__init__`, compiled: a loop over the fields would cost every value made."""
    arguments = [f"{n}=_{n}" if _has_default(each) else n for n, each in fields.items()]
    stored = [
        f" _['{n}'] = {f'_{n}() if {n} is _{n} else {n}' if each.default_factory else n}"
        for n, each in fields.items()
    ]
    names = {
        f"_{n}": each.default_factory or each.default
        for n, each in fields.items()
        if _has_default(each)
    }
    # One by one: that takes half as long as to make a dictionary of them first.
    head, body = ", ".join(arguments), "\n".join(stored)
    exec(f"def __init__(self, {head}):\n _ = self.__dict__\n{body}", names)
    return names["__init__"]


def _has_default(each: Field) -> bool:
    return each.default is not MISSING or each.default_factory is not None


def _refuse(self: Any, name: str, *_: Any) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} is a value: {name} cannot be changed")


def _shown(self: Any) -> str:
    parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields_of(type(self)))
    return f"{type(self).__name__}({parts})"


def _equal(self: Any, other: Any) -> Any:
    return self._key == other._key if type(other) is type(self) else NotImplemented


def _hashed(self: Any) -> int:
    return hash(self._key)
