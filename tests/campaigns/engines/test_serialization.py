"""Serialization: structure of tensors, code that the receiver cannot import, errors."""

import importlib.util
import io
import subprocess
import sys
import threading
import types
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from mutiny.campaigns.engines.importable import installed_path, search_path, unimportable
from mutiny.campaigns.engines.serialization import pack, pack_work, read_work, receive, send, unpack, write_parts
from mutiny.campaigns.engines.worker_messages import pack_result, unpack_result
from mutiny.campaigns.jobs import Job, JobResult
from mutiny.core.errors import BadInput, MutinyError


def write_work(path, work, away=()):
    with path.open("wb") as file:
        write_parts(file, pack_work(work, away))


def traveled(value, tmp_path):
    write_work(tmp_path / "work", value)
    return read_work(tmp_path / "work")


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight
        self.norm = nn.BatchNorm1d(16)
        self.head.weight.requires_grad_(False)

    def forward(self, x):
        return self.head(self.norm(self.embed(x)))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(7, dtype=np.int32),
        np.zeros((0, 3), np.float32),
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(40)[::3],
        np.array(["a", "bc"]),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array([{"key": 1}, None], dtype=object),
    ],
    ids=["whole numbers", "empty", "columns first", "every third", "text", "records", "objects"],
)
def test_small_arrays_arrive_equal_and_own_their_memory(array):
    got = unpack(list(map(bytearray, pack(array))))
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)
    assert got.flags.f_contiguous == array.copy("K").flags.f_contiguous
    assert got.flags.owndata
    assert got.flags.writeable


def test_small_arrays_stay_read_only():
    array = np.arange(7)
    array.flags.writeable = False
    got = unpack(list(map(bytearray, pack(array))))
    np.testing.assert_array_equal(got, array)
    assert not got.flags.writeable


def test_models_keep_ties_flags_buffers_and_mode(tmp_path):
    net = Tied()
    net(torch.arange(50))  # moves the buffers
    net.eval()
    got = traveled(net, tmp_path)
    assert got.head.weight is got.embed.weight
    assert [p.requires_grad for p in got.parameters()] == [p.requires_grad for p in net.parameters()]
    assert not any(module.training for module in got.modules())
    for name, value in net.state_dict().items():
        assert torch.equal(got.state_dict()[name], value), name
    x = torch.arange(30)
    assert torch.equal(got(x), net(x))
    with torch.no_grad():
        got.embed.weight.zero_()
    assert not got.head.weight.any()
    assert net.head.weight.any()


def test_tensors_keep_views_strides_and_dtypes(tmp_path):
    base = torch.arange(4000.0).reshape(40, 100)
    value = {
        "base": base,
        "row": base[3],
        "turned": base.t(),
        "half": base.half()[::2],
        "bits": base > 7,
        "images": torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last),
        "empty": torch.empty(0, 4),
        "scalar": torch.tensor(3),
        "conj": torch.randn(600, dtype=torch.cfloat).conj(),
        "leaf": torch.ones(500, requires_grad=True),
        "storage": base.untyped_storage(),
    }
    got = traveled(value, tmp_path)
    for name, tensor in value.items():
        if name != "storage":
            assert torch.equal(got[name], tensor), name
            assert (got[name].stride(), got[name].dtype) == (tensor.stride(), tensor.dtype), name
    assert got["leaf"].requires_grad
    got["base"][3, 5] = -1
    assert got["row"][5] == got["turned"][5, 3] == -1
    assert got["storage"].data_ptr() == got["base"].data_ptr()
    assert got["base"].data_ptr() % 64 == 0
    assert base[3, 5] == 305


def test_arrays_are_mapped_and_writable(tmp_path):
    value = [np.arange(5000), np.asfortranarray(np.random.default_rng(0).random((60, 70))), np.arange(3), np.array("x")]
    got = traveled(value, tmp_path)
    for one, other in zip(value, got, strict=True):
        assert np.array_equal(one, other)
        assert one.flags.f_contiguous == other.flags.f_contiguous
    got[0][0] = 9
    assert read_work(tmp_path / "work")[0][0] == 0  # the file is as it was
    assert type(got[0].base).__name__ == "memoryview" or got[0].base is not None


def test_no_warning_about_memory_that_must_not_be_written(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traveled([torch.ones(9999), np.ones(9999)], tmp_path)


def test_pipes_carry_parts():
    pipe = io.BytesIO()
    value = {"a": np.arange(100_000), "b": torch.ones(3, 3), "c": "text"}
    send(pipe, pack(value))
    pipe.seek(0)
    got = unpack(receive(pipe))
    assert np.array_equal(got["a"], value["a"])
    assert torch.equal(got["b"], value["b"])
    with pytest.raises(EOFError):
        receive(pipe)


def in_another_process(path, then):
    """Loads a file with work in a new interpreter, which has none of this one's modules."""
    code = (
        f"from mutiny.campaigns.engines.serialization import read_work; work = read_work({str(path)!r}); print({then})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_modules_that_others_cannot_import_travel_by_value(tmp_path, monkeypatch):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "helpers_of_it.py").write_text("FACTOR = 3\ndef triple(x): return FACTOR * x\n")
    (folder / "loaded_by_path.py").write_text(
        "import helpers_of_it\nfrom helpers_of_it import triple\n"
        "class Work:\n    def __call__(self, x): return triple(x) + helpers_of_it.FACTOR\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("loaded_by_path", folder / "loaded_by_path.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "loaded_by_path", module)
    spec.loader.exec_module(module)
    assert not {"loaded_by_path", "helpers_of_it"} & {m.__name__ for m in unimportable(search_path())}
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(folder)])
    away = unimportable(search_path())
    assert {"loaded_by_path", "helpers_of_it"} <= {m.__name__ for m in away}
    write_work(tmp_path / "work", module.Work(), away)
    assert in_another_process(tmp_path / "work", "work(5)") == "18"
    monkeypatch.delitem(sys.modules, "helpers_of_it")


def test_modules_made_by_hand_and_hidden_by_others_travel_by_value(tmp_path, monkeypatch):
    made = types.ModuleType("made_by_hand")
    exec("def work(x): return x + 1", made.__dict__)
    monkeypatch.setitem(sys.modules, "made_by_hand", made)
    away = unimportable(search_path())
    assert "made_by_hand" in {m.__name__ for m in away}
    write_work(tmp_path / "work", made.work, away)
    assert in_another_process(tmp_path / "work", "work(5)") == "6"


def test_a_cluster_has_what_is_installed_and_no_more(tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def work(x): return x - 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("only_here")
    assert "only_here" not in {m.__name__ for m in unimportable(search_path())}
    names = {m.__name__ for m in unimportable(installed_path())}
    assert "only_here" in names
    assert not names & {"torch", "numpy", "mutiny", "scipy", "pytest"}
    monkeypatch.delitem(sys.modules, module.__name__)


def test_what_cannot_travel_is_named():
    class Holder:
        def __init__(self):
            self.good = [1, 2]
            self.parts = {"model": nn.Linear(2, 2), "guard": [1, threading.Lock()]}

    with pytest.raises(
        BadInput, match=r"work=<Holder>.parts\['guard'\]\[1\]: expected .* cannot pickle '_thread.lock'"
    ):
        pack_work(Holder())
    lock = threading.Lock()
    with pytest.raises(BadInput, match="work=<function>:lock"):
        pack_work(lambda job: lock)


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "other").write_bytes(b"something else, and long enough")
    with pytest.raises(BadInput, match="a file that mutiny wrote"):
        read_work(tmp_path / "other")


def error_classes(root=MutinyError):
    yield root
    for child in root.__subclasses__():
        if child.__module__ == "mutiny.core.errors":
            yield from error_classes(child)


@pytest.mark.parametrize("kind", sorted(set(error_classes()), key=str), ids=lambda kind: kind.__name__)
def test_every_error_comes_back_as_it_was(kind):
    for count in range(5):
        try:
            error = kind(*"abcd"[:count])
        except TypeError:
            continue
        got = unpack_result(Job("x"), pack_result(JobResult(Job("x"), failure="f", error=error))).error
        assert type(got) is kind
        assert (str(got), got.args, vars(got)) == (str(error), error.args, vars(error))
        break
    else:
        pytest.fail(f"{kind} cannot be made of texts")


def test_values_that_cannot_travel_are_failures():
    told = unpack_result(Job("x"), pack_result(JobResult(Job("x"), value=(n for n in range(3)))))
    assert told.value is None
    assert "cannot be sent to another process: TypeError: cannot pickle 'generator' object" in told.failure


def test_torch_ops_travel_by_name():
    namespace = torch.ops.aten
    forward = unpack(pack(lambda x: torch.ops.aten.mul(x, 2.0) + namespace.mul(x, 1.0)))
    assert torch.equal(forward(torch.ones(3)), torch.full((3,), 3.0))
    assert unpack(pack(torch.ops)) is torch.ops
    assert unpack(pack(namespace)) is namespace
