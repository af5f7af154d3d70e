"""Loops whose lanes read every second to fourth element, in windows of neighbours and alone.

The extents leave rests of all sizes, rows that are shorter than a register and rows of which the last window
ends where the array does.
"""
# ruff: noqa: F821
# mypy: ignore-errors

from corpus import case, floats, ints


@case(lambda rng: (floats(rng, 5, 6, 58),))
def largest_of_windows(x):
    """Two by two elements become one."""
    y = output_tensor((x.shape[0], x.shape[1] // 2, x.shape[2] // 2), x.dtype)
    for c in range(x.shape[0]):
        for h in range(x.shape[1] // 2):
            for w in range(x.shape[2] // 2):
                top = x[c, 2 * h, 2 * w]
                for p in range(2):
                    for q in range(2):
                        top = max(top, x[c, 2 * h + p, 2 * w + q])
                y[c, h, w] = top
    return y


@case(lambda rng: (floats(rng, 211),))
def every_second(x):
    """One load alone: between its last lane and the end of the array lies nothing."""
    y = output_tensor(((x.shape[0] + 1) // 2,), x.dtype)
    for i in range((x.shape[0] + 1) // 2):
        y[i] = x[2 * i] * 0.5
    return y


@case(lambda rng: (floats(rng, 334, dtype="float64"),))
def outer_thirds(x):
    """A window with a hole, in 64 bits."""
    y = output_tensor((x.shape[0] // 3,), x.dtype)
    for i in range(x.shape[0] // 3):
        y[i] = x[3 * i] - x[3 * i + 2]
    return y


@case(lambda rng: (ints(rng, 259, low=0, high=200, dtype="uint8"),))
def quarters_from_the_end(x):
    """Lane 0 is the last in memory; bytes."""
    y = output_tensor((x.shape[0] // 4,), x.dtype)
    n = x.shape[0]
    for i in range(x.shape[0] // 4):
        y[i] = x[n - 1 - 4 * i] // 2 + x[n - 3 - 4 * i] // 2
    return y


@case(lambda rng: (floats(rng, 9, 67), floats(rng, 5)))
def filter_of_every_second(x, f):
    """More taps than a step is long."""
    n = (x.shape[1] - 5) // 2 + 1
    y = output_tensor((x.shape[0], n), x.dtype)
    for i in range(x.shape[0]):
        for j in range(n):
            y[i, j] = (
                x[i, 2 * j] * f[0]
                + x[i, 2 * j + 1] * f[1]
                + x[i, 2 * j + 2] * f[2]
                + x[i, 2 * j + 3] * f[3]
                + x[i, 2 * j + 4] * f[4]
            )
    return y


@case(lambda rng: (ints(rng, 7, 45, 3, low=0, high=256, dtype="uint8"),))
def grey_of_colours(image):
    """Rows are as long as the columns that are named."""
    y = output_tensor((image.shape[0], image.shape[1]), "float32")
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            y[i, j] = float32(image[i, j, 0]) * 0.25 + float32(image[i, j, 1]) * 0.5 + float32(image[i, j, 2])
    return y


@case(lambda rng: (floats(rng, 77, 5),))
def rows_longer_than_named(p):
    """Two columns are named, and there are five."""
    y = output_tensor((p.shape[0],), p.dtype)
    for i in range(p.shape[0]):
        y[i] = p[i, 0] * p[i, 1] + p[i, 0]
    return y


@case(lambda rng: (floats(rng, 129), ints(rng, 70)))
def under_a_condition(x, flags):
    """Lanes that do not run read nothing, whatever else reads the window."""
    y = output_tensor((x.shape[0] // 2,), x.dtype)
    for i in range(x.shape[0] // 2):
        y[i] = x[2 * i]
        if flags[i] > 0:
            y[i] = x[2 * i + 1] * 2.0 + x[2 * i]
        elif flags[i] < -4:
            y[i] = -x[2 * i + 1]
    return y


@case(lambda rng: (floats(rng, 150),), mutates=(0,))
def halves_moved_down(x):
    """What is read is written, at other places."""
    for i in range(x.shape[0] // 2):
        t = x[2 * i] + x[2 * i + 1]
        x[i] = t
    return x


@case(lambda rng: (floats(rng, 40, 26, 2),))
def lengths_in_lanes(z):
    """A sum in lanes over pairs, and the largest of each row."""
    y = output_tensor((z.shape[0], 2), z.dtype)
    for i in range(z.shape[0]):
        total = 0.0
        top = z[i, 0, 0]
        for j in range(z.shape[1]):
            total += z[i, j, 0] * z[i, j, 0] + z[i, j, 1] * z[i, j, 1]
            top = max(top, z[i, j, 1])
        y[i, 0] = total
        y[i, 1] = top
    return y


@case(lambda rng: (floats(rng, 12, 21), floats(rng, 12, 21)))
def rest_of_rows_twice(a, b):
    """Short rows whose last register begins within the one before."""
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = max(a[i, j], b[i, j]) // 2.0 if a[i, j] > 0.0 else b[i, j]
    return c


@case(lambda rng: (ints(rng, 90, low=-99, high=99),))
def shifts_for_divisions(x):
    """Powers of two, of values on both sides of zero."""
    y = output_tensor((x.shape[0], 3), x.dtype)
    for i in range(x.shape[0]):
        y[i, 0] = x[i] // 8
        y[i, 1] = x[i] % 8
        y[i, 2] = x[i // 2] // 1 + x[i] % 1
    return y
