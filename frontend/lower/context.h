// State of the lowering of one function: blocks under construction, bindings of names, mutable scalars. Each
// inlined call has its own context; the state that they share with the kernel is in KernelWide.
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

/// The meaning of a name at a point of the program.
struct Binding {
  enum class Kind : uint8_t { value, cell, tuple, iter, tensor, partial, conflict, poisoned };
  Kind kind = Kind::poisoned;
  Operand value;               ///< for value, iter, tensor
  Buf cell;                    ///< for cell
  ScalarType type;             ///< for cell
  std::optional<Expr> known;   ///< for cell: its value, if it follows from the call alone
  std::vector<Binding> items;  ///< for a tuple that is assigned again: each a cell, a value or a tuple
  Merge clash;                 ///< for conflict: reported when the name is read
  Loc loc;

  bool is_variable() const { return kind == Kind::cell || kind == Kind::tuple; }
  /// Visits this binding and, recursively, its items.
  void for_each(const std::function<void(Binding &)> &visit) {
    visit(*this);
    for (Binding &item : items) item.for_each(visit);
  }
};
using Env = std::map<std::string, Binding>;

/// Returns how messages show an item of a tuple: "t[0]".
inline std::string item_name(const std::string &tuple, size_t k) {
  return tuple + "[" + std::to_string(k) + "]";
}

/// A point that several paths of control flow reach: the head of a loop, or the code after it.
struct Join {
  Env env;
  bool arrived = false;
  bool grew = false;  ///< a later path widened a type that an earlier path converted to: lower again
};

/// A loop that encloses the statement being lowered.
struct Loop {
  std::set<std::string> names;   ///< names that the body assigns or loops over
  Env before;                    ///< environment at the loop's entry
  Join next, exit;               ///< targets of `continue` and `break`
  Buf left;                      ///< flag that `break` sets, if code after the loop must know how it ended
  bool tell = false;             ///< the flag `left` is needed
  bool breaks = false;           ///< the body has a `break` of this loop
  std::set<std::string> faulty;  ///< names still poisoned at the end of the body
};

/// A mutable scalar: a name in one of its types. A name that changes its type has several cells.
struct Cell {
  std::string name;
  ScalarType type;
  const ast::Block *home;
  Buf buf;
};

/// The buffer of an argument or output that is the same view as an earlier argument, and that argument's
/// buffer, which the body uses instead.
struct Alias {
  Buf own, used;
};

/// The most statements of a kernel, with the copies made by const_range and inlining. Chosen: as many as a
/// text of max_text characters holds.
constexpr size_t most_statements = 50'000;

/// State that a kernel shares with the functions inlined in it.
struct KernelWide {
  std::map<int64_t, const Captures *> callees{};  ///< captured values of each function, by its number
  uint32_t writing_calls = 0;                     ///< calls so far of helpers that write tensors
  std::string_view unevaluated{};                 ///< the enclosing construct that may not run, or ""
  uint32_t inlined = 0;                           ///< calls inlined so far
  int64_t stack_bytes = 0;                        ///< bytes of the temporaries on the stack
  size_t inlined_text = 0, statements = 0;        ///< characters parsed, statements lowered, with copies
  bool left_out = false;                          ///< a statement was not lowered; an error says why
};

/// State of one function: the kernel, or one inlined call. All lowerings of the function share it by
/// reference.
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
  bool live = true;                  ///< false after a jump
  std::set<std::string> expanded{};  ///< variables of const_range, and names computed from them
  int64_t copies = 1;                ///< copies of the current statement that the enclosing const_ranges make
  std::map<std::string, Alias> aliases{};
  std::set<std::string> written{};
  std::map<std::string, Loc> outputs{};  ///< declared outputs by name
  /// In the root context: buffers of captured arrays, by number. An array that is the same view as an earlier
  /// argument uses that argument's buffer.
  std::vector<Buf> arrays{};
  std::set<std::string> shadow_warned{};
  LowerContext *root = this;  ///< context of the kernel
  LowerContext *caller = nullptr;
  uint32_t number = 0;  ///< number of the function being lowered; 0 is the kernel
  Operand result{};     ///< value that a helper returns
  bool writes = false;  ///< a helper writes a tensor of its caller
  /// Elements that the current statement has read ahead to check their subscripts.
  std::unordered_map<const ExprNode *, Expr> evaluated{};
};

}  // namespace kw
