"""Fig. 4: how far mutants are from one another in the distributions of their activations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from mutiny.core.errors import BadInput, Diverged
from mutiny.faults.training.base import TrainingOperator
from mutiny.models import Patch
from mutiny.subjects.data import Data
from studies.clock import Clock
from studies.deepcrime import operators
from studies.deepcrime.activation_spectra import BINS, ActivationRange, activation_range, sampled, spectra
from studies.deepcrime.compared import BETWEEN, DC, GROUPS, Mutant, chosen, killed_on_train
from studies.deepcrime.lab import Lab
from studies.deepcrime.paper import DEEPCRIME, MUFF
from studies.deepcrime.spectral_distance import mean_spectra, within_and_between
from studies.store import Rows

NAME = "spectra"
SHARE = 0.1
EPSILONS = ("1e-9", "1e-6", "1e-3")
USUAL = EPSILONS[1]
"""Of pictures and findings; mutiny's default."""
ALL, ORIGINALS = "all networks", "originals"
"""Whose activations the bins span: those of all networks that are compared, or those of the originals."""
COLUMNS = (
    "subject inputs bins instances WI NI DC killed left_out low high low_originals high_originals seconds cpu_seconds"
).split()
DISTANCE_COLUMNS = ("subject", "range", "group_a", "group_b", "mutant_a", "mutant_b", *EPSILONS)

Seen = tuple[nn.Module, Patch | None]
Spectra = dict[str, dict[str, npt.NDArray[np.float64]]]
"""By group and name of the mutant."""


def rows(folder: Path) -> Rows:
    """What was compared, one row per subject."""
    return Rows(folder / "spectra.csv", COLUMNS, 1)


def distance_rows(folder: Path) -> Rows:
    """Each pair of mutants, with its distance for every epsilon."""
    return Rows(folder / "distances.csv", DISTANCE_COLUMNS, 1)


def units() -> list[tuple[str, ...]]:
    """A subject is one unit."""
    return [()]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Compares the mutants of a subject, once all of its operators are judged."""
    del unit
    judged = operators.rows(folder)
    if any((lab.name, code) not in judged for code in (*MUFF, *DEEPCRIME)):
        return False
    clock, known = Clock(), operators.mutant_rows(folder).of(lab.name)
    mutants = chosen(known, lab.settings.compared)
    data = sampled(lab.subject.test, SHARE, lab.settings.seed)
    own = [activation_range(model, data, forward=lab.subject.forward) for model in lab.models]
    heard = {mutant: _ranges(lab, folder, mutant, data) for mutant in mutants}
    ranges = {ALL: ActivationRange.over([*own, *(one for each in heard.values() for one in each.values())])}
    ranges[ORIGINALS] = ActivationRange.over(own)
    found = _spectra(lab, folder, heard, data, ranges)
    distance_rows(folder).put(row for name in found for row in _distances(lab.name, name, found[name], mutants))
    counts = {group: sum(m.group == group and bool(each) for m, each in heard.items()) for group in GROUPS}
    rows(folder).put(
        [
            {
                "subject": lab.name,
                "inputs": len(data),
                "bins": BINS,
                "instances": _instances(lab),
                **counts,
                "killed": sum(len(each) for code, each in killed_on_train(known).items() if code in DEEPCRIME),
                "left_out": sum(_instances(lab) - len(each) for each in heard.values()),
                "low": ranges[ALL].low,
                "high": ranges[ALL].high,
                "low_originals": ranges[ORIGINALS].low,
                "high_originals": ranges[ORIGINALS].high,
                **clock.lap(),
            }
        ]
    )
    return True


def _instances(lab: Lab) -> int:
    return min(lab.settings.instances, len(lab.models))


def _seen(lab: Lab, folder: Path, mutant: Mutant, number: int) -> Seen:
    """An instance: a patch on an original, or a network that was trained; raises `Diverged` if there is none."""
    if not isinstance(mutant.fault, TrainingOperator):
        return lab.models[number], lab.prepared.patch(mutant.fault, number, 0)
    trainer = lab.trainer(folder)
    assert trainer is not None  # without one no such mutant would have been killed
    return trainer.network(mutant.fault, number), None


def _ranges(lab: Lab, folder: Path, mutant: Mutant, data: Data) -> dict[int, ActivationRange]:
    """From where to where the activations of each instance go; those without finite numbers are left out."""
    found = {}
    for number in range(_instances(lab)):
        try:
            model, patch = _seen(lab, folder, mutant, number)
        except Diverged:
            continue
        try:
            found[number] = activation_range(model, data, patch=patch, forward=lab.subject.forward)
        except BadInput as error:
            if "finite" not in error.expected:
                raise
    return found


def _spectra(
    lab: Lab,
    folder: Path,
    heard: dict[Mutant, dict[int, ActivationRange]],
    data: Data,
    ranges: dict[str, ActivationRange],
) -> dict[str, Spectra]:
    """For each range the mean spectrum of each mutant over its instances, on each input."""
    found: dict[str, Spectra] = {name: {} for name in ranges}
    for mutant, instances in heard.items():
        each: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in ranges}
        for number in instances:
            model, patch = _seen(lab, folder, mutant, number)
            for name, span in ranges.items():
                each[name].append(spectra(model, data, range=span, patch=patch, forward=lab.subject.forward))
        for name in ranges if instances else ():
            found[name].setdefault(mutant.group, {})[mutant.name] = mean_spectra(each[name])
    return found


def _distances(subject: str, span: str, found: Spectra, mutants: Sequence[Mutant]) -> Iterator[dict[str, Any]]:
    operator_of = {DC: {mutant.name: mutant.operator for mutant in mutants if mutant.group == DC}}
    between = [pair for pair in BETWEEN if all(group in found for group in pair)]
    by_epsilon = [
        within_and_between(found, operator_of if DC in found else None, between, float(epsilon)) for epsilon in EPSILONS
    ]
    for same in zip(*by_epsilon, strict=True):
        yield {
            "subject": subject,
            "range": span,
            "group_a": same[0].group_a,
            "group_b": same[0].group_b,
            "mutant_a": same[0].mutant_a,
            "mutant_b": same[0].mutant_b,
            **{epsilon: one.distance for epsilon, one in zip(EPSILONS, same, strict=True)},
        }
