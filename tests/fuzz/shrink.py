"""Cuts a failing program down while it fails in the same way: statements, expressions, arguments, extents.

Works on the tree. Every attempt runs in a child process, so that a crash or a hang is a way of failing too.
Explains nothing: the smallest program is the explanation.
"""

from __future__ import annotations

import copy
import os
import select
import signal
import time
from collections.abc import Callable, Iterator

import judge
from program import E, Program, S, expressions, statements

CHILD_SECONDS = 12.0


def failure(p: Program) -> str:
    """The kind of failure of a program, "" when there is none; found in a child process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        kind = ""
        try:
            kind = judge.judge(p).kind
        except BaseException as e:
            kind = f"exception: {type(e).__name__}"
        os.write(writer, kind.encode()[:4000] or b"-")
        os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], CHILD_SECONDS)
    said = os.read(reader, 4096) if ready else b""
    os.close(reader)
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not ready:
        return "hangs"
    if said:
        return "" if said == b"-" else said.decode()
    return f"crash by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "crash"


def blocks(p: Program) -> Iterator[list[S]]:
    """Every list of statements of a program."""
    for f in (*p.helpers, p.main):
        yield f.body
        for s in statements(f.body):
            yield from s.blocks


def cut_statements(p: Program) -> Iterator[Callable[[Program], None]]:
    """Runs of statements left out, longest first; bodies in place of their heads; arms dropped."""

    def without(n: int, a: int, b: int) -> Callable[[Program], None]:
        return lambda q: list(blocks(q))[n].__delitem__(slice(a, b))

    def opened(n: int, a: int, arm: int) -> Callable[[Program], None]:
        def change(q: Program) -> None:
            block = list(blocks(q))[n]
            block[a : a + 1] = block[a].blocks[arm]

        return change

    def one_arm(n: int, a: int) -> Callable[[Program], None]:
        return lambda q: list(blocks(q))[n][a].blocks.__delitem__(slice(1, None))

    lengths = [len(b) for b in blocks(p)]
    for n, length in enumerate(lengths):
        size = length
        while size:
            for a in range(0, length - size + 1, size):
                yield without(n, a, a + size)
            size //= 2
    for n, block in enumerate(blocks(p)):
        for a, s in enumerate(block):
            for arm in range(len(s.blocks)):
                yield opened(n, a, arm)
            if len(s.blocks) > 1:
                yield one_arm(n, a)


def kid_lists(p: Program) -> Iterator[tuple[list[E], int]]:
    """Every place that holds an expression."""
    for block in blocks(p):
        for s in block:
            for n in range(len(s.kids)):
                yield s.kids, n
            for top in s.kids:
                for e in expressions(top):
                    for n in range(len(e.kids)):
                        yield e.kids, n


SIMPLE = (E("0", [], "wi", "L(0)", 0), E("1", [], "wi", "L(1)", 1), E("1.5", [], "wf", "L(1.5)", 1.5))


def cut_expressions(p: Program) -> Iterator[Callable[[Program], None]]:
    """An expression replaced by one of its own operands, or by a literal."""

    def replaced(place: int, choose: Callable[[E], E]) -> Callable[[Program], None]:
        def change(q: Program) -> None:
            kids, n = list(kid_lists(q))[place]
            kids[n] = choose(kids[n])

        return change

    for place, (kids, n) in enumerate(kid_lists(p)):
        e = kids[n]
        for k in range(len(e.kids)):
            yield replaced(place, lambda e, k=k: e.kids[k])  # type: ignore[misc]
        if e.kids or e.const is None:
            for simple in SIMPLE:
                yield replaced(place, lambda _, simple=simple: copy.deepcopy(simple))  # type: ignore[misc]


def in_call(k: int, change: Callable[..., None]) -> Callable[[Program], None]:
    """A change of one call as a change of the program."""
    return lambda q: change(q.calls[k])


def cut_calls(p: Program) -> Iterator[Callable[[Program], None]]:
    """Fewer calls, smaller extents, and calls that differ in less."""
    for k, call in enumerate(p.calls):
        if len(p.calls) > 1:
            yield lambda q, k=k: q.calls.__delitem__(k)  # type: ignore[misc]
        for name, n in call.sizes.items():
            for less in sorted({0, 1, 2, n // 2, n - 1}):
                if 0 <= less < n:
                    yield in_call(k, lambda c, name=name, n=less: c.sizes.__setitem__(name, n))
        for part in ("layouts", "contents", "captured", "out"):
            for name in getattr(call, part):
                yield in_call(k, lambda c, part=part, name=name: getattr(c, part).pop(name))
        for part, plain in (("salt", 0), ("apart", False)):
            if getattr(call, part) != plain:
                yield in_call(k, lambda c, part=part, plain=plain: setattr(c, part, plain))
    if p.place != "module":
        yield lambda q: setattr(q, "place", "module")


def cut_arguments(p: Program) -> Iterator[Callable[[Program], None]]:
    """Smaller extents, plainer layouts and contents, fewer arguments, results and helpers."""
    yield from cut_calls(p)
    for k, arg in enumerate(p.args):

        def plain(q: Program, k: int = k) -> None:
            q.args[k].layout, q.args[k].partner = "C", ""

        def ones(q: Program, k: int = k) -> None:
            q.args[k].content = "ones"

        def without(q: Program, k: int = k) -> None:
            name = q.args.pop(k).name
            for call in q.calls:
                call.layouts.pop(name, None)
                call.contents.pop(name, None)
                call.out = {o: layout for o, layout in call.out.items() if not layout.endswith(" " + name)}
            q.main.params.remove(name)
            q.main.returns = [r for r in q.main.returns if r != name]

        if arg.layout != "C" or arg.partner:
            yield plain
        if arg.content != "ones":
            yield ones
        if len(p.args) > 1:
            yield without
    for k in range(len(p.helpers)):
        yield lambda q, k=k: q.helpers.__delitem__(k)  # type: ignore[misc]
    for name in p.main.returns:

        def silent(q: Program, name: str = name) -> None:
            q.main.returns.remove(name)
            q.outputs = [a for a in q.outputs if a.name != name]
            for call in q.calls:
                call.out.pop(name, None)
            q.main.body = [s for s in q.main.body if not s.form.startswith(name + " = ")]

        if len(p.main.returns) > 1:
            yield silent


def shrink(p: Program, seconds: float = 60.0) -> tuple[Program, str]:
    """The smallest program found that fails like p, and how it fails; p itself when it does not fail."""
    kind = failure(p)
    until = time.monotonic() + seconds
    while kind:
        before = p
        for cuts in (cut_statements, cut_arguments, cut_expressions):
            tried = 0
            while time.monotonic() < until:
                change = next((c for n, c in enumerate(cuts(p)) if n == tried), None)
                if change is None:
                    break
                smaller = copy.deepcopy(p)
                change(smaller)
                if failure(smaller) == kind:
                    p = smaller
                else:
                    tried += 1
        if p is before or time.monotonic() >= until:
            break
    return p, kind
