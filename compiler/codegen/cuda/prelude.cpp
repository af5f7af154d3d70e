// The device prelude: the words of emitted kernels in terms of CUDA C++ and PTX. It includes nothing. A
// header of the tests defines the same words for a host compiler (tests/gpu/emulator/shim.inc).
#include "codegen/cuda/prelude.h"

namespace kw {

namespace {

constexpr std::string_view prelude = R"(#ifndef KW_WORDS
#define KW_WORDS
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
// A multiprocessor has 65,536 registers, for so many threads at least: 40 each for 1,536. With a 1, ptxas
// takes as many as it likes (72 for softmax on sm_100, NVRTC 13.0); without a number it may rather spill.
// Blocks of fewer threads are bounded by the number of blocks.
#ifndef KW_RESIDENT
#define KW_RESIDENT 1536
#endif
#if KW_RESIDENT >= 1536
#define KW_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
#else
#define KW_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads, 1)
#endif
#define KW_LEAST(threads) ((threads) < 128 || (threads) > KW_RESIDENT ? 1 : KW_RESIDENT / (threads))
#define KW_TEAM_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads, KW_LEAST(threads))
#define KW_FUNCTION static __device__ inline
#define KW_CONSTANT static __device__ const
#define kw_block(d) ((i64)blockIdx.d)
#define kw_blocks(d) ((i64)gridDim.d)
#define kw_block_number (kw_block(z) * kw_blocks(x) + kw_block(x))
#define kw_thread ((i64)threadIdx.x)
KW_FUNCTION i64 kw_number_of_thread() {
  i64 block = (kw_block(z) * kw_blocks(y) + kw_block(y)) * kw_blocks(x) + kw_block(x);
  return block * (i64)blockDim.x + kw_thread;
}

// the first faults of calls in source order; `mirror` tells the host how many there have been. The host
// writes how many it has read: those of this call come after them
struct kw_fault_record { u64 call, launch, team, key; i64 value, bound; };
struct kw_faults {
  u32 lock, unused;
  u64 records, lost, read_records, read_lost;
  kw_fault_record record[64];
};
struct kw_call {
  kw_faults *faults;
  volatile u64 *mirror;
  const volatile u32 *cancel;
  u64 number, launch;
};
#define KW_CALL const __grid_constant__ kw_call
KW_FUNCTION bool kw_comes_before(u64 a, u64 b, bool if_equal) { return a < b || (a == b && if_equal); }
KW_FUNCTION volatile kw_fault_record *kw_fault_of(kw_call call) {
  volatile kw_faults *f = call.faults;
  for (u64 i = f->records; i > f->read_records; --i)
    if (f->record[(i - 1) % 64].call == call.number) return &f->record[(i - 1) % 64];
  return nullptr;
}
// It needs few registers, which count for the whole kernel: the parameters of a call stay where they are.
KW_FUNCTION volatile kw_faults *kw_faults_of(const kw_call &call) { return call.faults; }
static __device__ __noinline__ void kw_fault(const kw_call &call, u64 key, i64 value, i64 bound,
                                             u64 team = 0) {
  while (atomicCAS(&call.faults->lock, 0u, 1u)) {}
  __threadfence();
  u32 place = (u32)kw_faults_of(call)->records, older = place - (u32)kw_faults_of(call)->read_records;
  bool is_first = older < 64;  // there is room
#pragma unroll 1
  while (older && kw_faults_of(call)->record[(place - 1) % 64].call != call.number) place--, older--;
  place = older ? place - 1 : (u32)kw_faults_of(call)->records;
  volatile kw_fault_record *r = &kw_faults_of(call)->record[place % 64];
  if (older)
    is_first = kw_comes_before(call.launch, r->launch, kw_comes_before(team, r->team, key < r->key));
  if (is_first) {
    r->value = value, r->bound = bound, r->key = key, r->team = team;
    r->launch = call.launch, r->call = call.number;
  }
  if (!older) {  // of a call that has no record yet
    if (is_first) kw_faults_of(call)->records = kw_faults_of(call)->records + 1;
    else kw_faults_of(call)->lost = kw_faults_of(call)->lost + 1;
    *call.mirror = kw_faults_of(call)->records + kw_faults_of(call)->lost;
  }
  __threadfence_system();
  atomicExch(&call.faults->lock, 0u);
}
// whether an earlier launch of the call has; in this one, an earlier fault may still come
KW_FUNCTION bool kw_has_failed(kw_call call) {
  volatile kw_faults *f = call.faults;
  if (f->records == f->read_records) return false;
  volatile kw_fault_record *r = kw_fault_of(call);
  return r ? r->launch < call.launch : f->lost != f->read_lost;
}
KW_FUNCTION bool kw_is_cancelled(kw_call call, u32 turn) { return turn % 65536 == 65535 && *call.cancel; }
KW_FUNCTION u64 kw_trips(i64 lo, i64 hi, i64 step) {
  if (step > 0 ? lo >= hi : lo <= hi) return 0;
  u64 span = step > 0 ? (u64)hi - (u64)lo : (u64)lo - (u64)hi, size = step > 0 ? (u64)step : 0 - (u64)step;
  return (span - 1) / size + 1;
}

KW_FUNCTION u32 kw_bits(f32 x) { return __float_as_uint(x); }
KW_FUNCTION u64 kw_bits(f64 x) { return (u64)__double_as_longlong(x); }
KW_FUNCTION f32 kw_float(u32 x) { return __uint_as_float(x); }
KW_FUNCTION f64 kw_float(u64 x) { return __longlong_as_double((i64)x); }
KW_FUNCTION f32 kw_from_half(u16 x) { f32 r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r; }
KW_FUNCTION u16 kw_to_half(f32 x) { u16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
KW_FUNCTION u16 kw_to_bfloat(f32 x) { u16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }

// a NaN wins, and -0 is less than +0
template <class T> KW_FUNCTION T kw_min(T a, T b) { return b < a ? b : a; }
template <class T> KW_FUNCTION T kw_max(T a, T b) { return a < b ? b : a; }
KW_FUNCTION f32 kw_min(f32 a, f32 b) {
  f32 r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
KW_FUNCTION f32 kw_max(f32 a, f32 b) {
  f32 r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
KW_FUNCTION f64 kw_min(f64 a, f64 b) {
  if (a != a || b != b) return a != a ? a : b;
  return a == b ? (kw_bits(a) >> 63 ? a : b) : a < b ? a : b;
}
KW_FUNCTION f64 kw_max(f64 a, f64 b) {
  if (a != a || b != b) return a != a ? a : b;
  return a == b ? (kw_bits(a) >> 63 ? b : a) : a < b ? b : a;
}

KW_FUNCTION f32 kw_fma(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
KW_FUNCTION f64 kw_fma(f64 a, f64 b, f64 c) { return __fma_rn(a, b, c); }
KW_FUNCTION f32 kw_sqrt(f32 x) { return __fsqrt_rn(x); }
KW_FUNCTION f64 kw_sqrt(f64 x) { return __dsqrt_rn(x); }
KW_FUNCTION f32 kw_floor(f32 x) { return floorf(x); }
KW_FUNCTION f64 kw_floor(f64 x) { return floor(x); }
KW_FUNCTION f32 kw_ceil(f32 x) { return ceilf(x); }
KW_FUNCTION f64 kw_ceil(f64 x) { return ceil(x); }
KW_FUNCTION f32 kw_trunc(f32 x) { return truncf(x); }
KW_FUNCTION f64 kw_trunc(f64 x) { return trunc(x); }
KW_FUNCTION f32 kw_round(f32 x) { return rintf(x); }
KW_FUNCTION f64 kw_round(f64 x) { return rint(x); }
KW_FUNCTION f32 kw_fmod(f32 x, f32 y) { return fmodf(x, y); }
KW_FUNCTION f64 kw_fmod(f64 x, f64 y) { return fmod(x, y); }
KW_FUNCTION f32 kw_abs(f32 x) { return fabsf(x); }
KW_FUNCTION f64 kw_abs(f64 x) { return fabs(x); }
template <class T> KW_FUNCTION T kw_abs(T x) { return x < 0 ? (T)(0 - (u64)x) : x; }
template <class T> KW_FUNCTION T kw_popcount(T x) {
  return (T)__popcll(sizeof(T) == 8 ? (u64)x : (u64)x & ((1ull << (8 * sizeof(T) % 64)) - 1));
}
// toward zero; what does not fit becomes the nearest end, a NaN becomes 0
template <class T, class F> KW_FUNCTION T kw_to(F x) {
  constexpr bool is_signed = (T)-1 < (T)0;
  constexpr int bits = 8 * (int)sizeof(T) - is_signed;
  constexpr T most = (T)((((u64)1 << (bits - 1)) - 1) * 2 + 1), least = is_signed ? (T)(-most - 1) : (T)0;
  constexpr F end = (F)((u64)1 << (bits - 1)) * 2;
  if (x != x) return 0;
  if (x >= end) return most;
  return x <= (is_signed ? -end : (F)0) ? least : (T)x;
}
template <class F> KW_FUNCTION F kw_divmod(F a, F b, F &remainder) {
  remainder = kw_fmod(a, b);
  if (b == 0) return a / b;
  F quotient = (a - remainder) / b;
  if (remainder != 0) {
    if ((b < 0) != (remainder < 0)) remainder = remainder + b, quotient = quotient - 1;
  } else {
    remainder = b < 0 || kw_bits(b) >> (8 * sizeof(F) - 1) ? -(F)0 : (F)0;
  }
  if (quotient != 0) {
    F floored = kw_floor(quotient);
    return quotient - floored > (F)0.5 ? floored + 1 : floored;
  }
  return kw_bits(a / b) >> (8 * sizeof(F) - 1) ? -(F)0 : (F)0;
}
KW_FUNCTION f32 kw_floor_div(f32 a, f32 b) { f32 r; return kw_divmod(a, b, r); }
KW_FUNCTION f64 kw_floor_div(f64 a, f64 b) { f64 r; return kw_divmod(a, b, r); }
KW_FUNCTION f32 kw_floor_mod(f32 a, f32 b) { f32 r; kw_divmod(a, b, r); return r; }
KW_FUNCTION f64 kw_floor_mod(f64 a, f64 b) { f64 r; kw_divmod(a, b, r); return r; }
// of integers: a division by 0 gives 0, the quotient of the least number and -1 wraps
template <class T> KW_FUNCTION T kw_floor_div(T a, T b) {
  if (b == 0) return 0;
  if ((T)-1 < (T)0 && b == (T)-1) return (T)(0 - (u64)a);
  return (T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
template <class T> KW_FUNCTION T kw_floor_mod(T a, T b) {
  if (b == 0 || ((T)-1 < (T)0 && b == (T)-1)) return 0;
  T r = (T)(a % b);
  return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
}
template <class T> KW_FUNCTION T kw_shl(T a, T n) { return (u64)n < 8 * sizeof(T) ? (T)((u64)a << n) : (T)0; }
template <class T> KW_FUNCTION T kw_shr(T a, T n) {
  return (u64)n < 8 * sizeof(T) ? (T)(a >> n) : a < 0 ? (T)-1 : (T)0;
}

// elements side by side, which one access loads or stores
template <class T, int n> struct __align__(sizeof(T) * n) kw_vec { T v[n]; };
template <int bytes> struct kw_wide { typedef uint4 word; };
template <> struct kw_wide<8> { typedef u64 word; };
template <> struct kw_wide<4> { typedef u32 word; };
template <> struct kw_wide<2> { typedef u16 word; };
template <class V> union kw_access { typename kw_wide<sizeof(V)>::word word; V value; };
template <class W> KW_FUNCTION void kw_st_word(W *p, const W &x) { *p = x; }
// NVRTC 13.0 may cut the plain store in four.
KW_FUNCTION void kw_st_word(uint4 *p, const uint4 &x) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
               : : "l"(__cvta_generic_to_global(p)), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}
template <class V> KW_FUNCTION V kw_ld(const V *p) {
  kw_access<V> x;
  x.word = *(const typename kw_wide<sizeof(V)>::word *)p;
  return x.value;
}
template <class V> KW_FUNCTION void kw_st(V *p, const V &value) {
  kw_access<V> x;
  x.value = value;
  kw_st_word((typename kw_wide<sizeof(V)>::word *)p, x.word);
}
template <class V> KW_FUNCTION void kw_st_shared(V *p, const V &value) {
  kw_access<V> x;
  x.value = value;
  *(typename kw_wide<sizeof(V)>::word *)p = x.word;
}

// threads of a block that wait for one another; kw_any: for any thread
#define KW_SHARED(type, name, count) __shared__ __align__(16) type name[count]
KW_FUNCTION void kw_sync() { __syncthreads(); }
KW_FUNCTION void kw_sync_warp() { __syncwarp(); }
KW_FUNCTION bool kw_any(bool x) { return __syncthreads_or(x); }
KW_FUNCTION bool kw_any_warp(bool x) {
  bool any = __any_sync(~0u, x);
  __syncwarp();
  return any;
}
// copies to shared memory, which a thread waits for in groups; of 2 bytes at once for none
template <class T> KW_FUNCTION void kw_copy_async(T *to, const T *from) {
  u32 shared = (u32)__cvta_generic_to_shared(to);
  if constexpr (sizeof(T) < 4) *to = *from;
  else if constexpr (sizeof(T) == 16)  // not through the first cache
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 : : "r"(shared), "l"(__cvta_generic_to_global(from)) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                    : : "r"(shared), "l"(__cvta_generic_to_global(from)), "n"((i32)sizeof(T)) : "memory");
}
KW_FUNCTION void kw_end_group() { asm volatile("cp.async.commit_group;" : : : "memory"); }
// until no more than the last `left` groups are under way
template <i32 left> KW_FUNCTION void kw_wait_groups() {
  asm volatile("cp.async.wait_group %0;" : : "n"(left) : "memory");
}
template <class T> KW_FUNCTION T kw_shfl(T x, i32 lane) { return (T)__shfl_sync(~0u, x, lane); }
template <class T> KW_FUNCTION T kw_shfl_xor(T x, i32 mask) { return (T)__shfl_xor_sync(~0u, x, mask); }

// atomic operations; those on 8 bits change the word of 32 bits around them
template <class T, int bytes> struct kw_types { typedef u32 word; typedef T term; };
template <class T> struct kw_types<T, 1> { typedef u8 word; typedef T term; };
template <class T> struct kw_types<T, 2> { typedef u16 word; typedef T term; };
template <class T> struct kw_types<T, 8> { typedef u64 word; typedef T term; };
template <class T> using kw_word = typename kw_types<T, sizeof(T)>::word;
template <class T> using kw_term = typename kw_types<T, sizeof(T)>::term;  // not deduced
KW_FUNCTION u32 kw_exchange(u8 *p, u32 seen, u32 wanted) {
  u32 shift = (u32)((u64)p & 3) * 8, *word = (u32 *)((u64)p & ~3ull), others = ~(255u << shift);
  u32 all = *(volatile u32 *)word;
  while ((all >> shift & 255u) == seen) {
    u32 found = atomicCAS(word, all, (all & others) | wanted << shift);
    if (found == all) return seen;
    all = found;
  }
  return all >> shift & 255u;
}
KW_FUNCTION u16 kw_exchange(u16 *p, u16 seen, u16 wanted) { return atomicCAS(p, seen, wanted); }
KW_FUNCTION u32 kw_exchange(u32 *p, u32 seen, u32 wanted) { return atomicCAS(p, seen, wanted); }
KW_FUNCTION u64 kw_exchange(u64 *p, u64 seen, u64 wanted) { return atomicCAS(p, seen, wanted); }
template <class T, class F> KW_FUNCTION void kw_update(T *p, F next) {
  union { kw_word<T> bits; T value; } seen, wanted;
  seen.bits = *(volatile kw_word<T> *)p;
  while (true) {
    wanted.value = next(seen.value);
    if (wanted.bits == seen.bits) return;
    kw_word<T> found = kw_exchange((kw_word<T> *)p, seen.bits, wanted.bits);
    if (found == seen.bits) return;
    seen.bits = found;
  }
}
KW_FUNCTION void kw_atomic_add(i32 *p, i32 x) { atomicAdd((u32 *)p, (u32)x); }
KW_FUNCTION void kw_atomic_add(u32 *p, u32 x) { atomicAdd(p, x); }
KW_FUNCTION void kw_atomic_add(i64 *p, i64 x) { atomicAdd((u64 *)p, (u64)x); }
KW_FUNCTION void kw_atomic_add(u64 *p, u64 x) { atomicAdd(p, x); }
template <class T> KW_FUNCTION void kw_atomic_add(T *p, kw_term<T> x) {
  kw_update(p, [=](T old) { return (T)((u32)old + (u32)x); });
}
KW_FUNCTION void kw_atomic_sub(i32 *p, i32 x) { atomicAdd((u32 *)p, 0 - (u32)x); }
KW_FUNCTION void kw_atomic_sub(u32 *p, u32 x) { atomicAdd(p, 0 - x); }
KW_FUNCTION void kw_atomic_sub(i64 *p, i64 x) { atomicAdd((u64 *)p, 0 - (u64)x); }
KW_FUNCTION void kw_atomic_sub(u64 *p, u64 x) { atomicAdd(p, 0 - x); }
template <class T> KW_FUNCTION void kw_atomic_sub(T *p, kw_term<T> x) {
  kw_update(p, [=](T old) { return (T)((u32)old - (u32)x); });
}
template <class T> KW_FUNCTION void kw_atomic_mul(T *p, kw_term<T> x) {
  kw_update(p, [=](T old) { return (T)((u64)old * (u64)x); });
}
template <class T> KW_FUNCTION void kw_atomic_min(T *p, kw_term<T> x) {
  if constexpr (sizeof(T) < 4) kw_update(p, [=](T old) { return kw_min(old, x); });
  else atomicMin(p, x);
}
template <class T> KW_FUNCTION void kw_atomic_max(T *p, kw_term<T> x) {
  if constexpr (sizeof(T) < 4) kw_update(p, [=](T old) { return kw_max(old, x); });
  else atomicMax(p, x);
}
KW_FUNCTION void kw_atomic_min(f32 *p, f32 x) { kw_update(p, [=](f32 old) { return kw_min(old, x); }); }
KW_FUNCTION void kw_atomic_min(f64 *p, f64 x) { kw_update(p, [=](f64 old) { return kw_min(old, x); }); }
KW_FUNCTION void kw_atomic_max(f32 *p, f32 x) { kw_update(p, [=](f32 old) { return kw_max(old, x); }); }
KW_FUNCTION void kw_atomic_max(f64 *p, f64 x) { kw_update(p, [=](f64 old) { return kw_max(old, x); }); }
template <class T> KW_FUNCTION void kw_atomic_and(T *p, kw_term<T> x) {
  if constexpr (sizeof(T) < 4) kw_update(p, [=](T old) { return (T)(old & x); });
  else atomicAnd((kw_word<T> *)p, (kw_word<T>)x);
}
template <class T> KW_FUNCTION void kw_atomic_or(T *p, kw_term<T> x) {
  if constexpr (sizeof(T) < 4) kw_update(p, [=](T old) { return (T)(old | x); });
  else atomicOr((kw_word<T> *)p, (kw_word<T>)x);
}
template <class T> KW_FUNCTION void kw_atomic_xor(T *p, kw_term<T> x) {
  if constexpr (sizeof(T) < 4) kw_update(p, [=](T old) { return (T)(old ^ x); });
  else atomicXor((kw_word<T> *)p, (kw_word<T>)x);
}
#endif
)";

}  // namespace

std::string_view cuda_prelude() { return prelude; }

}  // namespace kw
