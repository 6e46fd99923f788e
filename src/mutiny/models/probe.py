"""Probes a model by one forward pass: which layers, activations and modules run, in which order, and who reads whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from mutiny.models.layer_discovery import layers_of_call
from mutiny.models.layers import Activation, Layer, Site
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import (
    ACTIVATIONS,
    ADDITIONS,
    WeightedCall,
    argument,
    in_place,
    memory,
    tensors,
    weighted_call,
)
from mutiny.models.undo import Undo

Steps = frozenset[int]


class ModelProbe(CallHandler):
    """Records weighted calls, activation calls and module calls of one forward pass.

    A step is the position of a weighted or activation call in the pass. Each tensor is associated with the steps that
    it was computed from without another weighted call in between; a weighted call reads the steps of its arguments.
    """

    def __init__(self, names: Mapping[int, str]) -> None:
        self.names = names
        self._moment = 0
        self._weighted: dict[int, WeightedCall] = {}
        self._activations: dict[int, tuple[str, str]] = {}
        self._fresh: dict[int, tuple[Tensor, int]] = {}
        self._stems: dict[int, tuple[Tensor, Steps]] = {}
        self._read: set[int] = set()
        self._returned: Steps = frozenset()
        self._stack: list[str] = []
        self._parents: set[str] = set()
        self._odd: set[str] = set()
        self._runs: list[tuple[str, str, bool, bool]] = []

    def run(self, model: nn.Module, forward: Any) -> None:
        """Runs and records ``forward()``, which calls ``model``."""
        with self._watching(model), self:
            result = forward()
        self._returned = self._steps_behind(result)

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """Runs a call and records the layers, activations and biases that it reveals."""
        self._moment += 1
        steps = self._steps_behind((args, kwargs))
        call = weighted_call(name, args, kwargs)
        if call is not None and all(id(weight) in self.names for weight in call.weights):
            self._weighted[self._moment] = call
            self._read |= steps
            steps = frozenset([self._moment])
        elif name in ACTIVATIONS:
            self._activations[self._moment] = (name.strip("_"), self._stack[-1] if self._stack else "")
            steps |= {self._moment}
        elif name in ADDITIONS:
            self._add_bias(args, kwargs)
        result = func(*args, **kwargs)
        if in_place(name) and args:
            self._fresh.pop(id(args[0]), None)
        if self._moment in self._weighted and isinstance(result, Tensor):
            self._fresh[id(result)] = (result, self._moment)
        if steps:
            for tensor in (*tensors(result), *(tensors(args[:1]) if in_place(name) else ())):
                self._remember(tensor, steps)
        return result

    def _add_bias(self, args: Any, kwargs: Any) -> None:
        """Takes a parameter that is added to the result of a weighted call without bias as its bias."""
        pair = argument(args, kwargs, 0, "input"), argument(args, kwargs, 1, "other")
        for value, bias in (pair, pair[::-1]):
            step = self._fresh.get(id(value), (value, -1))[1]
            if step >= 0 and isinstance(bias, nn.Parameter) and kwargs.get("alpha", 1) == 1:
                taken = any(call.added is bias for call in self._weighted.values())
                if self._weighted[step].added is None and not taken:
                    self._weighted[step] = replace(self._weighted[step], added=bias)

    def _remember(self, tensor: Tensor, steps: Steps) -> None:
        place = memory(tensor)
        known = self._stems.get(place, (tensor, frozenset()))[1]
        self._stems[place] = (tensor, known | steps)  # keeping the tensor prevents reuse of its memory

    def _steps_behind(self, value: Any) -> Steps:
        steps = [self._stems[place][1] for place in map(memory, tensors(value)) if place in self._stems]
        return frozenset().union(*steps)

    @contextmanager
    def _watching(self, model: nn.Module) -> Iterator[None]:
        """Records module calls through hooks, which are removed afterwards."""
        with Undo() as undo:
            for path, module in model.named_modules():
                undo.add(module.register_forward_pre_hook(self._enter(path), with_kwargs=True).remove)
                undo.add(module.register_forward_hook(self._leave(path), with_kwargs=True).remove)
            yield

    def _enter(self, path: str) -> Any:
        def hook(_module: nn.Module, _args: Any, _kwargs: Any) -> None:
            if self._stack:
                self._parents.add(self._stack[-1])
            self._stack.append(path)

        return hook

    def _leave(self, path: str) -> Any:
        def hook(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            self._stack.pop()
            inputs = [*tensors(args), *tensors(kwargs)]
            keeps = floating = False
            if len(inputs) == 1 and isinstance(output, Tensor):
                keeps = inputs[0].shape == output.shape and inputs[0].dtype == output.dtype
                floating = output.is_floating_point()
            else:
                self._odd.add(path)
            self._runs.append((path, type(module).__name__, keeps, floating))

        return hook

    def sites(self) -> tuple[Site, ...]:
        """Modules that ran, called no other module, and map one tensor to one tensor."""
        runs = [run for run in self._runs if run[0] not in self._parents and run[0] != ""]
        sites: dict[str, Site] = {}
        for path, kind, keeps, floating in runs:
            before = sites.get(path, Site(path, kind, len(sites), True, True, path == runs[0][0], path == runs[-1][0]))
            keeps, floating = before.keeps_shape and keeps, before.floating and floating
            sites[path] = replace(before, keeps_shape=keeps, floating=floating)
        return tuple(site for path, site in sites.items() if path not in self._odd)

    def activations(self, model: nn.Module) -> tuple[Activation, ...]:
        """Activation calls; those that no weighted call reads belong to the output."""
        owners = {step: layers[-1].name for step, layers in self._layers_by_step(model).items()}
        activations = []
        for ordinal, (step, (function, path)) in enumerate(self._activations.items()):
            after = next((owners[s] for s in reversed(owners) if s < step), "")
            activations.append(Activation(function, ordinal, path, after, output=step not in self._read))
        return tuple(activations)

    def layers(self, model: nn.Module) -> tuple[Layer, ...]:
        """Layers in order of first use; each layer once, tied weights with the layer that ran first."""
        kept: dict[tuple[str, ...], Layer] = {}
        steps: dict[tuple[tuple[str, ...], str], list[int]] = {}
        for step, layers in self._layers_by_step(model).items():
            for layer in layers:
                key = tuple(weight.parameter for weight in layer.weights)
                steps.setdefault((key, layer.kind), []).extend([step] if layer.output else [])
                before = kept.get(key)
                if before is None:
                    kept[key] = replace(layer, order=len(kept))
                elif not before.neurons and layer.neurons:  # an embedding whose matrix is also the decoder's
                    kept[key] = replace(layer, order=before.order)
        return tuple(replace(y, output=self._is_output(steps[key, y.kind])) for key, y in kept.items())

    def _layers_by_step(self, model: nn.Module) -> dict[int, list[Layer]]:
        by_step = {step: [*layers_of_call(model, self.names, call)] for step, call in self._weighted.items()}
        return {step: layers for step, layers in by_step.items() if layers}

    def _is_output(self, steps: list[int]) -> bool:
        """Whether no layer reads some call of a layer, leaving aside calls whose result is discarded."""
        unread = [step for step in steps if step not in self._read]
        return bool(unread) and (len(unread) == len(steps) or any(step in self._returned for step in unread))
