"""Which weights are to blame? Arachne's two views of each: the gradient of the loss, and its part in the output.

Both are taken over failing inputs and divided by one plus the same over passing ones, so that weights which matter to
failures and to nothing else come first. The part that a weight has in the output is the product of two shares: of its
product with its input among all that its neuron sums up (per input and place, mean over them), and of its neuron among
all of its layer in what moves the outputs. Recurrent layers and attention sum up inside torch; there the part is the
weight times the outputs' gradient by it, as a share of its layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.func import functional_call

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
"""Functions whose result is a sum of weights times inputs."""
OUTPUTS = 16
"""So many outputs are asked how they depend on neurons; of more, as many drawn at random."""
SMALL = 1e-12


class Blame(NamedTuple):
    """What is held against each weight, layer by layer in the order of their entries.

    Attributes:
        gradient: ``(weights,)``.
        impact: ``(weights,)``.
    """

    gradient: Floats
    impact: Floats

    def over(self, passing: Blame) -> Blame:
        """That on failing inputs against that on passing ones."""
        return Blame(self.gradient / (1 + passing.gradient), self.impact / (1 + passing.impact))


def blame(
    view: ModelView,
    layers: Sequence[Layer],
    batches: Iterable[tuple[Any, Tensor]],
    task: Task,
    forward: Forward,
    rng: np.random.Generator,
) -> Blame:
    """Both views of all weights of ``layers``, over some inputs with targets.

    Args:
        view: of the model, which is never changed.
        layers: whose weights are judged.
        batches: inputs and targets.
        task: what the loss is.
        forward: how the model is called.
        rng: draws outputs where there are many.
    """
    found = _Sums(view, layers)
    drawn: Sequence[int] = ()
    for inputs, targets in batches:
        with steady(), torch.inference_mode(False), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
            leaves = {name: view.parameters[name].detach().clone().requires_grad_() for name in found.gradient}
            swapped = {f"model.{alias}": leaves[name] for alias, name in aliases(view.model, leaves).items()}
            with _ProductRecorder(leaves) as recorder:
                copied = replace_tensors(inputs, Tensor.clone)
                outputs = functional_call(ForwardModule(view.model, forward), swapped, (copied,), tie_weights=False)
            check_gradients(outputs, view.model, "search")
            flat = outputs.reshape(len(targets), -1)
            drawn = drawn or np.sort(rng.permutation(flat.shape[1])[:OUTPUTS]).tolist()
            found.add_loss(losses(task, outputs, targets).sum(), leaves)
            found.add_impact([flat[:, at].sum() for at in drawn], recorder, leaves, len(targets))
    return found.blame()


class _Product(NamedTuple):
    """A call that multiplied by a weight."""

    function: Any
    call: WeightedCall
    result: Tensor


class _ProductRecorder(CallHandler):
    """Notes the calls that sum up products with the weights in question."""

    def __init__(self, leaves: Mapping[str, Tensor]) -> None:
        self._names = {id(leaf): name for name, leaf in leaves.items()}
        self.products: dict[str, list[_Product]] = {}
        self.elsewhere: set[str] = set()

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        used = [self._names[id(tensor)] for tensor in tensors((args, kwargs)) if id(tensor) in self._names]
        if len(used) == 1 and name in LINEAR:
            self.products.setdefault(used[0], []).append(
                _Product(func, WeightedCall(name, name, (), args, kwargs), result)
            )
        elif isinstance(result, Tensor) and result.is_floating_point():
            self.elsewhere.update(used)
        return result


class _Sums:
    """Sums over inputs, of which blame is made."""

    def __init__(self, view: ModelView, layers: Sequence[Layer]) -> None:
        self.layers, self.inputs = layers, 0
        names = dict.fromkeys(weight.parameter for layer in layers for weight in layer.weights)
        self.gradient, self.shares, self.effects = (
            {name: torch.zeros_like(view.parameters[name], dtype=torch.float64) for name in names} for _ in range(3)
        )
        self.moves = {layer.name: torch.zeros(layer.neurons, dtype=torch.float64) for layer in layers}
        self._of = {layer.weights[0].parameter: layer for layer in layers if len(layer.weights) == 1}

    def add_loss(self, loss: Tensor, leaves: Mapping[str, Tensor]) -> None:
        found = torch.autograd.grad(loss, [*leaves.values()], retain_graph=True, allow_unused=True)
        for name, one in zip(leaves, found, strict=True):
            self.gradient[name] += 0 if one is None else one.nan_to_num(0.0, 0.0, 0.0)

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
            found = torch.autograd.grad(output, [one for one, _ in live], retain_graph=True, allow_unused=True)
            for (_, total), one in zip(live, found, strict=True):
                total += 0 if one is None else one.abs().nan_to_num(0.0, 0.0, 0.0)
        for (name, product), total in zip(products, totals, strict=False):
            layer, calls = self._of[name], len(recorder.products[name])
            self.shares[name] += _shares(product, leaves[name], layer.neurons, rows) / calls
            self.moves[layer.name] += _moves(total, layer, rows).cpu() / calls
        for name, total in zip(fused, totals[len(products) :], strict=True):
            self.effects[name] += total * leaves[name].detach().abs()

    def blame(self) -> Blame:
        """The means, in the order of the layers' entries."""
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


def _shares(product: _Product, weight: Tensor, neurons: int, rows: int) -> Tensor:
    """Sum over inputs of each weight's share of what its neuron sums up, mean over places.

    What a neuron would sum up if all numbers were positive, divided by itself, has these shares as its gradient.
    """
    own, bias = weight.detach().abs().requires_grad_(), product.call.bias

    def positive(tensor: Tensor) -> Tensor:
        if tensor is weight:
            return own
        return torch.zeros_like(tensor) if tensor is bias else tensor.detach().abs()

    args, kwargs = replace_tensors((tuple(product.call.args), dict(product.call.kwargs)), positive)
    sums = product.function(*args, **kwargs)
    total = sums.detach().where(sums.detach() > 0, 1)  # a neuron that hears nothing has no shares
    (found,) = torch.autograd.grad((sums / total).sum(), own)
    places = sums.numel() / rows / neurons
    shares: Tensor = (found.double() * own.detach()).nan_to_num(nan=0.0, posinf=0.0) / places
    return shares


def _moves(total: Tensor, layer: Layer, rows: int) -> Tensor:
    """Sum over inputs of each neuron's share of what moves the outputs, ``(neurons,)``."""
    each = by_input(total, rows, -1 if layer.channel is None else layer.channel, layer.name).double()
    each = each.reshape(rows, -1, layer.neurons).sum(dim=1)
    return (each / each.sum(dim=1, keepdim=True).clamp_min(SMALL)).sum(dim=0)
