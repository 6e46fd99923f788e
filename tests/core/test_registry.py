"""Packages outside mutiny add operators, methods, measures and attacks by entry points."""

import json
import os
import subprocess
import sys
from importlib import import_module
from textwrap import dedent

import pytest

from mutiny.core.errors import BadInput, PluginError
from mutiny.core.parsing import Names
from mutiny.core.registry import JoinedRegistry, Registry

PACKAGE = '''
"""An operator, a method, a measure and an attack."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mutiny.faults.base import Operator
from mutiny.faults.random_choice import choose_weights, eligible
from mutiny.faults.training.base import Level, Program, Span, TrainingOperator
from mutiny.models import WeightEdit
from mutiny.verbs.attack.pgd import Fgsm
from mutiny.verbs.locate.measures import Measure
from mutiny.verbs.select.uncertainty.deepgini import DeepGini


@dataclass(frozen=True)
class SignFlip(Operator):
    """Flips the sign of a random share of the weights.

    Args:
        ratio: share of the weights.
    """

    code: ClassVar[str] = "SF"
    title: ClassVar[str] = "sign flip"
    source: ClassVar[str] = "acme"
    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {"ratio": (0.0, 1.0)}
    ratio: float = 0.05

    def edits(self, view, rng):
        """Chosen weights times -1."""
        for weight, indices, _ in choose_weights(eligible(view, None, True), self.ratio, rng, biases=False):
            yield WeightEdit(weight.parameter, indices, -view.take(weight.parameter, indices))


@dataclass(frozen=True)
class HighRate(TrainingOperator):
    """Raises the learning rate."""

    code: ClassVar[str] = "HHR"
    title: ClassVar[str] = "raise the learning rate"
    source: ClassVar[str] = "acme"
    level: ClassVar[Level] = "settings"

    def change(self, program, rng):
        """Ten times the rate."""
        return replace(program, recipe=replace(program.recipe, learning_rate=10 * program.recipe.learning_rate))


@dataclass(frozen=True)
class Gini(DeepGini):
    """DeepGini under another name."""

    code: ClassVar[str] = "acme-gini"


@dataclass(frozen=True)
class Failures(Measure):
    """``ef``: failures on which the neuron is active."""

    code: ClassVar[str] = "failures"
    title: ClassVar[str] = "failures"
    source: ClassVar[str] = "acme"

    def suspicion(self, counts):
        """The formula."""
        return counts.ef


@dataclass(frozen=True)
class OneStep(Fgsm):
    """FGSM under another name."""

    code: ClassVar[str] = "one-step"
'''
ENTRY_POINTS = {
    "mutiny.operators": {"SF": "acme:SignFlip", "HHR": "acme:HighRate"},
    "mutiny.selectors": {"acme-gini": "acme:Gini"},
    "mutiny.measures": {"failures": "acme:Failures"},
    "mutiny.attacks": {"one-step": "acme:OneStep"},
}


def install(folder, entry_points=ENTRY_POINTS, code=PACKAGE, name="acme-faults", module="acme"):
    """Writes what an installer writes: the module, and its metadata."""
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = [
        f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in kinds.items()) for group, kinds in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
    return folder


def run(folder, *command):
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return install(tmp_path_factory.mktemp("installed") / "site")


SUBJECT = """
import mutiny, torch
from torch import nn

torch.manual_seed(3)
x = torch.randn(120, 4)
y = (x[:, 0] > 0).long()
nets = [nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)) for _ in range(2)]
for net in nets:
    adam = torch.optim.Adam(net.parameters(), 0.05)
    for _ in range(40):
        adam.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        adam.step()
    net.eval()
subject = mutiny.Subject(models=nets, task=mutiny.Classification(2), train=(x, y), test=(x, y))
"""


def test_registries_commands_and_workers_have_what_a_package_adds_and_its_contract_suite_runs(site, tmp_path):
    own, file, store = tmp_path / "own.py", tmp_path / "assessment.json", tmp_path / "campaigns.db"
    own.write_text(SUBJECT)
    what = [f"{own}:subject", "--operators", "sf(ratio=0.3)", "--max-probes", "1", "--k-max", "3"]
    how = ["--engine", "processes", "--workers", "1", "--store", store, "--json", file, "--quiet"]
    command = ["mutiny", "assess", "--method", "muff", *map(str, what + how)]
    program = """
        import sys
        import torch
        import mutiny
        from mutiny.cli import main
        from mutiny.faults.parsing import as_faults, as_operators
        from mutiny.testing.operators import check_operator
        from mutiny.verbs.attack.methods import ATTACKS, as_attack
        from mutiny.verbs.locate.measures import as_measure
        from mutiny.verbs.select.parsing import as_methods

        as_faults("WI,HLR"), as_methods("deepgini"), as_measure("ochiai"), as_attack("pgd"), as_operators(None)
        assert "acme" not in sys.modules  # names that mutiny has import no package
        assert [fault.code for fault in as_faults("sf, hhr")] == ["SF", "HHR"]
        assert "SF" in mutiny.OPERATORS and "HHR" not in mutiny.OPERATORS and len(mutiny.OPERATORS) == 12
        assert as_methods("acme-gini")[0].code == "acme-gini" and "acme-gini" in mutiny.METHODS
        assert as_measure("failures").code == "failures"
        assert as_attack("one-step").code == "one-step" and list(ATTACKS)[-1] == "one-step"
        assert {"SF", "HHR"} <= {fault.code for fault in as_faults("all")}
        assert "SF" not in {operator.code for operator in as_operators(None)}
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
        check_operator(mutiny.OPERATORS["SF"](ratio=0.3), model, torch.randn(5, 4))
        print("all fine", flush=True)
        for command in (*(["mutiny", name] for name in ("operators", "methods", "measures")), sys.argv[1:]):
            sys.argv = command
            try:
                main()
            except SystemExit as end:
                assert not end.code, end
    """
    done = run(site, "-c", dedent(program), *command)
    fine, *listed = done.stdout.splitlines()
    assert fine == "all fine", done.stderr
    assert file.exists(), done.stderr
    assert json.loads(file.read_text())["operators"][0]["code"] == "SF"
    assert {"SF", "HHR", "acme-gini", "failures"} <= {line.split()[0] for line in listed if line.split()}


@pytest.mark.parametrize("command", [["--help"], ["assess", "--help"]])
def test_help_imports_no_package(tmp_path, command):
    folder = install(tmp_path / "site", code="raise SystemExit('imported')")
    done = run(folder, "-m", "mutiny", *command)
    assert done.returncode == 0, done.stdout
    assert "imported" not in done.stdout + done.stderr


NAMELESS = """
from dataclasses import dataclass
from {module} import {base}

@dataclass(frozen=True)
class Mine({base}):
    code = "X"
    def {method}(self, *given): ...
"""
SUBCLASS = "from mutiny.faults import WeightInhibitor\nclass Mine(WeightInhibitor):\n    code = {code!r}\n"


@pytest.mark.parametrize(
    ("code", "name", "said"),
    [
        ("import nowhere_to_be_found", "X", "No module named 'nowhere_to_be_found'"),
        ("1 / 0", "X", "ZeroDivisionError"),
        ("", "X", "has no attribute 'Mine'"),
        ("class Mine: ...", "X", "a subclass of Operator or TrainingOperator"),
        (
            "from mutiny.faults import Operator\nclass Mine(Operator):\n    code = 'X'",
            "X",
            "title and source and edits()",
        ),
        (SUBCLASS.format(code="Y"), "X", "a class with the code 'X', got 'Y'"),
        (SUBCLASS.format(code="wi"), "wi", "a name that mutiny does not use"),
        (SUBCLASS.format(code="HLR"), "HLR", "a name that mutiny does not use"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_name_of_the_package(tmp_path, monkeypatch, code, name, said):
    from mutiny.faults import OPERATORS, Operator
    from mutiny.faults.training import TRAINING_OPERATORS

    module = f"acme_{tmp_path.name}"  # a module is imported once in a process
    monkeypatch.syspath_prepend(
        install(tmp_path / "site", {"mutiny.operators": {name: f"{module}:Mine"}}, code, module=module)
    )
    registry = Registry("mutiny.operators", Operator, OPERATORS.builtin.values(), sibling=lambda: TRAINING_OPERATORS)
    assert list(registry) == list(OPERATORS.builtin)
    assert name not in registry
    for look_up in (registry.check, lambda: registry[name], lambda: JoinedRegistry(registry)[name]):
        with pytest.raises(PluginError, match=r"acme-faults 1\.0") as refused:
            look_up()
        assert said in str(refused.value)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("group", "module", "base", "method", "missing"),
    [
        ("operators", "mutiny.faults", "Operator", "edits", "title and source"),
        ("operators", "mutiny.faults.training", "TrainingOperator", "change", "title and source and level"),
        ("selectors", "mutiny.verbs.select", "Selector", "score", "title and source"),
        ("measures", "mutiny.verbs.locate.measures", "Measure", "suspicion", "title and source"),
        ("attacks", "mutiny.verbs.attack.base", "Attack", "attacked", "title and source"),
    ],
)
def test_a_class_without_title_and_source_is_refused(tmp_path, monkeypatch, group, module, base, method, missing):
    own, code = f"acme_{tmp_path.name}", NAMELESS.format(module=module, base=base, method=method)
    points = {f"mutiny.{group}": {"X": f"{own}:Mine"}}
    monkeypatch.syspath_prepend(install(tmp_path / "site", points, code, module=own))
    registry = Registry(f"mutiny.{group}", getattr(import_module(module), base), ())
    with pytest.raises(PluginError, match=f"expected a class with {missing}\\. Add what is missing"):
        registry["X"]
    assert "X" not in registry


def test_a_class_that_cannot_be_used_does_not_disturb_the_others(tmp_path, monkeypatch):
    from mutiny.faults import Operator

    module = f"acme_{tmp_path.name}"
    points = {"mutiny.operators": {"HL2": f"{module}:Mapping", "SF": f"{module}:SignFlip"}}
    monkeypatch.syspath_prepend(install(tmp_path / "site", points, PACKAGE, module=module))
    registry = Registry("mutiny.operators", Operator, ())
    for kinds in (registry, JoinedRegistry(registry)):
        names = Names("operators", Operator, kinds, "SF")
        assert [operator.code for operator in names.parse("sf")] == list(kinds) == ["SF"]
        with pytest.raises(BadInput, match=r"operator='SFF': expected one of SF\. Did you mean SF\?"):
            names.parse("SFF")
        with pytest.raises(PluginError, match=r"HL2 = .*: expected a subclass of Operator"):
            names.parse("hl2(ratio=0.1)")


def test_all_includes_classes_that_cannot_be_used(monkeypatch):
    from mutiny.faults.parsing import OPERATORS, as_faults
    from mutiny.verbs.select.parsing import METHODS, as_methods

    for registry, parse in ((OPERATORS, as_faults), (METHODS, as_methods)):
        refused = PluginError("package", "acme-faults 1.0", "a class that can be imported")
        monkeypatch.setitem(vars(registry), "_installed", ({}, (("X", refused),)))
        with pytest.raises(PluginError, match="acme-faults"):
            parse("all")


def test_operators_are_listed_without_one_that_cannot_be_used(tmp_path):
    points = {"mutiny.operators": {"BAD": "acme_missing:Nope", "SF": "acme:SignFlip"}}
    site = install(tmp_path / "site", points)
    ran = run(site, "-m", "mutiny", "operators")
    assert ran.returncode == 0, ran
    assert "SF " in ran.stdout
    assert "BAD" not in ran.stdout
    assert ran.stderr.count("\n") == 1
    assert "mutiny: left out: package=acme-faults 1.0, mutiny.operators: BAD = acme_missing:Nope" in ran.stderr
    assert "No module named 'acme_missing'" in ran.stderr


def test_two_packages_with_one_name_are_refused(tmp_path, monkeypatch):
    from mutiny.faults import Operator

    for place in ("one", "two"):
        points = {"mutiny.operators": {"X": f"twice_{place}:Mine"}}
        code = SUBCLASS.format(code="X")
        folder = install(tmp_path / place, points, code, name=f"acme-{place}", module=f"twice_{place}")
        monkeypatch.syspath_prepend(folder)
    registry = Registry("mutiny.operators", Operator, ())
    assert not list(registry)
    with pytest.raises(PluginError, match=r"acme-two 1\.0.*a name that acme-one 1\.0 does not use"):
        registry["X"]


def test_registries_are_mappings():
    class Base:
        code = ""

    class First(Base):
        code = "first"

    class Second(Base):
        code = "second"

    one, two = Registry("tests.none", Base, [First]), Registry("tests.none", Base, [Second])
    joined = JoinedRegistry(one, two)
    assert dict(joined) == {"first": First, "second": Second}
    assert len(joined) == 2
    assert "third" not in joined
    with pytest.raises(KeyError):
        one["second"]
