"""Files of patches: for one model only, and no others are believed."""

import copy

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import mutiny
import toys
from mutiny.core.errors import BadInput
from mutiny.models import ModelView, Patch
from mutiny.models.patch import WeightEdit
from mutiny.verbs.repair.files import FORMAT, load_patch, save_patch
from verbs.repair.spoilt import QUICK, data, faulty


def test_files_of_others_are_refused(tmp_path):
    path = tmp_path / "other.safetensors"
    save_file({"a": torch.ones(1)}, path)
    with pytest.raises(BadInput, match="save_patch"):
        load_patch(path, toys.classifier())
    path.write_text("nonsense")
    with pytest.raises(BadInput, match="cannot be read"):
        load_patch(path, toys.classifier())
    with pytest.raises(BadInput, match="cannot be read"):
        load_patch(tmp_path / "nowhere.safetensors", toys.classifier())
    signal = mutiny.OPERATORS["NEB"](0.5).patch(
        ModelView.of(toys.classifier(), torch.zeros(1, 2)), np.random.default_rng(0)
    )
    with pytest.raises(BadInput, match="changes only weights"):
        save_patch(signal, toys.classifier(), path)


def saved(model, path):
    save_patch(Patch((WeightEdit("0.weight", np.array([1, 5]), torch.tensor([4.0, 2.0])),), "0"), model, path)


def test_a_patch_belongs_to_one_model(tmp_path):
    model, path = toys.classifier(), tmp_path / "patch.safetensors"
    saved(model, path)
    assert load_patch(path, copy.deepcopy(model)).edits[0].values.tolist() == [4, 2]
    for other, why in (
        (toys.classifier(seed=1), "0.weight has other values"),
        (copy.deepcopy(model).double(), "0.weight has other values"),
        (nn.Sequential(nn.Linear(2, 4)), r"shape of 0.weight is \(4, 2\), not \(12, 2\)"),
        (nn.Sequential(nn.Linear(12, 2)), r"shape of 0.weight is \(2, 12\)"),
        (nn.Linear(2, 12), "no parameter 0.weight"),
    ):
        with pytest.raises(BadInput, match=f"the model that the patch was made from. .*{why}"):
            load_patch(path, other)


@pytest.mark.parametrize(
    "wrong",
    [
        {"indices": torch.tensor([0, 99999])},
        {"indices": torch.tensor([0, -1])},
        {"indices": torch.tensor([0.0, 1.0])},
        {"after": torch.ones(1)},
        {"after": torch.ones(2).double()},
        {"before": None},
        {"shape": None},
    ],
)
def test_tensors_that_contradict_each_other_are_refused(tmp_path, wrong):
    model, path = toys.classifier(), tmp_path / "patch.safetensors"
    parts = {
        "shape": torch.tensor([12, 2]),
        "indices": torch.tensor([0, 1]),
        "before": model[0].weight.detach().flatten()[:2].clone(),
        "after": torch.ones(2),
    }
    parts = {f"0.weight/{name}": part for name, part in (parts | wrong).items() if part is not None}
    save_file(parts, path, {"format": FORMAT})
    with pytest.raises(BadInput, match=r"Its tensors for 0\.weight contradict each other"):
        load_patch(path, model)


def test_what_was_promised_stays_whatever_becomes_of_the_model(tmp_path):
    model, _ = faulty()
    found = mutiny.repair(model, QUICK["tune"], data=data())
    x, before, promised = data()[0], copy.deepcopy(model), found.model()
    with torch.no_grad():
        model[0].weight.add_(1)
    model.train().double()
    assert torch.equal(found.model()(x), promised(x))
    assert not found.model().training
    found.save(tmp_path / "weights.safetensors", tmp_path / "patch.safetensors")
    with load_patch(tmp_path / "patch.safetensors", before).applied(before) as call:
        assert torch.equal(call(x), promised(x))
