"""Patches as files: which weights, what they were, and what they become."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from mutiny.errors import BadInput
from mutiny.models import Patch
from mutiny.models.patch import WeightEdit

FORMAT, SUFFIX = "mutiny patch 1", ".safetensors"


def save_patch(patch: Patch, model: nn.Module, path: str | Path) -> None:
    """Writes a patch of weights to a safetensors file.

    For each parameter the file holds ``name/indices`` (flat positions), ``name/before`` and ``name/after``.
    """
    weights, tensors = dict(model.named_parameters()), {}
    for edit in patch.edits:
        if not isinstance(edit, WeightEdit):
            raise BadInput("patch", type(edit).__name__, "a patch that changes weights and nothing else")
        indices = torch.from_numpy(edit.indices)
        tensors[f"{edit.parameter}/indices"] = indices
        tensors[f"{edit.parameter}/before"] = weights[edit.parameter].detach().flatten()[indices].cpu()
        tensors[f"{edit.parameter}/after"] = edit.values.to(weights[edit.parameter].dtype)
    _write(tensors, path, {"format": FORMAT, "first_layer": patch.first_layer})


def load_patch(path: str | Path) -> Patch:
    """Reads what `save_patch` wrote; ``patch.applied(model)`` runs a model with it."""
    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            names = [key.removesuffix("/indices") for key in file.keys() if key.endswith("/indices")]  # noqa: SIM118
            edits = tuple(
                WeightEdit(name, file.get_tensor(f"{name}/indices").numpy(), file.get_tensor(f"{name}/after"))
                for name in names
            )
    except (SafetensorError, OSError) as error:
        raise BadInput("patch", path, "a file that save_patch wrote", f"It cannot be read: {error}.") from error
    if about.get("format") != FORMAT:
        raise BadInput("patch", path, "a file that save_patch wrote", f"Its format is {about.get('format')}.")
    return Patch(edits, about.get("first_layer", ""))


def save_weights(model: nn.Module, path: str | Path) -> None:
    """Writes all weights and buffers, tied ones once, to a safetensors file that `mutiny.load_weights` reads."""
    found: dict[str, torch.Tensor] = {}
    seen: set[tuple[object, ...]] = set()
    for name, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tensor.shape, tensor.stride())
        if not tensor.numel() or place not in seen:
            seen.add(place)
            found[name] = tensor.detach().cpu().contiguous().clone()
    _write(found, path, {"format": "pt"})


def _write(tensors: dict[str, torch.Tensor], path: str | Path, about: dict[str, str]) -> None:
    try:
        save_file(tensors, path, about)
    except (SafetensorError, OSError) as error:
        raise BadInput("path", path, "a file in an existing folder that can be written", str(error)) from error
