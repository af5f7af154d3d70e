"""Odd files, limits and variables in every place that is read: the cache, the text of a kernel."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest
from cold import run

KERNEL = """
import numpy as np
import kernelwright as kw

k = kw.kernel("def k(a):\\n    for i in range(a.shape[0]):\\n        a[i] = a[i] * 2\\n    return a\\n")
for _ in range(2):
    assert (k(np.arange(4.0)) == np.arange(4.0) * 2).all()
print("right")
"""


def make(path: Path, kind: str) -> None:
    if kind == "file":
        path.write_text("x")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "closed":
        path.mkdir(mode=0)
    elif kind == "dangling":
        path.symlink_to(path.with_name("nothing"))


@pytest.mark.parametrize("kind", ["file", "fifo", "loop", "closed", "dangling"])
@pytest.mark.parametrize("below", ["", "/deeper/still"])
def test_the_cache_directory_may_be_anything(tmp_path: Path, kind: str, below: str) -> None:
    make(tmp_path / "cache", kind)
    done = run(KERNEL, env={"KW_CACHE_DIR": f"{tmp_path}/cache{below}"}, patience=60)
    assert (done.returncode, done.stdout) == (0, "right\n"), done


@pytest.mark.parametrize(
    "place", ["", "/dev/null", "/proc/self/fd", "relative/place", "~nobody-like-this/x", "/"]
)
def test_odd_names_of_the_cache_directory(tmp_path: Path, place: str) -> None:
    done = run(KERNEL, env={"KW_CACHE_DIR": place, "HOME": str(tmp_path)}, cwd=tmp_path, patience=60)
    assert (done.returncode, done.stdout) == (0, "right\n"), done


@pytest.mark.parametrize("size", ["0", "-1", "1e9", "99999999999999999999999", "1T", "\u0663"])
def test_odd_sizes_of_the_cache(tmp_path: Path, size: str) -> None:
    env = {"KW_CACHE_DIR": str(tmp_path / "cache"), "KW_CACHE_SIZE": size}
    done = run(KERNEL, env=env)
    assert (done.returncode, done.stdout) == (0, "right\n"), done


def limited(what: int, most: int) -> None:
    resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


@pytest.mark.parametrize("most", [0, 100, 5000])
def test_files_that_cannot_grow(tmp_path: Path, most: int) -> None:
    done = run(
        KERNEL, env={"KW_CACHE_DIR": str(tmp_path)}, first=lambda: limited(resource.RLIMIT_FSIZE, most)
    )
    assert (done.returncode, done.stdout) == (0, "right\n"), done
    assert not [p for p in tmp_path.iterdir() if p.suffix != ".kwa"]


@pytest.mark.parametrize("more", [0, 1, 2, 4])
def test_no_more_files_can_be_opened(tmp_path: Path, more: int) -> None:
    program = f"""
import os, resource
import numpy as np
import kernelwright as kw
kw.kernel("def k(a):\\n    a[0] = 1\\n    return a\\n")(np.ones(3))
used = len(os.listdir("/proc/self/fd"))
resource.setrlimit(resource.RLIMIT_NOFILE, (used + {more} - 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
{KERNEL}
"""
    done = run(program, env={"KW_CACHE_DIR": str(tmp_path)})
    assert (done.returncode, done.stdout) == (0, "right\n"), done


SOURCE = """
import kernelwright as kw

@kw.kernel
def k(a):
    for i in range(a.shape[0]):
        a[i] = a[i] * 2
    return a
"""
IMPORTED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import numpy as np
import source
path, kind = Path(source.__file__), sys.argv[2]
path.unlink()
if kind == "fifo":
    os.mkfifo(path)
elif kind == "folder":
    path.mkdir()
elif kind == "bytes":
    path.write_bytes(bytes(range(256)) * 10)
elif kind == "loop":
    path.symlink_to(path)
elif kind == "large":
    with open(path, "wb") as f:
        f.truncate(1 << 33)
assert (source.k(np.arange(4.0)) == np.arange(4.0) * 2).all()
print("right")
"""


@pytest.mark.parametrize("kind", ["gone", "fifo", "folder", "bytes", "loop", "large"])
def test_the_file_of_a_kernel_becomes_anything(tmp_path: Path, kind: str) -> None:
    """Its text was read when the kernel was made."""
    (tmp_path / "source.py").write_text(SOURCE)
    done = run(IMPORTED, tmp_path, kind, env={"KW_CACHE_DIR": str(tmp_path / "cache")}, patience=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", ""), done
