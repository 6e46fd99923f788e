"""Sections of the other verbs, from their JSON, and what only a store has."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from rich.console import Console

from mutiny.core.errors import BadInput
from mutiny.core.json_values import to_plain
from mutiny.core.results import LocatedSubject, ModelAndInputs, RankedPool, RankedSubject, TaskRecord
from mutiny.core.stats import Interval
from mutiny.models import Patch
from mutiny.reports.formatting import NONE, RANGE
from mutiny.reports.page.attack import attack_section, gallery_of, png_of
from mutiny.reports.page.locate import locate_section, shades_of
from mutiny.reports.page.repair import repair_section
from mutiny.reports.page.select import select_section
from mutiny.reports.select_text import select_text
from mutiny.verbs.attack.result import BUDGET, MUTANTS, ORIGINAL, SANE, AttackOutcome, Level, Robustness
from mutiny.verbs.locate.ablation import Ablation, Effect
from mutiny.verbs.locate.measures import Ochiai
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.spectrum import Spectrum
from mutiny.verbs.locate.suspects import suspects
from mutiny.verbs.repair.result import PatchSummary, Repair
from mutiny.verbs.repair.verdict import Change
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.select.quality import Truth, quality
from mutiny.verbs.select.result import Ranking, Selection

WRONG = np.array([False, True, False, True] + [False] * 36)
COMMON = {
    "settings": {"seed": 0},
    "versions": {"mutiny": "0.1.0"},
    "notes": ("A note.",),
    "seconds": 1.0,
    "created": "2026",
}


def ranking(method, order):
    order = np.array(order)
    return Ranking(method, method.upper(), order, np.zeros(len(order)), 0.1, quality=quality(order, Truth(WRONG), 4))


TASK = TaskRecord("classification", "accuracy", 10, "logits")
SELECTION = Selection(
    subject=RankedSubject("toy", "Toy", 1, TASK, RankedPool(40, labeled=True, wrong=2)),
    budget=4,
    rankings=(ranking("gini", [3, 1, *(n for n in range(40) if n not in (1, 3))]), ranking("other", list(range(40)))),
    skipped={"dsa": "no features"},
    references={"ideal": {"fdr": 0.5, "apfd": 0.9, "rauc": None}},
    **COMMON,
)


def texts(section):
    return " ".join(block.text for block in section.blocks if block.kind == "text")


def of(section, kind):
    return [block for block in section.blocks if block.kind == kind]


def test_a_selection():
    section = select_section(SELECTION)
    assert texts(section) == "GINI chooses 4 of 40 inputs: 2 of these are answered wrongly (50%), against 5.0% of all."
    (chart,) = of(section, "chart")
    lines = {line.name: line.points for line in chart.picture.lines}
    assert lines["gini"][:4] == ((0, 0), (1, 1), (2, 2), (3, 2))
    assert lines["ideal"] == ((0, 0), (2, 2), (16, 2))
    assert lines["random, on average"][1] == (16, pytest.approx(0.8))
    assert chart.picture.marks == ((4, "budget 4"),)
    assert [row.cells[0].text for row in of(section, "table")[0].rows] == ["gini", "other", "(ideal)"]
    assert of(section, "fold")[0].blocks[0].text == "By gini: 3, 1, 0, 2."
    assert of(section, "notes")[0].items == ("A note.", "dsa is left out: no features.")


@pytest.mark.parametrize(
    ("methods", "told"),
    [
        ({"dsa": ("dsa reads fc1.", "Few classes.")}, ("dsa reads fc1.", "Few classes.")),
        ({"dsa": ("dsa reads fc1.", "Few classes."), "lsa": ("lsa reads fc1.",)}, ("dsa, lsa read fc1.",)),
        ({"gini": ()}, ()),
    ],
)
def test_a_selection_says_where_features_were_read(methods, told):
    rankings = tuple(replace(ranking(name, range(40)), notes=notes) for name, notes in methods.items())
    found = replace(SELECTION, rankings=rankings, notes=(), skipped={})
    notes = of(select_section(Selection.from_json(found.to_json())), "notes")
    assert [block.items for block in notes] == ([told] if told else [])
    console = Console(width=200)
    with console.capture() as capture:
        console.print(select_text(found))
    assert [line[6:].strip() for line in capture.get().splitlines() if line.startswith(" note ")] == [*told]


def repeated(mean, low, high):
    return {"fdr": Repeated(mean, 3, Interval(low, high, 0.95, "student"))}


REPEATED = replace(
    SELECTION,
    settings={"seed": 0, "repeats": 3},
    rankings=(
        replace(SELECTION.rankings[0], repeated=repeated(0.25, -0.1, 0.6)),
        replace(SELECTION.rankings[1], repeated=repeated(0.375, 0.125, 0.625)),
    ),
)


def test_repeats_say_the_same_on_the_page_and_in_a_terminal():
    section = select_section(Selection.from_json(REPEATED.to_json()))
    (table,) = of(section, "table")
    assert [column.title for column in table.columns] == ["Method", "Found", "FDR", "95%", "APFD", "RAUC"]
    assert "mean over 3 repeats" in table.columns[2].hint
    rows = [[cell.text for cell in row.cells][:4] for row in table.rows]
    assert rows[0] == ["gini", "2", "25.0%", f"0%{RANGE}60.0%"]
    assert rows[1] == ["other", "2", "37.5%", f"12.5%{RANGE}62.5%"]
    assert rows[2][3] == NONE
    assert [line.name for line in of(section, "chart")[0].picture.lines][:2] == ["other", "gini"]
    console = Console(width=80)
    with console.capture() as capture:
        console.print(select_text(REPEATED))
    shown = [line.split()[:3] for line in capture.get().splitlines() if line.startswith((" gini", " other"))]
    assert shown == [["other", "37.5%", "25.0%"], ["gini", "25.0%", "35.0%"]]


def test_repeats_that_cannot_be_are_refused():
    found = replace(REPEATED.rankings[0], repeated=repeated(1.5, 1.0, 2.0))
    with pytest.raises(BadInput, match=r"metrics\.repeated\.fdr=1.5: expected a number between 0 and 1"):
        Selection.from_json(replace(REPEATED, rankings=(found,)).to_json())


def test_a_selection_without_labels_says_so():
    plain = Selection(
        subject=RankedSubject("toy", "Toy", 1, TASK, RankedPool(3)),
        budget=2,
        rankings=(Ranking("gini", "GINI", np.array([2, 0, 1]), np.zeros(3), 0.1),),
        skipped={},
        references={},
        names=("a.png", "<b>.png", "c.png"),
        **COMMON,
    )
    section = select_section(plain)
    assert "the labels of the pool are not known" in texts(section)
    assert of(section, "fold")[0].blocks[0].text == "By gini: c.png, a.png."
    assert not of(section, "chart")


def location(failing=2):
    active = np.zeros((1, 2, 5), np.int64)
    active[0, 0], active[0, 1] = [0, 5, 8, 8, 1], [2, 1, 2, 0, 2]
    spectrum = Spectrum(("conv", "fc"), (2, 3), active, np.array([[8, failing]]))
    found = suspects(spectrum, Ochiai(), 3, suspicious_only=True)
    ablation = Ablation(2, 8, Effect(1, 3), (Effect(0, 1), Effect(1, 2)), 0.667, 0.333)
    return Location(
        subject=LocatedSubject("toy", "Toy", TASK, 10, "test", 5, {"conv": 2, "fc": 3}),
        measure="ochiai",
        suspects=found,
        by_class={0: found[:1]},
        spectrum=spectrum,
        ablation=ablation,
        failing=failing,
        passing=8,
        **{**COMMON, "settings": {"seed": 0, "label": None, "silent": False}},
    )


def test_a_location_has_a_map_of_all_neurons():
    found = location()
    section = locate_section(found)
    (chart,) = of(section, "chart")
    counts = found.spectrum.counts()
    slow = [ef / np.sqrt(2 * (ef + ep)) for ef, ep in zip(counts.ef, counts.ep, strict=True)]
    low, high = min(slow), max(slow)
    np.testing.assert_allclose(np.concatenate(chart.picture.shades), [(one - low) / (high - low) for one in slow])
    assert chart.picture.marks[0] == (0, 0, 1)  # active on all failures and on no pass
    assert "Silencing the 3 suspects fixes 1 of 2 failures and breaks 3 of 8 passes." in texts(section)
    assert "3 random other neurons of the same layers, 2 times: fixes 0.5 on average" in texts(section)
    assert of(section, "fold")[0].title == "Class 0"


def test_a_location_from_json_has_the_suspects_alone():
    document = Location.from_json({**location().to_json(), "synthesis": None})
    (chart,) = of(locate_section(document), "chart")
    assert chart.picture.shades == ()
    assert "only in the campaign file" in chart.caption


def test_nobody_is_to_blame():
    found = location()
    nobody = replace(found, suspects=(), by_class={}, ablation=None)
    section = locate_section(nobody)
    assert "no suspect among 5 hidden neurons" in texts(section)
    assert not of(section, "chart") + of(section, "table")


def test_infinite_suspicion_is_the_darkest():
    shades = shades_of((np.array([0.0, np.inf]), np.array([np.nan, 2.0])))
    assert [each.tolist() for each in shades] == [[0.0, 1.0], [0.0, 1.0]]
    assert shades_of((np.array([np.inf, -np.inf]),))[0].tolist() == [1.0, 0.0]
    assert shades_of((np.zeros(2),))[0].tolist() == [0.0, 0.0]


def repaired(before, after):
    target = ~np.array(before)
    change = Change.of(target, np.array(before), np.array(after))
    return Repair(
        subject=ModelAndInputs("toy", "Toy", TASK, 40),
        method="search",
        target={"kind": "all", "failures": 3},
        patch=Patch(()),
        changes={"held-out": change},
        original=None,
        loaded_patch=PatchSummary(7, {"fc.weight": 7}, "0"),
        **COMMON,
    )


def test_a_repair():
    section = repair_section(repaired([False] * 20 + [True] * 20, [True] * 20 + [True] * 19 + [False]))
    assert texts(section).startswith(
        "Repaired: search changes 7 weights; this fixes 20 of 20 held-out failures (100%, 95%"
    )
    assert "breaks 1 of 20 held-out passes (5%, 95% interval" in texts(section)
    assert "Gain, fixed minus broken: +47.50% of held-out inputs" in texts(section)
    (table,) = of(section, "table")
    assert [cell.text for cell in table.rows[0].cells][2:] == ["20 of 20", "1 of 20", "50.00%", "97.50%"]


def test_a_repair_that_changes_nothing():
    section = repair_section(repaired([False, True], [False, True]))
    assert texts(section).startswith("No repair shown: ")
    assert "Gain" not in texts(section)


def robustness(shape=(4, 1, 3, 3), correct=(True, True, True, False)):
    before = torch.zeros(shape)
    after = before.clone()
    after[1].fill_(0.5)
    fooled = np.array([False, True, False, True])

    def assault(fooled):
        return AttackOutcome("pgd", after, np.array([0, 7, 2, 3]), fooled, {"l2": np.ones(4)}, 10, 1.0)

    levels = (
        Level(0.01, {name: assault(np.zeros(4, bool)) for name in (MUTANTS, ORIGINAL, BUDGET)}, np.array(correct)),
        Level(0.1, {name: assault(fooled) for name in (MUTANTS, ORIGINAL, BUDGET)}, np.array(correct)),
    )
    return Robustness(
        subject=ModelAndInputs("toy", "Toy", TASK, 4),
        attack="pgd",
        mutants=("GF 1%",),
        similarity=np.ones((2, 2)),
        levels=levels,
        indices=np.array([10, 11, 12, 13]),
        inputs=before,
        labels=np.array([0, 1, 2, 3]),
        **COMMON,
    )


def test_an_attack_has_a_gallery_of_those_that_are_fooled_first():
    section = attack_section(robustness())
    (gallery,) = of(section, "gallery")
    assert gallery.columns[0][0] == "1 as 7"
    photos = gallery.columns[0][1]
    assert photos[1].alt == "input 11 of class 1, after the attack, taken for 7"
    assert "At a distance of 0.01, 0 of 3 correct answers are lost" in texts(section)
    assert "At a distance of 0.1, 1 of 3 correct answers are lost: 33%" in texts(section)
    assert "mutants make no clear difference" in texts(section)
    (table,) = of(section, "table")
    assert [row.cells[1].text for row in table.rows] == ["with mutants", "alone", "alone, same passes"] * 2


def test_the_first_distance_at_which_answers_are_lost_is_drawn():
    found, nothing = robustness(), robustness(correct=(True, False, True, False))
    for order in (1, -1):
        assert replace(found, levels=found.levels[::order]).shown() is found.levels[1]
        assert replace(nothing, levels=nothing.levels[::order]).shown() is nothing.levels[::order][-1]


def test_ways_are_called_as_in_a_terminal():
    found = robustness()
    levels = tuple(replace(level, ways={**level.ways, SANE: level.ways[ORIGINAL]}) for level in found.levels)
    (table,) = of(attack_section(replace(found, levels=levels)), "table")
    assert [row.cells[1].text for row in table.rows] == ["with mutants", "alone", "alone, same passes", "sane step"] * 2


def test_what_is_no_image_has_no_gallery():
    assert gallery_of(robustness((4, 6))) is None
    document = Robustness.from_json(robustness((4, 6)).to_json())
    assert "There are no pictures" in texts(attack_section(document))


def test_pictures_keep_their_pixels():
    import io

    image = np.linspace(0, 1, 12).reshape(3, 4)
    back = np.asarray(Image.open(io.BytesIO(png_of(image))))
    np.testing.assert_array_equal(back, (image * 255).round())
    assert np.asarray(Image.open(io.BytesIO(png_of(np.zeros((5, 4, 3)))))).shape == (5, 4, 3)
    assert max(np.asarray(Image.open(io.BytesIO(png_of(np.zeros((1000, 400)))))).shape) <= 96


@pytest.mark.parametrize(
    ("kind", "changed", "told"),
    [
        (Selection, {"methods": []}, "methods=.*: expected at least one"),
        (Robustness, {"results": []}, "results=.*: expected at least one"),
        (Location, {"subject": {**to_plain(location().subject), "layers": {"fc": 0}}}, "sizes of at least 1"),
    ],
)
def test_empty_documents_are_refused(kind, changed, told):
    whole = {Selection: SELECTION, Robustness: robustness(), Location: location()}[kind].to_json()
    kind.from_json(whole)
    with pytest.raises(BadInput, match=told):
        kind.from_json({**whole, **changed})


def repair():
    return repaired([False] * 20 + [True] * 20, [True] * 20 + [True] * 19 + [False])


@pytest.mark.parametrize("result", [SELECTION, REPEATED, location(), repair(), robustness()], ids=lambda one: one.verb)
def test_results_come_back_from_their_json_with_the_same_tables_and_metrics(result):
    plain = json.loads(json.dumps(result.to_json()))
    loaded = type(result).from_json(plain)
    assert loaded.to_json() == plain
    assert loaded.metrics() == result.metrics()
    assert {name: len(rows) for name, rows in loaded.tables().items()} == {
        name: len(rows) for name, rows in result.tables().items()
    }
    assert repr(loaded) == repr(result)


def test_what_json_does_not_hold_is_refused_in_a_sentence():
    loaded = Location.from_json(location().to_json())
    with pytest.raises(BadInput, match="loaded from JSON"):
        loaded.ranked("tarantula")
    with pytest.raises(BadInput, match="the model"):
        Repair.from_json(repair().to_json()).model()
