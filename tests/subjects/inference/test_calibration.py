import json

import numpy as np
import pytest
import torch
from torch import nn

from mutiny.faults.evaluation import Runner
from mutiny.models import ModelState, default_forward
from mutiny.subjects.data import as_data
from mutiny.subjects.inference import calibration
from mutiny.subjects.inference.calibration import INPUTS, LARGEST, SMALLEST, measured_pace
from mutiny.subjects.inference.passes import Pace
from mutiny.subjects.tasks import Classification
from toys import blobs, classifier

BATCHES = [2**power for power in range(20) if SMALLEST <= 2**power <= LARGEST]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MUTINY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def measured(monkeypatch):
    """Counts what is really measured."""
    calls, measure = [], calibration._measure

    def counted(*args):
        calls.append(args)
        return measure(*args)

    monkeypatch.setattr(calibration, "_measure", counted)
    return calls


def data(n=INPUTS, columns=2):
    x, y = blobs(n)
    return as_data((x.repeat(1, columns // 2), y), "train")


def pace(model=None, inputs=None):
    return measured_pace(model or classifier(), inputs or data(), default_forward)


def test_a_pace_is_measured_once(folder, measured):
    first = pace()
    assert first.batch_size in BATCHES
    assert first.layout == "default"  # no convolutions
    (kept,) = json.loads((folder / "calibration.json").read_text()).values()
    assert Pace(**kept) == first
    assert pace() == pace(classifier(1)) == first  # other weights, the same model
    assert len(measured) == 1
    assert [file.name for file in folder.iterdir()] == ["calibration.json"]


def test_what_is_remembered_is_believed(folder, measured):
    pace()
    file = folder / "calibration.json"
    (key,) = json.loads(file.read_text())
    file.write_text(json.dumps({key: {"batch_size": 77, "layout": "default"}}))
    assert pace() == Pace(77)
    assert len(measured) == 1


def test_other_models_inputs_and_threads_are_measured_on_their_own(folder, measured, monkeypatch):
    class Other(nn.Sequential):
        """The same layers under another name."""

    kinds = [
        (classifier(), data()),
        (classifier(classes=4), data()),
        (Other(*classifier()), data()),
        (classifier().double(), data()),
        (nn.Linear(4, 3), data(columns=4)),
    ]
    for count, (model, inputs) in enumerate(kinds, 1):
        pace(model, inputs)
        assert len(measured) == count
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    pace()
    assert len(measured) == len(json.loads((folder / "calibration.json").read_text())) == len(kinds) + 1
    for model, inputs in kinds[1:]:
        pace(model, inputs)  # with seven threads each is new
    assert len(measured) == 2 * len(kinds)


def test_with_few_inputs_nothing_is_measured(folder, measured):
    assert pace(inputs=data(INPUTS - 1)) == Pace()
    assert not measured
    assert not folder.exists()


BROKEN = {
    "no JSON": "{",
    "empty": "",
    "a list": "[1, 2]",
    "a number": "3",
    "null": "null",
    "values that are no records": '{"a": 3, "b": null}',
    "records of another kind": '{"KEY": {"batch": 3}}',
    "binary": b"\xff\xfe\x00",
}
VALUES = {
    "a batch of none": '{"KEY": {"batch_size": 0, "layout": "default"}}',
    "a batch of words": '{"KEY": {"batch_size": "many", "layout": "default"}}',
    "an unknown layout": '{"KEY": {"batch_size": 64, "layout": "sideways"}}',
}


def replaced(folder, text):
    """A remembered file with the given contents, and the key that this model has."""
    pace()
    file = folder / "calibration.json"
    (key,) = json.loads(file.read_text())
    file.write_bytes(text if isinstance(text, bytes) else text.replace("KEY", key).encode())
    return key


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_measured_anew_and_mended(folder, measured, text):
    key = replaced(folder, text)
    assert pace().batch_size in BATCHES
    assert len(measured) == 2
    pace()
    assert len(measured) == 2
    assert key in json.loads((folder / "calibration.json").read_text())


@pytest.mark.parametrize("text", VALUES.values(), ids=VALUES)
def test_a_remembered_pace_that_is_none_is_measured_anew(folder, text):
    replaced(folder, text)
    found = pace()
    assert found.batch_size in BATCHES
    assert found.layout in ("default", "channels-last")


def test_a_folder_that_cannot_be_made_costs_only_time(tmp_path, monkeypatch, measured):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("MUTINY_CACHE", str(tmp_path / "file" / "cache"))
    assert pace().batch_size in BATCHES
    assert pace().batch_size in BATCHES
    assert len(measured) == 2


def test_a_file_that_cannot_be_replaced_costs_only_time(folder, measured):
    (folder / "calibration.json").mkdir(parents=True)
    assert pace().batch_size in BATCHES
    assert len(measured) == 1


def test_measuring_leaves_the_model_alone(folder):
    model = nn.Sequential(nn.Unflatten(1, (1, 2, 1)), nn.Conv2d(1, 4, 1), nn.Flatten(), nn.Linear(8, 3)).eval()
    before, where = ModelState.of(model), model[1].weight.data_ptr()
    found = pace(model)
    assert found.layout in ("default", "channels-last")
    assert ModelState.of(model) == before
    assert model[1].weight.data_ptr() == where


def test_the_fastest_candidate_wins(folder, monkeypatch):
    """A clock that only the forward pass moves: by 10 seconds for each call, so large batches are fastest."""
    now = [0.0]
    monkeypatch.setattr(calibration.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(calibration, "SECONDS", 1e9)

    def forward(model, x):
        now[0] += 10
        return model(x)

    assert measured_pace(classifier(), data(), forward) == Pace(LARGEST)

    def crowded(model, x):
        now[0] += len(x) ** 2
        return model(x)

    assert measured_pace(classifier(classes=4), data(), crowded) == Pace(SMALLEST)

    def even(model, x):
        now[0] += len(x)
        return model(x)

    assert measured_pace(classifier(classes=5), data(), even) == Pace(128)  # noise does not choose


def test_measuring_ends(folder, monkeypatch):
    """One candidate that takes longer than all may: the others are not tried."""
    now, sizes = [0.0], set()
    monkeypatch.setattr(calibration.time, "perf_counter", lambda: now[0])

    def forward(model, x):
        now[0] += 10
        sizes.add(len(x))
        return model(x)

    assert measured_pace(classifier(), data(), forward) == Pace(128)
    assert sizes == {128}


def test_batches_that_do_not_fit_into_memory_are_not_chosen(folder, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(calibration.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(calibration, "SECONDS", 1e9)

    def forward(model, x):
        now[0] += 10
        if len(x) > 256:
            raise torch.OutOfMemoryError("too large")
        return model(x)

    assert measured_pace(classifier(), data(), forward) == Pace(256)


def test_a_runner_measures_unless_told(folder, measured):
    splits = {"train": data()}
    runner = Runner([classifier()], Classification(3), splits, default_forward, 0)
    assert runner.pace.batch_size in BATCHES
    assert len(measured) == 1
    assert Runner([classifier()], Classification(3), splits, default_forward, 0, 33).pace == Pace(33)
    assert len(measured) == 1
    other = Runner([classifier()], Classification(3), splits, default_forward, 0, 7)
    assert np.array_equal(other.clean(0, "train").outcome.bits, runner.clean(0, "train").outcome.bits)
