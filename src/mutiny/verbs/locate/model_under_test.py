"""A model, its inputs, and which of its answers are failures."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.models import Forward, ModelView, Patch
from mutiny.models.device import placement
from mutiny.models.forward import steady
from mutiny.models.layout import laid_out
from mutiny.models.view import PROBE_INPUTS
from mutiny.subjects.data import Data
from mutiny.subjects.inference.calibration import measured_pace
from mutiny.subjects.inference.passes import Pace, check_rows, first_call, rows
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.locate.failures import Failing, groups_of


class ModelUnderTest:
    """Runs a model on inputs, and identifies failures.

    Args:
        model: Model in evaluation mode.
        task: Task, with ``outputs`` settled.
        data: Inputs.
        failing: Definition of a failure.
        targets: Class labels, ``(n,)``; ``None`` if they are not known.
        forward: Function that calls the model.
        seed: Seed of everything random.
        batch_size: Inputs per forward pass; measured once per model and device by default.
        repeatable: Whether the model gives the same answers twice.
    """

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        data: Data,
        failing: Failing,
        targets: Tensor | None,
        forward: Forward,
        seed: int = 0,
        batch_size: int | None = None,
        repeatable: bool = True,
    ) -> None:
        self.model, self.task, self.data, self.failing, self.targets = model, task, data, failing, targets
        self.forward, self.seed, self.repeatable = forward, seed, repeatable
        self.pace = Pace(batch_size) if batch_size else measured_pace(model, data, forward)

    @cached_property
    def view(self) -> ModelView:
        """Structure of the model, from one watched forward pass."""
        return ModelView.of(self.model, self.probe_inputs, self.forward)

    @cached_property
    def probe_inputs(self) -> Any:
        """The first inputs, on the device of the model."""
        return placement(self.model).put(self.data.first(PROBE_INPUTS))

    @property
    def groups(self) -> int:
        """Number of classes, which are counted separately; 1 for regression."""
        return self.task.classes if isinstance(self.task, Classification) else 1

    def of_class(self, label: int | None) -> npt.NDArray[np.int64] | None:
        """Positions of the inputs of a class, by label or else by prediction; ``None`` stands for all inputs."""
        if label is None:
            return None
        if self.targets is not None:
            return np.flatnonzero(self.targets.numpy() == label)
        predicted = rows(lambda inputs: self.call(self.model, inputs), self.model, self.data, self.pace)
        groups = [groups_of(self.task, None, outputs, slice(None)).cpu().numpy() for outputs in predicted]
        return np.flatnonzero(np.concatenate(groups) == label)

    def failed(self, patch: Patch | None = None, indices: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.bool_]:
        """Which inputs fail, ``(n,)``, of all or of those at ``indices``; with a patch applied if one is given."""
        put = placement(self.model).put
        failed = np.empty(len(self.data) if indices is None else len(indices), bool)
        with (
            (patch or Patch(())).applied(self.model, self.call) as call,
            steady(),
            torch.inference_mode(),
            laid_out(self.model, self.pace.layout),
        ):
            for start in range(0, len(failed), self.pace.batch_size):
                where = slice(start, min(start + self.pace.batch_size, len(failed)))
                items = where if indices is None else indices[where]
                inputs = put(self.data.read(items))
                outputs = call(inputs)
                check_rows(outputs, where.stop - start)
                failed[where] = self.failing(inputs, outputs, items).cpu().numpy()
        return failed

    def call(self, model: nn.Module, inputs: Any) -> Tensor:
        """Outputs of the model; an exception becomes an error with the shapes of the inputs."""
        return first_call(self.forward, model, inputs, "model")
