"""Exceptions and warnings.

The core creates them through `make_error` and `issue_warning`; their text is rendered there.
"""

from __future__ import annotations

import sys
import warnings


class KernelError(Exception):
    """Common base: carries the code and the place of the first error.

    Attributes: code ("E301"), message (one line), filename, lineno and offset (1-based; None without a
    place).
    """

    code: str = ""
    message: str = ""
    filename: str | None = None
    lineno: int | None = None
    offset: int | None = None


class KernelSyntaxError(KernelError, SyntaxError):
    """The source is outside the kernel language (E1xx)."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class KernelTypeError(KernelError, TypeError):
    """Types, shapes or arguments do not fit (E2xx)."""


class KernelValueError(KernelError, ValueError):
    """An argument has an impossible value, such as a read-only array that is written; with debug=True also a
    value inside a kernel (E309, E312)."""


class KernelOverflowError(KernelError, OverflowError):
    """An integer does not fit: an argument into 64 bits; with debug=True a value into its type."""


class KernelIndexError(KernelError, IndexError):
    """An access is out of bounds, or a name may be unassigned (E3xx)."""


class KernelAssertionError(KernelError, AssertionError):
    """An `assert` of a kernel compiled with debug=True failed (E305)."""


class KernelZeroDivisionError(KernelError, ZeroDivisionError):
    """Python numbers were divided by zero in a kernel compiled with debug=True (E311)."""


class ScheduleError(KernelError, ValueError):
    """A schedule or hint cannot be followed (E4xx)."""


class UnsupportedError(KernelError, NotImplementedError):
    """Part of the language that is not available yet."""


class DeviceError(KernelError, RuntimeError):
    """A device or the compiler library is missing (E5xx)."""


class InternalError(KernelError, RuntimeError):
    """A fault of kernelwright itself; the text says what to report."""


class KernelWarning(UserWarning):
    """Base of all warnings about kernels; attributes as in KernelError."""

    code: str = ""
    filename: str | None = None
    lineno: int | None = None
    offset: int | None = None


class UninitializedReadWarning(KernelWarning):
    """An element may be read before it is written (W301); it is zero then."""


class HintIgnoredWarning(KernelWarning):
    """A hint about a loop is false or unproved (W401 to W406, W408); the loop runs in order."""


_classes: dict[str, type[KernelError]] = {
    c.__name__: c
    for c in (
        KernelSyntaxError,
        KernelTypeError,
        KernelValueError,
        KernelOverflowError,
        KernelIndexError,
        KernelAssertionError,
        KernelZeroDivisionError,
        ScheduleError,
        UnsupportedError,
        DeviceError,
        InternalError,
    )
}
_warnings: dict[str, type[KernelWarning]] = {
    c.__name__: c for c in (KernelWarning, UninitializedReadWarning, HintIgnoredWarning)
}


def make_error(
    class_name: str,
    code: str,
    rendered: str,
    message: str,
    path: str,
    line: int,
    column: int,
    end_column: int,
    line_text: str,
    below: str,
) -> KernelError:
    """Returns the exception for rendered diagnostics; called by the core.

    `below` is the part of `rendered` below the first source line: its notes and help, then further errors.
    """
    error = _classes[class_name](rendered.rstrip("\n"))
    error.code = code
    error.message = message
    if line:
        error.filename, error.lineno, error.offset = path, line, column
    if isinstance(error, KernelSyntaxError):
        # Python prints a SyntaxError from its attributes: location, line, caret, and `msg` with the rest
        error.msg = f"[{code}] {message}\n{below}".rstrip("\n")
        if line:
            error.text, error.end_lineno, error.end_offset = line_text, line, end_column
    return error


def placeless_error(class_name: str, code: str, message: str, help_text: str = "") -> KernelError:
    """Returns the exception for an error that belongs to no line of a kernel."""
    rendered = f"error[{code}]: {message}" + (f"\n      = help: {help_text}" if help_text else "")
    return make_error(class_name, code, rendered, message, "", 0, 0, 0, "", "")


def note_call(error: BaseException, call: str) -> None:
    """Adds the call to an error about it; called by the core for every error that a call raises.

    Adds nothing to syntax errors, which are the same for all calls, and to errors that are not ours.
    """
    if isinstance(error, KernelError) and not isinstance(error, KernelSyntaxError):
        _add_note(error, call)


def note_operator(error: BaseException, name: str, scalars: list[str], written: list[str]) -> None:
    """Adds to an error of an operator's kernel how its registration relates to it; called by the core.

    `scalars`: inputs without dimensions; `written`: inputs that kernels may write.
    """
    if not isinstance(error, KernelError):
        return
    if error.code == "E222" and "read-only" in error.message:
        listed = ", ".join(repr(n) for n in written) or "none"
        _add_note(error, f"operator '{name}' writes the inputs that writes= of register_op names: {listed}")
    elif error.code == "E202" and scalars:
        listed = ", ".join(repr(n) for n in scalars)
        text = f"operator '{name}' takes {listed} as {'tensors' if len(scalars) > 1 else 'a tensor'}"
        _add_note(error, f"{text}: numbers are attributes, which attrs= of register_op names")


def _add_note(error: KernelError, text: str) -> None:
    if sys.version_info >= (3, 11):
        error.add_note(text)  # shown below the message in tracebacks
    else:
        error.args = (f"{error}\n      = note: {text}",)


def silence_line(code: str) -> str:
    """Returns the last line of each warning."""
    return f'      = silence: warnings.filterwarnings("ignore", message=".*{code}")'


def issue_warning(class_name: str, code: str, rendered: str, path: str, line: int, column: int) -> None:
    """Issues a warning with a location in a kernel's source, and says how to silence it. The core calls it
    once per kernel and process.
    """
    warning = _warnings[class_name](f"{rendered.rstrip()}\n{silence_line(code)}")
    warning.code = code
    if path:
        warning.filename, warning.lineno, warning.offset = path, line, column
        warnings.warn_explicit(warning, type(warning), path, line)
    else:
        warnings.warn(warning, stacklevel=2)
