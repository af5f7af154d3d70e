// Emits loops of the kinds serial and unroll, and what all kinds share: trip counts, iterations and polls of
// the cancel flag.
#pragma once

#include "codegen/llvm/emit/emitter.h"

namespace kw {

class LoopEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  void emit(const For &n);
  /// Emits `trips` iterations in this function; the iterator of the first one is `lo`.
  void iterations(const For &n, V lo, V trips);
  /// Returns the number of iterations from `lo` to `hi`, computed without overflow for any bounds.
  V trip_count(const Expr &lo, const Expr &hi, int64_t step);
  /// Returns the iterator's value in iteration k.
  V iteration(const For &n, V lo, V k);
  /// Branches to `on` unless the run is cancelled.
  void poll(llvm::BasicBlock *on);
  /// Emits a loop of one iteration at a time, which polls after each iteration or never.
  void plain_loop(const For &n, V lo, V trips, bool polls);
  /// Emits body(from), which executes if from < to.
  void in_one_chunk(V from, V to, llvm::function_ref<void(V)> body);
  /// Emits body(k), which executes for k = from, from + size, … below to. These are few: the loop does not
  /// poll.
  void in_few_chunks(V from, V to, uint32_t size, llvm::function_ref<void(V)> body);
  /// Emits body(k), which executes for k = from, from + size, … below to. Polls after each chunk, or after
  /// poll_interval iterations.
  void in_chunks(V from, V to, uint32_t size, bool polls, llvm::function_ref<void(V)> body);
  /// Returns whether the loop ends before a poll is due. The loops around it poll.
  bool is_short(const For &n, V trips) const;
  /// Returns whether a loop runs the iterations of all its blocks, or of all rows, and not only those of its
  /// bounds.
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
