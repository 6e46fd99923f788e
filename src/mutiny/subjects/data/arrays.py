"""Data held in memory as tensors, and the conversion of arrays, numbers and images to tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from mutiny.core.errors import BadInput
from mutiny.subjects.data.base import Data, check_counts, check_finite, inputs_of, nonfinite_items
from mutiny.subjects.data.nested import map_leaves, rows, take

_WIDER = {"u2": np.int32, "u4": np.int64}  # torch stores these unsigned types but computes almost nothing with them


class ArrayData(Data):
    """Inputs in memory; batches are views, subsets are copies.

    Args:
        inputs: Tensor, or tuples, lists and dicts of tensors, all with ``n`` rows.
        targets: Targets, ``(n,)`` or ``(n, k)``.

    >>> import torch
    >>> data = ArrayData(torch.arange(5), np.array([0, 1, 0, 1, 0]))
    >>> [batch.tolist() for batch in data.batches(2)]
    [[0, 1], [2, 3], [4]]
    >>> data.subset([4, 0]).first(2)
    tensor([4, 0])
    """

    def __init__(self, inputs: Any, targets: np.ndarray) -> None:
        self.inputs = inputs
        self.targets = targets

    def read(self, indices: slice | np.ndarray) -> Any:
        """Rows of every tensor: views for a slice, copies for an array."""
        return take(self.inputs, indices)

    def select(self, indices: np.ndarray) -> ArrayData:
        """A copy of the chosen rows."""
        return ArrayData(take(self.inputs, indices), self.targets[indices])


def array_data(inputs: Any, targets: Any, name: str) -> ArrayData:
    """Checked data from arrays. Memory is shared if types allow it: do not change the arrays afterwards.

    Args:
        inputs: Numpy array, torch tensor or (nested) list of numbers with one row per item; or, for models with
            several inputs, a tuple, list or dict of such arrays. For types see
            `tensor_from`.
        targets: Numbers, ``(n,)`` or ``(n, k)``.
        name: Name of the split in error messages.

    >>> array_data([[1.0], [2.0]], [0, 1], "train").inputs
    tensor([[1.],
            [2.]])
    """
    tensors, labels = _tensors(inputs, name), targets_from(targets, f"{name} targets")
    if _holds_arrays(inputs) and len(inputs) == len(labels) and any(len(part) != len(labels) for part in inputs):
        raise BadInput(
            inputs_of(name),
            f"a list of {len(inputs)} arrays",
            "one array with one row per item, or one array per model input",
            "Stack the items with np.stack or torch.stack.",
        )
    return _checked(tensors, labels, name)


def unlabeled_arrays(inputs: Any, name: str) -> ArrayData:
    """Checked data from inputs, as for `array_data`, whose targets are unknown.

    >>> unlabeled_arrays((np.zeros((2, 3)), np.ones(2)), "pool").targets
    array([nan, nan])
    """
    tensors = _tensors(inputs, name)
    return _checked(tensors, np.full(rows(tensors, inputs_of(name)), np.nan), name)


def _tensors(inputs: Any, name: str) -> Any:
    if isinstance(inputs, Mapping) or _holds_arrays(inputs):
        return map_leaves(lambda part: tensor_from(part, inputs_of(name)), inputs)
    return tensor_from(inputs, inputs_of(name))


def _checked(tensors: Any, labels: np.ndarray, name: str) -> ArrayData:
    check_counts(rows(tensors, inputs_of(name)), len(labels), name)
    data = ArrayData(tensors, labels)
    check_finite(nonfinite_items(data), name)
    return data


def _holds_arrays(value: Any) -> bool:
    """Whether this is a tuple or list of arrays (several model inputs), not of numbers (one array)."""
    if not isinstance(value, (tuple, list)) or not value:
        return False
    return all(isinstance(part, (np.ndarray, Tensor, Mapping)) or _holds_arrays(part) for part in value)


def tensor_from(value: Any, argument: str) -> Tensor:
    """Converts a value to a tensor without gradient, which shares memory if possible.

    Torch tensors keep their type. So do numpy arrays and numbers, except that float64, numpy's default, becomes
    float32, the default of models; pass a torch tensor to a float64 model. PIL images become
    float32 in [0, 1], channels first.

    >>> tensor_from(np.array([0.5, 1.5]), "train inputs").dtype
    torch.float32
    >>> tensor_from(np.zeros(2, dtype=np.uint8), "train inputs").dtype
    torch.uint8
    """
    if isinstance(value, Tensor):
        if value.layout != torch.strided:
            raise BadInput(argument, f"a {value.layout} tensor", "a dense tensor", "Use .to_dense().")
        tensor: Tensor = value.detach()
        # A tensor made in inference mode takes part in no computation with gradients; its copy does.
        return tensor.clone() if tensor.is_inference() and not torch.is_inference_mode_enabled() else tensor
    if isinstance(value, Image.Image):
        return image_tensor(value)
    array = _array_from(value, argument)
    if array.dtype.kind not in "iubfc":
        raise BadInput(argument, f"values of type {array.dtype}", "numbers", "Encode text and dates as numbers first.")
    if array.dtype.kind == "f" and array.dtype.itemsize >= 8:
        array = array.astype(np.float32)
    array = array.astype(_WIDER.get(array.dtype.str[1:], array.dtype.newbyteorder("=")), copy=False)
    if not array.flags.writeable or any(stride < 0 for stride in array.strides):
        array = array.copy()
    return torch.from_numpy(array)


def targets_from(value: Any, argument: str) -> np.ndarray:
    """Targets as an array ``(n,)`` or ``(n, k)`` of numbers; a copy if memory cannot be shared.

    >>> targets_from(torch.tensor([1, 0]), "train targets")
    array([1, 0])
    """
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        value = value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy()
    array = _array_from(value, argument)
    if array.dtype.kind not in "iubf":
        raise BadInput(
            argument,
            f"values of type {array.dtype}",
            "numbers",
            "For class names use np.unique(names, return_inverse=True)[1].",
        )
    if array.ndim not in (1, 2):
        raise BadInput(argument, f"an array of shape {array.shape}", "shape (n,) or (n, k)")
    return array


def image_tensor(image: Image.Image, mode: str | None = None) -> Tensor:
    """A PIL image as float32 in [0, 1], ``(channels, height, width)``.

    Args:
        image: Image with 8 bits per channel.
        mode: ``"L"`` (gray) or ``"RGB"``; the mode of the image by default, see `natural_mode`.

    >>> image_tensor(Image.new("RGB", (4, 2), (255, 0, 0))).shape
    torch.Size([3, 2, 4])
    """
    pixels = np.array(image.convert(mode or natural_mode(image)), dtype=np.uint8)
    pixels = pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(pixels.transpose(2, 0, 1))
    return torch.from_numpy(pixels).float().div_(255)


def natural_mode(image: Image.Image) -> str:
    """``"L"`` for gray and black-and-white images, otherwise ``"RGB"``; transparency is dropped."""
    if image.mode.startswith(("I", "F")):
        raise BadInput("image", f"pixels of more than 8 bits (mode {image.mode})", "8 bits per channel")
    return "L" if image.mode in ("1", "L", "LA", "La") else "RGB"


def _array_from(value: Any, argument: str) -> np.ndarray:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        array = np.empty(0, dtype=object)
    if array.dtype == object:
        raise BadInput(
            argument,
            f"{type(value).__name__} that is not a regular array of numbers (object dtype)",
            "an array of numbers in which all items have one shape",
            "Pad or stack the items, or give a DataLoader with a collate_fn that does.",
        )
    return array
