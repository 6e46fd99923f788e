"""Numbers of NSS, by table, for the networks that this study has too; percentages as shares."""

from __future__ import annotations

NAMES = {
    "mnist-lenet1": "MNIST (L-1)",
    "mnist-lenet5": "MNIST (L-5)",
    "fashion-lenet1": "Fashion (L-1)",
    "cifar10-resnet20": "CIFAR-10 (R-20)",
}
"""Which row of the paper ours stands beside; Fashion-MNIST with LeNet-5 has none."""

METHODS = {
    "NSS": "nss",
    "NAC": "nac",
    "KMNC": "kmnc",
    "NPC": "npc",
    "DSA": "dsa(by=coverage)",
    "LSA": "lsa(by=coverage)",
    "PRIMA": "prima-kill",
    "Softmax": "softmax",
    "Dropout": "mc-dropout",
    "Gini": "deepgini",
    "ATS": "ats",
    "RS": "random",
}
"""Its methods, in the order of its columns, and ours with the settings of its Table 5."""

Table = dict[str, dict[str, float]]
"""``{subject: {method or setting: share}}``, with our names."""


def _table(columns: tuple[str, ...], text: str) -> Table:
    """One line per subject in the order of `NAMES`, in per cent."""
    lines = text.strip().splitlines()
    return {
        subject: {column: round(float(cell) / 100, 6) for column, cell in zip(columns, line.split(), strict=True)}
        for subject, line in zip(NAMES, lines, strict=True)
    }


_ALL = tuple(METHODS.values())

ACCURACY = dict(zip(NAMES, (0.8950, 0.9179, 0.7899, 0.8607), strict=True))
"""Table 3: on the clean test set."""

INTERNAL = {  # Table 1: FDR of internal Gini at 5, 10, 15, 20%
    "mnist-lenet1": (0.186, 0.184, 0.195, 0.204),
    "mnist-lenet5": (0.150, 0.148, 0.163, 0.167),
}

CORRELATION = dict(  # Table 6: Pearson, Spearman
    zip(NAMES, ((-0.993, -1.0), (-0.939, -0.927), (-0.975, -1.0), (-0.972, -1.0)), strict=True)
)

FDR = {  # Table 7
    5: _table(_ALL, """
        81.8 22.6 42.2 20.2 22.2 43.6 64.7 60.5 62.0 61.8 58.7 21.3
        81.8 18.4 25.8 21.6 22.6 37.1 54.2 55.7 57.8 58.2 60.2 18.8
        70.2 32.7 35.9 31.0 31.1 40.5 50.3 58.2 55.3 57.8 53.3 31.2
        71.4 28.2 24.6 26.0 27.4 38.9 48.3 60.8 55.2 50.4 50.2 28.8
        """),
    10: _table(_ALL, """
        70.6 20.8 38.7 20.2 22.5 40.1 55.6 53.6 55.9 55.7 54.3 21.3
        67.7 18.1 20.8 20.0 21.3 34.7 50.1 49.9 51.3 50.5 52.3 18.8
        65.0 30.9 35.9 31.0 31.0 36.3 43.5 52.4 51.3 48.2 48.7 31.0
        62.8 25.8 21.8 28.7 27.4 35.8 42.1 53.1 48.2 45.0 47.1 28.9
        """),
    15: _table(_ALL, """
        58.3 21.6 35.3 20.6 23.6 37.8 47.2 50.2 51.3 50.1 47.6 21.3
        56.7 18.5 19.3 19.3 21.0 31.5 43.2 44.2 46.7 46.2 40.2 18.7
        59.6 30.5 34.2 31.0 31.0 33.2 40.5 48.3 45.4 44.4 45.1 31.2
        56.7 25.6 21.5 28.8 27.2 33.9 49.7 46.9 42.7 40.6 42.7 28.9
        """),
    20: _table(_ALL, """
        53.3 22.0 35.7 20.9 23.5 35.6 40.3 45.2 45.8 45.4 41.5 21.3
        50.8 18.4 19.4 19.1 20.8 29.9 37.7 40.2 41.3 42.3 37.1 18.7
        57.3 30.3 34.6 31.1 31.0 30.7 37.9 42.9 40.2 39.4 40.1 31.3
        54.1 26.4 20.7 28.5 26.4 30.6 44.1 41.8 38.6 35.4 36.9 28.9
        """),
}  # fmt: skip

RAUC = _table(  # Table 8
    _ALL,
    """
    88.99 57.36 81.48 50.68 59.77 62.68 84.55 83.76 83.54 85.00 84.48 74.01
    91.55 55.49 55.86 61.29 56.46 57.56 83.1 81.67 80.89 85.33 83.98 65.37
    85.11 54.12 81.57 52.78 60.72 64.41 79.36 78.91 77.91 82.96 81.57 70.04
    86.11 65.53 64.71 65.07 68.27 67.44 73.82 72.47 65.71 78.53 75.42 72.66
    """,
)

APFD = _table(  # Table 9
    _ALL,
    """
    99.18 45.73 41.86 45.27 90.68 88.43 89.25 98.22 97.43 98.23 98.48 53.27
    98.84 43.87 39.85 42.95 84.92 80.56 92.53 97.49 97.58 98.17 98.29 49.83
    87.15 43.42 59.21 50.14 75.29 60.82 70.24 86.47 86.43 86.72 86.97 48.29
    99.87 47.39 50.65 49.73 55.72 48.27 82.73 90.28 91.73 95.58 96.26 50.17
    """,
)

GAIN = {  # Table 10: increase in accuracy after retraining
    5: _table(_ALL, """
        9.01 7.07 7.31 7.10 7.10 7.39 7.57 7.38 7.62 7.54 7.41 7.09
        7.44 7.04 7.24 7.03 7.04 7.33 7.12 7.43 7.51 7.57 7.21 7.04
        9.43 4.95 5.01 4.98 4.97 5.17 5.74 6.12 5.85 5.31 5.73 4.97
        4.62 2.35 2.47 2.35 2.34 2.51 2.83 2.88 2.74 2.79 2.81 2.35
        """),
    20: _table(_ALL, """
        9.07 7.26 7.53 7.26 7.27 7.89 8.11 7.65 7.78 8.07 8.01 7.26
        7.47 7.09 7.41 7.10 7.08 7.83 7.55 7.44 7.52 8.62 7.25 7.08
        9.63 5.12 5.24 5.12 5.13 5.68 6.34 6.79 6.24 6.15 6.47 5.12
        4.92 2.71 2.77 2.72 2.72 2.85 4.05 3.75 3.63 3.91 3.76 2.71
        """),
}  # fmt: skip

SECONDS = {  # Table 11: test case selection, sensitive neuron identifier, all neurons
    "mnist-lenet1": (5.62, 36.76, 382.74),
    "mnist-lenet5": (5.68, 37.13, 412.52),
    "fashion-lenet1": (5.76, 36.77, 371.59),
    "cifar10-resnet20": (7.18, 46.60, 489.33),
}

SHARE = _table(  # Table 12: FDR at 20% by share of sensitive neurons
    ("0.01", "0.05", "0.1", "0.2", "1.0"),
    """
    48.9 51.4 53.3 56.7 59.3
    44.8 50.0 50.9 51.8 54.3
    54.4 57.0 57.4 61.2 58.3
    52.9 53.9 54.1 54.9 55.1
    """,
)

LAYER = _table(  # Table 13: FDR at 20% by layer
    ("first", "second", "-2", "-1", "output"),
    """
    56.65 56.50 56.70 60.05 56.71
    51.65 51.50 51.80 53.55 51.35
    57.15 57.00 61.20 60.40 58.32
    30.25 33.60 40.00 54.85 48.92
    """,
)

OPERATIONS = ("shift", "rotation", "scale", "shear", "contrast", "brightness", "blur", "all")


def _operations(text: str) -> dict[str, tuple[float, ...]]:
    """FDR at 5, 10, 15, 20% on CIFAR-10 with ResNet-20, by operation."""
    lines = text.strip().splitlines()
    return {
        operation: tuple(round(float(cell) / 100, 6) for cell in line.split())
        for operation, line in zip(OPERATIONS, lines, strict=True)
    }


IDENTIFY = _operations(  # Table 14
    """
    72.0 63.4 57.1 52.6
    69.8 62.9 58.2 52.7
    70.2 62.9 57.4 53.0
    71.4 63.4 58.3 53.9
    75.6 65.1 58.9 53.9
    76.0 65.8 60.5 55.8
    75.6 67.0 60.6 55.2
    71.4 62.8 56.7 54.1
    """
)
SELECT = _operations(  # Table 15
    """
    52.0 47.8 44.9 41.6
    44.8 40.1 39.1 37.2
    64.4 57.8 54.1 50.2
    51.2 49.8 46.2 43.4
    48.4 41.2 38.5 35.2
    65.2 56.1 51.7 48.6
    81.4 80.6 78.9 77.0
    71.4 62.8 56.7 54.1
    """
)
