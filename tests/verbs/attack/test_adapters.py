"""Attacks of other libraries run unchanged on an ensemble of mutants."""

import numpy as np
import pytest
import torch
from torch import nn

from mutiny.faults import OPERATORS
from mutiny.models import ModelState, ModelView
from mutiny.subjects.data.balls import distances
from mutiny.verbs.attack.adapters import EnsembleModule, art_classifier
from mutiny.verbs.attack.attack import attack
from mutiny.verbs.attack.auto import Auto
from mutiny.verbs.attack.base import Batch
from mutiny.verbs.attack.carlini import Carlini
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.attack.pgd import Pgd


@pytest.fixture
def case():
    """Images of 0..1, a network, and mutants of it."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4 * 25, 5)).eval()
    images = torch.rand(20, 1, 12, 12)
    view = ModelView.of(model, images[:2])
    patches = [OPERATORS[code](ratio=0.1).patch(view, np.random.default_rng(0)) for code in ("GF", "NEB", "NAI")]
    return model, images, model(images).argmax(1), patches


@pytest.mark.parametrize("combine", ["logits", "probabilities"])
def test_the_module_has_the_gradients_of_mean_outputs(case, combine):
    model, images, labels, patches = case
    ensemble = Ensemble(model, patches, combine=combine)
    moving = images.clone().requires_grad_()
    (found,) = torch.autograd.grad(nn.functional.cross_entropy(EnsembleModule(ensemble)(moving), labels), moving)
    ours = ensemble.slope(images, lambda said: nn.functional.cross_entropy(said, labels, reduction="none"))
    torch.testing.assert_close(found * len(images), ours.gradient, atol=1e-6, rtol=1e-5)


def test_torchattacks(case):
    torchattacks = pytest.importorskip("torchattacks")
    model, images, labels, patches = case
    state = ModelState.of(model)
    attack = torchattacks.PGD(EnsembleModule(Ensemble(model, patches)), eps=0.3, alpha=0.05, steps=10)
    new = attack(images, labels)
    assert (new - images).abs().max() <= 0.3 + 1e-6
    assert (model(new).argmax(1) != labels).float().mean() > 0.3
    assert state == ModelState.of(model)


def test_art(case):
    pytest.importorskip("art")
    from art.attacks.evasion import CarliniL2Method, ProjectedGradientDescent

    model, images, labels, patches = case
    ensemble = Ensemble(model, patches)
    classifier = art_classifier(ensemble, (1, 12, 12), 5)
    each = ensemble.slope(images, lambda said: nn.functional.cross_entropy(said, labels, reduction="none"))
    one_hot = np.eye(5)[labels.numpy()]
    np.testing.assert_allclose(classifier.loss_gradient(images.numpy(), one_hot), each.gradient.numpy(), atol=1e-6)
    np.testing.assert_allclose(classifier.predict(images.numpy()), ensemble.mean(images).detach().numpy(), atol=1e-5)
    new = ProjectedGradientDescent(classifier, eps=0.3, eps_step=0.05, max_iter=10, verbose=False).generate(
        images.numpy(), labels.numpy()
    )
    assert (model(torch.from_numpy(new)).argmax(1) != labels).float().mean() > 0.3
    near = CarliniL2Method(classifier, max_iter=10, binary_search_steps=4, batch_size=20, verbose=False).generate(
        images.numpy()
    )
    assert near.shape == images.shape


def test_without_art(monkeypatch, case):
    import sys

    from mutiny.core.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "art.estimators.classification", None)
    model, _, _, patches = case
    with pytest.raises(MissingExtra):
        art_classifier(Ensemble(model, patches), (1, 12, 12), 5)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_autoattack(case, norm):
    pytest.importorskip("art")
    model, images, labels, patches = case
    state, eps = ModelState.of(model), {"linf": 0.1, "l2": 0.7}[norm]
    way = Auto(norm, iterations=10, restarts=1, queries=20)
    drawn = np.random.get_state()[1]  # noqa: NPY002 - which ART uses
    found, again = (way.attacked(Ensemble(model, []), Batch(images, labels, 0, 0.0, 1.0, 3), eps) for _ in range(2))
    np.testing.assert_array_equal(np.random.get_state()[1], drawn)  # noqa: NPY002 - as above
    assert torch.equal(found.inputs, again.inputs)
    assert found.passes == again.passes > len(images)
    assert distances(images, found.inputs)[norm].max() <= eps
    assert 0 <= found.inputs.min() <= found.inputs.max() <= 1
    few = Pgd(norm, iterations=10).attacked(Ensemble(model, []), Batch(images, labels, 0, 0.0, 1.0, 3), eps)
    assert wrong(model, found.inputs, labels) >= wrong(model, few.inputs, labels) > 0
    assert way.attacked(Ensemble(model, patches), Batch(images, labels, 0, 0.0, 1.0, 3), eps).passes % 4 == 0
    assert state == ModelState.of(model)


@pytest.mark.parametrize("classes", [2, 3])
def test_autoattack_on_vectors_and_few_classes(classes):
    pytest.importorskip("art")
    model = nn.Linear(4, classes).eval()
    inputs = torch.rand(10, 4)
    labels = model(inputs).argmax(1)
    batch = Batch(inputs, labels, 0, 0.0, 1.0, 0)
    found = Auto(iterations=5, restarts=1, queries=5).attacked(Ensemble(model, []), batch, 0.5)
    assert wrong(model, found.inputs, labels) > 0


def wrong(model, inputs, labels):
    return int((model(inputs).argmax(1) != labels).sum())


def test_what_others_do_leaves_no_trace(case):
    model, images, labels, patches = case
    state = ModelState.of(model)
    nn.functional.cross_entropy(EnsembleModule(Ensemble(model, patches))(images.requires_grad_()), labels).backward()
    assert images.grad is not None
    assert state == ModelState.of(model)


@pytest.fixture
def used(case):
    """The same with gradients that belong to somebody."""
    model, images, labels, patches = case
    model(images).sum().backward()
    return model, images, labels, patches


def test_autoattack_leaves_gradients_and_generators_alone(used):
    pytest.importorskip("art")
    model, images, labels, patches = used
    state, drawn = ModelState.of(model), torch.get_rng_state()
    way = Auto(iterations=2, restarts=1, queries=2)
    way.attacked(Ensemble(model, patches), Batch(images, labels, 0, 0.0, 1.0, 3), 0.1)
    assert state == ModelState.of(model)
    assert torch.equal(torch.get_rng_state(), drawn)


def test_an_attack_of_a_model_with_gradients(used):
    pytest.importorskip("art")
    model, images, labels, _ = used
    state = ModelState.of(model)
    attack(model, "autoattack(iterations=2, restarts=1, queries=2)", 0.1, data=(images, labels), mutants=0)
    assert state == ModelState.of(model)


@pytest.mark.parametrize("combine", ["gradients", "logits"])
@pytest.mark.parametrize("training", [False, True])
def test_a_classifier_leaves_gradients_and_generators_alone(used, combine, training):
    pytest.importorskip("art")
    model, images, labels, patches = used
    state, drawn = ModelState.of(model), torch.get_rng_state()
    classifier = art_classifier(Ensemble(model, patches, combine=combine), (1, 12, 12), 5)
    classifier.class_gradient(images.numpy(), training_mode=training)
    classifier.loss_gradient(images.numpy(), np.eye(5)[labels.numpy()], training_mode=training)
    assert classifier.predict(images.numpy(), batch_size=7, training_mode=training).shape == (20, 5)
    assert state == ModelState.of(model)
    assert torch.equal(torch.get_rng_state(), drawn)


def test_what_happens_to_the_module_does_not_reach_the_model(used):
    model, images, _, patches = used
    state, module = ModelState.of(model), EnsembleModule(Ensemble(model, patches))
    module.train().zero_grad()
    said = module.double().half()(images)
    assert state == ModelState.of(model)
    assert said.dtype == images.dtype
    assert next(module.parameters()).device == next(model.parameters()).device


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_autoattack_in_other_precision(case, dtype):
    pytest.importorskip("art")
    model, images, _, _ = case
    model, images = model.to(dtype), images.to(dtype)
    labels = model(images).argmax(1)
    batch = Batch(images, labels, 0, 0.0, 1.0, 3)
    found = Auto(iterations=5, restarts=1, queries=5).attacked(Ensemble(model, []), batch, 0.2).inputs
    assert found.dtype == dtype
    assert wrong(model, found, labels) > 0
    tiny = Auto(iterations=2, restarts=1, queries=2).attacked(Ensemble(model, []), batch, 1e-7).inputs
    assert torch.equal(tiny[model(tiny).argmax(1) == labels], images[model(tiny).argmax(1) == labels])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_adapters_speak_the_type_of_inputs(case, dtype):
    pytest.importorskip("art")
    model, images, labels, _ = case
    plain = art_classifier(Ensemble(model, []), (1, 12, 12), 5)
    x, wanted = images.numpy(), np.eye(5)[labels.numpy()]
    expected = plain.loss_gradient(x, wanted), plain.class_gradient(x), plain.predict(x)
    other = art_classifier(Ensemble(model.to(dtype), []), (1, 12, 12), 5)
    found = other.loss_gradient(x, wanted), other.class_gradient(x), other.predict(x)
    for ours, theirs in zip(expected, found, strict=True):
        assert theirs.dtype == np.float32
        np.testing.assert_allclose(theirs, ours, atol=0.05 if dtype == torch.bfloat16 else 1e-5)


class Broken(nn.Module):
    """Contrast normalization, whose gradient at a constant input is no number."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        centered = x - x.mean(dim=1, keepdim=True)
        return self.head(centered / (centered.square().sum(dim=1, keepdim=True).sqrt() + 1e-3))


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_autoattack_finds_nothing_but_numbers(norm):
    pytest.importorskip("art")
    model, inputs = Broken().eval(), torch.full((6, 4), 0.5)
    labels = model(inputs).argmax(1)
    batch = Batch(inputs, labels, 0, 0.0, 1.0, 0)
    found = Auto(norm, iterations=3, restarts=1, queries=3).attacked(Ensemble(model, []), batch, 1e-6)
    assert found.inputs.isfinite().all()
    assert distances(inputs, found.inputs)[norm].max() <= 1e-6


def test_carlini_is_as_good_as_that_of_art(case):
    """The same model, images, constants and iterations: no less success, and no longer ways."""
    pytest.importorskip("art")
    from art.attacks.evasion import CarliniL2Method

    model, images, labels, _ = case
    ours = Carlini(iterations=30, rate=0.02, searches=4, constant=1.0)
    found = ours.nearest(Ensemble(model, []), images, labels, 0.0, 1.0)
    theirs = CarliniL2Method(
        art_classifier(Ensemble(model, []), (1, 12, 12), 5),
        learning_rate=ours.rate,
        max_iter=ours.iterations,
        binary_search_steps=ours.searches,
        initial_const=ours.constant,
        batch_size=20,
        verbose=False,
    )
    moved = torch.from_numpy(theirs.generate(images.numpy(), labels.numpy()))
    fooled = model(moved).argmax(1) != labels
    assert fooled.float().mean() > 0.5  # otherwise this says nothing
    assert (found.success | ~fooled).all()
    both = found.success & fooled
    distance = (moved - images).flatten(1).norm(dim=1)
    assert found.distance[both].median() <= 1.02 * distance[both].median()
