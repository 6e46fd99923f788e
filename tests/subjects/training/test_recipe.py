import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for, seed_for
from mutiny.subjects.data import as_data
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.tasks import Classification, Regression
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.loop import SCHEDULES
from mutiny.subjects.training.losses import loss_for

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0).astype(np.int64)
DATA = as_data((X, Y), "train")


def build():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))


def build_normed():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))


def torch_schedule(name, optimizer, total):
    if name == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total)
    rate = optimizer.param_groups[0]["lr"]
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=total, cycle_momentum=False)


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (torch.optim.SGD, {"momentum": 0.9}),
        (torch.optim.Adam, {"betas": (0.8, 0.99)}),
        (torch.optim.AdamW, {}),
        (torch.optim.RMSprop, {}),
        (torch.optim.Adadelta, {}),
        (torch.optim.Adagrad, {}),
        (torch.optim.NAdam, {}),
    ],
)
def test_training_equals_an_explicit_loop_bit_for_bit(kind, settings):
    recipe = Recipe(
        build,
        epochs=3,
        batch_size=16,
        learning_rate=0.05,
        optimizer=kind.__name__.lower(),
        optimizer_settings=settings,
        weight_decay=1e-3,
    )
    trained = recipe.train(DATA, Classification(2), seed=5)
    with torch.random.fork_rng():
        torch.manual_seed(seed_for(5, "train"))
        model = build()
        optimizer = kind(model.parameters(), lr=0.05, weight_decay=1e-3, **settings)
        orders = generator_for(5, "shuffle")
        for _ in range(3):
            order = orders.permutation(50)
            for chosen in (order[:16], order[16:32], order[32:48], order[48:]):
                optimizer.zero_grad()
                nn.CrossEntropyLoss()(model(torch.tensor(X[chosen])), torch.tensor(Y[chosen])).backward()
                optimizer.step()
    assert same(trained, model)
    assert not trained.training
    assert all(parameter.grad is None for parameter in trained.parameters())


@pytest.mark.parametrize("schedule", ["cosine", "onecycle"])
def test_schedules_are_followed_step_by_step(schedule):
    recipe = Recipe(build, epochs=3, batch_size=10, learning_rate=0.05, optimizer="sgd", schedule=schedule)
    trained = recipe.train(DATA, Classification(2), seed=5)
    with torch.random.fork_rng():
        torch.manual_seed(seed_for(5, "train"))
        model = build()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        reference = torch_schedule(schedule, optimizer, 15)
        orders = generator_for(5, "shuffle")
        for chosen in np.concatenate([orders.permutation(50).reshape(5, 10) for _ in range(3)]):
            optimizer.zero_grad()
            nn.CrossEntropyLoss()(model(torch.tensor(X[chosen])), torch.tensor(Y[chosen])).backward()
            optimizer.step()
            if reference.last_epoch < 14:
                reference.step()
    torch.testing.assert_close(list(trained.parameters()), list(model.parameters()))


@pytest.mark.parametrize("task", [Classification(2), Regression(0.1)])
@pytest.mark.parametrize("validation", [0.0, 0.2])
def test_inputs_follow_the_type_of_the_network(task, validation):
    recipe = Recipe(
        lambda: nn.Linear(4, 2 if task == Classification(2) else 1).double(), epochs=2, validation=validation
    )
    y = Y if task == Classification(2) else X[:, 1]
    from_arrays = recipe.train(as_data((X.astype(np.float64), y), "train"), task, 1)
    exact = recipe.train(as_data((torch.from_numpy(X).double(), y), "train"), task, 1)
    assert from_arrays.weight.dtype == torch.float64
    assert same(from_arrays, exact)


def test_one_seed_one_network_and_the_callers_generator_is_untouched():
    recipe = Recipe(build, epochs=2)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = recipe.train(DATA, Classification(2), 0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert same(first, recipe.train(DATA, Classification(2), 0))
    assert not same(first, recipe.train(DATA, Classification(2), 1))


def test_generator_is_restored_after_an_error():
    before = torch.get_rng_state()
    with pytest.raises(BadInput, match="learning_rate=1e"):
        Recipe(build, learning_rate=1e30, optimizer="sgd").train(DATA, Classification(2), 0)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["cosine", "onecycle"])
@pytest.mark.parametrize("total", [7, 11, 100])
def test_schedules_equal_torchs(name, total):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    reference = torch_schedule(name, optimizer, total)
    for step in range(total):
        assert SCHEDULES[name](step, total) == pytest.approx(optimizer.param_groups[0]["lr"], abs=1e-9)
        optimizer.step()
        if step < total - 1:
            reference.step()


def test_every_schedule_is_finite_for_any_number_of_steps():
    for function in SCHEDULES.values():
        assert all(0 <= function(step, total) <= 1 for total in range(1, 30) for step in range(total))


def test_a_last_item_alone_joins_the_batch_before_it():
    data = as_data((X[:17], Y[:17]), "train")
    model = Recipe(build_normed, epochs=1, batch_size=8).train(data, Classification(2), 0)
    assert int(model[1].num_batches_tracked) == 2


def test_probabilities_train_with_the_log_of_probabilities():
    def softmaxed():
        return nn.Sequential(nn.Linear(4, 2), nn.Softmax(dim=1))

    recipe = Recipe(softmaxed, epochs=2, learning_rate=0.1, optimizer="sgd")
    on_probabilities = recipe.train(DATA, Classification(2), 0)
    on_logits = replace(recipe, build=lambda: nn.Sequential(nn.Linear(4, 2))).train(DATA, Classification(2), 0)
    torch.testing.assert_close(on_probabilities[0].weight, on_logits[0].weight)
    with pytest.raises(BadInput, match="outputs"):
        recipe.train(DATA, Classification(2, "logits"), 0)


def test_one_column():
    with pytest.raises(BadInput, match="use Classification"):
        Recipe(lambda: nn.Linear(4, 1)).train(DATA, Classification(2), 0)
    recipe = Recipe(lambda: nn.Linear(4, 1), epochs=60, learning_rate=0.05)
    model = recipe.train(DATA, Classification(2, "logits"), 0)
    assert ((model(DATA.first(50))[:, 0] > 0).numpy() == Y).mean() > 0.9


@pytest.mark.parametrize("metric", ["mse", "mae"])
def test_regression_learns_a_line(metric):
    data = as_data((X, X @ np.array([1.0, -2.0, 0.5, 0.0]) + 3), "train")
    recipe = Recipe(lambda: nn.Linear(4, 1), epochs=150, batch_size=10, learning_rate=0.05, schedule="cosine")
    model = recipe.train(data, Regression(0.1, metric), 0)
    np.testing.assert_allclose(model.weight.detach().numpy()[0], [1, -2, 0.5, 0], atol=0.02)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("mse", lambda p, y: ((p - torch.eye(3)[y]) ** 2).mean()),
        ("mae", lambda p, y: (p - torch.eye(3)[y]).abs().mean()),
    ],
)
def test_named_classification_losses(name, reference):
    logits, targets = torch.tensor([[1.0, 2.0, -1.0], [0.0, 0.5, 3.0]]), torch.tensor([1, 0])
    loss = loss_for(Classification(3), logits, name)
    torch.testing.assert_close(loss(logits, targets), reference(logits.softmax(1), targets))


def test_loss_functions_forward_and_progress():
    seen = []

    def weighted(outputs, targets):
        return nn.functional.cross_entropy(outputs, targets, weight=torch.tensor([1.0, 2.0]))

    data = as_data(({"a": X[:, :2], "b": X[:, 2:]}, Y), "train")
    model = Recipe(build, epochs=2, loss=weighted).train(
        data,
        Classification(2),
        0,
        forward=lambda net, parts: net(torch.cat([parts["a"], parts["b"]], dim=1)),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(1, 2), (2, 2)]
    assert same(model, Recipe(build, epochs=2, loss=weighted).train(DATA, Classification(2), 0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs=0"),
        ({"batch_size": 1.5}, "batch_size=1.5"),
        ({"learning_rate": -1}, "learning_rate=-1: expected a number above 0"),
        ({"learning_rate": "0.1"}, "learning_rate='0.1': expected a number above 0"),
        ({"learning_rate": float("nan")}, "learning_rate=nan"),
        ({"weight_decay": -0.1}, "weight_decay=-0.1"),
        ({"optimizer": "lbfgs"}, "optimizer='lbfgs'"),
        ({"loss": "huge"}, "loss='huge'"),
        ({"schedule": "linear"}, "schedule='linear'"),
        ({"build": nn.Linear(1, 1)}, "build=Linear"),
    ],
)
def test_bad_settings_get_a_sentence(change, message):
    with pytest.raises(BadInput) as error:
        replace(Recipe(build), **change)
    assert message in str(error.value)


def test_errors_while_training():
    cases = [
        (Recipe(build, optimizer_settings={"momentun": 0.9}), "momentun"),
        (Recipe(build, optimizer="rprop", weight_decay=0.1), "weight_decay=0.1"),
        (Recipe(lambda: 3), "returns int"),
        (Recipe(nn.ReLU), "without trainable"),
        (Recipe(lambda: nn.Linear(4, 3)), r"model output=shape \(50, 3\)"),
    ]
    for recipe, message in cases:
        with pytest.raises(BadInput, match=message):
            recipe.train(DATA, Classification(2), 0)


def test_recipes_hash_compare_and_pickle():
    recipe = Recipe(build, optimizer_settings={"betas": (0.8, 0.9)})
    assert recipe == replace(recipe)
    assert hash(recipe) == hash(replace(recipe))
    settings = {"momentum": 0.9}
    kept = Recipe(nn.ReLU, optimizer_settings=settings)
    settings["momentum"] = 0.1
    assert pickle.loads(pickle.dumps(kept)).optimizer_settings == {"momentum": 0.9}


def test_seeded_restores_after_an_exception():
    def fail():
        with seeded(3):
            torch.rand(5)
            raise KeyError

    before = torch.get_rng_state()
    with pytest.raises(KeyError):
        fail()
    assert torch.equal(torch.get_rng_state(), before)
