"""Known faults and repairs in the DeepFault study: the guilty are known, hits are counted right, chance is exact."""

import sys
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import nn

import mutiny
import toys
from mutiny.core.random import seed_for

sys.path.append(str(Path(__file__).parents[2]))

from studies.deepfault import faults, injected, page, repair_tables, repairs
from studies.deepfault.__main__ import STUDY
from studies.deepfault.chance import Draw, by_chance
from studies.deepfault.faults import KINDS, inject, seen
from studies.deepfault.findings import FINDINGS
from studies.deepfault.injected import CLEAN, FAULTS, LOCATED, QUICK_FAULTS, WAYS, WEIGHTS, Way
from studies.deepfault.lab import MEASURES, Lab, Settings
from studies.deepfault.mending import METHODS, mend
from studies.deepfault.results import Results
from studies.deepfault.subjects import CIFAR, FAMILIES, MNIST, ORDER
from studies.deepfault.verdicts import back, of_way, p_values, paired
from studies.surroundings import same_settings

SETTINGS = Settings(networks=2, quick=True)
NAME = "mnist-8x20"
CLASSES = 5
NEW = ("injected", "mended", "repairs")


def network(seed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.Sequential(
            nn.Linear(2, 12), nn.LeakyReLU(0.01), nn.Linear(12, 12, bias=False), nn.LeakyReLU(0.01),
            nn.Linear(12, CLASSES),
        )  # fmt: skip
        return toys.trained(model, nn.functional.cross_entropy, *toys.blobs(240, CLASSES))


@pytest.fixture(scope="module")
def subject():
    test = toys.blobs(400, CLASSES, seed=1)
    return mutiny.Subject(
        [network(seed) for seed in range(2)], task=mutiny.Classification(CLASSES), train=toys.blobs(240, CLASSES),
        test=test, name=NAME,
    )  # fmt: skip


@pytest.fixture(scope="module")
def lab(subject):
    return Lab(subject, SETTINGS)


@pytest.fixture(scope="module")
def done(subject, tmp_path_factory):
    """A folder with all units of both parts."""
    folder = tmp_path_factory.mktemp("study") / "deepfault"
    same_settings(folder, SETTINGS)
    units = STUDY.plan(["injected", "repairs"], [NAME], SETTINGS)
    assert len(units) == QUICK_FAULTS + 6
    whole = replace(STUDY, lab=Lab)  # a quick study would take less data, and this has little enough
    assert whole.work(units, {NAME: lambda _: subject}, SETTINGS, folder, None) == 0
    return folder


def rows_of(model):
    """The incoming weights of every hidden neuron."""
    layers = [(name, layer) for name, layer in model.named_children() if isinstance(layer, nn.Linear)][:-1]
    return {(name, unit): layer.weight[unit] for name, layer in layers for unit in range(len(layer.weight))}


def became(operator, before, neuron, new):
    """Whether the operator does this to the weights of a neuron."""
    if operator == "WS":
        return torch.equal(before[neuron].sort().values, new.sort().values)
    if operator == "NS":
        return any(torch.equal(new, row) for other, row in before.items() if other != neuron)
    return torch.equal(new, -before[neuron]) if operator == "NAI" else not new.any()


@pytest.mark.parametrize("number", range(8))
def test_faulty_neurons_are_those_whose_incoming_weights_differ(lab, number):
    fault = inject(lab, number)
    before, after = (rows_of(one.model) for one in (fault.clean, fault.faulty))
    assert fault.neurons == {neuron for neuron, row in before.items() if not torch.equal(row, after[neuron])}
    assert 0 < len(fault.neurons) <= 2 * faults.SIZE  # a shuffle of two weights may change nothing
    for neuron in fault.neurons:
        assert became(fault.operator, before, neuron, after[neuron])
    assert torch.equal(fault.clean.model[4].weight, fault.faulty.model[4].weight)


def test_networks_and_operators_take_turns_and_originals_stay(lab):
    states = [{name: value.clone() for name, value in model.state_dict().items()} for model in lab.models]
    found = [inject(lab, number) for number in range(4)]
    assert [one.operator for one in found] == list(KINDS)
    assert [one.clean.number for one in found] == [0, 1, 0, 1]
    for model, state in zip(lab.models, states, strict=True):
        assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    again = inject(lab, 3)
    assert again.neurons == found[3].neurons
    assert inject(lab, 7).neurons != found[3].neurons


def test_fifty_faults_are_spread_evenly():
    units = injected.units(NAME, Settings())
    assert len(units) == FAULTS == 50
    counts = np.bincount([int(unit[0]) % len(KINDS) for unit in units])
    assert counts.max() - counts.min() <= 1
    assert not injected.units("mnist-5x30", Settings())


def test_hits_are_those_of_locate(done, lab):
    fault = inject(lab, 1)
    k = len(fault.neurons)
    for way in LOCATED:
        against = fault.clean.model if way.failures == CLEAN else None
        found = mutiny.locate(
            fault.faulty.model, way.accuser, k, data=lab.subject.test, task=lab.subject.task, active=way.active,
            against=against, validate=0,
        )  # fmt: skip
        (row,) = of_way(injected.rows(done).of(NAME, "1"), way)
        hits = sum((one.layer, one.neuron) in fault.neurons for one in found.suspects)
        assert (int(row["hits"]), int(row["k"]), int(row["failing"])) == (hits, k, found.failing)
        assert float(row["precision"]) == pytest.approx(hits / k, rel=1e-5)
        assert float(row["expected"]) == pytest.approx(k / 24, rel=1e-5)


def test_scale_and_search_accuse_what_they_would_change(done, lab):
    fault = inject(lab, 0)
    seed = seed_for(SETTINGS.seed, "deepfault study", "mended", 0)
    mended = {name: mend(fault.faulty, name, SETTINGS, seed) for name in ("scale", "search")}
    rows = {row["accuser"]: row for row in injected.rows(done).of(NAME, "0")}
    names = [name for name, layer in fault.faulty.model.named_children() if isinstance(layer, nn.Linear)]
    changed = {
        way: {(e.parameter.split(".")[0], int(i)) for p in one.proposed for e in p.edits for i in e.indices
              if e.parameter.endswith("weight")}
        for way, one in mended.items()
    }  # fmt: skip
    widths = {name: fault.faulty.model.get_submodule(name).in_features for name in names}
    for way, some in changed.items():
        neurons = {(name, at // widths[name]) for name, at in some if name != names[-1]}
        assert int(rows[way]["k"]) == len(neurons)
        assert int(rows[way]["hits"]) == len(neurons & fault.neurons)
    assert int(rows["scale"]["k"]) == 5
    guilty = {(name, at) for name, at in changed["search"] if (name, at // widths[name]) in fault.neurons}
    assert int(rows[WEIGHTS]["k"]) == len(changed["search"])
    assert int(rows[WEIGHTS]["hits"]) == len(guilty)
    feeding = sum(widths[name] for name, _ in fault.neurons)
    every = sum(layer.size for layer in seen(fault.clean).layers)
    assert float(rows[WEIGHTS]["expected"]) == pytest.approx(feeding / every, rel=1e-5)


def test_verdicts_are_those_of_repair(done, lab):
    rows = {(row["method"], row["target"]): row for row in repairs.rows(done).of(NAME)}
    assert set(rows) == set(product(METHODS, repairs.TARGETS))
    for (method, target), row in rows.items():
        found = mutiny.repair(
            lab.models[0], METHODS[method], target=target, data=lab.subject.test, task=lab.subject.task
        )  # fmt: skip
        change = found.held_out
        assert [int(row[name]) for name in ("before", "after", "inputs")] == [
            change.before,
            change.after,
            change.inputs,
        ]
        assert float(row["gain"]) == pytest.approx(change.gain, abs=1e-5)
        assert row["repaired"] == str(int(found.repaired))
        assert (row["label"] != "") == (target == "confusion")


def test_a_mended_fault_says_what_it_was_before(done, lab):
    rows = injected.mended_rows(done).of(NAME)
    assert len(rows) == QUICK_FAULTS * len(METHODS)
    x, y = lab.subject.test.first(400), torch.from_numpy(lab.subject.test.targets)
    fault = inject(lab, 2)
    with torch.no_grad():
        right = [float((one.model(x).argmax(1) == y).double().mean()) for one in (fault.clean, fault.faulty)]
    row = injected.mended_rows(done).of(NAME, "2")[0]
    assert [float(row[f"accuracy_{when}"]) for when in ("before", "faulty")] == pytest.approx(right, rel=1e-5)
    share = back(rows)
    lost = np.mean([float(row["accuracy_before"]) - float(row["accuracy_faulty"]) for row in rows])
    assert share == pytest.approx(np.mean([float(row["gain"]) for row in rows]) / lost, rel=1e-4)


def test_chance_is_that_of_all_choices():
    """Two faults in a network of five neurons: every way to draw the guilty, counted."""
    accused = [{0, 1}, {2, 3, 4}]
    totals = [
        len(accused[0] & set(first)) + len(accused[1] & set(second))
        for first in combinations(range(5), 2)
        for second in combinations(range(5), 1)
    ]
    for hits in range(4):
        draws = [Draw(min(hits, 2), 2, 2, 5), Draw(max(hits - 2, 0), 3, 1, 5)]
        tails = np.mean([total <= hits for total in totals]), np.mean([total >= hits for total in totals])
        assert by_chance(draws) == pytest.approx(min(1.0, 2 * min(tails)))


@given(st.integers(1, 30), st.data())
def test_one_draw_is_fishers_test_doubled(total, data):
    drawn, marked = (data.draw(st.integers(1, total)) for _ in range(2))
    hits = data.draw(st.integers(max(0, drawn + marked - total), min(drawn, marked)))
    law = stats.hypergeom(total, marked, drawn)
    assert by_chance([Draw(hits, drawn, marked, total)]) == pytest.approx(
        min(1.0, 2 * min(law.cdf(hits), law.sf(hits - 1)))
    )  # fmt: skip


def rows(precision, way=WAYS[0], **more):
    """Ten faults of 5 among 160 neurons."""
    about = {"operator": "NI", "faulty": "5", "neurons": "160", "k": "5", "expected": "0.03125", **vars(way), **more}
    return [
        {**about, "fault": str(number), "hits": str(hits), "precision": str(hits / 5)}
        for number, hits in enumerate(precision)
    ]


def test_significance_has_a_direction_and_is_corrected():
    good, bad = Way("ochiai", "0"), Way("ample", "0")
    found = rows([3, 2, 4, 3, 2, 5, 3, 2, 3, 4], good) + rows([0] * 10, bad)
    p = p_values(found)
    assert p[good] < 1e-6 < 0.05 < p[bad]
    assert p[bad] == pytest.approx(min(1, 2 * stats.hypergeom(160, 5, 5).pmf(0) ** 10))
    (text, *_) = FINDINGS["injected"](Results({}, *[[]] * 6, found, [], []))
    assert "significantly above for 1 of 2 ways (ochiai, 0 62.0%)" in text
    assert "below" not in text


def test_pairs_are_of_the_same_fault():
    first, second = rows([1, 2, 3, 4]), rows([0, 1, 2, 3])[::-1]
    pairs = paired(first, second[:3], "precision")
    assert (pairs.first, pairs.second, pairs.count) == (pytest.approx(0.6), pytest.approx(0.4), 3)
    assert pairs.p_value == 0.25
    assert paired(first, [], "precision") is None


def test_search_leaves_convolutions_alone(lab, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(repairs, "mend", lambda *given: asked.append(given[-1]) or mend(*given[:-1]))
    monkeypatch.setattr(lab, "name", next(iter(CIFAR.networks)))
    for method in METHODS:
        assert repairs.run(lab, tmp_path, (method, "all"))
    assert asked == [("dense*", "head"), None, None]
    assert [row["layers"] for row in repairs.rows(tmp_path).rows] == ["dense* head", "", ""]


def test_a_fault_that_is_interrupted_is_done_next_time(tmp_path, lab, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(injected, "located", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            injected.run(lab, tmp_path, ("0",))
    assert (NAME, "0") not in injected.rows(tmp_path)
    assert injected.run(lab, tmp_path, ("0",))
    assert len(injected.rows(tmp_path).of(NAME, "0")) == len(WAYS)
    assert len(injected.mended_rows(tmp_path).of(NAME, "0")) == len(METHODS)


def test_the_page_shows_known_faults_and_repairs(done):
    out = done.parent
    page.write(out)
    text = (out / "deepfault.md").read_text()
    for heading in ("Are known faults found?", "Are known faults mended?", "Are failures mended that"):
        assert heading in text
    found = of_way(injected.rows(done).rows, Way("ochiai", "0"))
    mean = 100 * np.mean([float(row["precision"]) for row in found])
    line = next(line for line in text.splitlines() if line.startswith("| ochiai | 0 | by label |"))
    assert f"| {mean:.1f} ± " in line
    assert f"{NAME} | " in text
    assert "| mnist-5x30 | confusion | not run | search | not run |" in text


@pytest.mark.parametrize("folder", ["done", "empty"])
def test_every_table_has_as_many_cells_in_each_row(folder, request, tmp_path):
    results = Results.read(request.getfixturevalue("done") if folder == "done" else tmp_path)
    for text in (
        repair_tables.faults(results), repair_tables.found(results), repair_tables.mended(results),
        *(repair_tables.repairs(results, family) for family in FAMILIES),
    ):  # fmt: skip
        assert len({line.count("|") for line in text.splitlines()}) == 1
    for name in NEW:
        said = list(FINDINGS[name](results))
        assert bool(said) == (folder == "done")
        assert not any("nan" in sentence or "None" in sentence for sentence in said)


def test_all_networks_are_repaired_with_all_methods():
    units = STUDY.plan(["repairs"], ORDER, Settings())
    assert len(units) == len(ORDER) * len(METHODS) * len(repairs.TARGETS)
    assert {way.accuser for way in LOCATED} == {*MEASURES, "ample"}
    assert NAME in MNIST.networks
