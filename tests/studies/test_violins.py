"""Pictures of distributions: written for anything that can be drawn, refused for the rest."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mutiny.core.errors import BadInput

sys.path.append(str(Path(__file__).parents[2]))

from studies.deepcrime.figures import draw_violins


@pytest.mark.parametrize(
    "values",
    [
        {"WI-WI": [1.0, 2.0, 2.5], "WI-DC": [9.0, 8.0], "DC-DC": np.arange(1000.0)},
        {"small": [0.001, 0.002], "large": [10.0, 20.0], "none": []},
        {"one": [3.0], "same": [2.0, 2.0]},
        {"zero": [0.0]},
        {"negative": [-2.0, 3.0]},
    ],
)
def test_a_picture_is_written(tmp_path, values):
    draw_violins(values, tmp_path / "a.png", "distance", "title")
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.width > 600
        assert len(picture.convert("L").getcolors()) > 10
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]


def test_groups_stand_by_rising_median_with_their_sizes(tmp_path):
    draw_violins({"high": [5.0, 6.0], "none": [], "low": [1.0]}, tmp_path / "a.svg", "distance")
    text = (tmp_path / "a.svg").read_text()
    found = [text.index(f"<!-- {name} -->") for name in ("low", "high", "none", "n = 0")]
    assert found == sorted(found)
    assert "<!-- 5.5 -->" in text


@pytest.mark.parametrize(
    ("values", "name", "message"),
    [
        ({}, "a.png", "values=none"),
        ({"empty": []}, "a.png", "values=none"),
        ({"a": [1.0, np.nan]}, "a.png", "values of a=NaN or infinite"),
        ({"a": [1.0]}, "a.gif", "path=.*a.gif: expected a file name that ends in .png"),
    ],
)
def test_bad_arguments(tmp_path, values, name, message):
    with pytest.raises(BadInput, match=message):
        draw_violins(values, tmp_path / name, "distance")
    assert list(tmp_path.iterdir()) == []
