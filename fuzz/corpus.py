"""Makes the files that are mutated, by mutiny itself: a store, results of all verbs, data files."""

from __future__ import annotations

import gzip
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

import mutiny
from fuzz import subject
from mutiny.campaigns.jobs import Job, JobResult
from mutiny.campaigns.ownership import with_command
from mutiny.campaigns.stores.base import Campaign
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import BadInput
from mutiny.verbs.repair.files import save_patch, save_weights

VERBS = ("assess", "muff", "compare", "select", "locate", "repair", "attack", "strengthen")
PROVEN = ("select", "attack")
"""Stores whose unfinished campaign has a proof that this user gave its command."""


def make(folder: Path, verbs: tuple[str, ...] = VERBS) -> None:
    """Writes the corpus into a folder."""
    results(folder, verbs)
    arrays(folder)
    idx(folder)
    images(folder)
    weights(folder)


def command_of(verb: str, folder: Path) -> dict[str, Any]:
    """The command of campaigns of the corpus, as stores keep it."""
    arguments = {"subject": f"{Path(subject.__file__).resolve()}:subject", "seed": 0}
    if verb == "compare":
        arguments["b"] = arguments["subject"]
    return {"verb": verb, "arguments": arguments, "folder": str(folder)}


def results(folder: Path, verbs: tuple[str, ...]) -> None:
    """For each verb a store with a finished campaign and one that is not, and the result as JSON."""
    made = subject.subject()
    calls = {
        "assess": lambda **more: mutiny.assess(made, "GF,WI", seeds=2, **more),
        "muff": lambda **more: mutiny.assess(made, "NEB", method="muff", **more),
        "compare": lambda **more: mutiny.compare(made, made, **more),
        "select": lambda **more: mutiny.select(made, "deepgini,margin", budget=5, **more),
        "locate": lambda **more: mutiny.locate(made, k=3, validate=2, by_class=True, **more),
        "repair": lambda **more: mutiny.repair(made, **more),
        "attack": lambda **more: mutiny.attack(made, low=-9.0, high=9.0, mutants=2, count=20, **more),
        "strengthen": lambda **more: mutiny.strengthen(made, budget=5, operators="GF", seeds=1, **more),
    }
    for name in verbs:
        with SqliteStore(folder / f"{name}.mutiny") as store:
            store.command = command_of("assess" if name == "muff" else name, folder)
            try:
                result = calls[name](store=store, batch_size=64)
            except BadInput as error:
                raise SystemExit(f"the corpus cannot be made: {name}: {error}") from error
            (folder / f"{name}.json").write_text(json.dumps(result.to_json()))
            unfinished = Campaign("unfinished", "select", "blobs", {"seed": 0}, command=command_of("select", folder))
            if name in PROVEN:
                unfinished = with_command(unfinished, unfinished.command)
            store.open(unfinished, most=4)
            begun, failed = (Job("probe", (number,), name=f"job {number}") for number in range(2))
            store.begin("unfinished", begun)
            store.save("unfinished", JobResult(failed, failure="it failed"))


def arrays(folder: Path) -> None:
    """Arrays as ``.npz``, compressed and not, and as ``.npy``."""
    x, y = (part.numpy() for part in subject.blobs(20, 3))
    np.savez(folder / "plain.npz", x=x, y=y)
    np.savez_compressed(folder / "packed.npz", x_a=x, x_b=x.astype(np.float64), labels=y)
    np.save(folder / "inputs.npy", x)


def idx(folder: Path) -> None:
    """Images and labels as IDX files, plain for training and compressed for tests."""
    (folder / "idx").mkdir()
    pixels, labels = np.arange(6 * 28 * 28) % 251, np.arange(6) % 10
    images_file = struct.pack(">4B3I", 0, 0, 8, 3, 6, 28, 28) + pixels.astype(np.uint8).tobytes()
    labels_file = struct.pack(">4BI", 0, 0, 8, 1, 6) + labels.astype(np.uint8).tobytes()
    for kind, content in (("images-idx3", images_file), ("labels-idx1", labels_file)):
        (folder / "idx" / f"train-{kind}-ubyte").write_bytes(content)
        (folder / "idx" / f"t10k-{kind}-ubyte.gz").write_bytes(gzip.compress(content))


def images(folder: Path) -> None:
    """Folders of images of some formats, and the same in a zip file."""
    draw = np.random.default_rng(0)
    for number, suffix in enumerate(("png", "bmp", "gif", "jpg", "tif", "webp", "ppm")):
        for label in ("cat", "dog"):
            place = folder / "images" / suffix / label
            place.mkdir(parents=True)
            pixels = draw.integers(0, 256, (6, 5) if number % 2 else (6, 5, 3), dtype=np.uint8)
            Image.fromarray(pixels).convert("RGB").save(place / f"a.{suffix}")
    for method, name in ((zipfile.ZIP_DEFLATED, "images.zip"), (zipfile.ZIP_STORED, "stored.zip")):
        with zipfile.ZipFile(folder / name, "w", method) as packed:
            for path in sorted((folder / "images" / "png").rglob("*.png")):
                packed.write(path, path.relative_to(folder / "images" / "png"))


def weights(folder: Path) -> None:
    """Weights as safetensors and as a file of torch, and a patch of them."""
    model = subject.network()
    save_weights(model, folder / "weights.safetensors")
    torch.save(model.state_dict(), folder / "weights.pt")
    edit = mutiny.models.WeightEdit("0.weight", np.arange(3), torch.zeros(3))
    save_patch(mutiny.models.Patch((edit,), "0"), model, folder / "patch.safetensors")
