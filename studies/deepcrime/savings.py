"""How many trainings the same searches need in other ways, from the CSV files alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import mutiny
from mutiny.subjects.tasks import Task
from mutiny.verbs.assess.muff.early_verdict import surely_killed
from mutiny.verbs.assess.muff.kill_rule import Sample
from mutiny.verbs.assess.muff.options import Savings
from studies.deepcrime.paper import DEEPCRIME

CsvRow = Mapping[str, str]
Key = tuple[str, str]
"""A configuration and its strength."""
EPOCHS = "HNE"
"""Its mutants lie on the way of one training: there is no other such operator without early stopping."""


@dataclass(frozen=True)
class Trainings:
    """How many networks are trained for all operators of DeepCrime that a subject has numbers of.

    Attributes:
        plain: every search trains each instance that it asks for, as `Savings.none` does.
        each: one training for each instance of each configuration, whichever searches ask for it.
        shared: the same without those that are the very same program, or the beginning of another training.
        grouped: the same if instances are trained in groups until the others cannot change any verdict.
        sizes: how many configurations are decided with so many instances.
    """

    plain: int
    each: int
    shared: int
    grouped: int
    sizes: Mapping[int, int]


def trainings(subject: CsvRow, mutants: Iterable[CsvRow]) -> Trainings:
    """Counts for a row of ``subjects.csv`` and the rows of ``mutants.csv`` that belong to it.

    Each set's own search asks for the mutants that are marked as searched; a search in groups ends when no set's
    verdict can change, because each network is judged on every set. Two shares of the data that come to the same number
    of items are the same program, too, which these rows do not tell: then ``shared`` is a little more than was trained.
    """
    rows = [row for row in mutants if row["operator"] in DEEPCRIME and row["metrics"]]
    total, by_key = int(subject["originals"]), _by_key(rows)
    sizes = {key: instances_needed(subject, each) for key, each in by_key.items()}
    largest: dict[Key, int] = {}
    for key, size in sizes.items():
        largest[program_of(key)] = max(size, largest.get(program_of(key), 0))
    return Trainings(
        plain=total * sum(row["searched"] == "True" for row in rows),
        each=total * len(by_key),
        shared=total * len(largest),
        grouped=sum(largest.values()),
        sizes=dict(sorted(Counter(sizes.values()).items())),
    )


def program_of(key: Key) -> Key:
    """What is trained for a configuration: equal for two if one training serves both.

    >>> program_of(("ARM(layer=conv1)", "")), program_of(("HNE", "3.0")), program_of(("TRD", "0.5"))
    (('ACH(layer=conv1, activation=linear)', ''), ('HNE', ''), ('TRD', '0.5'))
    """
    configuration, _ = key
    if configuration.startswith("ARM("):
        return f"ACH{configuration[3:-1]}, activation=linear)", ""
    return (EPOCHS, "") if configuration == EPOCHS else key


def instances_needed(subject: CsvRow, rows: Iterable[CsvRow]) -> int:
    """How many instances of a configuration decide its verdict on every set, with mutiny's usual groups."""
    task = _task(subject)
    total = int(subject["originals"])
    rule = mutiny.KillRule().resolve(total)

    def decided(row: CsvRow, size: int) -> bool:
        found = numbers(row["metrics"])[:size]
        return surely_killed(_sample(numbers(subject[f"{row['set']}_metrics"]), found), total, rule, task)

    each = [*rows]
    return next(size for size in Savings().groups(total) if size == total or all(decided(row, size) for row in each))


def numbers(text: str) -> npt.NDArray[np.float64]:
    """Metrics from a cell."""
    return np.array([float(one) for one in text.split()])


def _by_key(rows: Iterable[CsvRow]) -> dict[Key, list[CsvRow]]:
    found: dict[Key, list[CsvRow]] = {}
    for row in rows:
        found.setdefault((row["configuration"], row["strength"]), []).append(row)
    return found


def _task(subject: CsvRow) -> Task:
    return mutiny.Regression(1.0) if subject["task"] == "regression" else mutiny.Classification(2)


def _sample(originals: npt.NDArray[np.float64], mutants: npt.NDArray[np.float64]) -> Sample:
    none = np.zeros(0, np.int64)
    return Sample(originals, mutants[None], none, none, np.zeros(1, np.int16))
