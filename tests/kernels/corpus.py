"""The kernel corpus: small plain Python kernels, each covering one thing of its own, with argument makers.

`load()` imports the k_*.py files beside this one and returns CASES. Nothing here runs or compiles a kernel:
the kernels mention language words (output_tensor, grid, ...) that stay unbound until an oracle binds them.
"""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

Kernel = Callable[..., Any]
Maker = Callable[[np.random.Generator], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """One kernel and its inputs; `make` is pure, so an equally seeded generator gives a fresh equal set."""

    name: str
    fn: Kernel
    make: Maker
    warns: tuple[str, ...] = ()  # codes of the warnings that compiling must issue, such as "W301"
    mutates: tuple[int, ...] = ()  # indices of the arguments that are changed in place
    exact: bool = False  # sums and products are exact in any order: every mode gives the same bits


CASES: list[Case] = []
_loaded: set[str] = set()

# Every kind of float that behaves in its own way; 2.5 and 0.5 are ties, 3.0 and 7.25 ordinary.
SPECIAL = (0.0, -0.0, 0.5, -0.5, 1.0, 2.5, -3.0, 7.25, -1e-40, 1e30, np.inf, -np.inf, np.nan)


def case(
    make: Maker, *, warns: tuple[str, ...] = (), mutates: tuple[int, ...] = (), exact: bool = False
) -> Callable[[Kernel], Kernel]:
    """Registers the decorated kernel under its own name and returns it unchanged."""

    def register(fn: Kernel) -> Kernel:
        if any(known.name == fn.__name__ for known in CASES):
            raise ValueError(f"two kernels are called {fn.__name__}")
        CASES.append(Case(fn.__name__, fn, make, warns, mutates, exact))
        return fn

    return register


def load() -> list[Case]:
    """Imports every k_*.py once, in name order, whatever the working directory, and returns CASES."""
    alias = ModuleType("corpus")
    alias.__dict__.update(globals())
    before = sys.modules.get("corpus")
    sys.modules["corpus"] = (
        alias  # the k_*.py files say `from corpus import case`, under whatever name this runs
    )
    try:
        for path in sorted(Path(__file__).resolve().parent.glob("k_*.py")):
            if path.stem not in _loaded:
                _import(f"kernel_corpus_{path.stem}", path)
                _loaded.add(path.stem)
    finally:
        if before is None:
            del sys.modules["corpus"]
        else:
            sys.modules["corpus"] = before
    return CASES


def _import(name: str, path: Path) -> None:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # inspect.getsource looks modules up by name
    spec.loader.exec_module(module)


def floats(rng: np.random.Generator, *shape: int, dtype: str = "float32") -> np.ndarray:
    """Normal values of spread 2 with full mantissas, so that every rounding shows."""
    return np.asarray(rng.standard_normal(shape) * 2.0).astype(dtype)


def ints(
    rng: np.random.Generator, *shape: int, low: int = -9, high: int = 10, dtype: str = "int32"
) -> np.ndarray:
    """Integers in [low, high)."""
    return np.asarray(rng.integers(low, high, shape)).astype(dtype)


def bools(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Fair coin flips."""
    return np.asarray(rng.random(shape) < 0.5)


def pairs(values: tuple[float, ...], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors that hold every ordered pair of the values."""
    array = np.array(values, dtype="float64").astype(dtype)
    return np.repeat(array, len(values)), np.tile(array, len(values))


def int_pairs(values: tuple[int, ...], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors that hold every ordered pair of the integers."""
    array = np.array(values, dtype=dtype)
    return np.repeat(array, len(values)), np.tile(array, len(values))
