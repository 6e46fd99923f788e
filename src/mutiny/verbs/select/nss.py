"""NSS: neuron sensitivity guided selection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from mutiny.core.errors import BadInput
from mutiny.models.device import placement
from mutiny.models.layers import Indices
from mutiny.models.layout import laid_out
from mutiny.models.read_points import ReadPoint, Units
from mutiny.models.reading import reading
from mutiny.subjects.data.benign_mutations import OPERATIONS
from mutiny.subjects.data.mutated import named
from mutiny.subjects.data.nested import take
from mutiny.verbs.select.base import BOTH, Scores, Selector
from mutiny.verbs.select.evidence import Change, Evidence
from mutiny.verbs.select.traces import Traces

SAMPLE = 0.1
"""Share of the pool on which sensitive neurons are identified (Algorithm 1, line 3)."""
AT_ONCE, AT_ONCE_BYTES = 512, 16 * 2**20
"""Inputs that are mutated at once; fewer if they are large."""


@dataclass(frozen=True)
class Nss(Selector):
    """Change of sensitive neurons under a benign mutation of the input; every unit of a layer counts as a neuron.

    Algorithms 1 and 2 of the paper as printed: the sensitive units are those whose activations change most, summed over
    a tenth of the pool. The score is the sum of their changes between an input and one random benign mutation of it.

    Args:
        share: Share of the layer's units that count as sensitive (the paper's k).
        distance: ``l1``, as in the algorithms, or ``square``.
        normalize: ``none``, as in the algorithms; ``l1`` divides by the sum of the input's clean activations (section
            2.2 divides unit by unit, which is undefined for units with activation 0); ``max`` by the largest of them.
        reference: ``mutant`` compares an input with a mutation of itself; ``clean`` with the clean original that it was
            made from, which only pools made by mutation have.
        identify: Operations for Algorithm 1, joined by ``+`` (Table 14); all by default.
        operations: Operations for Algorithm 2 (Table 15); all by default.
        layers: Layers to read; the last feature layer before the classifier head by default.
        units: ``unit``, as in the paper, or ``neuron``: one number per channel.
        variant: ``paper``, or ``authors-code``, which differs from the paper: changes between the clean original and
            the input, squared and divided by the largest clean activation; sensitive units from the whole pool.
    """

    code: ClassVar[str] = "nss"
    title: ClassVar[str] = "neuron sensitivity"
    source: ClassVar[str] = "Huang et al., NSS, TOSEM 2024, Algorithms 1 and 2"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    share: float = 0.1
    distance: Literal["l1", "square"] = "l1"
    normalize: Literal["none", "l1", "max"] = "none"
    reference: Literal["mutant", "clean"] = "mutant"
    identify: tuple[str, ...] | None = None
    operations: tuple[str, ...] | None = None
    layers: tuple[str, ...] | None = None
    units: Units = "unit"
    variant: Literal["paper", "authors-code"] = "paper"

    def __post_init__(self) -> None:
        self._within("share", 0, 1)
        self._one_of("distance", ("l1", "square"))
        self._one_of("normalize", ("none", "l1", "max"))
        self._one_of("units", ("unit", "neuron"))
        self._one_of("reference", ("mutant", "clean"))
        self._one_of("variant", ("paper", "authors-code"))
        for name in ("identify", "operations"):
            wrong = [operation for operation in getattr(self, name) or () if operation not in OPERATIONS]
            if wrong:
                raise BadInput(f"nss {name}", wrong[0], f"some of {', '.join(OPERATIONS)}")

    def score(self, evidence: Evidence) -> Scores:
        """Algorithm 2."""
        points = evidence.read_points(self.code, "encoder", self.units, own=self.layers)
        if self.variant == "authors-code":
            as_coded = replace(self, distance="square", normalize="max", reference="clean", variant="paper")
            return as_coded._from_all(evidence, points)
        sensitive = self._identified(evidence, points)
        changes = self._changes(evidence, points, self._partner(evidence, self.operations, "select"))
        return torch.cat([batch[:, sensitive].double().sum(dim=1).cpu() for batch in changes]).numpy()

    def _identified(self, evidence: Evidence, points: Sequence[ReadPoint]) -> Tensor:
        """Algorithm 1: the units that change most on a tenth of the pool, ``(sensitive,)``."""
        some = evidence.rng("nss sample").permutation(evidence.size)[: max(1, int(SAMPLE * evidence.size))]
        partner = self._partner(evidence, self.identify, "identify")
        return self._most(sum_of(self._changes(evidence, points, partner, np.sort(some))))

    def _from_all(self, evidence: Evidence, points: Sequence[ReadPoint]) -> Scores:
        """The authors' code: sensitive units from all inputs, and means as scores."""
        kept = Traces(evidence.size, sum(point.count(self.units) for point in points))
        for batch in self._changes(evidence, points, self._partner(evidence, None, "select")):
            kept.add(batch)
        sensitive = self._most(sum_of(kept.chunks()))
        return torch.cat([chunk[:, sensitive].double().mean(dim=1) for chunk in kept.chunks()]).numpy()

    def _most(self, change: Tensor) -> Tensor:
        return change.argsort(stable=True)[-max(1, int(self.share * len(change))) :]

    def _partner(self, evidence: Evidence, operations: Sequence[str] | None, purpose: str) -> Change:
        """Function from a batch and its positions to the batch that it is compared with."""
        if self.reference == "clean":
            clean, put = evidence.originals, placement(evidence.model).put
            return lambda _, indices: put(clean.read(indices))
        mutation = evidence.mutation(operations or OPERATIONS)
        return lambda batch, indices: mutation.apply(batch, indices, evidence.seed, f"nss {purpose}")

    def _changes(
        self, evidence: Evidence, points: Sequence[ReadPoint], partner: Change, indices: Indices | None = None
    ) -> Iterator[Tensor]:
        """Change of each unit between inputs and their partners, batch by batch, ``(n, units)``."""
        for here, there in paired(evidence, points, self.units, partner, indices):
            clean = there if self.reference == "clean" else here
            change = (here - there).abs() if self.distance == "l1" else (here - there).square()
            if self.normalize != "none":
                size = clean.abs().sum(dim=1) if self.normalize == "l1" else clean.amax(dim=1)
                change = change / size.clamp_min(torch.finfo(change.dtype).tiny)[:, None]
            yield change


def paired(
    evidence: Evidence, points: Sequence[ReadPoint], units: Units, partner: Change, indices: Indices | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Features of inputs and of their partners, batch by batch, ``(n, units)`` each.

    Partners are made for several batches at once, because much of the cost does not depend on the number of inputs. The
    model then runs on inputs and partners in separate passes of its usual batch size, which is fastest.
    """
    positions = np.arange(evidence.size) if indices is None else indices
    put, size = placement(evidence.model).put, evidence.pace.batch_size
    needed = sum(leaf.nbytes for leaf in named(evidence.pool.first(1)).values())
    step = size * max(1, min(AT_ONCE, AT_ONCE_BYTES // max(1, needed)) // size)
    with (
        reading(evidence.view, points, units, evidence.forward) as read,
        laid_out(evidence.model, evidence.pace.layout),
    ):
        for start in range(0, len(positions), step):
            these = positions[start : start + step]
            inputs = put(evidence.pool.read(slice(start, start + len(these)) if indices is None else these))
            partners = partner(inputs, these)
            for at in range(0, len(these), size):
                here, there = (take(batch, slice(at, at + size)) for batch in (inputs, partners))
                yield read(here).features, read(there).features


def sum_of(batches: Iterable[Tensor]) -> Tensor:
    """The sum of all rows, in double precision."""
    total = None
    for batch in batches:
        part = batch.double().sum(dim=0)
        total = part if total is None else total + part
    if total is None:
        raise ValueError("no rows")
    return total
