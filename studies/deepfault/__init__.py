"""DeepFault's experiments (Eniser et al.: Fault localization for deep neural networks), repeated with mutiny.

python -m studies.deepfault [--quick] [--data DIR] [--out DIR] [--subjects mnist-8x20,cifar-1x512]
                            [--parts suspects,synthesis,examples,injected,repairs] [--networks 3]

Numbers are kept as CSV in OUT/deepfault, one unit as soon as it is known; what is there is not computed again.
OUT/deepfault.md is written from these files alone, with ``--parts page`` without computing anything.
"""
