"""Active dropout in evaluation mode: repeated passes of an unchanged model, with masks that belong to inputs.

Only dropout calls are changed during a pass; batch normalization, modes, hooks and weights stay as they are. This
covers ``nn.Dropout``, its variants and the functions behind them, ``F.dropout(x, p, self.training)``, in place or not,
with the rate of the call. It does not cover dropout inside attention and recurrent layers, which torch computes in one
piece, code that the model skips in evaluation mode (``if self.training:``), and masks that a model draws itself, such
as stochastic depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod, sqrt
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.core.random import generator_for
from mutiny.models.capture import rows_of
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.prefix import DifferentPath, Prefix
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import argument, in_place, replace_tensors

BY_UNIT = frozenset(["dropout", "alpha_dropout"])
BY_CHANNEL = frozenset("dropout1d dropout2d dropout3d feature_dropout feature_alpha_dropout".split())
BATCHED = {"dropout1d": 3, "dropout3d": 5}
"""Number of dimensions from which the first axis holds inputs; with fewer it holds channels."""
ALPHA = 1.0507009873554805 * 1.6732632423543772
"""Alpha dropout sets a unit to minus this: the smallest value of SELU (Klambauer et al., 2017)."""
LEVELS = 2**16
"""Resolution of dropout rates: 16 random bits per unit are several times cheaper than a random float."""


class DropoutPasses:
    """Passes of a model with active dropout; everything before the first dropout is computed once per batch.

    A mask depends on the seed, the sample, the dropout call and the number of the input, but not on the batch.

    Args:
        model: Model in evaluation mode; never changed.
        inputs: A few inputs to probe the model with.
        forward: Function that calls the model.
        seed: Seed of the masks.

    Attributes:
        calls: Dropout calls with a rate above 0 in one pass; without any, all passes are equal.
        unreached: Attention and recurrent layers with dropout that stays off, because torch computes them in one piece.
        replays: Whether later passes skip what comes before the first dropout. They run in full if the model changes
            these earlier values afterwards, or computes them in ways that torch does not report.

    >>> model = nn.Sequential(nn.Linear(2, 64), nn.Dropout(0.5), nn.Linear(64, 1)).eval()
    >>> passes = DropoutPasses(model, torch.ones(3, 2))
    >>> first, second = passes.outputs(torch.ones(3, 2), start=0, samples=2)
    >>> passes.calls, first.shape, bool((first == second).any())
    (1, torch.Size([3, 1]), False)
    """

    def __init__(self, model: nn.Module, inputs: Any, forward: Forward = default_forward, seed: int = 0) -> None:
        self.model, self.forward = model, forward
        self._masks = _Masks(seed)
        self._axes = self._batch_axes(inputs)
        self.calls = len(self._axes)
        self.unreached = tuple(path or "model" for path, module in model.named_modules() if _fused(module))
        self.replays = self.calls > 0 and self._replayed_alike(inputs)

    def outputs(self, inputs: Any, start: int, samples: int) -> Iterator[Tensor]:
        """Yields the outputs for a batch, with one set of masks after another.

        Args:
            inputs: A batch.
            start: Number of its first input in the data.
            samples: Number of passes.
        """
        prefix = Prefix(inputs) if self.replays else None
        for sample in range(samples):
            try:
                result = self._run(self._dropout_pass(inputs, start, sample, prefix), inputs)
            except (Exception, DifferentPath):
                if prefix is None:
                    raise
                prefix, self.replays = None, False
                # Run in full; an error that the model itself causes is raised again.
                result = self._run(self._dropout_pass(inputs, start, sample), inputs)
            if prefix is not None and not prefix.restore():
                prefix, self.replays = None, False
            yield result

    def _dropout_pass(self, inputs: Any, start: int, sample: int, prefix: Prefix | None = None) -> _DropoutPass:
        return _DropoutPass(self._masks, self._axes, rows_of(inputs), start, sample, prefix)

    def _run(self, dropout_pass: _DropoutPass, inputs: Any) -> Tensor:
        given = replace_tensors(inputs, Tensor.clone) if dropout_pass.prefix is None else dropout_pass.prefix.inputs
        with steady(), torch.no_grad(), dropout_pass:
            return self.forward(self.model, given)

    def _batch_axes(self, inputs: Any) -> list[int | None]:
        """The axis of the inputs in each dropout call: the one that shrinks when an input is left out."""
        n = rows_of(inputs)
        shapes = []
        for rows in (n, n - 1) if n > 1 else (n,):
            dropout_pass = _DropoutPass(self._masks, [], rows, 0, 0)
            self._run(dropout_pass, replace_tensors(inputs, itemgetter(slice(rows))))
            shapes.append(dropout_pass.shapes)
        if len(shapes) < 2 or len(shapes[0]) != len(shapes[1]):
            return [0] * len(shapes[0])
        return [_shrunk(more, fewer) for more, fewer in zip(*shapes, strict=True)]

    def _replayed_alike(self, inputs: Any) -> bool:
        """Whether a replayed pass and a full pass give the same bits."""
        self.replays = True
        _, replayed = self.outputs(inputs, 0, 2)
        full = self._run(self._dropout_pass(inputs, 0, 1), inputs)
        return self.replays and torch.equal(replayed, full)


class _Masks:
    """Random bits by sample, call and input, from generators whose position is tracked."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[tuple[int, int], tuple[Any, int]] = {}

    def keep(self, sample: int, call: int, start: int, items: int, size: int, rate: float) -> npt.NDArray[np.bool_]:
        """Which units of each input are kept, ``(items, size)``."""
        if (sample, call) not in self._streams:
            self._streams[sample, call] = (generator_for(self.seed, "dropout", sample, call).bit_generator, 0)
        stream, at = self._streams[sample, call]
        words = -(-size // 4)  # four units per 64-bit word; each input starts a new word
        if at != start * words:
            stream.advance((start * words - at) % 2**128)
        drawn = stream.random_raw(items * words).astype("<u8", copy=False).view("<u2")
        self._streams[sample, call] = (stream, (start + items) * words)
        kept: npt.NDArray[np.bool_] = drawn.reshape(items, -1)[:, :size] >= round(rate * LEVELS)
        return kept


class _DropoutPass(CallHandler):
    """One pass with active dropout.

    Args:
        masks: Source of masks.
        axes: Axis of the inputs in each dropout call; ``None`` for one mask that all inputs share.
        rows: Inputs in the batch.
        start: Number of the first input in the data.
        sample: Number of the pass.
        prefix: Calls before the first dropout, to be recorded or replayed.
    """

    def __init__(
        self,
        masks: _Masks,
        axes: list[int | None],
        rows: int,
        start: int,
        sample: int,
        prefix: Prefix | None = None,
    ) -> None:
        self.masks, self.axes, self.rows, self.start, self.sample = masks, axes, rows, start, sample
        self.prefix = prefix
        self.shapes: list[tuple[int, ...]] = []

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        kind = name.removesuffix("_")
        if kind in BY_UNIT or kind in BY_CHANNEL:
            rate = float(argument(args, kwargs, 1, "p", 0.5))
            if rate > 0:
                inside = in_place(name) or bool(argument(args, kwargs, 3, "inplace", False))
                return self._drop(kind, argument(args, kwargs, 0, "input"), rate, inside)
        if self.prefix is not None and not self.shapes:
            return self.prefix.step(func, args, kwargs)
        return func(*args, **kwargs)

    def _drop(self, kind: str, units: Tensor, rate: float, inside: bool) -> Tensor:
        first = not self.shapes
        self.shapes.append(tuple(units.shape))
        mask = torch.from_numpy(self._keep(kind, self.shapes[-1], rate).view(np.uint8)).to(units.device).to(units.dtype)
        dropped = _alpha_dropped(units, mask, rate) if "alpha" in kind else units * mask.mul_(1 / (1 - rate or 1))
        if first and self.prefix is not None:
            self.prefix.end(units if inside else None)
        if inside:
            dropped = units.copy_(dropped)
        if first and self.prefix is not None:
            self.prefix.watch()
        return dropped

    def _keep(self, kind: str, shape: tuple[int, ...], rate: float) -> npt.NDArray[np.bool_]:
        """Which units are kept, with axes of length 1 along which units share a mask."""
        call = len(self.shapes) - 1
        if kind in BY_CHANNEL:
            masked = 1 if len(shape) < BATCHED.get(kind, 2) else 2
            shape = shape[:masked] + (1,) * (len(shape) - masked)
        axis = self.axes[call] if call < len(self.axes) else 0
        if axis is None or axis >= len(shape) or shape[axis] % self.rows:
            return self.masks.keep(self.sample, call, 0, 1, prod(shape), rate).reshape(shape)
        kept = self.masks.keep(self.sample, call, self.start, self.rows, prod(shape) // self.rows, rate)
        return np.moveaxis(kept.reshape(shape[axis], *shape[:axis], *shape[axis + 1 :]), 0, axis)


def _alpha_dropped(units: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Sets dropped units to ``-ALPHA``, then scales and shifts all so that mean 0 and variance 1 are preserved."""
    if rate == 1:
        return units * 0
    scale = 1 / sqrt((ALPHA**2 * rate + 1) * (1 - rate))
    return units * mask * scale + (mask - 1 + rate) * (ALPHA * scale)


def _shrunk(more: tuple[int, ...], fewer: tuple[int, ...]) -> int | None:
    """The axis in which two shapes differ, if it is the only one."""
    axes = [axis for axis, (a, b) in enumerate(zip(more, fewer, strict=False)) if a != b]
    return axes[0] if len(axes) == 1 and len(more) == len(fewer) else None


def _fused(module: nn.Module) -> bool:
    """Whether a module applies dropout inside a larger torch function."""
    if isinstance(module, nn.RNNBase):
        return module.dropout > 0 and module.num_layers > 1
    return isinstance(module, nn.MultiheadAttention) and module.dropout > 0
