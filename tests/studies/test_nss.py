"""The NSS study: rows survive, nothing is computed twice, numbers are `select`'s, the page says what is known."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import mutiny
from mutiny.subjects.architectures import LeNet5
from mutiny.subjects.data import as_data
from mutiny.verbs.select.parsing import as_methods, describe

sys.path.append(str(Path(__file__).parents[2]))

from studies.nss import ablation, detection, figures, page, paper, partitions, retraining, tables
from studies.nss.__main__ import STUDY
from studies.nss.findings import FINDINGS
from studies.nss.lab import Lab, Settings, smaller, subject_rows
from studies.nss.methods import ALL, AUTHORS, FIRST, GINI, LAST, NSS
from studies.nss.results import NOT_APPLICABLE, Results, over
from studies.nss.subjects import LENETS, ORDER, SUBJECTS, UNDER
from studies.surroundings import same_settings

SETTINGS = Settings(repeats=2, retrain_repeats=1, retrain_epochs=1, retrain_train=100, retrain_train_large=100)
NAME = "mnist-lenet5"


def images(n, seed):
    """Bright squares whose place tells the class, in noise."""
    draw = torch.Generator().manual_seed(seed)
    x, y = 0.35 * torch.rand(n, 1, 28, 28, generator=draw), torch.arange(n) % 10
    for image, label in zip(x, y.tolist(), strict=True):
        top, left = 3 + 14 * (label // 5), 2 + 5 * (label % 5)
        image[0, top : top + 8, left : left + 5] += 0.5
    return x.clamp(0, 1), y


@pytest.fixture(scope="module")
def subject():
    task, train = mutiny.Classification(10, "logits"), as_data(images(200, 0), "train")
    recipe = mutiny.Recipe(LeNet5, epochs=4, batch_size=32, learning_rate=3e-3)
    models = [recipe.train(train, task, seed) for seed in range(2)]
    return mutiny.Subject(models, task=task, train=train, test=images(160, 1), name=NAME)


@pytest.fixture(scope="module")
def lab(subject):
    return Lab(subject, SETTINGS)


@pytest.fixture(scope="module")
def done(subject, tmp_path_factory):
    """A folder with a few units of each part, and these units."""
    folder = tmp_path_factory.mktemp("study") / "nss"
    same_settings(folder, SETTINGS)
    units = [unit for unit in STUDY.plan(list(STUDY.parts), [NAME], SETTINGS) if few(unit)]
    assert STUDY.work(units, {NAME: lambda _: subject}, SETTINGS, folder, None) == 0
    return folder, units


def few(unit):
    part, _, key = unit
    if part is detection:
        return key[0] in (NSS, AUTHORS, GINI, "random", "internal-gini", "mc-dropout", "nac")
    if part is ablation:
        return key[1] in ("0.1", "-1", "blur", "all") and key[3] == "0"
    return part is partitions or key[1:3] in (("none", "0"), (NSS, "20"))


def test_measures_are_those_of_a_slow_loop():
    rng = np.random.default_rng(0)
    truth, said, order = rng.integers(0, 4, 60), rng.integers(0, 4, 60), rng.permutation(60)
    wrong, types = truth != said, np.where(truth == said, -1, 4 * truth + said)
    found = detection.measures(order, wrong, types, 4)
    positions = [place for place, item in enumerate(order, start=1) if wrong[item]]
    assert found["apfd_input"] == pytest.approx(1 - sum(positions) / (60 * len(positions)) + 1 / 120)
    assert found["max_apfd"] == pytest.approx(1 - len(positions) / 120)
    for percent in detection.PERCENT:
        first = order[: round(percent * 60 / 100)]
        assert found[f"fdr_{percent}"] == pytest.approx(sum(wrong[item] for item in first) / len(first))
    curve = [len({types[item] for item in order[: int(0.6 * step + 0.5)]} - {-1}) for step in range(1, 21)]
    assert found["rauc_possible"] == pytest.approx(np.mean(curve) / 12)
    assert found["rauc_present"] == pytest.approx(np.mean(curve) / found["types"])


def test_a_repeat_has_its_own_original_pool_and_seed(lab, subject):
    for repeat in range(2):
        trial = lab.trial(repeat)
        assert trial.models == (subject.models[repeat], subject.models[1 - repeat])
        assert trial.evidence().seed == repeat
        pool = mutiny.mutate(subject.test, seed=repeat)
        assert torch.equal(trial.pool.read(np.array([5, 3])), pool.read(np.array([5, 3])))
        assert torch.equal(trial.pool.subset(np.array([7])).first(1), pool.subset(np.array([7])).first(1))
        with torch.no_grad():
            assert (trial.wrong == (subject.models[repeat](pool.first(160)).argmax(1).numpy() != pool.targets)).all()
    assert not torch.equal(lab.trial(0).pool.first(1), lab.trial(1).pool.first(1))


@pytest.mark.parametrize("method", [NSS, AUTHORS, GINI])
def test_a_row_is_what_select_says(done, subject, method):
    row = detection.rows(done[0]).get(NAME, method, "1")
    pool = mutiny.mutate(subject.test, seed=1)
    found = mutiny.select(
        subject.models[1], method, pool=pool, train=subject.train, task=subject.task, seed=1, batch_size=256
    )
    quality = found.rankings[0].quality
    assert [float(row[f"fdr_{p}"]) for p in detection.PERCENT] == pytest.approx(list(quality.fdr_at.values()), abs=1e-5)
    assert float(row["apfd_input"]) == pytest.approx(quality.apfd, abs=1e-5)
    assert float(row["rauc_ideal"]) == pytest.approx(quality.rauc_ideal.value, abs=1e-5)


def test_a_resumed_study_does_nothing_twice(done, monkeypatch):
    folder, units = done
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for part in STUDY.parts.values():
        monkeypatch.setattr(part, "run", lambda *_: pytest.fail("ran again"))
    assert STUDY.work(units, {NAME: lambda _: pytest.fail("loaded again")}, SETTINGS, folder, None) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_unit_that_is_stopped_leaves_no_row_and_is_done_next_time(tmp_path, lab, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(detection.Rows, "put", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            detection.run(lab, tmp_path, (GINI, "0"))
    assert (NAME, GINI, "0") not in detection.rows(tmp_path)
    assert detection.run(lab, tmp_path, (GINI, "0"))
    assert (NAME, GINI, "0") in detection.rows(tmp_path)


def test_other_settings_are_refused_in_the_same_folder(tmp_path):
    same_settings(tmp_path, SETTINGS)
    with pytest.raises(mutiny.BadInput, match="another --out"):
        same_settings(tmp_path, replace(SETTINGS, repeats=7))


def test_what_does_not_apply_is_a_result(done):
    rows = detection.rows(done[0])
    assert rows.get(NAME, "mc-dropout", "0")["status"] == "not applicable"
    assert "dropout" in rows.get(NAME, "mc-dropout", "0")["reason"]
    assert over(rows.rows, "fdr_5", subject=NAME, method="mc-dropout") == NOT_APPLICABLE
    assert over(rows.rows, "fdr_5", subject=NAME, method="ces") is None


def test_the_usual_setting_of_an_ablation_is_the_row_of_table_7(done):
    usual = detection.rows(done[0]).get(NAME, NSS, "0")
    coded = detection.rows(done[0]).get(NAME, AUTHORS, "0")
    rows = ablation.rows(done[0])
    for unit, row in [
        (("share", "0.1", "paper"), usual), (("share", "0.1", "authors-code"), coded),
        (("identify", "all", "paper"), usual), (("select", "all", "paper"), usual),
        (("select", "all", "authors-code"), coded),
    ]:  # fmt: skip
        assert rows.get(NAME, *unit, "0")["fdr_20"] == row["fdr_20"]
        assert rows.get(NAME, *unit, "0")["faults"] == row["faults"]


def test_settings_reach_the_method():
    assert ablation.method(NAME, "layer", "second", "paper").layers == ("pool1",)
    assert ablation.method(NAME, "layer", "first", "authors-code").share == ablation.LAYER_SHARE
    assert ablation.method(NAME, "identify", "blur", "paper").identify == ("blur",)
    assert ablation.method(NAME, "select", "blur", "paper").operations == ("blur",)
    assert ablation.method(NAME, "select", "blur", "authors-code").operations is None


def test_one_mutation_in_the_authors_code_is_a_pool_of_it(done, subject):
    pool = mutiny.mutate(subject.test, seed=0, operations="blur")
    with torch.no_grad():
        faults = int((subject.models[0](pool.first(160)).argmax(1).numpy() != pool.targets).sum())
    assert int(ablation.rows(done[0]).get(NAME, "select", "blur", "authors-code", "0")["faults"]) == faults


def test_partitions_have_the_accuracy_of_the_pool(done, lab):
    for row in partitions.rows(done[0]).of(NAME, NSS):
        shares = [float(row[f"accuracy_{part}"]) for part in range(1, 11)]
        assert np.mean(shares) == pytest.approx(1 - lab.trial(int(row["repeat"])).wrong.mean(), abs=1e-5)
        assert -1 <= float(row["spearman"]) <= 1


def test_retraining_changes_a_copy_and_the_judges_are_not_candidates(done, lab):
    trial = lab.trial(0)
    before = {name: value.clone() for name, value in trial.models[0].state_dict().items()}
    after = retraining.retrained(lab, trial.models[0], lab.subject.train, 0)
    assert all(torch.equal(value, before[name]) for name, value in trial.models[0].state_dict().items())
    assert not torch.equal(after.head.weight, trial.models[0].head.weight)
    candidates, judges = retraining.halves(trial)
    assert sorted([*candidates, *judges]) == list(range(160))
    for protocol, count in ((retraining.LEAKY, 32), (retraining.SPLIT, 16)):
        idle = retraining.rows(done[0]).get(NAME, protocol, "none", "0", "0")
        row = retraining.rows(done[0]).get(NAME, protocol, NSS, "20", "0")
        assert (idle["selected"], row["selected"], row["train"]) == ("0", str(count), "100")
        assert idle["clean_before"] == row["clean_before"]


def test_the_page_shows_ours_the_papers_and_what_was_not_run(done, capsys):
    out = done[0].parent
    page.write(out)
    text = (out / "nss.md").read_text()
    lines = text.splitlines()
    rows = [float(row["fdr_5"]) for row in detection.rows(done[0]).of(NAME, GINI)]
    cells = next(line for line in lines if line.startswith("| deepgini |")).split(" | ")
    assert cells[3].startswith(f"{100 * np.mean(rows):.1f} ± ")
    assert cells[4] == "*58.2*"
    assert cells[1] == "not run"
    assert next(line for line in lines if line.startswith("| mc-dropout |")).split(" | ")[3] == "N/A"
    assert f"mc-dropout on {NAME}: " in text
    assert "the clean original alone" not in text  # its row was not run
    assert str(out) not in text


def test_an_empty_study_has_a_page_too(tmp_path):
    page.write(tmp_path)
    text = (tmp_path / "nss.md").read_text()
    assert "Figure: not run." in text
    assert "| nss | not run | *81.8* |" in text
    results = Results.read(tmp_path / "nss")
    assert [name for name, finding in FINDINGS.items() if list(finding(results))] == ["early"]  # of the paper alone


def test_every_table_has_as_many_cells_in_each_row(done):
    results = Results.read(done[0])
    for text in (
        tables.subjects(results), tables.internal(results), tables.correlations(results),
        tables.detection(results, 5), tables.diversity(results), tables.early(results),
        tables.gains(results, retraining.LEAKY),
        tables.gains_beyond(results, retraining.SPLIT),
        *(table(results, variant) for table in (tables.shares, tables.layers) for variant in ("paper", "authors-code")),
        *(tables.operations(results, table) for table in ("identify", "select")),
        tables.seconds(results), tables.breakdown(results), tables.times(results),
    ):  # fmt: skip
        assert len({line.count("|") for line in text.splitlines()}) == 1


def test_figures_are_drawn(done, tmp_path):
    results = Results.read(done[0])
    for draw in (figures.partitions, figures.detection):
        assert draw(results, tmp_path / "figure.png")
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "figure.png").unlink()


def test_tables_of_the_paper_agree_with_one_another():
    for subject in paper.NAMES:
        assert paper.SHARE[subject]["0.1"] == pytest.approx(paper.FDR[20][subject][NSS], abs=0.0011)
        layer = "-2" if subject in LENETS else "-1"
        assert paper.SHARE[subject]["0.2"] == pytest.approx(paper.LAYER[subject][layer], abs=0.0006)
    for table in (paper.IDENTIFY, paper.SELECT):
        assert table["all"] == tuple(paper.FDR[p]["cifar10-resnet20"][NSS] for p in detection.PERCENT)
    assert mutiny.verbs.select.metrics.max_apfd(10_000, 2130) < paper.APFD["mnist-lenet1"][NSS]


def test_all_methods_are_compared_once_each():
    assert sorted((*FIRST, *LAST)) == sorted(ALL)
    assert len(set(ALL)) == len(ALL)
    assert [describe(as_methods(name)[0]) for name in ALL] == list(ALL)
    assert {code.partition("(")[0] for code in ALL} == set(mutiny.METHODS)


def test_order_of_units_table_7_on_small_networks_first():
    units = list(STUDY.plan(list(STUDY.parts), ORDER, Settings()))
    assert [(part.NAME, *unit) for part, _, unit in units[:2]] == [("detection", NSS, "0"), ("detection", AUTHORS, "0")]
    assert {subject for part, subject, _ in units[: 5 * len(FIRST) * len(LENETS)]} == set(LENETS)
    assert len({(part.NAME, subject, unit) for part, subject, unit in units}) == len(units)
    large = [unit for part, subject, unit in units if part is retraining and subject not in LENETS]
    assert len(large) == 2 * 2 * 6  # protocols, repeats, choices
    assert units[-1][1:] == ("cifar10-resnet20", large[-1])


def test_subjects_are_named_alike_everywhere():
    assert tuple(SUBJECTS) == tuple(UNDER) == ORDER
    assert set(paper.NAMES) < set(ORDER)


def test_a_smaller_subject_keeps_all_classes(subject):
    few_items = smaller(mutiny.Subject(
        task=subject.task, train=subject.train, test=subject.test, recipe=mutiny.Recipe(LeNet5), name=NAME
    ), 60, 40)  # fmt: skip
    assert (len(few_items.train), len(few_items.test)) == (60, 40)
    assert len(set(few_items.test.targets.tolist())) == 10


def test_a_subject_that_cannot_be_loaded_fails_once(tmp_path, capsys):
    def missing(_data):
        raise mutiny.BadInput("data", None, "a folder")

    units = [(detection, "mnist-lenet1", (GINI, "0")), (detection, "mnist-lenet1", (NSS, "0"))]
    assert STUDY.work(units, {"mnist-lenet1": missing}, SETTINGS, tmp_path, None) == 1
    assert capsys.readouterr().err.count("data=None") == 1
    assert not subject_rows(tmp_path).rows


def test_wrong_names_are_refused_before_anything_runs(tmp_path, capsys):
    assert STUDY.main(["--out", str(tmp_path), "--subjects", "mnits"]) == 2
    assert "mnits" in capsys.readouterr().err
