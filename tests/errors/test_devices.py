"""E501, E502 and E504 to E506 of GPUs: each reason of a machine without one, and devices that fail."""

from __future__ import annotations

import ctypes.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "gpu" / "emulator"))

import stand_ins

HEAD = """\
import numpy as np
import kernelwright as kw

@kw.kernel
def double(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * 2
    return c

@kw.kernel(unchecked=True)
def pick(a, i):
    c = output_tensor(i.shape, a.dtype)
    for k in range(i.shape[0]):
        c[k] = a[i[k]]
    return c

x = np.ones(4)
def said(f):
    try:
        return f()
    except Exception as e:
        return f"{type(e).__name__}: {e}"
"""
HELP = "\n      = help: kernels run on the CPU with NumPy arrays; kw.cuda.why() tells this without an error"


def run(tmp_path: Path, program: str, **environment: str) -> str:
    """What a program prints, with its path as program.py."""
    path = tmp_path / "program.py"
    path.write_text(HEAD + program)
    given = {"KW_CACHE_DIR": str(tmp_path / "cache"), **environment}
    clean = {k: v for k, v in os.environ.items() if k not in ("KW_LIBCUDA", "KW_NVRTC")}
    done = subprocess.run(
        [sys.executable, path], env={**clean, **given}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.replace(str(path), "program.py").rstrip("\n")


def emulated(**more: str) -> dict[str, str]:
    return stand_ins.environment(**more)


MOVE = 'print(said(lambda: kw.Tensor(x, device="cuda")))\n'


def test_without_a_driver(tmp_path: Path) -> None:
    """What still works is said, and works."""
    missing = str(tmp_path / "libcuda.so.1")
    why = f"KW_LIBCUDA cannot be opened: {missing}: cannot open shared object file: No such file or directory"
    program = MOVE + "print(kw.cuda.available(), kw.cuda.device_count(), kw.cuda.why(), double(x))\n"
    assert run(tmp_path, program, KW_LIBCUDA=missing) == (
        f"DeviceError: error[E501]: no CUDA device: {why}{HELP}\nFalse 0 {why} [2. 2. 2. 2.]"
    )


def test_no_library_of_a_driver(tmp_path: Path) -> None:
    """The one reason that most machines have; a loader that finds nothing stands for them."""
    said = run(tmp_path, MOVE)
    if "libcuda.so.1 was not found" not in said:
        pytest.skip("this machine has a driver")
    why = "libcuda.so.1 was not found (no NVIDIA driver on this machine)"
    assert said == f"DeviceError: error[E501]: no CUDA device: {why}{HELP}"


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({"KW_EMULATOR_VERSION": "11080"}, "the driver supports CUDA 11.8, and 12.0 or newer is needed"),
        ({"KW_EMULATOR_FAIL": "cuInit=100"}, "the driver reports none"),
        (
            {"KW_EMULATOR_FAIL": "cuInit=100", "CUDA_VISIBLE_DEVICES": ""},
            'the driver reports none (CUDA_VISIBLE_DEVICES is "")',
        ),
        (
            {"KW_EMULATOR_FAIL": "cuInit=34"},
            "libcuda.so.1 is the link stub of a CUDA toolkit, not a driver; remove its folder from"
            " LD_LIBRARY_PATH",
        ),
        (
            {"KW_EMULATOR_FAIL": "cuInit=803"},
            "the driver's library and its kernel module have different versions (restart the machine)",
        ),
        (
            {"KW_EMULATOR_FAIL": "cuInit=999"},
            "the driver cannot start (nvidia-smi and dmesg may say more)",
        ),
        ({"KW_EMULATOR_FAIL": "cuInit=2"}, "the driver cannot start: CUDA_ERROR_OUT_OF_MEMORY"),
        (
            {"KW_EMULATOR_DEVICES": "75"},
            "device 0 (Emulated GPU 0) has compute capability 7.5, and 8.0 or newer is needed",
        ),
        (
            {"KW_EMULATOR_DEVICES": "75,90"},
            "device 0 (Emulated GPU 0) has compute capability 7.5, and 8.0 or newer is needed",
        ),
    ],
)
def test_drivers_that_cannot_be_used(tmp_path: Path, environment: dict[str, str], why: str) -> None:
    text = f"DeviceError: error[E501]: no CUDA device: {why}{HELP}\nFalse {why}"
    program = MOVE + "print(kw.cuda.available(), kw.cuda.why())\n"
    assert run(tmp_path, program, **emulated(**environment)) == text


def test_other_numbers_of_devices(tmp_path: Path) -> None:
    program = (
        'print(said(lambda: kw.Tensor(x, device="cuda:3")))\nprint(said(lambda: kw.Tensor(x, device="gpu")))'
    )
    assert run(tmp_path, program, **emulated(KW_EMULATOR_DEVICES="90")) == (
        "DeviceError: error[E501]: no CUDA device: there is no device 3, only 1 device\n"
        '      = help: the device is called "cuda"\n'
        "ValueError: there is no device 'gpu'; devices are 'cpu', 'cuda' and 'cuda:N'"
    )


def test_a_child_of_fork_has_no_device(tmp_path: Path) -> None:
    program = """\
import os
t = kw.Tensor(x, device="cuda")
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, said(lambda: double(t)).encode())
    os._exit(0)
os.wait()
print(os.read(read, 10000).decode())
print(double(t).numpy())
"""
    why = 'CUDA was initialised before fork(): use the start method "spawn"'
    assert run(tmp_path, program, **emulated()) == (
        f"DeviceError: error[E501]: no CUDA device: {why}{HELP}\n[2. 2. 2. 2.]"
    )


MOVED = 't = kw.Tensor(x, device="cuda")\n'
CALL = f"{MOVED}print(said(lambda: double(t).numpy()))\n"


def test_without_nvrtc(tmp_path: Path) -> None:
    """Nothing new is compiled, but what is cached runs."""
    missing = emulated(KW_NVRTC=str(tmp_path / "libnvrtc.so.13"))
    text = (
        "DeviceError: program.py: error[E502]: CUDA kernels need libnvrtc.so.13 or .12, which was not found\n"
        f"      = note: looked at {tmp_path}/libnvrtc.so.13\n"
        "      = help: pip install nvidia-cuda-nvrtc, or set KW_NVRTC; kernels in the cache run without it"
    )
    assert run(tmp_path, CALL, **missing) == text
    assert run(tmp_path, CALL, **emulated()) == "[2. 2. 2. 2.]"
    assert run(tmp_path, CALL, **missing) == "[2. 2. 2. 2.]"


def test_a_file_that_is_no_nvrtc(tmp_path: Path) -> None:
    """The loader's reason is told, or that functions are missing."""
    text, library = tmp_path / "text.so", Path(ctypes.util.find_library("m") or "")
    text.write_text("no library")
    told = run(tmp_path, CALL, **emulated(KW_NVRTC=str(text)))
    assert f"      = note: looked at {text}: file too short\n" in told
    told = run(tmp_path, CALL, **emulated(KW_NVRTC=str(library)))
    assert f"      = note: looked at {library}: functions of NVRTC are missing in it\n" in told


def test_ptx_needs_nvrtc(tmp_path: Path) -> None:
    program = 'print(said(lambda: double.ptx(x)))\nprint(said(lambda: double.ptx(x, device="avx2")))\n'
    assert run(tmp_path, program, KW_NVRTC=str(tmp_path / "libnvrtc.so.13")) == (
        "DeviceError: program.py: error[E502]: CUDA kernels need libnvrtc.so.13 or .12, which was not found\n"
        f"      = note: looked at {tmp_path}/libnvrtc.so.13\n"
        "      = help: pip install nvidia-cuda-nvrtc, or set KW_NVRTC; kernels in the cache run without it\n"
        "ValueError: there is no GPU architecture 'avx2'; there are: sm_80, sm_86, sm_89, sm_90, sm_100,"
        ' sm_103, sm_120; "cuda" is that of the GPU at hand'
    )


def test_machine_code_that_is_in_no_cache(tmp_path: Path) -> None:
    """KW_FROZEN counts for machine code of GPUs, too."""
    warm = 'double.cuda(x)\nt = kw.Tensor(x, device="cuda")\n'
    assert run(tmp_path, CALL, **emulated()) == "[2. 2. 2. 2.]"
    for entry in (tmp_path / "cache").glob("*.kwa"):
        if b"KW_KERNEL" in entry.read_bytes() and b"\x7fELF" in entry.read_bytes():
            entry.unlink()  # the machine code, and not the text
    assert run(tmp_path, warm + CALL, **emulated(KW_FROZEN="1")) == (
        "UnsupportedError: error[E507]: the machine code of kernel 'double' for sm_90 is in no"
        " cache, and KW_FROZEN=1 forbids compiling it\n"
        "      = help: warm the cache up for this device (kw warmup --device), or run without KW_FROZEN"
    )


def test_the_nearest_entry_of_a_version_for_a_device(tmp_path: Path) -> None:
    """The note names what differs for a user: the target, not the back end."""
    assert run(tmp_path, "print(double(x))\n") == "[2. 2. 2. 2.]"
    told = run(tmp_path, CALL, **emulated(KW_FROZEN="1"))
    assert (
        "the first line of its key that differs is `target triple x86_64-unknown-linux-gnu`, not"
        " `target triple nvptx64-nvidia-cuda`\n"
    ) in told


def test_e504_failed_device(tmp_path: Path) -> None:
    """A device that an unchecked kernel has broken stays so, and each later use says that."""
    program = """\
t, far = kw.Tensor(x, device="cuda"), kw.Tensor(np.array([0, 1 << 20]), device="cuda")
double(t)
r = pick(t, far)
for f in (r.numpy, lambda: double(t)):
    print(said(f))
"""
    text = (
        "DeviceError: error[E504]: device 0 failed: CUDA_ERROR_ILLEGAL_ADDRESS\n"
        "      = note: call 2: 'pick', defined at program.py:11\n"
        "      = note: call 1: 'double', defined at program.py:4\n"
        "      = help: start a new process; please report it"
    )
    assert run(tmp_path, program, **emulated()) == f"{text}\n{text}"


def test_e505_different_devices(tmp_path: Path) -> None:
    program = """\
@kw.kernel
def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]
    return c

zero, one = kw.Tensor(x, device="cuda"), kw.Tensor(x, device="cuda:1")
for b in (x, kw.Tensor(x), one):
    print(said(lambda: add(zero, b)))
print(said(lambda: add(x, zero)))
print(said(lambda: add(zero, zero, out=x)))

@kw.kernel
def count(n, a):
    for i in range(a.shape[0]):
        n[()] += 1
    return n

print(said(lambda: count(np.array(0), zero)))
"""
    on_cpu = (
        "DeviceError: error[E505]: argument 'b' of kernel 'add' is on the CPU, 'a' on cuda:0\n"
        '      = help: move it: kw.Tensor(b, device="cuda")\n'
    )
    assert run(tmp_path, program, **emulated(KW_EMULATOR_DEVICES="90,80")) == (
        f"{on_cpu}{on_cpu}"
        "DeviceError: error[E505]: argument 'b' of kernel 'add' is on cuda:1, 'a' on cuda:0\n"
        '      = help: move it: kw.Tensor(b, device="cuda")\n'
        "DeviceError: error[E505]: argument 'a' of kernel 'add' is on the CPU, 'b' on cuda:0\n"
        '      = help: move it: kw.Tensor(a, device="cuda")\n'
        "DeviceError: error[E505]: out= of kernel 'add' is on the CPU, its arguments on cuda:0\n"
        "      = help: give a tensor of the same device, or leave out= away and take the result\n"
        "DeviceError: error[E505]: argument 'n' of kernel 'count' is on the CPU, 'a' on cuda:0\n"
        '      = help: move it: kw.Tensor(n, device="cuda")'
    )


def test_e506_capture(tmp_path: Path) -> None:
    """A stream that is captured takes launches, but no new memory."""
    program = """\
import ctypes, os
driver = ctypes.CDLL(os.environ["KW_LIBCUDA"])
t, larger = kw.Tensor(x, device="cuda"), kw.Tensor(np.ones(100000), device="cuda")
handle = ctypes.c_void_p()
driver.cuStreamCreate(ctypes.byref(handle), 0)
with kw.cuda.stream(handle.value):
    driver.kw_emulator_capture(handle, 1)
    print(said(lambda: double(t)))
    driver.kw_emulator_capture(handle, 0)
    double(t), double(t)
    driver.kw_emulator_capture(handle, 1)
    print(said(lambda: double(larger)))
    print(said(lambda: double(t).device))
    driver.kw_emulator_capture(handle, 0)
"""
    refused = (
        "a stream that is captured allows no compilation, no new memory and no wait\n"
        "      = help: call the kernel once before the capture\n"
    )
    assert run(tmp_path, program, **emulated()) == (
        f"DeviceError: error[E506]: cuLibraryLoadData: {refused}"
        f"DeviceError: error[E506]: cuMemAllocFromPoolAsync: {refused}cuda:0"
    )


PICK = """\
@kw.kernel
def gather(a, i):
    c = output_tensor(i.shape, a.dtype)
    for k in range(i.shape[0]):
        c[k] = a[i[k]]
    return c

"""


def test_w503_fault_at_exit(tmp_path: Path) -> None:
    """The error of a call that nobody waits for is not lost."""
    (tmp_path / "program.py").write_text(
        HEAD + PICK + 'gather(kw.Tensor(x, device="cuda"), kw.Tensor(np.array([9]), device="cuda"))\n'
    )
    environment = {**os.environ, **emulated(KW_CACHE_DIR=str(tmp_path / "cache"))}
    done = subprocess.run(
        [sys.executable, "program.py"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    path = tmp_path / "program.py"
    assert done.stderr.replace(str(path), "program.py") == (
        "warning[W503]: the program ended before it saw a fault of a kernel on device 0\n"
        "      = help: wait for results before the end: .numpy(), or kw.cuda.synchronize()\n\n"
        "program.py:28:18: error[E303]: index 9 is out of range for dimension 0 of 'a', whose extent is 4"
        " (valid 0..3)\n"
        "   28 |         c[k] = a[i[k]]\n"
        "      |                  ^~~~\n"
        "      = note: raised late: by the call of 'gather' at program.py:31 (call 1, the last call)\n"
        "      = help: with KW_DEBUG=wait, or kw.kernel(wait=True), the call itself raises it\n\n"
    )


TOLD = """\
import warnings
warnings.simplefilter("always")
warnings.showwarning = lambda message, *_: print(f"{type(message).__name__}: {message}")
"""


def test_w504_newer_gpu(tmp_path: Path) -> None:
    program = TOLD + MOVED + "print(double(t).numpy(), double(t).numpy())\n"
    assert run(tmp_path, program, **emulated(KW_EMULATOR_DEVICES="137")) == (
        "KernelWarning: warning[W504]: device 0 (Emulated GPU 0) has compute capability 13.7, for"
        " which no machine code can be made: kernels become PTX for sm_120\n"
        "      = help: the driver translates PTX at the first call in each process; a newer version makes"
        " code for it\n"
        '      = silence: warnings.filterwarnings("ignore", message=".*W504")\n'
        "[2. 2. 2. 2.] [2. 2. 2. 2.]"
    )


def test_w505_host_run(tmp_path: Path) -> None:
    """Functions of arrays get copies, and their results go back; kernels run on the device."""
    program = (
        TOLD
        + """\
on_host = kw.register_op("test::halved", lambda a: a / 2, infer=lambda a: [a])
on_device = kw.register_op("test::doubled", double)
t = kw.Tensor(x, device="cuda")
for op in (on_device, on_host, on_host):
    r = op(t)
    print(r.device, r.numpy())
"""
    )
    assert run(tmp_path, program, **emulated()) == (
        "cuda:0 [2. 2. 2. 2.]\n"
        "KernelWarning: warning[W505]: operator 'test::halved' runs on the host, on copies of its tensors on"
        " cuda:0: its Python function is for the CPU\n"
        "      = help: write it as a kernel (kw.kernel), which runs on every device\n"
        '      = silence: warnings.filterwarnings("ignore", message=".*W505")\n'
        "cuda:0 [0.5 0.5 0.5 0.5]\ncuda:0 [0.5 0.5 0.5 0.5]"
    )


def test_a_kernel_for_the_cpu_on_a_gpu(tmp_path: Path) -> None:
    program = (
        TOLD
        + """\
from kernelwright.operators import kernel_row
rows = [kernel_row(double, device="CPU")]
on_host = kw.register_op("test::doubled", rows, infer=lambda a: [a])
print(on_host(kw.Tensor(x, device="cuda")).device)
"""
    )
    assert run(tmp_path, program, **emulated()) == (
        "KernelWarning: warning[W505]: operator 'test::doubled' runs on the host, on copies of its tensors on"
        " cuda:0: its loops are for the CPU\n"
        "      = help: leave device= out of its kernel_row: loops run on every device\n"
        '      = silence: warnings.filterwarnings("ignore", message=".*W505")\n'
        "cuda:0"
    )


def test_the_end_of_device_memory(tmp_path: Path) -> None:
    """Memory that is kept is given back before an allocation fails; then the error has the figures."""
    program = """\
kept = [kw.Tensor(np.zeros(1 << 17), device="cuda") for _ in range(3)]
del kept
large = kw.Tensor(np.zeros(5 << 16), device="cuda")
print(said(lambda: kw.Tensor(np.zeros(1 << 19), device="cuda")))
print(large.numpy().sum())
"""
    assert run(tmp_path, program, **emulated(KW_EMULATOR_MEMORY=str(4 << 20))) == (
        "MemoryError: device 0 has no 4.0 MB left: 1.4 MB of 4.0 MB are free, and arrays of this process hold"
        " 2.5 MB\n0.0"
    )


def test_a_text_that_nvrtc_refuses(tmp_path: Path) -> None:
    """The compiler behind the stand-in fails, with a line of its own."""
    program = 'print(said(lambda: double(kw.Tensor(x, device="cuda"))))\n'
    told = run(tmp_path, program, **emulated(CXX="echo 'kernel.cu(1): error: refused'; false"))
    assert told == (
        "InternalError: program.py: error[E503]: NVRTC refuses the text of a kernel for sm_90:\n"
        "kernel.cu(1): error: refused\n"
        '\n      = help: report it with the output of KW_DEBUG="dump:after=all"'
    )


def test_machine_code_that_the_driver_refuses(tmp_path: Path) -> None:
    program = 'print(said(lambda: double(kw.Tensor(x, device="cuda"))))\n'
    assert run(tmp_path, program, **emulated(KW_EMULATOR_FAIL="cuLibraryLoadData=200")) == (
        "InternalError: program.py: error[E503]: the driver refuses the machine code of 'double' for sm_90:"
        " CUDA_ERROR_INVALID_IMAGE\n"
        '      = help: report it with the output of KW_DEBUG="dump:after=all"'
    )


def test_doctor_names_devices_that_are_too_old(tmp_path: Path) -> None:
    environment = {**os.environ, **emulated(KW_EMULATOR_DEVICES="75,90"), "KW_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "kernelwright", "doctor"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    old = "device 0 (Emulated GPU 0) has compute capability 7.5, and 8.0 or newer is needed"
    assert done.returncode == 1 and done.stderr == ""
    assert f"gpu           {old}, Emulated GPU 1 (sm_90); CUDA 13.0\n" in done.stdout
    assert f"problem       kernels do not run on the GPU: {old}\n" in done.stdout


def test_doctor_without_nvrtc(tmp_path: Path) -> None:
    """The place of the doctor's own kernel is nothing that a reader knows."""
    missing = tmp_path / "libnvrtc.so.13"
    environment = {**os.environ, **emulated(KW_NVRTC=str(missing)), "KW_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "kernelwright", "doctor"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr == ""
    assert done.stdout.endswith(
        "problem       kernels do not run on the GPU: DeviceError: error[E502]: CUDA kernels need"
        " libnvrtc.so.13 or .12, which was not found\n"
        f"      = note: looked at {missing}\n"
        "      = help: pip install nvidia-cuda-nvrtc, or set KW_NVRTC; kernels in the cache run without it\n"
    )
