"""A failure inside LLVM is an error text, and compiling goes on: diagnostics, fatal errors, odd types."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import _core_testing

# an error diagnostic, a fatal error, a type that the target cannot hold, a block without an end
FAULTS = (1, 2, 3, 4)
A = np.arange(6.0)


@pytest.fixture(autouse=True)
def memory_only() -> Iterator[None]:
    with kw.debug("cache=off"):
        yield


def triple(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = a[i] * 3.0
    return out


def ir_text() -> str:
    return kw.kernel(triple).ir(A, stage="final")


def fresh_result() -> Any:
    return kw.kernel(triple)(A)


@pytest.mark.parametrize("what", FAULTS)
def test_fault_is_a_text_and_compiling_goes_on(what: int) -> None:
    text = ir_text()
    for _ in range(3):
        error = _core_testing.llvm_fault(text, what)
        assert isinstance(error, str) and error.strip()
        assert (fresh_result() == A * 3.0).all()


def test_each_fault_says_what_it_was() -> None:
    text = ir_text()
    assert "provoked diagnostic" in _core_testing.llvm_fault(text, 1)
    assert "provoked fatal error" in _core_testing.llvm_fault(text, 2)
    assert "without_end" in _core_testing.llvm_fault(text, 4)
    assert _core_testing.llvm_fault(text, 3) not in (
        "",
        _core_testing.llvm_fault(text, 1),
        _core_testing.llvm_fault(text, 2),
    )


def test_no_fault_is_no_text() -> None:
    for what in (*FAULTS, 0):
        error = _core_testing.llvm_fault(ir_text(), what)
        assert (error == "") == (what == 0)


def test_text_that_is_no_ir_is_an_error() -> None:
    assert _core_testing.llvm_fault("def f(:", 0) != ""
    assert (fresh_result() == A * 3.0).all()


@pytest.mark.parametrize("what", FAULTS)
def test_fault_in_a_thread(what: int) -> None:
    text, found = ir_text(), []

    def work() -> None:
        found.append(_core_testing.llvm_fault(text, what))
        found.append(fresh_result())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[0] and (found[1] == A * 3.0).all()
    assert (fresh_result() == A * 3.0).all()


def test_faults_beside_good_compiles_in_other_threads() -> None:
    text, wrong = ir_text(), []

    def fail() -> None:
        for n in range(12):
            if not _core_testing.llvm_fault(text, FAULTS[n % 3]):
                wrong.append("no text")

    def succeed() -> None:
        for _ in range(12):
            if not (fresh_result() == A * 3.0).all():
                wrong.append("another result")

    threads = [threading.Thread(target=work) for work in (fail, succeed, fail, succeed)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_end_of_memory_in_llvm_is_a_memory_error() -> None:
    text = ir_text()
    for _ in range(3):
        with pytest.raises(MemoryError):
            _core_testing.llvm_fault(text, 5)
        assert (fresh_result() == A * 3.0).all()
