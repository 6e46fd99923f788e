"""Sets are screened only where a pass over them takes many operations; verdicts are the same either way."""

import io
from functools import cache

import pytest
import torch
from rich.console import Console
from torch import nn

import mutiny
from mutiny.core.records import Basis
from mutiny.faults.evaluation import Runner, Screening
from mutiny.faults.parsing import as_operators
from mutiny.models import default_forward
from mutiny.models.operations import PER_NUMBER
from mutiny.reports.muff_text import muff_text
from mutiny.reports.page.score import basis_text
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.verbs.assess.muff.judge import MutantJudge
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.search import Search, binary_search
from toys import blobs, classifier

INPUTS, ORIGINALS = 4000, 5
WORK = INPUTS * (2 * (2 * 12 + 12 + 12 * 3 + 3) + PER_NUMBER * (12 + 12 + 3))
"""Operations of a pass of `classifier`: two for each parameter, and those for its 27 outputs and activations."""
QUICK = Search(precision=0.2)
FEW_CHECKS = {"tail_checks": 1000}
"""As in `test_early_verdict`: the default number of checks would need most of so few inputs."""


class Heavy(nn.Module):
    """A small network with so many idle weights that it counts as a large one, although it runs as fast."""

    def __init__(self, inner, weights=2_600_000):
        super().__init__()
        self.inner, self.idle = inner, nn.Parameter(torch.zeros(weights))

    def forward(self, x):
        return self.inner(x)


@cache
def searched(screening, heavy=False, fewer=0):
    """Records of a search on the training set, by strength."""
    models = [Heavy(classifier(seed)).eval() if heavy else classifier(seed) for seed in range(ORIGINALS)]
    data = as_data(blobs(INPUTS - fewer, seed=3), "train")
    runner = Runner(models, Classification(3), {"train": data}, default_forward, 0, 512)
    (operator,) = as_operators("WI")
    judge = MutantJudge(runner, operator, "WI", KillRule().resolve(ORIGINALS), QUICK, screening)
    binary_search(lambda s: judge(s, "train").record.verdict, QUICK.bounds(operator.bounds), QUICK)
    return {strength: judged.record for strength, judged in judge.seen("train").items()}


def bases(records):
    return {record.basis for record in records.values()}


def verdicts(records):
    return {strength: (record.verdict, record.instances) for strength, record in records.items()}


def test_by_default_a_small_network_is_evaluated_in_full():
    records = searched(Screening(**FEW_CHECKS))
    assert records == searched(None)
    assert bases(records) == {Basis.EXACT}
    assert all(record.evaluated == record.instances * INPUTS for record in records.values())


def test_by_default_a_large_network_is_screened_with_the_same_verdicts():
    screened, exact = searched(Screening(**FEW_CHECKS), heavy=True), searched(None, heavy=True)
    assert bases(screened) != {Basis.EXACT}
    assert verdicts(screened) == verdicts(exact) == verdicts(searched(None))
    assert sum(r.evaluated for r in screened.values()) < sum(r.evaluated for r in exact.values())


def test_no_least_work_forces_screening_of_a_small_network():
    forced = searched(Screening(least_work=0, **FEW_CHECKS))
    assert bases(forced) != {Basis.EXACT}
    assert verdicts(forced) == verdicts(searched(None))


@pytest.mark.parametrize(
    ("screening", "fewer", "screens"),
    [
        (Screening(least_work=WORK, **FEW_CHECKS), 0, True),
        (Screening(least_work=WORK + 1, **FEW_CHECKS), 0, False),
        (Screening(least_work=WORK, **FEW_CHECKS), 1, False),
        (Screening(fewest=INPUTS, least_work=0, **FEW_CHECKS), 0, True),
        (Screening(fewest=INPUTS + 1, least_work=0, **FEW_CHECKS), 0, False),
    ],
)
def test_inputs_and_operations_must_both_suffice(screening, fewer, screens):
    assert (bases(searched(screening, fewer=fewer)) != {Basis.EXACT}) is screens


def shown(result):
    """What terminal and page say about a result, in lower case."""
    console = Console(file=io.StringIO(), width=200)
    console.print(muff_text(result, 200))
    return f"{console.file.getvalue()}\n{basis_text(result)}".lower()


def test_an_assessment_that_does_not_screen_is_the_exact_one_and_says_so():
    subject = mutiny.Subject(
        [classifier(seed) for seed in range(ORIGINALS)],
        task=mutiny.Classification(3),
        train=blobs(2000, seed=3),
        test=blobs(2000, seed=4),
    )
    settings = {"search": mutiny.Search(precision=0.3), "batch_size": 512, "method": "muff"}
    default = mutiny.assess(subject, "WI", **settings)
    exact = mutiny.assess(subject, "WI", exact=True, **settings)
    assert default.operators == exact.operators
    assert (default.score, default.notes) == (exact.score, exact.notes)
    assert default.evaluation == exact.evaluation
    assert default.evaluation["evaluated"] == default.evaluation["pairs"]
    assert "screened" not in shown(default)
    forced = mutiny.assess(subject, "WI", screening=Screening(least_work=0, **FEW_CHECKS), **settings)
    assert forced.evaluation["evaluated"] < forced.evaluation["pairs"]
    assert "screened: " in shown(forced)
    assert [operator.score for operator in forced.operators] == [operator.score for operator in exact.operators]
