"""Measures one kernel for one set of arguments: compilation, calls, runs, and its share of the limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .. import _core, testing
from .._core import Kernel
from .._threads import threads, threads_set_to
from ..argument_types import described, examples
from ..errors import KernelError
from ..kernel import kernel as make_kernel
from .limits import arithmetic_limit, best_rate, memory_movers
from .timing import Candidate, Timing, time_calls

_SMALL = 3e6
"""The most operations and elements for which CPython's own loops are timed: some 0.3 s."""


@dataclass(frozen=True)
class Work:
    """What a call computes and moves: floating-point operations by dtype, and bytes of elements, each once.

    `unknown` says why the operations are not known, `at_most` why a count may be too high; "" if it is exact.
    """

    float32: float
    float64: float
    bytes_read: float
    bytes_written: float
    unknown: str
    at_most: str

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
    """The part of the limit that a run reaches, and which limit is nearer: "memory" or "arithmetic"."""

    of_limit: float
    limit: str


@dataclass(frozen=True)
class Peer:
    """Another implementation of the same function: its time, or why there is none."""

    timing: Timing | None
    problem: str = ""
    agrees: bool = True


@dataclass(frozen=True)
class Result:
    """All figures of one kernel for one set of arguments; times in seconds.

    `compiled` is the compilation in a process that has compiled before, `loaded` the same from the disk
    cache, `call` a call with the smallest arguments of these types; NaN where there is none. `one` and `all`
    are runs by one thread and by `threads`.
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

    def over(self, peer: str) -> float:
        """Returns how many times as fast the kernel is as a peer; NaN if that has no time."""
        timing = self.peers[peer].timing
        return timing.median / self.all.median if timing else math.nan

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


def _copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.array(a, copy=True) if isinstance(a, np.ndarray) else a for a in arguments)


def _compile_times(kernel: Kernel, arguments: tuple[Any, ...]) -> tuple[float, float]:
    """Returns the seconds of a compilation, and of loading what it stored."""
    function, options = _core.function_of(kernel), _core.options_of(kernel)

    def once() -> float:
        made = make_kernel(**options)(function)
        rows = [row for row in _core.warm(made, arguments, {}, ["host"]) if row[1] == "main"]
        for row in rows:
            keys.add(row[2])
        return float(sum(row[4] for row in rows)) / 1e3

    keys: set[str] = set()
    try:
        once()
        for key in keys:
            _core.cache_remove(key)
        return once(), once()
    except (KernelError, OSError):  # KW_FROZEN, for one
        return math.nan, math.nan


def _call_time(kernel: Kernel, types: list[str]) -> float:
    """Returns the seconds of a call with the smallest arguments; NaN if the kernel does not take them."""
    arguments = tuple(examples(types))
    try:
        kernel(*arguments)
    except Exception:
        return math.nan
    return time_calls({"": Candidate(lambda: kernel(*arguments))}, 0.05)[""].median


def work_of(kernel: Kernel, arguments: tuple[Any, ...]) -> tuple[Work, list[str]]:
    """Returns what a call of the kernel computes and moves, and the types of its arguments."""
    n = _core.count(kernel, arguments, {})
    work = Work(
        n["float32"], n["float64"], n["bytes_read"], n["bytes_written"], n["unknown_operations"], n["at_most"]
    )
    return work, described(n["types"][: len(arguments)])  # captured arrays are behind them


def _run_times(candidate: Candidate, work: Work, count: int, seconds: float) -> tuple[Timing, Share | None]:
    """Times the runs by `count` threads, in turn with loops that move as many bytes. Returns also the share
    of the limit: None if nothing is moved or computed, or the count may be too high.
    """
    is_counted = not work.at_most
    movers = memory_movers(int(work.bytes_read), int(work.bytes_written)) if is_counted and work.bytes else {}
    with threads_set_to(count):
        timings = time_calls({"": candidate, **movers}, seconds)
    limits = {"memory": work.bytes / best_rate(movers, timings) if movers else 0.0, "arithmetic": 0.0}
    if is_counted and not work.unknown:
        for dtype in ("float32", "float64"):
            if operations := getattr(work, dtype):
                limits["arithmetic"] += operations / arithmetic_limit(dtype, count)
    nearer = max(limits, key=lambda name: limits[name])
    run = timings[""]
    return run, Share(limits[nearer] / run.median, nearer) if limits[nearer] else None


def _peer_times(
    peers: Mapping[str, Callable[..., Any] | str], arguments: tuple[Any, ...], wanted: Any, seconds: float
) -> dict[str, Peer]:
    """Times other implementations; a text in place of one says why there is none."""
    out: dict[str, Peer] = {}
    for name, function in peers.items():
        if isinstance(function, str):
            out[name] = Peer(None, function)
            continue
        own = _copied(arguments)
        try:
            agrees = _agree(function(*own), wanted)
            candidate = Candidate(lambda f=function: f(*own))  # type: ignore[misc]  # noqa: B023
            out[name] = Peer(time_calls({"": candidate}, seconds)[""], "", agrees)
        except Exception as error:
            out[name] = Peer(
                None,
                f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}",
            )
    return out


def _agree(found: Any, wanted: Any) -> bool:
    try:
        testing.assert_close(found, wanted, rtol=1e-3, atol=1e-3, same_dtype=False)
    except (AssertionError, TypeError):
        return False
    return True


def bench(
    kernel: Kernel,
    arguments: tuple[Any, ...],
    *,
    peers: Mapping[str, Callable[..., Any] | str] | None = None,
    python: bool = True,
    seconds: float = 0.3,
) -> Result:
    """Measures a kernel. `peers` are other implementations by their names; `python` adds CPython's own loops
    where they are short. Each time takes about `seconds`. Arguments that the kernel writes are copied before
    each call. Raises what a call raises.
    """
    arguments = _copied(arguments)
    own = _copied(arguments)
    wanted = kernel(*own)
    results = wanted if isinstance(wanted, tuple) else (wanted,)
    written = [i for i, a in enumerate(own) if any(r is a for r in results)]

    def reset() -> None:
        for i in written:
            np.copyto(own[i], arguments[i])

    wanted = _copied(results) if isinstance(wanted, tuple) else _copied(results)[0]
    candidate = Candidate(lambda: kernel(*own), reset if written else None)
    count = threads()
    work, types = work_of(kernel, arguments)
    one, share_one = _run_times(candidate, work, 1, seconds)
    all_threads, share_all = _run_times(candidate, work, count, seconds) if count > 1 else (one, share_one)
    others = dict(peers or {})
    if python and not work.unknown and work.operations + work.bytes / 8 <= _SMALL:
        others["CPython"] = kernel.py
    compiled, loaded = _compile_times(kernel, arguments)
    return Result(
        kernel=kernel.__name__,
        types=types,
        shapes=[tuple(np.shape(a)) if isinstance(a, np.ndarray) else a for a in arguments],
        target=_core.target_class(),
        threads=count,
        compiled=compiled,
        loaded=loaded,
        call=_call_time(kernel, types),
        one=one,
        all=all_threads,
        work=work,
        share_one=share_one,
        share_all=share_all,
        peers=_peer_times(others, arguments, wanted, seconds) if others else {},
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
