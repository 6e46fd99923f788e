"""The plan of a campaign: what it counts is what the campaign does."""

import pytest
from torch import nn

import toys
from mutiny import Classification, Subject, assess
from mutiny.core.progress import Silent
from mutiny.core.records import Verdict
from mutiny.faults.evaluation import Runner
from mutiny.faults.parsing import as_faults
from mutiny.faults.training.base import Program, Span
from mutiny.subjects.training import Recipe
from mutiny.verbs.assess.muff.dry_run import plan
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.options import Savings
from mutiny.verbs.assess.muff.search import Search, steps, weakest_killed
from mutiny.verbs.assess.muff.trained_judge import TrainedJudge
from mutiny.verbs.assess.muff.trainer import Trainer
from mutiny.verbs.assess.muff.training_run import TrainingRun

RECIPE = Recipe(lambda: nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 3)), epochs=3, batch_size=16)


def subject():
    return Subject(recipe=RECIPE, task=Classification(3), train=toys.blobs(90), test=toys.blobs(60, seed=1))


def test_every_operator_has_a_plan_or_a_reason():
    planned = plan(subject(), "all", originals=3)
    assert len(planned) == len(as_faults("all"))
    for operator in planned:
        assert bool(operator.reason) != bool(operator.configurations)
        assert operator.reason or operator.seconds > 0
    by_label = {operator.label: operator for operator in planned}
    assert by_label["RCP"].reason == "no early stopping"
    assert by_label["OCH"].trainings == 6 * 3
    assert by_label["WI"].trainings == 0


@pytest.mark.parametrize("code", ["OCH", "HNE", "ARM"])
def test_no_more_is_trained_than_planned(tmp_path, code):
    tested = subject()
    (planned,) = plan(tested, code, originals=3)
    models = tested.originals(3, folder=tmp_path / "originals")
    runner = Runner(models, tested.task, tested.splits(), tested.forward, 0)
    trainer = Trainer(
        Program(RECIPE, tested.train, tested.task, tested.forward),
        runner,
        tmp_path / "mutants",
        Savings(beginnings=False),
    )
    (fault,) = as_faults(code)
    TrainingRun(TrainedJudge(runner, trainer, code, KillRule().resolve(3), Search()), fault).run(Silent())
    assert 0 < trainer.trainings <= planned.trainings
    if fault.strength is None:
        assert trainer.trainings == planned.trainings


@pytest.mark.parametrize(
    "span", [Span(10, 1, 1, True), Span(0.0, 1.0, 0.05), Span(7, 1, 1, True), Span(0.1, 1e-4, 1e-3)]
)
def test_a_search_takes_no_more_steps_than_it_says(span):
    for edge in range(12):
        at = span.mild + (span.severe - span.mild) * edge / 11
        worse = (lambda value, at=at: value >= at) if span.severe > span.mild else (lambda value, at=at: value <= at)
        trace = weakest_killed(lambda value, worse=worse: Verdict.KILLED if worse(value) else Verdict.SURVIVED, span)
        assert len(trace.probes) <= steps(span)


def test_without_a_recipe():
    given = Subject(toys.classifier(), task=Classification(3), train=toys.blobs(90), test=toys.blobs(60, seed=1))
    planned = {operator.label: operator for operator in plan(given, "WI,HLR")}
    assert planned["HLR"].reason == "there is no recipe"
    assert planned["WI"].configurations == 33


@pytest.mark.parametrize("rse", [1e-9, 0.05])
@pytest.mark.parametrize("operator", ["WI(ratio=0.3)", "AFR"])
def test_no_more_is_evaluated_than_planned(operator, rse):
    """Repetitions count, unless they would be copies, and so does what train kills on the other sets."""
    tested, search = toys.blob_subject(3), Search(precision=0.1, rse=rse)
    (planned,) = plan(tested, operator, search=search)
    evaluated = assess(tested, operator, search=search, exact=True, method="muff").evaluation["evaluated"]
    probes = planned.configurations // 3
    once = 3 * probes * (240 + 120 + 60)
    assert 0 < evaluated <= planned.evaluations
    if operator == "AFR":
        assert evaluated == planned.evaluations == once
    elif rse < 0.05:  # hardly any mutant is stable
        assert evaluated > 2 * once
