import importlib.util
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from benchmarks import against_dnn_tip, selection, subjects
from mutiny.subjects.data import as_data
from mutiny.subjects.inference.passes import Pace
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select import Dsa, Lsa, Mdsa, Nss
from mutiny.verbs.select.evidence import Evidence

peer = pytest.mark.skipif(importlib.util.find_spec("dnn_tip") is None, reason="needs mutiny-nn[bench]")


def evidence_of_three_classes(pool=60, train=400):
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3, bias=False)).eval()
    known, new = (as_data((rng.normal(size=(n, 5)), np.arange(n) % 3), "train") for n in (train, pool))
    return Evidence([model], Classification(3, "logits"), new, known, batch_size=64)


def noisy(pool=60, train=400, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    known, new = rng.random((train, 6)).astype(np.float32), rng.random((pool, 6)).astype(np.float32)
    return against_dnn_tip.Activations(known, new, rng.integers(0, classes, train), rng.integers(0, classes, pool))


# against dnn-tip


def test_without_dnn_tip_there_are_no_rows_but_a_word_on_how_to_get_them(monkeypatch, capsys):
    monkeypatch.setattr(against_dnn_tip.importlib.util, "find_spec", lambda name: None)
    evidence = evidence_of_three_classes()
    assert against_dnn_tip.compare(evidence, evidence, rounds=1) == {}
    assert 'pip install "mutiny-nn[bench]"' in capsys.readouterr().out


@peer
def test_all_scores_and_orders_are_those_of_dnn_tip():
    results = against_dnn_tip.surprise(evidence_of_three_classes(), [Dsa(), Lsa(), Mdsa()], rounds=1)
    results |= against_dnn_tip.coverage(noisy(), rounds=1)
    compared = {name: row["value"] for name, row in results.items() if "difference" in name or "differ" in name}
    assert len(compared) == 5
    assert all(value <= 1e-4 for value in compared.values()), compared


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_orders_differ_where_a_loop_says_so(seed):
    rng = np.random.default_rng(seed)
    theirs, ours, counts = rng.permutation(6), rng.permutation(6), rng.integers(0, 3, 6)
    chosen = int(rng.integers(0, 7))
    expected = 0
    for place, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        expected += bool(a != b if place < chosen else counts[a] != counts[b])
    assert against_dnn_tip.disagreements(theirs, ours, chosen, counts) == expected


def test_infinite_scores_are_left_out_of_the_difference():
    assert against_dnn_tip.difference(np.array([np.inf, 1.0]), np.array([5.0, 1.1])) == pytest.approx(0.1)
    assert against_dnn_tip.difference(np.array([np.inf]), np.array([5.0])) == 0


def test_only_columns_that_vary_in_every_class_are_kept():
    given = noisy()
    given.train[given.train_classes == 1, 2] = 0.5
    kept = given.varying(1e-5)
    assert np.array_equal(kept.pool, np.delete(given.pool, 2, axis=1))
    assert np.array_equal(kept.train, np.delete(given.train, 2, axis=1))


# the least that NSS could do


@pytest.mark.parametrize("network", subjects.NETWORKS)
def test_the_floor_reads_what_nss_reads_and_mutates_what_nss_mutates(network):
    model, pool = subjects.NETWORKS[network]().eval(), subjects.drawn_digits(40)
    evidence = Evidence([model], selection.TASK, pool, batch_size=16)
    (place,) = evidence.read_points("nss", "encoder", "unit")
    assert place.name == selection.ENCODERS[network] or place.path == selection.ENCODERS[network]
    # with all units sensitive, the score is the distance of the two feature vectors
    here, there = (
        torch.cat(part).flatten(1).double()
        for part in zip(*selection.floor(model, selection.ENCODERS[network], pool, Pace(8)), strict=True)
    )
    assert Nss(share=1.0).score(evidence) == pytest.approx((here - there).abs().sum(dim=1).numpy(), rel=1e-4)


# the rest


def test_the_network_with_late_dropout_computes_its_convolutions_once():
    from mutiny.models.dropout import DropoutPasses

    model = selection.late_dropout(4)
    passes = DropoutPasses(model, torch.rand(3, 1, 28, 28))
    assert passes.calls == 2
    assert passes.replays
    kinds = [type(layer) for layer in model]
    assert kinds.index(nn.Dropout) > len(kinds) - 1 - kinds[::-1].index(nn.Conv2d)


@pytest.mark.skipif(sys.platform == "win32", reason="has no resource")
@pytest.mark.parametrize("code", ["nss", "kmnc", "dsa"])
def test_peak_memory_is_that_of_a_process_with_torch_in_it(code):
    assert 50 * 2**20 < selection.peak_memory(code, 40, 60, 16) < 64 * 2**30
    assert selection.noise(5, "pool").first(5).shape == (5, 1, 28, 28)
