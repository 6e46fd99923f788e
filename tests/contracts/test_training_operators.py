"""Every fault before training keeps the promises of its base class."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from torch import nn

from mutiny.core.errors import NotApplicable
from mutiny.core.parsing import described
from mutiny.faults import OPERATORS
from mutiny.faults.parsing import as_faults
from mutiny.faults.training import ALL, TRAINING_OPERATORS
from mutiny.faults.training.base import Program
from mutiny.models import default_forward
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification, Regression
from mutiny.subjects.training import Recipe, fingerprint

TABLE_II = "AAL ACH ARM HBS HDB HLR HNE LCH OCG OCH RAW RCD RCP RCW RRW TAN TCL TCO TRD TUD VRM WAB WCI WRB"
"""Of MUFF: DeepCrime's."""
DEEPMUTATION = "DR LE DM DF NP LRs LAs AFRs"


def build(outputs=3):
    return nn.Sequential(
        nn.Linear(4, 8),
        nn.ReLU(),
        nn.Linear(8, 8, bias=False),
        nn.Dropout(0.3),
        nn.Linear(8, 8),
        nn.Tanh(),
        nn.Linear(8, outputs),
    )


def program(task):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4)).astype(np.float32)
    labels = np.repeat([0, 1, 2], [30, 20, 10])
    y = labels if isinstance(task, Classification) else x[:, :1] + 0.1 * labels[:, None]
    recipe = Recipe(
        build if isinstance(task, Classification) else lambda: build(1),
        epochs=3,
        batch_size=8,
        validation=0.2,
        patience=2,
        clip_norm=1.0,
        regularizers={"0": (0.0, 0.01)},
    )
    return Program(recipe, as_data((x, y), "train"), task, default_forward)


TASKS = {"classification": Classification(3), "regression": Regression(tolerance=0.1)}


@pytest.fixture(params=TASKS)
def case(request):
    return program(TASKS[request.param])


def test_all_of_the_papers_are_there():
    assert set(TRAINING_OPERATORS) == {*TABLE_II.split(), *DEEPMUTATION.split()}
    assert not set(TRAINING_OPERATORS) & set(OPERATORS)
    assert len(as_faults("all")) == len(TRAINING_OPERATORS) + len(OPERATORS)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.code)
def test_it_says_what_it_is(kind):
    assert kind.title
    assert kind.source.startswith(("DeepCrime", "DeepMutation"))
    assert kind.level in ("data", "settings", "network")
    assert kind.tries
    names = {field.name for field in fields(kind)}
    assert kind.strength is None or kind.strength in names
    assert as_faults(described(kind(), kind.code)) == (kind(),)
    assert hash(kind()) == hash(kind())


def tried(kind, case):
    """Some configurations with all parameters set."""
    if kind.strength is None:
        found = kind().configurations(case)
        return [found[0], found[-1]]
    span = kind().span(case)
    assert span.mild != span.severe
    assert 0 < span.precision <= abs(span.mild - span.severe)
    middle = (span.mild + span.severe) / 2
    return [
        kind().at(int(middle) if span.whole else middle),
        kind().at(int(span.severe) if span.whole else span.severe),
    ]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.code)
def test_it_changes_the_program_and_the_program_still_trains(kind, case):
    try:
        configurations = tried(kind, case)
    except NotApplicable:
        assert isinstance(case.task, Regression)  # for classification the program has all that can be changed
        return
    before = fingerprint(case.recipe, case.data, case.task, 0)
    for one in configurations:
        faulty, again = (one.mutate(case, np.random.default_rng(7)) for _ in range(2))
        mark = fingerprint(faulty.recipe, faulty.data, faulty.task, 0)
        assert mark == fingerprint(again.recipe, again.data, again.task, 0)
        assert mark != before
        model = replace(faulty.recipe, epochs=1).train(faulty.data, faulty.task, 0)
        assert all(parameter.isfinite().all() for parameter in model.parameters())
        assert as_faults(described(one, one.code)) == (one,)
    assert fingerprint(case.recipe, case.data, case.task, 0) == before


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind.strength is None], ids=lambda kind: kind.code)
def test_no_configuration_is_what_is_there_already(kind, case):
    try:
        found = kind().configurations(case)
    except NotApplicable:
        return
    marks = []
    for one in found:
        faulty = one.mutate(case, np.random.default_rng(0))
        marks.append(fingerprint(faulty.recipe, faulty.data, faulty.task, 0))
    assert len(set(marks)) == len(marks)
    assert fingerprint(case.recipe, case.data, case.task, 0) not in marks


def test_torch_is_untouched_by_building_views(case):
    before = torch.random.get_rng_state()
    assert case.view.layers
    assert torch.equal(before, torch.random.get_rng_state())
