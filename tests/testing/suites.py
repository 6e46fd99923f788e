"""A small subject, and test suites for it, as users have them in files of their own."""

SUBJECT = """
import torch
from torch import nn

import mutiny

with torch.random.fork_rng(devices=[]):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3)).eval()
    x = torch.randn(900, 4)
with torch.no_grad():
    y = model(x).argmax(1)
subject = mutiny.Subject(
    model, task=mutiny.Classification(3), validation=(x[:600], y[:600]), test=(x[600:], y[600:])
)
bare = mutiny.Subject(model, task=mutiny.Classification(3), test=(x[600:], y[600:]), name="bare")
training = nn.Sequential(nn.Linear(4, 3))
in_training = mutiny.Subject(training, task=mutiny.Classification(3), test=(x[600:], y[600:]))
"""

MANY = """
import random
import unittest

import pytest
import torch
from my_subject import model, x, y

runs = {"flaky": 0}


@pytest.fixture(scope="module")
def answers():
    with torch.no_grad():
        return model(x[600:])  # cached: every fault needs another one


def accuracy(answers):
    return (answers.argmax(1) == y[600:]).float().mean()


def test_accuracy(answers):
    assert accuracy(answers) >= 0.99


class TestClass:
    @pytest.mark.parametrize("label", [0, 1])
    def test_recall(self, label):
        of_class = y[600:] == label
        assert (model(x[600:])[of_class].argmax(1) == label).float().mean() >= 0.97


class TestOld(unittest.TestCase):
    def test_low_accuracy(self):
        self.assertGreaterEqual(accuracy(model(x[600:])).item(), 0.95)


def test_raises_an_error():
    if accuracy(model(x[600:])) < 0.97:
        raise LookupError("no answer")


def test_useless():
    assert model(x[:2]).shape == (2, 3)


def test_flaky():
    runs["flaky"] += 1
    assert runs["flaky"] == 1


def test_failing():
    assert False


@pytest.mark.skip
def test_skipped():
    pass


@pytest.mark.xfail
def test_expected():
    assert False


def test_changes_the_model():
    model[0].weight.data.mul_(1)
    model[0].bias.data.add_(1)
"""

SMALL = """
import torch
from my_subject import model, x, y


def test_accuracy():
    assert (model(x[600:]).argmax(1) == y[600:]).float().mean() >= 0.97


def test_useless():
    assert model(x[:2]).shape == (2, 3)
"""

UNUSED = """
from my_subject import model, x

cached = model(x[:3])


def test_cached():
    assert cached.shape == (3, 3)


def test_nothing():
    pass
"""

FAILING = """
def test_one():
    assert False


def test_two():
    assert False
"""

HANGS = """
import time

from my_subject import model, x, y


def test_hangs():
    if (model(x[600:]).argmax(1) != y[600:]).any():
        time.sleep(600)
"""

INTERRUPTED = """
from my_subject import model, x, y

noticed = []


def test_interrupted():
    if (model(x[600:]).argmax(1) != y[600:]).any():
        noticed.append(1)
        model.half()
        if len(noticed) == 3:
            raise KeyboardInterrupt
        raise ValueError("wrong")
"""

WATCH = """
import torch


def pytest_unconfigure(config):
    import my_subject

    with torch.no_grad():
        same = torch.equal(my_subject.model(my_subject.x).argmax(1), my_subject.y)
    print("RESTORED" if same and "forward" not in my_subject.model.__dict__ else "NOT RESTORED")
"""
