"""The page about training functions of one's own is true, and its examples train what they should."""

import importlib.util
import re
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.contracts.test_training_operators import TASKS, program

from mutiny import NotApplicable, Subject, assess, load_subject
from mutiny.cli import main
from mutiny.core.records import Status
from mutiny.faults.parsing import as_faults
from mutiny.faults.training import TRAINING_OPERATORS
from mutiny.faults.training.base import Program
from mutiny.models import ModelView
from mutiny.subjects.training import OwnTraining, fingerprint
from mutiny.subjects.training.own import PARTS, TrainingDataset

PAGE = (Path(__file__).parents[2] / "docs" / "own-training.md").read_text()
NEEDS = {"my_subject": None, "lightning_subject": "lightning", "transformers_subject": "transformers.trainer"}
QUICK = {  # enough to be better than a network of zeros
    "my_subject": {"epochs": 6, "batch_size": 16, "learning_rate": 0.02},
    "lightning_subject": {"epochs": 6, "batch_size": 16, "learning_rate": 0.02},
    "transformers_subject": {"epochs": 2, "batch_size": 8, "learning_rate": 0.01},
}
ARM = {"transformers_subject": "ARM(layer=pre_classifier)"}  # it has three activations, and one will do
DENIED = {
    "my_subject": {"LCH": "loss", "RAW": "regularizers"},
    "lightning_subject": {},
    "transformers_subject": {"OCG": "clipping", "RAW": "regularizers"},
}
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*LeafSpec.*",  # Lightning asks torch in a way that torch no longer likes
    "ignore:.*does not have many workers",
    "ignore:.*have no `val_dataloader`",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of the page."""
    made = tmp_path_factory.mktemp("page")
    for name, code in re.findall(r"`(\w+\.py)`[^`]*:\n\n```python\n(.*?)```", PAGE, flags=re.S):
        (made / name).write_text(code)
    assert {path.stem for path in made.iterdir()} == set(NEEDS)
    return made


@pytest.fixture(scope="module", params=NEEDS)
def name(request):
    """An example whose framework can be imported."""
    package = NEEDS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other people's imports
        if package is not None:
            if importlib.util.find_spec(package.partition(".")[0]) is None:
                pytest.skip(f"{package} is not installed")
            skip_if_torchvision_is_broken()
            importlib.import_module(package)
    return request.param


def skip_if_torchvision_is_broken():
    """Both frameworks import torchvision if it is there, and fail if it was built for another torch."""
    if importlib.util.find_spec("torchvision") is None:
        return
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError, OSError) as error:
        pytest.skip(f"torchvision is installed and cannot be imported: {error}")


@pytest.fixture(scope="module")
def subject(name, folder):
    """The example with little data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = load_subject(f"{folder / name}.py:subject")
    return Subject(
        recipe=replace(whole.recipe, **QUICK[name]), task=whole.task, forward=whole.forward, name=name,
        train=whole.train.subset(np.arange(120)), test=whole.test.subset(np.arange(120)),
    )  # fmt: skip


def trained(recipe, data, task, seed=1):
    model = recipe.train(data, task, seed)
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def faulty(subject, text):
    """The program of a subject with the first configuration of a fault."""
    (fault,) = as_faults(text)
    return fault.mutate(program_of(subject), np.random.default_rng(0))


def program_of(subject):
    return Program(subject.recipe, subject.train, subject.task, subject.forward)


def test_one_seed_one_network_and_untouched_generators(subject):
    recipe = replace(subject.recipe, epochs=1)
    before = torch.random.get_rng_state()
    first, again, other = (trained(recipe, subject.train, subject.task, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_fewer_epochs_arrive(subject):
    fewer = faulty(subject, "HNE")
    assert fewer.recipe.epochs == 1
    assert not torch.equal(
        trained(subject.recipe, subject.train, subject.task), trained(fewer.recipe, fewer.data, fewer.task)
    )


def test_less_data_arrives(subject, monkeypatch):
    seen, read = set(), TrainingDataset.__getitem__
    monkeypatch.setattr(TrainingDataset, "__getitem__", lambda self, index: seen.add(index) or read(self, index))
    less = faulty(subject, "TRD(share=0.75)")
    less.recipe.train(less.data, less.task, 1)
    assert 0 < len(seen) <= len(less.data) < len(subject.train) / 2


def test_another_network_arrives(subject, name):
    without = faulty(subject, ARM.get(name, "ARM"))
    model = replace(without.recipe, epochs=1).train(without.data, without.task, 1)
    view = ModelView.of(model, subject.train.first(4), subject.forward)
    assert len(view.activations) == len(program_of(subject).view.activations) - 1


def test_what_is_not_obeyed_says_so(subject, name):
    denied = {}
    for code, kind in TRAINING_OPERATORS.items():
        try:
            kind().configurations(program_of(subject))
        except NotApplicable as reason:
            if found := re.search(r"does not obey (.*)", str(reason)):
                denied[code] = found[1]
    assert denied == DENIED[name]


def test_a_campaign(subject, name, tmp_path):
    result = assess(subject, f"HNE,{ARM.get(name, 'ARM')}", originals=2, folder=tmp_path, method="muff")
    assert [one.code for one in result.operators] == ["HNE", "ARM"]
    assert {one.status for one in result.operators} <= {Status.SCORED, Status.NOT_KILLABLE}
    assert all(one.mutants for one in result.operators)


@pytest.mark.parametrize("name", ["lightning_subject"], indirect=True)
@pytest.mark.parametrize("text", ["LCH", "OCG(clip=norm)", "VRM", "RAW", "HBS", "OCH", "HLR"])
def test_settings_arrive_in_lightning(subject, text):
    """Early stopping has a test of its own, because it changes nothing where the loss falls."""
    short = replace(program_of(subject), recipe=replace(subject.recipe, epochs=1))
    (fault,) = as_faults(text)
    other = fault.mutate(short, np.random.default_rng(0))
    usual = trained(short.recipe, short.data, short.task)
    assert not torch.equal(trained(other.recipe, other.data, other.task), usual)


@pytest.mark.parametrize("name", ["lightning_subject"], indirect=True)
def test_patience_arrives_in_lightning(subject):
    wild = replace(subject.recipe, learning_rate=3.0, epochs=9, patience=8)  # the loss goes up and down
    assert not torch.equal(
        trained(wild, subject.train, subject.task), trained(replace(wild, patience=1), subject.train, subject.task)
    )


def test_what_was_trained_is_found_by_another_process(subject):
    """The state of torch's generator is what differs between processes, beside addresses and the order of sets."""
    marks = set()
    for seed in (1, 2):
        torch.manual_seed(seed)
        marks.add(fingerprint(subject.recipe, subject.train, subject.task, 0, forward=subject.forward))
    assert len(marks) == 1


def test_a_changed_function_is_noticed(folder, tmp_path):
    path = tmp_path / "changed.py"
    marks = []
    for old, new in (("", ""), ("", ""), ("optimizer.step()", "optimizer.step(), optimizer.step()")):
        path.write_text((folder / "my_subject.py").read_text().replace(old, new))
        one = load_subject(f"{path}:subject")
        marks.append(fingerprint(one.recipe, one.train, one.task, 0))
    assert marks[0] == marks[1] != marks[2]


def test_the_table_says_which_operators_a_part_allows():
    _, *rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", PAGE, flags=re.M)
    told = {
        code: {part, *filter(None, [more])}
        for part, cell in rows
        for code, more in re.findall(r"([A-Z]+s?)\b(?: \(with (\w+)\))?", cell)
    }
    assert {part for part, _ in rows} == set(PARTS)
    assert told == {code: changed_parts(code) for code in TRAINING_OPERATORS}


def changed_parts(code):
    """What any configuration of an operator changes, where everything can be changed."""
    has_all = program(TASKS["classification"])
    settings = {each: getattr(has_all.recipe, each) for each in vars(has_all.recipe)}
    recipe = OwnTraining(**settings, function=lambda given: given.build(), obeys=tuple(PARTS))
    found = set()
    for one in TRAINING_OPERATORS[code]().configurations(replace(has_all, recipe=recipe)):
        faulty = one.change(replace(has_all, recipe=recipe), np.random.default_rng(0))
        found |= {"data"} if faulty.data is not has_all.data else set()
        found |= {
            part
            for part, names in PARTS.items()
            if any(each in settings and getattr(faulty.recipe, each) != settings[each] for each in names)
        }
    return found


def test_the_plan_on_the_page_is_what_the_command_prints(folder, monkeypatch, capsys):
    (shown,) = re.findall(r"dry-run`, shortened:\n\n```\n(.*?)```", PAGE, flags=re.S)
    arguments = ["assess", "--method", "muff", f"{folder / 'my_subject'}.py:subject", "--operators", "all", "--dry-run"]
    monkeypatch.setattr(sys, "argv", ["mutiny", *arguments])
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code in (0, None)
    printed = without_times(capsys.readouterr().out)
    for line in filter(lambda line: line != "...", without_times(shown)):
        assert line in printed


def without_times(text):
    """Lines in which the computer's speed does not show."""
    return [" ".join(re.sub(r"\d+ (s|min|h)\b", "", line).split()) for line in text.splitlines()]
