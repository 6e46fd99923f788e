"""The defenses of Table III. The paper gives no parameters; these are mutiny's defaults."""

from __future__ import annotations

from torch import nn

import mutiny
from mutiny.subjects.training import Recipe, default_folder
from mutiny.subjects.training.originals import Stored, settings
from mutiny.verbs.attack.defenses import BitDepth, Jpeg
from mutiny.verbs.attack.trained import distilled, smoothed
from studies.muten.clipped import Surer

NONE = "none"
BITS, JPEG, DISTILLATION, SMOOTHING = "bit depth", "jpeg", "distillation", "label smoothing"
DEFENSES = (BITS, JPEG, DISTILLATION, SMOOTHING)
LEVELS, QUALITY, TEMPERATURE, SHARE = 4, 50, 20.0, 0.1
"""Bits, quality of compression, temperature of distillation, share of a label that is spread."""
SURER, FACTOR = "outputs x 3", 3.0
"""Not a defense: the same answers, but surer, as after a longer training."""


def defended(subject: mutiny.Subject, original: nn.Module, defense: str, seed: int) -> nn.Module:
    """The network behind a filter, or one that was trained otherwise; from the disk where it was trained before."""
    if defense == NONE:
        return original
    if defense == BITS:
        return BitDepth(original, LEVELS)
    if defense == SURER:
        return Surer(original, FACTOR)
    if defense == JPEG:
        return Jpeg(original, QUALITY)
    if subject.recipe is None:
        raise mutiny.BadInput("subject", subject.name, f"one with a recipe, for {defense}")
    if defense == SMOOTHING:
        recipe = smoothed(subject.recipe, SHARE)
        return mutiny.Subject(
            task=subject.task, train=subject.train, test=subject.test, recipe=recipe, name=subject.name
        ).originals(1, seed=seed)[0]
    return _distilled(subject, subject.recipe, seed)


def _distilled(subject: mutiny.Subject, recipe: Recipe, seed: int) -> nn.Module:
    if not isinstance(subject.task, mutiny.Classification):
        raise mutiny.BadInput("subject", subject.name, "a classifier")
    made_by = settings(recipe, subject.train, subject.task, seed, forward=subject.forward, device="cpu")
    folder = default_folder()
    folder.mkdir(parents=True, exist_ok=True)
    stored = Stored(folder, made_by | {"distilled": TEMPERATURE})
    found = stored.load(recipe, seed, "cpu")
    if found is None:
        found = distilled(recipe, subject.train, subject.task, TEMPERATURE, seed=seed, forward=subject.forward)
        stored.save(found)
    return found
