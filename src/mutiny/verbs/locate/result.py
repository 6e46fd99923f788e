"""What `locate` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.core.json_values import JsonObject, expect, to_plain
from mutiny.core.results import LocatedSubject, Result, Rows, finite
from mutiny.verbs.locate.ablation import Ablation
from mutiny.verbs.locate.measures import Measure, as_measure
from mutiny.verbs.locate.spectrum import Spectrum, check_class
from mutiny.verbs.locate.suspects import Suspect, suspects


@dataclass(frozen=True, repr=False)
class Location(Result):
    """Which neurons are to blame.

    Attributes:
        measure: of suspicion, as a user would write it.
        suspects: the most suspicious neurons over all inputs, or of the one class that was asked for.
        by_class: the same for each class, if that was asked for; classes without failures have none.
        spectrum: counts of all neurons and classes, from which `ranked` makes other rankings; ``None`` if loaded from
            JSON.
        ablation: what silencing the suspects changes; ``None`` if it was not asked for or not possible.
        failing: failing inputs.
        passing: passing inputs.
        notes: caveats, one sentence each.
    """

    verb: ClassVar[str] = "locate"

    subject: LocatedSubject
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    measure: str
    suspects: tuple[Suspect, ...]
    by_class: Mapping[int, tuple[Suspect, ...]]
    spectrum: Spectrum | None
    ablation: Ablation | None
    failing: int
    passing: int
    notes: tuple[str, ...]
    seconds: float
    created: str

    def ranked(
        self, measure: str | Measure | None = None, k: int | None = None, group: int | Literal["all"] | None = None
    ) -> tuple[Suspect, ...]:
        """Another ranking from the same counts.

        Args:
            measure: of suspicion; the same if not given.
            k: so many neurons, innocent ones among them; if not given as many suspects as before, or fewer.
            group: a class, or ``"all"``; the class for which suspects were asked if not given.
        """
        if self.spectrum is None:
            raise BadInput(
                "result",
                "loaded from JSON",
                "a result with a spectrum",
                "Call mutiny.locate, or load it from its store.",
            )
        judged = as_measure(self.measure if measure is None else measure)
        if k is not None:
            check_whole("k", k)
        wanted = self.settings["label"] if group is None else None if group == "all" else group
        if wanted is not None:
            check_class("group", wanted, self.spectrum.groups, ' or "all"')
        count, silent = int(self.settings["k"] if k is None else k), bool(self.settings["silent"])
        return suspects(self.spectrum, judged, count, wanted, silent, guilty=k is None)

    def __repr__(self) -> str:
        first = ", ".join(f"{one.layer}[{one.neuron}]" for one in self.suspects[:3])
        return f"Location({self.measure!r}, {self.failing} failures, first {first or 'none'})"

    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`."""
        return {
            "measure": self.measure,
            "failing": self.failing,
            "passing": self.passing,
            "suspects": [one.to_json() for one in self.suspects],
            "classes": {str(name): [one.to_json() for one in some] for name, some in self.by_class.items()},
            "ablation": to_plain(self.ablation),
        }

    @classmethod
    def read_details(cls, given: JsonObject) -> dict[str, Any]:
        """The way back from `details`; the spectrum is not in JSON."""
        settings = given.object("settings")
        settings.get("label", int | None)
        settings.get("silent", bool)
        by_class = given.get("classes", Mapping[str, tuple[Suspect, ...]], {})
        expect(all(name.isdecimal() for name in by_class), "classes", [*by_class], "numbers of classes")
        return {
            "measure": given.get("measure", str),
            "suspects": given.get("suspects", tuple[Suspect, ...]),
            "by_class": {int(name): some for name, some in by_class.items()},
            "spectrum": None,
            "ablation": given.get("ablation", Ablation | None, None),
            "failing": given.get("failing", int),
            "passing": given.get("passing", int),
        }

    def tables(self) -> dict[str, Rows]:
        """``suspects``, and those of each class under ``classes``."""
        each = [{"class": name, **_row(one)} for name, some in self.by_class.items() for one in some]
        return {"suspects": [*map(_row, self.suspects)], "classes": each}

    def metrics(self) -> dict[str, float]:
        """Failures, their share, and how suspicious the first neuron is."""
        total = self.failing + self.passing
        return finite(
            {
                "failing": self.failing,
                "failing.share": self.failing / total if total else None,
                "suspicion": self.suspects[0].score if self.suspects else None,
            }
        )


def _row(one: Suspect) -> dict[str, Any]:
    return {
        "layer": one.layer,
        "neuron": one.neuron,
        "score": one.score,
        "low": one.interval.low,
        "high": one.interval.high,
        "on_failures": one.on_failures,
        "on_passes": one.on_passes,
        "p_value": one.p_value,
        "q_value": one.q_value,
    }
