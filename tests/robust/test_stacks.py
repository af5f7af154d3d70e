"""Threads with small stacks, kernels with many temporaries and many values at a time: right, or an error."""

from __future__ import annotations

import pytest
from cold import run

THREADS = """
import sys, threading
import numpy as np
import kernelwright as kw

def nested(n):
    return "a[i]" if n == 0 else f"({nested(n - 1)} + {n}.0)"

TEXTS = {
    "short": "        o[i] = sin(a[i]) * 2.0\\n",
    "nested": f"        o[i] = {nested(90)}\\n",
    "array": "        t = allocate((512,), 'float64')\\n        t[i] = a[i]\\n"
    "        o[i] = t[i] + t[(i + 1) % 512]\\n",
    "live": "".join(f"        t{n} = a[i] * {n}.5\\n" for n in range(500)) + "        s = 0.0\\n"
    + "".join(f"        s = s * 0.5 + t{n}\\n" for n in range(500)) + "        o[i] = s\\n",
}
head = "def k(a):\\n    o = output_tensor(a.shape, a.dtype)\\n    for i in range(a.shape[0]):\\n"
text = head + TEXTS[sys.argv[1]] + "    return o\\n"
a = np.linspace(0, 1, 100)
expected = kw.kernel(text).py(a)
made = kw.kernel(text)
found = []

def work():
    try:
        for k in (made, kw.kernel(text)):
            found.append(np.allclose(k(a), expected))
    except MemoryError as e:
        found.append(str(e))

threading.stack_size(int(sys.argv[2]))
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(found)
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["short", "nested", "array", "live"])
@pytest.mark.parametrize("size", [64 << 10, 128 << 10, 512 << 10])
@pytest.mark.parametrize("cache", ["", "cache=off"])
def test_threads_with_small_stacks(kind: str, size: int, cache: str) -> None:
    env = {"PYTHONWARNINGS": "ignore", **({"KW_DEBUG": cache} if cache else {})}
    done = run(THREADS, kind, size, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[True, True]\n", ""), (kind, size, done)


TEMPORARIES = """
import sys
import numpy as np
import kernelwright as kw

count = int(sys.argv[1])
lines = "".join(
    f"        t{n} = np.zeros((512,), 'float64')\\n        t{n}[i] = a[i] + {n}.0\\n" for n in range(count)
)
head = "import numpy as np\\ndef k(a):\\n    o = output_tensor(a.shape, a.dtype)\\n"
k = kw.kernel(
    head + "    for i in range(a.shape[0]):\\n"
    + lines + f"        o[i] = t0[i] + t{count - 1}[i]\\n    return o\\n"
)
print(k(np.ones(4)).tolist() == [2.0 + count - 1] * 4)
"""


@pytest.mark.parametrize("count", [4, 40, 3000])
def test_many_temporaries(count: int) -> None:
    """4 KB each: 3000 of them exceed the stack of the main thread, and lie elsewhere."""
    done = run(TEMPORARIES, count)
    assert (done.returncode, done.stdout) == (0, "True\n"), done


DEFAULTS = """
import threading
from kernelwright._stack import with_stack

threading.stack_size(65536)
inside = threading.Event()

def work():
    inside.set()
    return with_stack(lambda: 7, always=True)

threads = [threading.Thread(target=work) for _ in range(20)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(threading.stack_size())
"""


def test_the_default_size_of_stacks_stays_as_it_was() -> None:
    done = run(DEFAULTS)
    assert (done.returncode, done.stdout) == (0, "65536\n"), done
