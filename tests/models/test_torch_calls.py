"""Handlers of torch function calls: nesting, exceptions, re-entry and torch's forms of a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import mutiny
from mutiny.models.torch_calls import CallHandler


class Log(CallHandler):
    def __init__(self, label: str = "", log: list[str] | None = None) -> None:
        self.label, self.log = label, [] if log is None else log

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        self.log.append(self.label + name)
        return func(*args, **kwargs)


class Doubling(CallHandler):
    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs) * 2 if name == "relu" else func(*args, **kwargs)


def test_a_handler_gets_keyword_arguments_as_a_mapping_even_if_there_are_none() -> None:
    given = []

    class Arguments(CallHandler):
        def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
            given.append((len(args), dict(kwargs)))
            return func(*args, **kwargs)

    x = torch.ones(2)
    with Arguments():
        torch.neg(x)
        torch.neg(input=x)
    assert given[0] == (1, {})
    assert given[1][0] == 0
    assert given[1][1]["input"] is x


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: F.relu(x), "relu"),
        (lambda x: nn.ReLU()(x), "relu"),
        (lambda x: x.relu(), "relu"),
        (lambda x: x.relu_(), "relu_"),
        (lambda x: x.shape, "__get__"),
        (lambda x: x[0], "__getitem__"),
        (lambda x: 1 - x, "__rsub__"),
        (lambda x: torch.ops.aten.relu(x), "relu"),
    ],
)
def test_functions_modules_methods_and_attributes_are_named_as_torch_names_them(call: Any, name: str) -> None:
    with Log() as handler:
        call(torch.ones(2, 2))
    assert name in handler.log


def test_inner_handlers_come_first_and_what_they_call_goes_to_outer_ones() -> None:
    log: list[str] = []
    with Log("outer ", log), Doubling(), Log("inner ", log):
        result = torch.tensor([3.0]).relu()
    assert result.item() == 6
    assert log[-3:] == ["inner relu", "outer relu", "outer mul"]


def test_one_handler_entered_twice_handles_a_call_twice_and_is_gone_afterwards() -> None:
    x = torch.tensor([3.0])
    handler = Doubling()
    with handler, handler:
        assert x.relu().item() == 12
    assert x.relu().item() == 3


def test_a_handler_stays_active_after_a_call_that_raised_and_is_removed_with_its_context() -> None:
    x, handler = torch.ones(2), Log()
    with handler:
        with pytest.raises(RuntimeError):
            torch.mm(x, x)
        torch.neg(x)
    with pytest.raises(RuntimeError), handler:
        torch.mm(x, x)
    torch.exp(x)
    assert handler.log == ["mm", "neg", "mm"]


def test_tensor_subclasses_keep_their_own_overrides() -> None:
    class Named(torch.Tensor):
        pass

    with Log() as handler:
        result = F.relu(torch.ones(2).as_subclass(Named))
    assert type(result) is Named
    assert "relu" in handler.log


def test_no_other_module_of_the_package_names_torchs_mode() -> None:
    package = Path(mutiny.__file__).parent
    naming = [path for path in package.rglob("*.py") if "TorchFunctionMode" in path.read_text(encoding="utf-8")]
    assert [path.relative_to(package).as_posix() for path in naming] == ["models/torch_calls.py"]
