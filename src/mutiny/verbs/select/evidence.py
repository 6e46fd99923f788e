"""What a selection method may know: the model, the unlabeled pool, and what the model was trained on."""

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
from mutiny.models.layout import laid_out
from mutiny.models.placement import placement
from mutiny.models.read_points import ReadPoint, ReadPoints, Units
from mutiny.models.reading import Reading, reading
from mutiny.models.view import PROBE_INPUTS
from mutiny.subjects.data import Data
from mutiny.subjects.data.benign import OPERATIONS, Benign
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
    """Everything that methods read; what is expensive is computed when first asked for, and once.

    Args:
        models: originals; the first is the one under test, some methods ask the others too.
        task: what is correct, with ``outputs`` settled.
        pool: the inputs to choose from. Its targets are never read here.
        train: what the model was trained on; its targets are read only where a method's definition says so.
        forward: how a model is called.
        seed: of everything random.
        layers: where to read features, in place of each method's own choice.
        mutate: benign changes of inputs; by default those of NSS for images, and noise for other inputs.
        batch_size: inputs per forward pass; measured if not given.
        pace: batch size and layout, if they are known.
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
        """The training data, or the reason why a method that needs it does not apply."""
        if self._train is None:
            raise NotApplicable("it compares with the training data: give train=...")
        return self._train

    @property
    def classes(self) -> int:
        """Number of classes."""
        if not isinstance(self.task, Classification):
            raise NotApplicable("it needs classes")
        return self.task.classes

    @property
    def originals(self) -> Data:
        """The clean inputs that the pool was made from, if it was made by mutation."""
        if not isinstance(self.pool, MutatedData):
            raise NotApplicable("it compares with the clean originals of the pool, which only a pool of mutants has")
        return self.pool.clean

    def data(self, split: Split) -> Data:
        """The pool or the training data."""
        return self.pool if split == "pool" else self.train

    def mutation(self, operations: Sequence[str] = OPERATIONS) -> Mutation:
        """How inputs are changed in a benign way: as the user said, images by ``operations``, the rest by noise."""
        if self._mutate is not None:
            return self._mutate.fitted(self.pool)
        leaves = [leaf for leaf in named(self.pool.first(1)).values() if leaf.is_floating_point()]
        if not leaves:
            raise NotApplicable("it changes inputs a little, and these are whole numbers: give mutate=... that can")
        if not any(leaf.ndim == 4 for leaf in leaves):
            self.note("the inputs are no images: they are mutated by noise of a tenth of each feature's spread")
            return Noise().fitted(self.pool)
        return Benign(tuple(operations), value_range=self._value_range)

    @property
    def _value_range(self) -> Any:
        data = self.pool.clean if isinstance(self.pool, MutatedData) else self.pool
        return self.once(("value range",), lambda: Benign().fitted(data).value_range)

    def once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What ``make`` gives, computed by whoever asks first; it must not depend on the seed unless the key does."""
        if key not in self._known:
            self._known[key] = make()
        found: T = self._known[key]
        return found

    def rng(self, *keys: str | int) -> np.random.Generator:
        """A generator for one purpose."""
        return generator_for(self.seed, "select", *keys)

    def reseeded(self, seed: int) -> Evidence:
        """The same evidence under another seed, without notes; whatever was computed is shared."""
        twin = copy(self)
        twin.seed, twin.notes = seed, []
        return twin

    def note(self, text: str) -> None:
        """Something that the user should know; said once."""
        if text not in self.notes:
            self.notes.append(text)

    def outputs(self, split: Split = "pool", original: int = 0) -> Tensor:
        """What an original says to every input of a split, ``(n, ...)``, on the CPU; not finite is an error."""
        name, model = f"models[{original}]", self.models[original]

        def make() -> Tensor:
            said = rows(lambda x: first_call(self.forward, model, x, name), model, self.data(split), self.pace)
            return self._checked(torch.cat([one.cpu() for one in said]), split)

        return self.once((OUTPUTS, split, original), make)

    def probabilities(self, split: Split = "pool", original: int = 0) -> Tensor:
        """Class probabilities ``(n, classes)``, on the CPU."""
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
        """The model under test, probed."""
        return self.once(("view",), lambda: ModelView.of(self.model, self._probe_inputs(), self.forward))

    @property
    def all_read_points(self) -> ReadPoints:
        """Where features can be read."""
        return self.once(("places",), lambda: ReadPoints(self.view, self._probe_inputs(), self.forward))

    def _probe_inputs(self) -> Any:
        return placement(self.model).put(self.pool.first(PROBE_INPUTS))

    def read_points(
        self, method: str, default: str, units: Units, own: Sequence[str] | None = None
    ) -> tuple[ReadPoint, ...]:
        """Where a method reads features; the choice is noted.

        Args:
            method: the method's code, for the note.
            default: ``encoder``, ``hidden`` or ``all``, used if the user names nothing.
            units: what counts as one feature.
            own: the method's own ``layers``, which come before those of the evidence.
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
        """Features batch by batch, of all inputs or of those at ``indices``; nothing is kept.

        Args:
            split: which inputs.
            points: where to read.
            units: what counts as one feature.
            outputs: whether the model's outputs are wanted too; without them the pass ends after the last read point.
            change: applied to each batch on the model's device before the model sees it.
            indices: which inputs, in which order.
        """
        data, put = self.data(split), placement(self.model).put
        every = np.arange(len(data)) if indices is None else indices
        name = f"model, on {split}"
        with (
            reading(self.view, points, units, lambda m, x: first_call(self.forward, m, x, name), outputs) as read,
            laid_out(self.model, self.pace.layout),
        ):
            for at in range(0, len(every), self.pace.batch_size):
                these = every[at : at + self.pace.batch_size]
                batch = data.read(slice(at, at + len(these)) if indices is None else these)
                batch = put(batch)
                yield read(batch if change is None else change(batch, these))

    def traces(self, split: Split, points: Sequence[ReadPoint], units: Units) -> Traces:
        """Features of every input of a split, ``(n, d)``; one pass also gives the outputs."""

        def make() -> Traces:
            data, whole = self.data(split), (OUTPUTS, split, 0)
            traces = Traces(len(data), sum(point.count(units) for point in points))
            said, filled = torch.empty(0), 0
            for one in self.read(split, points, units, outputs=whole not in self._known):
                traces.add(one.features)
                if one.outputs is not None:
                    if not filled:  # one block: many small ones that stay would tear the heap to pieces
                        said = one.outputs.new_empty((len(data), *one.outputs.shape[1:]), device="cpu")
                    said[filled : filled + len(one.outputs)] = one.outputs
                    filled += len(one.outputs)
            if filled:
                self._known[whole] = self._checked(said, split)
            return traces

        return self.once(("traces", split, tuple(point.name for point in points), units), make)

    def _checked(self, outputs: Tensor, split: str) -> Tensor:
        bad = ~torch.isfinite(outputs.reshape(len(outputs), -1)).all(dim=1)
        if bool(bad.any()):
            raise BadInput(
                f"output for {split}", f"NaN or infinite for input {int(bad.nonzero()[0])}", "finite numbers",
                "Check this input and the model's weights.",
            )  # fmt: skip
        if isinstance(self.task, Classification) and self.task.outputs == "probabilities":
            self.task.resolve(outputs)  # a few rows of logits can look like probabilities, never the reverse
        return outputs.float() if outputs.element_size() < 4 else outputs
