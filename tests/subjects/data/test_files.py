import gzip
import pickle
import struct
import subprocess
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import EpsImagePlugin, Image

from mutiny.core.errors import BadInput, UntrustedFile
from mutiny.subjects.data import as_data, as_pool, image_folder, mutate
from mutiny.subjects.data.idx import read_idx

PIXELS = np.arange(3 * 2 * 4, dtype=np.uint8).reshape(3, 2, 4) * 10
IMAGES = struct.pack(">4B3I", 0, 0, 8, 3, 3, 2, 4) + bytes(PIXELS.ravel().tolist())
LABELS = struct.pack(">4BI3B", 0, 0, 8, 1, 3, 7, 0, 2)


def write_pair(folder, prefix="train", images=IMAGES, labels=LABELS, zipped=False):
    for kind, content in (("images-idx3", images), ("labels-idx1", labels)):
        path = folder / f"{prefix}-{kind}-ubyte{'.gz' if zipped else ''}"
        path.write_bytes(gzip.compress(content) if zipped else content)


@pytest.mark.parametrize("zipped", [False, True])
def test_idx_pair(tmp_path, zipped):
    write_pair(tmp_path, "t10k", zipped=zipped)
    for path in (tmp_path, next(tmp_path.glob("*images*")), str(tmp_path)):
        data = as_data(path, "test")
        assert data.first(3).dtype == torch.float32
        np.testing.assert_allclose(data.first(3).numpy(), PIXELS[:, None] / 255, rtol=1e-6)
        assert data.targets.tolist() == [7, 0, 2]


def test_idx_of_other_types(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(struct.pack(">4BI2h", 0, 0, 0x0B, 1, 2, -5, 300))
    assert read_idx(path).tolist() == [-5, 300]
    path.write_bytes(struct.pack(">4BI2f", 0, 0, 0x0D, 1, 2, 0.5, -1.0))
    assert read_idx(path).tolist() == [0.5, -1.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": IMAGES[:-1]}, "24 bytes for shape (3, 2, 4), not only 23"),
        ({"images": IMAGES + b"x"}, "not more"),
        ({"images": IMAGES[:9]}, "truncated"),
        ({"images": b"\x89PNG" + IMAGES[4:]}, "header of an IDX file, not 89 50 4e 47"),
        ({"images": b""}, "an empty file"),
        ({"labels": struct.pack(">4BI2B", 0, 0, 8, 1, 2, 7, 0)}, "3 inputs and 2 targets"),
        ({"labels": IMAGES}, "arrays of shape"),
    ],
)
def test_damaged_idx(tmp_path, change, message):
    write_pair(tmp_path, **change)
    with pytest.raises(BadInput) as error:
        as_data(tmp_path, "train")
    assert message in str(error.value)


def test_truncated_gzip_missing_labels_and_unknown_split(tmp_path):
    write_pair(tmp_path, zipped=True)
    with pytest.raises(BadInput, match="Give one of"):
        as_data(tmp_path, "pool")
    images = tmp_path / "train-images-idx3-ubyte.gz"
    whole = images.read_bytes()
    images.write_bytes(whole[:-12])
    with pytest.raises(BadInput, match="intact gzip"):
        as_data(tmp_path, "train")
    images.write_bytes(whole)
    (tmp_path / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(BadInput, match="train labels"):
        as_data(tmp_path, "train")


@pytest.mark.parametrize("names", [("x", "y"), ("inputs", "targets"), ("inputs", "labels")])
def test_npz(tmp_path, names):
    x, y = np.random.default_rng(0).normal(size=(4, 2)), np.array([0, 1, 1, 0])
    np.savez(tmp_path / "a.npz", **dict(zip(names, (x, y), strict=True)))
    data = as_data(tmp_path / "a.npz", "train")
    np.testing.assert_array_equal(data.first(4).numpy(), x.astype(np.float32))
    assert data.targets.tolist() == y.tolist()


def test_npz_of_several_inputs(tmp_path):
    np.savez(tmp_path / "a.npz", x_ids=np.arange(3), x_mask=np.ones(3), y=np.zeros(3))
    assert sorted(as_data(tmp_path / "a.npz", "train").first(1)) == ["ids", "mask"]


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_npz_with_objects_is_refused_and_runs_nothing(tmp_path):
    trace = tmp_path / "trace"
    bomb = np.empty(1, dtype=object)
    bomb[0] = Bomb(trace)
    np.savez(tmp_path / "a.npz", x=bomb, y=np.zeros(1))
    with pytest.raises(UntrustedFile, match=r"a\.npz"):
        as_data(tmp_path / "a.npz", "train")
    (tmp_path / "b.npz").write_bytes(pickle.dumps(Bomb(trace)))
    with pytest.raises(BadInput):
        as_data(tmp_path / "b.npz", "train")
    assert not trace.exists()


def test_bad_npz_and_paths(tmp_path):
    np.savez(tmp_path / "a.npz", data=np.zeros(3))
    with pytest.raises(BadInput, match=r"numpy.savez\(path, x=x, y=y\)"):
        as_data(tmp_path / "a.npz", "train")
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "b.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match="made by numpy"):
        as_data(tmp_path / "b.npz", "train")
    (tmp_path / "c.csv").write_text("1,2")
    with pytest.raises(BadInput, match=r"c\.csv: expected an \.npz"):
        as_data(tmp_path / "c.csv", "train")
    with pytest.raises(BadInput, match="existing file or folder"):
        as_data(tmp_path / "none", "train")


def fill(root, modes=("RGB", "RGB"), sizes=((3, 2), (3, 2))):
    """Two classes; pixel values tell class and picture."""
    for number, (label, mode, size) in enumerate(zip(("zebra", "ant"), modes, sizes, strict=True)):
        (root / label).mkdir(parents=True)
        for picture in range(2):
            value = number * 100 + picture * 10
            color = value if mode in ("L", "I;16") else (value, 0, 255)
            Image.new(mode, size, color).save(root / label / f"{picture}.png")
    (root / ".hidden").mkdir()
    (root / "ant" / "notes.txt").write_text("not an image")


def zipped(root, archive):
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(root.rglob("*.*")):
            file.write(path, Path("top/train") / path.relative_to(root))
    return archive


@pytest.mark.parametrize("packed", [False, True])
def test_image_folder(tmp_path, packed):
    fill(tmp_path / "images")
    path = zipped(tmp_path / "images", tmp_path / "a.zip") / "top" / "train" if packed else tmp_path / "images"
    data = as_data(path, "train")
    assert data.targets.tolist() == [0, 0, 1, 1]
    inputs = data.first(4)
    assert inputs.shape == (4, 3, 2, 3)
    np.testing.assert_allclose(inputs[:, 0, 0, 0].numpy() * 255, [100, 110, 0, 10], rtol=1e-6)
    np.testing.assert_allclose(inputs[:, 2].numpy(), 1)
    assert image_folder(path, classes=["zebra"]).targets.tolist() == [0, 0]
    assert image_folder(path, gray=True, size=(5, 7)).first(1).shape == (1, 1, 5, 7)
    assert sorted(child.name for child in tmp_path.iterdir()) == ["a.zip", "images"][1 - packed :]


def test_classes_are_named_by_their_folders(tmp_path):
    fill(tmp_path)
    data = as_data(tmp_path, "train")
    assert data.classes == ("ant", "zebra")
    assert (
        data.subset(np.array([3])).classes == data.subset(np.array([1])).subset(np.array([0])).classes == data.classes
    )
    assert as_pool(tmp_path).classes == mutate(tmp_path).subset(np.array([2])).classes == data.classes
    assert image_folder(tmp_path, classes=["zebra", "ant"]).classes == ("zebra", "ant")
    assert as_pool(tmp_path / "ant").classes is None
    assert as_data((np.zeros((2, 1)), [0, 1]), "train").classes is None


def test_gray_images_have_one_channel_unless_some_are_colored(tmp_path):
    fill(tmp_path / "gray", modes=("L", "L"))
    fill(tmp_path / "mixed", modes=("L", "RGB"))
    assert as_data(tmp_path / "gray", "train").first(1).shape[1] == 1
    assert as_data(tmp_path / "mixed", "train").first(1).shape[1] == 3


def test_bad_folders_get_a_sentence(tmp_path):
    fill(tmp_path / "sizes", sizes=((3, 2), (4, 2)))
    with pytest.raises(BadInput, match=r"3x2.*size=\(height, width\)|4x2.*size=\(height, width\)"):
        as_data(tmp_path / "sizes", "train")
    assert image_folder(tmp_path / "sizes", size=4).first(1).shape == (1, 3, 4, 4)
    with pytest.raises(BadInput, match="train classes=lion: expected a folder"):
        image_folder(tmp_path / "sizes", classes=["lion"], name="train")
    with pytest.raises(BadInput, match=r"did you mean .*sizes/ant|images in every class"):
        as_data(tmp_path, "train")
    (tmp_path / "sizes" / "empty").mkdir()
    with pytest.raises(BadInput, match="sizes: expected images in every class folder, got none in empty"):
        image_folder(tmp_path / "sizes", size=4)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(BadInput, match="here are no folders"):
        as_data(tmp_path / "nothing", "train")
    fill(tmp_path / "deep", modes=("I;16", "RGB"))
    with pytest.raises(BadInput, match=r"zebra/0\.png: expected 8 bits"):
        as_data(tmp_path / "deep", "train")


@pytest.mark.parametrize("keep", [20, -20])
def test_unreadable_image_is_named(tmp_path, keep):
    noise = np.random.default_rng(0).integers(0, 255, (40, 40, 3), dtype=np.uint8)
    (tmp_path / "a").mkdir()
    Image.fromarray(noise).save(tmp_path / "a" / "1.jpg")
    Image.fromarray(noise).save(tmp_path / "a" / "2.jpg")
    (tmp_path / "a" / "2.jpg").write_bytes((tmp_path / "a" / "1.jpg").read_bytes()[: keep if keep > 0 else 700])
    with pytest.raises(BadInput, match=r"a/2\.jpg: expected a readable image"):
        as_data(tmp_path, "train")


def test_bad_zip_files(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"not a zip")
    with pytest.raises(BadInput, match="intact zip"):
        as_data(tmp_path / "a.zip", "train")
    fill(tmp_path / "images")
    archive = zipped(tmp_path / "images", tmp_path / "b.zip")
    with pytest.raises(BadInput, match="top/train"):
        as_data(archive / "top", "train")
    with pytest.raises(BadInput, match="a folder in the zip"):
        as_data(archive / "other", "train")


def test_a_zip_folder_survives_pickling(tmp_path):
    from mutiny.subjects.data.tree import open_tree

    fill(tmp_path / "images")
    tree = open_tree(zipped(tmp_path / "images", tmp_path / "a.zip") / "top" / "train", "train")
    copy = pickle.loads(pickle.dumps(tree))
    assert copy.folders() == ["ant", "zebra"]
    assert copy.read("ant/0.png") == tree.read("ant/0.png")


def test_a_pool_of_images_in_one_folder(tmp_path):
    for number in range(3):
        Image.new("L", (4, 5), 51 * number).save(tmp_path / f"img_{number}.png")
    (tmp_path / "notes.txt").write_text("not an image")
    pool = as_pool(tmp_path)
    assert (len(pool), pool.labeled, pool.names) == (3, False, ("img_0.png", "img_1.png", "img_2.png"))
    assert pool.read(slice(0, 3))[:, 0, 0, 0].tolist() == pytest.approx([0, 0.2, 0.4])
    assert pool.subset(np.array([2, 0])).names == ("img_2.png", "img_0.png")
    with zipfile.ZipFile(tmp_path / "flat.zip", "w") as file:
        for number in range(3):
            file.write(tmp_path / f"img_{number}.png", f"img_{number}.png")
    assert as_pool(tmp_path / "flat.zip").names == pool.names
    with pytest.raises(BadInput, match="DIR/CLASS"):
        as_data(tmp_path, "train")


def test_a_folder_with_images_and_class_folders_is_no_pool(tmp_path):
    fill(tmp_path)
    assert as_pool(tmp_path).names == ("ant/0.png", "ant/1.png", "zebra/0.png", "zebra/1.png")
    Image.new("RGB", (3, 2)).save(tmp_path / "loose.png")
    with pytest.raises(BadInput, match="class folders only"):
        as_pool(tmp_path)


def test_pools_of_arrays_without_targets(tmp_path):
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x=x)
    np.savez(tmp_path / "xy.npz", x=x, y=[0, 1, 0])
    for name, labeled in (("x.npy", False), ("x.npz", False), ("xy.npz", True)):
        pool = as_pool(tmp_path / name)
        assert (pool.labeled, pool.read(slice(0, 3)).tolist()) == (labeled, x.tolist())
    with pytest.raises(BadInput, match="arrays x and y"):
        as_data(tmp_path / "x.npz", "train")


@pytest.fixture
def small(monkeypatch):
    """Files may take 4 MB."""
    monkeypatch.setenv("MUTINY_LIMIT", "4MB")


def npy(header, content=b""):
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def packed(path, *entries, method=zipfile.ZIP_DEFLATED):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of duplicate names
        with zipfile.ZipFile(path, "w", method) as archive:
            for name, content in entries:
                archive.writestr(name, content)
    return path


def refused(read, *arguments):
    """The sentence of a refusal, and the peak of the memory that it took."""
    import tracemalloc

    tracemalloc.start()
    try:
        with pytest.raises(BadInput) as caught:
            read(*arguments)
        return str(caught.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


ZEROS = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (33554432,)}", bytes(1 << 25))


def test_archives_that_take_too_much_memory_are_refused_before_they_do(tmp_path, small):
    packed(tmp_path / "a.npz", ("x.npy", ZEROS))
    packed(tmp_path / "a.zip", ("cat/a.png", bytes(1 << 25)))
    for path in (tmp_path / "a.npz", tmp_path / "a.zip"):
        assert path.stat().st_size < 1 << 17
        told, peak = refused(as_data, path, "train")
        assert "a file that takes at most 4.0MB in memory, not 33.6MB" in told
        assert peak < 6e6


@pytest.mark.parametrize("zipped", [False, True])
def test_idx_headers_that_claim_too_much_are_refused_before_memory_is_taken(tmp_path, small, zipped):
    claim = struct.pack(">4B3I", 0, 0, 8, 3, 60_000, 28, 28)
    write_pair(tmp_path, images=claim + bytes(1000), zipped=zipped)
    told, peak = refused(as_data, tmp_path, "train")
    assert ("at most 4.0MB in memory" if zipped else "not only 1000") in told
    assert peak < 6e6
    write_pair(tmp_path, images=struct.pack(">4B8I", 0, 0, 14, 8, *[0xFFFFFFFF] * 8), zipped=zipped)
    assert "IDX file" in refused(as_data, tmp_path, "train")[0]


def test_images_of_which_a_batch_takes_too_much_memory_are_refused(tmp_path, small):
    for label in ("ant", "zebra"):
        (tmp_path / label).mkdir()
        Image.new("L", (1000, 600)).save(tmp_path / label / "0.png")
    told, peak = refused(as_data, tmp_path, "train")
    assert "at most 4.0MB in memory, not 9.6MB" in told
    assert peak < 6e6
    assert image_folder(tmp_path, size=8).first(2).shape == (2, 1, 8, 8)


@pytest.mark.parametrize(
    "content",
    [
        npy("("),
        npy("(" * 400),
        npy("{'a': " * 90),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1048576)}"),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}"),
        npy("{'descr': '<f4,<f4', 'fortran_order': False, 'shape': (1,)}", bytes(8)),
        npy("{'descr': '|S0', 'fortran_order': False, 'shape': (9,)}"),
        npy("{'descr': [], 'fortran_order': 7, 'shape': 1}"),
        b"\x93NUMPY\x09\x00",
    ],
    ids=range(9),
)
def test_headers_of_arrays_that_numpy_never_wrote_get_a_sentence(tmp_path, content):
    (tmp_path / "a.npy").write_bytes(content)
    packed(tmp_path / "a.npz", ("x.npy", content), ("y.npy", content))
    for name in ("a.npy", "a.npz"):
        with pytest.raises(BadInput):
            as_pool(tmp_path / name)


def test_an_array_of_negative_length_is_refused_or_what_the_file_holds(tmp_path):
    """numpy before 2 reads such arrays: as many items as there are."""
    file = tmp_path / "a.npy"
    file.write_bytes(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", bytes(8)))
    try:
        inputs = as_pool(file).read(slice(None))
    except BadInput:
        return
    assert inputs.tolist() == [0, 0]


def with_flag(path, offset, value):
    """The same archive with another value in the header of its first entry, in the directory and before its content."""
    content = bytearray(path.read_bytes())
    struct.pack_into("<H", content, content.index(b"PK\x01\x02") + offset + 2, value)
    struct.pack_into("<H", content, content.index(b"PK\x03\x04") + offset, value)
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["a.npz", "a.zip"])
@pytest.mark.parametrize(
    ("offset", "value", "told"),
    [
        (6, 1, "a file without encryption"),
        (8, 14, "Pack it again"),
        (8, 99, "Pack it again"),
        (6, 1 << 5, "read|image"),
    ],
)
def test_archives_that_cannot_be_read_get_a_sentence(tmp_path, name, offset, value, told):
    packed(tmp_path / name, ("x.npy" if name == "a.npz" else "cat/a.png", npy("")))
    with_flag(tmp_path / name, offset, value)
    with pytest.raises(BadInput, match=told):
        as_data(tmp_path / name, "train")


def test_two_arrays_of_one_name_are_refused(tmp_path):
    ok = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", bytes(2))
    packed(tmp_path / "a.npz", ("x.npy", ok), ("x.npy", ok), ("y.npy", ok))
    with pytest.raises(BadInput, match="arrays of different names"):
        as_data(tmp_path / "a.npz", "train")


def test_what_only_claims_to_be_a_picture_starts_no_program(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", "gs")  # as if Ghostscript were installed
    monkeypatch.setattr(subprocess, "check_call", lambda *command, **_: started.append(command))  # of Ghostscript
    fill(tmp_path)
    (tmp_path / "ant" / "0.png").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"
    )
    with pytest.raises(BadInput, match=r"ant/0.png: expected a readable image"):
        as_data(tmp_path, "train")
    assert not started
