"""The fastest batch size and memory layout for a model on this machine, and the cache of such measurements."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import torch
from torch import nn

from mutiny.core.json_text import parsed
from mutiny.core.private_files import make_private, replaced, why_shared
from mutiny.models import Forward
from mutiny.models.device import placement
from mutiny.models.forward import steady
from mutiny.models.layout import Layout, laid_out, layouts
from mutiny.models.torch_ops import tensors
from mutiny.subjects.data import Data
from mutiny.subjects.inference.passes import Pace
from mutiny.subjects.training.originals import default_folder

SMALLEST, FIRST, LARGEST = 16, 128, 512
INPUTS = 512
"""Inputs per measurement; smaller data sets are not measured."""
PASSES = 4
"""Passes per measurement; the fastest counts, since other work on the machine can only slow a pass down."""
SECONDS = 2.0
"""Time limit after which no further candidate is tried."""
GAIN = 0.95
"""Share of the best time that a candidate must stay below, so that noise does not decide."""
LARGEST_CACHE = 1 << 24
"""Bytes of a cache that is read; it is measured and written again if it has more."""
Facts = dict[str, Any]


def measured_pace(model: nn.Module, data: Data, forward: Forward) -> Pace:
    """The fastest batch size and layout for this model, device, number of threads and kind of input.

    Measured in about two seconds, then cached in ``calibration.json`` in the cache folder, so that later runs use the
    same settings and round in the same way.
    """
    if len(data) < INPUTS:
        return Pace()
    facts = remembered(key_of(model, data.first(1)), lambda: asdict(_measure(model, data, forward)), _sensible)
    return Pace(**facts)


def _measure(model: nn.Module, data: Data, forward: Forward) -> Pace:
    """Tries layouts first, then smaller or larger batches as long as they are faster."""
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
    """Time of the fastest of a few passes over the same inputs; infinite if memory runs out."""
    try:
        return _timed(model, data, forward, candidate)
    except torch.OutOfMemoryError:
        return float("inf")


def _timed(model: nn.Module, data: Data, forward: Forward, candidate: Pace) -> float:
    put = placement(model).put
    taken = []
    with steady(), torch.inference_mode(), laid_out(model, candidate.layout):
        for _ in range(PASSES):
            start = time.perf_counter()
            for batch in islice(data.batches(candidate.batch_size), -(-INPUTS // candidate.batch_size)):
                last = forward(model, put(batch))
            last.sum().item()  # waits for asynchronous devices to finish
            taken.append(time.perf_counter() - start)
    return min(taken)


def _sensible(value: Facts) -> bool:
    if set(value) != {"batch_size", "layout"}:
        return False
    size = value["batch_size"]
    whole = isinstance(size, int) and not isinstance(size, bool)
    return whole and SMALLEST <= size <= LARGEST and value["layout"] in get_args(Layout)


def remembered(key: str, measure: Callable[[], Facts], sensible: Callable[[Facts], bool]) -> Facts:
    """The facts in ``calibration.json`` in the cache folder; measured and written there if missing or invalid."""
    file = default_folder().with_name("calibration.json")  # beside the originals; not read where others may write
    facts = _read(file).get(key)
    if isinstance(facts, dict) and sensible(facts):
        return facts
    facts = measure()
    _write(file, {**_read(file), key: facts})
    return facts


def key_of(model: nn.Module, inputs: Any, *more: object) -> str:
    """A cache key for the kind of model and input, the device, the number of threads, and anything in ``more``."""
    device = placement(model).device
    shapes = [(name, tuple(p.shape), str(p.dtype)) for name, p in model.named_parameters()]
    each = [(tuple(t.shape[1:]), str(t.dtype)) for t in tensors(inputs)]
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    facts = (kind, shapes, each, str(device), torch.get_num_threads(), torch.__version__, *more)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:24]


def _read(file: Path) -> dict[str, Any]:
    try:
        if why_shared(file.parent) or file.stat().st_size >= LARGEST_CACHE:
            return {}
        known = parsed(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write(file: Path, known: dict[str, Any]) -> None:
    """Writes the cache, or does nothing if the folder is not writable: measuring again costs only two seconds."""
    with suppress(OSError):
        make_private(file.parent)
        with replaced(file) as draft:
            draft.write_text(json.dumps(known, indent=1, sort_keys=True))
