import pytest
import torch

import mutiny
from toys import blob_subject


@pytest.mark.parametrize("before", [True, False])
def test_no_forward_pass_of_an_assessment_takes_the_fast_path(before):
    seen = []

    def forward(model, x):
        seen.append(torch.backends.mha.get_fastpath_enabled())
        return model(x)

    usual = torch.backends.mha.get_fastpath_enabled()
    try:
        torch.backends.mha.set_fastpath_enabled(before)
        mutiny.assess(blob_subject(2, forward=forward), "WI,NI,AFR", search=mutiny.Search(max_probes=1), method="muff")
        assert torch.backends.mha.get_fastpath_enabled() is before
    finally:
        torch.backends.mha.set_fastpath_enabled(usual)
    assert len(seen) > 20
    assert not any(seen)
