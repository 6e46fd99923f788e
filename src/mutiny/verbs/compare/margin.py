"""The margin of a comparison: the largest loss that does not matter."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Literal

from mutiny.core.checks import is_number
from mutiny.core.errors import BadInput

Kind = Literal["points", "percent", "unit"]
TEXT = re.compile(r"\s*([0-9.eE+-]+)\s*(pt|pts|points?|%)?\s*")
FORMS = 'a number above 0 such as "0.5pt" (accuracy points), "1%" (of the mean score of A) or 0.01 (in its unit)'


@dataclass(frozen=True)
class ComparisonMargin:
    """A tolerated loss, as the user wrote it.

    Args:
        number: Size of the margin.
        kind: ``"points"`` of accuracy, ``"percent"`` of the mean score of A, or ``"unit"``: the unit of the difference.

    >>> ComparisonMargin(0.5, "points").of_accuracy(), ComparisonMargin(1, "percent").of_scores(-20.0)
    (0.5, 0.2)
    """

    number: float
    kind: Kind

    def __str__(self) -> str:
        return f"{self.number:g}{ {'points': 'pt', 'percent': '%', 'unit': ''}[self.kind] }"

    def of_accuracy(self) -> float:
        """The margin in accuracy points."""
        if self.kind == "percent":
            fix = f"Write {self.number:g}pt for accuracy points; a share of the accuracy is easily mistaken for them."
            raise BadInput("margin", f"{self.number:g}%", "accuracy points, because answers are right or wrong", fix)
        if self.number >= 100:
            raise BadInput("margin", self.number, "fewer than 100 accuracy points", "No network can lose more.")
        return self.number

    def of_scores(self, mean: float) -> float:
        """The margin in the unit of the scores.

        Args:
            mean: Mean score of A.
        """
        if self.kind == "points":
            fix = "Write it in the unit of the scores, such as 0.01, or in percent of the mean score of A."
            raise BadInput("margin", f"{self.number:g}pt", "no accuracy points, because inputs have scores", fix)
        if self.kind == "unit":
            return self.number
        if mean == 0:
            fix = "Write the margin in the unit of the scores, such as 0.01."
            raise BadInput("margin", f"{self.number:g}%", "a mean score of A that is not 0", fix)
        return abs(mean) * self.number / 100


def as_margin(value: Any) -> ComparisonMargin | None:
    """The margin that a user gave; ``None`` for the default.

    >>> as_margin("0.5pt"), as_margin(0.01)
    (ComparisonMargin(number=0.5, kind='points'), ComparisonMargin(number=0.01, kind='unit'))
    >>> as_margin("-1pt")
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: margin='-1pt': expected a number above 0 such as ...
    """
    if value is None or isinstance(value, ComparisonMargin):
        return value
    match = TEXT.fullmatch(value) if isinstance(value, str) else None
    try:
        number = float(match[1] if match else value)
    except (TypeError, ValueError):
        number = math.nan
    if not (match or is_number(value)) or not (math.isfinite(number) and number > 0):
        raise BadInput("margin", repr(value)[:60], FORMS)
    kinds: dict[str | None, Kind] = {None: "unit", "%": "percent"}
    return ComparisonMargin(number, kinds.get(match[2] if match else None, "points"))
