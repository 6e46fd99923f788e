"""The experiments of NSS (Huang et al.: Neuron sensitivity guided test case selection), repeated with mutiny.

python -m studies.nss [--quick] [--data DIR] [--out DIR] [--subjects mnist-lenet1,cifar10-resnet20]
                      [--parts detection,partitions,ablation,retraining] [--repeats 5]

Numbers are kept as CSV in OUT/nss, one row as soon as it is known; what is there is not computed again. OUT/nss.md is
written from these files alone, with ``--parts page`` without computing anything.
"""
