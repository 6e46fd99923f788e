"""Beside Fig. 4: how far networks without any fault are from one another, only because they were trained apart."""

from __future__ import annotations

from pathlib import Path

from studies.deepcrime.activation_spectra import ActivationRange, activation_range, sampled, spectra
from studies.deepcrime.lab import Lab
from studies.deepcrime.spectra import EPSILONS, SHARE
from studies.deepcrime.spectral_distance import mean_spectra, within_and_between
from studies.store import Rows

NAME = "controls"


def rows(folder: Path) -> Rows:
    """One row per subject: the distance between two halves of the originals, for every epsilon."""
    return Rows(folder / "controls.csv", ("subject", "originals", *EPSILONS), 1)


def units() -> list[tuple[str, ...]]:
    """A subject is one unit."""
    return [()]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Compares the mean spectra of the first half of the originals and of the second, over the range of all of them."""
    del unit
    data, half = sampled(lab.subject.test, SHARE, lab.settings.seed), len(lab.models) // 2
    span = ActivationRange.over([activation_range(model, data, forward=lab.subject.forward) for model in lab.models])
    each = [spectra(model, data, range=span, forward=lab.subject.forward) for model in lab.models]
    halves = {"originals": {"first": mean_spectra(each[:half]), "second": mean_spectra(each[half : 2 * half])}}
    found = {epsilon: within_and_between(halves, None, [], float(epsilon))[0].distance for epsilon in EPSILONS}
    rows(folder).put([{"subject": lab.name, "originals": half, **found}])
    return True
