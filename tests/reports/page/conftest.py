"""Small real assessments, once for all tests of the page."""

import pytest

import mutiny
from mutiny.verbs.assess.muff.search import Search
from toys import blob_subject, line_subject

QUICK = {"search": Search(k_max=2, max_probes=4), "batch_size": 256}


@pytest.fixture(scope="session")
def assessed(tmp_path_factory):
    """Six originals, two operators with a strength and one without."""
    store = tmp_path_factory.mktemp("page") / "blobs.mutiny"
    return mutiny.assess(blob_subject(6, name="blobs"), "WI,NEB,AFR", store=store, **QUICK, method="muff")


@pytest.fixture(scope="session")
def alone():
    """One original."""
    return mutiny.assess(
        blob_subject(1, name="one"), "WI(ratio=0.3)", search=Search(max_probes=4), batch_size=256, method="muff"
    )


@pytest.fixture(scope="session")
def regressed():
    """A regression."""
    return mutiny.assess(line_subject(5, name="line"), "GF", **QUICK, method="muff")
