// State of the lowering of one function: blocks under construction, bindings of names, mutable scalars. Each
// inlined call has one of its own; what they share with the kernel is in KernelWide.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "frontend/lower/block_builder.h"
#include "frontend/lower/lower.h"
#include "frontend/sema/infer.h"
#include "frontend/sema/rules.h"

namespace kw {

/// What a name stands for at a point of the program.
struct Binding {
  enum class Kind : uint8_t { value, cell, tuple, iter, tensor, partial, conflict, poisoned };
  Kind kind = Kind::poisoned;
  Operand value;               ///< value, iter, tensor
  Buf cell;                    ///< cell
  ScalarType type;             ///< cell
  std::optional<Expr> known;   ///< cell: its value, when it follows from the call alone
  std::vector<Binding> items;  ///< tuple that is assigned again: each a cell, a value or a tuple
  Merge clash;                 ///< conflict: reported when the name is read
  Loc loc;

  bool is_variable() const { return kind == Kind::cell || kind == Kind::tuple; }
  /// Visits this binding and those of its items.
  void for_each(const std::function<void(Binding &)> &visit) {
    visit(*this);
    for (Binding &item : items) item.for_each(visit);
  }
};
using Env = std::map<std::string, Binding>;

/// "t[0]": an item of a tuple, in messages.
inline std::string item_name(const std::string &tuple, size_t k) {
  return tuple + "[" + std::to_string(k) + "]";
}

/// A place that several ways of control flow reach: the head of a loop, or what follows it.
struct Join {
  Env env;
  bool arrived = false;
  bool grew = false;  ///< a later way changed what an earlier one converted to: to be lowered again
};

/// A loop around the statement being lowered.
struct Loop {
  std::set<std::string> names;   ///< what the body assigns or loops over
  Env before;                    ///< at its entry
  Join next, exit;               ///< where `continue` and `break` go
  Buf left;                      ///< set by `break`, when that is to be told from the end of the loop
  bool tell = false;             ///< it is
  bool breaks = false;           ///< the body has a `break` of this loop
  std::set<std::string> faulty;  ///< names that a refused statement of the body would have bound first
};

/// A mutable scalar: a name in one of its types. A name that changes its type has several cells.
struct Cell {
  std::string name;
  ScalarType type;
  const ast::Block *home;
  Buf buf;
};

/// Arguments and outputs that are the same view as an argument, which is used instead.
struct Alias {
  Buf own, used;
};

/// Chosen: what a text of the greatest length holds.
constexpr size_t most_statements = 50'000;

/// What a kernel and the functions that are inlined in it share.
struct KernelWide {
  std::map<int64_t, const Captures *> callees{};  ///< what each function captures
  uint32_t writing_calls = 0;                     ///< calls so far of helpers that write tensors
  std::string_view unevaluated{};                 ///< within what is not always evaluated
  uint32_t inlined = 0;                           ///< calls that were inlined so far
  int64_t stack_bytes = 0;                        ///< of the temporaries that lie on the stack
  size_t inlined_text = 0, statements = 0;        ///< characters that were read, copies that were made
  bool left_out = false;                          ///< something was not lowered; an error says why
};

/// State of one function: the kernel, or one inlined call. Lowerings share it by reference.
struct LowerContext {
  const ast::Function &f;
  const FrontendInput &in;
  Sink *sink;
  KernelWide &wide;
  Names names = resolve_names(f);
  Rules rules{f, names, in.captures};
  Func func{};
  Env env{};
  std::vector<Cell> cells{};
  BlockBuilder *builder = nullptr;
  std::vector<Loop *> loops{};
  bool live = true;                  ///< false behind a jump
  std::set<std::string> expanded{};  ///< variables of const_range, and what was computed from them
  int64_t copies = 1;                ///< of the statement being lowered, by the const_ranges around it
  std::map<std::string, Alias> aliases{};
  std::set<std::string> written{};
  std::map<std::string, Loc> outputs{};  ///< declared outputs by name
  /// Root: captured arrays by number. One that is the same view as an argument before it is that argument.
  std::vector<Buf> arrays{};
  std::set<std::string> shadow_warned{};
  LowerContext *root = this;  ///< of the kernel
  LowerContext *caller = nullptr;
  uint32_t number = 0;  ///< of the function being lowered; 0 is the kernel
  Operand result{};     ///< what a helper returns
  bool writes = false;  ///< a helper: it writes a tensor of its caller
  /// Elements whose subscripts this statement has checked ahead.
  std::unordered_map<const ExprNode *, Expr> evaluated{};
};

}  // namespace kw
