"""Memory that runs out, and code of the user that leaves, outside of jobs."""

import re

import pytest

FAILING = """
net = classifier()
fails = True

def forward(model, x):
    if fails:
        {statement}
    return model(x)

subject = mutiny.Subject(net, task=mutiny.Classification(3), train=blobs(), test=blobs(120, seed=1), forward=forward)
"""
ERRORS = {
    "python": "raise MemoryError",
    "torch": "raise torch.OutOfMemoryError('CUDA out of memory')",
    "main memory": 'raise RuntimeError("DefaultCPUAllocator: can\'t allocate memory: you tried to allocate 1 byte")',
}


@pytest.mark.parametrize("name", ERRORS)
def test_memory_that_runs_out_is_told_with_the_command_that_goes_on(name, run, write):
    file = write(FAILING.format(statement=ERRORS[name]), f"short_{name.replace(' ', '_')}.py")
    ran = run("assess", file, "--operators", "WI", "--store", "short.mutiny", "-q")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("mutiny: out of memory; finished work is kept. Use a smaller --batch-size")
    assert "Then resume with: mutiny resume short.mutiny" in ran.err
    assert ran.err.count("\n") == 1


def test_memory_that_runs_out_without_a_store_is_told(run, write):
    file = write(FAILING.format(statement=ERRORS["python"]), "short_alone.py")
    ran = run("assess", file, "--operators", "WI", "--no-store", "-q")
    assert ran.code == 3
    assert re.fullmatch("mutiny: out of memory; no result was written. .* give the same command again.\n", ran.err)


def test_a_network_that_leaves_with_0_is_no_success(run, write):
    file = write(FAILING.format(statement="raise SystemExit(0)"), "leaving.py")
    ran = run("assess", file, "--operators", "WI", "--no-store", "-q")
    assert ran.code == 2
    assert "leaving.py, line 13, raised SystemExit: 0" in ran.err


def test_an_interrupt_before_anything_is_stored_names_the_same_command(run, write, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    file = write("subject = blob_subject()", "early.py")
    monkeypatch.setattr("mutiny.campaigns.stores.lock.Lock.__init__", interrupt)
    ran = run("assess", file, "--operators", "WI", "--store", "early.mutiny", "-q")
    assert (ran.code, ran.err) == (
        3,
        "mutiny: interrupted; finished work is kept. Give the same command again: it goes on from there.\n",
    )
