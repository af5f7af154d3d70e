"""A custom operator in MindSpore's interface: rows of a layer's output, biased, squashed and normalised in
one kernel.
"""

import mindspore as ms
import numpy as np
from mindspore import ops

ms.set_context(device_target="CPU")


def biased_softsign_norm(x, bias):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            v = x[i, j] + bias[j]
            y[i, j] = v / (1.0 + abs(v))
            total += y[i, j] * y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / sqrt(total + 1e-6)
    return y


if __name__ == "__main__":
    op = ops.Custom(biased_softsign_norm, out_shape=lambda x, b: x, out_dtype=lambda x, b: x, func_type="akg")
    x = np.linspace(-2.0, 2.0, 8).reshape(2, 4).astype(np.float32)
    bias = np.array([0.5, 0.0, -0.5, 1.0], np.float32)
    print(op(ms.Tensor(x), ms.Tensor(bias)))
