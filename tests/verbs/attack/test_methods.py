"""Attacks by the names that users type."""

import pytest

from mutiny.core.errors import BadInput
from mutiny.verbs.attack.methods import as_attack, as_attacks
from mutiny.verbs.attack.pgd import Fgsm, Pgd


@pytest.mark.parametrize("text", ["pgd(norm=l2)", "PGD( norm = L2 )", "Pgd(norm='l2')"])
def test_case_does_not_matter(text):
    assert as_attack(text) == Pgd("l2")


@pytest.mark.parametrize("wanted", ["fgsm,pgd", ("fgsm", "pgd"), [Fgsm(), "pgd"], ("fgsm, pgd",)])
def test_several(wanted):
    assert as_attacks(wanted) == (Fgsm(), Pgd())


def test_one_or_none():
    assert as_attacks("fgsm") == as_attacks(Fgsm()) == (Fgsm(),)
    assert as_attacks(()) == ()


@pytest.mark.parametrize("wanted", ["fgsm, pgd", "", 5, (), ("fgsm", 5)])
def test_one_attack_is_one_attack(wanted):
    with pytest.raises(BadInput):
        as_attack(wanted)
