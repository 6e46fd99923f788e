"""Contract suite for operators: checks on one model everything that campaigns rely on.

>>> import torch
>>> from mutiny.faults import WeightInhibitor
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
>>> check_operator(WeightInhibitor(ratio=0.2), model, torch.randn(5, 4))
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.random import generator_for
from mutiny.faults import Operator
from mutiny.models import (
    ActivationEdit,
    Forward,
    ModelState,
    ModelView,
    Patch,
    SignalEdit,
    WeightEdit,
    default_forward,
)
from mutiny.models.forward import steady
from mutiny.testing.names import check_names

SEEDS = range(12)


class Injected(Exception):
    """Raised by the checks inside a patched model, to check that it is restored."""


def check_operator(
    operator: Operator, model: nn.Module, inputs: Any, forward: Forward = default_forward, must_change: bool = True
) -> None:
    """Raises `AssertionError`, with a message, if ``operator`` violates the contract on ``model``.

    An operator may refuse the model by raising `NotApplicable` with a reason.

    Args:
        operator: Operator with all parameters; the checks vary its strength.
        model: Model in evaluation mode; it is not changed.
        inputs: Batch for the model.
        forward: Function that calls the model.
        must_change: Whether strong patches must change the outputs for some of twelve seeds; ``False`` if the model
            makes that impossible.
    """
    check_parameters(operator)
    view = ModelView.of(model, inputs, forward)
    before = ModelState.of(model)
    reason = None
    try:
        operator.patch(view, generator_for(0, operator.code))
    except NotApplicable as error:
        reason = str(error)
    _untouched(operator, model, before, "making a patch")
    assert reason is None or reason.strip(), f"{operator.code}: NotApplicable without a reason"
    if reason is None:
        check_restores(operator, view, inputs, forward)
        check_first_layer(operator, view, check_seeds(operator, view))
        check_choice(operator, view)
        check_effect(operator, view, inputs, forward, must_change)
    _untouched(operator, model, before, "all checks")


def check_parameters(operator: Operator) -> None:
    """The operator has names; parameters from JSON make an equal one; strengths outside the bounds are refused."""
    check_names(operator)
    parameters = json.loads(json.dumps(operator.parameters(), allow_nan=False))
    again = type(operator)(**parameters)
    assert again == operator, f"{operator.code}: parameters() rebuild {again}, not {operator}"
    assert hash(again) == hash(operator), f"{operator.code}: equal operators have different hashes"
    if operator.strength is None:
        assert operator.at(0.5) is operator, f"{operator.code}: at() changes an operator without a strength"
        return
    low, high = operator.bounds
    assert low < high, f"{operator.code}: the bounds {low}, {high} leave nothing to search"
    for outside in (low - 1, high + 1, float("nan")):
        try:
            operator.at(outside)
        except BadInput:
            continue
        raise AssertionError(f"{operator.code}: at({outside}) is accepted, outside the bounds {low}, {high}")


def check_restores(operator: Operator, view: ModelView, inputs: Any, forward: Forward = default_forward) -> None:
    """The model is unchanged after use, after exceptions in the block and in the forward pass, and after nesting."""
    before = ModelState.of(view.model)
    patch = operator.patch(view, generator_for(0, operator.code))

    def failing(model: nn.Module, inputs: Any) -> Tensor:
        forward(model, inputs)
        raise Injected

    with patch.applied(view.model, forward) as run:
        _run(run, inputs)
    _untouched(operator, view.model, before, "use")
    for error in (Injected, KeyboardInterrupt):
        try:
            with patch.applied(view.model, forward):
                raise error
        except error:
            _untouched(operator, view.model, before, f"{error.__name__} inside the block")
    try:
        with patch.applied(view.model, failing) as run:
            _run(run, inputs)
    except Injected:
        _untouched(operator, view.model, before, "an exception inside the forward pass")
    with patch.applied(view.model, forward) as run:
        first = _run(run, inputs)
        with patch.applied(view.model, forward):
            pass
        assert torch.equal(first, _run(run, inputs)), f"{operator.code}: a nested patch took the outer one away"
    _untouched(operator, view.model, before, "nested use")


def check_seeds(operator: Operator, view: ModelView) -> list[Patch]:
    """The same seed gives the same patch; if anything is random, not all seeds do. Returns a patch for each seed."""
    patches, again = ([operator.patch(view, generator_for(seed, operator.code)) for seed in SEEDS] for _ in range(2))
    assert patches == again, f"{operator.code}: the same seed gives different patches"
    assert [hash(p) for p in patches] == [hash(p) for p in again], f"{operator.code}: equal patches, different hashes"
    assert all(patch.edits for patch in patches), f"{operator.code}: a patch without edits; raise NotApplicable"
    if "ratio" in operator.parameters() and sum(layer.neurons for layer in view.layers) > 3:
        some = replace(operator, **{"ratio": 0.3})
        chosen = (some.patch(view, generator_for(seed, operator.code)) for seed in SEEDS)
        first = next(chosen)
        assert any(patch != first for patch in chosen), f"{operator.code}: different seeds choose the same share"
    return patches


def check_first_layer(operator: Operator, view: ModelView, patches: Sequence[Patch]) -> None:
    """Each patch names the first layer of the view, or module of the model, that it changes."""
    known = {layer.name for layer in view.layers} | {path for path, _ in view.model.named_modules() if path}
    for patch in patches:
        exists = patch.first_layer in known or all(isinstance(edit, ActivationEdit) for edit in patch.edits)
        assert exists, f"{operator.code}: first_layer={patch.first_layer!r} is not in the model"


def check_choice(operator: Operator, view: ModelView) -> None:
    """For one seed, a stronger patch changes the same places or a superset of them."""
    if operator.strength is None:
        return
    low, high = operator.bounds
    grown = False
    weaker: set[object] = set()
    for step in (0.3, 0.6, 1.0):
        strength = low + step * (high - low)
        touched = {*_touched(operator.at(strength).patch(view, generator_for(1, operator.code)))}
        assert weaker <= touched, (
            f"{operator.code}: {operator.strength}={strength:g} changes other places than a smaller strength"
        )
        grown |= bool(weaker) and weaker != touched
        weaker = touched
    share = operator.strength == "ratio"
    assert share or not grown, f"{operator.code}: the choice depends on {operator.strength}, which is not a share"


def check_effect(
    operator: Operator, view: ModelView, inputs: Any, forward: Forward = default_forward, must_change: bool = True
) -> None:
    """At the lower bound no output changes; at large strengths some do, for some seed; outputs stay finite."""
    with steady(), torch.inference_mode():
        clean = forward(view.model, inputs)
    strong = [operator]
    if operator.strength is not None:
        low, high = operator.bounds
        weakest = operator.at(low).patch(view, generator_for(2, operator.code))
        with weakest.applied(view.model, forward) as run:
            same = torch.equal(clean, _run(run, inputs))
        assert same, f"{operator.code}: outputs change although {operator.strength}={low:g}"
        strong = [operator.at(high), operator.at((low + high) / 2)]  # two sign changes in a row can cancel at ratio 1
    changed = False
    for seed in SEEDS:
        stronger = strong[seed % len(strong)]
        with stronger.patch(view, generator_for(seed, operator.code)).applied(view.model, forward) as run:
            output = _run(run, inputs)
        assert output.shape == clean.shape, f"{operator.code}: the outputs' shape changes"
        assert bool(torch.isfinite(output).all()), f"{operator.code}: outputs are not finite"
        changed |= not torch.equal(clean, output)
        if changed and seed >= 2:
            break
    assert changed or not must_change, f"{operator.code}: even strong patches change no output"


def _run(run: Callable[[Any], Tensor], inputs: Any) -> Tensor:
    with torch.inference_mode():
        return run(inputs)


def _untouched(operator: Operator, model: nn.Module, before: ModelState, after: str) -> None:
    difference = before.difference(ModelState.of(model))
    assert difference is None, f"{operator.code}: {difference} of the model is not as before after {after}"


def _touched(patch: Patch) -> Iterator[object]:
    for edit in patch.edits:
        if isinstance(edit, WeightEdit):
            yield from ((edit.parameter, index) for index in edit.indices.tolist())
        elif isinstance(edit, SignalEdit):
            yield from ((edit.layer.name, "unit", unit) for unit in edit.units.tolist())
        else:
            yield edit
