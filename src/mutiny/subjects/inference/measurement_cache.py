"""Cache of measurements on this machine, so that later runs use the same settings and round in the same way."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mutiny.models.placement import placement
from mutiny.models.torch_ops import tensors
from mutiny.subjects.training.originals import default_folder

Facts = dict[str, Any]


def remembered(key: str, measure: Callable[[], Facts], sensible: Callable[[Facts], bool]) -> Facts:
    """The facts in ``calibration.json`` in the cache folder; measured and written there if missing or invalid."""
    file = default_folder().with_name("calibration.json")  # beside the originals
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
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(file: Path, known: dict[str, Any]) -> None:
    """Writes the cache, or does nothing if the folder is not writable: measuring again costs only two seconds."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(known, indent=1, sort_keys=True))
        draft.replace(file)
    except OSError:
        pass
