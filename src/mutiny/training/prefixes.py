"""Trainings that are the beginning of another one: found on its way, and not trained again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mutiny.training.loop import Epoch, stops
from mutiny.training.recipe import Recipe


def ending_here(recipe: Recipe, epoch: Epoch) -> Iterator[Recipe]:
    """Recipes with fewer epochs or less patience whose training is, bit for bit, this one so far.

    Fewer epochs are a beginning only where the learning rate does not depend on how many there will be.

    >>> from torch import nn
    >>> whole = Recipe(nn.Identity, epochs=9, patience=3)
    >>> found = ending_here(whole, Epoch(3, (0.5, 0.4, 0.6), nn.Identity()))
    >>> [(recipe.epochs, recipe.patience) for recipe in found]
    [(3, 3), (9, 1)]
    """
    if recipe.schedule == "none" and epoch.number < recipe.epochs:
        yield replace(recipe, epochs=epoch.number)
    for patience in range(1, recipe.patience or 1):
        if stops(epoch.curve, patience) and not any(stops(epoch.curve[:n], patience) for n in range(1, epoch.number)):
            yield replace(recipe, patience=patience)
