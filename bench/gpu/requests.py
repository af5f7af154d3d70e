"""What the kernels of the gallery ask of the memory of a GPU, counted by the emulated one of tests/gpu.

`python bench/gpu/requests.py [KERNEL ...]` prints a row for each kernel: sectors of 32 bytes that warps read
and write, and steps of shared memory, each beside the least that could do: 1 is the best. Neighbours that are
not aligned take five sectors instead of four, and subscripts that come from data as many as they please.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
MOST_ELEMENTS = 1 << 17  # of an argument: what the emulated GPU runs in a second or so


def size_of(case: Any) -> str:
    """The largest size whose arguments the emulated GPU runs in a moment."""
    fits = [name for name in case.sizes if largest(case.arguments(name)) <= MOST_ELEMENTS]
    return fits[-1] if fits else next(iter(case.sizes))


def largest(arguments: tuple[Any, ...]) -> int:
    return max((a.size for a in arguments if isinstance(a, np.ndarray)), default=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*")
    given = parser.parse_args()
    sys.path[:0] = [str(ROOT / p) for p in ("bench/gallery", "tests/gpu", "tests/gpu/emulator")]
    import stand_ins

    environment = stand_ins.environment()
    os.environ.update(environment)
    from device import Device, total
    from families import CASES

    import kernelwright as kw

    warnings.simplefilter("ignore")
    device = Device(environment["KW_LIBCUDA"], environment["KW_NVRTC"], "sm_90")
    print(f"\n  {'':22} {'size':>8} {'read':>9} {'written':>9} {'shared read':>12} {'shared written':>15}")
    for name in given.kernels or CASES:
        case = CASES[name]
        size = size_of(case)
        arguments = [
            kw.Tensor(a, device="cuda") if isinstance(a, np.ndarray) else a for a in case.arguments(size)
        ]
        with device.counted() as counted:
            case.kernel(*arguments)
        cells = [f"{count.ratio:.2f}" if count.least else "-" for count in total(counted)]
        print(f"  {name:22} {size:>8} {cells[0]:>9} {cells[1]:>9} {cells[2]:>12} {cells[3]:>15}")


if __name__ == "__main__":
    main()
