"""Training of originals as jobs, several at once if the engine has several workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from mutiny.campaigns.campaign_run import CampaignRun
from mutiny.campaigns.engines.serial import Serial
from mutiny.campaigns.jobs import Job, WithScratch
from mutiny.campaigns.schedule import ask
from mutiny.core.private_files import make_private
from mutiny.core.progress import Progress
from mutiny.core.random import seed_for
from mutiny.models import Forward
from mutiny.subjects.subject import Subject, as_device
from mutiny.subjects.tasks import Task
from mutiny.subjects.training import Recipe, default_folder
from mutiny.subjects.training.folds import TrainingSet
from mutiny.subjects.training.originals import Stored, stored_original, train_original, warn_of_refused


@dataclass(frozen=True)
class Trainings:
    """Work that trains original number ``job.arguments[1]``, unless the folder has it, and returns its weights."""

    recipe: Recipe
    training: TrainingSet
    task: Task
    seed: int
    forward: Forward
    device: torch.device
    folder: Path

    def __call__(self, job: Job) -> WithScratch:
        """Trains one original. Its weights are saved in the folder, not in the store."""
        make_private(self.folder)
        number = job.arguments[1]
        data = self.training.of(number)
        model = train_original(self.recipe, data, self.task, number, self.seed, self.folder, self.forward, self.device)
        return WithScratch(True, {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()})


def train_at_once(
    running: CampaignRun,
    subject: Subject,
    count: int,
    seed: int,
    device: str | None,
    folder: Path | None,
    progress: Progress,
) -> None:
    """Trains missing originals on the workers of the engine; a serial engine leaves them to `Subject.ready`."""
    if isinstance(running.engine, Serial):
        return
    work = _work(subject, seed, device, folder)
    if work is None:
        return
    identities = subject.fingerprints(count, seed=seed, device=device)
    missing = [number for number in range(count) if not _exists(work, number)]
    if not missing:
        return
    refused = [path for number in missing if (path := _stored(work, number).path).is_file()]
    progress.stage("training originals", len(missing))

    async def train(number: int) -> None:
        # Weights that the store may have are not used: it may be anybody's, and the file would prove them to be ours.
        job = Job("original", (identities[number], number), name=f"original {number + 1}", afresh=True)
        trained = await ask(job)
        if isinstance(trained, WithScratch) and not _exists(work, number):  # another machine, or user, has trained it
            _save(work, number, trained.scratch)
        progress.step(f"original {number + 1}")

    running.run(work, [train(number) for number in missing])
    warn_of_refused(refused)


def all_stored(
    subject: Subject, count: int, *, seed: int, device: str | None = None, folder: Path | None = None
) -> bool:
    """Whether no original has to be trained: all are given, come with the package, or are in the folder.

    Args:
        subject: Subject to test.
        count: Number of originals.
        seed: Seed of the trainings.
        device: Torch device.
        folder: Folder for trained originals.
    """
    work = _work(subject, seed, device, folder)
    return work is None or all(_exists(work, number) for number in range(count))


def _work(subject: Subject, seed: int, device: str | None, folder: Path | None) -> Trainings | None:
    """The work that trains the originals of a subject; ``None`` if they are given."""
    if subject.models or subject.recipe is None:
        return None
    torch_device = torch.device("cpu") if device is None else as_device(device)
    kept_in = default_folder() if folder is None else Path(folder)
    return Trainings(subject.recipe, subject.training, subject.task, seed, subject.forward, torch_device, kept_in)


def _stored(work: Trainings, number: int) -> Stored:
    seed, data = seed_for(work.seed, "original", number), work.training.of(number)
    return stored_original(work.recipe, data, work.task, seed, work.folder, work.forward, work.device)


def _exists(work: Trainings, number: int) -> bool:
    return _stored(work, number).is_own


def _save(work: Trainings, number: int, weights: dict[str, Tensor]) -> None:
    from mutiny.subjects.training.loop import built

    model = built(work.recipe)
    model.load_state_dict(weights)
    _stored(work, number).save(model)
