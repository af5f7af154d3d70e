// Finds accesses of a vector loop that a transpose in registers makes contiguous. They are strided along the
// vector loop, but contiguous along an inner loop. A square block is loaded or stored in rows and transposed.
// Ignores dependences between the lanes, and profit.
//     for i in vector(0, m, vector_width=16): for j in serial(0, n): c[i, j] = a[j, i]   →   16 rows of c at
//     a time
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "analysis/vector/vectorization.h"

namespace kw {

/// The transposed blocks of one innermost loop in a vector loop. Must not outlive either.
class TransposedBlocks {
 public:
  /// `view` analyses the vector loop around `inner`. Only elements of `bits` bits form blocks.
  TransposedBlocks(const For &inner, VectorizationAnalysis &view, uint32_t bits);

  /// Returns whether registers can be transposed in elements of `bits` bits.
  static bool supports(uint32_t bits) { return bits == 32 || bits == 64; }
  /// Likewise for a vector width: a row of a block is one register. The widest register of any machine has 64
  /// bytes.
  static bool supports(uint32_t bits, uint32_t lanes, uint32_t register_bytes = 64) {
    return supports(bits) && lanes >= 4 && lanes * bits <= register_bytes * 8;
  }

  struct Block {
    Buf buf;
    std::vector<Expr> index;
    bool is_store = false;
  };
  const std::vector<Block> &blocks() const { return blocks_; }
  /// Returns the number of loads in the source that the blocks replace.
  uint32_t loads() const { return loads_; }
  /// Returns how many of these loads the analysis counts as strided.
  uint32_t strided() const { return strided_; }
  uint32_t stores() const { return static_cast<uint32_t>(found_.size()) - loads_; }
  /// Returns the index of the block of an access.
  std::optional<uint32_t> block_of(const Load &n) const { return find(&n); }
  std::optional<uint32_t> block_of(const Store &n) const { return find(&n); }

 private:
  std::optional<uint32_t> find(const void *access) const;
  bool is_plain(const Stmt &body);
  bool is_block(const Buf &b, const std::vector<Expr> &index) const;
  bool may_move(const Buf &b, const std::vector<Expr> &index) const;
  static bool is_written_last(const Buf &b, const Stmt &root);
  std::optional<int64_t> growth(const Expr &index) const;
  void statements(const Stmt &root);
  void read(const Expr &e);
  void note(const void *access, const Buf &b, const std::vector<Expr> &index, bool is_store);

  const For &inner_;
  VectorizationAnalysis &view_;
  uint32_t bits_;
  std::unordered_set<const SymNode *> defined_;  ///< by the body of the inner loop
  std::vector<Block> blocks_;
  std::unordered_map<const void *, uint32_t> found_;
  uint32_t loads_ = 0, strided_ = 0;
};

/// Returns the work of a vector loop in which transposed accesses count as contiguous.
VectorizationAnalysis::Work work_with_transposes(const For &lanes, VectorizationAnalysis &view);

}  // namespace kw
