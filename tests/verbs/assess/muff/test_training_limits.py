"""Faults before training at their edges: what cannot be trained, limits of searches, verdicts that are not monotone."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from torch import nn

import toys
from mutiny import Classification, Regression, Subject, assess
from mutiny.core.errors import BadInput
from mutiny.core.progress import Progress, Silent
from mutiny.core.records import Status, Verdict
from mutiny.faults.parsing import as_faults
from mutiny.faults.training.base import Program
from mutiny.faults.training.data import LabelChange
from mutiny.faults.training.settings import (
    ChangedBatchSize,
    ChangedLoss,
    ChangedOptimizer,
    FewerEpochs,
    LowerLearningRate,
)
from mutiny.reports.muff_text import muff_text
from mutiny.subjects.training import OwnTraining, Recipe
from mutiny.verbs.assess.muff.dry_run import plan
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.search import Search
from mutiny.verbs.assess.muff.trained_judge import TrainedJudge
from mutiny.verbs.assess.muff.training_run import TrainingRun
from verbs.assess.muff.test_training_run import (
    COUNT,
    ITEMS,
    LIGHT,
    RECIPE,
    all_optimizers,
    build,
    made,
    optimizers_assessed,
    run,
)


def subject_of(recipe=RECIPE, items=ITEMS):
    return Subject(recipe=recipe, task=Classification(3), train=toys.blobs(items), test=toys.blobs(90, seed=1))


def test_a_mutant_that_cannot_be_trained_is_invalid_and_the_rest_goes_on(tmp_path):
    recipe = replace(RECIPE, validation=0.9, patience=5)
    result = assess(subject_of(recipe, 60), "TRD,HDB,OCH(optimizer=muon)", originals=2, folder=tmp_path, method="muff")
    removed, batched, other = result.operators
    assert batched.status in (Status.SCORED, Status.NOT_KILLABLE)
    assert removed.status is Status.INVALID
    assert "cannot be trained: validation=0.9: expected fewer than all of" in removed.reason
    assert removed.notes == ()  # the reason is told once
    assert other.status is Status.INVALID
    assert "cannot be trained" in other.reason


def test_a_loss_for_another_task_is_refused_before_anything_is_trained(tmp_path):
    x = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    recipe = Recipe(lambda: nn.Linear(2, 1), epochs=2)
    data = (x, x.sum(1, keepdim=True))
    subject = Subject(recipe=recipe, task=Regression(tolerance=0.1), train=data, test=data)
    with pytest.raises(BadInput, match="one that fits the task"):
        assess(subject, "LCH(loss=hinge)", originals=2, folder=tmp_path, method="muff")
    assert not [*tmp_path.rglob("*.safetensors")]


def test_a_build_that_returns_one_network_is_noticed(tmp_path):
    network = build()
    with pytest.raises(BadInput, match="same network twice"):
        assess(subject_of(replace(RECIPE, build=lambda: network)), "HNE", originals=2, folder=tmp_path, method="muff")
    with pytest.raises(BadInput, match="same network twice"):
        subject_of(replace(RECIPE, build=lambda: network)).originals(2, folder=tmp_path)


@pytest.mark.parametrize(
    ("operator", "said"),
    [
        (ChangedBatchSize(16), "16 already"),
        (ChangedLoss("cross_entropy"), "already"),
        (ChangedOptimizer("adam"), "already"),
    ],
)
def test_no_change_is_not_trained(tmp_path, operator, said):
    record = run(made(tmp_path), operator)
    assert record.status is Status.INVALID
    assert said in record.reason


class Counting(Progress):
    """Steps that were announced, and steps that were taken."""

    def __init__(self):
        self.total = self.done = 0

    def stage(self, name, total):
        self.total, self.done = total, 0

    def step(self, name="", done=1):
        self.done += done


@pytest.mark.parametrize("operators", ["HBS,HNE", "RCP,HLR,WI"])
def test_the_progress_bar_ends_at_its_end(tmp_path, operators):
    progress = Counting()
    assess(
        subject_of(LIGHT),
        operators,
        originals=2,
        folder=tmp_path,
        progress=progress,
        search=Search(k_max=3, max_probes=4),
        method="muff",
    )
    assert progress.done == progress.total > 0


def searched(trainer, operator, search):
    judge = TrainedJudge(trainer.runner, trainer, operator.code, KillRule().resolve(COUNT), search)
    run = TrainingRun(judge, operator)
    return run, run.run(Silent())


def test_limits_of_the_search_hold_before_training_too(tmp_path):
    trainer = made(tmp_path)
    run, _ = searched(trainer, FewerEpochs(), Search(lower=2, upper=7, max_probes=2))
    for trace in run.traces.values():
        assert trace.probes[0][0] == 2
        assert len(trace.probes) <= 2
        assert all(2 <= epochs <= 7 for epochs, _ in trace.probes)
    assert (run.span.mild, run.span.severe) == (7, 2)
    closer, _ = searched(trainer, LowerLearningRate(), Search(precision=0.004, max_probes=1))
    assert closer.span.precision == 0.004
    usual, _ = searched(trainer, LowerLearningRate(), Search(max_probes=1))
    assert usual.span.precision == pytest.approx(1e-4)
    assert [len(trace.probes) for trace in usual.traces.values()] == [1, 1]


def test_bounds_outside_are_refused_before_anything_is_trained(tmp_path):
    with pytest.raises(BadInput, match="an interval inside"):
        assess(subject_of(), "HNE", originals=2, folder=tmp_path, search=Search(upper=20), method="muff")
    with pytest.raises(BadInput, match="at least two whole numbers"):
        assess(subject_of(), "HNE", originals=2, folder=tmp_path, search=Search(lower=3, upper=3.5), method="muff")
    assert not [*tmp_path.rglob("*.safetensors")]


def test_the_learning_rate_goes_down_to_a_thousandth_of_the_real_one():
    subject = subject_of()
    program = Program(RECIPE, subject.train, subject.task, subject.forward)
    span = LowerLearningRate().span(program)
    assert (span.mild, span.severe, span.precision) == pytest.approx((0.01, 1e-5, 1e-4))
    own = replace(program, recipe=replace(RECIPE, optimizer="sgd", optimizer_settings={"lr": 0.5}))
    assert LowerLearningRate().span(own).mild == 0.5


def test_every_instance_has_faults_of_its_own(tmp_path):
    trainer = made(tmp_path)
    operator = LabelChange(share=0.5)
    labels = [trainer._program(operator, number).data.targets for number in range(3)]
    clean = trainer.program.data.targets
    assert all((mutated != clean).sum() == (labels[0] != clean).sum() for mutated in labels)
    assert not np.array_equal(labels[0], labels[1])
    assert not np.array_equal(labels[1], labels[2])


def test_instability_is_the_share_with_little_power(tmp_path):
    shares = []
    for record in (all_optimizers(), run(made(tmp_path, LIGHT), ChangedLoss())):
        powers = [mutant.power for mutant in record.mutants if mutant.guiding_set == "train"]
        shares.append(sum(power < 0.8 for power in powers) / len(powers))
        assert record.sets["train"].instability == pytest.approx(shares[-1])
    assert any(share != 0.5 for share in shares)


def test_where_power_is_unknown_so_is_instability(tmp_path):
    (record,) = assess(subject_of(LIGHT), "HBS", originals=1, folder=tmp_path, method="muff").operators
    assert {mutant.power for mutant in record.mutants} == {None}
    assert {summary.instability for summary in record.sets.values()} == {None}


def test_redundant_configurations_are_named():
    record = all_optimizers()
    names = list(dict.fromkeys(mutant.operator for mutant in record.mutants))
    assert set(record.redundant_configurations) <= set(names)
    order = [names.index(name) for name in record.redundant_configurations]
    assert order == sorted(order)
    assert record.redundant == ()


class Faulty(nn.Module):
    """Right, but on so many inputs of each split, as its epochs decide."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1, 1)
        self.register_buffer("wrong", torch.zeros(2))

    def forward(self, x):
        label, place, split = x[:, 0].long(), x[:, 1], x[:, 2].long()
        said = torch.where(place < self.wrong[split], 1 - label, label)
        return (nn.functional.one_hot(said, 2).float() - 0.5) * (4 * self.layer.weight.abs() + 0 * self.layer(x[:, :1]))


def scripted(wrong_at):
    """A subject whose training with ``epochs`` gives a network with ``wrong_at[epochs]`` wrong shares (train, test)."""

    def fit(settings):
        network = settings.build()
        share = torch.tensor(wrong_at.get(settings.recipe.epochs, (0.0, 0.0)))
        network.wrong.copy_(share + 0.02 * torch.rand(2))
        return network

    def split(number, n=200):
        labels = np.arange(n) % 2
        return np.stack([labels, np.linspace(0, 1, n), np.full(n, number)], 1).astype(np.float32), labels

    recipe = OwnTraining(Faulty, epochs=8, function=fit, obeys=("epochs", "build"))
    return Subject(recipe=recipe, task=Classification(2, "logits"), train=split(0), test=split(1), name="scripted")


@cache
def noticed_up_to_five_and_three():
    """Train kills up to 5 epochs, test up to 3, with no doubt about either."""
    subject = scripted({n: (0.5 if n <= 5 else 0.0, 0.5 if n <= 3 else 0.0) for n in range(1, 8)})
    with TemporaryDirectory() as folder:
        return assess(subject, "HNE", originals=6, folder=Path(folder), method="muff")


def test_a_training_set_that_does_not_notice_the_severest_has_no_score(tmp_path):
    """Test notices 1 epoch and train does not, though it would notice 4."""
    subject = scripted({1: (0.0, 0.5), 4: (0.5, 0.5)})
    result = assess(subject, "HNE", originals=6, folder=tmp_path, method="muff")
    (record,) = result.operators
    assert record.status is Status.NOT_KILLABLE
    assert record.score is None
    assert "epochs 1, the severest" in record.reason
    assert result.score.interval is None
    assert any(note.startswith("not monotone on train: killed at 4 but survived at 1") for note in record.notes)


def test_score_and_interval_come_from_the_same_mutants():
    result = noticed_up_to_five_and_three()
    (record,) = result.operators
    assert record.sets["train"].weakest_killed == 5
    assert record.sets["test"].weakest_killed == 3
    assert record.score == pytest.approx(2 / 4)  # of the way from 5 down to 1 epoch
    assert (result.score.interval.low, result.score.interval.high) == pytest.approx((0.5, 0.5))


def test_what_another_search_tried_decides_nothing(tmp_path):
    """Test's search asks about 6 epochs, which train would kill, though its own search ended at 3."""
    subject = scripted({n: (0.5 if n in (1, 2, 3, 6) else 0.0, 0.5 if n <= 4 else 0.0) for n in range(1, 8)})
    result = assess(subject, "HNE", originals=6, folder=tmp_path, method="muff")
    (record,) = result.operators
    assert any(m.strength == 6 and m.guiding_set == "train" and m.verdict is Verdict.KILLED for m in record.mutants)
    assert (record.sets["train"].weakest_killed, record.sets["test"].weakest_killed) == (3, 4)
    assert record.score == 1.0
    assert (result.score.interval.low, result.score.interval.high) == (1.0, 1.0)


def test_words_follow_the_direction():
    from rich.console import Console

    console = Console(width=200, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(muff_text(noticed_up_to_five_and_three(), 200))
    assert "train notices epochs 5, test only epochs 3 and less." in captured.get()


def test_words_for_lists_of_configurations():
    from rich.console import Console

    result, record = optimizers_assessed(), all_optimizers()
    console = Console(width=100)
    with console.capture() as captured:
        console.print(muff_text(result, 100))
    text, summary = captured.get(), record.sets["train"]
    assert f"{summary.killed}/{summary.killed + summary.survived + summary.unstable}" in text
    unseen, noticed = record.missed()
    train, test = (
        {m.operator for m in record.mutants if m.guiding_set == split and m.verdict is Verdict.KILLED}
        for split in ("train", "test")
    )
    assert (unseen, noticed) == (len(train - test), len(train))
    if unseen:
        assert f"test misses {unseen} of {noticed} configurations" in text


def test_an_early_stop_is_the_end_of_longer_trainings_too(tmp_path):
    """After an early stop more epochs change nothing, and need no training."""
    recipe = replace(RECIPE, epochs=40, patience=1, learning_rate=0.3)
    trainer = made(tmp_path, recipe)
    for epochs in (35, 30, 20):
        trainer.instance(FewerEpochs(epochs), 0)
    assert trainer.trainings == 1
    plain = recipe.train(trainer.program.data, trainer.program.task, trainer.runner.seed)  # another seed: it stops too
    assert plain is not None
    alone = made(tmp_path / "plain", replace(recipe, epochs=20))
    same = trainer.network(FewerEpochs(20), 0)
    assert all(torch.equal(a, b) for a, b in zip(same.parameters(), alone.runner.models[0].parameters(), strict=True))


def test_the_plan_counts_what_is_shared(tmp_path):
    planned = {operator.label: operator for operator in plan(subject_of(), "HNE,HLR,TRD", originals=4)}
    assert planned["HNE"].trainings == 4  # all on the way of the originals'
    assert planned["HLR"].configurations == 3 * 7 + 1
    assert planned["HLR"].trainings == 4 * planned["HLR"].configurations


def test_all_stands_alone():
    with pytest.raises(BadInput, match="either all, alone"):
        as_faults("all,WI")
