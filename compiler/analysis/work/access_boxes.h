// Bounds the elements of arguments that one call accesses, by the smallest box that holds them, and tells
// whether the call surely accesses all of the box.
#pragma once

#include <unordered_map>
#include <vector>

#include "analysis/work/call_ranges.h"
#include "ir/func.h"

namespace kw {

/// The elements of one buffer that are read, or written.
struct AccessBox {
  std::vector<CallRange> most;  ///< holds all accesses
  std::vector<CallRange> sure;  ///< within `most`; all of it is accessed in every call. Empty: not known
};

/// Walks a function with the sizes of a call.
class AccessBoxes {
 public:
  explicit AccessBoxes(CallRanges known) : known_(std::move(known)) {}

  void visit(const Stmt &block);

  /// The bytes of a box; 0 if nothing is accessed. Not exact: a call may access fewer.
  struct Bytes {
    double count = 0;
    bool is_exact = true;
  };
  Bytes read(const Buf &buf) const { return bytes(read_, buf); }
  Bytes written(const Buf &buf) const { return bytes(written_, buf); }

 private:
  using Boxes = std::unordered_map<const BufNode *, AccessBox>;
  struct Terms;

  static Bytes bytes(const Boxes &boxes, const Buf &buf);
  static void unite(Boxes &into, const Boxes &from);
  void bind(const Sym &sym, std::optional<CallRange> range);
  void visit_loop(const For &loop);
  void visit(const Expr &e);
  template <class Side>
  void visit_choice(const Expr &cond, const Side &yes, const Side &no);
  void add(const Buf &buf, const std::vector<Expr> &index, Boxes &boxes);
  bool split_into_terms(const Expr &e, int64_t scale, Terms &out) const;
  bool covers(const std::vector<Expr> &index, const Buf &buf) const;

  CallRanges known_;
  std::unordered_map<const SymNode *, int64_t> steps_;  ///< of iterators whose bounds are known; else 0
  std::unordered_map<const SymNode *, Expr> values_;    ///< of locals
  Boxes read_, written_;
  bool is_sure_ = true;  ///< the data do not decide on whether this place runs
};

}  // namespace kw
