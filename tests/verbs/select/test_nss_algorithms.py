"""NSS's algorithms against the loops that the paper prints, on a network whose activations can be read by hand."""

import numpy as np
import pytest
import torch
from torch import nn

from mutiny.subjects.data import as_pool
from mutiny.subjects.data.benign_mutations import OPERATIONS
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.nss import SAMPLE, Nss

pytestmark = pytest.mark.rounding

SIZE = 60


@pytest.fixture
def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)).eval()


@pytest.fixture
def evidence(network):
    images = torch.rand(SIZE, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    return Evidence([network], Classification(3, "logits"), as_pool(images), batch_size=7)


def moved(network, evidence, purpose):
    """How far each unit moves for each input of the pool, ``(n, units)``, one input after another."""
    mutation, each = evidence.mutation(OPERATIONS), []
    for at in range(SIZE):
        image = evidence.pool.read(np.array([at]))
        mutant = mutation.apply(image, np.array([at]), evidence.seed, f"nss {purpose}")
        with torch.no_grad():
            each.append((network[:2](image) - network[:2](mutant)).abs().flatten().double().numpy())
    return np.array(each)


def test_scores_are_those_of_both_algorithms_written_out(network, evidence):
    (place,) = evidence.read_points("nss", "encoder", "unit")
    assert place.count("unit") == 4 * 36
    sample = evidence.rng("nss sample").permutation(SIZE)[: int(SAMPLE * SIZE)]
    total = np.zeros(4 * 36)
    identifying = moved(network, evidence, "identify")
    for at in sample:  # Algorithm 1, lines 4 to 10
        for unit in range(4 * 36):
            total[unit] += identifying[at, unit]
    sensitive = sorted(range(4 * 36), key=lambda unit: total[unit])[-int(0.1 * 4 * 36) :]  # line 11
    expected = [sum(one[unit] for unit in sensitive) for one in moved(network, evidence, "select")]  # Algorithm 2
    np.testing.assert_allclose(Nss().score(evidence), expected, rtol=1e-4)


def test_movements_can_be_divided_by_the_sum_of_activations(network, evidence):
    images = evidence.pool.read(slice(0, SIZE))
    with torch.no_grad():
        activity = network[:2](images).flatten(1).double().sum(dim=1).numpy()
    expected = moved(network, evidence, "select").sum(axis=1) / activity
    np.testing.assert_allclose(Nss(share=1.0, normalize="l1").score(evidence), expected, rtol=1e-4)
