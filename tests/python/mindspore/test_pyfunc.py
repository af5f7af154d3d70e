"""Python functions as custom operators (pyfunc): what may be one, what it gets, and what it may return."""

from __future__ import annotations

import copy
import functools
import operator
import warnings
from typing import Any

import numpy as np
import pytest
from custom_cases import first

import kernelwright.mindspore as ms
from kernelwright.mindspore import Tensor, ops

x = np.array([1, 4, 9], np.float32)
by_exec: dict[str, Any] = {}
exec("def by_exec(a):\n    return a * 3", by_exec)


def values(t: Any) -> Any:
    return t.asnumpy().tolist()


@pytest.fixture(autouse=True, params=[ms.GRAPH_MODE, ms.PYNATIVE_MODE], ids=["graph", "pynative"])
def mode(request: pytest.FixtureRequest) -> None:
    ms.set_context(mode=request.param)


@pytest.mark.parametrize(
    "func, inputs, expected",
    [
        (np.sqrt, 1, [1, 2, 3]),
        (np.add, 2, [2, 8, 18]),
        (abs, 1, [1, 4, 9]),
        (operator.mul, 2, [1, 16, 81]),
        (functools.partial(np.subtract, 10), 1, [9, 6, 1]),
        (np.where, 3, [1, 4, 9]),
        (operator.itemgetter(slice(None)), 1, [1, 4, 9]),
        (operator.methodcaller("copy"), 1, [1, 4, 9]),
        (functools.partial(lambda a, k: a * k, k=2), 1, [2, 8, 18]),
        (by_exec["by_exec"], 1, [3, 12, 27]),
        (eval("lambda a: a + 1"), 1, [2, 5, 10]),
        (lambda *given: sum(given), 3, [3, 12, 27]),
        (lambda a, *more: a - len(more), 3, [-1, 2, 7]),
    ],
)
def test_everything_that_can_be_called(func: Any, inputs: int, expected: list[float]) -> None:
    op = ops.Custom(func, first, first, "pyfunc")
    for _ in range(2):
        found = op(*[Tensor(x)] * inputs)
        assert found.dtype == ms.float32 and values(found) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.dtype(np.float32), ms.float32])
def test_types_of_numpy_are_types_of_outputs(dtype: Any) -> None:
    found = ops.Custom(lambda a: a / 2, (3,), dtype, "pyfunc")(Tensor(x))
    assert found.dtype == ms.float32 and values(found) == [0.5, 2, 4.5]


def test_texts_and_numbers_in_tuples_reach_the_function() -> None:
    def run(a: Any, how: str, pair: Any) -> Any:
        return a * pair[0] + pair[1] if how == "up" else a * pair[0] - pair[1]

    op = ops.Custom(run, first, first, "pyfunc")
    assert values(op(Tensor(x), "up", (2, 5))) == [7, 13, 23]
    assert values(op(Tensor(x), "down", [3, 1])) == [2, 11, 26]


@pytest.mark.parametrize(
    "func, shape, expected",
    [
        (lambda a: a[::-1], first, [9, 4, 1]),
        (lambda a: a[::2], (2,), [1, 9]),
        (lambda a: np.broadcast_to(a[1], (2, 2)), (2, 2), [[4, 4], [4, 4]]),
        (lambda a: np.stack([a, a + 1]).T, (3, 2), [[1, 2], [4, 5], [9, 10]]),
    ],
)
def test_results_with_strides(func: Any, shape: Any, expected: Any) -> None:
    assert values(ops.Custom(func, shape, ms.float32, "pyfunc")(Tensor(x))) == expected


def test_a_list_of_several_outputs() -> None:
    op = ops.Custom(lambda a: [a + 1, a * 2], lambda s: (s, s), lambda t: (t, t), "pyfunc")
    assert [values(t) for t in op(Tensor(x))] == [[2, 5, 10], [2, 8, 18]]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_inputs_without_elements(shape: Any) -> None:
    found = ops.Custom(lambda a: a * 2, first, first, "pyfunc")(Tensor(np.zeros(shape, np.float32)))
    assert found.shape == shape and found.dtype == ms.float32
    total = ops.Custom(lambda a: a.sum(), (1,), ms.float32, "pyfunc")
    assert values(total(Tensor(np.zeros(shape, np.float32)))) == [0]


def test_bfloat16_passes() -> None:
    found = ops.Custom(lambda a: a + a, first, first, "pyfunc")(Tensor([1.5, -2.0], ms.bfloat16))
    assert found.dtype == ms.bfloat16 and values(found.astype(ms.float32)) == [3, -4]


def test_a_decorated_kernel_is_told_to_be_slow() -> None:
    @ops.kernel
    def twice(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] * 2.0
        return c

    with pytest.warns(UserWarning) as seen:
        op = ops.Custom(twice, first, first, "pyfunc")
    assert [str(w.message) for w in seen] == [
        f"For 'Custom', 'func_type': pyfunc, 'func': {twice}, 'func' is decorated by kernel, but CPython runs"
        " it, element by element: func_type='hybrid' compiles it"
    ]
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert values(op(Tensor(x))) == values(copy.deepcopy(op)(Tensor(x))) == [2, 8, 18]
        for kind in ("hybrid", "akg", None):
            assert values(ops.Custom(twice, first, first, kind)(Tensor(x))) == [2, 8, 18]
        ops.Custom(lambda a: a, first, first, "pyfunc")
