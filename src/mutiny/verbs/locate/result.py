"""The result of `locate`, and the notes in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.core.json_values import JsonObject, expect_numbers, to_plain
from mutiny.core.results import LocatedSubject, Result, Rows, finite
from mutiny.subjects.given import only_first
from mutiny.subjects.inference.passes import UNSTEADY
from mutiny.verbs.locate.ablation import Ablation
from mutiny.verbs.locate.measures import Measure, as_measure
from mutiny.verbs.locate.spectrum import Spectrum, check_class
from mutiny.verbs.locate.suspects import Suspect, suspects
from mutiny.verbs.locate.synthesis import Synthesis

FEW = 10
"""Number of failing inputs below which a note warns of wide intervals."""
SIGNIFICANT = 0.05
"""Largest q-value of a suspect that stands out from chance."""
NAMED = 5
"""Largest number of layers that a note names."""


@dataclass(frozen=True, repr=False, eq=False)
class Location(Result):
    """The neurons that are most likely to blame for failures.

    Attributes:
        measure: Suspiciousness measure, in the form that users type.
        suspects: The most suspicious neurons over all inputs, or over those of class ``label``.
        by_class: The most suspicious neurons for each class, with ``by_class=True``; none for a class without failures.
        spectrum: Counts of all neurons and classes, from which `ranked` computes other rankings; ``None`` if loaded
            from JSON.
        ablation: Effect of silencing the suspects; ``None`` if it was not requested or not possible.
        failing: Number of failing inputs.
        passing: Number of passing inputs.
        notes: Caveats, one sentence each.
        synthesis: Synthesized inputs, if loaded from JSON that ``mutiny locate --synthesize`` wrote.
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
    synthesis: Synthesis | None = None

    def ranked(
        self, measure: str | Measure | None = None, k: int | None = None, group: int | Literal["all"] | None = None
    ) -> tuple[Suspect, ...]:
        """Another ranking from the same counts.

        Args:
            measure: Suspiciousness measure; that of the result by default.
            k: Number of neurons, suspicious or not; by default at most as many suspects as were requested.
            group: Class of the inputs, or ``"all"``; that of the result by default.
        """
        if self.spectrum is None:
            raise BadInput(
                "result",
                "loaded from JSON",
                "a result with a spectrum",
                "Call mutiny.locate, or load it from its store.",
            )
        ranking = as_measure(self.measure if measure is None else measure)
        if k is not None:
            check_whole("k", k)
        wanted = self.settings["label"] if group is None else None if group == "all" else group
        if wanted is not None:
            check_class("group", wanted, self.spectrum.groups, ' or "all"')
        count, silent = int(self.settings["k"] if k is None else k), bool(self.settings["silent"])
        return suspects(self.spectrum, ranking, count, wanted, silent, suspicious_only=k is None)

    def __repr__(self) -> str:
        first = ", ".join(f"{suspect.layer}[{suspect.neuron}]" for suspect in self.suspects[:3])
        return f"Location({self.measure!r}, {self.failing} failures, first {first or 'none'})"

    def details(self) -> dict[str, Any]:
        """The part of `to_json` that other verbs do not have."""
        classes = {str(label): [suspect.to_json() for suspect in some] for label, some in self.by_class.items()}
        synthesis = {} if self.synthesis is None else {"synthesis": self.synthesis.to_json()}
        return {
            "measure": self.measure,
            "failing": self.failing,
            "passing": self.passing,
            "suspects": [suspect.to_json() for suspect in self.suspects],
            "classes": classes,
            "ablation": to_plain(self.ablation),
            **synthesis,
        }

    @classmethod
    def read_details(cls, given: JsonObject) -> dict[str, Any]:
        """Reads what `details` returned; JSON does not hold the spectrum."""
        settings = given.object("settings")
        settings.get("label", int | None)
        settings.get("silent", bool)
        by_class = given.get("classes", Mapping[str, tuple[Suspect, ...]], {})
        expect_numbers(by_class, "classes", "numbers of classes")
        return {
            "measure": given.get("measure", str),
            "suspects": given.get("suspects", tuple[Suspect, ...]),
            "by_class": {int(name): some for name, some in by_class.items()},
            "spectrum": None,
            "ablation": given.get("ablation", Ablation | None, None),
            "failing": given.get("failing", int),
            "passing": given.get("passing", int),
            "synthesis": given.get("synthesis", Synthesis | None, None),
        }

    def tables(self) -> dict[str, Rows]:
        """``suspects``, and ``classes`` with the suspects of each class."""
        classes = [{"class": label, **_row(suspect)} for label, some in self.by_class.items() for suspect in some]
        return {"suspects": [*map(_row, self.suspects)], "classes": classes}

    def metrics(self) -> dict[str, float]:
        """Number and share of failures, and the score of the first suspect."""
        total = self.failing + self.passing
        return finite(
            {
                "failing": self.failing,
                "failing.share": self.failing / total if total else None,
                "suspicion": self.suspects[0].score if self.suspects else None,
            }
        )


def _row(suspect: Suspect) -> dict[str, Any]:
    return {
        "layer": suspect.layer,
        "neuron": suspect.neuron,
        "score": suspect.score,
        "low": suspect.interval.low,
        "high": suspect.interval.high,
        "on_failures": suspect.on_failures,
        "on_passes": suspect.on_passes,
        "p_value": suspect.p_value,
        "q_value": suspect.q_value,
    }


def notes_on_suspects(
    spectrum: Spectrum, ranked: Sequence[Suspect], k: int, label: int | None, silent: bool
) -> Iterator[str]:
    """Caveats that follow from the counts."""
    failing, passing = spectrum.failing(label), spectrum.passing(label)
    of_class = "" if label is None else f" of class {label}"
    if not failing:
        yield f"No input{of_class} fails, so no neuron is suspicious. Use harder inputs; `mutiny select` finds some."
        return
    if not passing:
        yield f"Every input{of_class} fails, so the scores only show which neurons are active."
    elif failing < FEW:
        yield f"Only {failing} input{'s fail' if failing > 1 else ' fails'}{of_class}, so the intervals are wide."
    neurons = sum(spectrum.sizes)
    if len(ranked) < min(k, neurons):
        yield (
            f"{len(ranked)} of {neurons} neurons {'is' if len(ranked) == 1 else 'are'} suspicious, fewer than the {k} "
            f"requested: the others are never {'silent' if silent else 'active'} on a failure, or score no higher than "
            "if they never were."
        )
    significant = sum(suspect.q_value <= SIGNIFICANT for suspect in ranked)
    if passing and significant < len(ranked):
        yield (
            f"{_significant_of(significant, len(ranked))} from chance (q <= {SIGNIFICANT:g} among {neurons} neurons)."
        )
    if ranked and all(suspect.nf + suspect.np == 0 for suspect in ranked):
        yield (
            "All suspects are active on every input, so their activity says nothing about failures: choose another "
            "condition, such as quantile(share=0.5), with --active on the command line or active= in Python."
        )


def _significant_of(significant: int, suspects: int) -> str:
    """How many of the suspects differ, as the beginning of a sentence.

    >>> _significant_of(0, 1), _significant_of(0, 3), _significant_of(1, 3)
    ('The only suspect does not differ', 'None of the 3 suspects differs', '1 of the 3 suspects differs')
    """
    if suspects == 1:
        return "The only suspect does not differ"
    return f"{significant or 'None'} of the {suspects} suspects differ{'s' * (significant <= 1)}"


def notes_on_model(originals: int, unreadable: Sequence[str], repeatable: bool, uncompared: bool) -> Iterator[str]:
    """Caveats about what was not examined.

    Args:
        originals: Number of originals of the subject.
        unreadable: Names of hidden layers that were left out.
        repeatable: Whether the model gives the same answers twice.
        uncompared: Whether suspects should have been silenced, but there are too few other neurons to compare with.
    """
    yield from only_first(originals, "was examined")
    if unreadable:
        more = f" and {len(unreadable) - NAMED} more" if len(unreadable) > NAMED else ""
        yield (
            f"Hidden layers whose neurons cannot be read are left out: {', '.join(unreadable[:NAMED])}{more}. Their "
            "values do not leave their module, or have no row for each input."
        )
    if not repeatable:
        yield f"{UNSTEADY}."
    if uncompared:
        why = "the layers of the suspects have too few other neurons"
        yield f"No neuron was silenced, because {why}: rank fewer suspects."
