"""Feeds mutants to the core in a process of its own: `feed.py text|ir|run SEED COUNT SECONDS LAST`.

Prints complaints as JSON, each kind with its shortest mutant; the file LAST holds the mutant in work.
"""

from __future__ import annotations

import inspect
import json
import linecache
import mmap
import random
import re
import resource
import signal
import sys
import time
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import mutate
import numpy as np
from clocks import clocks, is_late

import kernelwright as kw
from kernelwright import _core_testing

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels"))
import corpus

POSITION = re.compile(r"<text>:\d+:\d+: error\[E\d{3}\]: ")
NOTED = 1 << 20  # bytes that are kept of the mutant in work
WATCH = 0.5  # seconds after which a running kernel is interrupted
Outcome = tuple[str, str]  # (what happened, a complaint or "")
Trial = tuple[str, Callable[[], Outcome]]  # (mutant, what to do with it)


def utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def parses(text: str) -> bool:
    """CPython's opinion; a lone carriage return, which never comes out of a file, is left out."""
    try:
        compile(text, "<text>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return "\r" not in text


def try_text(text: str, signature: list[tuple[str, int]]) -> Outcome:
    said = _core_testing.compile_text(text, signature)
    if said == "":
        return "accepted", ""
    first = said.splitlines()[0]
    code = (re.findall(r"error\[(\w+)\]", first) or ["none"])[0]
    if "E503" in said:
        return code, next(line for line in said.splitlines() if "E503" in line)
    if not POSITION.match(said):
        return code, f"no position: {first}"
    if code == "E100" and parses(text):
        return code, f"CPython parses it: {first}"
    return code, ""


def texts(rng: random.Random) -> Iterator[Trial]:
    """Kernel texts; scalars, which compile_text cannot be told of, become tensors of rank 0."""
    sources = []
    for case in corpus.load():
        args = [np.asarray(a) for a in case.make(np.random.default_rng(0))]
        sources.append((inspect.getsource(case.fn), [(a.dtype.name, a.ndim) for a in args]))
    for text, fitting in sources:
        yield text, partial(try_text, text, fitting)
    while True:
        text, fitting = rng.choice(sources)
        changed, signature = utf8(mutate.mutant(rng, text)), mutate.signature(rng, fitting)
        yield f"{signature}\n{changed}", partial(try_text, changed, signature)


def try_ir(text: str) -> Outcome:
    printed, error, same = _core_testing.round_trip(text)
    if printed == "":
        return ("refused", "") if error and not same else ("refused", "refused without a text")
    return ("accepted", "") if same and error == "" else ("accepted", f"does not come back: {error}")


def irs(rng: random.Random) -> Iterator[Trial]:
    """Printed IR of the corpus, as the front end makes it and as the back end gets it."""
    sources = []
    for case in corpus.load():
        for stage in ("lower", "final"):
            kernel, args = kw.kernel(case.fn), case.make(np.random.default_rng(0))
            sources.append(kernel.ir(*args, stage=stage))
    while True:
        changed = utf8(mutate.mutant(rng, rng.choice(sources)))
        yield changed, partial(try_ir, changed)


def function_of(case: corpus.Case, text: str, name: str) -> types.FunctionType | None:
    """The function that a mutant defines, with its text where inspect looks for it."""
    space = dict(vars(sys.modules[case.fn.__module__]))
    try:
        exec(compile(text, name, "exec"), space)
    except Exception:
        return None
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    found = space.get(case.fn.__name__)
    return found if isinstance(found, types.FunctionType) and found.__code__.co_filename == name else None


def bits(value: Any) -> Any:
    """Comparable, with every NaN made the same."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.dtype.kind == "f":
        value = np.where(np.isnan(value), np.array(np.nan, value.dtype), value)
    return value.dtype.str, value.shape, np.ascontiguousarray(value).tobytes()


def call(function: types.FunctionType, case: corpus.Case, fp: str, words: str) -> tuple[str, Any]:
    """(what happened, result and arguments, or the text of the error)."""
    args = case.make(np.random.default_rng(0))
    begin = clocks()
    try:
        with kw.debug(words):
            signal.setitimer(signal.ITIMER_REAL, WATCH)
            try:
                result = kw.kernel(fp=fp)(function)(*args)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    except (TimeoutError, MemoryError) as e:
        late = is_late(begin, WATCH)
        return ("InternalError", "E503: not interrupted in time") if late else (type(e).__name__, "")
    except Exception as e:
        return type(e).__name__, str(e)
    return "ok", [bits(v) for v in (*(result if isinstance(result, tuple) else (result,)), *args)]


def try_run(function: types.FunctionType, case: corpus.Case, fp: str) -> Outcome:
    """Interpreter and machine code agree, in values or in the error at run time; none is internal."""
    what, value = call(function, case, fp, "cache=off; interp")
    internal = what in ("InternalError", "SystemError", "RuntimeError", "KernelError")
    if internal:
        return what, re.sub(r"^.*?(?=E503|$)|'[^']*'", "", str(value).splitlines()[0])
    if what != "ok" and "E303" not in str(value):
        return what, ""
    again = call(function, case, fp, "cache=off; verify=each")
    if again[0] in ("TimeoutError", "MemoryError"):
        return what, ""
    same = (what, value) == again
    return (
        what,
        "" if same else f"{fp}: {what} by the interpreter, {again[0]} by LLVM differ {str(again[1])[:200]}",
    )


def runs(rng: random.Random) -> Iterator[Trial]:
    """Kernels of the corpus, changed in meaning, run on the corpus' own arguments."""
    cases, number = corpus.load(), 0
    while True:
        case, number = rng.choice(cases), number + 1
        text = inspect.getsource(case.fn)
        text = text[text.index("def " + case.fn.__name__) :]
        changed = utf8(mutate.mutant(rng, text, (*mutate.FINE, mutate.tokens)))
        function = function_of(case, changed, f"<mutant {number}>")
        if function is not None:
            fp = rng.choice(("strict", "default"))
            yield changed, partial(try_run, function, case, fp)
            linecache.cache.clear()


def note(memory: mmap.mmap, text: str) -> None:
    """Writes the mutant where it outlives a crash, faster than a file could."""
    data = text.replace("\0", "\\0").encode()[: NOTED - 1]
    memory[: len(data) + 1] = data + b"\0"


def interrupt(*_: object) -> None:
    raise TimeoutError


def main(kind: str, seed: str, count: str, seconds: str, last: str) -> None:
    warnings.simplefilter("ignore")
    if kind == "run":
        signal.signal(signal.SIGALRM, interrupt)
        if "asan" not in Path("/proc/self/maps").read_text():
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    found: dict[str, list[str]] = {}
    tally: Counter[str] = Counter()
    trials = {"text": texts, "ir": irs, "run": runs}[kind](random.Random(int(seed)))
    Path(last).write_bytes(bytes(NOTED))
    with open(last, "r+b") as file:
        memory = mmap.mmap(file.fileno(), NOTED)
    until = time.monotonic() + float(seconds)
    while tally.total() < int(count) and time.monotonic() < until:
        text, trial = next(trials)
        note(memory, text)
        try:
            what, complaint = trial()
        except Exception as e:
            what, complaint = type(e).__name__, f"exception: {e!r}"
        tally[what] += 1
        if complaint:
            found.setdefault(re.sub(r"<[^>]*>:\d+:\d+: ", "", complaint), []).append(text)
    shortest = [[key, str(len(list_)), min(list_, key=len)] for key, list_ in found.items()]
    print(json.dumps({"tally": tally, "complaints": shortest}))


if __name__ == "__main__":
    main(*sys.argv[1:])
