"""Loading of weights from untrusted files."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from mutiny.core.checks import check_path
from mutiny.core.claims import own_warnings
from mutiny.core.errors import BadInput, UntrustedFile
from mutiny.models.in_use import in_use
from mutiny.subjects.training.weight_files import check_safetensors, check_zipped

_WRAPPERS = ("state_dict", "model_state_dict", "model")
_SAFE = "2.10"
"""First version of torch whose ``weights_only`` keeps code in files from running: CVE-2025-32434, CVE-2026-24747."""


def load_weights(model: nn.Module, path: str | Path, trust_pickle: bool = False) -> nn.Module:
    """Loads weights and buffers into ``model`` and returns it; on any error the model is unchanged.

    Checkpoints that hold the weights under ``state_dict``, ``model_state_dict`` or ``model``, and names with
    the prefix ``module.`` (from ``DataParallel``), are supported.

    Args:
        model: Model that receives the weights; its mode stays.
        path: Path of a ``.safetensors`` file, or a ``.pt`` or ``.pth`` file of plain tensors; torch before 2.10 cannot
            read the latter without trust.
        trust_pickle: Whether to unpickle a file, which can run any code that its author put in.
    """
    if not isinstance(model, nn.Module):
        fix = "The model comes first: load_weights(model, path)."
        raise BadInput("model", repr(model)[:60], "a torch.nn.Module", fix)
    if not isinstance(path, (str, Path)):
        raise BadInput("path", repr(path)[:60], "the path of a file")
    path = Path(path)
    check_path("weights", path)
    if not path.is_file():
        raise BadInput("weights", path, "an existing file", "Check the path.")
    read = _read_safetensors(path) if path.suffix == ".safetensors" else _read_torch(path, trust_pickle)
    weights = _plain(read, path)
    with in_use(model):
        _check_names(model, weights, path)
        for name, current in model.state_dict().items():
            if name in weights:
                _check_values(name, weights[name], current, name in dict(model.named_parameters()), path)
        model.load_state_dict(weights, strict=False)
    return model


def _read_safetensors(path: Path) -> Any:
    try:
        check_safetensors(path, "weights")
        return load_file(path)
    except BadInput:
        raise
    except Exception as error:  # errors of many kinds for files that nobody vouches for
        raise BadInput("weights", path, "an intact safetensors file", f"It cannot be read: {error}.") from error


def _read_torch(path: Path, trust_pickle: bool) -> Any:
    if not trust_pickle and torch.__version__ < _SAFE:
        expected = (
            f"a .safetensors file with torch {torch.__version__}: before 2.10, other files can run code when read"
        )
        fix = "Convert it, use a later torch or, if you trust its author, set trust_pickle=True."
        raise UntrustedFile("weights", path, expected, fix)
    try:
        check_zipped(path, "weights")
        with own_warnings("ignore"):  # about formats; what matters is raised
            return torch.load(path, map_location="cpu", weights_only=not trust_pickle)
    except BadInput:
        raise
    except Exception as error:  # errors of many kinds for files that nobody vouches for
        reason = str(error).strip().splitlines() or [type(error).__name__]
        if isinstance(error, pickle.UnpicklingError) and "invalid load key" not in str(error) and not trust_pickle:
            raise UntrustedFile(
                "weights",
                path,
                "a file of plain tensors; this one needs unpickling, which can run code",
                "Save model.state_dict() instead or, if you trust its author, set trust_pickle=True.",
            ) from error
        raise BadInput("weights", path, "a file made by torch.save", f"It cannot be read: {reason[0]}") from error


def _plain(read: Any, path: Path) -> dict[str, Tensor]:
    if isinstance(read, nn.Module):
        read = read.state_dict()
    for wrapper in _WRAPPERS:
        if isinstance(read, Mapping) and isinstance(read.get(wrapper), Mapping):
            read = read[wrapper]
    if not isinstance(read, Mapping) or not all(isinstance(value, Tensor) for value in read.values()):
        raise BadInput("weights", path, "tensors by name", "Save model.state_dict().")
    if read and all(name.startswith("module.") for name in read):
        return {name.removeprefix("module."): value for name, value in read.items()}
    return dict(read)


def _check_names(model: nn.Module, weights: dict[str, Tensor], path: Path) -> None:
    state = model.state_dict()
    present = {_place(state[name]) for name in state if name in weights}
    missing = [name for name in state if name not in weights and _place(state[name]) not in present]
    unexpected = [name for name in weights if name not in state]
    if missing or unexpected:
        raise BadInput(
            "weights",
            f"{path}, missing {_some(missing)}, unexpected {_some(unexpected)}",
            f"the {len(state)} tensors of {type(model).__name__}",
            "Check that model and file belong together.",
        )


def _check_values(name: str, value: Tensor, current: Tensor, is_parameter: bool, path: Path) -> None:
    if value.shape != current.shape:
        raise BadInput(f"weights {name}", f"shape {tuple(value.shape)} in {path}", f"shape {tuple(current.shape)}")
    numbers = value.is_floating_point() or value.is_complex()
    bad = value.isnan() if not is_parameter else ~value.isfinite()  # buffers may be infinite: attention masks are
    if numbers and bool(bad.any()):
        raise BadInput(
            f"weights {name}",
            f"{int(bad.sum())} of {value.numel()} numbers NaN or infinite in {path}",
            "finite numbers",
            "The training has probably diverged: use an earlier checkpoint.",
        )


def _place(tensor: Tensor) -> tuple[object, ...]:
    """Key that is equal for tied weights; tensors without memory are never tied."""
    if tensor.numel() == 0:
        return (id(tensor),)
    return tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride()


def _some(names: list[str]) -> str:
    return "none" if not names else ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
