"""Runs one program every way and compares its strict mode with CPython or the reference.

A verdict is a class of what happened and, when the ways disagree, a complaint. judge.py asks for the runs.
"""

from __future__ import annotations

import linecache
import math
import re
import signal
import sys
import traceback
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gen_args
import numpy as np
import reference
from clocks import clocks, is_late
from program import Call, Program
from scalar_types import BFLOAT16

import kernelwright as kw

sys.path.append(str(Path(__file__).parents[1] / "gpu"))
from device import Moved

NAME = "<program>"
WATCH = 2.0  # seconds for one run
BROKEN = ("InternalError", "SystemError", "RuntimeError", "KernelError", "UnsupportedError", "DeviceError")
FAULT = re.compile(
    r":(\d+):\d+: error\[E303\]: index (-?\d+) is out of range for dimension (\d+) of '(\w+)',"
    r" whose extent is (\d+)"
)
ROWS = {"E306": "V1", "E307": "V2", "E308": "V3", "E309": "V3", "E310": "", "E311": "V4", "E312": "V5"}
# every so many programs run with debug=True, with unchecked=True; targets and threads go by seed % 4
DEBUG_SHARE, FREE_SHARE = 9, 7
VIEWS = ("z0", "zz")  # arguments that may be views of others, whose names are told then
CPYTHON = re.compile(r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)")


@dataclass
class Ran:
    """How one run ended: "ok" with the bits of results and arguments, or an exception with its text."""

    what: str
    bits: list[Any] = field(default_factory=list)
    text: str = ""
    results: Any = None

    def differs(self, other: Ran) -> bool:
        return (self.what, self.bits, self.text) != (other.what, other.bits, other.text)


@dataclass
class Verdict:
    """`what` is counted; `complaint` is empty unless something is wrong; `kind` names the complaint."""

    what: str
    kind: str = ""
    complaint: str = ""
    ended: list[str] = field(default_factory=list)  # of each call
    ran: Ran | None = None  # in strict mode
    modes: list[str] = field(default_factory=list)  # how the freer modes stand beside the strict one
    digest: str = ""  # of what the default mode gave


def bits(value: Any) -> Any:
    """Comparable, with every NaN made the same."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.dtype.kind == "f" or value.dtype == BFLOAT16:
        value = np.where(np.isnan(value), np.array(np.nan, value.dtype), value)
    return value.dtype.name, value.shape, np.ascontiguousarray(value).tobytes()


class Trial:
    """A program as a function, and the kernels made of it, which its calls share."""

    def __init__(self, p: Program) -> None:
        self.p = p
        text = p.text()
        linecache.cache[NAME] = (len(text), None, text.splitlines(keepends=True), NAME)
        self.space: dict[str, Any] = {"np": np, "math": math, "kw": kw, **p.captured}
        exec(compile(text, NAME, "exec"), self.space)
        self.function: types.FunctionType = (
            self.space["made"](*p.captured.values())
            if p.place == "closure"
            else self.space["Layer"].f
            if p.place == "method"
            else self.space["f"]
        )
        self.kernels: dict[Any, Any] = {}

    def kernel(self, *key: Any, **options: Any) -> Any:
        """The kernel of some options, always the same one."""
        kernel = self.kernels.get(key)
        if kernel is None:
            kernel = kw.kernel(**options)(self.function)
            if self.p.place == "method":
                kernel = kernel.__get__(self.space["Layer"]())
            self.kernels[key] = kernel
        return kernel

    def enter(self, call: Call) -> None:
        """Sets the captured values of a call."""
        for name, value in {**self.p.captured, **call.captured}.items():
            set_captured(self.function, self.space, name, value)

    def compiled(self, call: Call, fp: str, words: str, **options: bool) -> Ran:
        kernel = self.kernel(fp, words, *options, fp=fp, **options)
        made = gen_args.named(self.p, call)
        given = gen_args.outputs(self.p, call, made)
        keywords = {"out": tuple(given)} if call.out else {}
        with kw.debug("cache=off; " + words):
            ran = timed(kernel, list(made.values()), keywords)
        if ran.what == "ok":
            for arg, array in zip(self.p.outputs, given, strict=False):
                if array is not None and gen_args.spilled(call.out[arg.name], array):
                    ran.text = f"memory beside out= of {arg.name} was written"
            if call.out and not returned(self.p, given, ran.results):
                ran.text = "another array than that of out= is returned"
        return Ran(ran.what, ran.bits if ran.what == "ok" else [], ran.text)

    def on_device(self, call: Call, fp: str) -> Ran:
        """A run on a GPU, with the arrays where they lie on the host: views of one memory stay that."""
        kernel = self.kernel(fp, "device", fp=fp)
        made = list(gen_args.named(self.p, call).values())
        moved = Moved(made)

        def run(*_: Any) -> Any:
            result = kernel(*moved.arguments)
            results = result if isinstance(result, tuple) else (result,)
            moved.bring_back()
            return tuple(moved.on_host(r) for r in results)

        with kw.debug("cache=off; wait"):
            ran = timed(run, made)
        return Ran(ran.what, ran.bits if ran.what == "ok" else [], ran.text)

    def same_code(self, call: Call) -> bool:
        """Whether the last stage of the default mode is that of the strict one but for the mode's name."""
        arguments = gen_args.arguments(self.p, call)
        stages = [self.kernel(fp, "", fp=fp).ir(*arguments, stage="final") for fp in ("strict", "default")]
        return stages[0].replace("fp('strict')", "fp('default')", 1) == stages[1]

    def by_cpython(self, call: Call) -> Ran:
        with np.errstate(all="ignore"):
            return timed(self.kernel("py").py, gen_args.arguments(self.p, call))


def is_same_fault(one: Ran, other: Ran) -> bool:
    """Whether both name a wrong index. Of several, checks that come early may tell a later one."""
    return one.what == other.what and all(FAULT.search(ran.text) for ran in (one, other))


def set_captured(function: types.FunctionType, space: dict[str, Any], name: str, value: Any) -> None:
    """Changes a global or what a closure holds, also in the helpers that a closure holds."""
    space[name] = value
    for cell_name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if cell_name == name:
            cell.cell_contents = value
        elif isinstance(cell.cell_contents, types.FunctionType):
            set_captured(cell.cell_contents, {}, name, value)


def returned(p: Program, given: list[Any], results: Any) -> bool:
    """Whether each array of out= is the object that the call returned for it."""
    items = results if isinstance(results, tuple) else (results,)
    names = p.main.returns
    return all(
        array is None or arg.name not in names or items[names.index(arg.name)] is array
        for arg, array in zip(p.outputs, given, strict=False)
    )


def interrupt(*_: object) -> None:
    raise TimeoutError


def timed(call: Any, args: list[Any], keywords: dict[str, Any] | None = None) -> Ran:
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, WATCH)
    begin = clocks()
    try:
        result = call(*args, **(keywords or {}))
    except TimeoutError:
        late = is_late(begin, WATCH)
        return Ran("InternalError" if late else "TimeoutError", [], "not interrupted in time" if late else "")
    except Exception as e:
        line = traceback.extract_tb(e.__traceback__)[-1].lineno if e.__traceback__ else 0
        found = [f for f in traceback.extract_tb(e.__traceback__) if f.filename in (NAME, "<reference>")]
        return Ran(type(e).__name__, [found[-1].lineno if found else line], str(e))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    results = result if isinstance(result, tuple) else (result,)
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    return Ran("ok", [bits(v) for v in (*results, *arrays)], results=result)


def by_reference(p: Program, call: Call) -> tuple[Ran, set[str]]:
    """The outcome by the table, and the rows of it that were met; arrays of out= get results at the end."""
    names, made = [a.name for a in p.args], gen_args.named(p, call)
    given = gen_args.outputs(p, call, made) if p.overlapping_out(call) else []
    captured = {**p.captured, **call.captured}

    def run(*args: Any) -> Any:
        results = dict(
            zip(p.main.returns, reference.run(p.text(ref=True), captured, names, list(args)), strict=True)
        )
        for arg, array in zip(p.outputs, given, strict=False):
            if array is not None and arg.name in results:
                array[...] = results[arg.name]
                results[arg.name] = array
        return tuple(results.values())

    ran = timed(run, list(made.values()))
    if ran.what == "IndexFault":
        ran.text = "IndexFault " + ran.text
    return ran, set(reference.EVENTS)


def code_of(text: str) -> str:
    return (re.findall(r"error\[(\w+)\]", text) or [""])[0]


def same_fault(ours: Ran, oracle: Ran) -> bool:
    """Whether an IndexError of ours tells the element that the oracle fell over."""
    found = FAULT.search(ours.text)
    if not found:
        return code_of(ours.text) in ("E301", "E303")
    line, value, dim, name, extent = found.groups()
    if oracle.what == "IndexFault":
        names = {name, *(n for n in VIEWS if f"'{n}'" in oracle.text)}
        return oracle.text in [f"IndexFault ({value}, {dim}, {n!r}, {extent})" for n in names]
    said = CPYTHON.search(oracle.text)
    return bool(said) and said.groups() == (value, dim, extent) and oracle.bits == [int(line)]


def agrees(ours: Ran, oracle: Ran) -> bool:
    """Whether a compiled run ended as its oracle did."""
    if ours.what == "ok":
        return oracle.what == "ok" and ours.bits == oracle.bits
    if oracle.what in ("IndexError", "IndexFault"):
        return same_fault(ours, oracle)
    if code_of(ours.text) == "E304":
        return "negative dimensions" in oracle.text
    return False


def told_early(t: Trial, call: Call, ours: Ran, oracle: Ran) -> bool:
    """Whether a check before the loops found another bad element than the first, which debug=True tells.

    Demands on values can put checks of a later operand first there: then it tells another bad element too.
    """
    if code_of(ours.text) != "E303" or oracle.what not in ("IndexError", "IndexFault"):
        return False
    in_order = t.compiled(call, "strict", "interp", debug=True)
    told = code_of(in_order.text)
    if (
        not agrees(in_order, oracle)
        and told not in ROWS
        and not (told == "E303" and is_real(t.p, call, in_order))
    ):
        return False
    return is_real(t.p, call, ours)


def is_real(p: Program, call: Call, ours: Ran) -> bool:
    """Whether the element that is told is one of those that the reference falls over when it goes on."""
    found = FAULT.search(ours.text)
    if not found:
        return False
    _, value, dim, name, extent = found.groups()
    reference.FAULTS = []
    try:
        ended, _ = by_reference(p, call)
        told = [(int(value), int(dim), n, int(extent)) for n in (name, *VIEWS)]
        return any(f in reference.FAULTS for f in told) or ended.what == "TimeoutError"
    finally:
        reference.FAULTS = None


def first_line(text: str) -> str:
    line = text.splitlines()[0] if text else ""
    return re.sub(r"<\w+>:\d+:\d+: ", "", line)


def judge_refusal(p: Program, call: Call, strict: Ran) -> Verdict | None:
    """A program that does not compile, where that may be so; None when it ran or must be compared."""
    code = code_of(strict.text)
    if strict.what == "ok" or code in ("E303", "E301", "E304"):
        if code == "E301" and 0 in call.sizes.values():
            return Verdict("refused E301")
        return None
    dropped = code == "E103" and any(f"name '{name}' is not" in strict.text for name in p.captured)
    if dropped or code in ("E203", "E215") or (code == "E302" and "assigned on some paths" in p.features):
        return Verdict(f"refused {code}")
    if strict.what == "TimeoutError":
        return Verdict("slow")
    kind = f"refused {code} {re.sub(r'[0-9]+', '', first_line(strict.text))}" if code else strict.what
    return Verdict("refused", kind, strict.text)


def against_oracle(t: Trial, call: Call, strict: Ran) -> Verdict:
    """The strict outcome beside CPython and, where these differ, beside the reference."""
    p = t.p
    outcome = "ok" if strict.what == "ok" else f"{strict.what} due"
    first = None
    if not p.inside and not p.overlapping_out(call):
        first = t.by_cpython(call)
        if agrees(strict, first):
            return Verdict(outcome)
        if told_early(t, call, strict, first):
            return Verdict(f"{outcome}, told early")
        if first.what == "TimeoutError":
            return Verdict("slow")
    ran, events = by_reference(p, call)
    if ran.what == "TimeoutError":
        return Verdict("slow")
    rows = ",".join(sorted(events))
    if agrees(strict, ran):
        if first is None or events:
            return Verdict(f"{outcome}, inside 2a" if events else outcome)
        return Verdict(outcome, "outside the table", f"CPython: {show(first)}\nkernel: {show(strict)}")
    if told_early(t, call, strict, ran):
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
