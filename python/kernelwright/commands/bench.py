"""`kw bench FILE[:NAME]`: measures a kernel beside the machine's limit and other implementations."""

from __future__ import annotations

import json
import tempfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .._core import Kernel
from ..argument_types import ArgumentTypeError, split
from ..measure.bench import Result, bench
from ..measure.inputs import arguments_with_values, sweep_of, with_size
from ..measure.peers import c_function, find_compilers, numba_function
from ..measure.report import csv_of, table_of, text_of
from ..measure.tables import aligned
from .kernel_files import WrongRequestError, function_of, kernels_of, split_request
from .progress import progress


def _peers(
    args: Namespace, kernel: Kernel, arguments: tuple[Any, ...], others: dict[str, Any], folder: str
) -> dict[str, Callable[..., Any] | str]:
    """Returns the implementations to time beside a kernel, by their names."""
    peers = dict(others)
    if args.c:
        given = tuple(np.array(a) if isinstance(a, np.ndarray) else a for a in arguments)
        wanted = kernel(*given)
        results = wanted if isinstance(wanted, tuple) else (wanted,)
        fresh = [r for r in results if not any(r is a for a in given)]
        compilers = find_compilers()
        if not compilers:
            peers["C"] = "neither gcc nor clang is installed"
        for name, path in compilers.items():
            peers[name] = c_function(path, args.c, kernel.__name__, arguments, fresh, folder)
    return peers


def measure(args: Namespace) -> tuple[list[Result], str, list[int]]:
    """Returns the results, and name and values of the sweep."""
    path, name = split_request(args.file)
    kernels = kernels_of(path, name)
    if len(kernels) > 1:
        first = next(iter(kernels))
        raise WrongRequestError(f"'{path}' defines {len(kernels)} kernels: name one, as in '{path}:{first}'")
    (kernel,) = kernels.values()
    texts = split(args.args) or [
        str(a) for a in kernel.__wrapped__.__annotations__.values() if isinstance(a, str)
    ]
    if not texts and kernel.__wrapped__.__code__.co_argcount:
        raise ArgumentTypeError(f"kernel '{kernel.__name__}' needs arguments, as --args \"f32[4096,1024]\"")
    others: dict[str, Any] = {}
    if args.numpy:
        others["NumPy"] = function_of(path, args.numpy)
    if args.numba:
        others["Numba"] = numba_function(kernel)
    variable, sizes = sweep_of(args.sweep) if args.sweep else ("", [0])
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for number, size in enumerate(progress(sizes, len(sizes), "measuring")):
            arguments = arguments_with_values(
                [with_size(t, variable, size) if variable else t for t in texts]
            )
            (own := Path(folder) / str(number)).mkdir()
            peers = _peers(args, kernel, arguments, others, str(own))
            results.append(bench(kernel, arguments, peers=peers, seconds=args.seconds))
    return results, variable, sizes


def bench_file(args: Namespace) -> int:
    """Runs the command; returns the exit status."""
    results, variable, sizes = measure(args)
    print(text_of(results[0]) if len(results) == 1 else aligned(table_of(results)))
    if args.json:
        Path(args.json).write_text(json.dumps([r.as_dict() for r in results], indent=1) + "\n")
    if args.csv:
        Path(args.csv).write_text(csv_of(results))
    if args.plot:
        from ..measure.plots import PlotError, plot_sweep

        if not variable:
            raise PlotError("--plot draws a sweep: add --sweep, as n=2**8..2**24")
        plot_sweep(results, sizes, variable, args.plot, args.dark)
    if args.roofline:
        from ..measure.plots import plot_roofline

        plot_roofline(results, args.roofline, args.dark)
    return 0
