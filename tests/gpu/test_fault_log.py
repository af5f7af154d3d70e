"""Faults that arrive late: each thread that may see a wrong value gets an error."""

from __future__ import annotations

import contextlib
import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device import Device, line_here
from test_device import double, gpu

import kernelwright as kw

X = np.arange(1.0, 7.0)


@kw.kernel
def gather(a, i):
    c = output_tensor(i.shape, a.dtype)
    for k in range(i.shape[0]):
        c[k] = a[i[k]]
    return c


@kw.kernel(wait=True)
def waiting_gather(a, i):
    c = output_tensor(i.shape, a.dtype)
    for k in range(i.shape[0]):
        c[k] = a[i[k]]
    return c


@kw.kernel
def gather_while(a, i):
    k = 0
    while a[i[k % i.shape[0]]] > 0.0 and k < 5:
        for j in range(a.shape[0]):
            a[j] = a[j] + 1.0
        k += 1
    return a


# ---- calls of one thread


def test_a_gather_of_nothing_has_no_fault(device: Device) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gather(gpu(X), gpu(np.array([], np.int64))).shape == (0,)


def test_a_fault_comes_with_the_next_wait(device: Device) -> None:
    line, result = line_here(), gather(gpu(X), gpu(np.array([0, 7, 2, 9])))
    with pytest.raises(kw.KernelIndexError) as caught:
        result.numpy()
    assert caught.value.message == (
        "index 7 is out of range for dimension 0 of 'a', whose extent is 6 (valid 0..5)"
    )
    assert f"raised late: by the call of 'gather' at {__file__}:{line} (call " in str(caught.value)
    assert "the last call)\n      = help: with KW_DEBUG=wait, or kw.kernel(wait=True), " in str(caught.value)
    assert np.array_equal(gather(gpu(X), gpu(np.array([1, 2]))).numpy(), [2, 3])


def test_a_fault_comes_with_the_next_call(device: Device) -> None:
    bad, good = gpu(np.array([8])), gpu(np.array([1]))
    t = gpu(X)
    gather(t, bad)
    kept = [good]
    with pytest.raises(kw.KernelIndexError) as caught:
        for _ in range(3):  # the launch itself may not have run when the next call looks
            kept.append(double(t))
            device.library.cuCtxSynchronize()
    assert "'gather'" in str(caught.value) and " ago)" in str(caught.value)
    kw.cuda.synchronize()


@pytest.mark.parametrize("seed", range(4))
def test_the_first_fault_in_source_order_is_told(device: Device, seed: int) -> None:
    device.seed(seed)
    index = np.arange(600) % 6
    index[[77, 300, 599]] = 8, 9, 10
    with pytest.raises(kw.KernelIndexError, match="index 8 is out of range"):
        gather(gpu(X), gpu(index)).numpy()
    device.seed(0)


def test_kernels_that_wait_raise_themselves(device: Device) -> None:
    with kw.debug("wait"), pytest.raises(kw.KernelIndexError) as caught:
        gather(gpu(X), gpu(np.array([6])))
    assert "raised late" not in str(caught.value)
    kw.cuda.synchronize()
    for waiting in (waiting_gather, pickle.loads(pickle.dumps(waiting_gather))):
        with pytest.raises(kw.KernelIndexError) as caught:
            waiting(gpu(X), gpu(np.array([6])))
        assert "raised late" not in str(caught.value)
        kw.cuda.synchronize()
        assert np.array_equal(waiting(gpu(X), gpu(np.array([1, 2]))).numpy(), [2, 3])


def test_synchronize_raises_faults(device: Device) -> None:
    gather(gpu(X), gpu(np.array([-7])))
    with pytest.raises(kw.KernelIndexError, match="index -7 is out of range"):
        kw.cuda.synchronize()
    kw.cuda.synchronize()


def test_a_fault_of_a_forgotten_call_is_no_silence(device: Device) -> None:
    t, good, bad = gpu(X), gpu(np.array([1])), gpu(np.array([6]))
    gather(t, bad)
    for _ in range(70):
        gather(t, good)
    with pytest.raises(kw.KernelIndexError, match=r"too many calls came after it"):
        kw.cuda.synchronize()


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        (2, "index 7 is out of range for dimension 0 of 'a', whose extent is 6 (valid 0..5)"),
        (64, "index 7 is out of range for dimension 0 of 'a', whose extent is 6 (valid 0..5)"),
        (65, "index 8 is out of range for dimension 0 of 'a', whose extent is 6 (valid 0..5)"),
        (300, "too many calls came after it to tell which kernel it was"),
    ],
)
def test_one_error_tells_of_all_calls_before_it(device: Device, calls: int, told: str) -> None:
    """The log knows the last 64 calls, and the device has room for the faults of 64."""
    device.seed(0)  # nothing runs before somebody waits
    t, good, bad = gpu(X), gpu(np.array([0])), [gpu(np.array([7 + i])) for i in range(calls)]
    for index in bad:
        gather(t, index)
    with pytest.raises(kw.KernelIndexError) as caught:
        kw.cuda.synchronize()
    assert told in str(caught.value)
    others = min(calls, 65) - 1  # those without room are one
    least = "at least " * (calls > 64)
    text = f"= note: {least}{others} other call{'s' * (others > 1)} had an index out of range, too"
    assert text in str(caught.value)
    kw.cuda.synchronize()
    assert gather(t, good).numpy() == [1.0]
    with pytest.raises(kw.KernelIndexError, match=r"index 7 is out of range") as caught:
        gather(t, bad[0]).numpy()
    assert "other call" not in str(caught.value)


# ---- several threads


class Worker:
    """A thread that does what it is told, one thing after the other."""

    def __init__(self) -> None:
        self.wanted: Callable[[], Any] | None = None
        self.result: Any = None
        self.goes, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self) -> None:
        while self.goes.acquire() and self.wanted is not None:
            try:
                self.result = self.wanted()
            except Exception as error:
                self.result = error
            self.done.release()

    def do(self, wanted: Callable[[], Any]) -> Any:
        """Returns the result of a function, or the exception that it raised."""
        self.wanted = wanted
        self.goes.release()
        assert self.done.acquire(timeout=60)
        return self.result

    def end(self) -> None:
        self.wanted = None
        self.goes.release()
        self.thread.join()


@pytest.fixture
def worker() -> Any:
    made = Worker()
    yield made
    made.end()


def test_the_thread_of_the_call_and_those_that_read_raise_it(device: Device, worker: Worker) -> None:
    t, bad, good = gpu(X), gpu(np.array([7])), gpu(np.array([1]))
    assert worker.do(lambda: gather(t, good).numpy()) == [2.0]
    line = line_here() + 1
    worker.do(lambda: gather(t, bad))
    device.library.cuCtxSynchronize()
    gather(t, good)  # a call of this thread sees no value
    with pytest.raises(kw.KernelIndexError, match=r"index 7 is out of range") as caught:
        t.numpy()
    place = f"raised late: by the call of 'gather' at {__file__}:{line} in another thread (call "
    assert place in str(caught.value)
    assert np.array_equal(t.numpy(), X)  # once
    found = worker.do(lambda: gather(t, good))
    assert isinstance(found, kw.KernelIndexError) and " in another thread" not in str(found)
    assert np.array_equal(worker.do(lambda: gather(t, good).numpy()), [2.0])
    kw.cuda.synchronize()


def test_a_thread_that_reads_raises_what_the_thread_of_the_call_has_raised(
    device: Device, worker: Worker
) -> None:
    t, bad, good = gpu(X), gpu(np.array([7])), gpu(np.array([1]))
    assert worker.do(lambda: gather(t, good).numpy()) == [2.0]
    worker.do(lambda: gather(t, bad))
    device.library.cuCtxSynchronize()
    assert isinstance(worker.do(lambda: gather(t, good)), kw.KernelIndexError)
    with pytest.raises(kw.KernelIndexError, match="in another thread"):
        t.numpy()
    assert np.array_equal(t.numpy(), X) and np.array_equal(worker.do(t.numpy), X)


def test_a_thread_that_begins_later_raises_what_nobody_has(device: Device, worker: Worker) -> None:
    t, bad = gpu(X), gpu(np.array([7]))
    gather(t, bad)
    assert isinstance(worker.do(t.numpy), kw.KernelIndexError)
    with pytest.raises(kw.KernelIndexError):
        gather(t, bad)
    late = Worker()
    try:
        assert np.array_equal(late.do(t.numpy), X)
    finally:
        late.end()
        kw.cuda.synchronize()


def test_no_value_of_two_threads_is_wrong_without_an_error(device: Device) -> None:
    """Each call with an index out of range raises, however the looks of the threads meet."""
    t, bad, good = gpu(X), gpu(np.array([6])), gpu(np.array([1]))
    gather(t, good).numpy()
    silent: list[Any] = []

    def fails() -> None:
        for _ in range(100):
            with contextlib.suppress(kw.KernelIndexError):
                silent.append(gather(t, bad).numpy())

    def works() -> None:
        for _ in range(100):
            try:
                assert gather(t, good).numpy() == [2.0]
            except kw.KernelIndexError as error:
                assert " in another thread (call " in str(error)

    workers = [Worker() for _ in range(3)]
    for worker, task in zip(workers, (fails, fails, works), strict=True):
        worker.wanted = task
        worker.goes.release()
    for worker in workers:
        assert worker.done.acquire(timeout=300)
        worker.end()
    assert [worker.result for worker in workers] == [None] * 3 and not silent
    with pytest.raises(kw.KernelIndexError):
        gather(t, bad).numpy()  # may tell of the others
    assert gather(t, good).numpy() == [2.0]
    with pytest.raises(kw.KernelIndexError, match="the last call"):
        gather(t, bad).numpy()


def test_faults_of_others_end_no_loop_of_the_host(device: Device, worker: Worker) -> None:
    t, bad, good = gpu(X), gpu(np.array([7])), gpu(np.array([1]))
    worker.do(lambda: gather(t, bad))
    grown = gather_while(t, good)
    with pytest.raises(kw.KernelIndexError, match="in another thread"):
        grown.numpy()
    assert np.array_equal(grown.numpy(), X + 5)
    with pytest.raises(kw.KernelIndexError, match=r"index 7 is out of range"):
        gather_while(t, bad).numpy()
    assert isinstance(worker.do(t.numpy), kw.KernelIndexError)
