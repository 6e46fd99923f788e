"""Retraining with selected inputs: gains, separation of candidates and evaluation sets, unchanged user objects."""

import copy
import json
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import TensorDataset

import mutiny
from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for, seed_for
from mutiny.models import ModelState
from mutiny.subjects.data import as_data
from mutiny.subjects.data.joined import Joined, contents
from mutiny.verbs.select import Selector
from mutiny.verbs.select.retraining import trials
from mutiny.verbs.select.retraining.result import Retraining
from mutiny.verbs.select.retraining.retraining import accuracy_after_retraining
from mutiny.verbs.select.retraining.roles import halves
from toys import line_subject

NEW = 3.0
"""Where the second coordinate of the cluster lies that training data lack; it is of class 0."""


def points(n, seed, share=0.0):
    """Two clusters, one per class, and a third one between and above them."""
    draw = torch.Generator().manual_seed(seed)
    y, new = torch.arange(n) % 2, torch.rand(n, generator=draw) < share
    centers = torch.stack([4.0 * y - 2, torch.zeros(n)], 1)
    centers[new] = torch.tensor([0.8, NEW])
    return centers + 0.3 * torch.randn(n, 2, generator=draw), torch.where(new, 0, y)


def network():
    return nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 2))


RECIPE = mutiny.Recipe(network, epochs=8, batch_size=20, learning_rate=0.02)


def make(originals=1, **more):
    task, train = mutiny.Classification(2), as_data(points(120, 0), "train")
    models = [RECIPE.train(train, task, seed) for seed in range(originals)]
    usual = {"task": task, "train": train, "test": points(80, 1), "pool": points(300, 2, 0.15), "recipe": RECIPE}
    return mutiny.Subject(models, **usual | more)


@pytest.fixture(scope="module")
def subject():
    return make()


@dataclass(frozen=True)
class Oracle(Selector):
    """Knows where the new cluster lies."""

    code: ClassVar[str] = "oracle"
    title: ClassVar[str] = "oracle"
    source: ClassVar[str] = "here"

    def score(self, evidence):
        return (evidence.pool.first(evidence.size)[:, 1] > NEW / 2).double().numpy()


@pytest.fixture
def seen(monkeypatch):
    """Data of each training and each evaluation; the first evaluations come before any training."""
    found = {"train": [], "judges": []}
    train, evaluate = trials.retrained, trials.evaluate

    def trained(model, recipe, data, *more, **options):
        found["train"].append(data)
        return train(model, recipe, data, *more, **options)

    def evaluated(call, model, data, *more):
        found["judges"].append(data)
        return evaluate(call, model, data, *more)

    monkeypatch.setattr(trials, "retrained", trained)
    monkeypatch.setattr(trials, "evaluate", evaluated)
    return found


def inputs(data):
    """Inputs as a set, by content."""
    return {tuple(row.flatten().tolist()) for row in data.first(len(data))}


def test_labels_of_a_cluster_missing_in_training_increase_accuracy(subject):
    found = accuracy_after_retraining(subject, ["deepgini", Oracle()], 5, epochs=10, repeats=5, learning_rate=0.01)
    gains = found.gains
    assert list(gains) == ["none", "deepgini", "oracle", "random"]
    for method in ("deepgini", "oracle"):
        assert gains[method].after.mean > 0.97
        assert gains[method].gain.mean > 0.06
        assert gains[method].gain.mean > 2 * gains["random"].gain.mean
        assert gains[method].beyond_control.interval.low > 0.05
    assert gains["none"].gain.mean < 0.02
    assert gains["none"].beyond_control.mean == 0
    assert found.test_gains["deepgini"].gain.mean == pytest.approx(0, abs=0.02)  # the test set lacks the cluster too
    assert "deepgini" in str(found)


@pytest.mark.parametrize("repeats", [1, 2])
def test_json_gives_the_same_result_back(subject, tmp_path, repeats):
    result = accuracy_after_retraining(subject, "deepgini,mc-dropout", 5, epochs=1, repeats=repeats)
    file = tmp_path / "retraining.json"
    file.write_text(json.dumps(result.to_json()))
    loaded = mutiny.load_result(file)
    assert loaded == replace(result, seconds=loaded.seconds)  # JSON holds milliseconds
    assert (str(loaded), repr(loaded)) == (str(result), repr(result))
    assert loaded.tables() == result.tables()
    assert loaded.metrics() == result.metrics()


def test_json_of_another_protocol_is_refused(subject):
    value = accuracy_after_retraining(subject, "deepgini", 5, epochs=1, repeats=1).to_json()
    with pytest.raises(BadInput, match="protocol"):
        Retraining.from_json(value | {"protocol": "leaky"})


def test_a_store_gives_the_result_back(subject, tmp_path):
    result = accuracy_after_retraining(subject, budget=5, epochs=1, repeats=1, store=tmp_path / "a.mutiny")
    assert mutiny.load_result(tmp_path / "a.mutiny").to_json() == result.to_json()


def test_tables_and_metrics_name_every_method(subject):
    result = accuracy_after_retraining(subject, "deepgini", 5, epochs=1, repeats=2)
    (control, row, _) = result.tables()["gains"]
    assert (control["method"], control["beyond_control"]) == ("none", 0)
    assert row["after"] == pytest.approx(row["before"] + row["gain"])
    assert row["beyond_control"] == pytest.approx(row["gain"] - control["gain"])
    assert result.metrics()["after.deepgini"] == row["after"]
    assert list(result.tables()) == ["gains", "test_gains"]


def test_numbers_are_those_of_a_loop_by_hand(subject):
    found = accuracy_after_retraining(subject, "deepgini", 20, epochs=2, repeats=1, seed=5, train_inputs=50)
    pool, model = subject.pool, subject.models[0]
    candidates, judges = halves(len(pool), generator_for(5, "retraining", "halves"))
    x, y = pool.first(len(pool)), torch.from_numpy(pool.targets)
    with torch.no_grad():
        unsure = 1 - model(x[candidates]).softmax(1).square().sum(1)
    chosen = candidates[unsure.argsort(descending=True)[:20].numpy()]
    again = np.sort(generator_for(5, "retraining", "train").permutation(120)[:50])
    known, labels = subject.train.first(120)[again], torch.from_numpy(subject.train.targets[again])
    for method, more in (("none", []), ("deepgini", chosen)):
        recipe = mutiny.Recipe(lambda: copy.deepcopy(model), epochs=2, batch_size=20, learning_rate=0.002)
        data = as_data((torch.cat([known, x[more]]), torch.cat([labels, y[more]])), "train")
        after = recipe.train(data, subject.task, seed_for(5, "retraining"))
        with torch.no_grad():
            right = [float((net(x[judges]).argmax(1) == y[judges]).double().mean()) for net in (model, after)]
        gain = found.gains[method]
        assert [gain.before.mean, gain.after.mean] == pytest.approx(right)
        assert gain.gain.mean == pytest.approx(right[1] - right[0])
        assert (gain.gain.n, gain.gain.interval) == (1, None)
    assert (found.budget, found.candidates, found.judges, found.test_judges) == (20, 150, 150, 80)
    assert found.settings["train_inputs"] == 50


def test_evaluation_inputs_are_never_trained_on(seen):
    x, y = points(200, 2)
    x[150:] = x[:50]  # a quarter of the pool is there twice
    subject = make(pool=(x, y), train=(torch.cat([points(120, 0)[0], x[50:60]]), torch.arange(130) % 2))
    found = accuracy_after_retraining(subject, "deepgini", "100%", epochs=1, repeats=2)
    trained = [inputs(data) for data in seen["train"]]
    for repeat in range(2):
        judges = seen["judges"][8 * repeat : 8 * repeat + 8]
        assert len(trained[3 * repeat + 1] - inputs(subject.train)) > 70
        for data in judges:
            assert not inputs(data) & set.union(*trained[3 * repeat : 3 * repeat + 3])
    assert found.judges == min(len(data) for data in seen["judges"][::2]) < 100
    assert any("are not used for evaluation" in note for note in found.notes)


def test_evaluation_uses_the_other_half_and_the_test_set(subject, seen):
    accuracy_after_retraining(subject, "deepgini", 10, epochs=1, repeats=1)
    pool, test = seen["judges"][:2]
    chosen = [set(inputs(data)) - inputs(subject.train) for data in seen["train"]]
    assert [len(new) for new in chosen] == [0, 10, 10]
    assert set.union(*chosen) < inputs(subject.pool) - inputs(pool)
    assert (len(pool), inputs(test)) == (150, inputs(subject.test))
    labels = dict(zip(map(tuple, subject.pool.first(300).tolist()), subject.pool.targets, strict=True))
    data = seen["train"][1]
    rows = map(tuple, data.first(len(data))[120:].tolist())
    assert [labels[row] for row in rows] == data.targets[120:].tolist()


def test_the_papers_protocol_evaluates_on_everything(subject, seen):
    found = accuracy_after_retraining(subject, "deepgini", "100%", protocol="paper", epochs=1, repeats=1)
    assert inputs(seen["judges"][0]) == inputs(subject.pool) == inputs(seen["train"][1]) - inputs(subject.train)
    assert inputs(seen["judges"][1]) == inputs(subject.test)
    assert (found.candidates, found.judges, found.test_judges) == (300, 300, 80)
    assert any("memorized" in note for note in found.notes)


def test_a_test_set_inside_the_pool_is_not_evaluated_separately(subject):
    for own in (make(pool=None), make(pool=points(80, 1))):
        for protocol in ("split", "paper"):
            found = accuracy_after_retraining(own, budget=5, epochs=1, repeats=1, protocol=protocol)
            assert (found.test_judges, found.test_gains) == (0, {})
            assert "test set is in the pool" in found.notes[0]


@pytest.fixture(scope="module")
def images():
    draw = torch.Generator().manual_seed(0)
    x, y = torch.rand(90, 1, 8, 8, generator=draw), torch.arange(90) % 3
    with torch.random.fork_rng(devices=[]):
        net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3)).eval()
    return mutiny.Subject(net, task=mutiny.Classification(3), train=(x[:30], y[:30]), test=(x[30:], y[30:]))


def test_originals_of_candidates_are_not_used_for_evaluation(images, seen):
    pool = mutiny.mutate(images.test)
    found = accuracy_after_retraining(images, budget="100%", pool=pool, epochs=1, repeats=1)
    mutated, clean = seen["judges"][:2]
    assert inputs(clean) == inputs(mutated.clean)
    assert (found.judges, found.test_judges) == (30, 30)
    assert inputs(seen["train"][1]) - inputs(images.train) == inputs(pool) - inputs(mutated)
    found = accuracy_after_retraining(images, budget="100%", pool=pool, epochs=1, repeats=1, protocol="paper")
    assert (found.judges, found.test_judges) == (60, 60)


def test_a_pool_of_mutated_training_inputs_is_refused(images):
    with pytest.raises(BadInput, match="not trained on"):
        accuracy_after_retraining(images, pool=mutiny.mutate(images.train), epochs=1)


def test_one_seed_one_answer(subject):
    first, same, other = (
        accuracy_after_retraining(subject, "deepgini", 30, epochs=2, repeats=2, seed=seed).to_json()
        for seed in (3, 3, 4)
    )
    assert first | {"timing": {}} == same | {"timing": {}}
    assert first["gains"] != other["gains"]


def test_models_data_and_generators_are_untouched(subject):
    states = [ModelState.of(model) for model in subject.models]
    splits = (subject.train, subject.test, subject.pool)
    before = [(data.first(300).clone(), data.targets.copy()) for data in splits]
    random, threads = torch.random.get_rng_state(), torch.get_num_threads()
    with torch.no_grad():
        accuracy_after_retraining(subject, "deepgini,dsa", 10, epochs=1, repeats=1)
    with torch.inference_mode():
        accuracy_after_retraining(subject, "deepgini", 10, epochs=1, repeats=1)
    assert [ModelState.of(model) for model in subject.models] == states
    assert torch.equal(torch.random.get_rng_state(), random)
    assert torch.get_num_threads() == threads
    for data, (x, y) in zip(splits, before, strict=True):
        assert torch.equal(data.first(300), x)
        assert np.array_equal(data.targets, y)


def test_an_interrupt_leaves_everything_as_it_was(tmp_path, monkeypatch):
    def stops(model, x):
        if model.training:
            raise KeyboardInterrupt
        return model(x)

    monkeypatch.setenv("MUTINY_CACHE", str(tmp_path))
    subject = make(forward=stops)
    state, random = ModelState.of(subject.models[0]), torch.random.get_rng_state()
    with pytest.raises(KeyboardInterrupt):
        accuracy_after_retraining(subject)
    assert ModelState.of(subject.models[0]) == state
    assert torch.equal(torch.random.get_rng_state(), random)
    assert not list(tmp_path.iterdir())


def test_originals_take_turns():
    subject = make(originals=2)
    one, two = (accuracy_after_retraining(subject, budget=10, epochs=1, repeats=n) for n in (1, 2))
    _, judges = halves(300, generator_for(seed_for(0, "repeat", 1), "retraining", "halves"))
    with torch.no_grad():
        right = subject.models[1](subject.pool.first(300)).argmax(1).numpy() == subject.pool.targets
    assert two.gains["none"].before.mean == pytest.approx((one.gains["none"].before.mean + right[judges].mean()) / 2)
    assert two.settings["originals"] == 2


def test_a_recipe_alone_trains_an_original(tmp_path):
    subject = mutiny.Subject(
        task=mutiny.Classification(2), train=points(120, 0), test=points(80, 1, 0.2), recipe=RECIPE
    )
    found = accuracy_after_retraining(subject, budget=10, epochs=1, repeats=1, folder=tmp_path)
    assert found.settings["originals"] == len(list(tmp_path.iterdir())) == 1


def test_settings_of_retraining_come_from_recipe_paper_or_arguments(subject):
    told = accuracy_after_retraining(subject, budget=5, epochs=1, repeats=1).settings
    assert (told["optimizer"], told["batch_size"], told["learning_rate"]) == ("adam", 20, pytest.approx(0.002))
    told = accuracy_after_retraining(make(recipe=None), budget=5, epochs=1, repeats=1).settings
    assert (told["optimizer"], told["batch_size"], told["learning_rate"]) == ("sgd", 128, pytest.approx(0.001))
    told = accuracy_after_retraining(subject, budget=5, epochs=2, repeats=1, learning_rate=0.5).settings
    assert (told["epochs"], told["learning_rate"]) == (2, 0.5)


def test_a_double_precision_model_is_retrained_as_it_is():
    subject = make(recipe=None)
    subject.models[0].double()
    assert accuracy_after_retraining(subject, budget=5, epochs=1, repeats=1).gains["none"].before.mean > 0.5


class Steps:
    def __init__(self):
        self.total, self.done = {}, {}

    def stage(self, title, total):
        self.title, self.total[title], self.done[title] = title, total, 0

    def step(self, note="", done=1):
        self.done[self.title] += done


def test_skipped_methods_are_reported_and_progress_adds_up(subject):
    steps = Steps()
    found = accuracy_after_retraining(subject, "mc-dropout,deepgini", 5, epochs=2, repeats=2, progress=steps)
    assert list(found.gains) == ["none", "deepgini", "random"]
    assert "dropout" in found.skipped["mc-dropout"]
    assert "skipped mc-dropout" in str(found)
    assert steps.done == steps.total == {"retraining": 2 * 4 * 2}
    with pytest.raises(BadInput, match="mc-dropout"):
        accuracy_after_retraining(subject, "mc-dropout", 5, epochs=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pool": points(40, 3)[0]}, "40 of 40 inputs without a label"),
        ({"budget": 151}, "at most 150, half of the pool"),
        ({"budget": 301, "protocol": "paper"}, "between 1 and 300"),
        ({"budget": 301}, "between 1 and 300"),
        ({"budget": 1, "pool": (torch.zeros(1, 2), [0])}, "at most 0, half of the pool"),
        ({"budget": "5%", "pool": (torch.zeros(1, 2), [0])}, "at most 0, half of the pool"),
        ({"protocol": "leaky"}, '"split" or "paper"'),
        ({"repeats": 0}, "repeats=0"),
        ({"epochs": 0}, "epochs=0"),
        ({"learning_rate": -1.0}, "learning_rate=-1"),
        ({"train_inputs": 0}, "train_inputs=0"),
        ({"originals": 2}, "originals=2"),
        ({"method": "deepginy"}, "deepgini"),
        ({"pool": (torch.zeros(4, 2), [0, 1, 2, 1])}, "pool label at index 2"),
    ],
)
def test_bad_arguments_are_refused_before_any_training(subject, seen, options, message):
    with pytest.raises(BadInput, match=message):
        accuracy_after_retraining(subject, **options)
    assert not seen["train"]


def test_subjects_that_cannot_be_retrained(subject):
    with pytest.raises(BadInput, match="Classification"):
        accuracy_after_retraining(line_subject())
    with pytest.raises(BadInput, match=r"mutiny\.Subject"):
        accuracy_after_retraining(subject.models[0])
    frozen = make()
    frozen.models[0].requires_grad_(False)
    with pytest.raises(BadInput, match="requires_grad_"):
        accuracy_after_retraining(frozen)


@given(st.lists(st.integers(0, 6), max_size=8), st.lists(st.integers(0, 6), min_size=1, max_size=5))
@settings(max_examples=30, deadline=None)
def test_joined_data_is_one_split_after_the_other(wanted, kept):
    first, second = np.arange(4.0)[:, None], np.arange(4.0, 7.0)[:, None]
    both = Joined(as_data((first, np.arange(4)), "a"), as_data((second, np.arange(4, 7)), "b"))
    assert both.read(np.array(wanted, dtype=np.int64)).flatten().tolist() == [float(item) for item in wanted]
    some = both.subset(np.array(kept))
    assert some.first(9).flatten().tolist() == some.targets.tolist() == kept


def test_joined_data_of_other_kinds():
    x, y = torch.arange(6.0)[:, None], torch.arange(6)
    dataset = as_data(TensorDataset(x[:4], y[:4]), "a")
    both = Joined(dataset, as_data((x[4:], y[4:]), "b"))
    assert [batch.flatten().tolist() for batch in both.batches(2)] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(BadInput, match="class numbers"):
        Joined(dataset, as_data((x, torch.eye(6)), "b"))
    with pytest.raises(BadInput, match="one structure and shape"):
        Joined(dataset, as_data((x.repeat(1, 2), y), "b")).first(5)


def test_contents_tell_inputs_apart():
    x = torch.rand(5, 3, generator=torch.Generator().manual_seed(0))
    keys = contents(as_data((x, range(5)), "a"))
    assert keys.shape == (5, 1)
    assert len(np.unique(keys)) == 5
    assert np.array_equal(contents(as_data((x.double().flip(0), range(5)), "a")), keys[::-1])
    pairs = contents(as_data(((x, torch.tensor([0, 0, 0, 0, 1])), range(5)), "a"))
    again = contents(as_data(((x, torch.zeros(5, dtype=torch.int64)), range(5)), "a"))
    assert (pairs == again).flatten().tolist() == [True] * 4 + [False]
    pool = mutiny.mutate((torch.rand(5, 1, 8, 8), range(5)))
    assert np.array_equal(contents(pool)[:, 1:], contents(pool.clean))
