"""Judges a program: strict mode by CPython or the reference, debug=True, the freer modes, unchecked=True.

trial.py runs and compares the strict mode, modes.py the others. Draws no programs.
"""

from __future__ import annotations

import re

import modes
import reference
from program import Call, Program
from trial import (
    BROKEN,
    DEBUG_SHARE,
    FREE_SHARE,
    ROWS,
    Ran,
    Trial,
    Verdict,
    against_oracle,
    agrees,
    by_reference,
    code_of,
    first_line,
    is_same_fault,
    judge_refusal,
    show,
)


def judge_debug(t: Trial, call: Call, strict: Ran) -> Verdict | None:
    """A run with debug=True: the same bits, or an error for which the reference sees a reason."""
    ran = t.compiled(call, "strict", "interp" if t.p.seed // DEBUG_SHARE % 4 else "", debug=True)
    if ran.what == "TimeoutError":
        return None
    if ran.what == "ok":
        if strict.what == "ok" and not ran.differs(strict):
            return None
        return Verdict(
            "ok", f"debug differs: strict {strict.what}", f"strict: {show(strict)}\ndebug: {show(ran)}"
        )
    if t.p.overlapping_out(call):
        return None
    code = code_of(ran.text)
    if "wide constant" in t.p.features and "does not fit into 64 bits with a sign" in ran.text:
        return None  # kept in a name, where it would wrap behind a merge
    oracle, events = by_reference(t.p, call)
    if code in ROWS and (ROWS[code] in events or (code == "E310" and reference.UNWRITTEN)):
        return None
    if code not in ROWS and strict.what != "ok" and agrees(ran, oracle):
        return None
    place = re.search(r":(\d+):\d+: error", ran.text)
    if oracle.what == "IndexFault" and place and int(place[1]) == oracle.bits[0] + (t.p.place != "module"):
        return None  # of two errors in one statement it tells either
    if oracle.what == "TimeoutError":
        return None
    return Verdict(
        "ok", f"debug raises {code} without a reason", f"reference: {show(oracle)}\ndebug: {show(ran)}"
    )


def judge_call(t: Trial, call: Call, freer: bool) -> Verdict:
    """Everything that one call is put through."""
    t.enter(call)
    seed = t.p.seed
    strict = t.compiled(call, "strict", "interp")
    if strict.what in BROKEN:
        return Verdict(strict.what, f"{strict.what} {first_line(strict.text)}"[:150], strict.text)
    refusal = judge_refusal(t.p, call, strict)
    if refusal:
        return refusal
    machine = t.compiled(call, "strict", "")
    if machine.what == "TimeoutError":
        return Verdict("slow")
    if machine.differs(strict):
        complaint = f"interpreter: {show(strict)}\nmachine code: {show(machine)}"
        return Verdict("ok", f"strict: interpreter {strict.what}, machine code {machine.what}", complaint)
    for who, ran in modes.on_gpu(t, call, "strict").items():
        if ran.differs(strict) and ran.what != "TimeoutError" and not is_same_fault(ran, strict):
            complaint = f"interpreter: {show(strict)}\n{who}: {show(ran)}"
            return Verdict("ok", f"strict: interpreter {strict.what}, {who} {ran.what}", complaint)
    if strict.what == "ok" and strict.text:
        return Verdict("ok", strict.text, show(strict))
    verdict = against_oracle(t, call, strict)
    verdict.ran = strict
    if verdict.complaint:
        return verdict
    if seed % DEBUG_SHARE == 0:
        verdict = judge_debug(t, call, strict) or verdict
    if verdict.complaint or not freer:
        return verdict
    compared = modes.judge(t, call, strict)
    if compared.verdict:
        return compared.verdict
    verdict.modes, verdict.digest = compared.words, compared.digest
    return verdict


def judge(p: Program) -> Verdict:
    """Every call of a program, then without checks those that raise nothing.

    The first call runs in all modes; in the programs that run everywhere, every call does. The verdict is
    that of the first call, or of the first one with a complaint.
    """
    t = Trial(p)
    first: Verdict | None = None
    fine: list[tuple[Call, Ran]] = []
    for n, call in enumerate(p.calls):
        verdict = judge_call(t, call, n == 0 or p.seed % modes.EVERYWHERE == 0)
        if first:
            first.digest += verdict.digest
        first = first or verdict
        first.ended.append(f"{'again: ' if n else ''}{verdict.what}")
        if verdict.complaint:
            verdict.ended = first.ended
            verdict.complaint = f"call {n}: {verdict.complaint}"
            return verdict
        if verdict.what.startswith("ok") and verdict.ran and p.seed % FREE_SHARE == 0:
            fine.append((call, verdict.ran))
    assert first is not None
    for call, strict in fine:
        t.enter(call)
        free = t.compiled(call, "strict", "", unchecked=True)
        if free.differs(strict) and free.what != "TimeoutError":
            return Verdict(
                "ok", "unchecked differs", f"checked: {show(strict)}\nunchecked: {show(free)}", first.ended
            )
    return first
