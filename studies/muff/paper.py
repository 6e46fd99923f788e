"""MUFF's own numbers, by table, with its names of subjects; percentages as shares."""

from __future__ import annotations

NAMES = {"mnist": "MN", "speakers": "SR", "eyes": "UE", "roads": "UD"}
"""Which subject of the paper ours stands beside; Fashion-MNIST has none."""

OPERATORS = ("WI", "NI", "GF", "WS", "NEB", "NAI", "NS", "LR", "LA", "LD")
MUFF, DEEPMUTATION = OPERATORS[:2], OPERATORS[2:]
WITH_RATIO, OF_LAYERS = DEEPMUTATION[:5], DEEPMUTATION[5:]

NOT_KILLABLE, NOT_APPLICABLE = "U/NK", "N/A"
Cell = float | str
"""A share, or one of the two above."""


def shares(codes: tuple[str, ...], text: str) -> dict[str, dict[str, Cell]]:
    """``{subject: {operator: share}}`` from lines such as ``MN 0.28 67.11 N/A`` in per cent."""
    found = {}
    for line in text.strip().splitlines():
        subject, *cells = line.split()
        found[subject] = {
            code: cell if "/" in cell else float(cell) / 100 for code, cell in zip(codes, cells, strict=True)
        }
    return found


DATA = {  # Table III: training inputs, test inputs, network, performance
    "MN": (60_000, 10_000, "eight-layer CNN", "accuracy 99.15%"),
    "SR": (5_401, 1_350, "residual network, 46 convolutions and 2 dense layers", "accuracy 99.44%"),
    "UE": (103_428, 25_857, "LeNet-5: 2 convolutions and a dense layer of 500", "MSE 0.05"),
    "UD": (9_792, 2_432, "Dave-2", "MSE 0.01"),
}

ONE_ORIGINAL = shares(  # Table IV
    DEEPMUTATION,
    """
    MN 0.28 67.11 33.07 99.97 79.33 0.00 99.88 0.00
    SR 8.63 81.21 70.17 100.00 45.27 N/A N/A 5.67
    UE 70.52 98.04 91.90 98.30 94.91 N/A N/A N/A
    UD 33.24 74.62 30.74 46.27 42.12 27.28 99.98 27.57
    """,
)
EACH_ORIGINAL = shares(  # Table V
    DEEPMUTATION,
    """
    MN 1.11 77.11 12.46 96.67 61.86 0.99 99.98 0.99
    SR 12.81 76.47 47.45 88.43 83.06 N/A N/A 10.46
    UE 80.72 98.65 96.33 98.69 98.52 N/A N/A N/A
    UD 31.31 50.71 47.47 62.36 55.33 26.70 100.00 26.45
    """,
)
for _subject, _row in shares(MUFF, "MN 0.43 0.47\nSR 8.28 8.22\nUE 19.70 65.99\nUD 26.16 44.64").items():  # Table IX
    ONE_ORIGINAL[_subject].update(_row)
for _subject, _row in shares(MUFF, "MN 1.30 1.23\nSR 16.29 16.11\nUE 45.76 43.33\nUD 27.79 26.57").items():
    EACH_ORIGINAL[_subject].update(_row)

SENSITIVITY = shares(  # Table VI
    OPERATORS,
    """
    MN 100.00 100.00 96.78 0.29 1.15 1.14 0.01 U/NK U/NK U/NK
    SR 83.04 100.00 25.91 2.14 2.68 1.44 1.89 N/A N/A U/NK
    UE 18.56 39.28 1.27 0.57 0.97 U/NK 0.67 N/A N/A N/A
    UD 77.50 100.00 40.09 U/NK U/NK U/NK 40.00 U/NK U/NK U/NK
    """,
)

INSTANCES: dict[str, dict[str, Cell]] = {  # Table VII: mean number of instances, 120 for an unstable mutant
    subject: dict(zip(OPERATORS, cells, strict=True))
    for subject, cells in {
        "MN": (20, 20, 20, 28, 21, 46, 22, 20, 56, 20),
        "SR": (20, 20, 20, 25, 23, 27, 25, NOT_APPLICABLE, NOT_APPLICABLE, 20),
        "UE": (22, 23, 26, 77, 70, 96, 78, NOT_APPLICABLE, NOT_APPLICABLE, NOT_APPLICABLE),
        "UD": (21, 29, 84, 98, 98, 105, 93, 20, 120, 20),
    }.items()
}

SECONDS = {  # Table VIII: seconds to generate one mutant with MUFF, DeepMutation++, DeepCrime
    "MN": (204, 13, 1_212),
    "SR": (255, 19, 18_549),
    "UE": (170, 14, 22_445),
    "UD": (726, 44, 39_976),
}
