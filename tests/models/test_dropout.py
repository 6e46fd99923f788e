import contextlib
import weakref

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.overrides import TorchFunctionMode

from mutiny.core.random import generator_for
from mutiny.models import ModelState
from mutiny.models.dropout import DropoutPasses
from zoo import Lambda


def kept(seed, sample, call, item, size, rate):
    """Units of an input that stay, drawn by hand: four units from each 64-bit word, each input with its own words."""
    words = (size + 3) // 4
    stream = generator_for(seed, "dropout", sample, call).bit_generator.random_raw((item + 1) * words)[item * words :]
    bits = [(int(word) >> shift) & 0xFFFF for word in stream for shift in (0, 16, 32, 48)]
    return torch.tensor([float(bit >= round(rate * 65536)) for bit in bits[:size]])


def all_outputs(passes, x, samples=3, size=None, start=0):
    """``(samples, n, ...)``, in batches of ``size``."""
    size = size or len(x)
    parts = [torch.stack([*passes.outputs(x[at : at + size], start + at, samples)]) for at in range(0, len(x), size)]
    return torch.cat(parts, dim=1)


def in_full(passes, x, samples=3):
    """All passes computed from the first layer on."""
    passes.replays = False
    return all_outputs(passes, x, samples)


def just(function):
    """A model that drops units of its input and nothing else."""
    return Lambda(lambda m, x: function(x)).eval()


@contextlib.contextmanager
def as_in_training():
    """All dropout by torch itself, active."""

    class Training(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if "dropout" in func.__name__:
                kwargs |= {key: True for key in ("training", "train") if key in kwargs}
                args = (*args[:2], True, *args[3:]) if len(args) > 2 else args
            return func(*args, **kwargs)

    with Training():
        yield


# which units are dropped


def test_every_input_has_the_masks_of_its_number():
    model = nn.Sequential(nn.Linear(3, 10), nn.Dropout(0.3), nn.Linear(10, 6), nn.Tanh(), nn.Dropout(0.6)).eval()
    x = torch.randn(4, 3)
    found = all_outputs(DropoutPasses(model, x, seed=5), x, start=11)
    for sample in range(3):
        for row in range(4):
            hidden = model[0](x[row]) * kept(5, sample, 0, 11 + row, 10, 0.3) / 0.7
            said = torch.tanh(model[2](hidden)) * kept(5, sample, 1, 11 + row, 6, 0.6) / 0.4
            assert torch.allclose(found[sample, row], said, atol=1e-6)


@given(st.floats(0.01, 0.99), st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_the_rate_is_that_of_the_call_and_the_mean_is_kept(rate, seed):
    x = torch.ones(50, 200)
    dropped = all_outputs(DropoutPasses(just(lambda x: F.dropout(x, rate, False)), x[:2], seed=seed), x, 1)
    share = float((dropped == 0).float().mean())
    assert share == pytest.approx(rate, abs=5 * (rate * (1 - rate) / 10_000) ** 0.5)
    assert torch.allclose(dropped[dropped != 0], torch.tensor(1 / (1 - rate)))


def test_masks_of_samples_calls_inputs_and_seeds_are_unrelated():
    x = torch.ones(8, 5000)
    twice = just(lambda x: torch.stack([F.dropout(x), F.dropout(x)], dim=1))
    several = [all_outputs(DropoutPasses(twice, x, seed=seed), x, 2).flatten(0, 2) for seed in (0, 1)]
    correlation = np.corrcoef(torch.cat(several).numpy())
    assert abs(correlation - np.eye(64)).max() < 0.08


FUNCTIONS = {
    "dropout": (lambda x: F.dropout(x, 0.4, False), (6, 5, 3), 3),
    "dropout with training on": (lambda x: F.dropout(x, 0.4, True), (6, 5), 2),
    "torch.dropout": (lambda x: torch.dropout(x, 0.4, False), (6, 5), 2),
    "torch.dropout by name": (lambda x: torch.dropout(input=x, p=0.4, train=False), (6, 5), 2),
    "in place": (lambda x: F.dropout(x, 0.4, False, True), (6, 5), 2),
    "torch.dropout_": (lambda x: torch.dropout_(x, 0.4, False), (6, 5), 2),
    "Dropout": (nn.Dropout(0.4), (6, 5), 2),
    "Dropout in place": (nn.Dropout(0.4, inplace=True), (6, 5, 2), 3),
    "AlphaDropout": (nn.AlphaDropout(0.4), (6, 5), 2),
    "AlphaDropout in place": (nn.AlphaDropout(0.4, inplace=True), (6, 5), 2),
    "FeatureAlphaDropout": (nn.FeatureAlphaDropout(0.4), (6, 5, 3, 2), 2),
    "Dropout1d": (nn.Dropout1d(0.4), (6, 5, 4), 2),
    "Dropout1d of one input": (nn.Dropout1d(0.4), (6, 5), 1),
    "Dropout2d": (nn.Dropout2d(0.4), (6, 5, 3, 2), 2),
    "Dropout2d in place": (nn.Dropout2d(0.4, inplace=True), (6, 5, 3, 2), 2),
    "Dropout3d": (nn.Dropout3d(0.4), (6, 5, 3, 2, 2), 2),
    "Dropout3d of one input": (nn.Dropout3d(0.4), (6, 5, 3, 2), 1),
    "torch.feature_dropout": (lambda x: torch.feature_dropout(x, 0.4, False), (6, 5, 3), 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_stays_and_what_goes_is_as_in_torch(name):
    """Each unit has one of the two values that torch gives it in training, and masks are shared along the same axes."""
    function, shape, own = FUNCTIONS[name]
    x = torch.randn(shape) + 3
    model = just(function)
    before = x.clone()
    found = all_outputs(DropoutPasses(model, x), x, 40)
    assert torch.equal(x, before)
    with as_in_training():
        theirs = torch.stack([function(x.clone()) for _ in range(60)])
    low, high = theirs.amin(dim=0), theirs.amax(dim=0)
    is_low, is_high = (torch.isclose(found, two, atol=1e-5) for two in (low, high))
    assert bool((is_low ^ is_high).all())
    assert bool(is_low.any(dim=0).all())
    assert bool(is_high.any(dim=0).all())
    fates = is_high.reshape(40, *shape[:own], -1)
    assert bool((fates == fates[..., :1]).all())
    assert len(torch.unique(fates[..., 0].reshape(40, -1).T, dim=0)) == int(np.prod(shape[:own]))


def test_nothing_is_dropped_at_rate_zero_and_everything_at_rate_one():
    x = torch.ones(3, 4)
    none = DropoutPasses(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.0), nn.AlphaDropout(0)).eval(), x)
    assert (none.calls, none.replays) == (0, False)
    for kind in (nn.Dropout(1.0), nn.Dropout1d(1.0), nn.AlphaDropout(1.0)):
        assert not all_outputs(DropoutPasses(nn.Sequential(kind).eval(), x), x).any()


def test_alpha_dropout_keeps_mean_and_variance():
    x = torch.randn(100, 2000)
    found = all_outputs(DropoutPasses(nn.AlphaDropout(0.3).eval(), x[:2]), x, 1)
    assert float(found.mean()) == pytest.approx(0, abs=0.02)
    assert float(found.var()) == pytest.approx(1, abs=0.02)


# batches do not matter

BATCHES = {
    "rows": lambda m, x: m.fc(F.dropout(x, 0.5, m.training)),
    "channels": lambda m, x: m.fc(F.dropout2d(x[:, :, None, None], 0.5, m.training).flatten(1)),
    "steps first": lambda m, x: F.dropout(x.T[:, :, None].expand(4, -1, 3), 0.5, m.training).sum((0, 2))[:, None],
    "steps in rows": lambda m, x: F.dropout(x.reshape(-1, 2), 0.5, m.training).reshape(-1, 4),
    "weights": lambda m, x: F.linear(x, F.dropout(m.fc.weight, 0.5, m.training)),
    "a mask for all": lambda m, x: x * F.dropout(torch.ones(1, 4), 0.5, m.training),
}


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("size", [1, 3, 4])
def test_masks_do_not_depend_on_the_batch(name, size):
    """Also with as many inputs in a batch as there are steps."""
    model = Lambda(BATCHES[name], fc=nn.Linear(4, 4)).eval()
    x = torch.randn(9, 4)
    passes = DropoutPasses(model, x[:4])
    whole = all_outputs(passes, x)
    assert torch.allclose(whole, all_outputs(passes, x, size=size), atol=1e-6)
    assert not torch.allclose(whole[0], whole[1])


def test_batches_can_come_in_any_order_and_again():
    model, x = nn.Sequential(nn.Linear(4, 30), nn.Dropout(0.5)).eval(), torch.randn(6, 4)
    passes = DropoutPasses(model, x[:2])
    whole = all_outputs(passes, x)
    late, early = (torch.stack([*passes.outputs(x[part], part.start, 3)]) for part in (slice(4, 6), slice(0, 4)))
    assert torch.allclose(whole, torch.cat([early, late], dim=1), atol=1e-6)


# what comes before the first dropout is computed once


class Products(TorchFunctionMode):
    """Counts linear calls that are computed; replayed calls do not reach an outer handler."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.count += func is F.linear
        return func(*args, **(kwargs or {}))


def linear(**more):
    return {"a": nn.Linear(4, 4), "b": nn.Linear(4, 4), **more}


def drop(x, **more):
    return F.dropout(x, 0.5, False, **more)


def skip(m, x):
    hidden = m.a(x).relu()
    return hidden + m.b(drop(hidden))


def asks_for_shapes(m, x):
    rows, columns = x.size(0), len(x[0])
    hidden = m.a(x) if x.ndim == 2 and x.shape[1] == columns and x.dtype == torch.float32 else x
    return m.b(drop(hidden)).view(rows, -1)


def branches(m, x):
    return m.b(drop(m.a(x) if float(x.sum()) > 0 else m.a(-x)))


def parts(m, x):
    left, right = m.a(x).chunk(2, dim=1)
    best = m.a(x).max(dim=1, keepdim=True)
    return drop(left) + right * best.values + best.indices


def recurrent(m, x):
    said, _ = m.rnn(x[:, :, None])
    return m.head(drop(said[:, -1]))


def twice_in_place(m, x):
    hidden = m.a(x)
    drop(hidden, inplace=True)  # the result is not even used
    return m.b(hidden) + hidden


def earlier_value_changed_later(m, x):
    hidden = m.a(x)
    said = m.b(drop(hidden))
    hidden += said
    return hidden


def earlier_value_changed_by_relu(m, x):
    hidden = m.a(x)
    said = m.b(drop(hidden))
    return F.relu(hidden, inplace=True) * said


def input_changed_later(m, x):
    said = m.b(drop(m.a(x)))
    x[:, 0] = 7
    return said + x


def input_changed_first(m, x):
    x.mul_(2)
    return m.b(drop(m.a(x))) + x


REPLAYED = {
    "modules": lambda: nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Dropout(), nn.Linear(6, 3)),
    "in place before": lambda: nn.Sequential(nn.Linear(4, 6), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(6, 3)),
    "in place itself": lambda: nn.Sequential(nn.Linear(4, 6), nn.Dropout(inplace=True), nn.Linear(6, 3)),
    "in place after": lambda: nn.Sequential(nn.Linear(4, 6), nn.Dropout(), nn.ReLU(inplace=True), nn.Linear(6, 3)),
    "in place on the input": lambda: nn.Sequential(nn.Dropout(inplace=True), nn.Linear(4, 3)),
    "norm": lambda: nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(), nn.BatchNorm1d(6)),
    "attention": lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
    "skip": lambda: Lambda(skip, **linear()),
    "shapes": lambda: Lambda(asks_for_shapes, **linear()),
    "branches": lambda: Lambda(branches, **linear()),
    "parts": lambda: Lambda(parts, **linear()),
    "recurrent": lambda: Lambda(recurrent, rnn=nn.LSTM(1, 3, batch_first=True), head=nn.Linear(3, 2)),
    "result in place": lambda: Lambda(twice_in_place, **linear()),
    "input changed first": lambda: Lambda(input_changed_first, **linear()),
}
IN_FULL = {
    "earlier value changed later": lambda: Lambda(earlier_value_changed_later, **linear()),
    "earlier value changed by relu": lambda: Lambda(earlier_value_changed_by_relu, **linear()),
    "input changed later": lambda: Lambda(input_changed_later, **linear()),
}


@pytest.mark.parametrize("name", [*REPLAYED, *IN_FULL])
def test_replayed_passes_give_bit_for_bit_what_full_ones_give(name):
    model = {**REPLAYED, **IN_FULL}[name]().eval()
    x = torch.randn(5, 4) if name != "attention" else torch.randn(5, 3, 4)
    before, state = x.clone(), ModelState.of(model)
    passes = DropoutPasses(model, x[:3])
    assert passes.replays == (name in REPLAYED)
    assert torch.equal(all_outputs(passes, x, 4), in_full(DropoutPasses(model, x[:3]), x, 4))
    assert torch.equal(x, before)
    assert state.difference(ModelState.of(model)) is None


def test_a_value_that_only_some_batches_change_is_noticed():
    def forward(m, x):
        hidden = m.a(x)
        said = m.b(drop(hidden))
        return hidden.mul_(3) + said if float(x.sum()) > 0 else hidden + said

    model, x = Lambda(forward, **linear()).eval(), torch.rand(4, 4)
    passes = DropoutPasses(model, -x)
    assert passes.replays
    assert torch.equal(all_outputs(passes, x), in_full(DropoutPasses(model, x), x))
    assert not passes.replays


def test_a_model_that_takes_another_way_each_time_runs_in_full():
    def forward(m, x):
        m.runs += 1
        return m.b(drop(m.a(x).relu() if m.runs % 2 else m.a(x)))

    passes = DropoutPasses(Lambda(forward, runs=0, **linear()).eval(), torch.randn(3, 4))
    assert not passes.replays
    assert len([*passes.outputs(torch.randn(3, 4), 0, 4)]) == 4


def test_what_comes_before_the_first_dropout_is_computed_once_per_batch():
    layers = [nn.Linear(4, 4) for _ in range(5)]
    model, x = nn.Sequential(*layers[:4], nn.Dropout(), layers[4]).eval(), torch.randn(6, 4)
    passes = DropoutPasses(model, x[:2])
    with Products() as products:
        all_outputs(passes, x, samples=10, size=3)
    assert products.count == 2 * (4 + 10)


def test_values_that_nobody_can_read_any_more_are_not_held():
    made = []

    def forward(m, x):
        first = m.a(x)
        second = m.b(first)
        made.append((weakref.ref(first), weakref.ref(second)))
        del first
        return drop(second)

    passes = DropoutPasses(Lambda(forward, **linear()).eval(), torch.randn(3, 4))
    made.clear()
    said = passes.outputs(torch.randn(3, 4), 0, 2)
    next(said)
    assert made[0][0]() is None
    assert made[0][1]() is not None


# the model and the world stay as they are


class Stop(Exception):
    pass


@pytest.mark.parametrize("error", [Stop, KeyboardInterrupt])
def test_the_model_is_untouched_whatever_happens(error):
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(), nn.Linear(6, 3), nn.Dropout()).eval()
    x, ready = torch.randn(5, 4, requires_grad=True), False

    def forward(model, inputs):
        said = model(inputs)
        if ready and len(inputs) == 5:
            raise error
        return said

    state, luck = ModelState.of(model), torch.get_rng_state()
    passes = DropoutPasses(model, x[:3], forward)
    said = passes.outputs(x, 0, 4)
    assert not next(said).requires_grad
    ready = True
    with pytest.raises(error):
        next(said)
    assert state.difference(ModelState.of(model)) is None
    assert torch.equal(luck, torch.get_rng_state())
    assert torch.equal(model(x.detach()), model(x.detach()))
    assert torch.backends.mha.get_fastpath_enabled()


def test_dropout_out_of_reach_is_named():
    parts = {"rnn": nn.LSTM(4, 3, 2, dropout=0.5, batch_first=True), "one": nn.GRU(3, 3, batch_first=True)}
    model = Lambda(lambda m, x: m.one(m.rnn(x[:, None])[0])[0][:, 0], **parts).eval()
    passes = DropoutPasses(model, torch.randn(3, 4))
    assert (passes.calls, passes.unreached) == (0, ("rnn",))
    transformer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.2, batch_first=True).eval()
    passes = DropoutPasses(transformer, torch.randn(3, 2, 4))
    assert (passes.calls, passes.unreached) == (3, ("self_attn",))


def test_nested_inputs_and_other_types():
    model = Lambda(lambda m, a, b: m.a(drop(a.double() + b["c"])).float(), a=nn.Linear(4, 4).double()).eval()
    inputs = (torch.randint(0, 5, (3, 4)), {"c": torch.randn(3, 4).double()})
    first, second = DropoutPasses(model, inputs).outputs(inputs, 0, 2)
    assert first.shape == (3, 4)
    assert not torch.equal(first, second)
