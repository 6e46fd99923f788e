"""Networks that answer by a script: which inputs go wrong at which strength is known, so results follow by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy import stats
from statsmodels.stats.multitest import multipletests
from torch import nn

import mutiny
from mutiny.core.records import Status, Verdict
from mutiny.faults import Operator
from mutiny.models import WeightEdit
from references import verdicts
from toys import blob_subject, blobs, trained

LABELS = np.repeat([0, 1, 2], [60, 40, 20])
INPUTS = len(LABELS)


class Scripted(nn.Module):
    """Right on every input but those that ``script(split, input, original, strength)`` says are wrong."""

    def __init__(self, script, original):
        super().__init__()
        self.layer, self.script, self.original = nn.Linear(3, 3).double(), script, original
        self.layer.weight.data = torch.eye(3).double() * (2 + original)  # logits, and no two originals alike
        self.layer.bias.data.zero_()  # the strength is kept here; it changes no answer by itself

    def forward(self, x):
        right = self.layer(x[:, :3]) - self.layer.bias
        strength = float(self.layer.bias[0])
        split = "test" if x[0, 4] else "train"
        wrong = [self.script(split, position, self.original, strength) for position in x[:, 3].int().tolist()]
        return torch.where(torch.tensor(wrong)[:, None], right.roll(1, dims=1), right)


@dataclass(frozen=True)
class Turn(Operator):
    """Sets the strength, rounded to whole ``steps`` if there are any."""

    code: ClassVar[str] = "TURN"
    title: ClassVar[str] = "turn"
    source: ClassVar[str] = "here"
    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {"ratio": (0.0, 1.0)}
    ratio: float = 0.5
    steps: int = 0

    def edits(self, view, rng):
        value = max(1, round(self.ratio * self.steps)) / self.steps if self.steps else self.ratio
        yield WeightEdit("layer.bias", np.arange(3), torch.full((3,), value, dtype=torch.float64))


def subject_of(script, originals=5):
    def data(split):
        parts = np.eye(3)[LABELS], np.arange(INPUTS)[:, None], np.full((INPUTS, 1), split)
        return torch.from_numpy(np.hstack(parts).astype(float)), torch.from_numpy(LABELS)

    models = [Scripted(script, original).eval() for original in range(originals)]
    return mutiny.Subject(models, task=mutiny.Classification(3, "logits"), train=data(0), test=data(1))


def turned(script, originals=5, steps=0, rule=None, **search):
    search = mutiny.Search(**{"precision": 0.03, "rse": 0.2, **search})
    return mutiny.assess(subject_of(script, originals), [Turn(steps=steps)], rule=rule, search=search, method="muff")


def between(low, high):
    return lambda position: low <= position < high


# Train kills 0.5, 0.25, 0.125 and 0.0625. What their instances get wrong on test:
TRIVIAL = 0.5, between(0, 114)  # 108 of 120 that were right: just trivial
REDUNDANT = 0.25, between(60, 120)  # all that 0.0625 gets wrong and more
SURVIVOR = 0.125, between(114, 120)  # as many as it gets right in exchange
HARD = 0.0625, lambda position: 60 <= position < 80 or position >= 114
STEPS = (TRIVIAL, REDUNDANT, SURVIVOR, HARD)


def stairs(split, position, original, strength):
    if split == "train":
        return strength >= 0.05 and position % 4 == 0
    step = next((step for step in STEPS if strength >= step[0]), None)
    if position < 6:  # clean mistakes, which only the survivor mends
        return step is not SURVIVOR
    return step is not None and step[1](position)


@pytest.fixture(scope="module")
def staired():
    return turned(stairs)


def on(record, split):
    return {m.strength: m for m in record.mutants if m.guiding_set == split}


def archive(record):
    return [m.strength for m in on(record, "train").values() if m.searched and m.verdict is Verdict.KILLED]


def test_the_telling_score_leaves_out_trivial_and_redundant_mutants(staired):
    (record,) = staired.operators
    test = on(record, "test")
    assert archive(record) == [0.5, 0.25, 0.125, 0.0625]
    shares = {s: staired.kills["TURN", s, "test"].kills().mean() for s in archive(record)}
    trivial = {s for s, share in shares.items() if share >= 0.9}
    assert (trivial, record.redundant) == ({0.5}, (0.25,))
    telling = set(archive(record)) - trivial - set(record.redundant)
    killed = {s for s in archive(record) if test[s].verdict is Verdict.KILLED}
    assert record.telling_score == len(killed & telling) / len(telling) == 1 / 2
    assert record.set_score == len(killed) / 4 == 3 / 4


def test_killed_classes_and_triviality_are_those_of_the_test_set(staired):
    (record,) = staired.operators
    classes = []
    for strength in archive(record):
        kills = staired.kills["TURN", strength, "test"].kills().reshape(-1, INPUTS)
        assert on(record, "test")[strength].triviality == pytest.approx(kills.mean())
        assert on(record, "test")[strength].triviality != on(record, "train")[strength].triviality
        classes.append(np.mean([len(set(LABELS[row])) / 3 for row in kills]))
    assert classes == pytest.approx([1, 2 / 3, 1 / 3, 2 / 3])
    assert record.killed_classes == pytest.approx(np.mean(classes))
    assert {m.killed_classes for m in on(record, "train").values()} == {0.0, 1.0}


def test_a_survivor_above_a_killed_strength_is_noted(staired):
    (record,) = staired.operators
    verdict = {s: m.verdict for s, m in on(record, "test").items()}
    killed = min(s for s in verdict if verdict[s] is Verdict.KILLED)
    survived = max(s for s in verdict if verdict[s] is Verdict.SURVIVED)
    assert killed == 0.0625 < survived
    note = f"not monotone on test: killed at 0.0625 but survived at {survived:.4g}"
    assert [n for n in record.notes if "on test" in n] == [note]
    assert f"TURN: {note}." in staired.notes
    assert not any("on train" in n for n in record.notes)


def steps_at(train, test):
    """Each set notices what is at least so strong, by a third of its inputs, whichever the original."""
    return lambda split, position, original, strength: (
        strength >= (train if split == "train" else test) and position % 3 == 0
    )


@pytest.mark.parametrize("upper", [0.5, 1.0])
def test_score_and_interval_end_at_the_upper_bound(upper):
    result = turned(steps_at(0.1, 0.3), upper=upper)
    (record,) = result.operators
    train, test = (min(s for s, m in on(record, split).items() if m.verdict == "killed") for split in ("train", "test"))
    assert 0.1 <= train < 0.13
    assert 0.3 <= test < 0.33
    expected = (upper - test) / (upper - train)
    assert record.score == result.score.value == pytest.approx(expected)
    assert (result.score.interval.low, result.score.interval.high) == pytest.approx((expected, expected))  # no chance


def uneven(split, position, original, strength):
    """Originals of very different accuracy; mutants a little, clearly or much (on test soon) worse than theirs."""
    more = 0 if strength == 0 else 1 if strength < 0.6 else 3 if strength < 0.8 and split == "train" else 30
    return position >= INPUTS - 3 * original - more - original * (more > 1)


@pytest.mark.parametrize(("test", "steps"), [("glm", 0), ("glm", 4), ("welch", 4), ("wilcoxon", 4)])
def test_hidden_counts_the_survivors_that_a_paired_rank_test_kills(test, steps):
    """In quarters, several strengths are the very same mutant, which counts once."""
    result = turned(uneven, originals=6, steps=steps, rule=mutiny.KillRule(test))
    (record,) = result.operators
    assert any(m.same_as is not None for m in on(record, "train").values()) == (steps > 0)
    train = [m for m in on(record, "train").values() if m.same_as is None]
    originals = np.array(result.subject.splits["train"].metrics)
    hidden = 0
    for mutant in (m for m in train if m.verdict is Verdict.SURVIVED):
        means = np.mean(mutant.metrics, axis=0)
        if (means < originals).all():  # else no pair differs
            p = stats.wilcoxon(originals, means, method="exact").pvalue
            hidden += p < 0.05 and verdicts.cohen_d(originals, np.ravel(mutant.metrics)) >= 0.5
    assert record.hidden == hidden
    survivors = sum(m.verdict is Verdict.SURVIVED for m in train)
    noted = [note for note in result.notes if note.startswith("Survivors on train that are consistently worse")]
    if test == "wilcoxon":
        assert (record.hidden, noted) == (0, [])
        assert survivors < len(train)
    else:
        assert 0 < record.hidden < survivors
        assert noted[0].endswith(f"(the test wilcoxon does): {record.label} {record.hidden}.")


def test_the_same_mutant_at_several_strengths_counts_once():
    """In quarters, 0.25 and all below it are one mutant; train kills it and 0.5, test only the latter."""
    result = turned(steps_at(0.2, 0.4), steps=4)
    (record,) = result.operators
    assert archive(record)[:2] == [0.5, 0.25]
    assert len(archive(record)) > 3
    assert {m.same_as for s, m in on(record, "train").items() if s < 0.25} == {0.25}
    assert record.set_score == 1 / 2


def lost(split, position, original, strength):
    """On test, up to 0.5 every other original forgets everything: nothing there is stable."""
    if split == "train":
        return strength > 0.6 and position % 2 == 0
    return strength > 0.5 or (strength > 0 and original % 2 == 0)


def test_a_search_that_lost_its_way_is_helped_by_what_train_killed():
    result = turned(lost, originals=6, rse=0.05)
    (record,) = result.operators
    assert record.status is Status.SCORED
    test = record.sets["test"]
    assert (test.killed, test.survived, test.archive) == (0, 0, ())
    assert test.unstable > 1
    assert test.mean_instances == 5 * 6  # its own probes; those that only train's search chose needed one repetition
    assert on(record, "test")[min(archive(record))].instances == 6
    assert min(archive(record)) > 0.6
    assert test.weakest_killed == min(archive(record))
    assert record.score == 1.0
    assert (result.score.interval.low, result.score.interval.high) == (1.0, 1.0)


def test_strengths_that_round_to_the_same_neurons_are_the_same_mutant():
    result = mutiny.assess(few_neurons(), "NEB", search=mutiny.Search(precision=0.05, rse=0.5), method="muff")
    (record,) = result.operators
    for split in ("train", "test", "weak"):
        mutants = [m for m in record.mutants if m.guiding_set == split]
        counts = {m.strength: max(1, round(m.strength * 6)) for m in mutants}
        assert len(set(counts.values())) < len(mutants)
        firsts = {counts[m.strength]: m for m in mutants if m.same_as is None}
        assert len(firsts) == sum(m.same_as is None for m in mutants) == len(set(counts.values()))
        for mutant in mutants:
            first = firsts[counts[mutant.strength]]
            assert (mutant.metrics, mutant.verdict) == (first.metrics, first.verdict)
            assert mutant.same_as == (None if mutant is first else first.strength)
            assert (mutant.p_adjusted is None) == (mutant is not first)
        adjusted = multipletests([m.p_value for m in firsts.values()], method="holm")[1]
        assert [m.p_adjusted for m in firsts.values()] == pytest.approx(adjusted)


def few_neurons():
    nets = []
    for seed in range(3):
        torch.manual_seed(seed)
        net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 3))
        nets.append(trained(net, nn.functional.cross_entropy, *blobs()))
    return blob_subject(models=nets)


def test_copies_of_one_mutant_do_not_lower_the_score_of_a_search_that_lost_its_way():
    """Train's archive names one mutant by several strengths; the test set, judged on them, kills from the same one."""
    result = turned(lost, originals=6, rse=0.05, steps=4)
    (record,) = result.operators
    assert len(archive(record)) > 1
    assert len({on(record, "train")[strength].metrics for strength in archive(record)}) == 1
    assert record.sets["test"].weakest_killed == record.sets["train"].weakest_killed
    assert (record.score, record.set_score) == (1.0, 1.0)
    assert result.score.interval.low <= record.score <= result.score.interval.high


@dataclass(frozen=True)
class Coin(Turn):
    """Sets the strength, with a random sign."""

    code: ClassVar[str] = "COIN"

    def edits(self, view, rng):
        value = self.ratio if rng.random() < 0.5 else -self.ratio
        yield WeightEdit("layer.bias", np.arange(3), torch.full((3,), value, dtype=torch.float64))


def shaky(split, position, original, strength):
    """On test, instances with a negative sign forget everything; train does not care about the sign."""
    if split == "test" and strength < 0:
        return True
    return abs(strength) >= (0.1 if split == "train" else 0.3) and position % 3 == 0


@pytest.mark.parametrize("originals", [1, 6])
def test_an_operator_whose_test_verdicts_are_unstable_has_no_score_and_is_left_out_of_the_mean(originals):
    search = mutiny.Search(precision=0.03, rse=0.1)
    result = mutiny.assess(subject_of(shaky, originals), [Turn(), Coin()], search=search, method="muff")
    scored, record = result.operators
    assert len(archive(record)) > 2
    assert {on(record, "test")[strength].verdict for strength in archive(record)} == {Verdict.UNSTABLE}
    assert record.status is Status.UNSTABLE
    assert (record.score, record.score_form, record.set_score, record.telling_score) == (None,) * 4
    assert record.reason.startswith("the test set's verdicts are unstable (RSE 0.")
    assert "is above 0.1 after" in record.reason
    assert record.reason.endswith("): no verdict, so no score")
    assert (record.sensitivity, record.sensitivity_reason) == (None, record.reason)
    test, train = (scored.sets[split].weakest_killed for split in ("test", "train"))
    assert result.score.value == scored.score == pytest.approx((1 - test) / (1 - train))
    assert (result.score.operators, result.score.tried) == (1, 2)


def blurred_above(split, position, original, strength):
    """Train kills from 0.2 on; test survives below 0.5, and from there on every other original forgets everything."""
    if split == "train":
        return strength >= 0.2 and position % 3 == 0
    return strength >= 0.5 and original % 2 == 0


def test_survivors_below_unstable_mutants_are_no_score_of_zero():
    """Train's search never tries more than 0.5, but it counts as killing everything above."""
    result = turned(blurred_above, originals=6, rse=0.1)
    (record,) = result.operators
    verdicts = {s: m.verdict for s, m in on(record, "test").items() if s >= record.sets["train"].weakest_killed}
    unstable = sum(verdict is Verdict.UNSTABLE for verdict in verdicts.values())
    assert Verdict.SURVIVED in verdicts.values()
    assert Verdict.KILLED not in verdicts.values()
    assert (record.status, record.score) == (Status.UNSTABLE, None)
    told = f"the test set kills no mutant, and {unstable} of its {len(verdicts)} verdicts are unstable (RSE 0."
    assert record.reason.startswith(told)


def test_a_test_set_that_surely_notices_nothing_scores_zero():
    (record,) = turned(lambda split, *rest: split == "train" and steps_at(0.2, 1.0)(split, *rest)).operators
    assert {m.verdict for m in on(record, "test").values()} == {Verdict.SURVIVED}
    assert (record.status, record.score, record.set_score) == (Status.SCORED, 0.0, 0.0)


@dataclass(frozen=True)
class Fixed(Operator):
    """The coin without a strength to search."""

    code: ClassVar[str] = "FIXED"
    title: ClassVar[str] = "fixed"
    source: ClassVar[str] = "here"

    def edits(self, view, rng):
        yield from Coin(0.5).edits(view, rng)


def test_an_operator_without_a_strength_that_is_unstable_on_test_has_no_score():
    (record,) = mutiny.assess(subject_of(shaky), [Fixed()], search=mutiny.Search(rse=0.1), method="muff").operators
    assert (on(record, "train")[None].verdict, on(record, "test")[None].verdict) == (Verdict.KILLED, Verdict.UNSTABLE)
    assert (record.status, record.score, record.set_score) == (Status.UNSTABLE, None, None)
