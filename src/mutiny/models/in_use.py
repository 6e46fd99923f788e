"""Models in use: one call at a time works with a model, because faults are applied in place."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any, Self

from torch import nn

from mutiny.core.claims import Claim, entered

DEPTH, MOST = 4, 1000
"""Levels of containers, closures and records in which models are looked for, and entries of each container."""


def in_use(*values: Any) -> Claim:
    """A claim on models: while it is entered, calls of mutiny in other threads wait if they need one of these models.

    Models are the same if they have a module, a parameter, a buffer or the memory of one in common. So a wrapper and
    what it wraps count as one model, as do networks with tied weights.

    Args:
        values: Models, and containers, records and functions that hold some; everything else is ignored.

    >>> net = nn.Linear(2, 2)
    >>> with in_use(nn.Sequential(net)):
    ...     with in_use(net):  # the same thread may use it
    ...         pass
    """
    return ModelClaim({id(model): model for model in _models(values, DEPTH)}.values())


class ModelClaim(Claim):
    """A claim on models.

    Args:
        models: The models.

    Attributes:
        parts: Keys of each model, by its identity.
    """

    parts: dict[int, frozenset[Hashable]]

    def __init__(self, models: Iterable[nn.Module]) -> None:
        self.models = tuple(models)
        super().__init__(name="model", value=", ".join(dict.fromkeys(type(model).__name__ for model in self.models)))
        self._identify()

    def __enter__(self) -> Self:
        super().__enter__()
        while self.waited and {id(model): _keys(model) for model in self.models} != self.parts:
            super().__exit__()  # the thread before had put a weight elsewhere for a while
            self._identify()
            super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.models, self.parts = (), {}

    def _identify(self) -> None:
        known = {key: part for claim in entered() if isinstance(claim, ModelClaim) for key, part in claim.parts.items()}
        self.parts = {id(model): known.get(id(model)) or _keys(model) for model in self.models}
        self._fresh = not self.parts.keys() <= known.keys()
        self.keys = frozenset().union(*self.parts.values())
        if self._fresh:  # else the claim outside keeps them alive
            self.objects = tuple(module for model in self.models for module in model.modules())


def _keys(model: nn.Module) -> frozenset[Hashable]:
    """Identities of all modules, parameters and buffers, and where their memory is."""
    keys: set[Hashable] = {id(module) for module in model.modules()}
    for tensor in (*model.parameters(), *model.buffers()):
        keys.add(id(tensor))
        with suppress(RuntimeError, NotImplementedError, ValueError):  # tensors without memory, such as lazy ones
            memory = tensor.untyped_storage()
            if memory.data_ptr():
                keys.add((str(memory.device), memory.data_ptr()))
    return frozenset(keys)


def _models(value: Any, depth: int) -> Iterator[nn.Module]:
    """The models in a value, and in what it holds."""
    if isinstance(value, nn.Module):
        yield value
    elif depth:
        for held in _held(value):
            yield from _models(held, depth - 1)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that has no value yet
        return None


def _held(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return [*value.values()][:MOST]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [*value][:MOST]
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, MethodType):
        return [value.__self__]
    if isinstance(value, FunctionType):
        return [_content(cell) for cell in value.__closure__ or ()]
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name, None) for field in fields(value)]
    return ()
