"""Distances between the activation spectra of mutants, within groups and between them. MUFF, RQ4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np
import numpy.typing as npt

from mutiny.core.checks import check_positive
from mutiny.core.errors import BadInput

Floats = npt.NDArray[np.float64]
EPSILON = 1e-6
"""Added to every bin before the logarithm: about the mass of one unit in a network of a million."""


def log_euclidean(a: npt.ArrayLike, b: npt.ArrayLike, epsilon: float = EPSILON) -> Floats:
    """The Log-Euclidean distance of two spectra on each input, ``(inputs,)``.

    The norm of ``log(a + epsilon) - log(b + epsilon)``, with natural logarithms. MUFF names the metric without a
    formula; this is the Log-Euclidean distance of the matrices that have the spectra on their diagonals (Arsigny et
    al., 2006), and small bins count, as MUFF requires. MUFF does not say how empty bins are handled. Adding ``epsilon``
    gives the same distance as adding it and dividing by the new sum. The smaller ``epsilon`` is, the more weight have
    bins that are empty in one of the two spectra; it should not exceed what one neuron adds to a bin.

    Args:
        a: Share of neurons in each bin, ``(inputs, bins)``.
        b: The same for the other network.
        epsilon: Number above 0 that is added to every bin.

    >>> log_euclidean([[0.5, 0.5]], [[1.0, 0.0]], epsilon=0.5).round(3)
    array([0.803])
    """
    check_positive("epsilon", epsilon)
    first = _checked("a", a)
    return _distances(np.log(first + epsilon), np.log(_checked("b", b, first.shape) + epsilon))


def mean_spectra(each: Iterable[npt.ArrayLike]) -> Floats:
    """The mean spectrum of a mutant on each input over all its instances, ``(inputs, bins)``.

    Args:
        each: Spectra of the instances. Only one at a time is in memory if this is a generator.

    >>> mean_spectra([[[1.0, 0.0]], [[0.0, 1.0]]])
    array([[0.5, 0.5]])
    """
    total, count = np.zeros((0, 0)), 0
    for given in each:
        spectra = _checked("spectra", given, total.shape if count else None)
        total, count = (total + spectra if count else spectra), count + 1
    if not count:
        raise BadInput("spectra", "none", "those of at least one instance")
    return total / count


@dataclass(frozen=True)
class SpectralDistance:
    """Distance of two mutants, the mean over inputs.

    >>> SpectralDistance("WI", "DC", "factor=0.5", "LCH=mae", 3.2).pair
    'WI-DC'
    """

    group_a: str
    group_b: str
    mutant_a: str
    mutant_b: str
    distance: float

    @property
    def pair(self) -> str:
        """Names of both groups, as in MUFF's Fig. 4."""
        return f"{self.group_a}-{self.group_b}"


def within_and_between(
    groups: Mapping[str, Mapping[str, npt.ArrayLike]],
    operators: Mapping[str, Mapping[str, str]] | None = None,
    between: Iterable[tuple[str, str]] | None = None,
    epsilon: float = EPSILON,
) -> tuple[SpectralDistance, ...]:
    """Distances of mutants of the same group, then of mutants of two groups. MUFF, section V-A2.

    Args:
        groups: Spectra ``(inputs, bins)`` by group and mutant, over the same inputs and the same bins.
        operators: Operator of each mutant, by group and mutant. Within such a group, only mutants of the same operator
            are compared, which differ in its parameters; within other groups, all are.
        between: Pairs of groups to compare; all pairs by default. MUFF compares WI and NI with DC.
        epsilon: Number added to every bin; see `log_euclidean`.

    >>> flat, steep = [[0.5, 0.5]], [[0.9, 0.1]]
    >>> rows = within_and_between({"WI": {"0.1": flat, "0.2": steep}, "DC": {"LCH": flat}})
    >>> [(row.pair, row.mutant_a, row.mutant_b, round(row.distance, 2)) for row in rows]
    [('WI-WI', '0.1', '0.2', 1.71), ('WI-DC', '0.1', 'LCH', 0.0), ('WI-DC', '0.2', 'LCH', 1.71)]
    """
    check_positive("epsilon", epsilon)
    pairs = [*combinations(groups, 2)] if between is None else [*between]
    unknown = [name for name in (*chain(*pairs), *(operators or ())) if name not in groups]
    if unknown:
        raise BadInput("group", repr(unknown[0]), f"one of {', '.join(groups)}")
    logs = _logs(groups, epsilon)
    rows = [
        _row(logs, (group, group), pair) for group in groups for pair in _same_operator(group, groups[group], operators)
    ]
    rows += [_row(logs, pair, mutants) for pair in pairs for mutants in product(groups[pair[0]], groups[pair[1]])]
    return tuple(rows)


def _same_operator(
    group: str, mutants: Iterable[str], operators: Mapping[str, Mapping[str, str]] | None
) -> list[tuple[str, str]]:
    """Pairs of mutants of the same operator."""
    names = [*mutants]
    known = (operators or {}).get(group, dict.fromkeys(names, group))
    missing = [name for name in names if name not in known]
    if missing:
        raise BadInput(f"operators of {group}", f"none for {missing[0]!r}", "the operator of each mutant")
    return [(a, b) for a, b in combinations(names, 2) if known[a] == known[b]]


def _row(
    logs: Mapping[str, Mapping[str, Floats]], groups: tuple[str, str], mutants: tuple[str, str]
) -> SpectralDistance:
    a, b = (logs[group][mutant] for group, mutant in zip(groups, mutants, strict=True))
    return SpectralDistance(*groups, *mutants, float(_distances(a, b).mean()))


def _logs(groups: Mapping[str, Mapping[str, npt.ArrayLike]], epsilon: float) -> dict[str, dict[str, Floats]]:
    logs: dict[str, dict[str, Floats]] = {}
    shape: tuple[int, ...] | None = None
    for group, mutants in groups.items():
        logs[group] = {}
        for name, given in mutants.items():
            spectra = _checked(f"spectra of {group} {name}", given, shape)
            logs[group][name], shape = np.log(spectra + epsilon), spectra.shape
    return logs


def _distances(a: Floats, b: Floats) -> Floats:
    distances: Floats = np.linalg.norm(a - b, axis=1)
    return distances


def _checked(name: str, values: npt.ArrayLike, shape: tuple[int, ...] | None = None) -> Floats:
    spectra = np.asarray(values, np.float64)
    if spectra.ndim != 2 or not spectra.size:
        raise BadInput(name, f"an array of shape {spectra.shape}", "spectra (inputs, bins), at least one")
    if not (np.isfinite(spectra) & (spectra >= 0)).all():
        raise BadInput(name, "numbers that are negative, infinite or NaN", "the share of neurons in each bin")
    if shape is not None and spectra.shape != shape:
        raise BadInput(
            name,
            f"an array of shape {spectra.shape}",
            f"shape {shape}, as the others",
            "Compare spectra over the same inputs and the same bins.",
        )
    return spectra
