"""Trains the originals of `digits` that come with the package: ``python -m studies.ship_originals``.

Each is trained without its fold of the training set, as `mutiny assess digits` needs them. Run it after a change of the
recipe or of the folds; the figures of README and tutorial then change, too.
"""

from __future__ import annotations

from mutiny.core.random import seed_for
from mutiny.subjects.builtin import digits
from mutiny.subjects.subject import DEFAULT_ORIGINALS
from mutiny.subjects.training.originals import SHIPPED, Stored, shipped_settings
from mutiny.verbs.assess.reference import with_folds


def ship(seed: int = 0, count: int = DEFAULT_ORIGINALS) -> None:
    """Replaces the files in the package."""
    subject = with_folds(digits())
    recipe, task = subject.recipe, subject.task
    assert recipe is not None
    SHIPPED.mkdir(exist_ok=True)
    for path in SHIPPED.glob("*.safetensors"):
        path.unlink()
    for number in range(count):
        data, original_seed = subject.training.of(number), seed_for(seed, "original", number)
        known = shipped_settings(recipe, data, task, original_seed)
        assert known is not None
        Stored(SHIPPED, known).save(recipe.train(data, task, original_seed))
        print(f"original {number + 1} of {count}")


if __name__ == "__main__":
    ship()
