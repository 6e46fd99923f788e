"""A network with a fault that was put in, inputs for it, and methods that take little time."""

import torch

import toys

QUICK = {
    "search": "search(generations=25, population=40)",
    "scale": "scale(generations=25)",
    "tune": "tune(k=4, rate=0.01)",
}


def faulty(neuron=0, factor=-3.0):
    """A good classifier in which the way into one neuron is spoilt."""
    model = toys.classifier()
    loud = int(model[2].weight.detach().abs().sum(dim=0).argsort(descending=True)[neuron])
    with torch.no_grad():
        model[0].weight[loud] *= factor
        model[0].bias[loud] *= factor
    return model, loud


def data(n=1200):
    return toys.blobs(n, seed=5)
