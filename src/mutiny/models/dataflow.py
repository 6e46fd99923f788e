"""Dataflow of one forward pass: which function made each tensor from which others, and which modules used it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from torch import Tensor, nn

from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import (
    ACTIVATIONS,
    CREATING,
    INPLACE_OPERATORS,
    NEURON_OPS,
    POOLS,
    REARRANGING,
    argument,
    in_place,
    memory,
    pointwise,
    tensors,
    weighted_call,
)
from mutiny.models.undo import Undo

REDUCING = frozenset("mean sum amax max median logsumexp std var norm".split())
PASSING = (NEURON_OPS - POOLS) | REARRANGING | REDUCING | {"normalize", "cat", "concat", "stack"}
"""Functions, besides pointwise ones, that pooled features may pass through on the way to the classifier head."""


class TensorVersion(NamedTuple):
    """A tensor between two changes in place, and the last layer that had run by then."""

    tensor: Tensor
    changes: int
    after: str = ""

    @property
    def key(self) -> tuple[int, int]:
        """Identifies the numbers: equal for the same tensor without a change in between."""
        return id(self.tensor), self.changes


class Step(NamedTuple):
    """One function call: its result and the tensors that it was made from.

    Attributes:
        name: Name of the function; empty for tensors that come from outside the model.
        made: The result.
        sources: Arguments that depend on the model's inputs.
        layer: First parameter of the layer, if the function multiplies by weights.
        depth: Number of layers on the longest path to the result.
        window: Window size of a pooling function, if it is fixed.
    """

    name: str
    made: TensorVersion
    sources: tuple[TensorVersion, ...] = ()
    layer: str = ""
    depth: int = 0
    window: tuple[int, ...] = ()


class DataflowTrace(CallHandler):
    """Records one forward pass and answers how its tensors were computed.

    Args:
        names: Parameter names by identity.
    """

    def __init__(self, names: Mapping[int, str]) -> None:
        self.names = names
        self.reads: dict[str, TensorVersion] = {}
        self.outputs: dict[str, list[TensorVersion]] = {}
        self.inputs: dict[str, list[TensorVersion]] = {}
        self._steps: dict[tuple[int, int], Step] = {}  # keeping the tensors keeps their ids unique
        self._changes: dict[int, int] = {}
        self._latest = ""

    def version(self, tensor: Tensor) -> TensorVersion:
        """The current version of a tensor."""
        return TensorVersion(tensor, self._changes.get(memory(tensor), 0), self._latest)

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """Runs a call and records which tensors it made from which."""
        given = [self.version(tensor) for tensor in tensors((args, kwargs)) if not isinstance(tensor, nn.Parameter)]
        call = weighted_call(name, args, kwargs)
        result = func(*args, **kwargs)
        layer = self.names.get(id(call.weights[0]), "") if call is not None else ""
        if call is not None and given:
            self.reads.update((self.names.get(id(weight), ""), given[0]) for weight in call.weights)
            self._latest = layer
        made = [*tensors(result)]
        if given and (in_place(name) or (name in ACTIVATIONS and result is given[0].tensor)):
            place = memory(given[0].tensor)
            self._changes[place] = self._changes.get(place, 0) + 1
            made.append(given[0].tensor)
        sources = tuple(version for version in given if version.key in self._steps and name not in CREATING)
        for tensor in made if sources else ():
            depth = max(self._steps[source.key].depth for source in sources) + (call is not None)
            step = Step(name, self.version(tensor), sources, layer, depth, _window(name, args, kwargs))
            self._steps.setdefault(step.made.key, step)
        return result

    def earlier(self, version: TensorVersion) -> tuple[str, TensorVersion] | None:
        """One step back: the function and its largest source; among equal ones, that behind the most layers.

        The function's name is as users write it, and empty if numbers were only moved. ``None`` for tensors that no
        layer has made, such as the input.
        """
        step = self._steps.get(version.key)
        if step is None or step.depth == bool(step.layer):
            return None
        name = "" if _reshapes(step) else step.name.strip("_")
        name = name[1:] if step.name in INPLACE_OPERATORS or step.name.startswith("__r") else name
        return name, max(step.sources, key=lambda source: (source.tensor.numel(), self._steps[source.key].depth))

    def unshaped(self, version: TensorVersion) -> TensorVersion:
        """The tensor before the last operations that only moved its numbers or applied dropout."""
        while (step := self._steps.get(version.key)) is not None and _reshapes(step):
            version = step.sources[0]
        return version

    def unpooled(self, version: TensorVersion) -> list[TensorVersion | None]:
        """Tensors that were pooled on the paths to a tensor; ``None`` stands for paths without pooling.

        Paths end at layers. Pooling is an operation that covers the whole map with one window, that makes any map the
        same size (adaptive pooling), or that reduces an axis (``mean``, ``amax``) besides those of inputs and channels.
        """
        pooled: dict[Any, TensorVersion | None] = {}
        for step in self._ends(version, lambda step: self._pools(step) or not _passes(step)):
            whole = self._whole(step.made) if self._pools(step) else None
            pooled[whole.key if whole is not None else None] = whole
        return [*pooled.values()]

    def layers(self, version: TensorVersion) -> set[str]:
        """First parameters of the layers that a tensor was directly made from; empty for the input."""
        return {step.layer for step in self._ends(version, lambda step: bool(step.layer))}

    def _whole(self, version: TensorVersion) -> TensorVersion:
        while (step := self._steps[version.key]) and (_reshapes(step) or self._pools(step)):
            version = step.sources[0]
        return version

    def _ends(self, version: TensorVersion, end: Callable[[Step], bool]) -> Iterator[Step]:
        """The first steps on all paths back from a tensor for which ``end`` is true or which have no sources."""
        open_ends, known = [version], {version.key}
        while open_ends:
            last = open_ends.pop()
            step = self._steps.get(last.key, Step("", last))
            if end(step) or not step.sources:
                yield step
                continue
            open_ends += [source for source in step.sources if source.key not in known]
            known.update(source.key for source in step.sources)

    def _pools(self, step: Step) -> bool:
        if len(step.sources) != 1 or step.sources[0].tensor.ndim < 3:
            return False
        if not step.window:
            return step.name in REDUCING or step.name in POOLS
        alike = (other for other in self._steps.values() if (other.name, other.window) == (step.name, step.window))
        return all(map(_covers, alike))  # otherwise maps shrink in stages, as in VGG, down to one pixel

    @contextmanager
    def watching(self, model: nn.Module) -> Iterator[None]:
        """Records the inputs and outputs of modules through hooks, which are removed afterwards."""
        with Undo() as undo:
            for path, module in model.named_modules():
                undo.add(module.register_forward_pre_hook(self._note_inputs(path), with_kwargs=True).remove)
                undo.add(module.register_forward_hook(self._note_outputs(path)).remove)
            yield

    def _note_inputs(self, path: str) -> Any:
        def hook(_module: nn.Module, args: Any, kwargs: Any) -> None:
            given = [self.version(tensor) for tensor in tensors((args, kwargs))]
            for version in given:
                if not isinstance(version.tensor, nn.Parameter):
                    self._steps.setdefault(version.key, Step("", version))
            if given:
                self.inputs.setdefault(path, []).append(given[0])

        return hook

    def _note_outputs(self, path: str) -> Any:
        def hook(_module: nn.Module, _args: Any, output: Any) -> None:
            first = next(tensors(output), None)
            if first is not None:
                self.outputs.setdefault(path, []).append(self.version(first))

        return hook


def _reshapes(step: Step) -> bool:
    """Whether a step only moved numbers or applied dropout, which does nothing in evaluation mode."""
    moves = step.name in REARRANGING or "dropout" in step.name
    return moves and len(step.sources) == 1 and step.sources[0].tensor.numel() == step.made.tensor.numel()


def _passes(step: Step) -> bool:
    return not step.layer and (step.name in PASSING or pointwise(step.name))


def _window(name: str, args: Any, kwargs: Any) -> tuple[int, ...]:
    """Size of a fixed pooling window along each axis; empty for all other functions."""
    if name not in POOLS or name.startswith("adaptive"):
        return ()
    size = argument(args, kwargs, 2 if name.startswith("lp") else 1, "kernel_size")
    sizes = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    return sizes * int(name.split("pool")[1][0]) if len(sizes) == 1 else sizes


def _covers(step: Step) -> bool:
    """Whether the window of a pooling step covers the whole map."""
    shape = step.sources[0].tensor.shape[-len(step.window) :]
    return all(size >= length for size, length in zip(step.window, shape, strict=True))
