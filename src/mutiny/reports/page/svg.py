"""Figures of matplotlib as SVG elements of a page, which are reproducible and use its colors, and as PNG files."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from mutiny.core.claims import exclusive, own_warnings
from mutiny.core.printable import printable

SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
INK, QUIET, RULE, PAGE = "#010203", "#040506", "#070809", "#0a0b0c"
KILLED, SURVIVED, UNSTABLE, BAND = "#101112", "#131415", "#161718", "#191a1b"
SERIES = ("#202122", "#232425", "#262728", "#292a2b", "#2c2d2e", "#2f3031")
"""Colors that stand for variables of the style sheet; no other color of a chart equals one of them."""
VARIABLES = {
    INK: "currentColor",
    QUIET: "var(--quiet)",
    RULE: "var(--rule)",
    PAGE: "var(--page)",
    KILLED: "var(--killed)",
    SURVIVED: "var(--survived)",
    UNSTABLE: "var(--unstable)",
    BAND: "var(--band)",
    **{color: f"var(--series-{at})" for at, color in enumerate(SERIES, 1)},
}
LIGHT = {
    INK: "#1d1f21",
    QUIET: "#5c6166",
    RULE: "#d3d4cd",
    PAGE: "#fdfdfb",
    KILLED: "#0b66ad",
    SURVIVED: "#b34700",
    UNSTABLE: "#6a6f76",
    BAND: "#dfe9f2",
    **dict(zip(SERIES, ("#0b66ad", "#b34700", "#00734f", "#8a3f7d", "#7a6200", "#4a5568"), strict=True)),
}
"""The colors of the light page, for PNG files, which have no style sheet."""
MARGINS = {"left": 0.19, "right": 0.985, "top": 0.97, "bottom": 0.17}
FONT_SIZE = 9.0
"""Font size in points."""

_FROM_PAGE = {"stroke-linejoin", "font-family", "font"}
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")

ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", LINK)


@contextmanager
def _theme() -> Iterator[None]:
    import matplotlib

    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "mutiny",
        "text.parse_math": False,  # names may contain dollar signs
        "font.family": "DejaVu Sans",  # only to measure text; the page has its own fonts
        "font.size": FONT_SIZE,
        "text.color": INK,
        "axes.edgecolor": RULE,
        "axes.labelcolor": INK,
        "axes.labelsize": FONT_SIZE,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "xtick.color": RULE,
        "ytick.color": RULE,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "legend.frameon": False,
        "legend.fontsize": FONT_SIZE,
        "grid.color": RULE,
        "grid.linewidth": 0.6,
    }
    with matplotlib.rc_context(settings):
        yield


@dataclass(frozen=True)
class Drawing:
    """A figure to draw.

    Attributes:
        paint: Function that draws into a figure.
        width: Width in inches.
        height: Height in inches.
        fixed: Use fixed margins instead of measuring them, which halves the time.
    """

    paint: Callable[[Any], None]
    width: float
    height: float
    fixed: bool = False

    def svg(self, name: str) -> str:
        """An ``<svg>`` element; ids in it start with the name, so that a page can have several."""
        text = io.StringIO()
        with self._figure() as figure:
            figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        return inline(text.getvalue(), name)

    def png(self, dpi: int = 150) -> bytes:
        """The bytes of a PNG file, in the colors of the light page."""
        data = io.BytesIO()
        with self._figure() as figure:
            for artist in figure.findobj():
                _recolor(artist)
            figure.savefig(data, format="png", dpi=dpi, facecolor=LIGHT[PAGE], metadata={"Software": None})
        return data.getvalue()

    @contextmanager
    def _figure(self) -> Iterator[Any]:
        from matplotlib.figure import Figure  # no global state, no display

        # Warnings are about glyphs that DejaVu Sans lacks; the page's fonts may have them.
        with exclusive("matplotlib settings"), own_warnings("ignore"), _theme():
            figure = Figure(figsize=(self.width, self.height), layout=None if self.fixed else "constrained")
            if self.fixed:
                figure.subplots_adjust(**MARGINS)
            self.paint(figure)
            yield figure


def _recolor(artist: Any) -> None:
    """Replace the colors that stand for variables by those of the light page."""
    from matplotlib.colors import to_hex, to_rgba, to_rgba_array

    for name in ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor"):
        get, put = (getattr(artist, f"{verb}_{name}", None) for verb in ("get", "set"))
        value = get() if get is not None and put is not None else None
        if value is None or (isinstance(value, str) and value in ("none", "auto")):
            continue
        colors = to_rgba_array(value)
        changed = [to_rgba(LIGHT[to_hex(rgba)], rgba[3]) if to_hex(rgba) in LIGHT else tuple(rgba) for rgba in colors]
        if changed and put is not None:
            put(changed if len(changed) > 1 else changed[0])


def inline(text: str, name: str) -> str:
    """An SVG file of matplotlib as an element of a page: without metadata and styles, with unique ids, fewer digits."""
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{{{SVG}}}metadata" or (child.tag == f"{{{SVG}}}defs" and not child.findall("*[@id]")):
                parent.remove(child)
    used = {reference for element in root.iter() for reference in _references(element)}
    for element in root.iter():
        element.text, element.tail = _trimmed(element.text), _trimmed(element.tail)
        _tidy(element, used, name)
    for unit in ("width", "height"):
        root.attrib.pop(unit)
    root.set("focusable", "false")
    root.set("aria-hidden", "true")
    return ElementTree.tostring(root, encoding="unicode")


def _references(element: ElementTree.Element) -> Iterator[str]:
    for value in element.attrib.values():
        yield from _REFERENCE.findall(value)
    yield element.get(f"{{{LINK}}}href", "").removeprefix("#")


def _tidy(element: ElementTree.Element, used: set[str], name: str) -> None:
    identifier = element.get("id")
    if identifier is not None:
        if identifier in used:
            element.set("id", f"{name}-{identifier}")
        else:
            del element.attrib["id"]
    link = f"{{{LINK}}}href"
    if element.get(link, "").startswith("#"):
        element.set("href", f"#{name}-{element.attrib.pop(link)[1:]}")
    elif link in element.attrib:
        element.set("href", element.attrib.pop(link))
    for key, value in element.attrib.items():
        if key in ("href", "id"):
            continue
        value = _REFERENCE.sub(rf"url(#{name}-\1)", value)
        if key == "style":
            value = _styled(value)
        if key == "transform" and re.fullmatch(r"rotate\(-?0 [^)]*\)", value):
            value = ""
        if key != "viewBox":
            value = " ".join(_NUMBER.sub(lambda match: f"{float(match[0]):.1f}", value).split())
        element.set(key, value)
    for key in [key for key, value in element.attrib.items() if not value]:
        del element.attrib[key]


def _styled(style: str) -> str:
    """A style with variables for colors, and without fonts, which come from the page."""
    parts = [part.strip().partition(":") for part in style.split(";") if part.strip()]
    kept = [(key, value.strip()) for key, _, value in parts if key not in _FROM_PAGE]
    return ";".join(f"{key}:{VARIABLES.get(value, value)}" for key, value in kept)


def _trimmed(text: str | None) -> str | None:
    return printable(text) if text and text.strip() else None
