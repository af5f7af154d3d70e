"""An import in a sub-interpreter is refused, whether or not the main one has kernelwright."""

from __future__ import annotations

import importlib.util

import pytest
from cold import expect, run

MODULE = "_interpreters" if importlib.util.find_spec("_interpreters") else "_xxsubinterpreters"
PROGRAM = f"""
import sys
import {MODULE} as interpreters
{{before}}
inner = interpreters.create()
text = '''
import sys
sys.path[:] = {{path!r}}
for _ in range(2):
    try:
        import kernelwright
    except ImportError as e:
        print(e)
'''
interpreters.run_string(inner, text.format(path=sys.path))
interpreters.destroy(inner)
import kernelwright, numpy
a = numpy.arange(3.0)
k = kernelwright.kernel("def k(a):\\n    a[0] = 5\\n    return a\\n")
assert k(a)[0] == 5
"""
SAID = (
    "kernelwright cannot be imported in a sub-interpreter: import it in the main interpreter, and use "
    "processes instead of sub-interpreters"
)


@pytest.mark.parametrize("before", ["", "import kernelwright"])
def test_an_import_in_a_sub_interpreter_is_refused(before: str) -> None:
    expect(run(PROGRAM.replace("{before}", before), patience=30), f"{SAID}\n{SAID}")
