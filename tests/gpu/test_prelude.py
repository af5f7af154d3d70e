"""Every word of the device prelude, on values that are hard for it: the bits of NumPy and Python.

On a GPU (KW_TEST_DEVICE=cuda) this shows that its instructions are what the emulated one takes them for.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device import Device
from raw import Raw
from words import WORDS, Word, kernel_of

import kernelwright as kw

# Threads that wait for one another, and those that add to one place.
TEAMS = """\
KW_KERNEL(64) exchange(i64 *out, i64 n) {
  KW_SHARED(i64, s, 64);
  i64 t = kw_thread;
  s[t] = t * t;
  kw_sync();
  i64 other = s[63 - t];
  kw_sync();
  s[t] = other;
  kw_sync_warp();
  i64 a = kw_shfl(t, 5), b = kw_shfl_xor(t, 3), c = s[t ^ 1];
  out[t] = ((((a * 64 + b) * 4096 + c) * 2 + kw_any(t == 40)) * 2 + kw_any_warp(t == 40)) + n - n;
}
KW_KERNEL(64) halves(f64 *out, i64 n) {
  f32 x = (f32)kw_thread / 3.0f;
  f64 y = (f64)kw_thread / 3.0;
  out[kw_thread] = (f64)kw_shfl_xor(x, 1) + kw_shfl(y, 31) + (f64)(n - n);
}
KW_KERNEL(64) accumulate(i32 *out, i64 n) {
  i32 t = (i32)(kw_block(x) * 64 + kw_thread);
  kw_atomic_add(&out[0], t), kw_atomic_sub(&out[1], t), kw_atomic_max(&out[2], t), kw_atomic_min(&out[3], -t);
  kw_atomic_or(&out[4], t), kw_atomic_xor(&out[5], t), kw_atomic_and(&out[6], ~t);
  kw_atomic_max((f32 *)&out[7], (f32)t / 3.0f), kw_atomic_mul(&out[8], 3);
  kw_atomic_add((u32 *)&out[9], (u32)t);
}
KW_KERNEL(64) accumulate_wide(i64 *out, i64 n) {
  i64 t = kw_block(x) * 64 + kw_thread;
  kw_atomic_add(&out[0], t << 40), kw_atomic_max(&out[1], t << 40), kw_atomic_min(&out[2], -(t << 40));
  kw_atomic_or(&out[3], t << 40), kw_atomic_min((f64 *)&out[4], -(f64)t / 3.0), kw_atomic_mul(&out[5], 3);
  kw_atomic_sub(&out[6], t << 40);
}
// Four bytes of one word, and two halves: threads change the elements beside one another.
KW_KERNEL(64) accumulate_bytes(u8 *out, i64 n) {
  i8 t = (i8)(kw_block(x) * 64 + kw_thread);
  kw_atomic_add(&out[0], 1), kw_atomic_sub(&out[1], 2), kw_atomic_mul(&out[2], 3);
  kw_atomic_max((i8 *)&out[3], t), kw_atomic_min((i8 *)&out[4], t), kw_atomic_max(&out[5], (u8)t);
  kw_atomic_and(&out[6], (u8)~(1 << (t & 7))), kw_atomic_or(&out[7], (u8)(1 << (t & 7)));
  kw_atomic_xor(&out[8], (u8)t);
}
KW_KERNEL(64) accumulate_halves(u16 *out, i64 n) {
  i16 t = (i16)(kw_block(x) * 64 + kw_thread);
  kw_atomic_add(&out[0], 257), kw_atomic_sub((i16 *)&out[1], 3), kw_atomic_mul(&out[2], 3);
  kw_atomic_max((i16 *)&out[3], t), kw_atomic_min((i16 *)&out[4], (i16)-t), kw_atomic_or(&out[5], (u16)t);
  kw_atomic_and(&out[6], (u16)~t), kw_atomic_xor(&out[7], (u16)t);
}
KW_KERNEL(64) move(const f32 *x, f32 *out, i64 n) {
  typedef kw_vec<f32, 4> quad;
  KW_SHARED(f32, kept, 256);
  quad *mine = (quad *)kept + kw_thread;
  if (kw_thread >= n / 4) return;
  kw_st_shared(mine, kw_ld((const quad *)x + kw_thread));
  kw_st((quad *)out + kw_thread, kw_ld((const quad *)mine));
}
KW_KERNEL(64) number_blocks(i64 *out, i64 n) {
  if (kw_thread == 0) out[kw_block_number] = n + kw_block(x) + 10 * kw_block(z);
}
// Three copies of a thread in two groups, of 4, 8 and 16 bytes, and one that is made at once.
KW_KERNEL(64) fetch(const f64 *x, const u16 *h, f64 *out, i64 n) {
  typedef kw_vec<f64, 2> pair;
  KW_SHARED(f32, words, 128);
  KW_SHARED(f64, wide, 64);
  KW_SHARED(f64, pairs, 128);
  KW_SHARED(u16, halves, 64);
  i64 t = kw_thread, other = 63 - t;
  kw_copy_async(&words[t], (const f32 *)x + 2 * t + 1);
  kw_end_group();
  kw_copy_async(&wide[t], &x[t]);
  kw_copy_async((pair *)&pairs[2 * t], (const pair *)&x[2 * (t / 2)]);
  kw_copy_async(&halves[t], &h[t]);
  kw_end_group();
  kw_wait_groups<1>();
  kw_sync();
  f32 high = words[other];
  kw_wait_groups<0>();
  kw_sync();
  out[t] = (f64)high + wide[other] * 1e3 + pairs[2 * other + 1] * 1e6 + halves[other] * 1e12 + (f64)(n - n);
}
"""


def names() -> list[str]:
    return [f"{w.text} of {w.inputs[0].dtype}" for w in WORDS]


@pytest.fixture(scope="module")
def raw(device: Device) -> Raw:
    text = kw.kernel("def f(a):\n    a[0] = 1\n    return a\n").cuda("f32[:]")
    prelude = text[: text.rindex("#endif\n") + len("#endif\n")]
    kernels = "".join(kernel_of(word, f"w{k}") for k, word in enumerate(WORDS))
    return Raw(prelude + kernels + TEAMS, device.driver_path, device.nvrtc_path, device.arch)


def run(raw: Raw, name: str, inputs: Any, out: Any, blocks: int, threads: int) -> Any:
    """`out` in memory of the device after a launch."""
    words = []
    for k, a in enumerate((*inputs, out)):
        raw.allocate(f"m{k}", max(a.nbytes, 1))
        raw.write(f"m{k}", np.ascontiguousarray(a).tobytes())
        words.append(f"m{k}")
    raw.launch(name, blocks, threads, [*words, out.size])
    return np.frombuffer(raw.read(words[-1], out.nbytes), out.dtype)


def bits(a: Any) -> Any:
    """Integers, with every NaN the same."""
    if a.dtype.kind == "f":
        a = np.where(np.isnan(a), a.dtype.type(np.nan), a)
    return a.view(f"u{a.itemsize}")


@pytest.mark.parametrize("number", range(len(WORDS)), ids=names())
def test_words(number: int, raw: Raw) -> None:
    word: Word = WORDS[number]
    size = word.expected.size
    found = run(raw, f"w{number}", word.inputs, np.zeros(size, word.expected.dtype), (size + 31) // 32, 32)
    if word.text == "kw_to_bfloat(x)":
        nan = np.isnan(word.inputs[0])
        assert (found[nan] & 0x7F80 == 0x7F80).all() and (found[nan] & 0x7F != 0).all()
        found = np.where(nan, word.expected, found)
    wrong = np.flatnonzero(bits(found) != bits(word.expected))
    shown = [(*(a[i] for a in word.inputs), found[i], word.expected[i]) for i in wrong[:5]]
    assert not wrong.size, f"{wrong.size} of {size}: inputs, found, expected: {shown}"


def test_threads_that_wait(raw: Raw) -> None:
    t = np.arange(64)
    lane, warp = t % 32, t - t % 32
    other = (63 - (t ^ 1)) ** 2
    expected = (((warp + 5) * 64 + (warp + (lane ^ 3))) * 4096 + other) * 4 + 2 + (warp == 32)
    assert np.array_equal(run(raw, "exchange", (), np.zeros(64, np.int64), 1, 64), expected)
    third = (t / 3).astype(np.float32).astype(np.float64)
    single = (t.astype(np.float32) / np.float32(3)).astype(np.float64)
    assert third.shape == single.shape
    found = run(raw, "halves", (), np.zeros(64), 1, 64)
    assert np.array_equal(found, single[t ^ 1] + ((warp + 31) / 3))


def test_blocks_are_numbered_through_all_rows(raw: Raw) -> None:
    raw.allocate("numbers", 6 * 8)
    raw.launch("number_blocks", 3, 64, ["numbers", 100], rows=2)
    found = np.frombuffer(raw.read("numbers", 6 * 8), np.int64)
    assert found.tolist() == [100, 101, 102, 110, 111, 112]


def test_atomic_operations(raw: Raw) -> None:
    count = 4 * 64
    t = np.arange(count, dtype=np.int64)
    found = run(raw, "accumulate", (), np.array([0, 0, 0, 0, 0, 0, -1, 0, 1, 0], np.int32), 4, 64)
    largest = np.array([(count - 1) / np.float32(3)], np.float32).view(np.int32)[0]
    power = int(np.array([pow(3, count, 2**32)], np.uint32).view(np.int32)[0])
    total = int(t.sum())
    expected = [total, -total, count - 1, 1 - count, 255, 0, -256, largest, power, total]
    assert found.tolist() == expected
    start = np.array([0, 0, 1, 128, 127, 0, 255, 0, 0, 77], np.uint8)
    found = run(raw, "accumulate_bytes", (), start, 4, 64)
    assert found.tolist() == [0, 0, pow(3, count, 256), 127, 128, 255, 0, 255, 0, 77]
    start = np.array([0, 0, 1, 0, 0, 0, 65535, 0, 77], np.uint16)
    found = run(raw, "accumulate_halves", (), start, 4, 64)
    power = pow(3, count, 1 << 16)
    assert found.tolist() == [257 * count % 65536, 65536 - 3 * count, power, 255, 65281, 255, 65280, 0, 77]
    start = np.array([0, 0, 0, 0, 0, 1, 0], np.int64)
    found = run(raw, "accumulate_wide", (), start, 4, 64)
    lowest = np.array([-(count - 1) / 3]).view(np.int64)[0]
    power = int(np.array([pow(3, count, 2**64)], np.uint64).view(np.int64)[0])
    most = (count - 1) << 40
    assert found.tolist() == [total << 40, most, -most, 255 << 40, lowest, power, -(total << 40)]


def test_accesses_to_several_elements(raw: Raw) -> None:
    x = np.arange(256, dtype=np.float32)
    assert np.array_equal(run(raw, "move", (x,), np.zeros(256, np.float32), 1, 64), x)


def test_copies_that_threads_wait_for(raw: Raw) -> None:
    t = np.arange(64)
    x, h = 2.0 ** (t % 9), t.astype(np.uint16)
    high = x.view(np.float32)[1::2].astype(np.float64)
    expected = high + x * 1e3 + x[t // 2 * 2 + 1] * 1e6 + h * 1e12
    assert np.array_equal(run(raw, "fetch", (x, h), np.zeros(64), 1, 64), expected[::-1])


FAULTS = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#define KW_FUNCTION static inline
#define __device__
#define __noinline__
#define __grid_constant__
typedef unsigned u32;
typedef unsigned long long u64;
typedef long long i64;
static u32 atomicCAS(u32 *p, u32 seen, u32 wanted) { u32 old = *p; if (old == seen) *p = wanted; return old; }
static void atomicExch(u32 *p, u32 x) { *p = x; }
static void __threadfence() {}
static void __threadfence_system() {}
"""
FAULTS_MAIN = """
int main() {
  static prelude::kw_faults a;
  static shim::kw_faults b;
  u64 mirror[2] = {0, 0};
  const volatile u32 cancel = 0;
  srand(20261129);
  for (int i = 0; i < 200000; i++) {
    u64 number = rand() % 100, launch = rand() % 3, key = rand() % 50, team = rand() % 3;
    i64 value = rand(), bound = rand();
    prelude::kw_fault(prelude::kw_call{&a, &mirror[0], &cancel, number, launch}, key, value, bound, team);
    shim::kw_fault(shim::kw_call{&b, &mirror[1], &cancel, number, launch}, key, value, bound, team);
    static_assert(sizeof a == sizeof b);
    if (memcmp(&a, &b, sizeof a) || mirror[0] != mirror[1]) return printf("fault %d differs\\n", i), 1;
    if (rand() % 90 == 0) {  // the host reads some
      u64 read = a.read_records + rand() % (a.records - a.read_records + 1);
      a.read_records = b.read_records = read, a.read_lost = b.read_lost = a.lost;
    }
  }
  puts("same");
}
"""


def test_faults_are_noted_as_the_emulator_notes_them(tmp_path: Path) -> None:
    """The emulator has its own function, so that the prelude's runs on no machine without a GPU but here."""
    text = kw.kernel("def f(a):\n    a[0] = 1\n    return a\n").cuda("f32[:]")
    own = text[text.index("struct kw_fault_record") : text.index("KW_FUNCTION bool kw_has_failed")]
    shim = (Path(__file__).parent / "emulator/shim.inc").read_text()
    others = shim[shim.index("struct kw_fault_record") : shim.index("KW_FUNCTION bool kw_has_failed")]
    spaces = f"namespace prelude {{\n{own}}}\n#undef KW_CALL\nnamespace shim {{\n{others}}}\n"
    (tmp_path / "faults.cpp").write_text(FAULTS + spaces + FAULTS_MAIN)
    command = ["g++", "-std=c++17", "-w", "-O1", "-o", str(tmp_path / "faults"), str(tmp_path / "faults.cpp")]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "faults"], capture_output=True, text=True, check=False)
    assert done.stdout == "same\n"


def test_every_word_is_here(raw: Raw) -> None:
    """But for those of faults and cancelled calls, which whole kernels test."""
    text = kw.kernel("def f(a):\n    a[0] = 1\n    return a\n").cuda("f32[:]")
    prelude = text[: text.rindex("#endif\n")]
    defined = set(re.findall(r"KW_FUNCTION[^(\n]*?\b(kw_\w+)\(", prelude))
    inner = {
        "kw_divmod",
        "kw_exchange",
        "kw_update",
        "kw_number_of_thread",
        "kw_comes_before",
        "kw_fault_of",
        "kw_faults_of",
        "kw_has_failed",
        "kw_st_word",
    }
    used = set(re.findall(r"\bkw_\w+", TEAMS + "".join(w.text for w in WORDS)))
    assert defined - used - inner == {"kw_is_cancelled"}
