"""Small models of many shapes, each with inputs: what operators and the border to torch must bear."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

Entry = Callable[[], tuple[nn.Module, Any]]
ZOO: dict[str, Entry] = {}


def animal(make: Entry, name: str = "") -> Entry:
    """Registers a model; it is made from a fixed seed, without touching the global one, in evaluation mode."""
    name = name or make.__name__

    def seeded() -> tuple[nn.Module, Any]:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(len(name))
            model, inputs = make()
        return lively(model).eval(), inputs

    ZOO[name] = seeded
    return seeded


def lively(model: nn.Module) -> nn.Module:
    """Gives normalization layers statistics and weights as after training."""
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            module.running_mean.normal_(std=0.3)
            module.running_var.uniform_(0.5, 2)
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm)):
            nn.init.normal_(module.weight, 1, 0.2)
            nn.init.normal_(module.bias, 0, 0.2)
    return model


class Lambda(nn.Module):
    """A module whose forward pass is a function of itself and the inputs."""

    def __init__(self, forward: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self._function = forward

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(self, *args, **kwargs)


def weight(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(*shape) / shape[0] ** 0.5)


def perceptron(activation: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 6), activation, nn.Linear(6, 3))


def last_step(rnn: nn.RNNBase, size: int) -> nn.Module:
    return Lambda(lambda m, x: m.head(m.lstm(x)[0][:, -1]), lstm=rnn, head=nn.Linear(size, 4))


PLAIN: dict[str, Entry] = {
    "lstm_bidirectional": lambda: (
        last_step(nn.LSTM(3, 5, 2, bidirectional=True, batch_first=True), 10), torch.randn(4, 6, 3)
    ),
    "lstm_projected": lambda: (last_step(nn.LSTM(3, 6, 2, proj_size=4, batch_first=True), 4), torch.randn(4, 5, 3)),
    "bag_of_words": lambda: (
        nn.Sequential(
            OrderedDict(bag=nn.EmbeddingBag(9, 5), hidden=nn.Linear(5, 6), relu=nn.ReLU(), head=nn.Linear(6, 2))
        ), torch.randint(0, 9, (4, 6)),
    ),
    "mlp": lambda: (
        nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 7), nn.ReLU(), nn.Linear(7, 3)), torch.randn(4, 6)
    ),
    "single_linear": lambda: (nn.Linear(5, 3), torch.randn(4, 5)),
    "double": lambda: (perceptron(nn.Tanh()).double(), torch.randn(4, 4).double()),
    "half_precision": lambda: (perceptron(nn.ReLU()).bfloat16(), torch.randn(4, 4).bfloat16()),
    "gru": lambda: (
        Lambda(lambda m, x: m.head(m.gru(x)[1][-1]), gru=nn.GRU(3, 5), head=nn.Linear(5, 2)), torch.randn(6, 4, 3)
    ),
    "conv3d": lambda: (
        nn.Sequential(nn.Conv3d(1, 3, 2), nn.ReLU(), nn.AvgPool3d(2), nn.Flatten(), nn.Linear(3, 2)),
        torch.randn(3, 1, 4, 4, 4),
    ),
}  # fmt: skip
for plain, entry in PLAIN.items():
    animal(entry, plain)


@animal
def no_biases():
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, bias=False), nn.Tanh(), nn.Flatten(), nn.Linear(4 * 16, 6, bias=False), nn.Sigmoid(),
        nn.Linear(6, 3, bias=False),
    )  # fmt: skip
    return net, torch.randn(4, 1, 6, 6)


@animal
def lenet_functional():
    def forward(m, x):
        x = F.relu(F.max_pool2d(m.conv1(x), 2))
        x = F.relu(F.max_pool2d(m.conv2(x), 2))
        return m.fc2(F.dropout(torch.tanh(m.fc1(x.view(x.size(0), -1))), training=False))

    parts = {
        "conv1": nn.Conv2d(1, 4, 3),
        "conv2": nn.Conv2d(4, 6, 3),
        "fc1": nn.Linear(24, 10),
        "fc2": nn.Linear(10, 5),
    }
    return Lambda(forward, **parts), torch.randn(3, 1, 14, 14)


@animal
def lenet_modules():
    features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(4, 6, 3), nn.ReLU(inplace=True))
    head = nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Linear(6 * 16, 8), nn.ReLU(), nn.Linear(8, 5))
    return nn.Sequential(OrderedDict(features=features, head=head)), torch.randn(3, 1, 14, 14)


class Block(nn.Module):
    """A residual block with one in-place ReLU used twice, as torchvision writes it."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside)
        self.conv2, self.bn2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = None if stride == 1 else nn.Conv2d(inside, outside, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        identity = x if self.shortcut is None else self.shortcut(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


@animal
def resnet():
    body = nn.Sequential(nn.Conv2d(3, 4, 3, 1, 1), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
    rest = nn.Sequential(Block(4, 4, 1), Block(4, 6, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4))
    return nn.Sequential(body, rest), torch.randn(3, 3, 8, 8)


@animal
def rnn_sigmoid_head():
    parts = {"rnn": nn.RNN(3, 5, batch_first=True, nonlinearity="relu"), "head": nn.Linear(5, 1)}
    return Lambda(lambda m, x: torch.sigmoid(m.head(m.rnn(x)[0].mean(1))), **parts), torch.randn(4, 6, 3)


@animal
def lstm_cell_loop():
    def forward(m, x):
        h = c = x.new_zeros(len(x), 5)
        for t in range(x.shape[1]):
            h, c = m.cell(x[:, t], (h, c))
        return m.head(h)

    return Lambda(forward, cell=nn.LSTMCell(3, 5), head=nn.Linear(5, 3)), torch.randn(4, 6, 3)


@animal
def gru_cell_loop():
    def forward(m, x):
        h = m.start.expand(len(x), -1)
        for step in x.unbind(1):
            h = m.cell(step, h)
        return m.head(h)

    return Lambda(forward, cell=nn.GRUCell(3, 5), head=nn.Linear(5, 3), start=weight(1, 5)), torch.randn(4, 6, 3)


@animal
def transformer_tied():
    layer = nn.TransformerEncoderLayer(8, 2, 12, activation="gelu", batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    model = Lambda(lambda m, x: m.decoder(m.encoder(m.embed(x))), embed=nn.Embedding(11, 8), encoder=encoder)
    model.decoder = nn.Linear(8, 11)
    model.decoder.weight = model.embed.weight
    return model, torch.randint(0, 11, (3, 5))


@animal
def cross_attention():
    parts = {"attend": nn.MultiheadAttention(6, 2, kdim=4, vdim=5), "norm": nn.LayerNorm(6), "head": nn.Linear(6, 3)}

    def forward(m, query, key, value):
        return m.head(m.norm(query + m.attend(query, key, value, need_weights=False)[0]).mean(0))

    return Lambda(forward, **parts), (torch.randn(3, 4, 6), torch.randn(5, 4, 4), torch.randn(5, 4, 5))


@animal
def conv1d():
    net = nn.Sequential(
        nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Conv1d(4, 4, 3, padding=1), nn.AvgPool1d(2), nn.ELU(),
        nn.Flatten(), nn.Linear(12, 3),
    )  # fmt: skip
    return net, torch.randn(4, 2, 8)


@animal
def depthwise():
    net = nn.Sequential(
        nn.Conv2d(3, 6, 3, groups=3), nn.ReLU6(), nn.Conv2d(6, 6, 3, groups=6), nn.GroupNorm(2, 6), nn.SiLU(),
        nn.Conv2d(6, 4, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    )  # fmt: skip
    return net, torch.randn(3, 3, 7, 7)


@animal
def autoencoder():
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, 2), nn.ReLU(), nn.ConvTranspose2d(4, 6, 3, 2, groups=2), nn.LeakyReLU(),
        nn.ConvTranspose2d(6, 1, 2), nn.Sigmoid(),
    )  # fmt: skip
    return net, torch.rand(3, 1, 7, 7)


@animal
def dict_in_dict_out():
    def forward(m, image, extra):
        hidden = torch.relu(m.image(image)) + torch.tanh(m.extra(extra))
        return {"logits": m.head(hidden), "hidden": hidden}

    parts = {"image": nn.Linear(4, 6), "extra": nn.Linear(2, 6), "head": nn.Linear(6, 3)}
    return Lambda(forward, **parts), {"image": torch.randn(3, 4), "extra": torch.randn(3, 2)}


@animal
def tuple_in_tuple_out():
    model = Lambda(lambda m, a, b: (m.head(F.relu(m.both(a, b))), a), both=nn.Bilinear(3, 2, 5), head=nn.Linear(5, 3))
    return model, (torch.randn(4, 3), torch.randn(4, 2))


@animal
def functional_layers():
    def forward(m, x):
        x = F.relu(F.linear(x, m.first, m.bias))
        x = torch.sigmoid(x @ m.second)
        x = torch.tanh(torch.matmul(x, m.turned.T))
        return torch.addmm(m.end, x, m.last)

    parts = {"first": weight(7, 4), "bias": weight(7), "second": weight(7, 6), "turned": weight(8, 6)}
    return Lambda(forward, **parts, last=weight(8, 3), end=weight(3)), torch.randn(5, 4)


@animal
def reused_layer():
    def forward(m, x):
        x = F.relu(m.enter(x))
        for _ in range(3):
            x = x + F.relu(m.middle(x))
        return m.leave(x)

    return Lambda(forward, enter=nn.Linear(4, 6), middle=nn.Linear(6, 6), leave=nn.Linear(6, 3)), torch.randn(4, 4)


@animal
def channels_last():
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 5, 3), nn.Flatten(), nn.Linear(20, 3)
    )
    return net.to(memory_format=torch.channels_last), torch.randn(3, 3, 6, 6).to(memory_format=torch.channels_last)


@animal
def squashed_with_norm():
    net = nn.Sequential(
        nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Sigmoid(), nn.Linear(8, 6), nn.Tanh(), nn.BatchNorm1d(6),
        nn.Linear(6, 3), nn.LogSoftmax(dim=1),
    )  # fmt: skip
    return net, torch.randn(6, 5)


@animal
def other_order():
    parts = {"last": nn.Linear(5, 2), "unused": nn.Linear(3, 3), "first": nn.Linear(4, 6), "middle": nn.Linear(6, 5)}
    return Lambda(lambda m, x: m.last(F.gelu(m.middle(F.silu(m.first(x))))), **parts), torch.randn(4, 4)


@animal
def two_heads():
    def forward(m, x):
        shared = F.relu(m.trunk(x))
        return {"logits": torch.sigmoid(m.main(shared)), "aux": m.aux(shared)}

    return Lambda(forward, trunk=nn.Linear(4, 6), main=nn.Linear(6, 3), aux=nn.Linear(6, 2)), torch.randn(4, 4)


def make(name: str) -> tuple[nn.Module, Any]:
    """A fresh model and its inputs."""
    return ZOO[name]()
