"""Runs one program every way and compares: CPython or the reference, interpreter, machine code.

A verdict is a class of what happened and, when the ways disagree, a complaint. Draws no programs.
"""

from __future__ import annotations

import linecache
import math
import re
import signal
import time
import traceback
import types
from dataclasses import dataclass, field
from typing import Any

import gen_args
import numpy as np
import reference
from program import Program
from scalar_types import BFLOAT16

import kernelwright as kw

NAME = "<program>"
WATCH = 2.0  # seconds for one run
BROKEN = ("InternalError", "SystemError", "RuntimeError", "KernelError", "UnsupportedError", "DeviceError")
FAULT = re.compile(
    r":(\d+):\d+: error\[E303\]: index (-?\d+) is out of range for dimension (\d+) of '(\w+)',"
    r" whose extent is (\d+)"
)
DEBUG_CODES = ("E305", "E306", "E307", "E308", "E309", "E310", "E311", "E312")
CPYTHON = re.compile(r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)")


@dataclass
class Ran:
    """How one run ended: "ok" with the bits of results and arguments, or an exception with its text."""

    what: str
    bits: list[Any] = field(default_factory=list)
    text: str = ""

    def differs(self, other: Ran) -> bool:
        return (self.what, self.bits, self.text) != (other.what, other.bits, other.text)


@dataclass
class Verdict:
    """`what` is counted; `complaint` is empty unless something is wrong; `kind` names the complaint."""

    what: str
    kind: str = ""
    complaint: str = ""


def bits(value: Any) -> Any:
    """Comparable, with every NaN made the same."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.dtype.kind == "f" or value.dtype == BFLOAT16:
        value = np.where(np.isnan(value), np.array(np.nan, value.dtype), value)
    return value.dtype.name, value.shape, np.ascontiguousarray(value).tobytes()


def load(p: Program) -> types.FunctionType:
    """The function of a program, with its text where inspect looks for it."""
    text = p.text()
    linecache.cache[NAME] = (len(text), None, text.splitlines(keepends=True), NAME)
    space: dict[str, Any] = {"np": np, "math": math, "kw": kw, **p.captured}
    exec(compile(text, NAME, "exec"), space)
    function: types.FunctionType = space["f"]
    return function


def interrupt(*_: object) -> None:
    raise TimeoutError


def timed(call: Any, args: list[Any]) -> Ran:
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, WATCH)
    begin = time.monotonic()
    try:
        result = call(*args)
    except TimeoutError:
        late = time.monotonic() - begin > WATCH + 3
        return Ran("InternalError" if late else "TimeoutError", [], "not interrupted in time" if late else "")
    except Exception as e:
        line = traceback.extract_tb(e.__traceback__)[-1].lineno if e.__traceback__ else 0
        found = [f for f in traceback.extract_tb(e.__traceback__) if f.filename == NAME]
        return Ran(type(e).__name__, [found[-1].lineno if found else line], str(e))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    results = result if isinstance(result, tuple) else (result,)
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    return Ran("ok", [bits(v) for v in (*results, *arrays)])


def compiled(p: Program, function: types.FunctionType, fp: str, words: str, **options: bool) -> Ran:
    with kw.debug("cache=off; " + words):
        ran = timed(kw.kernel(fp=fp, **options)(function), gen_args.arguments(p))
    return Ran(ran.what, ran.bits if ran.what == "ok" else [], ran.text)


def by_cpython(p: Program, function: types.FunctionType) -> Ran:
    with np.errstate(all="ignore"):
        return timed(kw.kernel(function).py, gen_args.arguments(p))


def by_reference(p: Program) -> tuple[Ran, set[str]]:
    """The outcome by the table, and the rows of it that were met."""
    names, args = [a.name for a in p.args], gen_args.arguments(p)

    def call(*given: Any) -> Any:
        return tuple(reference.run(p.text(ref=True), p.captured, names, list(given)))

    ran = timed(call, args)
    if ran.what == "IndexFault":
        ran.text = "IndexFault " + ran.text
    return ran, set(reference.EVENTS)


def code_of(text: str) -> str:
    return (re.findall(r"error\[(\w+)\]", text) or [""])[0]


def same_fault(ours: Ran, oracle: Ran, inlined: bool) -> bool:
    """Whether an IndexError of ours tells the element that the oracle fell over.

    What is evaluated in a statement of its own comes before what stands left of it, so that any element may
    be the first.
    """
    found = FAULT.search(ours.text)
    if not found or inlined:
        return code_of(ours.text) in ("E301", "E303")
    line, value, dim, name, extent = found.groups()
    if oracle.what == "IndexFault":
        return oracle.text == f"IndexFault ({value}, {dim}, '{name}', {extent})"
    said = CPYTHON.search(oracle.text)
    return bool(said) and said.groups() == (value, dim, extent) and oracle.bits == [int(line)]


def moved(p: Program) -> bool:
    """Whether some operands are evaluated before what stands left of them."""
    return not p.features.isdisjoint(("helper", "helper with a tensor", "helper that writes", "select"))


def agrees(ours: Ran, oracle: Ran, inlined: bool) -> bool:
    """Whether a compiled run ended as its oracle did; `inlined` as in `moved`."""
    if ours.what == "ok":
        return oracle.what == "ok" and ours.bits == oracle.bits
    if oracle.what in ("IndexError", "IndexFault"):
        return same_fault(ours, oracle, inlined)
    if code_of(ours.text) == "E304":
        return "negative dimensions" in oracle.text
    return False


def told_early(p: Program, function: types.FunctionType, ours: Ran, oracle: Ran) -> bool:
    """Whether a check before the loops found another bad element than the first, which debug=True tells."""
    if code_of(ours.text) != "E303" or oracle.what not in ("IndexError", "IndexFault"):
        return False
    in_order = compiled(p, function, "strict", "", debug=True)
    return agrees(in_order, oracle, moved(p)) or code_of(in_order.text) in DEBUG_CODES


def first_line(text: str) -> str:
    line = text.splitlines()[0] if text else ""
    return re.sub(r"<\w+>:\d+:\d+: ", "", line)


def judge_refusal(p: Program, strict: Ran) -> Verdict | None:
    """A program that does not compile, where that may be so; None when it ran or must be compared."""
    code = code_of(strict.text)
    if strict.what == "ok" or code in ("E303", "E301", "E304"):
        if code == "E301" and 0 in p.sizes.values():
            return Verdict("refused E301")
        return None
    if code == "E203":
        return Verdict("refused E203")
    if strict.what == "TimeoutError":
        return Verdict("slow")
    kind = f"refused {code} {re.sub(r'[0-9]+', '', first_line(strict.text))}" if code else strict.what
    return Verdict("refused", kind, strict.text)


def against_oracle(p: Program, function: types.FunctionType, strict: Ran) -> Verdict:
    """The strict outcome beside CPython and, where these differ, beside the reference."""
    outcome = "ok" if strict.what == "ok" else f"{strict.what} due"
    first = None
    if not p.inside:
        first = by_cpython(p, function)
        if agrees(strict, first, moved(p)):
            return Verdict(outcome)
        if told_early(p, function, strict, first):
            return Verdict(f"{outcome}, told early")
        if first.what == "TimeoutError":
            return Verdict("slow")
    ran, events = by_reference(p)
    if ran.what == "TimeoutError":
        return Verdict("slow")
    rows = ",".join(sorted(events))
    if agrees(strict, ran, moved(p)):
        if p.inside or events:
            return Verdict(f"{outcome}, inside 2a" if events else outcome)
        assert first is not None
        return Verdict(outcome, "outside the table", f"CPython: {show(first)}\nkernel: {show(strict)}")
    if told_early(p, function, strict, ran):
        return Verdict(f"{outcome}, told early")
    same_without_rows = first is not None and not events
    kind = f"differs from {'CPython' if same_without_rows else 'the table'}: {ran.what} {strict.what}"
    return Verdict(
        outcome, kind, f"rows {rows}\noracle: {show(ran)}\nCPython: {show(first)}\nkernel: {show(strict)}"
    )


def show(ran: Ran | None) -> str:
    """A run in a few lines."""
    if ran is None:
        return "not run"
    if ran.what != "ok":
        return f"{ran.what} {ran.bits} {ran.text[:300]}"
    out = []
    for b in ran.bits:
        if isinstance(b, tuple):
            dtype = BFLOAT16 if b[0] == "bfloat16" else np.dtype(b[0])
            values = np.frombuffer(b[2], dtype).reshape(b[1])
            out.append(
                f"{b[0]} {values.astype(float).tolist() if dtype == BFLOAT16 else values.tolist()}"[:400]
            )
    return "ok " + "; ".join(out)


def judge(p: Program, default: bool = True) -> Verdict:
    """Everything that one program is put through; `default` runs the default mode as well."""
    function = load(p)
    strict = compiled(p, function, "strict", "interp")
    if strict.what in BROKEN:
        return Verdict(strict.what, f"{strict.what} {first_line(strict.text)}"[:150], strict.text)
    refusal = judge_refusal(p, strict)
    if refusal:
        return refusal
    machine = compiled(p, function, "strict", "")
    if machine.what == "TimeoutError":
        return Verdict("slow")
    if machine.differs(strict):
        complaint = f"interpreter: {show(strict)}\nmachine code: {show(machine)}"
        return Verdict("ok", f"strict: interpreter {strict.what}, machine code {machine.what}", complaint)
    verdict = against_oracle(p, function, strict)
    if verdict.complaint or not default:
        return verdict
    one, two = compiled(p, function, "default", "interp"), compiled(p, function, "default", "")
    if "TimeoutError" in (one.what, two.what):
        return Verdict("slow")
    if one.differs(two):
        complaint = f"interpreter: {show(one)}\nmachine code: {show(two)}"
        return Verdict("ok", f"default: interpreter {one.what}, machine code {two.what}", complaint)
    if strict.what != one.what:
        return Verdict("ok", f"strict {strict.what}, default {one.what}", show(one))
    if strict.what == "ok" and p.seed % 8 == 0:
        free = compiled(p, function, "strict", "", unchecked=True)
        if free.differs(strict):
            return Verdict("ok", "unchecked differs", f"checked: {show(strict)}\nunchecked: {show(free)}")
    return verdict
