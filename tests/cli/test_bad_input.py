"""Bad input: exit code 2, one sentence that names argument, value and expectation, no traceback, nothing written."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import mutiny
from mutiny.campaigns.run import Runtime
from mutiny.campaigns.run import run as run_verb
from mutiny.campaigns.verb import Verb, ask
from mutiny.core.errors import BadInput
from mutiny.subjects.given import as_given
from toys import blob_subject

QUICK = ("--operators", "WI", "--seeds", "1")
MUFF = ("--method", "muff", "--operators", "WI", "--precision", "0.3")

DATA = {
    "empty split": (
        "x, y = blobs()\nsubject = blob_subject(test=(x[:0], y[:0]))",
        ["test=an empty split", "at least one item"],
    ),
    "label too large": (
        "x, y = blobs()\ny[5] = 3\nsubject = blob_subject(train=(x, y))",
        ["train label at index 5=3", "between 0 and 2", "1 of 240"],
    ),
    "label negative": (
        "x, y = blobs()\ny[0] = -1\nsubject = blob_subject(test=(x, y))",
        ["test label at index 0=-1", "between 0 and 2"],
    ),
    "label infinite": (
        "x, y = blobs()\ny = y.double()\ny[7] = float('inf')\nsubject = blob_subject(train=(x, y))",
        ["train label at index 7=inf", "between 0 and 2"],
    ),
    "label fractional": (
        "x, y = blobs()\nsubject = blob_subject(train=(x, y + 0.5))",
        ["train labels=", "whole numbers", "Regression"],
    ),
    "labels of the wrong shape": (
        "x, y = blobs()\nsubject = blob_subject(train=(x, torch.zeros(240, 4)))",
        ["train labels=shape (240, 4)", "(n,) or (n, 3)"],
    ),
    "rows that are not one-hot": (
        "x, y = blobs()\nsubject = blob_subject(train=(x, torch.ones(240, 3)))",
        ["train labels=", "one-hot"],
    ),
    "one target too few": (
        "x, y = blobs()\nsubject = blob_subject(test=(x, y[1:]))",
        ["test=240 inputs and 239 targets", "one target per input"],
    ),
    "NaN inputs": (
        "x, y = blobs()\nx[17, 1] = float('nan')\nsubject = blob_subject(train=(x, y))",
        ["train inputs=NaN", "first at index 17", "finite"],
    ),
    "one class only": (
        "x, y = blobs()\nsubject = blob_subject(test=(x[y == 1], y[y == 1]))",
        ["test labels=only class 1", "at least two classes"],
    ),
    "regression target NaN": (
        "x, y = line()\ny[3] = float('nan')\nsubject = line_subject(train=(x, y))",
        ["train targets=NaN", "finite numbers"],
    ),
    "regression target of the wrong width": (
        "x, y = line()\nsubject = line_subject(train=(x, torch.cat([y, y], 1)))",
        ["model output=1 numbers per input", "2, as in the targets"],
    ),
    "weak larger than test": (
        "subject = blob_subject(weak=blobs(150))",
        ["weak=150 inputs", "at most as many as test (120)"],
    ),
    "missing data file": (
        "subject = blob_subject(train='nowhere.npz')",
        ["train=nowhere.npz", "existing"],
    ),
}

MODELS = {
    "NaN weights": (
        "net = classifier()\nnet[0].weight.data[1, 0] = float('nan')\nsubject = blob_subject(models=net)",
        ["models[0] parameter 0.weight=NaN", "finite weights"],
    ),
    "probabilities where logits are stated": (
        "nets = [nn.Sequential(classifier(), nn.Softmax(1)).eval()]\n"
        "subject = blob_subject(models=nets, task=mutiny.Classification(3, 'logits'))",
        ["outputs='logits'", "'probabilities', because that is what the model returns"],
    ),
    "logits where probabilities are stated": (
        "subject = blob_subject(task=mutiny.Classification(3, 'probabilities'))",
        ["outputs='probabilities'", "'logits', because that is what the model returns"],
    ),
    "one column of probabilities where logits are stated": (
        "net = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid()).eval()\n"
        "subject = blob_subject(models=net, classes=2, task=mutiny.Classification(2, 'logits'))",
        ["outputs='logits'", "'probabilities', because that is what the model returns"],
    ),
    "training mode": (
        "subject = blob_subject(models=[classifier(0), classifier(1).train()])",
        ["models[1]=Sequential in training mode", "model.eval()"],
    ),
    "a part in training mode": (
        "net = classifier()\nnet[1].train()\nsubject = blob_subject(models=net)",
        ["models[0]=Sequential in training mode (its part 1)", "model.eval()"],
    ),
    "wrong number of columns": (
        "subject = blob_subject(task=mutiny.Classification(5))",
        ["model output=shape (240, 3)", "(n, 5)"],
    ),
    "one column for three classes": (
        "subject = blob_subject(models=nn.Linear(2, 1).eval())",
        ["model output=shape (240, 1)", "(n, 3)"],
    ),
    "one number for a whole batch": (
        "subject = blob_subject(models=classifier(), forward=lambda model, x: model(x).mean())",
        ["model output=shape ()", "one row per input"],
    ),
    "a row per batch": (
        "subject = blob_subject(models=classifier(), forward=lambda model, x: model(x).mean(0, keepdim=True))",
        ["model output=shape (1, 3) for 240 inputs", "one row per input"],
    ),
    "more rows than inputs": (
        "subject = blob_subject(models=classifier(), forward=lambda model, x: model(x).repeat(2, 1))",
        ["model output=shape (480, 3) for 240 inputs", "one row per input"],
    ),
    "inputs that the model does not take": (
        "subject = blob_subject(models=nn.Linear(7, 3).eval())",
        ["models[0]=RuntimeError", "float32 (240, 2)", "forward="],
    ),
    "test inputs unlike the training inputs": (
        "x, y = blobs()\nsubject = blob_subject(test=(torch.cat([x, x], 1), y))",
        ["models[0]=RuntimeError", "float32 (240, 4)"],
    ),
    "infinite outputs": (
        "subject = blob_subject(models=classifier(), forward=lambda model, x: model(x) / (x[:, :1] > -3))",
        ["output of models[0]=NaN or infinite for input", "finite numbers"],
    ),
    "the same original twice": (
        "subject = blob_subject(models=[classifier(0), classifier(1), classifier(0)])",
        ["models[2]=the same weights as models[0]", "independently trained"],
    ),
    "originals that return different things": (
        "nets = [nn.Sequential(classifier(i), end).eval() for i, end in enumerate([nn.Identity(), nn.Softmax(1)])]\n"
        "subject = blob_subject(models=nets)",
        ["models[1]=outputs that fit", "'probabilities'", "'logits'), as models[0]"],
    ),
    "originals of two architectures": (
        "subject = blob_subject(models=[classifier(0), nn.Sequential(classifier(1)).eval()])",
        ["models[1]=other parameters than models[0]", "one architecture"],
    ),
    "no model": ("subject = blob_subject(models=[])", ["models=[]", "at least one trained model"]),
    "not a model": ("subject = blob_subject(models=[classifier(), 'net'])", ["models[1]='net'", "a torch.nn.Module"]),
    "a task that is a class": (
        "subject = blob_subject(task=mutiny.Classification)",
        ["task=<class", "mutiny.Classification(...)"],
    ),
    "a network without weights": (
        "subject = blob_subject(models=nn.Identity().eval(), classes=2)",
        ["model=Identity", "at least one layer with weights"],
    ),
    "one class in the task": ("subject = blob_subject(task=mutiny.Classification(1))", ["classes=1", "at least 2"]),
    "tolerance zero": ("subject = line_subject(task=mutiny.Regression(0))", ["tolerance=0", "a positive number"]),
}

PREFLIGHT = {
    "dropout that is always on": (
        "drop = lambda model, x: model(nn.functional.dropout(x, 0.4, training=True))\n"
        "subject = blob_subject(forward=drop)",
        ["models[0] on train=", "the same answers from two clean runs", "not deterministic"],
    ),
    "a model at chance": (
        "torch.manual_seed(0)\nnet = nn.Linear(2, 3).eval()\nnet.weight.data.mul_(1e-3)\n"
        "subject = blob_subject(models=net)",
        ["zeroed network on train=not noticed", "forgot everything"],
    ),
    "a test set too small to notice anything": (
        "x, y = blobs(4, seed=1)\nsubject = blob_subject(models=classifier(), test=(x, y))",
        ["zeroed network on test=not noticed", "more inputs"],
    ),
}

FILES = {
    "a file that raises": (
        "a = 1\nb = a / 0\nsubject = None",
        ["mine.py'", "a file that runs", "line 8: ZeroDivisionError"],
    ),
    "a file that does not parse": ("subject = (", ["mine.py'", "a file that runs", "SyntaxError", "line 7"]),
    "a file that imports what is missing": (
        "import nosuch_module",
        ["a file that runs", "line 7: ModuleNotFoundError"],
    ),
    "a file that leaves": ("import sys\nsys.exit('bye')", ["a file that runs", "line 8: SystemExit: bye"]),
    "a file that raises several lines": ("raise ValueError('one\\n\\ntwo')", ["line 7: ValueError: one two"]),
    "a name that is not in the file": (
        "other = blob_subject()",
        ["mine.py:subject'", "a name defined", "It defines: other."],
    ),
    "an object that is no subject": ("subject = 3", ["mine.py:subject'", "a mutiny.Subject", "type int"]),
    "a class": ("subject = nn.Linear", ["mine.py:subject'", "a mutiny.Subject", "type type"]),
    "a function that raises": ("def subject():\n    return {}['x']", ["mine.py:subject'", "line 8: KeyError"]),
    "a function with arguments": ("def subject(n):\n    return n", ["a function without arguments", "TypeError"]),
    "a function that returns no subject": ("def subject():\n    return 3", ["a mutiny.Subject", "type int"]),
}

OPTIONS = {
    "no originals": (["--originals", "0"], ["--originals=0", "at least 1"]),
    "more originals than given": (["--originals", "4"], ["--originals=4", "at most 3"]),
    "a bar above one": (["--fail-under", "2"], ["--fail-under=2.0", "between 0 and 1"]),
    "a bar that is no number": (["--fail-under", "nan"], ["--fail-under=nan", "between 0 and 1"]),
    "alpha 0": (["--alpha", "0"], ["--alpha=0.0", "between 0 and 1"]),
    "alpha 1.5": (["--alpha", "1.5"], ["--alpha=1.5", "between 0 and 1"]),
    "unknown test": (["--test", "student"], ["--test='student'", "glm, welch"]),
    "unknown effect": (["--effect", "r2"], ["--effect='r2'", "cohen-d, a12"]),
    "negative beta": (["--beta", "-1"], ["--beta=-1.0", "at least 0"]),
    "precision 0": (["--precision", "0"], ["--precision=0.0", "a number above 0"]),
    "confidence 2": (["--confidence", "2"], ["--confidence=2.0", "below 1. Use --exact to evaluate every input."]),
    "rse 0": (["--rse", "0"], ["--rse=0.0", "a number above 0"]),
    "k-max 0": (["--k-max", "0"], ["--k-max=0", "at least 1"]),
    "k-max too small to be stable": (["--k-max", "1"], ["--k-max=1", "at least 2 with 3", "--min-instances 5"]),
    "max-probes 0": (["--max-probes", "0"], ["--max-probes=0", "at least 1"]),
    "max-seconds 0": (["--max-seconds", "0"], ["--max-seconds=0.0", "a number above 0"]),
    "weak share 0": (["--weak-share", "0"], ["--weak-share=0.0", "between 0 and 1"]),
    "weak share 1": (["--weak-share", "1"], ["--weak-share=1.0", "between 0 and 1"]),
    "batch size 0": (["--batch-size", "0"], ["--batch-size=0", "at least 1"]),
    "a negative seed": (["--seed", "-1"], ["--seed=-1", "at least 0"]),
    "no such device": (["--device", "abacus"], ["--device='abacus'", "a device of this machine"]),
    "a device without memory": (["--device", "meta"], ["--device='meta'", "a device of this machine"]),
    "unknown operator": (["--operators", "WI,XX"], ["--operators='XX'", "one of WI, NI"]),
    "an operator that is nearly right": (["--operators", "NIE"], ["--operators='NIE'", "Did you mean NI?"]),
    "unknown parameter": (["--operators", "NI(share=0.1)"], ["NI parameter='share=0.1'", "a name among ratio, "]),
    "parameter out of bounds": (["--operators", "NI(ratio=2)"], ["NI ratio=2.0", "between 0 and 1"]),
    "parameter that is no number": (["--operators", "NI(ratio=many)"], ["NI ratio='many'", "a number"]),
    "parameter with a wrong word": (["--operators", "NI(direction=up)"], ["NI direction='up'", "outgoing, incoming"]),
    "unbalanced bracket": (["--operators", "NI(ratio=0.1"], ["--operators='NI(ratio=0.1'", "WI,NI(ratio=0.1)"]),
    "no operator": (["--operators", ""], ["--operators=''", "at least one of"]),
    "an operator twice": (["--operators", "WI,WI"], ["--operators='WI'", "each operator once"]),
    "a layer that is not there": (["--operators", "WI,NI(layers=conv)"], ["layers='conv'", "of the model: 0, 2"]),
    "a test between trainings": (["--originals", "1", "--test", "glm"], ["--test='glm'", "at least two originals"]),
    "an effect between trainings": (
        ["--originals", "1", "--effect", "a12"],
        ["--effect='a12'", "cohen-g with"],
    ),
}


def refused(ran, folder, words, left=("mine.py",)):
    """One sentence on stderr and nothing else anywhere."""
    assert ran.code == 2, ran
    assert ran.out == ""
    assert ran.err.count("\n") == 1, ran.err
    assert ran.err.startswith("mutiny: ")
    assert ": expected " in ran.err
    assert "Traceback" not in ran.err
    for word in words:
        assert word in ran.err
    assert sorted(path.name for path in folder.iterdir()) == sorted(left)


@pytest.mark.parametrize(("body", "words"), [pytest.param(*case, id=name) for name, case in DATA.items()])
def test_data(run, write, tmp_path, body, words):
    outputs = ("--json", tmp_path / "out.json", "--kills", tmp_path / "out.npz")
    refused(run("assess", write(body), *QUICK, *outputs), tmp_path, words)


@pytest.mark.parametrize(("body", "words"), [pytest.param(*case, id=name) for name, case in MODELS.items()])
def test_models(run, write, tmp_path, body, words):
    refused(run("assess", write(body), *QUICK, "--json", tmp_path / "out.json"), tmp_path, words)


@pytest.mark.parametrize(("body", "words"), [pytest.param(*case, id=name) for name, case in PREFLIGHT.items()])
def test_subjects_with_which_nothing_could_be_noticed(run, write, tmp_path, body, words):
    refused(run("assess", write(body), *MUFF, "--json", tmp_path / "out.json"), tmp_path, words)


@pytest.mark.parametrize(("body", "words"), [pytest.param(*case, id=name) for name, case in FILES.items()])
def test_files(run, write, tmp_path, monkeypatch, body, words):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    refused(run("assess", write(body), *QUICK, "--json", tmp_path / "out.json"), tmp_path, words)


def test_a_file_that_raises_names_its_line_also_by_a_relative_path(run, write, tmp_path, monkeypatch):
    write("1 / 0")
    monkeypatch.chdir(tmp_path)
    refused(run("assess", "--method", "muff", "mine.py:subject"), tmp_path, ["'mine.py'", "line 7: ZeroDivisionError"])


@pytest.mark.parametrize(("options", "words"), [pytest.param(*case, id=name) for name, case in OPTIONS.items()])
def test_options(run, write, tmp_path, options, words):
    file = write("subject = blob_subject()")
    refused(run("assess", "--method", "muff", file, "--json", tmp_path / "out.json", *options), tmp_path, words)


@pytest.mark.parametrize("method", ["notice", "muff"])
def test_a_negative_seed_of_a_plan(run, write, tmp_path, method):
    file = write("subject = blob_subject()")
    refused(run("assess", "--method", method, file, "--seed", "-1", "--dry-run"), tmp_path, ["--seed=-1", "at least 0"])


def test_a_demo_without_a_seed(run):
    ran = run("demo", "--originals", "2", "--seed", "-1")
    assert (ran.code, ran.out, ran.err) == (2, "", "mutiny: --seed=-1: expected a whole number of at least 0.\n")


def test_a_demo_without_networks_prints_nothing_before_the_error(run):
    ran = run("demo", "--originals", "0")
    assert (ran.code, ran.out, ran.err) == (2, "", "mutiny: --originals=0: expected a whole number of at least 1.\n")


@pytest.mark.parametrize("option", ["--json", "--kills"])
@pytest.mark.parametrize("place", ["nowhere/out", ".", "mine.py/out"])
def test_output_that_cannot_be_written_is_refused_before_anything_runs(run, write, tmp_path, option, place):
    file = write("raise AssertionError('must not run')")
    refused(
        run("assess", "--method", "muff", file, option, tmp_path / place), tmp_path, [f"{option}=", "existing folder"]
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("digit", ["SUBJECT='digit'", "Did you mean digits?"]),
        ("nothing-like-it", ["SUBJECT='nothing-like-it'", "FILE.py:NAME"]),
        ("mine.py", ["SUBJECT='mine.py'", "Did you mean mine.py:subject?"]),
        ("nowhere.py:subject", ["SUBJECT='nowhere.py'", "a Python file that exists"]),
        ("no.such.module:subject", ["SUBJECT='no.such.module'", "can be imported", "ModuleNotFoundError"]),
        ("json:dumps", ["SUBJECT='json:dumps'", "TypeError"]),
        ("mnist", ["--data: expected", "--data DIR", "MUTINY_DATA", "four IDX files"]),
        ("cifar10", ["--data: expected", "--data DIR", "cifar10/{train,test}"]),
    ],
)
def test_unknown_subjects_and_missing_data(run, tmp_path, name, words):
    refused(run("assess", "--method", "muff", name), tmp_path, words, left=())


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist/lenet1", "cifar10/vgg16"])
def test_data_folders_without_the_data(run, tmp_path, name):
    refused(
        run("assess", "--method", "muff", name, "--data", tmp_path / "nowhere"),
        tmp_path,
        ["--data=", "an existing folder"],
        left=(),
    )
    refused(
        run("assess", "--method", "muff", name, "--data", tmp_path),
        tmp_path,
        [f"--data={tmp_path}", "in it", "get it from"],
        left=(),
    )


def test_a_data_folder_is_refused_with_a_subject_of_a_file(run, write, tmp_path):
    words = ["--data=elsewhere: expected a built-in subject that needs files, such as mnist. Leave it out: "]
    refused(run("select", write(BLOBS), "--data", "elsewhere", "--no-store"), tmp_path, words)


def test_the_variable_for_data_folders_does_not_concern_a_subject_of_a_file(run, write, monkeypatch):
    monkeypatch.setenv("MUTINY_DATA", "elsewhere")
    assert run("select", write(BLOBS), "--no-store", "-q").code == 0


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["assess", "mine.py:subject", "--kills", "k.txt"], "--kills=k.txt: expected a file name that ends in .npz."),
        (["report", "p.mutiny", "-o", "mine.py"], "--out=mine.py: expected a file name that ends in .html, .htm."),
    ],
)
def test_an_output_never_replaces_a_file_of_another_kind(run, write, tmp_path, monkeypatch, command, words):
    write(BLOBS)
    (tmp_path / "p.mutiny").write_bytes(b"")
    before = (tmp_path / "mine.py").read_text()
    monkeypatch.chdir(tmp_path)
    refused(run(*command), tmp_path, [words], left=("mine.py", "p.mutiny"))
    assert (tmp_path / "mine.py").read_text() == before


class Evil:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (Path(self.mark),)


def test_the_evil_pickle_of_these_tests_would_run(tmp_path):
    pickle.loads(pickle.dumps(Evil(tmp_path / "mark")))
    assert (tmp_path / "mark").exists()


@pytest.mark.skipif(torch.__version__ < (2, 10), reason="this torch gets another sentence")
def test_a_malicious_weights_file_is_refused_and_not_executed(run, write, tmp_path):
    torch.save({"0.weight": Evil(tmp_path / "mark")}, tmp_path / "net.pt")
    file = write(f"subject = blob_subject(models=mutiny.load_weights(classifier(), {str(tmp_path / 'net.pt')!r}))")
    refused(
        run("assess", "--method", "muff", file),
        tmp_path,
        ["net.pt", "unpickling", "trust_pickle=True"],
        left=("mine.py", "net.pt"),
    )


def test_a_malicious_npz_file_is_refused_and_not_executed(run, write, tmp_path):
    objects = np.empty(4, dtype=object)
    objects[:] = [Evil(tmp_path / "mark")] * 4
    np.savez(tmp_path / "data.npz", x=objects, y=np.arange(4))
    file = write(f"subject = blob_subject(train={str(tmp_path / 'data.npz')!r})")
    refused(
        run("assess", "--method", "muff", file),
        tmp_path,
        ["data.npz", "Python objects", "numbers"],
        left=("mine.py", "data.npz"),
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["assess"],
        ["assess", "--method", "muff", "digits", "--nosuch"],
        ["assess", "--method", "muff", "digits", "--seed", "x"],
        ["nosuch"],
        ["--nosuch"],
    ],
)
def test_usage_errors_are_exit_code_2_as_well(run, arguments):
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert "Usage: mutiny" in ran.err
    assert "Traceback" not in ran.err


def test_unknown_operator_in_the_explaining_command(run, tmp_path):
    refused(run("operators", "XX"), tmp_path, ["CODE='XX'", "one of WI, NI"], left=())


BLOBS = "subject = blob_subject(name='blobs')"
IN_THE_BOX = """
def squashed(seed=0):
    x, y = blobs(60, seed=seed)
    return x.sigmoid(), y
subject = blob_subject(name='blobs', train=squashed(), test=squashed(1))
"""
NAMED = {
    "a method to compare": (["select", "--compare", "foo"], BLOBS, "--compare='foo': expected one of deepgini"),
    "a method": (["select", "--method", "foo"], BLOBS, "--method='foo': expected one of deepgini"),
    "a method that does not apply, to compare": (
        ["select", "--compare", "deepgini"],
        "subject = line_subject(name='line')",
        "--compare=deepgini: expected",
    ),
    "a method that breaks ties": (["strengthen", "--tie-break", "foo"], BLOBS, "--tie-break='foo': expected one of"),
    "a method to strengthen by": (["strengthen", "--compare", "foo"], BLOBS, "--compare='foo': expected one of"),
    "another attack": (["attack", "--beside", "foo"], IN_THE_BOX, "--beside='foo': expected one of pgd"),
    "all operators": (["assess", "--operators", "all"], BLOBS, "--operators='all': expected operators on trained"),
    "an operator before training": (
        ["assess", "--operators", "WI,HLR"],
        BLOBS,
        "--operators='WI,HLR': expected operators on trained models. Operators before training, such as HLR, need "
        "--method muff.",
    ),
    "a picture of numbers": (
        ["attack", "--grid", "a.png"],
        IN_THE_BOX,
        "--grid=a.png: expected images (n, channels, height, width), got inputs of shape (2,). Leave out --grid.",
    ),
    "an empty range": (
        ["attack", "--low", "1", "--high", "0"],
        IN_THE_BOX,
        "--low=1.0: expected less than --high 0.0.",
    ),
    "a range without end": (["attack", "--high", "inf"], IN_THE_BOX, "--high=inf: expected a finite number."),
    "a negative distance": (["attack", "--eps", "-1"], IN_THE_BOX, "--eps=-1: expected distances above 0"),
    "one distance of several": (["attack", "--eps", "0.1,-1"], IN_THE_BOX, "--eps=-1: expected distances above 0"),
    "no training set": (
        ["assess", "--method", "muff", "--operators", "WI"],
        "subject = blob_subject(name='blobs', train=None)",
        "mutiny: SUBJECT: expected a training set, for method muff. Give mutiny.Subject(train=(inputs, targets));",
    ),
    "no pool": (
        ["strengthen"],
        BLOBS,
        "--pool: expected a pool, because the subject has none. Give --pool FILE, or --minimize to look for redundant",
    ),
    "a bar in percent": (["assess", "--fail-under", "80"], BLOBS, "between 0 and 1. Write 0.8 for 80%."),
    "no earlier file": (
        ["assess", "--against", "none.json"],
        BLOBS,
        "--against=none.json: expected a campaign file or a JSON result that exists.",
    ),
    "a condition that nothing explains": (
        ["locate", "--active", "foo"],
        BLOBS,
        "--active='foo': expected one of above, quantile, scaled.\n",
    ),
    "test inputs out of range": (["attack"], BLOBS, "mutiny: test inputs of SUBJECT=numbers from -"),
}


@pytest.mark.parametrize(("command", "body", "words"), [pytest.param(*case, id=name) for name, case in NAMED.items()])
def test_an_error_names_the_option_that_was_given(run, write, tmp_path, command, body, words):
    verb, *options = command
    refused(run(verb, write(body), *options, "--no-store"), tmp_path, [words])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_missing_is_answered_with_those_that_are_there(run, write, tmp_path):
    words = ["--device='cuda': expected a device of this machine. It has cpu", "PyTorch says: "]
    refused(run("select", write(BLOBS), "--device", "cuda", "--no-store"), tmp_path, words)


def test_a_folder_of_folders_is_named_as_it_was_given(run, write, tmp_path):
    (tmp_path / "photos" / "plain" / "deep").mkdir(parents=True)
    file = write(BLOBS)
    words = [f"--inputs={tmp_path / 'photos'}: expected images in every class folder, got none in plain. The layout"]
    ran = run("locate", file, "--inputs", tmp_path / "photos", "--no-store")
    refused(ran, tmp_path, words, left=("mine.py", "photos"))
    assert "did you mean" not in ran.err


REFUSED = {
    "a wrong combination": (["attack", "--combine", "foo"], IN_THE_BOX, "--combine='foo'"),
    "inputs out of range": (["attack"], BLOBS, "--high"),
    "a layer that no selector finds": (["select", "--layers", "foo"], BLOBS, "--layers"),
    "a layer that no repair finds": (["repair", "--layers", "foo"], BLOBS, "--layers"),
    "no pool": (["strengthen"], BLOBS, "--pool"),
    "an operator before training": (["assess", "--operators", "HLR"], BLOBS, "--method muff"),
    "no training set": (
        ["assess", "--method", "muff", "--operators", "WI"],
        "subject = blob_subject(name='blobs', train=None)",
        "train",
    ),
}


@pytest.mark.parametrize(("command", "body", "word"), [pytest.param(*case, id=name) for name, case in REFUSED.items()])
def test_a_refused_command_leaves_no_campaign(run, write, tmp_path, command, body, word):
    verb, *options = command
    ran = run(verb, write(body), *options, "--store", tmp_path / "p.mutiny")
    assert ran.code == 2, ran
    assert word in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.py"]


def test_a_refused_command_leaves_the_campaigns_of_a_file_as_they_were(run, write, tmp_path):
    file, store = write(BLOBS), tmp_path / "p.mutiny"
    assert run("select", file, "--method", "deepgini", "--store", store).code == 0
    before = run("status", store).out
    assert run("select", file, "--layers", "foo", "--store", store).code == 2
    assert run("strengthen", file, "--store", store).code == 2
    assert run("status", store).out == before
    assert "all in it are finished" in run("resume", store).err


class Rejecting(Verb):
    """A verb whose second job is refused."""

    name = "rejecting"

    def prepare(self, session):
        return None

    async def plan(self, session, state):
        return [await ask(session.job("step", (step,))) for step in range(2)]

    def work(self, state, job):
        if job.arguments[0]:
            raise BadInput("step", 1, "0")
        return 0

    def result(self, session, state, found):
        raise AssertionError("there is no result")

    def identity(self):
        return {}


def test_resume_skips_a_campaign_that_was_refused_after_some_work(run, tmp_path):
    given = as_given(blob_subject(), None, None, None, None, "data", pool=True)
    store = tmp_path / "p.mutiny"
    for _ in range(2):
        with pytest.raises(BadInput):
            run_verb(Rejecting(), given, Runtime(store=store))
        ran = run("resume", store)
        assert ran.code == 2
        assert "an unfinished campaign that was not refused. The latest one ended with: step=1: expected 0." in ran.err
        status = run("status", store).out
        assert "refused" in status
        assert "step=1: expected 0." in status
        assert "mutiny resume" not in status


def test_a_new_store_stays_without_a_trace_of_a_refused_call_in_python(tmp_path):
    with pytest.raises(BadInput, match="layers='foo'"):
        mutiny.select(blob_subject(), layers="foo", store=tmp_path / "p.mutiny")
    assert list(tmp_path.iterdir()) == []
