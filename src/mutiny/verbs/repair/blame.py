"""Blame of weights, as in Arachne: the gradient of the loss by each weight, and its impact on the outputs.

Both are computed on failing inputs and divided by one plus the same on passing inputs, so that weights which matter to
failures only come first. The impact is the product of two shares: the share of the weight's product in the sum of its
neuron (mean over inputs and positions), and the share of the neuron in what its layer contributes to the gradient of
the outputs. Recurrent layers and attention compute their sums inside torch; there the impact is the weight times the
gradient of the outputs by it, as a share of its layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.func import functional_call

from mutiny.core.claims import exclusive
from mutiny.models.capture import by_input
from mutiny.models.forward import Forward, ForwardModule, steady
from mutiny.models.layers import Layer, Weight
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import CONVOLUTIONS, PRODUCTS, TRANSPOSED, WeightedCall, replace_tensors, tensors
from mutiny.models.view import ModelView, aliases
from mutiny.subjects.tasks import Task
from mutiny.verbs.repair.credit import check_gradients, losses

Floats = npt.NDArray[np.float64]
LINEAR = frozenset(["linear", "bilinear", *CONVOLUTIONS, *TRANSPOSED, *PRODUCTS])
"""Torch functions whose result is a sum of weights times inputs."""
OUTPUTS = 16
"""Largest number of outputs that are differentiated; of more outputs, this many are drawn at random."""
SMALL = 1e-12
"""Smallest divisor of shares, so that a layer without any effect has shares of 0."""


class Blame(NamedTuple):
    """Blame of each weight, layer by layer.

    Attributes:
        gradient: Gradient of the loss, ``(weights,)``.
        impact: Impact on the outputs, ``(weights,)``.
    """

    gradient: Floats
    impact: Floats

    def over(self, passing: Blame) -> Blame:
        """Blame on failing inputs, divided by one plus the blame on passing inputs."""
        return Blame(self.gradient / (1 + passing.gradient), self.impact / (1 + passing.impact))


def blame(
    view: ModelView,
    layers: Sequence[Layer],
    batches: Iterable[tuple[Any, Tensor]],
    task: Task,
    forward: Forward,
    rng: np.random.Generator,
) -> Blame:
    """Blame of all weights of ``layers`` on some inputs.

    Args:
        view: Structure of the model; the model itself is never changed.
        layers: Layers whose weights are judged.
        batches: Inputs and targets.
        task: Task that defines the loss.
        forward: Function that calls the model.
        rng: Random generator that draws outputs if there are many.
    """
    sums = _Sums(view, layers)
    drawn: Sequence[int] = ()
    for inputs, targets in batches:
        with ExitStack() as stack:
            stack.enter_context(steady())
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
            stack.enter_context(exclusive("autograd settings"))
            stack.enter_context(torch.backends.cudnn.flags(enabled=False))
            leaves = {name: view.parameters[name].detach().clone().requires_grad_() for name in sums.gradient}
            swapped = {f"model.{alias}": leaves[name] for alias, name in aliases(view.model, leaves).items()}
            with _ProductRecorder(leaves) as recorder:
                copied = replace_tensors(inputs, Tensor.clone)
                outputs = functional_call(ForwardModule(view.model, forward), swapped, (copied,), tie_weights=False)
            check_gradients(outputs, view.model, "search")
            flat = outputs.reshape(len(targets), -1)
            drawn = drawn or np.sort(rng.permutation(flat.shape[1])[:OUTPUTS]).tolist()
            sums.add_loss(losses(task, outputs, targets).sum(), leaves)
            sums.add_impact([flat[:, at].sum() for at in drawn], recorder, leaves, len(targets))
    return sums.blame()


class _WeightProduct(NamedTuple):
    """A call that multiplied inputs by a weight, and its result."""

    function: Any
    call: WeightedCall
    result: Tensor


class _ProductRecorder(CallHandler):
    """Records the calls that multiply by one of the weights, and which weights other calls read."""

    def __init__(self, leaves: Mapping[str, Tensor]) -> None:
        self._names = {id(leaf): name for name, leaf in leaves.items()}
        self.products: dict[str, list[_WeightProduct]] = {}
        self.elsewhere: set[str] = set()

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        used = [self._names[id(tensor)] for tensor in tensors((args, kwargs)) if id(tensor) in self._names]
        if len(used) == 1 and name in LINEAR:
            product = _WeightProduct(func, WeightedCall(name, name, (), args, kwargs), result)
            self.products.setdefault(used[0], []).append(product)
        elif isinstance(result, Tensor) and result.is_floating_point():
            self.elsewhere.update(used)
        return result


class _Sums:
    """Sums over inputs from which blame is computed."""

    def __init__(self, view: ModelView, layers: Sequence[Layer]) -> None:
        self.layers, self.inputs = layers, 0
        names = dict.fromkeys(weight.parameter for layer in layers for weight in layer.weights)
        self.gradient, self.shares, self.effects = (
            {name: torch.zeros_like(view.parameters[name], dtype=torch.float64) for name in names} for _ in range(3)
        )
        self.moves = {layer.name: torch.zeros(layer.neurons, dtype=torch.float64) for layer in layers}
        self._of = {layer.weights[0].parameter: layer for layer in layers if len(layer.weights) == 1}

    def add_loss(self, loss: Tensor, leaves: Mapping[str, Tensor]) -> None:
        gradients = torch.autograd.grad(loss, [*leaves.values()], retain_graph=True, allow_unused=True)
        for name, gradient in zip(leaves, gradients, strict=True):
            self.gradient[name] += 0 if gradient is None else gradient.nan_to_num(0.0, 0.0, 0.0)

    def add_impact(
        self, outputs: Sequence[Tensor], recorder: _ProductRecorder, leaves: Mapping[str, Tensor], rows: int
    ) -> None:
        self.inputs += rows
        plain = [name for name in recorder.products if name in self._of and name not in recorder.elsewhere]
        products = [(name, product) for name in plain for product in recorder.products[name]]
        fused = [name for name in leaves if name not in plain]
        wanted = [*(product.result for _, product in products), *(leaves[name] for name in fused)]
        totals = [torch.zeros_like(tensor) for tensor in wanted]
        live = [(tensor, total) for tensor, total in zip(wanted, totals, strict=True) if tensor.requires_grad]
        for output in outputs if live else ():
            gradients = torch.autograd.grad(
                output, [tensor for tensor, _ in live], retain_graph=True, allow_unused=True
            )
            for (_, total), gradient in zip(live, gradients, strict=True):
                total += 0 if gradient is None else gradient.abs().nan_to_num(0.0, 0.0, 0.0)
        for (name, product), total in zip(products, totals, strict=False):
            layer, calls = self._of[name], len(recorder.products[name])
            self.shares[name] += _shares(product, leaves[name], layer.neurons, rows) / calls
            self.moves[layer.name] += _moves(total, layer, rows).cpu() / calls
        for name, total in zip(fused, totals[len(products) :], strict=True):
            self.effects[name] += total * leaves[name].detach().abs()

    def blame(self) -> Blame:
        """Means over inputs, in the order of the layers."""
        gradients, impacts = [], []
        count = max(1, self.inputs)
        for layer in self.layers:
            effect = sum(float(_entries(self.effects, weight).sum()) for weight in layer.weights)
            for weight in layer.weights:
                gradients.append(_entries(self.gradient, weight).abs() / count)
                moved = torch.zeros(weight.offset + weight.size, dtype=torch.float64)
                places = torch.from_numpy(weight.of(np.arange(layer.neurons)))
                moved[places.flatten()] = self.moves[layer.name][:, None].expand(-1, places[0].numel()).flatten()
                shared = _entries(self.shares, weight) / count * moved[weight.offset :] / count
                impacts.append(shared + _entries(self.effects, weight) / max(effect, SMALL))
        return Blame(torch.cat(gradients).numpy(), torch.cat(impacts).numpy())


def _entries(tensors: Mapping[str, Tensor], weight: Weight) -> Tensor:
    return tensors[weight.parameter].flatten()[weight.offset : weight.offset + weight.size].cpu()


def _shares(product: _WeightProduct, weight: Tensor, neurons: int, rows: int) -> Tensor:
    """Sum over inputs of each weight's share in the sum of its neuron, mean over positions.

    With absolute values everywhere, a neuron's sum divided by its own value, taken as a constant, has the gradient
    ``input / sum`` by a weight; the gradient times the weight is the share. So one backward pass gives the shares for
    any kind of product.
    """
    magnitude, bias = weight.detach().abs().requires_grad_(), product.call.bias

    def positive(tensor: Tensor) -> Tensor:
        if tensor is weight:
            return magnitude
        return torch.zeros_like(tensor) if tensor is bias else tensor.detach().abs()

    args, kwargs = replace_tensors((tuple(product.call.args), dict(product.call.kwargs)), positive)
    sums = product.function(*args, **kwargs)
    total = sums.detach().where(sums.detach() > 0, 1)  # a neuron whose inputs are all 0 has no shares
    (gradient,) = torch.autograd.grad((sums / total).sum(), magnitude)
    positions = sums.numel() / rows / neurons
    shares: Tensor = (gradient.double() * magnitude.detach()).nan_to_num(nan=0.0, posinf=0.0) / positions
    return shares


def _moves(total: Tensor, layer: Layer, rows: int) -> Tensor:
    """Sum over inputs of each neuron's share in the gradient of the outputs by its layer, ``(neurons,)``."""
    each = by_input(total, rows, -1 if layer.channel is None else layer.channel, layer.name).double()
    each = each.reshape(rows, -1, layer.neurons).sum(dim=1)
    return (each / each.sum(dim=1, keepdim=True).clamp_min(SMALL)).sum(dim=0)
