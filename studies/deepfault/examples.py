"""Fig. 4: pictures before and after, for each strategy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor

from mutiny.reports.files import replacing
from studies.deepfault.lab import ALL, Lab, Settings
from studies.deepfault.subjects import RMS, family_of
from studies.deepfault.synthesis import synthesized
from studies.store import Rows

NAME = "examples"
SHOWN = ("mnist-8x20", "cifar-1x512")
"""The networks of Fig. 3; the paper does not say which ones Fig. 4 shows."""
COLUMNS = "subject k measure label before after linf".split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "examples.csv", COLUMNS, 2)


def pictures(folder: Path, subject: str) -> Path:
    """Where the pictures are kept, ``(strategies, 2, height, width, channels)``: new, old."""
    return folder / f"examples-{subject}.npz"


def units(subject: str, _settings: Settings) -> list[tuple[str, ...]]:
    """(k,): the middle one."""
    ks = family_of(subject).ks
    return [(str(ks[len(ks) // 2]),)] if subject in SHOWN else []


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Keeps one picture of each strategy, the first that fails if there is one."""
    network, found, kept = lab.network(0, RMS), [], []
    for measure in ALL:
        made, targets, _ = synthesized(network, lab.family, RMS, int(unit[0]), measure, 0)
        at = int(np.argmax(made.failed))
        pair = made.inputs[at], made.originals[at]
        kept.append([as_pixels(one) for one in pair])
        said = [int(network.say(one[None]).argmax()) for one in pair]
        names = [title(lab, number) for number in (int(targets[at]), *reversed(said))]
        row = (lab.name, *unit, measure, *names, lab.family.top * float(made.distances["linf"][at]))
        found.append(dict(zip(COLUMNS, row, strict=True)))
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(pictures(folder, lab.name)) as part, part.open("wb") as file:
        np.savez_compressed(file, pictures=np.array(kept))
    rows(folder).put(found)
    return True


def as_pixels(image: Tensor) -> npt.NDArray[np.uint8]:
    """From ``(channels, height, width)`` in 0..1 to ``(height, width, channels)`` in 0..255."""
    found: npt.NDArray[np.uint8] = (255 * image).round().byte().permute(1, 2, 0).numpy()
    return found


def title(lab: Lab, number: int) -> str:
    """What a class is called."""
    names = lab.subject.test.classes
    return names[number] if names else str(number)
