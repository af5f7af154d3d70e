"""The directives that explain() prints are the whole schedule: replayed, they make the loops that run and
the same code.

verify=each replays them at each explanation. Of every kernel of the corpus and of the gallery of bench/.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import corpus
import kernelwright as kw
from kernelwright import _core_testing

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "gallery"))

from families import CASES as GALLERY  # noqa: E402

CORPUS = corpus.load()


@pytest.mark.parametrize("fp", ["strict", "default", "fast"])
@pytest.mark.parametrize("case", CORPUS, ids=lambda c: c.name)
def test_corpus(case: corpus.Case, fp: str) -> None:
    with kw.debug("verify=each"):
        assert kw.kernel(fp=fp)(case.fn).explain(*case.make(np.random.default_rng(0))).versions


@pytest.mark.parametrize("name", GALLERY)
def test_gallery(name: str) -> None:
    case = GALLERY[name]
    args = case.arguments(next(iter(case.sizes)))
    with kw.debug("verify=each"):
        assert case.kernel.explain(*args).versions
    code, again, error = _core_testing.scheduled_codes(case.kernel.ir("demote_integers", *args))
    assert not error and len(code) > 500 and again == code
