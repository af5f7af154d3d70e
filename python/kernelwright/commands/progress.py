"""Progress of long work: a bar in a terminal, else a line every few seconds. Never silent for long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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
    with _Told(doing) as told:
        for done, item in enumerate(items, 1):
            told.text = f"{doing}: {done} of {count}"
            yield item


class _Told:
    """A line that a thread of its own writes every few seconds, because one step may take long."""

    def __init__(self, text: str) -> None:
        self.text, self._is_over = text, threading.Event()
        self._is_terminal = sys.stderr.isatty()
        self._thread = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> _Told:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        if self._is_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _tell(self) -> None:
        begin = time.monotonic()
        while not self._is_over.wait(0.5 if self._is_terminal else _line_every):
            text = f"{self.text}, {time.monotonic() - begin:.0f} s"
            print(
                f"\r\033[K{text}" if self._is_terminal else text,
                end="" if self._is_terminal else "\n",
                file=sys.stderr,
                flush=True,
            )


@contextmanager
def telling(doing: str) -> Iterator[Callable[[str], None]]:
    """Yields a function for the name of each step, and shows on standard error which one runs."""
    with _Told(doing) as told:

        def step(name: str) -> None:
            told.text = f"{doing}: {name}"

        yield step
