"""The DeepCrime study: rows survive, costs add up, savings are those of a slow count, the page says what is known."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import mutiny
import toys
from mutiny.core.records import MutantRecord, Verdict
from mutiny.core.stats import glm
from mutiny.faults.training.base import Program
from mutiny.subjects.tasks import Classification
from mutiny.verbs.assess.muff.early_verdict import surely_killed
from mutiny.verbs.assess.muff.options import Savings
from mutiny.verbs.assess.muff.trainer import Trainer

sys.path.append(str(Path(__file__).parents[2]))

from studies.deepcrime import compared, controls, operators, page, paper, savings, spectra, tables
from studies.deepcrime.__main__ import STUDY
from studies.deepcrime.findings import FINDINGS
from studies.deepcrime.lab import Lab, Settings, networks, subject_rows
from studies.deepcrime.results import PAIRS, Results
from studies.deepcrime.spent import spent_rows
from studies.deepcrime.subjects import ORDER, SUBJECTS, smaller
from studies.muff.paper import DATA, NAMES
from studies.surroundings import same_settings

COUNT, NAME = 3, "mnist"
FEW = ("WI", "NI", "NEB", "TRD", "HNE", "ACH", "ARM", "AAL")


class Coarse(Settings):
    search = property(lambda self: mutiny.Search(precision=0.2))


SETTINGS = Coarse(originals=COUNT, instances=2, compared=6)


def build():
    return nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 3))


RECIPE = mutiny.Recipe(build, epochs=4, batch_size=20, learning_rate=0.04)


def toy(_data=None):
    return mutiny.Subject(
        task=Classification(3), train=toys.blobs(120), test=toys.blobs(90, seed=1), recipe=RECIPE, name=NAME
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Networks go to a folder of this module: its fixtures are made before the one that says so for each test."""
    folder = str(tmp_path_factory.mktemp("cache"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUTINY_CACHE", folder)
        patch.setattr(spectra, "DEEPCRIME", tuple(code for code in paper.DEEPCRIME if code in FEW))
        yield folder


@pytest.fixture(scope="module")
def done(cache, tmp_path_factory):
    """A folder with a few units of each part, and these units."""
    folder = tmp_path_factory.mktemp("study") / "deepcrime"
    same_settings(folder, SETTINGS)
    units = [unit for unit in STUDY.plan(list(STUDY.parts), [NAME], SETTINGS) if not unit[2] or unit[2][0] in FEW]
    first = [unit for unit in units if unit[0] is not spectra]
    assert STUDY.work(first, {NAME: toy}, SETTINGS, folder, None) == 0
    hurt = [row | {"verdict": "killed"} for code in paper.MUFF for row in operators.mutant_rows(folder).of(NAME, code)]
    operators.mutant_rows(folder).put(hurt)  # 5% of the weights of so small a network are too few to be noticed
    assert STUDY.work(units, {NAME: toy}, SETTINGS, folder, None) == 0
    return folder, units


@pytest.fixture(scope="module")
def lab(done):
    return Lab(toy(), SETTINGS)


@pytest.fixture(autouse=True)
def _same_cache(cache, _own_cache, monkeypatch):
    """The networks of the fixtures are found again."""
    monkeypatch.setenv("MUTINY_CACHE", cache)


def of(folder, *codes):
    return [row for code in codes for row in operators.mutant_rows(folder).of(NAME, code)]


def test_a_row_is_what_assess_says(done):
    found = mutiny.assess(
        toy(), "HNE,WI", originals=COUNT, search=SETTINGS.search, weak=mutiny.WeakSet(regression="high-loss"),
        savings=Savings(first_group=None), method="muff",
    )  # fmt: skip
    for record in found.operators:
        row, mutants = operators.rows(done[0]).get(NAME, record.label), of(done[0], record.label)
        assert (row["status"], row["tool"]) == (record.status, paper.tool_of(record.label))
        for name in ("score", "sensitivity"):
            assert (float(row[name]) if row[name] else None) == pytest.approx(getattr(record, name))
        for split, one in record.sets.items():
            assert row[f"weakest_{split}"] == operators.exact(one.weakest_killed)
            assert (float(row[f"killability_{split}"]) if row[f"killability_{split}"] else None) == one.killability
        assert [row["metrics"].split() for row in mutants] == [
            [f"{value:.10g}" for each in mutant.metrics for value in each] for mutant in record.mutants
        ]
        assert int(row["configurations"]) == len({mutant.strength for mutant in record.mutants})


def test_a_mutant_is_made_again_from_its_row(done, lab):
    trainer = lab.trainer(done[0])
    for row in (of(done[0], "TRD")[2], of(done[0], "HNE")[1], of(done[0], "ACH")[4]):
        assert row["set"] == "train"
        metrics = []
        for number in range(COUNT):
            model = trainer.network(operators.fault_of(row), number)
            x, y = toys.blobs(120)
            metrics.append(float((model(x).argmax(1) == y).double().mean()))
        assert savings.numbers(row["metrics"]) == pytest.approx(metrics)
    assert trainer.trainings == 0


def test_a_resumed_study_does_nothing_twice(done, monkeypatch):
    folder, units = done
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for part in STUDY.parts.values():
        monkeypatch.setattr(part, "run", lambda *_: pytest.fail("ran again"))
    assert STUDY.work(units, {NAME: lambda _: pytest.fail("loaded again")}, SETTINGS, folder, None) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_unit_that_is_stopped_is_done_next_time_and_its_cost_is_not_lost(tmp_path, lab, monkeypatch):
    made, train = [], Trainer._train

    def stops(self, *arguments, **more):
        if len(made) == 5:
            raise KeyboardInterrupt
        made.append(arguments)
        return train(self, *arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_train", stops)
        with pytest.raises(KeyboardInterrupt):
            operators.run(lab, tmp_path, ("HBS",))
    assert (NAME, "HBS") not in operators.rows(tmp_path)
    stopped = spent_rows(tmp_path).get(NAME, "HBS")
    assert stopped["trainings"] == "3"  # those of the first configuration; the second one was in work
    again = Lab(lab.subject, SETTINGS)
    assert operators.run(again, tmp_path, ("HBS",))
    row = operators.rows(tmp_path).get(NAME, "HBS")
    configurations = int(row["configurations"])
    assert again.trainer(tmp_path).trainings == COUNT * configurations - 5
    assert int(row["trainings"]) == COUNT * configurations - 2
    assert float(row["cpu_seconds"]) > float(stopped["cpu_seconds"]) > 0


def test_other_folders_have_other_networks(tmp_path):
    assert networks(tmp_path / "a") != networks(tmp_path / "b")
    assert networks(tmp_path / "a") == networks(tmp_path / "b" / ".." / "a")


def test_other_settings_are_refused_in_the_same_folder(tmp_path):
    same_settings(tmp_path, SETTINGS)
    with pytest.raises(mutiny.BadInput, match="another --out"):
        same_settings(tmp_path, replace(SETTINGS, originals=7))


def test_spectra_wait_for_all_operators(tmp_path, lab):
    assert not spectra.run(lab, tmp_path, ())
    assert not spectra.rows(tmp_path).rows


def test_unstable_is_a_share_of_what_train_tried():
    def mutant(metrics, split="train", searched=True):
        return MutantRecord("LCH", None, split, Verdict.KILLED, instances=4, searched=searched, metrics=(metrics,))

    steady, shaky, lost = (0.9, 0.91, 0.9, 0.91), (0.9, 0.1, 0.5, 0.2), (0.1, float("inf"), 0.1, 0.1)
    mutants = [mutant(steady), mutant(shaky), mutant(lost), mutant(steady), mutant(shaky, "test")]
    assert operators.unstable([*mutants, mutant(shaky, searched=False)], 0.05) == 0.5
    assert operators.unstable([], 0.05) is None


def test_counted_trainings_are_those_that_were_made(done):
    folder, _ = done
    subject, rows = subject_rows(folder).get(NAME), operators.rows(folder)
    for codes in (("TRD",), ("HNE",), ("ACH", "ARM"), ("TRD", "HNE", "ACH", "ARM")):
        counted = savings.trainings(subject, of(folder, *codes))
        assert counted.shared == sum(int(rows.get(NAME, code)["trainings"]) for code in codes)
        assert counted.each == COUNT * sum(int(rows.get(NAME, code)["configurations"]) for code in codes)
    assert rows.get(NAME, "ARM")["trainings"] == "0"
    assert rows.get(NAME, "HNE")["trainings"] == str(COUNT)


def test_the_plain_way_is_that_every_search_trains_its_own(done, lab, tmp_path):
    subject, program = lab.subject, Program(RECIPE, lab.subject.train, lab.subject.task, lab.subject.forward)
    trainer = Trainer(program, lab.prepared, tmp_path, Savings.none())
    (fault,) = operators.as_faults("HNE")
    judge = operators.TrainedJudge(lab.prepared, trainer, "HNE", lab.rule, SETTINGS.search)
    run = operators.TrainingRun(judge, fault)
    for split in run.sets:
        run.searched(split, mutiny.core.progress.Silent())
    assert savings.trainings(subject_rows(done[0]).get(NAME), of(done[0], "HNE")).plain == trainer.trainings
    assert subject.recipe == RECIPE


def certain(originals, seen, total):
    """Whether the rest, all wrong or all right or anything between, leaves the mutant killed; by the formulas."""
    for ones in range(total - len(seen) + 1):
        all_of_it = np.r_[seen, np.ones(ones), np.zeros(total - len(seen) - ones)]
        pooled = np.sqrt((originals.var(ddof=1) + all_of_it.var(ddof=1)) / 2)
        effect = (originals.mean() - all_of_it.mean()) / pooled
        if not (effect >= 0.5 and glm(originals, all_of_it) < 0.05):
            return False
    return True


def test_groups_are_those_of_a_slow_count():
    rng, total = np.random.default_rng(0), 20
    good = {split: rng.uniform(0.97, 0.99, total) for split in ("train", "test", "weak")}
    subject = {"task": "classification", "originals": "20"}
    subject |= {f"{split}_metrics": " ".join(map(str, values)) for split, values in good.items()}
    rows, wanted = [], []
    for number, level in enumerate(np.linspace(0.05, 0.95, 12)):
        metrics = {split: np.clip(rng.normal(level, 0.02, total), 0, 1) for split in good}
        for split, values in metrics.items():
            text = {"metrics": " ".join(map(str, values)), "searched": str(split == "train"), "set": split}
            rows.append(text | {"operator": "LCH", "configuration": f"LCH(loss={number})", "strength": ""})
        sizes = [size for size in (5, 10) if all(certain(good[s], metrics[s][:size], total) for s in good)]
        wanted.append([*sizes, total][0])
    found = savings.trainings(subject, rows)
    assert found.grouped == sum(wanted)
    assert found.sizes == {size: wanted.count(size) for size in sorted(set(wanted))}
    assert len(found.sizes) > 1
    assert (found.plain, found.each, found.shared) == (12 * 20, 12 * 20, 12 * 20)
    of_loss = savings.trainings(subject | {"task": "regression"}, rows)
    assert of_loss.grouped == of_loss.shared == 240


def test_one_training_serves_all_epochs_and_the_first_groups_of_all():
    subject = {"task": "classification", "originals": "20"}
    subject |= {f"{split}_metrics": " ".join(["0.98 0.97"] * 10) for split in ("train", "test", "weak")}
    texts = {"1.0": "0.1 " * 20, "3.0": "0.95 " * 20}
    rows = [
        {"operator": "HNE", "configuration": "HNE", "strength": strength, "set": split, "metrics": text,
         "searched": "True"}
        for strength, text in texts.items() for split in ("train", "test", "weak")
    ]  # fmt: skip
    both, severe = savings.trainings(subject, rows), savings.trainings(subject, rows[:3])
    assert (both.plain, both.each, both.shared, both.grouped) == (120, 40, 20, 20)
    assert severe.grouped < 20
    assert surely_killed(
        savings._sample(np.array([0.98, 0.97] * 10), np.full(severe.grouped, 0.1)), 20, mutiny.KillRule().resolve(20),
        Classification(2),
    )  # fmt: skip


def test_compared_mutants_are_spread_evenly():
    places = compared.evenly({"WCI": range(60), "ACH": range(40), "HBS": range(3), "HDB": range(1), "OCH": []}, 20)
    assert {name: len(each) for name, each in places.items()} == {"WCI": 8, "ACH": 8, "HBS": 3, "HDB": 1}
    assert places["WCI"][0] == 0
    assert places["WCI"][-1] == 59
    assert len(compared.evenly({str(n): range(9) for n in range(24)}, 40)) == 24  # two of each, more than 40


def test_what_was_killed_is_compared(done):
    rows = of(done[0], *FEW)
    mutants = compared.chosen(rows, 5)
    assert {mutant.group for mutant in mutants} == {"WI", "NI", "DC"}
    for code in paper.MUFF:
        wanted = [row for row in of(done[0], code) if row["set"] == "train" and row["searched"] == "True"]
        found = [mutant.fault.factor for mutant in mutants if mutant.group == code]
        assert sorted(found) == sorted(float(row["strength"]) for row in wanted if not row["same_as"])
    killed = {m["strength"] for m in of(done[0], "TRD") if (m["set"], m["verdict"]) == ("train", "killed")}
    assert {str(mutant.fault.share) for mutant in mutants if mutant.operator == "TRD"} <= killed
    assert len(mutants) == len({(mutant.group, mutant.name) for mutant in mutants})


def test_the_control_is_that_of_a_slow_loop(done, lab):
    data = spectra.sampled(lab.subject.test, 0.1, 0)
    x = data.first(len(data))
    values = [torch.relu(model[0](x)).detach().numpy() for model in lab.models]
    edges = np.linspace(min(map(np.min, values)), max(map(np.max, values)), 101)
    shares = [np.array([np.histogram(one, edges)[0] / len(one) for one in of_model]) for of_model in values]
    half = COUNT // 2
    first, second = (np.mean(some, axis=0) for some in (shares[:half], shares[half : 2 * half]))
    row = controls.rows(done[0]).get(NAME)
    assert row["originals"] == str(half)
    for epsilon in spectra.EPSILONS:
        slow = np.linalg.norm(np.log(first + float(epsilon)) - np.log(second + float(epsilon)), axis=1).mean()
        assert float(row[epsilon]) == pytest.approx(slow, rel=1e-3)


def test_distances_are_those_of_a_slow_loop(done, lab):
    row = spectra.rows(done[0]).get(NAME)
    data = spectra.sampled(lab.subject.test, 0.1, 0)
    x = data.first(len(data))
    mutants = {m.name: m for m in compared.chosen(of(done[0], *FEW), SETTINGS.compared) if m.operator == "TRD"}
    first, second = list(mutants.values())[:2]
    for span, low, high in ((spectra.ALL, "low", "high"), (spectra.ORIGINALS, "low_originals", "high_originals")):
        edges = np.linspace(float(row[low]), float(row[high]), 101)
        each = []
        for mutant in (first, second):
            models = [lab.trainer(done[0]).network(mutant.fault, number) for number in range(SETTINGS.instances)]
            values = [torch.relu(model[0](x)).detach().numpy().clip(edges[0], edges[-1]) for model in models]
            shares = [[np.histogram(one, edges)[0] / len(one) for one in of_model] for of_model in values]
            each.append(np.log(np.mean(shares, axis=0) + 1e-6))
        (found,) = [
            found for found in spectra.distance_rows(done[0]).rows
            if (found["range"], found["mutant_a"], found["mutant_b"]) == (span, first.name, second.name)
        ]  # fmt: skip
        slow = np.linalg.norm(each[0] - each[1], axis=1).mean()
        assert float(found["1e-6"]) == pytest.approx(slow, rel=0.02)  # edges of bins are rounded
        assert float(found["1e-9"]) >= float(found["1e-6"]) >= float(found["1e-3"])


def test_the_page_shows_ours_the_papers_and_what_was_not_run(done, capsys):
    out = done[0].parent
    page.write(out)
    text = (out / "deepcrime.md").read_text()
    lines = text.splitlines()
    sensitivity = float(operators.rows(done[0]).get(NAME, "TRD")["sensitivity"])
    assert f"| DeepCrime | TRD | {100 * sensitivity:.2f}% | *92.00%* | not run | *U/NK* |" in lines
    assert "| DeepCrime | AAL | N/A | *N/A* | not run | *14.00%* |" in lines
    assert "AAL on mnist: every hidden layer has an activation" in text
    assert "![Distances between mutants of mnist, range of all networks](deepcrime/distances-mnist-all.png)" in text
    assert "Figure: not run." in text  # of the other subject
    assert (done[0] / "distances-mnist-originals.png").stat().st_size > 1000
    assert "nan" not in text
    assert str(out) not in text
    assert all(list(finding(Results.read(done[0]))) for finding in FINDINGS.values())


def test_an_empty_study_has_a_page_too(tmp_path):
    page.write(tmp_path)
    text = (tmp_path / "deepcrime.md").read_text()
    assert "| MUFF | WI | not run | *100.00%* | not run | *18.56%* |" in text
    assert "Figure: not run." in text
    assert not any(list(finding(Results.read(tmp_path / "deepcrime"))) for finding in FINDINGS.values())


def test_every_table_has_as_many_cells_in_each_row(done):
    results = Results.read(done[0])
    for table in (
        tables.subjects, tables.side_by_side, tables.sensitivity, tables.unstable, tables.details, tables.cost,
        tables.saved, tables.distances, tables.times,
    ):  # fmt: skip
        assert len({line.count("|") for line in table(results).splitlines()}) == 1


def test_seconds_per_mutant_are_shared_out(done):
    results = Results.read(done[0])
    cost, rows = results.cost(NAME, "DeepCrime"), results.of_tool(NAME, "DeepCrime")
    assert [row["operator"] for row in rows] == ["TRD", "HNE", "ACH", "ARM"]
    assert cost.per_mutant == pytest.approx(
        sum(float(row["cpu_seconds"]) for row in rows) / sum(int(row["configurations"]) for row in rows)
    )
    muff = results.cost(NAME, "MUFF")
    assert results.times(NAME, "DeepCrime") == pytest.approx(cost.per_mutant / muff.per_mutant)
    assert results.times(NAME, "MUFF") == 1
    assert results.cost("eyes", "MUFF") is None
    assert list(results.distances_of(NAME, spectra.ALL, "1e-6")) == list(PAIRS)


def test_the_papers_tables_have_its_averages():
    for subject, row in paper.SENSITIVITY.items():
        assert tuple(row) == paper.OPERATORS
        for tool, codes in paper.TOOLS.items():
            numbers = [row[code] for code in codes if isinstance(row[code], float)]
            assert np.mean(numbers) == pytest.approx(paper.AVERAGES[subject][tool], abs=1e-4)
        seconds = paper.SECONDS[subject]
        assert round(seconds["DeepCrime"] / seconds["MUFF"]) == paper.TIMES[subject]
        assert set(paper.UNSTABLE[subject]) < set(paper.DEEPCRIME)
    means = {tool: np.mean([row[place] for row in muff_seconds()]) for place, tool in enumerate(paper.TOOLS)}
    assert means == pytest.approx(paper.MEAN_SECONDS, abs=0.75)
    assert round(means["DeepCrime"] / means["MUFF"]) == paper.TIMES["mean"]
    assert len(paper.DEEPCRIME) == len(set(paper.DEEPCRIME)) == 24


def muff_seconds():
    from studies.muff.paper import SECONDS

    return SECONDS.values()


def test_all_operators_of_the_paper_are_there():
    for code in paper.OPERATORS:
        (fault,) = operators.as_faults(code)
        assert fault.code == code
    assert [unit for part, _, unit in STUDY.plan(list(STUDY.parts), [NAME], SETTINGS) if part is operators] == [
        (code,) for code in paper.OPERATORS
    ]


def test_order_of_units_one_subject_after_another():
    units = list(STUDY.plan(list(STUDY.parts), ORDER, Settings()))
    assert [subject for _, subject, _ in units] == sorted((s for _, s, _ in units), key=ORDER.index)
    assert [unit[2] for unit in units[:2]] == [("WI",), ("NI",)]
    assert units[34][0] is units[-2][0] is spectra
    order = [unit[2] for unit in units]
    assert order.index(("ACH",)) < order.index(("ARM",))  # whose networks are among those of ACH


def test_subjects_are_programs_with_a_constant_rate():
    assert tuple(SUBJECTS) == ORDER
    assert {NAMES[name] for name in ORDER} == set(paper.SENSITIVITY) < set(DATA)
    eyes = SUBJECTS["eyes"](None)
    assert (len(eyes.train), len(eyes.test)) == (800, 400)
    assert eyes.recipe.schedule == "none"
    few = smaller(eyes, 20, 10)
    assert (len(few.train), len(few.test), few.recipe.schedule) == (20, 10, "none")


def test_a_subject_that_cannot_be_loaded_fails_once(tmp_path, capsys):
    def missing(_data):
        raise mutiny.BadInput("data", None, "a folder")

    units = [(operators, "mnist", ("WI",)), (operators, "mnist", ("NI",))]
    assert STUDY.work(units, {"mnist": missing}, SETTINGS, tmp_path, None) == 1
    assert capsys.readouterr().err.count("data=None") == 1


def test_wrong_names_are_refused_before_anything_runs(tmp_path, capsys):
    assert STUDY.main(["--out", str(tmp_path), "--subjects", "mnits"]) == 2
    assert "mnits" in capsys.readouterr().err
