"""Measures one kernel for one set of arguments: compilation, calls, runs, and its share of the limit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .. import _core, testing
from .._core import Kernel
from .._threads import threads, threads_set_to
from ..argument_types import described, examples
from .copies import copied
from .first import first_times
from .limits import Calculator, Mover, best_rate, calculator, memory_movers
from .timing import Candidate, Timing, time_calls, time_slow

_SMALL = 1e5
"""The most assignments of a call for which CPython's own loops are timed: a second, at 5 to 15 us each."""

WHOLE = 1.005
"""The largest share of a limit that is printed as 100 %."""

_ATTEMPTS = 3
"""How often runs are measured until their share of the limit is possible. Chosen."""

_MOST_OVER_LIMIT = 1.15
"""A kernel may be that much faster than the loops of the limit, whose arrays lie elsewhere in the caches:
1.08 was seen where the parts of two threads just fit theirs. More is a disturbed measurement.
"""

_LEAST_OVER_CALL = 3.0
"""A run of fewer times what a call with minimal arguments takes is mostly that call, and has no share of the
limit. Chosen.
"""


@dataclass(frozen=True)
class Work:
    """What a call computes and moves: floating-point operations by dtype, and bytes of elements, each once.

    `statements` are assignments that are executed. `unknown` says why operations and statements are not
    known, `at_most_operations` and `at_most_bytes` why a count may be too high; "" if it is exact.
    """

    float32: float
    float64: float
    bytes_read: float
    bytes_written: float
    statements: float = 0.0
    unknown: str = ""
    at_most_operations: str = ""
    at_most_bytes: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether all counts are known and exact."""
        return not (self.unknown or self.at_most_operations or self.at_most_bytes)

    @property
    def operations(self) -> float:
        """The floating-point operations; NaN if they are not known."""
        return math.nan if self.unknown else self.float32 + self.float64

    @property
    def bytes(self) -> float:
        """The bytes that are read and written."""
        return self.bytes_read + self.bytes_written


@dataclass(frozen=True)
class Share:
    """The part of the limit that a run reaches; which limit is nearer, "memory" or "arithmetic"; and what it
    was, in bytes or operations per second.
    """

    of_limit: float
    limit: str
    rate: float = math.nan


@dataclass(frozen=True)
class Peer:
    """Another implementation of the same function: its time, or why there is none. `agrees` is false if its
    result differs, or it has none.
    """

    timing: Timing | None
    problem: str = ""
    agrees: bool = True


@dataclass(frozen=True)
class Result:
    """All figures of one kernel for one set of arguments; times in seconds.

    `compiled` is the first compilation of a process, `loaded` the same from the disk cache in a new
    process, `call` a call with the smallest arguments of these types; NaN where there is none. `one` and
    `all` are runs by one thread and by `threads`. A share is None if a count is not exact, or the run is
    hardly longer than a call.
    """

    kernel: str
    types: list[str]
    shapes: list[tuple[int, ...] | float]
    target: str
    threads: int
    compiled: float
    loaded: float
    call: float
    one: Timing
    all: Timing
    work: Work
    share_one: Share | None
    share_all: Share | None
    peers: dict[str, Peer] = field(default_factory=dict)

    @property
    def gigabytes(self) -> float:
        """Gigabytes per second of the run by all threads."""
        return self.work.bytes / self.all.median / 1e9

    @property
    def gigaflops(self) -> float:
        """Floating-point operations per nanosecond of the run by all threads; NaN if they are not known."""
        return self.work.operations / self.all.median / 1e9

    def __str__(self) -> str:
        from .report import text_of

        return text_of(self)

    def over(self, peer: str, *, threads: int = 0) -> float:
        """Returns how many times as fast the kernel is as a peer, by all threads or by 1; NaN if the peer has
        no time.
        """
        timing, run = self.peers[peer].timing, self.one if threads == 1 else self.all
        return timing.median / run.median if timing else math.nan

    def as_dict(self) -> dict[str, Any]:
        """Returns the figures as plain data, for JSON. NaN becomes None."""
        derived = {"gigabytes_per_second": self.gigabytes, "gigaflops": self.gigaflops}
        return _plain({**asdict(self), **derived})  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _call_time(kernel: Kernel, types: list[str]) -> float:
    """Returns the seconds of a call with the smallest arguments; NaN if the kernel does not take them."""
    arguments = tuple(examples(types))
    for a in arguments:
        if isinstance(a, np.ndarray):
            a[...] = 0
    try:
        kernel(*arguments)
    except Exception:
        return math.nan
    return time_calls({"": Candidate(lambda: kernel(*arguments))}, 0.05)[""].median


def work_of(kernel: Kernel, arguments: tuple[Any, ...]) -> tuple[Work, list[str]]:
    """Returns what a call of the kernel computes and moves, and the types of its arguments."""
    n = _core.count(kernel, arguments, {})
    work = Work(
        n["float32"],
        n["float64"],
        n["bytes_read"],
        n["bytes_written"],
        n["statements"],
        n["unknown_operations"],
        n["at_most_operations"],
        n["at_most_bytes"],
    )
    return work, described(n["types"][: len(arguments)])  # captured arrays are behind them


def _run_times(candidate: Candidate, work: Work, count: int, seconds: float) -> tuple[Timing, Share | None]:
    """Times the runs and their share of the limit, as `_measured`. A share above the whole is a fault of the
    measurement, which is then repeated. Where it stays a little above, the kernel itself is the fastest that
    this machine was seen to be with so many bytes or operations: it is the limit.
    """
    for _ in range(_ATTEMPTS):
        run, share = _measured(candidate, work, count, seconds)
        if share is None or share.of_limit <= WHOLE:
            return run, share
    if share and share.of_limit <= _MOST_OVER_LIMIT:
        share = Share(1.0, share.limit, share.rate * share.of_limit)
    return run, share


def _measured(candidate: Candidate, work: Work, count: int, seconds: float) -> tuple[Timing, Share | None]:
    """Times the runs by `count` threads, in turn with loops that move as many bytes, and with multiply-adds,
    so that what disturbs the machine disturbs the limit, too. Returns also the share of the limit: None if
    nothing is moved or computed, or the counts may be too high.
    """
    movers: dict[str, Mover] = {}
    if work.bytes and not work.at_most_bytes:
        movers = memory_movers(int(work.bytes_read), int(work.bytes_written), count)
    calculators: dict[str, Calculator] = {}
    if not work.unknown and not work.at_most_operations:
        calculators = {d: calculator(d, count) for d in ("float32", "float64") if getattr(work, d)}
    with threads_set_to(count):
        timings = time_calls({"": candidate, **movers, **calculators}, seconds)
    rates = {d: loop.operations / timings[d].median for d, loop in calculators.items()}
    run = timings[""]
    limits = []
    if movers:
        rate = best_rate(movers, timings)
        limits.append((work.bytes / rate, "memory", rate))
    if rates:
        least = sum(getattr(work, dtype) / rate for dtype, rate in rates.items())
        limits.append((least, "arithmetic", work.operations / least))
    if not limits:
        return run, None
    least, limit, rate = max(limits)
    return run, Share(least / run.median, limit, rate)


class _Call:
    """One set of arguments for repeated calls: what they write is restored before each of them."""

    def __init__(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], written: Sequence[int]
    ) -> None:
        self.function, self.arguments, self.written = function, arguments, written
        self.own = copied(arguments)

    def reset(self) -> None:
        for i in self.written:
            np.copyto(self.own[i], self.arguments[i])

    def results(self) -> Any:
        """Calls once; what a function without a result has written is its result."""
        self.reset()
        found = self.function(*self.own)
        if found is None and self.written:
            found = tuple(self.own[i] for i in self.written)
            found = found[0] if len(found) == 1 else found
        return found

    def candidate(self) -> Candidate:
        repeat = getattr(self.function, "repeat", None)
        return Candidate(
            lambda: self.function(*self.own),
            self.reset if self.written else None,
            (lambda count: repeat(count, *self.own)) if repeat and not self.written else None,
        )


def _first_line(error: Exception) -> str:
    """Returns the line of a message that tells most: Numba's first one names only a step."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("Failed in nopython mode pipeline")]
    return (told or lines or [""])[0]


def _peer_time(
    function: Callable[..., Any] | str,
    arguments: tuple[Any, ...],
    written: Sequence[int],
    wanted: Any,
    seconds: float,
) -> Peer:
    """Times another implementation; a text in place of one says why there is none. The first call, which may
    compile, is not timed; what is slow is timed once.
    """
    if isinstance(function, str):
        return Peer(None, function)
    call = _Call(function, arguments, written)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the kernel gives none either
            agrees = _agree(call.results(), wanted)
            timing = time_slow(call.candidate(), 0.0)
            if timing.median < seconds:
                timing = time_calls({"": call.candidate()}, seconds)[""]
        return Peer(timing, "", agrees)
    except Exception as error:
        return Peer(None, f"{type(error).__name__}: {_first_line(error)}", False)


def _agree(found: Any, wanted: Any) -> bool:
    try:
        testing.assert_close(found, wanted, rtol=1e-3, atol=1e-3, same_dtype=False)
    except (AssertionError, TypeError):
        return False
    return True


def _scalar(value: Any) -> float:
    return value.item() if isinstance(value, np.generic) else value  # type: ignore[no-any-return]


def bench(
    kernel: Kernel,
    arguments: tuple[Any, ...],
    *,
    peers: Mapping[str, Callable[..., Any] | str] | None = None,
    python: bool = True,
    seconds: float = 0.3,
    tell: Callable[[str], None] = lambda what: None,
) -> Result:
    """Measures a kernel. `peers` are other implementations by their names; `python` adds CPython's own loops
    where they are short. Each time takes about `seconds`. Arguments that the kernel writes are restored
    before each call. `tell` is called with the name of what is measured next. Raises what a call raises.
    """
    tell("the first call")
    first = copied(arguments)
    found = kernel(*first)
    results = found if isinstance(found, tuple) else (found,)
    written = [i for i, a in enumerate(first) if any(r is a for r in results)]
    wanted = copied(results) if isinstance(found, tuple) else copied(results)[0]
    call = _Call(kernel, arguments, written)
    work, types = work_of(kernel, arguments)
    call_time = _call_time(kernel, types)

    def runs(count: int) -> tuple[Timing, Share | None]:
        tell(f"{count} thread{'s' if count > 1 else ''}")
        run, share = _run_times(call.candidate(), work, count, seconds)
        is_long = not run.median < _LEAST_OVER_CALL * call_time
        return run, share if is_long else None

    one, share_one = runs(1)
    all_threads, share_all = runs(threads()) if threads() > 1 else (one, share_one)
    others = dict(peers or {})
    if python and not work.unknown and work.statements <= _SMALL:
        others["CPython"] = kernel.py
    timed = {}
    for name, function in others.items():
        tell(name)
        timed[name] = _peer_time(function, arguments, written, wanted, seconds)
    tell("the first compilation")
    compiled, loaded = first_times(kernel, arguments)
    return Result(
        kernel=kernel.__name__,
        types=types,
        shapes=[tuple(np.shape(a)) if isinstance(a, np.ndarray) else _scalar(a) for a in arguments],
        target=_core.target_class(),
        threads=threads(),
        compiled=compiled,
        loaded=loaded,
        call=call_time,
        one=one,
        all=all_threads,
        work=work,
        share_one=share_one,
        share_all=share_all,
        peers=timed,
    )


def bench_with_texts(
    kernel: Kernel,
    given: tuple[Any, ...],
    *,
    peers: Mapping[str, Callable[..., Any]] | None,
    numba: bool,
    python: bool,
    seconds: float,
) -> Result:
    """Measures a kernel for arguments, or texts of their types and sizes."""
    from .inputs import arguments_with_values
    from .peers import numba_function

    texts = [a for a in given if isinstance(a, str)]
    made = iter(arguments_with_values(texts))
    arguments = tuple(next(made) if isinstance(a, str) else a for a in given)
    others: dict[str, Callable[..., Any] | str] = dict(peers or {})
    if numba:
        others["Numba"] = numba_function(kernel)
    return bench(kernel, arguments, peers=others, python=python, seconds=seconds)
