"""The end of memory in any part of a compilation is MemoryError; with memory again the next one works."""

from __future__ import annotations

import random

import pytest
from cold import SEED, TIMES, expect, run

PROGRAM = """
import resource, sys
import numpy as np
import kernelwright as kw

def long_kernel(number):
    lines = "".join(f"        t = exp(t) * 0.25 - sin(t) * 0.5 + 0.{number}\\n" for _ in range(60))
    return kw.kernel(
        "def k(a):\\n    o = output_tensor(a.shape, a.dtype)\\n"
        f"    for i in range(a.shape[0]):\\n        t = a[i]\\n{lines}        o[i] = t\\n    return o\\n"
    )

opened, room = sys.argv[1] == "opened", int(sys.argv[2])
a = np.linspace(0, 1, 100)
expected = long_kernel(0).py(a)
if opened:
    long_kernel(1)(a)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
most = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (used + room, most))
said = "compiled"
try:
    long_kernel(2)(a)
except MemoryError:
    said = "MemoryError"
resource.setrlimit(resource.RLIMIT_AS, (most, most))
assert np.allclose(long_kernel(0)(a), expected, rtol=1e-12)
assert np.allclose(long_kernel(2)(a), long_kernel(2).py(a), rtol=1e-12)
print(said)
"""

rng = random.Random(SEED)
ROOMS = [0, 1 << 16, 1 << 20, *(rng.randrange(48 << 20) for _ in range(5 * TIMES))]


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("state", ["opened", "closed"])
def test_the_end_of_memory_is_a_memory_error(state: str, room: int) -> None:
    """`opened`: the compiler library is there already; else the limit may meet its opening. Seeds are printed
    with the parameters.
    """
    done = run(PROGRAM, state, room, env={"KW_DEBUG": "cache=off"})
    expect(done, done.stdout.strip(), (state, room, done))
    assert done.stdout.strip() in ("compiled", "MemoryError")


WORKERS = """
import resource, sys
import numpy as np
import kernelwright as kw

kw.set_threads(2)
add = kw.kernel(
    "def add(x):\\n    y = output_tensor(x.shape, x.dtype)\\n    for i in range(x.shape[0]):\\n"
    "        y[i] = x[i] + 1.0\\n    return y\\n"
)
big, out = np.ones(8_000_000), np.ones(8_000_000)
add(big[:1000])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]), -1))
print(add(big, out=out)[0])
"""


@pytest.mark.parametrize("room", [(8 << 20) + more for more in range(0, 40 << 10, 4 << 10)])
def test_workers_begin_where_there_is_only_room_for_their_stacks(room: int) -> None:
    expect(run(WORKERS, room), "2.0", room)
