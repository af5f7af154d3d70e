// Loops inside a loop in lanes whose iterations lie side by side in memory (analysis/register_transpose): as
// many of them as lanes at a time, whose elements are read and written in rows and transposed in
// registers.
#include <algorithm>

#include "codegen/llvm/emit.h"
#include "ir/build.h"

namespace kw {

/// The blocks of an inner loop, when all lanes run or the first ones, and a register holds as many elements.
std::optional<TransposedBlocks> FunctionEmitter::blocks_in(const For &n) {
  if (!lanes_ || lanes_->blocks) return std::nullopt;
  if (lanes_->mask && !lanes_->runs_first_ones()) return std::nullopt;
  uint32_t bits = lanes_->view->widest_element();
  bool fits = lanes_->count >= 4 && lanes_->count * bits <= target_.vector_bytes() * 8;
  if (!fits || (bits != 32 && bits != 64)) return std::nullopt;
  TransposedBlocks view(n, *lanes_->view, bits);
  return view.blocks().empty() ? std::nullopt : std::optional(std::move(view));
}

/// Blocks that fill lines of memory, then single ones, then the iterations that are left one by one.
void FunctionEmitter::block_loop(const For &n, const TransposedBlocks &view, V lo, V trips) {
  uint64_t count = lanes_->count, bytes = count * lanes_->view->widest_element() / 8;
  bool halves = 2 * bytes == line_bytes;
  V done = b_.getInt64(0);
  for (uint32_t beside = halves ? 2 : 1; beside >= 1; beside /= 2) {
    V whole = b_.CreateAnd(trips, ~uint64_t{count * beside - 1});
    in_chunks(done, whole, count * beside, false, [&](V k) { blocks(n, view, iteration(n, lo, k), beside); });
    done = whole;
  }
  auto *known = llvm::dyn_cast<llvm::ConstantInt>(trips);
  if (known && known->getZExtValue() % count == 0) return;
  plain_loop(n, iteration(n, lo, done), b_.CreateSub(trips, done), false);
}

/// Blocks of the same rows, side by side.
void FunctionEmitter::blocks(const For &n, const TransposedBlocks &view, V first, uint32_t beside) {
  OpenBlocks open{&view, 0, {}};
  values_[n.iter.get()] = first;
  memo_.clear();
  for (const TransposedBlocks::Block &block : view.blocks()) {
    open.values.emplace_back(lanes_->count * beside);
    if (!block.is_store) read_blocks(block, open.values.back());
  }
  lanes_->blocks = &open;
  for (; open.iteration < lanes_->count * beside; ++open.iteration) {
    values_[n.iter.get()] = b_.CreateAdd(first, b_.getInt64(open.iteration));
    memo_.clear();
    statements(n.body);
  }
  lanes_->blocks = nullptr;
  values_[n.iter.get()] = first;
  memo_.clear(), lanes_->memo.clear();
  for (size_t i = 0; i < open.values.size(); ++i)
    if (view.blocks()[i].is_store) write_blocks(view.blocks()[i], open.values[i]);
}

/// Where the elements of one lane begin; of lanes that do not run, those of lane 0, which does.
FunctionEmitter::V FunctionEmitter::row_of_block(const WidePlace &place, llvm::Type *element, uint32_t lane) {
  if (lanes_->rest && lane > 0) {
    V step = place.by ? place.by : b_.getInt64(static_cast<uint64_t>(place.step.value()));
    V runs = b_.CreateICmpUGT(lanes_->rest, b_.getInt64(lane));
    V distance = b_.CreateSelect(runs, b_.CreateMul(step, b_.getInt64(lane)), b_.getInt64(0));
    return b_.CreateGEP(element, place.at, distance);
  }
  if (!place.by) return b_.CreateConstGEP1_64(element, place.at, place.step.value() * int64_t{lane});
  return b_.CreateGEP(element, place.at, b_.CreateMul(place.by, b_.getInt64(lane)));
}

void FunctionEmitter::read_blocks(const TransposedBlocks::Block &block, std::vector<V> &values) {
  DType t = block.buf->dtype;
  WidePlace place = wide_place(block.buf, block.index);
  size_t count = lanes_->count;
  auto *row = llvm::FixedVectorType::get(memory_type(t), lanes_->count);
  for (uint32_t lane = 0; lane < count; ++lane)
    read_ahead(row_of_block(place, memory_type(t), lane), 8 * line_bytes, line_bytes);
  for (uint32_t lane = 0; lane < count; ++lane) {
    V begin = row_of_block(place, memory_type(t), lane);
    for (size_t at = 0; at < values.size(); at += count)
      values[at + lane] = b_.CreateAlignedLoad(row, b_.CreateConstGEP1_64(memory_type(t), begin, at),
                                               llvm::Align(bit_width(t) / 8));
  }
  for (auto at = values.begin(); at != values.end(); at += count)
    std::ranges::copy(transposed({at, at + count}), at);
}

/// Past the caches where the target's rule says so and whole lines are written.
void FunctionEmitter::write_blocks(const TransposedBlocks::Block &block, std::vector<V> values) {
  WidePlace place = wide_place(block.buf, block.index);
  size_t count = lanes_->count, item = item_size(block.buf->dtype);
  for (auto at = values.begin(); at != values.end(); at += count)
    std::ranges::copy(transposed({at, at + count}), at);
  bool lines = values.size() * item == line_bytes && only_written_.count(block.buf.get()) > 0;
  if (!streams_ || !lines || lanes_->rest) return write_rows(block, place, values, false);
  V step = place.by ? place.by : b_.getInt64(static_cast<uint64_t>(place.step.value()));
  V low = b_.CreateOr(b_.CreatePtrToInt(place.at, b_.getInt64Ty()), b_.CreateMul(step, b_.getInt64(item)));
  V begins = b_.CreateICmpEQ(b_.CreateAnd(low, line_bytes - 1), b_.getInt64(0));
  llvm::BasicBlock *past = this->block("past"), *through = this->block("through"),
                   *done = this->block("done");
  b_.CreateCondBr(b_.CreateAnd(streams_, begins), past, through);
  for (auto *at : {past, through}) {
    b_.SetInsertPoint(at);
    write_rows(block, place, values, at == past);
    b_.CreateBr(done);
  }
  b_.SetInsertPoint(done);
}

/// Row 0 comes last: lanes that do not run write to it before.
void FunctionEmitter::write_rows(const TransposedBlocks::Block &block, const WidePlace &place,
                                 const std::vector<V> &values, bool past) {
  DType t = block.buf->dtype;
  uint64_t bytes = lanes_->count * item_size(t);
  for (uint32_t lane = lanes_->count; lane-- > 0;) {
    V begin = row_of_block(place, memory_type(t), lane);
    for (size_t at = 0; at < values.size(); at += lanes_->count) {
      V to = b_.CreateConstGEP1_64(memory_type(t), begin, at);
      if (past)
        stream_store(values[at + lane], to, bytes);
      else
        b_.CreateAlignedStore(values[at + lane], to, llvm::Align(item_size(t)));
    }
  }
}

/// Of each `period` elements of two registers the first half, or the `rest`: a unit of the one, then the same
/// of the other.
FunctionEmitter::V FunctionEmitter::interleaved(V a, V b, uint32_t period, uint32_t unit, bool rest) {
  uint32_t count = lanes_->count;
  std::vector<int> places(count);
  for (uint32_t e = 0; e < count; ++e) {
    uint32_t turn = e % period / unit, taken = turn / 2 + (rest ? period / unit / 2 : 0);
    places[e] = static_cast<int>(turn % 2 * count + e / period * period + taken * unit + e % unit);
  }
  return b_.CreateShuffleVector(a, b, places);
}

/// The units of even number of the one register, then those of the other; or those of odd number.
FunctionEmitter::V FunctionEmitter::every_second(V a, V b, uint32_t unit, bool odd) {
  uint32_t count = lanes_->count;
  std::vector<int> places(count);
  for (uint32_t e = 0; e < count; ++e)
    places[e] = static_cast<int>((2 * (e / unit) + (odd ? 1 : 0)) * unit + e % unit);
  return b_.CreateShuffleVector(a, b, places);
}

/// Element c of row r becomes element r of row c: first in squares inside each 16 bytes, which instructions
/// interleave, then the squares change places.
std::vector<FunctionEmitter::V> FunctionEmitter::transposed(std::vector<V> rows) {
  uint32_t count = lanes_->count, side = 128 / rows[0]->getType()->getScalarSizeInBits();
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
