"""The texts of twelve kernels of tests/golden, as they stand in cuda_texts.txt there; BLESS=1 rewrites it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import kernelwright as kw

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.append(str(GOLDEN))
import kernels  # noqa: E402

M, V = "f32[:, :]", "f32[:]"
TYPES = {
    "chain": (M, M, M),
    "broadcast_add": (M, V),
    "row_sum": (M,),
    "column_sum": (M,),
    "full_sum": (M,),
    "argmax": (M,),
    "softmax": (M,),
    "transpose": (M,),
    "stencil_2d": (M,),
    "cumsum": (M,),
    "gather_rows": (M, "i64[:]"),
    "histogram": ("i64[:]", "i64[:]"),
}


def text_of(name: str) -> str:
    """The kernels of the text, behind the prelude and the functions that all kernels share."""
    text = kw.kernel(getattr(kernels, name)).cuda(*TYPES[name], device="sm_90")
    first = min(
        text.find(word, text.rindex("#endif")) % len(text) for word in ("KW_KERNEL", "KW_TEAM_KERNEL")
    )
    return f"// {name}({', '.join(TYPES[name])})\n{text[first:]}"


def test_texts_are_those_of_the_file() -> None:
    path = GOLDEN / "cuda_texts.txt"
    made = "\n".join(map(text_of, TYPES))
    if os.environ.get("BLESS"):
        path.write_text(made)
    assert made == path.read_text(), "BLESS=1 pytest tests/gpu/test_golden_texts.py rewrites the file"
