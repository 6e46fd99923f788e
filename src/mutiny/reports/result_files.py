"""Files that commands write besides JSON: arrays (NPZ), indices, reports for CI, pictures of changed inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from mutiny.core.errors import BadInput
from mutiny.reports.files import replacing, write_text
from mutiny.reports.image_grid import draw_changes
from mutiny.reports.junit import junit_xml
from mutiny.reports.markdown import markdown_summary
from mutiny.subjects.data.nested import leaves
from mutiny.verbs.assess.muff.result import MuffAssessment
from mutiny.verbs.attack.result import MUTANTS

if TYPE_CHECKING:
    from mutiny.reports.page.advice import CommandParts
    from mutiny.verbs.assess.against import TestSetComparison
    from mutiny.verbs.assess.result import Assessment
    from mutiny.verbs.attack.result import Robustness
    from mutiny.verbs.locate.synthesis import Synthesis
    from mutiny.verbs.strengthen.synthesis import Candidates


def write_npz(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write a compressed NPZ file completely or not at all."""
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)


def write_indices(path: Path, indices: Sequence[int], names: Sequence[str] | None) -> None:
    """Write one index per line, with the name of its file if names are known."""
    lines = [str(index) if names is None else f"{index}\t{names[index]}" for index in indices]
    write_text(path, "".join(f"{line}\n" for line in lines))


def write_ci_reports(
    result: Assessment | MuffAssessment,
    junit: Path | None,
    summary: Path | None,
    *,
    fail_under: float | None = None,
    strict: bool = False,
    against: TestSetComparison | None = None,
    parts: CommandParts | None = None,
) -> None:
    """Write an assessment as JUnit XML and as a Markdown summary, each if a path is given.

    Args:
        result: Assessment of either method.
        junit: File for JUnit XML.
        summary: File for Markdown.
        fail_under: Lowest accepted notice rate or mutation score.
        strict: Whether an undecided notice rate misses the bar.
        against: Comparison with an earlier test set.
        parts: Parts of commands for this subject.
    """
    if junit is not None:
        write_text(junit, junit_xml(result, fail_under, strict))
    if summary is not None:
        write_text(summary, markdown_summary(result, fail_under, strict=strict, against=against, parts=parts))


def write_kills(path: Path, result: Assessment | MuffAssessment) -> None:
    """Write which test inputs notice which faults.

    For the notice rate, the arrays of `ChangedAnswers`, with one entry per changed answer: ``fault`` is its place in
    the ``faults`` of the JSON result. For the method muff, one packed array per mutant and set, named
    ``operator@strength/set``; unpack it along the last axis.
    """
    if not isinstance(result, MuffAssessment):
        changed = result.changed
        if changed is None:
            raise BadInput("result", "loaded from JSON", "changed answers", "Call mutiny.assess, or use its store.")
        write_npz(path, {part.name: getattr(changed, part.name) for part in fields(changed)})
        return
    arrays: dict[str, Any] = {}
    for (label, strength, split), bits in result.kills.items():
        key = f"{label}@{'-' if strength is None else repr(strength)}/{split}"
        arrays[key] = bits.packed
        arrays.setdefault(f"inputs/{split}", np.array(bits.inputs))
    write_npz(path, arrays)


def write_adversarial(path: Path, result: Robustness) -> None:
    """Write adversarial inputs: ``x``, ``y``, ``original``, ``index``, ``eps``, ``said`` and ``fooled``.

    Each array has one row per input, level after level. With ``x`` and ``y``, other verbs can read the file as labeled
    inputs.
    """
    outcomes = [level.ways[MUTANTS] for level in result.levels]
    rows = len(result.indices)
    write_npz(
        path,
        {
            "x": np.concatenate([_as_array(outcome.inputs) for outcome in outcomes]),
            "y": np.tile(result.labels, len(outcomes)),
            "original": np.concatenate([_as_array(result.inputs)] * len(outcomes)),
            "index": np.tile(result.indices, len(outcomes)),
            "eps": np.repeat([np.nan if level.eps is None else level.eps for level in result.levels], rows),
            "said": np.concatenate([outcome.said for outcome in outcomes]),
            "fooled": np.concatenate([outcome.fooled for outcome in outcomes]),
        },
    )


def write_candidates(path: Path, candidates: Candidates) -> None:
    """Write inputs synthesized for faults: ``x``, ``original``, their indices in the pool, faults and answers.

    There is no ``y``. After a person has labeled the inputs and added it, other verbs can read the file.
    """
    if candidates.inputs is None or candidates.starts is None:
        raise BadInput("result", "loaded from JSON", "synthesized inputs", "Call mutiny.strengthen, or use its store.")
    faults = candidates.faults
    write_npz(
        path,
        {
            "x": candidates.inputs.numpy(),
            "original": candidates.starts.numpy(),
            "index": candidates.indices,
            "answer": candidates.answers,
            "operator": np.array([fault.configuration for fault in faults]),
            "model": np.array([fault.original for fault in faults]),
            "seed": np.array([fault.seed for fault in faults]),
            "cost": np.array([fault.cost for fault in faults]),
            **{str(norm): distances for norm, distances in candidates.distances.items()},
        },
    )


def write_synthesis(path: Path, synthesis: Synthesis) -> None:
    """Write inputs synthesized for suspects: ``x`` (or ``x_NAME``), ``original``, outcomes and distances.

    If the labels of the originals are known, they are ``y``, and other verbs can read the file as labeled inputs.
    """
    arrays: dict[str, Any] = {
        "index": synthesis.indices,
        "raised": synthesis.raised,
        "failed": synthesis.failed,
        "kept": synthesis.kept,
        "succeeded": synthesis.succeeded,
        **{str(norm): distances for norm, distances in synthesis.distances.items()},
    }
    if synthesis.labels is not None:
        arrays["y"] = synthesis.labels
    for prefix, nested in (("x", synthesis.inputs), ("original", synthesis.originals)):
        for name, leaf in leaves(nested):
            arrays[prefix + name.replace(".", "_")] = leaf.numpy()
    write_npz(path, arrays)


def draw_adversarial(path: Path, result: Robustness) -> None:
    """Draw some inputs of the level that `Robustness.shown` chooses, those that fool the model first."""
    level = result.shown()
    outcome = level.ways[MUTANTS]
    lost = outcome.fooled & level.correct
    marks = [
        (f"{label} as {answer}", bool(success))
        for label, answer, success in zip(result.labels, outcome.said, lost, strict=True)
    ]
    distance = "" if level.eps is None else f" at {level.eps:g}"
    title = f"{result.subject.name}: {result.attack}{distance}, {len(result.mutants)} mutants"
    draw_changes(path, result.inputs.float(), outcome.inputs.float(), marks, "adversarial", title)


def draw_synthesis(path: Path, synthesis: Synthesis, title: str = "") -> None:
    """Draw some synthesized inputs beside their originals, those that fail and keep their label first."""
    words = np.where(synthesis.kept, np.where(synthesis.failed, "fails", "passes"), "label lost")
    marks = [(str(word), bool(success)) for word, success in zip(words, synthesis.succeeded, strict=True)]
    draw_changes(path, synthesis.originals, synthesis.inputs, marks, "synthesized", title)


def _as_array(inputs: torch.Tensor) -> npt.NDArray[Any]:
    """A tensor as an array; bfloat16, which numpy does not have, becomes single precision."""
    array: npt.NDArray[Any] = (inputs.float() if inputs.dtype == torch.bfloat16 else inputs).numpy()
    return array
