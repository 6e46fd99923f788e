"""What a file may take in memory: by default, by the environment, and as text."""

import pytest

from mutiny.core import limits
from mutiny.core.errors import BadInput
from mutiny.core.json_text import depth, memory_of, parsed
from mutiny.core.limits import FLOOR, RATIO, Allowance, allowed, limited, parsed_size


@pytest.fixture(autouse=True)
def _large_machine(monkeypatch):
    monkeypatch.delenv(limits.VARIABLE, raising=False)
    monkeypatch.setattr(limits, "machine_memory", lambda: 1 << 40)


def test_small_files_may_take_the_floor_and_large_ones_a_multiple_of_their_size(monkeypatch):
    assert allowed(1) == allowed(FLOOR // RATIO) == FLOOR
    assert allowed(1 << 30) == RATIO << 30
    assert allowed(1 << 36) == 1 << 40  # 200 times 64 GB is more than the machine has


def test_the_environment_replaces_all_of_it(monkeypatch):
    monkeypatch.setenv(limits.VARIABLE, "64GB")
    assert allowed(1) == allowed(1 << 50) == 64 * 10**9
    with limited("1 MiB"):
        assert allowed(1) == 1 << 20
    with limited(None):
        assert allowed(1) == 64 * 10**9


@pytest.mark.parametrize(
    "text", ["", "much", "-1GB", "0", "1e9", "1.5.2GB", "1PB", "iB", "9" * 50, "5\u212a", "\u0663GB"]
)
def test_what_is_no_size_is_refused(text, monkeypatch):
    with pytest.raises(BadInput, match="expected a size such as"):
        parsed_size(text, "--limit")
    if text:
        monkeypatch.setenv(limits.VARIABLE, text)
        with pytest.raises(BadInput, match=limits.VARIABLE):
            allowed(1)


def test_a_wrong_size_in_the_environment_is_not_blamed_on_the_option(monkeypatch):
    monkeypatch.setenv(limits.VARIABLE, "much")
    with pytest.raises(BadInput, match=rf"^{limits.VARIABLE}='much'"), limited("much"):
        pass
    with pytest.raises(BadInput, match=r"^--limit='more'"), limited("more"):
        pass


def test_an_allowance_is_used_up_and_its_error_says_how_to_go_on():
    with limited("1MB"):
        allowance = Allowance("pool", "x.npz", 1)
        allowance.take(600_000)
        with pytest.raises(
            BadInput, match=r"pool=x.npz: expected a file that takes at most 1.0MB in memory, not 1.2MB"
        ):
            allowance.take(600_000)
        with pytest.raises(BadInput, match=r"--limit 1.3MB, or MUTINY_LIMIT=1.3MB in the environment"):
            allowance.take(600_000)
    with limited("1.3MB"):
        Allowance("pool", "x.npz", 1).take(1_200_000)  # as it was told


@pytest.mark.parametrize("levels", [101, 900, 1_000_000])
@pytest.mark.parametrize("signs", ["[]", "{}"])
def test_deep_nesting_is_an_error_of_one_kind(levels, signs):
    start = signs[0] if signs == "[]" else '{"":'
    text = (start * levels + "0" + signs[1] * levels).encode()
    with pytest.raises(ValueError, match="100 levels of nesting"):
        parsed(text)
    shallow = (start * 100 + "0" + signs[1] * 100).encode()
    assert depth(parsed(shallow)) == 100


def test_whole_numbers_of_a_hundred_thousand_digits_are_an_error():
    with pytest.raises(ValueError, match="digits"):
        parsed(b"1" * 100_001)


@pytest.mark.parametrize("piece", ["[]", "{}", "0.5", '""', '{"":0}', '"\\ud83d\\ude00"', "[[[]]]"])
def test_memory_of_json_is_not_more_than_estimated(piece):
    import tracemalloc

    text = ("[" + ",".join([piece] * 10_000) + "]").encode()
    tracemalloc.start()
    try:
        value = parsed(text)
        assert tracemalloc.get_traced_memory()[1] < memory_of(text)
    finally:
        tracemalloc.stop()
    assert len(value) == 10_000
