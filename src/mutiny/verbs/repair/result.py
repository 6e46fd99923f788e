"""What `repair` returns."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import nn

from mutiny.core.errors import BadInput
from mutiny.core.json_values import JsonObject, expect, to_plain
from mutiny.core.results import ModelAndInputs, Result, Rows, finite
from mutiny.core.stats import Rate
from mutiny.models import Patch
from mutiny.models.patch import WeightEdit
from mutiny.verbs.repair.files import SUFFIX, save_patch, save_weights
from mutiny.verbs.repair.verdict import Change, Verdict


@dataclass(frozen=True)
class PatchSummary:
    """What JSON says about a patch: the number of changed weights, in all and by parameter, and the digest."""

    weights: int
    parameters: Mapping[str, int]
    digest: str


@dataclass(frozen=True, repr=False)
class Repair(Result):
    """A patch, and what it does.

    Attributes:
        method: as a user would write it.
        target: which failures were to be mended.
        patch: of weights; without edits if none was better than nothing on validation inputs, or if loaded from JSON.
        changes: what it does on the inputs of each role: ``repair``, ``validation``, ``held-out``.
        verdict: ``"repaired"`` only if the interval of the gain on held-out inputs lies above 0, and enough of them
            passed before to see what breaks; ``"cannot tell"`` if only the first holds.
        original: copy of the original model; ``None`` in loaded results, because stores and JSON hold no models.
        notes: caveats, one sentence each.
        loaded_patch: summary of the patch, in a result loaded from JSON.
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
        """What it does to inputs that took no part."""
        return self.changes["held-out"]

    @property
    def verdict(self) -> Verdict:
        """What held-out inputs say."""
        return self.held_out.verdict

    @property
    def repaired(self) -> bool:
        """Whether it may be called a repair."""
        return self.verdict == "repaired"

    @property
    def repair_rate(self) -> Rate:
        """Of the held-out failures that were to be mended."""
        return self.held_out.repaired

    @property
    def break_rate(self) -> Rate:
        """Of the held-out inputs that passed."""
        return self.held_out.broken

    @property
    def patch_summary(self) -> PatchSummary:
        """Changed weights, in all and by parameter, and the digest of the patch."""
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
        """A copy of the model with the patch in it."""
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
            raise BadInput(
                "original", None, "the model", "Call mutiny.repair again, as before: stores and JSON hold no models."
            )
        return self.original

    def save(self, weights: str | Path | None = None, patch: str | Path | None = None, anyway: bool = False) -> None:
        """Writes the repaired weights, or the patch alone, to safetensors files.

        Args:
            weights: of the whole model; `mutiny.load_weights` reads them.
            patch: the changed weights alone; `mutiny.verbs.repair.files.load_patch` reads them.
            anyway: also what is no repair.
        """
        if weights is None and patch is None:
            raise BadInput("weights", None, "a file for the weights, or patch=... one for the patch")
        for name, path in (("weights", weights), ("patch", patch)):
            if path is not None and Path(path).suffix != SUFFIX:
                raise BadInput(name, path, f"a file that ends in {SUFFIX}")
        if not self.repaired and not anyway:
            raise BadInput(
                "save", "a patch that is no repair", "one that is shown to help on held-out inputs", "See anyway=True."
            )
        if weights is not None:
            save_weights(self.model(), weights)
        if patch is not None:
            save_patch(self.patch, self._original(), patch)

    def __repr__(self) -> str:
        rates = (f"{rate.count} of {rate.total}" for rate in (self.repair_rate, self.break_rate))
        return f"Repair({self.method!r}, {self.verdict}, held-out: {' mended, '.join(rates)} broken)"

    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`."""
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
        """The way back from `details`; the patch itself and the model are not in JSON."""
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
        """``roles``: what the patch does to inputs, by the part that they play."""
        return {
            "roles": [
                {
                    "role": role,
                    "inputs": one.inputs,
                    "correct_before": one.before,
                    "correct_after": one.after,
                    "mended": one.repaired.count,
                    "failing": one.repaired.total,
                    "broken": one.broken.count,
                    "passing": one.broken.total,
                    "gain": one.gain,
                    "low": one.gain_interval.low,
                    "high": one.gain_interval.high,
                }
                for role, one in self.changes.items()
            ]
        }

    def metrics(self) -> dict[str, float]:
        """Of held-out inputs: shares that are mended and broken, and the gain."""
        return finite(
            {"repair_rate": self.repair_rate.value, "break_rate": self.break_rate.value, "gain": self.held_out.gain}
        )
