"""What gradients rest on: memory that nobody else writes, and a history that stays true. Each test is the
smallest program that once showed a wrong result.
"""

from __future__ import annotations

import copy
import pickle
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
import kernelwright.mindspore as ms
from kernelwright.mindspore import ops


@kw.kernel
def double_in_place(x):
    for p in grid(x.shape):
        x[p] = x[p] * 2
    return x


def fill_and_count(a):
    n = output_tensor((1,), "int64")
    for i in range(a.shape[0]):
        a[i] = 9.0
    n[0] = a.shape[0]
    return n, a


@kw.kernel
def add_twice(x, y):
    for i in range(x.shape[0]):
        x[i] = x[i] + 2 * y[i]
    return x


@pytest.fixture
def double() -> Iterator[Any]:
    yield kw.register_op("memory::double", double_in_place, writes=("x",), bprop=lambda x, o, d: (d * 2,))
    kw.remove_op("memory::double")


@pytest.fixture
def registered() -> Iterator[Any]:
    names = []

    def make(function: Any, **options: Any) -> Any:
        names.append(f"memory::f{len(names)}")
        return kw.register_op(names[-1], function, **options)

    yield make
    for name in names:
        kw.remove_op(name)


def test_gradients_share_no_memory() -> None:
    by_a, by_b = kw.grad(lambda a, b: a + b, (0, 1))(np.zeros(2), np.zeros(2))
    by_a *= 0.1
    assert by_b.tolist() == [1, 1]
    _, pull = kw.vjp(lambda x: x + 0, np.ones(2))
    seed = np.ones(2)
    (found,) = pull(seed)
    found *= 5
    assert seed.tolist() == [1, 1]
    sens = ms.Tensor([1.0, 1.0])
    gradient = ops.GradOperation(sens_param=True)(lambda x: x)(ms.Tensor([1.0, 2.0]), sens)
    gradient[0] = 9
    assert sens.asnumpy().tolist() == [1, 1]


WRITES = {
    "itself": lambda dout: dout.add_(1),
    "a slice": lambda dout: dout[1:].add_(1),
    "another shape": lambda dout: dout.reshape(2, 1).add_(1),
    "a turned one": lambda dout: dout.reshape(2, 1).transpose(1, 0).add_(1),
    "an array": lambda dout: dout.asnumpy().__setitem__(0, 1),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_bprop_cannot_write_what_it_gets(write: Any) -> None:
    def bprop(x: Any, out: Any, dout: Any) -> Any:
        write(dout)
        return (dout,)

    op = ops.Custom(lambda x: x * x, lambda x: x, lambda x: x, "pyfunc", bprop=bprop)
    with pytest.raises(ValueError, match="read-only"):
        ms.grad(lambda x: op(x * 2) + x)(ms.Tensor([1.0, 2.0]))


def test_gradients_share_memory_with_nothing() -> None:
    kept = []

    def keeps(x: Any, out: Any, dout: Any) -> Any:
        kept.append(dout * x)
        return (kept[0],)

    def passes_on(x: Any, out: Any, dout: Any) -> Any:
        return (dout,)

    for bprop in (keeps, passes_on):
        op = ops.Custom(lambda x: x * x, lambda x: x, lambda x: x, "pyfunc", bprop=bprop)
        gradient = ms.grad(op)(ms.Tensor([3.0, 5.0]))
        gradient[0] = 9
        assert gradient.asnumpy()[0] == 9
    assert kept[0].asnumpy().tolist() == [3, 5]


def test_a_kernel_in_a_bprop_cannot_write_what_it_gets(double: Any) -> None:
    def bprop(x: Any, out: Any, dout: Any) -> Any:
        return (double(dout),)

    op = ops.Custom(lambda x: x * x, lambda x: x, lambda x: x, "pyfunc", bprop=bprop)
    with pytest.raises(ValueError, match="is written but read-only"):
        ms.grad(lambda x: op(x * 2) + x)(ms.Tensor([1.0, 2.0]))


def test_views_of_written_memory_are_refused(double: Any) -> None:
    def through_base(x: Any) -> Any:
        y = x.reshape(3)
        double(x)
        return y * y

    def through_view(x: Any) -> Any:
        y = x.reshape(-1)
        double(y)
        return x * 1

    for f in (through_base, through_view):
        with pytest.raises(RuntimeError, match="written by way of another tensor"):
            kw.grad(f)(np.array([1.0, 2.0, 3.0]))


def test_functions_that_write_what_they_do_not_return(registered: Any) -> None:
    kept: list[Any] = []

    def adds(w: Any) -> Any:
        w += 100
        return np.zeros(1)

    def keeps(w: Any) -> Any:
        kept.append(w)
        return np.zeros(1)

    for function in (adds, keeps):
        op = registered(function, writes=("w",))
        w = kw.Tensor(np.full(2, 2.0))

        def f(x: Any, w: Any = w, op: Any = op) -> Any:
            y = x * w
            op(w)
            return y

        with pytest.raises(RuntimeError, match="the input 'y' was written after the call"):
            kw.grad(f)(np.ones(2))
        # the array that the function keeps: what is saved from now on is a copy
        _, pull = kw.vjp(lambda x, w=w: x * w, np.ones(2))
        if kept:
            kept[0][:] = 7
        assert pull(None)[0].tolist() == ([2.0, 2.0] if kept else [102.0, 102.0])


def test_kernels_that_write_one_of_their_results(registered: Any) -> None:
    op = registered(kw.kernel(fill_and_count), writes=("a",), outputs=("n", "same"))
    w = kw.Tensor(np.ones(2))

    def f(x: Any) -> Any:
        y = x * w
        op(w)
        return y

    with pytest.raises(RuntimeError, match="the input 'y' was written after the call"):
        kw.grad(f)(np.ones(2))
    assert w.numpy().tolist() == [9.0, 9.0]


def test_gradients_that_a_bprop_writes_again(registered: Any) -> None:
    array, tensor = np.zeros(2), kw.Tensor(np.zeros(2))

    def into_the_array(x: Any, out: Any, dout: Any) -> Any:
        np.multiply(dout.numpy(), 2 * x.numpy(), out=array)
        return (array,)

    def into_the_tensor(x: Any, out: Any, dout: Any) -> Any:
        np.multiply(dout.numpy(), 2 * x.numpy(), out=tensor.numpy())
        return (tensor,)

    for bprop in (into_the_array, into_the_tensor):
        op = registered(lambda x: x * x, bprop=bprop)
        by = kw.grad(lambda a, b, op=op: op(a) + op(b), (0, 1))(np.ones(2), np.full(2, 3.0))
        assert [g.tolist() for g in by] == [[2.0, 2.0], [6.0, 6.0]]
        first = kw.grad(op)(np.ones(2))
        kw.grad(op)(np.full(2, 3.0))
        assert first.tolist() == [2.0, 2.0]


def test_memory_that_a_function_writes_while_it_runs(registered: Any) -> None:
    array = np.array([2.0])
    tensor = kw.Tensor(array)

    def writes_the_array(x: Any, w: Any) -> Any:
        r = x * w
        array[0] = 100
        return r

    op = registered(writes_the_array, bprop=lambda x, w, o, d: (d * w, None))
    assert kw.grad(lambda x: op(x, array))(np.ones(1)).tolist() == [2.0]

    def writes_the_tensor(x: Any, w: Any) -> Any:
        tensor.numpy()[0] = 100
        return x * w

    op = registered(writes_the_tensor, bprop=lambda x, w, o, d: (d * w, None))
    with pytest.raises(ValueError, match="read-only"):
        kw.grad(lambda x: op(x, tensor))(np.ones(1))


def test_results_with_weak_references_are_copied(registered: Any) -> None:
    made: list[Any] = []

    def remembers(x: Any) -> Any:
        r = np.array(x)
        made.append(weakref.ref(r))
        return r

    op = registered(remembers, bprop=lambda x, o, d: (d,))

    def f(x: Any) -> Any:
        y = op(x)
        z = y * y
        left = made[-1]()
        if left is not None:
            left[:] = 70
        return z

    assert kw.grad(f)(np.ones(2)).tolist() == [2.0, 2.0]


def test_memory_that_a_recorded_call_writes_through_a_view(registered: Any) -> None:
    add = registered(add_twice, writes=("x",), bprop=lambda x, y, o, d: (d, d * 2))
    c = kw.Tensor(np.array([1.0, 2.0, 3.0]))

    def through_a_view(x: Any) -> Any:
        add(kw.ops.reshape(c, [3]), x)
        return c * 1.0

    def through_the_base(x: Any) -> Any:
        view = kw.ops.reshape(c, [3])
        add(c.reshape(3), x)
        return view * 1.0

    for f in (through_a_view, through_the_base):
        with pytest.raises(RuntimeError, match="whose memory was written by way of another tensor"):
            kw.grad(f)(np.ones(3))
    assert c.numpy().tolist() == [5.0, 6.0, 7.0]
    # afterwards the memory is that of a constant
    assert kw.grad(lambda x: c * x)(np.ones(3)).tolist() == [5.0, 6.0, 7.0]


def test_inner_gradients_by_what_is_written_later(double: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 1

        def inner(t: Any) -> Any:
            double(y)
            return t * t

        return kw.grad(inner)(y)

    with pytest.raises(RuntimeError, match="whose memory was written by way of another tensor"):
        kw.grad(f)(np.array([1.0, 2.0]))


def test_writes_from_python_are_counted() -> None:
    for write in (lambda w: w.__setitem__(0, 100.0), lambda w: w.add_(1.0)):
        w = ms.Tensor([1.0, 2.0, 3.0])

        def f(x: Any, w: Any = w, write: Any = write) -> Any:
            y = x * w
            write(w)
            return y

        with pytest.raises(RuntimeError, match="the input 'y' was written after the call"):
            ms.grad(f)(ms.Tensor([1.0, 1.0, 1.0]))


def test_arrays_are_kept_as_they_are() -> None:
    w = np.ones(2)
    _, pull = kw.vjp(lambda x: x * w, np.ones(2))
    w[:] = 7
    assert pull(None)[0].tolist() == [1, 1]


def test_python_functions_own_neither_inputs_nor_results(registered: Any) -> None:
    buffer = np.zeros(2)

    def reuses(x: Any) -> Any:
        buffer[:] = x
        return buffer

    op = registered(reuses)
    a, b = op(np.ones(2)), op(np.full(2, 2.0))
    assert a.numpy().tolist() == [1, 1] and b.numpy().tolist() == [2, 2]

    def writes(x: Any) -> Any:
        x[0] = 9
        return x * 1

    with pytest.raises(ValueError, match="read-only"):
        registered(writes)(np.ones(2))
    same = registered(lambda x: x, bprop=lambda x, out, dout: (dout,))
    assert kw.grad(same)(np.ones(2)).tolist() == [1, 1]
    x = kw.Tensor(np.ones(2))
    same(x).numpy()[0] = 5
    assert x.numpy().tolist() == [1, 1]
    reverse = registered(lambda x: x[::-1])
    reverse(x).numpy()[0] = 5
    assert x.numpy().tolist() == [1, 1]


def test_results_that_nobody_else_holds_are_not_copied(registered: Any) -> None:
    made, kept = [], []

    def both(x: Any) -> Any:
        first, second = x + 1, x + 2
        made[:] = first.ctypes.data, second.ctypes.data
        kept[:] = [second]
        return first, second

    def one(x: Any) -> Any:
        first = x + 1
        made[:] = [first.ctypes.data]
        return first

    x = np.ones(1000)
    assert registered(one)(x).numpy().ctypes.data == made[0]
    first, second = registered(both, outputs=("p", "q"))(x)
    assert first.numpy().ctypes.data == made[0]
    assert second.numpy().ctypes.data != made[1]
    twice = registered(lambda x: (x + 1,) * 2, outputs=("p", "q"))
    left, right = twice(x)
    left.numpy()[0] = 9
    assert right.numpy()[0] == 2


def test_seeds_are_checked() -> None:
    x = np.ones(2)
    with pytest.raises(
        ValueError, match=r"the gradient for output 0 is float64\[2, 2\], but the output is float64\[2\]"
    ):
        kw.vjp(lambda t: t * 2, x)[1](np.ones((2, 2)))
    with pytest.raises(TypeError, match="2 gradients for 1 output"):
        ops.GradOperation(sens_param=True)(lambda t: t)(ms.Tensor(x), (ms.Tensor(x), ms.Tensor(x)))


def test_numbers_that_do_not_fit() -> None:
    for f in (
        lambda: kw.ops.add(np.ones(2, np.int8), 300),
        lambda: kw.Tensor(np.ones(2, np.uint8)) * -1,
        lambda: kw.Tensor(np.ones(2, np.uint8)) < 300,
        lambda: kw.Tensor(np.ones(2, np.int32)) + 2**40,
    ):
        with pytest.raises(OverflowError, match="does not fit into its dtype"):
            f()
    assert (kw.Tensor(np.array([0])) + (2**53 + 1)).item() == 2**53 + 1
    x = kw.Tensor(np.ones(2, np.float32))
    assert kw.ops.select(x > 0, x, 0.0).numpy_dtype == np.float32
    assert (x * np.float64(2)).numpy_dtype == np.float64


def test_powers_of_zero() -> None:
    assert kw.grad(lambda x: x**0.0)(np.zeros(1)).tolist() == [0]
    slope = kw.grad(lambda x: x**1.0)
    assert kw.grad(lambda x: slope(x))(np.zeros(1)).tolist() == [0]


def test_leaving_for_numpy_is_refused() -> None:
    def stored(x: Any, write: Any) -> Any:
        w = ms.Tensor(np.zeros(2))
        write(w, x)
        return w * x

    for f in (
        lambda x: np.asarray(x) * x,
        lambda x: float(x[0]) * x,
        lambda x: copy.copy(x) * x,
        lambda x: copy.deepcopy(x) * x,
        lambda x: pickle.loads(pickle.dumps(x)) * x,
        lambda x: kw.Tensor(x) * x,
        lambda x: ms.Tensor(x) * x,
        lambda x: stored(x, lambda w, x: w.__setitem__(0, x[0])),
        lambda x: stored(x, lambda w, x: w.add_(x)),
    ):
        with pytest.raises(TypeError, match="a tensor that gradients go through cannot become an array"):
            kw.grad(f)(np.ones(2))
    with pytest.raises(TypeError, match="argument 0 is of dtype int64; gradients are by floats"):
        kw.grad(lambda x: x / 2)(np.array([1, 2]))


def test_operators_may_go_while_others_are_used() -> None:
    inner = ops.Custom(lambda d: d * 2, lambda d: d, lambda d: d, "pyfunc")
    inner(ms.Tensor([1.0]))
    held = [inner]
    del inner
    kw.register_op("memory::holds", lambda x: x * 1, bprop=lambda x, o, d, held=held: (held[0](d),))
    del held
    kw.remove_op("memory::holds")  # the last reference to `inner`, which removes an operator too


def test_first_calls_by_many_threads() -> None:
    op = ops.Custom(lambda x: x * 2, lambda s: s, lambda t: t, "pyfunc")
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(op(ms.Tensor([1.0])).item())) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [2.0] * 8


def test_parameters_are_what_they_were_after_errors() -> None:
    p = ms.Parameter(ms.Tensor([1.0]))
    for weights in ([p, "no"], [p]):
        with pytest.raises((TypeError, KeyError)):
            ms.grad(lambda x: {}["none"], None, weights)(ms.Tensor([1.0]))
        assert not p._is_tracked
    assert [g.item() for g in ms.grad(lambda x: x * p, None, [p, p])(ms.Tensor([3.0]))] == [3, 3]
    assert not p._is_tracked

    def updates(x: Any) -> Any:
        y = x * p
        p.set_data(ms.Tensor([7.0]))
        return y

    ms.grad(updates, None, p)(ms.Tensor([3.0]))
    assert p.item() == 7


def test_built_in_operators_stay() -> None:
    with pytest.raises(ValueError, match="'kw::add' is built in"):
        kw.remove_op("kw::add")
    with pytest.raises(ValueError, match="the namespace kw is that of the built-in operators"):
        kw.register_op("kw::mine", lambda x: x)


def test_bad_values_are_errors() -> None:
    nested: list[Any] = []
    nested.append(nested)
    x = np.ones((1, 1, 2, 2), np.float32)
    for f, kind, text in (
        (lambda: kw.ops.reshape(x, nested), ValueError, "'shape' is nested too deeply"),
        (lambda: kw.ops.conv2d_by_x(x, x, 1, 0, 1, 1, [1]), ValueError, "'shape' must have 4 extents"),
        (lambda: kw.ops.conv2d(x, x, 1, 2**62), ValueError, "'pad' must be one or two numbers from 0 to"),
        (lambda: kw.Tensor(np.zeros((1,) * 9)), ValueError, "a tensor of 9 dimensions"),
        (
            lambda: kw.register_op("memory::x", lambda x: x, bprop=3),
            TypeError,
            "bprop of operator 'memory::x' is int",
        ),
        (lambda: kw.Tensor(x)[True], TypeError, "an index of a tensor is bool"),
    ):
        with pytest.raises(kind, match=text):
            f()
    assert kw.ops.sum(np.array([200, 100], np.uint8)).item() == 300
    assert kw.Tensor(np.arange(3))[np.array([2, 0])].numpy().tolist() == [2, 0]


def test_copies_and_pickles() -> None:
    t = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
    for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert type(other) is ms.Parameter and other.name == "w" and other.asnumpy().tolist() == [1, 2]
        other.asnumpy()[0] = 9
    assert t.asnumpy().tolist() == [1, 2]


def test_what_calls_refuse(registered: Any, double: Any) -> None:
    def told(function: Any) -> str:
        with pytest.raises((TypeError, ValueError)) as e:
            function()
        return f"{type(e.value).__name__}: {e.value}"

    misaligned = np.ndarray((3,), np.float64, bytearray(25), 1)
    assert told(lambda: double(misaligned)) == (
        "ValueError: input 'x' of memory::double is written, but its elements do not lie at multiples of"
        " their size: pass an aligned array"
    )
    op = registered(lambda x, w: x, attrs=("w",))
    for value, article in ((np.ones(2), "a numpy.ndarray"), (kw.Tensor(np.ones(2)), "a Tensor")):
        assert told(lambda value=value: op(np.ones(2), value)) == (
            f"TypeError: attribute 'w' is {article}, but must be None, a number, text, a dtype or a list of"
            " them"
        )
    for argnums in ("x", ()):
        assert told(lambda argnums=argnums: kw.grad(lambda x: x, argnums)(np.ones(1))) == (
            f"TypeError: argnums is {argnums!r}, but must be the position of an argument, or several"
        )
    assert told(kw.vjp(lambda x: x, np.ones(1))[1]) == (
        "TypeError: 0 gradients for 1 output: give one for each, or None for ones"
    )
    assert kw.grad(lambda x: x * x)(np.float64(0.1)).dtype == np.float64
