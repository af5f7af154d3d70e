// Collects the results of a program. The first error ends it.
#include "runtime/versions/entry.h"

#include "ir/limits.h"
#include "runtime/versions/stack_machine.h"

namespace kw {

namespace {

/// One evaluation. Programs have no jumps, so it ends after one pass over the code. A poisoned fact fails,
/// and a poisoned extent is an error.
class EntryMachine : private StackMachine {
 public:
  EntryMachine(std::string_view code, const StackOperands &operands)
      : StackMachine(operands), cursor_{code} {}

  const EntryResult &run() {
    while (!cursor_.at_end() && out_.error == EntryResult::Error::none && !is_malformed())
      step(static_cast<Op>(cursor_.code[cursor_.at++]));
    if (is_malformed()) out_.error = EntryResult::Error::malformed;
    out_.reads_scalars = reads_scalars();
    return out_;
  }

 private:
  void end(EntryResult::Error e) { out_.error = e; }

  void step(Op op) {
    switch (op) {
      case Op::out_extent:
      case Op::fact:
      case Op::workspace:
      case Op::work: return result(op);
      default: return compute(op, cursor_);
    }
  }

  /// Pops one result of the program: an extent, a fact, bytes of workspace or the work estimate.
  void result(Op op) {
    auto [v, overflowed] = pop();
    switch (op) {
      case Op::out_extent:
        out_.error_index = out_.extent_count;
        out_.error_value = v;
        if (overflowed || v >= max_extent) return end(EntryResult::Error::overflow);
        if (v < 0) return end(EntryResult::Error::negative_extent);
        if (out_.extent_count == out_.extent_values.size()) return fail();
        out_.extent_values[out_.extent_count++] = v;
        break;
      case Op::fact: out_.facts_hold = out_.facts_hold && !overflowed && v; break;
      case Op::workspace:
        if (overflowed || __builtin_add_overflow(out_.workspace, v, &out_.workspace) ||
            out_.workspace >= max_extent)
          end(EntryResult::Error::workspace);
        break;
      default: out_.work = overflowed || v < 0 ? INT64_MAX : v;
    }
  }

  Cursor cursor_;
  EntryResult out_;
};

}  // namespace

EntryResult evaluate_entry(std::string_view code, const int64_t *dims, size_t dim_count,
                           const uint64_t *scalars, size_t scalar_count) {
  return EntryMachine(code, {dims, dim_count, scalars, scalar_count}).run();
}

}  // namespace kw
