"""The command `kw`: explain kernels, run programs written for other frameworks, look after the cache."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence

from . import __version__, _core
from .errors import DeviceError


def _shown(name: str) -> str:
    """Returns a name from a file without characters that could control the terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)


def _cache_problem() -> str:
    problem = _core.cache_problem()
    return f"the cache is not used as it should be: {problem}" if problem else ""


def _cache_ls() -> int:
    entries = _core.cache_list()
    for key, size, used, name, state in entries:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(used))
        print(f"{key}  {size:>9}  {day}  {_shown(name)}{'' if state == 'sound' else f'  ({state})'}")
    total = sum(e[1] for e in entries)
    print(f"{len(entries)} entries, {total} bytes in {_core.cache_directory()}", file=sys.stderr)
    return 0


def _cache_clear() -> int:
    print(f"{_core.cache_clear()} entries removed from {_core.cache_directory()}")
    return 0


def _cache_prune() -> int:
    print(f"{_core.cache_trim()} files removed from {_core.cache_directory()}")
    return 0


def _cache_verify() -> int:
    """Removes damaged entries. Files and directories with a wrong mode are reported and kept."""
    directory, problem = _core.cache_directory(), _cache_problem()
    entries = _core.cache_list()
    states = [e[4] for e in entries]
    if problem:
        print(problem)
    for key, *_, state in entries:
        if state == "damaged":
            _core.cache_remove(key)
            print(f"{key}  damaged: removed")
        elif state == "not private":
            print(f"{key}  not private: not used before it is yours alone (chmod 600 {directory}/{key}.kwa)")
        elif state == "not readable":
            print(f"{key}  not readable: not used (chmod 600 {directory}/{key}.kwa)")
    sound, damaged, other = (states.count(s) for s in ("sound", "damaged", "of another version"))
    closed = states.count("not private") + states.count("not readable")
    print(f"{sound} entries are sound, {damaged} were damaged")
    if closed:
        print(f"{closed} entries have the wrong mode and are left alone")
    if other:
        print(f"{other} entries are of another version of kernelwright and are left alone")
    return 1 if damaged or closed or problem else 0


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
    from .commands.explain import explain_file
    from .commands.kernel_files import WrongRequestError

    worked = True
    try:
        for number, (text, is_explained) in enumerate(explain_file(args.file, args.args)):
            print(f"{chr(10) if number else ''}{text}")
            worked &= is_explained
    except (WrongRequestError, ArgumentTypeError) as error:
        print(f"kw explain: {error}", file=sys.stderr)
        return 2
    return 0 if worked else 1


def _warmup(args: argparse.Namespace) -> int:
    from .argument_types import ArgumentTypeError
    from .commands.kernel_files import WrongRequestError
    from .commands.warmup import warm
    from .recording import ManifestError

    try:
        return warm(args.file, args.args, args.target, args.jobs)
    except (WrongRequestError, ArgumentTypeError, ManifestError, OSError) as error:
        print(f"kw warmup: {error}", file=sys.stderr)
        return 2


def _ops(args: argparse.Namespace) -> int:
    from . import ops

    try:
        print(ops.show(args.name) if args.name else "\n".join(ops.list()))
    except ValueError as error:
        print(f"kw ops: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kw", description="kernelwright: plain Python loops as fast operators"
    )
    parser.add_argument("--version", action="version", version=f"kernelwright {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
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
    warmed.add_argument("--jobs", type=int, default=0, help="processes for a manifest; else one per core")
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
    cache = commands.add_parser("cache", help="look after the disk cache")
    cache.add_argument(
        "action",
        choices=("ls", "prune", "verify", "clear"),
        help="ls: list the entries; prune: remove files that killed processes left, and the least recently "
        "used entries beyond KW_CACHE_SIZE; verify: check all entries, remove the damaged; clear: remove all",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    args = _parser().parse_args(argv)
    if args.command == "run":
        return _run(args)
    if argv is None:  # run as a command, so `kw cache ls | head` must end without a traceback
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    of_commands = {"explain": _explain, "ops": _ops, "warmup": _warmup}
    if args.command in of_commands:
        return of_commands[args.command](args)
    if args.action != "verify" and (problem := _cache_problem()):
        print(f"kw cache: {problem}", file=sys.stderr)
    actions = {"ls": _cache_ls, "prune": _cache_prune, "verify": _cache_verify, "clear": _cache_clear}
    return actions[args.action]()
