"""The site: every page is in its navigation, every public name in its reference, and nothing comes from the network."""

import ast
import re

import pytest
from tests.docs.pages import PAGES, ROOT, text

import mutiny

yaml = pytest.importorskip("yaml")
SITE = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def leaves(nav):
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from leaves(value) if isinstance(value, list) else [value]


def test_every_page_is_in_the_navigation():
    named = list(leaves(yaml.safe_load(SITE)["nav"]))
    assert len(named) == len(set(named))
    assert all((ROOT / "docs" / page).is_file() for page in named)
    assert {page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")} <= set(named)


def test_every_public_name_is_in_the_reference_once():
    named = re.findall(r"^::: mutiny\.(\w+)$", text("docs/api.md"), flags=re.M)
    assert sorted(named) == sorted(mutiny.__all__)


def test_nothing_is_fetched_by_readers():
    settings = yaml.safe_load(SITE)
    assert settings["theme"]["font"] is False
    assert "http" not in SITE


def test_pictures_are_small_and_shown():
    pages = "".join(text(page) for page in PAGES)
    pictures = sorted((ROOT / "docs" / "pictures").glob("*.png"))
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size < 60_000, picture.name
        assert f"](pictures/{picture.name})" in pages


@pytest.mark.parametrize("verb", ["assess", "select", "locate", "repair", "attack", "strengthen", "report"])
def test_every_verb_has_a_picture_with_words_for_those_who_do_not_see_it(verb):
    (told,) = re.findall(rf"!\[(.*)\]\(pictures/{verb}\.png\)", text(f"docs/{verb}.md"))
    assert len(told) > 20


def test_examples_in_docstrings_become_blocks():
    namespace = {"__name__": "doctests"}
    source = (ROOT / "docs" / "doctests.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    kept = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    exec(compile(ast.Module(kept, []), "doctests.py", "exec"), namespace)
    fenced = namespace["fenced"]
    assert fenced("Adds.\n\n>>> 1 + 1\n2\n\nMore.") == "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."
    assert fenced("A.\n\n  >>> f()  # doctest: +SKIP") == "A.\n\n  ```pycon\n  >>> f()\n  ```"
    assert fenced("Nothing.") == "Nothing."
