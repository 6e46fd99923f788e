"""Methods of surprise on small networks: against scipy, scikit-learn and slow loops on the same activations."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import mahalanobis as scipys
from scipy.stats import gaussian_kde, special_ortho_group
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture
from torch import nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification, Regression
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.surprise import mlsa, mmdsa
from mutiny.verbs.select.surprise.base import Grouped
from mutiny.verbs.select.surprise.coverage import buckets_of
from mutiny.verbs.select.surprise.dsa import Dsa
from mutiny.verbs.select.surprise.lsa import Lsa, columns_kept
from mutiny.verbs.select.surprise.mdsa import Mdsa
from mutiny.verbs.select.surprise.mlsa import Mlsa
from mutiny.verbs.select.surprise.mmdsa import Mmdsa
from mutiny.verbs.select.traces import Traces

pytestmark = pytest.mark.rounding

ALL = [Lsa(), Dsa(), Mdsa(), Mlsa(), Mmdsa()]
FOR_REGRESSION = [Lsa(), Mdsa(), Mlsa(), Mmdsa()]
codes = pytest.mark.parametrize("method", ALL, ids=lambda method: method.code)


def network(outputs=3, hidden=5, activation=nn.Tanh):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, hidden), activation(), nn.Linear(hidden, outputs)).eval()


def inputs(n, seed, scale=2.0):
    return scale * np.random.default_rng(seed).standard_normal((n, 4)).astype(np.float32)


def evidence(model=None, pool=40, train=150, task=None, batch_size=16, seed=0, hidden=5):
    model = model or network(hidden=hidden)
    task = task or Classification(3, "logits")
    pool = inputs(pool, 0) if isinstance(pool, int) else pool
    train = inputs(train, 1) if isinstance(train, int) else train
    data = [as_data((x, np.zeros(len(x), int)), name) for x, name in ((pool, "pool"), (train, "train"))]
    return Evidence([model], task, *data, seed=seed, batch_size=batch_size)


def activations(evidence, split):
    """Hidden activations and predicted classes, from the model's parts."""
    model, data = evidence.model, evidence.data(split)
    with torch.inference_mode():
        hidden = model[:2](data.read(slice(0, len(data))))
        return hidden.double().numpy(), model[2](hidden).argmax(dim=1).numpy()


def by_class(evidence, judge):
    """A score for each input of the pool from ``judge(training activations of its class, its activations)``."""
    (train, known), (pool, new) = (activations(evidence, split) for split in ("train", "pool"))
    return [judge(train[known == label], trace) for trace, label in zip(pool, new, strict=True)]


def grouped(matrix, groups):
    traces = Traces(*matrix.shape)
    traces.add(torch.from_numpy(np.asarray(matrix, np.float32)))
    return Grouped(traces, np.asarray(groups, np.int64))


def noted(evidence, text):
    return any(text in note for note in evidence.notes)


# what they compute


def test_lsa_is_minus_scipys_log_density_in_the_predicted_class():
    seen = evidence()
    expected = by_class(seen, lambda train, trace: -gaussian_kde(train.T).logpdf(trace)[0])
    assert Lsa().score(seen) == pytest.approx(expected, rel=1e-4, abs=1e-4)  # the network's own rounding
    assert not noted(seen, "directions")


def test_lsa_of_the_same_traces_is_scipys_to_eight_digits():
    rng = np.random.default_rng(0)
    train, pool = rng.standard_normal((90, 6)).astype(np.float32), rng.standard_normal((20, 6)).astype(np.float32)
    known, new = np.arange(90) % 3, np.arange(20) % 3
    found = Lsa().surprise(grouped(train, known), grouped(pool, new), evidence())
    for label in range(3):
        kde = gaussian_kde(train[known == label].T.astype(np.float64))
        assert found[new == label] == pytest.approx(-kde.logpdf(pool[new == label].T), rel=1e-8)


def test_mdsa_is_scipys_distance_to_the_predicted_class_or_to_all():
    def judge(train, trace):
        return scipys(trace, train.mean(axis=0), np.linalg.inv(np.cov(train.T, bias=True)))

    seen = evidence()
    assert Mdsa().score(seen) == pytest.approx(by_class(seen, judge), rel=1e-3)
    train, pool = activations(seen, "train")[0], activations(seen, "pool")[0]
    assert Mdsa(per_class=False).score(seen) == pytest.approx([judge(train, trace) for trace in pool], rel=1e-3)


def loop_dsa(train, known, pool, new, from_input=False):
    scores = []
    for trace, label in zip(pool, new, strict=True):
        own, others = train[known == label], train[known != label]
        distances = [np.sqrt(((trace - one) ** 2).sum()) for one in own]
        start = trace if from_input else own[int(np.argmin(distances))]
        scores.append(min(distances) / min(np.sqrt(((start - one) ** 2).sum()) for one in others))
    return scores


@pytest.mark.parametrize("variant", ["from-train", "from-input"])
def test_dsa_is_that_of_the_loop(variant):
    seen = evidence()
    expected = loop_dsa(*activations(seen, "train"), *activations(seen, "pool"), variant == "from-input")
    assert Dsa(variant=variant).score(seen) == pytest.approx(expected, rel=1e-3)


@given(st.integers(0, 2**32 - 1), st.integers(4, 40), st.integers(1, 6), st.sampled_from(["from-train", "from-input"]))
@settings(max_examples=30, deadline=None)
def test_dsa_of_the_same_traces_is_that_of_the_loop(seed, n, d, variant):
    rng = np.random.default_rng(seed)
    train, pool = (rng.standard_normal((size, d)).astype(np.float32) for size in (n, 12))
    known, new = np.arange(n) % 3, np.arange(12) % 3
    found = Dsa(variant=variant).surprise(grouped(train, known), grouped(pool, new), evidence())
    expected = loop_dsa(train.astype(float), known, pool.astype(float), new, variant == "from-input")
    assert found == pytest.approx(expected, rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.floats(-5, 5))
@settings(max_examples=20, deadline=None)
def test_dsa_and_mdsa_do_not_change_when_all_traces_are_turned_and_moved(seed, shift):
    rng = np.random.default_rng(seed)
    train, pool = rng.standard_normal((60, 4)), rng.standard_normal((12, 4))
    known, new = np.arange(60) % 3, np.arange(12) % 3
    turn = special_ortho_group.rvs(4, random_state=rng)
    for method in (Dsa(), Mdsa()):
        before = method.surprise(grouped(train, known), grouped(pool, new), evidence())
        after = method.surprise(grouped(train @ turn + shift, known), grouped(pool @ turn + shift, new), evidence())
        assert after == pytest.approx(before, rel=1e-3)


def test_a_training_input_has_no_distance_based_surprise():
    assert (Dsa().score(evidence(pool=inputs(150, 1))) == 0).all()


def test_mlsa_is_scikit_learns_mixture_with_the_same_seed():
    seen = evidence()
    (train, known), (pool, new) = (activations(seen, split) for split in ("train", "pool"))
    found = Mlsa().score(seen)
    for label in set(new.tolist()):
        points = train[known == label]
        ridge = 1e-6 * points.var(axis=0).mean()
        seed = int(seen.rng("mlsa", label).integers(2**31))
        mixture = GaussianMixture(3, reg_covar=ridge, random_state=seed).fit(points)
        assert found[new == label] == pytest.approx(-mixture.score_samples(pool[new == label]), rel=1e-2)


def test_mmdsa_is_the_distance_to_the_cluster_that_scikit_learn_finds():
    seen = evidence(train=120)
    train, pool = activations(seen, "train")[0], activations(seen, "pool")[0]
    rng = seen.rng("mmdsa", 0)
    sample = train[np.sort(rng.choice(120, 36, replace=False))]
    seed = int(rng.integers(2**31))
    fits = [KMeans(k, n_init=10, random_state=seed).fit(sample) for k in (2, 3, 4, 5)]
    best = max(fits, key=lambda fit: silhouette_score(sample, fit.labels_))
    labels, expected = best.predict(train), []
    for trace, label in zip(pool, best.predict(pool), strict=True):
        points = train[labels == label]
        expected.append(scipys(trace, points.mean(axis=0), np.linalg.inv(np.cov(points.T, bias=True))))
    assert Mmdsa().score(seen) == pytest.approx(expected, rel=1e-2)


def test_mmdsa_per_class_never_compares_with_another_class():
    """Two classes far apart that both have two clusters."""
    rng = np.random.default_rng(0)
    known = np.repeat([0, 1], 80)
    centers = np.where(known == 0, 0, 100) + np.tile([0, 10], 80)
    train = centers[:, None] + rng.standard_normal((160, 3))
    pool = np.array([[0.0] * 3, [10.0] * 3, [100.0] * 3, [110.0] * 3, [5.0] * 3])
    near = Mmdsa(per_class=True).surprise(grouped(train, known), grouped(pool, [0, 0, 1, 1, 0]), evidence())
    wrong = Mmdsa(per_class=True).surprise(grouped(train, known), grouped(pool, [1, 1, 0, 0, 1]), evidence())
    assert (near[:4] < 2).all()
    assert near[4] > 4
    assert (wrong > 50).all()


def test_samples_are_bounded(monkeypatch):
    monkeypatch.setattr(mlsa, "SAMPLE", 20)
    monkeypatch.setattr(mmdsa, "SAMPLE", 20)
    sizes = []
    for module, name in ((mlsa, "fitted_mixture"), (mmdsa, "best_clusters")):
        whole = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda points, *rest, whole=whole: sizes.append(len(points)) or whole(points, *rest)
        )
    for method in (Mlsa(), Mmdsa()):
        assert np.isfinite(method.score(evidence())).all()
    assert max(sizes) == 20


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_few_or_equal_points_form_one_cluster(n):
    assert len(mmdsa.best_clusters(np.ones((n, 2)), (2, 3, 4, 5), seed=0)) == 1


# laws of all


@codes
@pytest.mark.parametrize("by", ["score", "coverage"])
def test_scores_are_finite_and_depend_on_the_seed_only(method, by):
    method = type(method)(by=by)
    first, again, small = (method.score(evidence(batch_size=size)) for size in (16, 16, 5))
    assert first.shape == (40,)
    assert first.dtype == np.float64
    assert np.isfinite(first).all()
    assert np.array_equal(first, again)
    if by == "score":
        assert small == pytest.approx(first, rel=1e-2)


@codes
def test_far_from_all_training_data_is_more_surprising(method):
    pool = np.concatenate([inputs(30, 5), 1000 * np.abs(inputs(3, 6))]).astype(np.float32)
    model = network(activation=nn.ReLU)
    scores = method.score(evidence(model, pool=pool, train=400))
    assert scores[:30].max() < scores[30:].min()


@pytest.mark.parametrize("method", FOR_REGRESSION, ids=lambda method: method.code)
def test_regression_has_one_group(method):
    seen = evidence(network(1), task=Regression(0.1))
    order, scores = method.rank(seen)
    assert np.isfinite(scores).all()
    if method.code == "mdsa":
        whole = Mdsa(per_class=False).score(evidence(network(1), task=Regression(0.1)))
        assert np.array_equal(scores, whole)
    assert sorted(order.tolist()) == list(range(40))


def test_dsa_needs_classes():
    with pytest.raises(NotApplicable, match="classification only"):
        Dsa().rank(evidence(network(1), task=Regression(0.1)))


@codes
def test_training_data_is_needed(method):
    seen = evidence()
    seen._train = None
    with pytest.raises(NotApplicable, match="train"):
        method.score(seen)


@codes
def test_more_units_than_training_inputs_of_a_class(method):
    seen = evidence(hidden=512, train=60, pool=20)
    scores = method.score(seen)
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) > 15
    if method.code in ("lsa", "mdsa", "mmdsa"):
        assert noted(seen, "fewer directions")


# what cannot be judged


class Odd(nn.Module):
    """The first input is the class, the second the activation; ``inf`` beyond 1,000."""

    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Linear(4, 3), nn.Linear(3, 3)

    def forward(self, x):
        told = self.out(torch.where(self.inner(x).abs() > 1000, torch.inf, self.inner(x)))
        return torch.nan_to_num(told, 0.0, 0.0, 0.0) * 0 + nn.functional.one_hot(x[:, 0].long(), 3)


def labeled(n, classes, seed, scale=1.0):
    x = inputs(n, seed, scale)
    x[:, 0] = np.arange(n) % classes
    return x


@codes
def test_inputs_of_a_class_that_training_never_shows_come_first_with_a_note(method):
    torch.manual_seed(0)
    seen = evidence(Odd(), pool=labeled(30, 3, 0), train=labeled(80, 2, 1))
    scores = method.score(seen)
    unseen = np.arange(30) % 3 == 2
    assert np.isfinite(scores).all()
    if method.code == "mmdsa":  # its clusters do not know classes
        seen = evidence(Odd(), pool=labeled(30, 3, 0), train=labeled(80, 2, 1))
        scores = Mmdsa(per_class=True).score(seen)
    assert (scores[unseen] == scores[~unseen].max() + 1).all()
    assert noted(seen, "10 inputs (of the predicted classes 2) cannot be compared")


@codes
def test_activations_that_are_not_finite_come_first_or_are_left_out(method):
    torch.manual_seed(0)
    pool, train = labeled(30, 2, 0), labeled(80, 2, 1)
    model = Odd()
    clean = method.score(evidence(model, pool=pool[1:], train=train[1:]))
    pool[0, 1:] = train[0, 1:] = 1e5
    seen = evidence(model, pool=pool, train=train)
    scores = method.score(seen)
    assert scores[0] == scores[1:].max() + 1
    assert noted(seen, "1 inputs of the pool")
    assert noted(seen, "1 inputs of the train")
    if method.code in ("dsa", "lsa", "mdsa"):  # the others draw at random, from other inputs now
        assert scores[1:] == pytest.approx(clean, rel=1e-3)


def test_only_infinite_training_activations_are_refused():
    train = labeled(9, 2, 1)
    train[:, 1:] = 1e5
    torch.manual_seed(0)
    with pytest.raises(NotApplicable, match="finite"):
        Mdsa().score(evidence(Odd(), pool=labeled(9, 2, 0), train=train))


def test_dsa_where_two_classes_coincide():
    train, known = np.array([[0.0], [0.0], [1.0], [9.0]]), [0, 1, 0, 1]
    found = Dsa().surprise(grouped(train, known), grouped(np.array([[0.0], [-1.0], [2.0]]), [0, 0, 0]), evidence())
    assert found.tolist() == [0.0, np.inf, 1.0]


def test_dsa_of_one_class():
    with pytest.raises(NotApplicable, match="one class"):
        Dsa().surprise(grouped(np.eye(3), [1, 1, 1]), grouped(np.eye(3), [1, 1, 1]), evidence())


def test_a_class_that_never_varies_cannot_be_judged():
    train, known = (
        np.concatenate([np.ones((5, 3)), np.random.default_rng(0).standard_normal((20, 3))]),
        [0] * 5 + [1] * 20,
    )
    for method in (Lsa(), Mdsa(), Mlsa()):
        found = method.surprise(grouped(train, known), grouped(np.ones((4, 3)), [0, 0, 1, 1]), evidence())
        assert np.isnan(found).tolist() == [True, True, False, False]


# parameters


def test_lsa_drops_units_that_hardly_vary_in_any_class():
    spreads = {0: np.array([1.0, 1e-6, 2.0, 3.0]), 1: np.array([1.0, 1.0, 1e-7, 0.5])}
    assert {g: c.tolist() for g, c in columns_kept(spreads, 1e-5, None).items()} == {0: [0, 3], 1: [0, 3]}
    assert {g: c.tolist() for g, c in columns_kept(spreads, 1e-5, 1).items()} == {0: [3], 1: [0]}
    spreads[2] = np.array([0.0, 1.0, 0.0, 0.0])
    assert {g: c.tolist() for g, c in columns_kept(spreads, 1e-5, None).items()} == {0: [0, 2, 3], 1: [0, 1, 3], 2: [1]}
    assert columns_kept({}, 1e-5, None) == {}


def test_lsa_with_some_units_is_scipys_on_these():
    rng = np.random.default_rng(0)
    train = (rng.standard_normal((60, 5)) * [1, 1e-4, 2, 3, 4]).astype(np.float32).astype(np.float64)
    pool = rng.standard_normal((8, 5)).astype(np.float32).astype(np.float64)
    for most, columns in ((None, [0, 2, 3, 4]), (2, [3, 4])):
        seen = evidence()
        found = Lsa(max_features=most).surprise(grouped(train, [0] * 60), grouped(pool, [0] * 8), seen)
        expected = -gaussian_kde(train[:, columns].T).logpdf(pool[:, columns].T)
        assert found == pytest.approx(expected, rel=1e-8)
        assert noted(seen, f"keeps {len(columns)} of 5 units")


def test_dsa_with_a_share_of_the_training_data():
    """A share of the neighbors is never nearer; the same share again for the same seed."""
    whole = Dsa().score(evidence(train=400))
    some, again, other = (Dsa(subsample=0.3).score(evidence(train=400, seed=seed)) for seed in (0, 0, 1))
    assert np.array_equal(some, again)
    assert not np.array_equal(some, other)
    assert not np.array_equal(some, whole)


@codes
def test_coverage_begins_with_one_input_of_each_level(method):
    surprise = method.score(evidence())
    upper = surprise.max() if method.upper is None else method.upper
    levels = buckets_of(surprise, upper, 12)
    for rest in ("random", "score"):
        seen = evidence()
        order, _ = type(method)(by="coverage", buckets=12, rest=rest).rank(seen)
        occupied = len(set(levels.tolist()))
        assert sorted(levels[order[:occupied]].tolist()) == sorted(set(levels.tolist()))
        assert noted(seen, f"{occupied} of 12 levels")
        if rest == "score":
            assert (np.diff(surprise[order[occupied:]]) <= 0).all()


def test_units_and_layers_are_the_users_choice():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 16, 3)).eval()
    pool, train = (
        np.random.default_rng(s).standard_normal((n, 1, 6, 6)).astype(np.float32) for s, n in ((0, 10), (1, 300))
    )
    seen = evidence(model, pool=pool, train=train)
    with torch.inference_mode():
        hidden, known = model[:2](torch.from_numpy(train)), model(torch.from_numpy(train)).argmax(1).numpy()
        asked, new = model[:2](torch.from_numpy(pool)), model(torch.from_numpy(pool)).argmax(1).numpy()
    for units, reduced in (("neuron", lambda t: t.mean(dim=(2, 3))), ("unit", lambda t: t.flatten(1))):
        expected = loop_dsa(reduced(hidden).double().numpy(), known, reduced(asked).double().numpy(), new)
        assert Dsa(layers=("0",), units=units).score(seen) == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (Lsa, {"units": "pixel"}),
        (Lsa, {"by": "hope"}),
        (Lsa, {"variance": -1.0}),
        (Lsa, {"max_features": 0}),
        (Lsa, {"shrink": 1.5}),
        (Lsa, {"rest": "none"}),
        (Dsa, {"buckets": 0}),
        (Dsa, {"buckets": 2.5}),
        (Dsa, {"upper": "high"}),
        (Dsa, {"variant": "other"}),
        (Dsa, {"subsample": 0.0}),
        (Mdsa, {"shrink": -0.1}),
        (Mlsa, {"components": 0}),
        (Mmdsa, {"clusters": 1}),
        (Mmdsa, {"sample": 2}),
    ],
)
def test_parameters_out_of_range_are_refused(kind, given):
    with pytest.raises(BadInput, match=f"{kind.code} {next(iter(given))}"):
        kind(**given)
