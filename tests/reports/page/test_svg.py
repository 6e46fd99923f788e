"""Pictures inside a page: the same every time, in the page's colors, whatever names are in them."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from mutiny.reports.page import svg
from mutiny.reports.page.charts import draw
from mutiny.reports.page.pictures import (
    Layers,
    Line,
    Lines,
    Matrix,
    Ranges,
    Scores,
    SearchPath,
    StrengthPoint,
    Strengths,
)

EVIL = "<script>alert(1)</script>$x_$ & \"q\" 'q' \x00\ud800 日本"
PROBES = (
    StrengthPoint(0.25, 0.9, 0.8, 0.95, "survived"),
    StrengthPoint(0.5, 0.7, 0.6, 0.8, "killed"),
    StrengthPoint(1, 0, 0, 1, "unstable"),
)
PICTURES = {
    "scores": Scores(("WI", EVIL, "NI"), (0.5, None, 1.0), 0.75, (0.5, 0.9)),
    "scores alone": Scores(("WI",), (0.0,)),
    "ranges": Ranges(("class 0", EVIL), (0.5, 0.7), (0.1, 0.7), (0.6, 0.7), "share"),
    "strengths": Strengths(EVIL, EVIL, (("train", PROBES), ("test", PROBES[:1])), (("train", 0.95), ("test", 0.9))),
    "path": SearchPath(
        "factor", (0, 1), (("train", ((0.5, "killed"), (0.25, "survived"))), ("test", ((0.5, "unstable"),)))
    ),
    "path without bounds": SearchPath("ratio", (float("nan"), 1.0), (("train", ((0.5, "killed"),)),)),
    "path downwards": SearchPath("epochs", (10, 1), (("train", ((1, "killed"),)), ("test", ()))),
    "lines": Lines(
        (Line(EVIL, ((0, 0), (1, 1))), Line("q", ((0, 0), (1, 1)), "dotted", True)), "x", "y", ((0.5, "m"), (0.6, EVIL))
    ),
    "many lines": Lines(tuple(Line(f"l{n}", ((0, 0), (1, n))) for n in range(9)), "x", "y", shares="xy"),
    "matrix": Matrix(np.array([[0, 0.5], [1, 0]]), ((EVIL, 0, 1), ("NI", 1, 2)), (("0", 0, 1), ("1", 1, 2)), "x", "y"),
    "matrix without classes": Matrix(np.zeros((1, 3)), (("WI", 0, 1),), (), "x", "y"),
    "layers": Layers((EVIL, "b"), (2, 3), (np.array([0.0, 1]), np.array([0.2, 0.3, 0.4])), ((0, 1, 1), (1, 2, 2))),
    "layers of a file": Layers(("a",), (4,), (), ((0, 3, 1),)),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_one_clean_element(name):
    text = draw(PICTURES[name], "fig-1")
    root = ElementTree.fromstring(text)
    assert root.tag == f"{{{svg.SVG}}}svg"
    assert root.get("aria-hidden") == "true"
    assert {"width", "height"} & set(root.attrib) == set()  # the page decides
    tags = {element.tag.removeprefix(f"{{{svg.SVG}}}") for element in root.iter()}
    assert tags <= {"svg", "g", "path", "use", "text", "tspan", "defs", "clipPath", "rect", "image"}
    assert not re.search(r"font-family|<style|metadata|\d{4}-\d\d-\d\d", text)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(set(ids)) == len(ids)
    assert all(one.startswith("fig-1-") for one in ids)
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    assert used == set(ids)


@pytest.mark.parametrize("name", PICTURES)
def test_every_color_is_the_pages(name):
    text = re.sub(r'href="data:[^"]*"', "", draw(PICTURES[name], "a"))
    assert not re.search(r"#[0-9a-fA-F]{6}\b", text)
    assert "currentColor" in text


def test_one_picture_one_text():
    for picture in (PICTURES["strengths"], PICTURES["matrix"]):
        assert draw(picture, "a") == draw(picture, "a")


@pytest.mark.parametrize(("shares", "x", "y"), [("", "200", "0.4"), ("y", "200", "40%"), ("xy", "20000%", "40%")])
def test_only_shares_are_percentages(shares, x, y):
    text = draw(Lines((Line("a", ((0, 0.0), (200, 1.0))),), "x", "y", shares=shares), "a")
    assert {x, y} <= {element.text for element in ElementTree.fromstring(text).iter()}


def test_two_pictures_share_no_ids():
    first, second = (set(re.findall(r' id="([^"]+)"', draw(PICTURES["strengths"], name))) for name in ("a", "b"))
    assert first
    assert not first & second


def test_verdicts_differ_by_shape():
    picture = PICTURES["strengths"]
    text = draw(picture, "a")
    shapes = set(re.findall(r'<path id="a-m[0-9a-f]+" d="([^"]+)"', text))
    assert len(shapes) >= 3 + 2  # three verdicts, and ticks of two axes


def test_a_matrix_is_drawn_as_shades_of_one_color():
    from mutiny.reports.page.charts import _shades

    image = _shades(np.array([[0.0, 0.5, 1.0]]))
    assert image[0, :, 3].tolist() == [0.0, pytest.approx(0.56), 1.0]
    assert np.ptp(image[..., :3], axis=1).max() == 0
