"""Which inputs are changed, and which neurons each of them should exercise."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.models.capture import visible_layers
from mutiny.verbs.locate.ablation import by_layer
from mutiny.verbs.locate.model_under_test import ModelUnderTest
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.spectrum import Ints
from mutiny.verbs.locate.suspects import Suspect


def accused(found: Any) -> tuple[Suspect, ...]:
    """All suspects of whatever `synthesize` was given; an error if it holds something else."""
    if isinstance(found, Location):
        return tuple(one for some in (found.suspects, *found.by_class.values()) for one in some)
    if isinstance(found, (str, bytes, Suspect)) or not isinstance(found, Sequence):
        raise BadInput(
            "suspects", type(found).__name__, "what mutiny.locate found, or a list of its suspects",
            "Put a single one into a list: [suspect]." * isinstance(found, Suspect),
        )  # fmt: skip
    for one in found:
        if not isinstance(one, Suspect):
            raise BadInput("suspects", f"a list with {one!r}", "suspects as mutiny.locate finds them")
    return tuple(found)


def check_neurons(case: ModelUnderTest, suspects: Sequence[Suspect]) -> None:
    """An error for neurons that the model does not have."""
    for one in suspects:
        size = visible_layers(case.view, [one.layer])[0].neurons
        if not isinstance(one.neuron, Integral) or not 0 <= one.neuron < size:
            raise BadInput("suspects", f"{one.layer}[{one.neuron}]", f"a neuron between 0 and {size - 1}")


def chosen(case: ModelUnderTest, count: int, label: int | None = None) -> Ints:
    """Inputs that pass, as many of each class, or those of one class only."""
    where = case.of_class(label)
    failed = case.failed(indices=where)
    passing = np.flatnonzero(~failed) if where is None else where[~failed]
    if not len(passing):
        of = "" if label is None else f" of class {label}"
        told = f"inputs{of} that all fail" if len(failed) else f"no inputs{of}"
        raise BadInput("data", told, "some that pass, which can be made to fail")
    shuffled = generator_for(case.seed, "synthesize", "inputs").permutation(passing)
    if case.targets is None:
        return np.sort(shuffled[:count])
    labels = case.targets.numpy()[shuffled]
    turn = np.empty(len(labels), np.int64)  # the first of each class, then the second of each, ...
    for one in np.unique(labels):
        here = np.flatnonzero(labels == one)
        turn[here] = np.arange(len(here))
    return np.sort(shuffled[np.argsort(turn, kind="stable")[:count]])


def exercises(
    case: ModelUnderTest, found: Location | Sequence[Suspect], where: Ints
) -> list[tuple[Ints, dict[str, Ints]]]:
    """Inputs, and which neurons they should exercise: the suspects of their class where there are any."""
    everyone = found.suspects if isinstance(found, Location) else tuple(found)
    parts = []
    if isinstance(found, Location) and found.by_class and case.targets is not None:
        labels = case.targets.numpy()[where]
        parts = [(where[labels == label], by_layer(some)) for label, some in found.by_class.items() if some]
        parts = [part for part in parts if len(part[0])]
    return parts or ([(where, by_layer(everyone))] if everyone else [])
