"""Arguments and sizes of measurements, from texts."""

from __future__ import annotations

import numpy as np
import pytest

from kernelwright.argument_types import ArgumentTypeError
from kernelwright.measure.inputs import arguments_with_values, sweep_of, with_size


def test_values_are_random_and_subscripts_fit() -> None:
    x, k, flags, n, small = arguments_with_values(["f32[20, 30]", "i64[1000]", "bool_[50]", "7", "u8[300]"])
    assert x.dtype == np.float32 and x.shape == (20, 30) and 0.1 <= x.min() < x.max() <= 1
    assert k.min() >= 0 and k.max() == 19 and set(flags.tolist()) == {False, True} and n == 7
    assert small.dtype == np.uint8 and small.max() <= 19
    again = arguments_with_values(["f32[20, 30]"])[0]
    assert np.array_equal(x, again) and not np.array_equal(x, arguments_with_values(["f32[20, 30]"], 1)[0])
    same = arguments_with_values(["f64[3]", "=0"])
    assert same[0] is same[1]
    assert arguments_with_values(["i32[0]"])[0].size == 0


def test_open_sizes_are_refused() -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        arguments_with_values(["f32[3, :]"])
    assert str(caught.value) == "'f32[3, :]' leaves sizes open: measurements need them, as f32[4096, 1024]"


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("n=2**3..2**6", "n", [8, 16, 32, 64]),
        ("n = 5..45", "n", [5, 10, 20, 40]),
        ("rows=10..35+10", "rows", [10, 20, 30]),
        ("n=3,1, 2**4", "n", [3, 1, 16]),
        ("n=7", "n", [7]),
    ],
)
def test_sweeps(text: str, name: str, values: list[int]) -> None:
    assert sweep_of(text) == (name, values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n", "'n' is no sweep: expected n=2**8..2**24, n=100..1000+100 or n=1,2,3"),
        ("2=3..4", "'2=3..4' is no sweep: expected n=2**8..2**24, n=100..1000+100 or n=1,2,3"),
        ("n=9..3", "'n=9..3' has no values"),
        ("n=a..3", "'a' is no size: expected a number, or a power as 2**20"),
    ],
)
def test_wrong_sweeps(text: str, message: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        sweep_of(text)
    assert str(caught.value) == message


def test_a_size_replaces_its_name() -> None:
    assert with_size("f32[n, m, nn]", "n", 8) == "f32[8, m, nn]" and with_size("n", "n", 8) == "8"
