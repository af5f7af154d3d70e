"""Keeps the texts of kernels from when the kernels were made, so that a later edit of a file changes nothing.

Reads a file once for all of its kernels and splits nothing; `source` does when a kernel is compiled. Light to
import, because every program that has a kernel does.
"""

from __future__ import annotations

import os
import stat
import sys
import types
import weakref
from collections.abc import Callable


class Kept:
    """The text of one file or of its substitute; `text` and `data` are None if no text is available."""

    def __init__(self, state: object, data: bytes | None = None, text: str | None = None) -> None:
        self.state, self.data, self.text = state, data, text
        self.is_guess = text is not None  # guessed from its form; the code decides whether it is right
        self._lines: list[str] | None = None

    def lines(self) -> list[str] | None:
        """Returns the lines with their ends, as Python reads a source file; None without a text."""
        if self._lines is None and (self.data is not None or self.text is not None):
            import io
            import tokenize

            if self.text is not None:
                self._lines = io.StringIO(self.text, newline=None).readlines()
            elif self.data is not None:
                raw = io.BytesIO(self.data)
                try:
                    encoding, _ = tokenize.detect_encoding(raw.readline)
                    raw.seek(0)
                    self._lines = io.TextIOWrapper(raw, encoding).readlines()
                except (SyntaxError, UnicodeDecodeError):  # Python made no code from it
                    return None
        return self._lines


_of_functions: weakref.WeakKeyDictionary[types.FunctionType, Kept] = weakref.WeakKeyDictionary()
_latest: dict[str, Kept] = {}  # the latest text of each file


def keep(function: types.FunctionType) -> None:
    """Keeps the present text of the file of a kernel's function. Kernels of an unchanged file share it."""
    _of_functions[function] = _now(function)


def _now(function: types.FunctionType) -> Kept:
    file = function.__code__.co_filename
    state = _state_of(file)
    if state is None:
        return Kept(None, text=_text_without_file(function))
    known = _latest.get(file)
    if known is None or known.state != state:
        known = _latest[file] = Kept(state, _bytes_of(file))
    return known


def keep_called(function: types.FunctionType, by: types.FunctionType) -> None:
    """Keeps the text of a function that a kernel calls. If it is in the same file, it shares the text."""
    if function in _of_functions:
        return
    of_kernel = _of_functions.get(by)
    if of_kernel is not None and function.__code__.co_filename == by.__code__.co_filename:
        _of_functions[function] = of_kernel
    else:
        keep(function)


def kept(function: types.FunctionType) -> Kept | None:
    """Returns the kept text of a function."""
    return _of_functions.get(function)


def newer(function: types.FunctionType) -> Kept | None:
    """Returns the present text of the file of a function whose code does not match the kept text. The
    function, or one that it calls, was replaced since, for example by a reload. Returns None if the text has
    not changed.
    """
    before = _of_functions.get(function)
    if before is None or before.state is None:
        return None
    now = _now(function)
    return now if now is not before else None


def _state_of(file: str) -> object:
    """Returns a value that changes when the file does; None without a file."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _bytes_of(file: str) -> bytes | None:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError:
        return None


def _text_without_file(function: types.FunctionType) -> str | None:
    """Returns a text that no file holds, if Python still has it: `python -c`, a script on standard input, the
    prompt, or a cell with a magic. Texts in `linecache`, such as plain cells, are found later.
    """
    file = function.__code__.co_filename
    is_main = function.__globals__.get("__name__") == "__main__"
    if file in ("<timed exec>", "<magic-timeit>"):
        return _cell_with_magic()
    finders: dict[str, Callable[[], str | None]] = {"<string>": _command, "<stdin>": _standard_input}
    return finders[file]() if is_main and file in finders else None


def _cell_with_magic() -> str | None:
    """Returns the body of a cell that begins with %%time or %%timeit, from the frame that runs it."""
    frame = sys._getframe(3)
    while frame is not None:
        names = frame.f_locals
        if frame.f_code.co_name in ("time", "timeit") and isinstance(names.get("cell"), str):
            shell = getattr(names.get("self"), "shell", None)
            cell: str = names["cell"]
            return str(shell.transform_cell(cell)) if shell else cell
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _command() -> str | None:
    """Returns the text after `-c`, which may be joined to other options and to the text: `-Ic`, `-c"…"`."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        if not word.startswith("-") or word.startswith("--"):
            return None
        for at, letter in enumerate(word[1:], 2):
            if letter == "c":
                return word[at:] or next(words, None)
            if letter == "m":
                return None
            if letter in "WX":  # its value is the rest of the word, or the next word
                if not word[at:]:
                    next(words, None)
                break
    return None


def _standard_input() -> str | None:
    if hasattr(sys, "ps1"):
        return _last_typed()
    try:
        found = os.fstat(0)
        if not stat.S_ISREG(found.st_mode):
            return None  # a pipe, whose text is lost
        return os.pread(0, found.st_size, 0).decode()
    except (OSError, UnicodeDecodeError):
        return None


def _last_typed() -> str | None:
    """Returns the last definition typed at the prompt, from the history of readline."""
    readline = sys.modules.get("readline")
    if readline is None:
        return None
    lines: list[str] = []
    for at in range(readline.get_current_history_length(), 0, -1):
        line = readline.get_history_item(at)
        decorated = line.startswith("@")
        if lines and lines[-1].startswith(("@", "def ", "async ")) and not decorated:
            break
        lines.append(line)
    return "\n".join(reversed(lines)) + "\n" if lines else None
