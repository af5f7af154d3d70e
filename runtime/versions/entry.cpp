// The stack machine. Arithmetic that overflows poisons its result and all values computed from it. A poisoned
// fact fails, and a poisoned extent is an error. An operand that is not selected poisons nothing.
#include "runtime/versions/entry.h"

#include "ir/integers/integer_ops.h"
#include "ir/limits.h"

namespace kw {

namespace {

/// One evaluation. Programs have no jumps, so it ends after one pass over the code; the first error stops it.
class Machine {
 public:
  Machine(std::string_view code, const int64_t *dims, size_t dim_count, const uint64_t *scalars,
          size_t scalar_count)
      : code_(code), dims_(dims), dim_count_(dim_count), scalars_(scalars), scalar_count_(scalar_count) {}

  const EntryResult &run() {
    while (at_ < code_.size() && out_.error == EntryResult::Error::none) step(static_cast<Op>(code_[at_++]));
    return out_;
  }

 private:
  void fail(EntryResult::Error e) { out_.error = e; }

  /// A value of the stack, and whether an overflow contributed to it.
  struct Word {
    int64_t value;
    bool poisoned;
  };

  Word pop() {
    if (top_ == 0) {
      fail(EntryResult::Error::malformed);
      return {0, false};
    }
    return stack_[--top_];
  }
  void push(int64_t v, bool poisoned = false) {
    if (top_ == std::size(stack_)) return fail(EntryResult::Error::malformed);
    stack_[top_++] = {v, poisoned};
  }
  /// Reads `n` bytes of an operand, lowest byte first.
  uint64_t bytes(size_t n) {
    if (n > code_.size() - at_) {
      fail(EntryResult::Error::malformed);
      return 0;
    }
    uint64_t v = 0;
    for (size_t i = 0; i < n; ++i)
      v |= static_cast<uint64_t>(static_cast<uint8_t>(code_[at_ + i])) << (8 * i);
    at_ += n;
    return v;
  }

  /// Pushes a constant, an extent or stride, or an integer scalar of the call. Indices are checked, because
  /// the code may come from a damaged file.
  void operand(Op op) {
    if (op == Op::push) return push(static_cast<int64_t>(bytes(8)));
    size_t index = bytes(1);
    if (op == Op::dim) return index < dim_count_ ? push(dims_[index]) : fail(EntryResult::Error::malformed);
    auto dtype = static_cast<DType>(bytes(1));
    if (index >= scalar_count_ || !(is_int(dtype) || dtype == DType::b1))
      return fail(EntryResult::Error::malformed);
    // tells callers to compare the scalars of later calls too before they reuse the result
    out_.reads_scalars = true;
    push(to_int(Value{dtype, scalars_[index]}));
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
      default: fail(EntryResult::Error::malformed);
    }
    push(r, overflow || a_poisoned || b_poisoned);
  }

  /// Applies an operation on integers of any width, as ir/scalar_ops defines it.
  void typed(Op op) {
    auto what = static_cast<uint8_t>(bytes(1));
    auto t = static_cast<DType>(bytes(1));
    bool known = op == Op::apply_unary ? what <= static_cast<uint8_t>(UnOp::logical_not)
                 : op == Op::apply_binary
                     ? what <= static_cast<uint8_t>(BinOp::ne) && is_integer_op(static_cast<BinOp>(what), t)
                     : what < static_cast<uint8_t>(DType::f16);
    if (!known || t >= DType::f16) return fail(EntryResult::Error::malformed);
    auto [b, b_poisoned] = pop();
    if (op == Op::convert)
      return push(to_int(convert_integer(t, wrap_integer(static_cast<DType>(what), b))), b_poisoned);
    if (op == Op::apply_unary)
      return push(to_int(apply_integer(static_cast<UnOp>(what), wrap_integer(t, b))), b_poisoned);
    auto [a, a_poisoned] = pop();
    Value r = apply_integer(static_cast<BinOp>(what), wrap_integer(t, a), wrap_integer(t, b));
    push(to_int(r), a_poisoned || b_poisoned);
  }

  /// Pops one result of the program: an extent, a fact, bytes of workspace or the work estimate.
  void result(Op op) {
    auto [v, overflowed] = pop();
    switch (op) {
      case Op::out_extent:
        out_.error_index = out_.extent_count;
        out_.error_value = v;
        if (overflowed || v >= max_extent) return fail(EntryResult::Error::overflow);
        if (v < 0) return fail(EntryResult::Error::negative_extent);
        if (out_.extent_count == out_.extent_values.size()) return fail(EntryResult::Error::malformed);
        out_.extent_values[out_.extent_count++] = v;
        break;
      case Op::fact: out_.facts_hold = out_.facts_hold && !overflowed && v; break;
      case Op::workspace:
        if (overflowed || __builtin_add_overflow(out_.workspace, v, &out_.workspace) ||
            out_.workspace >= max_extent)
          fail(EntryResult::Error::workspace);
        break;
      default: out_.work = overflowed || v < 0 ? INT64_MAX : v;
    }
  }

  void step(Op op) {
    switch (op) {
      case Op::push:
      case Op::dim:
      case Op::scalar: return operand(op);
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
      case Op::convert: return typed(op);
      case Op::out_extent:
      case Op::fact:
      case Op::workspace:
      case Op::work: return result(op);
      default: return arithmetic(op);
    }
  }

  std::string_view code_;
  const int64_t *dims_;
  size_t dim_count_;
  const uint64_t *scalars_;
  size_t scalar_count_;
  size_t at_ = 0, top_ = 0;
  Word stack_[1024];
  EntryResult out_;
};

}  // namespace

EntryResult evaluate_entry(std::string_view code, const int64_t *dims, size_t dim_count,
                           const uint64_t *scalars, size_t scalar_count) {
  return Machine(code, dims, dim_count, scalars, scalar_count).run();
}

}  // namespace kw
