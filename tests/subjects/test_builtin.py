import gzip
import struct
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits

from mutiny import load_subject
from mutiny.core.errors import BadInput
from mutiny.models import default_forward
from mutiny.subjects.builtin import BUILTIN

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def test_digits_are_scikit_learns_split_in_four():
    subject = load_subject("digits")
    assert (len(subject.train), len(subject.test)) == (1348, 449)
    everything = torch.cat([subject.train.read(slice(None)), subject.test.read(slice(None))])
    assert everything.shape == (1797, 1, 8, 8)
    assert everything.dtype == torch.float32
    assert (float(everything.min()), float(everything.max())) == (0.0, 1.0)
    counted = np.bincount(np.concatenate([subject.train.targets, subject.test.targets]))
    assert counted.tolist() == np.bincount(load_digits().target).tolist()
    assert load_subject("digits").train.fingerprint() == subject.train.fingerprint()
    assert len(np.unique(everything.reshape(1797, -1).numpy(), axis=0)) == len(np.unique(load_digits().data, axis=0))


def idx(array):
    header = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(np.uint8).tobytes()


def write_idx(folder, zipped):
    folder.mkdir(parents=True, exist_ok=True)
    for prefix, n in (("train", 20), ("t10k", 10)):
        images = np.random.default_rng(n).integers(0, 256, (n, 28, 28))
        for name, array in (("images-idx3", images), ("labels-idx1", np.arange(n) % 10)):
            path = folder / f"{prefix}-{name}-ubyte"
            if zipped:
                path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(idx(array)))
            else:
                path.write_bytes(idx(array))


def runs(subject, shape):
    """The subject's network takes its own data and gives ten scores."""
    net = subject.recipe.build().eval()
    inputs = subject.train.first(2)
    assert tuple(inputs.shape) == (2, *shape)
    with torch.no_grad():
        assert default_forward(net, inputs).shape == (2, 10)
    subject.check()


@pytest.mark.parametrize("name", [name for name in BUILTIN if "mnist" in name])
def test_mnist_and_its_relative_from_a_folder(tmp_path, name):
    write_idx(tmp_path / name.partition("/")[0], zipped="/" in name)
    subject = load_subject(name, tmp_path)
    assert (len(subject.train), len(subject.test)) == (20, 10)
    assert subject.test.targets.tolist() == list(range(10))
    expected = np.random.default_rng(20).integers(0, 256, (20, 28, 28))[3] / 255
    assert np.allclose(subject.train.read(slice(3, 4))[0, 0].numpy(), expected)
    runs(subject, (1, 28, 28))


def test_the_files_may_lie_in_the_folder_itself_and_the_folder_in_the_environment(tmp_path, monkeypatch):
    write_idx(tmp_path, zipped=False)
    monkeypatch.setenv("MUTINY_DATA", str(tmp_path))
    assert len(load_subject("mnist").train) == 20


def test_a_missing_half_is_named(tmp_path):
    write_idx(tmp_path / "mnist", zipped=True)
    (tmp_path / "mnist" / "t10k-images-idx3-ubyte.gz").unlink()
    with pytest.raises(BadInput, match="t10k-images-idx3-ubyte"):
        load_subject("mnist", tmp_path)


def write_images(root):
    for split, each in (("train", 2), ("test", 1)):
        for number, label in enumerate(CLASSES):
            folder = root / split / label
            folder.mkdir(parents=True)
            for i in range(each):
                Image.new("RGB", (32, 32), (number * 20, i * 50, 7)).save(folder / f"{i}.png")


@pytest.mark.parametrize("name", ["cifar10", "cifar10/vgg16"])
@pytest.mark.parametrize("zipped", [False, True])
def test_cifar_from_a_folder_of_images_or_a_zip_of_it(tmp_path, name, zipped):
    write_images(tmp_path / "raw" / "cifar10" if zipped else tmp_path / "cifar10")
    if zipped:
        with zipfile.ZipFile(tmp_path / "cifar10-images.zip", "w") as archive:
            for path in sorted((tmp_path / "raw").rglob("*.png")):
                archive.write(path, path.relative_to(tmp_path / "raw"))
    subject = load_subject(name, tmp_path)
    assert (len(subject.train), len(subject.test)) == (20, 10)
    assert subject.test.targets.tolist() == list(range(10))
    pixel = subject.test.read(slice(9, 10))[0, :, 0, 0]
    assert pixel.tolist() == pytest.approx([180 / 255, 0, 7 / 255])
    runs(subject, (3, 32, 32))
