"""Faults of one original, in three ways: as `assess` finds them, at many strengths, and harmless changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import NotApplicable
from mutiny.core.parsing import described
from mutiny.faults import Operator
from mutiny.faults.parsing import as_faults, describe
from mutiny.verbs.assess.cost_scale import MeasuredCost
from mutiny.verbs.assess.fault_search import FaultSearch, searched
from mutiny.verbs.assess.strength_search import RUNGS, STEP
from mutiny.verbs.assess.verb import HARMLESS
from studies.notice.subjects import LADDER_OPERATORS, Design
from studies.notice.table import TEST, FaultTable

BETWEEN = 4
"""Strengths between two of the coarse search, at which the ladder has faults."""
HARMLESS_BELOW, DRASTIC_ABOVE = 0.1, 20.0
"""Points; costs beyond these are not approached on the ladder."""
ENOUGH = 6.0
"""Points; a parameter that reaches them reaches all bins on every reference set, and no other one is tried."""
NOISE = (2.0**-9, 2.0**-7, 2.0**-5)
"""Standard deviations of harmless changes, relative to each weight: the first is that of `assess`."""
NOISE_SEEDS = 10
UNKNOWN = MeasuredCost(np.nan, np.nan)
Change = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Found:
    """A fault with the answers that it changes, by split."""

    operator: str
    parameter: str
    strength: float | None
    seed: int
    cost: float
    change: dict[str, Change]
    trained: MeasuredCost = UNKNOWN
    held_out: MeasuredCost = UNKNOWN


def as_assess(search: FaultSearch, design: Design, seeds: int, original: int) -> FaultTable:
    """The faults that `assess` finds on one original, with so many random choices of each operator."""
    inputs, found = len(search.runner.splits[TEST]), []
    for label, operator in operators_of(design.operators):
        known = set[str]()  # a fault that several random choices find counts once
        for seed in range(seeds):
            try:
                faults = search.find(operator, label, original, seed).faults
            except NotApplicable:
                break
            for fault in faults:
                if fault.digest in known:
                    continue
                known.add(fault.digest)
                record, change = fault.record, np.zeros(inputs, np.int8)
                change[fault.positions] = np.sign(fault.change)
                parameter = record.parameter or ""
                both = [cost or UNKNOWN for cost in (fault.trained_cost, fault.held_out_cost)]
                found.append(Found(label, parameter, record.strength, seed, record.cost, {TEST: change}, *both))
    return _table(search, original, found, (TEST,))


def ladder(search: FaultSearch, design: Design, seeds: int, original: int) -> FaultTable:
    """Faults at many strengths, each on the reference set, on test inputs, on a fold, and on inputs of the training."""
    del design, seeds
    splits = _splits(search, original)
    found: list[Found] = []
    for label, operator in operators_of(LADDER_OPERATORS):
        for number, tuned in enumerate(searched(operator)):
            parameter = f"{number} {described(tuned, tuned.code)}"
            rungs = [*_rungs(search, tuned, parameter, label, original, splits)]
            found += rungs
            if max((fault.cost for fault in rungs), default=0.0) >= ENOUGH:
                break
    return _table(search, original, found, tuple(splits))


def _splits(search: FaultSearch, original: int) -> dict[str, str]:
    """Name of each split for one original: the reference set, test inputs, its fold, and inputs it was trained on."""
    number = original % max(1, sum(name.startswith("seen ") for name in search.runner.splits)) + 1
    names = {"reference": search.reference.split(original), TEST: TEST, "fold": f"fold {number}"}
    names["seen"] = f"seen {number}"
    return {name: split for name, split in names.items() if split in search.runner.splits}


def _rungs(
    search: FaultSearch, tuned: Operator, parameter: str, label: str, original: int, splits: dict[str, str]
) -> Iterator[Found]:
    """Faults along one parameter: the strengths of the coarse search of `assess`, and others between them."""
    (low, high), seen, costs = tuned.bounds, set[str](), dict[float, float]()

    def found(strength: float) -> Found | None:
        patch = search.runner.patch(tuned.at(strength), original, 0)
        if patch.digest in seen:
            return None
        seen.add(patch.digest)
        change = {name: _signs(search.runner.change(patch, original, split)) for name, split in splits.items()}
        cost = 100 * float(np.mean(change["reference"]))
        costs[strength] = 100 * float(np.mean(np.concatenate([change["reference"], change[TEST]])))
        return Found(label, parameter, strength, 0, cost, change)

    coarse = [low + (high - low) / STEP**rung for rung in range(RUNGS)]
    for strength in coarse:
        fault = found(strength)
        if fault is None:
            break
        yield fault
        if costs[strength] < HARMLESS_BELOW and strength < high:
            break
    tried = sorted(costs)
    for mild, strong in pairwise(tried):
        if costs[strong] < HARMLESS_BELOW or costs[mild] > DRASTIC_ABOVE:
            continue
        for step in range(1, BETWEEN + 1):
            fault = found(low + (mild - low) * ((strong - low) / (mild - low)) ** (step / (BETWEEN + 1)))
            if fault is not None:
                yield fault


def _signs(change: npt.NDArray[np.float32]) -> Change:
    return np.sign(change).astype(np.int8)


def harmless(search: FaultSearch, design: Design, seeds: int, original: int) -> FaultTable:
    """Noise on all weights, which costs next to nothing."""
    del design, seeds
    inputs, found = len(search.runner.splits[TEST]), []
    for sd in NOISE:
        for seed in range(NOISE_SEEDS):
            (fault,) = search.judged(replace(HARMLESS, sd=sd), original, seed).faults
            change = np.zeros(inputs, np.int8)
            change[fault.positions] = np.sign(fault.change)
            found.append(Found("GF", "noise", sd, seed, fault.record.cost, {TEST: change}))
    return _table(search, original, found, (TEST,))


def _table(search: FaultSearch, original: int, found: Sequence[Found], splits: Sequence[str]) -> FaultTable:
    right = np.asarray(search.runner.clean(original, TEST).outcome.correct, np.int8)
    inputs = {name: len(search.runner.splits[split]) for name, split in _splits(search, original).items()}
    return FaultTable(
        operator=np.array([fault.operator for fault in found], str),
        parameter=np.array([fault.parameter for fault in found], str),
        strength=np.array([np.nan if fault.strength is None else fault.strength for fault in found], float),
        original=np.full(len(found), original, np.int64),
        seed=np.array([fault.seed for fault in found], np.int64),
        cost=np.array([fault.cost for fault in found], float),
        trained=np.array([fault.trained.value for fault in found], float),
        held_out=np.array([fault.held_out.value for fault in found], float),
        trained_error=np.array([fault.trained.error for fault in found], float),
        held_out_error=np.array([fault.held_out.error for fault in found], float),
        change={
            name: np.array([fault.change[name] for fault in found], np.int8).reshape(len(found), inputs[name])
            for name in splits
        },
        right={TEST: right[None]},
        numbers=np.array([original], np.int64),
    )


def operators_of(codes: str | None) -> list[tuple[str, Operator]]:
    """Operators by label."""
    return [(describe(operator), operator) for operator in as_faults(codes) if isinstance(operator, Operator)]


KINDS: dict[str, Callable[[FaultSearch, Design, int, int], FaultTable]] = {
    "assess": as_assess,
    "ladder": ladder,
    "harmless": harmless,
}
"""Kinds of tables, and what makes them."""
