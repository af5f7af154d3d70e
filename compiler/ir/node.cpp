// Releases long statement chains.
#include "ir/node.h"

namespace kw {

const Stmt *next_in_block(const StmtNode &s) {
  if (const auto *let = std::get_if<Let>(&s.v)) return &let->body;
  if (const auto *alloc = std::get_if<Alloc>(&s.v)) return &alloc->body;
  if (const auto *seq = std::get_if<Seq>(&s.v); seq && !seq->items.empty()) return &seq->items.back();
  return nullptr;
}

const For *loop_in_blocks(const For &n) {
  return n.how.block_of && n.body ? std::get_if<For>(&n.body->v) : nullptr;
}

static Stmt take_next(StmtNode &s) {
  const Stmt *next = next_in_block(s);
  return next ? std::move(*const_cast<Stmt *>(next))
              : Stmt{};  // the node is being destroyed or is about to be
}

StmtNode::~StmtNode() {
  Stmt next = take_next(*this);
  while (next && next.p.use_count() == 1) {
    Stmt after = take_next(const_cast<StmtNode &>(*next.p));
    next = std::move(after);
  }
}

}  // namespace kw
