import sys

import pytest
import torch

from mutiny import Subject, load_subject
from mutiny.core.errors import BadInput

MINE = "from toys import blob_subject\nsubject = blob_subject(1)\ndef make():\n    return blob_subject(2)\n"


def test_from_a_file(tmp_path, monkeypatch):
    (tmp_path / "first_file.py").write_text(MINE)
    found = load_subject(f"{tmp_path}/first_file.py:subject")
    assert isinstance(found, Subject)
    assert found.name == "first_file.py:subject"  # the same from every folder
    monkeypatch.chdir(tmp_path)
    assert len(load_subject("first_file.py:make").models) == 2
    assert load_subject("./first_file.py:subject").name == "first_file.py:subject"


def test_a_name_that_the_user_gave_stays(tmp_path):
    (tmp_path / "named_file.py").write_text("from toys import blob_subject\nmine = blob_subject(1, name='my net')\n")
    assert load_subject(f"{tmp_path}/named_file.py:mine").name == "my net"


def test_from_a_module_beside_the_user(tmp_path, monkeypatch):
    package = tmp_path / "users_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    assert len(load_subject("users_package.inner:subject").models) == 1
    assert sys.path == before


def test_imports_from_beside_the_file_also_in_a_function(tmp_path):
    (tmp_path / "sibling_one.py").write_text("from toys import blob_subject\n")
    (tmp_path / "sibling_two.py").write_text("ORIGINALS = 2\n")
    (tmp_path / "with_siblings.py").write_text(
        "import sibling_one\ndef make():\n    import sibling_two\n"
        "    return sibling_one.blob_subject(sibling_two.ORIGINALS)\n"
    )
    before = list(sys.path)
    assert len(load_subject(f"{tmp_path}/with_siblings.py:make").models) == 2
    assert sys.path == before


def test_classes_of_the_file_can_be_found_as_pickle_and_dataclasses_do(tmp_path):
    (tmp_path / "defines_a_class.py").write_text(
        "from __future__ import annotations\nimport dataclasses\nfrom toys import blob_subject\n"
        "@dataclasses.dataclass\nclass Settings:\n    n: int = 1\nsubject = blob_subject(Settings().n)\n"
    )
    load_subject(f"{tmp_path}/defines_a_class.py:subject")
    assert sys.modules.pop("defines_a_class").Settings().n == 1


@pytest.mark.parametrize("name", ["json", "first_of_two"])
def test_a_file_named_like_a_known_module_does_not_replace_it(tmp_path, name):
    known = sys.modules.get(name)
    (tmp_path / f"{name}.py").write_text(MINE)
    load_subject(f"{tmp_path}/{name}.py:subject")
    if known is not None:
        assert sys.modules[name] is known
    sys.modules.pop("first_of_two", None)


def test_a_file_that_fails_leaves_nothing_behind(tmp_path):
    (tmp_path / "fails_half_way.py").write_text(
        "import sys\nsys.path.append('/nowhere')\nx = 1\nraise RuntimeError(x)\n"
    )
    before = list(sys.path)
    with pytest.raises(BadInput, match=r"line 4: RuntimeError: 1"):
        load_subject(f"{tmp_path}/fails_half_way.py:subject")
    assert "fails_half_way" not in sys.modules
    assert sys.path == before


def test_the_line_is_the_users_not_the_librarys(tmp_path):
    (tmp_path / "fails_in_torch.py").write_text("import torch\n\ntorch.zeros(2) @ torch.zeros(3)\n")
    with pytest.raises(BadInput, match="line 3: RuntimeError"):
        load_subject(f"{tmp_path}/fails_in_torch.py:subject")


def test_errors_of_mutiny_itself_pass_through(tmp_path):
    (tmp_path / "bad_subject.py").write_text("from toys import blob_subject\nsubject = blob_subject(test=([], []))\n")
    with pytest.raises(BadInput, match="test=an empty split"):
        load_subject(f"{tmp_path}/bad_subject.py:subject")


def test_loading_does_not_touch_the_global_seed(tmp_path):
    (tmp_path / "no_seed.py").write_text(MINE)
    torch.manual_seed(7)
    expected = torch.random.get_rng_state()
    load_subject(f"{tmp_path}/no_seed.py:subject")
    assert torch.equal(torch.random.get_rng_state(), expected)
