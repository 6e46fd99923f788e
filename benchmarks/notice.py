"""What an assessment costs: the notice rate, in multiples of clean passes, and against evaluating every input.

python -m benchmarks.notice [--quick] [--json FILE] [--data DIR]

With --data the subject is MNIST with LeNet-5, all operators and ten originals; otherwise digits drawn from
scikit-learn's. MUFF's search is timed with a few operators, and so is the notice rate once more. Seconds are those of
the processor, with one thread.
"""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import mutiny
from benchmarks.command import run
from benchmarks.subjects import NETWORKS, drawn_digits
from benchmarks.timing import entry
from mutiny.campaigns.jobs import Job
from mutiny.core.records import FaultRecord
from mutiny.faults.evaluation import Runner
from mutiny.faults.parsing import as_operators
from mutiny.models import default_forward
from mutiny.subjects import Subject
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe
from mutiny.verbs.assess.cost_unit import unit_of
from mutiny.verbs.assess.fault_search import TEST, FaultSearch
from mutiny.verbs.assess.reference import reference_of, with_folds

BINS, VERDICTS, FEWER = 0.99, 0.999, 20.0
"""Goals: share of the faults with the same bin and with the same verdict, and times fewer inputs."""


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    originals: int
    inputs: int | None
    operators: str | None
    epochs: int | None
    seeds: int | None
    both: str


FULL = Sizes(10, None, None, None, None, both="WI,NEB,NS")
QUICK = Sizes(2, 15_000, "WI,GF,NEB", 1, 1, both="NEB")


def measure(quick: bool, data: Path | None) -> dict[str, dict[str, object]]:
    torch.set_num_threads(1)
    sizes = QUICK if quick else FULL
    subject = subject_of(sizes, data)
    subject.originals(sizes.originals, seed=0)  # trains them before the clock starts
    start = time.process_time()
    result = mutiny.assess(subject, sizes.operators, originals=sizes.originals, seeds=sizes.seeds, batch_size=256)
    took = time.process_time() - start
    exact = exact_search(subject, sizes)
    start = time.process_time()
    clean = {(n, s): None for n in range(sizes.originals) for s in (exact.reference.split(n), TEST)}
    inputs = sum(len(exact.runner.splits[split]) for _, split in clean)
    for number, split in clean:
        exact.runner.clean(number, split)
    once = time.process_time() - start
    start = time.process_time()
    again = [evaluated(exact, fault) for fault in result.faults]
    in_full = time.process_time() - start
    pairs = list(zip(result.faults, again, strict=True))
    bins = np.mean([bin_of(exact, fault.cost) == bin_of(exact, other.cost) for fault, other in pairs])
    same = np.mean([fault.noticed == other.noticed for fault, other in pairs])
    name = f"notice: {subject.name}, {len(result.faults):,} faults"
    spent, everything = result.evaluation["evaluated"], result.evaluation["everything"]
    methods = {method: seconds_of(subject, sizes, method=method) for method in ("notice", "muff")}
    job = len(pickle.dumps(Job("faults", ("WI", 0, 0), "0" * 64, "WI on original 1")))
    print(f"{name}: {took:.1f} s, clean passes {once:.1f} s, these faults on every input {in_full:.1f} s")
    print(f"{sizes.both}: " + ", ".join(f"{method} {seconds:.1f} s" for method, seconds in methods.items()))
    return {
        f"{name}: as a multiple of clean passes over reference and test set": entry(took / once, 40.0, "lower"),
        f"{name}: inputs, as a multiple of clean passes": entry(spent / inputs, 40.0, "lower"),
        f"{name}: times fewer inputs than evaluating everything": entry(everything / spent, 1.0 if quick else FEWER),
        f"{name}: share with the bin that all inputs give": entry(float(bins), BINS, unit=""),
        f"{name}: share with the verdict that all inputs give": entry(float(same), VERDICTS, unit=""),
        f"notice: {subject.name}, {sizes.both}: time of MUFF's search by that of the notice rate": entry(
            methods["muff"] / methods["notice"], 2.0
        ),
        f"{name}: bytes of a job": entry(job, 4096, "lower", " B"),
    }


def seconds_of(subject: Subject, sizes: Sizes, **more: Any) -> float:
    """Processor seconds of an assessment with a few operators."""
    start = time.process_time()
    mutiny.assess(subject, sizes.both, originals=sizes.originals, batch_size=256, **more)
    return time.process_time() - start


def subject_of(sizes: Sizes, data: Path | None) -> Subject:
    """MNIST, or drawn digits; with folds, as an assessment holds them out."""
    if data is not None:
        subject = mutiny.load_subject("mnist/lenet5", data)
    else:
        recipe = Recipe(NETWORKS["lenet5"], batch_size=128, learning_rate=4e-3, schedule="onecycle", epochs=4)
        drawn = drawn_digits(70_000)
        train, test = drawn.subset(np.arange(60_000)), drawn.subset(np.arange(60_000, 70_000))
        subject = Subject(task=Classification(10, "logits"), train=train, test=test, recipe=recipe, name="drawn digits")
    if sizes.inputs is not None:
        assert subject.recipe is not None
        assert subject.train is not None
        some = subject.train.subset(np.arange(sizes.inputs))
        recipe = replace(subject.recipe, epochs=sizes.epochs or subject.recipe.epochs)
        test = subject.test.subset(np.arange(min(len(subject.test), sizes.inputs // 3)))
        subject = Subject(task=subject.task, train=some, test=test, recipe=recipe, name=subject.name)
    return with_folds(subject)


def exact_search(subject: Subject, sizes: Sizes) -> FaultSearch:
    """A search that evaluates every input."""
    models = subject.originals(sizes.originals, seed=0)
    reference = reference_of(subject, len(models))
    assert reference is not None
    splits = {**reference.sets, TEST: subject.test}
    runner = Runner(models, subject.task, splits, default_forward, 0, 256)
    return FaultSearch(runner, reference, unit_of(runner.task), 0.05)


def evaluated(search: FaultSearch, fault: FaultRecord) -> FaultRecord:
    """The same fault on every input."""
    (operator,) = as_operators(fault.configuration)
    return search.judged(operator, fault.original, fault.seed).faults[0].record


def bin_of(search: FaultSearch, cost: float) -> int:
    return int(np.searchsorted(search.unit.edges, cost, side="right"))


if __name__ == "__main__":
    run("notice", measure)
