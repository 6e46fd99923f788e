"""How fast a model can be evaluated here: batch size and memory layout, measured once and remembered."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import torch
from torch import nn

from mutiny.data import Data
from mutiny.evaluation.exact import Pace, cast, placement
from mutiny.models import Forward
from mutiny.models.calls import tensors
from mutiny.models.forward import steady
from mutiny.models.layout import Layout, laid_out, layouts
from mutiny.training.originals import default_folder

SMALLEST, FIRST, LARGEST = 16, 128, 512
INPUTS = 512
"""Inputs per measurement; with fewer in the data nothing is measured."""
PASSES = 4
"""Passes per measurement, of which the fastest counts: other work on the machine only slows down."""
SECONDS = 2.0
"""After so long no further candidate is tried."""
GAIN = 0.95
"""A candidate must take less than this share of the best one's time: noise must not choose."""


def measured_pace(model: nn.Module, data: Data, forward: Forward) -> Pace:
    """The fastest pace for this model, device, number of threads and kind of input.

    Measured in about two seconds, then remembered in ``calibration.json`` in the cache folder, so that later runs
    evaluate, and round, in the same way.
    """
    if len(data) < INPUTS:
        return Pace()
    file = default_folder().with_name("calibration.json")  # beside the originals
    known = _read(file)
    key = _key(model, data)
    if key not in known:
        known = {**_read(file), key: asdict(_measure(model, data, forward))}
        _write(file, known)
    return Pace(**known[key])


def _measure(model: nn.Module, data: Data, forward: Forward) -> Pace:
    """First the layout, then smaller or larger batches as long as they gain: none is much larger than useful."""
    start, best, least = time.perf_counter(), Pace(FIRST), float("inf")
    for layout in layouts(model):
        took = _seconds(model, data, forward, Pace(FIRST, layout))
        if took < GAIN * least:
            best, least = Pace(FIRST, layout), took
    for factor in (0.5, 2):
        gained = best.batch_size == FIRST
        while gained and SMALLEST < best.batch_size < LARGEST and time.perf_counter() - start < SECONDS:
            candidate = Pace(int(best.batch_size * factor), best.layout)
            took = _seconds(model, data, forward, candidate)
            gained = took < GAIN * least
            if gained:
                best, least = candidate, took
    return best


def _seconds(model: nn.Module, data: Data, forward: Forward, candidate: Pace) -> float:
    """The fastest of a few passes over the same few inputs; infinite if memory runs out."""
    try:
        return _timed(model, data, forward, candidate)
    except torch.OutOfMemoryError:
        return float("inf")


def _timed(model: nn.Module, data: Data, forward: Forward, candidate: Pace) -> float:
    device, dtype = placement(model)
    taken = []
    with steady(), torch.inference_mode(), laid_out(model, candidate.layout):
        for _ in range(PASSES):
            start = time.perf_counter()
            for batch in islice(data.batches(candidate.batch_size, device), -(-INPUTS // candidate.batch_size)):
                last = forward(model, cast(batch, dtype))
            last.sum().item()  # other devices than the CPU finish only now
            taken.append(time.perf_counter() - start)
    return min(taken)


def _key(model: nn.Module, data: Data) -> str:
    device, _ = placement(model)
    shapes = [(name, tuple(p.shape), str(p.dtype)) for name, p in model.named_parameters()]
    inputs = [(tuple(t.shape[1:]), str(t.dtype)) for t in tensors(data.first(1))]
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    facts = (kind, shapes, inputs, str(device), torch.get_num_threads(), torch.__version__)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:24]


def _read(file: Path) -> dict[str, dict[str, Any]]:
    """What is remembered; entries that make no sense are measured anew."""
    try:
        found = json.loads(file.read_text()).items()
    except (OSError, ValueError, AttributeError):
        return {}
    return {key: value for key, value in found if _sensible(value)}


def _sensible(value: Any) -> bool:
    if not isinstance(value, dict) or set(value) != {"batch_size", "layout"}:
        return False
    size = value["batch_size"]
    whole = isinstance(size, int) and not isinstance(size, bool)
    return whole and SMALLEST <= size <= LARGEST and value["layout"] in get_args(Layout)


def _write(file: Path, known: dict[str, dict[str, Any]]) -> None:
    """Remembering is a convenience: a folder that cannot be written to costs two seconds per run, not the run."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(known, indent=1, sort_keys=True))
        draft.replace(file)
    except OSError:
        pass
