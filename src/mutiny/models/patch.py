"""Patches: the exact edits that an operator makes to one original, applied in place and always undone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from typing import Any

import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.in_place import EditedPasses, replace_forward
from mutiny.models.in_use import in_use
from mutiny.models.layers import Indices, Layer
from mutiny.models.signals import Scaled, SignalEditor
from mutiny.models.structure import Change, diverted
from mutiny.models.undo import Undo
from mutiny.models.view import parameter_names


@dataclass(frozen=True, eq=False)
class WeightEdit:
    """New ``values`` at the flat ``indices`` of a parameter."""

    parameter: str
    indices: Indices
    values: Tensor

    def _bytes(self) -> bytes:
        values = self.values.contiguous().view(torch.uint8).numpy().tobytes()
        return repr((self.parameter, str(self.values.dtype))).encode() + self.indices.tobytes() + values


@dataclass(frozen=True, eq=False)
class SignalEdit:
    """Multiplies the signals of some neurons, as the rest of the network reads them, by ``factor``."""

    layer: Layer
    units: Indices
    factor: float

    def _bytes(self) -> bytes:
        return repr((self.layer.name, self.factor)).encode() + self.units.tobytes()


@dataclass(frozen=True)
class ActivationEdit:
    """Makes activation call number ``ordinal`` of a forward pass return its input."""

    ordinal: int

    def _bytes(self) -> bytes:
        return f"activation {self.ordinal}".encode()


@dataclass(frozen=True)
class ModuleEdit:
    """Skips the module at ``path``, runs it twice, or applies an activation after it, at each of its calls."""

    path: str
    change: Change
    activation: str = "linear"

    def _bytes(self) -> bytes:
        return repr((self.path, self.change, self.activation)).encode()


Edit = WeightEdit | SignalEdit | ActivationEdit | ModuleEdit


@dataclass(frozen=True, eq=False)
class Patch:
    """All edits that turn an original into one mutant instance. Hashable; equal patches have equal digests.

    Args:
        edits: Edits in order; later edits of the same weight win.
        first_layer: Name of the first layer or module in execution order that the patch changes; activations before it
            stay the same. Empty for a patch without edits.

    >>> model = nn.Linear(2, 1)
    >>> import numpy as np
    >>> patch = Patch((WeightEdit("weight", np.array([0, 1]), torch.zeros(2)),), "weight")
    >>> with patch.applied(model) as forward:
    ...     bool((forward(torch.ones(1, 2)) == model.bias).all())
    True
    >>> bool((model.weight == 0).any())
    False
    """

    edits: tuple[Edit, ...]
    first_layer: str = ""

    @cached_property
    def digest(self) -> str:
        """A hash of everything the patch does."""
        state = hashlib.sha256()
        for edit in self.edits:
            part = edit._bytes()
            state.update(type(edit).__name__.encode() + len(part).to_bytes(8, "big") + part)
        return state.hexdigest()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Patch) and self.digest == other.digest

    @contextmanager
    def applied(self, model: nn.Module, forward: Forward = default_forward) -> Iterator[Callable[[Any], Tensor]]:
        """Changes ``model`` in place and gives a function from inputs to the mutant's outputs.

        On leaving, also by an exception or an interrupt, every bit of the model is restored. An interrupt during the
        restoration is raised afterwards. Other threads that use the model with mutiny wait until then.
        """
        with in_use(model, forward), steady(), Undo() as undo:
            names = self._put(model, undo)
            scaled, silenced = self._between_layers()
            if scaled or silenced:
                editor = SignalEditor(names, scaled, silenced, [*model.parameters(), *model.buffers()])
                yield lambda inputs: editor.run(lambda: forward(model, inputs))
            else:
                yield lambda inputs: forward(model, inputs)

    @contextmanager
    def in_place(
        self, model: nn.Module, activations: Sequence[str] = (), on_pass: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """Changes ``model`` in place, so that whoever calls it, a part of it or a copy of it meets the fault.

        On leaving, all that this method did is undone; what others did to the model meanwhile is not.

        Args:
            model: The model.
            activations: Path of the module of each activation call of a forward pass, in order, see `EditedPasses`.
            on_pass: Function that is called at the beginning of each forward pass of the model or of a part of it.
        """
        with in_use(model), steady(), Undo() as undo:
            self._put(model, undo)
            scaled, silenced = self._between_layers()
            if scaled or silenced or on_pass is not None:
                EditedPasses(model, scaled, silenced, activations, on_pass).put_in(undo)
            yield

    def _put(self, model: nn.Module, undo: Undo) -> dict[int, str]:
        """Makes the edits of weights and modules; names of parameters by identity."""
        names = parameter_names(model) if self.edits else {}
        parameters = {names[id(parameter)]: parameter for parameter in model.parameters() if names}
        for edit in self.edits:
            if isinstance(edit, WeightEdit):
                _put(parameters, edit, undo)
            elif isinstance(edit, ModuleEdit):
                _divert(model, edit, undo)
        return names

    def _between_layers(self) -> tuple[list[Scaled], list[int]]:
        """The edits of signals and of activation calls."""
        scaled = [(edit.layer, edit.units, edit.factor) for edit in self.edits if isinstance(edit, SignalEdit)]
        return scaled, [edit.ordinal for edit in self.edits if isinstance(edit, ActivationEdit)]


def _put(parameters: dict[str, nn.Parameter], edit: WeightEdit, undo: Undo) -> None:
    if edit.parameter not in parameters:
        raise BadInput("patch", f"an edit of {edit.parameter}", "a patch that was made from this model")
    tensor = parameters[edit.parameter].data
    where = torch.from_numpy(edit.indices).to(tensor.device)
    before = tensor.take(where)
    undo.add(_write, tensor, where, before)
    _write(tensor, where, edit.values.to(device=tensor.device, dtype=tensor.dtype))


@torch.inference_mode()  # parameters made in inference mode can only be written in it; others are not affected
def _write(tensor: Tensor, where: Tensor, values: Tensor) -> None:
    tensor.put_(where, values)


def _divert(model: nn.Module, edit: ModuleEdit, undo: Undo) -> None:
    """Replaces the forward function of a module."""

    def change(unchanged: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(unchanged)
        def forward(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            return diverted(partial(unchanged, module), edit.change, edit.activation)(*args, **kwargs)

        return forward

    replace_forward(model.get_submodule(edit.path), change, undo)
