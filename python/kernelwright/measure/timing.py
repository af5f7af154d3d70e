"""Times of calls: several candidates in turn, so that what slows the machine slows all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_SAMPLE = 2e-3  # seconds of a sample, a thousand times what the clock costs
_FEWEST, _MOST = 5, 100  # samples of a candidate


@dataclass(frozen=True)
class Timing:
    """Seconds of one call, over `samples` samples: the median, the quartiles, and the least."""

    median: float
    low: float
    high: float
    least: float
    samples: int

    @property
    def spread(self) -> float:
        """The distance of the quartiles, as a part of the median."""
        return (self.high - self.low) / self.median if self.median else 0.0


@dataclass(frozen=True)
class Candidate:
    """What is timed. With `reset`, which is not timed, each sample is one call after a reset. `repeat`, if
    given, makes so many calls at less cost than a loop of Python.
    """

    call: Callable[[], Any]
    reset: Callable[[], Any] | None = None
    repeat: Callable[[int], Any] | None = None

    def sample(self, loops: int) -> float:
        """Returns the seconds of one of `loops` calls."""
        call, clock = self.call, time.perf_counter
        if self.reset:
            self.reset()
        else:
            call()  # brings its arrays back into the caches, from which another candidate has pushed them
        begin = clock()
        if self.repeat:
            self.repeat(loops)
        else:
            for _ in range(loops):
                call()
        return (clock() - begin) / loops


def summary(samples: list[float]) -> Timing:
    """Returns the timing of samples, at least one."""
    if len(samples) == 1:
        (only,) = samples
        return Timing(only, only, only, only, 1)
    low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
    return Timing(median, low, high, min(samples), len(samples))


def _loops(candidate: Candidate) -> int:
    """Returns how many calls a sample needs; the first call warms up."""
    candidate.sample(1)
    if candidate.reset:
        return 1
    loops = 1
    while True:
        taken = candidate.sample(loops) * loops
        if taken >= _SAMPLE / 4 or loops >= 1 << 24:
            return max(1, round(loops * _SAMPLE / max(taken, 1e-9)))
        loops *= 8


def time_calls(candidates: Mapping[str, Candidate], seconds: float = 0.3) -> dict[str, Timing]:
    """Times candidates in turn, each for about `seconds` in all, at least five samples."""
    loops = {name: _loops(candidate) for name, candidate in candidates.items()}
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    end = time.perf_counter() + seconds * len(candidates)
    for taken in range(_MOST):
        if taken >= _FEWEST and time.perf_counter() > end:
            break
        for name, candidate in candidates.items():
            samples[name].append(candidate.sample(loops[name]))
    return {name: summary(times) for name, times in samples.items()}


def time_slow(candidate: Candidate, seconds: float) -> Timing:
    """Times what may take long: one call after another until `seconds` are over, at least one."""
    samples: list[float] = []
    begin = time.perf_counter()
    while not samples or (len(samples) < _MOST and time.perf_counter() - begin < seconds):
        if candidate.reset:
            candidate.reset()
        at = time.perf_counter()
        candidate.call()
        samples.append(time.perf_counter() - at)
    return summary(samples)
