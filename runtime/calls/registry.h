// The one registry of operators: what an operator is (OpDef), what can run it (KernelDef) and how it is
// differentiated (GradDef). Rows come in lists that are taken whole or not at all. Runs nothing itself;
// runtime/calls/call does.
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

/// optional: a tensor or none; dynamic: any number of tensors.
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
  std::optional<Attr> fallback = {};                        ///< what it is when a call gives none
  std::function<std::string(const Attr &)> complaint = {};  ///< what is wrong with a value, or ""
};

/// What a tensor is made as.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  friend bool operator==(const TensorType &, const TensorType &) = default;
};

/// What an operator is, apart from the code that runs it.
struct OpDef {
  std::string name;  ///< "namespace::name"
  std::vector<OpInput> inputs;
  std::vector<std::string> outputs;
  std::vector<OpAttr> attrs = {};
  /// Types of the outputs of a call; throws OpError. Empty: what the kernel makes is taken.
  std::function<std::vector<TensorType>(const OpCall &)> infer = {};
  std::string source = {};        ///< where it was defined: "file:line", for people
  bool variable_outputs = false;  ///< a call decides how many there are
};

/// What kind of code a kernel is, the preferred ones first.
enum class BodyKind : uint8_t { cpp_kernel, aot_symbol, jit_loop, py_func };
std::string_view body_name(BodyKind k);  ///< "CppKernel", "AotSymbol", "JitLoop", "PyFunc"

/// Dtypes of the inputs, then of the outputs; nothing fits any.
using DTypeRow = std::vector<std::optional<DType>>;

/// A condition on calls, and how it is told to people.
struct Predicate {
  std::string text;
  std::function<bool(const OpCall &)> holds = {};
};

/// Code that runs calls of one operator, with the calls that it is able to run.
struct KernelDef {
  std::string op;
  BodyKind kind = BodyKind::cpp_kernel;
  /// Makes the outputs, whose types are known when the operator infers them. Throws.
  std::function<std::vector<Tensor>(const OpCall &, std::span<const TensorType>)> run;
  Device device = Device::cpu;
  std::vector<DTypeRow> rows = {};  ///< empty: any dtypes
  Predicate predicate = {};
  int priority = 0;
  std::vector<std::pair<uint32_t, uint32_t>> in_place = {};  ///< (output, the input that it is)
  std::string source = {};
};

/// graph: operator calls made in C++; function: C++ that computes; py_bprop: a Python function; none:
/// refused, with the reason in GradDef::why.
enum class GradKind : uint8_t { graph, function, py_bprop, none };
std::string_view grad_name(GradKind k);

struct GradDef {
  std::string op;
  GradKind kind = GradKind::none;
  /// One gradient per input tensor of the call, in their order; none where there is none. Throws.
  std::function<std::vector<Tensor>(const GradCall &)> run = {};
  bool saves_inputs = true, saves_outputs = true;  ///< whose elements `run` reads
  std::string why = {}, source = {};
};

/// Everything known of one operator. Immutable: registering more makes another one.
struct Operator {
  OpDef def;
  std::vector<KernelDef> kernels;
  std::optional<GradDef> grad;
};

/// Rows that belong together.
struct Registration {
  std::vector<OpDef> ops;
  std::vector<KernelDef> kernels;
  std::vector<GradDef> grads;
  bool empty() const { return ops.empty() && kernels.empty() && grads.empty(); }
};

/// Operators by name. Lookups hand out shared operators, so replacing one disturbs no call that is running.
class Registry {
 public:
  /// Adds all rows, or none and throws one OpError that lists every fault.
  void commit(Registration rows);
  /// Removes an operator with its kernels and its gradient; calls that hold it go on. False when there is
  /// none of this name.
  bool remove(std::string_view name);
  /// Null when there is none of this name.
  std::shared_ptr<const Operator> find(std::string_view name) const;
  /// As find; throws OpError with the nearest names.
  std::shared_ptr<const Operator> need(std::string_view name) const;
  std::vector<std::string> names() const;  ///< sorted

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Operator>, std::less<>> ops_;
};

/// Returns the registry of the process. It begins with the built-in operators (runtime/ops/builtin.cpp).
Registry &registry();

/// Rows of static initialisers, which must not throw: runtime/aot/library commits them when the library that
/// they are in has been loaded.
void add_pending(Registration rows) noexcept;
/// Takes what is pending.
Registration take_pending();

/// An operator without a name in the registry, checked as commit() does: for those of one object.
std::shared_ptr<const Operator> make_op(OpDef def, std::vector<KernelDef> kernels,
                                        std::optional<GradDef> grad);

}  // namespace kw
