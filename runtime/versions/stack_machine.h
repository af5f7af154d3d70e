// Evaluates the operands and operations of stack code (codegen/stack_code), which entry programs and launch
// programs share. Total for every byte string: malformed code is an error, never a fault. Arithmetic that
// overflows poisons its result and all values computed from it; an operand that is not selected poisons
// nothing. Needs no library, neither C's nor C++'s, because exported kernels contain it (runtime/exported).
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

#include "codegen/stack_code.h"
#include "ir/integers/integer_ops.h"

namespace kw {

/// What stack code reads of a call.
struct StackOperands {
  const int64_t *dims = nullptr;
  size_t dim_count = 0;
  const uint64_t *scalars = nullptr;
  size_t scalar_count = 0;
  int64_t misaligned = 0;  ///< misalignment_of the arrays; read by launch programs
};

class StackMachine {
 public:
  explicit StackMachine(const StackOperands &operands) : operands_(operands) {}

  bool is_malformed() const { return malformed_; }
  bool reads_scalars() const { return reads_scalars_; }

 protected:
  /// A value of the stack, and whether an overflow contributed to it.
  struct Word {
    int64_t value;
    bool poisoned;
  };
  /// The code that is being executed, and the place of the next byte.
  struct Cursor {
    std::string_view code;
    size_t at = 0;
    bool at_end() const { return at >= code.size(); }
  };

  void fail() { malformed_ = true; }
  int64_t misaligned() const { return operands_.misaligned; }

  Word pop() {
    if (top_ == 0) {
      fail();
      return {0, false};
    }
    return stack_[--top_];
  }
  void push(int64_t v, bool poisoned = false) {
    if (top_ == std::size(stack_)) return fail();
    stack_[top_++] = {v, poisoned};
  }
  /// Reads `n` bytes of an operand, lowest byte first.
  uint64_t bytes(Cursor &c, size_t n) {
    if (n > c.code.size() - c.at) {
      fail();
      return 0;
    }
    uint64_t v = 0;
    for (size_t i = 0; i < n; ++i)
      v |= static_cast<uint64_t>(static_cast<uint8_t>(c.code[c.at + i])) << (8 * i);
    c.at += n;
    return v;
  }

  /// Executes an operation that computes a value. Anything else is malformed.
  void compute(Op op, Cursor &c) {
    switch (op) {
      case Op::push:
      case Op::dim:
      case Op::scalar: return operand(op, c);
      case Op::neg: {
        Word a = pop();
        int64_t r = 0;
        bool overflow = __builtin_sub_overflow(int64_t{0}, a.value, &r);
        return push(r, overflow || a.poisoned);
      }
      case Op::invert: {
        Word a = pop();
        return push(!a.value, a.poisoned);
      }
      case Op::choose: {
        Word no = pop(), yes = pop(), condition = pop(), chosen = condition.value ? yes : no;
        return push(chosen.value, condition.poisoned || chosen.poisoned);
      }
      case Op::apply_unary:
      case Op::apply_binary:
      case Op::convert: return typed(op, c);
      default: return arithmetic(op);
    }
  }

 private:
  /// Pushes a constant, an extent or stride, or an integer scalar of the call. Indices are checked, because
  /// the code may come from a damaged file.
  void operand(Op op, Cursor &c) {
    if (op == Op::push) return push(static_cast<int64_t>(bytes(c, 8)));
    size_t index = bytes(c, 1);
    if (op == Op::dim) return index < operands_.dim_count ? push(operands_.dims[index]) : fail();
    auto dtype = static_cast<DType>(bytes(c, 1));
    if (index >= operands_.scalar_count || !(is_int(dtype) || dtype == DType::b1)) return fail();
    // tells callers to compare the scalars of later calls too before they reuse the result
    reads_scalars_ = true;
    push(to_int(Value{dtype, operands_.scalars[index]}));
  }

  void arithmetic(Op op) {
    // the right operand was pushed last
    auto [b, b_poisoned] = pop();
    auto [a, a_poisoned] = pop();
    Value x{DType::i64, static_cast<uint64_t>(a)}, y{DType::i64, static_cast<uint64_t>(b)};
    int64_t r = 0;
    bool overflow = false;
    switch (op) {
      case Op::add: overflow = __builtin_add_overflow(a, b, &r); break;
      case Op::sub: overflow = __builtin_sub_overflow(a, b, &r); break;
      case Op::mul: overflow = __builtin_mul_overflow(a, b, &r); break;
      case Op::floor_div: r = to_int(apply_integer(BinOp::floor_div, x, y)); break;
      case Op::floor_mod: r = to_int(apply_integer(BinOp::floor_mod, x, y)); break;
      case Op::min: r = a < b ? a : b; break;
      case Op::max: r = a < b ? b : a; break;
      case Op::lt: r = a < b; break;
      case Op::le: r = a <= b; break;
      case Op::eq: r = a == b; break;
      case Op::ne: r = a != b; break;
      case Op::both: r = a && b; break;
      case Op::any: r = a || b; break;
      default: fail();
    }
    push(r, overflow || a_poisoned || b_poisoned);
  }

  /// Applies an operation on integers of any width, as ir/scalar_ops defines it.
  void typed(Op op, Cursor &c) {
    auto what = static_cast<uint8_t>(bytes(c, 1));
    auto t = static_cast<DType>(bytes(c, 1));
    bool known = op == Op::apply_unary ? what <= static_cast<uint8_t>(UnOp::logical_not)
                 : op == Op::apply_binary
                     ? what <= static_cast<uint8_t>(BinOp::ne) && is_integer_op(static_cast<BinOp>(what), t)
                     : what < static_cast<uint8_t>(DType::f16);
    if (!known || t >= DType::f16) return fail();
    auto [b, b_poisoned] = pop();
    if (op == Op::convert)
      return push(to_int(convert_integer(t, wrap_integer(static_cast<DType>(what), b))), b_poisoned);
    if (op == Op::apply_unary)
      return push(to_int(apply_integer(static_cast<UnOp>(what), wrap_integer(t, b))), b_poisoned);
    auto [a, a_poisoned] = pop();
    Value r = apply_integer(static_cast<BinOp>(what), wrap_integer(t, a), wrap_integer(t, b));
    push(to_int(r), a_poisoned || b_poisoned);
  }

  StackOperands operands_;
  size_t top_ = 0;
  bool malformed_ = false, reads_scalars_ = false;
  Word stack_[1024];
};

}  // namespace kw
