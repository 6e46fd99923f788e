"""Contract suite for judges: checks everything that `assess` relies on.

>>> import torch
>>> from mutiny import Classification
>>> from mutiny.verbs.assess.judges import PairedTest
>>> net = torch.nn.Linear(4, 3).eval()
>>> x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
>>> check_judge(PairedTest(), net, (x, net(x).argmax(1)), Classification(3, "logits"))
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np
from torch import nn

from mutiny.core.parsing import parameters_of
from mutiny.core.records import JudgeOutcome
from mutiny.faults.evaluation import Runner
from mutiny.faults.weights.gaussian_fuzzing import GaussianFuzzing
from mutiny.models import ModelState, ModelView, Patch
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Task
from mutiny.testing.names import check_names
from mutiny.verbs.assess.judges.answers import NetworkAnswers, answering
from mutiny.verbs.assess.judges.base import Judge, Judgement, wrong_part
from mutiny.verbs.assess.zeroed_weights import zeroed

FAULTS = (0.01, 0.3, 1.0)
"""Noise on all weights, from harmless to drastic."""


def check_judge(judge: Judge, model: nn.Module, test: Any, task: Task, rebuilds: bool = True) -> None:
    """Raises `AssertionError`, with a message, if ``judge`` violates the contract.

    Args:
        judge: Judge with all parameters.
        model: Model that the judge can be used with, in evaluation mode; it is not changed.
        test: Test set ``(inputs, targets)``, on which the model is good.
        task: Task of the model.
        rebuilds: Whether its parameters, through JSON, make an equal judge; ``False`` for parameters such as functions.
    """
    check_parameters(judge, rebuilds)
    runner = Runner([model], task, {"test": as_data(test, "test")}, lambda network, inputs: network(inputs), 0, 16)
    before = ModelState.of(model)
    with answering(runner, Patch(()), 0, "test") as clean:
        judge.check(clean, "original 1")
        _ = clean.outputs
    noises = [
        runner.patch(GaussianFuzzing(ratio=1.0, sd=min(sd, 1.0), clip="none"), 0, at) for at, sd in enumerate(FAULTS)
    ]
    view: ModelView = runner.views[0]
    for patch in (Patch(()), *noises, zeroed(view)):
        first, second = (_judged(judge, runner, patch, clean) for _ in range(2))
        assert first == second, f"{judge.code}: the same fault is judged {first} and then {second}"
    unchanged = _judged(judge, runner, Patch(()), clean)
    assert unchanged.outcome is not JudgeOutcome.NOTICED, f"{judge.code}: it notices a network that is not changed"
    blank = _judged(judge, runner, zeroed(view), clean)
    missed = blank.outcome is JudgeOutcome.MISSED
    assert not missed, f"{judge.code}: it misses a network without weights, so it can notice nothing"
    difference = before.difference(ModelState.of(model))
    assert difference is None, f"{judge.code}: {difference} of the model is not as before"


def check_parameters(judge: Judge, rebuilds: bool = True) -> None:
    """The judge has names and a label; if ``rebuilds``, parameters from JSON make an equal judge."""
    check_names(judge)
    assert judge.label.strip(), f"{judge.code}: its label is empty"
    assert "\n" not in judge.label, f"{judge.code}: its label has several lines"
    if not rebuilds:
        return
    parameters = json.loads(json.dumps(parameters_of(judge), allow_nan=False))
    names = [field.name for field in fields(judge)]
    again = type(judge)(**{name: tuple(v) if isinstance(v := parameters[name], list) else v for name in names})
    assert again == judge, f"{judge.code}: parameters rebuild {again}, not {judge}"
    assert hash(again) == hash(judge), f"{judge.code}: equal judges have different hashes"


def _judged(judge: Judge, runner: Runner, patch: Patch, clean: NetworkAnswers) -> Judgement:
    """What the judge says about a patch, without hiding its exceptions as `Judge.decide` does."""
    outputs = clean.outputs.clone()
    with answering(runner, patch, 0, "test") as faulty:
        after = faulty.outputs.clone()
        judgement = judge.judge(clean, faulty)
        same = bool((faulty.outputs.equal(after)) and clean.outputs.equal(outputs)) or _has_nan(after)
        assert same, f"{judge.code}: the judge changes the answers"
        decided = judge.decide(clean, faulty)
    wrong = wrong_part(judgement)
    assert wrong is None, f"{judge.code}: {wrong}"
    assert decided == judgement, f"{judge.code}: it says {judgement}, and then {decided}"
    return judgement


def _has_nan(outputs: Any) -> bool:
    return bool(np.isnan(outputs.cpu().numpy()).any())
