"""Gradients of the built-in operators beside finite differences in float64, also of the second order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from placed import tensor

import kernelwright as kw

STEP = 1e-5


def some(*shape: int, seed: int = 1, low: float = -2, high: float = 2) -> Any:
    return np.random.default_rng(seed).uniform(low, high, shape)


def weigh(out: Any, seed: int = 7) -> Any:
    """A number that every element of the outputs has its own part in."""
    outputs = out if isinstance(out, tuple) else (out,)
    total: Any = 0
    for i, o in enumerate(outputs):
        total = total + (o * tensor(some(*o.shape, seed=seed + i))).sum()
    return total


def differences(f: Callable[..., Any], args: list[Any], position: int) -> Any:
    """The gradient of weigh(f(args)) by one array, by central differences."""
    x = args[position]
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        values = []
        for sign in (1, -1):
            moved = [a.copy() for a in args]
            moved[position][at] += sign * STEP
            values.append(float(weigh(f(*map(tensor, moved)))))
        found[at] = (values[0] - values[1]) / (2 * STEP)
    return found


def check(f: Callable[..., Any], *args: Any, second: bool = True) -> None:
    for p in range(len(args)):
        gradient = kw.grad(lambda *a: weigh(f(*a)), p)
        expected = differences(f, list(args), p)
        np.testing.assert_allclose(
            gradient(*map(tensor, args)).numpy(), expected, 1e-6, 1e-6, err_msg=f"by argument {p}"
        )
    if second:
        for p in range(len(args)):

            def slope(*a: Any, p: int = p) -> Any:
                return kw.grad(lambda *b: weigh(f(*b)), p)(*a)

            for q in range(len(args)):
                bend = kw.grad(lambda *a: weigh(slope(*a), 17), q)(*map(tensor, args)).numpy()
                expected = np.zeros_like(args[q])
                for at in np.ndindex(args[q].shape):
                    values = []
                    for sign in (1, -1):
                        moved = [a.copy() for a in args]
                        moved[q][at] += sign * STEP
                        values.append(float(weigh(slope(*map(tensor, moved)), 17)))
                    expected[at] = (values[0] - values[1]) / (2 * STEP)
                np.testing.assert_allclose(bend, expected, 1e-5, 1e-5, err_msg=f"by {p} and {q}")


@pytest.mark.parametrize(
    "name",
    [
        "identity",
        "neg",
        "exp",
        "tanh",
        "sin",
        "cos",
        "erf",
        "sigmoid",
        "gelu",
        "abs",
        "relu",
        "sign",
        "floor",
    ],
)
def test_unary(name: str) -> None:
    check(kw.ops.get(f"kw::{name}"), some(2, 3) + 0.01)


@pytest.mark.parametrize("name", ["log", "sqrt"])
def test_functions_of_positive_numbers(name: str) -> None:
    check(kw.ops.get(f"kw::{name}"), some(2, 3, low=0.5))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum"])
@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((2, 1), (3,)), ((), (2,))])
def test_binary(name: str, shapes: Any) -> None:
    x, y = (some(*s, seed=i + 1, low=0.5) for i, s in enumerate(shapes))
    check(kw.ops.get(f"kw::{name}"), x, y)


def test_power() -> None:
    check(kw.ops.pow, some(2, 3, low=0.5), some(3, low=0.5))
    check(lambda x: x**3, some(4))
    assert kw.grad(lambda x: x**2.0)(np.zeros(2)).tolist() == [0, 0]


def test_equal_elements_share_a_gradient() -> None:
    x = np.array([1.0, 2.0])
    assert kw.grad(kw.ops.maximum)(x, np.array([1.0, 0.0])).tolist() == [0.5, 1]
    assert kw.grad(lambda t: t.max())(np.array([3.0, 1.0, 3.0])).tolist() == [0.5, 0, 0.5]


def test_modulo() -> None:
    check(kw.ops.mod, np.array([2.3, -1.2]), np.array([0.7, 0.9]), second=False)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
def test_reductions(axis: Any) -> None:
    x = some(2, 3, 2)
    check(lambda t: t.sum(axis), x)
    check(lambda t: t.mean(axis, True), x)
    check(lambda t: t.max(axis), x)
    check(lambda t: t.min(axis), x)


def test_rows() -> None:
    x = some(2, 3)
    check(lambda t: kw.ops.softmax(t), x)
    check(lambda t: kw.ops.softmax(t, 0), x)
    check(lambda t: kw.ops.log_softmax(t), x)
    check(lambda t, g, b: kw.ops.layernorm(t, g, b)[0], x, some(3, seed=2), some(3, seed=3))
    check(kw.ops.layernorm, x, some(3, seed=2), some(3, seed=3), second=False)


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_matmul(ta: bool, tb: bool) -> None:
    x, y = some(*((3, 2) if ta else (2, 3))), some(*((2, 3) if tb else (3, 2)), seed=2)
    check(lambda a, b: kw.ops.matmul(a, b, ta, tb), x, y)
    batched = np.stack([x, x + 1])
    check(lambda a, b: kw.ops.matmul(a, b, ta, tb), batched, y, second=False)


def test_shapes() -> None:
    x = some(2, 3)
    check(lambda t: t.reshape(3, 2), x)
    check(lambda t: t.T, x)
    check(lambda t: kw.ops.broadcast_to(t, [2, 2, 3]), x)
    check(lambda a, b: kw.ops.concat([a, b], 1), x, some(2, 2, seed=2))
    check(lambda t: t[1, 1:], x)
    check(lambda t: kw.ops.select(t > 0, t * t, t), x)


def test_indices() -> None:
    x, index = some(3, 2), np.array([2, 0, 2])
    check(lambda t: kw.ops.gather(t, tensor(index)), x)
    check(lambda t, u: kw.ops.scatter_add(t, tensor(index), u), x, some(3, 2, seed=2))
    check(lambda t: kw.ops.cross_entropy(t, tensor(index)), some(3, 4))


def test_windows() -> None:
    x, w = some(1, 2, 4, 3), some(2, 1, 2, 2, seed=2)
    check(lambda a, b: kw.ops.conv2d(a, b, [2, 1], [1, 0], [1, 2], 2), x, w, second=False)
    check(lambda a, b: kw.ops.conv2d(a, b), some(1, 1, 2, 2), some(1, 1, 2, 1, seed=2))
    check(lambda a: kw.ops.maxpool2d(a, [2], [1], [1]), x, second=False)


def test_casts() -> None:
    gradient = kw.grad(lambda t: kw.Tensor.astype(t, np.float64) * 3)(np.ones(2, np.float32))
    assert gradient.dtype == np.float32 and gradient.tolist() == [3, 3]


def test_casts_to_integers_are_made_of_steps() -> None:
    x = np.array([1.5, 2.5])
    assert kw.grad(lambda t: t.astype(np.int32) * 1.0)(x).tolist() == [0, 0]
    assert kw.grad(lambda t: t * t.astype(np.int32).astype(np.float64))(x).tolist() == [1, 2]


def test_types_as_attributes() -> None:
    x = np.array([1.5, 2.5])
    for dtype in (np.int32, "int32", np.dtype(np.int32)):
        assert kw.ops.cast(x, dtype).numpy().dtype == np.int32
    assert kw.ops.argmax(x, 0, np.int64).numpy().dtype == np.int64
    with pytest.raises(TypeError, match="attribute 'dtype' of kw::cast must be dtype, but got 'what'"):
        kw.ops.cast(x, "what")


def test_unsaved_gradients_are_refused() -> None:
    with pytest.raises(
        RuntimeError, match=r"kw::maxpool2d_grad \(runtime/ops/windows.cpp:\d+\) does not exist: "
    ):
        slope = kw.grad(lambda t: kw.ops.maxpool2d(t, [2]).sum())
        kw.grad(lambda t: slope(t * t).sum())(some(1, 1, 2, 2))


def test_vjp_and_values() -> None:
    x, y = some(3), some(3, seed=2)
    out, pull = kw.vjp(lambda a, b: (a * b, a + b), x, y)
    np.testing.assert_allclose(out[0].numpy(), x * y)
    by_x, by_y = pull(np.full(3, 2.0), None)
    np.testing.assert_allclose(by_x, 2 * y + 1)
    np.testing.assert_allclose(by_y, 2 * x + 1)
    value, (by_x, by_y) = kw.value_and_grad(lambda a, b: (a * b).sum(), (0, 1))(x, y)
    np.testing.assert_allclose(float(value), (x * y).sum())
    np.testing.assert_allclose(by_x, y)
    assert kw.grad(lambda a, b: b)(x, kw.Tensor(y)).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="a gradient by argument 2 was asked for, but the call has 2"):
        kw.grad(lambda a, b: a, 2)(x, y)
    with pytest.raises(TypeError, match="the function returned float, but must return tensors"):
        kw.grad(lambda a: 1.0)(x)
    with pytest.raises(TypeError, match="argument 0 is str; gradients are by tensors and arrays"):
        kw.grad(lambda a: a)("x")


def in_a_thread(f: Callable[[], Any]) -> Any:
    """What f returns in a thread of its own, or the text of its error."""
    told: list[Any] = []

    def work() -> None:
        try:
            told.append(f())
        except RuntimeError as e:
            told.append(str(e))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return told[0]


REFUSED = (
    "kw::mul was called on a tensor whose gradient another thread is about to ask for, which would not know"
    " of the call: call it in that thread"
)


def test_calls_of_another_thread_are_refused() -> None:
    told: list[Any] = []

    def f(x: Any) -> Any:
        told.append(in_a_thread(lambda: x * x))
        told.append(in_a_thread(lambda: kw.grad(lambda y: y * x)(np.ones(2))))
        return x * 2.0

    kw.grad(f)(np.ones(2))
    assert told == [REFUSED, REFUSED]


def test_other_threads_may_differentiate_and_use_what_is_left() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x)
        kept.append(in_a_thread(lambda: kw.grad(lambda y: y * y)(np.full(2, 3.0))))
        return x * 2.0

    assert kw.grad(f)(np.ones(2)).tolist() == [2.0, 2.0]
    assert kept[1].tolist() == [6.0, 6.0]
    assert in_a_thread(lambda: np.asarray(kept[0] * kept[0]).tolist()) == [1.0, 1.0]


def test_arrays_of_memory_that_gradients_need_are_read_only() -> None:
    w = kw.Tensor(np.ones(2))

    def through_the_variable(x: Any) -> Any:
        y = x * x
        x.numpy()[0] = 5.0
        return y

    def through_what_it_uses(x: Any) -> Any:
        y = x * w
        w.reshape(2, 1).numpy()[0] = 5.0
        return y

    for f in (through_the_variable, through_what_it_uses):
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            kw.grad(f)(np.ones(2))
    assert w.numpy().tolist() == [1.0, 1.0]


def test_arrays_are_writable_as_soon_as_no_gradient_needs_the_memory() -> None:
    w = kw.Tensor(np.ones(2))
    out, slope = kw.value_and_grad(lambda x: x * w)(np.ones(2))
    w.numpy()[0], out.numpy()[0] = 3.0, 4.0
    assert w.numpy().tolist() == [3.0, 1.0] and out.numpy().tolist() == [4.0, 1.0]
    assert slope.tolist() == [1.0, 1.0]
    out, pull = kw.vjp(lambda x: x * w, np.ones(2))
    assert not w.numpy().flags.writeable
    assert pull(None)[0].tolist() == [3.0, 1.0]
    del out, pull
    assert w.numpy().flags.writeable


def test_writes_through_arrays_change_no_gradient_of_earlier_calls() -> None:
    x, w = kw.Tensor(np.ones(2)), kw.Tensor(np.ones(2))
    of_x, of_w = x.numpy(), w.numpy()

    def f(t: Any) -> Any:
        y = t * t * w.reshape(2)
        of_x[1] += 1.0
        of_w[0] = 7.0
        return y

    assert np.asarray(kw.grad(f)(x)).tolist() == [2.0, 2.0]
    assert np.asarray(kw.grad(lambda t: t * t * w)(x)).tolist() == [14.0, 4.0]
    of_x[:] = of_w[:] = 1.0
    assert np.asarray(kw.grad(lambda t: kw.grad(f)(t) * t)(x)).tolist() == [4.0, 4.0]


def test_memory_under_a_history_is_not_written_unseen() -> None:
    def f(x: Any) -> Any:
        y = x + x
        with kw.gradients.recording(False):
            view = y.reshape(2, 1)
        view.numpy()[0] = 100.0
        return y * y

    with pytest.raises(RuntimeError, match="whose memory was written by way of another tensor"):
        kw.grad(f)(np.ones(2))


def test_a_pull_that_is_kept_inside_of_another_gradient() -> None:
    from kernelwright import mindspore as ms

    kept: list[Any] = []

    def f(x: Any) -> Any:
        out, pull = kw.vjp(lambda t: t * t, x)
        kept.append(pull)
        return out

    def g(x: Any) -> Any:
        out, pull = ms.ops.vjp(lambda t: t * t, x)
        kept.append(pull)
        return out

    kw.value_and_grad(f)(np.full(2, 3.0))
    ms.value_and_grad(g)(ms.Tensor(np.full(2, 3.0, np.float32)))
    for pull in kept:
        seed = kw.Tensor(np.ones(2)) if pull is kept[0] else ms.Tensor(np.ones(2, np.float32))
        found = pull(seed)
        assert np.asarray(found[0] if isinstance(found, tuple) else found).tolist() == [6.0, 6.0]


def test_a_gradient_of_another_thread_keeps_its_history() -> None:
    recorded, returned = threading.Event(), threading.Event()
    other: list[Any] = []

    def slow(x: Any) -> Any:
        other.append(x * x)
        recorded.set()
        assert returned.wait(60)
        return other[0]

    thread = threading.Thread(target=lambda: other.append(kw.grad(slow)(np.full(2, 3.0))))
    thread.start()
    assert recorded.wait(60)
    kw.value_and_grad(lambda x: (x * x, other[0]))(np.ones(2))
    returned.set()
    thread.join()
    assert other[1].tolist() == [6.0, 6.0]


def test_memory_is_copied_only_if_an_array_over_it_is_left() -> None:
    x = kw.Tensor(np.ones(2))
    seen: list[bool] = []

    def f(t: Any) -> Any:
        seen.append(t.numpy().ctypes.data == address)
        return t * t

    address = x.numpy().ctypes.data
    kw.grad(f)(x)
    array = x.numpy()
    kw.grad(f)(x)
    del array
    kw.grad(f)(x)
    assert seen == [True, False, True]


def test_results_forget_how_they_were_computed_but_not_for_an_outer_gradient() -> None:
    def f(x: Any) -> Any:
        value, slope = kw.value_and_grad(lambda t: t * t)(x)
        with kw.gradients.recording(False):
            same, _ = kw.value_and_grad(lambda t: x)(x)
        assert same is x
        return value * slope * same  # 2 x⁴

    assert kw.grad(f)(np.full(1, 3.0)).tolist() == [8 * 27.0]


def test_arrays_may_be_read() -> None:
    def f(x: Any) -> Any:
        y = x * x
        assert x.numpy().tolist() == [1.0, 1.0]
        assert y.numpy().tolist() == [1.0, 1.0]
        return y * x

    assert kw.grad(f)(np.ones(2)).tolist() == [3.0, 3.0]


def test_arrays_of_users_are_copied() -> None:
    from kernelwright.mindspore import Tensor, grad

    array = np.ones(2, np.float32)

    def f(t: Any) -> Any:
        y = t * t * array
        array[0] = 3.0
        return y

    assert grad(f)(Tensor.from_numpy(array)).numpy().tolist() == [2.0, 2.0]
    assert kw.Tensor(np.ones((0, 2))).numpy().shape == (0, 2)
