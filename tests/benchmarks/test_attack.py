"""What attacks are compared with does the same work."""

import torch

from benchmarks import attack, subjects
from mutiny.models import ModelState
from mutiny.verbs.attack.base import Batch
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.attack.ensemble_member import with_weights
from mutiny.verbs.attack.pgd import Pgd


def case():
    data = subjects.drawn_digits(12)
    model = subjects.NETWORKS["lenet5"]().eval()
    return model, data.read(slice(0, 12)), torch.from_numpy(data.targets).long()


def test_the_plain_loop_is_the_same_attack():
    model, images, labels = case()
    patches = attack.mutated(model, images)
    members = [model, *(with_weights(model, patch) for patch in patches)]
    ours = Pgd(iterations=3, step=2.5 * attack.EPS / 3).attacked(
        Ensemble(model, patches), Batch(images, labels, 0, 0.0, 1.0, 0), attack.EPS
    )
    torch.testing.assert_close(attack.plain(members, images, labels, 3), ours.inputs)
    assert len(members) == 6


def test_rows():
    model, images, labels = case()
    state = ModelState.of(model)
    rows = attack.descended(model, images, labels, attack.Sizes(12, 2, 4, 1))
    assert any("plain passes" in name for name in rows)
    assert state == ModelState.of(model)


def test_distances_of_what_is_fooled():
    model, images, _ = case()
    said = model(images).argmax(1)
    far = attack.fooled(model, images, said, images)
    assert far.isinf().all()
    assert (attack.fooled(model, images, (said + 1) % 10, images) == 0).all()
