"""`kw bench FILE[:NAME]`: measures a kernel beside the machine's limit and other implementations."""

from __future__ import annotations

import json
import os
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from .. import _core
from .._core import Kernel
from ..argument_types import ArgumentTypeError, split
from ..measure.bench import Result, bench
from ..measure.copies import copied
from ..measure.inputs import arguments_with_values, sweep_of, with_size
from ..measure.peers import CPeer, c_function, find_compilers, numba_function
from ..measure.report import csv_of, table_of, text_of
from ..measure.tables import aligned
from ..warm.warmup import parameters_behind
from .kernel_files import WrongRequestError, function_of, kernels_of, split_request
from .progress import telling


def _c_peers(source: str, kernel: Kernel, arguments: tuple[Any, ...], folder: str) -> dict[str, CPeer | str]:
    """Returns the function of a C file by each compiler that is installed."""
    given = copied(arguments)
    found = kernel(*given)
    results = found if isinstance(found, tuple) else (found,)
    positions = [next((i for i, a in enumerate(given) if a is r), None) for r in results]
    compilers = find_compilers()
    out: dict[str, CPeer | str] = {} if compilers else {"C": "neither gcc nor clang is installed"}
    for name, path in compilers.items():
        peer = c_function(path, source, kernel.__name__, arguments, results, positions, folder)
        out[name] = peer.problem(copied(arguments)) or peer
    return out


def _kernel_of(request: str) -> Kernel:
    path, name = split_request(request)
    kernels = kernels_of(path, name)
    if len(kernels) > 1:
        first = next(iter(kernels))
        raise WrongRequestError(f"'{path}' defines {len(kernels)} kernels: name one, as in '{path}:{first}'")
    (kernel,) = kernels.values()
    return kernel


def _check_outputs(args: Namespace) -> None:
    """Refuses what could not be written, before anything is measured."""
    if not args.seconds > 0:
        raise WrongRequestError(f"--seconds is {args.seconds:g}, but must be above 0")
    if args.plot and not args.sweep:
        raise WrongRequestError("--plot draws a sweep: add --sweep, as n=2**8..2**24")
    if args.c and not Path(args.c).is_file():
        raise WrongRequestError(f"there is no file '{args.c}'")
    for path in filter(None, (args.plot, args.roofline)):
        from ..measure.plots import check_picture

        check_picture(path)
    for path in filter(None, (args.json, args.csv, args.plot, args.roofline)):
        if not Path(path).parent.is_dir():
            raise WrongRequestError(f"there is no folder '{Path(path).parent}' for {Path(path).name}")
        place = Path(path) if Path(path).exists() else Path(path).parent
        if Path(path).is_dir() or not os.access(place, os.W_OK):
            raise WrongRequestError(f"'{path}' cannot be written")


def _arguments(kernel: Kernel, texts: list[str]) -> list[str]:
    """Returns the texts of all arguments: what is not given is as annotated. Raises ArgumentTypeError."""
    count = _core.function_of(kernel).__code__.co_argcount
    if len(texts) > count:
        raise ArgumentTypeError(f"{kernel.__name__}() has {count} parameters, but --args names {len(texts)}")
    rest = []
    for name, text, has_default in parameters_behind(kernel, len(texts)):
        if text is not None:
            rest.append(text)
        elif has_default:
            break
        else:
            raise ArgumentTypeError(
                f"{kernel.__name__}() needs the argument '{name}': give all in order, as "
                '--args "f32[4096,1024],3"'
            )
    return [*texts, *rest]


def measure(args: Namespace) -> tuple[list[Result], str, list[int]]:
    """Returns the results, and name and values of the sweep."""
    kernel = _kernel_of(args.file)
    path, _ = split_request(args.file)
    texts = _arguments(kernel, split(args.args))
    others: dict[str, Any] = {}
    if args.numpy:
        others["NumPy"] = function_of(path, args.numpy)
    if args.numba:
        others["Numba"] = numba_function(kernel)
    variable, sizes = sweep_of(args.sweep) if args.sweep else ("", [0])
    if variable and not any(with_size(t, variable, 2) != t for t in texts):
        raise ArgumentTypeError(f"no argument has a size '{variable}' for --sweep {args.sweep}")
    results = []
    with tempfile.TemporaryDirectory() as folder, telling("measuring") as tell:
        for number, size in enumerate(sizes):
            at = f"{variable}={size}, " if variable else ""

            def tell_at(what: str, at: str = at) -> None:
                tell(f"{at}{what}")

            arguments = arguments_with_values(
                [with_size(t, variable, size) if variable else t for t in texts]
            )
            (own := Path(folder) / str(number)).mkdir()
            peers = {**others, **(_c_peers(args.c, kernel, arguments, str(own)) if args.c else {})}
            results.append(
                bench(
                    kernel,
                    arguments,
                    peers=peers,
                    python=not args.no_python,
                    seconds=args.seconds,
                    tell=tell_at,
                )
            )
    return results, variable, sizes


def bench_file(args: Namespace) -> int:
    """Runs the command; returns the exit status."""
    _check_outputs(args)
    results, variable, sizes = measure(args)
    print(text_of(results[0]) if len(results) == 1 else aligned(table_of(results)))
    if args.json:
        text = json.dumps([r.as_dict() for r in results], indent=1) + "\n"
        Path(args.json).write_text(text, encoding="utf-8")
    if args.csv:
        Path(args.csv).write_text(csv_of(results), encoding="utf-8")
    if args.plot:
        from ..measure.plots import plot_sweep

        plot_sweep(results, sizes, variable, args.plot, args.dark)
    if args.roofline:
        from ..measure.plots import plot_roofline

        plot_roofline(results, args.roofline, args.dark)
    return 0
