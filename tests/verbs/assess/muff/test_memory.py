"""What stays of searches: verdicts, and nothing that only their own jobs need."""

import gc
import pickle

import numpy as np
import pytest

from mutiny.core.progress import Silent
from mutiny.faults.evaluation import Outcome, Runner, Screening
from mutiny.faults.evaluation.prediction import MemoryEntry
from mutiny.faults.parsing import as_operators
from mutiny.models import default_forward
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.verbs.assess.muff.judge import MutantJudge
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.operator_run import OperatorRun
from mutiny.verbs.assess.muff.search import Search
from toys import blobs, classifier

SCREENED, EXACT = Screening(least_work=0, tail_checks=1000), None
SEARCH = Search(max_probes=4)


@pytest.fixture
def runner():
    splits = {name: as_data(blobs(2000, seed=seed), name) for seed, name in enumerate(("train", "test"))}
    made = Runner([classifier(seed) for seed in range(5)], Classification(3), splits, default_forward, 0, 512)
    for split in splits:
        made.clean_bits(split)
    return made


def judge(runner, code, screening=EXACT):
    (operator,) = as_operators(code)
    return MutantJudge(runner, operator, code, KillRule().resolve(5), SEARCH, screening)


def alive(kind):
    """Number of objects of a class that are still in use."""
    gc.collect()
    return sum(type(each) is kind for each in gc.get_objects())


def test_answers_at_other_strengths_are_dropped_when_a_search_ends(runner):
    before, runs = alive(MemoryEntry), []
    for code in ("WI", "NEB", "GF"):
        runs.append(OperatorRun(judge(runner, code, SCREENED)))
        record = runs[-1].run(Silent())
        assert len(record.mutants) >= 4
        assert alive(MemoryEntry) == before
        assert len(runs[-1].kills()) == len(record.mutants)


def test_answers_at_other_strengths_are_there_while_a_search_runs(runner):
    screened, before = judge(runner, "WI", SCREENED), alive(MemoryEntry)
    for strength in (0.5, 0.25):
        screened(strength, "train")
    assert alive(MemoryEntry) == before + 2


def test_outcomes_of_instances_are_dropped_with_their_mutant(runner):
    exact, before = judge(runner, "WI"), alive(Outcome)
    for strength in np.linspace(0.02, 0.5, 8):
        exact.examine(float(strength), "test")
        assert alive(Outcome) == before


def test_verdicts_from_workers_share_the_correctness_of_originals(runner):
    exact = judge(runner, "WI")
    for strength in (0.5, 0.25):
        exact.learn(*pickle.loads(pickle.dumps(exact.examine(strength, "test"))))
    for verdict in exact.seen("test").values():
        assert np.shares_memory(verdict.bits.originals, runner.clean_bits("test"))
