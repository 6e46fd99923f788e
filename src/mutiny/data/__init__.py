"""Data splits: arrays, torch datasets, ``.npz`` and IDX files, image folders, all read as :class:`Data`."""

from mutiny.data.arrays import ArrayData
from mutiny.data.base import Data
from mutiny.data.folder import image_folder
from mutiny.data.sources import as_data

__all__ = ["ArrayData", "Data", "as_data", "image_folder"]
