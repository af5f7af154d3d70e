"""MindSpore's ways to ask for gradients, and bprop functions by its convention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from custom_cases import first

import kernelwright.mindspore as ms
from kernelwright.mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from kernelwright.mindspore.ops.composite.multitype_ops.zeros_like_impl import zeros_like

x = np.array([1, 4, 9], np.float32)


def square(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * a[i]
    return c


def square_grad(a, dout):
    d = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        d[i] = 2.0 * a[i] * dout[i]
    return d


back = ops.Custom(square_grad, first, first, "akg")
op = ops.Custom(square, first, first, "akg", bprop=lambda a, out, dout: (back(a, dout),))


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.op = op

    def construct(self, a: Any) -> Any:
        return self.op(a)


def values(t: Any) -> Any:
    return t.asnumpy().tolist()


def test_every_way_to_ask() -> None:
    t, sens = Tensor(x), Tensor(np.array([1, 2, 3], np.float32))
    assert str(ms.grad(Net())(t)) == "[ 2.  8. 18.]"
    assert values(ops.grad(op)(t)) == [2, 8, 18]
    assert values(ops.GradOperation()(Net())(t)) == [2, 8, 18]
    assert values(ops.GradOperation()(op)(t)) == [2, 8, 18]
    assert values(ops.GradOperation(sens_param=True)(Net())(t, sens)) == [2, 16, 54]
    (both,) = ops.GradOperation(get_all=True)(Net())(t)
    assert values(both) == [2, 8, 18]
    out, gradient = ms.value_and_grad(Net())(t)
    assert values(out) == [1, 16, 81] and values(gradient) == [2, 8, 18]
    out, pull = ops.functional.vjp(Net(), t)
    assert values(pull(sens)[0]) == [2, 16, 54]


def test_operators_compose() -> None:
    assert values(ms.grad(lambda t: op(op(t)))(Tensor(x))) == [4, 256, 2916]
    assert values(ms.grad(lambda t: (op(t) * t + 3.0) / 2.0)(Tensor(x))) == (1.5 * x * x).tolist()


def test_positions_and_weights() -> None:
    f = lambda a, b: a * b + b  # noqa: E731
    a, b = Tensor(x), Tensor(x + 1)
    assert values(ms.grad(f, 1)(a, b)) == (x + 1).tolist()
    by_a, by_b = ms.grad(f, (0, 1))(a, b)
    assert values(by_a) == (x + 1).tolist() and values(by_b) == (x + 1).tolist()
    assert ms.grad(f, (0, 1), return_ids=True)(a, b)[1][0] == 1
    gradient, aux = ms.grad(lambda t: (t * t, t + 1), has_aux=True)(a)
    assert values(gradient) == (2 * x).tolist() and values(aux[0]) == (x + 1).tolist()
    with pytest.raises(RuntimeError, match=r"Position index 1 is exceed input size."):
        ms.grad(Net(), 1)(a)
    with pytest.raises(TypeError, match=r"For 'F.grad', the 'grad_position' must be int or tuple."):
        ms.grad(Net(), "x")
    with pytest.raises(ValueError, match=r"`grad_position` and `weight` can not be None at the same time."):
        ms.grad(Net(), None)
    with pytest.raises(ValueError, match=r"When has_aux is True, origin fn requires more than one outputs."):
        ms.grad(Net(), has_aux=True)(a)


class Affine(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(np.array([2.0, 3.0, 4.0], np.float32)), name="w")
        self.bias = Parameter(1.0, name="b")

    def construct(self, t: Any) -> Any:
        return t * self.weight + self.bias


def test_gradients_by_parameters() -> None:
    net, t = Affine(), Tensor(x)
    weights = ParameterTuple(net.trainable_params())
    assert [p.name for p in weights] == ["w", "b"]
    by_weight, by_bias = ops.GradOperation(get_by_list=True)(net, weights)(t)
    assert values(by_weight) == x.tolist() and float(by_bias) == 3
    inputs, of_weights = ops.GradOperation(get_all=True, get_by_list=True)(net, weights)(t)
    assert values(inputs[0]) == [2, 3, 4] and values(of_weights[0]) == x.tolist()
    out, (by_input, by_list) = ms.value_and_grad(net, 0, weights)(t)
    assert values(out) == [3, 13, 37] and values(by_input) == [2, 3, 4] and values(by_list[0]) == x.tolist()
    assert values(ms.grad(net, None, net.weight)(t)) == x.tolist()
    assert values(net(t)) == [3, 13, 37] and not net.weight._is_tracked


def test_nested_cells() -> None:
    class Outer(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Affine()
            self.net = Net()

        def construct(self, t: Any) -> Any:
            return self.net(self.inner(t))

    outer = Outer()
    assert [n for n, _ in outer.parameters_and_names()] == ["inner.weight", "inner.bias"]
    expected = 2 * (x * [2, 3, 4] + 1) * [2, 3, 4]
    assert values(ms.grad(outer)(Tensor(x))) == expected.tolist()


def test_several_outputs() -> None:
    def both(a, b):
        c = output_tensor(a.shape, a.dtype)
        d = output_tensor(a.shape, a.dtype)
        for p in grid(a.shape):
            c[p] = a[p] + b[p]
            d[p] = a[p] * b[p]
        return c, d

    def bprop(a: Any, b: Any, out: Any, dout: Any) -> Any:
        assert isinstance(out, tuple) and isinstance(dout, tuple)
        return dout[0] + dout[1] * b, dout[0] + dout[1] * a

    made = ops.Custom(both, lambda s, _: (s, s), lambda t, _: (t, t), "akg", bprop=bprop)
    a, b = Tensor(x), Tensor(x + 1)
    f = lambda a, b: made(a, b)[1] + b * made(a, b)[0]  # noqa: E731
    by_a, by_b = ms.grad(f, (0, 1))(a, b)
    assert values(by_a) == (2 * (x + 1)).tolist()
    assert values(by_b) == (2 * x + 2 * (x + 1)).tolist()
    assert values(ms.grad(lambda a, b: made(a, b)[1])(a, b)) == (x + 1).tolist()  # the unused output: zeros


def test_second_order_through_a_bprop() -> None:
    cube = ops.Custom(
        lambda a: a**3, first, first, "pyfunc", bprop=lambda a, out, dout: (dout * 3.0 * a * a,)
    )
    slope = ms.grad(lambda t: cube(t))
    assert values(ms.grad(lambda t: slope(t))(Tensor(x))) == (6 * x).tolist()


def test_tuples_of_tensors() -> None:
    def f(a: Any, pair: Any) -> Any:
        return a + pair[0] * pair[1]

    made = ops.Custom(
        f, first, first, "pyfunc", bprop=lambda a, p, out, dout: (dout, (dout * p[1], dout * p[0]))
    )
    t = Tensor(x)
    assert values(made(t, (t, t))) == (x + x * x).tolist()
    assert values(ms.grad(lambda a: made(t, (a, a)))(t)) == (2 * x).tolist()


def test_none_counts_as_zeros() -> None:
    made = ops.Custom(lambda a, b: a + b, first, first, "pyfunc", bprop=lambda a, b, out, dout: (None, dout))
    by_a, by_b = ms.grad(lambda a, b: made(a, b), (0, 1))(Tensor(x), Tensor(x))
    assert values(by_a) == [0, 0, 0] and values(by_b) == [1, 1, 1]


def test_an_array_may_be_a_gradient() -> None:
    double = ops.Custom(lambda a: a * 2, first, first, "pyfunc", lambda a, out, dout: (2 * dout.asnumpy(),))
    for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
        ms.set_context(mode=mode)
        assert values(ms.grad(lambda t: double(t) * t)(Tensor(x))) == (4 * x).tolist()


@pytest.mark.parametrize(
    "bprop, text",
    [
        (lambda a, b, out, dout: (dout,), "input arguments except 'out' and 'dout', which is: 2, but got:1."),
        (
            lambda a, b, out, dout: dout,
            "input arguments except 'out' and 'dout', which is: 2, but got:Tensor.",
        ),
        (
            lambda a, b, out, dout: (dout.sum(), dout),
            r"returns float32\[\] for the input 'a', which is float32\[3\]",
        ),
        (lambda a, b, out, dout: (dout.astype(ms.float64), dout), r"returns float64\[3\] for the input 'a'"),
        (lambda a, b, out, dout: (1.5, dout), "is a float, but must be a tensor"),
        (
            lambda out, dout: (dout, dout),
            r": 'bprop' takes \(out, dout\), but is called with 2 inputs, the output and its gradient",
        ),
    ],
)
def test_wrong_bprops(bprop: Any, text: str) -> None:
    made = ops.Custom(lambda a, b: a + b, first, first, "pyfunc", bprop=bprop)
    with pytest.raises((TypeError, RuntimeError), match=text):
        ms.grad(lambda a: made(a, a))(Tensor(x))


def test_operators_without_a_gradient_say_so() -> None:
    made = ops.Custom(lambda a: a * 2, first, first, "pyfunc")
    with pytest.raises(
        RuntimeError, match=r"custom::.*test_grad\.py:\d+\) was asked for, but none was given"
    ):
        ms.grad(lambda t: made(t))(Tensor(x))
    with pytest.raises(KeyError, match="user boom"):

        def fails(a: Any, out: Any, dout: Any) -> Any:
            raise KeyError("user boom")

        made = ops.Custom(lambda a: a * 2, first, first, "pyfunc", bprop=fails)
        ms.grad(lambda t: made(t))(Tensor(x))


def test_a_cell_may_have_its_own_bprop() -> None:
    class Own(nn.Cell):
        def construct(self, a: Any, b: Any) -> Any:
            return a * b

        def bprop(self, a: Any, b: Any, out: Any, dout: Any) -> Any:
            return dout * 10, out

    t = Tensor(x)
    by_a, by_b = ms.grad(Own(), (0, 1))(t, t)
    assert values(by_a) == [10, 10, 10] and values(by_b) == (x * x).tolist()

    class Wrong(Own):
        def bprop(self, a: Any, b: Any, out: Any, dout: Any) -> Any:
            return (dout,)

    with pytest.raises(TypeError, match=r"'bprop' of net 'Wrong', .* which is: 2, but got:1."):
        ms.grad(Wrong())(t, t)


def test_zeros_like_of_anything() -> None:
    assert values(zeros_like(Tensor(x))) == [0, 0, 0]
    assert zeros_like((2, 3.5)) == (0, 0.0)


def test_a_step_of_learning() -> None:
    ms_net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 2))
    loss = nn.CrossEntropyLoss()
    data, labels = (
        Tensor(np.random.default_rng(1).normal(size=(8, 3)).astype(np.float32)),
        Tensor(np.arange(8) % 2),
    )

    def forward(t: Any) -> Any:
        return loss(ms_net(t), labels)

    weights = ms_net.trainable_params()
    step = ms.value_and_grad(forward, None, ParameterTuple(weights))
    before, found = step(data)
    for w, g in zip(weights, found, strict=True):
        w.set_data(w - g * 0.1)
    assert float(step(data)[0]) < float(before)


def test_cells_with_their_own_bprop_in_every_form() -> None:
    class Pair(nn.Cell):
        def construct(self, pair: Any, k: float = 1.0) -> Any:
            return pair[0] * pair[1] * k

        def bprop(self, pair: Any, k: float, out: Any, dout: Any) -> Any:
            return (pair[1] * dout * k, pair[0] * dout * k), None

    a, b = Tensor(x), Tensor(x + 1)
    by_a, by_b = ms.grad(lambda a, b: Pair()((a, b)), (0, 1))(a, b)
    assert values(by_a) == (x + 1).tolist() and values(by_b) == x.tolist()
    assert values(ms.grad(lambda a: Pair()((a, b), k=2.0))(a)) == (2 * (x + 1)).tolist()

    class One(nn.Cell):
        def construct(self, a: Any) -> Any:
            return (a * 2,)

        def bprop(self, a: Any, out: Any, dout: Any) -> Any:
            assert isinstance(out, tuple) and isinstance(dout, tuple)
            return dout[0] * 7

    assert values(ms.grad(lambda a: One()(a)[0])(a)) == [7, 7, 7]

    class Held(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor(x), name="w")

        def construct(self, a: Any) -> Any:
            return a * self.w

        def bprop(self, a: Any, out: Any, dout: Any) -> Any:
            return (dout * self.w,)

    net = Held()
    assert values(ms.grad(net)(a)) == x.tolist()
    with pytest.raises(RuntimeError, match="the gradient by the parameter 'w' was asked for"):
        ms.grad(net, None, net.w)(a)


def test_long_chains_of_python_bprops_end_well() -> None:
    class Same(nn.Cell):
        def construct(self, a: Any) -> Any:
            return a * 1

        def bprop(self, a: Any, out: Any, dout: Any) -> Any:
            return (dout,)

    same = Same()

    def f(t: Any) -> Any:
        for _ in range(10_000):
            t = same(t)
        return t

    assert values(ms.grad(f)(Tensor(x))) == [1, 1, 1]


def test_vjp_runs_once() -> None:
    calls = []

    def f(t: Any) -> Any:
        calls.append(1)
        return t * 3

    _, pull = ops.vjp(f, Tensor(x))
    assert values(pull(Tensor(x))[0]) == (3 * x).tolist() and len(calls) == 1
    with pytest.raises(TypeError, match="none of the inputs is a Tensor"):
        ops.GradOperation()(f)(3)
    with pytest.raises(TypeError) as e:
        ops.GradOperation(sens_param=True)(f)(Tensor(x))
    assert str(e.value) == (
        "For 'GradOperation', none of the inputs before the last argument, which is 'sens' (sens_param=True),"
        " is a Tensor"
    )


def test_parameters_are_named_by_their_place() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scale = Parameter(Tensor(x))
            self.layers = nn.SequentialCell(nn.Dense(3, 2, has_bias=False), nn.ReLU())
            self.layer = nn.Dense(2, 2)

    names = ["scale", "layers.0.weight", "layer.weight", "layer.bias"]
    assert [p.name for p in Net().trainable_params()] == names
