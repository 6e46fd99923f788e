"""Numbers of DeepFault, by table; ``None`` where our copy of the paper is not legible."""

from __future__ import annotations

from studies.deepfault.lab import ALL, MEASURES
from studies.deepfault.subjects import CIFAR, MNIST

NAMES = dict(
    zip((*MNIST.networks, *CIFAR.networks), (f"{d}_{n}" for d in ("MNIST", "CIFAR") for n in (1, 2, 3)), strict=True)
)
ACCURACY = dict(zip(NAMES, (0.966, 0.958, 0.95, 0.701, 0.726, 0.761), strict=True))
"""Table 2."""
WEIGHTS = dict(zip(NAMES, (27_420, 22_975, 18_680, 411_434, 724_010, 1_250_858), strict=True))
"""Table 2."""

Numbers = tuple[float | None, ...]


def _numbers(text: str) -> Numbers:
    return tuple(None if cell == "?" else float(cell) for cell in text.split())


TARANTULA, OCHIAI, DSTAR = MEASURES

SYNTHESIZED: dict[tuple[str, int, str], dict[str, float | None]] = {}
"""Table 3: ``{(subject, k, metric): {strategy: value}}``."""


def _table3(subjects: dict[str, tuple[int, int]], text: str) -> None:
    for line in text.strip().splitlines():
        k, metric, *blocks = line.replace("|", "").split(maxsplit=2)
        cells = _numbers(blocks[0])
        for place, subject in enumerate(subjects):
            four = cells[4 * place : 4 * place + 4]
            SYNTHESIZED[subject, int(k), metric] = dict(zip(ALL, four, strict=True))


_table3(MNIST.networks, """
    1  loss      3.55 6.19 4.03 2.42 | 3.48 3.53 3.97 2.78 | 7.35 8.23 6.36 3.66
    1  accuracy  0.26 0.16 0.2  0.59 | 0.3  0.2  0.5  0.49 | 0.16 0.1  0.13 0.39
    2  loss      3.73 6.08 ?    ?    | ?    ?    ?    0.9  | ?    6.81 6.5  3.06
    2  accuracy  0.16 0.23 0.4  0.58 | 0.23 0.23 0.13 0.77 | 0.29 0.13 0.26 0.56
    3  loss      4.1  ?    ?    ?    | ?    ?    ?    1.61 | ?    ?    ?    ?
    3  accuracy  0.23 0.23 0.33 0.77 | 0.46 0.26 0.23 0.67 | 0.26 0.06 0.16 0.61
    5  loss      4.63 6.68 6.97 1.1  | 2.49 3.64 3.48 0.94 | 4.15 7.22 6.47 1.22
    5  accuracy  0.23 0.23 0.13 0.79 | 0.26 0.26 0.2  0.73 | 0.16 0.1  0.26 0.77
    10 loss      4.97 6.95 7.4  1.3  | 2.08 3.06 3.82 0.49 | 4.45 7.16 5.9  0.57
    10 accuracy  0.23 0.2  0.23 0.75 | 0.4  0.23 0.26 0.86 | 0.13 0.13 0.13 0.87
""")  # fmt: skip
_table3(CIFAR.networks, """
    10 loss      12.75 13.49 1.33 3.25 | 8.42 8.41 0    2.49 | 6.12 1.77 1.12 1.21
    10 accuracy  0.2   0.16  0.9  0.79 | 0.47 0.47 1.0  0.84 | 0.62 0.88 0.92 0.91
    20 loss      12.79 12.43 0.45 ?    | 8.81 ?    ?    ?    | 6.12 1.12 0.96 0.64
    20 accuracy  0.2   0.22  0.96 0.88 | 0.44 ?    0.97 0.89 | 0.62 0.92 0.93 0.95
    30 loss      13.19 13.13 0.38 1.43 | 8.35 ?    ?    ?    | 5.64 0.76 0.42 0.41
    30 accuracy  0.18  0.18  ?    ?    | 0.48 0.6  ?    0.91 | 0.64 0.93 0.96 0.97
    40 loss      13.69 ?     ?    ?    | ?    ?    ?    ?    | ?    ?    ?    ?
    40 accuracy  0.14  ?     ?    ?    | 0.41 ?    ?    ?    | 0.72 0.92 0.97 0.96
    50 loss      12.1  13.37 0.36 0.9  | 9.59 3.38 0    0.56 | 4.67 0.04 0.64 0.48
    50 accuracy  ?     0.17  0.96 0.94 | 0.4  0.78 1.0  0.96 | 0.71 0.98 0.96 0.96
""")  # fmt: skip

NORMS = ("l1", "l2", "linf")
DISTANCE = {  # Table 4, left: by k; CIFAR-10's L1 and L2 as they must be, the paper has them the other way round
    MNIST.title: dict(zip(MNIST.ks, (
        (41.4, 2.0, 0.1), (41.2, 1.99, 0.1), (40.9, 1.98, 0.1), (40.7, 1.97, 0.1), (40.3, 1.96, 0.1),
    ), strict=True)),
    CIFAR.title: dict(zip(CIFAR.ks, (
        (7216.6, 179.07, 15.46), (5897.4, 144.95, 12.45), (5073.9, 124.61, 10.67), (4579.2, 113.45, 9.89),
        (4273.0, 104.72, 9.24),
    ), strict=True)),
}  # fmt: skip
DISTANCE_BY = {  # Table 4, right: by strategy
    MNIST.title: dict(zip(ALL, (
        (40.3, 1.97, 0.1), (41.0, 1.98, 0.1), (41.5, 1.99, 0.1), (39.2, 1.92, 0.1),
    ), strict=True)),
    CIFAR.title: dict(zip(ALL, (
        (6575.6, 180.23, 19.41), (4825.3, 110.45, 7.84), (4823.2, 109.4, 7.39), (4988.1, 121.73, 11.63),
    ), strict=True)),
}  # fmt: skip

RAISED = {  # Table 5
    MNIST.title: dict(zip(MNIST.ks, (0.98, 0.99, 0.97, 0.97, 0.91), strict=True)),
    CIFAR.title: dict(zip(CIFAR.ks, (0.91, 0.92, 0.90, 0.89, 0.88), strict=True)),
}

NEXT: dict[tuple[str, str, int], Numbers] = {}
"""Tables 6 and 7: ``{(family, measure, k): share for each k' of at least k}``."""


def _table6(family: str, ks: tuple[int, ...], text: str) -> None:
    for k, line in zip(ks, text.strip().splitlines(), strict=True):
        for measure, block in zip(MEASURES, line.split("|"), strict=True):
            NEXT[family, measure, k] = _numbers(block)


_table6(MNIST.title, MNIST.ks, """
    1.0 0.98 0.94 0.90 0.78 | 1.0 1.0 0.96 0.97 0.90 | 1.0 0.95 0.96 0.97 0.84
    1.0 0.98 0.91 0.81      | 1.0 0.99 0.99 0.89     | 1.0 0.98 0.98 0.87
    0.98 0.97 0.87          | 1.0 0.99 0.90          | 1.0 1.0 0.91
    0.98 0.89               | 0.98 0.91              | 1.0 0.90
    0.91                    | 0.97                   | 0.94
""")  # fmt: skip
_table6(CIFAR.title, CIFAR.ks, """
    0.95 0.91 0.92 0.90 0.89 | 0.95 0.92 0.92 0.91 0.89 | 0.81 0.61 0.56 0.32 0.15
    0.96 0.94 0.92 0.90      | 0.97 0.95 0.94 0.91      | 0.78 0.49 0.31 0.15
    0.94 0.92 0.91           | 0.92 0.91 0.90           | 0.79 0.33 0.15
    0.95 0.93                | 0.97 0.93                | 0.65 0.17
    0.94                     | 0.91                     | 0.7
""")  # fmt: skip

BEATS_RANDOM = {MNIST.title: MEASURES, CIFAR.title: (TARANTULA, OCHIAI)}
"""RQ1: significantly worse predictions than for the random choice, on every network and for every k."""

MARKED: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    # Tables 8 and 9: cells with a mark for at least one k; which ones is not legible
    (TARANTULA, OCHIAI): {"accuracy": ("MNIST_1", "CIFAR_1", "CIFAR_2", "CIFAR_3"), "loss": ("CIFAR_2", "CIFAR_3")},
    (TARANTULA, DSTAR): {"accuracy": ("CIFAR_1", "CIFAR_2", "CIFAR_3"), "loss": ("CIFAR_1", "CIFAR_2", "CIFAR_3")},
    (OCHIAI, TARANTULA): {"accuracy": ("MNIST_1", "MNIST_2"), "loss": ("MNIST_1", "MNIST_2")},
    (OCHIAI, DSTAR): {
        "accuracy": ("MNIST_2", "MNIST_3", "CIFAR_1", "CIFAR_2"),
        "loss": ("MNIST_1", "MNIST_3", "CIFAR_1", "CIFAR_2"),
    },
    (DSTAR, TARANTULA): {"accuracy": ("MNIST_2",), "loss": ("MNIST_1", "MNIST_2", "MNIST_3")},
    (DSTAR, OCHIAI): {"accuracy": (), "loss": ()},
}  # fmt: skip

TIMES = {  # Table 10: mm:ss per input
    MNIST.title: {
        TARANTULA: ("< 00:01", "< 00:01", "< 00:01", "00:01", "00:03"),
        OCHIAI: ("< 00:01", "< 00:01", "< 00:01", "00:01", "00:03"),
        DSTAR: ("< 00:01", "< 00:01", "< 00:01", "< 00:01", "00:02"),
    },
    CIFAR.title: {
        TARANTULA: ("00:04", "00:14", "00:29", "00:52", "01:20"),
        OCHIAI: ("00:03", "00:09", "00:17", "00:27", "00:41"),
        DSTAR: ("00:02", "00:04", "00:08", "00:14", "00:23"),
    },
}
