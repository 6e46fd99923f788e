"""Memory layout of convolution weights, changed temporarily: the same numbers, read faster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor, nn

from mutiny.models.undo import Undo

Layout = Literal["default", "channels-last"]
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def layouts(model: nn.Module) -> tuple[Layout, ...]:
    """Layouts that matter for this model: channels-last only if it has convolutions.

    >>> layouts(nn.Linear(2, 2)), layouts(nn.Conv2d(1, 2, 3))
    (('default',), ('default', 'channels-last'))
    """
    return ("default", "channels-last") if _images(model) else ("default",)


@contextmanager
def laid_out(model: nn.Module, layout: Layout) -> Iterator[None]:
    """Puts the convolution weights of ``model`` into a memory layout; on leaving, the original tensors are back.

    Weights that are a view of another tensor, or share part of their memory, keep their layout.
    """
    with Undo() as undo:
        if layout == "channels-last":
            for parameter in _images(model):
                before = parameter.data
                undo.add(_point, parameter, before)
                _point(parameter, before.contiguous(memory_format=FORMATS[before.ndim]))
        yield


def _images(model: nn.Module) -> list[nn.Parameter]:
    shaped = [p for p in model.parameters() if p.ndim in FORMATS and not p.is_inference()]
    return [p for p in shaped if p.is_floating_point() and p.untyped_storage().nbytes() == p.nbytes]


def _point(parameter: nn.Parameter, data: Tensor) -> None:
    parameter.data = data
