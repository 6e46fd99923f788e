"""Trained originals, kept on disk so that each is trained only once."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_model, save_model
from torch import nn

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput, Interrupted, MutinyWarning
from mutiny.core.interrupts import stop_requested
from mutiny.core.private_files import make_private, replaced, why_shared
from mutiny.core.random import seed_for
from mutiny.core.user_key import is_proof, key_problem, prove
from mutiny.models import Forward, default_forward
from mutiny.subjects.data import Data
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.tasks import Task, task_identity
from mutiny.subjects.training.describe import describe, describe_network
from mutiny.subjects.training.loop import built
from mutiny.subjects.training.recipe import Recipe
from mutiny.subjects.training.weight_files import check_safetensors

FORMAT = 2
"""Version of stored files; a new version makes older files invalid."""

SHIPPED = Path(__file__).parent / "shipped_originals"
"""Originals that come with the package, so that its demo says the same on every machine."""

KIND = "trained network"
"""Kind of the proofs of stored files."""

FIRST = (
    "build",
    "epochs",
    "batch_size",
    "learning_rate",
    "optimizer",
    "optimizer_settings",
    "weight_decay",
    "loss",
    "schedule",
)
"""Settings that are always part of the fingerprint; others only if they differ from their defaults."""


def train_originals(
    recipe: Recipe,
    data: Data | Callable[[int], Data],
    task: Task,
    count: int,
    seed: int,
    *,
    folder: Path | None = None,
    forward: Forward | None = None,
    device: torch.device | str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> list[nn.Module]:
    """Trains ``count`` networks of one recipe, each with its own seed, or loads those that are stored.

    A stored file is used only if everything that determines the result is the same, see :func:`fingerprint`, this
    user's mutiny wrote it, and its content is intact; otherwise it is replaced, with a warning.

    Args:
        recipe: Recipe of the network.
        data: Training split, or a function from the number of an original to its training split.
        task: Task, which determines targets and loss.
        count: Number of networks; the first ones do not depend on it.
        seed: Seed of everything random; original ``i`` is trained with ``seed_for(seed, "original", i)``.
        folder: Folder for trained originals; :func:`default_folder` by default.
        forward: Function that calls the network; ``network(inputs)`` by default.
        device: Torch device of the training and of the trained networks.
        progress: Function that is called with the number of finished epochs and of all epochs, over all originals.
    """
    check_whole("count", count)
    folder = _usable(Path(folder) if folder is not None else default_folder())
    originals = []
    refused: list[Path] = []
    for number in range(count):
        if stop_requested():
            raise Interrupted(f"stopped before original {number + 1} of {count}")
        step = _shifted(progress, number * recipe.epochs, count * recipe.epochs)
        split = data if isinstance(data, Data) else data(number)
        originals.append(train_original(recipe, split, task, number, seed, folder, forward, device, step, refused))
    warn_of_refused(refused)
    return originals


def train_original(
    recipe: Recipe,
    data: Data,
    task: Task,
    number: int,
    seed: int,
    folder: Path,
    forward: Forward | None,
    device: torch.device | str,
    progress: Callable[[int, int], None] | None = None,
    refused: list[Path] | None = None,
) -> nn.Module:
    """Trains or loads one of the networks of `train_originals`; a file that cannot be used is added to ``refused``."""
    original_seed = seed_for(seed, "original", number)
    stored = stored_original(recipe, data, task, original_seed, folder, forward, device)
    model = stored.load(recipe, original_seed, device)
    if model is None:
        if refused is not None and stored.path.is_file():
            refused.append(stored.path)
        model = recipe.train(data, task, original_seed, forward=forward, device=device, progress=progress)
        stored.save(model)
    elif progress is not None:
        progress(recipe.epochs, recipe.epochs)
    return model


def stored_original(
    recipe: Recipe,
    data: Data,
    task: Task,
    seed: int,
    folder: Path,
    forward: Forward | None,
    device: torch.device | str,
) -> Stored:
    """The file of an original: the one that comes with the package, or one in a folder, which need not exist yet."""
    known = shipped_settings(recipe, data, task, seed) if forward in (None, default_forward) else None
    if known is not None and (shipped := Stored(SHIPPED, known)).path.is_file():
        return shipped
    return Stored(folder, settings(recipe, data, task, seed, forward=forward, device=device))


def shipped_settings(recipe: Recipe, data: Data, task: Task, seed: int) -> dict[str, Any] | None:
    """Settings of a network of the package, by name; ``None`` if a recipe is not as plain as that.

    Unlike `settings`, they do not depend on the machine: weights that come with the package were trained elsewhere.
    """
    build = recipe.build
    if not inspect.isclass(build) or not build.__module__.startswith("mutiny.subjects.architectures."):
        return None
    defaults = vars(Recipe(recipe.build))
    changed = {name: value for name, value in vars(recipe).items() if value != defaults[name]}
    if not all(isinstance(value, int | float | str) for value in changed.values()):
        return None
    network = {"network": build.__name__, "recipe": changed}
    return {**network, "data": data.fingerprint(), "task": task_identity(task), "seed": seed}


def settings(
    recipe: Recipe, data: Data, task: Task, seed: int, *, forward: Forward | None, device: torch.device | str
) -> dict[str, Any]:
    """Everything that determines a trained network, as plain values."""
    with seeded(seed):
        network = describe_network(built(recipe))
    return {
        "format": FORMAT,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),  # determines the order in which sums are computed
        "recipe": _described(recipe),
        "network": network,
        "data": data.fingerprint(),
        "task": task_identity(task),
        "seed": seed,
        "forward": describe(forward),
        "device": torch.device(device).type,
    }


def _described(recipe: Recipe) -> dict[str, Any]:
    """Settings in `FIRST`, and others that differ from their defaults: so a new setting keeps old files valid."""
    described = {field.name: describe(getattr(recipe, field.name)) for field in fields(recipe)}
    defaults = {name: describe(value) for name, value in vars(Recipe(recipe.build)).items()}
    return {name: value for name, value in described.items() if name in FIRST or value != defaults.get(name, ...)}


def fingerprint(
    recipe: Recipe,
    data: Data,
    task: Task,
    seed: int,
    *,
    forward: Forward | None = None,
    device: torch.device | str = "cpu",
) -> str:
    """SHA-256 of everything that determines a trained network: recipe, code, layers, data, task, seed, torch.

    Code includes the values and functions that it uses, see `describe`; layers include their initial weights.
    """
    return _hash(settings(recipe, data, task, seed, forward=forward, device=device))


def default_folder() -> Path:
    """``$MUTINY_CACHE/originals``, or ``mutiny/originals`` in the user's cache folder."""
    chosen = os.environ.get("MUTINY_CACHE")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(chosen) if chosen else cache / "mutiny") / "originals"


def warn_of_refused(files: Sequence[Path]) -> None:
    """Warns of files that could not be used, after their networks were trained again and the files replaced."""
    if not files:
        return
    where = files[0].parent
    what = f"A trained network in {where} was" if len(files) == 1 else f"{len(files)} trained networks in {where} were"
    why = "a file there was damaged, or had no proof that your mutiny wrote it, as files of older versions"
    warnings.warn(f"{what} trained again: {why}. {key_problem()}".strip(), MutinyWarning, stacklevel=3)


@dataclass(frozen=True)
class Stored:
    """File of one original: weights and buffers; as metadata the settings of the training, a checksum, and a proof.

    The proof says that this user's mutiny wrote the file, see `mutiny.core.user_key`. Files that come with the package
    have none.
    """

    folder: Path
    settings: dict[str, Any]

    @property
    def path(self) -> Path:
        """The file, named by the fingerprint of the settings."""
        return self.folder / f"{_hash(self.settings)}.safetensors"

    @property
    def is_own(self) -> bool:
        """Whether the file is there, with a proof that this user's mutiny wrote it; `load` also checks its content."""
        try:
            return self._is_proven(self._metadata())
        except (OSError, SafetensorError, ValueError):
            return False

    def load(self, recipe: Recipe, seed: int, device: torch.device | str) -> nn.Module | None:
        """The network; ``None`` if it is not stored, or if the file is damaged, of another kind or of another user."""
        try:
            metadata = self._metadata()
            if not self._is_proven(metadata):
                return None
            with seeded(seed_for(seed, "train"), device):
                model = built(recipe)
            load_model(model, self.path)
        except (OSError, SafetensorError, RuntimeError, ValueError):
            return None
        return model.to(device).eval() if metadata.get("checksum") == _checksum(model) else None

    def _metadata(self) -> dict[str, str]:
        check_safetensors(self.path, "original")
        with safe_open(self.path, framework="pt") as file:
            return file.metadata() or {}

    def save(self, model: nn.Module) -> None:
        """Writes the file atomically."""
        fingerprint, checksum = _hash(self.settings), _checksum(model)
        metadata = {
            "fingerprint": fingerprint,
            "settings": json.dumps(self.settings, sort_keys=True),
            "checksum": checksum,
        }
        if self.folder != SHIPPED and (proof := prove(KIND, [fingerprint, checksum])):
            metadata["proof"] = proof
        try:
            with replaced(self.path) as part:
                save_model(model, str(part), metadata)
        except (OSError, SafetensorError) as error:
            raise _unwritable(self.folder, error) from error

    def _is_proven(self, metadata: Mapping[str, str]) -> bool:
        fingerprint = _hash(self.settings)
        if metadata.get("fingerprint") != fingerprint:
            return False
        if self.folder == SHIPPED:
            return True
        return is_proof(metadata.get("proof"), KIND, [fingerprint, metadata.get("checksum")])


def _hash(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _checksum(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for key, value in sorted(model.state_dict().items()):
        digest.update(key.encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _usable(folder: Path) -> Path:
    try:
        make_private(folder)
        if why := why_shared(folder):
            fix = f"{why} Or set MUTINY_CACHE, or give another one."
            raise BadInput("folder", folder, "a folder of your own, in which nobody else may write", fix)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: Exception) -> BadInput:
    why = getattr(error, "strerror", None) or error
    fix = f"Make room, set MUTINY_CACHE or give another folder ({why})."
    return BadInput("folder", folder, "a folder that can be written to", fix)


def _shifted(progress: Callable[[int, int], None] | None, before: int, total: int) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, _: progress(before + done, total)
