"""Contract of attacks, for authors of attacks: every promise that `mutiny.attack` relies on, checked on one model.

>>> import torch
>>> from mutiny.verbs.attack.pgd import Pgd
>>> model = torch.nn.Linear(2, 2).eval()
>>> with torch.no_grad():
...     _ = model.weight.copy_(torch.tensor([[5.0, -5.0], [-5.0, 5.0]])), model.bias.zero_()
>>> inputs = torch.rand(20, 2, generator=torch.Generator().manual_seed(0))
>>> check_attack(Pgd(iterations=5), model, inputs, eps=0.9)
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.core.errors import NotApplicable
from mutiny.core.parsing import Names
from mutiny.core.random import generator_for
from mutiny.faults.weights.weight_inhibitor import WeightInhibitor
from mutiny.models import Forward, ModelState, ModelView, Patch, default_forward
from mutiny.subjects.data.balls import Norm, distances
from mutiny.testing.names import check_names
from mutiny.testing.operators import Injected
from mutiny.verbs.attack.attack import attack as run_attack
from mutiny.verbs.attack.base import Attack, Attacked, Batch, answers
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.attack.result import MUTANTS

MUTANT_COUNT, BUDGET = 2, 3
TOLERANCE = 1e-6
"""Values may differ by this share of the range: other batches round differently."""
ALIKE = 0.9
"""Share of inputs that must not depend on the batch; rounding may decide about the sign of a gradient near 0."""
CLEAR = 1e-4
"""Answers count as clear if the largest output leads by more than this share of the largest absolute output."""
NEARBY = 1e-6
"""Share of the range that is too small a distance to change clear answers."""


@dataclass(frozen=True, eq=False)
class Case:
    """A model, its inputs and the limits of an attack.

    Attributes:
        model: Model in evaluation mode.
        inputs: Inputs within the range, ``(n, ...)``.
        labels: Labels, ``(n,)``.
        eps: Largest distance; ``None`` for an attack that searches for the nearest input.
        norm: Norm of the distance.
        low: Smallest value of an input.
        high: Largest value of an input.
        forward: Function that calls the model.
        patches: Patches of the mutants that take part.
    """

    model: nn.Module
    inputs: Tensor
    labels: Tensor
    eps: float | None
    norm: Norm
    low: float
    high: float
    forward: Forward
    patches: Sequence[Patch] = ()

    def attacked(self, attack: Attack, rows: slice = slice(None)) -> tuple[Attacked, Ensemble]:
        """What the attack returns for some of the inputs, and the ensemble after it."""
        ensemble = Ensemble(self.model, self.patches, self.forward)
        first = rows.start or 0
        batch = Batch(self.inputs[rows].clone(), self.labels[rows].clone(), first, self.low, self.high, seed=0)
        return attack.attacked(ensemble, batch, self.eps), ensemble


def check_attack(
    attack: Attack,
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor | None = None,
    *,
    eps: float = 0.1,
    norm: Norm | None = None,
    low: float = 0.0,
    high: float = 1.0,
    forward: Forward = default_forward,
    by_input: bool = True,
    must_fool: bool = True,
) -> None:
    """Raises `AssertionError` with a sentence unless ``attack`` keeps all promises on ``model``.

    Args:
        attack: Attack with all parameters; few iterations are enough.
        model: Model in evaluation mode that returns logits ``(n, classes)``. It is not changed.
        inputs: Inputs within the range, ``(n, ...)``; at least 10.
        labels: Labels, ``(n,)``; the answers of the model by default.
        eps: Largest distance; not used if the attack searches for the nearest input.
        norm: Norm of the distance; by default the parameter ``norm`` of the attack, or ``"linf"`` without one.
        low: Smallest value of an input.
        high: Largest value of an input.
        forward: Function that calls the model.
        by_input: Whether the result for an input must not depend on the other inputs of its batch.
        must_fool: Whether some correct answers must be lost at ``eps``. False if the model makes that impossible.
    """
    check_parameters(attack)
    with torch.no_grad():
        said = answers(forward(model, inputs.clone()))
    limit = eps if attack.bounded else None
    measured_in: Norm = getattr(attack, "norm", "linf") if norm is None else norm
    case = Case(model, inputs, said if labels is None else labels, limit, measured_in, low, high, forward)
    before = ModelState.of(model)
    together = replace(case, patches=_patches(case))
    for each in (case, together):
        check_restores(attack, each)
        check_limits(attack, each)
        check_passes(attack, each)
    check_seed(attack, together)
    if by_input:
        check_batches(attack, case)
    check_budget(attack, replace(case, labels=said))
    check_loss(attack, case)
    check_success(attack, case, must_fool)
    _untouched(attack, model, before, "all checks")


def check_parameters(attack: Attack) -> None:
    """The attack has names, and can be rebuilt from the text that describes it."""
    check_names(attack)
    names = Names("attacks", Attack, {attack.code: type(attack)}, attack.code)
    (again,) = names.parse(str(attack))
    assert again == attack, f"{attack.code}: {str(attack)!r} rebuilds {again!r}, not {attack!r}"
    assert hash(again) == hash(attack), f"{attack.code}: equal attacks have different hashes"


def check_restores(attack: Attack, case: Case) -> None:
    """Model, inputs, labels and global random generators are as before, also after an error in a forward pass."""
    for fails_at in (None, 1, 3):
        calls = 0

        def forward(model: nn.Module, inputs: Any, fails_at: int | None = fails_at) -> Tensor:
            nonlocal calls
            calls += 1
            if calls == fails_at:
                raise Injected
            return case.forward(model, inputs)

        after = "an attack" if fails_at is None else f"an error in forward pass {fails_at}"
        before, drawn = ModelState.of(case.model), _random_state()
        batch = Batch(case.inputs.clone(), case.labels.clone(), 0, case.low, case.high, seed=0)
        with suppress(Injected):
            attack.attacked(Ensemble(case.model, case.patches, forward), batch, case.eps)
        _untouched(attack, case.model, before, after)
        assert torch.equal(batch.inputs, case.inputs), f"{attack.code}: the inputs are not as before after {after}"
        assert torch.equal(batch.labels, case.labels), f"{attack.code}: the labels are not as before after {after}"
        assert not batch.inputs.requires_grad, f"{attack.code}: the inputs require gradients after {after}"
        assert _random_state() == drawn, f"{attack.code}: a global random generator is not as before after {after}"


def check_limits(attack: Attack, case: Case) -> None:
    """New inputs have the form of the old ones, are finite, within the range and within the distance."""
    new, old = case.attacked(attack)[0].inputs, case.inputs
    assert isinstance(new, Tensor), f"{attack.code}: returns {type(new).__name__}, not a tensor"
    for name in ("shape", "dtype", "device"):
        kept = getattr(new, name) == getattr(old, name)
        assert kept, f"{attack.code}: {name} of inputs is {getattr(new, name)}, not {getattr(old, name)}"
    assert bool(new.isfinite().all()), f"{attack.code}: new inputs are not finite"
    low, high = (torch.tensor(end, dtype=new.dtype, device=new.device) for end in (case.low, case.high))
    inside = bool((new >= low).all() and (new <= high).all())
    assert inside, f"{attack.code}: values from {float(new.min()):g} to {float(new.max()):g} leave the range"
    if case.eps is not None:
        farthest = distances(old.detach().cpu(), new.detach().cpu())[case.norm].max()
        near = farthest <= case.eps + TOLERANCE * (case.high - case.low)
        assert near, f"{attack.code}: an input moves by {farthest:g} in {case.norm}, further than eps={case.eps:g}"


def check_seed(attack: Attack, case: Case) -> None:
    """The same seed gives the same inputs and the same number of passes, whatever was drawn elsewhere before."""
    first, _ = case.attacked(attack)
    with torch.random.fork_rng(devices=[]):
        torch.rand(7)
        again, _ = case.attacked(attack)
    same = _alike(case, first.inputs, again.inputs).all() and first.passes == again.passes
    assert same, f"{attack.code}: the same seed gives different results"


def check_batches(attack: Attack, case: Case) -> None:
    """In two batches, inputs become the same as in one; in double precision, so that rounding decides little."""
    exact = replace(case, model=deepcopy(case.model).double(), inputs=case.inputs.double())
    middle, count = len(exact.inputs) // 3, len(exact.inputs)
    whole = exact.attacked(attack)[0].inputs
    parts = [exact.attacked(attack, rows)[0].inputs for rows in (slice(0, middle), slice(middle, count))]
    share = float(_alike(exact, whole, torch.cat(parts)).double().mean())
    assert share >= ALIKE, f"{attack.code}: {1 - share:.0%} of the inputs depend on the batch"


def check_passes(attack: Attack, case: Case) -> None:
    """The number of passes is a whole number, and includes all passes of the ensemble, but for one of preparation."""
    found, ensemble = case.attacked(attack)
    whole = isinstance(found.passes, int) and found.passes >= 0
    assert whole, f"{attack.code}: passes={found.passes!r}, not a whole number"
    preparation = len(case.inputs) * len(ensemble)
    counted = found.passes >= ensemble.passes - preparation
    assert counted, f"{attack.code}: made {ensemble.passes} passes, reports {found.passes}"


def check_budget(attack: Attack, case: Case) -> None:
    """`Attack.times` returns the same kind of attack, which stays within its budget, or none for any budget."""
    once, longer = attack.times(1), attack.times(BUDGET)
    assert (once is None) == (longer is None), f"{attack.code}: times() is None for some budgets only"
    if once is None or longer is None:
        return
    assert once == attack, f"{attack.code}: times(1) is {once!r}, not {attack!r}"
    assert type(longer) is type(attack), f"{attack.code}: times({BUDGET}) is another kind of attack: {longer!r}"
    if case.eps is None:
        return  # how long a search for the nearest input takes depends on what it finds
    clear = _clear(case, case.inputs)
    near = replace(
        case, inputs=case.inputs[clear], labels=case.labels[clear], eps=NEARBY * (case.high - case.low)
    )  # nothing is fooled, so that no attempt ends early
    short, long = (near.attacked(each)[0].passes for each in (attack, longer))
    assert long <= BUDGET * short, f"{attack.code}: times({BUDGET}) takes {long} passes, {BUDGET} times {short} allowed"


def check_loss(attack: Attack, case: Case) -> None:
    """`Attack.rising` is none, or gives each input a finite loss that can be differentiated."""
    loss = attack.rising(case.labels)
    if loss is None:
        return
    with torch.no_grad():
        outputs = case.forward(case.model, case.inputs.clone())
    losses = loss(outputs.double().requires_grad_())
    assert losses.shape == case.labels.shape, f"{attack.code}: the loss has shape {tuple(losses.shape)}, not (n,)"
    assert bool(losses.isfinite().all()), f"{attack.code}: the loss is not finite"
    assert losses.requires_grad, f"{attack.code}: the loss cannot be differentiated"


def check_success(attack: Attack, case: Case, must_fool: bool = True) -> None:
    """`mutiny.attack` reports inputs as fooled if and only if the model answers them wrongly; some are lost."""
    result = run_attack(
        case.model,
        attack,
        case.eps or 1.0,
        mutants=0,
        low=case.low,
        high=case.high,
        data=(case.inputs.clone(), case.labels.clone()),
        forward=case.forward,
    )
    level, labels = result.levels[0], torch.from_numpy(result.labels)
    way = level.ways[MUTANTS]
    new = torch.as_tensor(way.inputs).to(case.inputs)
    with torch.no_grad():
        wrong = (answers(case.forward(case.model, new.clone())).cpu() != labels).numpy()
    clear = _clear(case, new).cpu().numpy()
    assert (way.fooled == wrong)[clear].all(), f"{attack.code}: inputs that the model answers rightly count as fooled"
    lost = int((way.fooled & level.correct).sum())
    assert lost or not must_fool or not level.correct.any(), f"{attack.code}: no correct answer is lost"


def _patches(case: Case) -> list[Patch]:
    """Patches of a few mutants; none for a model without layers."""
    try:
        view = ModelView.of(case.model, case.inputs.clone(), case.forward)
        operator = WeightInhibitor(ratio=0.2)
        return [operator.patch(view, generator_for(seed, "contract")) for seed in range(MUTANT_COUNT)]
    except NotApplicable:
        return []


def _alike(case: Case, a: Tensor, b: Tensor) -> Tensor:
    """Which inputs are the same up to rounding, ``(n,)``."""
    return (a - b).abs().flatten(1).amax(dim=1) <= TOLERANCE * (case.high - case.low)


def _clear(case: Case, inputs: Tensor) -> Tensor:
    """Which inputs have an answer that rounding cannot change, ``(n,)``."""
    with torch.no_grad():
        outputs = case.forward(case.model, inputs.clone())
    best = outputs.topk(2, dim=1).values
    return best[:, 0] - best[:, 1] > CLEAR * outputs.abs().amax(dim=1)


def _untouched(attack: Attack, model: nn.Module, before: ModelState, after: str) -> None:
    difference = before.difference(ModelState.of(model))
    assert difference is None, f"{attack.code}: {difference} of the model is not as before after {after}"


def _random_state() -> tuple[object, ...]:
    numpy_state: Any = np.random.get_state()  # noqa: NPY002 - the global generator, which attacks must not use
    return torch.get_rng_state().tolist(), numpy_state[1].tolist(), numpy_state[2], random.getstate()
