// Loops of the kinds serial and unroll, and what all kinds share: trip counts, iterations and polls of the
// cancel flag.
#pragma once

#include "codegen/llvm/emit/emitter.h"

namespace kw {

class LoopEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  void emit(const For &n);
  /// `trips` iterations in this function, of which the first has the value `lo`.
  void iterations(const For &n, V lo, V trips);
  /// The number of iterations from `lo` to `hi`, computed without overflow for any bounds.
  V trip_count(const Expr &lo, const Expr &hi, int64_t step);
  /// The iterator's value in iteration k.
  V iteration(const For &n, V lo, V k);
  /// Goes on at `on` unless the run is cancelled.
  void poll(llvm::BasicBlock *on);
  /// One iteration at a time; polls after each, or never.
  void plain_loop(const For &n, V lo, V trips, bool polls);
  /// Calls body(from) if from < to.
  void in_one_chunk(V from, V to, llvm::function_ref<void(V)> body);
  /// Calls body(k) for k = from, from + size, … below to, which are few: it does not poll.
  void in_few_chunks(V from, V to, uint32_t size, llvm::function_ref<void(V)> body);
  /// Calls body(k) for k = from, from + size, … below to. Polls after each chunk, or after stretches of them.
  void in_chunks(V from, V to, uint32_t size, bool polls, llvm::function_ref<void(V)> body);
  /// Whether the loop ends before a poll is due; the loops around it poll.
  bool is_short(const For &n, V trips) const;
  /// Whether a loop runs all iterations of its blocks, or of all rows, in place of those that it states.
  bool exceeds_plan(const For &n) const { return &n == cx_.collapsed_row || &n == cx_.whole_block; }

 private:
  struct RepeatedBlock {
    llvm::BasicBlock *body, *before, *after;
  };
  void repeat(const RepeatedBlock &at, V from, V to, uint32_t size, llvm::function_ref<void(V)> body);
  void unrolled_loop(const For &n, V lo, V trips);
  void short_loop(const For &n, V lo, V trips);
  void inner_loop(const For &n, V lo, V trips);
  void copied_iterations(const For &n, V lo, V from, V to, llvm::BasicBlock *done);
  void run_of_iterations(const For &n, V lo, V from, V to, uint32_t copies, llvm::BasicBlock *done);
  void flattened_loop(const For &rows, V lo, V trips);
};

}  // namespace kw
