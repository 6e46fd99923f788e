"""What the faults of the ladder cost on unlabeled inputs, as the networks' own probabilities expect it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from mutiny.faults import Operator
from mutiny.faults.evaluation import Runner
from mutiny.faults.parsing import as_faults
from mutiny.models import Patch
from mutiny.reports.files import replacing
from mutiny.subjects.inference.passes import rows
from mutiny.subjects.tasks import Classification
from studies.notice.table import FaultTable

OTHERS, OWN = "unlabeled, other originals", "unlabeled, one original"
UNLABELED = (OTHERS, OWN)
"""Whose probabilities are the expected labels of an original: all others, or itself."""
Half = npt.NDArray[np.float16]


def expected_changes(runner: Runner, ladder: FaultTable, original: int, split: str) -> dict[str, Half]:
    """How much more probable an original's answers are than those of its faults, ``(faults, inputs)``."""
    clean = [_probabilities(runner, Patch(()), number, split) for number in range(len(runner.models))]
    others = (sum(clean) - clean[original]) / (len(clean) - 1)
    before, inputs = clean[original].argmax(1), np.arange(len(clean[original]))
    found: dict[str, list[npt.NDArray[np.float64]]] = {what: [] for what in UNLABELED}
    for row in range(len(ladder)):
        patch = runner.patch(_operator(ladder, row), original, int(ladder.seed[row]))
        after = _probabilities(runner, patch, original, split).argmax(1)
        for what, expected in ((OTHERS, others), (OWN, clean[original])):
            found[what].append(expected[inputs, before] - expected[inputs, after])
    return {what: np.array(changes, np.float16) for what, changes in found.items()}


def kept(path: Path, runner: Runner, ladder: FaultTable, original: int, split: str) -> dict[str, Half]:
    """The same, from a file if there is one."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part, part.open("wb") as file:
            np.savez_compressed(file, **expected_changes(runner, ladder, original, split))
    with np.load(path, allow_pickle=False) as file:
        return {what: file[what] for what in UNLABELED}


def _operator(ladder: FaultTable, row: int) -> Operator:
    """The operator of a rung, whose parameter is a number and a description."""
    (operator,) = as_faults(str(ladder.parameter[row]).partition(" ")[2])
    assert isinstance(operator, Operator)
    return operator.at(float(ladder.strength[row]))


def _probabilities(runner: Runner, patch: Patch, number: int, split: str) -> npt.NDArray[np.float64]:
    model, task = runner.models[number], runner.task
    assert isinstance(task, Classification)
    with patch.applied(model, runner.forward) as call:
        outputs = [task.probabilities(part) for part in rows(call, model, runner.splits[split], runner.pace)]
    return np.nan_to_num(torch.cat(outputs).double().numpy(), nan=-1.0)
