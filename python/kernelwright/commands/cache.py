"""`kw cache`: lists, checks, removes, exports and imports the entries of the disk cache."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from .. import _core
from ..errors import KernelError
from ..warm.cache_entries import Entry, entries, export, import_bundle, path_of


def _shown(name: str) -> str:
    """Returns a name from a file without characters that could control the terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)


def _problem() -> str:
    problem = _core.cache_problem()
    return f"the cache is not used as it should be: {problem}" if problem else ""


def _line(e: Entry) -> str:
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(e.used))
    notes = [e.body] * (e.body not in ("", "main")) + list(e.options)
    notes += [f"({e.state})"] * (e.state != "sound") + ["(of another build)"] * (
        e.state == "sound" and not e.is_of_this_build
    )
    return f"{e.key}  {e.bytes:>9}  {day}  {e.target:<8} {_shown(' '.join([e.subject, *notes]))}"


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1))


def _ls(args: argparse.Namespace) -> int:
    found = entries(args.names)
    if args.json:
        _print_json({"directory": _core.cache_directory(), "entries": [e.as_dict() for e in found]})
        return 0
    for e in found:
        print(_line(e))
    total = sum(e.bytes for e in found)
    print(f"{len(found)} entries, {total} bytes in {_core.cache_directory()}", file=sys.stderr)
    return 0


def _missing(names: list[str]) -> int:
    print(
        f"kw cache: no entry is of {', '.join(map(_shown, names))}; `kw cache ls` lists them", file=sys.stderr
    )
    return 1


def _info(args: argparse.Namespace) -> int:
    """Prints what is known of entries, with the lines of their keys."""
    found = entries(args.names)
    if not found:
        return _missing(args.names)
    told = [{**e.as_dict(), "file": str(path_of(e.key)), "key_lines": e.key_lines} for e in found]
    if args.json:
        _print_json(told)
        return 0
    for number, (e, facts) in enumerate(zip(found, told, strict=True)):
        print(f"{chr(10) if number else ''}{_line(e)}\n  {facts['file']}")
        for line in facts["key_lines"]:
            print(f"    {_shown(line)}")
    return 0


def _rm(args: argparse.Namespace) -> int:
    found = entries(args.names)
    if not found:
        return _missing(args.names)
    for e in found:
        _core.cache_remove(e.key)
    print(f"{len(found)} entries removed from {_core.cache_directory()}")
    return 0


def _clear(args: argparse.Namespace) -> int:
    print(f"{_core.cache_clear()} entries removed from {_core.cache_directory()}")
    return 0


def _prune(args: argparse.Namespace) -> int:
    print(f"{_core.cache_trim()} files removed from {_core.cache_directory()}")
    return 0


def _verify(args: argparse.Namespace) -> int:
    """Removes damaged entries. Files and directories with a wrong mode are reported and kept."""
    directory, problem = _core.cache_directory(), _problem()
    found = entries()
    states = [e.state for e in found]
    if args.json:
        _print_json({"problem": problem, "entries": [{"key": e.key, "state": e.state} for e in found]})
    lines = [problem] if problem else []
    for e in found:
        if e.state == "damaged":
            _core.cache_remove(e.key)
            lines.append(f"{e.key}  damaged: removed")
        elif e.state == "not private":
            lines.append(
                f"{e.key}  not private: not used before it is yours alone (chmod 600 {directory}/{e.key}.kwa)"
            )
        elif e.state == "not readable":
            lines.append(f"{e.key}  not readable: not used (chmod 600 {directory}/{e.key}.kwa)")
    sound, damaged, other = (states.count(s) for s in ("sound", "damaged", "of another version"))
    closed = states.count("not private") + states.count("not readable")
    lines.append(f"{sound} entries are sound, {damaged} were damaged")
    if closed:
        lines.append(f"{closed} entries have the wrong mode and are left alone")
    if other:
        lines.append(f"{other} entries are of another version of kernelwright and are left alone")
    if not args.json:
        print("\n".join(lines))
    return 1 if damaged or closed or problem else 0


def _export(args: argparse.Namespace) -> int:
    chosen = export(args.path, args.names)
    print(f"{len(chosen)} entries, {sum(e.bytes for e in chosen)} bytes written to {args.path}")
    return 0


def _import(args: argparse.Namespace) -> int:
    added, known = import_bundle(args.path)
    print(f"{added} entries stored in {_core.cache_directory()}, {known} were there already")
    return 0


_actions = {
    "ls": _ls,
    "info": _info,
    "rm": _rm,
    "prune": _prune,
    "verify": _verify,
    "clear": _clear,
    "export": _export,
    "import": _import,
}


def run(args: argparse.Namespace) -> int:
    """Runs one action; returns the exit status."""
    if args.action != "verify" and (problem := _problem()):
        print(f"kw cache: {problem}", file=sys.stderr)
    try:
        status = _actions[args.action](args)
        is_change = args.action in ("rm", "prune", "clear")
        return status or int(is_change and bool(_core.cache_problem()))
    except (KernelError, OSError) as error:
        print(f"kw cache: {error}", file=sys.stderr)
        return 1
