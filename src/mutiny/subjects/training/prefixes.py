"""Trainings that are a prefix of another training, so that their networks are copied from it on its way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mutiny.subjects.training.loop import Epoch, stops
from mutiny.subjects.training.own import OwnTraining
from mutiny.subjects.training.recipe import Recipe


def ending_here(recipe: Recipe, epoch: Epoch) -> Iterator[Recipe]:
    """Recipes with fewer epochs or less patience whose training is identical to this one up to this epoch.

    Fewer epochs give a prefix only if the learning rate does not depend on the number of epochs.

    >>> from torch import nn
    >>> whole = Recipe(nn.Identity, epochs=9, patience=3)
    >>> recipes = ending_here(whole, Epoch(3, (0.5, 0.4, 0.6), nn.Identity()))
    >>> [(recipe.epochs, recipe.patience) for recipe in recipes]
    [(3, 3), (9, 1)]
    """
    if recipe.schedule == "none" and epoch.number < recipe.epochs:
        yield replace(recipe, epochs=epoch.number)
    for patience in range(1, recipe.patience or 1):
        if stops(epoch.curve, patience) and not any(stops(epoch.curve[:n], patience) for n in range(1, epoch.number)):
            yield replace(recipe, patience=patience)


def ending_with(recipe: Recipe, curve: Sequence[float]) -> Iterator[Recipe]:
    """Recipes with the same training to its end: with less patience, or with fewer epochs after an early stop.

    >>> from torch import nn
    >>> never = ending_with(Recipe(nn.Identity, epochs=3, patience=3), (0.5, 0.6, 0.4))
    >>> [recipe.patience for recipe in never]
    [2]
    >>> early = ending_with(Recipe(nn.Identity, epochs=7, patience=1), (0.5, 0.4, 0.6))
    >>> [recipe.epochs for recipe in early]
    [3, 4, 5, 6]
    """
    if recipe.schedule == "none":
        yield from (replace(recipe, epochs=epochs) for epochs in range(len(curve), recipe.epochs))
    for patience in range(1, recipe.patience or 1):
        if not any(stops(curve[:n], patience) for n in range(1, len(curve) + 1)):
            yield replace(recipe, patience=patience)


def is_beginning(part: Recipe, whole: Recipe) -> bool:
    """Whether the training of ``part`` is a prefix of that of ``whole``: they differ only in when training ends.

    >>> from torch import nn
    >>> whole = Recipe(nn.Identity, epochs=9, patience=3)
    >>> is_beginning(replace(whole, patience=1), whole), is_beginning(replace(whole, epochs=12), whole)
    (True, False)
    """
    if isinstance(whole, OwnTraining):
        return False  # its epochs cannot be observed
    if part.epochs < whole.epochs:
        return whole.schedule == "none" and part == replace(whole, epochs=part.epochs)
    if part.patience is None or whole.patience is None or part.patience >= whole.patience:
        return False
    return part == replace(whole, patience=part.patience)
