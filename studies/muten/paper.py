"""MUTEN's numbers, as far as its text and tables give them: its figures have none that could be read off."""

from __future__ import annotations

from studies.muten.arms import ART, FIXED
from studies.muten.defended import BITS, DISTILLATION, JPEG, SMOOTHING
from studies.muten.subjects import CNN, MNIST, RESNET

NAMES = {MNIST: "MNIST, LeNet5", CNN: "CIFAR-10, VGG16", RESNET: "CIFAR-10, ResNet20V1"}
"""Which of its networks ours stands beside."""

ACCURACY = {MNIST: 0.9889, CNN: 0.9117, RESNET: 0.9071}
"""Table I."""

MOST = 0.45
"""Abstract: by how much success rises, at most."""

LAST = (0.62, 0.97)
LAST_AT = (CNN, "14/255")
"""Section IV-B: PGD on VGG16 at the largest distance, the original alone and MUTEN. The text says that "the baseline
increases by 0.62"; we read "to 0.62"."""

NUMBER = {ART: {1: 0.32, 10: 0.43}, FIXED: {1: -0.09, 10: 0.21}}
NUMBER_OF = CNN
"""Section IV-B, Fig. 3: gain over the original alone with 1 and with 10 mutants, VGG16, 8/255 and c = 0.3. The text
gives ranges; that their ends belong to 1 and 10 is our reading."""

SLIGHT = "4/255"
"""Section IV-B, Fig. 4: below this distance the three kinds of mutants hardly differ; above, diverse ones are best and
similar ones worst."""

DEFENSES_OF = CNN
DEFENSES = {
    BITS: (0.9098, 0.51, 0.95),
    JPEG: (0.9054, 0.50, 0.94),
    DISTILLATION: (0.9185, 0.61, 0.96),
    SMOOTHING: (0.9143, 0.67, 0.82),
}
"""Table III: accuracy, and success of PGD at 8/255 on the original alone and by MUTEN; VGG16."""
