"""Data splits: arrays, torch datasets, ``.npz`` and IDX files, image folders, all read as :class:`Data`."""

from mutiny.data.arrays import ArrayData
from mutiny.data.base import Data
from mutiny.data.benign import Benign, mutate
from mutiny.data.folder import image_folder
from mutiny.data.mutated import MutatedData, Mutation
from mutiny.data.noise import Noise
from mutiny.data.sources import as_data, as_pool

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
