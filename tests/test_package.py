import ast
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import mutiny

SOURCE = Path(mutiny.__file__).parent
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))

RANK = {
    "errors": -1, "random": 0, "progress": 0, "checks": 0, "parsing": 1,
    "records": 1, "results": 2, "task": 1, "stats": 1, "tasks": 1, "campaigns": 2,
    "data": 2, "models": 2,
    "training": 3, "architectures": 3,
    "operators": 4,
    "evaluation": 5,
    "subjects": 6,
    "mutation": 7, "selection": 7, "localization": 7, "attacks": 7,
    "repairs": 8, "strengthening": 8,
    "testing": 9, "reports": 9,
    "cli": 10,
}  # fmt: skip
"""Imports flow from a larger number to a smaller one, or stay inside a part."""

ONLY_RECORDS = ("engines", "stores")


def part_of(path):
    return path.parts[0].removesuffix(".py")


def imported(path):
    """Every module that a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse((SOURCE / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module
            if node.module == "mutiny":
                yield from (f"mutiny.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_flow_one_way(path):
    part = part_of(path)
    if part in ("__init__", "__main__"):
        return  # the one is lazy, the other is the door to the command line
    for name in imported(path):
        target = name.split(".")[1] if name.startswith("mutiny.") else None
        if target is None or target == part or not ((SOURCE / target).exists() or (SOURCE / f"{target}.py").exists()):
            continue
        if part in ONLY_RECORDS:
            assert target in ("records", "errors", "random", "checks", "tasks"), f"{path} imports {name}"
        elif target not in ONLY_RECORDS:
            assert RANK[target] < RANK[part], f"{path} imports {name}"


def test_the_page_on_architecture_has_every_part():
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    layout = {line.split()[0].rstrip("/").removesuffix(".py") for line in page.split("```")[1].splitlines()[2:]}
    assert layout == {part_of(path) for path in MODULES} - {"__main__"}
    (flow,) = re.findall(r"a test checks it: ([^.]*)\.", page)
    ranks = [[RANK[part] for part in group.replace(",", " ").split()] for group in flow.split("<-")]
    assert sum(map(len, ranks)) == len(RANK)
    assert all(max(low) < min(high) for low, high in pairwise(ranks))


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse((SOURCE / path).read_text(encoding="utf-8")))


def test_only_the_door_imports_the_command_line():
    users = {str(p) for p in MODULES if part_of(p) != "cli" and any(n.startswith("mutiny.cli") for n in imported(p))}
    assert users == {"__main__.py"}


def modules_after(statement):
    code = f"import sys; {statement}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


def test_importing_mutiny_imports_nothing_heavy():
    heavy = {"torch", "numpy", "scipy", "sklearn", "rich", "typer", "PIL", "safetensors"}
    assert not modules_after("import mutiny") & heavy
    assert not modules_after("import mutiny; mutiny.BadInput; dir(mutiny)") & heavy


def test_stats_never_import_torch():
    loaded = modules_after("import mutiny.stats")
    assert "scipy" in loaded
    assert "torch" not in loaded


def test_the_command_line_starts_without_torch():
    assert not modules_after("import mutiny.cli") & {"torch", "scipy", "sklearn"}


def test_public_names_are_sorted_importable_and_all_there_is():
    constants = [name for name in mutiny.__all__ if name.isupper()]
    classes = [name for name in mutiny.__all__ if name[0].isupper() and not name.isupper()]
    functions = [name for name in mutiny.__all__ if name[0].islower()]
    assert mutiny.__all__ == sorted(constants) + sorted(classes) + sorted(functions)
    assert len(mutiny.__all__) <= 36  # two per verb, errors, and what users hand over
    for name in mutiny.__all__:
        value = getattr(mutiny, name)
        assert name.isupper() or value.__name__ == name
    assert dir(mutiny) == sorted([*mutiny.__all__, "__version__"])
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = mutiny.nosuch


def test_type_checkers_see_the_same_names():
    """The imports under TYPE_CHECKING and the table of the lazy ones must not drift apart."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    shown = {alias.name: node.module for node in block.body for alias in node.names}
    assert shown == mutiny._WHERE
    assert sorted(shown) == sorted(mutiny.__all__)
