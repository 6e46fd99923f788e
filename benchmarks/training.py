"""What faults before training cost, with everything that is known trained once, against the plain way.

python -m benchmarks.training [--quick] [--json FILE]

scikit-learn's digits with mutiny's small network; early stopping and a constant learning rate, so that every saving has
something to save. The plain way is DeepCrime's: each set of inputs has its own search, and each search trains its own
instances. Both ways must find the same verdicts, or the benchmark fails. The last rows train several networks at once
against one after the other.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

import mutiny
from benchmarks.command import run
from benchmarks.timing import entry, ratio
from mutiny.core.progress import Silent
from mutiny.faults.evaluation import Runner
from mutiny.faults.parsing import as_faults
from mutiny.faults.training.base import Program
from mutiny.subjects.architectures import DigitsCnn, LeNet5
from mutiny.subjects.data import Data, as_data
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.together import reason_against, train_together
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.options import Savings, WeakSet
from mutiny.verbs.assess.muff.search import Search, Trace
from mutiny.verbs.assess.muff.trained_judge import TrainedJudge
from mutiny.verbs.assess.muff.trainer import Trainer
from mutiny.verbs.assess.muff.training_run import TrainingRun

OPERATORS = ("HNE", "RCP", "TRD", "HLR")
GOALS = {"HNE": 3.0, "RCP": 3.0, "TRD": 1.5, "HLR": 1.5, "all four": 3.0}
"""Times fewer trainings."""
TASK = Classification(10, "logits")
TOGETHER = 5
"""Networks trained at once."""


@dataclass(frozen=True)
class Sizes:
    """How many originals, images and epochs."""

    originals: int
    images: int
    epochs: int
    rounds: int


FULL = Sizes(20, 1_347, 16, 5)
QUICK = Sizes(10, 300, 6, 3)


def measure(quick: bool, data: Path | None) -> dict[str, dict[str, object]]:
    del data
    torch.set_num_threads(1)
    sizes = QUICK if quick else FULL
    return savings(sizes) | together(sizes.rounds)


def savings(sizes: Sizes) -> dict[str, dict[str, object]]:
    """Trainings and seconds of the four operators, both ways."""
    results, sums = {}, np.zeros(4)
    with tempfile.TemporaryDirectory() as folder:
        runner, program = prepared(sizes, Path(folder))
        for code in OPERATORS:
            theirs, plain = searched(runner, program, code, Path(folder) / f"{code}-plain", Savings.none())
            ours, saving = searched(runner, program, code, Path(folder) / f"{code}-saving", Savings())
            if theirs != ours:
                raise SystemExit(f"{code}: the verdicts differ\n{theirs}\n{ours}")
            results |= rows(code, *plain, *saving)
            sums += (*plain, *saving)
    return results | rows("all four", *sums)


def rows(what: str, plain: float, plain_seconds: float, saving: float, seconds: float) -> dict[str, dict[str, object]]:
    return {
        f"{what}: {plain:,.0f} trainings in {plain_seconds:,.0f} s the plain way, {saving:,.0f} with savings": entry(
            plain / saving, GOALS[what]
        ),
        f"{what}: seconds, {seconds:,.0f} with savings": entry(plain_seconds / seconds, GOALS[what] / 2),
    }


def prepared(sizes: Sizes, folder: Path) -> tuple[Runner, Program]:
    """Originals, sets of inputs, and the program that trained them."""
    digits = mutiny.load_subject("digits")
    recipe = Recipe(DigitsCnn, epochs=sizes.epochs, learning_rate=2e-3, validation=0.2, patience=5)
    subject = mutiny.Subject(
        task=digits.task, train=digits.train.subset(np.arange(sizes.images)), test=digits.test, recipe=recipe,
        name="digits",
    )  # fmt: skip
    models = subject.originals(sizes.originals, folder=folder)
    runner = Runner(models, subject.task, subject.splits(), subject.forward, 0)
    weak = WeakSet().choose([runner.clean(number, "test") for number in range(sizes.originals)])
    runner.add_split("weak", subject.test.subset(weak))
    return runner, Program(recipe, subject.train, subject.task, subject.forward)


def searched(
    runner: Runner, program: Program, code: str, folder: Path, how: Savings
) -> tuple[dict[str, Trace], tuple[int, float]]:
    """The path of every search, and trainings and seconds."""
    trainer, (fault,) = Trainer(program, runner, folder, how), as_faults(code)
    rule = KillRule().resolve(len(runner.models))
    start = time.process_time()
    search = TrainingRun(TrainedJudge(runner, trainer, code, rule, Search()), fault)  # type: ignore[arg-type]
    traces = {}
    for split in runner.splits:
        if not how.shared:
            search = TrainingRun(TrainedJudge(runner, trainer, code, rule, Search()), fault)  # type: ignore[arg-type]
        traces[split] = search.searched(split, Silent())
    return traces, (trainer.trainings, time.process_time() - start)


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def digits_cnn() -> nn.Module:
    model = DigitsCnn()
    model.drop = nn.Identity()
    return model


def together(rounds: int) -> dict[str, dict[str, object]]:
    """Several networks at once; for LeNet-5 the goal is that it does not pay, which is why it is not the default."""
    results = {}
    for name, build, shape, goal, better in (
        ("perceptron", perceptron, (13,), 1.3, "higher"),
        ("digits CNN without dropout", digits_cnn, (1, 8, 8), 1.0, "higher"),
        ("LeNet-5", LeNet5, (1, 28, 28), 1.0, "lower"),
    ):
        data, recipe = random_data(shape), Recipe(build, epochs=1)
        assert reason_against(recipe, [data]) is None
        value = ratio(partial(one_by_one, recipe, data), partial(at_once, recipe, data), rounds, time.process_time)
        results[f"{TOGETHER} trainings at once: {name}, against one by one"] = entry(value, goal, better)
    return results


def one_by_one(recipe: Recipe, data: Data) -> None:
    for seed in range(TOGETHER):
        recipe.train(data, TASK, seed)


def at_once(recipe: Recipe, data: Data) -> None:
    train_together(recipe, [data] * TOGETHER, TASK, range(TOGETHER))


def random_data(shape: tuple[int, ...]) -> Data:
    rng = np.random.default_rng(0)
    return as_data((rng.normal(size=(640, *shape)).astype(np.float32), np.arange(640) % 10), "train")


if __name__ == "__main__":
    run("faults before training", measure)
