// An operator call: the only currency of user code, graphs and gradients. Checks it, infers its outputs,
// chooses a kernel, runs it and records it when gradients are wanted (runtime/calls/tape).
#pragma once

#include "runtime/calls/registry.h"

namespace kw {

/// One call of an operator. It holds the operator, so a call stays valid if the registry replaces or removes
/// it.
struct OpCall {
  std::shared_ptr<const Operator> op;
  std::vector<Tensor> inputs;  ///< those of a dynamic input in a row; none for an optional one left out
  Attrs attrs = {};
  std::vector<uint32_t> counts = {};  ///< tensors per declared input; empty: one each
  Device device = Device::cpu;
  std::optional<BodyKind> kind = {};  ///< only kernels of this kind

  const Attr *attr(std::string_view name) const { return find_attr(attrs, name); }
  /// The attribute's value; of a call that was checked.
  template <class T>
  const T &get(std::string_view name) const {
    return std::get<T>(attr(name)->value);
  }
};

/// Makes the outputs. Throws OpError for a call that does not fit the operator, that no kernel runs (with
/// each kernel and the first of its conditions that fails) or whose kernel makes other types than inferred;
/// and what the kernel throws.
std::vector<Tensor> call_op(OpCall call);

/// Calls an operator of the registry by name.
std::vector<Tensor> call_op(std::string_view name, std::vector<Tensor> inputs, Attrs attrs = {});

/// Checks a call against the operator's inputs and attributes: converts the attributes, fills in what they
/// are when none is given, orders them as declared. Throws OpError.
void check_call(OpCall &call);

/// The kernel that runs a checked call; `outputs`: their types, empty when they are not known. Throws
/// OpError.
const KernelDef &resolve_kernel(const OpCall &call, std::span<const TensorType> outputs);

/// "add(float32[2, 3], float32[3])".
std::string call_text(const OpCall &call);

}  // namespace kw
