"""The command `kw`: explain kernels, run programs written for other frameworks, look after the cache."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from . import __version__
from .errors import DeviceError


def _run(args: argparse.Namespace) -> int:
    if args.device:
        os.environ["KW_DEVICE"] = args.device  # the layer reads it, here and in processes of the program
    try:
        from .mindspore.runner import run_program
    except DeviceError as e:
        advice = "" if "KW_DEVICE" in e.message else "; use --device cpu"
        print(f"kw run: {type(e).__name__} {e.code}: {e.message}{advice}", file=sys.stderr)
        return 1
    return run_program(args.script, args.arguments)


def _explain(args: argparse.Namespace) -> int:
    from .argument_types import ArgumentTypeError
    from .commands.colours import coloured
    from .commands.explain import explain_file, write_page
    from .commands.kernel_files import WrongRequestError

    worked = True
    try:
        if args.html:
            return write_page(args.file, args.args, args.html, args.device)
        for number, (text, is_explained) in enumerate(explain_file(args.file, args.args, args.device)):
            print(f"{chr(10) if number else ''}{coloured(text, sys.stdout)}")
            worked &= is_explained
    except (WrongRequestError, ArgumentTypeError, OSError) as error:
        print(f"kw explain: {error}", file=sys.stderr)
        return 2
    return 0 if worked else 1


def _warmup(args: argparse.Namespace) -> int:
    from .argument_types import ArgumentTypeError
    from .commands.kernel_files import WrongRequestError
    from .commands.warmup import warm
    from .warm.recording import ManifestError

    try:
        return warm(args.file, args.args, args.target, ",".join(args.device), args.jobs)
    except (WrongRequestError, ArgumentTypeError, ManifestError, OSError) as error:
        print(f"kw warmup: {error}", file=sys.stderr)
        return 2


def _export(args: argparse.Namespace) -> int:
    from .argument_types import ArgumentTypeError
    from .commands.colours import coloured
    from .commands.export import export_file
    from .commands.kernel_files import WrongRequestError
    from .errors import KernelError

    try:
        return export_file(args.file, args.args, args.output, args.target, args.name)
    except (WrongRequestError, ArgumentTypeError, KernelError, TypeError, ValueError, OSError) as error:
        print(coloured(f"kw export: {error}", sys.stderr), file=sys.stderr)
        return 2


def _bench(args: argparse.Namespace) -> int:
    from .argument_types import ArgumentTypeError
    from .commands.bench import bench_file
    from .commands.colours import coloured
    from .commands.kernel_files import WrongRequestError
    from .errors import KernelError

    try:
        return bench_file(args)
    except (WrongRequestError, ArgumentTypeError, KernelError, TypeError, ValueError, OSError) as error:
        print(coloured(f"kw bench: {error}", sys.stderr), file=sys.stderr)
        return 2


def _cache(args: argparse.Namespace) -> int:
    from .commands.cache import run

    return run(args)


def _doctor(args: argparse.Namespace) -> int:
    from .commands.doctor import doctor

    return doctor(args.json)


def _ops(args: argparse.Namespace) -> int:
    from . import ops

    try:
        print(ops.show(args.name) if args.name else "\n".join(ops.list()))
    except ValueError as error:
        print(f"kw ops: {error}", file=sys.stderr)
        return 1
    return 0


def _count(text: str) -> int:
    """Reads a number of at least 1."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of at least 1")
    return number


def _add_explain(commands: Any) -> None:
    """Adds the parser of `kw explain`."""
    told = commands.add_parser(
        "explain",
        help="tell what the compiler makes of the kernels of a file",
        description="Executes a file of Python and tells what the compiler makes of its kernels.",
    )
    told.add_argument(
        "file", metavar="FILE[:NAME]", help="a file of Python, and one kernel or function of it"
    )
    told.add_argument(
        "--args", default="", help='their arguments, as "f32[4096,1024],f32[1024],3,float"; else guessed'
    )
    told.add_argument(
        "--device", default="", help="an architecture of GPUs, as sm_90, which need not be here"
    )
    told.add_argument("--html", default="", metavar="FILE.html", help="write a page with coloured sources")


def _add_cache_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the actions to the parser of `kw cache`."""
    actions = parser.add_subparsers(dest="action", required=True)
    names = "names of kernels, or beginnings of keys"

    def add(name: str, told: str, takes: str = "", json_too: bool = False) -> argparse.ArgumentParser:
        action = actions.add_parser(name, help=told, description=told[0].upper() + told[1:] + ".")
        if takes:
            action.add_argument("names", metavar="NAME", nargs=takes, help=names)
        if json_too:
            action.add_argument("--json", action="store_true", help="print JSON")
        return action

    add(
        "ls",
        "list entries, the most recently used at the end: size, last use, target, types",
        "*",
        json_too=True,
    )
    add("info", "show entries in full, with the lines of their keys", "+", json_too=True)
    add("rm", "remove entries", "+")
    add("prune", "remove leftovers of killed processes, and the oldest entries beyond KW_CACHE_SIZE")
    add("verify", "check all entries, and remove the damaged ones", json_too=True)
    add("clear", "remove all entries")
    for name, told in (
        ("export", "write entries to a folder, a .tar or a .tar.zst for other machines"),
        ("import", "store the entries of a bundle that `kw cache export` wrote, after a check of all"),
    ):
        action = add(name, told)
        action.add_argument("path", metavar="DIR|FILE.tar|FILE.tar.zst")
        if name == "export":
            action.add_argument("names", metavar="NAME", nargs="*", help=f"{names}; else all")


def _add_bench_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `kw bench`."""
    parser.add_argument(
        "file", metavar="FILE[:NAME]", help="a file of Python, and a kernel or function of it"
    )
    parser.add_argument(
        "--args", default="", help='arguments with sizes, as "f32[4096,1024],i64[4096],3"; else as annotated'
    )
    parser.add_argument("--seconds", type=float, default=0.3, help="for each time that is measured")
    parser.add_argument(
        "--sweep",
        default="",
        metavar="n=2**8..2**24",
        help="repeat for sizes n of --args: doubled, or n=100..900+100 added, or n=1,2,3 listed",
    )
    parser.add_argument(
        "--numpy", default="", metavar="[FILE:]NAME", help="a function of NumPy to time beside it"
    )
    parser.add_argument("--numba", action="store_true", help="time Numba's njit of the same source beside it")
    parser.add_argument("--no-python", action="store_true", help="do not time CPython's own loops")
    parser.add_argument(
        "--c",
        default="",
        metavar="FILE.c",
        help="time a C function of the kernel's name beside it, by gcc and clang; it gets pointer and "
        "extents (int64_t) of each array, int64_t for an int, double for a float, then pointer and extents "
        "of each new result",
    )
    parser.add_argument("--json", default="", metavar="FILE", help="write all figures; times in seconds")
    parser.add_argument("--csv", default="", metavar="FILE", help="write a table; times in seconds")
    parser.add_argument("--plot", default="", metavar="FILE.svg|png", help="draw the sweep")
    parser.add_argument("--roofline", default="", metavar="FILE.svg|png", help="draw a roofline")
    parser.add_argument("--dark", action="store_true", help="draw on a dark ground")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kw", description="kernelwright: plain Python loops as fast operators"
    )
    parser.add_argument("--version", action="version", version=f"kernelwright {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    _add_explain(commands)
    warmed = commands.add_parser(
        "warmup",
        help="compile the kernels of a file, or those that a program used, before they are called",
        description="Compiles kernels into the disk cache: those of a file of Python, which is executed, or "
        "those of a manifest, which a program wrote under KW_RECORD=manifest.json and which runs nothing.",
    )
    warmed.add_argument(
        "file",
        metavar="FILE[:NAME]|MANIFEST.json",
        help="a file of Python, and one kernel of it; or a manifest",
    )
    warmed.add_argument(
        "--args",
        default="",
        help='types of the arguments, as "f32[:,:],f32[:]/any,=0,int,f64"; else those that parameters are '
        "annotated with",
    )
    warmed.add_argument(
        "--target", default="", help="host, avx512, avx2, generic, with commas; else host, or as recorded"
    )
    warmed.add_argument(
        "--device",
        action="append",
        default=[],
        help="cpu, or architectures of GPUs, as sm_80,sm_90, which need not be here",
    )
    warmed.add_argument(
        "--jobs", type=_count, default=0, metavar="N", help="processes for a manifest; else one per core"
    )
    exported = commands.add_parser(
        "export",
        help="write a kernel as a shared library with a C header",
        description="Executes a file of Python and writes one of its kernels as a shared library with a C "
        "header, which need no kernelwright.",
    )
    exported.add_argument(
        "file", metavar="FILE:NAME", help="a file of Python, and a kernel or function of it"
    )
    exported.add_argument(
        "--args", default="", help="types of the arguments, as for warmup; else as annotated"
    )
    exported.add_argument("-o", "--output", default="", metavar="libk.so", help="else lib<name>.so")
    exported.add_argument("--target", default="host", help="host, avx512, avx2 or generic")
    exported.add_argument("--name", default="", help="name of the functions in C; else that of the kernel")
    _add_bench_arguments(
        commands.add_parser(
            "bench",
            help="measure a kernel: first compilation, calls, runs, and its share of the machine's limit",
            description="Executes a file of Python and measures one of its kernels.",
        )
    )
    run = commands.add_parser(
        "run",
        help="run a MindSpore program unchanged, on kernelwright's kernels",
        description="Executes a MindSpore program, as Python does, on kernelwright's kernels.",
    )
    run.add_argument(
        "--device", choices=("cpu", "gpu"), help="decides the device; otherwise the program does"
    )
    run.add_argument("script")
    run.add_argument("arguments", nargs=argparse.REMAINDER)
    listed = commands.add_parser("ops", help="list the operators of the registry, or tell all of one")
    listed.add_argument("name", nargs="?", metavar="NAMESPACE::NAME")
    checked = commands.add_parser("doctor", help="tell what is here, what is missing, and what to do")
    checked.add_argument("--json", action="store_true", help="print JSON, for reports of faults")
    _add_cache_arguments(commands.add_parser("cache", help="look after the disk cache"))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    args = _parser().parse_args(argv)
    if args.command == "run":
        return _run(args)
    if argv is None:  # run as a command, so `kw cache ls | head` must end without a traceback
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    of_commands = {
        "bench": _bench,
        "cache": _cache,
        "doctor": _doctor,
        "explain": _explain,
        "export": _export,
        "ops": _ops,
        "warmup": _warmup,
    }
    try:
        return of_commands[args.command](args)
    except KeyboardInterrupt:
        print(f"kw {args.command}: interrupted", file=sys.stderr)
        return 130
