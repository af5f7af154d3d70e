// A transpose takes log2(lanes) steps of shuffles. Memory is accessed in whole rows only.
#include "codegen/llvm/emit/transpose.h"

#include <algorithm>

#include "codegen/llvm/emit/loops.h"
#include "codegen/llvm/emit/statements.h"
#include "codegen/llvm/emit/streams.h"

namespace kw {

using V = llvm::Value *;

/// Returns the blocks of an inner loop if all lanes or the first ones are active; else nothing. A single
/// iteration of the vector loop has no lanes to transpose.
std::optional<TransposedBlocks> TransposeEmitter::blocks_in(const For &n) {
  if (!n.how.transpose || vec_.blocks) return std::nullopt;
  if (vec_.mask && !runs_first_lanes(vec_)) return std::nullopt;
  uint32_t bits = vec_.view->widest_element();
  if (!TransposedBlocks::supports(bits, vec_.count, target().vector_bytes())) return std::nullopt;
  TransposedBlocks view(n, *vec_.view, bits);
  return view.blocks().empty() ? std::nullopt : std::optional(std::move(view));
}

/// Emits blocks that fill cache lines, then single blocks, then the remaining iterations one by one.
void TransposeEmitter::emit(const For &n, const TransposedBlocks &view, V lo, V trips) {
  uint64_t count = vec_.count, bytes = count * vec_.view->widest_element() / 8;
  // Two adjacent blocks make a cache line if a row of one block is half a line.
  bool halves = 2 * bytes == cache_line;
  V done = b_.getInt64(0);
  for (uint32_t beside = halves ? 2 : 1; beside >= 1; beside /= 2) {
    V whole = b_.CreateAnd(trips, ~uint64_t{count * beside - 1});
    loops().in_chunks(done, whole, count * beside, false,
                      [&](V k) { transpose_blocks(n, view, loops().iteration(n, lo, k), beside); });
    done = whole;
  }
  auto *known = llvm::dyn_cast<llvm::ConstantInt>(trips);
  if (known && known->getZExtValue() % count == 0) return;
  loops().plain_loop(n, loops().iteration(n, lo, done), b_.CreateSub(trips, done), false);
}

/// Emits `beside` adjacent blocks of the same rows.
void TransposeEmitter::transpose_blocks(const For &n, const TransposedBlocks &view, V first,
                                        uint32_t beside) {
  OpenBlocks open{&view, 0, {}};
  cx_.values[n.iter.get()] = first;
  cx_.memo.clear();
  for (const TransposedBlocks::Block &block : view.blocks()) {
    open.values.emplace_back(vec_.count * beside);
    if (!block.is_store) read(block, open.values.back());
  }
  {
    Scoped blocks(vec_.blocks, &open);
    for (; open.iteration < vec_.count * beside; ++open.iteration) {
      cx_.values[n.iter.get()] = b_.CreateAdd(first, b_.getInt64(open.iteration));
      cx_.memo.clear();
      statements().emit(n.body);
    }
  }
  cx_.values[n.iter.get()] = first;
  cx_.memo.clear(), vec_.memo.clear();
  for (size_t i = 0; i < open.values.size(); ++i)
    if (view.blocks()[i].is_store) write(view.blocks()[i], open.values[i], n.how.stream > 0);
}

/// Returns the address of the first element of a lane. An inactive lane has the address of lane 0, which is
/// active.
llvm::Value *TransposeEmitter::row_of_block(const VectorPlace &place, llvm::Type *element, uint32_t lane) {
  if (vec_.rest && lane > 0) {
    V step = place.by ? place.by : b_.getInt64(static_cast<uint64_t>(place.step.value()));
    V runs = b_.CreateICmpUGT(vec_.rest, b_.getInt64(lane));
    V distance = b_.CreateSelect(runs, b_.CreateMul(step, b_.getInt64(lane)), b_.getInt64(0));
    return b_.CreateGEP(element, place.at, distance);
  }
  if (!place.by) return b_.CreateConstGEP1_64(element, place.at, place.step.value() * int64_t{lane});
  return b_.CreateGEP(element, place.at, b_.CreateMul(place.by, b_.getInt64(lane)));
}

/// Loads one row for each lane and transposes: `values[i]` then holds iteration i of all lanes.
void TransposeEmitter::read(const TransposedBlocks::Block &block, std::vector<V> &values) {
  DType t = block.buf->dtype;
  VectorPlace place = vectors().place_of(block.buf, block.index);
  size_t count = vec_.count;
  // Bytes. Chosen: some blocks ahead, since hardware prefetchers do not follow as many rows as there are
  // lanes.
  constexpr uint64_t distance = 8 * cache_line;
  auto *row = llvm::FixedVectorType::get(ops().memory_type(t), vec_.count);
  for (uint32_t lane = 0; lane < count; ++lane)
    streams().read_ahead(row_of_block(place, ops().memory_type(t), lane), distance, cache_line);
  for (uint32_t lane = 0; lane < count; ++lane) {
    V begin = row_of_block(place, ops().memory_type(t), lane);
    for (size_t at = 0; at < values.size(); at += count)
      values[at + lane] = b_.CreateAlignedLoad(row, b_.CreateConstGEP1_64(ops().memory_type(t), begin, at),
                                               llvm::Align(bit_width(t) / 8));
  }
  for (auto at = values.begin(); at != values.end(); at += count)
    std::ranges::copy(transposed({at, at + count}), at);
}

/// Transposes and stores a block. Stores are non-temporal in calls that stream, if whole cache lines are
/// written.
void TransposeEmitter::write(const TransposedBlocks::Block &block, std::vector<V> values, bool may_stream) {
  VectorPlace place = vectors().place_of(block.buf, block.index);
  size_t count = vec_.count, item = item_size(block.buf->dtype);
  for (auto at = values.begin(); at != values.end(); at += count)
    std::ranges::copy(transposed({at, at + count}), at);
  bool lines = values.size() * item == cache_line && cx_.only_written.count(block.buf.get()) > 0;
  if (!cx_.streams || !may_stream || !lines || vec_.rest) return write_rows(block, place, values, false);
  V step = place.by ? place.by : b_.getInt64(static_cast<uint64_t>(place.step.value()));
  V low = b_.CreateOr(b_.CreatePtrToInt(place.at, b_.getInt64Ty()), b_.CreateMul(step, b_.getInt64(item)));
  V begins = b_.CreateICmpEQ(b_.CreateAnd(low, cache_line - 1), b_.getInt64(0));
  llvm::BasicBlock *past = this->block("past"), *through = this->block("through"),
                   *done = this->block("done");
  b_.CreateCondBr(b_.CreateAnd(cx_.streams, begins), past, through);
  for (auto *at : {past, through}) {
    b_.SetInsertPoint(at);
    write_rows(block, place, values, at == past);
    b_.CreateBr(done);
  }
  b_.SetInsertPoint(done);
}

/// Stores the rows of a block. Row 0 comes last: inactive lanes write to it before.
void TransposeEmitter::write_rows(const TransposedBlocks::Block &block, const VectorPlace &place,
                                  const std::vector<V> &values, bool past) {
  DType t = block.buf->dtype;
  uint64_t bytes = vec_.count * item_size(t);
  for (uint32_t lane = vec_.count; lane-- > 0;) {
    V begin = row_of_block(place, ops().memory_type(t), lane);
    for (size_t at = 0; at < values.size(); at += vec_.count) {
      V to = b_.CreateConstGEP1_64(ops().memory_type(t), begin, at);
      if (past)
        streams().store(values[at + lane], to, bytes);
      else
        b_.CreateAlignedStore(values[at + lane], to, llvm::Align(item_size(t)));
    }
  }
}

/// Shuffles two registers: takes the low (or, if `rest`, the high) half of each group of `period` elements,
/// alternating `unit` elements of `a` and `b`. unpcklps is period 4, unit 1.
llvm::Value *TransposeEmitter::interleaved(V a, V b, uint32_t period, uint32_t unit, bool rest) {
  uint32_t count = vec_.count;
  std::vector<int> places(count);
  for (uint32_t e = 0; e < count; ++e) {
    uint32_t turn = e % period / unit, taken = turn / 2 + (rest ? period / unit / 2 : 0);
    places[e] = static_cast<int>(turn % 2 * count + e / period * period + taken * unit + e % unit);
  }
  return b_.CreateShuffleVector(a, b, places);
}

/// Shuffles two registers: takes the even (or, if `odd`, the odd) units of `unit` elements of `a`, then those
/// of `b`.
llvm::Value *TransposeEmitter::every_second(V a, V b, uint32_t unit, bool odd) {
  uint32_t count = vec_.count;
  std::vector<int> places(count);
  for (uint32_t e = 0; e < count; ++e)
    places[e] = static_cast<int>((2 * (e / unit) + (odd ? 1 : 0)) * unit + e % unit);
  return b_.CreateShuffleVector(a, b, places);
}

/// Element c of row r becomes element r of row c. First transposes squares within 16 bytes by instructions
/// that interleave, then exchanges the squares.
std::vector<V> TransposeEmitter::transposed(std::vector<V> rows) {
  // 128 bits: shuffles within 16 bytes are one instruction.
  uint32_t count = vec_.count, side = 128 / rows[0]->getType()->getScalarSizeInBits();
  auto both = [&](V &a, V &b, uint32_t period, uint32_t unit) {
    V first = interleaved(a, b, period, unit, false), second = interleaved(a, b, period, unit, true);
    a = first, b = second;
  };
  for (uint32_t r = 0; r < count; r += side) {
    both(rows[r], rows[r + 1], side, 1);
    if (side == 2) continue;
    both(rows[r + 2], rows[r + 3], side, 1);
    both(rows[r], rows[r + 2], side, 2), both(rows[r + 1], rows[r + 3], side, 2);
    std::swap(rows[r + 1], rows[r + 2]);
  }
  for (uint32_t r = 0; r < side; ++r) {
    if (count == 2 * side) both(rows[r], rows[r + side], count, side);
    if (count != 4 * side) continue;
    V even[] = {every_second(rows[r], rows[r + side], side, false),
                every_second(rows[r + 2 * side], rows[r + 3 * side], side, false)};
    V odd[] = {every_second(rows[r], rows[r + side], side, true),
               every_second(rows[r + 2 * side], rows[r + 3 * side], side, true)};
    rows[r] = every_second(even[0], even[1], side, false),
    rows[r + side] = every_second(odd[0], odd[1], side, false);
    rows[r + 2 * side] = every_second(even[0], even[1], side, true),
                 rows[r + 3 * side] = every_second(odd[0], odd[1], side, true);
  }
  return rows;
}

}  // namespace kw
