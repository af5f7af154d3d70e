// Loads whose lanes lie two to four elements apart: the rows that hold them, one behind another, and
// shuffles. Nothing is read that lies before the first or behind the last element of a lane that runs. Loads
// of one window (analysis/interleaved_loads) ask for the same rows, which become one as common
// subexpressions.
#include <map>
#include <numeric>

#include "codegen/llvm/emit.h"

namespace kw {

FunctionEmitter::V FunctionEmitter::interleaved_load(const Load &n, const WidePlace &own) {
  uint32_t count = lanes_->count, bits = std::max(bit_width(n.buf->dtype), 8u), element = 0;
  InterleavedRows rows{own.at, memory_type(n.buf->dtype), own.step.value(), 1, 0};
  rows.row = std::min(count, target_.vector_bytes() * 8 / bits);
  auto shared = strided_->find(n);
  if (shared && shared->window->step == rows.step) {
    V place = wide_place(n.buf, shared->window->index).at;
    rows.first = b_.CreateGEP(rows.element, place, signed_word(shared->window->first));
    rows.size = shared->window->size();
    element = static_cast<uint32_t>(shared->element - shared->window->first);
  }
  if (rows.step < 0)  // lane 0 is the last in memory
    rows.first = b_.CreateGEP(rows.element, rows.first, signed_word(rows.step * (int64_t{count} - 1)));
  std::vector<V> parts;
  for (uint32_t from = 0; from < count; from += rows.row) parts.push_back(lanes_from(rows, element, from));
  for (uint32_t length = rows.row; parts.size() > 1; length *= 2) {
    std::vector<int> both(2 * length);
    std::iota(both.begin(), both.end(), 0);
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] = b_.CreateShuffleVector(parts[2 * i], parts[2 * i + 1], both);
    parts.resize(parts.size() / 2);
  }
  return parts[0];
}

/// From the first element of all lanes to behind the last one.
uint32_t FunctionEmitter::extent_of(const InterleavedRows &rows) const {
  return (lanes_->count - 1) * static_cast<uint32_t>(std::abs(rows.step)) + rows.size;
}

/// Where a row begins. The last one would end behind the last element; without a mask it begins earlier.
uint32_t FunctionEmitter::begin_of_row(const InterleavedRows &rows, uint32_t number) const {
  uint32_t begin = number * rows.row;
  return lanes_->mask ? begin : std::min(begin, extent_of(rows) - rows.row);
}

FunctionEmitter::V FunctionEmitter::row_in_memory(InterleavedRows &rows, uint32_t number) {
  if (auto known = rows.loaded.find(number); known != rows.loaded.end()) return known->second;
  auto *row = llvm::FixedVectorType::get(rows.element, rows.row);
  llvm::Align align(std::max(rows.element->getScalarSizeInBits(), 8u) / 8);
  V at = b_.CreateConstGEP1_64(rows.element, rows.first, begin_of_row(rows, number));
  V out = lanes_->mask ? b_.CreateMaskedLoad(row, at, align, mask_of_strided(rows, number),
                                             llvm::Constant::getNullValue(row))
                       : static_cast<V>(b_.CreateAlignedLoad(row, at, align));
  return rows.loaded[number] = out;
}

/// Of a row the elements in the windows of lanes that run, or all between them where these are the first.
FunctionEmitter::V FunctionEmitter::mask_of_strided(const InterleavedRows &rows, uint32_t number) {
  auto step = static_cast<uint32_t>(std::abs(rows.step));
  uint32_t count = lanes_->count;
  if (lanes_->runs_first_ones() && rows.step > 0) {
    V running = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, lanes_->rest, b_.getInt64(count));
    V end = b_.CreateSub(b_.CreateMul(running, b_.getInt64(step)), b_.getInt64(step - rows.size));
    V here = b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, end, b_.getInt64(number * rows.row));
    return rest_mask(here, rows.row);
  }
  std::vector<int> lanes(rows.row);
  for (uint32_t e = 0; e < rows.row; ++e) {
    uint32_t place = number * rows.row + e, lane = place / step;
    bool inside = lane < count && place % step < rows.size;
    lanes[e] = static_cast<int>(!inside ? count : rows.step > 0 ? lane : count - 1 - lane);
  }
  return b_.CreateShuffleVector(lanes_->mask, llvm::Constant::getNullValue(lanes_->mask->getType()), lanes);
}

/// An element of the windows of as many lanes as a row has elements, beginning with lane `from`.
FunctionEmitter::V FunctionEmitter::lanes_from(InterleavedRows &rows, uint32_t element, uint32_t from) {
  auto step = static_cast<uint32_t>(std::abs(rows.step));
  struct Piece {
    V value;
    std::vector<int> at;  ///< of each lane its element, or -1
  };
  std::map<uint32_t, std::vector<int>> places;
  for (uint32_t l = 0; l < rows.row; ++l) {
    uint32_t window = rows.step > 0 ? from + l : lanes_->count - 1 - from - l;
    uint32_t place = element + window * step, number = place / rows.row;
    auto row = places.try_emplace(number, rows.row, -1).first;
    row->second[l] = static_cast<int>(place - begin_of_row(rows, number));
  }
  std::vector<Piece> pieces;
  for (auto &[number, at] : places) pieces.push_back({row_in_memory(rows, number), std::move(at)});
  if (pieces.size() == 1) return b_.CreateShuffleVector(pieces[0].value, pieces[0].at);
  while (pieces.size() > 1) {
    std::vector<Piece> fewer;
    for (size_t i = 0; i + 1 < pieces.size(); i += 2) {
      Piece &a = pieces[i], &b = pieces[i + 1];
      std::vector<int> at = a.at, done(rows.row, -1);
      for (uint32_t l = 0; l < rows.row; ++l) {
        if (b.at[l] >= 0) at[l] = static_cast<int>(rows.row) + b.at[l];
        if (at[l] >= 0) done[l] = static_cast<int>(l);
      }
      fewer.push_back({b_.CreateShuffleVector(a.value, b.value, at), std::move(done)});
    }
    if (pieces.size() % 2) fewer.push_back(std::move(pieces.back()));
    pieces = std::move(fewer);
  }
  return pieces[0].value;
}

}  // namespace kw
