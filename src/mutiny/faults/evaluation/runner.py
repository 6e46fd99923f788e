"""Evaluates originals and mutant instances on data splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.core.random import generator_for
from mutiny.core.records import Bits
from mutiny.faults import Operator
from mutiny.faults.evaluation.instance import Answered
from mutiny.faults.evaluation.prediction import AnswerMemory
from mutiny.faults.evaluation.screened import ScreenedMutant, Screening
from mutiny.models import Forward, ModelView, Patch
from mutiny.models.device import placement
from mutiny.models.layers import Indices
from mutiny.models.operations import operations_per_input
from mutiny.subjects.data import Data
from mutiny.subjects.inference.calibration import measured_pace
from mutiny.subjects.inference.condensed_outputs import condense
from mutiny.subjects.inference.passes import CleanPass, Outcome, Pace, clean_pass, evaluate, rows, settle
from mutiny.subjects.tasks import Classification, Task, most_probable


class Runner:
    """Holds the originals, their data and the campaign's seed, and evaluates mutants on them.

    Args:
        models: The originals, in evaluation mode.
        task: Task that decides which answers are correct; ``outputs="auto"`` is resolved here.
        splits: Data by name, at least one; the first is used to find layers and the kind of outputs.
        forward: Function that calls a model.
        seed: Seed of the campaign.
        batch_size: Inputs per forward pass; by default the fastest batch size and memory layout are measured.
        pace: Batch size and memory layout, if they were measured before.
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        task: Task,
        splits: Mapping[str, Data],
        forward: Forward,
        seed: int,
        batch_size: int | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.models, self.forward, self.seed = tuple(models), forward, seed
        self.splits = dict(splits)
        first = next(iter(self.splits.values()))
        self.task = settle(task, self.models, first, forward, batch_size)
        measured = pace or (Pace(batch_size) if batch_size else None)
        self.pace = measured or measured_pace(self.models[0], first, forward)
        self._expected: dict[str, Tensor] = {}
        self._labels: dict[str, Tensor] = {}
        self._targets: dict[tuple[str, torch.device], Tensor] = {}
        self._clean: dict[tuple[int, str], CleanPass] = {}
        self._bits: dict[str, Bits] = {}

    @cached_property
    def views(self) -> tuple[ModelView, ...]:
        """Views of all originals, probed once."""
        first = next(iter(self.splits.values()))
        return tuple(ModelView.of_data(model, first, self.forward) for model in self.models)

    @cached_property
    def operations(self) -> float:
        """Operations of a forward pass for one input, counted once."""
        return operations_per_input(self.models[0], max(self.splits.values(), key=len), self.forward)

    def is_large(self, split: str, inputs: int, operations: float) -> bool:
        """Whether a split has at least so many inputs, and a pass over it takes at least so many operations.

        This decides whether only a part of the inputs is evaluated. Operations are counted, not timed, so that the
        answer is the same on every machine.
        """
        size = len(self.splits[split])
        return size >= inputs and size * self.operations >= operations

    def add_split(self, name: str, data: Data) -> None:
        """Adds a split, such as a weak one derived from clean passes."""
        self.splits[name] = data

    def expect(self, split: str, probabilities: Tensor) -> None:
        """Sets the probabilities of the classes for a split without labels, ``(n, classes)``."""
        self._expected[split] = probabilities

    @property
    def unlabeled(self) -> frozenset[str]:
        """Splits without labels."""
        return frozenset(self._expected)

    def targets(self, split: str, device: torch.device) -> Tensor:
        """Targets of a split in the task's form."""
        key = (split, device)
        if key not in self._targets:
            found = self._expected.get(split)
            if found is None:
                found = torch.from_numpy(self.task.check_targets(self.splits[split].targets, split))
            self._targets[key] = found.to(device)
        return self._targets[key]

    def clean(self, original: int, split: str) -> CleanPass:
        """Clean pass of an original over a split; computed once."""
        key = (original, split)
        if key not in self._clean:
            model = self.models[original]
            targets = self.targets(split, placement(model).device)
            name = f"models[{original}]"
            data = self.splits[split]
            self._clean[key] = clean_pass(model, data, targets, self.task, self.forward, self.pace, name)
        return self._clean[key]

    def keep(self, original: int, split: str, clean: CleanPass) -> None:
        """Stores a clean pass that another worker has made."""
        self._clean[original, split] = clean

    def __getstate__(self) -> dict[str, object]:
        """The state without views, which are probed again on the other side."""
        return {name: value for name, value in vars(self).items() if name != "views"}

    def clean_outcomes(self, split: str) -> list[Outcome]:
        """Outcomes of all originals on a split."""
        return [self.clean(original, split).outcome for original in range(len(self.models))]

    def clean_bits(self, split: str) -> Bits:
        """Packed correctness of all originals, ``(originals, bytes)``: one array that all mutants share."""
        if split not in self._bits:
            self._bits[split] = np.array([outcome.bits for outcome in self.clean_outcomes(split)])
        return self._bits[split]

    def patch(self, operator: Operator, original: int, repetition: int) -> Patch:
        """The patch of one instance. Its seed does not depend on the operator's strength."""
        rng = generator_for(self.seed, "mutant", operator.code, original, repetition)
        return operator.patch(self.views[original], rng)

    def outcome(self, operator: Operator, original: int, repetition: int, split: str) -> Outcome:
        """Outcome of one mutant instance on a split."""
        return self.run(self.patch(operator, original, repetition), original, split)

    def run(self, patch: Patch, original: int, split: str) -> Outcome:
        """Outcome of an original with a patch on a split."""
        model = self.models[original]
        targets = self.targets(split, placement(model).device)
        with patch.applied(model, self.forward) as call:
            return evaluate(call, model, self.splits[split], targets, self.task, self.pace)

    def change(
        self, patch: Patch, original: int, split: str, indices: Indices | None = None
    ) -> npt.NDArray[np.float32]:
        """How much worse a patched original answers each input than the original does, ``(n,)``.

        For classification, 1 where a right answer becomes wrong and -1 where a wrong one becomes right; for regression,
        the difference of the losses.

        Args:
            patch: Patch of the original.
            original: Number of the original.
            split: Set of inputs.
            indices: Positions of inputs; all by default.
        """
        model, clean = self.models[original], self.clean(original, split)
        targets, parts, start = self.targets(split, placement(model).device), [], 0
        where = None if indices is None else torch.from_numpy(indices).to(targets.device)
        with patch.applied(model, self.forward) as call:
            for outputs in rows(call, model, self.splits[split], self.pace, indices):
                part = slice(start, start + len(outputs))
                truth = targets[part] if where is None else targets[where[part]]
                parts.append(self.task.judge(outputs, truth)[1])
                start += len(outputs)
        before = clean.shares if indices is None else clean.shares[indices]
        sign = -1.0 if self.task.higher_is_better else 1.0
        return (sign * (torch.cat(parts).double().cpu().numpy() - before)).astype(np.float32)

    def answers(self, patch: Patch, original: int, split: str, indices: Indices) -> Answered:
        """Correctness, shares of the metric and condensed outputs of a patched original for some inputs."""
        model, truth = self.models[original], self.targets(split, torch.device("cpu"))[torch.from_numpy(indices)]
        with patch.applied(model, self.forward) as call:
            outputs = torch.cat([*rows(call, model, self.splits[split], self.pace, indices)])
        truth = truth.to(outputs.device)
        right, shares = self.task.judge(outputs, truth)
        return right.cpu().numpy(), shares.double().cpu().numpy(), condense(self.task, outputs, truth).cpu()

    def changed_outputs(
        self, patch: Patch, original: int, split: str, indices: Indices
    ) -> tuple[npt.NDArray[np.float32], Tensor]:
        """How much worse a patched original answers some inputs, as in `change`, and its condensed outputs for them."""
        _, shares, outputs = self.answers(patch, original, split, indices)
        sign = -1.0 if self.task.higher_is_better else 1.0
        return (sign * (shares - self.clean(original, split).shares[indices])).astype(np.float32), outputs

    def screened(
        self, operator: Operator, split: str, screening: Screening, checks: int, memory: AnswerMemory
    ) -> ScreenedMutant:
        """A mutant on a split, with no input evaluated yet."""
        strength = None if operator.strength is None else float(getattr(operator, operator.strength))
        patches: dict[tuple[int, int], Patch] = {}
        targets = self.targets(split, torch.device("cpu"))

        def answer(original: int, repetition: int, indices: Indices) -> Answered:
            key = (original, repetition)
            if key not in patches:
                patches[key] = self.patch(operator, original, repetition)
            return self.answers(patches[key], original, split, indices)

        clean = [self.clean(original, split) for original in range(len(self.models))]
        rng = generator_for(self.seed, "screening", operator.code, split, str(strength))
        return ScreenedMutant(self.task, clean, targets, answer, rng, screening, checks, memory, strength)

    def labels(self, split: str) -> Tensor | None:
        """Class labels of a split, or the most probable ones; ``None`` for regression."""
        if not isinstance(self.task, Classification):
            return None
        if split not in self._labels:
            self._labels[split] = most_probable(self.targets(split, torch.device("cpu")))
        return self._labels[split]
