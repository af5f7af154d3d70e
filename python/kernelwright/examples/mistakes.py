"""The kernels of `make demo-errors`, each with a mistake that newcomers make."""

import kernelwright as kw


@kw.kernel
def two_typing_errors(a):
    c = output_tensor(a.shape, a.dtype)
    top = maximum(a[0], a[1])
    for i in range(a.shape[0]):
        c[i] = sqr(a[i]) + top
    return c


@kw.kernel
def python_habits(a):
    c = output_tensor((1,), a.dtype)
    c[0] = sum(a)
    return c


@kw.kernel
def numpy_habits(a):
    c = output_tensor(a.shape, a.dtype)
    c[1:] = a[:-1]
    return c


@kw.kernel
def float_index(a):
    c = output_tensor((1,), a.dtype)
    c[0] = a[a.shape[0] / 2]
    return c


@kw.kernel
def too_bright(image):
    for i, j in grid(image.shape):
        image[i, j] = image[i, j] + 300
    return image


@kw.kernel
def two_dtypes(a, b):
    c = output_tensor((1,), b.dtype)
    s = a[0]
    for i in range(b.shape[0]):
        s = s + b[i]
    c[0] = s
    return c


@kw.kernel
def forgotten_input(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
        a[i] = 0.0
    return c


@kw.kernel
def one_step_too_far(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i + 1] - a[i]
    return c


def neighbours(a, i):
    return a[i - 1] + a[i + 1]


@kw.kernel
def far_inside_a_helper(a, n):
    c = output_tensor(a.shape, a.dtype)
    for i in range(1, n):
        c[i] = neighbours(a, i)
    return c


@kw.kernel
def missing_start_value(a):
    c = output_tensor((a.shape[0],), a.dtype)
    for i, j in grid(a.shape):
        c[i] = max(c[i], a[i, j])
    return c
