"""The MUTEN study: rows survive, nothing is computed twice, numbers are `attack`'s, comparisons are fair and exact."""

import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

import mutiny
from mutiny.subjects.architectures import LeNet5
from mutiny.subjects.data import as_data
from mutiny.verbs.attack import result

sys.path.append(str(Path(__file__).parents[2]))

from studies.muten import arms, assaults, choice, comparisons, defenses, epsilon, figures, number, page, paper, tables
from studies.muten.__main__ import STUDY
from studies.muten.answer import answer, details
from studies.muten.comparisons import Comparison, Side
from studies.muten.defended import DEFENSES, DISTILLATION, JPEG, NONE, SMOOTHING
from studies.muten.findings import FINDINGS
from studies.muten.gains import compare
from studies.muten.lab import Lab, Settings, smaller, subject_rows
from studies.muten.results import Results
from studies.muten.subjects import CNN, MNIST, ORDER, RESNET, TARGETS
from studies.surroundings import same_settings

SETTINGS = Settings(rounds=2, made=11, most=8, cut=20)
NAME = MNIST


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
    recipe = mutiny.Recipe(LeNet5, epochs=6, batch_size=32, learning_rate=3e-3)
    model = recipe.train(train, task, 0)
    return mutiny.Subject([model], task=task, train=train, test=images(60, 1), recipe=recipe, name=NAME)


@pytest.fixture(scope="module")
def lab(subject):
    return Lab(subject, SETTINGS)


@pytest.fixture(scope="module")
def done(subject, tmp_path_factory):
    """A folder with a few units of each part, and these units."""
    folder = tmp_path_factory.mktemp("study") / "muten"
    same_settings(folder, SETTINGS)
    units = [unit for unit in STUDY.plan(list(STUDY.parts), [NAME], SETTINGS) if few(unit)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUTINY_CACHE", str(folder.parent / "cache"))
        assert STUDY.work(units, {NAME: lambda _: subject}, SETTINGS, folder, None) == 0
    return folder, units


def few(unit):
    part, _, (defense, attack, level, arm, _) = unit
    if part is epsilon:
        return level in ("0.1", "0.4", "7")
    if part is number:
        return attack == arms.ART and arm in ("diverse 1", "diverse 10", "restarts 2", "restarts 11", "original")
    if part is choice:
        return level == "0.1" and attack == arms.ART
    return (defense, arm) in ((JPEG, arms.ORIGINAL), (JPEG, arms.MUTEN), (DISTILLATION, arms.ORIGINAL)) and (
        attack == arms.ART
    )


def row_of(folder, attack, level, arm, number="0", defense=NONE):
    return assaults.rows(folder).get(NAME, defense, attack, level, arm, number)


@pytest.mark.parametrize("level", ["0.1", "0.4"])
def test_a_row_is_what_attack_says(done, lab, subject, level):
    starts = ["pgd(iterations=2, step=0.1, restarts=6)", "pgd(iterations=2, restarts=6)"]
    found = mutiny.attack(
        subject.models[0], "pgd(iterations=2, step=0.1)", float(level), beside=starts,
        mutants=arms.mutants(arms.MUTEN, SETTINGS.made), data=lab.images(arms.ART, 1), task=subject.task, seed=1,
    )  # fmt: skip
    both = [
        (arms.ART, arms.MUTEN, result.MUTANTS), (arms.ART, arms.ORIGINAL, result.ORIGINAL),
        (arms.ART, arms.RESTARTED, starts[0]), (arms.SANE, arms.RESTARTED, starts[1]),
    ]  # fmt: skip
    for attack, arm, way in both:
        one, row = found.levels[0].ways[way], row_of(done[0], attack, level, arm, "1")
        assert (assaults.bools(row["fooled"]) == one.fooled).all()
        assert (assaults.bools(row["correct"]) == found.levels[0].correct).all()
        assert (row["call"], int(row["passes"])) == (one.attack, one.passes)


def test_no_image_is_in_two_rounds_and_slow_attacks_have_the_first_of_them(lab):
    first, second = (lab.images(arms.ART, number).first(8) for number in (0, 1))
    assert not any(torch.equal(one, other) for one in first for other in second)
    assert torch.equal(lab.images(arms.FIXED, 0).first(3), first[:3])
    whole = Lab(lab.subject, Settings(most=25))
    assert [len(whole.images(attack, 0)) for attack in (arms.SANE, arms.SEARCHED)] == [25, TARGETS[NAME].few]


def test_arms_have_the_same_number_of_passes(done):
    for attack in (arms.ART, arms.SANE):
        spent = {arm: int(row_of(done[0], attack, "0.1", arm)["passes"]) for arm in arms.FOUR}
        assert spent[arms.MUTEN] == spent[arms.LONGER] == 6 * spent[arms.ORIGINAL]
        assert spent[arms.ORIGINAL] < spent[arms.RESTARTED] <= spent[arms.MUTEN]


def test_the_papers_settings_reach_the_attacks():
    for name in ORDER:
        target = TARGETS[name]
        literal = arms.way(target, arms.ART, target.level, arms.ORIGINAL)
        assert (literal.step, literal.restarts, literal.random_start) == (0.1, 1, False)
        assert literal.iterations == (40 if name == MNIST else 20)
        sane = arms.way(target, arms.SANE, target.level, arms.RESTARTED)
        assert sane.length(0.08) == pytest.approx(2.5 * 0.08 / literal.iterations)
        carlini = arms.way(target, arms.SEARCHED, target.constant, arms.MUTEN)
        assert (carlini.iterations, carlini.rate, carlini.searches) == (100, 0.1, 10)
        assert carlini.constant == float(target.constant)
        assert len(target.levels) == len(target.constants) == 7
    for name in (CNN, RESNET):  # the reason for this study
        assert all(Fraction(level) < Fraction(1, 10) for level in TARGETS[name].levels)


def row(number, correct, fooled, level="0.1"):
    return {"round": number, "level": level, "correct": correct, "fooled": fooled, "call": "", "passes": "1",
            "seconds": "1"}  # fmt: skip


def test_one_level_is_compared_by_mcnemars_test():
    rng = np.random.default_rng(0)
    right, one, other = (["".join(rng.choice(["0", "1"], 40, p=[0.3, 0.7])) for _ in range(2)] for _ in range(3))
    found = compare(
        [([row(str(r), right[r], one[r]) for r in (0, 1)], [row(str(r), right[r], other[r]) for r in (1, 0)])]
    )
    wins = losses = kept = 0
    for known, a, b in zip("".join(right), "".join(one), "".join(other), strict=True):
        kept += known == "1"
        wins += (known, a, b) == ("1", "1", "0")
        losses += (known, a, b) == ("1", "0", "1")
    assert found.value == pytest.approx((wins - losses) / kept)
    assert found.p_value == pytest.approx(stats.binomtest(wins, wins + losses).pvalue)
    assert found.interval.low <= found.value <= found.interval.high
    assert len(found.rounds) == 2


def test_several_levels_are_compared_image_by_image():
    first = [[row("0", "1110", "1110")], [row("0", "1110", "1111", "0.2")]]
    second = [[row("0", "1110", "0010")], [row("0", "1110", "0111", "0.2")]]
    found = compare(zip(first, second, strict=True))
    assert (found.first, found.levels) == (1.0, 2)
    assert found.value == pytest.approx((2 + 1 + 0) / 2 / 3)
    assert found.p_value == pytest.approx(0.5)  # of the signs of 2 and 1, both the same
    assert compare([([], second[0])]) is None
    assert compare([([row("0", "00", "11")], [row("0", "00", "01")])]) is None  # nothing to lose


def test_rounds_that_a_stopped_run_lacks_are_left_out():
    sides = [[row("0", "11", "11"), row("1", "11", "00")], [row("0", "11", "01")]]
    assert compare([tuple(sides)]).rounds == (0.5,)


def test_defended_networks_are_trained_once(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("MUTINY_CACHE", str(tmp_path))
    fresh = [Lab(lab.subject, SETTINGS) for _ in range(2)]
    for defense in (DISTILLATION, SMOOTHING):
        trained = fresh[0].model(defense)
        with monkeypatch.context() as patch:
            patch.setattr(mutiny.Recipe, "train", lambda *_, **__: pytest.fail("trained again"))
            again = fresh[1].model(defense)
        assert torch.equal(trained.head.weight, again.head.weight)
        assert not torch.equal(trained.head.weight, lab.original.head.weight)
    assert fresh[0].model(NONE) is lab.original


def test_a_defense_is_judged_on_the_defended_network(done, lab):
    row = row_of(done[0], arms.ART, "0.1", arms.MUTEN, defense=JPEG)
    data = lab.images(arms.ART, 0)
    with torch.no_grad():
        right = lab.model(JPEG)(data.first(len(data))).argmax(1).numpy() == data.targets
    assert (assaults.bools(row["correct"]) == right).all()
    assert {row["defense"] for row in defenses.accuracy_rows(done[0]).rows} == {JPEG, DISTILLATION}


def test_what_two_figures_share_is_done_once(done, monkeypatch):
    units = [unit for unit in done[1] if unit[2][3] == arms.MUTEN and unit[2][0] == NONE]
    assert {part.NAME for part, _, _ in units} == {"epsilon", "choice"}
    assert len({unit for _, _, unit in done[1]}) == len(assaults.rows(done[0]).rows) < len(done[1])


def test_a_resumed_study_does_nothing_twice(done, monkeypatch):
    folder, units = done
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".png"}
    for part in STUDY.parts.values():
        monkeypatch.setattr(part, "run", lambda *_: pytest.fail("ran again"))
    assert STUDY.work(units, {NAME: lambda _: pytest.fail("loaded again")}, SETTINGS, folder, None) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".png"} == before


def test_a_unit_that_is_stopped_leaves_no_row_and_is_done_next_time(tmp_path, lab, monkeypatch):
    unit = (NONE, arms.ART, "0.1", arms.ORIGINAL, "0")
    with monkeypatch.context() as patch:
        patch.setattr(assaults.Rows, "put", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            epsilon.run(lab, tmp_path, unit)
    assert (NAME, *unit) not in epsilon.rows(tmp_path)
    assert epsilon.run(lab, tmp_path, unit)
    assert (NAME, *unit) in epsilon.rows(tmp_path)


def test_the_page_shows_ours_the_papers_and_what_was_not_run(done):
    out = done[0].parent
    page.write(out)
    text = (out / "muten.md").read_text()
    lines, results = text.splitlines(), Results.read(done[0])
    fooled, right = (
        np.concatenate([assaults.bools(row_of(done[0], arms.ART, "0.4", arms.MUTEN, r)[name]) for r in ("0", "1")])
        for name in ("fooled", "correct")
    )
    at = lines.index("MNIST, LeNet-5, PGD, step 0.1:")
    cells = next(line for line in lines[at:] if line.startswith("| 0.4 |")).strip("| ").split(" | ")
    assert cells[2].startswith(f"{100 * fooled[right].mean():.0f} (")
    assert next(line for line in lines[at:] if line.startswith("| 0.2 |")).count("not run") == 4
    assert "| *62* | *97* |" in text
    assert "| bit depth | not run | not run | not run | not run | *51* | *95* |" in text
    gain = results.gain(NAME, comparisons.FAIR, TARGETS[NAME].levels)
    assert lines[2] == answer(results)
    assert f"{100 * gain.value:+.1f} on MNIST, LeNet-5" in lines[2]
    assert all(f"- {line}" in text for line in details(results))
    assert str(out) not in text


def test_the_verdict_follows_from_the_rows(done, tmp_path):
    rows = [dict(row) for row in assaults.rows(done[0]).rows]
    for row in rows:
        good = (row["attack"], row["arm"]) == (arms.SANE, arms.MUTEN)
        row["fooled"] = ("1" if good else "0") * len(row["fooled"])
    won = Results({}, [], [], rows, [])
    assert "of 1 networks MUTEN is significantly better on 1 (MNIST, LeNet-5) and" in answer(won)
    assert "not run" in answer(Results({}, [], [], [], []))
    lost = Results({}, [], [], [row | {"fooled": row["correct"]} for row in rows], [])
    assert "significantly better on none and significantly worse on none.**" in answer(lost)


def test_an_empty_study_has_a_page_too(tmp_path):
    page.write(tmp_path)
    text = (tmp_path / "muten.md").read_text()
    assert "Figure: not run." in text
    results = Results.read(tmp_path / "muten")
    assert [name for name, finding in FINDINGS.items() if list(finding(results))] == ["defenses"]  # of the paper alone


def test_every_table_has_as_many_cells_in_each_row(done):
    results = Results.read(done[0])
    whole = [name for name in ORDER if TARGETS[name].whole]
    for text in (
        tables.subjects(results), tables.answer(results), tables.by_round(results), tables.nearest(results),
        tables.accuracies(results), tables.passes(results), tables.times(results),
        *(tables.epsilon(results, name, attack) for name in ORDER for attack in (*arms.STEPS, arms.FIXED)),
        *(tables.of_all(results, name) for name in ORDER),
        *(table(results, name) for table in (tables.numbers, tables.kinds, tables.defended) for name in whole),
    ):  # fmt: skip
        assert len({line.count("|") for line in text.splitlines()}) == 1


def test_figures_are_drawn(done, tmp_path):
    results = Results.read(done[0])
    for draw in (figures.epsilon, figures.gains, figures.numbers, figures.kinds):
        assert draw(results, tmp_path / "figure.png")
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "figure.png").unlink()


def test_comparisons_give_the_first_side_mutants_and_go_from_the_papers_to_fair_ones():
    assert all(one.first.arm == arms.MUTEN and one.second.arm != arms.MUTEN for one in comparisons.ALL)
    assert comparisons.ALL[0] == Comparison(
        comparisons.PAPERS.title, Side(arms.ART, arms.MUTEN), Side(arms.ART, "original")
    )
    assert comparisons.FAIR.first.attack == comparisons.FAIR.second.attack == arms.SANE
    assert len({one.title for one in comparisons.ALL}) == len(comparisons.ALL)


def test_the_papers_numbers_fit_one_another():
    assert max(theirs - alone for _, alone, theirs in paper.DEFENSES.values()) <= paper.MOST
    assert set(paper.DEFENSES) == set(DEFENSES)
    assert set(paper.ACCURACY) == set(paper.NAMES) == set(ORDER)
    assert paper.NUMBER[arms.ART][10] <= paper.MOST


def test_small_networks_come_first_and_figure_2_before_the_rest():
    units = STUDY.plan(list(STUDY.parts), ORDER, Settings())
    assert [subject for _, subject, _ in units] == sorted([s for _, s, _ in units], key=ORDER.index)
    assert [unit for part, _, unit in units[:4]] == [(NONE, arms.ART, "0.1", arm, "0") for arm in arms.FOUR]
    for part in STUDY.parts.values():
        own = [(subject, unit) for of, subject, unit in units if of is part]
        assert len(set(own)) == len(own) > 0
    assert {part.NAME for part, subject, _ in units if subject == RESNET} == {"epsilon"}
    assert {unit[4] for _, subject, unit in units if subject == CNN} == {"0", "1"}


def test_a_smaller_subject_keeps_all_classes(subject):
    whole = mutiny.Subject(
        task=subject.task, train=subject.train, test=subject.test, recipe=mutiny.Recipe(LeNet5), name=NAME
    )
    found = smaller(whole)
    assert len(set(found.test.targets.tolist())) == 10
    assert found.recipe.build is LeNet5


def test_other_settings_are_refused_in_the_same_folder(tmp_path):
    same_settings(tmp_path, SETTINGS)
    with pytest.raises(mutiny.BadInput, match="another --out"):
        same_settings(tmp_path, replace(SETTINGS, made=7))


def test_a_subject_that_cannot_be_loaded_fails_once(tmp_path, capsys):
    def missing(_data):
        raise mutiny.BadInput("data", None, "a folder")

    units = [(epsilon, CNN, (NONE, arms.ART, level, arms.ORIGINAL, "0")) for level in ("2/255", "4/255")]
    assert STUDY.work(units, {CNN: missing}, SETTINGS, tmp_path, None) == 1
    assert capsys.readouterr().err.count("data=None") == 1
    assert not subject_rows(tmp_path).rows
