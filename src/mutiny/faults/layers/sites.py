"""Modules that structural operators can change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.models import ModelView, Site

INACTIVE = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "Identity")
ACTIVATION_MODULES = frozenset(nn.modules.activation.__all__) - {"MultiheadAttention"}


def same_shape_sites(view: ModelView, inactive: bool) -> list[Site]:
    """Modules that keep the shape of their input, except the first, the last and activations."""
    inner = [site for site in view.sites if not site.first and not site.last]
    keeping = [site for site in inner if site.keeps_shape and site.floating and site.kind not in ACTIVATION_MODULES]
    sites = [site for site in keeping if inactive or site.kind not in INACTIVE]
    if not sites:
        reason = "no layer between the first and the last keeps the shape of its input"
        if keeping:
            kinds = sorted({site.kind for site in keeping})
            do = "does" if len(kinds) == 1 else "do"
            reason += f", except {', '.join(kinds)}, which {do} nothing at inference (inactive=true includes them)"
        raise NotApplicable(reason)
    return sites


def any_site(view: ModelView) -> list[Site]:
    """Modules after which an activation can be inserted: all that return real numbers, except the last."""
    inner = [site for site in view.sites if site.floating and not site.last]
    if not inner:
        raise NotApplicable("no module before the last gives a tensor of real numbers, so nothing can be inserted")
    return inner


def pick(sites: Sequence[Site], path: str | None, rng: np.random.Generator) -> Site:
    """The site at ``path``, or a random one."""
    drawn = sites[int(rng.integers(len(sites)))]
    if path is None:
        return drawn
    for site in sites:
        if site.path == path:
            return site
    raise BadInput("layer", repr(path), f"one of {', '.join(site.path for site in sites)}")
