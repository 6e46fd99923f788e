import copy
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file, save_model
from torch import nn

from mutiny.core.errors import BadInput, UntrustedFile
from mutiny.subjects.training import load_weights

reads_torch_files = pytest.mark.skipif(torch.__version__ < (2, 10), reason="this torch reads them only if trusted")


def net():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def equal(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


@reads_torch_files
@pytest.mark.parametrize(
    "wrap",
    [
        lambda state: state,
        lambda state: {"state_dict": state, "epoch": 3},
        lambda state: {"model_state_dict": {f"module.{name}": value for name, value in state.items()}},
    ],
)
def test_torch_files(tmp_path, wrap):
    source, target = net(), net().eval()
    torch.save(wrap(source.state_dict()), tmp_path / "a.pt")
    assert load_weights(target, tmp_path / "a.pt") is target
    assert equal(source, target)
    assert not target.training


def test_safetensors_and_tied_weights(tmp_path):
    source, target = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)), nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    for model in (source, target):
        model[1].weight = model[0].weight
    save_model(source, str(tmp_path / "a.safetensors"))
    load_weights(target, tmp_path / "a.safetensors")
    assert equal(source, target)
    assert target[1].weight is target[0].weight


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("write", [torch.save, lambda thing, path: path.write_bytes(pickle.dumps(thing))])
def test_a_malicious_pickle_is_refused_and_not_run(tmp_path, write):
    model, trace = net(), tmp_path / "trace"
    before = copy.deepcopy(model)
    write({"weight": Bomb(trace)}, tmp_path / "evil.pth")
    with pytest.raises(UntrustedFile, match=r"evil\.pth.*trust_pickle=True"):
        load_weights(model, tmp_path / "evil.pth")
    assert not trace.exists()
    assert equal(model, before)


@pytest.mark.parametrize("version", ["2.5.1", "2.6.0+cpu", "2.9.1+cu128"])
def test_a_torch_file_is_refused_if_this_torch_would_run_code_in_it(version, tmp_path, monkeypatch):
    """CVE-2025-32434 and CVE-2026-24747: ``weights_only=True`` is not enough."""
    torch.save(net().state_dict(), tmp_path / "a.pt")
    save_file(net().state_dict(), tmp_path / "a.safetensors")
    monkeypatch.setattr(torch, "__version__", torch.torch_version.TorchVersion(version))
    with pytest.raises(UntrustedFile) as refused:
        load_weights(net(), tmp_path / "a.pt")
    assert str(refused.value) == (
        f"weights={tmp_path / 'a.pt'}: expected a .safetensors file with torch {version}: before 2.10, other files can "
        "run code when read. Convert it, use a later torch or, if you trust its author, set trust_pickle=True."
    )
    load_weights(net(), tmp_path / "a.pt", trust_pickle=True)
    load_weights(net(), tmp_path / "a.safetensors")


def test_a_pickled_module_is_read_if_trusted(tmp_path):
    source, target = net(), net()
    torch.save(source, tmp_path / "a.pt")
    with pytest.raises(UntrustedFile):
        load_weights(target, tmp_path / "a.pt")
    assert equal(load_weights(target, tmp_path / "a.pt", trust_pickle=True), source)


def changed(**changes):
    state = dict(net().state_dict())
    for name, value in changes.items():
        if value is None:
            del state[name.replace("_", ".", 1)]
        else:
            state[name.replace("_", ".", 1)] = value
    return state


@reads_torch_files
@pytest.mark.parametrize(
    ("state", "message"),
    [
        (changed(**{"0_weight": None}), "missing 0.weight, unexpected none"),
        (changed(extra_bias=torch.zeros(1)), "unexpected extra.bias"),
        (changed(**{"2_bias": torch.zeros(5)}), "weights 2.bias=shape (5,)"),
        (changed(**{"2_bias": torch.tensor([0.0, float("nan")])}), "weights 2.bias=1 of 2 numbers NaN"),
        (changed(**{"1_running_mean": torch.full((4,), float("nan"))}), "weights 1.running_mean=4 of 4"),
    ],
)
@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_wrong_content_names_the_tensor_and_leaves_the_model(tmp_path, state, message, suffix):
    path = tmp_path / f"a.{suffix}"
    torch.save(state, path) if suffix == "pt" else save_file(state, path)
    model = net()
    before = copy.deepcopy(model)
    with pytest.raises(BadInput) as error:
        load_weights(model, path)
    assert message in str(error.value)
    assert equal(model, before)


@reads_torch_files
def test_damaged_and_missing_files(tmp_path):
    torch.save(net().state_dict(), tmp_path / "a.pt")
    content = (tmp_path / "a.pt").read_bytes()
    for name, damaged in (
        ("b.pt", content[:-400]),
        ("c.pt", b"hello world"),
        ("d.safetensors", content),
        ("e.pt", b""),
    ):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(BadInput, match="cannot be read") as error:
            load_weights(net(), tmp_path / name)
        assert not isinstance(error.value, UntrustedFile)
    with pytest.raises(BadInput, match="existing file"):
        load_weights(net(), tmp_path / "none.pt")
    torch.save([1, 2], tmp_path / "f.pt")
    with pytest.raises(BadInput, match="tensors by name"):
        load_weights(net(), tmp_path / "f.pt")
