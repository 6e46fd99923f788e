import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cosine
from scipy.stats import mannwhitneyu
from torch import nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.parsing import as_operators
from mutiny.models import ModelState
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.kill_rate import at_ratio
from mutiny.verbs.select.prima import PIXELS, CellMutation, MutantFeatures, Prima, both_kinds, cell_mutations
from toys import blobs, classifier

pytestmark = pytest.mark.rounding

THREE = Classification(3, "logits")


def blob_evidence(model, n=200, **more):
    pool, train = blobs(n, seed=1, spread=1.2), blobs(300, spread=1.2)
    settings_ = {"batch_size": 64, "seed": 2, **more}
    return Evidence([model], THREE, as_data(pool, "pool"), as_data(train, "train"), **settings_)


# features


def by_hand(clean, mutants):
    """PRIMA's 15 numbers of each input."""
    found = []
    for i, own in enumerate(clean):
        distances = [min(max(cosine(own, said[i]), 0), 1) for said in mutants]
        named = [int(said[i].argmax()) for said in mutants]
        wrong = [name for name in named if name != own.argmax()]
        histogram = [0] * 10
        for distance in distances:
            histogram[min(int(distance * 10), 9)] += 1
        moved = sum(abs(own.max() - said[i].max()) for said in mutants)
        largest = max((wrong.count(name) for name in wrong), default=0)
        found.append([len(wrong), sum(distances), moved, largest, len(set(wrong)), *histogram])
    return np.array(found)


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_mutant_features_are_those_of_a_loop(seed, n, mutants):
    rng = np.random.default_rng(seed)
    clean, *said = rng.dirichlet([0.3] * 4, size=(mutants + 1, n))
    features = MutantFeatures(torch.from_numpy(clean))
    for one in said:
        for at in range(0, n, 2):
            features.add(at, torch.from_numpy(one[at : at + 2]))
    assert features.as_array() == pytest.approx(by_hand(clean, said), abs=1e-5)


def test_mutants_with_nan_outputs_count_as_kills():
    features = MutantFeatures(torch.tensor([[0.25, 0.75]]).double())
    features.add(0, torch.tensor([[float("nan"), 0.5]]).double())
    assert features.as_array().tolist() == [[1, 1, 1, 0, 0, *[0] * 9, 1]]


def test_rounding_does_not_break_the_tie_of_inputs_that_no_mutant_affects():
    clean = torch.tensor([[0.7, 0.2, 0.1]] * 50).double().repeat(2, 1)
    noise = 1e-7 * torch.randn(100, 3, generator=torch.Generator().manual_seed(0)).double()
    affected = torch.tensor([[0.69, 0.21, 0.1]]).double()
    features = MutantFeatures(clean)
    features.add(0, torch.cat([clean[:99] + noise[:99], affected]))
    assert (features.as_array()[:99] == [0] * 5 + [1] + [0] * 9).all()
    assert (features.as_array()[99, 1:3] > 0).all()


def test_features_are_those_of_a_patched_copy_operator_by_operator():
    evidence = blob_evidence(classifier())
    chosen = np.array([4, 0, 77, 131])
    found = Prima(mutants=8).features(evidence, "train", chosen)
    assert found.shape == (4, 60)
    x = evidence.train.first(999)[chosen]
    with torch.no_grad():
        clean = evidence.model(x).double().softmax(dim=1).numpy()
        for place, operator in enumerate(at_ratio(as_operators("GF,NEB,NAI,WS"), 0.1)):
            said = []
            for repetition in range(2):
                patch = operator.patch(evidence.view, evidence.rng("mutant", operator.code, repetition))
                mutant = copy.deepcopy(evidence.model)
                with patch.applied(mutant) as call:
                    said.append(call(x).double().softmax(dim=1).numpy())
            # a second mutant that is a copy of the first is left out
            said = said if not np.array_equal(*said) else said[:1]
            assert found[:, 15 * place : 15 * place + 15] == pytest.approx(by_hand(clean, said), abs=1e-4)


# learning


def test_prima_finds_faults_better_than_chance():
    model = classifier()
    evidence, state = blob_evidence(model), ModelState.of(model)
    scores = Prima(mutants=20).score(evidence)
    wrong = evidence.predicted() != np.asarray(evidence.pool.targets)
    assert wrong.sum() > 10
    assert mannwhitneyu(scores[wrong], scores[~wrong], alternative="greater").pvalue < 1e-4
    assert state.difference(ModelState.of(model)) is None
    assert any("wrong of" in note for note in evidence.notes)
    again, smaller = (Prima(mutants=20).score(blob_evidence(model, batch_size=size)) for size in (64, 7))
    assert np.array_equal(scores, again)
    assert scores == pytest.approx(smaller, abs=1e-2)


def test_labels_of_the_pool_are_never_read():
    evidence, other = blob_evidence(classifier()), blob_evidence(classifier())
    other.pool.targets = np.zeros(200, np.int64)
    assert np.array_equal(Prima(mutants=8).score(evidence), Prima(mutants=8).score(other))


def test_prima_needs_wrong_and_correct_training_inputs():
    x, y = blobs(60, spread=0.01)
    data = as_data((x, y), "pool")
    with pytest.raises(NotApplicable, match="makes none"):
        Prima().score(Evidence([classifier()], THREE, data, data, batch_size=16))
    with pytest.raises(NotApplicable, match="gives none"):
        Prima().score(Evidence([classifier()], THREE, data, as_data((x, (y + 1) % 3), "train"), batch_size=16))
    with pytest.raises(NotApplicable, match="train="):
        Prima().score(Evidence([classifier()], THREE, data, batch_size=16))


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(2, 40))
@settings(max_examples=60, deadline=None)
def test_up_to_half_of_the_sample_are_wrong_inputs(wrong, size):
    wrong = np.array(wrong)
    chosen = both_kinds(wrong, size, np.random.default_rng(0))
    assert len(chosen) == min(size, len(wrong))
    assert (np.diff(chosen) > 0).all()
    mistakes = wrong[chosen].sum()
    assert mistakes == max(min(wrong.sum(), size // 2), min(size, len(wrong)) - (~wrong).sum())


# mutated inputs


def image_evidence(**more):
    rng = np.random.default_rng(0)
    x, y = rng.random((60, 2, 6, 5), dtype=np.float32), rng.integers(0, 3, 60)
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 3)).eval()
    return Evidence([model], THREE, as_data((x[:30], y[:30]), "pool"), as_data((x, y), "train"), batch_size=16, **more)


def test_every_cell_is_changed_in_every_way_and_nothing_else_is():
    evidence = image_evidence()
    images = evidence.pool.first(3)
    found = [*cell_mutations(evidence, 3)]
    assert [cell.kind for cell in found] == [kind for kind in PIXELS for _ in range(9)]
    for at, cell in enumerate(found):
        top, left = (at % 9) // 3 * 2, [0, 1, 3, 5][at % 3]
        bottom, right = top + 2, [0, 1, 3, 5][at % 3 + 1]
        changed = cell(images)
        inside = torch.zeros(6, 5, dtype=torch.bool)
        inside[top:bottom, left:right] = True
        assert torch.equal(changed[:, :, ~inside], images[:, :, ~inside])
        old, new = images[:, :, inside], changed[:, :, inside]
        if cell.kind == "reverse":
            assert torch.allclose(new, 1 - old)
        elif cell.kind in ("black", "white"):
            assert bool((new == (cell.kind == "white")).all())
        elif cell.kind == "shuffle":
            assert torch.equal(new.sort().values, old.sort().values)
        else:
            assert bool(((new >= 0) & (new <= 1)).all())
            free = (new > 0) & (new < 1)
            noise = cell.noise.flatten(1).float().expand(3, -1, -1)
            assert torch.allclose((new - old)[free], noise[free], atol=1e-6)


def test_noise_has_a_tenth_of_the_range():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (4, 1, 40, 40)).astype(np.float32)
    evidence = Evidence([nn.Flatten()], THREE, as_data((x, np.zeros(4, int)), "pool"), batch_size=4)
    cell = next(cell_mutations(evidence, 1))
    assert isinstance(cell, CellMutation)
    moved = cell(torch.zeros(1, 1, 40, 40))
    assert float(moved.std()) == pytest.approx(0.4, rel=0.1)


def test_input_mutants_add_five_groups_of_features():
    evidence = image_evidence()
    plain, more = (Prima(mutants=4, inputs=inputs, grid=2) for inputs in (False, True))
    chosen = np.array([1, 5, 20])
    features = more.features(evidence, "pool", chosen)
    assert features.shape == (3, 15 * 9)
    assert np.array_equal(features[:, :60], plain.features(evidence, "pool", chosen))
    with torch.no_grad():
        x = evidence.pool.first(99)[chosen]
        clean = evidence.model(x).double().softmax(dim=1).numpy()
        black = [cell for cell in cell_mutations(evidence, 2) if cell.kind == "black"]
        blackened = [evidence.model(cell(x)).double().softmax(dim=1).numpy() for cell in black]
    assert features[:, 90:105] == pytest.approx(by_hand(clean, blackened), abs=1e-5)
    assert np.isfinite(more.score(evidence)).all()


def test_only_images_have_cells():
    with pytest.raises(NotApplicable, match="images"):
        Prima(mutants=4, inputs=True).score(blob_evidence(classifier()))


def test_parameters_are_checked():
    for wrong in ({"mutants": 0}, {"ratio": 2}, {"sample": 1}, {"grid": 0}):
        with pytest.raises(BadInput, match="prima"):
            Prima(**wrong)
