"""The DeepFault study: rows survive, nothing is computed twice, numbers are those of slow loops, the page is honest."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn
from torch.nn import functional

import mutiny
from mutiny.subjects.data import as_data

sys.path.append(str(Path(__file__).parents[2]))

from studies.deepfault import examples, figures, page, paper, suspects, synthesis, tables
from studies.deepfault.__main__ import STUDY
from studies.deepfault.findings import FINDINGS
from studies.deepfault.lab import ALL, MEASURES, RANDOM, Lab, Settings, smaller, subject_rows
from studies.deepfault.networks import Convolutional, Dense
from studies.deepfault.results import Results, deeper
from studies.deepfault.subjects import CIFAR, FAMILIES, MNIST, NONE, ORDER, RAW, RMS, SUBJECTS, family_of, unscaled
from studies.surroundings import same_settings

SETTINGS = Settings(networks=2, per_class=3, draws=2)
NAME = "mnist-8x20"
PARTS = [part.NAME for part in (suspects, synthesis, examples)]  # test_deepfault_repairs.py has the others


def images(n, seed):
    """Bright squares whose place tells the class, in noise that hides some."""
    draw = torch.Generator().manual_seed(seed)
    x, y = 0.8 * torch.rand(n, 1, 28, 28, generator=draw), torch.arange(n) % 10
    for image, label in zip(x, y.tolist(), strict=True):
        top, left = 3 + 14 * (label // 5), 2 + 5 * (label % 5)
        image[0, top : top + 8, left : left + 5] += 0.15
    return x.clamp(0, 1), y


@pytest.fixture(scope="module")
def subject():
    task, train = mutiny.Classification(10, "logits"), as_data(images(300, 0), "train")
    recipe = mutiny.Recipe(lambda: Dense(3, 20), epochs=12, batch_size=32, learning_rate=5e-3)
    models = [recipe.train(train, task, seed) for seed in range(2)]
    return mutiny.Subject(models, task=task, train=train, test=images(300, 1), name=NAME)


@pytest.fixture(scope="module")
def lab(subject):
    return Lab(subject, SETTINGS)


@pytest.fixture(scope="module")
def done(subject, tmp_path_factory):
    """A folder with a few units of each part, and these units."""
    folder = tmp_path_factory.mktemp("study") / "deepfault"
    same_settings(folder, SETTINGS)
    units = [unit for unit in STUDY.plan(PARTS, [NAME], SETTINGS) if few(unit)]
    assert STUDY.work(units, {NAME: lambda _: subject}, SETTINGS, folder, None) == 0
    return folder, units


def few(unit):
    part, _, key = unit
    return part is not synthesis or key in [("0", RMS, "2"), ("1", RMS, "2"), ("0", NONE, "10")]


def values(model, x):
    """What each hidden neuron says, layer by layer."""
    said = {}
    for name, layer in model.named_children():
        x = layer(x)
        if name.startswith("act"):
            said[f"dense{name[3:]}"] = x[0]
    return said


@pytest.mark.parametrize(("way", "k"), [(RMS, 2), (NONE, 10)])
@pytest.mark.parametrize("measure", MEASURES)
def test_a_row_is_that_of_a_slow_loop(done, lab, way, k, measure):
    network = lab.network(0, way)
    data, chosen, model = network.inputs(0), network.suspects(measure, k), network.model
    losses, right, moved = [], [], []
    for x, label in zip(data.first(len(data)), data.targets.tolist(), strict=True):
        if not chosen[label]:
            continue
        total = torch.zeros_like(x)
        for one in chosen[label]:
            root = x.clone().requires_grad_()
            (slope,) = torch.autograd.grad(values(model, root[None])[one.layer][one.neuron], root)
            total += slope / (slope.square().mean().sqrt() + 1e-5) if way == RMS else slope
        new = (x + (total / k).clamp(-0.1, 0.1)).clamp(0, 1)
        with torch.no_grad():
            said = model(new[None])
        losses.append(min(float(functional.cross_entropy(said, torch.tensor([label]))), synthesis.MOST_LOSS))
        right.append(int(said.argmax()) == label)
        moved.append(float((new - x).abs().sum()))
    (row,) = [row for row in synthesis.rows(done[0]).of(NAME, "0", way, str(k)) if row["measure"] == measure]
    assert int(row["inputs"]) == len(losses) > 0
    assert float(row["loss"]) == pytest.approx(np.mean(losses), rel=1e-3)
    assert float(row["accuracy"]) == pytest.approx(np.mean(right), abs=1e-5)
    assert float(row["l1"]) == pytest.approx(np.mean(moved), rel=1e-3)


def test_suspects_that_rise_are_counted_alike_by_study_and_library(done):
    for row in synthesis.rows(done[0]).rows:
        places = {"2": 2, "10": 5}
        if row["measure"] in MEASURES:
            assert row[f"next_{places[row['k']]}"] == row["raised"]
            assert not row["next_1"]
        else:
            assert not any(row[column] for column in synthesis.NEXT)


def test_tests_compare_all_inputs_of_both(lab):
    found = {
        measure: [
            synthesis.outcome(lab.network(0, RMS), MNIST, RMS, 2, measure, draw)
            for draw in range(synthesis.draws(measure, SETTINGS))
        ]
        for measure in ALL
    }
    assert [len(found[name]) for name in ALL] == [1, 1, 1, 2]
    rows = {(row["first"], row["second"], row["metric"]): row for row in synthesis.compared(found)}
    assert len(rows) == 12
    a, b = found["ochiai"][0].loss, np.concatenate([one.loss for one in found[RANDOM]])
    p_value = stats.mannwhitneyu(a, b, method="asymptotic").pvalue
    assert rows["ochiai", RANDOM, "loss"]["p_value"] == pytest.approx(p_value, abs=0.02)


def test_random_neurons_are_accused_by_nobody_and_lie_where_suspects_do(lab):
    network = lab.network(0, RMS)
    for k in (1, 3):
        chosen = network.suspects(RANDOM, k, draw=1)
        for group, some in chosen.items():
            accused = [one for measure in MEASURES for one in network.suspects(measure, k)[group]]
            assert len({(one.layer, one.neuron) for one in some}) == k
            assert not {(one.layer, one.neuron) for one in some} & {(one.layer, one.neuron) for one in accused}
            assert {one.layer for one in some} <= {one.layer for one in accused}
    assert network.suspects(RANDOM, 3, 0) != network.suspects(RANDOM, 3, 1)


def test_inputs_pass_and_draws_differ(lab):
    network = lab.network(1, RMS)
    data = network.inputs(0)
    assert (network.say(data.first(len(data))).argmax(1).numpy() == data.targets).all()
    assert max(np.bincount(data.targets)) == SETTINGS.per_class
    assert not torch.equal(data.first(5), network.inputs(1).first(5))
    assert torch.equal(data.first(5), network.inputs(0).first(5))


def test_layers_hold_all_suspects(done, lab):
    ranking = lab.network(0, RMS).rankings["ochiai"]
    classes = sum(bool(some) for some in ranking.values())
    for k in MNIST.ks:
        rows = [r for r in suspects.rows(done[0]).of(NAME, "0") if r["measure"] == "ochiai" and r["k"] == str(k)]
        assert sum(int(row["suspects"]) for row in rows) == k * classes
        assert all(int(row["always"]) <= int(row["suspects"]) for row in rows)
    shares = Results.read(done[0]).in_layers(NAME, "signal", "ochiai", 10)
    assert sum(shares.values()) == pytest.approx(1)
    assert 0 <= deeper(shares) <= 1


def test_before_and_after_the_activation_is_the_same_for_dense_networks(lab):
    network = lab.network(0, RMS)
    assert (network.locate("output").spectrum.active == network.location.spectrum.active).all()


def test_pixels_of_255_reach_the_network():
    model, x = Convolutional(1, 4).eval(), torch.rand(2, 3, 32, 32)
    with torch.no_grad():
        assert torch.equal(unscaled(model, x), model(255 * x))
    assert CIFAR.ascent(RAW) == CIFAR.ascent(RMS) == mutiny.Ascent(step=10 / 255, distance=0.1, scale="rms")
    assert MNIST.ascent(NONE) == mutiny.Ascent(step=1.0, distance=0.1)


def test_a_resumed_study_does_nothing_twice(done, monkeypatch):
    folder, units = done
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for part in STUDY.parts.values():
        monkeypatch.setattr(part, "run", lambda *_: pytest.fail("ran again"))
    assert STUDY.work(units, {NAME: lambda _: pytest.fail("loaded again")}, SETTINGS, folder, None) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_unit_that_is_stopped_leaves_no_row_and_is_done_next_time(tmp_path, lab, monkeypatch):
    unit = ("0", RMS, "1")
    with monkeypatch.context() as patch:
        patch.setattr(synthesis.Rows, "put", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            synthesis.run(lab, tmp_path, unit)
    assert (NAME, *unit) not in synthesis.rows(tmp_path)
    assert synthesis.run(lab, tmp_path, unit)
    assert (NAME, *unit) in synthesis.rows(tmp_path)


def test_other_settings_are_refused_in_the_same_folder(tmp_path):
    same_settings(tmp_path, SETTINGS)
    with pytest.raises(mutiny.BadInput, match="another --out"):
        same_settings(tmp_path, replace(SETTINGS, draws=7))


def test_the_page_shows_ours_the_papers_and_what_was_not_run(done):
    out = done[0].parent
    page.write(out)
    lines = (out / "deepfault.md").read_text().splitlines()
    rows = [r for r in synthesis.rows(done[0]).rows if r["way"] == RMS and r["k"] == "2" and r["measure"] == "ochiai"]
    loss, right = (np.mean([float(row[name]) for row in rows]) for name in synthesis.METRICS)
    cells = next(line for line in lines if line.startswith("| 2 | O |")).strip("| ").split(" | ")
    assert cells[6].startswith(f"{loss:.2f} / {right:.2f} ± ")
    assert cells[7] == "*6.81 / 0.13*"
    assert cells[2] == "not run"
    assert "![New inputs above their originals](deepfault/examples.png)" in lines
    assert not any(str(out) in line for line in lines)


def test_significance_has_a_direction(done):
    results = Results.read(done[0])
    for metric in synthesis.METRICS:
        both = [results.significant(NAME, RMS, *pair, metric) for pair in (("ochiai", RANDOM), (RANDOM, "ochiai"))]
        assert both[0][1] == both[1][1] == 2
        assert both[0][0] + both[1][0] <= 2
    assert results.significant("mnist-5x30", RMS, "ochiai", RANDOM, "loss") is None


def test_an_empty_study_has_a_page_too(tmp_path):
    page.write(tmp_path)
    text = (tmp_path / "deepfault.md").read_text()
    assert "Figure: not run." in text
    assert "| 1 | T | not run | *3.55 / 0.26* |" in text
    results = Results.read(tmp_path / "deepfault")
    said = {name: list(finding(results)) for name, finding in FINDINGS.items()}
    assert [name for name, some in said.items() if some] == ["paper"]  # of the paper alone


def test_every_table_has_as_many_cells_in_each_row(done):
    results = Results.read(done[0])
    for text in (
        tables.subjects(results), tables.against_random(results), tables.layers(results), tables.raised(results),
        tables.seconds(results), tables.times(results), tables.pairwise(results, RMS),
        *(tables.outcomes(results, family, way) for family in FAMILIES for way in family.ways),
        *(table(results, family) for table in (tables.distances, tables.raised_next) for family in FAMILIES),
    ):  # fmt: skip
        assert len({line.count("|") for line in text.splitlines()}) == 1


def test_figures_are_drawn(done, tmp_path):
    results = Results.read(done[0])
    for draw in (figures.accuracy, figures.layers, lambda *a: figures.pictures(a[0], done[0], a[1])):
        assert draw(results, tmp_path / "figure.png")
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "figure.png").unlink()


def test_an_example_is_kept_for_each_strategy(done):
    rows = examples.rows(done[0]).of(NAME)
    assert [row["measure"] for row in rows] == list(ALL)
    assert all(row["label"] == row["before"] for row in rows)
    with np.load(examples.pictures(done[0], NAME)) as file:
        kept = file["pictures"].astype(int)
    assert kept.shape == (4, 2, 28, 28, 1)
    assert abs(kept[:, 0] - kept[:, 1]).max() <= 26


def test_the_papers_numbers_are_whole_and_fit_one_another():
    cells = {(name, k, metric) for name in ORDER for k in family_of(name).ks for metric in synthesis.METRICS}
    assert set(paper.SYNTHESIZED) == cells
    for family in FAMILIES:
        for values in (*paper.DISTANCE[family.title].values(), *paper.DISTANCE_BY[family.title].values()):
            assert values[0] > values[1] > values[2]
        for place, k in enumerate(family.ks):
            assert all(len(paper.NEXT[family.title, measure, k]) == 5 - place for measure in MEASURES)
    shapes = {name: shape for family in FAMILIES for name, shape in family.networks.items()}
    for name, shape in shapes.items():
        network: nn.Module = family_of(name).build(*shape)
        assert sum(p.numel() for p in network.parameters()) == paper.WEIGHTS[name]


def test_small_networks_come_first_and_no_unit_twice():
    units = STUDY.plan(list(STUDY.parts), ORDER, Settings())
    assert [subject for _, subject, _ in units] == sorted([s for _, s, _ in units], key=ORDER.index)
    assert len({(part.NAME, subject, unit) for part, subject, unit in units}) == len(units)
    assert {unit[0] for part, subject, unit in units if part is synthesis and subject in CIFAR.networks} == {"0"}
    assert tuple(SUBJECTS) == ORDER == tuple(paper.NAMES)


def test_a_smaller_subject_keeps_all_classes(subject):
    whole = mutiny.Subject(
        task=subject.task, train=subject.train, test=subject.test, recipe=mutiny.Recipe(lambda: Dense(2, 5)), name=NAME
    )
    found = smaller(whole)
    assert len(set(found.test.targets.tolist())) == 10
    assert found.recipe.build is whole.recipe.build


def test_a_subject_that_cannot_be_loaded_fails_once(tmp_path, capsys):
    def missing(_data):
        raise mutiny.BadInput("data", None, "a folder")

    units = [(synthesis, NAME, ("0", RMS, "1")), (synthesis, NAME, ("0", RMS, "2"))]
    assert STUDY.work(units, {NAME: missing}, SETTINGS, tmp_path, None) == 1
    assert capsys.readouterr().err.count("data=None") == 1
    assert not subject_rows(tmp_path).rows
