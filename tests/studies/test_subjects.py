"""The synthetic subjects: shapes, one seed one answer, and pictures and spectra that follow what they stand for."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import mutiny
from mutiny.core.random import generator_for
from mutiny.subjects.data.nested import leaves

sys.path.append(str(Path(__file__).parents[2]))

from studies.subjects import SUBJECTS
from studies.subjects.eyes import TOLERANCE, EyeNet, eyes, images
from studies.subjects.roads import frames, roads, steering
from studies.subjects.speakers import BINS, RATE, SAMPLES, SPEAKERS, speakers, spectra

SHAPES = {
    speakers: [(1, BINS)],
    eyes: [(2,), (1, 24, 40)],
    roads: [(3, 32, 64)],
}
synthetic = pytest.mark.parametrize("make", SHAPES, ids=lambda make: make.__name__)


def parts(data):
    return [tensor for _, tensor in sorted(leaves(data.inputs), key=lambda leaf: leaf[1].ndim)]


@synthetic
def test_inputs_are_finite_float32_of_the_stated_shapes(make):
    subject = make(train=40, test=20)
    subject.check()
    for data, n in ((subject.train, 40), (subject.test, 20)):
        assert [tuple(part.shape) for part in parts(data)] == [(n, *shape) for shape in SHAPES[make]]
        assert all(part.dtype == torch.float32 and part.abs().max() < 4 for part in parts(data))


@synthetic
def test_one_seed_gives_one_subject_and_test_is_not_train(make):
    first, again = make(train=30, test=30), make(train=30, test=30)
    for one, two, other in zip(parts(first.train), parts(again.train), parts(first.test), strict=True):
        assert torch.equal(one, two)
        assert not torch.equal(one, other)
    assert np.array_equal(first.train.targets, again.train.targets)


@synthetic
def test_the_recipe_trains_and_the_network_fits_the_task(make):
    subject = make(train=32, test=8)
    model = replace(subject.recipe, epochs=1, batch_size=16).train(
        subject.train, subject.task, 0, forward=subject.forward
    )
    outputs = subject.forward(model, subject.test.first(8)).detach()
    targets = torch.from_numpy(subject.task.check_targets(subject.test.targets, "test"))
    correct, losses = subject.task.resolve(outputs).judge(outputs, targets)
    assert correct.shape == losses.shape == (8,)


def test_all_five_subjects_have_a_name_and_the_real_ones_ask_for_data(tmp_path):
    assert list(SUBJECTS) == ["mnist", "fashion-mnist", "speakers", "eyes", "roads"]
    for name in ("mnist", "fashion-mnist"):
        with pytest.raises(mutiny.BadInput, match=name):
            SUBJECTS[name](tmp_path)


def test_the_lowest_harmonic_of_a_speaker_is_the_pitch():
    for label, pitch in enumerate(SPEAKERS[:, 0]):
        mean = spectra(np.full(60, label), generator_for(0, "test")).mean(axis=(0, 1))
        bins = np.arange(1, BINS + 1) * RATE / SAMPLES
        near = (bins > 0.6 * pitch) & (bins < 1.5 * pitch)
        assert bins[near][mean[near].argmax()] == pytest.approx(pitch, abs=1.5 * RATE / SAMPLES)


def iris(gaze, head):
    """Mean (row, column) of the darkest pixels over many eyes with these angles in degrees."""
    angles = [np.tile(np.deg2rad(pair), (80, 1)) for pair in (gaze, head)]
    pictures = images(*angles, generator_for(0, "test")).reshape(80, -1)
    darkest = pictures.argsort(axis=1)[:, :30]
    return np.array([(darkest // 40).mean(), (darkest % 40).mean()])


def test_the_iris_moves_with_the_gaze_and_against_the_head():
    assert iris((0, 20), (0, 0))[1] - iris((0, -20), (0, 0))[1] > 4
    assert iris((0, 0), (0, 20))[1] - iris((0, 0), (0, -20))[1] < -3
    assert iris((12, 0), (0, 0))[0] < iris((-12, 0), (0, 0))[0] - 1  # up in the picture: a smaller row
    assert iris((0, 0), (12, 0))[0] > iris((0, 0), (-12, 0))[0] + 1


def test_gaze_is_within_tolerance_at_5_degrees():
    five = torch.full((1, 2), float(np.deg2rad(4.99)))
    correct, _ = mutiny.Regression(TOLERANCE).judge(torch.cat([five, 1.01 * five]), torch.zeros(2, 2))
    assert correct.tolist() == [True, False]


def test_the_gaze_network_uses_both_inputs():
    image, head = torch.randn(4, 1, 24, 40, requires_grad=True), torch.randn(4, 2, requires_grad=True)
    EyeNet()(image=image, head=head).sum().backward()
    assert image.grad.abs().sum() > 0
    assert (head.grad != 0).all()


@pytest.mark.parametrize("which", range(3), ids=["curvature", "offset", "heading"])
def test_steering_and_picture_follow_the_road(which):
    right = np.zeros((80, 3))
    right[:, which] = (0.02, 0.8, 0.1)[which]
    assert (steering(right) > 0.2).all()
    assert np.array_equal(steering(right), -steering(-right))
    there, back = (frames(road, generator_for(0, "test")).mean(axis=0) for road in (right, -right))
    meadow = (there - back)[1] - (there - back)[2]  # meadow is greener than blue, the road is gray
    assert meadow[14:22, :32].mean() > 0.01 > -0.01 > meadow[14:22, 32:].mean()
