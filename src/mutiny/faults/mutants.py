"""`mutants`: faulty versions of a model, without an assessment; `mutant`: one that an assessment has found."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.random import generator_for
from mutiny.core.records import FaultRecord
from mutiny.faults.base import Operator
from mutiny.faults.parsing import as_operators
from mutiny.models import Forward, ModelView, Patch, check_model, default_forward
from mutiny.models.forward import as_forward
from mutiny.models.in_use import in_use
from mutiny.models.patch import WeightEdit
from mutiny.models.snapshot import ModelSnapshot
from mutiny.models.undo import Undo
from mutiny.subjects.data import as_pool
from mutiny.subjects.inference.passes import first_call


def mutants(
    model: nn.Module,
    operator: str | Operator,
    *,
    inputs: Any,
    count: int = 5,
    seed: int = 0,
    forward: Forward | None = None,
) -> tuple[FaultyModel, ...]:
    """Mutants of a model: the same that `assess` evaluates on its first original under this seed.

    Args:
        model: Model in evaluation mode. It is not changed, except inside `FaultyModel.applied`.
        operator: One operator, such as ``"NEB(ratio=0.1)"``; see ``mutiny operators``.
        inputs: Some inputs, with or without targets; one forward pass on the first of them finds the layers.
        count: Number of mutants; fewer if the operator cannot make so many different ones of this model.
        seed: Seed of the random choice of weights, neurons or layers.
        forward: Function from model and inputs to outputs; ``model(inputs)`` by default.

    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    >>> x = torch.randn(10, 4)
    >>> faulty = mutants(net, "NEB(ratio=0.5)", inputs=x, count=2)
    >>> with faulty[0].applied() as call:  # in place: the model is restored afterwards
    ...     changed = call(x)
    >>> torch.equal(faulty[0].copy()(x), changed), torch.equal(net(x), changed)
    (True, False)
    """
    check_whole("count", count)
    check_whole("seed", seed, 0)
    operators = as_operators([operator] if isinstance(operator, Operator) else operator, "operator")
    if len(operators) != 1:
        raise BadInput("operator", repr(operator), "one operator", "Call mutants once for each.")
    call = as_forward(forward)
    by_digest: dict[str, FaultyModel] = {}
    with in_use(model, call):
        view = _view(model, inputs, call)
        for repetition in range(count):
            patch = _patch(view, operators[0], seed, 0, repetition)
            by_digest.setdefault(patch.digest, FaultyModel(model, patch, call, _callers(view)))
    return tuple(by_digest.values())


def mutant(
    model: nn.Module, fault: FaultRecord, *, inputs: Any, seed: int = 0, forward: Forward | None = None
) -> FaultyModel:
    """The faulty model that an assessment has found.

    Args:
        model: The original that has the fault: number ``fault.original``, counted from 0.
        fault: One of ``faults`` of a `mutiny.Assessment`.
        inputs: Some inputs, with or without targets; one forward pass on the first of them finds the layers.
        seed: Seed of the assessment, ``settings["seed"]`` of its result.
        forward: Function from model and inputs to outputs; ``model(inputs)`` by default.

    >>> import mutiny
    >>> x = torch.randn(400, 4, generator=torch.Generator().manual_seed(0))
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    >>> y = net(x).argmax(1)
    >>> result = mutiny.assess(net, "GF", data=(x[:200], y[:200]), validation=(x[200:], y[200:]), seeds=1)
    >>> worst = max(result.faults, key=lambda fault: fault.cost)
    >>> faulty = mutant(net, worst, inputs=x).copy()
    >>> float((faulty(x[200:]).argmax(1) != y[200:]).float().mean()) * 100 - worst.cost < 1e-4
    True
    """
    if not isinstance(fault, FaultRecord):
        raise BadInput("fault", repr(fault)[:60], "one of the faults of an assessment, such as result.faults[0]")
    check_whole("seed", seed, 0)
    call = as_forward(forward)
    (operator,) = as_operators(fault.configuration, "fault")
    try:
        with in_use(model, call):
            view = _view(model, inputs, call)
            patch = _patch(view, operator, seed, fault.original, fault.seed)
    except NotApplicable as reason:
        raise _not_of(fault, seed) from reason
    if fault.patch and patch.digest != fault.patch:
        raise _not_of(fault, seed)
    return FaultyModel(model, patch, call, _callers(view))


def _callers(view: ModelView) -> tuple[str, ...]:
    return tuple(activation.path for activation in view.activations)


def _view(model: nn.Module, inputs: Any, call: Forward) -> ModelView:
    with in_use(model, call):
        check_model(model, "model")
        return ModelView.of_data(model, as_pool(inputs, "inputs"), lambda model, x: first_call(call, model, x, "model"))


def _not_of(fault: FaultRecord, seed: int) -> BadInput:
    """Why a fault cannot be made again: this operator, choice and seed make another fault of the model, or none."""
    fix = f'Give original number {fault.original}, counted from 0, and seed=result.settings["seed"] of its assessment.'
    return BadInput("fault", fault.configuration, f"a fault of this model under seed={seed}, not of another one", fix)


def _patch(view: ModelView, operator: Operator, seed: int, original: int, repetition: int) -> Patch:
    return operator.patch(view, generator_for(seed, "mutant", operator.code, original, repetition))


@dataclass(frozen=True, eq=False)
class FaultyModel:
    """A model with a fault, in place or as a copy.

    Attributes:
        model: The user's model.
        patch: The exact edit.
        forward: Function from model and inputs to outputs.
        activations: Path of the module of each activation call of a forward pass, in order.
    """

    model: nn.Module
    patch: Patch
    forward: Forward = default_forward
    activations: tuple[str, ...] = ()

    @contextmanager
    def applied(self) -> Iterator[Callable[[Any], Tensor]]:
        """Changes the model in place and gives a function from inputs to the mutant's outputs.

        Call that function, not the model: some faults sit between layers; see `in_place`. On leaving, also by an
        exception, the model is bit for bit what it was. Until then, calls of mutiny in other threads wait if they need
        the model.
        """
        with self.patch.applied(self.model, self.forward) as call:
            yield call

    @contextmanager
    def in_place(self) -> Iterator[nn.Module]:
        """Changes the model in place, for code that calls the model itself, or parts of it, in its own way.

        Inside, code of others may do to the model what it wants: train it, convert it, load weights, add hooks. On
        leaving, also by an exception, the model is bit for bit what it was. Until then, calls of mutiny in other
        threads wait if they need the model.

        >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
        >>> x = torch.randn(10, 4)
        >>> faulty = mutants(net, "NEB(ratio=0.5)", inputs=x, count=1)[0]
        >>> with faulty.in_place():
        ...     changed = net(x)
        >>> torch.equal(faulty.copy()(x), changed), torch.equal(net(x), changed)
        (True, False)
        """
        with in_use(self.model), Undo() as undo:
            undo.add(ModelSnapshot(self.model).restore)
            with self.patch.in_place(self.model, self.activations):
                yield self.model

    def copy(self) -> nn.Module:
        """An independent copy with the fault in it, called as the model is called.

        A fault in the weights gives a model of the same class, with the same ``state_dict`` keys. Other faults give a
        module that holds the copy and applies the fault in each call.
        """
        with in_use(self.model):
            twin = copy.deepcopy(self.model)
        weights = tuple(edit for edit in self.patch.edits if isinstance(edit, WeightEdit))
        parameters = dict(twin.named_parameters(remove_duplicate=False))
        with torch.no_grad():
            for edit in weights:
                tensor = parameters[edit.parameter].data
                tensor.put_(torch.from_numpy(edit.indices).to(tensor.device), edit.values.to(tensor))
        rest = tuple(edit for edit in self.patch.edits if not isinstance(edit, WeightEdit))
        return PatchedModule(twin, Patch(rest, self.patch.first_layer)) if rest else twin


class PatchedModule(nn.Module):
    """A module that applies a patch to another one in each call.

    Args:
        model: Module that is called; it must not be used elsewhere.
        patch: Edit that is applied while it runs.
    """

    def __init__(self, model: nn.Module, patch: Patch) -> None:
        super().__init__()
        self.model, self.patch = model, patch
        self.train(model.training)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs of the patched model."""
        with self.patch.applied(self.model, lambda model, _: model(*args, **kwargs)) as call:
            return call(None)
