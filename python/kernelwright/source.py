"""Reads the source text of a kernel, only on a cache miss, and checks it against the code that runs."""

from __future__ import annotations
import __future__ as future_features

import ast
import functools
import inspect
import itertools
import linecache
import types
from collections.abc import Iterator

from . import _core
from ._stack import with_stack
from .errors import KernelSyntaxError
from .kept_text import Kept, keep, kept, newer
from .text import check_length, lines_of, refusal

_future_mask = 0
for _feature in future_features.all_feature_names:
    _future_mask |= getattr(future_features, _feature).compiler_flag


def _error(code: str, message: str, help_text: str, running: types.CodeType) -> KernelSyntaxError:
    return refusal(code, message, help_text, running.co_filename, running.co_firstlineno)


def _compared(function: types.FunctionType, code: types.CodeType) -> tuple[str, bool]:
    """Returns the text, and whether `code` was compiled from it. Raises RecursionError if CPython cannot
    compile it.
    """

    def compare() -> tuple[str, bool]:
        text = text_of(function, code)
        check_length(text, code.co_filename, code.co_firstlineno)
        if text and _same_code(function, code, text):
            return text, True
        if (now := newer(function)) is not None:
            present = "".join(_block(code, function.__globals__, now))
            if present and _same_code(function, code, present):
                keep(function)
                return present, True
        return text, False

    try:
        return with_stack(compare)
    except RecursionError:  # the compiler counts the caller's frames too, and a thread begins without any
        return with_stack(compare, always=True)


def read(function: types.FunctionType, code: types.CodeType) -> str:
    """Returns the text of the function, from its first decorator to its last line, as the file had it when
    the kernel was made.

    `code` is the function's code when the caller read it. Names are as CPython reads them (PEP 3131). Raises
    KernelSyntaxError: E120 if there is no text, E121 if `code` was not compiled from the text, E105 if
    CPython itself finds the text nested too deeply.
    """
    held = kept(function)
    try:
        text, same = _compared(function, code)
    except RecursionError:
        raise _error(
            "E105",
            f"kernel '{function.__name__}' is nested too deeply for Python's own compiler",
            "split its longest expression into statements",
            code,
        ) from None
    if not text:
        raise _no_text(function, code)
    if not same:
        if held is not None and held.is_guess:
            raise _no_text(function, code)
        if "@pytest_ar" in code.co_names:
            raise _error(
                "E121",
                f"pytest has rewritten the `assert` in kernel '{function.__name__}': "
                "its code is not its text",
                "move the kernel to a module that pytest does not rewrite, or begin this file with the"
                ' docstring "PYTEST_DONT_REWRITE"',
                code,
            )
        raise _error(
            "E121",
            f"the text at this place is not what kernel '{function.__name__}' was compiled from",
            "restart Python: the file was edited before it was imported; for exec, give the text:"
            ' kw.kernel("""def …""")',
            code,
        )
    return text if text.isascii() else _normalised(text)


def text_of(function: types.FunctionType, code: types.CodeType) -> str:
    """Returns the text at the location of the function, right or not; "" without one."""
    return "".join(_block(code, function.__globals__, kept(function)))


def _no_text(function: types.FunctionType, code: types.CodeType) -> KernelSyntaxError:
    where = {"<stdin>": "standard input", "<string>": "a string"}.get(code.co_filename, "")
    return _error(
        "E120",
        f"the source text of kernel '{function.__name__}' cannot be found"
        + (f": it came from {where}, which Python does not keep" if where else ""),
        'define it in a file or a notebook cell, or give its text: kw.kernel("""def …""")',
        code,
    )


def _normalised(text: str) -> str:
    """Returns the text with its names normalized to NFKC, by which CPython compares them."""
    import tokenize
    import unicodedata

    if unicodedata.is_normalized("NFKC", text):
        return text
    lines = text.splitlines(keepends=True)
    try:
        tokens = list(tokenize.generate_tokens(iter(lines).__next__))
    except (tokenize.TokenError, SyntaxError):
        return text  # the parser reports the error
    for token in reversed(tokens):
        if token.type == tokenize.NAME:
            (row, begin), (_, end) = token.start, token.end
            line = lines[row - 1]
            lines[row - 1] = line[:begin] + unicodedata.normalize("NFKC", token.string) + line[end:]
    return "".join(lines)


def _block(code: types.CodeType, space: dict[str, object], held: Kept | None) -> list[str]:
    """Returns the lines of a function as its file held them; empty if there is no text.

    `inspect.getsource` finds the same lines, but takes several milliseconds instead of a fraction of one.
    """
    lines = lines_of(code.co_filename)
    if lines is None and held is not None:
        lines = held.lines()
    if lines is None:  # a cell, or a module from an archive
        linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename, space)
    first = code.co_firstlineno - 1
    if first >= len(lines):
        return []
    while first < len(lines) and lines[first].lstrip().startswith(("#", "\n")):
        first += 1  # the function moved down since its import; its own first line counts as line 0
    rest = lines[first:]
    if code.co_name == "<lambda>":
        return rest[:1]
    return rest[: _core.count_definition_lines("".join(rest))] or inspect.getblock(rest)


def _same_code(function: types.FunctionType, code: types.CodeType, text: str) -> bool:
    """Compiles the text as CPython did and compares the code objects."""
    indented = text[:1] in (" ", "\t")
    if not indented and _compiles_as_it_stands(text, code):
        return True
    try:
        tree = ast.parse(f"if True:\n{text}" if indented else text)
    except SyntaxError:
        return False
    body = tree.body[0].body if indented and isinstance(tree.body[0], ast.If) else tree.body
    found = body[0] if body else None
    if code.co_name == "<lambda>" or isinstance(found, ast.AsyncFunctionDef):
        return True  # the parser reports that a kernel is a `def`
    if not isinstance(found, ast.FunctionDef) or found.name != code.co_name:
        return False
    if indented:
        ast.increment_lineno(found, -1)
    found.decorator_list = []
    none = ast.copy_location(ast.Constant(None), found)
    found.args.defaults = [none for _ in found.args.defaults]
    found.args.kw_defaults = [None if d is None else none for d in found.args.kw_defaults]
    scope = class_of(function)
    return any(_compiles_to(found, code, scope, names) for names in _import_guesses(function, code))


def _compiles_as_it_stands(text: str, code: types.CodeType) -> bool:
    """Returns quickly, for most functions, whether the text compiles to `code`; False means unknown."""
    try:
        module = compile(text, "<kernel>", "exec", flags=code.co_flags & _future_mask, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    found = _find_code(module, code.co_name)
    return (
        found is not None
        and found.co_flags == code.co_flags
        and _equal_code(found, code)
        and _lines(found, 1) == _lines(code, code.co_firstlineno)
    )


def _import_guesses(function: types.FunctionType, code: types.CodeType) -> Iterator[list[str]]:
    """Yields names that the module may import, cheapest guess first; CPython compiles `np.f()` depending on
    them.
    """
    yield []
    yield [name for name, value in function.__globals__.items() if isinstance(value, types.ModuleType)]
    held = kept(function)
    lines = held.lines() if held is not None else None
    yield _imported_names("".join(linecache.getlines(code.co_filename) if lines is None else lines))


def class_of(function: types.FunctionType) -> str:
    """Returns the innermost class around a function, which mangles private names; "" if there is none.

    A.outer.<locals>.f → A: what stands before <locals> is a function, every other name a class.
    """
    parts = function.__qualname__.split(".")
    classes = [name for name, inner in itertools.pairwise(parts) if "<locals>" not in (name, inner)]
    return classes[-1] if classes and classes[-1].isidentifier() else ""


def code_of_text(
    text: str, free: list[str], owner: str, flags: int, modules: list[str]
) -> types.CodeType | None:
    """Returns the code object that the present Python makes of the text of a function, decorators included.

    `free` are its free variables, `owner` its class or "", `flags` those of its code under another version of
    Python, `modules` the names of modules among its globals: CPython compiles a call of their attributes
    otherwise. Returns None if the text is no definition.
    """
    try:
        tree = ast.parse(f"if True:\n{text}" if text[:1] in (" ", "\t") else text)
        body = tree.body[0].body if isinstance(tree.body[0], ast.If) else tree.body
        found = body[0]
    except (SyntaxError, ValueError, IndexError):
        return None
    if not isinstance(found, ast.FunctionDef):
        return None
    outer = [f"    {name} = None" for name in free] if flags & inspect.CO_NESTED else None
    return _compiled_in(found, modules, outer, owner, flags)


def _compiled_in(
    found: ast.FunctionDef, modules: list[str], outer: list[str] | None, owner: str, flags: int
) -> types.CodeType | None:
    """Returns the code object of a definition in a module with these imports, inside a function that begins
    with the lines `outer`, or at the top level if it is None, and inside the class `owner`, unless it is "".
    """
    around = ast.parse("\n".join(f"import a as {name}" for name in modules if name.isidentifier()))
    place, names = around.body, [found.name]
    if owner:
        names.insert(0, owner)
    if outer is not None:
        names.insert(0, "outer")
        place.append(ast.parse("\n".join(["def outer():", *outer, "    pass"])).body[0])
        place = place[-1].body  # type: ignore[attr-defined]
    if owner:
        place.append(ast.parse(f"class {owner}:\n    pass").body[0])
        place[-1].body = [found]  # type: ignore[attr-defined]
    else:
        place.append(found)
    try:
        code: types.CodeType | None = compile(
            around, "<kernel>", "exec", flags=flags & _future_mask, dont_inherit=True
        )
    except (SyntaxError, ValueError):
        return None
    for name in names:
        code = _find_code(code, name)
    return code


def _compiles_to(found: ast.FunctionDef, code: types.CodeType, owner: str, imported: list[str]) -> bool:
    """Returns whether the definition, inside its class and a scope with its free variables, compiles to
    `code`.
    """
    free = code.co_freevars
    names = _names(code)
    # a name that the code reads as a global is global, even if the enclosing scope binds it
    outer = [f"    global {name}" for name in names if name.isidentifier() and name not in free]
    outer += [f"    {name} = None" for name in free]
    modules = [name for name in imported if name in names]
    fresh = _compiled_in(found, modules, outer, owner, code.co_flags)
    if fresh is None or not _equal_code(fresh, code):
        return False
    return _lines(fresh, 1, found.lineno) == _lines(code, code.co_firstlineno, found.lineno)


def _names(code: types.CodeType) -> dict[str, None]:
    """Returns the names that the code and the functions inside it read, globals and attributes."""
    found = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


@functools.lru_cache(maxsize=4)
def _imported_names(text: str) -> list[str]:
    """Returns the names that import statements of a file bind."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    imports = (n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom))
    return [
        (alias.asname or alias.name).split(".")[0] for n in imports for alias in n.names if alias.name != "*"
    ]


def _lines(code: types.CodeType, first: int, definition: int = 1) -> list[int | None]:
    """Returns the line of each instruction within the text that starts at line `first`; new comments move
    them.

    The first decorator's line and that of the `def` count as one, because an undecorated copy starts there.
    """
    lines = (None if line is None else line - first for _, _, line in code.co_lines())
    return [0 if line == definition - 1 else line for line in lines]


def _find_code(code: types.CodeType | None, name: str) -> types.CodeType | None:
    for constant in code.co_consts if code else ():
        if isinstance(constant, types.CodeType) and constant.co_name == name:
            return constant
    return None


def _equal_code(a: types.CodeType, b: types.CodeType) -> bool:
    def constants(code: types.CodeType) -> list[object]:
        return [c if not isinstance(c, types.CodeType) else c.co_code for c in code.co_consts]

    def tagged(values: list[object]) -> list[str]:
        return [f"{type(v).__name__}:{v!r}" for v in values]

    return (
        a.co_code == b.co_code
        and a.co_names == b.co_names
        and a.co_varnames == b.co_varnames
        and a.co_freevars == b.co_freevars
        and tagged(constants(a)) == tagged(constants(b))
    )
