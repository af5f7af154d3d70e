"""What custom operators and their gradients cost beyond the kernels that they run; nanoseconds as JSON.

Kernels and operators take turns in each round, so that both see the same machine.
"""

from __future__ import annotations

import json
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
from quiet import undisturbed

import kernelwright as kw
import kernelwright.mindspore as ms
from kernelwright.mindspore import ops

ROUNDS, CALLS, PATIENCE = 15, 3000, 1.0


def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] + b[i, j]
    return c


def add_grad(a, b, dout):
    d = output_tensor(a.shape, a.dtype)
    e = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            d[i, j] = dout[i, j]
            e[i, j] = dout[i, j]
    return d, e


def nanoseconds(f: Callable[[], Any], calls: int) -> float:
    return undisturbed(lambda: timeit.timeit(f, number=calls), PATIENCE) / calls * 1e9


def main() -> None:
    x = np.ones((4, 4), np.float32)
    t = ms.Tensor(x)
    bare, bare_back = kw.kernel(add), kw.kernel(add_grad)
    back = ops.Custom(add_grad, lambda s, *_: (s, s), lambda d, *_: (d, d), "akg")
    op = ops.Custom(
        add, lambda s, _: s, lambda d, _: d, "akg", bprop=lambda a, b, out, dout: back(a, b, dout)
    )
    gradient = ms.grad(op, (0, 1))
    bare(x, x), bare_back(x, x, x), op(t, t), gradient(t, t)
    found: dict[str, list[float]] = {"operator": [], "gradient": []}
    for _ in range(ROUNDS):
        kernel = nanoseconds(lambda: bare(x, x), CALLS)
        kernel_back = nanoseconds(lambda: bare_back(x, x, x), CALLS)
        found["operator"].append(nanoseconds(lambda: op(t, t), CALLS) - kernel)
        found["gradient"].append(nanoseconds(lambda: gradient(t, t), CALLS // 10) - kernel - kernel_back)
    print(json.dumps(found))


main()
