"""Fig. 4, one picture per subject, drawn from the rows of the spectra."""

from __future__ import annotations

from pathlib import Path

from mutiny.reports.violins import draw_violins
from studies.deepcrime.results import Results
from studies.deepcrime.spectra import USUAL


def distances(results: Results, subject: str, span: str, path: Path) -> bool:
    """A violin per pair of groups; False if there is nothing to draw."""
    found = results.distances_of(subject, span, USUAL)
    if not found:
        return False
    draw_violins(found, path, "Log-Euclidean distance", f"{subject}, range of {span}, epsilon {USUAL}")
    return True
