"""Operators of one's own: registration, inspection, gradients by bprop, errors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright.operators import kernel_row, make_operator


@pytest.fixture(autouse=True)
def registry_as_before() -> Iterator[None]:
    before = set(kw.ops.list())
    yield
    for name in set(kw.ops.list()) - before:
        kw.remove_op(name)


@kw.kernel
def scale(x, k):
    y = output_tensor(x.shape, x.dtype)
    for p in grid(x.shape):
        y[p] = x[p] * k
    return y


@kw.kernel
def shift(x, y):
    for p in grid(x.shape):
        x[p] = x[p] + y[p]
    return x


@kw.kernel
def sum_and_product(x, y):
    s = output_tensor(x.shape, x.dtype)
    t = output_tensor(x.shape, x.dtype)
    for p in grid(x.shape):
        s[p] = x[p] + y[p]
        t[p] = x[p] * y[p]
    return s, t


def test_a_kernel_becomes_an_operator() -> None:
    op = kw.register_op("test::scale", scale, attrs={"k": 2.0}, bprop=lambda x, k, out, dout: (dout * k,))
    x = np.array([1, 2], np.float32)
    assert isinstance(op(x), kw.Tensor)
    assert op(x).numpy().tolist() == [2, 4]
    assert op(kw.Tensor(x), k=3).numpy().tolist() == [3, 6]
    assert kw.ops.get("test::scale")(x, 0.5).numpy().tolist() == [0.5, 1]
    assert kw.grad(lambda t: op(op(t), k=5))(x).tolist() == [10, 10]
    line = inspect_line(scale)
    assert kw.ops.show("test::scale") == (
        "test::scale(x, k: float = 2.0) -> output\n"
        f"  defined at {__file__}:{line}\n"
        f"  kernel JitLoop on any device, from {__file__}:{line}\n"
        f"  gradient py_bprop, from {__file__}:{line}"
    )


def inspect_line(kernel: Any) -> int:
    return int(kernel.__wrapped__.__code__.co_firstlineno)


def test_several_outputs_come_as_tuples() -> None:
    def bprop(x: Any, y: Any, out: Any, dout: Any) -> Any:
        assert isinstance(out, tuple) and out[1].numpy().tolist() == (x * y).numpy().tolist()
        return dout[0] + dout[1] * y, dout[0] + dout[1] * x

    op = kw.register_op("test::both", sum_and_product, outputs=("s", "t"), bprop=bprop)
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    s, t = op(x, y)
    assert s.numpy().tolist() == [4, 7] and t.numpy().tolist() == [3, 10]
    assert kw.grad(lambda a, b: op(a, b)[1])(x, y).tolist() == [3, 5]  # zeros for the unused output
    assert kw.grad(lambda a, b: op(a, b), 1)(x, y).tolist() == [2, 3]


def test_second_order_goes_through_a_bprop() -> None:
    op = kw.register_op(
        "test::cube",
        lambda x: x * x * x,
        bprop=lambda x, out, dout: (dout * 3 * x * x,),
    )
    slope = kw.grad(lambda t: op(t))
    assert kw.grad(lambda t: slope(t))(np.array([2.0])).tolist() == [12]


def test_an_operator_that_writes_its_input() -> None:
    op = kw.register_op("test::shift", shift, writes=("x",), bprop=lambda x, y, out, dout: (dout, dout))
    x = kw.Tensor(np.array([1.0, 2.0]))
    assert op(x, np.ones(2)) is x
    assert x.numpy().tolist() == [2, 3]
    with pytest.raises(RuntimeError, match=r"test::shift .* its kernel writes the input 'x' in place"):
        kw.grad(lambda t: op(t, np.ones(2)))(np.zeros(2))


def test_errors_that_the_registration_explains() -> None:
    """A number given for an input, and an input that its kernel writes: the error says what to declare."""
    plain = kw.register_op("test::undeclared", scale)
    with pytest.raises(kw.KernelTypeError, match="the tensor 'k' is used as a number") as e:
        plain(np.ones(2), 3.0)
    assert e.value.__notes__[1:] == [  # type: ignore[attr-defined]
        "operator 'test::undeclared' takes 'k' as a tensor: numbers are attributes, which attrs= of"
        " register_op names"
    ]
    writes = kw.register_op("test::unwritten", shift)
    for _ in range(2):
        with pytest.raises(kw.KernelValueError, match="argument 'x' of kernel 'shift' is written") as e:
            writes(np.ones(2), np.ones(1))
        assert e.value.__notes__[1:] == [  # type: ignore[attr-defined]
            "operator 'test::unwritten' writes the inputs that writes= of register_op names: none"
        ]


def test_memory_written_after_the_call_is_refused() -> None:
    op = kw.register_op("test::shift", shift, writes=("x",))

    def f(t: Any) -> Any:
        square = t * t
        op(t, np.ones(1))
        return square

    with pytest.raises(RuntimeError, match=r"kw::mul .* cannot be computed: the input 'x' was written after"):
        kw.grad(f)(np.zeros(1))


def test_resolution_by_dtypes() -> None:
    op = kw.register_op(
        "test::typed", scale, attrs={"k": 2}, dtypes=[("float32", "float32"), ("int32", None)]
    )
    assert op(np.ones(1, np.int32)).numpy_dtype == np.int32
    with pytest.raises(TypeError) as e:
        op(np.ones(1))
    line = inspect_line(scale)
    assert str(e.value) == (
        "no kernel of test::typed runs typed(float64[1], k=2):\n"
        f"  JitLoop ({__file__}:{line}) takes the dtypes (float32, float32) or (int32, any)"
    )


def test_a_predicate_chooses() -> None:
    def is_square(x: Any) -> bool:
        """a square matrix"""
        return bool(x.shape[0] == x.shape[1])

    rows = [
        kernel_row(lambda x: x * 0 + 1, when=is_square, priority=1, source="one"),
        kernel_row(lambda x: x * 0 + 2, source="two"),
    ]
    op = make_operator("test::chosen", rows, inputs=[("x", "required", False)], outputs=["y"])
    assert op(np.zeros((2, 2))).numpy()[0, 0] == 1
    assert op(np.zeros((2, 3))).numpy()[0, 0] == 2
    assert "kernel PyFunc on CPU, needs a square matrix, priority 1, from one" in kw.ops.show("test::chosen")


def test_several_kernels_of_one_operator() -> None:
    def is_long(x: Any, k: Any) -> bool:
        """3 elements or more"""
        return bool(x.size >= 3)

    def by_hand(x: Any, k: Any) -> Any:
        return x * 0 + 7

    rows = [scale, kw.kernel_row(by_hand, when=is_long, priority=1)]
    op = kw.register_op("test::several", rows, attrs={"k": 2.0}, bprop=lambda x, k, out, dout: (dout * k,))
    assert op(np.ones(2)).numpy().tolist() == [2, 2]
    assert op(np.ones(3)).numpy().tolist() == [7, 7, 7]
    assert kw.grad(lambda t: op(t).sum())(np.ones(3)).tolist() == [2, 2, 2]
    assert "needs 3 elements or more, priority 1" in kw.ops.show("test::several")
    with pytest.raises(ValueError) as e:
        kw.register_op("test::unlike", [scale, lambda x: x], attrs=("k",))
    assert str(e.value) == (
        "register_op('test::unlike'): the kernels take (x, k) and (x), but must have the same parameters"
    )
    with pytest.raises(ValueError, match=r"^register_op\('test::no_kernel'\): there is no kernel$"):
        kw.register_op("test::no_kernel", [])
    with pytest.raises(RuntimeError, match="equally well"):
        tied = kw.register_op("test::tied", [lambda x: x, lambda x: x * 2])
        tied(np.ones(2))


def test_inference_is_checked() -> None:
    op = kw.register_op("test::wrong", lambda x: x, infer=lambda x: [("float64", (x[1][0] + 1,))])
    with pytest.raises(RuntimeError, match=r"makes float64\[2\] as output 0, but float64\[3\] was inferred"):
        op(np.ones(2))

    def fails(x: Any) -> Any:
        raise KeyError("user boom")

    op = kw.register_op("test::fails", lambda x: x, infer=fails)
    with pytest.raises(KeyError, match="user boom"):
        op(np.ones(2))


def test_errors_of_python_kernels_pass_through() -> None:
    def broken(x: Any) -> Any:
        raise KeyError("user boom")

    op = kw.register_op("test::broken", broken)
    with pytest.raises(KeyError, match="user boom"):
        op(np.ones(2))
    op = kw.register_op("test::text", lambda x: "text")
    with pytest.raises(
        TypeError, match="a result of the kernel of test::text is a str, but must be a tensor"
    ):
        op(np.ones(2))


@pytest.mark.parametrize(
    "bprop, text",
    [
        (
            lambda x, k, out, dout: dout,
            "must return a tuple of one gradient per input, but returned a Tensor",
        ),
        (lambda x, k, out, dout: (dout,) * 3, "returned 3 gradients, but has 1 input and 1 attribute"),
        (
            lambda x, k, out, dout: (dout.sum(),),
            r"returns float64\[\] for the input 'x', which is float64\[2\]",
        ),
        (
            lambda x, k, out, dout: ("a",),
            "the gradient for input 'x' that the bprop of test::scale .* is a str",
        ),
    ],
)
def test_wrong_bprops_are_named(bprop: Any, text: str) -> None:
    op = kw.register_op("test::scale", scale, attrs={"k": 2.0}, bprop=bprop)
    with pytest.raises((TypeError, RuntimeError), match=text):
        kw.grad(lambda t: op(t))(np.ones(2))
    assert kw.register_op("test::none", scale, attrs={"k": 1.0}, bprop=lambda x, k, out, dout: (None,))


def test_an_operator_without_a_gradient_says_so() -> None:
    op = kw.register_op("test::plain", scale, attrs={"k": 2.0})
    where = f"{__file__}:{inspect_line(scale)}"
    with pytest.raises(RuntimeError) as e:
        kw.grad(lambda t: op(t))(np.ones(2))
    assert str(e.value) == (
        f"the gradient of test::plain ({where}) was asked for, but none was given when it was made:"
        " `bprop=` gives one"
    )


def test_faults_of_a_registration() -> None:
    with pytest.raises(ValueError, match=r"'wrong' .*: a name is written namespace::name"):
        kw.register_op("wrong", scale, attrs=("k",))
    kw.register_op("test::scale", scale, attrs=("k",))
    with pytest.raises(ValueError, match=r"operator 'test::scale' \(.*\) is registered already \(.*\)"):
        kw.register_op("test::scale", scale, attrs=("k",))
    with pytest.raises(ValueError, match="the kernel has no parameter z"):
        kw.register_op("test::z", scale, attrs=("z",))
    with pytest.raises(ValueError, match=r"the kernel has the parameter \*rest"):
        kw.register_op("test::z", lambda *rest: rest)
    with pytest.raises(ValueError, match="attributes come behind the inputs"):
        kw.register_op("test::z", lambda k, x: x, attrs=("k",))
    with pytest.raises(TypeError, match="attribute 'k' of test::scale is missing"):
        kw.ops.get("test::scale")(np.ones(1))
    with pytest.raises(ValueError, match="there is no operator 'test::scalf'; did you mean 'test::scale'"):
        kw.ops.get("test::scalf")
    with pytest.raises(AttributeError, match="there is no operator 'kw::softmacks'"):
        _ = kw.ops.softmacks
    with pytest.raises(AttributeError, match="there is no operator 'kw::scale'; did you mean 'test::scale'"):
        _ = kw.ops.scale
    kw.remove_op("test::scale")
    with pytest.raises(ValueError, match="there is no operator 'test::scale'"):
        kw.remove_op("test::scale")


def test_the_command_lists_and_tells() -> None:
    def run(*arguments: str) -> Any:
        return subprocess.run(
            [sys.executable, "-m", "kernelwright", "ops", *arguments], capture_output=True, text=True
        )

    assert "kw::softmax\n" in run().stdout
    told = run("kw::concat").stdout
    assert told.startswith("kw::concat(values..., axis: int = 0) -> output\n")
    wrong = run("kw::concate")
    assert wrong.returncode == 1 and "did you mean 'kw::concat'?" in wrong.stderr


def test_results_are_tensors_whatever_was_imported_before() -> None:
    program = "import numpy as np, kernelwright as kw; print(type(kw.ops.exp(np.ones(2))) is kw.Tensor)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_outputs_are_counted() -> None:
    one = kw.register_op("test::one", sum_and_product)
    two = kw.register_op("test::two", scale, attrs=("k",), outputs=("p", "q"))
    x = np.ones(2, np.float32)
    place = r"JitLoop \(.*test_registration\.py:\d+\)"
    with pytest.raises(RuntimeError, match=f"^{place} of test::one makes 2 outputs, but 1 is declared"):
        one(x, x)
    with pytest.raises(RuntimeError, match=f"^{place} of test::two makes 1 output, but 2 are declared"):
        two(x, 2.0)
    with pytest.raises(ValueError, match="'p' is declared twice"):
        kw.register_op("test::three", sum_and_product, outputs=("p", "p"))


def test_a_bprop_of_other_parameters() -> None:
    with pytest.raises(TypeError) as e:
        kw.register_op("test::scale", scale, bprop=lambda out, dout: (dout,))
    assert str(e.value) == (
        "register_op('test::scale'): 'bprop' takes (out, dout), but is called with 2 inputs, the output and"
        " its gradient"
    )
    assert "test::scale" not in kw.ops.list()


def test_names_without_a_namespace_are_built_in() -> None:
    assert kw.ops.show("softmax") == kw.ops.show("kw::softmax")
    with pytest.raises(ValueError, match="softmax"):
        kw.ops.get("softmx")
