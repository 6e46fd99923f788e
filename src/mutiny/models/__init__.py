"""Interface to torch: structure of a model, activations, and patches that change it temporarily."""

from mutiny.models.capture import activations
from mutiny.models.forward import Forward, default_forward
from mutiny.models.layers import Activation, Layer, Site, Weight
from mutiny.models.patch import ActivationEdit, ModuleEdit, Patch, SignalEdit, WeightEdit
from mutiny.models.state import ModelState, check_model
from mutiny.models.view import ModelView

__all__ = [
    "Activation",
    "ActivationEdit",
    "Forward",
    "Layer",
    "ModelState",
    "ModelView",
    "ModuleEdit",
    "Patch",
    "SignalEdit",
    "Site",
    "Weight",
    "WeightEdit",
    "activations",
    "check_model",
    "default_forward",
]
