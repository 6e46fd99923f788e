"""The complete state of a model as one value, to check that a model was left untouched."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize, prune
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

from mutiny.core.errors import BadInput

HOOKS = tuple(
    f"_{kind}_hooks"
    for kind in ("forward", "forward_pre", "backward", "backward_pre", "state_dict", "load_state_dict_pre")
)
"""Attributes in which torch keeps the hooks of a module."""


@dataclass(frozen=True)
class ModelState:
    """Weights, buffers, gradients, flags, modes, hooks and module tree of a model, as hashes.

    >>> model = nn.Linear(2, 2)
    >>> before = ModelState.of(model)
    >>> before == ModelState.of(model)
    True
    >>> with torch.no_grad(): _ = model.bias.add_(1)
    >>> before.difference(ModelState.of(model))
    'bias'
    """

    entries: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, model: nn.Module) -> ModelState:
        """Reads ``model`` without changing it."""
        entries = []
        for name, parameter in model.named_parameters(remove_duplicate=False):
            grad = "none" if parameter.grad is None else digest(parameter.grad)
            entries.append((name, f"{id(parameter)} {digest(parameter)} {parameter.requires_grad} {grad}"))
        entries += [(name, digest(buffer)) for name, buffer in model.named_buffers(remove_duplicate=False)]
        for path, module in model.named_modules(remove_duplicate=False):
            hooks = [list(getattr(module, hook, ())) for hook in HOOKS] + [id(module.__dict__.get("forward"))]
            entries.append((f"module {path or 'root'}", f"{id(module)} {type(module)} {module.training} {hooks}"))
        return cls(tuple(entries))

    def difference(self, other: ModelState) -> str | None:
        """Name of the first thing that differs, or ``None``."""
        mine, theirs = dict(self.entries), dict(other.entries)
        for name in [*mine, *(n for n in theirs if n not in mine)]:
            if mine.get(name) != theirs.get(name):
                return name
        return None


def digest(tensor: Tensor) -> str:
    """Hash of shape, dtype and bits."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    return hashlib.sha256(f"{tuple(tensor.shape)}{tensor.dtype}".encode() + data).hexdigest()


def check_model(model: object, name: str) -> nn.Module:
    """Returns the module to test (unwrapped if compiled) or raises an error that says what to fix."""
    if not isinstance(model, nn.Module):
        raise BadInput(name, type(model).__name__, "an nn.Module")
    inner = getattr(model, "_orig_mod", None)  # torch.compile keeps the real module here
    model = inner if isinstance(inner, nn.Module) else model
    check_mode(model, name)
    check_parameters(model, name)
    for parameter_name, parameter in model.named_parameters():
        if parameter.is_floating_point() and not bool(torch.isfinite(parameter.detach()).all()):
            raise BadInput(
                f"{name} parameter {parameter_name}", "NaN or infinite", "finite weights", "Retrain the model."
            )
    return model


def check_mode(model: nn.Module, name: str) -> None:
    """Raises an error if a part of a model is in training mode."""
    for path, module in model.named_modules():
        if module.training:
            where = f" (its part {path})" if path else ""
            shown = f"{type(model).__name__} in training mode{where}"
            fix = "Call model.eval() first: dropout and batch statistics would change answers from pass to pass."
            raise BadInput(name, shown, "a model in evaluation mode", fix)


def check_parameters(model: nn.Module, name: str) -> None:
    """Raises an error unless every parameter holds values that layers use directly."""
    for path, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            where = f"{name} part {path}" if path else name
            raise BadInput(where, "a TorchScript module", "an ordinary nn.Module", "Use what it was compiled from.")
    for parameter_name, parameter in model.named_parameters():
        if isinstance(parameter, nn.parameter.UninitializedParameter):
            fix = "Run the model once before testing it."
            raise BadInput(f"{name} parameter {parameter_name}", "uninitialized (lazy)", "a tensor with values", fix)
        if parameter.is_meta:
            raise BadInput(
                f"{name} parameter {parameter_name}", "on the meta device", "a tensor with values", "Load the weights."
            )
    for path, module in model.named_modules():
        removal = _computed(module)
        if removal:
            raise BadInput(
                f"{name} layer {path or type(module).__name__}",
                "weights computed from other parameters",
                "weights that are parameters themselves",
                f"Make them permanent with {removal}; outputs stay the same.",
            )


def _computed(module: nn.Module) -> str | None:
    """The call that makes the weights of a module permanent if it recomputes them in each forward pass."""
    if parametrize.is_parametrized(module):
        return "torch.nn.utils.parametrize.remove_parametrizations(layer, 'weight')"
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, prune.BasePruningMethod):
            return "torch.nn.utils.prune.remove(layer, 'weight')"
        if isinstance(hook, WeightNorm):
            return "torch.nn.utils.remove_weight_norm(layer)"
        if isinstance(hook, SpectralNorm):
            return "torch.nn.utils.remove_spectral_norm(layer)"
    return None


def check_untouched(models: Sequence[nn.Module], before: Sequence[ModelState]) -> None:
    """Raises an error if a model differs from its state ``before``."""
    for index, (model, state) in enumerate(zip(models, before, strict=True)):
        changed = state.difference(ModelState.of(model))
        if changed is not None:
            raise RuntimeError(
                f"models[{index}] was changed at {changed}; unless your forward writes to it, this is a bug in mutiny: "
                "please report it"
            )
