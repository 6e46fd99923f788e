"""Contract of all verbs: the model stays as it is, and inference mode and threads of the caller change nothing."""

import inspect

import pytest
import torch

import mutiny
import toys
from campaigns.interrupting import plain
from mutiny.models import ModelState
from mutiny.verbs.attack.attack import mutants_of
from mutiny.verbs.attack.mutants import Choice

MODEL, OTHER = toys.classifier(), toys.classifier(1)
TEAM = Choice(count=2, iterations=4, ratios=(0.2,))
VERBS = {
    "assess": lambda subject: mutiny.assess(subject, "GF,NEB", seeds=1),
    "assess with muff": lambda subject: mutiny.assess(subject, "WI(ratio=0.3)", method="muff"),
    "compare": lambda subject: mutiny.compare(subject, OTHER),
    "select": lambda subject: mutiny.select(subject, "npc,nss,dsa,prima-kill", 5),
    "accuracy_after_retraining": lambda subject: mutiny.accuracy_after_retraining(
        subject, "npc", 20, epochs=1, repeats=1
    ),
    "strengthen": lambda subject: mutiny.strengthen(subject, budget=5, operators="NEB", seeds=1),
    "locate": lambda subject: mutiny.locate(subject, k=3),
    "synthesize": lambda subject: mutiny.synthesize(subject, mutiny.locate(subject, k=3), count=3),
    "repair by search": lambda subject: mutiny.repair(subject, "search(generations=2)"),
    "repair by tune": lambda subject: mutiny.repair(subject, "tune(epochs=1)"),
    "attack": lambda subject: mutiny.attack(subject, "pgd(iterations=2)", low=-9, high=9, mutants=TEAM, count=20),
    "mutants_of": lambda subject: mutants_of(subject, TEAM, count=20),
}


def subject(convert, model=MODEL) -> mutiny.Subject:
    """A model whose data is made in the mode of the caller."""
    sizes = {"train": (240, 0), "test": (120, 1), "validation": (150, 2), "pool": (100, 3)}
    sets = {name: toys.blobs(size, seed=seed) for name, (size, seed) in sizes.items()}
    return mutiny.Subject(model, task=mutiny.Classification(3), **{name: convert(*xy) for name, xy in sets.items()})


def told(result):
    """What a result says, apart from times."""
    if isinstance(result, tuple):
        return [str(mutant.spec) for mutant in result]
    return without_times(plain(result))


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key != "seconds"}
    return [without_times(each) for each in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("verb", VERBS)
def test_the_inference_mode_of_the_caller_changes_nothing(verb):
    before = ModelState.of(MODEL)
    plainly = told(VERBS[verb](subject(lambda x, y: (x, y))))
    with torch.inference_mode():
        assert told(VERBS[verb](subject(lambda x, y: (x, y)))) == plainly
        assert told(VERBS[verb](subject(lambda x, y: (x.clone(), y.clone())))) == plainly  # tensors without gradients
        assert told(VERBS[verb](subject(lambda x, y: (x.numpy(), y.numpy())))) == plainly
        assert torch.is_inference_mode_enabled()
    assert ModelState.of(MODEL) == before


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_uses_one_thread_and_restores_the_number_of_the_caller(verb, two_threads):
    used = set()

    def forward(model, inputs):
        used.add(torch.get_num_threads())
        return model(inputs)

    given = subject(lambda x, y: (x, y))
    given.forward = forward
    VERBS[verb](given)
    assert used == {1}
    assert torch.get_num_threads() == 2


def test_threads_are_those_asked_for_and_restored_after_an_error():
    seen, before = [], torch.get_num_threads()

    def forward(model, inputs):
        seen.append(torch.get_num_threads())
        if len(seen) > 5:
            raise ValueError("an error of the user's code")
        return model(inputs)

    given = subject(lambda x, y: (x, y))
    given.forward = forward
    with pytest.raises(Exception, match="an error of the user's code"):
        mutiny.assess(given, "GF", seeds=1, threads=before + 1)
    assert set(seen) == {before + 1}
    assert torch.get_num_threads() == before
    with pytest.raises(mutiny.BadInput, match="threads=0: expected a whole number of at least 1"):
        mutiny.select(given, "npc", threads=0)


SHARED = {"seed": 0, "device": None, "batch_size": None, "threads": 1, "engine": None, "workers": None, "store": None}
SHARED |= {"folder": None, "progress": None}


@pytest.mark.parametrize("name", ["assess", "compare", "select", "strengthen", "locate", "repair", "attack"])
def test_all_verbs_have_the_same_arguments_for_how_to_run(name):
    parameters = inspect.signature(getattr(mutiny, name)).parameters
    assert {argument: parameters[argument].default for argument in SHARED} == SHARED
    assert [argument for argument in parameters if argument in SHARED] == [*SHARED]


def test_a_model_that_was_changed_while_mutants_were_created_is_an_error(monkeypatch):
    def careless(attacked, choice):
        with torch.no_grad():
            attacked.model[0].bias += choice.count
        return ()

    monkeypatch.setattr("mutiny.verbs.attack.mutants_verb.create_mutants", careless)
    with pytest.raises(RuntimeError, match="was changed"):
        mutants_of(subject(lambda x, y: (x, y), toys.classifier()), TEAM)
