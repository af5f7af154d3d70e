"""Samples from moments at which nothing else slows the machine.

A short loop of Python is timed before and after every sample, in the process that takes it; a sample beside a
slow loop is taken again. What is measured has no say in that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SLOWER = 1.15
pulses: list[float] = []  # milliseconds of every loop
samples = {"kept": 0, "settled": 0, "dropped": 0}  # beside quiet loops, the calmest of several, not used


def pulse() -> float:
    """Milliseconds of the loop."""
    begin = time.perf_counter()
    total = 0
    for i in range(20_000):
        total += i
    return (time.perf_counter() - begin) * 1e3


def undisturbed(measure: Callable[[], T], patience: float = 0.4) -> T:
    """What `measure` gives between two loops that take at most 1.15 times the fastest so far.

    On a machine that is not that quiet for `patience` seconds, the try beside the fastest loops.
    """

    def sample() -> tuple[T, list[float]]:
        before = pulse()
        return measure(), [before, pulse()]

    return undisturbed_sample(sample, patience)


def undisturbed_sample(sample: Callable[[], tuple[T, list[float]]], patience: float) -> T:
    """The same of a sample that brings the loops beside it, as those of another process do."""
    while len(pulses) < 100:
        pulses.append(pulse())
    until = time.perf_counter() + patience
    calmest, found = float("inf"), None
    while found is None or time.perf_counter() < until:
        samples["dropped"] += found is not None  # of two tries one goes
        value, beside = sample()
        pulses.extend(beside)
        if max(beside) <= SLOWER * min(pulses):
            samples["kept"] += 1
            return value
        if max(beside) < calmest:
            calmest, found = max(beside), (value,)
    samples["settled"] += 1
    return found[0]
