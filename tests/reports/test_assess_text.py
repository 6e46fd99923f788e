"""The table of a notice rate for a terminal: no number is cut, and the range of costs stands apart from the bins."""

import pytest
from rich.console import Console

import mutiny
import toys
from mutiny.reports.assess_text import assess_text
from mutiny.reports.formatting import NONE

LABEL = "GF(ratio=0.02, clip=layer, biases=true)"


@pytest.fixture(scope="module")
def result():
    return mutiny.assess(toys.blob_subject(2), operators=f"{LABEL},WI", seeds=1)


@pytest.mark.parametrize("width", [70, 80, 120])
def test_no_number_is_cut_beside_a_long_name_of_an_operator(result, width):
    console = Console(width=width)
    with console.capture() as captured:
        console.print(assess_text(result, width))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= width
    at = next(number for number, line in enumerate(lines) if line.startswith(" operator"))
    above, titles, rows = lines[at - 1], lines[at], lines[at + 2 : at + 4]
    assert above.split() == ["cost", *["noticed"] * len(result.notice.bins)]
    assert "min-max  1/2 to 1 " in titles
    assert titles.split()[-1] == "rate"
    for row, rate in zip(rows, result.notice.operators.values(), strict=True):
        noticed = [f"{each.noticed}/{each.faults}" if each.faults else NONE for each in rate.bins]
        assert row.split()[-len(noticed) - 1 : -1] == noticed
        assert row.rstrip().endswith(("%", NONE))
