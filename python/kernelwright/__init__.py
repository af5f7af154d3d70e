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
    "UninitializedReadWarning",
    "UnsupportedError",
    "debug",
    "kernel",
    "set_threads",
    "threads",
]


def __getattr__(name: str) -> object:
    """The functions and casts of the kernel language: in a kernel `kw.sqrt` means the intrinsic."""
    lang = importlib.import_module(".lang", __name__)
    if name not in lang.attributes:
        raise AttributeError(f"module 'kernelwright' has no attribute '{name}'")
    globals()[name] = found = getattr(lang, name)
    return found
