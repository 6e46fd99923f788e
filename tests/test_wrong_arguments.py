"""Wrong arguments in Python: a `BadInput` that names the argument, its value and the expectation."""

import pytest
from torch import nn

import mutiny
from mutiny.core.errors import BadInput
from toys import blob_subject, blobs, classifier

TYPES = {
    "operators that are a number": (lambda: mutiny.assess(blob_subject(), 5), "operators=5: expected codes"),
    "a store that is a number": (lambda: mutiny.assess(blob_subject(), store=5), "store=5: expected the path"),
    "a result's path that is a number": (lambda: mutiny.load_result(5), "path=5: expected the path"),
    "a result that is missing": (
        lambda: mutiny.load_result("none.json"),
        "path=none.json: expected a campaign file or a JSON result that exists.",
    ),
    "a result that is a folder": (lambda: mutiny.load_result("."), "path=.: expected a campaign file or a JSON"),
    "a result that is another file": (
        lambda: mutiny.load_result(__file__),
        "path=.*: expected a file that mutiny wrote",
    ),
    "a subject's name that is unknown": (lambda: mutiny.load_subject("zzz"), "name='zzz': expected a built-in"),
    "a subject's name that is a number": (lambda: mutiny.load_subject(5), "name=5: expected text"),
    "weights before the model": (
        lambda: mutiny.load_weights("net.pt", classifier()),
        "model='net.pt': expected a torch.nn.Module. The model comes first",
    ),
    "a weights file that is a number": (lambda: mutiny.load_weights(classifier(), 5), "path=5: expected the path"),
    "inputs that the model does not take": (
        lambda: mutiny.mutants(classifier(), "WI", inputs=blobs()[0][:, :1]),
        "model=RuntimeError: .*: expected a model that takes inputs such as",
    ),
    "inputs that are two numbers": (
        lambda: mutiny.mutants(classifier(), "WI", inputs=[1, 2]),
        r"inputs=\[1, 2\]: expected inputs, a pair",
    ),
    "inputs that are not numbers": (
        lambda: mutiny.mutants(classifier(), "WI", inputs=blobs()[0] * float("nan")),
        "inputs=NaN or infinite numbers in 240 of 240 items",
    ),
    "images that are not images": (
        lambda: mutiny.mutate(blobs()[0]),
        r"data=float32 \(240, 2\): .* mutiny.select\(..., mutate=mutiny.Noise\(\)\), or mutiny.MutatedData\(data, "
        r"mutiny.Noise\(\)\)",
    ),
    "a mutation that is a number": (
        lambda: mutiny.select(blob_subject(), mutate=3),
        r"mutate=3: expected a mutiny.Mutation, such as mutiny.Benign\(\) or mutiny.Noise\(\)",
    ),
    "an ascent that is a number": (
        lambda: mutiny.synthesize(classifier(), [], ascent=3, data=blobs()),
        "ascent=3: expected a mutiny.Ascent, none or rms",
    ),
    "a parameter of an attack": (lambda: mutiny.attack(blob_subject(), "pgd(norm=l7)"), "pgd norm='l7': expected linf"),
    "a number of restarts": (lambda: mutiny.attack(blob_subject(), "fgsm(restarts=0)"), "fgsm restarts=0: expected"),
    "a rate of Carlini and Wagner": (lambda: mutiny.attack(blob_subject(), "carlini(rate=0)"), "carlini rate=0.0: exp"),
    "iterations of AutoAttack": (
        lambda: mutiny.attack(blob_subject(), "autoattack(iterations=0)"),
        "autoattack iterations=0: expected",
    ),
    "no subject": (
        lambda: mutiny.assess(None),
        r"subject=NoneType: .*, or a model with data=\(inputs, targets\) and validation=\(inputs, targets\)\.$",
    ),
    "a model without a training set for muff": (
        lambda: mutiny.assess(classifier(), method="muff", data=blobs()),
        r"train=None: .* Give train=\(inputs, targets\);",
    ),
    "a subject without a training set for muff": (
        lambda: mutiny.assess(blob_subject(train=None), method="muff"),
        r"train=None: .* Give mutiny.Subject\(train=\(inputs, targets\)\);",
    ),
    "a confidence above one": (
        lambda: mutiny.Screening(confidence=3),
        "confidence=3: .* Use exact=True to evaluate every input.$",
    ),
    "savings that are a number": (lambda: mutiny.Savings(3), "shared=3: expected True or False"),
    "exact that is text": (lambda: mutiny.assess(blob_subject(), exact="no"), "exact='no': expected True or False"),
    "baselines that are a number": (lambda: mutiny.attack(blob_subject(), baselines=5), "baselines=5: expected True"),
    "diverse that is text": (lambda: mutiny.select(blob_subject(), diverse="no"), "diverse='no': expected True"),
    "minimize that is text": (
        lambda: mutiny.strengthen(blob_subject(), minimize="no"),
        "minimize='no': expected True or False",
    ),
    "silent that is text": (lambda: mutiny.locate(blob_subject(), silent="no"), "silent='no': expected True or False"),
    "a name that is a number": (lambda: blob_subject(name=5), "name=5: expected text"),
    "a forward that is a number": (lambda: blob_subject(forward=5), "forward=5: expected a function of model and"),
    "a model's forward that is a number": (
        lambda: mutiny.select(classifier(), pool=blobs(), forward=5),
        "forward=5: expected a function of model and inputs",
    ),
}

NAMES = {
    "methods of strengthen": (
        lambda: mutiny.strengthen(blob_subject(pool=blobs(seed=2)), methods="foo"),
        "methods='foo'",
    ),
    "a method that breaks ties": (
        lambda: mutiny.strengthen(blob_subject(pool=blobs(seed=2)), tie_break="foo"),
        "tie_break='foo'",
    ),
    "no method": (lambda: mutiny.select(blob_subject(), method=[]), r"method=\[\]"),
    "a number for a method": (lambda: mutiny.select(blob_subject(), method=5), "method=5: expected codes such as"),
    "an operator of mutants": (lambda: mutiny.mutants(classifier(), "XX", inputs=blobs()[0]), "operator='XX'"),
    "another attack": (lambda: mutiny.attack(blob_subject(), beside="foo"), "beside='foo'"),
    "an operator before training": (
        lambda: mutiny.strengthen(blob_subject(), operators="HLR"),
        "operators='HLR': expected operators on trained models. HLR is an operator before training, which only assess "
        "takes, with the method muff.",
    ),
    "an operator before training for mutants": (
        lambda: mutiny.mutants(classifier(), "HLR", inputs=blobs()[0]),
        "operator='HLR': expected an operator on trained models. HLR is",
    ),
    "operators of both kinds": (lambda: mutiny.assess(blob_subject(), ["WI", "HLR"]), "operators='HLR': expected"),
}


@pytest.mark.parametrize(
    ("call", "message"), [pytest.param(*case, id=name) for name, case in {**TYPES, **NAMES}.items()]
)
def test_a_wrong_argument_is_named_in_a_sentence(call, message):
    with pytest.raises(BadInput, match=f"^{message}"):
        call()


def test_mutants_of_a_model_that_takes_inputs_in_its_own_way_still_work():
    model = nn.Sequential(nn.Linear(2, 3)).eval()
    (mutant, *_) = mutiny.mutants(model, "WI", inputs=blobs()[0], forward=lambda model, x: model(x) * 2)
    with mutant.applied() as call:
        assert call(blobs()[0]).shape == (240, 3)
