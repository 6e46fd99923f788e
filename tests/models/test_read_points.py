"""Read points: features against hooks, truncated passes, automatic choices."""

from collections import OrderedDict

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mutiny.core.errors import BadInput
from mutiny.models import ModelState, ModelView
from mutiny.models.forward import steady
from mutiny.models.read_points import ReadPoints
from mutiny.models.reading import reading
from mutiny.subjects.architectures import VGG16, LeNet1, LeNet5, ResNet20
from zoo import ZOO, Lambda, lively, make, weight

UNREADABLE = ("gru", "cross_attention")
"""Their inputs do not come first, so that rows are not inputs."""


def points_of(model, inputs):
    return ReadPoints(ModelView.of(model.eval(), inputs), inputs)


@pytest.mark.parametrize(
    ("build", "shape", "encoder", "size", "hidden"),
    [
        (LeNet1, (1, 28, 28), "pool2", (12, 4, 4), 192),
        (LeNet5, (1, 28, 28), "pool2", (16, 5, 5), 84),
        (ResNet20, (3, 32, 32), "block3_3", (64, 8, 8), 64),
        (VGG16, (3, 32, 32), "pool5", (512, 1, 1), 512),
    ],
)
def test_the_last_feature_layer_of_the_papers_networks(build, shape, encoder, size, hidden):
    points = points_of(build(), torch.zeros(2, *shape))
    assert (points.encoder.name, points.encoder.shape) == (encoder, size)
    assert (points.hidden.name, points.hidden.count("unit")) == ("head:input", hidden)
    assert "classifier head" in points.encoder.describe("unit")


def test_functional_models_and_sequences():
    def forward(m, x):
        x = F.max_pool2d(F.relu(m.conv(x)), 2)
        return m.out(F.relu(m.fc(x.flatten(1))))

    model = Lambda(forward, conv=nn.Conv2d(1, 3, 3), fc=nn.Linear(27, 4), out=nn.Linear(4, 2))
    points = points_of(model, torch.zeros(2, 1, 8, 8))
    assert (points.encoder.name, points.encoder.kind, points.encoder.shape) == ("conv", "signal", (3, 3, 3))
    lstm = Lambda(lambda m, x: m.head(m.rnn(x)[0][:, -1]), rnn=nn.LSTM(3, 5, batch_first=True), head=nn.Linear(5, 2))
    assert points_of(lstm, torch.zeros(2, 7, 3)).encoder.shape == (5,)


@pytest.mark.parametrize("name", [name for name in ZOO if name not in UNREADABLE])
def test_features_are_what_hooks_see(name):
    model, inputs = make(name)
    view = ModelView.of(model, inputs)
    points = ReadPoints(view, inputs)
    before = ModelState.of(model)
    modules = [point for point in points.modules.values() if point.kind == "output" and point.path and point.calls == 1]
    for point in modules[:6]:
        seen = []

        def note(_module, _args, output, seen=seen):
            seen.append((output[0] if isinstance(output, tuple) else output).clone())

        handle = model.get_submodule(point.path).register_forward_hook(note)
        with reading(view, [point], "unit", outputs=True) as read:
            found = read(inputs)
        handle.remove()
        assert found.outputs is not None
        assert found.features.numel() == seen[0].numel()
        if len(seen[0]) == len(found.features):  # inputs come first there, too
            assert torch.equal(found.features, seen[0].flatten(1).to(found.features))
        with reading(view, [point], "unit") as read:
            assert torch.equal(read(inputs).features, found.features)  # the pass that ends early
            assert read(inputs).outputs is None
    assert before == ModelState.of(model)


def test_a_pass_ends_early_and_hooks_are_gone_after_errors():
    ran = []
    late = Lambda(lambda m, x: ran.append(1) or x)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), late, nn.Linear(4, 2)).eval()
    x = torch.randn(5, 3)
    view = ModelView.of(model, x)
    points = ReadPoints(view, x)
    before = ModelState.of(model)
    ran.clear()
    with reading(view, points.choose("1")) as read:
        assert torch.equal(read(x).features, F.relu(model[0](x)).detach())
    assert not ran
    with pytest.raises(RuntimeError), reading(view, points.choose("1")) as read:
        read(torch.randn(5, 7))
    assert before == ModelState.of(model)


def test_in_place_functions_do_not_spoil_features():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(72, 2))
    x = torch.randn(4, 1, 8, 8)
    view = ModelView.of(model.eval(), x)
    normed = model[1](model[0](x)).detach()
    with reading(view, ReadPoints(view, x).choose("1"), outputs=True) as read:
        assert torch.allclose(read(x).features, normed.flatten(1))
    with reading(view, ReadPoints(view, x).choose("0"), "neuron", outputs=True) as read:
        assert torch.allclose(read(x).features, normed.relu().mean((2, 3)), atol=1e-6)


def test_names_patterns_and_wrong_names():
    model = LeNet5().eval()
    x = torch.zeros(2, 1, 28, 28)
    points = points_of(model, x)
    assert [point.name for point in points.choose("conv*")] == ["conv1", "conv2"]
    assert [point.name for point in points.choose(["fc1", "pool2", "fc1"])] == ["fc1", "pool2"]
    assert [point.name for point in points.choose("all")] == ["conv1", "conv2", "fc1", "fc2", "head"]
    assert points.choose("conv1:output")[0].shape == (6, 28, 28)
    assert points.choose("conv1")[0].shape == (6, 14, 14)
    with pytest.raises(BadInput, match="Did you mean pool2"):
        points.choose("poool2")
    with pytest.raises(BadInput, match="at least one name"):
        points.choose([])


def test_models_whose_inputs_do_not_come_first():
    with pytest.raises(BadInput, match="batch_first"):
        points_of(*make("gru"))
    assert points_of(*make("cross_attention")).encoder.count("unit") > 0


class GeM(nn.Module):
    """Generalized mean pooling, written by hand."""

    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.tensor(3.0))

    def forward(self, x):
        return F.avg_pool2d(x.clamp(min=1e-6).pow(self.p), (x.size(-2), x.size(-1))).pow(1 / self.p)


POOLINGS = {
    "avg_pool2d": lambda x: F.avg_pool2d(x, x.size()[3]).view(x.size(0), -1),
    "max_pool2d": lambda x: F.max_pool2d(x, kernel_size=x.shape[2:]).flatten(1),
    "lp_pool2d": lambda x: F.lp_pool2d(x, 2.0, x.size(3)).flatten(1),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 1).squeeze(-1).squeeze(-1),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (1, 1))[:, :, 0, 0],
    "mean": lambda x: x.mean((2, 3)),
    "mean of means": lambda x: x.mean(-1).mean(-1),
    "mean of pixels": lambda x: torch.flatten(x, 2).mean(dim=-1),
    "mean, channels last": lambda x: x.permute(0, 2, 3, 1).mean((1, 2)),
    "amax": lambda x: x.amax(dim=(2, 3), keepdim=True).reshape(len(x), -1),
    "max": lambda x: x.flatten(2).max(2).values,
    "sum": lambda x: torch.sum(x, dim=[2, 3]),
    "logsumexp": lambda x: x.logsumexp((2, 3)),
    "average and maximum": lambda x: torch.cat([x.mean((2, 3)), F.adaptive_max_pool2d(x, 1).flatten(1)], 1),
    "average plus maximum": lambda x: x.mean((2, 3)) + x.amax((2, 3)),
    "unit length": lambda x: F.normalize(x.mean((2, 3))),
    "unit length by hand": lambda x: x.mean((2, 3)) / x.mean((2, 3)).norm(dim=1, keepdim=True),
    "activation after it": lambda x: F.dropout(torch.relu(x.mean((2, 3))), training=False),
}
POOLING_MODULES = {
    "AvgPool2d": lambda: nn.AvgPool2d(8),
    "MaxPool2d": lambda: nn.MaxPool2d(8),
    "LPPool2d": lambda: nn.LPPool2d(2.0, 8),
    "AdaptiveAvgPool2d": lambda: nn.AdaptiveAvgPool2d(1),
    "AdaptiveMaxPool2d": lambda: nn.AdaptiveMaxPool2d((1, 1)),
    "norm after it": lambda: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(6)),
}


def conv_norm():
    return nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU())


def residual(m, x):
    """Blocks in the model's own forward pass: no module returns their results."""
    x = m.relu(m.norm1(m.conv1(x)))
    x = m.relu(x + m.norm2(m.conv2(x)))
    return m.relu(m.norm3(m.conv3(x)) + m.short(x))


def residual_parts(relu):
    convs = {f"conv{i}": nn.Conv2d(6 if i > 1 else 3, 6, 3, padding=1) for i in (1, 2, 3)}
    norms = {f"norm{i}": nn.BatchNorm2d(6) for i in (1, 2, 3)}
    return {**convs, **norms, "short": nn.Conv2d(6, 6, 1), "relu": relu}


def check(model, inputs, name, shape, *words, features):
    """The choice, its reason, and what is read there against a forward pass by hand."""
    view = ModelView.of(lively(model).eval(), inputs)
    point = ReadPoints(view, inputs).encoder
    assert (point.name, point.shape) == (name, shape)
    for word in words:
        assert word in point.why
    with steady(), torch.no_grad(), reading(view, [point]) as read:
        assert torch.equal(read(inputs).features, features(model, inputs).flatten(1))
    return point


@pytest.mark.parametrize("pooling", POOLINGS)
def test_functions_that_pool_everything_are_seen_through(pooling):
    pool = POOLINGS[pooling]
    width = 12 if pooling == "average and maximum" else 6
    parts = {"layer3": conv_norm(), "fc": nn.Linear(width, 3)}
    model = Lambda(lambda m, x: m.fc(pool(m.layer3(x))), **parts)
    why = "the last feature layer before the classifier head (fc)"
    check(model, torch.randn(2, 3, 8, 8), "layer3", (6, 8, 8), why, features=lambda m, x: m.layer3(x))

    flat = Lambda(lambda m, x: m.fc(pool(residual(m, x))), **residual_parts(F.relu), fc=nn.Linear(width, 3))
    why = "the last point before the classifier head (fc) that can be read, without add and relu after it"

    def normed(m, x):
        x = F.relu(m.norm1(m.conv1(x)))
        return m.norm3(m.conv3(F.relu(x + m.norm2(m.conv2(x)))))

    check(flat, torch.randn(2, 3, 8, 8), "norm3", (6, 8, 8), why, features=normed)


@pytest.mark.parametrize("pooling", POOLING_MODULES)
def test_modules_that_pool_everything_are_seen_through(pooling):
    why = "the last feature layer before the classifier head (fc)"
    rest = {"pool": POOLING_MODULES[pooling](), "flatten": nn.Flatten(), "fc": nn.Linear(6, 3)}
    model = nn.Sequential(OrderedDict(layer3=conv_norm(), **rest))
    check(model, torch.randn(2, 3, 8, 8), "layer3", (6, 8, 8), why, features=lambda m, x: m.layer3(x))
    for relu in (nn.ReLU(), nn.ReLU(inplace=True), torch.relu):
        flat = Lambda(lambda m, x: m.fc(m.flatten(m.pool(residual(m, x)))), **residual_parts(relu), **rest)
        check(flat, torch.randn(2, 3, 8, 8), "pool:input", (6, 8, 8), why, features=residual)


def test_generalized_means():
    model = Lambda(lambda m, x: m.fc(m.gem(m.layer3(x)).flatten(1)), layer3=conv_norm(), gem=GeM(), fc=nn.Linear(6, 3))
    why = "without clamp and pow after it"
    check(model, torch.randn(2, 3, 8, 8), "layer3", (6, 8, 8), why, features=lambda m, x: m.layer3(x))


def torchvision_vgg():
    head = nn.Sequential(
        nn.Linear(6 * 49, 8), nn.ReLU(True), nn.Dropout(), nn.Linear(8, 7), nn.ReLU(True), nn.Dropout(), nn.Linear(7, 3)
    )
    features = nn.Sequential(conv_norm(), nn.MaxPool2d(2))
    return Lambda(
        lambda m, x: m.classifier(torch.flatten(m.avgpool(m.features(x)), 1)),
        features=features,
        avgpool=nn.AdaptiveAvgPool2d((7, 7)),
        classifier=head,
    )


def densenet():
    def forward(m, x):
        x = F.relu(m.features(x), inplace=True)
        return m.classifier(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))

    return Lambda(forward, features=conv_norm()[:2], classifier=nn.Linear(6, 3))


def mobilenet():
    """With convolutions of pooled features as the classifier."""
    tail = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(6, 9, 1), nn.Hardswish(), nn.Conv2d(9, 3, 1), nn.Flatten())
    return nn.Sequential(OrderedDict(features=conv_norm(), tail=tail))


def squeezenet():
    tail = nn.Sequential(nn.Dropout(), nn.Conv2d(6, 3, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(OrderedDict(features=conv_norm(), classifier=tail))


class Squeeze(nn.Module):
    """A block whose last layers weigh its channels, as in SENet."""

    def __init__(self):
        super().__init__()
        self.conv, self.down, self.up = nn.Conv2d(6, 6, 3, padding=1), nn.Linear(6, 2), nn.Linear(2, 6)

    def forward(self, x):
        y = self.conv(x)
        gate = torch.sigmoid(self.up(F.relu(self.down(y.mean((2, 3))))))
        return F.relu(x + y * gate[:, :, None, None])


def senet():
    return nn.Sequential(
        OrderedDict(stem=conv_norm(), block=Squeeze(), pool=nn.AvgPool2d(8), flatten=nn.Flatten(), fc=nn.Linear(6, 3))
    )


class NextBlock(nn.Module):
    """ConvNeXt's: linear layers over channels that are moved to the end and back."""

    def __init__(self):
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(6, 6, 3, padding=1, groups=6), nn.LayerNorm(6)
        self.wide, self.narrow = nn.Linear(6, 12), nn.Linear(12, 6)

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + self.narrow(F.gelu(self.wide(y))).permute(0, 3, 1, 2)


def convnext():
    parts = {"stem": nn.Conv2d(3, 6, 1), "block": NextBlock(), "norm": nn.LayerNorm(6), "head": nn.Linear(6, 3)}
    return Lambda(lambda m, x: m.head(m.norm(m.block(m.stem(x)).mean([-2, -1]))), **parts)


def swin():
    """Channels come last until everything is pooled."""

    def forward(m, x):
        x = m.norm(m.mix(m.stem(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)
        return m.head(torch.flatten(m.avgpool(x), 1))

    parts = {"stem": nn.Conv2d(3, 6, 1), "mix": nn.Linear(6, 6), "norm": nn.LayerNorm(6), "head": nn.Linear(6, 3)}
    return Lambda(forward, **parts, avgpool=nn.AdaptiveAvgPool2d(1))


def vision_transformer(pool):
    def pooled(m, x):
        x = m.patch(x).flatten(2).transpose(1, 2)
        return pool(m.blocks(torch.cat([m.cls.expand(len(x), -1, -1), x], 1)))

    layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True)
    parts = {"patch": nn.Conv2d(3, 6, 4, 4), "cls": weight(1, 1, 6), "head": nn.Linear(6, 3)}
    blocks = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    return Lambda(lambda m, x: m.head(pooled(m, x)), **parts, blocks=blocks, pooled=pooled)


def class_token():
    return vision_transformer(lambda x: x[:, 0])


def mean_token():
    return vision_transformer(lambda x: x[:, 1:].mean(1))


def recurrent(pool):
    rnn = nn.LSTM(8, 5, batch_first=True)
    return Lambda(lambda m, x: m.head(pool(m.rnn(x)[0])), rnn=rnn, head=nn.Linear(5, 3))


def last_state():
    return recurrent(lambda x: x[:, -1])


def mean_state():
    return recurrent(lambda x: x.mean(1))


def text_branches():
    """Kim's: convolutions of several widths, each pooled over all steps."""

    def pooled(m, x):
        found = [F.relu(conv(x)) for conv in m.convs]
        return torch.cat([F.max_pool1d(one, one.size(2)).squeeze(2) for one in found], 1)

    convs = nn.ModuleList(nn.Conv1d(3, 4, width) for width in (2, 3))
    return Lambda(lambda m, x: m.fc(pooled(m, x)), convs=convs, fc=nn.Linear(8, 3), pooled=pooled)


def volumes():
    def forward(m, x):
        x = F.relu(m.norm(m.conv(x)))
        return m.fc(F.avg_pool3d(x, 4).view(len(x), -1))

    return Lambda(forward, conv=nn.Conv3d(1, 6, 1), norm=nn.BatchNorm3d(6), fc=nn.Linear(6, 3))


def series():
    body = nn.Sequential(nn.Conv1d(3, 6, 3), nn.ReLU(), nn.MaxPool1d(2))
    return Lambda(lambda m, x: m.fc(m.body(x).max(dim=-1)[0]), body=body, fc=nn.Linear(6, 3))


def loop():
    """One convolution in a loop."""

    def forward(m, x):
        x = m.stem(x)
        for _ in range(2):
            x = x + F.relu(m.conv(x))
        return m.fc(x.mean((2, 3)))

    return Lambda(forward, stem=nn.Conv2d(3, 6, 1), conv=nn.Conv2d(6, 6, 3, padding=1), fc=nn.Linear(6, 3))


def pyramid():
    """One convolution of maps of two sizes."""

    def pooled(m, x):
        fine = m.stem(x)
        return m.conv(fine).mean((2, 3)) + m.conv(F.avg_pool2d(fine, 2)).mean((2, 3))

    return Lambda(
        lambda m, x: m.fc(m.pooled(m, x)),
        pooled=pooled,
        stem=conv_norm(),
        conv=nn.Conv2d(6, 6, 3, padding=1),
        fc=nn.Linear(6, 3),
    )


def in_place_sum():
    """An in-place addition changes the tensor that a module returned."""

    def forward(m, x):
        y = m.stem(x)
        z = m.norm(m.conv(y))
        z += y
        return m.fc(F.adaptive_avg_pool2d(F.relu_(z), 1).flatten(1))

    parts = {"conv": nn.Conv2d(6, 6, 1), "norm": nn.BatchNorm2d(6), "fc": nn.Linear(6, 3)}
    return Lambda(forward, stem=conv_norm(), **parts)


def attention_pooling():
    def forward(m, x):
        x = m.body(x)
        return m.fc((x * m.look(x).flatten(2).softmax(2).view(len(x), 1, 8, 8)).sum((2, 3)))

    return Lambda(forward, body=conv_norm(), look=nn.Conv2d(6, 1, 1), fc=nn.Linear(6, 3))


def bare_sum(m, x):
    x = m.stem(x)
    return F.relu(x + m.conv(x))


def bare():
    """Flattened features can only be read flat."""
    parts = {"stem": conv_norm(), "conv": nn.Conv2d(6, 6, 3, padding=1), "fc": nn.Linear(384, 3)}
    return Lambda(lambda m, x: m.fc(bare_sum(m, x).flatten(1)), **parts)


def stages():
    """Pooling by halves until one pixel is left, as VGG does on small images."""
    conv = [part for i in range(3) for part in (nn.Conv2d(6 if i else 3, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))]
    return nn.Sequential(*conv, nn.Flatten(), nn.Linear(6, 3))


IMAGE, LAST = (3, 8, 8), "the last feature layer before the classifier head"
ARCHITECTURES = {
    "VGG": (torchvision_vgg, IMAGE, "features", (6, 4, 4), LAST, lambda m, x: m.features(x)),
    "DenseNet": (densenet, IMAGE, "features", (6, 8, 8), "without relu after it", lambda m, x: m.features(x)),
    "MobileNet": (mobilenet, IMAGE, "features", (6, 8, 8), f"{LAST} (tail.1, tail.3)", lambda m, x: m.features(x)),
    "SqueezeNet": (squeezenet, IMAGE, "features", (6, 8, 8), f"{LAST} (classifier.1)", lambda m, x: m.features(x)),
    "SENet": (senet, IMAGE, "block", (6, 8, 8), f"{LAST} (fc)", lambda m, x: m.block(m.stem(x))),
    "ConvNeXt": (convnext, IMAGE, "block", (6, 8, 8), LAST, lambda m, x: m.block(m.stem(x))),
    "Swin": (swin, IMAGE, "norm", (8, 8, 6), LAST, lambda m, x: m.norm(m.mix(m.stem(x).permute(0, 2, 3, 1)))),
    "ViT": (class_token, IMAGE, "head:input", (6,), LAST, lambda m, x: m.pooled(m, x)),
    "ViT, mean": (mean_token, IMAGE, "head:input", (6,), "pooled already", lambda m, x: m.pooled(m, x)),
    "LSTM": (last_state, (8, 8), "head:input", (5,), LAST, lambda m, x: m.rnn(x)[0][:, -1]),
    "LSTM, mean": (mean_state, (8, 8), "head:input", (5,), "pooled already", lambda m, x: m.rnn(x)[0].mean(1)),
    "branches": (text_branches, (3, 8), "fc:input", (8,), "pooled already", lambda m, x: m.pooled(m, x)),
    "pyramid": (pyramid, IMAGE, "fc:input", (6,), "pooled already", lambda m, x: m.pooled(m, x)),
    "Conv1d": (series, (3, 8), "body", (6, 3), LAST, lambda m, x: m.body(x)),
    "Conv3d": (volumes, (1, 4, 4, 4), "norm", (6, 4, 4, 4), "without relu", lambda m, x: m.norm(m.conv(x))),
    "loop": (loop, IMAGE, "stem:output", (6, 8, 8), "without conv2d, relu and add", lambda m, x: m.stem(x)),
    "in place": (
        in_place_sum,
        IMAGE,
        "norm",
        (6, 8, 8),
        "without add and relu",
        lambda m, x: m.norm(m.conv(m.stem(x))),
    ),
    "attention": (attention_pooling, IMAGE, "body", (6, 8, 8), "without mul after it", lambda m, x: m.body(x)),
    "stages": (stages, IMAGE, "8", (6, 1, 1), LAST, lambda m, x: m[:9](x)),
    "all unreadable": (bare, IMAGE, "fc:input", (384,), "what the classifier head (fc) reads", bare_sum),
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_common_architectures(name):
    build, inputs, point, shape, word, features = ARCHITECTURES[name]
    check(build(), torch.randn(2, *inputs), point, shape, word, features=features)


def test_modules_without_tensors_are_no_places():
    positions = Lambda(lambda m, n: m.table[:n], table=weight(8, 6))
    scale = Lambda(lambda m, x: float(x.mean()))

    def forward(m, x):
        x = m.embed(x) + m.positions(x.shape[1]) + m.scale(x)
        return m.head(x.mean(1))

    parts = {"embed": nn.Linear(3, 6), "positions": positions, "scale": scale, "head": nn.Linear(6, 2)}
    points = points_of(Lambda(forward, **parts), torch.randn(2, 8, 3))
    assert points.encoder.name == "head:input"
    assert not {"positions:input", "scale"} & {*points.modules}


@pytest.mark.parametrize("build", [senet, convnext])
def test_neurons_are_what_pooling_leaves(build):
    model, inputs = build().eval(), torch.randn(2, *IMAGE)
    view = ModelView.of(model, inputs)
    point = ReadPoints(view, inputs).encoder
    with torch.no_grad(), reading(view, [point], "neuron") as read:
        found = read(inputs).features
    assert torch.allclose(found, model.block(model.stem(inputs)).mean((2, 3)), atol=1e-6)
