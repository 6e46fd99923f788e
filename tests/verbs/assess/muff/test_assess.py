import copy

import numpy as np
import pytest
import torch
from scipy import stats
from statsmodels.stats.multitest import multipletests
from torch import nn

import mutiny
from mutiny.core.records import Status, Verdict
from mutiny.faults.parsing import as_operators
from mutiny.models import ModelState
from references import verdicts
from toys import blob_subject, blobs, classifier, line, line_subject, trained

pytestmark = pytest.mark.rounding

QUICK = mutiny.Search(precision=0.1)
TEXT = "WI(ratio=0.3),NI(ratio=0.5, direction=incoming)"


def judged_by_hand(subject, result, judge, pick):
    """Each picked record beside what brute force says about the same mutant."""
    for operator, record in zip(as_operators(TEXT), result.operators, strict=True):
        for mutant in record.mutants[::pick]:
            split = {"train": subject.train, "test": subject.test}.get(mutant.guiding_set)
            if split is None:
                continue
            data = (split.read(slice(None)), torch.as_tensor(split.targets))
            repetitions = mutant.instances // len(subject.models)
            probe, seed = subject.train.first(4), result.settings["seed"]
            at = operator.at(mutant.strength)
            yield record, mutant, verdicts.truth(subject.models, probe, at, seed, repetitions, data, judge)


@pytest.mark.parametrize("originals", [1, 3])
def test_verdicts_metrics_and_kills_are_those_of_brute_force(originals):
    subject = blob_subject(originals)
    result = mutiny.assess(subject, TEXT, seed=4, search=QUICK, method="muff")
    seen = set()
    for record, mutant, truth in judged_by_hand(subject, result, verdicts.accuracy, pick=3):
        metrics = truth.metrics.ravel()
        assert mutant.metric_mean == pytest.approx(metrics.mean(), abs=1e-12)
        assert mutant.rse == pytest.approx(stats.sem(metrics) / metrics.mean(), abs=1e-12)
        differences = (truth.clean_right[None].astype(int) - truth.right).sum(axis=(0, 1))
        if originals == 1:
            p, effect, beta = verdicts.sign_flip_p(differences), verdicts.cohen_g(differences), 0.15
        else:
            p, effect, beta = verdicts.glm_p(truth.clean, metrics), verdicts.cohen_d(truth.clean, metrics), 0.5
        assert mutant.p_value == pytest.approx(p, rel=1e-6, abs=1e-12)
        assert mutant.effect_size == pytest.approx(effect, rel=1e-6)
        assert mutant.verdict is (Verdict.KILLED if p < 0.05 and effect >= beta else Verdict.SURVIVED)
        kills = truth.clean_right[None] & ~truth.right
        bits = result.kills[record.label, mutant.strength, mutant.guiding_set]
        assert np.array_equal(bits.kills(), kills)
        assert np.array_equal(bits.per_input(), kills.sum(axis=(0, 1)))
        assert mutant.triviality == pytest.approx(kills.mean())
        labels = getattr(subject, mutant.guiding_set).targets
        hit = [len(set(labels[row])) / 3 for row in kills.reshape(-1, len(labels))]
        assert mutant.killed_classes == pytest.approx(np.mean(hit))
        seen.add(mutant.verdict)
    assert seen == {Verdict.KILLED, Verdict.SURVIVED}


@pytest.mark.parametrize(("metric", "power", "originals"), [("mse", 2, 1), ("mae", 1, 3)])
def test_regression_is_that_of_brute_force(metric, power, originals):
    subject = line_subject(originals, metric)
    result = mutiny.assess(subject, TEXT, search=mutiny.Search(precision=0.3, rse=0.5), method="muff")
    assert result.subject.task.metric == metric
    killed = 0
    for _, mutant, truth in judged_by_hand(subject, result, verdicts.losses(0.3, power), pick=2):
        assert mutant.metric_mean == pytest.approx(truth.metrics.mean(), rel=1e-5)
        assert mutant.killed_classes is None
        if originals == 1:
            differences = (truth.clean_right[None].astype(int) - truth.right).sum(axis=(0, 1))
            assert mutant.p_value == pytest.approx(verdicts.sign_flip_p(differences), rel=1e-6, abs=1e-12)
        else:
            p = verdicts.glm_p(truth.clean, truth.metrics.ravel())
            assert mutant.p_value == pytest.approx(p, rel=1e-3, abs=1e-12)
            assert (mutant.effect_size > 0) == (truth.metrics.mean() > truth.clean.mean())  # a larger loss is worse
        killed += mutant.verdict is Verdict.KILLED
    assert killed


@pytest.fixture(scope="module")
def several():
    return mutiny.assess(blob_subject(3), TEXT, search=QUICK, method="muff")


def test_scores_follow_from_the_records(several):
    for record in several.operators:
        weakest = {
            split: min(
                (
                    m.strength
                    for m in record.mutants
                    if (m.guiding_set, m.searched, m.verdict) == (split, True, "killed")
                ),
                default=None,
            )
            for split in ("train", "test")
        }
        reached = 0 if weakest["test"] is None else 1.0 - weakest["test"]
        expected = min(1.0, reached / (1.0 - weakest["train"]))
        assert record.score == pytest.approx(expected)
        assert record.score_form == "interval"
        assert {split: record.sets[split].weakest_killed for split in weakest} == weakest
        archive = {m.strength for m in record.mutants if m.guiding_set == "train" and m.verdict is Verdict.KILLED}
        on_test = {m.strength for m in record.mutants if m.guiding_set == "test" and m.verdict is Verdict.KILLED}
        assert record.set_score == pytest.approx(len(archive & on_test) / len(archive))
        weak = record.sets["weak"]
        if weak.killed:
            assert record.sensitivity == pytest.approx((record.score - weak.score) / record.score)
    assert several.score.value == pytest.approx(np.mean([record.score for record in several.operators]))
    assert several.score.operators == 2


def test_each_search_bisects_its_own_set(several):
    for record in several.operators:
        for split in ("train", "test", "weak"):
            low, high = 0.0, 1.0
            for mutant in (m for m in record.mutants if m.guiding_set == split and m.searched):
                assert mutant.strength == (low + high) / 2
                low, high = (mutant.strength, high) if mutant.verdict is Verdict.SURVIVED else (low, mutant.strength)
            assert high - low <= QUICK.precision < 2 * (high - low)
            assert record.sets[split].stopped == "precision"


def test_what_train_kills_is_judged_on_every_set(several):
    for record in several.operators:
        on = {
            split: {m.strength for m in record.mutants if m.guiding_set == split} for split in ("train", "test", "weak")
        }
        killed = {m.strength for m in record.mutants if m.guiding_set == "train" and m.verdict is Verdict.KILLED}
        assert killed <= on["test"]
        assert killed <= on["weak"]


def test_p_values_are_adjusted_over_all_mutants_of_a_set(several):
    for split in ("train", "test", "weak"):
        mutants = [m for record in several.operators for m in record.mutants if m.guiding_set == split]
        expected = multipletests([m.p_value for m in mutants], method="holm")[1]
        assert [m.p_adjusted for m in mutants] == pytest.approx(expected)


def test_the_weak_set_holds_the_share_asked_for_and_a_users_own_is_taken_as_it_is():
    subject = blob_subject(1)
    result = mutiny.assess(subject, "WI", search=mutiny.Search(max_probes=1), weak=mutiny.WeakSet(0.25), method="muff")
    assert result.subject.splits["weak"].inputs == 30
    x, y = blobs(120, seed=1)
    mine = blob_subject(1, weak=(x[:7], y[:7]))
    result = mutiny.assess(mine, "WI(ratio=0.3)", search=mutiny.Search(max_probes=1), method="muff")
    (key,) = [key for key in result.kills if key[2] == "weak"]
    assert result.kills[key].inputs == 7
    assert np.array_equal(result.kills[key].kills(), result.kills[(*key[:2], "test")].kills()[..., :7])


def test_budgets_end_searches_and_say_so():
    result = mutiny.assess(blob_subject(1), "WI(ratio=0.3)", search=mutiny.Search(max_probes=2, k_max=6), method="muff")
    (record,) = result.operators
    for split in ("train", "test", "weak"):
        assert sum(m.guiding_set == split and m.searched for m in record.mutants) == 2
    if record.status is Status.SCORED:
        assert any(note.startswith("A budget ended the search of") for note in result.notes)
    assert max(m.instances for m in record.mutants) <= 6
    timed = mutiny.assess(blob_subject(1), "WI(ratio=0.3)", search=mutiny.Search(max_seconds=1e-9), method="muff")
    assert sum(m.guiding_set == "train" for m in timed.operators[0].mutants) == 1


def test_bounds_narrow_the_search_and_the_score():
    result = mutiny.assess(
        blob_subject(3), TEXT, search=mutiny.Search(precision=0.1, lower=0.5, upper=0.9), method="muff"
    )
    for record in result.operators:
        assert record.bounds == (0.5, 0.9)
        assert all(0.5 < m.strength < 0.9 for m in record.mutants)


def test_one_seed_one_answer_in_python():
    def answer(seed):
        plain = mutiny.assess(
            blob_subject(2), TEXT, seed=seed, search=mutiny.Search(precision=0.3), method="muff"
        ).to_json()
        return {key: plain[key] for key in plain if key not in ("timing", "settings")}

    first = answer(1)
    torch.rand(5)
    np.random.rand(5)  # noqa: NPY002 - the global generator must not matter
    assert answer(1) == first
    assert answer(2) != first


def test_an_operators_answer_does_not_depend_on_the_others():
    search = mutiny.Search(precision=0.3)
    alone = mutiny.assess(blob_subject(2), "WI(ratio=0.3)", search=search, method="muff").operators[0]
    among = mutiny.assess(blob_subject(2), "GF,WI(ratio=0.3)", search=search, method="muff").operators[1]
    assert [m.p_value for m in alone.mutants] == [m.p_value for m in among.mutants]
    assert alone.score == among.score


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_batch_size_does_not_matter(size, several):
    result = mutiny.assess(blob_subject(3), TEXT, search=QUICK, batch_size=size, method="muff") if size > 1 else None
    if size == 1:
        single_probe = mutiny.Search(max_probes=1)
        result = mutiny.assess(blob_subject(1, classes=2), "WI", search=single_probe, batch_size=1, method="muff")
        several = mutiny.assess(blob_subject(1, classes=2), "WI", search=single_probe, method="muff")
    assert result.operators == several.operators


class Raises(BaseException):
    """Raised in the middle of a mutant."""


@pytest.mark.parametrize(
    "error", [RuntimeError("out of luck"), mutiny.BadInput("x", 1, "2"), KeyboardInterrupt(), Raises()]
)
@pytest.mark.parametrize("text", ["WI", "NI", "NS", "AFR", "LA"])
def test_models_are_untouched_after_success_errors_and_interrupts(error, text):
    """A crash costs one operator; what is meant for the user, and interrupts, end everything."""
    fuse = {"left": 10**9}

    def forward(model, x):
        fuse["left"] -= 1
        if fuse["left"] < 0:
            raise error
        return model(x)

    subject = blob_subject(2, forward=forward)
    subject.models[0][0].weight.grad = torch.ones(12, 2)
    subject.models[1][2].bias.requires_grad_(False)
    subject.models[0].register_forward_hook(lambda *_: None)
    before = [ModelState.of(model) for model in subject.models]
    quick = mutiny.Search(max_probes=1, min_instances=2, k_max=1)
    mutiny.assess(subject, text, search=quick, method="muff")
    assert [ModelState.of(model) for model in subject.models] == before
    used = 10**9 - fuse["left"]
    fuse["left"] = used - 2  # the last calls: both mutants on the weak set
    if isinstance(error, RuntimeError):
        (record,) = mutiny.assess(subject, text, search=quick, method="muff").operators
        assert record.status == "failed"
        assert "RuntimeError: out of luck" in record.reason
    else:
        with pytest.raises(type(error)):
            mutiny.assess(subject, text, search=quick, method="muff")
    assert fuse["left"] < 0
    assert [ModelState.of(model) for model in subject.models] == before


def test_models_are_untouched_after_bad_input_as_well():
    net = classifier()
    before = ModelState.of(net)
    with pytest.raises(mutiny.PreflightFailed):
        mutiny.assess(
            blob_subject(models=net, forward=lambda model, x: model(torch.rand_like(x) * 3)), "WI", method="muff"
        )
    assert ModelState.of(net) == before


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right, self.head = nn.Linear(1, 8), nn.Linear(1, 8), nn.Linear(16, 3)

    def forward(self, a, b):
        return {"logits": self.head(torch.cat([self.left(a).tanh(), self.right(b).tanh()], 1))}


def test_dict_inputs_and_dict_outputs():
    def parts(n=240, seed=0):
        x, y = blobs(n, seed=seed)
        return {"a": x[:, :1], "b": x[:, 1:]}, y

    torch.manual_seed(0)
    x, y = parts()
    net = Pair()
    adam = torch.optim.Adam(net.parameters(), 0.05)
    for _ in range(60):
        adam.zero_grad()
        nn.functional.cross_entropy(net(**x)["logits"], y).backward()
        adam.step()
    subject = mutiny.Subject(net.eval(), task=mutiny.Classification(3), train=parts(), test=parts(120, 1))
    result = mutiny.assess(subject, "WI(ratio=0.3),NI(ratio=0.5)", search=QUICK, method="muff")
    assert all(record.status is Status.SCORED for record in result.operators)
    assert result.subject.layers == ("left", "right", "head")


class Sequences(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(2, 8, batch_first=True), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def test_an_lstm():
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(200, 5, 2, generator=draw)
    y = (x[:, -2:].sum((1, 2)) > 0).long()
    torch.manual_seed(0)
    net = trained(Sequences(), nn.functional.cross_entropy, x, y)
    subject = mutiny.Subject(net, task=mutiny.Classification(2), train=(x[:120], y[:120]), test=(x[120:], y[120:]))
    before = ModelState.of(net)
    result = mutiny.assess(subject, "WI(ratio=0.5),NI(ratio=0.5),LR", search=QUICK, method="muff")
    assert [record.status for record in result.operators] == [Status.SCORED, Status.SCORED, Status.INVALID]
    assert ModelState.of(net) == before


def test_a_class_without_inputs_is_noted():
    x, y = blobs(120, seed=1)
    subject = blob_subject(1, test=(x[y != 2], y[y != 2]))
    result = mutiny.assess(subject, "WI(ratio=0.3)", search=mutiny.Search(max_probes=1), method="muff")
    assert "The test set has no input of class 2." in result.notes
    assert all(m.killed_classes <= 2 / 3 for m in result.operators[0].mutants if m.guiding_set == "test")


def test_a_mutant_whose_loss_is_no_number_is_unstable_and_says_why():
    clean = [copy.deepcopy(model) for model in line_subject(2).models]

    def forward(model, x):
        touched = all(not torch.equal(model[0].weight, other[0].weight) for other in clean)
        return model(x) / (0.0 if touched and model[0].weight.any() else 1.0)

    subject = line_subject(models=clean_copies(clean), forward=forward)
    result = mutiny.assess(subject, "WI(ratio=0.9)", search=mutiny.Search(max_probes=1), method="muff")
    mutant = result.operators[0].mutants[0]
    assert mutant.verdict is Verdict.UNSTABLE
    assert mutant.reason == "the mse of some instances is not a finite number"
    assert result.to_json()["operators"][0]["mutants"][0]["metric_mean"] is None
    assert result.operators[0].reason == (
        "every mutant is unstable on the training set within the budget (a larger rse admits more)"
    )


@pytest.mark.parametrize("originals", [1, 2])
def test_repetitions_that_draw_nothing_new_are_not_counted_as_evidence(originals):
    def with_a_layer_between(model):
        middle = nn.Linear(model[0].out_features, model[0].out_features)
        nn.init.eye_(middle.weight), nn.init.zeros_(middle.bias)
        return nn.Sequential(model[0], nn.ReLU(), middle, *list(model)[1:]).eval()

    models = [with_a_layer_between(model) for model in blob_subject(originals).models]
    subject = blob_subject(models=models)
    rule, search = mutiny.KillRule(test="mcnemar"), mutiny.Search(rse=10.0)
    result = mutiny.assess(subject, "LD", rule=rule, search=search, method="muff")
    assert {m.instances for m in result.operators[0].mutants} == {originals}  # one layer qualifies: one mutant each
    assert {m.verdict for m in result.operators[0].mutants} == {Verdict.SURVIVED}  # twice the identity is the identity


def clean_copies(models):
    return [copy.deepcopy(model) for model in models]


def test_fewer_originals_than_given_are_the_first_ones():
    result = mutiny.assess(blob_subject(3), "WI", originals=1, search=mutiny.Search(max_probes=1), method="muff")
    other = mutiny.assess(blob_subject(1), "WI", search=mutiny.Search(max_probes=1), method="muff")
    assert result.operators == other.operators


def test_a_recipe_trains_originals_once_and_reports_progress(tmp_path):
    said = []

    class Listener:
        def stage(self, title, total):
            said.append([title, total, 0])

        def step(self, note="", done=1):
            said[-1][2] += done

    subject = blob_subject(models=None, recipe=mutiny.Recipe(small, epochs=8, learning_rate=0.05))
    search = mutiny.Search(max_probes=2, k_max=3)
    more = {"originals": 2, "search": search, "folder": str(tmp_path)}
    first = mutiny.assess(subject, "WI(ratio=0.3),LR", progress=Listener(), **more, method="muff")
    assert len(list(tmp_path.glob("*.safetensors"))) == 2
    assert [title for title, *_ in said] == ["training originals", "clean passes and pre-flight", "searching mutants"]
    assert all(total == done for _, total, done in said)
    again = mutiny.assess(subject, "WI(ratio=0.3),LR", **more, method="muff")
    with pytest.raises(mutiny.BadInput, match="folder=5: expected the path of a folder"):
        mutiny.assess(subject, "WI", folder=5, method="muff")
    assert again.operators == first.operators
    assert first.subject.originals == 2


def small():
    return nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))


def test_probabilities_and_logits_get_the_same_verdicts(several):
    nets = [nn.Sequential(*classifier(seed), nn.Softmax(1)).eval() for seed in range(3)]
    result = mutiny.assess(blob_subject(models=nets), TEXT, search=QUICK, method="muff")
    assert result.subject.task.outputs == "probabilities"
    assert [m.p_value for o in result.operators for m in o.mutants if m.guiding_set != "weak"] == [
        m.p_value for o in several.operators for m in o.mutants if m.guiding_set != "weak"
    ]


@pytest.mark.parametrize(
    ("originals", "test", "words"),
    [
        (1, "mcnemar", ["One original: verdicts come from a paired exact test over inputs (McNemar's, pooled over "]),
        (
            1,
            "fisher",
            [
                "One original: verdicts come from Fisher's exact test on pooled answers and speak of this ",
                "No interval: one original is too few to resample; 5 or more would give one.",
            ],
        ),
        (2, "fisher", ["No interval: 2 originals are too few to resample; 5 or more would give one."]),
        (2, "mcnemar", []),
    ],
)
def test_the_test_behind_few_originals_is_named(originals, test, words):
    rule, search = mutiny.KillRule(test), mutiny.Search(max_probes=1)
    result = mutiny.assess(blob_subject(originals), "WI", rule=rule, search=search, method="muff")
    notes = [note for note in result.notes if note.startswith(("One original", "No interval"))]
    assert len(notes) == len(words)
    assert all(note.startswith(start) for note, start in zip(notes, words, strict=True))
    assert (result.score.interval is None) == (test == "fisher" or result.score.value is None)


def test_targets_of_another_shape_mean_the_same():
    x, y = line()
    wide = mutiny.assess(line_subject(2), "WI", search=mutiny.Search(max_probes=1, k_max=3), method="muff")
    flat = mutiny.assess(
        line_subject(2, train=(x, y[:, 0])), "WI", search=mutiny.Search(max_probes=1, k_max=3), method="muff"
    )
    assert wide.operators == flat.operators


def test_what_the_originals_do_is_told_with_their_spread():
    subject, single_probe = line_subject(3), mutiny.Search(max_probes=1)
    splits = mutiny.assess(subject, "WI", search=single_probe, method="muff").subject.splits
    for split in ("train", "test"):
        data = getattr(subject, split)
        x, y = data.read(slice(None)), torch.as_tensor(data.targets)
        metrics = [verdicts.losses(0.3, 2)(model, x, y)[0] for model in subject.models]
        assert splits[split].metrics == pytest.approx(metrics, rel=1e-4)
        assert splits[split].metric_mean == pytest.approx(np.mean(metrics), rel=1e-4)
        assert splits[split].metric_sd == pytest.approx(stats.tstd(metrics), rel=1e-3)
        assert splits[split].inputs == len(y)
    assert (
        mutiny.assess(line_subject(1), "WI", search=single_probe, method="muff").subject.splits["test"].metric_sd
        is None
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"seed": -1}, "seed=-1: expected a whole number of at least 0"),
        ({"seed": 0.5}, "seed=0.5"),
        ({"seed": "0"}, "seed='0'"),
        ({"batch_size": 0}, "batch_size=0: expected a whole number of at least 1"),
        ({"batch_size": "8"}, "batch_size='8'"),
        ({"batch_size": True}, "batch_size=True"),
    ],
)
def test_numbers_that_are_no_settings(settings, words):
    with pytest.raises(mutiny.BadInput, match=f"^{words}"):
        mutiny.assess(blob_subject(2), "WI", **settings, method="muff")


def test_whole_numbers_of_numpy_are_settings():
    first, second = (
        mutiny.assess(
            blob_subject(2), "WI", seed=kind(3), batch_size=kind(64), search=mutiny.Search(max_probes=1), method="muff"
        )
        for kind in (int, np.int64)
    )
    assert first.operators == second.operators
    assert first.settings == second.settings


@pytest.mark.parametrize("name", ["0.bias", "memory"])
def test_a_model_that_something_changed_for_good_is_an_error_that_names_the_place(name):
    net = classifier(1)
    net.register_buffer("memory", torch.zeros(1))
    net[0].register_forward_hook(lambda *_: None)
    tensor = dict([*net.named_parameters(), *net.named_buffers()])[name]
    calls = []

    def forward(model, x):
        calls.append(None)
        if model is net and len(calls) == 20:
            tensor.data[0] += 1e-6
        return model(x)

    with pytest.raises(RuntimeError, match=rf"^models\[1\] was changed at {name}; "):
        mutiny.assess(
            blob_subject(models=[classifier(0), net], forward=forward), "WI(ratio=0.3)", search=QUICK, method="muff"
        )
    assert len(calls) > 20


class Counting(nn.Module):
    """A model that counts how often it was asked, if ``by`` is not 0."""

    def __init__(self, net, by):
        super().__init__()
        self.net, self.by = net, by
        self.register_buffer("asked", torch.zeros(()))

    def forward(self, x):
        self.asked += self.by
        return self.net(x)


def test_a_model_whose_forward_pass_writes_to_it_is_refused_before_any_mutant():
    models = [Counting(classifier(seed), by=seed).eval() for seed in range(2)]
    with pytest.raises(mutiny.BadInput, match=r"^models\[1\]=.* whose forward pass writes to asked: "):
        mutiny.assess(blob_subject(models=models), "WI(ratio=0.3)", search=QUICK, method="muff")
    assert models[1].asked < 5


def test_a_bare_model_with_data_is_a_subject_of_one_original():
    net, train, test = classifier(0), blobs(), blobs(120, seed=1)
    quick = {"search": mutiny.Search(max_probes=2), "batch_size": 64}
    bare = mutiny.assess(net, "WI", data=test, train=train, **quick, method="muff").to_json()
    subject = mutiny.Subject(net, task=mutiny.Classification(3), train=train, test=test, name="Sequential")
    whole = mutiny.assess(subject, "WI", **quick, method="muff").to_json()
    assert {**bare, "timing": None} == {**whole, "timing": None}
    for missing, given in (("train", {"data": test}), ("data", {"train": train})):
        with pytest.raises(mutiny.BadInput, match=f"{missing}=None"):
            mutiny.assess(net, "WI", **given, method="muff")
    with pytest.raises(mutiny.BadInput, match="Leave out data="):
        mutiny.assess(subject, "WI", data=test, method="muff")
