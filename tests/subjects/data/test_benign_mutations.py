import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage, stats

from mutiny.core.errors import BadInput
from mutiny.subjects.data import MutatedData, Noise, as_data, as_pool
from mutiny.subjects.data.benign_mutations import LIMITS, OPERATIONS, Benign, image_in, mutate
from mutiny.subjects.data.pixels import affine_matrices, black_and_white, blurred, mean_gray, warped

SHAPES = [(1, 28, 28), (3, 32, 32), (1, 8, 8), (4, 5, 7), (3, 6, 2), (1, 1, 9), (2, 1, 1)]
UNIT = Benign(value_range=(0, 1))
TABLE_4 = {
    "shift": (0.05, 0.15),
    "rotation": (5, 25),
    "scale": (0.8, 1.2),
    "shear": (15, 30),
    "contrast": (0.5, 1.5),
    "brightness": (0.5, 1.5),
    "blur": (2, 7),
}


def images(n, shape, seed=0, dtype=torch.float32):
    return torch.from_numpy(np.random.default_rng(seed).random((n, *shape))).to(dtype)


# references: one image (c, h, w) between 0 and 1, one operation, from the definition


def source(name, amount, row, column, height, width):
    """Which point of the original a pixel of the mutant shows."""
    x, y = column - (width - 1) / 2, row - (height - 1) / 2
    angle = np.radians(amount[0])
    if name == "shift":
        x, y = x - amount[0] * width, y - amount[1] * height
    elif name == "rotation":  # it shows what was there before a turn clockwise
        x, y = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    elif name == "scale":
        x, y = x / amount[0], y / amount[0]
    else:  # rows above the middle went right
        x = x + y * np.tan(angle)
    return y + (height - 1) / 2, x + (width - 1) / 2


def slow_warp(image, name, amount, interpolation):
    result = np.zeros_like(image)
    _, height, width = image.shape

    def pixel(row, column):
        return image[:, row, column] if 0 <= row < height and 0 <= column < width else 0

    for i in range(height):
        for j in range(width):
            row, column = source(name, amount, i, j, height, width)
            if interpolation == "nearest":
                result[:, i, j] = pixel(round(row), round(column))
                continue
            above, left = int(np.floor(row)), int(np.floor(column))
            down, right = row - above, column - left
            result[:, i, j] = (
                pixel(above, left) * (1 - down) * (1 - right)
                + pixel(above, left + 1) * (1 - down) * right
                + pixel(above + 1, left) * down * (1 - right)
                + pixel(above + 1, left + 1) * down * right
            )
    return result


def slow_gaussian(channel, size):
    size += 1 - size % 2
    sigma = 0.3 * ((size - 1) * 0.5 - 1) + 0.8
    weights = np.exp(-((np.arange(size) - size // 2) ** 2) / (2 * sigma**2))
    weights = np.outer(weights, weights)
    return ndimage.correlate(channel, weights / weights.sum(), mode="nearest")


def slow(image, name, amount, interpolation="bilinear", kernel="box"):
    if name in ("shift", "rotation", "scale", "shear"):
        return slow_warp(image, name, amount, interpolation)
    if name == "blur" and kernel == "box":
        return np.stack([ndimage.uniform_filter(channel, int(amount[0]), mode="nearest") for channel in image])
    if name == "blur":
        return np.stack([slow_gaussian(channel, int(amount[0])) for channel in image])
    if name == "brightness":
        return np.clip(image * amount[0], 0, 1)
    weights = np.array([0.2989, 0.587, 0.114]) if len(image) == 3 else np.full(len(image), 1 / len(image))
    gray = np.mean(np.tensordot(weights, image, 1))
    return np.clip(gray + (image - gray) * amount[0], 0, 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", ["box", "gaussian"])
def test_mutants_are_those_of_the_definition(shape, kernel):
    benign = Benign(value_range=(0, 1), kernel=kernel)
    x = images(40, shape, dtype=torch.float64)
    drawn = benign.draw(3, "pool", np.arange(40))
    assert set(drawn.operations) == set(OPERATIONS)
    expected = [
        slow(x[i].numpy(), *each, kernel=kernel) for i, each in enumerate(zip(*vars(drawn).values(), strict=True))
    ]
    np.testing.assert_allclose(benign.apply(x, np.arange(40), 3, "pool").numpy(), expected, atol=1e-9)
    single = benign.apply(x.float(), np.arange(40), 3, "pool")
    np.testing.assert_allclose(single.numpy(), expected, atol=1e-4)  # coordinates of 28 pixels, in single precision


@pytest.mark.parametrize("shape", SHAPES)
def test_mutants_by_nearest_pixels_are_those_of_the_definition(shape):
    benign = Benign(("shift", "rotation", "scale", "shear"), interpolation="nearest", value_range=(0, 1))
    x = images(20, shape, dtype=torch.float64)
    drawn = benign.draw(0, "pool", np.arange(20))
    expected = [slow(x[i].numpy(), *each, "nearest") for i, each in enumerate(zip(*vars(drawn).values(), strict=True))]
    wrong = benign.apply(x, np.arange(20), 0, "pool").numpy() != np.array(expected)
    assert wrong.mean() < 0.002  # halfway between two pixels, rounding decides


@pytest.mark.parametrize(
    ("name", "amount"), [("rotation", 17), ("rotation", -17), ("scale", 0.8), ("scale", 1.2), ("shear", 20)]
)
def test_warps_agree_with_scipy(name, amount):
    x = images(1, (1, 9, 12), dtype=torch.float64)
    matrix = affine_matrices(np.array([name]), np.array([[amount, 0.0]]), 9, 12)
    inverse = np.linalg.inv(np.vstack([matrix[0], [0, 0, 1]]))[[1, 0]][:, [1, 0, 2]]  # scipy: rows first, backwards
    expected = ndimage.affine_transform(x[0, 0].numpy(), inverse[:, :2], inverse[:, 2], order=1, mode="grid-constant")
    np.testing.assert_allclose(warped(x, matrix, "bilinear")[0, 0].numpy(), expected, atol=1e-12)


def test_directions():
    """A light in the upper half of a dark 5 x 5 image: where does it go?"""

    def goes(row, column, name, *amount):
        x = torch.zeros(1, 1, 5, 5, dtype=torch.float64)
        x[0, 0, row, column] = 1
        moved = warped(x, affine_matrices(np.array([name]), np.array([[*amount, 0.0][:2]]), 5, 5), "bilinear")
        return divmod(int(moved.argmax()), 5) if moved.max() > 0.5 else None

    assert goes(0, 2, "rotation", 90.0) == (2, 4)  # twelve o'clock to three o'clock
    assert goes(0, 2, "rotation", -90.0) == (2, 0)
    assert goes(1, 1, "shift", 0.2, 0.4) == (3, 2)  # right and down
    assert goes(1, 1, "shift", -0.2, -0.4) is None  # out of the image
    assert goes(1, 1, "scale", 2.0) == (0, 0)  # away from the center
    assert goes(1, 2, "shear", 45.0) == (1, 3)  # leans to the right
    assert goes(3, 2, "shear", 45.0) == (3, 1)
    assert goes(2, 2, "shear", 45.0) == (2, 2)


def test_an_even_box_reaches_up_and_left():
    x = torch.zeros(1, 1, 4, 4)
    x[0, 0, 1, 1] = 4
    assert blurred(x, 2, "box")[0, 0].tolist() == [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]


def test_gray_is_what_the_eye_sees():
    colors = torch.eye(3)[:, :, None, None].expand(3, 3, 2, 2)
    assert mean_gray(colors).flatten().tolist() == pytest.approx([0.2989, 0.587, 0.114])
    assert mean_gray(torch.tensor([[[[1.0]], [[3.0]]]])).item() == 2


@pytest.mark.parametrize("options", [{}, {"interpolation": "nearest"}, {"kernel": "gaussian"}])
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (4, 5, 7)])
def test_an_item_does_not_depend_on_its_batch(shape, options):
    benign = Benign(value_range=(0, 1), **options)
    x, items = images(61, shape), np.arange(61) * 37
    together = benign.apply(x, items, 5, "pool")
    rounding = 1e-6 if "kernel" in options else 0  # convolutions add up in an order that suits the batch
    for size in (1, 3, 16):
        parts = [benign.apply(x[at : at + size], items[at : at + size], 5, "pool") for at in range(0, 61, size)]
        torch.testing.assert_close(torch.cat(parts), together, rtol=0, atol=rounding)
    order = np.random.default_rng(0).permutation(61)
    torch.testing.assert_close(benign.apply(x[order], items[order], 5, "pool"), together[order], rtol=0, atol=rounding)
    twice = benign.apply(torch.cat([x[:1], x[:1]]), [4, 4], 5, "pool")
    assert torch.equal(twice[0], twice[1])


def test_seed_and_purpose_and_number_change_the_draws():
    items = np.arange(200)
    first = UNIT.draw(0, "pool", items).amounts
    assert np.array_equal(first, UNIT.draw(0, "pool", items).amounts)
    for other in (UNIT.draw(1, "pool", items), UNIT.draw(0, "score", items), UNIT.draw(0, "pool", items + 1)):
        assert (other.amounts != first).any(1).mean() > 0.9


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 10**9), min_size=1, max_size=20),
    st.sampled_from(["random", "authors"]),
)
def test_draws_lie_in_the_ranges_of_table_4(seed, items, signs):
    drawn = Benign(signs=signs).draw(seed, "pool", items)
    for name, (amount, second) in zip(drawn.operations, drawn.amounts, strict=True):
        low, high = TABLE_4[name]
        assert low <= abs(amount) <= high
        assert low <= abs(second) <= high if name == "shift" else second == 0
        assert amount > 0 or name in (("shift", "rotation", "shear") if signs == "random" else ("shift",))
        assert name != "blur" or amount == int(amount)


def test_draws_are_uniform():
    drawn = UNIT.draw(0, "pool", np.arange(60_000))
    counts = [(drawn.operations == name).sum() for name in OPERATIONS]
    assert stats.chisquare(counts).pvalue > 0.001
    for name, (low, high) in TABLE_4.items():
        amounts = drawn.amounts[drawn.operations == name]
        if name in ("shift", "rotation", "shear"):
            assert stats.binomtest(int((amounts[:, 0] > 0).sum()), len(amounts)).pvalue > 0.001
        if name == "blur":
            assert stats.chisquare(np.bincount(amounts[:, 0].astype(int), minlength=8)[2:]).pvalue > 0.001
        else:
            assert stats.kstest(np.abs(amounts[:, 0]), stats.uniform(low, high - low).cdf).pvalue > 0.001
    shifts = drawn.amounts[drawn.operations == "shift"]
    assert abs(np.corrcoef(shifts.T)[0, 1]) < 0.05


def test_fewer_operations_and_other_ranges():
    drawn = Benign(("blur", "scale"), scale=(2, 2), blur=(4, 4)).draw(0, "pool", np.arange(100))
    assert set(drawn.operations) == {"blur", "scale"}
    assert (drawn.amounts[:, 0] == np.where(drawn.operations == "blur", 4, 2)).all()


@settings(max_examples=20, deadline=None)
@given(st.floats(-300, 300), st.floats(0.01, 500), st.integers(0, 100))
def test_the_range_of_values_is_a_matter_of_units(black, extent, seed):
    x = images(14, (3, 6, 5), dtype=torch.float64)
    x[0] = x[0] * 0 + 1  # white
    other = Benign(value_range=(black, black + extent)).apply(x * extent + black, np.arange(14), seed, "pool")
    expected = UNIT.apply(x, np.arange(14), seed, "pool") * extent + black
    torch.testing.assert_close(other, expected, rtol=1e-9, atol=1e-7)
    assert black <= other.min()
    assert other.max() <= black + extent


def test_each_channel_may_have_its_own_black_and_white():
    x, mean, sd = (
        images(30, (3, 6, 5)),
        torch.tensor([0.5, 0.4, 0.3]).view(3, 1, 1),
        torch.tensor([0.2, 0.3, 0.1]).view(3, 1, 1),
    )
    levels = (tuple((-mean / sd).flatten().tolist()), tuple(((1 - mean) / sd).flatten().tolist()))
    mutated = Benign(value_range=levels).apply((x - mean) / sd, np.arange(30), 0, "pool")
    torch.testing.assert_close(mutated * sd + mean, UNIT.apply(x, np.arange(30), 0, "pool"), rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_type_and_shape_are_kept_and_the_input_untouched(dtype):
    x = images(30, (1, 8, 8), dtype=dtype).requires_grad_()
    before = x.detach().clone()
    mutated = UNIT.apply(x, np.arange(30), 0, "pool")
    assert mutated.dtype == dtype
    assert mutated.shape == x.shape
    assert mutated.isfinite().all()
    assert not mutated.requires_grad
    assert torch.equal(x, before)
    expected = UNIT.apply(before.double(), np.arange(30), 0, "pool")
    torch.testing.assert_close(mutated.double(), expected, rtol=0, atol=2 * torch.finfo(dtype).eps + 1e-5)
    assert UNIT.apply(before[:0], [], 0, "pool").shape == (0, 1, 8, 8)


def test_kernels_larger_than_the_image():
    x = images(6, (1, 2, 3), dtype=torch.float64)
    for kernel in ("box", "gaussian"):
        benign = Benign(("blur",), blur=(9, 20), kernel=kernel, value_range=(0, 1))
        drawn = benign.draw(0, "pool", np.arange(6))
        expected = [slow(x[i].numpy(), "blur", drawn.amounts[i], kernel=kernel) for i in range(6)]
        np.testing.assert_allclose(benign.apply(x, np.arange(6), 0, "pool").numpy(), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ([0.0], [1.0], (0, 1)),
        ([0.2, 0.0], [0.3, 0.1], (0, 1)),
        ([0.0], [1.5], (0, 255)),
        ([0.0, 3.0], [255.0, 7.0], (0, 255)),
        ([-0.5], [0.5], ((-0.5,), (0.5,))),
        ([0.0, -1.0], [300.0, -1.0], ((0, -1), (300, 0))),
    ],
)
def test_black_and_white(low, high, expected):
    assert black_and_white(torch.tensor(low), torch.tensor(high)) == expected


def test_the_range_of_values_is_that_of_the_whole_data():
    x = images(600, (2, 3, 3)) * 2 - 1
    x[599, 0, 0, 0], x[3, 1, 2, 2] = -7, 9
    black, white = Benign().fitted(as_data((x, np.zeros(600)), "test")).value_range
    np.testing.assert_allclose([black, white], [x.amin((0, 2, 3)), x.amax((0, 2, 3))])
    assert UNIT.fitted(as_data((x, np.zeros(600)), "test")) is UNIT


def test_only_the_image_among_several_inputs_is_mutated():
    inputs = {"image": images(20, (1, 8, 8)), "angle": torch.rand(20, 2), "ids": torch.arange(20)}
    mutated = UNIT.apply(inputs, np.arange(20), 0, "pool")
    assert mutated["angle"] is inputs["angle"]
    assert mutated["ids"] is inputs["ids"]
    assert torch.equal(mutated["image"], UNIT.apply(inputs["image"], np.arange(20), 0, "pool"))
    both = (inputs["image"], inputs["image"] / 2)
    mutated = Benign(value_range=(0, 1), part="1").apply(both, np.arange(20), 0, "pool")
    assert mutated[0] is both[0]
    assert not torch.equal(mutated[1], both[1])


@pytest.mark.parametrize(
    ("inputs", "part", "message"),
    [
        (torch.zeros(2, 5), None, r"float32 \(2, 5\).*mutate=mutiny.Noise\(\)"),
        (torch.zeros(2, 1, 4, 4, dtype=torch.uint8), None, r"uint8.*: x.float\(\) / 255"),
        ((torch.zeros(2, 1, 4, 4), torch.zeros(2, 1, 4, 4)), None, r'mutate=mutiny.Benign\(part="0"\)'),
        ({"a": torch.zeros(2, 1, 4, 4)}, "b", r"a: float32 .* named b. Leave part out, or"),
        (torch.zeros(2, 8, 9, 3, dtype=torch.uint8), None, r": x.permute\(0, 3, 1, 2\).float\(\) / 255"),
        (torch.zeros(2, 28, 28), None, r": x\[:, None\]\. .*mutate=mutiny.Noise\(\)"),
    ],
)
def test_inputs_that_are_not_one_image(inputs, part, message):
    with pytest.raises(BadInput, match=message):
        image_in(inputs, part)


@pytest.mark.parametrize("shape", [(8, 8, 3), (28, 28, 1), (8, 8, 1), (6, 9, 4), (5, 8, 3), (224, 200, 3)])
def test_channels_last_is_refused_before_any_work(shape):
    x = torch.rand(4, *shape)
    data = as_data((x, np.arange(4)), "test")
    for work in (
        lambda: mutate((x, np.arange(4)), operations="rotation"),
        lambda: Benign().fitted(data),
        lambda: UNIT.fitted(data),
        lambda: UNIT.apply(x, np.arange(4), 0, "pool"),
        lambda: mutate(({"picture": x, "age": torch.rand(4)}, None)),
    ):
        with pytest.raises(BadInput, match=r"\(n, channels, height, width\).*x\.permute\(0, 3, 1, 2\)\."):
            work()
    assert UNIT.apply(x.permute(0, 3, 1, 2), np.arange(4), 0, "pool").shape[1] == shape[2]


@pytest.mark.parametrize(
    "shape", [(3, 8, 3), (1, 4, 4), (3, 4, 4), (4, 4, 4), (1, 8, 1), (3, 1, 1), (2, 3, 3), (16, 4, 4), (64, 1, 1)]
)
def test_channels_first_is_not_mistaken(shape):
    assert mutate(torch.rand(4, *shape)).first(4).shape == (4, *shape)


def test_a_noisy_pool_can_be_made_as_the_advice_says():
    x = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(BadInput, match=r"mutiny.MutatedData\(data, mutiny.Noise\(\)\) for a pool"):
        mutate(x)
    assert not torch.equal(MutatedData(x, Noise()).first(20), as_pool(x).first(20))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"operations": ("rotaton",)}, "operation=rotaton: .*Did you mean rotation"),
        ({"operations": "blur"}, "operations='blur': expected a tuple"),
        ({"operations": ()}, "operations"),
        ({"scale": (1.2, 0.8)}, "scale.*the smaller first"),
        ({"scale": (0.0, 1.0)}, "scale"),
        ({"shear": (0, 90)}, "shear.*89"),
        ({"contrast": (float("nan"), 1.0)}, "contrast"),
        ({"blur": (2.5, 7)}, "blur.*whole"),
        ({"signs": "positive"}, "signs=positive"),
        ({"interpolation": "cubic"}, "interpolation"),
        ({"kernel": "gauss"}, "Did you mean gaussian"),
        ({"value_range": (1, 0)}, "value_range"),
        ({"value_range": (0, float("inf"))}, "value_range"),
        ({"value_range": ((0, 0), (1, 1, 1))}, "value_range"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(BadInput, match=message):
        Benign(**options)


def test_calls_that_make_no_sense():
    x = images(2, (3, 4, 4))
    with pytest.raises(BadInput, match=r"value_range=None.*fitted"):
        Benign().apply(x, [0, 1], 0, "pool")
    with pytest.raises(BadInput, match="3 channels"):
        Benign(value_range=((0, 0), (1, 1))).apply(x, [0, 1], 0, "pool")
    for indices in ([0], [0, -1], [0.0, 1.0], [[0, 1]]):
        with pytest.raises(BadInput, match="indices"):
            UNIT.apply(x, indices, 0, "pool")


def test_the_defaults_are_those_of_table_4_and_all_operations_have_limits():
    assert {name: getattr(UNIT, name) for name in OPERATIONS} == TABLE_4
    assert set(LIMITS) == set(TABLE_4)


def test_importing_is_light():
    code = "import sys, mutiny.subjects.data.benign_mutations; sys.exit('kornia' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
