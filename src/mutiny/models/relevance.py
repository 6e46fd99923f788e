"""How much each neuron contributed to what a model said: layer-wise relevance by gradients, for any architecture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, allow_mutation_on_saved_tensors, get_gradient_edge

from mutiny.core.errors import NotApplicable
from mutiny.models.capture import Recorder, Spot, by_input, rows_of, visible_layers
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.read_points import ReadPoint
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import RECURRENT, Call, replace_tensors, tensors, weighted
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
    """A function from a batch to the relevance of its neurons, while the context is open.

    A neuron's relevance is what it says times the derivative of what is explained, summed over pixels, steps and calls.
    In a network of linear maps, ReLU and pooling this is layer-wise relevance propagation by the rule LRP-0 (Ancona et
    al., Towards better understanding of gradient-based attribution methods, ICLR 2018, section 3): where no bias takes
    its part, the relevances of a layer through which everything passes sum to what is explained. No kind of layer needs
    a rule of its own, so skip connections, normalisation and attention are followed too; with other activations
    relevance is the contribution to first order. The model is untouched afterwards, its parameters' gradients too.

    Args:
        view: the probed model.
        points: where relevance is wanted.
        explained: one number per input, ``(n,)``, from the model's outputs.
        forward: how the model is called.

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
    noted: dict[str, list[_Said]] = {}

    def explain(batch: Any) -> Relevance:
        noted.clear()
        recorder, rows = _Recorder(names, layers), rows_of(batch)
        with ExitStack() as stack:
            stack.enter_context(steady())
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
            if any(layer.kind in RECURRENT for layer in view.layers):  # cuDNN has no backward pass in evaluation mode
                stack.enter_context(torch.backends.cudnn.flags(enabled=False))
            stack.enter_context(allow_mutation_on_saved_tensors())
            with _Rooting(), recorder:
                outputs = forward(view.model, replace_tensors(batch, _rooted))
            known = {**noted, **recorder.by_layer()}
            said = [known.get(point.name, []) for point in points]
            silent = next((point.name for point, calls in zip(points, said, strict=True) if not calls), None)
            if silent is not None:
                raise NotApplicable(f"{silent} takes no part in the forward pass of some inputs")
            gradients = iter(_gradients(explained(outputs), [one.edge for calls in said for one in calls]))
            found = [torch.stack([one.relevance(next(gradients), rows) for one in calls]).sum(dim=0) for calls in said]
        return Relevance(outputs.detach(), tuple(found))

    with Undo() as undo:
        for point in points:
            module, hook = view.model.get_submodule(point.path), _noting(noted, point)
            if point.kind == "input":
                undo.add(module.register_forward_pre_hook(hook, with_kwargs=True).remove)
            elif point.kind == "output":
                undo.add(module.register_forward_hook(hook, with_kwargs=True).remove)
        yield explain


class _Said(NamedTuple):
    """What neurons said in one call, where that is in the graph of gradients, and how to find inputs and neurons."""

    value: Tensor
    edge: GradientEdge | None
    read: Callable[[Tensor, int], Tensor]

    def relevance(self, gradient: Tensor | None, rows: int) -> Tensor:
        """``(rows, neurons)``; 0 where the explained number does not depend on it."""
        value = torch.zeros_like(self.value) if gradient is None else self.value * gradient
        by_neuron = self.read(value, rows)
        return by_neuron if by_neuron.ndim == 2 else by_neuron.flatten(1, -2).sum(dim=1)


class _Recorder(Recorder):
    """Also notes where in the graph of gradients each signal is, which later changes in place do not move."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._edges: dict[str, list[GradientEdge | None]] = {name: [] for name in self.said}

    def _begin(self, call: Call, result: Any) -> None:
        super()._begin(call, result)
        for name, edges in self._edges.items():
            edges.extend(_edge(tensor) for tensor, _ in self.said[name][len(edges) :])

    def _follow(self, before: tuple[int, ...], points: list[Spot], after: Tensor) -> None:
        super()._follow(before, points, after)
        for layer, call, *_ in points:
            if self.said[layer.name][call][0] is after:
                self._edges[layer.name][call] = _edge(after)

    def by_layer(self) -> dict[str, list[_Said]]:
        """What each layer said, call by call."""
        found: dict[str, list[_Said]] = {name: [] for name in self.said}
        for name, said in self.said.items():
            for (tensor, spot), edge in zip(said, self._edges[name], strict=True):
                found[name].append(_Said(tensor.detach(), edge, partial(self._located, spot)))
        return found

    def _located(self, spot: Spot, value: Tensor, rows: int) -> Tensor:
        return self._read(value, spot, rows)


def _noting(noted: dict[str, list[_Said]], point: ReadPoint) -> Any:
    """A hook that notes what a module reads or returns."""

    def read(value: Tensor, rows: int) -> Tensor:
        return by_input(value, rows, point.channel, point.name)

    def hook(_module: Any, *seen: Any) -> None:
        tensor = next(tensors(seen if point.kind == "input" else seen[-1]))
        noted.setdefault(point.name, []).append(_Said(tensor.detach().clone(), _edge(tensor), read))

    return hook


class _Rooting(CallHandler):
    """Begins the graph of gradients at the first layer, where neither its weights nor its inputs ask for gradients."""

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        called = weighted(name, args, kwargs) is not None
        return replace_tensors(result, _rooted) if called else result


def _rooted(tensor: Tensor) -> Tensor:
    """The tensor itself if gradients reach it, else a copy to which they do; not a leaf, so it may change in place."""
    if tensor.requires_grad or not tensor.is_floating_point():
        return tensor
    return tensor.detach().requires_grad_().clone()


def _edge(tensor: Tensor) -> GradientEdge | None:
    return get_gradient_edge(tensor) if tensor.requires_grad else None


def _gradients(explained: Tensor, edges: Sequence[GradientEdge | None]) -> list[Tensor | None]:
    """The derivative of each input's number at each edge; inputs do not influence each other."""
    if not explained.requires_grad:
        raise NotApplicable("the model computes its outputs in a way that gradients do not follow")
    known = [edge for edge in edges if edge is not None]
    found = iter(torch.autograd.grad(explained.sum(), known, allow_unused=True) if known else ())
    return [None if edge is None else next(found) for edge in edges]
