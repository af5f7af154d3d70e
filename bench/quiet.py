"""Samples from moments at which nothing else slows the machine.

A short loop of Python is timed before and after every sample; a sample between slow loops is taken again.
What is measured has no say in that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SLOWER = 1.15
pulses: list[float] = []  # milliseconds of every loop
samples = {"kept": 0, "disturbed": 0}


def pulse() -> float:
    begin = time.perf_counter()
    total = 0
    for i in range(20_000):
        total += i
    pulses.append((time.perf_counter() - begin) * 1e3)
    return pulses[-1]


def undisturbed(measure: Callable[[], T], patience: float = 0.4) -> T:
    """What `measure` gives between two loops that take at most 1.15 times the fastest so far.

    On a machine that is not that quiet for `patience` seconds, the last try.
    """
    while len(pulses) < 100:
        pulse()
    until = time.perf_counter() + patience
    while True:
        before = pulse()
        value = measure()
        if max(before, pulse()) <= SLOWER * min(pulses):
            samples["kept"] += 1
            return value
        samples["disturbed"] += 1
        if time.perf_counter() > until:
            return value
