"""``mutiny assess`` with the notice rate, as a user sees it."""

import json
import os
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

SEVERAL = "subject = blob_subject(3, validation=blobs(2000, seed=7), name='blobs')"
ONE = "subject = blob_subject(1, validation=blobs(2000, seed=7))"
FEWER = "x, y = blobs(120, seed=1)\nsubject = blob_subject(3, validation=blobs(2000, seed=7), test=(x[:60], y[:60]))"
QUICK = ("--operators", "GF,WI(ratio=0.5),LR", "--seeds", "2")
GROUP = {"rate", "interval", "bins"}
NEXT = "What to do next:"
FAULT = "operator strength original seed cost noticed p_value basis"


def strict(path):
    def refuse(constant):
        raise AssertionError(f"{constant} in {path}")

    return json.loads(Path(path).read_text(), parse_constant=refuse)


def answers(path):
    result = strict(path)
    assert set(result.pop("timing")) == {"created", "seconds"}
    return result


def assert_bins(group):
    """Counts and rates of a group agree with one another."""
    assert set(group) >= GROUP
    rates = []
    for each in group["bins"]:
        assert set(each) == {"low", "high", "faults", "noticed", "rate"}
        assert each["rate"] == (each["noticed"] / each["faults"] if each["faults"] else None)
        rates += [] if each["rate"] is None else [each["rate"]]
    assert group["rate"] == (pytest.approx(np.mean(rates)) if rates else None)


@pytest.mark.parametrize("body", [SEVERAL, ONE], ids=["several", "one"])
def test_text_and_json(run, write, tmp_path, body):
    ran = run("assess", write(body), *QUICK, "--json", tmp_path / "out.json")
    assert (ran.code, ran.err) == (0, "")
    lines = [line for line in ran.out.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    result = strict(tmp_path / "out.json")
    ends = result["notice"]["interval"]
    starts = "Cannot tell what share of the" if ends["high"] - ends["low"] > 0.6 else "Your 120 tests notice "
    assert " ".join(ran.out.split()).startswith(starts)
    assert (result["schema"], result["verb"], result["settings"]["method"]) == (1, "assess", "notice")
    notice = result["notice"]
    assert set(notice) >= {*GROUP, "interval_other_inputs", "false_alarms", "plan", "operators", "classes"}
    for group in (notice, *notice["operators"].values(), *notice["classes"].values()):
        assert_bins(group)
    for interval in (notice["interval"], notice["interval_other_inputs"]):
        assert 0 <= interval["low"] <= notice["rate"] <= interval["high"] <= 1
    assert [each["cost"] for each in notice["plan"]] == [2.0, 1.0, 0.5]
    assert result["faults"]
    for fault in result["faults"]:
        assert set(fault) >= set(FAULT.split())
        assert fault["noticed"] == (fault["p_value"] < 0.05)
    for low, high in ((each["low"], each["high"]) for each in notice["bins"]):
        counted = [fault["noticed"] for fault in result["faults"] if low <= fault["cost"] < high]
        (each,) = [each for each in notice["bins"] if each["low"] == low]
        assert (each["faults"], each["noticed"]) == (len(counted), sum(counted))
    assert "against" not in result


def test_one_seed_one_answer(run, write, tmp_path):
    file = write(SEVERAL)
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        outputs = ("--quiet", "--no-store", "--json", tmp_path / name)
        assert run("assess", file, *QUICK, "--seed", seed, *outputs).code == 0
    same, again, other = (answers(tmp_path / name) for name in "abc")
    assert same == again
    assert same["faults"] != other["faults"]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Folder for the result and the store of the first test that needs them."""
    return tmp_path_factory.mktemp("first")


@pytest.fixture
def rate(run, write, tmp_path, first):
    """The rate and its interval; the same command then only looks the result up."""
    result, store = first / "first.json", first / "mine-subject.mutiny"
    if not result.exists():
        assert run("assess", write(SEVERAL), *QUICK, "-q", "--json", result, "--store", store).code == 0
    shutil.copy(result, tmp_path)
    shutil.copy(store, Path())
    notice = strict(result)["notice"]
    assert notice["interval"]["low"] < notice["rate"] < notice["interval"]["high"]
    return notice["interval"]["low"], notice["rate"], notice["interval"]["high"]


def test_the_bar_has_three_outcomes_and_the_result_is_written_either_way(run, write, tmp_path, rate):
    low, middle, high = rate
    cases = [
        (low - 1e-6, (), 0, ""),
        (low - 1e-6, ("--strict",), 0, ""),
        (middle, (), 0, "(this passes without --strict)"),
        (middle, ("--strict",), 1, "cannot tell whether"),
        (high + 1e-6, (), 1, "the notice rate is below"),
        (high + 1e-6, ("--strict",), 1, "the notice rate is below"),
    ]
    for bar, more, code, told in cases:
        out = tmp_path / "again.json"
        ran = run("assess", write(SEVERAL), *QUICK, "--quiet", "--fail-under", f"{bar:.12f}", *more, "--json", out)
        assert (ran.code, ran.out) == (code, "")
        assert ran.err.count("\n") == bool(told)
        assert told in ran.err
        assert answers(out) == answers(tmp_path / "first.json")
        out.unlink()


def test_an_earlier_test_set_is_compared_on_the_same_faults(run, write, tmp_path, rate):
    earlier = ("--against", tmp_path / "first.json")
    outputs = ("--json", tmp_path / "b.json", "--summary", tmp_path / "b.md", "--no-store")
    ran = run("assess", write(FEWER), *QUICK, *earlier, *outputs)
    assert (ran.code, ran.err) == (0, "")
    assert max(len(line) for line in ran.out.splitlines() if str(tmp_path) not in line) <= 80
    told = " ".join(ran.out.split())
    compared = strict(tmp_path / "b.json")["against"]
    sentence = f"Against the earlier test set, on the same {compared['faults']} faults: "
    assert sentence in told
    assert sentence in (tmp_path / "b.md").read_text()
    assert compared["difference"] == pytest.approx(compared["after"] - compared["before"])
    assert compared["difference"] < 0  # half of the tests notice less
    assert compared["lost"] > 0
    assert compared["before"] == pytest.approx(rate[1], abs=1e-9)
    quiet = run("assess", write(FEWER), *QUICK, *earlier, "-q", "--no-store", "--fail-under", "1", *outputs[:2])
    assert (quiet.code, quiet.out) == (1, "")
    assert strict(tmp_path / "b.json")["against"] == compared


def test_other_reference_inputs_are_named(run, write, tmp_path, rate):
    other = write(SEVERAL.replace("blobs(2000, seed=7)", "blobs(300, seed=9)"))
    ran = run("assess", other, *QUICK, "-q", "--against", tmp_path / "first.json", "--no-store")
    told = "its costs were measured on other inputs: 2,000 validation inputs there, 300 validation inputs here"
    assert (ran.code, ran.err.splitlines()[0].partition("; ")[2]) == (0, f"{told}.")


def test_a_comparison_with_itself_finds_no_change(run, write, tmp_path, rate):
    for earlier in (tmp_path / "first.json", Path("mine-subject.mutiny")):
        ran = run("assess", write(SEVERAL), *QUICK, "--against", earlier, "--no-store", "--json", tmp_path / "b.json")
        assert (ran.code, ran.err) == (0, "")
        assert "no clear change" in " ".join(ran.out.split())
        compared = strict(tmp_path / "b.json")["against"]
        assert (compared["difference"], compared["gained"], compared["lost"]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "expected a campaign file or a JSON result that exists"),
        ("{", "expected JSON that mutiny wrote"),
        ('{"verb": "assess", "schema": 7, "notice": {}}', "with schema 1"),
    ],
)
def test_something_else_than_an_earlier_assessment(run, write, tmp_path, content, told):
    earlier = tmp_path / "old.json"
    if content is not None:
        earlier.write_text(content)
    ran = run("assess", write("raise AssertionError('must not run')"), *QUICK, "--against", earlier)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"mutiny: --against={earlier}: expected ")
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_an_assessment_of_the_other_method_cannot_be_compared(run, write, tmp_path):
    muff = ("--method", "muff", "--operators", "NEB", "--max-probes", "1", "-q", "--no-store")
    assert run("assess", write(ONE), *muff, "--json", tmp_path / "old.json").code == 0
    ran = run("assess", write(ONE), *QUICK, "--against", tmp_path / "old.json", "--json", tmp_path / "new.json")
    assert ran.code == 2
    assert "expected an assessment with a notice rate. Its assessment is of the method muff." in ran.err
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--operators", "NEB"), "expected an assessment with the same operators. It has GF, WI(ratio=0.5), LR."),
        (("--seed", "9"), "expected an assessment with --seed 9. It has seed 0, and other faults."),
    ],
    ids=["operators", "seed"],
)
def test_other_faults_are_refused_before_anything_runs(run, write, tmp_path, rate, options, told):
    file = write("raise AssertionError('must not run')")
    ran = run("assess", file, *QUICK, *options, "--against", tmp_path / "first.json", "--json", tmp_path / "new.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"mutiny: --against={tmp_path / 'first.json'}: {told}\n"
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (SEVERAL, "{old} is not an assessment of the same networks with the same seed and operators."),
        ("subject = blob_subject(3, train=None)", "this assessment has no notice rate; its notes say why."),
    ],
    ids=["other faults", "no rate"],
)
def test_what_cannot_be_compared_is_told_and_the_bar_applies(run, write, tmp_path, rate, body, told):
    earlier = strict(tmp_path / "first.json")
    earlier["faults"] = [{**fault, "original": fault["original"] + 3} for fault in earlier["faults"]]
    (tmp_path / "old.json").write_text(json.dumps(earlier))  # as if of other networks
    files = ("--against", tmp_path / "old.json", "--json", tmp_path / "new.json", "--summary", tmp_path / "new.md")
    for bar, code in (("0", int("None" in body)), ("1", 1)):
        ran = run("assess", write(body), *QUICK, *files, "-q", "--fail-under", bar, "--strict")
        said = told.format(old=tmp_path / "old.json")
        assert ran.err.splitlines()[0] == f"mutiny: --against: not compared: {said}"
        assert ran.code == code
    assert strict(tmp_path / "new.json")["against"] is None
    assert "Against the earlier" not in (tmp_path / "new.md").read_text()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--method", "moff"], "--method='moff': expected one of notice, muff."),
        (["--seeds", "0"], "--seeds=0: expected a whole number of at least 1"),
        (["--seeds", "0", "--dry-run"], "--seeds=0: expected a whole number of at least 1"),
        (["--strict"], "--strict: expected --fail-under as well"),
        (["--alpha", "2"], "--alpha=2.0: expected a probability"),
        (
            ["--k-max", "3"],
            "--k-max=3: expected only with --method muff. The search for mutants belongs to MUFF's procedure: add",
        ),
        (["--test", "glm"], "--test=glm: expected only with --method muff. The kill rule belongs to MUFF's procedure"),
        (
            ["--weak-share", "0.3"],
            "--weak-share=0.3: expected only with --method muff. The weak test set belongs to MUFF's",
        ),
        (
            ["--confidence", "0.9"],
            "--confidence=0.9: expected only with --method muff. The confidence of screening belongs",
        ),
        (["--method", "muff", "--seeds", "3"], "--seeds=3: expected only with --method notice"),
        (["--method", "muff", "--strict", "--fail-under", "0.5"], "--strict: expected only with --method notice"),
        (["--method", "muff", "--against", "a.json"], "--against=a.json: expected only with --method notice"),
        (
            ["--operators", "HNE"],
            "--operators='HNE': expected operators on trained models. Operators before training, such as HNE, need "
            "--method muff.",
        ),
        (["--operators", "GF,GF"], "--operators='GF': expected each operator once"),
        (["--fail-under", "80"], "--fail-under=80.0: expected a share between 0 and 1"),
        (["--originals", "4"], "--originals=4: expected at most 3"),
    ],
    ids=" ".join,
)
def test_bad_options_get_a_sentence(run, write, tmp_path, options, told):
    ran = run("assess", write(SEVERAL), "--json", tmp_path / "out.json", *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"mutiny: {told}")
    assert ran.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "drop = lambda model, x: model(nn.functional.dropout(x, 0.4, training=True))\n"
            "subject = blob_subject(forward=drop)",
            "not deterministic",
        ),
        (
            "torch.manual_seed(0)\nnet = nn.Linear(2, 3).eval()\nnet.weight.data.mul_(1e-3)\n"
            "subject = blob_subject(models=net)",
            "better than a network with all weights zero",
        ),
        (
            "subject = blob_subject(train=None, validation=blobs(120, seed=1))",
            "validation=120 of 120 inputs that are in",
        ),
        ("x, y = blobs()\nsubject = blob_subject(validation=(x, y[1:]))", "240 inputs and 239 targets"),
    ],
    ids=["dropout", "chance", "itself", "lengths"],
)
def test_subjects_that_cannot_be_assessed(run, write, tmp_path, body, told):
    ran = run("assess", write(body), *QUICK, "--json", tmp_path / "out.json")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


def test_a_test_set_alone_has_no_rate(run, write, tmp_path):
    alone = write("subject = blob_subject(2, train=None)")
    files = ("--json", tmp_path / "a.json", "--junit", tmp_path / "a.xml", "--summary", tmp_path / "a.md")
    ran = run("assess", alone, *QUICK, *files, "--fail-under", "0.5")
    assert ran.code == 0
    assert "there is no notice rate to compare with the bar" in ran.err
    assert " ".join(ran.out.split()).startswith("Cannot tell which faults your 120 tests notice")
    result = strict(tmp_path / "a.json")
    assert result["notice"]["rate"] is None
    assert {(fault["cost"], fault["hits"]) for fault in result["faults"]} == {(None, None)}
    assert (result["notice"]["reference"]["inputs"], result["notice"]["reference"]["metric_mean"]) == (0, None)
    assert run("assess", alone, *QUICK, "-q", "--fail-under", "0.5", "--strict").code == 1
    assert run("report", tmp_path / "a.json", "-o", tmp_path / "a.html").code == 0


def test_files_for_ci(run, write, tmp_path):
    endings = {"junit": "xml", "summary": "md", "kills": "npz", "json": "json"}
    files = {name: tmp_path / f"a.{ending}" for name, ending in endings.items()}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    ran = run("assess", write(SEVERAL), *QUICK, "-q", "--fail-under", "1", *options, "--store", "odd name.mutiny")
    assert ran.code == 1
    assert 'failures="1"' in files["junit"].read_text()
    summary = files["summary"].read_text()
    assert summary.startswith(("**Your 120 tests notice ", "**Cannot tell what share of the faults "))
    assert "Bar of 100%: **missed**" in summary
    (line,) = [line for line in summary.splitlines() if "mutiny strengthen" in line]
    words = shlex.split(line.strip().strip("`"))
    assert words[2] == f"{tmp_path}/mine.py:subject"
    assert words[-2:] == ["--store", "odd name.mutiny"]
    with np.load(files["kills"], allow_pickle=False) as kills:
        assert kills["fault"].max() < len(strict(files["json"])["faults"])


def test_the_plan(run, write):
    ran = run("assess", write(SEVERAL), "--operators", "GF,LR,HNE", "--dry-run")
    assert (ran.code, ran.err) == (0, "")
    assert "blobs, 3 originals: plan only, nothing was run" in ran.out
    assert "operators before training need --method muff" in " ".join(ran.out.split())
    assert "mutants" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_kept_shown_and_reported(run, write, tmp_path):
    first = run("assess", write(SEVERAL), *QUICK, "--json", tmp_path / "a.json")
    again = run("assess", write(SEVERAL), *QUICK, "--json", tmp_path / "b.json")
    assert again.out == first.out
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
    (tmp_path / "mine.py").unlink()
    for source in ("mine-subject.mutiny", tmp_path / "a.json"):
        report = run("report", source)
        assert (report.code, report.err) == (0, "")
        shown, reported = (text.partition(NEXT)[::2] for text in (first.out, report.out))
        assert reported[0] == shown[0]
        if source == "mine-subject.mutiny":  # a JSON file does not know the subject's file
            assert reported[1] == shown[1][: shown[1].index(" Kept in")]
        assert run("report", source, "-o", tmp_path / "a.html").code == 0
        assert "notice rate" in (tmp_path / "a.html").read_text()
    status = run("status", "mine-subject.mutiny")
    assert "assess blobs" in status.out
    assert "finished" in status.out
    ran = run("resume", "mine-subject.mutiny")
    assert ran.code == 2
    assert "all in it are finished" in ran.err


def test_the_screen_ends_with_commands_for_this_subject(run, write, tmp_path):
    """Each is one command for a shell, wherever its lines end, and the last line says where the result is kept."""
    long = tmp_path / ("very " * 8 + "long name.mutiny")
    ran = run("assess", write(SEVERAL), *QUICK, "--store", long)
    steps, kept = ran.out.partition(NEXT)[2].split(" Kept in ")
    found = [line.strip() for line in steps.replace("\\\n", "").splitlines() if line.startswith("     mutiny ")]
    assert 1 <= len(found) <= 3
    verbs = [shlex.split(line)[1] for line in found]
    assert set(verbs) <= {"assess", "strengthen"}
    for line in found:
        words = shlex.split(line)
        assert words[2] == f"{tmp_path}/mine.py:subject"
        assert words[words.index("--store") + 1] == str(long)
        if words[1] == "assess":
            assert words[words.index("--operators") + 1] == "GF,WI(ratio=0.5),LR"
    assert all(line.startswith(" ") for line in kept.splitlines()[1:])
    assert len(kept.splitlines()) > 1
    assert "mutiny report" in " ".join(kept.split())


def test_one_file_has_both_methods(run, write, tmp_path):
    muff = ("--method", "muff", "--operators", "NEB", "--max-probes", "1", "-q")
    for method, key in (((*QUICK, "-q"), "notice"), (muff, "score"), ((*QUICK, "-q"), "notice")):
        assert run("assess", write(SEVERAL), *method).code == 0
        assert run("report", "mine-subject.mutiny", "--json", tmp_path / "last.json").code == 0
        assert key in strict(tmp_path / "last.json")
        page = tmp_path / "page.html"
        assert run("report", "mine-subject.mutiny", "-o", page).code == 0
        assert ('<section id="notice"' in page.read_text()) == (key == "notice")
    assert run("status", "mine-subject.mutiny").out.count("assess blobs") == 2


INTERRUPTED = """
import os

def forward(model, x):
    left = int(os.environ["LEFT"]) - 1
    os.environ["LEFT"] = str(left)
    if not left:
        raise KeyboardInterrupt
    return model(x)

subject = blob_subject(2, validation=blobs(2000, seed=7), forward=forward, name="blobs")
"""


def test_an_interrupt_ends_with_3_and_is_resumed(run, write, tmp_path, monkeypatch):
    monkeypatch.setenv("LEFT", "1000000")
    options = (*QUICK, "--batch-size", "64", "--junit", tmp_path / "a.xml", "--json", tmp_path / "a.json")
    assert run("assess", write(INTERRUPTED), *options, "--no-store").code == 0
    alone = answers(tmp_path / "a.json")
    (tmp_path / "a.json").unlink()
    (tmp_path / "a.xml").unlink()
    passes = 10**6 - int(os.environ["LEFT"])
    monkeypatch.setenv("LEFT", str(passes * 2 // 3))
    file = tmp_path / "x.mutiny"
    stopped = run("assess", write(INTERRUPTED), *options, "--store", file, "--fail-under", "1")
    assert (stopped.code, stopped.out) == (3, "")
    assert f"Resume with: mutiny resume {file}" in stopped.err
    assert not (tmp_path / "a.json").exists()
    status = run("status", file)
    assert "interrupted" in status.out
    assert "faults" in status.out
    monkeypatch.setenv("LEFT", "1000000")
    files = ("--json", tmp_path / "a.json", "--junit", tmp_path / "a.xml")  # the bar is part of the command
    assert run("resume", file, "--quiet", *files).code == 1
    assert answers(tmp_path / "a.json") == alone
    assert 'failures="1"' in (tmp_path / "a.xml").read_text()


MOODY = """
import pathlib

class Moody(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = classifier(0)
        self.clean = self.inner[0].weight.detach().clone()

    def forward(self, x):
        changed = (self.inner[0].weight != self.clean).float().mean()
        if 0 < changed < 0.9 and not pathlib.Path("mood.txt").read_text():
            raise ValueError("not today")
        return self.inner(x)

subject = blob_subject(models=[Moody().eval()], validation=blobs(2000, seed=7), name="moody")
"""


def test_a_result_with_failures_is_kept_shown_and_tried_again(run, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mood.txt").write_text("")
    operators = ("--operators", "WI,NEB(ratio=0.5)", "--seeds", "2")
    ran = run("assess", write(MOODY), *operators, "--store", "x.mutiny", "--junit", "a.xml", "--summary", "a.md")
    assert ran.code == 0
    assert 'errors="1"' in Path("a.xml").read_text()
    assert "failed: " in Path("a.md").read_text()
    assert "not today" in " ".join(run("report", "x.mutiny").out.split())
    status = run("status", "x.mutiny")
    assert "finished, 2 failed" in status.out
    assert "Try again with: mutiny resume" in status.out
    (tmp_path / "mood.txt").write_text("fine")
    assert run("resume", "x.mutiny").code == 0
    assert "not today" not in run("report", "x.mutiny").out
    assert "failed" not in run("status", "x.mutiny").out
