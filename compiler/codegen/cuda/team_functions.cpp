// By shuffles within a warp, and through memory between the warps of a block.
#include "codegen/cuda/team_functions.h"

namespace kw {

namespace {

/// `f` combines two values, whatever their order: the folds give the same bits in each thread.
constexpr std::string_view functions = R"(template <class T, class F> KW_FUNCTION T kw_fold(T x, F f) {
#pragma unroll
  for (i32 o = 16; o; o >>= 1) x = f(x, kw_shfl_xor(x, o));
  return x;
}
// Returns the thread with the best value; of equal ones, that with the last number, or the first.
template <class T, class F> KW_FUNCTION i32 kw_select(T value, i64 number, F is_better, bool takes_last) {
  i32 lane = (i32)(kw_thread & 31);
#pragma unroll 1
  for (i32 o = 16; o; o >>= 1) {
    T other = kw_shfl_xor(value, o);
    i64 its_number = kw_shfl_xor(number, o);
    i32 its_lane = kw_shfl_xor(lane, o);
    bool comes_first = takes_last ? number < its_number : its_number < number;
    if (is_better(other, value) || (comes_first && !is_better(value, other)))
      value = other, number = its_number, lane = its_lane;
  }
  return lane;
}
// Adds the sum of a block of 4,096 iterations to those before it, in pairs; thread k keeps the sum of 2^k.
template <class T, class F> KW_FUNCTION void kw_add_level(T &sum, T &level, i64 block, bool is_last, F f) {
  i64 closed = is_last ? block : (block ^ (block + 1)) >> 1;
  i32 k = 0;
  for (; closed >> k; k++)
    if (closed >> k & 1) sum = f(kw_shfl(level, k), sum);
  if ((kw_thread & 31) == k) level = sum;
}
template <class T, class F>
KW_FUNCTION void kw_add_block(T &sum, T &level, T *own, i64 block, bool is_last, F f) {
  sum = kw_fold(f(own[0], own[1]), f);
  kw_add_level(sum, level, block, is_last, f);
}
template <class T, class F> KW_FUNCTION T kw_add_in_order(T sum, T *own, i64 n, F f) {
#pragma unroll 1
  for (i32 k = 0; k < n; k++) sum = f(sum, kw_shfl(k < 32 ? own[0] : own[1], k & 31));
  return sum;
}
template <class T> KW_FUNCTION T kw_add_products_in_order(T sum, T *left, T *right, i64 n) {
#pragma unroll 1
  for (i32 k = 0; k < n; k++) {
    T a = kw_shfl(k < 32 ? left[0] : left[1], k & 31), b = kw_shfl(k < 32 ? right[0] : right[1], k & 31);
    sum = kw_fma(a, b, sum);
  }
  return sum;
}
)";

/// Of eight warps; `slots` lie in memory that they share. What they held, threads have read before a barrier.
constexpr std::string_view of_blocks =
    R"(template <class T> KW_FUNCTION T kw_take(T x, i32 thread, u64 *slots) {
  kw_sync();
  if (kw_thread == thread) *(T *)slots = x;
  kw_sync();
  return *(T *)slots;
}
template <class T> KW_FUNCTION void kw_share(T x, u64 *slots) {
  kw_sync();
  if (kw_thread % 32 == 0) *(T *)(slots + kw_thread / 32) = x;
  kw_sync();
}
template <class T, class F> KW_FUNCTION T kw_fold_block(T x, F f, u64 *slots) {
  kw_share(kw_fold(x, f), slots);
  x = *(T *)(slots + kw_thread % 8);
#pragma unroll
  for (i32 o = 4; o; o >>= 1) x = f(x, kw_shfl_xor(x, o));
  return x;
}
template <class T, class F>
KW_FUNCTION i32 kw_select_block(T value, i64 number, F is_better, bool takes_last, u64 *slots) {
  i32 lane = kw_select(value, number, is_better, takes_last);
  i64 thread = kw_thread - kw_thread % 32 + lane, warp = kw_thread % 8;
  kw_share(kw_shfl(value, lane), slots), value = *(T *)(slots + warp);
  kw_share(kw_shfl(number, lane), slots), number = *(i64 *)(slots + warp);
  kw_share(thread, slots), thread = *(i64 *)(slots + warp);
  return (i32)kw_shfl(thread, kw_select(value, number, is_better, takes_last));
}
// Adds the lanes of eight blocks of 4,096 iterations, or of what is left, to those before them.
template <class T, class F>
KW_FUNCTION void kw_add_blocks(T &sum, T &level, T *own, i64 first, i64 trips, F f, u64 *slots) {
  kw_share(kw_fold(f(own[0], own[1]), f), slots);
#pragma unroll 1
  for (i32 k = 0; k < 8 && first < trips; k++, first += 4096) {
    sum = *(T *)(slots + k);
    kw_add_level(sum, level, first >> 12, first + 4096 >= trips, f);
  }
}
)";

}  // namespace

std::string_view cuda_team_functions() { return functions; }
std::string_view cuda_block_functions() { return of_blocks; }

}  // namespace kw
