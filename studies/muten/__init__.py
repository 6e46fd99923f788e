"""MUTEN's experiments (Hu et al.: Mutant-based ensembles for boosting gradient-based attacks), repeated with mutiny.

python -m studies.muten [--quick] [--data DIR] [--out DIR] [--subjects mnist-lenet5,cifar10-cnn,cifar10-resnet20]
                        [--parts epsilon,number,choice,defenses] [--rounds 3]

Numbers are kept as CSV in OUT/muten, one row as soon as it is known; what is there is not computed again. OUT/muten.md
is written from these files alone, with ``--parts page`` without computing anything.
"""
