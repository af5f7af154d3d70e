"""One engine in a process of its own: `engine.py NAME FOLDER`, then a line of JSON for each request.

{"prepare": case, "size": size} checks the result; {"measure": seconds} times calls for about that long beside
a quiet loop. A reference is computed once and kept in FOLDER for the other engines.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import engines
from case import Array, Case, difference, results_of
from families import CASES
from quiet import samples, undisturbed

PATIENCE = 0.15  # seconds that a sample waits for a quiet moment


def wanted_results(case: Case, size: str, args: tuple[Any, ...], folder: Path) -> tuple[Array, ...]:
    path = folder / f"{case.name}-{size}.npz"
    if not path.exists():
        found = results_of(case.reference(*args))
        found = tuple(a.astype(case.real) if a.dtype.kind == "f" else a for a in found)
        np.savez(path, *found)
    with np.load(path) as stored:
        return tuple(stored[name] for name in stored.files)


class Engine:
    def __init__(self, name: str, folder: Path) -> None:
        kind, _, threads = name.partition(" ")
        self.folder = folder
        self.timed: engines.Timed | None = None
        word = kind.removesuffix("-fast")
        compiler = engines.find_compiler(word) if word in engines.COMPILERS else engines.any_compiler()
        self.make: Any = {
            "kw": lambda *a: engines.prepare_kw(*a, unchecked=False),
            "unchecked": lambda *a: engines.prepare_kw(*a, unchecked=True),
            "out": engines.prepare_out,
            "aligned": engines.prepare_aligned,
            "placed": engines.prepare_placed,
            "call": engines.prepare_call,
            "gcc-fast": lambda *a: engines.prepare_fast_c(*a, compiler, str(folder)),
            "clang-fast": lambda *a: engines.prepare_fast_c(*a, compiler, str(folder)),
            "numba": lambda *a: engines.prepare_numba(*a, parallel=False),
            "prange": lambda *a: engines.prepare_numba(*a, parallel=True),
            "numpy": engines.prepare_numpy,
            "onednn": lambda *a: engines.prepare_onednn(*a, compiler, str(folder)),
            "limit": lambda *a: engines.prepare_limit(*a, compiler, str(folder), int(threads)),
        }.get(kind, lambda *a: engines.prepare_c(*a, compiler, str(folder)))

    def prepare(self, name: str, size: str) -> dict[str, Any]:
        self.timed = None
        case = CASES[name]
        args = case.arguments(size)
        wanted = wanted_results(case, size, args, self.folder)
        before = [a.copy() for a in args if isinstance(a, np.ndarray)]
        try:
            made = self.make(case, args, wanted)
        except ValueError as e:
            return {"skip": str(e)}
        wrong = "" if made.result is None else difference(case, made.result, wanted)
        for a, b in zip((a for a in args if isinstance(a, np.ndarray)), before, strict=True):
            if not np.array_equal(a, b):
                wrong = "an argument was changed"
        if wrong:
            return {"wrong": wrong}
        made.result = None
        self.timed, self.loops = made, 1
        return {"bytes": engines.moved_bytes(args, wanted)}

    def measure(self, seconds: float) -> dict[str, Any]:
        """Seconds of one call."""
        made = self.timed
        assert made
        while self.loops < 10**7 and (took := made.seconds(self.loops)) < seconds / 2:
            wanted = int(self.loops * seconds / max(took, 1e-7))
            self.loops = min(max(wanted, 2 * self.loops), 100 * self.loops)
        kept = samples["kept"]
        found = undisturbed(lambda: made.seconds(self.loops), PATIENCE) / self.loops
        return {"seconds": found, "quiet": samples["kept"] > kept}


def main() -> None:
    engine = Engine(sys.argv[1], Path(sys.argv[2]))
    answers, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "prepare" in request:
                answer = engine.prepare(request["prepare"], request["size"])
            else:
                answer = engine.measure(request["measure"])
        except Exception as e:
            answer = {"failed": f"{type(e).__name__}: {e}"[:500]}
        print(json.dumps(answer), file=answers, flush=True)


main()
