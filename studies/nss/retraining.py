"""Table 10: how much does a network gain from the inputs that a method selects?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from mutiny.core.errors import NotApplicable
from mutiny.core.random import generator_for, seed_for
from mutiny.subjects.data import Data
from mutiny.subjects.data.joined import Joined
from mutiny.verbs.select.parsing import as_methods
from mutiny.verbs.select.retraining import result, roles, trials
from studies.clock import Clock
from studies.nss.lab import Lab, Settings, Trial, accuracy
from studies.nss.methods import AUTHORS, GINI, NSS, RANDOM
from studies.nss.subjects import LENETS
from studies.store import Rows

NAME = "retraining"
NONE = result.CONTROL
"""Trained on as before, without any new input: what is left to gain in a network that was stopped early."""
METHODS = (NSS, AUTHORS, GINI, "dsa", RANDOM)
LEAKY, SPLIT = "paper", "split"
BUDGETS = ("5", "20")
COLUMNS = (
    "subject protocol method budget repeat status candidates selected faults train epochs clean_before clean_after "
    "mutated_before mutated_after seconds cpu_seconds"
).split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "retraining.csv", COLUMNS, 5)


def units(subject: str, settings: Settings) -> list[tuple[str, ...]]:
    """(protocol, method, budget, repeat); a large network has the larger budget only, and fewer repeats."""
    large = subject not in LENETS
    found = [
        (protocol, method, budget)
        for protocol in (SPLIT, LEAKY)
        for method, budget in [(NONE, "0"), *((m, b) for b in BUDGETS[large:] for m in METHODS)]
    ]
    repeats = min(settings.repeats, settings.retrain_repeats, 2 if large else settings.repeats)
    return [(*unit, str(repeat)) for repeat in range(repeats) for unit in found]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Writes the unit's row."""
    protocol, method, budget, repeat = unit
    trial, clock = lab.trial(int(repeat)), Clock()
    candidates, judged = halves(trial) if protocol == SPLIT else (np.arange(len(trial.pool)),) * 2
    pool, clean, mutated = (data.subset(at) for data, at in (
        (trial.pool, candidates), (lab.subject.test, judged), (trial.pool, judged)
    ))  # fmt: skip
    row: dict[str, Any] = dict(zip(COLUMNS, (lab.name, *unit), strict=False)) | {"candidates": len(pool)}
    data, faults, count = again(lab, trial), 0, 0
    row |= {"train": len(data), "epochs": lab.settings.retrain_epochs}
    if method != NONE:
        evidence = trial.shared if protocol == LEAKY else trial.evidence(pool)
        try:
            order, _ = as_methods(method)[0].rank(evidence)
        except NotApplicable:
            rows(folder).put([row | {"status": "not applicable"}])
            return True
        count = max(1, round(int(budget) * len(pool) / 100))
        faults = int(trial.wrong[candidates][order[:count]].sum())
        data = Joined(data, pool.subset(order[:count]))
    model = trial.models[0]
    after = retrained(lab, model, data, trial.number)
    row |= {"status": "done", "selected": count, "faults": faults}
    row |= {"clean_before": accuracy(model, clean), "clean_after": accuracy(after, clean)}
    row |= {"mutated_before": accuracy(model, mutated), "mutated_after": accuracy(after, mutated)}
    rows(folder).put([row | clock.lap()])
    return True


def halves(trial: Trial) -> tuple[np.ndarray, np.ndarray]:
    """Positions of candidates and of the inputs that judge, at random; no input is in both."""
    return roles.halves(len(trial.pool), generator_for(trial.number, "nss study", "halves"))


def again(lab: Lab, trial: Trial) -> Data:
    """The training inputs that are used again, the same for every method."""
    drawn = generator_for(trial.number, "nss study", "train")
    settings = lab.settings
    count = settings.retrain_train if lab.name in LENETS else settings.retrain_train_large
    return roles.some_of(lab.subject.train, count, drawn)


def retrained(lab: Lab, model: nn.Module, data: Data, number: int) -> nn.Module:
    """A copy of the model, trained further: the paper's optimizer and learning rate, but fewer epochs."""
    recipe = trials.retraining_recipe(model, epochs=lab.settings.retrain_epochs)
    return trials.retrained(model, recipe, data, lab.subject.task, seed_for(number, "nss study", "retraining"))
