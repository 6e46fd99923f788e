"""Adversarial inputs in files: arrays, and a picture of some of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.reports.files import replacing
from mutiny.reports.image_grid import draw_changes
from mutiny.verbs.attack.result import MUTANTS, Robustness


def write_adversarial(result: Robustness, path: Path) -> None:
    """An ``.npz`` file: ``x``, ``y``, ``original``, ``index``, ``eps``, ``said`` and ``fooled``, one row for each.

    Levels stand one after another; ``x`` and ``y`` make it a file of labeled inputs that other verbs read.
    """
    assaults = [level.ways[MUTANTS] for level in result.levels]
    rows = len(result.indices)
    arrays: dict[str, npt.NDArray[Any]] = {
        "x": np.concatenate([_array(one.inputs) for one in assaults]),
        "y": np.tile(result.labels, len(assaults)),
        "original": np.concatenate([_array(result.inputs)] * len(assaults)),
        "index": np.tile(result.indices, len(assaults)),
        "eps": np.repeat([np.nan if level.eps is None else level.eps for level in result.levels], rows),
        "said": np.concatenate([one.said for one in assaults]),
        "fooled": np.concatenate([one.fooled for one in assaults]),
    }
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def draw_adversarial(result: Robustness, path: Path) -> None:
    """Some inputs of the level that is shown. Those that are lost come first."""
    level = result.shown()
    one = level.ways[MUTANTS]
    lost = one.fooled & level.correct
    marks = [
        (f"{label} as {said}", bool(success))
        for label, said, success in zip(result.labels, one.said, lost, strict=True)
    ]
    where = "" if level.eps is None else f" at {level.eps:g}"
    title = f"{result.subject.name}: {result.attack}{where}, {len(result.mutants)} mutants"
    draw_changes(path, result.inputs.float(), one.inputs.float(), marks, "adversarial", title)


def _array(inputs: Tensor) -> npt.NDArray[Any]:
    """In single precision where numpy has no such type."""
    found: npt.NDArray[Any] = (inputs.float() if inputs.dtype == torch.bfloat16 else inputs).numpy()
    return found
