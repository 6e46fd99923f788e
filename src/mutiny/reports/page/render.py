"""A page as one HTML file; its template, style sheet and script are in ``assets``."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from mutiny.core.printable import printable
from mutiny.core.results import versions
from mutiny.reports.files import replacing
from mutiny.reports.page.page import Page


def html_of(page: Page) -> str:
    """The whole page, which loads no other file. Every text in it is escaped and printable."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    from mutiny.reports.page.charts import draw

    environment = Environment(
        loader=PackageLoader("mutiny.reports.page", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["data_uri"] = lambda png: "data:image/png;base64," + base64.b64encode(png).decode()
    environment.filters["digest"] = _digest
    environment.globals["draw"] = lambda picture, name: Markup(draw(picture, name))
    assets = {name: Markup(_asset(file)) for name, file in (("style", "style.css"), ("script", "page.js"))}
    return environment.get_template("page.html").render(page=page, version=versions()["mutiny"], **assets)


def write_html(path: Path, page: Page) -> None:
    """Write the page completely or not at all."""
    with replacing(path) as part:
        # A file name that is not valid UTF-8 may be on the page.
        part.write_text(html_of(page), encoding="utf-8", errors="replace")


def _asset(name: str) -> str:
    from importlib.resources import files

    return (files("mutiny.reports.page") / "assets" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """The hash by which the page's Content-Security-Policy allows this script and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
