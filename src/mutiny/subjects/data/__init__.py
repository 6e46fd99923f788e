"""Data splits: arrays, torch datasets, ``.npz`` and IDX files, image folders, all read as `Data`."""

from mutiny.subjects.data.arrays import ArrayData
from mutiny.subjects.data.base import Data
from mutiny.subjects.data.benign_mutations import Benign, mutate
from mutiny.subjects.data.folder import image_folder
from mutiny.subjects.data.mutated import MutatedData, Mutation
from mutiny.subjects.data.noise import Noise
from mutiny.subjects.data.sources import as_data, as_pool

__all__ = [
    "ArrayData",
    "Benign",
    "Data",
    "MutatedData",
    "Mutation",
    "Noise",
    "as_data",
    "as_pool",
    "image_folder",
    "mutate",
]
