"""Operations of a forward pass, counted by hand."""

import torch
from torch import nn

from mutiny.models.operations import PER_NUMBER, operations_per_input
from mutiny.subjects.data import as_data


def data(*shape):
    return as_data((torch.zeros(8, *shape), torch.zeros(8, dtype=torch.int64)), "data")


def test_a_convolution_counts_every_position():
    net = nn.Sequential(nn.Conv2d(3, 5, 3, padding=1, bias=False), nn.Flatten(), nn.Linear(5 * 16, 2, bias=False))
    products, numbers = 2 * (16 * 5 * 3 * 9 + 80 * 2), 5 * 16 + 2
    assert operations_per_input(net.eval(), data(3, 4, 4)) == products + PER_NUMBER * numbers


def test_activations_count_and_views_do_not():
    class Plain(nn.Module):
        def __init__(self, inplace):
            super().__init__()
            self.layer, self.relu = nn.Linear(12, 6, bias=False), nn.ReLU(inplace)

        def forward(self, x):
            return self.relu(self.layer(x.flatten(1))).reshape(-1, 2, 3).transpose(1, 2)[:, :2]

    for inplace in (False, True):
        assert operations_per_input(Plain(inplace).eval(), data(3, 4)) == 2 * 12 * 6 + PER_NUMBER * (6 + 6)


def test_sparse_inputs_are_counted():
    class Sparse(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(12, 2))

        def forward(self, x):
            return torch.sparse.mm(x.to_sparse(), self.weight)

    assert operations_per_input(Sparse().eval(), data(12)) > 2 * 12 * 2


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
