"""The names of a reference text with a bound beside every float, and the run of a text with them.

`allowed` says how far each element of the results and arguments may be from what the strict mode gives. The
rules stand in shadow.py; this file applies them to functions, casts and buffers.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import reference
import shadow
from scalar_types import is_float, promote
from shadow import EXACT_WORDS, POISON, Bounded, adopted, bounded, converted, error


class Memory(reference.Buffer):
    """A tensor whose elements have shadows, which views of the same memory share."""

    def __init__(self, name: str, array: np.ndarray, written: np.ndarray | None = None) -> None:
        super().__init__(name, array, written)
        self.shape = tuple(Bounded(n) for n in array.shape)
        self.floats = is_float(self.type)
        self.start = array.__array_interface__["data"][0]
        shadow.KEPT.append(array)

    def place(self, index: Any) -> tuple[int, ...] | None:
        for item in index if isinstance(index, tuple) else (index,):
            if isinstance(item, Bounded) and item.s is POISON:
                raise shadow.Undecided
        return super().place(index)

    def address(self, place: tuple[int, ...]) -> int:
        steps = zip(place, self.array.shape, self.array.strides, strict=True)
        return int(self.start + sum(k % n * step for k, n, step in steps))  # -1 and n - 1 are one element

    def __getitem__(self, index: Any) -> Bounded:
        v = super().__getitem__(index).v
        place = self.place(index)
        return Bounded(v, shadow.SHADOWS.get(self.address(place)) if place is not None else None)

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        place = self.place(index)
        if place is not None:
            stored = converted(bounded(value), self.type, self.array[place])
            shadow.SHADOWS[self.address(place)] = stored.s

    def allowed(self) -> np.ndarray:
        """The bound of each element."""
        out = np.zeros(self.array.shape)
        for place in np.ndindex(*self.array.shape):
            s = shadow.SHADOWS.get(self.address(place))
            if s is not None:
                out[place] = error(Bounded(self.array[place], s))
            elif self.floats:
                out[place] = error(Bounded(self.array[place]))
        return out


def common(args: tuple[Any, ...]) -> list[Bounded]:
    """Operands in their common type."""
    items = [bounded(x) for x in args]
    t = reference.type_of(items[0].v)
    for x in items[1:]:
        t = promote(t, reference.type_of(x.v))
    return [adopted(x, t) for x in items]


def extreme(larger: bool) -> Callable[..., Bounded]:
    plain = reference.extreme(larger)

    def function(*args: Any) -> Bounded:
        v, items = plain(*args).v, common(args)
        errors = [error(x) for x in items]
        if max(errors) == 0:
            if not is_float(reference.type_of(v)):
                return Bounded(v)
            nearest = [x.s for x in items if x.v == v or (x.v != x.v and v != v)]
            return Bounded(v, nearest[0] if nearest else None)
        if not is_float(reference.type_of(v)) or not all(math.isfinite(float(x.v)) for x in items):
            return Bounded(v, POISON)
        return shadow.inexact(v, max(errors), reference.type_of(v))

    return function


def of_words(name: str, plain: Callable[..., reference.R]) -> Callable[..., Bounded]:
    """A function of the language."""

    def function(*args: Any) -> Bounded:
        v, items = plain(*args).v, common(args)
        e = error(items[0])
        if name == "abs" and is_float(reference.type_of(v)) and 0 < e < math.inf:
            return shadow.inexact(v, e, reference.type_of(v))
        rough = name not in EXACT_WORDS and is_float(reference.type_of(v))
        return shadow.exact_only(v, *items, rough=rough)

    return function


def select(condition: Any, yes: Any, no: Any) -> Bounded:
    v = reference.select(bool(bounded(condition).v), yes, no).v
    a, b = common((yes, no))
    test = bounded(condition)
    e = error(test)
    if e and (e == math.inf or abs(float(test.v)) <= e):
        return Bounded(v, POISON)
    return Bounded(v, (a if test.v else b).s)


def raised(left: Any, right: Any) -> Bounded:
    a, n = bounded(left), bounded(right)
    v = reference.power_by_literal(a.v, n.v)
    t = reference.type_of(v)
    if n.v == 2 and is_float(t):
        a = adopted(a, t)
        return shadow.product(a, a, v, t)
    if n.v in (0, 1) and is_float(t):
        return Bounded(v, adopted(a, t).s if n.v else None)
    return shadow.exact_only(v, a, n, rough=is_float(t))


def whole(word: str, x: Any) -> Bounded:
    a, v = bounded(x), reference.whole(word, x).v
    e = error(a)
    if e == 0:
        return Bounded(v)
    ends = [float(a.v) - e, float(a.v) + e]
    known = all(map(math.isfinite, ends)) and len({reference.ROUNDINGS[word](end) for end in ends}) == 1
    return Bounded(v, None if known else POISON)


def merge(t: str, x: Any) -> Bounded:
    return converted(bounded(x), t, reference.merge(t, x).v)


def counted(*bounds: Any) -> Iterator[Bounded]:
    for b in bounds:
        settle_exactly(b)
    return (Bounded(r.v) for r in reference.counted(*bounds))


def settle_exactly(x: Any) -> None:
    """Raises Undecided where an integer may be another one in another mode."""
    if isinstance(x, Bounded) and error(x):
        raise shadow.Undecided


def grid(shape: Any) -> Iterator[tuple[Bounded, ...]]:
    return itertools.product(*(list(counted(n)) for n in shape))


def declared(shape: Any, dtype: Any, name: str) -> Memory:
    for n in shape:
        settle_exactly(n)
    made = reference.declared(shape, dtype, name)
    return Memory(name, made.array, made.written)


class Cast:
    """A cast name, which is also a dtype."""

    def __init__(self, t: str) -> None:
        self.reference = t

    def __call__(self, x: Any) -> Bounded:
        return cast(self.reference, x)


def cast(t: str, x: Any) -> Bounded:
    return converted(bounded(x), t, reference.convert(reference.bare(x), t))


def weak(t: str) -> Callable[[Any], Bounded]:
    return lambda x: converted(bounded(x), t, reference.weak(reference.bare(x), t))


def words() -> dict[str, Any]:
    """The names of reference.words, with bounds."""
    plain = reference.words()
    own: dict[str, Any] = {
        "L": Bounded, "N": int, "M": merge, "POW": raised, "WHOLE": whole, "CAST": cast,
        "min": extreme(False), "max": extreme(True), "select": select, "grid": grid,
        "int": weak("wi"), "float": weak("wf"), "bool": weak("wb"),
        "output_tensor": declared, "allocate": declared,
    }  # fmt: skip
    for name, given in plain.items():
        if given is reference.counted:
            own[name] = counted
        elif isinstance(given, reference.Cast):
            own[name] = Cast(given.reference)
        elif name not in own:
            own[name] = of_words(name, given)
    return own


def start(fast: bool) -> dict[str, Any]:
    """Forgets the last run, and returns the names for another one."""
    reference.EVENTS.clear()
    shadow.SHADOWS.clear()
    shadow.KEPT.clear()
    shadow.FAST = fast
    return words()


def result_of(
    function: Callable[..., Any], names: list[str], args: list[Any]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Strict values and bounds of the results and then of the arrays given; raises Undecided, IndexFault."""
    given = [
        Memory(n, a) if isinstance(a, np.ndarray) else Bounded(a) for n, a in zip(names, args, strict=True)
    ]
    result = function(*given)
    results = () if result is None else result if isinstance(result, tuple) else (result,)
    return [(b.array, b.allowed()) for b in (*results, *(a for a in given if isinstance(a, Memory)))]


def run(
    text: str, captured: dict[str, Any], names: list[str], args: list[Any], fast: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Runs the reference text of a program."""
    space = start(fast)
    for name, value in captured.items():
        space[name] = tuple(Bounded(v) for v in value) if isinstance(value, tuple) else Bounded(value)
    exec(compile(text, "<reference>", "exec"), space)
    return result_of(space["f"], names, args)


def run_kernel(
    text: str, name: str, captured: dict[str, Any], args: list[Any], fast: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Runs a text of reference_text.py; its kernel has the name and takes the arguments in order."""
    space = start(fast)
    plain = {n: of_words(n, reference.of_words(n)) for n in ("rsqrt", "power")}
    space |= {**plain, "attr": no_scope, "block_realize": no_scope, "len": length, **captured}
    space |= {"output_tensor": unnamed, "allocate": unnamed}
    exec(compile(text, "<reference>", "exec"), space)
    return result_of(space[name], [f"argument {n}" for n in range(len(args))], args)


def no_scope(*_: object) -> contextlib.AbstractContextManager[None]:
    """A scheduling scope, which means nothing."""
    return contextlib.nullcontext()


def length(x: Any) -> Bounded:
    return Bounded(len(x) if isinstance(x, tuple) else x.array.shape[0])


def unnamed(shape: Any, dtype: Any = "float32", *_: object, **__: object) -> Memory:
    """A buffer of a plain kernel, whose dtype may be that of an argument."""
    t = dtype if isinstance(dtype, str) else getattr(dtype, "reference", None) or np.dtype(dtype).name
    extents = shape if isinstance(shape, tuple) else (shape,)
    return declared(extents, t, "unnamed")
