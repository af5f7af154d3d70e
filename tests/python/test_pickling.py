"""Kernels in other processes: by name, by their script or module, or by value from a notebook."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import cloudpickle
import pytest
from test_objects import Layer, add, plain

import kernelwright as kw


def test_pickle_by_name() -> None:
    for kernel in (add, Layer.forward, Layer.half):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(kernel, protocol)) is kernel
    assert cloudpickle.loads(cloudpickle.dumps(add)) is add
    assert len(pickle.dumps(add)) < 200
    assert copy.copy(add) is add and copy.deepcopy([add])[0] is add


def test_pickle_refuses_what_has_no_name() -> None:
    @kw.kernel
    def local(a):
        return a

    name = "test_pickle_refuses_what_has_no_name.<locals>.local"
    with pytest.raises(TypeError) as caught:
        pickle.dumps(local)
    where = f"it is not found as {__name__}.{name}; define it at module level"
    assert str(caught.value) == f"cannot pickle kernel {name}: {where}"
    with pytest.raises(TypeError) as caught:
        pickle.dumps(kw.kernel(plain))
    where = f"it is not found as {plain.__module__}.plain; define it at module level"
    assert str(caught.value) == f"cannot pickle kernel plain: {where}"


KERNELS = """\
import kernelwright as kw


@kw.kernel
def double(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * 2
    return c
"""
WORKERS = """\
import multiprocessing
import sys

import joblib
import numpy as np
import kernels
import kernelwright as kw


@kw.kernel
def triple(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * 3
    return c


if __name__ == "__main__":
    both, arrays = (kernels.double, triple), [np.full(2, n, np.float32) for n in (1, 2)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print([r.tolist() for kernel in both for r in pool.map(kernel, arrays)])
    with joblib.Parallel(n_jobs=2) as parallel:
        jobs = [joblib.delayed(kernel)(a) for kernel in both for a in arrays]
        print([r.tolist() for r in parallel(jobs)])
"""


def test_worker_processes(tmp_path: Path) -> None:
    """multiprocessing (spawn) and joblib send kernels of modules and of the script itself."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, cwd=tmp_path)
    doubled, tripled = [[2.0, 2.0], [4.0, 4.0]], [[3.0, 3.0], [6.0, 6.0]]
    assert done.stdout.splitlines() == [str(doubled + tripled)] * 2


PACKAGE_MAIN = """\
import joblib
import numpy as np
import kernelwright as kw
from .helpers import FACTOR


@kw.kernel
def scaled(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * FACTOR
    return c


if __name__ == "__main__":
    jobs = [joblib.delayed(scaled)(np.full(2, n, np.float32)) for n in (1, 2)]
    print([r.tolist() for r in joblib.Parallel(n_jobs=2)(jobs)])
"""


@pytest.mark.parametrize(("name", "module"), [("pkg.mod", "mod"), ("pkg", "__main__")])
def test_worker_processes_of_a_module_that_runs(name: str, module: str, tmp_path: Path) -> None:
    """`python -m`: relative imports work in the workers too."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "helpers.py").write_text("FACTOR = 5\n")
    (tmp_path / "pkg" / f"{module}.py").write_text(PACKAGE_MAIN)
    line = [sys.executable, "-m", name]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)
    assert (done.stdout, done.returncode) == ("[[5.0, 5.0], [10.0, 10.0]]\n", 0), done.stderr


NOTEBOOK = (
    "import joblib\nimport pickle\nimport numpy as np\nimport kernelwright as kw\nSCALE = 3\n",
    "def plus(x, n=1):\n    return x + n * SCALE\n",
    """\
@kw.kernel(fp="strict", debug=True)
def rooted(a):
    \"""Doc.\"""
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = plus(np.sqrt(a[i]))
    return c
""",
    """\
with joblib.Parallel(n_jobs=2) as parallel:
    print([r.tolist() for r in parallel(joblib.delayed(rooted)(np.full(2, n, "f4")) for n in (1, 4))])
    about = lambda k: (k.__doc__, k.__name__, k.explain(np.ones(2)).options, k.__wrapped__.__name__)
    print(*parallel([joblib.delayed(about)(rooted)]))
SCALE = 5
with joblib.Parallel(n_jobs=2) as parallel:
    print(*parallel([joblib.delayed(rooted)(np.ones(2, "f4"))]))
assert pickle.loads(pickle.dumps(rooted)) is rooted
SCALE = open("sheet", "w")
try:
    pickle.dumps(rooted)
except pickle.PicklingError as e:
    print(e)
""",
)


def run_notebook(cells: tuple[str, ...], folder: Path) -> list[str]:
    """The lines that cells print when each is a source of its own, as in Jupyter."""
    driver = "import linecache\n" + "".join(
        f"linecache.cache['<cell {n}>'] = (0, None, {cell.splitlines(keepends=True)!r}, '<cell {n}>')\n"
        f"exec(compile({cell!r}, '<cell {n}>', 'exec'))\n"
        for n, cell in enumerate(cells)
    )
    line = [sys.executable, "-c", driver]
    env = {**os.environ, "KW_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_worker_processes_of_a_notebook(tmp_path: Path) -> None:
    """Without a file to run the kernel goes by value, with its source, options and all that it captures."""
    *results, refused = run_notebook(NOTEBOOK, tmp_path)
    assert results == [
        "[[4.0, 4.0], [5.0, 5.0]]",
        "('Doc.', 'rooted', \", fp='strict', debug=True\", 'rooted')",
        "[6. 6.]",
    ]
    assert refused.startswith("cannot send kernel rooted to another process with all that it captures: ")
    assert refused.endswith("; define it in a module of its own and import it")


KERNEL_IN_KERNEL = (
    "import joblib, pickle\nimport numpy as np\nimport kernelwright as kw\n",
    "@kw.kernel\ndef inner(x):\n    return x + 1\n",
    """\
def make(k):
    @kw.kernel
    def outer(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = inner(a[i]) * k
        return c
    return outer
outer = make(5)
outer.__qualname__ = "outer"
""",
    "@kw.kernel\ndef selfish(a):\n    a[0] = selfish\n    return a\n",
    """\
print(*joblib.Parallel(n_jobs=2)([joblib.delayed(outer)(np.ones(2))]))
try:
    pickle.dumps(selfish)
except pickle.PicklingError as e:
    print(e)
""",
)


def test_kernels_that_call_kernels_take_them_along(tmp_path: Path) -> None:
    result, refused = run_notebook(KERNEL_IN_KERNEL, tmp_path)
    assert result == "[10. 10.]"
    assert refused.startswith("cannot send kernel selfish ") and refused.count("cannot send") == 1
