"""The subjects of this study: few training images, so that many originals can be trained, and many other images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import mutiny
from mutiny.core.random import generator_for
from mutiny.subjects.data import Data


@dataclass(frozen=True)
class Design:
    """How much of a subject is examined.

    Attributes:
        originals: trained networks.
        many: the first of them get as many random choices as `assess` takes for one original.
        seeds: random choices of each operator on the other originals.
        size: inputs of a test set; test sets are drawn from the subject's test inputs.
        ladders: originals whose faults are measured at many strengths, to try reference sets of any size.
        operators: codes; all by default.
        muff: whether MUFF's score is computed beside it.
        from_ladders: whether the search of `assess` chooses among the faults at many strengths, where searches of its
            own would take too long.
    """

    originals: int
    many: int
    seeds: int
    size: int
    ladders: int = 0
    operators: str | None = None
    muff: bool = False
    from_ladders: bool = False


DESIGNS = {
    "digits": Design(originals=60, many=5, seeds=2, size=449, muff=True),
    "mnist": Design(originals=30, many=3, seeds=2, size=1000, ladders=10),
    "fashion-mnist": Design(originals=30, many=3, seeds=2, size=1000, ladders=10),
    "cifar10": Design(originals=4, many=0, seeds=1, size=500, operators="WI,NI,GF,NEB,NS"),
}
LADDER_OPERATORS = "WI,NI,GF,NEB"
"""Operators whose faults are measured at many strengths."""


def some(data: Data, purpose: str, *sizes: int) -> list[Data]:
    """Disjoint random parts of these sizes."""
    order, start, parts = generator_for(0, "notice study", purpose).permutation(len(data)), 0, []
    for size in sizes:
        parts.append(data.subset(order[start : start + size]))
        start += size
    return parts


def partial_subject(name: str, train: int, held_out: int, tests: int, epochs: int, data: Path | None) -> mutiny.Subject:
    """A built-in subject that is trained on few images; others measure costs, and test sets are drawn from the rest."""
    whole = mutiny.load_subject(name, data)
    assert whole.train is not None
    assert whole.recipe is not None
    trained, validation = some(whole.train, f"{name} train", train, held_out)
    (test,) = some(whole.test, f"{name} test", min(tests, len(whole.test)))
    recipe = replace(whole.recipe, epochs=epochs, batch_size=min(64, whole.recipe.batch_size))
    return mutiny.Subject(
        task=whole.task, train=trained, validation=validation, test=test, recipe=recipe, name=whole.name
    )


SUBJECTS: dict[str, Callable[[Path | None], mutiny.Subject]] = {
    "digits": partial(mutiny.load_subject, "digits"),
    "mnist": partial(partial_subject, "mnist", 4000, 3000, 3000, 8),
    "fashion-mnist": partial(partial_subject, "fashion-mnist", 2000, 3000, 3000, 30),
    "cifar10": partial(partial_subject, "cifar10", 5000, 1500, 1500, 10),
}
"""By name, each a function of the data folder; only digits does without."""
