import pytest
import torch
from torch import nn

import mutiny
from mutiny.core.errors import BadInput
from mutiny.models import ModelState
from mutiny.subjects.subject import DEFAULT_ORIGINALS
from toys import blob_subject, blobs, classifier


def test_one_model_or_several():
    assert len(blob_subject(models=classifier()).models) == 1
    assert len(blob_subject(models=(classifier(0), classifier(1))).models) == 2
    assert "1 original," in repr(blob_subject(1))
    assert "originals from a recipe" in repr(blob_subject(models=None, recipe=mutiny.Recipe(tiny)))


@pytest.mark.parametrize("models", ["net.pt", ["net.pt"], {"a": classifier()}, nn.Linear, 3])
def test_what_is_no_model_is_refused_with_the_fix(models):
    with pytest.raises(BadInput, match=r"models.*=.*: expected .*torch\.nn\.Module\. Load it first"):
        blob_subject(models=models)


def tiny():
    return nn.Linear(2, 3)


def test_how_many_originals():
    given = blob_subject(3)
    assert [given.count(), given.count(2), len(given.originals(2))] == [3, 2, 2]
    trained = blob_subject(models=None, recipe=mutiny.Recipe(tiny, epochs=1))
    assert [trained.count(), trained.count(50)] == [DEFAULT_ORIGINALS, 50]
    for bad in (0, -1, 4, 1.5, True, "2"):
        with pytest.raises(BadInput, match="originals"):
            given.count(bad)
    with pytest.raises(BadInput, match="expected a whole number of at most 10,000"):
        trained.count(10**20)


def test_originals_are_the_users_own_objects_or_copies_on_another_device():
    subject = blob_subject(2)
    assert all(mine is theirs for mine, theirs in zip(subject.models, subject.originals(), strict=True))
    assert subject.originals(device="cpu")[0] is subject.models[0]
    for bad in ("abacus", "meta", "cuda:99"):
        with pytest.raises(BadInput, match=f"device='{bad}'"):
            subject.originals(device=bad)


def test_a_bad_device_is_refused_before_training():
    def never():
        raise AssertionError("must not be built")

    with pytest.raises(BadInput, match="device='abacus'"):
        blob_subject(models=None, recipe=mutiny.Recipe(never)).originals(device="abacus")


def test_a_recipe_gives_distinct_networks_that_do_not_depend_on_how_many():
    subject = blob_subject(models=None, recipe=mutiny.Recipe(tiny, epochs=1))
    two, three = subject.originals(2, seed=1), subject.originals(3, seed=1)
    assert torch.equal(two[1].weight, three[1].weight)
    assert not torch.equal(three[0].weight, three[1].weight)
    assert not torch.equal(two[0].weight, subject.originals(1, seed=2)[0].weight)


def test_equal_weights_are_one_network():
    with pytest.raises(BadInput, match=r"models\[1\]=the same weights as models\[0\]"):
        blob_subject(models=[classifier(0), classifier(0)]).originals()
    first, second = classifier(0), classifier(0)
    second[0].weight.data[0, 0] += 1e-3
    assert len(blob_subject(models=[first, second]).originals()) == 2


def test_making_and_checking_a_subject_leaves_models_alone():
    net = classifier()
    before = ModelState.of(net)
    subject = blob_subject(models=net)
    subject.check()
    subject.originals()
    assert ModelState.of(net) == before


def test_splits_hold_what_was_given():
    subject = blob_subject(weak=blobs(10), pool=blobs(20))
    assert {name: len(data) for name, data in subject.splits().items()} == {"train": 240, "test": 120, "weak": 10}
    assert len(subject.pool) == 20


def test_a_weak_set_may_have_one_class_only():
    x, y = blobs(30)
    blob_subject(weak=(x[y == 0], y[y == 0])).check()


def test_a_name_or_a_list_of_models_is_refused_with_what_to_write_instead():
    with pytest.raises(BadInput, match=r"subject='digits'.*mutiny\.load_subject\('digits'\)"):
        mutiny.assess("digits", method="muff")
    with pytest.raises(BadInput, match=r"subject=list.*mutiny\.Subject\(models=\[\.\.\.\]\)"):
        mutiny.select([nn.Linear(1, 2)])
