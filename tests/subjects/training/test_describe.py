"""What a fingerprint sees and what it does not; that it is the same in every process."""

import enum
import functools
import importlib.util
import json
import logging
import os
import subprocess
import sys
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe, fingerprint
from mutiny.subjects.training.describe import MAX_DEPTH, describe, describe_network

X = np.arange(24, dtype=np.float32).reshape(12, 2)
DATA = as_data((X, np.arange(12) % 2), "train")
TASK = Classification(2)


def text(thing):
    return json.dumps(describe(thing), sort_keys=True)


def capture(value):
    return lambda outputs, targets: (outputs, value)


@dataclass
class Plain:
    width: int
    more: object = None


class Slotted:
    __slots__ = ("width",)

    def __init__(self, width):
        self.width = width


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def with_default(value):
    return lambda x, y=value: x


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


DIFFERENT = {
    "tensors": (torch.zeros(3), torch.ones(3), torch.zeros(3, dtype=torch.float64), torch.zeros(3, 1), torch.zeros(0)),
    "types of half": (torch.zeros(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16)),
    "sparse tensors": (torch.eye(2).to_sparse(), (2 * torch.eye(2)).to_sparse()),
    "arrays": (np.zeros(3), np.ones(3), np.zeros(3, dtype=np.float32), np.zeros((3, 1)), np.zeros(0)),
    "arrays of objects": (np.array([1, "a"], dtype=object), np.array([1, "b"], dtype=object)),
    "numpy numbers": (np.int64(1), np.int64(2), np.int32(1)),
    "dicts": ({"a": 1}, {"a": 2}, {"b": 1}, {1: 1}, {"1": 1}, {"a": {"b": X}}, {"a": {"b": X + 1}}),
    "long lists": (list(range(500)), list(range(501)), [*range(499), -1]),
    "nested": ([1, (2, [3.0])], [1, (2, [4.0])]),
    "sets": ({"a", "b"}, {"a", "c"}, {"a"}),
    "bytes": (b"a", b"b"),
    "enums": tuple(Color),
    "dataclasses": (Plain(1), Plain(2), Plain(1, torch.zeros(1)), Plain(1, torch.ones(1)), Plain(1, [Plain(3)])),
    "slots": (Slotted(1), Slotted(2)),
    "namespaces": (SimpleNamespace(a=1), SimpleNamespace(a=2)),
    "paths": (Path("a"), Path("b")),
    "torch types": (torch.float32, torch.float64, torch.device("cpu"), torch.device("meta")),
    "generators": (torch.Generator().manual_seed(1), torch.Generator().manual_seed(2)),
    "data": (DATA, as_data((X + 1, np.arange(12) % 2), "train")),
    "functions": (double, triple, len, functools.partial(double, 1), functools.partial(double, 2)),
    "remembering functions": (functools.cache(double), functools.cache(triple)),
    "methods": (Plain(1).__eq__, Plain(2).__eq__),
    "built-in methods": ([1].count, [2].count),
    "defaults": tuple(with_default(torch.full((1,), value)) for value in (0.0, 1.0)),
    "modules": (
        nn.CrossEntropyLoss(),
        nn.CrossEntropyLoss(label_smoothing=0.1),
        nn.CrossEntropyLoss(weight=torch.ones(2)),
        nn.CrossEntropyLoss(weight=torch.zeros(2)),
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_values_are_described_differently_also_when_captured(name):
    texts = [text(value) for value in DIFFERENT[name]]
    assert len(set(texts)) == len(texts)
    captured = [text(capture(value)) for value in DIFFERENT[name]]
    assert len(set(captured)) == len(captured)
    assert texts == [text(value) for value in DIFFERENT[name]]
    assert not any(" at 0x" in each for each in texts + captured)


def test_equal_content_is_described_equally():
    assert text(torch.arange(6).reshape(2, 3).T) == text(torch.arange(6).reshape(2, 3).T.contiguous())
    assert text(np.arange(6).reshape(2, 3).T) == text(np.arange(6).reshape(2, 3).T.copy())
    assert text({"a": 1, "b": 2}) == text({"b": 2, "a": 1}) == text(OrderedDict(b=2, a=1))
    assert text(capture(Plain(1))) == text(capture(Plain(1)))


def test_what_cannot_be_described_is_described_by_its_type(tmp_path):
    with (tmp_path / "a").open("w") as first, (tmp_path / "b").open("w") as second:
        assert describe(first) == describe(second) == {"type": "_io.TextIOWrapper"}
    assert text(capture(object())) == text(capture(object()))
    assert describe(x for x in "ab") == {"type": "builtins.generator"}
    assert text(logging.getLogger("a")) == text(logging.getLogger("b"))
    assert describe(nn.LazyLinear(2).weight)["tensor"] == "torch.float32"


def test_cycles_and_deep_nests_end():
    cyclic = Plain(1)
    cyclic.more = [cyclic, cyclic]
    assert describe(cyclic)["values"]["more"] == [{"again": f"{__name__}.Plain"}] * 2
    endless = []
    endless.append(endless)
    assert '{"type": "builtins.list"}' in text(endless)
    endless += [endless, endless]
    text(endless)
    member = Slotted(None)
    member.width = {member, Color.RED}
    text(member.width)
    deep = 0
    for _ in range(MAX_DEPTH * 100):
        deep = [deep]
    text(deep)


def test_remembered_results_do_not_count():
    class Remembering:
        @functools.cached_property
        def area(self):
            return 1

    thing = Remembering()
    before = text(thing)
    assert thing.area == 1
    assert text(thing) == before
    data = as_data((X, np.arange(12) % 2), "train")
    before = text(capture(data))
    data.fingerprint()
    assert text(capture(data)) == before


MODULE = """
import helpers
import numpy as np
import torch
from dataclasses import dataclass
from torch import nn

WIDTH = 3
CONFIG = {"depth": [1, 2], "names": {"a", "b", "c"}}
SCALE = torch.tensor([1.0, 2.0])
TABLE = np.array([1.0, 2.0])
UNUSED = 1
size = 1
NEVER = None

@dataclass
class Options:
    smoothing: float = 0.0

OPTIONS = Options()

class Base(nn.Module):
    GAIN = 1.0

    def forward(self, x):
        return shifted(self.head(x)) * self.GAIN

class Net(Base):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(2, WIDTH), nn.Linear(WIDTH, 2))
        self.offset = OFFSET

OFFSET = 0

def shifted(x):
    return x + deeper(x)

def deeper(x):
    return 0 * x

def unused(x):
    return x

def build():
    return Net() if CONFIG["depth"] else None

def loss(outputs, targets):
    parts = [SCALE.sum() for _ in range(2)]
    assert outputs.size and len(CONFIG["names"]) and str(outputs) not in {"a", "b", "c"}
    return nn.functional.cross_entropy(outputs, targets, label_smoothing=OPTIONS.smoothing) + parts[0]

def forward(model, x):
    return helpers.prepared(model(x)) * TABLE[0]
"""
HELPERS = """
FACTOR = 1.0
OTHER = 1.0

def prepared(x):
    return x * FACTOR

def other(x):
    return x
"""
PRINT = """
import numpy as np
import definition
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe, fingerprint
data = as_data((np.ones((4, 2), dtype=np.float32), [0, 1, 0, 1]), "train")
recipe = Recipe(definition.build, loss=definition.loss)
print(fingerprint(recipe, data, Classification(2), 0, forward=definition.forward))
"""
DIGITS = """
import mutiny
from mutiny.subjects.training import fingerprint
subject = mutiny.load_subject("digits")
print(fingerprint(subject.recipe, subject.train, subject.task, 0, forward=subject.forward))
"""


def loaded(folder, name, source, monkeypatch):
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def print_of(folder, monkeypatch, *changes):
    """The fingerprint of the definition above with some text replaced."""
    folder.mkdir()
    sources = {"helpers": HELPERS, "definition": MODULE}
    for old, new in changes:
        assert any(old in source for source in sources.values()), old
        sources = {name: source.replace(old, new) for name, source in sources.items()}
    for name, source in sources.items():
        module = loaded(folder, name, source, monkeypatch)
    return fingerprint(Recipe(module.build, loss=module.loss), DATA, TASK, 0, forward=module.forward)


USED = [
    ("WIDTH = 3", "WIDTH = 4"),
    ('"depth": [1, 2]', '"depth": [1, 3]'),
    ('"c"}}', '"d"}}'),
    ("torch.tensor([1.0", "torch.tensor([2.0"),
    ("TABLE = np.array([1.0", "TABLE = np.array([2.0"),
    ("smoothing: float = 0.0", "smoothing: float = 0.1"),
    ("OPTIONS = Options()", "OPTIONS = Options(0.2)"),
    ("GAIN = 1.0", "GAIN = 2.0"),
    ("OFFSET = 0", "OFFSET = 1"),
    ("x + deeper(x)", "x - deeper(x)"),
    ("0 * x", "1 * x"),
    ("FACTOR = 1.0", "FACTOR = 2.0"),
    ("return x * FACTOR", "return x + FACTOR"),
    ('not in {"a"', 'not in {"z"'),
    ("range(2)", "range(3)"),
]
NOT_USED = [
    ("UNUSED = 1", "UNUSED = 2"),
    ("def unused(x):\n    return x", "def unused(x):\n    return -x"),
    ("NEVER = None", "NEVER = object()"),
    ("\nsize = 1", "\nsize = 2"),
    ("OTHER = 1.0", "OTHER = 2.0"),
    ("def other(x):\n    return x", "def other(x):\n    return -x"),
]


@pytest.mark.parametrize("change", USED)
def test_what_build_loss_and_forward_use_changes_the_fingerprint(tmp_path, monkeypatch, change):
    assert print_of(tmp_path / "a", monkeypatch) != print_of(tmp_path / "b", monkeypatch, change)


@pytest.mark.parametrize("change", NOT_USED)
def test_what_they_do_not_use_does_not(tmp_path, monkeypatch, change):
    assert print_of(tmp_path / "a", monkeypatch) == print_of(tmp_path / "b", monkeypatch, change)


def test_code_counts_as_it_was_loaded_not_as_the_file_is_now(tmp_path, monkeypatch):
    module = loaded(tmp_path, "edited", "def loss(a, b):\n    return a + b\n", monkeypatch)
    (tmp_path / "edited.py").write_text("def loss(a, b):\n    return a - b\n")
    old = text(module.loss)
    new = loaded(tmp_path, "edited", "def loss(a, b):\n    return a - b\n", monkeypatch)
    assert describe(new.loss)["source"] == json.loads(old)["source"]
    assert text(new.loss) != old


def test_initial_weights_and_frozen_parameters_count():
    value = 1.0

    def build():
        net = nn.Linear(2, 2)
        nn.init.constant_(net.weight, float(os.environ.get("MUTINY_TEST_WEIGHT", value)))
        return net

    before = fingerprint(Recipe(build), DATA, TASK, 0)
    assert before == fingerprint(Recipe(build), DATA, TASK, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUTINY_TEST_WEIGHT", "2.0")
        assert fingerprint(Recipe(build), DATA, TASK, 0) != before
    net = build()
    free = describe_network(net)
    net.bias.requires_grad_(False)
    assert describe_network(net) != free


def test_networks_count_by_all_they_hold():
    class Holder(nn.Module):
        def __init__(self, value):
            super().__init__()
            self.register_buffer("table", torch.zeros(2), persistent=False)
            self.value = value

    values = [1, 2, [torch.zeros(1)], [torch.ones(1)], double, triple]
    texts = [json.dumps(describe_network(nn.Sequential(Holder(value)))) for value in values]
    changed = Holder(1)
    changed.table += 1
    texts.append(json.dumps(describe_network(nn.Sequential(changed))))
    assert len(set(texts)) == len(texts)
    lazy = describe_network(nn.Sequential(nn.LazyLinear(2), nn.LSTM(2, 2)))
    assert lazy["state"]["0.weight"]["tensor"] == "torch.float32"


def test_two_processes_agree_about_a_recipe_and_about_a_built_in_subject(tmp_path, monkeypatch, capsys):
    for name, source in (("helpers", HELPERS), ("definition", MODULE)):
        loaded(tmp_path, name, source, monkeypatch)
    exec(PRINT + DIGITS, {})
    here = capsys.readouterr().out.split()
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    threads = str(torch.get_num_threads())
    variables = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": threads}
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", PRINT + DIGITS]
    there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    assert here == there
    assert [len(text) for text in here] == [64, 64]
