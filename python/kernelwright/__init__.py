"""kernelwright: plain Python loops compiled to fast operators.

import kernelwright as kw

@kw.kernel
def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]
    return c
"""

import importlib
import os

from ._core import Kernel
from ._debug import debug
from ._threads import set_threads, threads
from .errors import (
    DeviceError,
    HintIgnoredWarning,
    InternalError,
    KernelAssertionError,
    KernelIndexError,
    KernelOverflowError,
    KernelSyntaxError,
    KernelTypeError,
    KernelValueError,
    KernelWarning,
    KernelZeroDivisionError,
    ScheduleError,
    UninitializedReadWarning,
    UnsupportedError,
)
from .kernel import kernel

__version__ = "0.1.0"

threads()  # reads the limit now, so that no call has to
_variables = ("BACKGROUND", "DEBUG", "FROZEN", "LOG", "RECORD", "TARGET", "THREADS")
if any(f"KW_{name}" in os.environ for name in _variables):
    from . import _environment  # noqa: F401 (imported for what it does)


def include_paths() -> list[str]:
    """Returns the folders of the headers that ahead-of-time kernels include (custom_aot_extra.h)."""
    return [os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")]


_late = {  # names that operators and their gradients need, imported on demand
    "Tensor": "tensor",
    "cuda": "",
    "grad": "gradients",
    "record": "warm.recording",
    "ops": "",
    "kernel_row": "operators",
    "register_op": "operators",
    "remove_op": "operators",
    "testing": "",
    "value_and_grad": "gradients",
    "vjp": "gradients",
}

__all__ = [
    "DeviceError",
    "HintIgnoredWarning",
    "InternalError",
    "Kernel",
    "KernelAssertionError",
    "KernelIndexError",
    "KernelOverflowError",
    "KernelSyntaxError",
    "KernelTypeError",
    "KernelValueError",
    "KernelWarning",
    "KernelZeroDivisionError",
    "ScheduleError",
    "Tensor",
    "UninitializedReadWarning",
    "UnsupportedError",
    "debug",
    "grad",
    "include_paths",
    "kernel",
    "kernel_row",
    "ops",
    "record",
    "register_op",
    "remove_op",
    "set_threads",
    "testing",
    "threads",
    "value_and_grad",
    "vjp",
]


def __dir__() -> list[str]:
    """Returns the public names, with the words of the kernel language."""
    lang = importlib.import_module(".lang", __name__)
    return sorted({*__all__, *lang.attributes, "__version__"})


def __getattr__(name: str) -> object:
    """Imports names of `_late` on demand, and returns the words of the kernel language: in a kernel `kw.sqrt`
    means the intrinsic and `kw.parallel` the loop.
    """
    if name in _late:
        module = importlib.import_module(f".{_late[name] or name}", __name__)
        found = getattr(module, name) if _late[name] else module
        globals()[name] = found
        return found
    lang = importlib.import_module(".lang", __name__)
    if name not in lang.attributes:
        raise AttributeError(f"module 'kernelwright' has no attribute '{name}'")
    found = getattr(lang, name)
    globals()[name] = found
    return found
