"""The notice study: tables hold what `assess` finds, draws are disjoint, nothing is done twice, the page is whole."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import mutiny
import toys
from mutiny.faults.evaluation import Runner
from mutiny.faults.parsing import as_operators
from mutiny.verbs.assess.expected_labels import expect_labels
from mutiny.verbs.assess.reference import Reference

sys.path.append(str(Path(__file__).parents[2]))

from studies.notice import alarms, coverage, growth, ordering, page, planner, reference, spread, tables, unlabeled
from studies.notice.__main__ import STUDY, plan
from studies.notice.drawing import groups, of_group
from studies.notice.findings import FINDINGS
from studies.notice.lab import BATCH, QUICK, Lab, Settings
from studies.notice.ladder import Ladder
from studies.notice.results import Results
from studies.notice.subjects import DESIGNS, SUBJECTS, Design
from studies.notice.table import TEST, FaultTable, flips, joined
from studies.surroundings import same_settings

from mutiny.core.stats.notice_power import notice_power

SETTINGS = Settings(draws=3)
DESIGN = Design(originals=6, many=1, seeds=2, size=150, ladders=2, operators="GF")
UNITS = [
    (reference, ("250",)),
    (reference, (reference.SEEN,)),
    (reference, (unlabeled.OTHERS,)),
    (reference, (f"{reference.SLOPE}250",)),
    (reference, (f"{reference.SOFT}250",)),
    (reference, (f"{reference.WITH_TRAIN}250",)),
    (reference, (f"{reference.BOTH}250",)),
    (spread, ("1",)),
    (spread, ("5",)),
    (coverage, ("5", coverage.THIS)),
    (coverage, ("5", coverage.OTHER)),
    *((growth, (order,)) for order in "12"),
    *((ordering, (question,)) for question in ordering.QUESTIONS),
    *((alarms, unit) for unit in alarms.units(noise=True)),
    (planner, ("2",)),
]


def toy(_data=None):
    return mutiny.Subject(
        [toys.classifier(seed) for seed in range(6)],
        task=mutiny.Classification(3),
        train=toys.blobs(240),
        validation=toys.blobs(400, seed=2),
        test=toys.blobs(300, seed=1),
        name="digits",
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def lab(cache):
    return Lab(toy(), SETTINGS, DESIGN, cache)


@pytest.fixture(scope="module")
def study(cache):
    return replace(STUDY, lab=lambda subject, settings: Lab(subject, settings, DESIGN, cache))


@pytest.fixture(scope="module")
def units():
    numbers = [("assess", 6), ("ladder", 2), ("harmless", 6)]
    faults = [(kind, str(original)) for kind, count in numbers for original in range(count)]
    return [(part, "digits", unit) for part, unit in [*((STUDY.parts["faults"], unit) for unit in faults), *UNITS]]


@pytest.fixture(scope="module")
def done(tmp_path_factory, study, units):
    """A folder with units of each part."""
    folder = tmp_path_factory.mktemp("study") / "notice"
    same_settings(folder, SETTINGS)
    assert study.work(units, {"digits": toy}, SETTINGS, folder, None) == 0
    return folder


def made(change, cost=None, original=None, trained=None, held_out=None):
    """A table of given changes."""
    change = np.array(change, np.int8)
    count = len(change)
    return FaultTable(
        operator=np.full(count, "GF"),
        parameter=np.full(count, "sd"),
        strength=np.linspace(0.1, 1, count),
        original=np.zeros(count, np.int64) if original is None else np.array(original),
        seed=np.zeros(count, np.int64),
        cost=np.full(count, 2.0) if cost is None else np.array(cost, float),
        trained=np.full(count, np.nan) if trained is None else np.array(trained, float),
        held_out=np.full(count, np.nan) if held_out is None else np.array(held_out, float),
        trained_error=np.full(count, 1e-9),
        held_out_error=np.full(count, 1e9),
        change={TEST: change},
        right={TEST: np.ones((1, change.shape[1]), np.int8)},
        numbers=np.array([0]),
    )


def test_a_table_has_the_faults_that_assess_finds(lab):
    found = mutiny.assess(toy(), "GF", seeds=2, batch_size=BATCH, originals=6)
    table = lab.all("assess")
    table = table.of(table.seed < 2)
    ours = zip(table.operator, table.strength, table.original, table.seed, table.cost, table.noticed(), strict=True)
    theirs = [(f.operator, f.strength, f.original, f.seed, f.cost, f.noticed) for f in found.faults]
    assert sorted(ours) == sorted(theirs)
    assert len(theirs) > 30


def test_expected_costs_are_those_that_assess_measures_on_an_unlabeled_pool(lab):
    """With the operators that the ladder is made of."""
    ladder, some = lab.table("ladder", 1), toy()
    pool = Reference("unlabeled", {f"pool for original {n + 1}": some.validation for n in range(6)})
    runner = Runner(lab.models, some.task, pool.sets, some.forward, 0, BATCH)
    expect_labels(runner, pool)
    expected = lab.expected[unlabeled.OTHERS][-len(ladder) :]
    assert len(ladder) >= 10
    for row in range(len(ladder)):
        (operator,) = as_operators(ladder.parameter[row].partition(" ")[2])
        patch = runner.patch(operator.at(float(ladder.strength[row])), 1, 0)
        change = runner.change(patch, 1, pool.split(1))
        assert np.allclose(change, expected[row], atol=2e-3)


def test_counts_and_verdicts_are_those_of_a_slow_loop():
    change = np.random.default_rng(0).choice([-1, 0, 1], (20, 60), p=[0.05, 0.75, 0.2])
    table, positions = made(change), np.array([0, 5, 5, 7, *range(20, 50)])
    for row, noticed, points in zip(change, table.noticed(positions), table.points(positions), strict=True):
        broken, repaired = (sum(row[at] == sign for at in positions) for sign in (1, -1))
        changed = broken + repaired
        p_value = stats.binomtest(broken, changed, alternative="greater").pvalue if changed else 1.0
        assert noticed == (p_value < 0.05)
        assert points == pytest.approx(100 * (broken - repaired) / len(positions))


def test_a_table_survives_a_file_and_parts_are_joined(tmp_path):
    first, second = made([[1, 0, -1], [0, 0, 1]]), made([[1, 1, 1, 0]], original=[3])
    first.save(tmp_path / "a" / "table.npz")
    both = joined([FaultTable.load(tmp_path / "a" / "table.npz"), second])
    assert both.change[TEST].tolist() == [[1, 0, -1], [0, 0, 1], [1, 1, 1]]
    assert both.original.tolist() == [0, 0, 3]
    assert both.operator.tolist() == ["GF"] * 3
    assert flips(both).tolist() == [2, 1, 3]


@given(st.integers(1, 40), st.integers(1, 10), st.integers(1, 6), st.integers(0, 5))
def test_groups_are_disjoint_and_have_equal_shares_of_folds(count, size, folds, seed):
    found = groups(range(count), size, folds, np.random.default_rng(seed))
    assert len(found) == count // size
    members = [number for group in found for number in group.tolist()]
    assert len(set(members)) == len(members)
    if count % folds == 0 and size % folds == 0:
        assert all(np.bincount(group % folds).tolist() == [size // folds] * folds for group in found)


def test_a_group_has_ten_random_choices_over_all_originals(lab):
    table = lab.all("assess")
    alone, five = (of_group(table, np.array(group)) for group in ([0], range(5)))
    assert set(alone.seed.tolist()) == set(range(10))
    assert set(five.seed.tolist()) == {0, 1}


def test_costs_of_a_group_have_the_ratio_of_the_group():
    table = made([[1, 0]] * 4, original=[0, 0, 1, 1], trained=[2, 4, 1, 3], held_out=[1, 2, 4, 0])
    assert of_group(table, np.array([0])).cost.tolist() == [1, 2]
    assert of_group(table, np.array([0, 1])).cost == pytest.approx([1.4, 2.8, 0.7, 2.1])
    unscaled = made([[1, 0]], cost=[3.0])
    assert of_group(unscaled, np.array([0])).cost.tolist() == [3.0]


def test_the_repeated_search_finds_faults_in_every_bin_if_costs_are_exact():
    strength = 3.0 ** -np.arange(0, 5, 0.2)
    table = made(np.zeros((len(strength), 4)))
    table = replace(table, strength=strength)
    costs = 60 * strength**1.5
    tried = Ladder(table).tried(costs)
    assert tried.sum() < len(strength)
    for low in (0.5, 1, 2, 4):
        assert ((costs[tried] >= low) & (costs[tried] < 2 * low)).any()


def test_easy_inputs_are_flipped_least(lab):
    table = lab.all("assess")
    positions = np.arange(0, 300, 2)
    easy = ordering.easiest(table, np.array([4, 5]), positions, 60, np.random.default_rng(0))
    flipped = flips(table.of(np.isin(table.original, [4, 5])))
    assert set(easy) <= set(positions)
    assert flipped[easy].max() <= flipped[np.setdiff1d(positions, easy)].min()


def test_ten_sets_have_one_size_and_fewer_easy_inputs_each(lab):
    sets = ordering.ten_sets(lab, lab.all("assess"), np.array([4, 5]), np.random.default_rng(0))
    assert {len(np.unique(chosen)) for chosen in sets} == {150}
    common = [len(np.intersect1d(sets[0], chosen)) for chosen in sets]
    assert common[0] == 150 > common[5] > common[-1]


def test_a_larger_test_set_of_equal_inputs_notices_more(done):
    rows = growth.rows(done).of("digits", "1")
    assert [int(row["inputs"]) for row in rows] == sorted(int(row["inputs"]) for row in rows)
    assert float(rows[-1]["rate"]) > float(rows[0]["rate"])


def test_pooled_faults_of_one_original_have_its_rate(lab):
    row = spread.summary(lab, lab.all("assess"), 1)
    assert row["groups"] == 1
    assert row["mean"] == row["pooled"]
    assert row["bias"] == 0


def test_a_resumed_study_does_nothing_twice(done, study, units, monkeypatch):
    before = {path.name: path.read_bytes() for path in done.iterdir()}
    for part in STUDY.parts.values():
        monkeypatch.setattr(part, "run", lambda *_: pytest.fail("ran again"))
    assert study.work(units, {"digits": lambda _: pytest.fail("loaded again")}, SETTINGS, done, None) == 0
    assert {path.name: path.read_bytes() for path in done.iterdir()} == before


def test_a_table_is_not_made_again(cache, lab, monkeypatch):
    monkeypatch.setattr("studies.notice.lab.KINDS", {})
    again = Lab(toy(), SETTINGS, DESIGN, cache)
    assert len(again.table("assess", 0)) == len(lab.table("assess", 0))
    with pytest.raises(KeyError):
        Lab(toy(), Settings(seed=1), DESIGN, cache).table("assess", 0)


def test_the_page_shows_numbers_and_what_was_not_run(done):
    page.write(done.parent)
    text = (done.parent / "notice.md").read_text()
    rate = float(spread.rows(done).get("digits", "5")["mean"])
    row = next(line for line in text.splitlines() if line.startswith("| digits | 5 |"))
    assert f"| {100 * rate:.0f}% |" in row
    assert "Not run: mnist, fashion-mnist, cifar10." in text
    assert str(done.parent) not in text
    assert "nan" not in text.lower()


def test_an_empty_study_has_a_page_too(tmp_path):
    page.write(tmp_path)
    text = (tmp_path / "notice.md").read_text()
    assert "Figure: not run." in text
    assert not any(list(finding(Results.read(tmp_path / "notice"))) for finding in FINDINGS.values())


def test_every_table_has_as_many_cells_in_each_row(done):
    results = Results.read(done)
    for name in "subjects done spread one coverage growth halves removed ten alarms reference planner".split():
        text = getattr(tables, name)(results)
        assert len({line.count("|") for line in text.splitlines()}) == 1, name
        assert len(text.splitlines()) > 2, name


def test_units_are_named_once_and_every_subject_has_a_design():
    units = plan([*STUDY.parts], [*SUBJECTS], SETTINGS)
    assert len({(part.NAME, subject, unit) for part, subject, unit in units}) == len(units)
    assert set(SUBJECTS) == set(DESIGNS)
    assert {part.NAME for part, _, _ in units} == set(STUDY.parts)
    assert len(plan([*STUDY.parts], ["digits"], QUICK)) < len(plan([*STUDY.parts], ["digits"], SETTINGS))


def test_wrong_names_are_refused_before_anything_runs(tmp_path, capsys):
    assert STUDY.main(["--out", str(tmp_path), "--subjects", "mnits"]) == 2
    assert "mnits" in capsys.readouterr().err


@pytest.mark.parametrize("spread", [0.0, 0.4])
def test_power_without_luck_is_that_on_inputs_without_end(spread):
    rng = np.random.default_rng(0)
    factors = rng.gamma(1 / spread**2, spread**2, 3000) if spread else np.ones(3000)
    broken, repaired = 0.03 * factors, np.full(3000, 0.004)
    u = rng.random((3000, 400))
    change = np.where(u < broken[:, None], 1, np.where(u > 1 - repaired[:, None], -1, 0))
    truth = np.mean([notice_power(350, *pair) for pair in zip(broken, repaired, strict=True)])
    assert planner.power_on_many(change, 350) == pytest.approx(truth, abs=0.015)
    shares = zip((change > 0).mean(axis=1), (change < 0).mean(axis=1), strict=True)
    assert np.mean([notice_power(350, *pair) for pair in shares]) < truth - 0.02  # with the luck of 400 inputs
