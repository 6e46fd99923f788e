"""What was measured on this machine, kept for later runs, so that they work, and round, in the same way."""

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
    """What ``calibration.json`` in the cache folder says; measured, and written there, if it says nothing of sense."""
    file = default_folder().with_name("calibration.json")  # beside the originals
    found = _read(file).get(key)
    if isinstance(found, dict) and sensible(found):
        return found
    found = measure()
    _write(file, {**_read(file), key: found})
    return found


def key_of(model: nn.Module, inputs: Any, *more: object) -> str:
    """A name for this kind of model and input on this device with so many threads, and what else matters."""
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
    """Remembering is a convenience: a folder that cannot be written to costs two seconds per run, not the run."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(known, indent=1, sort_keys=True))
        draft.replace(file)
    except OSError:
        pass
