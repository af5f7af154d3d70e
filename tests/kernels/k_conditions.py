"""Conditions that were evaluated before what they read has changed, and conditions that hold nowhere.

The loop below such a condition uses what is read anew: of it the condition says nothing.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import case, floats, ints


@case(lambda rng: (np.zeros(300), 1), mutates=(0,), exact=True)
def condition_on_a_number_that_changes(y, s):
    """Each element follows from the one before, since the number is no longer 0."""
    c = 0
    for t in range(3):
        if c == 0:
            c += s
            for i in range(y.shape[0] - 2):
                y[i + c] = y[i] + 1.0
    return y


@case(lambda rng: (np.zeros(300), np.zeros(1, "int64")), mutates=(0, 1), exact=True)
def condition_on_memory_that_changes(y, p):
    if p[0] == 0:
        p[0] = 1
        for i in range(y.shape[0] - 2):
            y[i + p[0]] = y[i] + 1.0
    return y, p


@case(lambda rng: (np.zeros(300), np.zeros(1, "int64")), mutates=(0, 1), exact=True)
def condition_on_memory_that_changes_behind_the_loop(y, p):
    """Inside a loop around it, so that the second time is another one."""
    if p[0] == 0:
        for t in range(3):
            for i in range(y.shape[0] - 4):
                y[i + p[0]] = y[i] + 1.0
            p[0] += 1
    return y, p


@case(lambda rng: (np.zeros((70, 64)), np.zeros(2, "int64")), mutates=(0, 1), exact=True)
def condition_with_several_parts(y, p):
    """One part is about a size and stays true; the others are about memory."""
    if y.shape[0] > 4 and not (p[0] != 0 or p[1] > 3):
        p[0] = 1
        for i in range(y.shape[0] - 2):
            for j in range(y.shape[1]):
                y[i + p[0], j] = y[i, j] + 1.0
    return y, p


@case(lambda rng: (np.zeros((70, 64)), np.array([5, 0])), mutates=(0, 1), exact=True)
def branch_not_taken_on_memory_that_changes(y, p):
    if p[0] < 5:
        p[1] = 2
    else:
        p[0] = 1
        for i in range(y.shape[0] - 5):
            for j in range(y.shape[1]):
                y[i + p[0], j] = y[i, j] + 1.0
    return y, p


@case(lambda rng: (ints(rng, 10, 300, dtype="float64"), np.zeros(4), 1 << 40), mutates=(1,), exact=True)
def guard_between_loops_of_a_sum(x, y, m):
    """The element does not exist, and no iteration asks for it."""
    for i in range(x.shape[0]):
        if m < y.shape[0]:
            for j in range(x.shape[1]):
                y[m] += x[i, j]
    return y


@case(lambda rng: (ints(rng, 10, 300, dtype="float64"), np.zeros(4), 1 << 40), mutates=(1,), exact=True)
def guards_around_each_loop_of_a_sum(x, y, m):
    for i in range(x.shape[0]):
        if m < y.shape[0] or i > 99:
            for j in range(x.shape[1]):
                if x[i, j] > 0.0 or m < 4:
                    y[m] += x[i, j]
    return y


@case(lambda rng: (floats(rng, 10, 3), np.array([1]), floats(rng, 2, 10)), mutates=(2,))
def row_by_an_element(p, q, y):
    """The row of the result is read again in each iteration."""
    for j in range(p.shape[0]):
        k = q[0]
        y[k, j] = p[j, 0] * p[j, 1] + p[j, 2]
    return y


@case(lambda rng: tuple(ints(rng, 12, dtype="float64") for _ in range(3)), mutates=(1, 2), warns=("W301",))
def temporary_that_a_condition_writes(x, s, y):
    """The loop is cut at the condition; both parts read the temporary."""
    t = allocate((1,), x.dtype)
    for k in range(x.shape[0]):
        for j in range(x.shape[0]):
            if j == k:
                t[0] = x[j]
            y[j] = y[j] + y[k] * t[0]
    a2 = allocate(x.shape, x.dtype)
    for i in range(x.shape[0]):
        a2[i] = x[i] + 1.0
    for i in range(x.shape[0]):
        s[i] = a2[i] + x[i]
    return s, y
