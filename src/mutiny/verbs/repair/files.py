"""Files of patches (positions, old and new values of weights) and of repaired weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save, save_file
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.core.private_files import USUAL, followed, replaced
from mutiny.models import Patch, WeightEdit
from mutiny.models.in_use import in_use
from mutiny.subjects.training.weight_files import check_safetensors

FORMAT, SUFFIX = "mutiny patch 2", ".safetensors"
PARTS = ("shape", "indices", "before", "after")


def save_patch(patch: Patch, model: nn.Module, path: str | Path) -> None:
    """Writes a patch of weights to a safetensors file.

    For each parameter the file holds ``name/shape``, ``name/indices`` (flat positions), ``name/before`` and
    ``name/after``.
    """
    weights, tensors = dict(model.named_parameters()), {}
    for edit in patch.edits:
        if not isinstance(edit, WeightEdit):
            raise BadInput("patch", type(edit).__name__, "a patch that changes only weights")
        indices = torch.from_numpy(edit.indices)
        weight = weights[edit.parameter].detach()
        tensors[f"{edit.parameter}/shape"] = torch.tensor(weight.shape, dtype=torch.int64)
        tensors[f"{edit.parameter}/indices"] = indices
        tensors[f"{edit.parameter}/before"] = weight.flatten()[indices.to(weight.device)].cpu()
        tensors[f"{edit.parameter}/after"] = edit.values.to(weight.dtype)
    _write(tensors, path, {"format": FORMAT, "first_layer": patch.first_layer})


def load_patch(path: str | Path, model: nn.Module) -> Patch:
    """Reads a patch that `save_patch` wrote for this model; ``patch.applied(model)`` runs the model with it.

    Raises:
        BadInput: The file is not a patch, or the model lacks these weights or has other values in them.
    """
    try:
        check_safetensors(path, "patch")
        with safe_open(path, framework="pt") as file:
            about, tensors = file.metadata() or {}, {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except BadInput:
        raise
    except Exception as error:  # errors of many kinds for files that nobody vouches for
        raise BadInput("patch", path, "a file that save_patch wrote", f"It cannot be read: {error}.") from error
    if about.get("format") != FORMAT:
        raise BadInput("patch", path, "a file that save_patch wrote", f"Its format is {about.get('format')}.")
    with in_use(model):
        return Patch(_edits(tensors, model, path), about.get("first_layer", ""))


def _edits(tensors: Mapping[str, Tensor], model: nn.Module, path: str | Path) -> tuple[WeightEdit, ...]:
    """The edits of a patch in a file; raises `BadInput` unless they were made from this model."""
    weights, edits = dict(model.named_parameters()), []
    for name in [key.removesuffix("/indices") for key in tensors if key.endswith("/indices")]:
        parts = [tensors.get(f"{name}/{part}") for part in PARTS]
        shape, indices, before, after = (torch.empty(0) if part is None else part for part in parts)
        _check_whole(path, name, shape, indices, before, after)
        if name not in weights:
            raise _wrong_model(path, f"It has no parameter {name}.")
        weight = weights[name].detach()
        if list(weight.shape) != shape.tolist():
            raise _wrong_model(path, f"The shape of {name} is {tuple(weight.shape)}, not {tuple(shape.tolist())}.")
        now = weight.flatten()[indices.to(weight.device)].cpu()
        if now.dtype != before.dtype or not torch.equal(now, before):
            raise _wrong_model(path, f"Its {name} has other values than those the patch was made from.")
        edits.append(WeightEdit(name, indices.numpy(), after))
    return tuple(edits)


def _check_whole(path: str | Path, name: str, shape: Tensor, indices: Tensor, before: Tensor, after: Tensor) -> None:
    """Raises an error if the tensors of a parameter contradict each other."""
    numbers = all(tensor.dtype == torch.int64 and tensor.ndim == 1 for tensor in (shape, indices))
    fits = numbers and indices.shape == before.shape == after.shape and before.dtype == after.dtype
    if not fits or bool(((indices < 0) | (indices >= int(shape.prod()))).any()):
        raise BadInput("patch", path, "a file that save_patch wrote", f"Its tensors for {name} contradict each other.")


def _wrong_model(path: str | Path, reason: str) -> BadInput:
    return BadInput("model", f"not that of {path}", "the model that the patch was made from", reason)


def save_weights(model: nn.Module, path: str | Path) -> None:
    """Writes all weights and buffers, tied ones once, to a safetensors file that `mutiny.load_weights` reads."""
    tensors: dict[str, torch.Tensor] = {}
    seen: set[tuple[object, ...]] = set()
    for name, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tensor.shape, tensor.stride())
        if not tensor.numel() or place not in seen:
            seen.add(place)
            tensors[name] = tensor.detach().cpu().contiguous().clone()
    _write(tensors, path, {"format": "pt"})


def _write(tensors: dict[str, torch.Tensor], path: str | Path, about: dict[str, str]) -> None:
    target = followed(path, "path")
    try:
        if target.exists() and not target.is_file():  # a device or a pipe
            target.write_bytes(save(tensors, about))
            return
        with replaced(target, USUAL) as part:
            mode = part.stat().st_mode
            save_file(tensors, part, about)
            part.chmod(mode)  # the library makes a file of its own, which nobody else can read
    except (SafetensorError, OSError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput("path", path, "a file in an existing folder that can be written", f"{why}.") from error
