// An operator call, which user code, graphs and gradients all use. Checks the call, infers its outputs,
// chooses and runs a kernel, and records the call if gradients are wanted (runtime/calls/tape).
#pragma once

#include "runtime/calls/registry.h"

namespace kw {

/// One call of an operator. It holds the operator, so it stays valid if the registry replaces or removes the
/// operator.
struct OpCall {
  std::shared_ptr<const Operator> op;
  std::vector<Tensor> inputs;  ///< those of a dynamic input are adjacent; an omitted optional one is empty
  Attrs attrs = {};
  std::vector<uint32_t> counts = {};      ///< tensors per declared input; if empty, one each
  std::vector<uint32_t> out_counts = {};  ///< tensors per declared output; if empty, the operator decides
  Device device = {};                     ///< of its tensors; check_call sets it
  std::optional<BodyKind> kind = {};      ///< if set, only kernels of this kind may run

  const Attr *attr(std::string_view name) const { return find_attr(attrs, name); }
  /// Returns the attribute's value. The call must be checked.
  template <class T>
  const T &get(std::string_view name) const {
    return std::get<T>(attr(name)->value);
  }
};

/// Runs a call and returns its outputs. Throws OpError if the call does not fit the operator, or if the
/// kernel makes other types than inferred. If no kernel runs it, the error gives the first failed condition
/// of each kernel. Passes on exceptions of the kernel.
std::vector<Tensor> call_op(OpCall call);

/// Calls an operator of the registry by name.
std::vector<Tensor> call_op(std::string_view name, std::vector<Tensor> inputs, Attrs attrs = {});

/// Checks a call against the operator's inputs and attributes. Converts the attributes, fills in defaults and
/// orders them as declared. Throws OpError.
void check_call(OpCall &call);

/// Returns, for each tensor of a call, whether kernels may write it.
std::vector<bool> mutable_tensors(const OpCall &call);
/// Returns the declared name of the tensor at position `flat` of a call; tensors of a dynamic input share
/// one name.
std::string input_name(const OpCall &call, size_t flat);

/// Returns the kernel that runs a checked call. `outputs`: the types of the outputs, empty if unknown. Throws
/// OpError.
const KernelDef &resolve_kernel(const OpCall &call, std::span<const TensorType> outputs);

/// Returns the call for messages: "add(float32[2, 3], float32[3])".
std::string call_text(const OpCall &call);

}  // namespace kw
