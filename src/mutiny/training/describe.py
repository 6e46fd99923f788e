"""Code as text, so that a stored result can tell whether the code that made it has changed."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from torch import nn

Described = dict[str, Any]


def describe(thing: Any) -> Any:
    """What identifies a function, class or object across runs: names, source and simple values, never addresses.

    >>> import math
    >>> describe(functools.partial(math.pow, 2.0))
    {'partial': {'name': 'math.pow'}, 'args': [2.0], 'keywords': {}}
    """
    if thing is None or isinstance(thing, (bool, int, float, str)):
        return thing
    if isinstance(thing, (tuple, list)):
        return [describe(each) for each in thing]
    if isinstance(thing, dict):
        return {str(key): describe(value) for key, value in sorted(thing.items(), key=lambda pair: str(pair[0]))}
    if isinstance(thing, functools.partial):
        return {"partial": describe(thing.func), "args": describe(thing.args), "keywords": describe(thing.keywords)}
    if inspect.ismethod(thing):
        return {"method": describe(thing.__func__), "of": describe(thing.__self__)}
    if inspect.isclass(thing) or inspect.isroutine(thing):
        return _code(thing)
    simple = {key: value for key, value in getattr(thing, "__dict__", {}).items() if _simple(value)}
    return {"object": _code(type(thing)), "values": describe(simple)}


def describe_network(model: nn.Module) -> Described:
    """Layers, shapes and types of a network, and the source of its classes that are not torch's."""
    kinds = {type(module) for module in model.modules()}
    own = [kind for kind in kinds if not kind.__module__.startswith("torch.")]
    return {
        "layers": repr(model),
        "state": {key: [str(value.dtype), list(value.shape)] for key, value in model.state_dict().items()},
        "classes": sorted((_code(kind) for kind in own), key=str),
    }


def _code(thing: Any) -> Described:
    described: Described = {"name": f"{thing.__module__}.{thing.__qualname__}"}
    try:
        described["source"] = inspect.getsource(thing)
    except (OSError, TypeError):  # built in, or typed at a prompt
        code = getattr(thing, "__code__", None)
        if code is not None:
            described["code"] = [code.co_code.hex(), [repr(value) for value in code.co_consts if _simple(value)]]
    captured = [cell.cell_contents for cell in getattr(thing, "__closure__", None) or () if _filled(cell)]
    values = [value for value in captured if _simple(value)]
    return {**described, "captured": describe(values)} if values else described


def _simple(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_simple, value))
    return value is None or isinstance(value, (bool, int, float, str))


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  reading it is the test
    except ValueError:
        return False
    return True
