"""Functions over all tensors in a model's inputs, which are a tensor or nested tuples, lists and dicts of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mutiny.core.errors import BadInput


def map_leaves(function: Callable[..., Any], nested: Any, *others: Any) -> Any:
    """The same structure with ``function`` applied to everything that is not a tuple, list or mapping.

    With ``others``, structures of the same form, ``function`` gets the values at the same place in all of them.

    >>> map_leaves(lambda value: value * 2, {"a": 1, "b": (2, 3)})
    {'a': 2, 'b': (4, 6)}
    >>> map_leaves(max, (1, [5]), (2, [4]))
    (2, [5])
    """
    if isinstance(nested, Mapping):
        return {key: map_leaves(function, value, *(other[key] for other in others)) for key, value in nested.items()}
    if not isinstance(nested, (tuple, list)):
        return function(nested, *others)
    values = [map_leaves(function, *column) for column in zip(nested, *others, strict=True)]
    return type(nested)(*values) if hasattr(nested, "_fields") else type(nested)(values)


def leaves(nested: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf with its path; mappings in the order of their keys.

    >>> list(leaves({"b": (1, 2), "a": 3}))
    [('.a', 3), ('.b.0', 1), ('.b.1', 2)]
    """
    if isinstance(nested, Mapping):
        for key in sorted(nested, key=str):
            yield from leaves(nested[key], f"{path}.{key}")
    elif isinstance(nested, (tuple, list)):
        for position, value in enumerate(nested):
            yield from leaves(value, f"{path}.{position}")
    else:
        yield path, nested


def to_device(nested: Any, device: torch.device | str) -> Any:
    """All tensors on ``device``."""
    return map_leaves(lambda tensor: tensor.to(device, non_blocking=True), nested)


def rows(nested: Any, argument: str = "inputs") -> int:
    """The common length of all tensors.

    >>> rows((torch.zeros(3, 2), torch.zeros(3)))
    3
    """
    if any(tensor.ndim == 0 for _, tensor in leaves(nested)):
        raise BadInput(argument, "a single number", "one row per item")
    lengths = {path: len(tensor) for path, tensor in leaves(nested)}
    if not lengths:
        raise BadInput(argument, "an empty structure", "at least one tensor")
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{path.lstrip('.')}: {length}" for path, length in lengths.items())
        raise BadInput(argument, f"parts of different lengths ({listed})", "one row per item in each part")
    return next(iter(lengths.values()))


def take(nested: Any, indices: slice | np.ndarray) -> Any:
    """The rows at ``indices`` of every tensor: views for a slice, copies for an array.

    >>> take({"x": torch.tensor([5, 6, 7])}, np.array([2, 0]))
    {'x': tensor([7, 5])}
    """
    if isinstance(indices, slice):
        return map_leaves(lambda tensor: tensor[indices], nested)
    picked = torch.from_numpy(np.array(indices, dtype=np.int64))
    return map_leaves(lambda tensor: tensor.index_select(0, picked.to(tensor.device)), nested)


def concatenate(parts: Sequence[Any]) -> Any:
    """One structure from several of the same form, their rows one after another.

    >>> concatenate([{"x": torch.tensor([1])}, {"x": torch.tensor([2, 3])}])
    {'x': tensor([1, 2, 3])}
    """
    return map_leaves(lambda *tensors: torch.cat(tensors), *parts)


def room_for(n: int, part: Any) -> Any:
    """Uninitialized memory for ``n`` rows like those of ``part``, for use with `filled`."""
    return map_leaves(lambda tensor: tensor.new_empty((n, *tensor.shape[1:])), part)


def filled(room: Any, at: int, part: Any) -> Any:
    """``room`` with the rows of ``part`` written into it from row ``at`` on; types widen as in `torch.cat`.

    >>> filled(torch.tensor([0, 0, 5]), 1, torch.tensor([1.5]))
    tensor([0.0000, 1.5000, 5.0000])
    """

    def write(whole: Tensor, rows: Tensor) -> Tensor:
        whole = whole.to(torch.promote_types(whole.dtype, rows.dtype))
        whole[at : at + len(rows)] = rows
        return whole

    return map_leaves(write, room, part)


def nonfinite_rows(nested: Any) -> np.ndarray:
    """Per row, whether any of its numbers is NaN or infinite: ``(n,)`` bool.

    >>> nonfinite_rows(torch.tensor([[1.0, 2.0], [float("nan"), 0.0]])).tolist()
    [False, True]
    """
    bad = np.zeros(rows(nested), dtype=bool)
    for _, tensor in leaves(nested):
        if tensor.is_floating_point() or tensor.is_complex():
            bad |= _any_in_row(~tensor.isfinite()).cpu().numpy()
    return bad


def _any_in_row(flags: Tensor) -> Tensor:
    return flags if flags.ndim == 1 else flags.flatten(1).any(dim=1)
