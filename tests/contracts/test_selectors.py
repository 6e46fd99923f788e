"""Every selection method, with its options, keeps its contract on models of many shapes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mutiny.core.errors import NotApplicable
from mutiny.subjects.data import as_data, as_pool, mutate
from mutiny.subjects.tasks import Classification, Regression
from mutiny.testing.selectors import check_selector
from mutiny.verbs.select import ALL, METHODS
from mutiny.verbs.select.base import BOTH, Scores, Selector
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.parsing import as_methods, describe
from zoo import Lambda, lively

SIZE, CLASSES = 24, 3


def images(rng, n=SIZE):
    return torch.rand(n, 1, 8, 8, generator=rng)


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 3, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(27, 6),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(6, CLASSES),
    )


def resnet():
    def forward(m, x):
        x = F.relu(m.norm(m.first(x)))
        x = F.relu(x + m.second(x))
        return m.head(F.adaptive_avg_pool2d(x, 1).flatten(1))

    parts = {"first": nn.Conv2d(1, 4, 3, padding=1), "norm": nn.BatchNorm2d(4), "second": nn.Conv2d(4, 4, 3, padding=1)}
    return lively(Lambda(forward, **parts, head=nn.Linear(4, CLASSES)))


def functional():
    def forward(m, x):
        x = F.dropout(F.relu(m.one(x.flatten(1))), 0.4, training=m.training)
        return m.two(x)

    return Lambda(forward, one=nn.Linear(64, 5, bias=False), two=nn.Linear(5, CLASSES, bias=False))


def lstm():
    return Lambda(lambda m, x: m.head(m.lstm(x)[0][:, -1]), lstm=nn.LSTM(3, 5, batch_first=True), head=nn.Linear(5, 3))


def transformer():
    layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True)
    return Lambda(
        lambda m, x: m.head(m.encoder(m.embed(x)).mean(1)),
        embed=nn.Embedding(11, 6),
        encoder=nn.TransformerEncoder(layer, 1, enable_nested_tensor=False),
        head=nn.Linear(6, CLASSES),
    )


def conv1d():
    return nn.Sequential(nn.Conv1d(2, 4, 3), nn.Tanh(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(4, CLASSES))


ANIMALS = {
    "lenet": (lenet, images),
    "resnet": (resnet, images),
    "functional": (functional, images),
    "lstm": (lstm, lambda rng: torch.randn(SIZE, 4, 3, generator=rng)),
    "transformer": (transformer, lambda rng: torch.randint(0, 11, (SIZE, 5), generator=rng)),
    "conv1d": (conv1d, lambda rng: torch.randn(SIZE, 2, 9, generator=rng)),
}
QUICK = {"mc-dropout": {"samples": 6}} | {code: {"mutants": 8} for code in ("kill-rate", "prima-kill", "prima")}
OPTIONS = as_methods(
    "nss(units=neuron, normalize=l1), nss(distance=square, normalize=max, share=1), nac(scaling=sigmoid), "
    "nac(scaling=channel, order=total), nac(scaling=none), kmnc(variant=deepgini, k=10), kmnc(variant=dnn-tip, k=10), "
    "nbc(order=total), dsa(by=coverage), dsa(variant=from-input), lsa(by=coverage), "
    "disagreement(measure=mutual-information), npc(by=similarity)"
)


def quick(kind):
    return kind(**QUICK.get(kind.code, {}))


def evidence_of(name, task=None, several=False):
    build, inputs = ANIMALS[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        models = [build().eval() for _ in range(3 if several else 1)]
    rng = torch.Generator().manual_seed(2)
    pool, train = inputs(rng), inputs(rng)
    with torch.no_grad():
        labels = models[0](train).argmax(1)
    labels[::3] = (labels[::3] + 1) % CLASSES  # so that some training answers are wrong
    if isinstance(task, Regression):
        labels = labels[:, None].float().repeat(1, CLASSES)
    task = task or Classification(CLASSES, "logits")
    return lambda **settings: Evidence(models, task, as_pool(pool), as_data((train, labels), "train"), **settings)


EACH = [(selector, name) for selector in map(quick, ALL) for name in ANIMALS]
EACH += [(selector, name) for selector in OPTIONS for name in ("lenet", "functional", "transformer")]


@pytest.mark.parametrize(("selector", "name"), EACH, ids=lambda part: part if isinstance(part, str) else describe(part))
def test_contract(selector, name):
    several = "disagreement" in describe(selector)
    reason = check_selector(selector, evidence_of(name, several=several))
    if reason is not None:
        assert any(word in reason for word in ("dropout", "whole numbers", "mistakes", "class")), reason


@pytest.mark.parametrize("selector", [*map(quick, ALL)], ids=describe)
def test_regression_works_or_says_why(selector):
    evidence = evidence_of("lenet", Regression(0.1), several=selector.code == "disagreement")
    reason = check_selector(selector, evidence)
    assert (reason is None) == isinstance(Regression(0.1), selector.tasks) or selector.code == "prima"


def test_the_authors_variant_needs_clean_originals():
    with pytest.raises(NotApplicable, match="clean originals"):
        METHODS["nss"](variant="authors-code").rank(evidence_of("lenet")())
    build, _ = ANIMALS["lenet"]
    pool = mutate((images(torch.Generator().manual_seed(0)), np.zeros(SIZE, int)))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = build().eval()

    def evidence(**settings):
        return Evidence([model], Classification(CLASSES, "logits"), pool, **settings)

    assert check_selector(METHODS["nss"](variant="authors-code"), evidence) is None


def test_codes_are_unique_and_words_are_there():
    assert len(METHODS) == len(ALL)
    for kind in ALL:
        assert kind.__doc__, kind.code
        assert as_methods(kind.code) == (kind(),)


class Forgetful(Selector):
    """Breaks a promise each time, to see that the contract bites."""

    code, title, source, tasks = "forgetful", "forgetful", "tests", BOTH
    fault: str = ""

    def score(self, evidence: Evidence) -> Scores:
        if self.fault == "seed":
            return np.random.default_rng().random(evidence.size)
        if self.fault == "batch":
            return np.arange(evidence.size) % evidence.pace.batch_size
        with torch.no_grad():
            next(evidence.model.parameters()).add_(1)
        return np.arange(evidence.size, dtype=float)


@pytest.mark.parametrize(
    ("fault", "message"), [("seed", "same seed"), ("batch", "batch size"), ("weights", "not as before")]
)
def test_the_contract_bites(fault, message):
    selector = Forgetful()
    object.__setattr__(selector, "fault", fault)
    with pytest.raises(AssertionError, match=message):
        check_selector(selector, evidence_of("lenet"))


class Nameless(Selector):
    code = "nameless"

    def score(self, evidence: Evidence) -> Scores:
        return np.zeros(evidence.size)


def test_a_method_without_title_fails():
    with pytest.raises(AssertionError, match="Nameless: the title is missing"):
        check_selector(Nameless(), evidence_of("lenet"))


def test_combined_methods_are_the_mean_of_ranks():
    gini, margin, both = as_methods("deepgini, margin, deepgini+margin")
    evidence = evidence_of("resnet")(batch_size=5)
    ranks = [np.argsort(np.argsort(method.rank(evidence)[1])) for method in (gini, margin)]
    assert np.allclose(both.rank(evidence)[1] * SIZE, np.mean(ranks, axis=0) + 1)
    assert as_methods("deepgini+margin") == (both,)
    assert describe(both) == "deepgini+margin"


def test_options_are_described_and_parsed_back():
    for selector in (*OPTIONS, replace(METHODS["nss"](), share=0.25)):
        assert as_methods(describe(selector)) == (selector,)
