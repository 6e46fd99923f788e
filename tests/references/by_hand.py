"""Slow, obvious ways to do what patches do."""

import copy

import torch

from mutiny.core.random import generator_for
from mutiny.models import ModelView, SignalEdit, default_forward
from mutiny.models.forward import steady


def view_of(model, inputs):
    return ModelView.of(model, inputs)


def patch_of(operator, model, inputs, seed=0):
    return operator.patch(ModelView.of(model, inputs), generator_for(seed, operator.code))


def clean(model, inputs):
    with steady(), torch.inference_mode():
        return default_forward(model, inputs)


def mutated(operator, model, inputs, seed=0):
    """What the patched model says."""
    with patch_of(operator, model, inputs, seed).applied(model) as forward, torch.inference_mode():
        return forward(inputs)


def weights_under(operator, model, inputs, seed=0):
    """A copy of all parameters as they are under the patch."""
    with patch_of(operator, model, inputs, seed).applied(model):
        return {name: p.detach().clone() for name, p in model.named_parameters()}


def units_of(operator, model, inputs, seed=0):
    """The neurons that an outgoing operator chose, by layer."""
    edits = patch_of(operator, model, inputs, seed).edits
    return {edit.layer.name: edit.units.tolist() for edit in edits if isinstance(edit, SignalEdit)}


def edited(model, change):
    """A copy of the model after ``change(copy)``."""
    twin = copy.deepcopy(model)
    with torch.no_grad():
        change(twin)
    return twin


def scale_columns(weight, columns, factor):
    for row in range(weight.shape[0]):
        for column in columns:
            weight[row, column] *= factor


def agree(a, b, tolerance=1e-5):
    return torch.allclose(a, b, rtol=tolerance, atol=tolerance)
