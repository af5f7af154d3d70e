// Blocks of memory in a loop in lanes: accesses whose lanes lie apart while the iterations of a loop inside
// lie side by side. As many iterations as lanes are read and written in rows, turned over in registers. Says
// nothing about dependences between the iterations of the loop in lanes, or about profit.
//     for i in vector(0, m, vector_width=16): for j in serial(0, n): c[i, j] = a[j, i]   →   16 rows of c at
//     a time
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "analysis/vectorization.h"

namespace kw {

/// Of one innermost loop inside a loop in lanes; valid as long as both.
class TransposedBlocks {
 public:
  /// `view` is of the loop in lanes, `inner` stands in it. Elements of `bits` bits form blocks.
  TransposedBlocks(const For &inner, VectorizationAnalysis &view, uint32_t bits);

  struct Block {
    Buf buf;
    std::vector<Expr> index;
    bool is_store = false;
  };
  const std::vector<Block> &blocks() const { return blocks_; }
  /// How many accesses of the text the blocks stand for.
  uint32_t loads() const { return loads_; }
  /// Of the loads those that the view counts as strided.
  uint32_t strided() const { return strided_; }
  uint32_t stores() const { return static_cast<uint32_t>(found_.size()) - loads_; }
  /// The number of the block that an access goes through.
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
  std::unordered_set<const SymNode *> defined_;  ///< in the body of the inner loop
  std::vector<Block> blocks_;
  std::unordered_map<const void *, uint32_t> found_;
  uint32_t loads_ = 0, strided_ = 0;
};

/// The work of a loop in lanes, with what goes through blocks of its inner loops counted as rows.
VectorizationAnalysis::Work work_with_transposes(const For &lanes, VectorizationAnalysis &view,
                                                 uint32_t bits);

}  // namespace kw
