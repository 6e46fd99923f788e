import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mutiny

SOURCE = Path(mutiny.__file__).parent
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))

ORDER = [["core"], ["models"], ["subjects"], ["faults", "campaigns"], ["verbs"], ["reports"], ["cli"], ["testing"]]
"""A part imports from itself and from parts that stand before it."""
RANK = {part: rank for rank, parts in enumerate(ORDER) for part in parts}


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
        return  # the one is lazy, the other starts the command line
    for name in imported(path):
        target = name.split(".")[1] if name.startswith("mutiny.") else part
        if target in RANK and target != part:
            assert RANK[target] < RANK[part], f"{path} imports {name}"


@pytest.mark.parametrize("path", [path for path in MODULES if path.parts[1:2] in (("engines",), ("stores",))], ids=str)
def test_engines_and_stores_know_jobs_and_nothing_else_of_campaigns(path):
    allowed = ("mutiny.core", "mutiny.campaigns.jobs", f"mutiny.campaigns.{path.parts[1]}", "mutiny.__version__")
    for name in imported(path):
        assert not name.startswith("mutiny.") or name.startswith(allowed), f"{path} imports {name}"


def test_statistics_import_nothing_but_the_core():
    for path in MODULES:
        if path.parts[:2] == ("core", "stats"):
            assert all(not name.startswith("mutiny") or name.startswith("mutiny.core") for name in imported(path)), path


def test_the_architecture_page_lists_every_part_in_order():
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    lines = page.split("```")[1].splitlines()[2:]
    shown = [line.split()[0].rstrip("/") for line in lines if line.startswith("  ") and line[2] != " "]
    assert shown == ["__init__.py", *(part for parts in ORDER for part in parts)]
    folders = {path.parts[0] for path in MODULES} - {"__init__.py", "__main__.py"}
    assert folders == set(RANK)


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


def test_what_users_need_for_arguments_is_public():
    named = (
        "ATTACKS MEASURES METHODS OPERATORS Attack Choice Engine FaultyModel Measure OwnTraining Progress Savings Store"
    )
    assert not set(named.split()) - set(mutiny.__all__)


def test_importing_mutiny_imports_nothing_heavy():
    heavy = {"torch", "numpy", "scipy", "sklearn", "rich", "typer", "PIL", "safetensors"}
    assert not modules_after("import mutiny") & heavy
    assert not modules_after("import mutiny; mutiny.BadInput; dir(mutiny)") & heavy


def test_stats_never_import_torch():
    loaded = modules_after("import mutiny.core.stats")
    assert "scipy" in loaded
    assert "torch" not in loaded


def test_the_command_line_starts_without_torch():
    assert not modules_after("import mutiny.cli") & {"torch", "scipy", "sklearn"}


def test_public_names_are_sorted_importable_and_all_there_is():
    constants = [name for name in mutiny.__all__ if name.isupper()]
    classes = [name for name in mutiny.__all__ if name[0].isupper() and not name.isupper()]
    functions = [name for name in mutiny.__all__ if name[0].islower()]
    assert mutiny.__all__ == sorted(constants) + sorted(classes) + sorted(functions)
    assert len(mutiny.__all__) <= 70  # verbs, their results, what their arguments accept, registries, errors
    for name in mutiny.__all__:
        value = getattr(mutiny, name)
        assert name.isupper() or value.__name__ == name
    assert dir(mutiny) == sorted([*mutiny.__all__, "__version__"])
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = mutiny.nosuch
