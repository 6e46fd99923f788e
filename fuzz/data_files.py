"""Mutated data files: raw bytes, and headers and directories of each format that say something else."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np

import mutiny
from fuzz import subject
from fuzz.mutate import MEBI, NUMBERS, mutated_bytes, mutated_value, rarely
from mutiny.subjects.data import as_data, as_pool
from mutiny.verbs.repair.files import load_patch

SHAPES = "(20,2) () (0,) (-1,) (1099511627776,) (4611686018427387904,8) (20,2,0) 20 'a' (2.5,)".split()
KINDS = ("<f4", "|O", "<f8", ">i2", "<U3", "|S0", "<c16", "|V4", "<M8[s]", "f4,f4", "?", "nonsense", "<f2", "|b1")


def case(draw: Random, corpus: Path, folder: Path) -> Callable[[], None]:
    """Writes mutated data and returns how it is read."""
    return draw.choice([arrays, arrays, idx, images, archives, archives, weights, weights])(draw, corpus, folder)


def arrays(draw: Random, corpus: Path, folder: Path) -> Callable[[], None]:
    """An ``.npz`` or ``.npy`` file."""
    source = corpus / draw.choice(["plain.npz", "packed.npz", "inputs.npy"])
    path, way = folder / source.name, draw.randrange(3)
    if way == 0:
        path.write_bytes(mutated_bytes(draw, source.read_bytes()))
    elif source.suffix == ".npy":
        path.write_bytes(array_file(draw))
    else:
        method = draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
        names = draw.choice(["x y", "x y", "x x y", "inputs labels", "x_a x_b y", "z", "../x y", ""]).split()
        content = packed([(f"{name}.npy", array_file(draw)) for name in names], method)
        path.write_bytes(mutated_directory(draw, content) if draw.random() < 0.3 else content)
    reader = draw.choice([as_data, as_pool])
    return lambda: use(reader(path, "pool"))


def array_file(draw: Random) -> bytes:
    """An ``.npy`` file whose header and content may not agree."""
    array = np.arange(40, dtype=np.float32).reshape(20, 2)
    if draw.random() < 0.3:
        array = draw.choice(
            [np.arange(20), np.full((20, 2), np.inf), np.zeros((20, 1, 1, 1, 1)), np.zeros(20, "M8[s]")]
        )
    file = io.BytesIO()
    np.save(file, array)
    content = file.getvalue()
    if draw.random() < 0.6:
        shape, kind = draw.choice(SHAPES), draw.choice(KINDS)
        header = f"{{'descr': '{kind}', 'fortran_order': {draw.choice([False, True, 7])}, 'shape': {shape}, }}"
        header = draw.choice([header, header, header, "(" * 400, header * 500, "{'a': " * 90, "[]", "1 +"])
        size = 300 * MEBI if rarely(draw) else draw.choice([1, 160])
        start = draw.choice([b"\x93NUMPY\x01\x00", b"\x93NUMPY\x03\x00", b"\x93NUMPY\x09\x00"])
        length = struct.pack("<H" if start[6] == 1 else "<I", min(len(header), 65535))
        content = start + length + header.encode()[:65535] + bytes(size)
    return mutated_bytes(draw, content) if draw.random() < 0.1 else content


def packed(entries: list[tuple[str, bytes]], method: int) -> bytes:
    """A zip file, which may have entries of the same name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            archive.filelist = [each for each in archive.filelist if each is not info]
            archive.NameToInfo.pop(name, None)  # otherwise there would be a warning
            archive.writestr(info, content)
    return file.getvalue()


def mutated_directory(draw: Random, content: bytes) -> bytes:
    """A zip file with another flag, method, size, offset or name in a header of an entry."""
    made = bytearray(content)
    for mark, fields in ((b"PK\x01\x02", (8, 10, 20, 24, 28, 42)), (b"PK\x03\x04", (6, 8, 18, 22, 26))):
        starts = [match.start() for match in re.finditer(re.escape(mark), made)]
        if starts and draw.random() < 0.7:
            at, width = draw.choice(starts) + draw.choice(fields), draw.choice([1, 2, 4])
            made[at : at + width] = (draw.choice(NUMBERS) % (1 << 8 * width)).to_bytes(width, "little")
    return bytes(made)


def idx(draw: Random, corpus: Path, folder: Path) -> Callable[[], None]:
    """A pair of IDX files, as data or as the folder of a built-in subject."""
    shutil.copytree(corpus / "idx", folder / "idx")
    path = draw.choice(sorted((folder / "idx").iterdir()))
    zipped = path.suffix == ".gz"
    content = gzip.decompress(path.read_bytes()) if zipped else path.read_bytes()
    if draw.random() < 0.5:
        dimensions = draw.choice([0, 1, 2, 3, 8, 9, 255])
        sizes = b"".join(struct.pack(">I", draw.choice([0, 1, 6, 28, 60000, 1 << 31])) for _ in range(dimensions))
        body = bytes(300 * MEBI if zipped and rarely(draw) else draw.choice([6, 4704]))
        content = bytes([0, 0, draw.choice([8, 9, 11, 12, 13, 14, 99]), dimensions]) + sizes + body
    else:
        content = mutated_bytes(draw, content)
    content = gzip.compress(content, 1) if zipped else content
    path.write_bytes(mutated_bytes(draw, content) if draw.random() < 0.2 else content)
    if draw.random() < 0.3:
        return lambda: use(mutiny.load_subject("mnist", folder / "idx").test)
    name = draw.choice(["train", "test", "weak"])
    return lambda: use(as_data(folder / "idx", name))


def images(draw: Random, corpus: Path, folder: Path) -> Callable[[], None]:
    """A folder of images."""
    shutil.copytree(
        corpus / "images" / draw.choice(["png", "bmp", "gif", "jpg", "tif", "webp", "ppm"]), folder / "images"
    )
    path = draw.choice(sorted((folder / "images").rglob("*.*")))
    path.write_bytes(mutated_image(draw, path.read_bytes()))
    if draw.random() < 0.1:
        path.rename(path.with_suffix(draw.choice([".png", ".tiff", ".gif"])))
    size = draw.choice([None, None, 4, (3, 5)])
    return lambda: use(mutiny.image_folder(folder / "images", size=size))


def mutated_image(draw: Random, content: bytes) -> bytes:
    """An image with other bytes; for PNG also a header of another size, with a right checksum, or a bomb."""
    if content[1:4] == b"PNG" and draw.random() < 0.5:
        width, height = (draw.choice([0, 1, 5, 6, 9000, 20_000, 1 << 31]) for _ in range(2))
        head = b"IHDR" + struct.pack(
            ">IIBBBBB", width, height, draw.choice([1, 8, 16]), draw.choice([0, 2, 3, 4, 6]), 0, 0, 0
        )
        body = b"IDAT" + zlib.compress(bytes(10 * MEBI if rarely(draw) else 100))
        text = b"zTXt" + b"a\x00\x00" + zlib.compress(bytes(80 * MEBI if rarely(draw) else 10), 1)
        chunks = [head, *([text] if draw.random() < 0.3 else []), body, b"IEND"]
        framed = (struct.pack(">I", len(each) - 4) + each + struct.pack(">I", zlib.crc32(each)) for each in chunks)
        return b"\x89PNG\r\n\x1a\n" + b"".join(framed)
    if draw.random() < 0.05:
        return b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"
    return mutated_bytes(draw, content)


def archives(draw: Random, corpus: Path, folder: Path) -> Callable[[], None]:
    """A folder of images in a zip file."""
    source, path = corpus / draw.choice(["images.zip", "stored.zip"]), folder / "images.zip"
    match draw.randrange(3):
        case 0:
            path.write_bytes(mutated_bytes(draw, source.read_bytes()))
        case 1:
            path.write_bytes(mutated_directory(draw, source.read_bytes()))
        case _:
            with zipfile.ZipFile(source) as archive:
                entries = [(name, archive.read(name)) for name in archive.namelist()]
            entries = [
                (name, mutated_image(draw, content) if draw.random() < 0.5 else content) for name, content in entries
            ]
            odd = (
                "../../a.png",
                "cat//b.png",
                "/cat/a.png",
                "cat/\u202ea.png",
                "dog/" + "a" * 300 + ".png",
                "cat/b.png/",
            )
            if draw.random() < 0.5:
                entries.append((draw.choice(odd), bytes(70 * MEBI if rarely(draw) else 10)))
            path.write_bytes(packed(entries, draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])))
    inner = draw.choice(["", "", "", "cat", "no"])
    reader = draw.choice([as_data, as_pool])
    return lambda: use(reader(path / inner if inner else path, "pool"))


def weights(draw: Random, corpus: Path, folder: Path) -> Callable[[], None]:
    """A file of weights, or a patch."""
    source = corpus / draw.choice(["weights.safetensors", "patch.safetensors", "weights.pt"])
    content, path = source.read_bytes(), folder / source.name
    if source.suffix == ".safetensors" and draw.random() < 0.7:
        (length,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8 : 8 + length])
        text = json.dumps(mutated_value(draw, header)).encode()
        text = b"[" * MEBI if draw.random() < 0.03 else text
        length = draw.choice(NUMBERS) % (1 << 64) if draw.random() < 0.1 else len(text)
        content = struct.pack("<Q", length) + text + content[8 + struct.unpack_from("<Q", content)[0] :]
    elif source.suffix == ".pt" and draw.random() < 0.5:
        content = mutated_directory(draw, content)
    else:
        content = mutated_bytes(draw, content)
    path.write_bytes(content)
    if source.name.startswith("patch"):
        return lambda: _patched(path)
    return lambda: mutiny.load_weights(subject.network(), path) and None


def _patched(path: Path) -> None:
    model = subject.network()
    with load_patch(path, model).applied(model):
        pass


def use(data: mutiny.subjects.data.Data) -> None:
    """Reads data as verbs do."""
    data.first(3)
    data.fingerprint()
