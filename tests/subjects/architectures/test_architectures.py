import pytest
import torch

from mutiny.core.errors import BadInput
from mutiny.subjects.architectures import VGG16, DigitsCnn, LeNet1, LeNet5, MnistCnn, ResNet20

# LeNet5, MnistCnn, ResNet20 (0.27M in He et al., table 6): published totals. VGG16: the convolutions' published total
# (Keras VGG16 without top), plus scale and shift of 4,224 normalized channels and the linear layer. Others by hand.
CASES = [
    (LeNet1, (1, 28, 28), 4 * 26 + 12 * 101 + 193 * 10),
    (LeNet5, (1, 28, 28), 61_706),
    (MnistCnn, (1, 28, 28), 1_199_882),
    (DigitsCnn, (1, 8, 8), 16 * 10 + 16 * 145 + 64 * 257 + 10 * 65),
    (ResNet20, (3, 32, 32), 269_722),
    (lambda: ResNet20(shortcut="B"), (3, 32, 32), 269_722 + 16 * 32 + 32 * 64 + 2 * (32 + 64)),
    (VGG16, (3, 32, 32), 14_714_688 + 2 * 4_224 + 512 * 10 + 10),
]


@pytest.mark.parametrize(("build", "shape", "count"), CASES)
def test_counts_shapes_and_gradients(build, shape, count):
    with torch.random.fork_rng():
        model = build()
    assert sum(parameter.numel() for parameter in model.parameters()) == count
    outputs = model(torch.linspace(0, 1, 2 * shape[0] * shape[1] * shape[2]).reshape(2, *shape))
    assert outputs.shape == (2, 10)
    outputs.square().sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_classes_channels_activation_and_shortcut():
    assert ResNet20(classes=7, channels=1)(torch.zeros(2, 1, 32, 32)).shape == (2, 7)
    assert VGG16(classes=5, channels=1)(torch.zeros(2, 1, 32, 32)).shape == (2, 5)
    assert any(isinstance(layer, torch.nn.Tanh) for layer in LeNet5(activation=torch.nn.Tanh))
    with pytest.raises(BadInput, match="shortcut='C'"):
        ResNet20(shortcut="C")


def test_padded_shortcut_keeps_every_second_pixel_between_zeros():
    shortcut = ResNet20().get_submodule("block2_1.shortcut")
    x = torch.rand(1, 16, 4, 4)
    y = shortcut(x)
    assert y.shape == (1, 32, 2, 2)
    torch.testing.assert_close(y[:, 8:24], x[:, :, ::2, ::2], rtol=0, atol=0)
    assert not y[:, :8].any()
    assert not y[:, 24:].any()
