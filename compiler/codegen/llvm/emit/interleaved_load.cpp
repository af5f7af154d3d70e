// Loads the vectors of a group as rows, and picks the lanes from them by shuffles.
#include "codegen/llvm/emit/interleaved_load.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace kw {

using V = llvm::Value *;

/// Loads the lanes of one access. The loads of a group share windows:
///     x[2 * i], x[2 * i + 1]   →   windows of 2 elements, 2 apart: x0 x1 | x2 x3 | …
///     lanes of the first load are elements 0, 2, 4, …, those of the second 1, 3, 5, …
llvm::Value *InterleavedLoadEmitter::emit(const Load &n, const VectorPlace &own) {
  uint32_t count = vec_.count, bits = std::max(bit_width(n.buf->dtype), 8u), element = 0;
  Rows rows{own.at, ops().memory_type(n.buf->dtype), own.step.value(), 1, 0};
  rows.row = std::min(count, target().vector_bytes() * 8 / bits);
  auto shared = cx_.interleaved->find(n);
  if (shared && shared->window->step == rows.step) {
    V place = vectors().place_of(n.buf, shared->window->index).at;
    rows.first = b_.CreateGEP(rows.element, place, ops().signed_word(shared->window->first));
    rows.size = shared->window->size();
    element = static_cast<uint32_t>(shared->element - shared->window->first);
  }
  if (rows.step < 0)  // lane 0 is the last in memory
    rows.first = b_.CreateGEP(rows.element, rows.first, ops().signed_word(rows.step * (int64_t{count} - 1)));
  std::vector<V> parts;
  for (uint32_t from = 0; from < count; from += rows.row) parts.push_back(lanes_from(rows, element, from));
  // Joins vectors of one row each, pairwise, to a vector of all lanes.
  for (uint32_t length = rows.row; parts.size() > 1; length *= 2) {
    std::vector<int> both(2 * length);
    std::iota(both.begin(), both.end(), 0);
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] = b_.CreateShuffleVector(parts[2 * i], parts[2 * i + 1], both);
    parts.resize(parts.size() / 2);
  }
  return parts[0];
}

/// Returns the number of elements from the first element of all lanes to the last one, inclusive.
uint32_t InterleavedLoadEmitter::extent_of(const Rows &rows) const {
  return (vec_.count - 1) * static_cast<uint32_t>(std::abs(rows.step)) + rows.size;
}

/// Returns the first element of a row. The last row would end after the last element; without a mask it
/// begins earlier.
uint32_t InterleavedLoadEmitter::begin_of_row(const Rows &rows, uint32_t number) const {
  uint32_t begin = number * rows.row;
  return vec_.mask ? begin : std::min(begin, extent_of(rows) - rows.row);
}

/// Loads a row once; other lanes with elements in this row find it in `loaded`.
llvm::Value *InterleavedLoadEmitter::row_in_memory(Rows &rows, uint32_t number) {
  if (auto known = rows.loaded.find(number); known != rows.loaded.end()) return known->second;
  auto *row = llvm::FixedVectorType::get(rows.element, rows.row);
  llvm::Align align(std::max(rows.element->getScalarSizeInBits(), 8u) / 8);
  V at = b_.CreateConstGEP1_64(rows.element, rows.first, begin_of_row(rows, number));
  V out = vec_.mask
              ? b_.CreateMaskedLoad(row, at, align, mask_of(rows, number), llvm::Constant::getNullValue(row))
              : static_cast<V>(b_.CreateAlignedLoad(row, at, align));
  return rows.loaded[number] = out;
}

/// Returns the mask of a row: the elements in the windows of active lanes. If the first lanes are active, the
/// elements between these windows are included.
llvm::Value *InterleavedLoadEmitter::mask_of(const Rows &rows, uint32_t number) {
  auto step = static_cast<uint32_t>(std::abs(rows.step));
  uint32_t count = vec_.count;
  if (runs_first_lanes(vec_) && rows.step > 0) {
    V running = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, vec_.rest, b_.getInt64(count));
    V end = b_.CreateSub(b_.CreateMul(running, b_.getInt64(step)), b_.getInt64(step - rows.size));
    V here = b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, end, b_.getInt64(number * rows.row));
    return mask_of_first(cx_, here, rows.row);
  }
  std::vector<int> lanes(rows.row);
  for (uint32_t e = 0; e < rows.row; ++e) {
    uint32_t place = number * rows.row + e, lane = place / step;
    bool inside = lane < count && place % step < rows.size;
    lanes[e] = static_cast<int>(!inside ? count : rows.step > 0 ? lane : count - 1 - lane);
  }
  return b_.CreateShuffleVector(vec_.mask, llvm::Constant::getNullValue(vec_.mask->getType()), lanes);
}

/// Returns one element of the windows of as many lanes as a row has elements, beginning with lane `from`.
llvm::Value *InterleavedLoadEmitter::lanes_from(Rows &rows, uint32_t element, uint32_t from) {
  auto step = static_cast<uint32_t>(std::abs(rows.step));
  struct Piece {
    V value;
    std::vector<int> at;  ///< the element of each lane, or -1
  };
  // For each row that holds a wanted element: the position of each lane's element in it, or -1.
  std::map<uint32_t, std::vector<int>> places;
  for (uint32_t l = 0; l < rows.row; ++l) {
    uint32_t window = rows.step > 0 ? from + l : vec_.count - 1 - from - l;
    uint32_t place = element + window * step, number = place / rows.row;
    auto row = places.try_emplace(number, rows.row, -1).first;
    row->second[l] = static_cast<int>(place - begin_of_row(rows, number));
  }
  std::vector<Piece> pieces;
  for (auto &[number, at] : places) pieces.push_back({row_in_memory(rows, number), std::move(at)});
  if (pieces.size() == 1) return b_.CreateShuffleVector(pieces[0].value, pieces[0].at);
  // A shuffle takes two registers, so pieces join pairwise until one holds all lanes.
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
