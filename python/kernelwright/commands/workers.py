"""A pool of processes that each run one function of kernelwright on values of JSON.

`multiprocessing` would run the main module of the caller again, which may be a script without a guard, and
would not survive a worker that a signal ends.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from queue import SimpleQueue
from typing import Any


class _Worker:
    """A process that answers one line of JSON for each line."""

    def __init__(self, function: str) -> None:
        program = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve({function!r})"
        # not of the terminal's group: Ctrl-C ends the caller, which ends its workers
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def ask(self, value: Any) -> Any:
        """Returns the answer; raises RuntimeError if the process ended."""
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps(value) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise RuntimeError(f"its process ended with status {self._process.wait()}")
        return json.loads(answer)

    def end(self) -> None:
        self._process.communicate()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def serve(function: str) -> None:
    """Runs "module:name" for each line of standard input, in the worker."""
    module, name = function.split(":")
    call = getattr(importlib.import_module(module), name)
    for line in sys.stdin:
        print(json.dumps(call(json.loads(line))), flush=True)


def in_processes(function: str, values: Sequence[Any], jobs: int) -> Iterator[tuple[Any, Any]]:
    """Yields (value, answer) in the order in which the answers come. `function` is "module:name".

    If the process of a value ends, the answer is a RuntimeError, and another process takes the next value.
    If the caller stops before the end, as by Ctrl-C, the processes are killed.
    """
    idle: SimpleQueue[_Worker | None] = SimpleQueue()
    started: list[_Worker] = []
    for _ in range(min(jobs, len(values))):
        idle.put(None)

    def one(value: Any) -> tuple[Any, Any]:
        worker = idle.get()
        if not worker:
            started.append(worker := _Worker(function))
        try:
            answer, is_alive = worker.ask(value), True
        except RuntimeError as error:
            answer, is_alive = error, False
        idle.put(worker if is_alive else None)
        return value, answer

    pool = ThreadPoolExecutor(max(min(jobs, len(values)), 1))
    is_done = False
    try:
        for done in as_completed([pool.submit(one, value) for value in values]):
            yield done.result()
        is_done = True
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in list(started):
            if is_done:
                worker.end()
            else:
                worker.kill()
        pool.shutdown()
