import ast
import dataclasses
import inspect
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import mutiny
from mutiny.faults.parsing import BOTH

SOURCE = Path(mutiny.__file__).parent
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))

ORDER = [["core"], ["models"], ["subjects"], ["faults", "campaigns"], ["verbs"], ["reports"], ["cli"], ["testing"]]
"""A part imports from itself and from parts that stand before it."""
EXCEPTION = (Path("verbs/assess/result.py"), "mutiny.reports.notice_sentences")
"""A notebook shows an assessment with the sentence of all reports, which is imported when it is shown."""
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
        if target in RANK and target != part and (path, name) != EXCEPTION:
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


MADE_BY_MUTINY = (mutiny.FaultRecord, mutiny.Mutant, mutiny.Patch, mutiny.Suspect, mutiny.Synthesis, mutiny.Result)
"""Classes whose arguments may be private: verbs return their instances, and users only read the attributes."""


def classes_in(hint):
    """Every class in a type hint, however deep."""
    if isinstance(hint, (list, tuple)):
        parts = hint
    elif typing.get_origin(hint) is not None:
        parts = (typing.get_origin(hint), *typing.get_args(hint))
    else:
        return {hint} if inspect.isclass(hint) else set()
    return {kind for part in parts for kind in classes_in(part)}


def hints_of(value):
    """Type hints of what a call of a public function or class takes and returns; none for what only mutiny makes."""
    if inspect.isfunction(value):
        return list(typing.get_type_hints(value).values())
    if not inspect.isclass(value) or issubclass(value, (*MADE_BY_MUTINY, Exception)):
        return []
    if dataclasses.is_dataclass(value):
        return [hint for name, hint in typing.get_type_hints(value).items() if name in value.__dataclass_fields__]
    return list(typing.get_type_hints(value.__init__).values())


@pytest.mark.parametrize("name", mutiny.__all__)
def test_what_users_need_for_arguments_is_public(name):
    public = {getattr(mutiny, other) for other in mutiny.__all__ if not other.isupper()}
    used = {kind for hint in hints_of(getattr(mutiny, name)) for kind in classes_in(hint)}
    ours = {kind for kind in used if kind.__module__.startswith("mutiny.")}
    assert not ours - public


def test_classes_in_signatures_are_found_at_any_depth():
    assert {mutiny.Subject, mutiny.Operator, mutiny.TrainingOperator, mutiny.MuffAssessment} <= {
        kind for hint in hints_of(mutiny.assess) for kind in classes_in(hint)
    }
    assert mutiny.Recipe in {kind for hint in hints_of(mutiny.Subject) for kind in classes_in(hint)}
    assert mutiny.Synthesis in hints_of(mutiny.synthesize)


def test_registries_are_public():
    assert {name for name in mutiny.__all__ if name.isupper()} == set(
        "ATTACKS JUDGES MEASURES METHODS OPERATORS REPAIRS TRAINING_OPERATORS".split()
    )
    assert {*mutiny.OPERATORS, *mutiny.TRAINING_OPERATORS} == set(BOTH.kinds)


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
    assert len(mutiny.__all__) <= 95  # verbs, results, what arguments accept, what guides import, registries, errors
    for name in mutiny.__all__:
        value = getattr(mutiny, name)
        assert name.isupper() or value.__name__ == name
    assert dir(mutiny) == sorted([*mutiny.__all__, "__version__"])
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = mutiny.nosuch


def test_no_class_name_stands_twice_in_the_package():
    files = sorted(Path(mutiny.__file__).parent.rglob("*.py"))
    names = [
        node.name for file in files for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ClassDef)
    ]
    assert {name for name in names if names.count(name) > 1} == set()
