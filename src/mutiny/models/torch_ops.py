"""Torch functions that mutiny recognizes in a forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

ACTIVATIONS = frozenset(
    "relu relu_ relu6 elu elu_ selu selu_ celu celu_ gelu silu mish leaky_relu leaky_relu_ prelu rrelu rrelu_ softplus "
    "softsign tanh tanh_ sigmoid sigmoid_ hardsigmoid hardswish hardtanh hardtanh_ log_sigmoid tanhshrink softshrink "
    "hardshrink _threshold threshold threshold_".split()
)
"""Elementwise nonlinear functions: the calls that activation removal removes."""

NORMALIZATIONS = frozenset("batch_norm layer_norm instance_norm group_norm rms_norm local_response_norm".split())
POOLS = frozenset(
    f"{kind}_pool{n}d{indices}"
    for kind in ("max", "avg", "lp", "adaptive_avg", "adaptive_max", "fractional_max")
    for n in (1, 2, 3)
    for indices in ("", "_with_indices")
)
MASKS = frozenset(
    "softmax log_softmax softmin dropout dropout_ dropout1d dropout2d dropout3d alpha_dropout "
    "feature_alpha_dropout".split()
)
NEURON_OPS = ACTIVATIONS | NORMALIZATIONS | POOLS | MASKS
"""Operations that belong to a neuron: its signal is the value after them."""

POINTWISE = frozenset(
    "neg negative positive abs absolute exp exp2 expm1 expit erf erfc log log1p log2 log10 logit sqrt rsqrt square pow "
    "float_power sin cos tan sinh cosh asin acos atan asinh acosh atanh arctan sinc sign sgn clamp clip clamp_min "
    "clamp_max reciprocal round floor ceil trunc fix frac nan_to_num deg2rad "
    "add sub subtract rsub mul multiply div divide truediv true_divide floordiv floor_divide fmod remainder mod "
    "maximum minimum fmax fmin atan2 hypot logaddexp logaddexp2 xlogy xlog1py".split()
)
"""Arithmetic from which activations are written by hand. It belongs to a neuron if its operands are only the neuron's
signal, numbers, parameters and buffers. `pointwise` also recognizes in-place forms and operators."""

ADDITIONS = frozenset("add add_ __add__ __radd__ __iadd__".split())
CREATING = frozenset(
    "zeros ones full empty arange linspace eye zeros_like ones_like full_like empty_like new_zeros new_ones new_full "
    "new_empty".split()
)
"""Functions whose results hold no input data; they use only the shape of their arguments."""

REARRANGING = frozenset(
    "flatten view reshape transpose t permute squeeze unsqueeze __getitem__ select narrow chunk split unbind movedim "
    "swapaxes expand contiguous clone detach unflatten view_as reshape_as index_select __get__ roll flip "
    "to float double half bfloat16 type_as cpu cuda pixel_shuffle pixel_unshuffle channel_shuffle "
    "size dim ndimension numel stride is_contiguous is_floating_point __len__".split()
)
"""Functions that move numbers without changing them, or only read shapes."""

CONVOLUTIONS = {f"conv{n}d": n for n in (1, 2, 3)}
TRANSPOSED = {f"conv_transpose{n}d": n for n in (1, 2, 3)}
RECURRENT = frozenset(["lstm", "gru", "rnn_tanh", "rnn_relu"])
CELLS = frozenset(["lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"])
ATTENTION = "multi_head_attention_forward"
PRODUCTS = frozenset(["matmul", "mm", "bmm", "__matmul__", "addmm"])


PLAIN = frozenset([int, float, bool, str, type(None)])
"""Types of most arguments that are not tensors."""


def argument(args: Sequence[Any], kwargs: Mapping[str, Any], position: int, name: str, default: Any = None) -> Any:
    """An argument of a torch function, however it was passed."""
    return args[position] if len(args) > position else kwargs.get(name, default)


def tensors(value: Any) -> Iterator[Tensor]:
    """All tensors in nested tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value
        return
    items = value if isinstance(value, (tuple, list)) else value.values() if isinstance(value, Mapping) else ()
    for item in items:
        if isinstance(item, Tensor):  # not by recursion: this runs many times per forward pass
            yield item
        elif type(item) not in PLAIN:
            yield from tensors(item)


def replace_tensors(value: Any, change: Any) -> Any:
    """The same nested structure with ``change(tensor)`` for each tensor."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(replace_tensors(item, change) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(replace_tensors(item, change) for item in value)
    if isinstance(value, dict):
        changed = {key: replace_tensors(item, change) for key, item in value.items()}
        if type(value) is dict:
            return changed
        copy = value.copy()  # keeps the type of an OrderedDict or a model-output class
        for key, item in changed.items():
            copy[key] = item
        return copy
    return value


def in_place(name: str) -> bool:
    """Whether the function changes its first argument: ``add_``, ``__iadd__``, ``__setitem__``.

    >>> [in_place(name) for name in ("add", "add_", "__iadd__", "__setitem__", "__init__")]
    [False, True, True, True, False]
    """
    if name.startswith("__"):
        return name == "__setitem__" or name in INPLACE_OPERATORS
    return name.endswith("_")


INPLACE_OPERATORS = frozenset(
    f"__i{name}__" for name in "add sub mul truediv div floordiv mod pow and or xor lshift rshift".split()
)


def pointwise(name: str) -> bool:
    """Whether the function is in `POINTWISE`, also in place, as an operator or from ``torch.special``.

    >>> [pointwise(name) for name in ("add", "add_", "__radd__", "__ipow__", "special_erf", "sum", "__rmatmul__")]
    [True, True, True, True, True, False, False]
    """
    base = name.strip("_").removeprefix("special_")
    return base in POINTWISE or (name.startswith(("__r", "__i")) and base[1:] in POINTWISE)


def memory(tensor: Tensor) -> int:
    """Identifies the memory of a tensor, which its views share, so that writes through a view are detected."""
    try:
        return tensor.untyped_storage().data_ptr() or id(tensor)
    except (NotImplementedError, RuntimeError):  # sparse tensors have no storage
        return id(tensor)


@dataclass(frozen=True)
class WeightedCall:
    """A call of a torch function that multiplies by parameters.

    All matrix products have the kind ``matmul``, whose neurons are columns. With a transposed parameter, ``x @ W.T``,
    the kind is ``linear``, whose neurons are rows, and vice versa. ``added`` is a parameter that was added to the
    result.
    """

    function: str
    kind: str
    weights: tuple[nn.Parameter, ...]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    added: nn.Parameter | None = None

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        """An argument, however it was passed."""
        return argument(self.args, self.kwargs, position, name, default)

    @property
    def bias(self) -> Any:
        """The bias that a linear, convolutional or bilinear call takes as an argument."""
        if self.function in PRODUCTS:
            return self.argument(0, "input") if self.function == "addmm" else None
        return self.argument(3 if self.function == "bilinear" else 2, "bias")

    @property
    def packed(self) -> bool:
        """Whether a recurrent call got a packed sequence, whose batch sizes come before the initial state."""
        return self.kind in RECURRENT and isinstance(self.args[3], (list, tuple))

    @property
    def state(self) -> int | None:
        """Position of the argument that holds a recurrent call's initial state."""
        return 1 + self.packed if self.kind in RECURRENT or self.kind in CELLS else None

    @property
    def batch_axis(self) -> int | None:
        """Axis of the inputs in the output, if the call determines it."""
        if self.kind in RECURRENT:
            return None if self.packed else 1 - bool(self.args[-1])  # batch_first comes last
        return 1 if self.kind == ATTENTION else None


def weighted_call(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> WeightedCall | None:
    """The call as a `WeightedCall` if it multiplies by parameters, else ``None``."""
    kind = "matmul" if name in PRODUCTS else name
    weight: Any
    if name in ("linear", "embedding", "embedding_bag") or name in CONVOLUTIONS or name in TRANSPOSED:
        weight = argument(args, kwargs, 1, "weight")
    elif name == "bilinear":
        weight = argument(args, kwargs, 2, "weight")
    elif name in PRODUCTS:
        weight = argument(args, kwargs, 2 if name == "addmm" else 1, "other" if "matmul" in name else "mat2")
    elif name in RECURRENT:
        weight = _last_list(args)
    elif name in CELLS:
        weight = args[2:]
    elif name == ATTENTION:
        weight = (
            argument(args, kwargs, 5, "in_proj_weight"),
            *(kwargs.get(f"{which}_proj_weight") for which in "qkv"),
            argument(args, kwargs, 11, "out_proj_weight"),
        )
    else:
        return None
    if kind in ("linear", "matmul") and isinstance(weight, Tensor) and not isinstance(weight, nn.Parameter):
        weight, kind = _transposed(weight), "matmul" if kind == "linear" else "linear"
    every = weight if isinstance(weight, (tuple, list)) else (weight,)
    weights = tuple(w for w in every if isinstance(w, nn.Parameter) and w.is_floating_point())
    return WeightedCall(name, kind, weights, args, kwargs) if weights else None


def _last_list(args: Sequence[Any]) -> Any:
    """Weights of a recurrent call: the last list of parameters, since the initial state may hold parameters too."""
    lists = [a for a in args if isinstance(a, (list, tuple)) and any(isinstance(p, nn.Parameter) for p in a)]
    return lists[-1] if lists else ()


def _transposed(tensor: Tensor) -> nn.Parameter | None:
    """The parameter of which ``tensor`` is the transposed view, if it is one."""
    base = tensor._base if tensor.ndim == 2 else None
    if not isinstance(base, nn.Parameter) or base.ndim != 2 or not torch.is_floating_point(base):
        return None
    turned = tensor.shape == base.shape[::-1] and tensor.stride() == base.stride()[::-1]
    return base if turned and tensor.data_ptr() == base.data_ptr() else None
