"""Inputs that were synthesized for mutants, in a file: proposals without labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.reports.files import replacing
from mutiny.verbs.strengthen.synthesis import Candidates


def write_candidates(found: Candidates, path: Path) -> None:
    """An ``.npz`` file: ``x``, ``original``, and for each its number in the pool, mutant, and what the originals say.

    There is no ``y``: whoever labels them adds it, and then it is a file of labeled inputs that other verbs read.
    """
    if found.inputs is None or found.starts is None:
        raise BadInput("result", "loaded from JSON", "synthesized inputs", "Call mutiny.strengthen, or use its store.")
    labels, strengths = zip(*found.mutants, strict=True)
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(
            file,
            x=found.inputs.numpy(),
            original=found.starts.numpy(),
            index=found.indices,
            answer=found.answers,
            lost=found.lost,
            operator=np.array(labels),
            strength=np.array([np.nan if one is None else one for one in strengths]),
            **{str(norm): values for norm, values in found.distances.items()},  # type: ignore[arg-type]
        )
