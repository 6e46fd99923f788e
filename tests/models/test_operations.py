"""Operations of a forward pass, counted by hand."""

import torch
from torch import nn

from mutiny.models.operations import operations_per_input
from mutiny.subjects.data import as_data


def data(*shape):
    return as_data((torch.zeros(8, *shape), torch.zeros(8, dtype=torch.int64)), "data")


def test_a_convolution_counts_every_position():
    net = nn.Sequential(nn.Conv2d(3, 5, 3, padding=1, bias=False), nn.Flatten(), nn.Linear(5 * 16, 2, bias=False))
    assert operations_per_input(net.eval(), data(3, 4, 4)) == 2 * (16 * 5 * 3 * 9 + 80 * 2)


def test_uncounted_layers_count_two_for_each_parameter_at_least():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(4, 8, batch_first=True)

        def forward(self, x):
            return self.rnn(x)[0][:, -1]

    net = Recurrent().eval()
    assert operations_per_input(net, data(5, 4)) >= 2 * sum(p.numel() for p in net.parameters())


def test_the_model_is_untouched():
    from mutiny.models import ModelState
    from mutiny.models.state import check_untouched

    net = nn.Linear(3, 2).eval()
    before = ModelState.of(net)
    operations_per_input(net, data(3))
    check_untouched([net], [before])
