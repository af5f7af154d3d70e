"""`kernel.explain()` and the notebook view: facts from the compiler about each specialization of a kernel.

The core computes them again from the source; this module names the facts and lays them out.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from ._core import Kernel

_access_words = {
    "proved": "in bounds for every shape",
    "conditional": "in bounds under a condition",
    "checked": "checked at run time",
    "unchecked": "not checked",
}

# of GPU schedules (compiler/schedule/directives)
_step_words = {
    "cache": "parts of the array stay in memory that a team shares",
    "fold_fill": "the loop writes the zeros around what it computes",
    "grid": "launched; each block has this many iterations",
    "linearize": "launched as one loop over all elements",
    "private_bins": "each block accumulates in a copy of its own",
    "rfactor": "a team reduces 4,096 iterations; further launches combine the results",
    "scan": "three launches: totals of parts, their running sums, then each part",
    "short_rows": "a thread has a row of fewer than 64 elements",
    "specialize": "calls with such sizes take a copy of the loop",
    "stage": "tiles pass through shared memory, so that both sides access rows",
    "stage_chain": "one thread goes through parts that the others copy",
    "stage_columns": "a thread goes down a column of tiles that its warp copies",
    "stage_rows": "tiles of rows are copied to shared memory",
    "team": "the threads of a team share the iterations",
    "unswitch": "a copy without the condition, for where it holds",
}


@dataclass(frozen=True)
class Fact:
    """One fact about one place.

    `kind` is "loop", "nest", "missed", "access", "buffer", "local" or "sum"; `subject` the source text or
    name that it is about; `what` the fact ("serial", "proved", "checked", "zeroed", "float32", "lanes", …),
    `why` its reason or "". `dim` is the dimension of an access or, of a "nest", the number of loops around,
    else -1. `line` counts in `file` from 1; 0 for a loop that the compiler made for its checks.
    """

    kind: str
    file: str
    line: int
    subject: str
    dim: int
    what: str
    why: str


@dataclass(frozen=True)
class Launch:
    """One kernel that a call launches on a GPU.

    `lines` are (file, line) of the loops that it executes, `threads` those of a block, `shared_bytes` the
    memory that they share. Registers of a thread, and bytes spilled, are None until it is compiled to machine
    code: by a call or a warm-up. `condition` is that of the calls which launch it, or "" for all. `stores`
    names the arrays of device memory that it stores to; one that only checks subscripts has none.
    """

    name: str
    lines: tuple[tuple[str, int], ...]
    threads: int
    shared_bytes: int
    registers: int | None
    spilled: int | None
    condition: str
    stores: tuple[str, ...]


@dataclass(frozen=True)
class Version:
    """One compiled specialization of a kernel, for one signature."""

    parameters: tuple[tuple[str, str], ...]
    """Name and type of each parameter: ("a", "float32[:, :]")."""
    main: bool
    """The optimized body has been compiled or loaded in this process."""
    plain: bool
    """The serial body that checks every access has been compiled or loaded in this process."""
    conditions: tuple[str, ...]
    """Conditions tested once per call. If one fails, or if an extent is 0, the plain body runs."""
    facts: tuple[Fact, ...]
    schedule: tuple[str, ...] = ()
    """The transformations of the loops of the optimized body, in order: "vectorize j by 64"."""
    shared: tuple[tuple[str, str], ...] = ()
    """Arguments and outputs that are the same view as an earlier argument, with its name: ("c", "a")."""
    overlaps: bool = False
    """A given argument that is written shares memory with another. The call then runs a third body, serial
    and with all checks. Known once the specialization is compiled.
    """
    stored: bool = False
    """The source text cannot be read: only conditions and checks are known, from the compiled specialization.
    """
    device: str = ""
    """The architecture of GPUs that is explained, "sm_90"; "" for the CPU."""
    launches: tuple[Launch, ...] = ()
    """What a call launches on a GPU, in the text's order: loops and conditions of the host decide how often.
    """

    on_host: bool = False
    """A device was asked for, and calls with arrays there run this code of the CPU on copies: debug=True."""

    def of(self, kind: str) -> tuple[Fact, ...]:
        """Returns the facts of one kind, in source order."""
        return tuple(f for f in self.facts if f.kind == kind)

    def __str__(self) -> str:
        return "\n".join(_version_lines(self))


@dataclass(frozen=True)
class Explanation:
    """The compiler's decisions about a kernel; `str()` of it is for reading."""

    kernel: str
    options: str
    versions: tuple[Version, ...]

    def __str__(self) -> str:
        head = f"kernel {self.kernel}{self.options}"
        return "\n\n".join([head, *(str(v) for v in self.versions)])

    __repr__ = __str__


def _options(kernel: Kernel) -> str:
    """Returns the options that are not the defaults: ", fp='strict', debug=True", or ""."""
    return "".join(f", {name}={value!r}" for name, value in _core.options_of(kernel).items())


def _launch(
    name: str,
    lines: list[tuple[str, int]],
    threads: int,
    shared_bytes: int,
    registers: int,
    spilled: int,
    condition: str,
    stores: str,
) -> Launch:
    known_registers, known_spilled = (None if figure < 0 else figure for figure in (registers, spilled))
    figures = (threads, shared_bytes, known_registers, known_spilled)
    return Launch(name, tuple(lines), *figures, condition, tuple(stores.split(", ")) if stores else ())


def explain(kernel: Kernel, args: tuple[Any, ...], keywords: dict[str, Any], device: str = "") -> Explanation:
    """Returns the explanation for the given arguments, or for each compiled specialization."""
    versions = tuple(
        Version(
            tuple(v["parameters"]),
            v["main"],
            v["plain"],
            tuple(v["conditions"]),
            tuple(Fact(*f) for f in v["findings"]),
            tuple(v["schedule"]),
            tuple(v["shared"]),
            v["overlaps"],
            v["stored"],
            v["device"],
            tuple(_launch(*row) for row in v.get("launches", ())),
            v.get("on_host", False),
        )
        for v in _core.explain(kernel, args, keywords, device)
    )
    function = _core.function_of(kernel)
    return Explanation(function.__qualname__, _options(kernel), versions)


def _signature(version: Version) -> str:
    types = ", ".join(f"{name}: {kind}" for name, kind in version.parameters)
    shared = ", ".join(f"{name} is the buffer of {argument}" for name, argument in version.shared)
    return f"({types})" + (f", where {shared}" if shared else "")


def _line_number(file: str, line: int, version: Version) -> str:
    """Returns the number of a line, with its file if the facts are about several files."""
    several = len({f.file for f in version.facts}) > 1
    return f"{line} of {file}" if several else str(line)


def _place(fact: Fact, version: Version) -> str:
    return f"line {_line_number(fact.file, fact.line, version)}"


def _version_lines(version: Version) -> Iterator[str]:
    yield f"version {_signature(version)}"
    device = "the host, on copies of the arrays: debug=True" if version.on_host else version.device
    yield from _section("device", [device] if device else [])
    yield from _section("bodies", [] if version.device else _bodies(version))
    yield from _section("launches", _launches(version))
    if version.stored:
        yield from _section("source", ["cannot be read: told are conditions and checks alone"])
    conditions = [f"{c}" for c in version.conditions]
    yield from _section("conditions", conditions or ["none but that no extent is 0"])
    if version.device and not version.on_host:
        what = "calls for which a condition fails, or whose arrays overlap, run there on copies"
        yield from _section("host", [what])
    yield from _section("loops", [_line(f, version) for f in version.of("loop")])
    yield from _section("schedule", _nest(version))
    yield from _section("steps", _steps(version))
    yield from _section("not done", [line for f in version.of("missed") for line in _missed(f, version)])
    yield from _section("accesses", _accesses(version))
    for title, kind in (("buffers", "buffer"), ("locals", "local"), ("sums", "sum")):
        yield from _section(title, [_line(f, version) for f in version.of(kind)])


def _section(title: str, lines: list[str]) -> Iterator[str]:
    for n, line in enumerate(lines):
        yield f"  {title if n == 0 else '':<11} {line}"


def _bodies(version: Version) -> list[str]:
    main = "main: ready" if version.main else "main: not compiled yet"
    plain = "ready" if version.plain else "compiled when a condition fails"
    chosen = (
        ["these arguments overlap: the call runs serial code for such arguments"] if version.overlaps else []
    )
    return [main, f"plain: {plain}", *chosen]


def _launches(version: Version) -> list[str]:
    lines = []
    for launch in version.launches:
        parts = [f"blocks of {launch.threads} threads" if launch.threads > 1 else "1 thread in a block"]
        if launch.shared_bytes:
            parts.append(f"{launch.shared_bytes:,} bytes of shared memory")
        figures = f"{launch.registers} registers, {launch.spilled} bytes spilled"
        parts.append("not compiled yet" if launch.registers is None else figures)
        what = f"computes {', '.join(launch.stores)}" if launch.stores else "checks subscripts"
        lines.append(f"{launch.name}{_loops_of(launch, version)} {what}: {', '.join(parts)}")
        lines += [f"  if {launch.condition}"] if launch.condition else []
    if version.device and not any(f.what.startswith("grid") for f in version.of("loop")):
        who = "one team" if any(launch.threads > 1 for launch in version.launches) else "one thread"
        lines.append(f"{who}: no loop is parallel whose bounds the host knows")
    return lines


def _loops_of(launch: Launch, version: Version) -> str:
    """Returns which loops a launch executes: " (lines 5, 7, 10)"; "" for none."""
    places = [_line_number(file, line, version) for file, line in launch.lines]
    if not places:
        return ""
    return f" (line{'s' if len(places) > 1 else ''} {', '.join(places)})"


def _steps(version: Version) -> list[str]:
    """Returns the transformations; of those for GPUs alone, the first of each kind says what it does."""
    lines, told = [], set()
    for step in version.schedule:
        name = step.split()[0]
        meaning = "" if name in told or not version.device else _step_words.get(name, "")
        told.add(name)
        lines.append(f"{step:<32}  {meaning}" if meaning else step)
    return lines


def _nest(version: Version) -> list[str]:
    """Returns the loops as they run, with the estimates of a loop's own statements below it."""
    lines = []
    for fact in version.of("nest"):
        indent = "  " * fact.dim
        place = _place(fact, version) if fact.line else "checks of subscripts"
        lines.append(f"{indent}{fact.subject}: {fact.what}  [{place}]")
        lines += [f"{indent}  {fact.why}"] if fact.why else []
    if any(fact.why for fact in version.of("nest")):
        sizes = f"{_core.unknown_trips} for each size that is no constant"
        lines.append(f"(by a model: one thread, all data near, {sizes})")
    return lines


def _missed(fact: Fact, version: Version) -> list[str]:
    """Returns one line, or several if the reason has several parts."""
    head = f"{_place(fact, version)}: {fact.subject}"
    if len(head) + len(fact.why) < 100:
        return [f"{head}: {fact.why}"]
    return [f"{head}:", *(f"  {part}" for part in fact.why.split("; "))]


def _accesses(version: Version) -> list[str]:
    facts = version.of("access")
    counts = Counter(f.what for f in facts)
    if not facts:
        return ["none checked at run time" if version.stored else "none"]
    lines = [", ".join(f"{counts[what]} {words}" for what, words in _access_words.items() if counts[what])]
    for fact in facts:
        if fact.what != "proved":
            dimension = f", dimension {fact.dim}" if "," in fact.subject else ""
            said = fact.why if fact.what == "conditional" else f"{fact.what}, {fact.why}"
            if version.stored:
                dimension, said = f", dimension {fact.dim}", "checked"
            lines.append(f"{_place(fact, version)}: {fact.subject}{dimension}: {said}")
    return list(dict.fromkeys(lines))  # an element that is read and written has one line


def _line(fact: Fact, version: Version) -> str:
    why = f" ({fact.why})" if fact.kind == "buffer" and fact.why else f", {fact.why}" if fact.why else ""
    return f"{_place(fact, version)}: {fact.subject}: {fact.what}{why}"


class HtmlExplanation(str):
    """A page of HTML; a notebook shows it as a part of its own."""

    body: str

    def _repr_html_(self) -> str:
        return self.body


def _title(kernel: Kernel) -> str:
    function = _core.function_of(kernel)
    return f"kernel {function.__qualname__}{inspect.signature(function)}{_options(kernel)}"


def explain_as_html(
    kernel: Kernel, args: tuple[Any, ...], keywords: dict[str, Any], device: str = ""
) -> HtmlExplanation:
    """Returns the explanation with the source, coloured by what happened to each loop."""
    from .explain_html import page, view

    body = view(kernel, explain(kernel, args, keywords, device), _title(kernel))
    out = HtmlExplanation(page(body, f"kernel {kernel.__name__}"))
    out.body = body
    return out


def to_html(kernel: Kernel) -> str:
    """Returns the notebook view of a kernel."""
    from .explain_html import view

    try:
        return view(kernel, explain(kernel, (), {}), _title(kernel))
    except Exception as error:  # the view must not fail: it shows the error that a call would raise
        return view(kernel, None, _title(kernel), str(error))
