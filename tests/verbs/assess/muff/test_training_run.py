"""Faults before training, from end to end on a small program: verdicts, searches, and trainings that are saved."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from statsmodels.stats.power import TTestIndPower
from torch import nn

import toys
from mutiny import Classification, Regression, Subject, assess
from mutiny.core.errors import Diverged
from mutiny.core.progress import Silent
from mutiny.core.records import Basis, Status, Verdict
from mutiny.faults.evaluation import Runner
from mutiny.faults.training.base import Program, Span
from mutiny.faults.training.settings import (
    ChangedBatchSize,
    ChangedClipping,
    ChangedLoss,
    ChangedOptimizer,
    DisabledBatching,
    FewerEpochs,
    LowerLearningRate,
    LowerPatience,
    RemovedValidation,
)
from mutiny.subjects.training import Recipe
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.options import Savings
from mutiny.verbs.assess.muff.search import Search, weakest_killed
from mutiny.verbs.assess.muff.trained_judge import TrainedJudge
from mutiny.verbs.assess.muff.trainer import Trainer
from mutiny.verbs.assess.muff.training_run import TrainingRun

COUNT = 5


def build():
    return nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 3))


RECIPE = Recipe(build, epochs=8, batch_size=16, learning_rate=0.01)
LIGHT = replace(RECIPE, epochs=4, batch_size=30, learning_rate=0.06)
"""A quarter of the steps, where any training will do."""
ITEMS = 90
"""Training inputs."""
SHORT = Search(max_probes=4)


def made(tmp_path, recipe=RECIPE, savings=None, task=None, data=None):
    """A trainer with originals of the recipe."""
    train, test = data or (toys.blobs(ITEMS), toys.blobs(90, seed=1))
    subject = Subject(recipe=recipe, task=task or Classification(3), train=train, test=test)
    models = subject.originals(COUNT)  # trained once in a session
    runner = Runner(models, subject.task, subject.splits(), subject.forward, 0)
    program = Program(recipe, subject.train, subject.task, subject.forward)
    return Trainer(program, runner, tmp_path / "mutants", savings)


def run(trainer, operator, search=None):
    judge = TrainedJudge(trainer.runner, trainer, operator.code, KillRule().resolve(COUNT), search or Search())
    runs = TrainingRun(judge, operator)
    return runs.run(Silent())


@cache
def optimizers_assessed():
    """The assessment of every configuration of an operator, made once for all tests that read it."""
    train, test = toys.blobs(ITEMS), toys.blobs(90, seed=1)
    subject = Subject(recipe=LIGHT, task=Classification(3), train=train, test=test)
    with TemporaryDirectory() as folder:
        return assess(subject, "OCH", originals=COUNT, folder=Path(folder), method="muff")


def all_optimizers():
    """The record of every configuration of an operator."""
    (record,) = optimizers_assessed().operators
    return record


@cache
def fewer_epochs():
    """The record of a whole search, made once for all tests that read it."""
    with TemporaryDirectory() as folder:
        return run(made(Path(folder)), FewerEpochs())


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_fewer_epochs_by_binary_search():
    record = fewer_epochs()
    assert record.status is Status.SCORED
    values = [mutant.strength for mutant in record.mutants if mutant.guiding_set == "train" and mutant.searched]
    assert values[0] == 1
    assert record.bounds == (8, 1)
    weakest = record.sets["train"].weakest_killed
    for mutant in record.mutants:
        if mutant.guiding_set == "train":
            assert (mutant.verdict is Verdict.KILLED) == (mutant.strength <= weakest)
    assert 0 <= record.score <= 1


@pytest.mark.parametrize("operator", [FewerEpochs(), LowerPatience()])
def test_beginnings_of_a_training_are_the_same_as_trainings(tmp_path, operator):
    recipe = replace(RECIPE, learning_rate=0.3, validation=0.3, patience=4, epochs=12)
    plain, saving = made(tmp_path / "plain", recipe, Savings.none()), made(tmp_path / "saving", recipe)
    value = {"epochs": 9, "patience": 3}[operator.strength]
    for strength in (value, *range(1, value, 3)):
        fault = operator.at(strength)
        theirs, ours = plain.instance(fault, 0), saving.instance(fault, 0)
        for split in ("train", "test"):
            assert theirs.outcomes[split].metric == ours.outcomes[split].metric
            np.testing.assert_array_equal(theirs.outcomes[split].bits, ours.outcomes[split].bits)
    assert saving.trainings < plain.trainings


def verdicts(record):
    """Every verdict, by configuration and set."""
    return {(mutant.operator, mutant.strength, mutant.guiding_set): mutant.verdict for mutant in record.mutants}


@pytest.mark.parametrize("operator", [FewerEpochs(), LowerLearningRate(), ChangedOptimizer()])
def test_savings_leave_every_verdict(tmp_path, operator):
    """Each search trains its own, or everything is shared and in groups of two: only the trainings differ."""
    plain = made(tmp_path / "plain", LIGHT, savings=Savings.none())
    saving = made(tmp_path / "saving", LIGHT, savings=Savings(first_group=2))
    theirs, ours = (run(trainer, operator, SHORT) for trainer in (plain, saving))
    assert verdicts(theirs) == verdicts(ours)
    assert (theirs.score, theirs.sensitivity, theirs.status) == (ours.score, ours.sensitivity, ours.status)
    assert 3 * saving.trainings <= 2 * plain.trainings


@pytest.mark.rounding
@pytest.mark.parametrize(
    ("operator", "shared"), [(LowerLearningRate(), False), (ChangedOptimizer(), True), (DisabledBatching(), True)]
)
def test_networks_trained_at_once_get_the_same_verdicts(tmp_path, operator, shared):
    one_by_one = made(tmp_path / "one", LIGHT, savings=Savings(shared=shared))
    at_once = made(tmp_path / "two", LIGHT, savings=Savings(shared=shared, together=True))
    theirs, ours = (run(trainer, operator, SHORT) for trainer in (one_by_one, at_once))
    assert verdicts(theirs) == verdicts(ours)
    assert at_once.trainings == one_by_one.trainings
    assert not list((tmp_path / "two" / "mutants").glob("*"))  # all of them were trained at once


@pytest.mark.parametrize("operator", [FewerEpochs(3), LowerLearningRate(1e-3)])
def test_the_network_of_an_instance_is_the_one_that_was_judged(tmp_path, operator):
    trainer = made(tmp_path)
    judged, trainings = trainer.instance(operator, 1), trainer.trainings
    model = trainer.network(operator, 1)
    assert trainer.trainings == trainings == 1
    x, y = toys.blobs(90, seed=1)
    assert (model(x).argmax(1) == y).numpy().tolist() == judged.outcomes["test"].correct.tolist()
    again = made(tmp_path)  # finds it on the disk
    assert torch.equal(weights(again.network(operator, 1)), weights(model))
    assert again.trainings == 0


def test_a_network_that_is_not_there_is_trained_unless_it_diverges(tmp_path):
    trainer = made(tmp_path, replace(RECIPE, optimizer="sgd"))
    assert weights(trainer.network(LowerLearningRate(1e-3), 0)).isfinite().all()
    assert trainer.trainings == 1
    with pytest.raises(Diverged):
        trainer.network(LowerLearningRate(1e30), 0)


def test_killability_and_instability():
    """Killability of a list is a share of its configurations, of a strength a share of the way."""
    listed, searched = all_optimizers(), fewer_epochs()
    on_train = [mutant for mutant in listed.mutants if mutant.guiding_set == "train"]
    killed = [mutant for mutant in on_train if mutant.verdict is Verdict.KILLED]
    assert listed.sets["train"].killability == len(killed) / len(on_train) > 0
    assert searched.sets["train"].killability == pytest.approx((searched.sets["train"].weakest_killed - 1) / 7)
    weak = [mutant for mutant in on_train if mutant.power < 0.8]
    assert listed.sets["train"].instability == len(weak) / len(on_train)
    for mutant in on_train:
        both = TTestIndPower().power(abs(mutant.effect_size), COUNT, 0.05, ratio=mutant.instances / COUNT)
        assert mutant.power == pytest.approx(both, abs=1e-6)


def test_a_group_is_enough_where_the_others_cannot_matter(tmp_path):
    trainer = made(tmp_path, savings=Savings(first_group=2))
    record = run(trainer, LowerLearningRate(1e-9), Search(max_probes=2))
    early = [mutant for mutant in record.mutants if mutant.basis is Basis.FOREGONE]
    assert early
    for mutant in early:
        assert mutant.verdict is Verdict.KILLED
        assert mutant.instances == len(mutant.metrics[0]) < COUNT


def test_a_schedule_that_knows_the_end_has_no_beginnings(tmp_path):
    trainer = made(tmp_path, replace(RECIPE, schedule="cosine"))
    for epochs in (6, 5, 4):
        trainer.instance(FewerEpochs(epochs), 0)
    assert trainer.trainings == 3


def test_every_configuration_is_tried():
    record = all_optimizers()
    assert record.score_form == "set"
    names = {mutant.operator for mutant in record.mutants}
    assert "OCH(optimizer=sgd)" in names
    assert "OCH(optimizer=adam)" not in names
    assert len(names) == 6
    assert all(mutant.strength is None for mutant in record.mutants)


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        (LowerPatience(), "no early stopping"),
        (ChangedClipping(), "not clipped"),
        (RemovedValidation(), "no validation data"),
    ],
)
def test_what_does_not_apply_says_why(tmp_path, operator, reason):
    record = run(made(tmp_path), operator)
    assert record.status is Status.INVALID
    assert reason in record.reason


def test_settings_are_really_changed():
    usual = replace(RECIPE, clip_norm=1.0, validation=0.2, patience=3)
    program = Program(replace(usual, optimizer="sgd", optimizer_settings={"momentum": 0.9}), *_parts())
    rng = np.random.default_rng(0)
    assert FewerEpochs(3).mutate(program, rng).recipe.epochs == 3
    assert LowerLearningRate(0.5).mutate(program, rng).recipe.learning_rate == 0.5
    assert LowerPatience(2).mutate(program, rng).recipe.patience == 2
    assert RemovedValidation().mutate(program, rng).recipe.validation == 0
    assert DisabledBatching().mutate(program, rng).recipe.batch_size == 150
    assert [configuration.size for configuration in ChangedBatchSize().configurations(program)] == [4, 8, 32, 64]
    assert [clipping.clip for clipping in ChangedClipping().configurations(program)] == [
        "off",
        "norm",
        "value",
    ]
    assert ChangedClipping("value").mutate(program, rng).recipe.clip_value == 0.5
    assert ChangedClipping("value").mutate(program, rng).recipe.clip_norm is None
    names = [configuration.optimizer for configuration in ChangedOptimizer().configurations(program)]
    assert names == ["rmsprop", "adagrad", "adam", "adamax", "nadam", "adadelta"]
    changed = ChangedOptimizer("adadelta").mutate(program, rng).recipe
    assert (changed.optimizer, changed.learning_rate, changed.optimizer_settings) == ("adadelta", 1.0, {})
    assert ChangedLoss().mutate(program, rng).recipe.loss is not None
    assert program.recipe.loss is None


def _parts():
    subject = Subject(recipe=RECIPE, task=Classification(3), train=toys.blobs(150), test=toys.blobs(90, seed=1))
    return subject.train, subject.task, subject.forward


@pytest.mark.parametrize("operator", [ChangedOptimizer(), ChangedLoss(), ChangedBatchSize()])
def test_every_configuration_trains(operator):
    program = Program(replace(RECIPE, epochs=1), *_parts())
    for configuration in operator.configurations(program):
        faulty = configuration.mutate(program, np.random.default_rng(0))
        assert weights(faulty.recipe.train(faulty.data, faulty.task, 0)).isfinite().all()


def test_a_training_that_diverges_answers_nothing(tmp_path):
    trainer = made(tmp_path, replace(RECIPE, optimizer="sgd"))
    instance = trainer.instance(LowerLearningRate(1e30), 0)
    assert instance.diverged
    assert instance.outcomes["test"].metric == 0
    assert not instance.outcomes["test"].correct.any()


def test_a_regression_that_diverges_has_no_verdict(tmp_path):
    x = torch.rand(100, 2)
    y = x.sum(1, keepdim=True)
    recipe = Recipe(lambda: nn.Linear(2, 1), epochs=4, batch_size=20, learning_rate=0.1, optimizer="sgd")
    trainer = made(tmp_path, recipe, task=Regression(tolerance=0.1), data=((x, y), (x[:50], y[:50])))
    record = run(trainer, LowerLearningRate(), SHORT)
    assert record.status in (Status.SCORED, Status.NOT_KILLABLE)
    assert trainer.instance(LowerLearningRate(1e30), 0).outcomes["test"].metric == float("inf")


class Fussy(nn.Module):
    """Raises for large batches."""

    def __init__(self):
        super().__init__()
        self.inner = build()

    def forward(self, x):
        if self.training and len(x) > 40:
            raise RuntimeError("too many at once")
        return self.inner(x)


def test_a_program_that_raises_is_invalid_with_the_reason(tmp_path):
    record = run(made(tmp_path, replace(LIGHT, build=Fussy)), DisabledBatching())
    assert record.status is Status.INVALID
    assert "training raised RuntimeError: too many at once" in record.reason


def test_the_severest_is_tried_first():
    tried = []

    def probe(value):
        tried.append(value)
        return Verdict.SURVIVED

    assert weakest_killed(probe, Span(0.0, 1.0, 0.05)).archive == ()
    assert tried == [1.0]


@pytest.mark.parametrize("edge", [0.07, 0.5, 0.93])
def test_the_weakest_killed_is_found_to_the_precision(edge):
    trace = weakest_killed(lambda v: Verdict.KILLED if v >= edge else Verdict.SURVIVED, Span(0.0, 1.0, 0.05))
    assert edge <= trace.archive[-1] <= edge + 0.05


def test_both_kinds_in_one_campaign(tmp_path):
    train, test = toys.blobs(150), toys.blobs(90, seed=1)
    subject = Subject(recipe=LIGHT, task=Classification(3), train=train, test=test)
    settings = {"originals": COUNT, "folder": tmp_path, "search": Search(max_probes=3)}
    operators = "HNE,OCH(optimizer=sgd),RCP,WI"
    result = assess(subject, operators, **settings, method="muff")
    status = {record.code: record.status for record in result.operators}
    assert status["RCP"] is Status.INVALID
    assert status["HNE"] is status["OCH"] is Status.SCORED
    assert {(label.partition("(")[0], split) for label, _, split in result.kills} >= {("OCH", "test"), ("HNE", "train")}
    assert result.score.tried == 4
    again = assess(subject, operators, **settings, method="muff")
    plain, repeated = result.to_json(), again.to_json()
    for result_json in (plain, repeated):
        result_json.pop("timing")
    assert plain == repeated


def test_without_a_recipe_there_is_nothing_to_train(tmp_path):
    subject = Subject(toys.classifier(), task=Classification(3), train=toys.blobs(150), test=toys.blobs(90, seed=1))
    (record,) = assess(subject, "HNE", folder=tmp_path, method="muff").operators
    assert record.status is Status.INVALID
    assert "no recipe" in record.reason


def test_the_user_is_told_which_trainings_diverged(tmp_path):
    x = torch.rand(60, 2, generator=torch.Generator().manual_seed(0)) * 1e4
    y = x.sum(1, keepdim=True) / 1e4
    recipe = Recipe(lambda: nn.Linear(2, 1), epochs=20, batch_size=20, learning_rate=0.01, optimizer="adam")
    trainer = made(tmp_path, recipe, task=Regression(tolerance=0.1), data=((x, y), (x[:30], y[:30])))
    record = run(trainer, ChangedOptimizer("sgd"))
    assert any(note.startswith("OCH(optimizer=sgd): 5 of 5 trainings diverged") for note in record.notes)
    (first, *_) = [mutant for mutant in record.mutants if "sgd" in mutant.operator]
    assert first.verdict is not Verdict.SURVIVED
