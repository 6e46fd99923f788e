"""The MUFF study: rows survive, nothing is computed twice, numbers are `assess`'s, the page says what is known."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mutiny
import toys
from mutiny.core.records import MutantRecord, Verdict

sys.path.append(str(Path(__file__).parents[2]))

from studies.muff import figures, page, paper, rq1, rq2, rq3, tables, weak
from studies.muff.__main__ import ORDER, STUDY
from studies.muff.findings import FINDINGS
from studies.muff.lab import Lab, Settings, subject_rows
from studies.muff.results import SUBJECTS, Results, sensitivity_of
from studies.store import Rows, as_text
from studies.surroundings import same_settings
from studies.writing import rank_correlation


class Coarse(Settings):
    search = property(lambda self: mutiny.Search(precision=0.1))


SETTINGS = Coarse(originals=6, sample=100)


def toy(_data=None):
    return mutiny.Subject(
        [toys.classifier(seed) for seed in range(6)],
        task=mutiny.Classification(3),
        train=toys.blobs(240),
        test=toys.blobs(120, seed=1),
        name="eyes",
    )


@pytest.fixture(scope="module")
def lab():
    return Lab(toy(), SETTINGS)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder with a few units of each part, and these units."""
    folder = tmp_path_factory.mktemp("study") / "muff"
    same_settings(folder, SETTINGS)
    units = [unit for unit in STUDY.plan(list(STUDY.parts), ["eyes"], SETTINGS) if few(unit)]
    assert STUDY.work(units, {"eyes": toy}, SETTINGS, folder, None) == 0
    return folder, units


def few(unit):
    part, _, key = unit
    wanted = {
        "rq3": {("WI",), ("LR",), ("NEB",)}, "rq2": {("GF", "0.2"), ("LR", "")}, "ratio": {("0.05",), ("1.0",)},
        "weak": {("WI",), ("NEB",)},
    }  # fmt: skip
    return (part is rq1 and key[0] in ("none", "WS", "LR", "WI")) or key in wanted.get(part.NAME, ())


def test_rows_are_found_replaced_and_kept(tmp_path):
    rows = Rows(tmp_path / "a" / "rows.csv", ["subject", "operator", "value"], 2)
    rows.put([{"subject": "eyes", "operator": "WI", "value": 0.123456789}, {"subject": "eyes", "operator": "NI"}])
    rows.put([{"subject": "eyes", "operator": "NI", "value": True}])
    again = Rows(rows.path, rows.columns, 2)
    assert (
        again.rows
        == rows.rows
        == [
            {"subject": "eyes", "operator": "WI", "value": "0.123457"},
            {"subject": "eyes", "operator": "NI", "value": "True"},
        ]
    )
    assert ("eyes", "WI") in again
    assert ("roads", "WI") not in again
    assert as_text(float(again.get("eyes", "WI")["value"])) == "0.123457"


def test_a_resumed_study_does_nothing_twice(done, monkeypatch):
    folder, units = done
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for part in STUDY.parts.values():
        monkeypatch.setattr(part, "run", lambda *_: pytest.fail("ran again"))
    assert STUDY.work(units, {"eyes": lambda _: pytest.fail("loaded again")}, SETTINGS, folder, None) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_unit_that_is_stopped_leaves_no_row_and_is_done_next_time(tmp_path, lab, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(rq3.Rows, "put", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            rq3.run(lab, tmp_path, ("WI",))
    assert ("eyes", "WI") not in rq3.rows(tmp_path)
    assert rq3.run(lab, tmp_path, ("WI",))
    assert ("eyes", "WI") in rq3.rows(tmp_path)


def test_other_settings_are_refused_in_the_same_folder(tmp_path):
    same_settings(tmp_path, SETTINGS)
    same_settings(tmp_path, SETTINGS)
    with pytest.raises(mutiny.BadInput, match="another --out"):
        same_settings(tmp_path, replace(SETTINGS, originals=7))


def test_the_other_weak_set_is_judged_against_the_same_searches(done):
    """The toy is a classifier, for which both readings keep the same inputs."""
    worded, searched = (part.rows(done[0]).get("eyes", "NEB") for part in (weak, rq3))
    assert worded["status"] == searched["status"] == "scored"
    assert worded["weakest_weak"] == searched["weakest_weak"]
    assert worded["sensitivity"] == searched["sensitivity"]
    assert weak.rows(done[0]).get("eyes", "WI")["status"] == "not killable"


def test_a_search_is_that_of_assess(lab):
    row, mutants = rq3.search(lab, "WI(ratio=0.3)")
    found = mutiny.assess(lab.subject, "WI(ratio=0.3)", search=SETTINGS.search, method="muff").operators[0]
    assert (row["status"], row["score"], row["sensitivity"]) == (found.status, found.score, found.sensitivity)
    assert [row[f"weakest_{split}"] for split in found.sets] == [s.weakest_killed for s in found.sets.values()]
    assert [(m["strength"], m["set"], m["verdict"]) for m in mutants] == [
        (m.strength, m.guiding_set, m.verdict) for m in found.mutants
    ]


def test_an_unstable_probe_counts_one_round_more():
    def mutant(verdict, instances, split="train", searched=True):
        return MutantRecord("WI", 0.5, split, verdict, instances=instances, searched=searched)

    probes = (
        mutant(Verdict.KILLED, 20),
        mutant(Verdict.SURVIVED, 40),
        mutant(Verdict.UNSTABLE, 100),
        mutant(Verdict.KILLED, 60, split="test"),
        mutant(Verdict.KILLED, 60, searched=False),
    )
    assert rq3.mean_instances(probes, 100, 20) == pytest.approx((20 + 40 + 120) / 3)
    assert rq3.mean_instances((), 100, 20) is None


def test_disagreement_is_mutinys_with_an_interval_only_for_samples(lab):
    outcomes = lab.runner.clean_outcomes("train")
    rate = mutiny.core.stats.disagreement_rate(np.array([outcome.correct for outcome in outcomes]))
    full, part = rq1.disagreement(outcomes, 240), rq1.disagreement(outcomes, 1000)
    assert full["disagreement"] == part["disagreement"] == rate
    assert full["low"] is full["high"] is None
    assert part["low"] < rate < part["high"]


def test_what_depends_on_a_search_waits_for_it(tmp_path, lab):
    assert not rq1.run(lab, tmp_path, ("WI", rq1.WEAKEST, rq1.ONE))
    assert not rq1.rows(tmp_path).rows


def test_stability_counts_instances(done):
    row = rq2.rows(done[0]).get("eyes", "GF", "0.2")
    assert row["status"] in ("stable", "unstable")
    assert int(row["instances"]) in range(6, 31, 6)
    assert rq2.rows(done[0]).get("eyes", "LR", "")["status"] == "not applicable"


def test_the_default_ratio_is_the_row_of_rq3(done):
    (default, widest), search = STUDY.parts["ratio"].rows(done[0]).rows, rq3.rows(done[0]).get("eyes", "WI")
    assert {name: default[name] for name in search} == search
    assert widest["operator"] == "WI(ratio=1.0)"


def test_the_page_shows_ours_the_papers_and_what_was_not_run(done, capsys):
    out = done[0].parent
    page.write(out)
    text = (out / "muff.md").read_text()
    rate = rq1.rows(done[0]).get("eyes", "WS", "default", "one")["disagreement"]
    row = next(line for line in text.splitlines() if line.startswith("| WS |")).split(" | ")
    assert row[5].startswith(f"{100 * float(rate):.2f}% (")
    assert row[6] == "*98.04%*"
    assert row[1] == "not run"
    assert "LR on eyes: " in text
    assert str(out) not in text


def test_an_empty_study_has_a_page_too(tmp_path):
    page.write(tmp_path)
    text = (tmp_path / "muff.md").read_text()
    assert "Figure: not run." in text
    assert "| WI | not run | *100.00%* |" in text
    assert not any(list(finding(Results.read(tmp_path / "muff"))) for finding in FINDINGS.values())


def test_figures_are_drawn(done, tmp_path):
    assert figures.stability(Results.read(done[0]), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_sensitivity_has_the_papers_words():
    row = {"status": "scored", "sensitivity": "0.25"}
    assert sensitivity_of(row) == 0.25
    assert sensitivity_of(row | {"status": "invalid"}) == "N/A"
    assert sensitivity_of(row | {"status": "not killable"}) == "U/NK"
    assert sensitivity_of(row | {"sensitivity": ""}) == "none"
    assert sensitivity_of(None) is None


def test_the_papers_tables_have_its_averages():
    muff = {"MN": 1.0, "SR": 0.9152, "UE": 0.2892, "UD": 0.8875}
    others = {"MN": 0.1987, "SR": 0.0681, "UE": 0.0087, "UD": 0.4004}
    for subject, row in paper.SENSITIVITY.items():
        for group, means in ((paper.MUFF, muff), (paper.DEEPMUTATION, others)):
            numbers = [row[code] for code in group if isinstance(row[code], float)]
            assert np.mean(numbers) == pytest.approx(means[subject], abs=1e-4)
    cells = [cell for row in paper.EACH_ORIGINAL.values() for code, cell in row.items() if code in paper.DEEPMUTATION]
    assert np.mean([cell for cell in cells if isinstance(cell, float)]) == pytest.approx(0.5715, abs=1e-4)


def test_order_of_units_cheap_and_telling_first():
    units = list(STUDY.plan(list(STUDY.parts), ORDER, SETTINGS))
    assert [(part.NAME, *unit) for part, _, unit in units[:3]] == [("rq3", "WI"), ("rq3", "NI"), ("rq3", "GF")]
    assert [subject for _, subject, _ in units[:15:3]] == list(ORDER)
    assert len({(part.NAME, subject, unit) for part, subject, unit in units}) == len(units)
    assert set(ORDER) == set(SUBJECTS)


def test_too_few_or_equal_numbers_have_no_rank_correlation():
    assert rank_correlation([0.1, 0.2, 0.3], [0.1, 0.2, 0.3]) is None
    assert rank_correlation([0.1] * 5, [0.1, 0.2, 0.3, 0.4, 0.5]) is None


def test_a_table_has_as_many_cells_in_each_row(done):
    results = Results.read(done[0])
    for text in (
        tables.sensitivity(results),
        tables.instances(results),
        tables.stability(results),
        tables.seconds(results),
    ):
        assert len({line.count("|") for line in text.splitlines()}) == 1


def test_a_subject_that_cannot_be_loaded_fails_once(tmp_path, capsys):
    def missing(_data):
        raise mutiny.BadInput("data", None, "a folder")

    units = [(rq3, "mnist", ("WI",)), (rq3, "mnist", ("NI",))]
    assert STUDY.work(units, {"mnist": missing}, SETTINGS, tmp_path, None) == 1
    assert capsys.readouterr().err.count("data=None") == 1
    assert not subject_rows(tmp_path).rows


def test_wrong_names_are_refused_before_anything_runs(tmp_path, capsys):
    assert STUDY.main(["--out", str(tmp_path), "--subjects", "mnits"]) == 2
    assert "mnits" in capsys.readouterr().err
