"""Progress of long work: a bar in a terminal, else a line every few seconds. Never silent for long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_line_every = 5.0  # seconds, below the ten after which a user wonders


def progress(items: Iterable[T], count: int, doing: str) -> Iterator[T]:
    """Yields the items, and shows on standard error how many of `count` are done. `doing` says what is done:
    "compiling".
    """
    bar = _bar() if sys.stderr.isatty() else None
    return _with_lines(items, count, doing) if bar is None else _with_bar(items, count, doing, bar)


def _bar() -> Any:
    """Returns a progress bar of rich; None without rich."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        return None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _with_bar(items: Iterable[T], count: int, doing: str, bar: Any) -> Iterator[T]:
    with bar:
        task = bar.add_task(doing, total=count)
        for item in items:
            bar.advance(task)
            yield item


def _with_lines(items: Iterable[T], count: int, doing: str) -> Iterator[T]:
    told = time.monotonic()
    for done, item in enumerate(items, 1):
        if time.monotonic() - told > _line_every:
            told = time.monotonic()
            print(f"{doing}: {done} of {count}", file=sys.stderr, flush=True)
        yield item
