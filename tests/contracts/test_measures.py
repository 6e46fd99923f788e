"""Every measure, with parameters, keeps its contract; and the contract suite notices measures that break it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from mutiny.testing.measures import check_measure
from mutiny.verbs.locate.measures import MEASURES, Measure, as_measure

OPTIONS = ["dstar(power=0.5)", "dstar(power=1)", "dstar(power=2)", "dstar(power=100)"]


@pytest.mark.parametrize("name", [*MEASURES, *OPTIONS])
def test_contract(name):
    check_measure(as_measure(name))


@dataclass(frozen=True)
class Good(Measure):
    """A good measure, which the tests break."""

    code: ClassVar[str] = "good"
    title: ClassVar[str] = "good"
    source: ClassVar[str] = "here"

    def suspicion(self, counts):
        return counts.ef - counts.ep / (counts.passing + 1)


class HasNoSource(Good):
    source: ClassVar[str] = ""


class IsOneNumber(Good):
    def suspicion(self, counts):
        return np.float64(super().suspicion(counts).sum())


class IsAColumn(Good):
    def suspicion(self, counts):
        return super().suspicion(counts)[:, None]


class IsCoarse(Good):
    def suspicion(self, counts):
        return super().suspicion(counts).astype(np.float32)


class IsNotANumber(Good):
    def __call__(self, counts):
        with np.errstate(invalid="ignore"):
            return super().suspicion(counts) + 0 * np.log(counts.ep - 1.5)


class IsMinusInfinity(Good):
    def suspicion(self, counts):
        return np.log(counts.ef)


class ChangesTheCounts(Good):
    def suspicion(self, counts):
        counts.ef[:] = np.maximum(counts.ef, 1)
        return super().suspicion(counts)


class IsRandom(Good):
    def suspicion(self, counts):
        return super().suspicion(counts) + np.random.default_rng().random(len(counts.ef))


class DependsOnTheOrder(Good):
    def suspicion(self, counts):
        return super().suspicion(counts) + 1e-3 * np.arange(len(counts.ef))


class DependsOnOthers(Good):
    def suspicion(self, counts):
        scores = super().suspicion(counts)
        return scores - scores.mean() if len(scores) else scores


class AcquitsFailures(Good):
    def suspicion(self, counts):
        return -super().suspicion(counts)


class FallsWithFailures(Good):
    def suspicion(self, counts):
        return np.where(counts.nf == 1, 0.0, super().suspicion(counts))


class RisesWithPasses(Good):
    def suspicion(self, counts):
        return np.where(counts.ep == 0, 2 * counts.ef, counts.ef + counts.ep / (counts.passing + 1))


class GoesOneWayOnly(Good):
    both_ways: ClassVar[bool] = True


@dataclass(frozen=True)
class ChangesItsParameter(Good):
    power: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "power", 2 * self.power)


def test_a_good_measure_passes():
    check_measure(Good())


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (HasNoSource, "the source is empty"),
        (IsOneNumber, "not one per neuron"),
        (IsAColumn, "not one per neuron"),
        (IsCoarse, "dtype float32"),
        (IsNotANumber, "a score is nan for ef="),
        (IsMinusInfinity, "a score is -inf for ef=0"),
        (ChangesTheCounts, "changes the counts"),
        (IsRandom, "other scores"),
        (DependsOnTheOrder, "order of neurons"),
        (DependsOnOthers, "depends on other neurons"),
        (AcquitsFailures, "no highest score"),
        (FallsWithFailures, "falls although ef rises"),
        (RisesWithPasses, "rises although ep rises"),
        (GoesOneWayOnly, "not 0 where both rates are equal"),
        (ChangesItsParameter, "parameters rebuild"),
    ],
)
def test_a_bad_measure_fails(kind, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_measure(kind())
