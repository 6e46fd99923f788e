"""Nested tensors, and arguments of torch calls."""

from collections import OrderedDict, namedtuple

import torch
from torch import nn
from torch.nn import functional as F

from mutiny.models.torch_ops import replace_tensors, tensors, weighted_call

Pair = namedtuple("Pair", "left right")


def test_nests_keep_their_types():
    one = torch.ones(2)
    nest = {"a": [one, (one, "text")], "b": Pair(one, None), "c": OrderedDict(d=one, e=3), "f": one.max(0)}
    doubled = replace_tensors(nest, lambda tensor: tensor + tensor)
    assert [type(doubled[key]) for key in nest] == [type(value) for value in nest.values()]
    assert doubled["b"].right is None
    assert doubled["c"]["e"] == 3
    assert doubled["a"][1][1] == "text"
    assert [int(t.max()) for t in tensors(doubled)] == [2, 2, 2, 2, 2, 0]
    assert int(nest["c"]["d"].max()) == 1
    assert replace_tensors("text", lambda _: None) == "text"


def test_transposed_weights_change_rows_and_columns():
    weight, x = nn.Parameter(torch.randn(3, 4)), torch.randn(2, 4)
    assert weighted_call("linear", (x, weight), {}).kind == "linear"
    assert weighted_call("matmul", (x, weight.T), {}).kind == "linear"
    assert weighted_call("mm", (x,), {"mat2": weight.t()}).kind == "linear"
    assert weighted_call("addmm", (x, x, weight), {}).kind == "matmul"
    assert weighted_call("linear", (x, weight.t()), {}).kind == "matmul"
    assert weighted_call("matmul", (x, weight.T), {}).weights[0] is weight


def test_what_is_not_a_layer():
    weight, x = nn.Parameter(torch.randn(4, 4)), torch.randn(2, 4)
    for other in (x, weight * 1, weight[:2], weight.T[1:], weight.T.clone(), nn.Parameter(torch.ones(3), False).int()):
        assert weighted_call("matmul", (x, other), {}) is None
    assert weighted_call("relu", (weight,), {}) is None
    assert weighted_call(F.embedding.__name__, (x, x), {}) is None
