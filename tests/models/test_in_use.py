"""Which models are one model, and that a claim keeps none alive."""

import copy
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pytest
import torch
from torch import nn

import mutiny
from mutiny.core import claims
from mutiny.models.in_use import in_use
from mutiny.models.layout import laid_out
from mutiny.models.patch import Patch


def network():
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).eval()


def same_parameter(model):
    other = network()
    other[0].weight = model[0].weight
    return other


def same_memory(model):
    other = network()
    other[0].weight = nn.Parameter(model[0].weight.detach().view(3, 2))
    return other


def part_of_memory(model):
    other = nn.Linear(2, 1)
    other.weight = nn.Parameter(model[0].weight.detach()[1:2])
    return other


def same_buffer(model):
    model.register_buffer("scale", torch.ones(3))
    other = network()
    other.register_buffer("size", model.scale[1:])
    return other


def calling(model):
    return lambda _, inputs: model(inputs)


@dataclass
class Record:
    held: object


SAME = {
    "itself": lambda model: model,
    "a wrapper": nn.Sequential,
    "a part": lambda model: model[0],
    "a part without parameters": lambda model: model[1],
    "a tied parameter": same_parameter,
    "a parameter with the same memory": same_memory,
    "a parameter in its memory": part_of_memory,
    "a buffer in its memory": same_buffer,
    "a list": lambda model: [network(), model],
    "a dictionary": lambda model: {"model": model},
    "a record": lambda model: Record([model]),
    "a method": lambda model: model.forward,
    "a closure": calling,
    "a partial function": lambda model: partial(calling(network()), model),
}
OTHERS = {
    "a copy": copy.deepcopy,
    "another one": lambda model: network(),
    "nothing": lambda model: [None, 1, "text", torch.ones(2)],
    "a class": lambda model: type(model),
}


def is_free(value):
    """Whether another thread would get a claim at once."""
    return not in_use(value).keys & claims._holders.keys()


@pytest.mark.parametrize("what", SAME)
def test_what_shares_something_with_a_model_in_use_is_in_use(what):
    model = network()
    other = SAME[what](model)
    with in_use(model):
        assert not is_free(other)
    with in_use(other):
        assert not is_free(model)
    assert is_free(model)


@pytest.mark.parametrize("what", OTHERS)
def test_what_shares_nothing_is_free(what):
    model = network()
    other = OTHERS[what](model)
    with in_use(model):
        assert is_free(other)


def test_weights_that_were_elsewhere_while_a_thread_waited_count_where_they_are():
    model = nn.Sequential(nn.Conv2d(1, 2, 2)).eval()
    twin = nn.Sequential(nn.Conv2d(1, 2, 2)).eval()
    twin[0].weight = nn.Parameter(model[0].weight.detach())  # the same memory, another parameter
    moved, entered, leave = threading.Event(), threading.Event(), threading.Event()

    def use():
        moved.wait(10)
        with in_use(model):
            entered.set()
            leave.wait(10)

    with ThreadPoolExecutor(1) as pool:
        with in_use(model):
            using = pool.submit(use)
            with laid_out(model, "channels-last"):
                moved.set()
                while not claims._waiting:
                    assert not using.done()
        assert entered.wait(10)
        assert not is_free(twin)
        leave.set()
        using.result(10)


def test_a_patch_keeps_the_model_until_it_is_undone():
    model = network()
    with Patch(()).applied(model):
        assert not is_free(model)
    assert is_free(model)


def test_a_model_is_not_kept_alive():
    model = network()
    with in_use(model) as claim, Patch(()).applied(model):
        pass
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert claim.objects == ()


def test_all_that_is_public_and_uses_a_model_waits_for_it(tmp_path):
    model, inputs = network(), torch.ones(5, 2)
    (faulty,) = mutiny.mutants(model, "GF(ratio=0.5)", inputs=inputs, count=1)
    ensemble = mutiny.Ensemble(model, [faulty.patch])
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    calls = {
        "mutants": lambda: mutiny.mutants(model, "GF", inputs=inputs),
        "copy": faulty.copy,
        "applied": lambda: faulty.applied().__enter__(),
        "ensemble": lambda: mutiny.Ensemble(model, [faulty.patch]),
        "outputs": lambda: list(ensemble.outputs(inputs)),
        "slope": lambda: ensemble.slope(inputs, lambda outputs: outputs[:, 0]),
        "mean": lambda: ensemble.mean(inputs),
        "module": lambda: mutiny.EnsembleModule(ensemble)(inputs),
        "load_weights": lambda: mutiny.load_weights(model, tmp_path / "weights.pt"),
        "select": lambda: mutiny.select(model, "deepgini", 2, pool=inputs),
    }
    for name, call in calls.items():
        with ThreadPoolExecutor(1) as pool:
            with in_use(model):
                job = pool.submit(call)
                while not claims._waiting:
                    assert not job.done(), name
            job.result(10)
