"""What is compiled in the background: the end of a process waits for it, and a fork does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import stand_ins
from test_lazy_loads import PROGRAM

# A stand-in of NVRTC that takes its time, and says on standard error when a compilation ends.
SLOW = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *of(const char *name) {
  static void *library;
  if (!library) library = dlopen(getenv("KW_TEST_NVRTC"), RTLD_NOW | RTLD_LOCAL);
  return dlsym(library, name);
}
// The product asks for it when it opens the library.
int nvrtcVersion(int *a, int *b) {
  usleep(1000 * atoi(getenv("KW_TEST_OPENS")));
  return ((int (*)(int *, int *))of("nvrtcVersion"))(a, b);
}
int nvrtcGetNumSupportedArchs(int *n) { return ((int (*)(int *))of("nvrtcGetNumSupportedArchs"))(n); }
int nvrtcGetSupportedArchs(int *n) { return ((int (*)(int *))of("nvrtcGetSupportedArchs"))(n); }
typedef const char *text;
int nvrtcCreateProgram(void **p, text t, text name, int n, const text *headers, const text *names) {
  return ((int (*)(void **, text, text, int, const text *, const text *))of("nvrtcCreateProgram"))(
      p, t, name, n, headers, names);
}
int nvrtcDestroyProgram(void **p) { return ((int (*)(void **))of("nvrtcDestroyProgram"))(p); }
int nvrtcCompileProgram(void *p, int n, const char *const *o) {
  fputs("begins\n", stderr);
  usleep(1000 * atoi(getenv("KW_TEST_COMPILES")));
  int failed = ((int (*)(void *, int, const char *const *))of("nvrtcCompileProgram"))(p, n, o);
  fputs("ends\n", stderr);
  return failed;
}
#define READS(name, type) \
  int name(void *p, type x) { return ((int (*)(void *, type))of(#name))(p, x); }
READS(nvrtcGetProgramLogSize, unsigned long *)
READS(nvrtcGetProgramLog, char *)
READS(nvrtcGetCUBINSize, unsigned long *)
READS(nvrtcGetCUBIN, char *)
READS(nvrtcGetPTXSize, unsigned long *)
READS(nvrtcGetPTX, char *)
"""

KERNELS = f"""
import os, signal, threading, time
{PROGRAM.partition("if __name__")[0]}
row_sums(kw.Tensor(np.ones((3, 80), "float32"), device="cuda")).numpy()
"""
FORKS = """
child = os.fork()
if child == 0:
    signal.alarm(10)
    row_sums.ptx("f64[:, :]", device="sm_90")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture(scope="module")
def slow_nvrtc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slow")
    (folder / "slow.c").write_text(SLOW)
    library = folder / "libnvrtc.so.13"
    options = ["-shared", "-fPIC", "-w", "-Wl,--build-id", "-ldl"]
    subprocess.run(["gcc", "-o", library, folder / "slow.c", *options], check=True)
    return library


def run(program: str, slow_nvrtc: Path, cache: Path, opens: int, compiles: int) -> str:
    environment = stand_ins.environment(KW_CACHE_DIR=str(cache), KW_BACKGROUND="1")
    environment |= {"KW_TEST_NVRTC": environment["KW_NVRTC"], "KW_NVRTC": str(slow_nvrtc)}
    environment |= {"KW_TEST_OPENS": str(opens), "KW_TEST_COMPILES": str(compiles)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stderr


def test_the_end_waits_for_what_is_compiled(slow_nvrtc: Path, tmp_path: Path) -> None:
    told = run(KERNELS, slow_nvrtc, tmp_path, 0, 300).split()
    assert told.count("begins") == told.count("ends") >= 3


def test_a_child_of_fork_finds_no_lock_held(slow_nvrtc: Path, tmp_path: Path) -> None:
    """The fork waits while a thread opens NVRTC, or compiles."""
    head, _, call = KERNELS.rpartition("\nrow_sums(")
    apart = f"\nx = {call.partition(')).')[0]})\nthreading.Thread(target=lambda: row_sums(x)).start()\n"
    run(head + apart + "time.sleep(0.3)" + FORKS, slow_nvrtc, tmp_path, 600, 0)
    run(KERNELS + FORKS, slow_nvrtc, tmp_path / "other", 0, 200)
