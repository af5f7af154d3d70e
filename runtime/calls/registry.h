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

enum class Device : uint8_t { cpu, cuda };
std::string_view device_name(Device d);

/// The number of tensors of an input. optional: one tensor or none; dynamic: any number of tensors.
enum class Arity : uint8_t { required, optional, dynamic };

/// A declared input of an operator.
struct OpInput {
  std::string name;
  Arity arity = Arity::required;
  bool is_mutable = false;  ///< kernels may write it
};

/// A declared attribute of an operator. Without a fallback every call must give it.
struct OpAttr {
  std::string name;
  AttrType type = AttrType::any;
  std::optional<Attr> fallback = {};                        ///< value if a call gives none
  std::function<std::string(const Attr &)> complaint = {};  ///< returns the error in a value, or ""
};

/// The dtype and shape of a tensor.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  friend bool operator==(const TensorType &, const TensorType &) = default;
};

/// The definition of an operator, without the code that runs it.
struct OpDef {
  std::string name;  ///< "namespace::name"
  std::vector<OpInput> inputs;
  std::vector<std::string> outputs;
  std::vector<OpAttr> attrs = {};
  /// Returns the types of the outputs of a call; throws OpError. If empty, the kernel decides them.
  std::function<std::vector<TensorType>(const OpCall &)> infer = {};
  std::string source = {};        ///< place of the definition, "file:line", for messages
  bool variable_outputs = false;  ///< the number of outputs depends on the call
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

/// Code that runs calls of one operator, with the conditions under which it can run a call.
struct KernelDef {
  std::string op;
  BodyKind kind = BodyKind::cpp_kernel;
  /// Makes the outputs. Their types are passed if the operator infers them. May throw.
  std::function<std::vector<Tensor>(const OpCall &, std::span<const TensorType>)> run;
  Device device = Device::cpu;
  std::vector<DTypeRow> rows = {};  ///< if empty, any dtypes
  Predicate predicate = {};
  int priority = 0;
  std::vector<std::pair<uint32_t, uint32_t>> in_place = {};  ///< (output, input returned as it)
  std::string source = {};
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
