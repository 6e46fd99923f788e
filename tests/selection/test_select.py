"""`select` from end to end: what users hand over, what they get, what they are told."""

import json

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import mutiny
from mutiny.errors import BadInput
from mutiny.models import ModelState
from mutiny.selection.budget import as_count
from mutiny.selection.diverse import farthest_first

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).astype(np.float32)
Y = (X.sum(1) > 0).astype(int)


@pytest.fixture
def net():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)).eval()


@pytest.fixture
def subject(net):
    return mutiny.Subject(net, task=mutiny.Classification(2), train=(X, Y), test=(X[:30], Y[:30]), pool=X, name="toy")


class Bare(Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, index):
        return torch.from_numpy(X[index])


def test_every_kind_of_pool_gives_the_same_order(net):
    pools = [
        X, torch.from_numpy(X), (X, Y), (X, None), TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)), Bare(),
        DataLoader(Bare(), batch_size=7), TensorDataset(torch.from_numpy(X)),
        DataLoader(TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)), batch_size=9, shuffle=True),
    ]  # fmt: skip
    orders = [mutiny.select(net, "deepgini", 5, pool=pool, batch_size=60).order for pool in pools]
    assert all(np.array_equal(order, orders[0]) for order in orders)
    with torch.no_grad():
        unsure = 1 - net(torch.from_numpy(X)).softmax(1).square().sum(1)
    assert orders[0].tolist() == unsure.argsort(descending=True).tolist()


def test_labels_never_change_the_order(net):
    plain = mutiny.select(net, "nss,dsa,nac", 5, pool=X, train=(X, Y))
    told = mutiny.select(net, "nss,dsa,nac", 5, pool=(X, 1 - Y), train=(X, Y))
    for one, other in zip(plain.rankings, told.rankings, strict=True):
        assert np.array_equal(one.order, other.order)
        assert one.quality is None
        assert other.quality is not None


def test_what_a_selection_holds(subject):
    before = ModelState.of(subject.models[0])
    result = mutiny.select(subject, "deepgini,random", "10%")
    assert before == ModelState.of(subject.models[0])
    assert result.budget == 6
    assert result.chosen.tolist() == result.order[:6].tolist()
    assert "deepgini" in repr(result)
    plain = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert plain["verb"] == "select"
    assert plain["order"] == result.order.tolist()
    assert plain["metrics"] is None
    again = mutiny.select(subject, "deepgini,random", "10%").to_json()
    assert again | {"timing": 0} == plain | {"timing": 0}


def test_the_test_set_is_the_pool_if_there_is_none(net):
    subject = mutiny.Subject(net, task=mutiny.Classification(2), train=(X, Y), test=(X[:30], Y[:30]))
    result = mutiny.select(subject, "random", 0.5, repeats=4)
    assert any("the test set" in note for note in result.notes)
    with torch.no_grad():
        wrong = net(torch.from_numpy(X[:30])).argmax(1).numpy() != Y[:30]
    assert result.subject["pool"]["wrong"] == wrong.sum()
    ranking = result.rankings[0]
    assert ranking.quality.fdr == pytest.approx(wrong[ranking.order[:15]].mean())
    assert result.references["random"]["fdr"] == pytest.approx(wrong.mean())
    assert ranking.repeated["fdr"].n == 4
    assert ranking.repeated["fdr"].interval.low <= ranking.repeated["fdr"].mean <= ranking.repeated["fdr"].interval.high


def test_regression_pools(net):
    head = nn.Sequential(net, nn.Linear(2, 1)).eval()
    subject = mutiny.Subject(
        head, task=mutiny.Regression(0.5), train=(X, X[:, 0]), test=(X, X[:, 0]), name="numbers"
    )  # fmt: skip
    result = mutiny.select(subject, budget=10)
    assert result.rankings[0].method == "kill-rate"
    assert result.rankings[0].quality.rauc is None
    assert mutiny.select(subject, "mdsa,lsa,nss", 10).rankings[2].method == "nss"


def test_diverse_budgets_spread(net):
    crowd = np.concatenate([np.repeat(X[:1], 40, axis=0), X])
    plain = mutiny.select(net, "deepgini", 10, pool=crowd)
    spread = mutiny.select(net, "deepgini", 10, pool=crowd, diverse=True)
    assert sorted(spread.order.tolist()) == list(range(100))
    assert spread.order[0] == plain.order[0]
    assert (spread.chosen < 41).sum() <= 1 + (plain.chosen < 41).sum()
    points = torch.from_numpy(X).double()
    taken = [0]
    while len(taken) < 8:  # the slow, obvious way
        distances = torch.stack([(points - points[one]).norm(dim=1) for one in taken]).amin(0)
        taken.append(int(distances.argmax()))
    assert farthest_first(points, 8).tolist() == taken


@pytest.mark.parametrize(
    ("budget", "count"), [(3, 3), (0.5, 50), ("5%", 5), ("0.5%", 1), (1.0, 100), ("100%", 100), (100, 100), ("7", 7)]
)
def test_budgets(budget, count):
    assert as_count(budget, 100) == count


@pytest.mark.parametrize("budget", [0, 101, -1, 1.5, "101%", "0%", "much", "", None, True, "5 %%", -0.1, "-5%"])
def test_budgets_that_make_no_sense(budget):
    with pytest.raises(BadInput, match="budget"):
        as_count(budget, 100)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "mc-dropout"}, "no dropout"),
        ({"method": "deepginy"}, "Did you mean deepgini"),
        ({"method": "nss", "layers": "1x"}, "Did you mean"),
        ({"method": "nss", "layers": "zzzz"}, "It has: "),
        ({"method": "deepgini", "budget": "150%"}, "at most 100%"),
        ({"method": "disagreement"}, "originals"),
        ({"method": "deepgini", "pool": np.full((3, 4), np.nan)}, "pool inputs=NaN"),
        ({"method": "deepgini", "pool": np.zeros((0, 4))}, "empty"),
        ({"method": "deepgini", "repeats": 0}, "repeats"),
        ({"method": "deepgini", "train": (X, Y)}, "a Subject that holds it"),
        ({"method": "nss(variant=authors-code)"}, "clean originals"),
        ({"method": "nss(share=2)"}, "between 0 and 1"),
        ({"method": "nss(neurons=2)"}, "a name among share"),
    ],
)
def test_mistakes_are_answered(subject, settings, message):
    with pytest.raises(BadInput, match=message):
        mutiny.select(subject, **settings)


def test_a_model_alone_needs_a_pool_and_some_methods_more(net):
    with pytest.raises(BadInput, match="Give pool=inputs"):
        mutiny.select(net)
    with pytest.raises(BadInput, match="give train="):
        mutiny.select(net, "dsa", pool=X)
    with pytest.raises(BadInput, match="training mode"):
        mutiny.select(nn.Linear(4, 2), pool=X)
    with pytest.raises(BadInput, match="what an output of shape"):
        mutiny.select(nn.Linear(4, 1).eval(), pool=X)
    with pytest.raises(BadInput, match="or a model with pool"):
        mutiny.select("deepgini", pool=X)


def test_one_class_only(net):
    with torch.no_grad():
        net[2].bias.copy_(torch.tensor([50.0, 0.0]))  # the network always says 0
    result = mutiny.select(net, "all", 5, pool=(X, np.zeros(60, int)), train=(X, Y))
    assert any("label 0" in note for note in result.notes)
    assert any("right" in note for note in result.notes)
    assert "dsa" in result.skipped
