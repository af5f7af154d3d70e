"""Wrong descriptions and wrong calls of `ops.Custom`, and what is said of each, word for word."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from custom_cases import first, scaled

import kernelwright as kw
import kernelwright.mindspore as ms
from kernelwright.mindspore import Tensor, nn, ops
from kernelwright.mindspore.ops import CustomRegOp, DataType

x = np.arange(1, 5, dtype=np.float32)


def same(a):
    c = output_tensor(a.shape, a.dtype)
    for p in grid(a.shape):
        c[p] = a[p]
    return c


def info(*rows: Any, outputs: int = 1) -> Any:
    made = CustomRegOp("Op").input(0, "a")
    for n in range(outputs):
        made = made.output(n, f"y{n}")
    for row in rows:
        made = made.dtype_format(*row)
    return made.target("CPU").get_op_info()


def said(call: Any, kind: type[Exception]) -> str:
    with pytest.raises(kind) as e:
        call()
    assert type(e.value) is kind
    return str(e.value)


def prefix(kind: str, func: Any) -> str:
    return f"For 'Custom', 'func_type': {kind}, 'func': {func}"


class Called:
    def __call__(self, a: Any) -> Any:
        return a


called = Called()
constructors: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
    (TypeError, "'func' must be a function decorated by kernel", (called, first, first, "hybrid")),
    (TypeError, "'func' must be of type str, but got <class 'int'>", (3, first, first, "aot")),
    (TypeError, "'func' must be of type str, but got <class 'function'>", (same, first, first, "julia")),
    (TypeError, "'bprop' must be a function, but got <class 'bool'>", (same, first, first, "akg", True)),
    (
        ValueError,
        "target set in registration information must be one of ['Ascend', 'GPU', 'CPU'], but got TPU",
        (same, first, first, "akg", None, CustomRegOp("t").target("TPU").get_op_info()),
    ),
    (
        TypeError,
        "'out_shape' must be one of [tuple, list, function], but got <class 'str'>",
        (same, "3", ms.float32, "pyfunc"),
    ),
    *(
        (
            TypeError,
            f"'out_dtype' must be one of [mindspore.dtype, tuple, list, function], but got {type(wrong)}",
            (same, (4,), declared, "pyfunc"),
        )
        for wrong, declared in ((None, None), (3, 3), ("", ("float32",)), (3, (ms.int32, 3)))
    ),
]


@pytest.mark.parametrize("kind, text, arguments", constructors)
def test_constructors(kind: type[Exception], text: str, arguments: tuple[Any, ...]) -> None:
    assert said(lambda: ops.Custom(*arguments), kind) == f"{prefix(arguments[3], arguments[0])}, {text}"


def test_no_function() -> None:
    text = "For 'Custom', 'func' must be of type function or str, but got <class 'NoneType'>"
    for kind in ("pyfunc", "akg"):
        assert said(lambda k=kind: ops.Custom(None, first, first, k), TypeError) == text
        told = f"For 'Custom', 'func' of func_type '{kind}' must be a function, but got a str"
        assert said(lambda k=kind: ops.Custom("x", first, first, k), TypeError) == told


@pytest.mark.parametrize(
    "shape, dtype, text",
    [
        (
            lambda s: 3,
            ms.float32,
            ", 'out_shape' must be one of [tuple, list, function], but got <class 'int'>",
        ),
        (
            lambda s: None,
            ms.float32,
            ", 'out_shape' must be one of [tuple, list, function], but got <class 'NoneType'>",
        ),
        (
            (4,),
            lambda t: "float32",
            ", 'out_dtype' must be one of [mindspore.dtype, tuple, list, function], but got <class 'str'>",
        ),
        (
            (4,),
            lambda t: None,
            ", 'out_dtype' must be one of [mindspore.dtype, tuple, list, function], but got"
            " <class 'NoneType'>",
        ),
        (
            (4,),
            (ms.float32,),
            ": 'out_dtype' is a tuple of 1, so 'out_shape' must be as many shapes, but is (4,)",
        ),
        ((-1,), ms.float32, ": 'out_shape' holds (-1,), but must hold shapes of extents >= 0"),
    ],
)
def test_what_is_inferred(shape: Any, dtype: Any, text: str) -> None:
    def run(a: Any) -> Any:
        return a

    op = ops.Custom(run, shape, dtype, "pyfunc")
    assert said(lambda: op(Tensor(x)), TypeError) == prefix("pyfunc", run) + text


def test_a_type_function_that_raises_and_a_function_without_types() -> None:
    def run(a: Any) -> Any:
        return a.astype(np.int32)

    op = ops.Custom(run, lambda s, k: s, first, "pyfunc")
    text = said(lambda: op(Tensor(x)), RuntimeError)
    assert re.fullmatch(
        re.escape(prefix("pyfunc", run)) + r": 'out_shape' raised TypeError: .*missing 1 required .*'k'", text
    )
    assert ops.Custom(run, (4,), (), "pyfunc")(Tensor(x)).dtype == ms.int32  # nothing said of the type


@pytest.mark.parametrize(
    "wrong, text",
    [
        ("not json", "'not json' is no JSON text: Expecting value: line 1 column 1 (char 0)"),
        (
            {"target": "CPU", "dtype_format": [3]},
            "dtype_format is [3], but must be a list of rows",
        ),
        ({"target": "CPU", "inputs": 3}, "inputs is 3, but must be a list of dicts"),
        ({"target": "CPU", "attr": [{"value": 3}]}, "the attribute {'value': 3} has no name"),
        (
            {"target": "CPU", "inputs": [{}], "outputs": [{}], "dtype_format": [(("float32", ""),)]},
            "the row (('float32', ''),) of dtype_format does not hold a (dtype, format) per input and output",
        ),
        (
            CustomRegOp("t").attr("k", "required", "strange").target("CPU").get_op_info(),
            "Unsupported attr type: strange",
        ),
        (
            CustomRegOp("t").attr("k", "required", "int", default_value="abc").target("CPU").get_op_info(),
            "Parse attr [k] of op [t] failed! 'abc' is no value of the type int",
        ),
        (
            CustomRegOp("t").attr("k", "required", "listBool", "true,2").target("CPU").get_op_info(),
            "Parse attr [k] of op [t] failed! 'true,2' is no value of the type listBool",
        ),
        (
            {"target": "CPU", "attr": [{"name": "k", "type": "float", "defaultValue": "x"}]},
            "Parse attr [k] of op [Custom] failed! 'x' is no value of the type float",
        ),
    ],
)
def test_registration_information_that_is_none(wrong: Any, text: str) -> None:
    assert said(lambda: ops.Custom(same, first, first, "akg", None, wrong), ValueError) == (
        f"{prefix('akg', same)}, the registration information is registered failed. Use 'CustomRegOp' to"
        " generate the registration information, then pass it to 'reg_info' or use 'custom_info_register' to"
        f" bind it to 'func' if 'func' is a function.\n{text}"
    )


def test_defaults_of_attributes_stand_in() -> None:
    made = CustomRegOp("t").input(0, "a").output(0, "c").attr("k", "optional", "float", "2.5").target("CPU")

    def times(a, k):
        c = output_tensor(a.shape, a.dtype)
        for p in grid(a.shape):
            c[p] = a[p] * k
        return c

    op = ops.Custom(times, first, first, "akg", None, made.get_op_info())
    assert op(Tensor(x)).asnumpy().tolist() == (x * 2.5).tolist()
    assert op(Tensor(x), 3.0).asnumpy().tolist() == (x * 3).tolist()
    assert op(Tensor(x)).asnumpy().tolist() == (x * 2.5).tolist()


@pytest.mark.parametrize("kind", ["akg", "hybrid", "pyfunc"])
def test_no_row_fits(kind: str) -> None:
    rows = [(DataType.I32_Default, DataType.I32_Default), (DataType.C64_Default, DataType.BF16_Default)]
    func = ops.kernel(same) if kind == "hybrid" else same
    for shape in (None, first) if kind != "pyfunc" else (first,):
        op = ops.Custom(func, shape, shape, kind, None, info(*rows))
        text = said(lambda op=op: op(Tensor(x)), TypeError)
        assert re.sub(r"\[Custom_.*?\]", "[Custom_…]", text) == (
            "Select CPU operator[Custom_…] fail! Unsupported data type!\nThe supported data types are"
            " input[Int32], output[Int32]; input[Complex64], output[BFloat16]; , but get input[Float32 ] and"
            " output[Float32 ]"
        )


def test_rows_of_types_that_numpy_does_not_know() -> None:
    program = """
import sys
import numpy as np
from kernelwright.mindspore import Tensor, ops
from kernelwright.mindspore.ops import CustomRegOp, DataType
made = CustomRegOp().input(0, "a").output(0, "c").dtype_format(DataType.BF16_Default, DataType.BF16_Default)
made = made.dtype_format(DataType.F32_Default, DataType.F32_Default).target("CPU").get_op_info()
op = ops.Custom(lambda a: a + 1, lambda s: s, lambda t: t, "pyfunc", reg_info=made)
print(op(Tensor(np.ones(2, np.float32))), "ml_dtypes" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[2. 2.] False\n"


def test_counts_that_differ_from_the_rows() -> None:
    def run(*given: Any) -> Any:
        return given[0]

    row = (DataType.F32_Default, DataType.F32_Default)
    op = ops.Custom(run, first, first, "pyfunc", None, info(row))
    assert said(lambda: op(Tensor(x), Tensor(x)), TypeError) == (
        f"{prefix('pyfunc', run)}, the registration information declares 1 inputs, but the call has 2"
    )
    two = ops.Custom(run, lambda s: (s, s), lambda t: (t, t), "pyfunc", None, info(row))
    assert said(lambda: two(Tensor(x)), TypeError) == (
        f"{prefix('pyfunc', run)}, the registration information declares 1 outputs, but 'out_shape' and"
        " 'out_dtype' describe 2"
    )


def test_arguments_that_are_no_numbers() -> None:
    marked = ops.kernel(same)
    for wrong in ("t", None, [1]):
        op = ops.Custom(marked, first, first, "hybrid")
        text = said(lambda op=op, wrong=wrong: op(wrong), TypeError)
        assert (
            text
            == f"{prefix('hybrid', marked)}: argument 0 is {wrong!r}, but kernels take tensors and numbers"
        )
    op = ops.Custom(lambda a: a[0], lambda s: s[0], lambda t: t[0], "pyfunc")
    assert said(lambda: op((Tensor(x), 3)), TypeError) == (
        "an input of a custom operator is a tuple of tensors and of int, but must hold tensors alone"
    )


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("value, help_text", [(2.0, "`k[()]`"), ([2.0], "`k[i]`")])
def test_a_tensor_for_an_attribute_of_a_kernel(value: Any, help_text: str, told: bool) -> None:
    def times(a, k):
        c = output_tensor(a.shape, a.dtype)
        for p in grid(a.shape):
            c[p] = a[p] * k
        return c

    made = CustomRegOp("t").input(0, "a").output(0, "c").attr("k", "required", "float").target("CPU")
    op = ops.Custom(times, first, first, "akg", None, made.get_op_info() if told else None)
    line = times.__code__.co_firstlineno + 3
    assert said(lambda: op(Tensor(x), Tensor(value)), kw.KernelTypeError) == (
        f"{__file__}:{line}:27: error[E202]: the tensor 'k' is used as a number\n"
        f"{line:>5} |             c[p] = a[p] * k\n"
        f"      |                           ^\n"
        f"      = help: index it: {help_text}"
    )


@pytest.mark.parametrize("result", [3.0, (1, 2, 3)])
def test_results_of_another_kind(result: Any) -> None:
    def run(a: Any) -> Any:
        return result

    op = ops.Custom(run, lambda s: (s, s), lambda t: (t, t), "pyfunc")
    count = len(result) if isinstance(result, tuple) else 1
    assert said(lambda: op(Tensor(x)), RuntimeError) == (
        f"{prefix('pyfunc', run)}: The output num is: {count}, with 2 expect."
    )


def test_exceptions_of_the_function_keep_their_type() -> None:
    op = ops.Custom(lambda a: {}["user boom"], first, first, "pyfunc")
    assert said(lambda: op(Tensor(x)), KeyError) == "'user boom'"


net = "For user defined method 'bprop' of net '{}', the "
argument = net + "0th return value(gradient of the 0th argument) should "
count = net + (
    "number of return values(gradients) should be equal to the number of input arguments except 'out' and"
    " 'dout', which is: 1, but got:{}."
)


@pytest.mark.parametrize(
    "found, kind, text",
    [
        (lambda d: (d, d), TypeError, count.format("{}", 2)),
        (lambda d: (), TypeError, count.format("{}", 0)),
        (lambda d: None, TypeError, count.format("{}", "NoneType")),
        (
            lambda d: (d[:2],),
            ValueError,
            argument + "have the same shape as the 0th argument, which is:(4,), but got: (2,).",
        ),
        (
            lambda d: (d.astype(ms.float64),),
            TypeError,
            argument + "have the same dtype as the 0th argument, which is:Float32, but got: Float64.",
        ),
        (lambda d: (1.5,), TypeError, argument + "be Tensor, but got float, and the value is 1.5."),
    ],
)
def test_checked_bprops(found: Any, kind: type[Exception], text: str) -> None:
    class Own(nn.Cell):
        def construct(self, a: Any) -> Any:
            return a * 2

        def bprop(self, a: Any, out: Any, dout: Any) -> Any:
            return found(dout)

    op = ops.Custom(lambda a: a * 2, first, first, "pyfunc", bprop=lambda a, out, dout: found(dout))
    ms.set_context(check_bprop=True)
    try:
        assert said(lambda: ms.grad(lambda t: op(t))(Tensor(x)), kind) == text.format("")
        assert said(lambda: ms.grad(Own())(Tensor(x)), kind) == text.format("Own")
    finally:
        ms.set_context(check_bprop=False)


def test_gradients_that_are_as_they_should_be_pass_the_check() -> None:
    op = ops.Custom(lambda a: a * 2, first, first, "pyfunc", bprop=lambda a, out, dout: (dout * 2,))
    ms.set_context(check_bprop=True)
    try:
        assert ms.grad(lambda t: op(t))(Tensor(x)).asnumpy().tolist() == [2, 2, 2, 2]
    finally:
        ms.set_context(check_bprop=False)


def test_kernels_without_a_bprop_say_so() -> None:
    for func, kind in ((ops.kernel(same), "hybrid"), (same, "akg")):
        op = ops.Custom(func, first, first, kind)
        text = said(lambda op=op: ms.grad(lambda t: op(t))(Tensor(x)), RuntimeError)
        assert re.fullmatch(
            r"the gradient of custom::Custom_same_\w+ \(.*test_words\.py:\d+\) was asked for, but none was"
            " given when it was made: `bprop=` gives one",
            text.splitlines()[0],
        )


def test_a_bprop_of_other_parameters_is_refused_before_anything_runs() -> None:
    ran: list[int] = []

    def run(a: Any) -> Any:
        ran.append(1)
        return a

    op = ops.Custom(run, first, first, "pyfunc", bprop=lambda out, dout: (dout,))
    assert said(lambda: op(Tensor(x)), TypeError) == (
        f"{prefix('pyfunc', run)}: 'bprop' takes (out, dout), but is called with 1 input, the output and its"
        " gradient"
    )
    assert not ran


@pytest.mark.parametrize(
    "result, dtype, made",
    [
        (300, ms.int8, None),
        ([1, 300, 3, 4], ms.int8, None),
        (1e300, ms.float32, None),
        (2, ms.bool_, None),
        (1.5, ms.int32, None),
        (3, ms.uint8, 3),
        (1, ms.bool_, True),
        (3, ms.float16, 3.0),
        (float("inf"), ms.float32, np.inf),
    ],
)
def test_numbers_are_taken_for_their_values(result: Any, dtype: Any, made: Any) -> None:
    shape = (len(result),) if isinstance(result, list) else (1,)
    op = ops.Custom(lambda a: result, shape, dtype, "pyfunc")
    if made is None:
        assert "output 0 is " in said(lambda: op(Tensor(x)), TypeError)
    else:
        found = op(Tensor(x))
        assert found.dtype == dtype and found.asnumpy().tolist() == [made]


def test_a_tuple_of_one_result() -> None:
    op = ops.Custom(lambda a: (a,), first, first, "pyfunc")
    assert op(Tensor(x)).asnumpy().tolist() == x.tolist()


def test_two_lambdas_on_one_line() -> None:
    one, two = lambda a: a * 2, lambda a, k: a * k
    with_attr = CustomRegOp("t").input(0, "a").output(0, "c").attr("k", "required", "all").target("GPU")
    double = ops.Custom(one, first, first, "pyfunc", None, info())
    times = ops.Custom(two, first, first, "pyfunc", None, with_attr.get_op_info())
    assert (
        double(Tensor(x)).asnumpy().tolist() == times(Tensor(x), 2.0).asnumpy().tolist() == (x * 2).tolist()
    )


def test_rows_of_other_devices_do_not_count() -> None:
    gpu = {**info((DataType.F32_Default, DataType.F32_Default)), "target": "GPU"}
    cpu = info((DataType.I32_Default, DataType.I32_Default))
    for told in ([gpu, cpu], [cpu, gpu]):
        op = ops.Custom(lambda a: a, first, first, "pyfunc", reg_info=told)
        assert op(Tensor(x.astype(np.int32))).dtype == ms.int32
        assert "input[Int32], output[Int32]; , but" in said(lambda op=op: op(Tensor(x)), TypeError)
    tiled = ops.Custom(
        lambda a: a, first, first, "pyfunc", reg_info=info((DataType.F32_5HD, DataType.F32_5HD))
    )
    assert "input[Float32], output[Float32]; , but" in said(lambda: tiled(Tensor(x)), TypeError)
    alone = ops.Custom(lambda a: a, first, first, "pyfunc", reg_info=gpu)
    assert alone(Tensor(x)).dtype == ms.float32  # nothing is said of the CPU


def test_options_of_the_context() -> None:
    assert said(lambda: ms.set_context(mode=7), ValueError) == (
        "For 'context.set_context', the argument 'mode' should be context.GRAPH_MODE (0) or"
        " context.PYNATIVE_MODE (1), but got 7."
    )
    before = ms.get_context("device_target")
    assert "but got TPU" in said(lambda: ms.set_context(device_target="TPU"), ValueError)
    assert said(lambda: ms.set_context(device_target="CPU", devic_id=0, mode=1), ValueError) == (
        "For 'context.set_context', the keyword argument devic_id is not recognized! Nearby: device_id."
    )
    assert said(lambda: ms.set_context(qqq=0), ValueError) == (
        "For 'context.set_context', the keyword argument qqq is not recognized!"
    )
    assert ms.get_context("device_target") == before


def test_cells_with_a_bprop_and_other_outputs() -> None:
    class Mixed(nn.Cell):
        def construct(self, a: Any) -> Any:
            return a * 2, 5

        def bprop(self, a: Any, out: Any, dout: Any) -> Any:
            return (dout[0],)

    assert said(lambda: ms.grad(Mixed())(Tensor(x)), TypeError).splitlines()[0] == (
        "the method 'construct' of 'Mixed', which has a method 'bprop', must return a tensor or tensors, but"
        " returned a int"
    )

    class Several(nn.Cell):
        def construct(self, *a: Any) -> Any:
            return a[0] * a[1]

        def bprop(self, a: Any, b: Any, out: Any, dout: Any) -> Any:
            return dout * 10, dout * 20

    t = Tensor(x)
    by_a, by_b = ms.grad(Several(), (0, 1))(t, t)
    assert by_a.asnumpy().tolist() == [10] * 4 and by_b.asnumpy().tolist() == [20] * 4


def test_copies_of_operators() -> None:
    import copy

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.op = ops.Custom(scaled, first, first, "akg", bprop=lambda a, k, out, dout: (dout * k, 0))

        def construct(self, a: Any) -> Any:
            return self.op(a, 2.0)

    net = Net()
    other = copy.deepcopy(net)
    assert other.op is not net.op
    assert ms.grad(other)(Tensor(x)).asnumpy().tolist() == [2, 2, 2, 2]
