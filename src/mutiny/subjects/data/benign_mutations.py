"""Benign mutations of images: small changes of position, light or sharpness that leave the label true."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.core.errors import BadInput, called
from mutiny.subjects.data.base import CHUNK, Data
from mutiny.subjects.data.mutated import MutatedData, described, item_numbers, named, per_item
from mutiny.subjects.data.nested import map_leaves
from mutiny.subjects.data.pixels import (
    Floats,
    Interpolation,
    Kernel,
    Level,
    Names,
    affine_matrices,
    black_and_white,
    blurred,
    mean_gray,
    warped,
)
from mutiny.subjects.data.sources import as_pool

Signs = Literal["random", "authors"]

LIMITS = {
    "shift": (0.0, 1.0),
    "rotation": (0.0, 180.0),
    "scale": (0.01, 100.0),
    "shear": (0.0, 89.0),
    "contrast": (0.0, 100.0),
    "brightness": (0.0, 100.0),
    "blur": (1.0, 100.0),
}
"""All operations, and the limits of their ranges."""
OPERATIONS = tuple(LIMITS)
WARPS = ("shift", "rotation", "scale", "shear")
TWO_WAYS: dict[Signs, tuple[str, ...]] = {"random": ("shift", "rotation", "shear"), "authors": ("shift",)}
BLOCK = 256
"""Items whose draws share a generator, see `per_item`."""
CHANNELS = (1, 3, 4)
"""Usual numbers of image channels: gray, RGB, and RGB with transparency."""


@dataclass(frozen=True)
class Draws:
    """Operation and amounts for each item.

    Attributes:
        operations: Names of the operations, ``(n,)``.
        amounts: Parameter of each operation, ``(n, 2)``: horizontal and vertical for a shift, otherwise followed by 0.
    """

    operations: Names
    amounts: Floats


@dataclass(frozen=True)
class Benign:
    """One operation per image, drawn uniformly, its parameter drawn uniformly from a range. NSS, Table 4.

    Rotation, scale and shear are about the center of the image; pixels outside of it are black. Contrast blends with
    the image's mean gray level, brightness scales the distance from black, and results are clipped to ``value_range``.

    The paper specifies neither directions, nor interpolation, nor the kind of blur. To reproduce the authors' code, set
    ``signs="authors"``, ``interpolation="nearest"`` and ``kernel="gaussian", blur=(3, 3)``.

    Args:
        operations: Operations to draw from.
        shift: Range of the shift, as a share of width and height.
        rotation: Range of the angle in degrees, clockwise.
        scale: Range of the factor; above 1 the image grows and its margin is lost.
        shear: Range of the angle in degrees by which vertical lines lean to the right.
        contrast: Range of the gain.
        brightness: Range of the gain.
        blur: Range of the kernel size in pixels, both ends included.
        signs: ``"random"``: shift, rotation and shear go both ways, as in ATS, from which the paper has most of its
            ranges. ``"authors"``: only shift does.
        interpolation: ``"bilinear"`` or ``"nearest"``, for shift, rotation, scale and shear.
        kernel: ``"box"``, the mean of a square (for even sizes it reaches further up and left, as in OpenCV); or
            ``"gaussian"``, where even sizes become the next odd one. Beyond the border, its pixels are repeated.
        value_range: Values of black and white, each one number or one per channel; `fitted` takes them from the data.
        part: Name of the image tensor if the model has several inputs, e.g. ``"0"`` or ``"image"``; by default the
            only one of shape ``(n, channels, height, width)``.

    >>> benign = Benign(operations=("brightness",), brightness=(0.5, 0.5), value_range=(0, 1))
    >>> benign.apply(torch.tensor([[[[0.2, 0.8]]]]), [7], seed=0, purpose="pool")
    tensor([[[[0.1000, 0.4000]]]])
    """

    operations: tuple[str, ...] = OPERATIONS
    shift: tuple[float, float] = (0.05, 0.15)
    rotation: tuple[float, float] = (5.0, 25.0)
    scale: tuple[float, float] = (0.8, 1.2)
    shear: tuple[float, float] = (15.0, 30.0)
    contrast: tuple[float, float] = (0.5, 1.5)
    brightness: tuple[float, float] = (0.5, 1.5)
    blur: tuple[int, int] = (2, 7)
    signs: Signs = "random"
    interpolation: Interpolation = "bilinear"
    kernel: Kernel = "box"
    value_range: tuple[Level, Level] | None = None
    part: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.operations, str) or not self.operations:
            raise BadInput("operations", repr(self.operations), "a tuple of names", 'Write ("blur",) for a single one.')
        for name in self.operations:
            _check_choice("operation", name, OPERATIONS)
        for name, (least, most) in LIMITS.items():
            low, high = getattr(self, name)
            if not least <= low <= high <= most or (name == "blur" and (low % 1 or high % 1)):
                numbers = "whole numbers" if name == "blur" else "numbers"
                raise BadInput(name, (low, high), f"two {numbers} between {least:g} and {most:g}, the smaller first")
        _check_choice("signs", self.signs, get_args(Signs))
        _check_choice("interpolation", self.interpolation, get_args(Interpolation))
        _check_choice("kernel", self.kernel, get_args(Kernel))
        if self.value_range is not None and not _ordered(*self.value_range):
            raise BadInput("value_range", self.value_range, "black and white: finite numbers, black being the smaller")

    def fitted(self, data: Data) -> Benign:
        """The same with a ``value_range``, if it has none, see `black_and_white`. Takes one pass over the data.

        >>> Benign().fitted(as_pool(np.full((2, 1, 4, 4), 0.5))).value_range
        (0.0, 1.0)
        """
        if self.value_range is not None:
            if len(data):
                image_in(data.first(1), self.part)  # refuses inputs that are not images early
            return self
        images = (image_in(batch, self.part) for batch in data.batches(CHUNK))
        lows, highs = zip(*((batch.amin((0, 2, 3)), batch.amax((0, 2, 3))) for batch in images), strict=True)
        return replace(self, value_range=black_and_white(torch.stack(lows).amin(0), torch.stack(highs).amax(0)))

    def draw(self, seed: int, purpose: str, indices: npt.ArrayLike) -> Draws:
        """Operations and amounts for the items with these numbers, which do not depend on other items.

        >>> alone, among = Benign().draw(0, "pool", [4]), Benign().draw(0, "pool", [3, 4])
        >>> bool((alone.amounts == among.amounts[1:]).all())
        True
        """
        # columns: which operation, how much (twice) and which way (twice), so that one can change without the others
        items = item_numbers(indices)
        uniform = per_item(seed, ("benign", purpose), items, BLOCK, lambda rng: rng.random((BLOCK, 5)))
        chosen = (uniform[:, 0] * len(self.operations)).astype(np.int64)
        names = np.array(self.operations)[chosen]
        low, high = np.array([getattr(self, name) for name in self.operations], float)[chosen].T[:, :, None]
        blur = (names == "blur")[:, None]
        amounts = low + (high - low + blur) * uniform[:, 1:3]
        amounts = np.where(blur, np.floor(amounts), amounts)
        back = np.isin(names, TWO_WAYS[self.signs])[:, None] & (uniform[:, 3:] < 0.5)
        amounts = np.where(back, -amounts, amounts)
        amounts[names != "shift", 1] = 0
        return Draws(names, amounts)

    @torch.no_grad()
    def apply(self, inputs: Any, indices: npt.ArrayLike, seed: int, purpose: str) -> Any:
        """The mutated inputs, see `Mutation.apply`. Other inputs stay as they are.

        Args:
            inputs: Images ``(n, channels, height, width)`` of a floating type, alone or among other inputs.
            indices: Numbers of the items in their data set, ``(n,)``.
            seed: Seed of everything random.
            purpose: Purpose of the mutants, see `Mutation.apply`.
        """
        images = image_in(inputs, self.part)
        drawn = self.draw(seed, purpose, item_numbers(indices, len(images)))
        if self.value_range is None:
            raise BadInput("value_range", None, "black and white", "Give value_range=(0, 1), or use .fitted(data).")
        work = torch.promote_types(images.dtype, torch.float32)  # half precision is too coarse for coordinates
        low, high = (torch.tensor(level, dtype=work, device=images.device).view(-1, 1, 1) for level in self.value_range)
        if not {len(low), len(high)} <= {1, images.shape[1]}:
            raise BadInput(
                "value_range", self.value_range, f"one number, or one for each of {images.shape[1]} channels"
            )
        mutated = self._mutated((images.to(work) - low) / (high - low), drawn)
        result = torch.clamp(mutated * (high - low) + low, low, high).to(images.dtype)
        return map_leaves(lambda leaf: result if leaf is images else leaf, inputs)

    def _mutated(self, images: Tensor, drawn: Draws) -> Tensor:
        """Images whose black is 0 and white is 1, in one batch per kind of operation and size of kernel."""
        mutated = torch.empty_like(images)
        names, amounts = drawn.operations, drawn.amounts
        kinds = np.where(np.isin(names, WARPS), "warp", names)
        sizes = np.where(names == "blur", amounts[:, 0], 0).astype(np.int64)
        for kind, size in set(zip(kinds.tolist(), sizes.tolist(), strict=True)):
            rows = np.flatnonzero((kinds == kind) & (sizes == size))
            where = torch.from_numpy(rows).to(images.device)
            some, gain = images[where], torch.from_numpy(amounts[rows, 0]).to(images).view(-1, 1, 1, 1)
            if kind == "warp":
                matrices = affine_matrices(names[rows], amounts[rows], *images.shape[2:])
                mutated[where] = warped(some, matrices, self.interpolation)
            elif kind == "blur":
                mutated[where] = blurred(some, size, self.kernel)
            elif kind == "contrast":
                mutated[where] = gain * some + (1 - gain) * mean_gray(some)
            else:
                mutated[where] = gain * some
        return mutated


def mutate(data: Any, seed: int = 0, operations: str | Iterable[str] | None = None) -> MutatedData:
    """A pool of mutants: every image of ``data``, mutated once, with its original target. NSS, section 4.1.2.

    Args:
        data: Images ``(n, channels, height, width)``, with or without targets, as arrays, a torch ``Dataset``
            or ``DataLoader``, or the path of a file or folder.
        seed: Seed of everything random.
        operations: One operation, or several to draw from; all seven by default.

    >>> pool = mutate((np.random.default_rng(0).random((3, 1, 8, 8)), [4, 5, 6]), operations="blur")
    >>> pool.first(3).shape, pool.targets
    (torch.Size([3, 1, 8, 8]), array([4, 5, 6]))
    """
    names = OPERATIONS if operations is None else (operations,) if isinstance(operations, str) else tuple(operations)
    pool = as_pool(data, "data")
    with called("data", "inputs"):
        return MutatedData(pool, Benign(names), seed)


def image_in(inputs: Any, part: str | None = None) -> Tensor:
    """The only tensor ``(n, channels, height, width)`` of a floating type, or the one that ``part`` names."""
    candidates = {name: leaf for name, leaf in named(inputs).items() if part in (None, name)}
    images = {name: leaf for name, leaf in candidates.items() if leaf.ndim == 4 and leaf.is_floating_point()}
    image = next(iter(images.values()), None)
    if image is not None and len(images) == 1 and not channels_last(image.shape):
        return image
    if len(images) > 1:
        fix = f"Name the one to mutate: {_given_to('Benign', next(iter(images)))}."
    elif not candidates:
        fix = "Leave part out, or give one of these names."
    else:
        fix = _conversion(max(candidates.values(), key=lambda leaf: leaf.ndim))
    raise BadInput(
        "inputs",
        described(named(inputs)),
        "one tensor (n, channels, height, width) of floats" + (f" named {part}" if part else ""),
        fix,
    )


def channels_last(shape: Sequence[int]) -> bool:
    """Whether images are most probably ``(n, height, width, channels)``: the last axis is the short one.

    >>> channels_last((64, 8, 8, 3)), channels_last((64, 3, 8, 3)), channels_last((64, 16, 4, 4))
    (True, False, False)
    """
    _, second, third, last = shape
    return last in CHANNELS and second not in CHANNELS and last < min(second, third)


def _conversion(x: Tensor) -> str:
    """Advice on how to convert ``x`` to images, or on what to use for other inputs."""
    noise = f"Inputs that are not images take noise: {_given_to('Noise')}."
    if x.ndim not in (3, 4):
        return noise
    axes = "[:, None]" if x.ndim == 3 else ".permute(0, 3, 1, 2)" if channels_last(x.shape) else ""
    floats = "" if x.is_floating_point() else ".float() / 255"
    turned = " A model that wants channels last can turn them back in forward=." if "permute" in axes else ""
    return f"Convert images first: x{axes}{floats}.{turned}" + (f" {noise}" if x.ndim == 3 else "")


def _given_to(mutation: str, part: str | None = None) -> str:
    """Where a user can give another mutation."""
    made = f"mutiny.{mutation}()" if part is None else f'mutiny.{mutation}(part="{part}")'
    return f"mutiny.select(..., mutate={made}), or mutiny.MutatedData(data, {made}) for a pool"


def _ordered(black: Level, white: Level) -> bool:
    low, high = np.atleast_1d(black, white)
    fits = 1 in (len(low), len(high)) or len(low) == len(high)
    return bool(fits and np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all())


def _check_choice(argument: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        near = get_close_matches(str(value), choices, 1)
        raise BadInput(argument, value, f"one of {', '.join(choices)}", f"Did you mean {near[0]}?" if near else "")
