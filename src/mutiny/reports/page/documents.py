"""What the page needs of the results of the other verbs, in the form of their JSON.

Results from a store and from a JSON file take the same way; what only a store has is optional.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mutiny.core.stats import Interval
from mutiny.reports.page.blocks import Gallery
from mutiny.reports.page.facts import UNTIMED, Timing
from mutiny.reports.page.pictures import Floats
from mutiny.reports.page.plain import expect, expect_least, expect_share
from mutiny.reports.page.strengthened import Strengthened
from mutiny.verbs.locate.ablation import Ablation
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.select.quality import Quality


@dataclass(frozen=True)
class Named:
    """A subject, as far as every verb tells."""

    name: str
    model: str


@dataclass(frozen=True)
class Pool:
    """Inputs to choose from; ``wrong`` of them are answered wrongly, if that is known."""

    inputs: int
    wrong: int | None = None

    def __post_init__(self) -> None:
        expect_least(self.inputs, "subject.pool.inputs")


@dataclass(frozen=True)
class Chooser:
    """The subject of a selection."""

    name: str
    model: str
    pool: Pool


@dataclass(frozen=True)
class Graded(Quality):
    """How good an order is; ``repeated`` is the same over repeats with other seeds, if there were any."""

    repeated: Mapping[str, Repeated] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, one in self.repeated.items():
            expect_share(one.mean, f"metrics.repeated.{name}")

    def rate(self) -> Repeated:
        """The fault detection rate: over repeats, or of the one order that there is."""
        return self.repeated.get("fdr", Repeated(self.fdr, 1, None))


@dataclass(frozen=True)
class MethodDocument:
    """What one method says; ``metrics`` where labels are known."""

    method: str
    title: str
    order: tuple[int, ...]
    notes: tuple[str, ...] = ()
    metrics: Graded | None = None


@dataclass(frozen=True)
class Selected:
    """A result of `select`."""

    subject: Chooser
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    budget: int
    methods: tuple[MethodDocument, ...]
    references: Mapping[str, Mapping[str, float | None]]
    skipped: Mapping[str, str]
    notes: tuple[str, ...]
    timing: Timing = UNTIMED
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        expect(len(self.methods) > 0, "methods", "at least one")


@dataclass(frozen=True)
class SuspectDocument:
    """A neuron and what is held against it; an infinite score is ``None``."""

    layer: str
    neuron: int
    score: float | None
    on_failures: float
    on_passes: float | None
    q_value: float


@dataclass(frozen=True)
class Blamed:
    """The subject of a location: its hidden layers, with their sizes."""

    name: str
    model: str
    neurons: int
    layers: Mapping[str, int]

    def __post_init__(self) -> None:
        expect(all(0 < size < 2**31 for size in self.layers.values()), "subject.layers", "sizes of at least 1")


@dataclass(frozen=True)
class Located:
    """A result of `locate`; ``scores`` of all neurons, one array per layer, only from a store."""

    subject: Blamed
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    measure: str
    failing: int
    passing: int
    suspects: tuple[SuspectDocument, ...]
    notes: tuple[str, ...]
    classes: Mapping[str, tuple[SuspectDocument, ...]] = field(default_factory=dict)
    ablation: Ablation | None = None
    timing: Timing = UNTIMED
    scores: tuple[Floats, ...] = ()


@dataclass(frozen=True)
class RateDocument:
    """A share with its interval."""

    count: int
    total: int
    interval: Interval
    value: float | None = None

    def __post_init__(self) -> None:
        expect(0 <= self.count <= self.total, "a rate's count", "between 0 and its total")
        expect_share(self.value, "a rate's value")


@dataclass(frozen=True)
class Difference:
    """A difference of shares with its interval."""

    value: float
    interval: Interval


@dataclass(frozen=True)
class ChangeDocument:
    """What a patch does to the inputs of one role."""

    inputs: int
    correct_before: int
    correct_after: int
    repair_rate: RateDocument
    break_rate: RateDocument
    gain: Difference


@dataclass(frozen=True)
class PatchDocument:
    """How many weights are changed."""

    weights: int


@dataclass(frozen=True)
class Repaired:
    """A result of `repair`."""

    subject: Named
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    method: str
    target: Mapping[str, Any]
    verdict: str
    splits: Mapping[str, ChangeDocument]
    patch: PatchDocument
    notes: tuple[str, ...]
    timing: Timing = UNTIMED


@dataclass(frozen=True)
class Successes:
    """Of an attack: wrong answers of all inputs, and lost ones of those that were right."""

    of_all: RateDocument
    of_correct: RateDocument


@dataclass(frozen=True)
class WayDocument:
    """An attack in one way."""

    attack: str
    success_rate: Successes
    distance: Mapping[str, float | None]
    passes: int


@dataclass(frozen=True)
class LevelDocument:
    """All ways at one distance; ``eps`` is ``None`` for attacks that look for the nearest input."""

    eps: float | None
    attack: str
    success_rate: Successes
    distance: Mapping[str, float | None]
    passes: int
    baseline: Mapping[str, WayDocument]
    gain: Difference | None = None


@dataclass(frozen=True)
class Attacked:
    """A result of `attack`; the gallery only from a store, and only of images."""

    subject: Named
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    attack: str
    mutants: tuple[str, ...]
    results: tuple[LevelDocument, ...]
    notes: tuple[str, ...]
    timing: Timing = UNTIMED
    gallery: Gallery | None = None

    def __post_init__(self) -> None:
        expect(len(self.results) > 0, "results", "at least one")


Document = Strengthened | Selected | Located | Repaired | Attacked
KINDS: Mapping[str, type[Document]] = {
    "strengthen": Strengthened, "select": Selected, "locate": Located, "repair": Repaired, "attack": Attacked
}  # fmt: skip
"""By verb."""
