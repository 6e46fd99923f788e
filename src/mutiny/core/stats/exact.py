"""Exact p-values from counts of correct and wrong answers, which need neither normal data nor large samples."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, optimize, special, stats

from mutiny.core.errors import BadInput

Integers = NDArray[np.int64]

MAX_WORK = 2**25
"""Largest product of lattice points and distinct magnitudes for which :func:`sign_flip_counts` is exact.

It takes about half a second then.
"""


def fisher(correct_a: int, n_a: int, correct_b: int, n_b: int) -> float:
    """Fisher's exact test of whether two groups have the same rate of correct answers, two-sided.

    Answers must be independent. Repetitions on the same inputs are not: pool them only for comparison with
    arXiv 2507.11199; otherwise use :func:`sign_flip`. Takes about 2 ms at a million answers.

    Args:
        correct_a: Correct answers of the first group.
        n_a: All answers of the first group.
        correct_b: Correct answers of the second group.
        n_b: All answers of the second group.

    Returns:
        The p-value; 1 if a group is empty, or if all answers are correct, or all are wrong.

    >>> round(fisher(3, 4, 1, 4), 4)
    0.4857
    """
    for name, correct, n in (("a", correct_a, n_a), ("b", correct_b, n_b)):
        if not 0 <= correct <= n:
            raise BadInput(f"correct_{name}, n_{name}", (correct, n), "counts with 0 <= correct <= n")
    if min(n_a, n_b, correct_a + correct_b, n_a + n_b - correct_a - correct_b) == 0:
        return 1.0
    table = [[int(correct_a), int(n_a - correct_a)], [int(correct_b), int(n_b - correct_b)]]
    return min(1.0, float(stats.fisher_exact(table).pvalue))


def hypergeometric_tails(
    seen: ArrayLike, drawn: ArrayLike, marked: ArrayLike, total: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Tails of the hypergeometric distribution: of marked items in a sample drawn without replacement.

    Args:
        seen: Number of marked items in the sample; all arguments broadcast.
        drawn: Size of the sample.
        marked: Number of marked items in the population.
        total: Size of the population.

    Returns:
        ``P(X <= seen)`` and ``P(X >= seen)``; the second is the one-sided p-value of Fisher's exact test. Both are 1
        if the population is empty.

    >>> [float(p) for p in hypergeometric_tails(2, 2, 2, 4)]
    [1.0, 0.16666666666666666]
    """
    law = stats.hypergeom(np.asarray(total), np.asarray(marked), np.asarray(drawn))
    count = np.asarray(seen)
    tails = np.clip(law.cdf(count), 0.0, 1.0), np.clip(law.sf(count - 1), 0.0, 1.0)
    return np.nan_to_num(tails[0], nan=1.0), np.nan_to_num(tails[1], nan=1.0)


def sign_flip(differences: ArrayLike) -> float:
    """Exact test over inputs: McNemar's test for one or more repetitions on the same inputs.

    Null hypothesis: on each input original and mutant are exchangeable, so ``d_j`` and ``-d_j`` are equally likely.
    Repetitions on one input may depend on each other in any way. With one repetition it is McNemar's test.

    Args:
        differences: For each input, number of correct originals minus number of correct mutants, ``(n,)`` integers.

    Returns:
        ``P(|sum of ±|d_j|| >= |sum of d_j|)``; 1 if nothing differs.

    >>> round(sign_flip([1, 1, 1, 0, -1, 1, 1]), 6)  # 5 against 1: 2 * (6 + 1) / 2**6
    0.21875
    """
    values, counts = np.unique(np.asarray(differences), return_counts=True)
    return sign_flip_counts(values, counts)


def sign_flip_counts(values: Mapping[int, int] | ArrayLike, counts: ArrayLike | None = None) -> float:
    """:func:`sign_flip` on a histogram of the differences.

    Saddle-point inversion: the tilted law ``P_θ(s) = exp(θ s - K(θ)) P(s)``, whose mean is the observed sum, has most
    of its mass where the original law has its tail. So one inverse FFT over some ten standard deviations gives even
    p = 1e-300 to ten digits. If lattice points times magnitudes exceed ``MAX_WORK`` (20 repetitions of 10⁹ inputs), the
    normal approximation with continuity correction is used.

    Args:
        values: Differences, ``(k,)`` integers, or a mapping from each difference to its count.
        counts: Number of occurrences of each, ``(k,)``; only if ``values`` is not a mapping.

    Returns:
        The p-value.

    >>> sign_flip_counts({1: 5, -1: 1, 0: 40}) == sign_flip_counts([1, -1], [5, 1])
    True
    """
    magnitudes, number, total = _histogram(values, counts)
    if total == 0:
        return 1.0
    longest = int(magnitudes @ number)
    if total == longest:
        return 2.0 ** (1 - int(number.sum()))
    # Hoeffding: tilted or not, the sum leaves its mean ± 5 of these with a probability below 4e-22.
    deviation = math.sqrt(float(magnitudes.astype(np.float64) ** 2 @ number))
    points = int(fft.next_fast_len(min(longest + 1, 10 * math.ceil(deviation)), real=True))
    if points * magnitudes.size > MAX_WORK:
        return float(2 * special.ndtr(-(total - 1) / deviation))
    weights = magnitudes * number
    tilt = float(optimize.brentq(lambda t: weights @ np.tanh(t * magnitudes) - total, 0, math.log(longest) + 1))
    ups = (longest + total) // 2  # the lattice: total = 2 * (sum of the magnitudes that count positive) - longest
    beyond = np.arange(min(points // 2, longest - ups) + 1)
    mass = np.maximum(_tilted_mass(magnitudes, number, tilt, points, ups)[beyond], 0)
    cumulant = float(number @ (np.logaddexp(tilt * magnitudes, -tilt * magnitudes) - math.log(2)))
    return min(1.0, 2 * math.exp(cumulant - tilt * total) * float(np.exp(-2 * tilt * beyond) @ mass))


def _tilted_mass(magnitudes: Integers, number: Integers, tilt: float, points: int, start: int) -> NDArray[np.float64]:
    """Law of the sum of ``Binomial(number, σ(2 tilt magnitude)) * magnitude`` at start, start + 1, ... (cyclic)."""
    frequency = np.arange(points // 2 + 1)
    log_size, phase = np.zeros(frequency.size), _angle(frequency, -start, points)
    for magnitude, count in zip(magnitudes.tolist(), number.tolist(), strict=True):
        up, down = (float(special.expit(2 * sign * tilt * magnitude)) for sign in (1, -1))
        angle = _angle(frequency, magnitude, points)
        with np.errstate(divide="ignore"):  # log(0) is a factor of zero
            log_size += 0.5 * count * np.log1p(-np.minimum(4 * up * down * np.sin(angle / 2) ** 2, 1))
        phase += count * np.arctan2(up * np.sin(angle), down + up * np.cos(angle))
        alive = log_size > -60
        frequency, log_size, phase = frequency[alive], log_size[alive], phase[alive]
    spectrum = np.zeros(points // 2 + 1, dtype=np.complex128)
    spectrum[frequency] = np.exp(log_size - 1j * phase)
    return np.asarray(fft.irfft(spectrum, points), dtype=np.float64)


def _angle(frequency: Integers, factor: int, points: int) -> NDArray[np.float64]:
    """``2π frequency factor / points``, reduced to [-π, π) in whole numbers: no digit is lost to large multiples."""
    half = points // 2
    return ((frequency * (factor % points) + half) % points - half).astype(np.float64) * (2 * math.pi / points)


def _histogram(values: Mapping[int, int] | ArrayLike, counts: ArrayLike | None) -> tuple[Integers, Integers, int]:
    """Different magnitudes without zero and common divisor, how often each occurs, and the absolute sum."""
    pairs = (list(values.keys()), list(values.values())) if isinstance(values, Mapping) else (values, counts)
    signed, number = _integers(pairs[0], "differences"), _integers(pairs[1] if pairs[1] is not None else [], "counts")
    if signed.shape != number.shape or (number < 0).any():
        raise BadInput("counts", f"shape {number.shape}", f"one count >= 0 for each of {signed.size} values")
    if np.abs(signed.astype(np.float64)) @ number > 2**53:
        raise BadInput("differences", "a sum above 2**53", "numbers of repetitions")
    signed, number = signed[number > 0], number[number > 0]
    magnitudes, place = np.unique(np.abs(signed), return_inverse=True)
    merged = np.zeros(magnitudes.size, dtype=np.int64)
    np.add.at(merged, place, number)
    keep = magnitudes > 0
    divisor = int(np.gcd.reduce(magnitudes[keep])) if keep.any() else 1
    return magnitudes[keep] // divisor, merged[keep], abs(int(signed @ number)) // divisor


def _integers(values: ArrayLike, name: str) -> Integers:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iub"):
        raise BadInput(name, f"an array of {array.dtype} of shape {array.shape}", "whole numbers, shape (n,)")
    return array.astype(np.int64)
