"""`repair` from end to end: faults that were put in are repaired, what does not help is not called a repair."""

import json

import numpy as np
import pytest
import torch
from torch import nn

import mutiny
import toys
from mutiny.core.errors import BadInput
from mutiny.core.progress import Silent
from mutiny.models import ModelState, ModelView, Patch, default_forward
from mutiny.models.patch import WeightEdit
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification, Regression
from mutiny.verbs.repair.credit import credits, losses
from mutiny.verbs.repair.files import load_patch
from mutiny.verbs.repair.fitness import Fitness
from mutiny.verbs.repair.methods import REPAIRS, as_repair
from mutiny.verbs.repair.parametrization import Parametrization
from mutiny.verbs.repair.patch_choice import dose
from mutiny.verbs.repair.problem import RepairProblem
from mutiny.verbs.repair.target import check_target, targeted
from verbs.repair.spoilt import QUICK, data, faulty

pytestmark = pytest.mark.rounding


@pytest.mark.parametrize("method", REPAIRS)
def test_a_fault_is_mended_and_the_model_stays(method):
    model, _ = faulty()
    state = ModelState.of(model)
    found = mutiny.repair(model, QUICK[method], data=data())
    assert state == ModelState.of(model)
    assert found.repaired, found
    assert found.repair_rate.value > 0.5
    assert found.held_out.after > found.held_out.before
    assert found.repair_rate.total + found.break_rate.total == found.held_out.inputs


@pytest.mark.parametrize("method", REPAIRS)
def test_one_seed_one_answer(method):
    model, _ = faulty()
    first, second, other = (mutiny.repair(model, QUICK[method], data=data(400), seed=seed) for seed in (3, 3, 4))
    assert first.patch == second.patch
    assert first.to_json() | {"timing": 0} == second.to_json() | {"timing": 0}
    assert first.patch != other.patch


@pytest.mark.parametrize("method", REPAIRS)
def test_regression(method):
    x, y = toys.line(800, seed=7)
    model = toys.regressor()
    with torch.no_grad():
        model[0].weight[model[2].weight[0].abs().argmax()] *= -1
    found = mutiny.repair(model, QUICK[method], data=(x, y), task=Regression(tolerance=0.3))
    assert found.held_out.after >= found.held_out.before
    with pytest.raises(BadInput, match="regression has no classes"):
        mutiny.repair(model, data=(x, y), task=Regression(tolerance=0.3), target="confusion")


def test_what_is_saved_is_what_was_judged(tmp_path):
    model, _ = faulty()
    found = mutiny.repair(model, QUICK["search"], data=data())
    found.save(tmp_path / "weights.safetensors", tmp_path / "patch.safetensors")
    x, y = data()
    fresh = mutiny.load_weights(toys.classifier(seed=1), tmp_path / "weights.safetensors")
    said = found.model()(x)
    assert torch.equal(fresh(x), said)
    patch = load_patch(tmp_path / "patch.safetensors", model)
    assert patch == found.patch
    assert patch.first_layer == found.patch.first_layer
    with patch.applied(model) as call:
        assert torch.equal(call(x), said)
    right = int((said.argmax(1) == y).sum())
    assert right == sum(change.after for change in found.changes.values())
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["patch"]["weights"] == found.weights


def test_noise_is_not_called_a_repair(tmp_path):
    x, y = toys.blobs(600, seed=5)
    wrong = torch.from_numpy(np.random.default_rng(0).permutation(600)[:60])
    y[wrong] = (y[wrong] + 1) % 3  # labels that nobody can learn
    found = mutiny.repair(toys.classifier(), QUICK["search"], data=(x, y))
    assert not found.repaired
    assert found.held_out.gain_interval.low <= 0
    assert any("no repair" in note or "stays as it is" in note for note in found.notes)
    with pytest.raises(BadInput, match="no repair"):
        found.save(tmp_path / "weights.safetensors")
    for bad, message in ((None, "a file for the weights"), ("w.pt", "ends in"), ("no/such/w.safetensors", "existing")):
        with pytest.raises(BadInput, match=message):
            found.save(None if bad is None else tmp_path / bad, anyway=True)
    found.save(tmp_path / "weights.safetensors", anyway=True)
    assert (tmp_path / "weights.safetensors").exists()


def test_nothing_fails():
    x, _ = data(200)
    model = toys.classifier()
    found = mutiny.repair(model, data=(x, model(x).argmax(1)))
    assert not found.repaired
    assert found.notes == ("There is nothing to repair, because no input fails in this way.",)
    assert found.patch.edits == ()


@pytest.mark.parametrize("method", REPAIRS)
def test_one_failure(method):
    x, _ = data(200)
    model = toys.classifier()
    y = model(x).argmax(1)
    y[7] = (y[7] + 1) % 3
    found = mutiny.repair(model, QUICK[method], data=(x, y))
    assert not found.repaired
    assert any("failure" in note for note in found.notes)


@pytest.mark.parametrize("method", REPAIRS)
def test_everything_fails(method):
    x, _ = data(200)
    model = toys.classifier()
    found = mutiny.repair(model, QUICK[method], data=(x, (model(x).argmax(1) + 1) % 3))
    assert found.break_rate.total == 0
    assert found.break_rate.value is None
    assert any("Every input fails" in note for note in found.notes)
    assert not found.repaired


def test_only_the_confusion_that_is_meant():
    model, _ = faulty()
    found = mutiny.repair(model, QUICK["search"], data=data(), target="confusion")
    true, said = found.target["label"], found.target["said"]
    again = mutiny.repair(model, QUICK["search"], data=data(), target=(true, said))
    assert again.patch == found.patch
    x, y = data()
    told = model(x).argmax(1)
    assert found.target["failures"] == int(((y == true) & (told == said)).sum())
    assert sum(change.repaired.total for change in found.changes.values()) == found.target["failures"]


def test_layers_that_may_change():
    model, _ = faulty()
    found = mutiny.repair(model, QUICK["search"], data=data(300), layers="2")
    assert {edit.parameter for edit in found.patch.edits} <= {"2.weight"}
    with pytest.raises(BadInput, match="It has: 0, 2"):
        mutiny.repair(model, data=data(50), layers="fc")
    with pytest.raises(BadInput, match="at least one hidden layer"):
        mutiny.repair(model, "scale", data=data(300), layers="2")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "serach"}, "Did you mean search"),
        ({"method": "search(population=2)"}, "at least 4"),
        ({"method": "search(alpha=0)"}, "above 0"),
        ({"method": "scale(balance=1)"}, "between 0 and 1"),
        ({"method": "scale(most=1)"}, "above 1"),
        ({"method": "tune(k=0)"}, "at least 1"),
        ({"method": "tune(measure=ochiaia)"}, "Did you mean ochiai"),
        ({"shares": (0.5, 0.5, 0.5)}, "sum to 1"),
        ({"shares": (0.5, 0.5)}, "three numbers"),
        ({"target": "9,1"}, "classes between 0 and 2"),
        ({"target": "fox"}, "two classes"),
        ({"target": (1, 1)}, "two different classes"),
        ({"target": (0.7, 1)}, "two classes"),
        ({"target": (True, False)}, "two classes"),
        ({"method": "search(passes=inf)"}, "above 0"),
        ({"method": "search(alpha=inf)"}, "above 0"),
        ({"method": "scale(points=1)"}, "points=1"),
        ({"method": None}, "method=None"),
        ({"shares": None}, "three numbers"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": "a"}, "seed='a'"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"layers": []}, "names or patterns"),
        ({"layers": 3}, "names or patterns"),
    ],
)
def test_mistakes(settings, message):
    with pytest.raises(BadInput, match=message):
        mutiny.repair(toys.classifier(), **{"data": data(60), **settings})


def test_labels_are_needed():
    x, _ = data(60)
    with pytest.raises(BadInput, match="labeled inputs"):
        mutiny.repair(toys.classifier(), data=x)


@pytest.mark.parametrize("method", REPAIRS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.half])
def test_any_precision(method, dtype):
    model, _ = faulty()
    found = mutiny.repair(model.to(dtype), QUICK[method], data=data(400))
    assert found.held_out.after >= found.held_out.before


def test_models_made_in_inference_mode():
    with torch.inference_mode():
        model = nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 3)).eval()
    for method in REPAIRS:
        found = mutiny.repair(model, QUICK[method], data=data(200))
        assert found.held_out.inputs > 0


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("method", REPAIRS)
def test_hardly_any_inputs(method, count):
    x, y = data(200)
    found = mutiny.repair(
        toys.classifier(), QUICK[method], data=(x[:count], (y[:count] + 1) % 3), task=Classification(3)
    )
    assert not found.repaired


def test_pairs_from_arrays():
    model, _ = faulty()
    assert mutiny.repair(model, "tune(epochs=1)", data=data(60), target=np.array([0, 1])).target["said"] == 1


def test_credit():
    task = Classification(2, "logits")
    outputs = torch.tensor([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 2.0], [float("nan"), 0.0]]])
    right, credit = credits(task, outputs, torch.tensor([0, 1]))
    assert right.tolist() == [[True, True], [False, False]]
    wrong = nn.functional.cross_entropy(outputs[1, :1], torch.tensor([0]))
    assert credit.tolist() == [[1, 1], [pytest.approx(1 / (1 + wrong.item())), 0]]
    single = Classification(2, "logits")
    assert losses(single, torch.tensor([[0.0]]), torch.tensor([1])).item() == pytest.approx(np.log(2))
    assert losses(Regression(0.1, "mae"), torch.tensor([[1.0]]), torch.tensor([[3.0]])).tolist() == [2]


def test_targets():
    failing = np.array([True, True, True, False])
    labels, said = np.array([0, 0, 1, 1]), np.array([1, 1, 2, 1])
    which, about = targeted("confusion", failing, labels, said)
    assert which.tolist() == [True, True, False, False]
    assert (about["label"], about["said"], about["failures"]) == (0, 1, 2)
    assert targeted((1, 2), failing, labels, said)[0].tolist() == [False, False, True, False]
    assert check_target("2,0", Classification(3)) == (2, 0)


def test_parametrizations_set_or_scale_the_weights_they_name():
    model = toys.classifier()
    view = ModelView.of(model, torch.zeros(1, 2))
    neurons = Parametrization.of_neurons(view, [(view.layers[0], 3), (view.layers[1], 0)])
    with neurons.patch(np.array([2.0, 0.5])).applied(model):
        changed = {name: p.detach().clone() for name, p in model.named_parameters()}
    plain = dict(model.named_parameters())
    for name, row, factor in (("0.weight", 3, 2.0), ("0.bias", 3, 2.0), ("2.weight", 0, 0.5), ("2.bias", 0, 0.5)):
        expected = plain[name].detach().clone()
        expected[row] *= factor
        assert torch.equal(changed[name], expected)
    weights = Parametrization.of_weights(view, [layer.weights[0] for layer in view.layers], np.array([1, 24, 59]))
    patch = weights.patch(np.array([7.0, 8.0, 9.0]))
    with patch.applied(model):
        assert model[0].weight[0, 1] == 7
        assert model[2].weight[0, 0] == 8
        assert model[2].weight[2, 11] == 9
    assert patch.first_layer == "0"


def test_a_dose_goes_a_part_of_the_way():
    model = nn.Linear(2, 1).eval()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, 2.0]]))
    patch = Patch((WeightEdit("weight", np.array([1]), torch.tensor([4.0])),), "weight")
    with dose(patch, model, 0.25).applied(model):
        assert model.weight.tolist() == [[1.0, 2.5]]


@pytest.mark.parametrize("method", REPAIRS)
def test_methods_say_what_they_are(method):
    made = as_repair(method)
    assert str(made) == method
    assert made.title
    assert made.source
    assert as_repair(QUICK[method]) == as_repair(str(as_repair(QUICK[method])))


def test_gains_are_counted_as_a_repair_is_judged():
    model, loud = faulty()
    x, y = data(200)
    view = ModelView.of(model, x[:1])
    wrong = (model(x).argmax(1) != y).numpy()
    problem = RepairProblem(
        view,
        Classification(3, "logits"),
        as_data((x, y), "data"),
        y,
        wrong,
        np.ones(200, bool),
        view.layers,
        default_forward,
        0,
        50,
    )
    fail, passing = problem.sample(999, 99.0)
    assert (len(fail), len(passing)) == (wrong.sum(), (~wrong).sum())
    factors = Parametrization.of_neurons(view, [(view.layers[0], loud)])
    fitness = Fitness(problem, factors, fail, passing, 1.0, Silent())
    settings = np.linspace(-1, 2, 13)[:, None]
    scores = fitness(settings)
    gains = []
    for setting in settings:
        with factors.patch(setting).applied(model) as call:
            right = (call(x).argmax(1) == y).numpy()
        gains.append(int((right & wrong).sum()) - int((~right & ~wrong).sum()))
        assert scores[len(gains) - 1] >= right.mean()  # wrong answers have some credit too
    best = sorted(gains, reverse=True)[: len(fitness.gainful)]
    assert [gain for gain, _ in fitness.gainful] == pytest.approx(best)
    assert max(gains) > 0
