"""Source, bytecode and instructions of functions and classes. Reading them takes long, so each is read once."""

from __future__ import annotations

import dis
import functools
import inspect
import types
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


def _once_for_each(compute: Callable[[Any], T]) -> Callable[[Any], T]:
    """Remembers values by identity, as long as the argument lives; equal code may have other source."""
    known: dict[int, tuple[weakref.ref[Any], T]] = {}

    @functools.wraps(compute)
    def remembered(thing: Any) -> T:
        key = id(thing)
        if key not in known or known[key][0]() is not thing:
            known[key] = weakref.ref(thing, lambda _: known.pop(key, None)), compute(thing)
        return known[key][1]

    return remembered


@_once_for_each
def source_of(thing: Any) -> str | None:
    """Source of a function or class as it was when first asked for; ``None`` if there is none.

    >>> source_of(source_of.__wrapped__).splitlines()[1]
    'def source_of(thing: Any) -> str | None:'
    """
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError, IndexError, SyntaxError):  # generated, typed at a prompt, or no longer there
        return None


class Read(NamedTuple):
    """A name that code reads.

    Attributes:
        kind: ``"global"``, ``"attribute"`` of what was read before, or ``"other"``, which ends a chain of attributes.
        name: The name; empty for others.
    """

    kind: str
    name: str = ""


@_once_for_each
def names_read(code: types.CodeType) -> tuple[Read, ...]:
    """Global names and attributes that the code reads, in its order, without those of functions inside it.

    >>> [read for read in names_read((lambda: dis.opname).__code__) if read.kind != "other"]
    [Read(kind='global', name='dis'), Read(kind='attribute', name='opname')]
    """
    reads: list[Read] = []
    for step in dis.get_instructions(code):
        if step.opname in _GLOBALS:
            reads.append(Read("global", step.argval))
        elif step.opname in _ATTRIBUTES:
            reads.append(Read("attribute", step.argval))
        elif step.opname != "EXTENDED_ARG" and (
            not reads or reads[-1].kind != "other"
        ):  # that belongs to the next step
            reads.append(Read("other"))
    return tuple(reads)


@_once_for_each
def code_text(code: types.CodeType) -> str:
    """Bytecode, names and constants as text, without line numbers and file names."""
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return "\n".join([code.co_code.hex(), repr(names), *map(_constant_text, code.co_consts)])


def _constant_text(constant: Any) -> str:
    if isinstance(constant, types.CodeType):
        return code_text(constant)
    if isinstance(constant, (tuple, frozenset)):
        texts = [_constant_text(each) for each in constant]
        return repr(sorted(texts) if isinstance(constant, frozenset) else texts)
    return repr(constant)
