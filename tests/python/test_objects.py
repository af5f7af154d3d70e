"""A kernel is a good Python object: its names, signature, help, binding and lifetime."""

from __future__ import annotations

import gc
import inspect
import pickle
import pydoc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import KernelSyntaxError
from kernelwright.lang import bool_

ONES = np.ones(3, np.float32)


@kw.kernel
def add(a, b, factor: float = 2.0):
    """Adds b, factor times.

    Of equal shapes.
    """
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + factor * b[i]
    return c


def plain(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + 1
    return c


class Layer:
    """Kernels as a method, a static method and a class method."""

    @kw.kernel
    def forward(self, a):
        """Doubles a."""
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] * 2
        return c

    @staticmethod
    @kw.kernel
    def half(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] * 0.5
        return c

    @classmethod
    @kw.kernel
    def third(cls, a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] / 3
        return c

    @kw.kernel
    def uses_self(self, a):
        a[0] = self.factor
        return a

    shared = add


def test_attributes() -> None:
    assert (add.__name__, add.__qualname__, add.__module__) == ("add", "add", __name__)
    assert (Layer.forward.__name__, Layer.forward.__qualname__) == ("forward", "Layer.forward")
    assert add.__doc__ and add.__doc__.startswith("Adds b, factor times.\n")
    assert inspect.isfunction(add.__wrapped__) and inspect.unwrap(add) is add.__wrapped__
    assert add.__annotations__ == {"factor": "float"}
    assert isinstance(add, kw.Kernel) and callable(add)


def test_signature_and_help() -> None:
    assert str(inspect.signature(add)) == "(a, b, factor: 'float' = 2.0)"
    assert str(inspect.signature(Layer().forward)) == "(a)"
    assert inspect.getsource(add).startswith("@kw.kernel\ndef add(a, b, factor: float = 2.0):\n")
    text = pydoc.render_doc(add, renderer=pydoc.plaintext)
    assert "add(a, b, factor: 'float' = 2.0)\n    Adds b, factor times.\n" in text
    assert "forward(self, a)" in pydoc.render_doc(Layer, renderer=pydoc.plaintext)


def test_repr() -> None:
    assert repr(add) == str(add) == f"<kernel {__name__}.add>"
    assert repr(Layer.forward) == f"<kernel {__name__}.Layer.forward>"
    assert repr(kw.kernel(lambda a: a)) == f"<kernel {__name__}.test_repr.<locals>.<lambda>>"


def test_repr_of_a_bare_kernel() -> None:
    assert repr(kw.Kernel(plain)) == f"<kernel {__name__}.plain>"


def test_equality_hash_and_attributes() -> None:
    twin = kw.kernel(add.__wrapped__)
    assert add == add and add != twin and len({add, add, twin}) == 2
    twin.note = "fast"
    assert twin.note == "fast" and not hasattr(add, "note")
    del twin.note
    assert not hasattr(twin, "note")


def test_methods() -> None:
    layer = Layer()
    for call in (layer.forward, lambda a: Layer.forward(layer, a)):
        assert call(ONES).tolist() == [2.0] * 3
    assert layer.forward(a=ONES).tolist() == [2.0] * 3
    assert layer.half(ONES).tolist() == Layer.half(ONES).tolist() == [0.5] * 3
    assert layer.third(ONES).tolist() == Layer.third(ONES).tolist() == (ONES / 3).tolist()
    assert Layer.shared is add and Layer.forward is Layer.__dict__["forward"]
    assert inspect.ismethod(layer.forward) and layer.forward.__func__ is Layer.forward
    assert pickle.loads(pickle.dumps(Layer().forward)).__func__ is Layer.forward


def test_methods_of_methods() -> None:
    """What is asked of a bound kernel is asked with its instance."""
    layer = Layer()
    for bound, expected in ((layer.forward, 2.0), (layer.third, 1.0 / 3)):
        assert bound.py(ONES).tolist() == pytest.approx([expected] * 3)
        assert bound.ir(ONES).startswith("# kw-ir 2\ndef ")
        assert bound.ir("final", ONES) == bound.ir(a=ONES, stage="final")
        assert "define" in bound.llvm(ONES) and "kw_entry:" in bound.asm(ONES)
        assert "a: float32[:]" in str(bound.explain(ONES))
    layer.forward(ONES)
    assert layer.forward.ir() == layer.forward.ir(ONES)
    assert str(layer.forward.explain()) == str(Layer.forward.explain())


def test_bound_kernels_are_good_objects() -> None:
    layer, other = Layer(), Layer()
    assert layer.forward == layer.forward != other.forward
    assert layer.forward != Layer.forward and hash(layer.forward) == hash(layer.forward)
    assert repr(layer.forward) == f"<bound kernel {__name__}.Layer.forward of {layer!r}>"
    assert layer.forward.__name__ == "forward" and layer.forward.check() is None
    assert not hasattr(layer.forward, "no_such_thing")
    assert layer.forward.__doc__ == inspect.getdoc(layer.forward) == "Doubles a."
    assert layer.forward.__module__ == __name__
    assert pydoc.render_doc(layer.forward, renderer=pydoc.plaintext).startswith(
        f"Python Library Documentation: method forward in module {__name__}\n"
    )
    assert layer.uses_self.__doc__ is None
    bound = type(layer.forward)
    assert bound.__module__ == "kernelwright.bound_kernel"
    assert inspect.getdoc(bound).startswith("A kernel as a")


def test_self_is_never_used() -> None:
    with pytest.raises(KernelSyntaxError, match=r"E117.*'self' is neither a tensor nor a number"):
        Layer().uses_self(ONES.copy())


def test_instance_attribute_is_not_bound() -> None:
    layer = Layer()
    layer.kernel = add  # type: ignore[attr-defined]
    assert layer.kernel(ONES, ONES).tolist() == [3.0] * 3  # type: ignore[attr-defined]


def test_options() -> None:
    assert kw.kernel(fp="strict")(plain)(ONES).tolist() == [2.0] * 3
    assert kw.kernel(fp="fast", debug=True)(plain)(ONES).tolist() == [2.0] * 3
    assert kw.kernel()(plain)(ONES).tolist() == [2.0] * 3
    assert "fp('strict')" in kw.kernel(fp="strict")(plain).ir(ONES)


@kw.kernel
def gather(a, idx):
    c = output_tensor(idx.shape, a.dtype)
    for i in range(idx.shape[0]):
        k = idx[i]
        c[i] = a[k]
    return c


@pytest.mark.parametrize(
    ("ends", "value"), [((-2, 3), -2), ((9, 12), 9), ((1, 9), 6), ((2, 2**62), 6), ((-(2**63), 2), -(2**63))]
)
def test_a_range_from_data_names_its_first_index_outside(ends: tuple[int, int], value: int) -> None:
    @kw.kernel
    def head(x, ends):  # type: ignore[no-untyped-def]
        out = output_tensor(x.shape, x.dtype)  # type: ignore[name-defined]
        for p in range(ends[0], ends[1]):
            out[p] = x[p]
        return out

    x = np.arange(6, dtype=np.float32)
    with pytest.raises(kw.KernelIndexError, match=f"index {value} is out of range for dimension 0 of 'x'"):
        head(x, np.array(ends))
    assert head(x, np.array([5, -(2**63)])).sum() == 0
    assert head(x, np.array([1, 6])).sum() == 15


def test_unchecked() -> None:
    a, idx = np.arange(5.0), np.array([4, 0, 2])
    trusting = kw.kernel(unchecked=True)(gather.__wrapped__)
    assert trusting(a, idx).tolist() == gather(a, idx).tolist() == [4.0, 0.0, 2.0]
    assert "check(" in gather.ir(stage="final") and "check(" not in trusting.ir(stage="final")
    with pytest.raises(kw.KernelIndexError):
        kw.kernel(unchecked=True, debug=True)(gather.__wrapped__)(a, idx + 5)


def raised(kind: type[BaseException], action: Callable[[], Any]) -> str:
    with pytest.raises(kind) as caught:
        action()
    assert type(caught.value) is kind
    return str(caught.value)


def test_wrong_options() -> None:
    assert raised(ValueError, lambda: kw.kernel(fp="exact")(plain)) == (
        "fp is 'exact', but must be 'strict', 'default' or 'fast'"
    )
    assert raised(TypeError, lambda: kw.kernel(plain, mode="strict")) == (  # type: ignore[call-overload]
        "kernel() got an unexpected keyword argument 'mode'"
    )


@pytest.mark.parametrize(
    ("thing", "name"),
    [(3, "int"), (len, "builtin_function_or_method"), (np.sin, "ufunc"), (Layer, "type"), (add, "Kernel")],
)
def test_only_functions_are_decorated(thing: Any, name: str) -> None:
    text = raised(TypeError, lambda: kw.kernel(thing))
    assert text == f"kernel: expected a Python function, got {name}; decorate a `def`"


def test_keywords_and_defaults() -> None:
    expected = [3.0] * 3
    assert add(ONES, ONES).tolist() == expected
    assert add(ONES, b=ONES).tolist() == add(b=ONES, a=ONES).tolist() == expected
    assert add(ONES, ONES, 1.0).tolist() == add(ONES, ONES, factor=1).tolist() == [2.0] * 3
    assert add(factor=0, b=ONES, a=ONES, out=None).tolist() == [1.0] * 3


WRONG_CALLS: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((), {}, "add(a, b, factor=2.0) is missing the argument 'a'"),
    ((ONES,), {}, "add(a, b, factor=2.0) is missing the argument 'b'"),
    ((), {"b": ONES}, "add(a, b, factor=2.0) is missing the argument 'a'"),
    ((ONES, ONES, 1, 2), {}, "add(a, b, factor=2.0) takes 3 arguments but 4 were given"),
    ((ONES,), {"a": ONES}, "add(a, b, factor=2.0) got multiple values for argument 'a'"),
    ((ONES, ONES), {"scale": 1}, "add(a, b, factor=2.0) got an unexpected keyword argument 'scale'"),
    ((ONES,), {"out": None, "scale": 1}, "add(a, b, factor=2.0) got an unexpected keyword argument 'scale'"),
]


@pytest.mark.parametrize(("args", "keywords", "text"), WRONG_CALLS)
def test_wrong_calls(args: tuple[Any, ...], keywords: dict[str, Any], text: str) -> None:
    assert raised(TypeError, lambda: add(*args, **keywords)) == text


def test_long_defaults_are_cut() -> None:
    values = np.arange(3000)

    @kw.kernel
    def takes_table(a, table=values):
        return a

    assert raised(TypeError, takes_table) == "takes_table(a, table=...) is missing the argument 'a'"


def test_position_only_parameters() -> None:
    @kw.kernel
    def keep(a, /):
        return a

    assert keep(ONES) is ONES
    assert raised(TypeError, lambda: keep(a=ONES)) == "keep(a, /) got an unexpected keyword argument 'a'"
    assert raised(TypeError, lambda: keep(ONES, ONES)) == "keep(a, /) takes 1 argument but 2 were given"


def test_inspection() -> None:
    """Every stage, for the types of given arguments or of the last call."""
    fresh = kw.kernel(add.__wrapped__)
    for method in ("ir", "llvm", "asm", "explain", "cuda", "ptx"):
        assert raised(TypeError, getattr(fresh, method)) == (
            "kernel 'add' has no compiled version yet: call it first, or give arguments, "
            f'`add.{method}(a, b, factor)`, or their types as texts such as "f32[:, :]"'
        )
    for device in (None, 90):
        told = raised(TypeError, lambda device=device: fresh.explain(ONES, ONES, device=device))
        assert told == f"device is {device}, but must be an architecture of GPUs such as 'sm_90'"
    assert raised(TypeError, lambda: fresh.ir(ONES)) == "add(a, b, factor=2.0) is missing the argument 'b'"
    assert (
        raised(TypeError, lambda: fresh.ir(scale=1))
        == "add(a, b, factor=2.0) got an unexpected keyword argument 'scale'"
    )
    single = fresh.ir(ONES, ONES)
    assert single.startswith("# kw-ir 2\ndef add(a: buf(f32, (a_0,)), b: buf(f32, (b_0,)), factor: weak(f64)")
    assert fresh.ir(ONES, ONES, stage="lower") == single
    assert "fact(a_0 <= b_0)" in fresh.ir(ONES, ONES, stage="final")
    assert "define" in fresh.llvm(ONES, ONES) and "kw_entry:" in fresh.asm(ONES, ONES)
    fresh(ONES.astype(float), ONES.astype(float))
    assert "a: buf(f64, (a_0,))" in fresh.ir()
    assert fresh.ir(b=ONES, a=ONES) == fresh.ir("lower", ONES, ONES) == single
    stages = "lower simplify fuse_fma fill_buffers guard_bounds hoist_checks demote_integers"
    stages += " distribute_reductions split_index_sets fuse_loops unroll_small_loops peel_boundaries"
    stages += (
        " permute_loops tile_transposed_accesses strip_mine_column_reductions separate_sums unroll_and_jam"
    )
    stages += " vectorize_and_parallelize version_short_sums scalar_replacement unroll_hints plan_loops"
    stages += " schedule"
    stages += " split_fma lower_reductions expand_math legalise_types bound_trips settle_vector_loops"
    stages += " count_threads mark_recurrences unroll_inner_loops if_convert guard_operations final"
    for wrong in (lambda: fresh.ir("late"), lambda: fresh.ir(ONES, ONES, stage="late")):
        assert raised(ValueError, wrong) == (
            f"no stage is called 'late'; the stages are {stages.replace(' ', ', ')}"
        )
    found = [fresh.ir(stage) for stage in stages.split()]
    assert found[0] == fresh.ir() and "fma(" in found[2] and "fma(" not in found[1]
    assert "fact(a_0 <= b_0)" in found[4] and "fact(a_0 <= b_0)" not in found[3]
    assert raised(ValueError, lambda: fresh.ir("asm")) == "ir: asm is no IR of ours; use .asm()"
    assert fresh.check() is None


def test_the_cuda_text_of_a_kernel_needs_no_gpu() -> None:
    text = add.cuda(ONES, ONES)
    assert text == add.cuda("f32[:]", "f32[:]", device="sm_90") == add.cuda(ONES, ONES, device="sm_120")
    kernel = text[text.index("KW_KERNEL(256)") :]
    assert kernel.startswith("KW_KERNEL(256) add_0(const f32 *__restrict__ a, const f32 *__restrict__ b, ")
    assert "const i64 first = kw_block_number * 4096 + kw_thread * 4;" in kernel
    known = "sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_120"
    for device in ("sm_70", "", "cuda:", "avx2"):
        said = raised(ValueError, lambda device=device: add.cuda(ONES, ONES, device=device))
        at_hand = '"cuda" is that of the GPU at hand'
        assert said == f"there is no GPU architecture '{device}'; there are: {known}; {at_hand}"
    assert raised(ValueError, lambda: add.ir("cuda")) == "ir: cuda is no IR of ours; use .cuda()"
    for name in ("asm", "llvm", "ir"):
        told = raised(TypeError, lambda name=name: getattr(add, name)("f32[:]", "f32[:]", device="sm_90"))
        assert told == f"{name}() shows code for the CPU and takes no device; use .cuda() or .ptx()"
    told = raised(TypeError, lambda: add.asm("f32[:]", "f32[:]", other="f32[:]"))
    assert told == "add(a, b, factor=2.0) got an unexpected keyword argument 'other'"


def test_running_under_python(capsys: pytest.CaptureFixture[str]) -> None:
    @kw.kernel
    def talks(a, n=2):
        c = output_tensor((n,), a.dtype)
        for i in range(n):
            print("at", i)
            c[i] = a[i]
        return c

    assert talks.py(ONES).tolist() == talks.py(ONES, n=2).tolist() == [1.0, 1.0]
    assert capsys.readouterr().out == "at 0\nat 1\n" * 2
    with pytest.raises(KernelSyntaxError):
        talks(ONES)


class Box:
    """Something that can be watched."""

    kernel: kw.Kernel


def dies(make: Callable[[], list[Any]]) -> None:
    """Everything that `make` returns is gone once it has been collected."""
    watched = [weakref.ref(thing) for thing in make()]
    gc.collect()
    assert [ref() for ref in watched] == [None] * len(watched)


def test_weak_references() -> None:
    assert weakref.ref(add)() is add
    watched = weakref.ref(kw.kernel(plain))
    assert watched() is None


def test_unused_kernels_die() -> None:
    def make() -> list[Any]:
        n = 3

        @kw.kernel
        def sized(a):
            c = output_tensor((n,), a.dtype)
            for i in range(n):
                c[i] = a[0]
            return c

        assert sized(ONES).tolist() == [1.0] * 3
        return [sized, sized.__wrapped__]

    dies(make)


def test_captured_objects_die() -> None:
    def make() -> list[Any]:
        box = Box()

        @kw.kernel
        def reads(a):
            a[0] = box
            return a

        box.kernel = reads  # a circle through the closure
        with pytest.raises(KernelSyntaxError):
            reads(ONES.copy())
        return [box, reads]

    dies(make)


def test_kernels_that_name_themselves_die() -> None:
    def make() -> list[Any]:
        @kw.kernel
        def again(a):
            a[0] = again
            return a

        with pytest.raises(KernelSyntaxError):
            again(ONES.copy())
        return [again]

    dies(make)


def test_default_values_die() -> None:
    def make() -> list[Any]:
        box = Box()

        def keep(a, thing=box):
            return a

        box.kernel = kw.kernel(keep)
        return [box, box.kernel]

    dies(make)


BIG = 10**5000


@kw.kernel
def adds_big(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + BIG
    return c


def test_captured_number_of_thousands_of_digits() -> None:
    with pytest.raises(kw.KernelTypeError, match="E215"):
        adds_big(np.ones(2))


def test_names_that_are_no_unicode() -> None:
    def f(a):
        return a

    f.__name__ = "\ud800"
    assert kw.kernel(f)(np.ones(2)).tolist() == [1.0, 1.0]


def test_methods_refuse_what_is_no_kernel() -> None:
    for method in (kw.Kernel.ir, kw.Kernel.check, kw.Kernel.py):
        with pytest.raises(TypeError, match="expected a kernel, got int"):
            method(5)


FACTOR: object = 1.0


@kw.kernel
def by_factor(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * FACTOR
    return c


class CallsBack:
    deaths = 0

    def __del__(self) -> None:
        CallsBack.deaths += 1
        assert by_factor(np.ones(2)).tolist() == [3.0, 3.0]


def test_finaliser_of_a_captured_object_may_call_the_kernel() -> None:
    global FACTOR
    by_factor(np.ones(2))
    FACTOR = CallsBack()
    with pytest.raises(kw.KernelSyntaxError, match="E117"):
        by_factor(np.ones(2))
    FACTOR = 3.0
    assert by_factor(np.ones(2)).tolist() == [3.0, 3.0]
    assert CallsBack.deaths == 1


def test_elementary_functions_by_any_name_agree_under_python() -> None:
    from math import exp as math_exp

    from numpy import exp as numpy_exp

    def with_names(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = numpy_exp(a[i]) + math_exp(a[i])
        return c

    kernel = kw.kernel(with_names)
    x = np.linspace(-20, 20, 400)
    np.testing.assert_array_equal(kernel(x), kernel.py(x))


def test_bfloat16_is_named_alike() -> None:
    for dtype in ("bfloat16", kw.bfloat16):
        for made in (kw.Tensor(ONES, dtype), kw.Tensor(ONES).astype(dtype), kw.ops.cast(ONES, dtype)):
            assert made.dtype.name == "bfloat16"


def test_tensors_of_one_number_are_formatted() -> None:
    assert f"{kw.Tensor(np.array(2.0)):.3f} {kw.Tensor(np.array(7)):04d}" == "2.000 0007"
    assert f"{kw.Tensor(ONES)}" == str(ONES)
    told = raised(TypeError, lambda: f"{kw.Tensor(ONES):.3f}")
    assert told == "unsupported format string passed to numpy.ndarray.__format__"


def test_bool_of_the_language_may_be_imported(recwarn: pytest.WarningsRecorder) -> None:
    truth = kw.kernel(holds_truth)
    assert truth(np.arange(3)).tolist() == [False, True, True] and not recwarn.list


def holds_truth(x):
    y = output_tensor(x.shape, "bool")
    for i in range(x.shape[0]):
        y[i] = bool_(x[i])
    return y
