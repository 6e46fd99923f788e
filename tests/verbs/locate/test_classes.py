"""With a label everything is about that class: counting, ranking, silencing, synthesis."""

import numpy as np
import pytest
import torch
from rich.console import Console

import mutiny
import toys
from mutiny.core.errors import BadInput
from mutiny.models import ModelView
from mutiny.reports.locate_text import synthesis_text
from mutiny.verbs.locate.ablation import by_layer, silenced

X, Y = toys.blobs(150, seed=4, spread=1.2)
NET = toys.classifier()


def wrong(net, where):
    with torch.no_grad():
        return (net(X[where]).argmax(1) != Y[where]).numpy()


@pytest.mark.parametrize("label", [0, 1, 2])
def test_silencing_is_about_that_class(label):
    found = mutiny.locate(NET, k=2, data=(X, Y), label=label, validate=3, batch_size=7)
    here = label == Y
    before = wrong(NET, here)
    assert (found.ablation.failing, found.ablation.passing) == (before.sum(), (~before).sum())
    assert (found.failing, found.passing) == (found.ablation.failing, found.ablation.passing)
    with silenced(ModelView.of(NET, X[:2]), by_layer(found.suspects)).applied(NET) as call, torch.no_grad():
        after = (call(X[here]).argmax(1) != label).numpy()
    assert found.ablation.suspects.mended == (before & ~after).sum()
    assert found.ablation.suspects.broken == (~before & after).sum()


def test_without_labels_the_predicted_class_counts():
    said = NET(X).argmax(1)
    odd = lambda x, out: x[:, 0] > 0.5  # noqa: E731
    found = mutiny.locate(NET, k=2, data=X, oracle=odd, label=1, validate=2, batch_size=7)
    failing = int((X[said == 1, 0] > 0.5).sum())
    assert found.ablation.failing == found.failing == failing
    new = mutiny.synthesize(NET, found, 20, data=X, oracle=odd)
    assert (said[new.indices] == 1).all()
    assert new.labels is None


def test_synthesis_is_about_that_class():
    found = mutiny.locate(NET, k=2, data=(X, Y), label=1, validate=0)
    new = mutiny.synthesize(NET, found, 20, data=(X, Y))
    assert len(new) == 20
    assert new.labels.tolist() == [1] * 20
    assert new.settings["label"] == 1
    none = Y != 1
    with pytest.raises(BadInput, match="no inputs of class 1"):
        mutiny.synthesize(NET, found, 20, data=(X[none], Y[none]))
    lost = np.where(wrong(NET, slice(None)) | (Y.numpy() != 1))[0]
    with pytest.raises(BadInput, match="inputs of class 1 that all fail"):
        mutiny.synthesize(NET, found, 20, data=(X[lost], Y[lost]))


def test_rankings_are_about_that_class_unless_asked_otherwise():
    found = mutiny.locate(NET, k=4, data=(X, Y), label=1, validate=0)
    everyone = mutiny.locate(NET, k=4, data=(X, Y), validate=0)
    assert found.ranked() == found.suspects
    assert found.ranked(group="all") == everyone.suspects == everyone.ranked()
    assert found.suspects != everyone.suspects
    assert found.ranked(group=2) == everyone.ranked(group=2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group": 9}, "group=9: expected a class between 0 and 2"),
        ({"group": -1}, "group=-1"),
        ({"group": True}, "group=True"),
        ({"k": 0}, "k=0"),
        ({"k": -3}, "k=-3"),
        ({"k": 1.5}, "k=1.5"),
    ],
)
def test_what_is_no_ranking(settings, message):
    with pytest.raises(BadInput, match=message):
        mutiny.locate(NET, k=4, data=(X, Y), validate=0).ranked(**settings)


def test_fewer_inputs_than_asked_for_are_no_secret():
    found = mutiny.locate(NET, k=2, data=(X, Y), by_class=True, validate=0)
    new = mutiny.synthesize(NET, found, 1000, data=(X, Y))
    console = Console(width=200)
    with console.capture() as capture:
        console.print(synthesis_text(new))
    assert len(new) < 1000
    assert "1,000 were requested" in capture.get()


def test_classes_of_a_regression():
    for wanted in ({"label": 0}, {"by_class": True}):
        with pytest.raises(BadInput, match="a classifier, which has classes"):
            mutiny.locate(toys.line_subject(1), **wanted)
