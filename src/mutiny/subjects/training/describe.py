"""Descriptions of code and values, by which a stored result is recognized as outdated when they change.

The same definition has the same description in every process: no addresses, no order of sets, no times.
"""

from __future__ import annotations

import argparse
import collections
import enum
import functools
import hashlib
import inspect
import json
import re
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.subjects.data import Data
from mutiny.subjects.training.code import code_text, names_read, source_of

Described = dict[str, Any]

MAX_DEPTH = 30
"""Levels of nesting that are described; values below are described by their type only."""

LONG = 100
"""Number of entries from which on a container is described by a digest."""

_CONTAINERS = (tuple, list, collections.deque, set, frozenset, dict, types.MappingProxyType)
_NAMESPACES = (argparse.Namespace, types.SimpleNamespace)
_BY_REPR = (complex, range, slice, torch.dtype, torch.device, np.dtype, type(Ellipsis), type(NotImplemented))
_LIBRARIES = {"torch", "torchvision", "torchaudio", "numpy", "scipy", "sklearn", "builtins"}
_STDLIB = {sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib")}
_OF_EVERY_MODULE = frozenset(vars(nn.Module()))


def describe(thing: Any) -> Any:
    """Description of a value, function, class or object as plain values that identify it across runs.

    Tensors and arrays count by content; containers, and objects with attributes, by what they hold. Functions and
    classes count by source and bytecode, defaults, captured variables, and the global names they use, followed into
    modules that are neither installed nor part of Python; of installed ones, name, version and bytecode count. What has
    no describable content, such as an open file, counts by its type. Modules imported inside a
    function, and names that are looked up as text, are not tracked.

    >>> import math
    >>> describe(functools.partial(math.pow, 2.0))
    {'partial': {'name': 'math.pow'}, 'args': [2.0], 'keywords': {}}
    """
    return _Describer().describe(thing)


def describe_network(model: nn.Module) -> Described:
    """Layers, weights, attributes and trainable parameters of a network, and the code of its classes."""
    return _Describer().network(model)


class _Describer:
    """Builds one description, in which each function, class and object is described once."""

    def __init__(self) -> None:
        self.seen: dict[int, Any] = {}  # by address; holding the values prevents reuse of addresses
        self.inside: list[int] = []  # addresses of the values being described

    def describe(self, thing: Any) -> Any:
        if len(self.inside) > MAX_DEPTH or (isinstance(thing, _CONTAINERS) and id(thing) in self.inside):
            return {"type": _name(type(thing))}
        self.inside.append(id(thing))
        try:
            return self._describe(thing)
        finally:
            self.inside.pop()

    def apart(self, thing: Any) -> Any:
        """Description by a copy of this describer, so that the order of set members does not matter."""
        other = _Describer()
        other.seen, other.inside = dict(self.seen), list(self.inside)
        return other.describe(thing)

    def _describe(self, thing: Any) -> Any:
        if isinstance(thing, enum.Enum):
            return {"enum": _name(type(thing)), "value": self.describe(thing.value)}
        if thing is None or isinstance(thing, (bool, int, float, str)):
            return thing
        if isinstance(thing, (bytes, bytearray, memoryview)):
            return {"bytes": _sha(bytes(thing))}
        if isinstance(thing, (Tensor, np.ndarray, np.generic)):
            return self.array(thing)
        if isinstance(thing, (tuple, list, collections.deque)):
            return _short([self.describe(each) for each in thing])
        if isinstance(thing, (set, frozenset)):
            return {"set": _short(sorted((self.apart(each) for each in thing), key=_text))}
        if isinstance(thing, (dict, types.MappingProxyType)):
            return self.mapping(thing.items())
        if isinstance(thing, PurePath):
            return {"path": str(thing)}
        if isinstance(thing, _BY_REPR):
            return {"value": repr(thing)}
        if isinstance(thing, torch.Generator):
            return {"generator": "default" if thing is torch.default_generator else thing.initial_seed()}
        if isinstance(thing, Data):
            return {"data": thing.fingerprint()}
        if isinstance(thing, functools.partial):
            keywords = self.describe(thing.keywords)
            return {"partial": self.describe(thing.func), "args": self.describe(thing.args), "keywords": keywords}
        if inspect.ismethod(thing):
            return {"method": self.describe(thing.__func__), "of": self.describe(thing.__self__)}
        if inspect.ismodule(thing):
            return {"module": thing.__name__, **_version(thing.__name__)}
        return self.once(thing)

    def once(self, thing: Any) -> Any:
        kind = thing if inspect.isclass(thing) or inspect.isroutine(thing) else type(thing)
        if id(thing) in self.seen:
            return {"again": _name(kind)}
        self.seen[id(thing)] = thing
        if inspect.isclass(thing):
            return self.type(thing)
        if inspect.isroutine(thing):
            return self.function(thing)
        if isinstance(thing, nn.Module):
            return self.network(thing)
        return self.object(thing)

    def array(self, thing: Any) -> Described:
        if not isinstance(thing, Tensor):
            if thing.dtype.hasobject:
                return {"array": str(thing.dtype), "shape": list(thing.shape), "values": self.describe(thing.tolist())}
            content = np.ascontiguousarray(thing).reshape(-1)
            return {"array": thing.dtype.str, "shape": list(thing.shape), "digest": _sha(content.view(np.uint8).data)}
        try:
            dense = thing.detach().to_dense() if thing.layout != torch.strided else thing.detach()
            dense = (dense.dequantize() if dense.is_quantized else dense).resolve_conj().resolve_neg().cpu()
            bits = dense.contiguous().reshape(-1).view(torch.uint8).numpy()
            return {"tensor": str(thing.dtype), "shape": list(thing.shape), "digest": _sha(bits.data)}
        except (RuntimeError, NotImplementedError, TypeError, ValueError):  # not yet initialized, or without memory
            return {"type": _name(type(thing)), "tensor": str(thing.dtype)}

    def mapping(self, pairs: Iterable[tuple[Any, Any]]) -> Any:
        named = {key if isinstance(key, str) else f"key {_text(self.apart(key))}": value for key, value in pairs}
        return _short({key: self.describe(value) for key, value in sorted(named.items(), key=lambda pair: pair[0])})

    def object(self, thing: Any) -> Described:
        kind = type(thing)
        if _standard(kind) and not isinstance(thing, _NAMESPACES):
            wrapped = getattr(thing, "__wrapped__", None)
            return {"type": _name(kind)} if wrapped is None else {"type": _name(kind), "of": self.describe(wrapped)}
        return {"object": self.describe(kind), "values": self.mapping(_attributes(thing))}

    def network(self, model: nn.Module) -> Described:
        self.seen[id(model)] = model
        content = {**model.state_dict(), **dict(model.named_buffers())}
        values = {
            name: self.mapping((key, value) for key, value in _attributes(module) if key not in _OF_EVERY_MODULE)
            for name, module in model.named_modules()
        }
        return {
            "layers": re.sub(" at 0x[0-9a-fA-F]+", "", repr(model)),
            "state": {key: self.describe(value) for key, value in content.items()},
            "trainable": _short([name for name, parameter in model.named_parameters() if parameter.requires_grad]),
            "values": {name: described for name, described in values.items() if described},
            "classes": [self.describe(kind) for kind in dict.fromkeys(type(module) for module in model.modules())],
        }

    def function(self, thing: Any) -> Described:
        described: Described = {"name": _name(thing)}
        if not isinstance(thing, types.FunctionType):
            for key in ("__wrapped__", "__self__"):  # a cached function; a method of a built-in object
                inner = getattr(thing, key, None)
                if inner is not None and not inspect.ismodule(inner):
                    described[key.strip("_")] = self.describe(inner)
            return described
        described |= self.source(thing, _followed(thing)) | {"code": _sha(code_text(thing.__code__).encode())}
        defaults = [*(thing.__defaults__ or ()), *sorted((thing.__kwdefaults__ or {}).items())]
        cells = zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=False)
        captured = {name: cell.cell_contents for name, cell in cells if _filled(cell)}
        used = dict(_globals_used(thing.__code__, thing.__globals__)) if _followed(thing) else {}
        for key, values in (("defaults", defaults), ("captured", captured), ("uses", used)):
            if values:
                described[key] = self.describe(values)
        return described

    def type(self, kind: Any) -> Described:
        described: Described = {"name": _name(kind)}
        if _standard(kind) or _top(kind.__module__) in _LIBRARIES:
            return described | _version(kind.__module__)
        if not _followed(kind):
            codes = [code_text(f.__code__) for _, value in sorted(vars(kind).items()) for f in _functions(value)]
            return described | _version(kind.__module__) | {"code": _sha("\n".join(codes).encode())}
        members: Described = {}
        for key, value in vars(kind).items():
            functions = _functions(value)
            if functions:
                members[key] = functions
            elif not (key.startswith("__") and key.endswith("__")) and not inspect.isdatadescriptor(value):
                members[key] = value
        bases = [base for base in kind.__bases__ if base is not object]
        return described | self.source(kind, True) | {"bases": self.describe(bases), "members": self.describe(members)}

    def source(self, thing: Any, wanted: bool) -> Described:
        if not wanted:
            return _version(thing.__module__ or "")
        source = source_of(thing)
        return {} if source is None else {"source": source}


def _name(thing: Any) -> str:
    return f"{thing.__module__}.{getattr(thing, '__qualname__', type(thing).__qualname__)}"


def _top(module: str | None) -> str:
    return (module or "builtins").partition(".")[0]


def _version(module: str) -> Described:
    version = getattr(sys.modules.get(_top(module)), "__version__", None)
    return {"version": str(version)} if version is not None and _top(module) not in sys.stdlib_module_names else {}


def _followed(thing: Any) -> bool:
    """Whether a function, class or module is code of the user or of mutiny: neither installed nor part of Python."""
    module = thing.__name__ if inspect.ismodule(thing) else thing.__module__
    if isinstance(thing, types.FunctionType) and not thing.__code__.co_filename.startswith("<"):
        return _users(module, thing.__code__.co_filename)
    return _users(module, getattr(sys.modules.get(module or "builtins"), "__file__", None))


@functools.cache
def _users(module: str | None, file: str | None) -> bool:
    if _top(module) == "mutiny":
        return True
    if _top(module) in _LIBRARIES:
        return False
    if file is None:
        return _top(module) not in sys.stdlib_module_names
    return not ({"site-packages", "dist-packages"} & set(Path(file).parts)) and not _in_stdlib(file)


def _in_stdlib(file: str) -> bool:
    return file.startswith("<frozen") or any(Path(file).is_relative_to(folder) for folder in _STDLIB)


def _standard(kind: type) -> bool:
    """Whether a type is part of Python, such as files, locks and generators, whose content does not affect a result."""
    module = getattr(kind, "__module__", None)
    return _top(module) in sys.stdlib_module_names and not _followed(kind)


def _attributes(thing: Any) -> Iterator[tuple[str, Any]]:
    """Attributes, without cached properties and private attributes of libraries."""
    kind, held = type(thing), dict(getattr(thing, "__dict__", {}))
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for key in [slots] if isinstance(slots, str) else slots:
            if key not in ("__dict__", "__weakref__") and hasattr(thing, key):
                held[key] = getattr(thing, key)
    followed = _followed(kind)
    for key, value in held.items():
        cached = isinstance(inspect.getattr_static(kind, key, None), functools.cached_property)
        if not cached and (followed or not key.startswith("_")):
            yield key, value


def _functions(value: Any) -> list[types.FunctionType]:
    """The functions behind a member of a class: a method, static or class method, or property."""
    if isinstance(value, property):
        candidates: list[Any] = [value.fget, value.fset, value.fdel]
    elif isinstance(value, functools.cached_property):
        candidates = [value.func]
    else:
        candidates = [getattr(value, "__func__", value)]
    return [each for each in candidates if isinstance(each, types.FunctionType)]


def _globals_used(code: types.CodeType, scope: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Global names that the code reads, with their values; for modules of the user, the attributes that it reads."""
    name, value = "", None
    for read in names_read(code):
        if read.kind == "global" and read.name in scope:
            name, value = read.name, scope[read.name]
        elif read.kind == "attribute" and inspect.ismodule(value) and _followed(value):
            name, value = f"{name}.{read.name}", getattr(value, read.name, None)
        else:
            name, value = "", None
            continue
        yield name, value
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _globals_used(constant, scope)


def _short(described: Any) -> Any:
    if len(described) < LONG:
        return described
    return {"entries": len(described), "digest": _sha(_text(described).encode())}


def _text(described: Any) -> str:
    return json.dumps(described, sort_keys=True)


def _sha(content: Any) -> str:
    return hashlib.sha256(content).hexdigest()


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  reading it is the test
    except ValueError:
        return False
    return True
