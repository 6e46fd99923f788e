"""Results in runs of MLflow and in TensorBoard's event files, read back with their own readers."""

import json
import sys
import warnings

import numpy as np
import pytest
import torch

from mutiny.core.errors import MissingExtra
from mutiny.reports.tracking import log_to_mlflow, log_to_tensorboard
from reports.page.handmade import rated
from reports.page.test_verbs import SELECTION, location, robustness

RATED = rated({"GF": [(0.6, True), (1.5, False), (5.0, True)], "WI(ratio=0.3)": [(3.0, False)], "LR": []})
RESULTS = {"notice": RATED, "select": SELECTION, "locate": location(), "attack": robustness((4, 1, 8, 8))}


@pytest.fixture(params=["assess", *RESULTS])
def result(request, assessed):
    return assessed if request.param == "assess" else RESULTS[request.param]


def test_tensorboard(result, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of protobuf, about itself
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from torch.utils.tensorboard import SummaryWriter

        with SummaryWriter(tmp_path) as writer:
            log_to_tensorboard(result, writer, step=7)
        events = EventAccumulator(str(tmp_path), size_guidance={"tensors": 0}).Reload()
    known = result.metrics()
    assert known
    assert len(events.Tags()["scalars"]) == len(known)
    for tag, value in zip(events.Tags()["scalars"], known.values(), strict=True):
        (one,) = events.Scalars(tag)
        assert tag.startswith(f"mutiny/{result.verb}/")
        assert (one.step, one.value) == (7, pytest.approx(value, rel=1e-6))
    for tag in events.Tags()["images"]:
        (one,) = events.Images(tag)
        assert one.width > 300
    assert events.Tags()["images"] or result.verb in ("attack", "locate")


def test_mlflow(result, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a folder is enough to see what arrives
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it is built on
        mlflow = pytest.importorskip("mlflow", reason="its pins contradict those of torchattacks")
        mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
        with mlflow.start_run() as run:
            log_to_mlflow(result, step=3)
        told = mlflow.tracking.MlflowClient().get_run(run.info.run_id)
    folder = next((tmp_path / "runs").rglob(f"artifacts/mutiny/{result.verb}"))
    assert sorted(told.data.metrics.values()) == pytest.approx(sorted(result.metrics().values()))
    assert told.data.tags["mutiny.mutiny"] == result.versions["mutiny"]
    assert json.loads((folder / "result.json").read_text())["verb"] == result.verb
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_the_numbers_of_a_notice_rate():
    assert RATED.metrics() == {
        "notice": pytest.approx(2 / 4),
        "notice.GF": pytest.approx(2 / 3),
        "notice.WI(ratio=0.3)": 0.0,
    }


def test_without_mlflow(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtra, match=r'the package mlflow: pip install "mutiny-nn\[tracking\]"'):
        log_to_mlflow(SELECTION)


def test_figures_have_the_colors_of_the_page(assessed, tmp_path):
    """No color that only stands for a variable is left."""
    import io

    from PIL import Image

    from mutiny.reports.page import svg
    from mutiny.reports.tracking import _figures, _page

    figures = dict(_figures(_page(assessed)))
    assert len(figures) > 3
    for png in figures.values():
        pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int) @ [0x10000, 0x100, 1]
        seen = {f"#{pixel:06x}" for pixel in np.unique(pixels)}
        assert not seen & set(svg.VARIABLES)
        assert svg.LIGHT[svg.PAGE] in seen
        assert {svg.LIGHT[svg.INK], svg.LIGHT[svg.QUIET], svg.LIGHT[svg.RULE]} & seen


def test_the_colors_are_those_of_the_style_sheet():
    from importlib.resources import files

    from mutiny.reports.page import svg

    sheet = next(
        one.read_text() for one in files("mutiny.reports.page").joinpath("assets").iterdir() if one.name.endswith("css")
    )
    day = sheet[: sheet.index("@media")]
    for stands_for, variable in svg.VARIABLES.items():
        name = "--ink" if variable == "currentColor" else variable[4:-1]
        assert f"{name}: {svg.LIGHT[stands_for]};" in day


def test_torch_is_not_needed_for_numbers(result):
    assert all(type(value) is float and np.isfinite(value) for value in result.metrics().values())
    assert not any(isinstance(value, torch.Tensor) for value in result.metrics().values())
