"""Draws how a program is called: out=, further calls with other extents, strides, values and captured
constants, and where the kernel stands.

A later call may break what held for the first one. Draws no text of a kernel.
"""

from __future__ import annotations

import random
from typing import Any

from program import Arg, Call, Program

OUT_LAYOUTS = ("C", "C", "F", "reversed", "step", "offset", "unaligned")
PLAIN_LAYOUTS = ("C", "C", "F", "reversed", "step")


def place(made: Program, rng: random.Random) -> None:
    """The kernel at module level, in a function or in a class."""
    pick = rng.random()
    if made.captured and pick < 0.4:
        made.place = "closure"
        made.features.add("closure")
    elif pick > 0.94:
        made.place = "method"
        made.features.add("method")


def give_outputs(made: Program, call: Call, rng: random.Random) -> None:
    """Arrays for some outputs, apart from all arguments or over one of them."""
    for arg in made.outputs:
        if rng.random() < 0.25:
            continue
        call.out[arg.name] = rng.choice(OUT_LAYOUTS)
        made.features.add("out=")
    if call.out and rng.random() < 0.75:
        over_argument(made, call, rng)


def over_argument(made: Program, call: Call, rng: random.Random) -> None:
    """One output in the memory of an argument, or beside it."""
    shared = {a.partner for a in made.args} | {a.name for a in made.args if a.partner}
    for output in made.outputs:
        same = [
            a for a in made.args if a.shape == output.shape and a.dtype == output.dtype and a.layout == "C"
        ]
        same = [a for a in same if a.name not in shared]
        if same and output.name in call.out and call.layouts.get(same[0].name, "C") == "C":
            word = rng.choice(("over", "beside")) if output.shape else "over"
            call.out = {k: v for k, v in call.out.items() if v != "unaligned"}
            call.out[output.name] = f"{word} {same[0].name}"
            made.features.add(f"out= {word} an argument")
            return


def another_value(value: Any, rng: random.Random) -> Any:
    """A value of the same type."""
    if isinstance(value, tuple):
        return tuple(another_value(v, rng) for v in value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((1, 2, 3, 4, 6))
    return rng.choice((0.5, 1.5, -2.0, 0.1, value))


def again(made: Program, extents: tuple[int, ...], rng: random.Random) -> None:
    """One or two further calls of the same kernel."""
    for _ in range(rng.choice((1, 1, 2))):
        call = Call(dict(made.calls[0].sizes), rng.randint(1, 9))
        made.features.add("called again")
        if rng.random() < 0.5:
            made.features.add("called again with other extents")
            for name in call.sizes:
                if rng.random() < 0.6:
                    call.sizes[name] = rng.choice(extents)
        tensors = [a for a in made.args if a.shape is not None]
        for arg in tensors:
            if rng.random() < 0.2:
                relay(made, call, arg, rng)
        if made.captured and rng.random() < 0.6:
            made.features.add("captured value changed")
            name = rng.choice(list(made.captured))
            call.captured[name] = another_value(made.captured[name], rng)
        if any(a.partner for a in made.args) and rng.random() < 0.4:
            made.features.add("apart in another call")
            call.apart = True
        if made.outputs and rng.random() < 0.25:
            give_outputs(made, call, rng)
        made.calls.append(call)


def relay(made: Program, call: Call, arg: Arg, rng: random.Random) -> None:
    """Other strides or other contents for one argument."""
    shared = arg.partner or any(a.partner == arg.name for a in made.args)
    if "index" in arg.content:
        call.contents[arg.name] = "bad index" if rng.random() < 0.4 else "index"
        made.features.add("another call with bad indices")
    elif not shared and not arg.readonly():
        call.layouts[arg.name] = rng.choice(PLAIN_LAYOUTS)
        made.features.add("called again with other strides")
