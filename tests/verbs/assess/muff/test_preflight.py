import numpy as np
import pytest
import torch
from torch import nn

import mutiny
from mutiny.core.errors import BadInput, PreflightFailed
from mutiny.core.random import generator_for
from mutiny.faults.evaluation import Runner
from mutiny.models import ModelState, ModelView, default_forward
from mutiny.subjects.data import as_data
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.preflight import preflight
from mutiny.verbs.assess.zeroed_weights import zeroed
from toys import blob_subject, blobs, classifier, line, line_subject


def runner_of(subject):
    return Runner(subject.models, subject.task, subject.splits(), subject.forward, seed=0, batch_size=64)


def check(subject, **rule):
    preflight(runner_of(subject), KillRule(**rule).resolve(len(subject.models)), ("train", "test"))


@pytest.mark.parametrize("originals", [1, 2, 5])
def test_good_subjects_pass(originals):
    check(blob_subject(originals))
    check(line_subject(originals))


def test_zeroed_sets_every_weight_and_bias_to_zero_and_only_for_a_while():
    net = classifier()
    before = ModelState.of(net)
    with zeroed(ModelView.of(net, blobs(4)[0])).applied(net) as call:
        assert all(not parameter.any() for parameter in net.parameters())
        assert not call(blobs(9)[0]).any()
    assert ModelState.of(net) == before


@pytest.mark.parametrize("originals", [1, 3])
def test_a_constant_model_fails(originals):
    nets = [classifier(seed) for seed in range(originals)]
    for seed, net in enumerate(nets):
        net[2].weight.data.zero_()
        net[2].bias.data = torch.tensor([5.0, 0.0, 0.1 * seed])
    with pytest.raises(PreflightFailed, match="not noticed"):
        check(blob_subject(models=nets))


@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_answers_that_change_between_runs_fail(noise):
    with pytest.raises(PreflightFailed, match="not deterministic"):
        check(blob_subject(1, forward=lambda model, x: model(x + noise * torch.randn_like(x))))


def test_answers_that_change_while_the_accuracy_stays_fail_too():
    """Two inputs swap being right: the metric alone would not tell."""
    x, y = blobs(120, seed=1)
    turn = {"n": 0}

    def forward(model, inputs):
        out = model(inputs).clone()
        if len(inputs) == 120:
            turn["n"] += 1
            out[turn["n"] % 2] *= -1
        return out

    subject = blob_subject(models=classifier(), test=(x, y), forward=forward)
    runner = Runner(subject.models, subject.task, subject.splits(), forward, seed=0, batch_size=120)
    with pytest.raises(PreflightFailed, match="answers changed"):
        preflight(runner, KillRule().resolve(1), ("test",))


def test_losses_that_change_while_every_answer_stays_fail_too():
    with pytest.raises(PreflightFailed, match="not deterministic"):
        check(line_subject(2, forward=lambda model, x: model(x) + 1e-3 * torch.rand(len(x), 1)))


def test_too_few_inputs_fail_with_one_original():
    x, y = blobs(5, seed=1)
    with pytest.raises(PreflightFailed, match="more inputs"):
        check(blob_subject(1, test=(x, y)))


def test_a_rule_that_nothing_satisfies_fails():
    with pytest.raises(PreflightFailed, match="not noticed"):
        check(blob_subject(1), beta=0.6)


def test_a_zeroed_network_whose_loss_is_no_number_is_noticed():
    x, y = line()

    class Normalized(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 1)

        def forward(self, inputs):
            return self.layer(inputs) / self.layer.weight.norm()

    nets = []
    for seed in range(2):
        net = Normalized().eval()
        solution = torch.linalg.lstsq(torch.cat([x, torch.ones(len(x), 1)], 1), y).solution[:, 0]
        net.layer.weight.data = solution[None, :3].clone()
        net.layer.bias.data = solution[3:] + 0.01 * seed
        nets.append(net)
    check(line_subject(models=nets))


def test_every_split_is_looked_at():
    subject = blob_subject(1)
    runner = runner_of(subject)
    x, y = blobs(120, seed=1)
    runner.add_split("test", as_data((x, (y + 1) % 3), "test"))  # labels that the model never gets right
    preflight(runner, KillRule().resolve(1), ("train",))
    with pytest.raises(BadInput, match="zeroed network on test"):
        preflight(runner, KillRule().resolve(1), ("train", "test"))


def test_a_rule_that_kills_on_any_difference_is_refused():
    """Of two halves this rule kills whichever is worse, so that it kills in every split whose halves differ."""
    subject = blob_subject(models=blunted(6))
    for seed in range(4):
        runner = Runner(subject.models, subject.task, subject.splits(), subject.forward, seed=seed, batch_size=256)
        metrics = np.array([outcome.metric for outcome in runner.clean_outcomes("test")])
        rng = generator_for(seed, "pre-flight", "test")
        orders = [rng.permutation(6) for _ in range(10)]
        killed = sum(abs(metrics[order[:3]].mean() - metrics[order[3:]].mean()) > 1e-9 for order in orders)
        assert killed > 5
        with pytest.raises(PreflightFailed, match=f"in {killed} of 10 splits.* Check alpha= and beta="):
            preflight(runner, KillRule(alpha=0.999999, beta=0).resolve(6), ("test",))
        preflight(runner, KillRule().resolve(6), ("test",))


def blunted(count):
    """Originals of different accuracy."""
    nets = [classifier(seed) for seed in range(count)]
    for seed, net in enumerate(nets):
        net[2].bias.data[0] += 2 * seed
    return nets


@pytest.mark.parametrize("originals", [2, 3, 4, 6])
def test_an_ordinary_rule_keeps_quiet_about_originals(originals):
    check(blob_subject(models=blunted(originals)))
    if originals < 4:  # too few to split: against themselves, where not even an absurd rule sees a fault
        check(blob_subject(models=blunted(originals)), alpha=0.999999, beta=0.0)


def test_a_rare_class_is_looked_for_among_all_inputs_before_anything_is_refused():
    """Twelve of 6,000 inputs are of the rare class, four of the 2,000 that are asked first: too few for a test."""
    x = torch.full((6000, 1), -1.0)
    x[250::500] = 1.0
    y = (x[:, 0] > 0).long()
    net = nn.Linear(1, 2).eval()
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[-1.0], [1.0]]))
        net.bias.zero_()
    data = as_data((x, y), "train")
    runner = Runner([net], mutiny.Classification(2, "logits"), {"train": data, "test": data}, default_forward, seed=0)
    rule = KillRule().resolve(1)
    preflight(runner, rule, ("train", "test"), most=2000)
    few = Runner([net], runner.task, {"train": data.subset(np.arange(1500))}, default_forward, seed=0)
    with pytest.raises(PreflightFailed, match="not noticed"):
        preflight(few, rule, ("train",), most=1000)
