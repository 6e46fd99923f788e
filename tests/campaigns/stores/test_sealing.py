"""Unsealed values are equal to the sealed ones and have equal types, or are refused; no code runs."""

import math
import sys
import types
from collections import OrderedDict
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum, StrEnum
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mutiny import __version__
from mutiny.campaigns.stores import sealing
from mutiny.campaigns.stores.encoding import Encoder
from mutiny.campaigns.stores.sealing import MARK, START, header_of, seal, unseal
from mutiny.core.errors import BadInput, StoreDamaged, StoreError
from mutiny.core.records import KillBits, KillEvidence, MutantRecord, Status, Verdict
from mutiny.core.stats import Interval
from mutiny.subjects.inference.condensed_outputs import by_columns


def alike(one, other):
    """Equal in value and type, recursively; NaN equals itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return math.copysign(1, one) == math.copysign(1, other) and (one == other or (one != one and other != other))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return len(one) == len(other) and all(map(alike, one.items(), other.items()))
    if isinstance(one, (set, frozenset)):
        return one == other and written(one) == written(other)
    if isinstance(one, (np.ndarray, np.generic)):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, torch.Tensor):
        one, other = one.detach(), other.detach()
        return (
            one.dtype == other.dtype and one.shape == other.shape and torch.equal(one.nan_to_num(), other.nan_to_num())
        )
    if is_dataclass(one):
        return all(alike(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    return one == other


def written(value):
    """Text of a hashable value: equal for equal sets, different for 0, 0.0 and False."""
    if isinstance(value, (tuple, set, frozenset)):
        parts = [written(item) for item in value]
        return f"{type(value)} {parts if isinstance(value, tuple) else sorted(parts)}"
    return f"{type(value)} {value!r}"


def back(value):
    return unseal(seal(value, {}))[1]


dtypes = st.one_of(
    arrays.boolean_dtypes(),
    arrays.integer_dtypes(endianness="?"),
    arrays.unsigned_integer_dtypes(endianness="?"),
    arrays.floating_dtypes(endianness="?"),
    arrays.complex_number_dtypes(endianness="?"),
    arrays.datetime64_dtypes(),
    arrays.timedelta64_dtypes(),
    arrays.byte_string_dtypes(),
    arrays.unicode_string_dtypes(),
)
any_array = arrays.arrays(dtypes, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
keys = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.sampled_from([Verdict.KILLED, Status.INVALID]),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=4,
)
records = st.builds(KillEvidence, st.booleans(), st.floats(), st.floats(), st.text()) | st.builds(
    Interval, st.floats(), st.floats(), st.floats(), st.text()
)
values = st.recursive(
    keys
    | st.floats()
    | st.integers(-(1 << 9_000), 1 << 9_000)
    | any_array
    | any_array.map(lambda a: a.T)
    | records
    | dtypes.flatmap(lambda d: arrays.arrays(d, ()).map(lambda a: a[()])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(keys, inner, max_size=4)
        | st.dictionaries(st.text(), inner, max_size=4)
        | st.sets(keys, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(values, st.dictionaries(st.text(), st.integers() | st.text()))
def test_what_comes_back_is_what_was_put_in(value, header):
    sealed = seal(value, header)
    told, again = unseal(sealed)
    assert alike(again, value)
    assert header.items() <= told.items() or "mutiny" in header
    assert header_of(sealed) == told


@settings(deadline=None)
@given(values, st.data())
def test_any_change_is_noticed(value, data):
    sealed = bytearray(seal(value, {"task": "a1"}))
    if data.draw(st.booleans()):
        sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= data.draw(st.integers(1, 255))
    else:
        del sealed[data.draw(st.integers(0, len(sealed) - 1)) :]
    for reading in (unseal, header_of):
        with pytest.raises(StoreDamaged, match="intact value"):
            reading(bytes(sealed))


TYPES = "float64 float32 float16 bfloat16 complex64 complex128 bool int8 int16 int32 int64 uint8 uint16 uint32 uint64"


@pytest.mark.parametrize("name", TYPES.split())
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3), (2, 3, 4, 5)], ids=str)
def test_tensors(name, shape):
    tensor = (torch.randn(shape) * 50).abs().to(getattr(torch, name))
    again = back(tensor)
    assert type(again) is torch.Tensor
    assert (again.dtype, again.shape, again.stride()) == (tensor.dtype, tensor.shape, tensor.stride())
    assert torch.equal(again, tensor)


def test_memory_order_is_kept():
    rows = torch.randn(1000, 10)
    for tensor in (by_columns(rows), torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last), rows.T):
        again = back(tensor)
        assert again.stride() == tensor.stride()
        assert torch.equal(again, tensor)
    block = np.random.default_rng(0).random((3, 4, 5))
    for array in (block, block.T, np.asfortranarray(block), block.transpose(1, 0, 2)):
        again = back(array)
        assert again.strides == array.strides
        assert np.array_equal(again, array)


def test_views_come_back_as_what_they_show():
    block = np.arange(60).reshape(3, 4, 5)
    for array in (block[:, ::2], block[::-1], np.broadcast_to(block[0], (2, 4, 5)), block[0, 0]):
        assert np.array_equal(back(array), array)
    rows = torch.arange(60).reshape(6, 10)
    for tensor in (rows[:, ::2], rows[0].expand(4, 10), torch.complex(torch.ones(2), torch.ones(2)).conj(), rows[2]):
        assert torch.equal(back(tensor), tensor)
    weight = torch.ones(3, requires_grad=True)
    assert torch.equal(back(weight), weight)


def test_what_comes_back_can_be_changed_and_what_was_one_stays_one():
    array = np.zeros(10)
    one, same, other = back((array, array, np.zeros(10)))
    one += 1
    assert same.sum() == 10
    assert other.sum() == 0
    tensor = back(torch.zeros(3))
    tensor += 1
    assert len(seal([array] * 50, {})) < len(seal([array, np.ones(1000)], {}))


def test_runs_shrink_and_noise_costs_nothing():
    bits = np.full(750_000, 0xFF, np.uint8)
    noise = np.random.default_rng(0).random(100_000)
    assert len(seal(bits, {})) < 10_000
    assert noise.nbytes <= len(seal(noise, {})) < noise.nbytes + 500


def test_headers_are_readable_and_name_the_version():
    header = header_of(seal(1, {"task": "a1", "arguments": ["WI", 0.5]}))
    assert header == {"task": "a1", "arguments": ["WI", 0.5], "mutiny": __version__}


class Mine(NamedTuple):
    x: int


@dataclass(frozen=True)
class Own:
    x: int


class Color(Enum):
    RED = 1


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [
        object(),
        Mine(1),
        Own(1),
        Color.RED,
        Text("a"),
        OrderedDict(a=1),
        print,
        np.array([object()]),
        int,
        np.zeros(2, [("a", "i4")]),
        np.ma.zeros(2),
        torch.nn.Parameter(torch.zeros(1)),
        torch.zeros(2).to_sparse(),
        [1, {"a": (object(),)}],
        1j,
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_refused_with_a_sentence(value):
    with pytest.raises(BadInput, match="nothing else can be kept"):
        seal(value, {})


@pytest.fixture
def module(monkeypatch):
    """A module of mutiny that can change between writing and reading."""
    made = types.ModuleType("mutiny.invented")
    monkeypatch.setitem(sys.modules, "mutiny.invented", made)

    def put(kind):
        kind.__module__, kind.__qualname__ = made.__name__, kind.__name__
        setattr(made, kind.__name__, kind)
        return kind

    return put


def test_records_that_have_changed_since(module):
    @dataclass(frozen=True)
    class Point:
        x: int
        old: int = 3

    class Pair(NamedTuple):
        a: int

    sealed = seal([module(Point)(1), module(Pair)(2)], {})

    @dataclass(frozen=True)
    class Point:
        y: str = "new"
        z: list = field(default_factory=list)
        x: int = 0

        def __post_init__(self):
            raise AssertionError("what a file says must not run anything")

    class Pair(NamedTuple):
        a: int
        b: int = 7

    module(Point), module(Pair)
    point, pair = unseal(sealed)[1]
    assert (point.x, point.y, point.z, hasattr(point, "old")) == (1, "new", [], False)
    assert pair == (2, 7)

    @dataclass(frozen=True)
    class Point:
        x: int
        needed: int

    module(Point)
    with pytest.raises(StoreError, match=r"a mutiny.invented:Point without needed. mutiny \S+ wrote it") as caught:
        unseal(sealed, "file", "result of WI")
    assert not isinstance(caught.value, StoreDamaged)


def test_what_is_gone_is_told_with_the_version_that_had_it(module, monkeypatch):
    class Shade(StrEnum):
        DARK = "dark"

    sealed = seal(module(Shade).DARK, {})
    assert unseal(sealed)[1] is Shade.DARK

    class Shade(StrEnum):
        LIGHT = "light"

    module(Shade)
    with pytest.raises(StoreError, match=r"mutiny.invented:Shade.DARK. mutiny \S+ wrote it"):
        unseal(sealed)
    monkeypatch.delitem(sys.modules, "mutiny.invented")
    with pytest.raises(StoreError, match=r"got mutiny.invented:Shade. mutiny \S+ wrote it"):
        unseal(sealed)


def forged(tree):
    """A valid seal around any bytes."""
    encode, Encoder.encode = Encoder.encode, lambda self, value: tree
    try:
        return seal(None, {})
    finally:
        Encoder.encode = encode


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "mutiny.core.records:np.ndarray",
        "mutiny.__main__:main",
        "builtins:eval",
        "mutiny.core.errors:BadInput",
        "subprocess:Popen",
        "mutiny.campaigns.stores.sqlite:SqliteStore",
        "mutiny.core.json_values:to_plain",
        "mutinyx:A",
        "mutiny:os",
        "mutiny.campaigns.stores.sqlite:sqlite3.Connection",
        "mutiny.nosuch:A",
        "mutiny.core.records:MutantRecord.__init__",
    ],
)
def test_a_forged_file_names_nothing_but_records(name):
    for tree in ({"!": "record", "class": name, "fields": {}}, {"!": "enum", "class": name, "name": "RED"}):
        with pytest.raises(StoreError):
            unseal(forged(tree))
    assert "mutiny.__main__" not in sys.modules


def test_what_a_module_of_mutiny_imports_is_not_mutinys(module, monkeypatch):
    monkeypatch.setattr(sys.modules["mutiny.invented"], "Own", Own, raising=False)
    with pytest.raises(StoreError, match=r"mutiny.invented:Own, which is not part of mutiny"):
        unseal(forged({"!": "record", "class": "mutiny.invented:Own", "fields": {"x": 1}}))


@pytest.mark.parametrize(
    "tree",
    [
        {"!": "nosuch"},
        {"!": 5},
        {"!": "array", "dtype": "|O", "shape": [1], "axes": [0], "part": 0},
        {"!": "array", "dtype": "<f8", "shape": [1 << 40], "axes": [0], "part": 0},
        {"!": "tuple"},
        {"!": "int", "hex": "x"},
        {"!": "tensor", "dtype": "load", "shape": [], "axes": [], "part": 0},
        {"!": "bytes", "part": 9},
        {"!": "dict", "items": [[[], 1]]},
        {"!": "float", "hex": "00"},
        {"!": "record", "class": 5, "fields": {}},
        {"!": "record", "class": "mutiny.core.records:KillEvidence", "fields": 5},
    ],
    ids=str,
)
def test_a_forged_file_gets_a_sentence(tree):
    with pytest.raises(StoreError):
        unseal(forged(tree))


def test_formats_of_later_versions_are_refused():
    sealed = bytearray(seal(1, {}))
    sealed[START] = sealing.FORMAT + 1
    import hashlib

    sealed[len(MARK) : START] = hashlib.sha256(sealed[START:]).digest()
    with pytest.raises(StoreError, match="format 1 or older, got format 2"):
        unseal(bytes(sealed))


def test_integers_of_any_size():
    for value in (1 << 63, -(1 << 63), (1 << 63) - 1, -(1 << 63) - 1, 3**100_000, -(3**100_000)):
        assert back(value) == value


def test_typical_records():
    bits = np.packbits(np.ones((3, 2, 100), bool), axis=-1)
    record = MutantRecord("WI", 0.25, "test", Verdict.KILLED, metrics=((0.5, float("nan")),))
    assert alike(
        back({"record": record, "bits": KillBits(bits[0], bits, 100)}),
        {"record": record, "bits": KillBits(bits[0], bits, 100)},
    )


def test_too_little_memory_is_not_told_as_damage(monkeypatch):
    def no_room(*_):
        raise MemoryError("no room")

    sealed = seal("a" * 5000, {"task": "t"})
    monkeypatch.setattr("zlib.decompressobj", no_room)
    with pytest.raises(MemoryError, match="no room"):
        unseal(sealed)
