"""The result of `repair`, and the notes in it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import nn

from mutiny.core.errors import BadInput
from mutiny.core.json_values import JsonObject, expect, to_plain
from mutiny.core.results import ModelAndInputs, Result, Rows, finite
from mutiny.core.stats import Rate
from mutiny.models import Patch, WeightEdit
from mutiny.subjects.given import only_first
from mutiny.subjects.inference.passes import UNSTEADY
from mutiny.verbs.repair.files import SUFFIX, save_patch, save_weights
from mutiny.verbs.repair.verdict import PASSES, Change, Verdict

FEW = 10
"""Number of held-out failures below which hardly any patch can be shown to help."""
NAMED = 3
"""Largest number of classes that a note names."""


@dataclass(frozen=True)
class PatchSummary:
    """Summary of a patch, as JSON holds it: number of changed weights, in all and by parameter, and the digest."""

    weights: int
    parameters: Mapping[str, int]
    digest: str


@dataclass(frozen=True, repr=False, eq=False)
class Repair(Result):
    """A weight patch, and its effect.

    Attributes:
        method: Repair method, in the form that users type.
        target: Failures to fix.
        patch: The patch; without edits if no patch had a gain on validation inputs, or if loaded from JSON.
        changes: Effect of the patch on each part of the inputs: ``repair``, ``validation``, ``held-out``.
        original: Copy of the original model; ``None`` in loaded results, because stores and JSON hold no models.
        notes: Caveats, one sentence each.
        loaded_patch: Summary of the patch, in a result loaded from JSON.
    """

    verb: ClassVar[str] = "repair"

    subject: ModelAndInputs
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    method: str
    target: Mapping[str, Any]
    patch: Patch
    changes: Mapping[str, Change]
    notes: tuple[str, ...]
    seconds: float
    created: str
    original: nn.Module | None = field(compare=False)
    loaded_patch: PatchSummary | None = None

    @property
    def held_out(self) -> Change:
        """Effect on the held-out inputs."""
        return self.changes["held-out"]

    @property
    def verdict(self) -> Verdict:
        """Verdict on held-out inputs.

        ``"repaired"`` if the interval of the gain lies above 0 and enough inputs passed before to see what breaks;
        ``"cannot tell"`` if only the first holds; otherwise ``"not repaired"``.
        """
        return self.held_out.verdict

    @property
    def repaired(self) -> bool:
        """Whether the verdict is ``"repaired"``."""
        return self.verdict == "repaired"

    @property
    def repair_rate(self) -> Rate:
        """Share of the targeted held-out failures that are fixed."""
        return self.held_out.repaired

    @property
    def break_rate(self) -> Rate:
        """Share of the passing held-out inputs that now fail."""
        return self.held_out.broken

    @property
    def patch_summary(self) -> PatchSummary:
        """Number of changed weights, in all and by parameter, and the digest of the patch."""
        if self.loaded_patch is not None:
            return self.loaded_patch
        edits = [edit for edit in self.patch.edits if isinstance(edit, WeightEdit)]
        parameters = {edit.parameter: len(edit.indices) for edit in edits}
        return PatchSummary(sum(len(edit.indices) for edit in edits), parameters, self.patch.digest)

    @property
    def weights(self) -> int:
        """Number of weights that the patch changes."""
        return self.patch_summary.weights

    def model(self) -> nn.Module:
        """A copy of the original model with the patched weights."""
        model = copy.deepcopy(self._original())
        weights = dict(model.named_parameters())
        with torch.inference_mode():
            for edit in self.patch.edits:
                assert isinstance(edit, WeightEdit)
                tensor = weights[edit.parameter].data
                tensor.put_(torch.from_numpy(edit.indices).to(tensor.device), edit.values.to(tensor))
        return model

    def _original(self) -> nn.Module:
        if self.original is None:
            raise BadInput("original", None, "the model", "Call mutiny.repair again: stores and JSON hold no models.")
        return self.original

    def save(self, weights: str | Path | None = None, patch: str | Path | None = None, anyway: bool = False) -> None:
        """Writes the repaired weights, or the patch alone, to safetensors files.

        Args:
            weights: File for all weights of the repaired model, which `mutiny.load_weights` reads.
            patch: File for the changed weights alone, which `mutiny.load_patch` reads.
            anyway: Write the files even if the verdict is not ``"repaired"``.
        """
        if weights is None and patch is None:
            raise BadInput("weights", None, "a file for the weights, or patch=... one for the patch")
        for name, path in (("weights", weights), ("patch", patch)):
            if path is not None and Path(path).suffix != SUFFIX:
                raise BadInput(name, path, f"a file that ends in {SUFFIX}")
        if not self.repaired and not anyway:
            raise BadInput(
                "save", "a patch that is no repair", "a gain on held-out inputs", "Give anyway=True to write it anyway."
            )
        if weights is not None:
            save_weights(self.model(), weights)
        if patch is not None:
            save_patch(self.patch, self._original(), patch)

    def __repr__(self) -> str:
        rates = (f"{rate.count} of {rate.total}" for rate in (self.repair_rate, self.break_rate))
        return f"Repair({self.method!r}, {self.verdict}, held-out: {' repaired, '.join(rates)} broken)"

    def details(self) -> dict[str, Any]:
        """The part of `to_json` that other verbs do not have."""
        return {
            "method": self.method,
            "target": to_plain(self.target),
            "repaired": self.repaired,
            "verdict": self.verdict,
            "repair_rate": to_plain(self.repair_rate.to_json()),
            "break_rate": to_plain(self.break_rate.to_json()),
            "gain": to_plain(self.held_out.to_json()["gain"]),
            "splits": {role: to_plain(change.to_json()) for role, change in self.changes.items()},
            "patch": to_plain(self.patch_summary),
        }

    @classmethod
    def read_details(cls, given: JsonObject) -> dict[str, Any]:
        """Reads what `details` returned; JSON holds neither the patch itself nor the model."""
        changes = given.get("splits", Mapping[str, Change])
        expect("held-out" in changes, "splits", [*changes], "held-out among them")
        target = given.object("target")
        target.get("failures", int)
        if "label" in target.values:
            target.get("said", Any)
        return {
            "method": given.get("method", str),
            "target": target.values,
            "patch": Patch(()),
            "changes": changes,
            "original": None,
            "loaded_patch": given.get("patch", PatchSummary),
        }

    def tables(self) -> dict[str, Rows]:
        """``roles``: the effect of the patch on each part of the inputs."""
        return {
            "roles": [
                {
                    "role": role,
                    "inputs": change.inputs,
                    "correct_before": change.before,
                    "correct_after": change.after,
                    "mended": change.repaired.count,
                    "failing": change.repaired.total,
                    "broken": change.broken.count,
                    "passing": change.broken.total,
                    "gain": change.gain,
                    "low": change.gain_interval.low,
                    "high": change.gain_interval.high,
                }
                for role, change in self.changes.items()
            ]
        }

    def metrics(self) -> dict[str, float]:
        """Repair rate, break rate and gain on held-out inputs."""
        return finite(
            {"repair_rate": self.repair_rate.value, "break_rate": self.break_rate.value, "gain": self.held_out.gain}
        )


def copied(model: nn.Module) -> nn.Module:
    """A copy that stays as it is when the owner of the model changes the model later."""
    try:
        return copy.deepcopy(model)
    except (RuntimeError, TypeError) as error:
        raise BadInput("model", type(model).__name__, "a model that copy.deepcopy copies", str(error)) from error


def notes_on_repair(
    changes: Mapping[str, Change],
    patch: Patch,
    repeatable: bool,
    originals: int,
    not_finite: int,
    unseen: Sequence[int],
) -> Iterator[str]:
    """Caveats, the most important first.

    Args:
        changes: Effect of the patch by role.
        patch: The chosen patch.
        repeatable: Whether the model gives the same answers twice.
        originals: Number of originals of the subject.
        not_finite: Number of inputs whose loss is not finite.
        unseen: Classes without held-out inputs.
    """
    yield from only_first(originals, "was repaired")
    failures = {role: change.repaired.total for role, change in changes.items()}
    if not sum(failures.values()):
        yield "There is nothing to repair, because no input fails in this way."
        return
    yield from _notes_on_verdict(changes["held-out"], patch, failures)
    if not any(change.before for change in changes.values()):
        yield "Every input fails, so nothing can be broken; check that the labels belong to this model."
    if unseen and patch.edits:
        some = f"class {' or '.join(map(str, unseen))}" if len(unseen) <= NAMED else f"{len(unseen)} of the classes"
        yield f"No held-out input is of {some}: the effect of the patch on such inputs is unknown."
    if not_finite:
        inputs = "1 input has" if not_finite == 1 else f"{not_finite:,} inputs have"
        yield f"{inputs} NaN or infinite outputs; search and tune do not use such inputs."
    if not repeatable:
        yield f"{UNSTEADY}."


def _notes_on_verdict(change: Change, patch: Patch, failures: Mapping[str, int]) -> Iterator[str]:
    if not failures["repair"]:
        yield "All failures are validation or held-out inputs, so no patch could be found: give more inputs."
    elif not patch.edits:
        yield "No patch had a gain on validation inputs, so the model stays as it is."
    elif change.verdict == "not repaired":
        yield "This is no repair: the interval of the held-out gain is not above 0."
    elif change.verdict == "cannot tell":
        yield (
            f"Only {change.broken.total} of the held-out inputs passed before, too few to see what breaks (at least "
            f"{PASSES} are needed): give all data, not only failures."
        )
    count = failures["held-out"]
    if count < FEW:
        yield f"Only {count} held-out failure{'s' * (count != 1)} to judge by, so the intervals are wide."
