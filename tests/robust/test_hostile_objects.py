"""Objects whose protocols raise, lie or recurse, as arguments and as out=: that is an exception."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kernelwright as kw


@kw.kernel
def add(a, b):
    o = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        o[i] = a[i] + b
    return o


@kw.kernel
def both(a, b):
    o = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        o[i] = a[i] + b[i]
    return o


ONES = np.ones(4)


def with_interface(**changes: Any) -> Any:
    interface = {**ONES.__array_interface__, **changes}
    return type("Lies", (), {"__array_interface__": interface, "keeps": ONES})()


def raising(name: str, error: BaseException) -> Any:
    def get(self: Any, *_: Any, **__: Any) -> Any:
        raise error

    return type("Raises", (), {name: property(get)})()


def calling(name: str, value: Callable[..., Any]) -> Any:
    return type("Calls", (), {name: value})()


def endless(self: Any, *_: Any, **__: Any) -> Any:
    return both(self, self)


class Odd(np.ndarray):  # type: ignore[type-arg]
    """Of NumPy's arrays one whose hooks raise."""

    def __array_finalize__(self, obj: Any) -> None:
        if getattr(obj, "armed", False):
            raise RuntimeError("finalize")

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("ufunc")

    def fill(self, value: Any) -> None:
        raise RuntimeError("fill")


class Int(int):
    def __index__(self) -> int:
        raise RuntimeError("index")

    def __int__(self) -> int:
        raise RuntimeError("int")


OBJECTS: dict[str, Any] = {
    "no interface": with_interface(typestr="<f7"),
    "objects": with_interface(typestr="|O8"),
    "text": with_interface(typestr="<U4", shape=(1,)),
    "negative": with_interface(shape=(-1,)),
    "shape of texts": with_interface(shape=("a",)),
    "many dimensions": with_interface(shape=(1,) * 65),
    "odd strides": with_interface(strides=("x",)),
    "no dict": type("L", (), {"__array_interface__": 7})(),
    "raises": raising("__array_interface__", RuntimeError("no")),
    "raises KeyboardInterrupt": raising("__array_interface__", KeyboardInterrupt()),
    "dlpack raises": raising("__dlpack__", RuntimeError("no")),
    "dlpack of nothing": calling("__dlpack__", lambda self, **_: None),
    "dlpack of a device": calling("__dlpack_device__", lambda self: (2, 0)),
    "recurses": calling("__dlpack__", endless),
    "int that raises": Int(3),
    "list": [1.0],
    "none": None,
    "class": int,
    "complex": 1j,
    "huge": 10**400,
    "nan array": np.array(np.nan, dtype=object),
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("as_out", [False, True])
def test_objects_that_lie_or_raise(name: str, as_out: bool) -> None:
    with pytest.raises(BaseException) as caught:
        both(ONES, ONES, out=OBJECTS[name]) if as_out and name != "none" else both(ONES, OBJECTS[name])
    assert not isinstance(caught.value, kw.InternalError), caught.value
    assert (both(ONES, ONES) == 2).all()


def test_an_array_whose_hooks_raise() -> None:
    odd = np.ones(8)[::2].view(Odd)
    odd.armed = True
    with contextlib.suppress(RuntimeError):
        assert (both(odd, ONES) == 2).all()
    out = np.ones(4).view(Odd)
    assert (both(ONES, ONES, out=out).view(np.ndarray) == 2).all()


def test_an_int_that_raises_as_a_scalar() -> None:
    with pytest.raises((RuntimeError, kw.KernelTypeError)):
        add(ONES, Int(3))
    assert (add(ONES, 3) == 4).all()
