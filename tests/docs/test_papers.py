"""The page that says which paper is where: names can be imported, tests exist, nothing is left out."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")

ROMAN = "I II III IV V VI VII VIII IX".split()
WHOLE = {
    "MUFF": [
        *(f"Eq. {n}" for n in range(1, 8)), "Algorithm 1",
        *(f"Table {n}" for n in ROMAN), *(f"Fig. {n}" for n in range(1, 5)),
    ],
    "DeepMutation": [],
    "NSS": [
        "Algorithm 1", "Algorithm 2", *(f"Table {n}" for n in range(1, 16)), *(f"Fig. {n}" for n in range(1, 8)),
        *(f"section {n}, formula" for n in ("2.2", "3.2", "4.3.1", "4.3.2", "4.3.3")),
    ],
    "DeepFault": [
        "Definition 1", "Definition 2", "Algorithm 1", "Algorithm 2",
        *(f"Table {n}" for n in range(1, 11)), *(f"Fig. {n}" for n in range(1, 6)),
    ],
    "MUTEN": ["Eq. 1", "Algorithm 1", "Table I", "Table II", "Table III", *(f"Fig. {n}" for n in range(1, 5))],
}  # fmt: skip
"""What the papers number, and NSS's formulas, which have no numbers."""


def rows(paper):
    """The cells of a paper's table: in the paper, what it is, in mutiny, test."""
    (part,) = re.findall(rf"^## {paper}\n(.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:2] == "| "][1:]


def found(name):
    """Whatever a dotted path leads to."""
    module, rest = name, []
    while True:
        try:
            thing = importlib.import_module(module)
            break
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
    for part in rest:
        thing = getattr(thing, part)
    return thing


def functions(path):
    return {
        node.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.parametrize("paper", WHOLE)
def test_nothing_is_left_out_and_nothing_told_twice(paper):
    named = [row[0] for row in rows(paper)]
    assert len(named) == len(set(named)) >= len(WHOLE[paper])
    assert set(WHOLE[paper]) <= set(named)


@pytest.mark.parametrize("paper", WHOLE)
def test_names_can_be_imported(paper):
    for _, _, here, _ in rows(paper):
        for name in re.findall(r"`((?:mutiny|studies)[\w.]*)`", here):
            assert found(name) is not None


@pytest.mark.parametrize("paper", WHOLE)
def test_every_row_has_a_place_and_a_test_that_exists_or_says_why_not(paper):
    for what, _, here, tests in rows(paper):
        assert "not built" in here or (re.search(r"`(mutiny|studies)\.|\]\(studies/", here) and tests), what
        for file, name in re.findall(r"`([\w/]+\.py)::(\w+)`", tests):
            assert name in functions(ROOT / "tests" / file), f"{what}: {file}::{name}"
        assert tests == ", ".join(re.findall(r"`[\w/]+\.py::\w+`", tests)), f"{what}: {tests}"


@pytest.mark.parametrize("paper", WHOLE)
def test_parts_of_studies_are_headings_of_their_pages(paper):
    for what, _, here, _ in rows(paper):
        parts = re.findall(r"\]\((studies/\w+\.md)\), ([^;|(]*)", here)
        assert len(parts) == here.count("](")
        for page, named in parts:
            headings = re.findall(r"^#+ (.*)", (ROOT / "docs" / page).read_text(encoding="utf-8"), flags=re.M)
            for part in re.findall(r"\*(.+?)\*", named):
                assert any(heading.startswith(part) for heading in headings), f"{what}: {page} has no part {part}"


def test_the_check_of_names_bites():
    with pytest.raises(AttributeError):
        found("mutiny.verbs.assess.muff.score.no_such_score")
