"""`ops.Custom`: spellings, inference, attributes, registration information, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from custom_cases import first, scaled

import kernelwright as kw
import kernelwright.mindspore as ms
from kernelwright.mindspore import Tensor, ops
from kernelwright.mindspore.ops import CustomRegOp, DataType

x = np.array([[1, 2], [3, 4]], np.float32)


def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] + b[i, j]
    return c


def both(a, b):
    c = output_tensor(a.shape, a.dtype)
    d = output_tensor(a.shape, a.dtype)
    for p in grid(a.shape):
        c[p] = a[p] + b[p]
        d[p] = a[p] * b[p]
    return c, d


marked_add, marked_both = ops.kernel(add), ops.kernel(both)


def values(t: Any) -> Any:
    return t.asnumpy().tolist()


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_every_spelling(mode: int) -> None:
    ms.set_context(mode=mode, device_target="CPU")
    a, expected = Tensor(x), (x + x).tolist()
    with pytest.warns(DeprecationWarning):
        renamed = [ops.ms_kernel(add), ops.ms_hybrid(add)]
    for op in (
        ops.Custom(add, first, first, "akg"),
        ops.Custom(add, out_shape=first, out_dtype=first, func_type="akg"),
        ops.Custom(add, (2, 2), ms.float32, "akg"),
        ops.Custom(add, [2, 2], ms.float32, func_type="akg", bprop=None, reg_info=None),
        ops.Custom(add, lambda s, _: s, lambda t, _: ms.float32, func_type="pyfunc"),
        ops.Custom(marked_add),
        ops.Custom(marked_add, func_type="hybrid"),
        *(ops.Custom(marked, first, first, "hybrid") for marked in renamed),
    ):
        found = op(a, a) if op.func_type != "pyfunc" else None
        if found is not None:
            assert values(found) == expected and found.dtype == ms.float32
    assert values(ops.Custom(lambda a, b: a + b, first, first, "pyfunc")(a, a)) == expected
    assert values(ops.Custom(lambda a, b: a + b, first, first)(a, a)) == expected  # a plain function


def test_infer_functions_get_lists_and_types() -> None:
    seen = []

    def shape(*shapes: Any) -> Any:
        seen.append(shapes)
        return shapes[0]

    def dtype(*types: Any) -> Any:
        seen.append(tuple(map(repr, types)))
        return types[0]

    op = ops.Custom(lambda a, pair, s, n: a, shape, dtype, "pyfunc")
    op(Tensor(x), (Tensor(x), Tensor(x[0])), Tensor(1.0), 0.5)
    assert seen[0] == ([2, 2], ([2, 2], [2]), [], [])
    f32 = "mindspore.tensor[float32]"
    assert (f32, f"({f32}, {f32})", f32, "Float") in [tuple(s) for s in seen if isinstance(s[0], str)]


def test_the_tuple_rule() -> None:
    a = Tensor(x)
    one = ops.Custom(add, ((2, 2),), (ms.float32,), "akg")(a, a)
    assert isinstance(one, tuple) and values(one[0]) == (x + x).tolist()
    listed = ops.Custom(add, lambda s, _: [s], lambda t, _: [t], "akg")(a, a)
    assert isinstance(listed, tuple) and len(listed) == 1
    c, d = ops.Custom(both, lambda s, _: (s, s), lambda t, _: (t, t), "akg")(a, a)
    assert values(c) == (x + x).tolist() and values(d) == (x * x).tolist()
    c, d = ops.Custom(marked_both)(a, a)  # inferred from output_tensor
    assert values(d) == (x * x).tolist()
    c, d = ops.Custom(lambda a, b: (a, b), ((2, 2), (2, 2)), (ms.float32, ms.float32), "pyfunc")(a, a)
    assert values(c) == x.tolist()


def test_shapes_may_change_from_call_to_call() -> None:
    op = ops.Custom(add, first, first, "akg")
    for n in (1, 3, 2):
        a = Tensor(np.full((n, 2), n, np.float32))
        assert values(op(a, a)) == np.full((n, 2), 2 * n).tolist()


def test_declared_types_that_the_kernel_does_not_make() -> None:
    a = Tensor(x)
    returns = r"but the kernel returns float32\[2, 2\]"
    with pytest.raises(TypeError, match=rf"out_shape and out_dtype declare float32\[4\], {returns}"):
        ops.Custom(add, (4,), ms.float32, "akg")(a, a)
    with pytest.raises(TypeError, match=rf"out_shape and out_dtype declare float64\[2, 2\], {returns}"):
        ops.Custom(add, (2, 2), ms.float64, "akg")(a, a)

    def shift(a):
        for p in grid(a.shape):
            a[p] = a[p] + 1
        return a

    with pytest.raises(TypeError, match="but the kernel returns"):
        ops.Custom(shift, (4,), ms.float32, "akg")(a)
    assert values(a) == x.tolist()  # nothing ran


def info(target: str = "CPU", dtype: str = "F32", attr: str = "") -> CustomRegOp:
    made = CustomRegOp("test").input(0, "a").output(0, "c").target(target)
    if attr:
        made = made.attr(attr, "required", "float")
    return made.dtype_format(*[getattr(DataType, f"{dtype}_Default")] * 2)


def test_attributes_are_trailing_arguments() -> None:
    op = ops.Custom(scaled, lambda s, _: s, lambda t, _: t, "akg", reg_info=info(attr="k").get_op_info())
    assert values(op(Tensor(x), 0.5)) == (x * 0.5).tolist()
    assert values(op(Tensor(x), 3)) == (x * 3).tolist()
    with pytest.raises(TypeError, match="the attribute 'k' is missing from the call"):
        op(Tensor(x))
    op = ops.Custom(
        scaled,
        lambda s, _: s,
        lambda t, _: t,
        "akg",
        bprop=lambda a, k, out, dout: (dout * k, 0),
    )
    assert values(ms.grad(lambda t: op(t, 3.0))(Tensor(x))) == np.full((2, 2), 3.0).tolist()


def test_rows_of_dtypes_decide() -> None:
    def plus_one(a):
        c = output_tensor(a.shape, a.dtype)
        for p in grid(a.shape):
            c[p] = a[p] + 1
        return c

    op = ops.Custom(plus_one, first, first, "akg", reg_info=info(dtype="I32").get_op_info())
    assert values(op(Tensor(np.array([1], np.int32)))) == [2]
    with pytest.raises(TypeError) as e:
        op(Tensor(x))
    assert re.sub(r"\[Custom_.*?\]", "[Custom_…]", str(e.value)) == (
        "Select CPU operator[Custom_…] fail! Unsupported data type!\nThe supported data types are"
        " input[Int32], output[Int32]; , but get input[Float32 ] and output[Float32 ]"
    )


def test_registration_information_in_every_form() -> None:
    import json

    told = info().get_op_info()
    for form in (told, json.dumps(told), [told], ((told,), [json.dumps(told)])):
        op = ops.Custom(lambda a: a, first, first, "pyfunc", reg_info=form)
        assert op.declared.rows[0] == ["float32", "float32"]
    bind = ops.custom_info_register(info(dtype="I32").get_op_info())
    assert ops.Custom(bind(lambda a: a), first, first, "pyfunc").declared.rows == [["int32", "int32"]]
    op = ops.Custom(bind(lambda a: a), first, first, "pyfunc", reg_info=told)
    assert op.declared.rows == [["float32", "float32"]]


def test_a_target_keeps_what_was_registered_first() -> None:
    import json
    import warnings

    def same(a: Any) -> Any:
        return a

    one, other = info().get_op_info(), info(dtype="I32").get_op_info()
    ops.Custom(same, first, first, "pyfunc", reg_info=one)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ops.Custom(same, first, first, "pyfunc", reg_info=json.dumps(one))
    with pytest.warns(UserWarning) as seen:
        op = ops.Custom(same, first, first, "pyfunc", reg_info=other)
    assert op.declared.rows == [["float32", "float32"]]
    assert seen[0].filename == __file__
    assert str(seen[0].message) == (
        f"For 'Custom', 'func_type': pyfunc, 'func': {same}, the registration information for CPU is left"
        " out, since another one was registered for it before: one function has one per target"
    )
    assert ops.Custom(lambda a: a, first, first, "pyfunc", reg_info=other).declared.rows == [
        ["int32", "int32"]
    ]


def test_what_is_refused_is_not_kept() -> None:
    def same(a: Any, k: Any) -> Any:
        return a

    def told(target: str, name: str) -> dict[str, Any]:
        made = ops.CustomRegOp().input(0, "a").attr(name, "required", "float").target(target)
        return dict(made.output(0, "c").get_op_info())

    ops.Custom(same, first, first, "pyfunc", reg_info=told("GPU", "k"))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"but got \['z'\] vs \['k'\]$"):
            ops.Custom(same, first, first, "pyfunc", reg_info=told("CPU", "z"))
    ops.Custom(same, first, first, "pyfunc", reg_info=told("CPU", "k"))

    def factory() -> Any:
        return lambda a, k: a

    for name in ("k", "z"):  # functions of their own
        ops.Custom(factory(), first, first, "pyfunc", reg_info=told("CPU", name))


def test_kernels_get_what_the_cpu_is_told() -> None:
    def told(target: str, value: float) -> dict[str, Any]:
        made = ops.CustomRegOp().input(0, "a").attr("k", "required", "float", value=value).target(target)
        return dict(made.output(0, "c").get_op_info())

    for order in ((0, 1), (1, 0)):

        def times(a, k):
            c = output_tensor(a.shape, a.dtype)
            for p in grid(a.shape):
                c[p] = a[p] * k
            return c

        both_told = [told("CPU", 3.0), told("GPU", 5.0)]
        op = ops.Custom(times, first, first, "akg", reg_info=[both_told[i] for i in order])
        assert values(op(Tensor(x[0]))) == [3, 6]


def test_methods_are_one_function() -> None:
    class Shift:
        def run(self, a: Any) -> Any:
            return a + 1

    shift = Shift()
    op = ops.Custom(shift.run, first, first, "pyfunc", reg_info=info().get_op_info())
    assert values(op(Tensor(x[0]))) == [2, 3]
    with pytest.warns(UserWarning, match="is left out"):
        ops.Custom(shift.run, first, first, "pyfunc", reg_info=info(dtype="I32").get_op_info())


def rows_for(*inputs: tuple[str, str]) -> dict[str, Any]:
    """Of (kind, dtype) of each input, and an output of the first one's dtype."""
    told = ops.CustomRegOp()
    for i, (kind, _) in enumerate(inputs):
        told.input(i, f"x{i}", kind)
    types = [getattr(ops.DataType, f"{dtype}_Default") for _, dtype in inputs]
    return dict(told.output(0, "y").dtype_format(*types, types[0]).target("CPU").get_op_info())


def test_dynamic_inputs_have_the_type_of_their_row() -> None:
    told = rows_for(("required", "F32"), ("dynamic", "I32"))
    op = ops.Custom(lambda a, many: a + sum(many), first, first, "pyfunc", reg_info=told)
    a, number = Tensor(x[0]), Tensor(np.array([1, 2], np.int32))
    with pytest.raises(TypeError) as e:
        op(a, (number, a))
    assert re.sub(r"\[Custom_.*?\]", "[Custom_…]", str(e.value)) == (
        "Select CPU operator[Custom_…] fail! Unsupported data type!\nThe supported data types are"
        " input[Float32 Int32], output[Float32]; , but get input[Float32 Int32 Float32 ] and output[Float32 ]"
    )
    op = ops.Custom(lambda a, many: (a + sum(many)).astype(np.float32), first, first, "pyfunc", reg_info=told)
    assert values(op(a, (number, number, number))) == [4, 8]
    assert values(op(a, (number,))) == [2, 4]


def test_optional_inputs_may_be_left_out() -> None:
    told = rows_for(("required", "F32"), ("optional", "F64"), ("required", "F32"))

    def choose(a: Any, shift: Any, b: Any) -> Any:
        return a + b if shift is None else a + b + shift.astype(np.float32)

    op = ops.Custom(choose, first, first, "pyfunc", reg_info=told)
    a, shift = Tensor(x[0]), Tensor(np.array([3.0, 4.0]))
    for _ in range(2):
        assert values(op(a, None, a)) == [2, 4]
        assert values(op(a, shift, a)) == [5, 8]
    with pytest.raises(TypeError, match="the registration information declares 3 inputs, but the call has 2"):
        op(a, shift, None)
    with pytest.raises(TypeError, match=r"but get input\[Float32 Float32 Float32 \]"):
        op(a, a, a)
    with pytest.raises(TypeError, match=r"but get input\[Float32 Float64 \]"):
        op(a, None, shift)


def test_values_of_the_registration_reach_kernels() -> None:
    def shifted(a, k, s):
        c = output_tensor(a.shape, a.dtype)
        for p in grid(a.shape):
            c[p] = a[p] * k + s
        return c

    told = (
        ops.CustomRegOp()
        .input(0, "a")
        .output(0, "c")
        .attr("k", "required", "float", value=3.0)
        .attr("s", "required", "float")
        .dtype_format(ops.DataType.F32_Default, ops.DataType.F32_Default)
        .target("CPU")
        .get_op_info()
    )
    a = Tensor(x[0])
    op = ops.Custom(shifted, first, first, "akg", lambda a, s, out, dout: (dout * 3.0, None), told)
    assert values(op(a, 0.5)) == [3.5, 6.5]
    assert values(ms.grad(lambda t: op(t, 0.5))(a)) == [3, 3]
    assert values(ops.Custom(shifted, None, None, "akg", reg_info=told)(a, 0.5)) == [3.5, 6.5]


def test_attribute_names_of_another_target_must_be_the_same() -> None:
    def f(a, k):
        c = output_tensor(a.shape, a.dtype)
        for p in grid(a.shape):
            c[p] = a[p] * k
        return c

    ops.Custom(f, first, first, "akg", reg_info=info("GPU", attr="k").get_op_info())
    with pytest.raises(ValueError) as e:
        ops.Custom(f, first, first, "akg", reg_info=info("CPU", attr="z").get_op_info())
    assert str(e.value) == (
        f"For 'Custom', 'func_type': akg, 'func': {f}, attr names set in registration information must be the"
        " same as previous saved one, but got ['z'] vs ['k']"
    )


listed = "['hybrid', 'akg', 'tbe', 'aicpu', 'aot', 'pyfunc', 'julia']"
types = "[mindspore.dtype, tuple, list, function]"
no_info = (
    "the registration information must be of type dict, but got 3 with type <class 'int'>. Use 'CustomRegOp'"
    " to generate the registration information, then pass it to 'reg_info'"
)
targets = "target set in registration information must be one of ['Ascend', 'GPU', 'CPU'], but got None"
refused: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
    (ValueError, f"'func_type' must be one of {listed}, but got x", (add, (1,), ms.int32, "x")),
    (TypeError, "'func' must be a function decorated by kernel", ("x", (1,), ms.int32, "hybrid")),
    (TypeError, "'func' must be a function decorated by kernel", (add, (1,), ms.int32, "hybrid")),
    (TypeError, "'func' must be of type str, but got <class 'function'>", (add, (1,), ms.int32, "aot")),
    (TypeError, "'func' must be of type function, but got <class 'int'>", (3, (1,), ms.int32, "tbe")),
    (
        TypeError,
        "'out_shape' must be one of [tuple, list, function], but got <class 'int'>",
        (add, 3, ms.int32, "akg"),
    ),
    (TypeError, f"'out_dtype' must be one of {types}, but got <class 'str'>", (add, (3,), "float32", "akg")),
    (
        TypeError,
        "'out_shape' must be one of [tuple, list, function], but got <class 'NoneType'>",
        (add, None, ms.int32, "pyfunc"),
    ),
    (TypeError, no_info, (add, (3,), ms.int32, "akg", None, 3)),
    (ValueError, targets, (add, (3,), ms.int32, "akg", None, CustomRegOp("t").get_op_info())),
    (TypeError, "'bprop' must be a function, but got <class 'int'>", (add, (3,), ms.int32, "akg", 5)),
]


@pytest.mark.parametrize("kind, text, arguments", refused)
def test_what_constructors_refuse(kind: type[Exception], text: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(kind) as e:
        ops.Custom(*arguments)
    assert str(e.value) == f"For 'Custom', 'func_type': {arguments[3]}, 'func': {arguments[0]}, {text}"


def test_what_is_no_function_at_all() -> None:
    with pytest.raises(TypeError) as e:
        ops.Custom(3, (1,), ms.int32, "pyfunc")
    assert str(e.value) == "For 'Custom', 'func' must be of type function or str, but got <class 'int'>"


@pytest.mark.parametrize("kind", ["tbe", "aicpu", "julia"])
def test_kinds_that_do_not_run_here(kind: str) -> None:
    func = "f.jl:M:f" if kind == "julia" else add
    with pytest.raises(kw.UnsupportedError, match=f"func_type '{kind}' does not run here\n      = help: "):
        ops.Custom(func, first, first, kind)


def test_words_of_a_comment_do_not_matter() -> None:
    def computed(a):
        # compute with ir_builder: def nothing
        c = output_tensor(a.shape, a.dtype)
        for p in grid(a.shape):
            c[p] = a[p]
        return c

    assert values(ops.Custom(computed, first, first, "akg")(Tensor(x))) == x.tolist()

    def by_tvm(a):
        return tvm.compute(a.shape, lambda *i: a(*i))

    with pytest.raises(kw.UnsupportedError, match="operators built with 'tvm' do not run here"):
        ops.Custom(by_tvm, first, first, "akg")


def test_closures_and_globals_are_captured() -> None:
    def times(k: float) -> Any:
        def f(a):
            c = output_tensor(a.shape, a.dtype)
            for p in grid(a.shape):
                c[p] = a[p] * k
            return c

        return f

    two, three = (ops.Custom(times(k), first, first, "akg") for k in (2.0, 3.0))
    assert values(two(Tensor(x))) == (x * 2).tolist() and values(three(Tensor(x))) == (x * 3).tolist()


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_two_operators_of_one_function(mode: int) -> None:
    ms.set_context(mode=mode)
    g = lambda a: a.tolist()  # noqa: E731
    matrix, vector = Tensor([[1, 2], [3, 4]]), Tensor([5, 6, 7])
    told = [(matrix, (2, 2), ms.float32), (matrix, (2, 2), ms.int32), (vector, (3,), ms.float64)]
    made = [ops.Custom(g, shape, dtype, "pyfunc") for _, shape, dtype in told]
    for op, (given, shape, dtype) in [*zip(made, told, strict=True)] * 2:
        found = op(given)
        assert found.shape == shape and found.dtype == dtype and values(found) == values(given)


def test_a_failed_compilation_does_not_spoil_the_next() -> None:
    def wrong(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i, 0, 0]
        return c

    with pytest.raises(kw.KernelTypeError):
        ops.Custom(wrong, first, first, "akg")(Tensor(x[0]))
    assert values(ops.Custom(add, first, first, "akg")(Tensor(x), Tensor(x))) == (x + x).tolist()


def test_operators_of_custom_are_rows_of_the_registry() -> None:
    op = ops.Custom(add, first, first, "akg")
    op(Tensor(x), Tensor(x))
    names = [n for n in kw.ops.list("custom") if n.startswith("custom::Custom_add")]
    assert any("kernel JitLoop on any device" in kw.ops.show(n) for n in names)
    count = len(kw.ops.list("custom"))
    del op
    assert len(kw.ops.list("custom")) < count


def test_arrays_are_no_tensors() -> None:
    with pytest.raises(TypeError, match="an input of a custom operator is an array, but must be a Tensor"):
        ops.Custom(add, first, first, "akg")(x, x)


def test_primitive_methods_are_accepted() -> None:
    op = ops.Custom(add, first, first, "akg")
    assert op.add_prim_attr("primitive_target", "CPU").set_device("CPU").shard(((1,),)) is op


def test_information_of_the_kernel_decorator() -> None:
    told = info(dtype="I32").get_op_info()

    def same(a):
        c = output_tensor(a.shape, a.dtype)
        for p in grid(a.shape):
            c[p] = a[p]
        return c

    assert ops.Custom(ops.kernel(same, reg_info=told)).declared.rows == [["int32", "int32"]]


def test_functions_that_read_more_than_their_arguments_are_asked_each_time() -> None:
    size = [2]
    op = ops.Custom(lambda a: np.ones(size[0], np.float32), lambda s: (size[0],), ms.float32, "pyfunc")
    assert op(Tensor(x)).shape == (2,)
    size[0] = 3
    assert op(Tensor(x)).shape == (3,)
    with pytest.raises(RuntimeError, match="'out_shape' raised ZeroDivisionError: "):
        ops.Custom(lambda a: a, lambda s: 1 // 0, ms.float32, "pyfunc")(Tensor(x))
    with pytest.raises(TypeError, match="must hold shapes of extents >= 0"):
        ops.Custom(lambda a: a, (2, -1), ms.float32, "pyfunc")(Tensor(x))


def test_a_wrong_number_of_inputs_is_no_fault_of_out_shape() -> None:
    def twice(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] * 2
        return c

    for kind in ("hybrid", "akg", "pyfunc"):
        op = ops.Custom(ops.kernel(twice) if kind == "hybrid" else twice, lambda s: s, lambda d: d, kind)
        for given in ((Tensor(x), Tensor(x)), ()):
            with pytest.raises(TypeError) as e:
                op(*given)
            assert str(e.value).endswith(f"was called with {len(given)} inputs"), str(e.value)
            assert ": twice(a) was" in str(e.value)


def test_one_declaration_alone_is_checked() -> None:
    a = Tensor(x)
    assert ops.Custom(marked_add, (2, 2), None)(a, a).shape == (2, 2)
    with pytest.raises(TypeError, match="but the kernel returns"):
        ops.Custom(marked_add, (3,), None)(a, a)
    with pytest.raises(TypeError, match="but the kernel returns"):
        ops.Custom(marked_add, None, ms.float64)(a, a)


def test_python_functions_of_every_form() -> None:
    a = Tensor(x)
    pair = ops.Custom(lambda p: p[0] + p[1], lambda s: s[0], lambda t: t[0], "pyfunc")
    assert values(pair((a, a))) == (x + x).tolist() and values(pair((a, a))) == (x + x).tolist()
    seen = []
    silent = ops.Custom(lambda t: seen.append(t.sum()), (), (), "pyfunc")
    assert isinstance(silent(a), Tensor) and seen == [10.0]
    with pytest.raises(RuntimeError, match="This CustomPyfunc must have no outputs, but got 1"):
        ops.Custom(lambda t: t, (), (), "pyfunc")(a)
    alone = ops.Custom(lambda: np.ones(2, np.float32), (2,), ms.float32, "pyfunc")
    assert isinstance(alone(), Tensor)
    assert ops.Custom(lambda t: t.sum(), (), ms.float32, "pyfunc")(a).shape == (1,)


def test_errors_of_other_operators_are_theirs() -> None:
    inner = ops.Custom(lambda a: a, first, first, "pyfunc", reg_info=info(dtype="I32").get_op_info())
    calls = []

    def outer(a: Any) -> Any:
        calls.append(1)
        return inner(Tensor(a)).asnumpy()

    op = ops.Custom(outer, first, first, "pyfunc")
    for _ in range(2):
        with pytest.raises(TypeError, match=r"input\[Int32\]"):
            op(Tensor(x))
    assert len(calls) == 2


def test_classes_may_say_what_a_call_is() -> None:
    class Loud(ops.Custom):
        def __call__(self, *args: Any, **named: Any) -> Any:
            return "loud", args, named

    class Later(ops.Custom):
        pass

    class Counting(ops.Custom):
        calls = 0

        def __call__(self, *args: Any) -> Any:
            self.calls += 1
            return super().__call__(*args)

    x = ms.Tensor([1.0, 2.0])
    counting = Counting(lambda x: x + 1, lambda s: s, lambda d: d, "pyfunc")
    assert [counting(x).asnumpy().tolist() for _ in range(3)] == [[2, 3]] * 3 and counting.calls == 3
    assert ops.Custom.__call__(counting, x).asnumpy().tolist() == [2, 3] and counting.calls == 3
    made = [kind(lambda x: x + 1, lambda s: s, lambda d: d, "pyfunc") for kind in (Loud, Later)]
    assert made[0](x) == ("loud", (x,), {})
    assert made[1](x).asnumpy().tolist() == [2, 3]
    Later.__call__ = Loud.__call__
    assert made[1](x, 2, k=3) == ("loud", (x, 2), {"k": 3})
    text = (
        "custom operators take no keyword arguments: pass inputs and attributes by position, in the order of"
    )
    with pytest.raises(TypeError, match=f"^{text} the function$"):
        ops.Custom(lambda x: x + 1, lambda s: s, lambda d: d, "pyfunc")(x=x)
