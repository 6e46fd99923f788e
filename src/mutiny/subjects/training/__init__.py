"""Training: recipes, the training loop, stored originals, and weights from files."""

from mutiny.subjects.training.originals import default_folder, fingerprint, train_originals
from mutiny.subjects.training.own import OwnTraining, TrainingSettings
from mutiny.subjects.training.recipe import Recipe
from mutiny.subjects.training.weights import load_weights

__all__ = [
    "OwnTraining",
    "Recipe",
    "TrainingSettings",
    "default_folder",
    "fingerprint",
    "load_weights",
    "train_originals",
]
