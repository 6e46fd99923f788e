"""``pytest --mutiny`` as its users have it: on suites in files of their own, in a session of their own."""

import json
import runpy
import shutil
import sys
from pathlib import Path

import pytest
import torch

from mutiny import mutant
from mutiny.testing.suite_records import Reaction, SuiteResult
from mutiny.testing.suite_subject import SuiteSubject
from testing.suites import FAILING, HANGS, INTERRUPTED, MANY, SMALL, SUBJECT, UNUSED, WATCH

pytest_plugins = ["pytester"]
QUICK = ("--mutiny", "my_subject.py:subject", "--mutiny-operators", "GF,NEB,AFR")
STORE = ".mutiny/my_subject-subject.mutiny"


@pytest.fixture(scope="module")
def known_faults(tmp_path_factory):
    """A store with the faults of the subject, so that not every test looks for them."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "my_subject.py").write_text(SUBJECT)
    subject = SuiteSubject(f"{folder}/my_subject.py:subject")
    subject.assessment("GF,NEB,AFR", folder)
    del sys.modules["my_subject"]  # the suites import one of their own
    return folder / STORE


@pytest.fixture
def run(pytester, known_faults):
    """Runs pytest on a suite in a folder with the subject."""
    pytester.makepyfile(my_subject=SUBJECT)
    Path(STORE).parent.mkdir()
    shutil.copy(known_faults, STORE)

    def run_on(suite, *options, separate=False, quick=QUICK):
        pytester.makepyfile(test_mine=suite)
        arguments = ("-p", "no:cacheprovider", "-p", "no:randomly", *quick, *options)
        return (
            pytester.runpytest_subprocess(*arguments)
            if separate
            else pytester.runpytest_inprocess(*arguments, no_reraise_ctrlc=True)
        )

    return run_on


def result_of(file="r.json"):
    return SuiteResult.from_json(json.loads(Path(file).read_text()))


def reactions_of(result, name):
    (position,) = [at for at, test in enumerate(result.tests) if test.name == f"test_mine.py::{name}"]
    return [tried.reactions[position] for tried in result.faults]


def test_the_matrix_is_that_of_a_loop_by_hand(run):
    done = run(MANY, "--mutiny-matrix", "--mutiny-faults", "12", "--mutiny-json", "r.json")
    assert done.ret == 1  # pytest's own: a test fails on the clean model
    result, mine = result_of(), runpy.run_path("my_subject.py")
    model, x, y = mine["model"], mine["x"][600:], mine["y"][600:]
    assert len(result.faults) == result.planned == 12
    for at, tried in enumerate(result.faults):
        with torch.no_grad(), mutant(model, tried.fault, inputs=x).applied() as call:
            right = call(x).argmax(1) == y
        share = float(right.float().mean())
        expected = {
            "test_accuracy": share < 0.99,
            "TestClass::test_recall[0]": float(right[y == 0].float().mean()) < 0.97,
            "TestClass::test_recall[1]": float(right[y == 1].float().mean()) < 0.97,
            "TestOld::test_low_accuracy": share < 0.95,
            "test_raises_an_error": share < 0.97,
            "test_useless": False,
        }
        for name, noticed in expected.items():
            assert reactions_of(result, name)[at].notices == noticed, (name, tried.fault)
        assert (tried.verdict == "noticed") == any(expected.values())
    assert Reaction.ERROR in reactions_of(result, "test_raises_an_error")
    assert all("LookupError: no answer" in reason for tried in result.faults for reason in tried.reasons.values())
    reasons = {test.name.partition("::")[2]: test.left_out for test in result.tests if test.left_out}
    assert reasons.pop("test_flaky").startswith("failed in the second of two clean runs")
    assert reasons == {
        "test_failing": "fails on the clean model",
        "test_skipped": "skipped",
        "test_expected": "expected to fail",
        "test_changes_the_model": "changes the model (0.bias)",
    }
    text = done.stdout.str()
    assert "Your 6 tests notice" in text
    assert "Never notice anything: test_useless." in text
    assert "test_flaky: failed in the second of two clean runs" in text
    assert max(map(len, text[text.index("= mutiny =") :].splitlines()[1:])) <= 80


def test_the_first_test_that_notices_ends_the_run_and_the_same_faults_are_noticed(run):
    options = ("--mutiny-faults", "12", "--deselect", "test_mine.py::test_failing", "--mutiny-json")
    run(MANY, *options, "full.json", "--mutiny-matrix", "--mutiny-html", "page.html")
    done = run(MANY, *options, "r.json")
    assert done.ret == 0
    full, short = result_of("full.json"), result_of()
    assert [t.fault for t in short.faults] == [t.fault for t in full.faults]
    assert [t.verdict for t in short.faults] == [t.verdict for t in full.faults]
    assert short.notice.rate == full.notice.rate
    for tried, other in zip(short.faults, full.faults, strict=True):
        assert sum(reaction.notices for reaction in tried.reactions) <= 1
        for reaction, whole in zip(tried.reactions, other.reactions, strict=True):
            assert reaction in (Reaction.NOT_RUN, whole)
    assert "Add --mutiny-matrix" in done.stdout.str()
    page = Path("page.html").read_text()
    assert "Which faults do the tests miss?" in page
    assert "TestOld::test_low_accuracy" in page


def test_workers_of_xdist_share_the_faults(run):
    pytest.importorskip("xdist")
    options = ("--mutiny-matrix", "--mutiny-faults", "5", "--mutiny-json")
    run(SMALL, *options, "one.json", "-p", "no:xdist")
    done = run(SMALL, *options, "two.json", "-n", "2", separate=True)
    assert done.ret == 0
    assert result_of("one.json") == result_of("two.json")
    assert "Your 2 tests notice" in done.stdout.str()
    run(UNUSED, "-n", "1", separate=True).stderr.fnmatch_lines(["ERROR: tests=none of 2 calls the model*"])


@pytest.mark.parametrize(
    ("suite", "options", "told"),
    [
        (SMALL, ["--mutiny-faults", "0"], "--mutiny-faults=0: expected a whole number of at least 1."),
        (SMALL, ["--mutiny-faults", "many"], "--mutiny-faults=many: expected a whole number of at least 1."),
        (SMALL, ["--mutiny-fail-under", "60"], "--mutiny-fail-under=60.0: expected a share between 0 and 1. Write 0.6"),
        (SMALL, ["--mutiny-timeout", "0"], "--mutiny-timeout=0: expected a number of seconds above 0."),
        (SMALL, ["--mutiny-json", "no/r.json"], "--mutiny-json=no/r.json: expected a file in an existing folder"),
        (SMALL, ["--mutiny-operators", "XYZ"], "--mutiny-operators='XYZ'"),
        (SMALL, ["--pdb"], "--pdb=given: expected no debugger together with --mutiny."),
        (SMALL, ["--mutiny", "no_such.py:subject"], "--mutiny='no_such.py': expected a Python file that exists."),
        (SMALL, ["--mutiny", "my_subject.py:model"], "It is a model, a Sequential: wrap it in mutiny.Subject"),
        (SMALL, ["--mutiny", "my_subject.py:in_training"], "Sequential in training mode"),
        (SMALL, ["--mutiny", "my_subject.py:bare"], "--mutiny=bare: expected a subject with inputs besides its test"),
        (SMALL, ["-k", "nothing"], "tests=none was collected: expected at least one test."),
        (UNUSED, [], "tests=none of 2 calls the model: expected tests of the model of my_subject.py:subject."),
        (FAILING, [], "tests=all 2 fail: expected tests that pass on the clean model. Mend them, or the model, first."),
    ],
    ids="faults word bar timeout json operators pdb file model mode bare none unused failing".split(),
)  # fmt: skip
def test_bad_input_gets_a_sentence(run, suite, options, told):
    done = run(suite, *options)
    assert done.ret == 4
    assert told in " ".join((done.stdout.str() + done.stderr.str()).split())


def test_options_without_a_subject_get_a_sentence(run):
    done = run(SMALL, "--mutiny-matrix", quick=())
    assert done.ret == 4
    done.stderr.fnmatch_lines(["*--mutiny-matrix: expected only with --mutiny SUBJECT*"])


def test_a_test_that_hangs_is_stopped_and_decides_nothing(run):
    done = run(HANGS, "--mutiny-faults", "2", "--mutiny-timeout", "0.5", "--mutiny-json", "r.json")
    assert done.ret == 0
    assert {tried.verdict.value for tried in result_of().faults} == {"undecided"}
    assert result_of().notice.rate is None
    assert "2 faults undecided, not counted: test_hangs: took longer than 0.5 s." in done.stdout.str()


def test_after_an_interrupt_the_model_is_restored_and_what_is_known_is_told(run, pytester):
    pytester.makeconftest(WATCH)
    done = run(INTERRUPTED, "--mutiny-json", "r.json")
    assert done.ret == 2
    assert len(result_of().faults) == 2
    text = " ".join(done.stdout.str().split())
    assert "NOT RESTORED" not in text
    assert "RESTORED" in text
    assert "Only 2 of " in text


def test_a_rate_that_is_surely_too_low_fails(run):
    useless = "from my_subject import model, x\ndef test_it(): assert len(model(x)) == 900"
    done = run(useless, "--mutiny-faults", "12", "--mutiny-fail-under", "0.9")
    assert done.ret == 1
    assert "--mutiny-fail-under: the notice rate is below 90%: 0%" in " ".join(done.stdout.str().split())
    assert run(SMALL, "--mutiny-faults", "12", "--mutiny-fail-under", "0").ret == 0


def test_fixtures_give_the_object_that_has_the_faults_and_work_without_them(run, pytester):
    suite = """
    def test_it(mutiny_model, mutiny_subject):
        assert mutiny_model is mutiny_subject.models[0]
        said = mutiny_model(mutiny_subject.test.first(300)).argmax(1)
        assert (said.numpy() == mutiny_subject.test.targets).mean() > 0.96
    """
    done = run(suite, "--mutiny-faults", "8", "--mutiny-json", "r.json")
    assert done.ret == 0
    assert result_of().notice.noticed > 0
    pytester.makeini("[pytest]\nmutiny_subject = my_subject.py:subject")
    run(suite, quick=()).assert_outcomes(passed=1)


def test_the_plugin_imports_nothing_heavy_and_suites_without_it_are_left_alone(run, pytester):
    probe = (
        "import sys\ndef test_it(): assert 'torch' not in sys.modules and 'mutiny.testing.suite_run' not in sys.modules"
    )
    done = run(probe, separate=True, quick=())
    done.assert_outcomes(passed=1)
    assert "mutiny:" not in done.stdout.str()
