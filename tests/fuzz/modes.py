"""Judges the default and the fast mode of a program against its strict mode, which CPython has confirmed.

A result that is the same in every order of sums must have the strict bits. Any other float must be within
the bound that shadow_words.py computes beside it. If a float with a bound decides a branch or a subscript, no
values are compared. Every tenth program runs with both numbers of threads, and kw_fuzz.py runs it for each
target.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any

import gen_args
import numpy as np
import shadow_words
from program import Call
from scalar_types import BFLOAT16
from trial import Ran, Trial, Verdict, bits, is_same_fault, show, timed

import kernelwright as kw

EVERYWHERE = 10  # every so many programs run with all thread counts and for all targets
Bounds = list[tuple[np.ndarray, np.ndarray]]  # strict values and how far from them others may be


@dataclass
class Compared:
    """What the modes of a call came to: words that are counted, a complaint, a digest of the default bits."""

    words: list[str]
    verdict: Verdict | None = None
    digest: str = ""


def bounds_of(t: Trial, call: Call, strict: Ran, fast: bool) -> tuple[str, Bounds]:
    """The bounds, or instead of "ok" the reason why there are none."""
    p = t.p
    if p.overlapping_out(call):
        return "out= over an argument", []  # whose elements change behind the kernel
    names, captured = [a.name for a in p.args], {**p.captured, **call.captured}

    def run(*args: Any) -> Bounds:
        return shadow_words.run(p.text(ref=True), captured, names, list(args), fast)

    ran = timed(run, gen_args.arguments(p, call))
    if ran.what not in ("ok", "Undecided", "IndexFault", "TimeoutError", "ValueError"):
        raise RuntimeError(f"bounds: {ran.what} {ran.text}")
    if ran.what == "ok" and [bits(v) for v, _ in ran.results] != strict.bits:
        return "another reference", []
    return ran.what, ran.results if ran.what == "ok" else []


def outside(ran: Ran, bounds: Bounds) -> str:
    """The first element beyond its bound, in words; "" if there is none."""
    for n, (ours, (value, allowed)) in enumerate(zip(ran.bits, bounds, strict=True)):
        name, shape, data = ours
        got = np.frombuffer(data, BFLOAT16 if name == "bfloat16" else np.dtype(name)).reshape(shape)
        if got.dtype != value.dtype or got.shape != value.shape:
            return f"result {n} is {got.dtype}{got.shape}"
        for place in np.ndindex(*value.shape):
            e, a, b = allowed[place], got[place], value[place]
            if e == np.inf or bits(np.asarray(a)) == bits(np.asarray(b)):
                continue
            if e == 0 or not abs(float(a) - float(b)) <= e:
                return f"result {n}, element {list(place)}: {a!r}, strictly {b!r}, bound {e:g}"
    return ""


def compare(t: Trial, call: Call, strict: Ran, ran: Ran, fp: str) -> tuple[str, Verdict | None]:
    """How a run of a freer mode stands beside the strict one."""
    if ran.what == strict.what and ran.bits == strict.bits:
        return "same", None
    why, bounds = bounds_of(t, call, strict, fp == "fast")
    if why == "another reference":  # CPython has confirmed the strict bits
        return "", Verdict("ok", f"{fp}: the bounds are of other values than CPython's", show(strict))
    if why not in ("ok", "IndexFault", "ValueError"):
        return why.lower(), None
    if ran.what != strict.what:
        return "", Verdict("ok", f"strict {strict.what}, {fp} {ran.what}", f"{show(ran)}\n{ran.text}")
    wrong = outside(ran, bounds)
    if not wrong:
        return "within bounds", None
    kind = f"{fp}: {'exact value differs from CPython' if wrong.endswith('bound 0') else 'beyond its bound'}"
    return "", Verdict("ok", kind, f"{wrong}\nCPython: {show(strict)}\n{fp}: {show(ran)}")


def threads_of(seed: int) -> int:
    return 1 + seed // 3 % 2


def on_gpu(t: Trial, call: Call, fp: str) -> dict[str, Ran]:
    """The runs that `kw_fuzz.py --device` asks for. In the fast mode a GPU has an order of its own, and in
    the default mode it has fma.
    """
    device = os.environ.get("KW_FUZZ_DEVICE", "")
    if fp == "fast" or (fp == "default" and os.environ.get("KW_TARGET", "").startswith("generic")):
        return {}
    if device == "gpu-ir":
        return {"interpreter of the IR for sm_90": t.compiled(call, fp, "interp:sm_90")}
    # views of one memory stay that, but for a type that arrays of other libraries do not have
    narrow = any(a.dtype == "bfloat16" and a.partner for a in t.p.args)
    if device == "emulated" and not call.out and not narrow:
        return {"emulated GPU": t.on_device(call, fp)}
    return {}


def runs_of(t: Trial, call: Call, fp: str) -> dict[str, Ran]:
    """The runs of a mode that must agree bit for bit."""
    own = threads_of(t.p.seed)
    kw.set_threads(own)
    runs = {"machine code": t.compiled(call, fp, "")}
    if fp == "default":
        runs["interpreter"] = t.compiled(call, fp, "interp")
    runs |= on_gpu(t, call, fp)
    if t.p.seed % EVERYWHERE == 0:
        kw.set_threads(3 - own)
        runs[f"{3 - own} threads"] = t.compiled(call, fp, "")
        way = ("avx2", "avx512", "generic")[t.p.seed // EVERYWHERE % 3]
        runs[f"interpreter of the IR for {way}"] = t.compiled(call, fp, f"interp:{way}")
        kw.set_threads(own)
    return runs


def judge(t: Trial, call: Call, strict: Ran) -> Compared:
    """The default mode by interpreter and machine code, the fast mode by machine code."""
    out = Compared([])
    for fp in ("default", "fast"):
        if fp == "default" and t.p.seed % EVERYWHERE and strict.what == "ok" and t.same_code(call):
            continue
        runs = runs_of(t, call, fp)
        if any(ran.what == "TimeoutError" for ran in runs.values()):
            out.words.append("slow")
            return out
        code = runs["machine code"]
        if fp == "default":
            out.digest = hashlib.sha256(repr((code.what, code.bits)).encode()).hexdigest()[:16]
        for who, ran in runs.items():
            if ran.differs(code) and not is_same_fault(ran, code):
                complaint = f"{who}: {show(ran)}\nmachine code: {show(code)}"
                out.verdict = Verdict("ok", f"{fp}: {who} {ran.what}, machine code {code.what}", complaint)
                return out
        word, out.verdict = compare(t, call, strict, code, fp)
        if out.verdict:
            return out
        out.words.append(f"{fp} {word}")
    return out
