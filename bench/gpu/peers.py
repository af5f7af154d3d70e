"""The kernels of the gallery by other libraries for GPUs, on the same memory.

PyTorch runs what its users write, eagerly ("torch") and by torch.compile ("compiled", which is Triton). CuPy
and JAX ("cupy", "jax", under jit) run the NumPy formula of a case with their own module in place of NumPy.
Numba runs loops of a few kernels, a thread for each element, or for each row of a sum. A library that is not
installed has no column.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from case import Case

Call = Callable[..., Any]


@dataclass(frozen=True)
class Peer:
    """One library: how it runs a case, and how arrays come to it and back."""

    name: str
    prepare: Callable[[Case], Call | None]  # None where it has nothing to compare
    adopt: Callable[[Any], Any]  # a tensor of ours, on the same memory
    to_numpy: Callable[[Any], np.ndarray[Any, Any]]
    wait: Callable[[Any], None]  # until a result has been computed


def with_module(function: Any, module: Any) -> Call:
    """A function of NumPy with another module for `np`, in the functions that it calls as well."""
    if not isinstance(function, types.FunctionType):
        is_linear = (function.__module__ or "").endswith(".linalg")
        return getattr(module.linalg if is_linear else module, function.__name__)  # np.exp itself
    names: dict[str, Any] = {**function.__globals__, "np": module}

    def rebound(f: types.FunctionType) -> types.FunctionType:
        return types.FunctionType(f.__code__, names, f.__name__, f.__defaults__, f.__closure__)

    for name, value in function.__globals__.items():
        if isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
            names[name] = rebound(value)
    return rebound(function)


def torch_peers() -> list[Peer]:
    import torch

    formulas: dict[str, Call] = {
        "add": lambda a, b: a + b,
        "sum_all": lambda x: x.sum(),
        "sum_rows": lambda x: x.sum(1),
        "sum_columns": lambda x: x.sum(0),
        "max_rows": lambda x: x.amax(1),
        "argmax_rows": lambda x: x.argmax(1),
        "softmax": lambda x: torch.softmax(x, 1),
        "log_softmax": lambda x: torch.log_softmax(x, 1),
        "layernorm": lambda x, gain, shift: torch.nn.functional.layer_norm(x, x.shape[1:], gain, shift),
        "transpose": lambda x: x.T.contiguous(),
        "exponential": torch.exp,
        "cumsum_rows": lambda x: torch.cumsum(x, 1),
        "matvec": lambda a, x: a @ x,
        "gather": lambda x, at: x[at],
        "histogram": lambda x, bins: torch.bincount(x, minlength=bins),
    }

    def wait(_: Any) -> None:
        torch.cuda.synchronize()

    def compiled(case: Case) -> Call | None:
        return torch.compile(formulas[case.name]) if case.name in formulas else None

    def back(result: Any) -> np.ndarray[Any, Any]:
        return np.atleast_1d(result.cpu().numpy())

    return [
        Peer("torch", lambda case: formulas.get(case.name), torch.from_dlpack, back, wait),
        Peer("compiled", compiled, torch.from_dlpack, back, wait),
    ]


def cupy_peers() -> list[Peer]:
    import cupy

    def formula(case: Case) -> Call | None:
        return with_module(case.reference, cupy) if case.numpy else None

    def wait(_: Any) -> None:
        cupy.cuda.Device().synchronize()

    return [Peer("cupy", formula, cupy.from_dlpack, cupy.asnumpy, wait)]


def jax_peers() -> list[Peer]:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else it takes 3/4 of the memory
    import jax

    jax.config.update("jax_enable_x64", True)  # subscripts are i64
    # results are contiguous
    module = types.SimpleNamespace(**{**vars(jax.numpy), "ascontiguousarray": jax.numpy.array})

    def formula(case: Case) -> Call | None:
        if not case.numpy:
            return None
        arguments = case.arguments(next(iter(case.sizes)))
        numbers = [k for k, a in enumerate(arguments) if not isinstance(a, np.ndarray)]
        return jax.jit(with_module(case.reference, module), static_argnums=numbers)

    return [Peer("jax", formula, jax.dlpack.from_dlpack, np.asarray, jax.block_until_ready)]


def numba_peers() -> list[Peer]:
    import numba_loops
    from numba import cuda

    def wait(_: Any) -> None:
        cuda.synchronize()

    return [
        Peer("numba", numba_loops.launcher, lambda t: cuda.as_cuda_array(t), lambda a: a.copy_to_host(), wait)
    ]


def installed() -> list[Peer]:
    """The peers whose library can be imported."""
    peers = []
    for family in (torch_peers, cupy_peers, jax_peers, numba_peers):
        try:
            peers += family()
        except ImportError:
            continue
    return peers
