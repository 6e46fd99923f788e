"""Metrics and figures for experiment trackers: MLflow and TensorBoard."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mutiny.core.errors import MissingExtra
from mutiny.core.results import Result
from mutiny.reports.files import write_json
from mutiny.reports.page.advice import CommandParts
from mutiny.reports.page.blocks import Block, Chart, Charts, Fold, Subsection
from mutiny.reports.page.charts import drawing
from mutiny.reports.page.method import UNKNOWN
from mutiny.reports.page.page import Page, page_of
from mutiny.reports.page.render import write_html

FIGURES = 8
"""Maximum number of figures to log, because each operator has a strength-accuracy curve."""


def log_to_mlflow(result: Result, step: int | None = None) -> None:
    """Log a result to the active run of MLflow: metrics, versions as tags, figures, JSON and HTML report.

    Args:
        result: Result of any verb.
        step: Step of the metrics, such as the epoch that was tested.
    """
    try:
        import mlflow
    except ImportError:
        raise MissingExtra("mlflow", "tracking") from None
    mlflow.log_metrics(
        {_clean(f"mutiny/{result.verb}/{name}"): value for name, value in result.metrics().items()}, step
    )
    mlflow.set_tags({f"mutiny.{name}": version for name, version in result.versions.items()})
    page = _page(result)
    with tempfile.TemporaryDirectory() as folder:
        write_html(Path(folder) / "report.html", page)
        write_json(Path(folder) / "result.json", result.to_json())
        for name, png in _figures(page):
            (Path(folder) / f"{name}.png").write_bytes(png)
        mlflow.log_artifacts(folder, f"mutiny/{result.verb}")


def log_to_tensorboard(result: Result, writer: Any, step: int | None = None) -> None:
    """Write metrics, figures and notes of a result to TensorBoard.

    Args:
        result: Result of any verb.
        writer: ``torch.utils.tensorboard.SummaryWriter``, or an object with its methods.
        step: Step of the metrics, such as the epoch that was tested.
    """
    import numpy as np
    from PIL import Image

    for name, value in result.metrics().items():
        writer.add_scalar(_clean(f"mutiny/{result.verb}/{name}"), value, step)
    for name, png in _figures(_page(result)):
        picture = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
        writer.add_image(f"mutiny/{result.verb}/{name}", picture, step, dataformats="HWC")
    if result.notes:
        writer.add_text(f"mutiny/{result.verb}/notes", "\n".join(f"- {note}" for note in result.notes), step)


def _page(result: Result) -> Page:
    return page_of({result.verb: result}, CommandParts(UNKNOWN, f"mutiny assess {UNKNOWN}"), {})


def _figures(page: Page) -> Iterator[tuple[str, bytes]]:
    """Names and PNG files of the charts."""
    charts = [chart for section in page.sections for block in section.blocks for chart in _charts(block)]
    for chart in charts[:FIGURES]:
        yield chart.id, drawing(chart.picture).png()


def _charts(block: Block) -> Iterator[Chart]:
    match block:
        case Chart():
            yield block
        case Charts():
            yield from block.charts
        case Subsection() | Fold():
            for inner in block.blocks:
                yield from _charts(inner)


def _clean(name: str) -> str:
    """A name with only the letters, digits and signs that both tools allow.

    >>> _clean("mutiny/assess/score.WI(ratio=0.3,layers=fc)")
    'mutiny/assess/score.WI_ratio_0.3_layers_fc_'
    """
    return "".join(letter if letter.isalnum() or letter in "/._- " else "_" for letter in name)
