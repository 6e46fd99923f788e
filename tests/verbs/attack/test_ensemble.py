"""Ensembles: mean gradients of members, copies that share weights, similarity and choice against references."""

from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import nn

import toys
import zoo
from mutiny.core.errors import BadInput
from mutiny.core.stats.centrality import pagerank
from mutiny.faults import OPERATORS
from mutiny.models import ModelState, ModelView, Patch, default_forward
from mutiny.subjects.data.balls import Ball, distances
from mutiny.verbs.attack.base import Batch, cross_entropy, margin
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.attack.ensemble_member import with_weights
from mutiny.verbs.attack.methods import ATTACKS, as_attack
from mutiny.verbs.attack.mutants import Choice, Mutant, chosen, most_central
from mutiny.verbs.attack.pgd import Fgsm, Pgd
from mutiny.verbs.attack.similarity import Representation

pytestmark = pytest.mark.rounding

IMAGES = ["lenet_modules", "lenet_functional", "resnet", "depthwise", "channels_last", "squashed_with_norm"]


def double(name):
    model, inputs = zoo.make(name)
    return model.double(), inputs.double()


def patches(model, inputs, codes=("GF", "NEB", "NAI", "NS", "WS")):
    view = ModelView.of(model, inputs)
    return [OPERATORS[code](ratio=0.2).patch(view, np.random.default_rng(at)) for at, code in enumerate(codes)]


def first(outputs):
    return outputs.flatten(1)[:, 0] ** 2


@pytest.mark.parametrize("name", IMAGES)
def test_gradients_are_the_mean_of_members(name):
    model, inputs = double(name)
    made = patches(model, inputs)
    state = ModelState.of(model)
    slope = Ensemble(model, made).slope(inputs, first)
    ours, losses, said = slope.gradient, slope.losses, slope.outputs
    torch.testing.assert_close(said, default_forward(model, inputs))
    each, each_loss = [], []
    for patch in (Patch(()), *made):
        moving = inputs.clone().requires_grad_()
        with patch.applied(model) as call:
            loss = first(call(moving))
            each.append(torch.autograd.grad(loss.sum(), moving)[0])
        each_loss.append(loss.detach())
    torch.testing.assert_close(ours, torch.stack(each).mean(0), atol=1e-9, rtol=1e-6)
    torch.testing.assert_close(losses.double(), torch.stack(each_loss).mean(0), atol=1e-5, rtol=1e-5)
    assert state == ModelState.of(model)


@pytest.mark.parametrize("combine", ["logits", "probabilities"])
def test_outputs_can_be_averaged_instead(combine):
    model, x = toys.classifier().double(), toys.blobs(6)[0].double()
    made = patches(model, x)
    ensemble = Ensemble(model, made, combine=combine)

    def mean(inputs):
        said = []
        for patch in (Patch(()), *made):
            with patch.applied(model) as call:
                said.append(call(inputs))
        said = torch.stack(said)
        return said.mean(0) if combine == "logits" else said.softmax(-1).mean(0).log()

    torch.testing.assert_close(ensemble.mean(x), mean(x))
    ours = ensemble.slope(
        x, lambda outputs: nn.functional.cross_entropy(outputs, torch.zeros(6).long(), reduction="none")
    ).gradient
    for at in range(2):
        step = torch.zeros_like(x)
        step[:, at] = 1e-6
        loss = [
            nn.functional.cross_entropy(mean(x + sign * step), torch.zeros(6).long(), reduction="none").detach()
            for sign in (1, -1)
        ]
        torch.testing.assert_close(ours[:, at], (loss[0] - loss[1]) / 2e-6, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", zoo.ZOO)
def test_copies_share_what_is_the_same(name):
    model, inputs = zoo.make(name)
    view = ModelView.of(model, inputs)
    patch = OPERATORS["GF"](ratio=0.3).patch(view, np.random.default_rng(0))
    state = ModelState.of(model)
    twin = with_weights(model, patch)
    touched = {edit.parameter for edit in patch.edits}
    mine, theirs = dict(model.named_parameters()), dict(twin.named_parameters())
    assert {name for name in mine if theirs[name] is not mine[name]} == touched & {*mine}
    with patch.applied(model) as call, torch.no_grad():
        expected = call(inputs)
    with torch.no_grad():
        torch.testing.assert_close(default_forward(twin, inputs), expected)
    assert state == ModelState.of(model)


@given(arrays(np.float64, (12, 4), elements=st.floats(-3, 3)), arrays(np.float64, (12, 7), elements=st.floats(-3, 3)))
@settings(max_examples=30, deadline=None)
def test_cka_is_the_normalized_hsic_of_its_definition(a, b):
    center = np.eye(12) - 1 / 12

    def hsic(k, m):
        return np.trace(k @ center @ m @ center)

    k, m = a @ a.T, b @ b.T
    both = hsic(k, k) * hsic(m, m)
    expected = hsic(k, m) / np.sqrt(both) if both > 1e-12 else None
    left, right = (Representation.of(torch.from_numpy(one)) for one in (a, b))
    if expected is not None:
        assert left.cka(right) == pytest.approx(expected, abs=1e-6)
        assert right.cka(left) == pytest.approx(left.cka(right))
        assert left.cka(right) <= 1
        assert left.cka(left) == 1
    assert Representation.of(torch.ones(5, 2)).cka(Representation.of(torch.rand(5, 2))) == 0


def test_cka_of_wide_features_is_that_of_narrow_ones():
    a, b = torch.rand(6, 40), torch.rand(6, 50)
    left, right = Representation.of(a), Representation.of(b)
    gram = [(one - one.mean(0)) @ (one - one.mean(0)).T for one in (a.double(), b.double())]
    expected = (gram[0] * gram[1]).sum() / (gram[0].norm() * gram[1].norm())
    assert left.cka(right) == pytest.approx(float(expected))


def test_pagerank_is_where_a_walker_ends_up():
    weights = np.random.default_rng(0).random((6, 6))
    ours = pagerank(weights)
    steps = weights.copy()
    np.fill_diagonal(steps, 0)
    steps /= steps.sum(axis=1, keepdims=True)
    place = np.full(6, 1 / 6)
    for _ in range(500):
        place = 0.85 * place @ steps + 0.15 / 6
    np.testing.assert_allclose(ours, place, atol=1e-12)
    assert ours.sum() == pytest.approx(1)


@given(st.integers(0, 10_000))
def test_who_leaves_is_most_like_the_others(seed):
    alike = np.random.default_rng(seed).uniform(0.3, 1, (6, 6))
    alike = (alike + alike.T) / 2
    np.fill_diagonal(alike, 0)
    degree = np.sort(alike.sum(axis=1))
    assume(degree[-1] > 1.02 * degree[-2])  # jumps to anywhere blur what is nearly equal
    assert most_central(alike) == alike.sum(axis=1).argmax()


@pytest.mark.parametrize(
    ("weights", "message"), [([[1, 2]], "square"), ([[0, -1], [1, 0]], "at least 0"), (np.zeros((0, 0)), "square")]
)
def test_no_graph(weights, message):
    with pytest.raises(BadInput, match=message):
        pagerank(weights)


def look(model, x, y):
    def seen(patch):
        with patch.applied(model) as call, torch.no_grad():
            hidden = model[:2](x)
            said = call(x)
        return torch.cat([hidden, said], 1), float((said.argmax(1) == y).double().mean())

    return seen


def choose(**settings):
    model = toys.classifier()
    x, y = toys.blobs(120, seed=2)
    return chosen(ModelView.of(model, x), Choice(**{"ratios": (0.1, 0.2), **settings}), look(model, x, y), seed=1)


def test_diverse_mutants_are_less_alike_than_random_ones():
    def alike(mutants):
        return np.mean([a.features.cka(b.features) for i, a in enumerate(mutants) for b in mutants[:i]])

    diverse, few = choose(count=4, iterations=60), choose(count=4, kind="random")
    assert len(diverse) == len(few) == 4
    assert alike(diverse) < alike(few)
    assert all(isinstance(mutant, Mutant) for mutant in diverse)
    assert len({mutant.patch.digest for mutant in diverse}) == 4
    assert [m.patch.digest for m in choose(count=4, iterations=60)] == [m.patch.digest for m in diverse]
    assert all(" " in str(mutant.spec) for mutant in diverse)


def test_the_first_of_a_diverse_choice_are_those_of_a_random_one():
    assert [m.patch.digest for m in choose(count=3, iterations=3)] == [
        m.patch.digest for m in choose(count=3, kind="random")
    ]


def test_similar_mutants_keep_their_accuracy():
    model = toys.classifier()
    x, y = toys.blobs(120, seed=2)
    _, clean = look(model, x, y)(Patch(()))
    assert all(mutant.accuracy >= 0.95 * clean for mutant in choose(kind="similar", ratios=(0.02, 0.4)))
    with pytest.raises(BadInput, match="Lower the ratios"):
        choose(kind="similar", operators=("NAI",), ratios=(1.0,))


def test_no_mutants():
    assert choose(count=0) == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"count": -1}, "mutants"),
        ({"iterations": 0}, "iterations"),
        ({"kind": "dull"}, "diverse, random, similar"),
        ({"operators": ("XX",)}, "one of"),
        ({"ratios": ()}, "shares"),
        ({"floor": 2}, "between 0 and 1"),
    ],
)
def test_choices_that_cannot_be(settings, message):
    with pytest.raises(BadInput, match=message):
        Choice(**settings)


def crossed(labels):
    return lambda outputs: nn.functional.cross_entropy(outputs, labels, reduction="none")


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("momentum", [0.0, 1.0])
def test_attacks_raise_the_loss_and_stay_inside(norm, momentum):
    model, (x, y) = toys.classifier(), toys.blobs(60)
    x = (x + 4) / 8  # into 0..1
    ensemble = Ensemble(model, patches(model, x))
    way = Pgd(norm, iterations=15, momentum=momentum)
    moved = way.moved(ensemble, x, crossed(y), 0.1, 0.0, 1.0)
    change = moved - x
    size = change.abs().amax(1) if norm == "linf" else change.norm(dim=1)
    assert size.max() <= 0.1 + 1e-6
    assert moved.min() >= 0
    assert moved.max() <= 1
    with torch.no_grad():
        assert ensemble.slope(moved, crossed(y)).losses.sum() > ensemble.slope(x, crossed(y)).losses.sum()


def test_fgsm_is_one_step_along_the_sign():
    model, (x, y) = toys.classifier().double(), toys.blobs(30)
    x = x.double()
    moving = x.clone().requires_grad_()
    nn.functional.cross_entropy(model(moving), y, reduction="sum").backward()
    found = Fgsm().attacked(Ensemble(model, []), Batch(x, y, 0, -9.0, 9.0, 0), 0.3)
    torch.testing.assert_close(found.inputs, x + 0.3 * moving.grad.sign())
    assert found.passes == 30


def test_pgd_is_the_loop_of_its_definition():
    model, (x, y) = toys.classifier().double(), toys.blobs(20)
    now = x = x.double()
    for _ in range(7):
        moving = now.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(nn.functional.cross_entropy(model(moving), y, reduction="sum"), moving)
        now = torch.minimum(torch.maximum(now + 0.02 * gradient.sign(), x - 0.1), x + 0.1).clamp(-3, 3)
    ours = Pgd(iterations=7, step=0.02).moved(Ensemble(model, []), x, crossed(y), 0.1, -3.0, 3.0)
    torch.testing.assert_close(ours, now)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_starts_belong_to_inputs(norm):
    way = Pgd(norm, restarts=3)
    x = torch.zeros(10, 2, 3)
    assert way.starts(x, 0.5, 0, 0, seed=1) is None
    whole = way.starts(x, 0.5, 0, 1, seed=1)
    parts = torch.cat([way.starts(x[:4], 0.5, 0, 1, 1), way.starts(x[4:], 0.5, 4, 1, 1)])
    assert torch.equal(whole, parts)
    assert not torch.equal(whole, way.starts(x, 0.5, 0, 2, 1))
    size = whole.flatten(1).abs().amax(1) if norm == "linf" else whole.flatten(1).norm(dim=1)
    assert size.max() <= 0.5 + 1e-6
    assert Pgd(norm, random_start=True).starts(x, 0.5, 0, 0, 1) is not None


def test_more_attempts_fool_more_and_leave_alone_what_is_fooled():
    model, (x, y) = toys.classifier(), toys.blobs(80)
    batch = Batch(x, y, 0, -5.0, 5.0, 0)
    found = {n: Pgd(iterations=3, restarts=n).attacked(Ensemble(model, []), batch, 0.5) for n in (1, 8)}
    fooled = {n: model(one.inputs).argmax(1) != y for n, one in found.items()}
    assert (fooled[8] | ~fooled[1]).all()
    assert torch.equal(found[1].inputs[fooled[1]], found[8].inputs[fooled[1]])
    assert found[8].passes < 8 * found[1].passes
    assert ((found[8].inputs - x).abs() <= 0.5 + 1e-6).all()


def test_cross_entropy_is_that_of_torch_with_the_gradient_of_exact_numbers():
    logits = torch.randn(20, 4, generator=torch.Generator().manual_seed(0)).double().requires_grad_()
    labels = torch.arange(20) % 4
    torch.testing.assert_close(cross_entropy(logits, labels), crossed(labels)(logits))
    ours, theirs = (
        torch.autograd.grad(loss.sum(), logits)[0] for loss in (cross_entropy(logits, labels), crossed(labels)(logits))
    )
    torch.testing.assert_close(ours, theirs)
    far = torch.tensor([[300.0, 0.0, -1.0]], requires_grad=True, dtype=torch.double)
    (slope,) = torch.autograd.grad(cross_entropy(far, torch.tensor([0])).sum(), far)
    small = np.exp([-300.0, -301.0])
    np.testing.assert_allclose(slope[0], [-small.sum(), *small], rtol=1e-9)


def test_gradients_too_small_for_their_type_keep_their_direction():
    model, (x, y) = toys.classifier(), toys.blobs(40)
    with torch.no_grad():
        model[-1].weight.mul_(60)
        model[-1].bias.mul_(60)
    y = model(x).argmax(1)
    made = patches(model, x, ("GF", "NAI"))
    for each in ([], made):
        ours = Ensemble(model, each).slope(x, partial(cross_entropy, labels=y)).direction
        model.double()
        exact = Ensemble(model, each).slope(x.double(), partial(cross_entropy, labels=y)).gradient
        model.float()
        told = exact.abs().amax(1) > 0
        assert told.sum() > 30
        cosine = nn.functional.cosine_similarity(ours.double(), exact / exact.abs().amax(1, keepdim=True))
        assert cosine[told].min() > 0.999


def test_both_losses_take_turns():
    labels = torch.zeros(2).long()
    way = Pgd(loss="both", restarts=4)
    kinds = [way.rising(labels, attempt).func for attempt in range(4)]
    assert kinds == [cross_entropy, margin, cross_entropy, margin]
    x = torch.zeros(2, 3)
    assert [way.starts(x, 0.5, 0, attempt, 0) is None for attempt in range(4)] == [True, True, False, False]
    assert Pgd().times(1) == Pgd()
    assert Pgd(loss="margin").times(3) == Pgd(loss="both", restarts=3)


@given(
    arrays(np.float32, (3, 4), elements=st.floats(0, 1, width=32)),
    arrays(np.float32, (3, 4), elements=st.floats(-1, 2, width=32)),
    st.floats(1e-4, 1.5),
    st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64]),
    st.sampled_from(["linf", "l2"]),
)
@settings(deadline=None)
def test_nothing_leaves_its_ball_by_rounding(center, new, eps, kind, norm):
    center, new = (torch.from_numpy(one).to(kind) for one in (center, new))
    found = Ball(center, eps, norm, 0.0, 1.0).inside(new)
    assert found.dtype == kind
    assert distances(center, found)[norm].max() <= eps
    assert found.min() >= 0
    assert found.max() <= 1
    inner = distances(center, new)[norm] < 0.99 * eps
    np.testing.assert_allclose(found[inner].double(), new.clamp(0, 1)[inner].double(), atol=0.01)


@pytest.mark.parametrize("code", ATTACKS)
def test_attacks_by_name(code):
    attack = as_attack(code)
    assert str(attack) == code
    longer = attack.times(3)
    assert longer is None or as_attack(str(longer)) == longer
    model, (x, y) = toys.classifier(), toys.blobs(10)
    short = {field.name: 5 for field in fields(attack) if field.name in ("iterations", "searches", "queries")}
    found = replace(attack, **short).attacked(Ensemble(model, []), Batch(x, y, 0, -5.0, 5.0, 0), 1.0)
    assert found.inputs.shape == x.shape
    with pytest.raises(BadInput, match="one of pgd, fgsm, carlini"):
        as_attack("jsma")
    with pytest.raises(BadInput, match="attack=None"):
        as_attack(None)
