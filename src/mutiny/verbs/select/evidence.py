"""Information for selection methods: the model, the unlabeled pool, and the training data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.random import generator_for
from mutiny.models import Forward, ModelView, default_forward
from mutiny.models.device import placement
from mutiny.models.layout import laid_out
from mutiny.models.read_points import ReadPoint, ReadPoints, Units
from mutiny.models.reading import Reading, reading
from mutiny.models.view import PROBE_INPUTS
from mutiny.subjects.data import Data
from mutiny.subjects.data.benign_mutations import OPERATIONS, Benign
from mutiny.subjects.data.mutated import MutatedData, Mutation, named
from mutiny.subjects.data.noise import Noise
from mutiny.subjects.inference.calibration import measured_pace
from mutiny.subjects.inference.passes import Pace, first_call, rows
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.select.traces import Traces

Split = Literal["pool", "train"]
Change = Callable[[Any, npt.NDArray[np.int64]], Any]
"""Changes a batch of inputs, given their positions in the split."""
T = TypeVar("T")
OUTPUTS = "outputs"


class Evidence:
    """Everything that methods read. Outputs and features are computed once, when they are first needed.

    Args:
        models: Originals. The first is the model under test; some methods use the others too.
        task: Task, with the kind of outputs settled.
        pool: Inputs to choose from. Methods do not read its targets.
        train: Training data; its targets are read only by methods whose definition needs them.
        forward: Function that calls a model.
        seed: Seed of everything random.
        layers: Layers to read features from, instead of each method's default.
        mutate: Benign mutation of inputs; by default that of NSS for images, and noise for other inputs.
        batch_size: Inputs per forward pass; measured by default.
        pace: Batch size and memory layout, if they are known.
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        task: Task,
        pool: Data,
        train: Data | None = None,
        *,
        forward: Forward = default_forward,
        seed: int = 0,
        layers: str | Sequence[str] | None = None,
        mutate: Mutation | None = None,
        batch_size: int | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.models, self.task, self.pool, self._train = tuple(models), task, pool, train
        self.forward, self.seed, self.layers, self._mutate = forward, seed, layers, mutate
        self.size = len(pool)
        known = Pace(batch_size) if batch_size else pace
        self.pace = measured_pace(self.model, pool, forward) if known is None else known
        self.notes: list[str] = []
        self._known: dict[tuple[Any, ...], Any] = {}

    @property
    def model(self) -> nn.Module:
        """The model under test."""
        return self.models[0]

    @property
    def train(self) -> Data:
        """The training data; raises `NotApplicable` if there is none."""
        if self._train is None:
            raise NotApplicable("it compares with the training data: give train=...")
        return self._train

    @property
    def classes(self) -> int:
        """Number of classes; raises `NotApplicable` for regression."""
        if not isinstance(self.task, Classification):
            raise NotApplicable("it needs classes")
        return self.task.classes

    @property
    def originals(self) -> Data:
        """Clean inputs that the pool was made from; raises `NotApplicable` unless it was made by mutation."""
        if not isinstance(self.pool, MutatedData):
            raise NotApplicable("it compares with clean originals, which only a pool made by mutiny.mutate has")
        return self.pool.clean

    def data(self, split: Split) -> Data:
        """The pool or the training data."""
        return self.pool if split == "pool" else self.train

    def mutation(self, operations: Sequence[str] = OPERATIONS) -> Mutation:
        """Benign mutation: the user's, or ``operations`` for images and noise for other inputs."""
        if self._mutate is not None:
            return self._mutate.fitted(self.pool)
        leaves = [leaf for leaf in named(self.pool.first(1)).values() if leaf.is_floating_point()]
        if not leaves:
            raise NotApplicable("it mutates inputs, and these are whole numbers: give a mutate=... for them")
        if not any(leaf.ndim == 4 for leaf in leaves):
            self.note("the inputs are not images: they are mutated by noise of a tenth of each feature's spread")
            return Noise().fitted(self.pool)
        return Benign(tuple(operations), value_range=self._value_range)

    @property
    def _value_range(self) -> Any:
        data = self.pool.clean if isinstance(self.pool, MutatedData) else self.pool
        return self.once(("value range",), lambda: Benign().fitted(data).value_range)

    def once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """The value of ``make``, computed once per key; it must not depend on the seed unless the key does."""
        if key not in self._known:
            self._known[key] = make()
        value: T = self._known[key]
        return value

    def rng(self, *keys: str | int) -> np.random.Generator:
        """A random generator for one purpose."""
        return generator_for(self.seed, "select", *keys)

    def reseeded(self, seed: int) -> Evidence:
        """The same evidence with another seed and without notes; computed values are shared."""
        twin = copy(self)
        twin.seed, twin.notes = seed, []
        return twin

    def note(self, text: str) -> None:
        """Adds a note for the user, unless it is there already."""
        if text not in self.notes:
            self.notes.append(text)

    def outputs(self, split: Split = "pool", original: int = 0) -> Tensor:
        """Finite outputs of an original for all inputs of a split, ``(n, ...)``, on the CPU."""
        name, model = f"models[{original}]", self.models[original]

        def make() -> Tensor:
            batches = rows(lambda x: first_call(self.forward, model, x, name), model, self.data(split), self.pace)
            return self._checked(torch.cat([outputs.cpu() for outputs in batches]), split)

        return self.once((OUTPUTS, split, original), make)

    def probabilities(self, split: Split = "pool", original: int = 0) -> Tensor:
        """Class probabilities ``(n, classes)``, on the CPU; raises `NotApplicable` for regression."""
        if not isinstance(self.task, Classification):
            raise NotApplicable("it needs class probabilities")
        return self.task.probabilities(self.outputs(split, original))

    def predicted(self, split: Split = "pool", original: int = 0) -> npt.NDArray[np.int64]:
        """The predicted class of every input, ``(n,)``."""
        return self.probabilities(split, original).argmax(dim=1).numpy()

    def labels(self) -> npt.NDArray[np.int64]:
        """Class labels of the training data, ``(n,)``."""
        return self.task.check_targets(self.train.targets, "train")

    @property
    def view(self) -> ModelView:
        """Layers of the model under test, found by one watched forward pass."""
        return self.once(("view",), lambda: ModelView.of(self.model, self._probe_inputs(), self.forward))

    @property
    def all_read_points(self) -> ReadPoints:
        """All places where features can be read."""
        return self.once(("places",), lambda: ReadPoints(self.view, self._probe_inputs(), self.forward))

    def _probe_inputs(self) -> Any:
        return placement(self.model).put(self.pool.first(PROBE_INPUTS))

    def read_points(
        self, method: str, default: str, units: Units, own: Sequence[str] | None = None
    ) -> tuple[ReadPoint, ...]:
        """Places where a method reads features, which are noted.

        Args:
            method: Code of the method, for the note.
            default: ``encoder``, ``hidden`` or ``all``, used if the user names no layers.
            units: What counts as one feature.
            own: Parameter ``layers`` of the method, which takes precedence over the layers of the evidence.
        """
        named = own or self.layers
        chosen = self.all_read_points.choose(named) if named else self.all_read_points.automatic(default)
        if not chosen:
            raise NotApplicable("no layer of the model has one row per input")
        if len(chosen) > 3:
            total = sum(point.count(units) for point in chosen)
            self.note(f"{method} reads {len(chosen)} layers with {total} {units}s together")
        else:
            self.note(f"{method} reads " + "; ".join(point.describe(units) for point in chosen))
        return chosen

    def read(
        self,
        split: Split,
        points: Sequence[ReadPoint],
        units: Units,
        *,
        outputs: bool = False,
        change: Change | None = None,
        indices: npt.NDArray[np.int64] | None = None,
    ) -> Iterator[Reading]:
        """Yields features batch by batch, without keeping them.

        Args:
            split: Split to read.
            points: Places to read from.
            units: What counts as one feature.
            outputs: Also return the model's outputs; without them the forward pass ends after the last read point.
            change: Function that changes each batch, on the model's device, before the forward pass.
            indices: Positions of the inputs in the split, in any order; all inputs by default.
        """
        data, put = self.data(split), placement(self.model).put
        positions = np.arange(len(data)) if indices is None else indices
        name = f"model, on {split}"
        with (
            reading(self.view, points, units, lambda m, x: first_call(self.forward, m, x, name), outputs) as read,
            laid_out(self.model, self.pace.layout),
        ):
            for at in range(0, len(positions), self.pace.batch_size):
                these = positions[at : at + self.pace.batch_size]
                batch = put(data.read(slice(at, at + len(these)) if indices is None else these))
                yield read(batch if change is None else change(batch, these))

    def traces(self, split: Split, points: Sequence[ReadPoint], units: Units) -> Traces:
        """Features of every input of a split, ``(n, d)``; the same pass computes the outputs if they are not known."""

        def make() -> Traces:
            data, key = self.data(split), (OUTPUTS, split, 0)
            traces = Traces(len(data), sum(point.count(units) for point in points))
            outputs, filled = torch.empty(0), 0
            for batch in self.read(split, points, units, outputs=key not in self._known):
                traces.add(batch.features)
                if batch.outputs is not None:
                    if not filled:  # allocated once, because many small tensors would fragment the heap
                        outputs = batch.outputs.new_empty((len(data), *batch.outputs.shape[1:]), device="cpu")
                    outputs[filled : filled + len(batch.outputs)] = batch.outputs
                    filled += len(batch.outputs)
            if filled:
                self._known[key] = self._checked(outputs, split)
            return traces

        return self.once(("traces", split, tuple(point.name for point in points), units), make)

    def _checked(self, outputs: Tensor, split: str) -> Tensor:
        bad = ~torch.isfinite(outputs.reshape(len(outputs), -1)).all(dim=1)
        if bool(bad.any()):
            raise BadInput(
                f"output for {split}",
                f"NaN or infinite for input {int(bad.nonzero()[0])}",
                "finite numbers",
                "Check this input and the model's weights.",
            )
        if isinstance(self.task, Classification) and self.task.outputs == "probabilities":
            self.task.resolve(outputs)  # raises for logits, of which a few rows can look like probabilities
        return outputs.float() if outputs.element_size() < 4 else outputs
