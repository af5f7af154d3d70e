"""What an installed wheel must do: compile, run, export and warm up kernels, and answer as a command."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

os.environ["KW_LIBCUDA"] = os.environ["KW_NVRTC"] = "/nowhere"  # a machine without any part of CUDA

import kernelwright as kw
from kernelwright.examples.kernels import matmul, softmax

x = np.random.default_rng(0).standard_normal((50, 70)).astype(np.float32)
e = np.exp(x - x.max(axis=1, keepdims=True))
kw.testing.assert_close(softmax(x), e / e.sum(axis=1, keepdims=True), rtol=1e-5)
kw.testing.assert_close(matmul(x, x.T.copy()), x @ x.T, rtol=1e-4, atol=1e-4)
made = softmax.export("libsoftmax.so", "f32[:, :]")
assert made.library.stat().st_size > 1000 and "softmax_run" in made.header.read_text()
assert softmax.warmup("f64[:, :]", target="generic")
command = Path(sys.executable).with_name("kw")
listed = subprocess.run([command, "cache", "ls"], capture_output=True, text=True, check=True).stdout
assert "softmax" in listed
subprocess.run([command, "doctor", "--json"], capture_output=True, check=True)
assert not kw.cuda.available() and "/nowhere" in kw.cuda.why()
assert "softmax_0(" in softmax.cuda("f32[:, :]", device="sm_90")
try:
    softmax.warmup("f32[:, :]", device="sm_90")
except kw.DeviceError as error:
    assert "error[E502]" in str(error)
else:
    raise AssertionError("text was compiled without NVRTC")
