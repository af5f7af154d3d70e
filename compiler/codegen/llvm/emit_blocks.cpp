// Loops inside a loop in lanes whose iterations lie side by side in memory (analysis/row_blocks): as many of
// them as lanes at a time, whose elements are read and written in rows and turned over in registers.
#include "codegen/llvm/emit.h"
#include "ir/build.h"

namespace kw {

/// The blocks of an inner loop, when all lanes run or the first ones, and a register holds as many elements.
std::optional<RowBlocks> FunctionEmitter::blocks_in(const For &n) {
  if (!lanes_ || lanes_->blocks) return std::nullopt;
  if (lanes_->mask && !lanes_->runs_first_ones()) return std::nullopt;
  uint32_t bits = lanes_->view->widest_element();
  bool fits = lanes_->count >= 4 && lanes_->count * bits <= target_.vector_bytes() * 8;
  if (!fits || (bits != 32 && bits != 64)) return std::nullopt;
  RowBlocks view(n, *lanes_->view, bits);
  return view.blocks().empty() ? std::nullopt : std::optional(std::move(view));
}

/// Whole blocks, then the iterations that are left one by one.
void FunctionEmitter::block_loop(const For &n, const RowBlocks &view, V lo, V trips) {
  uint32_t count = lanes_->count;
  V whole = b_.CreateAnd(trips, ~uint64_t{count - 1});
  in_chunks(b_.getInt64(0), whole, count, false, [&](V k) {
    OpenBlocks open{&view, 0, {}};
    V first = iteration(n, lo, k);
    values_[n.iter.get()] = first;
    memo_.clear();
    for (const RowBlocks::Block &block : view.blocks()) {
      open.values.emplace_back(count);
      if (!block.is_store) read_block(block, open.values.back());
    }
    lanes_->blocks = &open;
    for (; open.iteration < count; ++open.iteration) {
      values_[n.iter.get()] = b_.CreateAdd(first, b_.getInt64(open.iteration));
      memo_.clear();
      statements(n.body);
    }
    lanes_->blocks = nullptr;
    values_[n.iter.get()] = first;
    memo_.clear(), lanes_->memo.clear();
    for (size_t i = 0; i < open.values.size(); ++i)
      if (view.blocks()[i].is_store) write_block(view.blocks()[i], open.values[i]);
  });
  auto *known = llvm::dyn_cast<llvm::ConstantInt>(trips);
  if (known && known->getZExtValue() % count == 0) return;
  plain_loop(n, iteration(n, lo, whole), b_.CreateSub(trips, whole), false);
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

void FunctionEmitter::read_block(const RowBlocks::Block &block, std::vector<V> &values) {
  DType t = block.buf->dtype;
  WidePlace place = wide_place(block.buf, block.index);
  auto *row = llvm::FixedVectorType::get(memory_type(t), lanes_->count);
  for (uint32_t lane = 0; lane < lanes_->count; ++lane)
    read_ahead(row_of_block(place, memory_type(t), lane), 8 * line_bytes, line_bytes);
  for (uint32_t lane = 0; lane < lanes_->count; ++lane)
    values[lane] =
        b_.CreateAlignedLoad(row, row_of_block(place, memory_type(t), lane), llvm::Align(bit_width(t) / 8));
  values = turned(std::move(values));
}

/// Row 0 comes last: lanes that do not run write to it before.
void FunctionEmitter::write_block(const RowBlocks::Block &block, const std::vector<V> &values) {
  DType t = block.buf->dtype;
  WidePlace place = wide_place(block.buf, block.index);
  std::vector<V> rows = turned(values);
  for (uint32_t lane = lanes_->count; lane-- > 0;)
    b_.CreateAlignedStore(rows[lane], row_of_block(place, memory_type(t), lane),
                          llvm::Align(bit_width(t) / 8));
}

/// Element c of row r becomes element r of row c: squares of twice the size change two of their quarters.
std::vector<FunctionEmitter::V> FunctionEmitter::turned(std::vector<V> rows) {
  uint32_t count = static_cast<uint32_t>(rows.size());
  for (uint32_t half = count / 2; half >= 1; half /= 2) {
    std::vector<int> upper(count), lower(count);
    for (uint32_t e = 0; e < count; ++e) {
      bool right = (e & half) != 0;
      upper[e] = static_cast<int>(right ? count + (e ^ half) : e);
      lower[e] = static_cast<int>(right ? count + e : e ^ half);
    }
    for (uint32_t r = 0; r < count; ++r) {
      if (r & half) continue;
      V a = rows[r], b = rows[r + half];
      rows[r] = b_.CreateShuffleVector(a, b, upper);
      rows[r + half] = b_.CreateShuffleVector(a, b, lower);
    }
  }
  return rows;
}

}  // namespace kw
