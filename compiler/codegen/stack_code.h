// Stack code over i64: what the host computes before and between launches of a kernel. Entry programs and
// launch programs consist of it. Made from IR expressions here, evaluated in runtime/versions and
// runtime/cuda.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/bytes.h"
#include "ir/func.h"

namespace kw {

/// Operands are integers in 64 bits, sign- or zero-extended from their own dtype.
enum class Op : uint8_t {
  push,    ///< 8 bytes: a constant
  dim,     ///< 1 byte: index into dims
  scalar,  ///< 2 bytes: index into scalars, dtype; sign- or zero-extended
  add,
  sub,
  mul,
  floor_div,
  floor_mod,
  min,
  max,
  neg,
  lt,
  le,
  eq,
  ne,
  both,
  any,
  invert,
  choose,
  apply_unary,   ///< 2 bytes: operation, dtype; by ir/scalar_ops
  apply_binary,  ///< 2 bytes: operation, dtype of both operands; by ir/scalar_ops
  convert,       ///< 2 bytes: dtype of the operand, dtype of the result; by ir/scalar_ops
  // of entry programs
  out_extent,  ///< pops the next extent of the next output
  fact,        ///< pops a condition; if it is 0, the plain body runs
  workspace,   ///< pops bytes
  work,        ///< pops the work estimate
  // of launch programs; code in code is its length in 4 bytes and its bytes
  misaligned,  ///< the addresses of all arrays, or'ed, modulo 16
  iterator,    ///< 1 byte: number of a loop around, outermost first
  slot,        ///< 4 bytes: its number; pops the bytes of a memory that launches share
  fill,        ///< 4 bytes: the slot whose bytes become 0
  launch,      ///< 4 bytes: the kernel; pops the bytes of its temporaries for one thread, then blocks z, y, x
  repeat,      ///< 8 bytes: the step, then the body; pops hi and lo
  branch,      ///< the code of both sides; pops a condition
  loop,   ///< 4 bytes: a slot, then the code that computes the word in it, then the body: runs while it is
          ///< not 0
  check,  ///< 4 bytes: a site; pops bound, value and a condition, which is 0 for a fault
};

/// Translates expressions to postfix code: operands first, then their operation.
///     n * 2 + 1   →   dim 0, push 2, mul, push 1, add
/// A failed translation leaves partial code behind, so an expression that may fail needs an object of its
/// own.
class StackCode {
 public:
  explicit StackCode(const Func &f) : f_(&f) {}

  /// Emits code that leaves the value on the stack. Returns false if a part of the expression has no code.
  bool expression(const Expr &e);
  void op(Op o) { w_.u8(static_cast<uint8_t>(o)); }
  ByteWriter &operands() { return w_; }
  std::string take() { return w_.take(); }

  /// Gives a symbol of the body a value: that of a loop of the host, or of an expression.
  void set_iterator(const Sym &s, uint8_t number) { iterators_[s.get()] = number; }
  void set_value(const Sym &s, Expr value) { values_[s.get()] = std::move(value); }
  /// Begins new code with the same symbols.
  StackCode inner() const {
    StackCode out(*f_);
    out.iterators_ = iterators_, out.values_ = values_;
    return out;
  }

 private:
  bool operation(const Expr &e);
  bool typed(Op o, uint8_t what, DType t);
  bool symbol(const Sym &s);
  bool binary_op(BinOp o);

  const Func *f_;
  std::unordered_map<const SymNode *, uint8_t> iterators_;
  std::unordered_map<const SymNode *, Expr> values_;
  ByteWriter w_;
};

}  // namespace kw
