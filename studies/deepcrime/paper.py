"""MUFF's numbers about DeepCrime, by table, beside those about its own operators and DeepMutation++'s."""

from __future__ import annotations

from studies.muff import paper as muff
from studies.muff.paper import DEEPMUTATION, MUFF, Cell, shares

DEEPCRIME = tuple(
    "TCL TRD TUD TAN TCO HBS HLR HNE HDB ACH ARM AAL RAW RCW RRW RCD RCP WCI WAB WRB LCH OCH OCG VRM".split()
)  # as Table VI has them
TOOLS = {"MUFF": MUFF, "DeepMutation++": DEEPMUTATION, "DeepCrime": DEEPCRIME}
OPERATORS = tuple(code for codes in TOOLS.values() for code in codes)

_OF_DEEPCRIME = shares(
    DEEPCRIME,
    """
    MN 86 92 90 100 0 100 100 100 100 100 U/NK N/A 100 N/A N/A N/A N/A 50 N/A N/A 100 67 N/A N/A
    UE 14 U/NK U/NK U/NK N/A U/NK 51 U/NK N/A U/NK U/NK 14 U/NK N/A N/A N/A N/A U/NK N/A N/A U/NK U/NK N/A N/A
    """,
)
SENSITIVITY: dict[str, dict[str, Cell]] = {  # Table VI
    subject: muff.SENSITIVITY[subject] | row for subject, row in _OF_DEEPCRIME.items()
}
AVERAGES = {  # Table VI's own, over the operators with a number
    "MN": {"MUFF": 1.0, "DeepMutation++": 0.1987, "DeepCrime": 0.8464},
    "UE": {"MUFF": 0.2892, "DeepMutation++": 0.0087, "DeepCrime": 0.2633},
}
UNSTABLE = {  # Table VII: share of the configurations with a relative standard error above 5%
    "MN": {"ARM": 0.25, "LCH": 0.92},
    "UE": {"OCH": 0.33, "TRD": 0.17, "LCH": 0.08},
}
SECONDS = {  # Table VIII: seconds to generate one mutant
    subject: dict(zip(TOOLS, muff.SECONDS[subject], strict=True)) for subject in SENSITIVITY
}
MEAN_SECONDS = {"MUFF": 339, "DeepMutation++": 23, "DeepCrime": 20_545}
"""Of Table VIII over all four subjects."""
TIMES = {"MN": 6, "UE": 132, "mean": 61}
"""So many times faster than DeepCrime MUFF is, by Table VIII."""


def tool_of(code: str) -> str:
    """Whose operator it is.

    >>> tool_of("NI"), tool_of("LD"), tool_of("LCH")
    ('MUFF', 'DeepMutation++', 'DeepCrime')
    """
    return next(tool for tool, codes in TOOLS.items() if code in codes)
