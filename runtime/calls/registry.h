// The one registry of operators: definition (OpDef), code that runs them (KernelDef) and derivative
// (GradDef). A list of rows is registered as a whole or not at all. Runs nothing itself; runtime/calls/call
// does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/calls/attr.h"
#include "runtime/tensor.h"

namespace kw {

struct OpCall;  // runtime/calls/call.h
struct GradCall;

constexpr uint32_t any_number = UINT32_MAX;

/// A declared input of an operator: one tensor; one or none; or a list of tensors.
struct OpInput {
  std::string name;
  uint32_t min = 1, max = 1;  ///< number of tensors; if max is 1, a call gives one, empty if it is omitted
  bool is_mutable = false;    ///< kernels may write it

  static OpInput optional(std::string name) { return {std::move(name), 0, 1}; }
  static OpInput list(std::string name, uint32_t min = 0) { return {std::move(name), min, any_number}; }
  bool is_optional() const { return min == 0 && max == 1; }
  bool is_list() const { return max > 1; }
};

/// A declared output of an operator, and how many tensors a call may make of it.
struct OpOutput {
  std::string name;
  uint32_t min = 1, max = 1;
  bool is_one() const { return min == 1 && max == 1; }
};

/// A declared attribute of an operator. Without a fallback every call must give it.
struct OpAttr {
  std::string name;
  AttrType type = AttrType::any;
  std::optional<Attr> fallback = {};                        ///< value if a call gives none
  std::function<std::string(const Attr &)> complaint = {};  ///< returns the error in a value, or ""
  std::optional<DType> word = {};  ///< the type that kernels read its numbers as, if not int64 or float64
};

/// The dtype and shape of a tensor.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  friend bool operator==(const TensorType &, const TensorType &) = default;
};

/// The types of the outputs of a call, as a span. One type, which most calls have, takes no memory from the
/// heap.
class TensorTypes {
 public:
  TensorTypes() = default;
  TensorTypes(std::vector<TensorType> types) {  // NOLINT(google-explicit-constructor): they are the same
    if (types.size() == 1)
      one_ = types[0], has_one_ = true;
    else
      several_ = std::move(types);
  }
  operator std::span<const TensorType>() const {  // NOLINT(google-explicit-constructor)
    return has_one_ ? std::span(&one_, 1) : std::span<const TensorType>(several_);
  }
  size_t size() const { return has_one_ ? 1 : several_.size(); }

 private:
  TensorType one_;
  bool has_one_ = false;
  std::vector<TensorType> several_;
};

/// The definition of an operator, without the code that runs it.
struct OpDef {
  std::string name;  ///< "namespace::name"
  std::vector<OpInput> inputs;
  std::vector<OpOutput> outputs;
  std::vector<OpAttr> attrs = {};
  /// Throws OpError for a call whose tensors or attributes do not fit together. Runs before `infer`.
  std::function<void(const OpCall &)> check = {};
  /// Returns the types of the outputs of a call; throws OpError. If empty, the kernel decides them.
  std::function<TensorTypes(const OpCall &)> infer = {};
  std::string source = {};  ///< place of the definition, "file:line", for messages
};

/// The kind of a kernel's code; preferred kinds come first.
enum class BodyKind : uint8_t { cpp_kernel, aot_symbol, jit_loop, py_func };
std::string_view body_name(BodyKind k);  ///< "CppKernel", "AotSymbol", "JitLoop", "PyFunc"

/// Dtypes of the inputs, then of the outputs; an absent one matches any dtype.
using DTypeRow = std::vector<std::optional<DType>>;

/// A condition on calls, and its text for messages.
struct Predicate {
  std::string text;
  std::function<bool(const OpCall &)> holds = {};
};

/// One run of a kernel: what it gets, and what it gives.
struct KernelContext {
  const OpCall &call;                      ///< inputs, attributes, device
  std::span<const TensorType> types = {};  ///< of the outputs; empty if the operator does not infer them
  /// The outputs, in new memory that holds anything, or inputs that the kernel changes in place. Empty if the
  /// kernel makes them: it then sets them.
  std::vector<Tensor> outputs = {};
  std::span<std::byte> workspace = {};  ///< of KernelDef::workspace bytes, for the time of the run
  DeviceStream stream = {};             ///< in which it runs
  std::vector<Tensor> saved = {};       ///< set by the kernel; the gradient finds them in GradCall
  void *state = nullptr;                ///< what KernelDef::make_state made for this kernel
};

/// What a kernel keeps between its runs, created by the first run.
struct KeptState {
  std::mutex mutex;
  std::shared_ptr<void> value;
};

/// Code that runs calls of one operator, with the conditions under which it can run a call.
struct KernelDef {
  std::string op;
  BodyKind kind = BodyKind::cpp_kernel;
  std::function<void(KernelContext &)> run;            ///< computes the outputs; may throw
  std::optional<DeviceKind> device = DeviceKind::cpu;  ///< if empty, any
  std::vector<DTypeRow> rows = {};                     ///< if empty, any dtypes
  Predicate predicate = {};
  int priority = 0;
  /// (output, mutable input that the kernel changes and returns as that output); each is one tensor.
  std::vector<std::pair<uint32_t, uint32_t>> in_place = {};
  std::string source = {};
  bool makes_outputs = false;   ///< outputs are not allocated before the run though their types are inferred
  bool writes_mutable = false;  ///< it may write any mutable input; the call counts these writes
  std::function<size_t(const OpCall &, std::span<const TensorType>)> workspace = {};  ///< bytes of a run
  std::function<std::shared_ptr<void>(const OpCall &)> make_state = {};
  std::shared_ptr<KeptState> state = {};  ///< set by the registry where `make_state` is given
};

/// The kind of a gradient. graph: operator calls made in C++; function: C++ code that computes it; py_bprop:
/// a Python function; none: refused, with the reason in GradDef::why.
enum class GradKind : uint8_t { graph, function, py_bprop, none };
std::string_view grad_name(GradKind k);

struct GradDef {
  std::string op;
  GradKind kind = GradKind::none;
  /// Returns one gradient per input tensor of the call, in their order; an empty Tensor means no gradient.
  /// May throw.
  std::function<std::vector<Tensor>(const GradCall &)> run = {};
  bool saves_inputs = true, saves_outputs = true;  ///< whether `run` reads their elements
  std::string why = {}, source = {};
};

/// Everything known about one operator. Immutable: each further registration makes a new one.
struct Operator {
  OpDef def;
  std::vector<KernelDef> kernels;
  std::optional<GradDef> grad;
};

/// Rows that are registered together.
struct Registration {
  std::vector<OpDef> ops;
  std::vector<KernelDef> kernels;
  std::vector<GradDef> grads;
  bool empty() const { return ops.empty() && kernels.empty() && grads.empty(); }
};

/// Operators by name. Lookups return shared operators, so replacing one does not disturb a running call.
class Registry {
 public:
  /// Adds all rows, or adds none and throws one OpError that lists every fault.
  void commit(Registration rows);
  /// Removes an operator with its kernels and its gradient. Calls that hold the operator continue. Returns
  /// false if no operator has this name.
  bool remove(std::string_view name);
  /// Returns the operator of this name; null if there is none.
  std::shared_ptr<const Operator> find(std::string_view name) const;
  /// Returns the operator of this name; throws OpError with the nearest names if there is none.
  std::shared_ptr<const Operator> need(std::string_view name) const;
  std::vector<std::string> names() const;  ///< sorted

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Operator>, std::less<>> ops_;
};

/// Returns the registry of the process. It begins with the built-in operators (runtime/ops/builtin.cpp).
Registry &registry();

/// Notes rows of static initializers, which must not throw. runtime/aot/library registers them when their
/// library is loaded.
void add_pending(Registration rows) noexcept;
/// Removes and returns the noted rows.
Registration take_pending();

/// Makes an operator outside of the registry, checked like commit(): for operators of one object.
std::shared_ptr<const Operator> make_op(OpDef def, std::vector<KernelDef> kernels,
                                        std::optional<GradDef> grad);

}  // namespace kw
