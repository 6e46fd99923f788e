"""Relevance of neurons for a model's output: layer-wise relevance by gradients, for any architecture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, allow_mutation_on_saved_tensors, get_gradient_edge

from mutiny.core.claims import exclusive
from mutiny.core.errors import NotApplicable
from mutiny.models.capture import ActivationRecorder, RecordedCall, by_input, rows_of, visible_layers
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.read_points import ReadPoint
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import RECURRENT, WeightedCall, replace_tensors, tensors, weighted_call
from mutiny.models.undo import Undo
from mutiny.models.view import ModelView, parameter_names


class Relevance(NamedTuple):
    """Outputs of a batch, ``(n, ...)``, and the relevance of the neurons at each read point, ``(n, neurons)``."""

    outputs: Tensor
    points: tuple[Tensor, ...]


@contextmanager
def explaining(
    view: ModelView,
    points: Sequence[ReadPoint],
    explained: Callable[[Tensor], Tensor],
    forward: Forward = default_forward,
) -> Iterator[Callable[[Any], Relevance]]:
    """Gives a function from a batch to the relevance of its neurons, while the context is open.

    A neuron's relevance is its value times the derivative of the explained number by it, summed over pixels, steps and
    calls. In a network of linear maps, ReLU and pooling this is layer-wise relevance propagation by the rule LRP-0
    (Ancona et al., Towards better understanding of gradient-based attribution methods, ICLR 2018, section 3): without
    biases, the relevances of a layer through which everything passes add up to the explained number. No kind of layer
    needs a rule of its own, so skip connections, normalization and attention are covered; with other activations,
    relevance is the contribution to first order. The model, including its parameters' gradients, is left untouched.

    Args:
        view: Probed model.
        points: Read points whose neurons get a relevance.
        explained: Function from the model's outputs to the explained number of each input, ``(n,)``.
        forward: Function that calls the model.

    >>> from torch import nn
    >>> from mutiny.models.read_points import ReadPoints
    >>> model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False)).eval()
    >>> model[0].weight.data, model[2].weight.data = torch.tensor([[1.0, 2.0], [1.0, -1.0]]), torch.tensor([[5.0, 1.0]])
    >>> x = torch.tensor([[1.0, 0.5]])
    >>> view = ModelView.of(model, x)
    >>> with explaining(view, ReadPoints(view, x).choose("0"), lambda outputs: outputs[:, 0]) as explain:
    ...     explain(x)
    Relevance(outputs=tensor([[10.5000]]), points=(tensor([[10.0000,  0.5000]]),))
    """
    names = parameter_names(view.model)
    layers = visible_layers(view, [point.name for point in points if point.kind == "signal"])
    noted: dict[str, list[_NeuronOutput]] = {}

    def explain(batch: Any) -> Relevance:
        noted.clear()
        recorder, rows = _GradientRecorder(names, layers), rows_of(batch)
        with ExitStack() as stack:
            stack.enter_context(steady())
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
            stack.enter_context(exclusive("autograd settings"))
            if any(layer.kind in RECURRENT for layer in view.layers):  # cuDNN has no backward pass in evaluation mode
                stack.enter_context(torch.backends.cudnn.flags(enabled=False))
            stack.enter_context(allow_mutation_on_saved_tensors())
            with _GraphRoots(), recorder:
                outputs = forward(view.model, replace_tensors(batch, _in_graph))
            known = {**noted, **recorder.by_layer()}
            recorded = [known.get(point.name, []) for point in points]
            unused = next((point.name for point, calls in zip(points, recorded, strict=True) if not calls), None)
            if unused is not None:
                raise NotApplicable(f"{unused} takes no part in the forward pass of some inputs")
            gradients = iter(_gradients(explained(outputs), [call.edge for calls in recorded for call in calls]))
            relevances = [
                torch.stack([call.relevance(next(gradients), rows) for call in calls]).sum(dim=0) for calls in recorded
            ]
        return Relevance(outputs.detach(), tuple(relevances))

    with Undo() as undo:
        for point in points:
            module, hook = view.model.get_submodule(point.path), _noting(noted, point)
            if point.kind == "input":
                undo.add(module.register_forward_pre_hook(hook, with_kwargs=True).remove)
            elif point.kind == "output":
                undo.add(module.register_forward_hook(hook, with_kwargs=True).remove)
        yield explain


class _NeuronOutput(NamedTuple):
    """Values of neurons in one call, their edge in the autograd graph, and a function that puts inputs first."""

    value: Tensor
    edge: GradientEdge | None
    read: Callable[[Tensor, int], Tensor]

    def relevance(self, gradient: Tensor | None, rows: int) -> Tensor:
        """Relevance of each neuron, ``(rows, neurons)``; 0 if the explained number does not depend on this call."""
        value = torch.zeros_like(self.value) if gradient is None else self.value * gradient
        by_neuron = self.read(value, rows)
        return by_neuron if by_neuron.ndim == 2 else by_neuron.flatten(1, -2).sum(dim=1)


class _GradientRecorder(ActivationRecorder):
    """Also records the autograd edge of each signal, which later changes in place do not move."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._edges: dict[str, list[GradientEdge | None]] = {name: [] for name in self.recorded}

    def _begin(self, call: WeightedCall, result: Any) -> None:
        super()._begin(call, result)
        for name, edges in self._edges.items():
            edges.extend(_edge(tensor) for tensor, _ in self.recorded[name][len(edges) :])

    def _follow(self, before: tuple[int, ...], calls: list[RecordedCall], after: Tensor) -> None:
        super()._follow(before, calls, after)
        for layer, number, *_ in calls:
            if self.recorded[layer.name][number][0] is after:
                self._edges[layer.name][number] = _edge(after)

    def by_layer(self) -> dict[str, list[_NeuronOutput]]:
        """Values of each layer, call by call."""
        outputs: dict[str, list[_NeuronOutput]] = {name: [] for name in self.recorded}
        for name, recorded in self.recorded.items():
            for (tensor, call), edge in zip(recorded, self._edges[name], strict=True):
                outputs[name].append(_NeuronOutput(tensor.detach(), edge, partial(self._by_input, call)))
        return outputs

    def _by_input(self, call: RecordedCall, value: Tensor, rows: int) -> Tensor:
        return self._read(value, call, rows)


def _noting(noted: dict[str, list[_NeuronOutput]], point: ReadPoint) -> Any:
    """A hook that records the input or output of a module."""

    def read(value: Tensor, rows: int) -> Tensor:
        return by_input(value, rows, point.channel, point.name)

    def hook(_module: Any, *seen: Any) -> None:
        tensor = next(tensors(seen if point.kind == "input" else seen[-1]))
        noted.setdefault(point.name, []).append(_NeuronOutput(tensor.detach().clone(), _edge(tensor), read))

    return hook


class _GraphRoots(CallHandler):
    """Starts the autograd graph at the first layer, even if neither its weights nor its inputs require gradients."""

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        called = weighted_call(name, args, kwargs) is not None
        return replace_tensors(result, _in_graph) if called else result


def _in_graph(tensor: Tensor) -> Tensor:
    """The tensor itself if it requires gradients, else a copy that does; not a leaf, so it may change in place."""
    if tensor.requires_grad or not tensor.is_floating_point():
        return tensor
    return tensor.detach().requires_grad_().clone()


def _edge(tensor: Tensor) -> GradientEdge | None:
    return get_gradient_edge(tensor) if tensor.requires_grad else None


def _gradients(explained: Tensor, edges: Sequence[GradientEdge | None]) -> list[Tensor | None]:
    """The derivative of each input's explained number at each edge, in one pass because inputs do not interact."""
    if not explained.requires_grad:
        raise NotApplicable("the model computes its outputs in a way that gradients do not follow")
    known = [edge for edge in edges if edge is not None]
    gradients = iter(torch.autograd.grad(explained.sum(), known, allow_unused=True) if known else ())
    return [None if edge is None else next(gradients) for edge in edges]
