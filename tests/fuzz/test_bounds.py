"""The bounds that the default and the fast mode are held to are true for every order of sums, and tight.

KW_FUZZ_SEED gives other numbers; the seed stands in the output of a failing test.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import generate
import judge
import modes
import numpy as np
import pytest
import reference
import shadow
import shadow_words
from program import Call
from scalar_types import FLOATS, dtype_of
from shadow import Bounded, error
from trial import Ran, Trial, bits

SEED = int(os.environ.get("KW_FUZZ_SEED") or "20261125")
pytestmark = pytest.mark.filterwarnings("ignore")
EXACT = (0.5, -1.5, 1.0, -1.0, 2.0, 3.0, -0.0, 0.0, 0.25)


@pytest.fixture(autouse=True)
def default_mode() -> Iterator[None]:
    shadow.FAST = False
    print(f"KW_FUZZ_SEED={SEED}")
    yield
    shadow.FAST = False


def folded(items: list[Any], op: Callable[[Any, Any], Any], rng: random.Random) -> Any:
    """The items put together in a random order, as a random tree."""
    while len(items) > 1:
        a = items.pop(rng.randrange(len(items)))
        b = items.pop(rng.randrange(len(items)))
        items.append(op(a, b))
    return items[0]


def of(v: Any) -> Any:
    return Bounded(v)


def add(a: Any, b: Any) -> Any:
    return reference.strong("+", a, b)


def multiply(a: Any, b: Any) -> Any:
    return reference.strong("*", a, b)


def drawn(t: str, count: int, rng: random.Random) -> list[Any]:
    kind = dtype_of(t).type
    return [kind(rng.gauss(0, 1) * 4.0 ** rng.randint(-3, 3)) for _ in range(count)]


@pytest.mark.parametrize("t", FLOATS)
def test_every_order_of_a_sum_is_within_the_bound(t: str) -> None:
    rng = random.Random(SEED)
    for _ in range(60):
        items = drawn(t, rng.randint(2, 70), rng)
        total: Any = Bounded(items[0])
        for x in items[1:]:
            total = total + Bounded(x)
        e = error(total)
        far = max(abs(float(folded(list(items), add, rng)) - float(total.v)) for _ in range(5))
        assert far <= e < 70 * shadow.FORMATS[t].eps * sum(abs(float(x)) for x in items) * 1.1


@pytest.mark.parametrize("t", FLOATS)
def test_every_order_of_a_product_is_within_the_bound(t: str) -> None:
    rng = random.Random(SEED)
    for _ in range(60):
        items = [
            dtype_of(t).type(rng.uniform(0.7, 1.4) * rng.choice((1, -1))) for _ in range(rng.randint(2, 9))
        ]
        product: Any = Bounded(items[0])
        for x in items[1:]:
            product = product * Bounded(x)
        e = error(product)
        assert all(abs(float(folded(list(items), multiply, rng)) - float(product.v)) <= e for _ in range(5))
        assert e <= 12 * shadow.FORMATS[t].eps * abs(float(product.v)) + 1e-6 * (t != "float64")


@pytest.mark.parametrize("t", FLOATS)
def test_sums_with_bound_0_are_the_same_in_every_order(t: str) -> None:
    rng = random.Random(SEED)
    exact = 0
    for _ in range(100):
        items = [dtype_of(t).type(rng.choice(EXACT)) for _ in range(rng.randint(2, 300))]
        total: Any = Bounded(items[0])
        for x in items[1:]:
            total = total + Bounded(x)
        if error(total) == 0:
            exact += 1
            for _ in range(3):
                assert bits(np.asarray(folded(list(items), add, rng))) == bits(np.asarray(total.v))
    assert exact > (4 if t in ("float16", "bfloat16") else 99)


def test_a_sum_that_rounds_in_some_order_has_a_bound() -> None:
    one, half, big, less = (of(np.float32(2.0**k)) for k in (0, 23, 24, 24))
    assert error(big + one) > 0
    assert error(big - less + one) > 0  # also one - less + big
    assert error(half + one) == 0


def test_a_product_without_its_rounding_is_within_the_bound() -> None:
    rng = random.Random(SEED)
    for _ in range(300):
        a, b, c = drawn("float32", 3, rng)
        found = of(a) * of(b) + of(c)
        fused = np.float32(float(a) * float(b) + float(c))
        assert abs(float(fused) - float(found.v)) <= error(found)


def test_only_floats_without_a_bound_decide() -> None:
    third = np.float32(1) / np.float32(3)
    rough = of(third) + of(third) + of(np.float32(1))
    assert error(rough) > 0
    assert bool(rough > Bounded(np.float32(1)))  # far apart
    with pytest.raises(shadow.Undecided):
        bool(rough == Bounded(rough.v))
    with pytest.raises(shadow.Undecided):
        shadow_words.settle_exactly(shadow_words.weak("wi")(rough * Bounded(np.float32(3))))
    assert bool(Bounded(third) == Bounded(third))


def test_division_has_a_bound_in_the_fast_mode_only_by_powers_of_two() -> None:
    x, y, four = of(np.float64(0.7)), of(np.float64(3)), of(np.float64(4))
    assert error(x / y) == 0 and error(x / four) == 0
    shadow.FAST = True
    assert error(x / y) == np.inf and error(x / four) == 0


def test_generated_programs_are_mostly_compared() -> None:
    """A bound that is too wide, or a float that decides too often, would hide what the modes do."""
    exact = bounded = undecided = 0
    for seed in range(SEED, SEED + 60):
        p = generate.program(seed)
        t, call = Trial(p), p.calls[0]
        t.enter(call)
        strict = t.compiled(call, "strict", "interp")
        if strict.what != "ok":
            continue
        why, bounds = modes.bounds_of(t, call, strict, False)
        if why != "ok":
            undecided += 1
        elif any(allowed.any() for _, allowed in bounds):
            bounded += 1
        else:
            exact += 1
    assert exact > 2 * bounded > 0 and exact + bounded > 5 * undecided, (exact, bounded, undecided)


@pytest.mark.parametrize("fp", ["default", "fast"])
def test_a_mode_that_is_wrong_in_one_bit_is_told(fp: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Trial.compiled
    changed: list[int] = []

    def compiled(self: Trial, call: Call, mode: str, words: str, **options: bool) -> Ran:
        ran = plain(self, call, mode, words, **options)
        for n, item in enumerate(ran.bits if mode == fp else []):
            if isinstance(item, tuple) and item[0] in ("float32", "float64", "int32") and item[2]:
                ran.bits[n] = (item[0], item[1], bytes([item[2][0] ^ 1]) + item[2][1:])
                changed.append(self.p.seed)
                break
        return ran

    monkeypatch.setattr(Trial, "compiled", compiled)
    monkeypatch.setattr(Trial, "same_code", lambda *_: False)
    told = 0
    for seed in range(SEED, SEED + 40):
        p = generate.program(seed)
        if "place" in p.features or "exact program" not in p.features:
            continue
        told += judge.judge(p).kind.startswith(f"{fp}: exact value differs")
    assert told >= max(len({*changed}) // 2, 3), (told, len({*changed}))
