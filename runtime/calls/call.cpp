// Checking, resolution and running of operator calls.
#include "runtime/calls/call.h"

#include <algorithm>

#include "runtime/calls/tape.h"
#include "runtime/op_error.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns the name of a dtype for a message; "any" for an open one.
std::string dtype_text(std::optional<DType> t) { return t ? std::string(numpy_name(*t)) : "any"; }

/// Checks the number of tensors of each declared input. Throws OpError that names the first wrong input.
void check_inputs(const OpCall &call) {
  const OpDef &def = call.op->def;
  size_t flat = 0;
  bool counted_inputs = !call.counts.empty();
  if (counted_inputs && call.counts.size() != def.inputs.size())
    throw_type_error(cat(def.name, " takes ", counted(def.inputs.size(), "input"), ", but ",
                         call.counts.size(), " were given"));
  size_t given = counted_inputs ? call.counts.size() : call.inputs.size();
  if (given != def.inputs.size())
    throw_type_error(
        cat(def.name, " takes ", counted(def.inputs.size(), "input"), ", but ", given, " were given"));
  for (size_t i = 0; i < def.inputs.size(); ++i) {
    const OpInput &declared = def.inputs[i];
    size_t n = counted_inputs ? call.counts[i] : 1;
    if (declared.arity != Arity::dynamic && n != 1)
      throw_type_error(
          cat("input '", declared.name, "' of ", def.name, " is one tensor, but ", n, " were given"));
    for (size_t k = flat; k < flat + n; ++k)
      if (k >= call.inputs.size() || (!call.inputs[k] && declared.arity != Arity::optional))
        throw_type_error(cat("input '", declared.name, "' of ", def.name, " is missing"));
    flat += n;
  }
}

/// Converts the attributes of a call, fills in defaults and orders them as declared. Throws OpError.
void check_attrs(OpCall &call) {
  const OpDef &def = call.op->def;
  if (def.attrs.empty() && call.attrs.empty()) return;
  Attrs ordered;
  for (const OpAttr &declared : def.attrs) {
    const Attr *given = call.attr(declared.name);
    if (!given && !declared.fallback)
      throw_type_error(cat("attribute '", declared.name, "' of ", def.name, " is missing"));
    Attr value = given ? *given : *declared.fallback;
    // None passes if it is the declared default, because the operator then decides itself
    bool left_open = value.is_none() && declared.fallback && declared.fallback->is_none();
    if (!left_open && !convert_attr(value, declared.type))
      throw_type_error(cat("attribute '", declared.name, "' of ", def.name, " must be ",
                           attr_type_name(declared.type), ", but got ", attr_text(value)));
    std::string complaint = declared.complaint ? declared.complaint(value) : "";
    if (!complaint.empty())
      throw_value_error(cat("attribute '", declared.name, "' of ", def.name, " ", complaint));
    ordered.emplace_back(declared.name, std::move(value));
  }
  for (const auto &[name, value] : call.attrs)
    if (!find_attr(ordered, name)) {
      std::vector<std::string> names;
      for (const OpAttr &declared : def.attrs) names.push_back(declared.name);
      throw_type_error(cat(def.name, " has no attribute '", name, "'; it has ",
                           names.empty() ? "none" : join_text(names, ", ")));
    }
  call.attrs = std::move(ordered);
}

/// Returns why a kernel cannot run a call, or "".
std::string why_not(const KernelDef &k, const OpCall &call, std::span<const TensorType> outputs) {
  if (call.kind && *call.kind != k.kind)
    return cat("is no ", body_name(*call.kind), ", which the call asks for");
  if (k.device != call.device)
    return cat("runs on ", device_name(k.device), ", not on ", device_name(call.device));
  size_t inputs = call.inputs.size(), count = inputs + outputs.size();
  auto fits = [&](const DTypeRow &row) {
    for (size_t i = 0; i < std::min(count, row.size()); ++i) {
      // an omitted optional input has no dtype to compare
      if (!row[i] || (i < inputs && !call.inputs[i])) continue;
      if (*row[i] != (i < inputs ? call.inputs[i].dtype() : outputs[i - inputs].dtype)) return false;
    }
    // outputs that are not inferred are decided by the kernel
    return outputs.empty() ? row.size() >= count : row.size() == count;
  };
  if (!k.rows.empty() && std::none_of(k.rows.begin(), k.rows.end(), fits)) {
    std::vector<std::string> rows;
    for (const DTypeRow &row : k.rows) {
      std::vector<std::string> parts;
      for (const auto &t : row) parts.push_back(dtype_text(t));
      rows.push_back(cat("(", join_text(parts, ", "), ")"));
    }
    return cat("takes the dtypes ", join_text(rows, " or "));
  }
  if (k.predicate.holds && !k.predicate.holds(call)) return cat("needs ", k.predicate.text);
  return {};
}

/// Returns how a message names a kernel: its kind and the place of its definition.
std::string kernel_text(const KernelDef &k) {
  return cat(body_name(k.kind), k.source.empty() ? "" : cat(" (", k.source, ")"));
}

/// Compares the outputs of a kernel with the inferred types, or with the number of declared outputs. So a
/// wrong kernel is found at its own call. Throws OpError.
void check_outputs(const OpCall &call, const KernelDef &k, std::span<const TensorType> types,
                   const std::vector<Tensor> &outputs) {
  const OpDef &def = call.op->def;
  if (!def.infer) {
    if (!def.variable_outputs && outputs.size() != def.outputs.size())
      throw_runtime_error(cat(kernel_text(k), " of ", def.name, " makes ", counted(outputs.size(), "output"),
                              ", but ", def.outputs.size(), def.outputs.size() == 1 ? " is" : " are",
                              " declared"));
    return;
  }
  if (types.size() != outputs.size())
    throw_runtime_error(cat(kernel_text(k), " of ", def.name, " makes ", counted(outputs.size(), "output"),
                            ", but ", types.size(), " were inferred"));
  for (size_t i = 0; i < outputs.size(); ++i) {
    Extents shape = outputs[i].shape();
    if (outputs[i].dtype() == types[i].dtype && types[i].shape == shape) continue;
    throw_runtime_error(cat(kernel_text(k), " of ", def.name, " makes ", type_text(outputs[i].dtype(), shape),
                            " as output ", i, ", but ", type_text(types[i].dtype, types[i].shape),
                            " was inferred"));
  }
}

}  // namespace

void check_call(OpCall &call) {
  check_inputs(call);
  check_attrs(call);
}

const KernelDef &resolve_kernel(const OpCall &call, std::span<const TensorType> outputs) {
  const KernelDef *best = nullptr, *rival = nullptr;
  // priority decides first, then the kind of code in the order of BodyKind
  auto before = [](const KernelDef &a, const KernelDef &b) {
    return a.priority != b.priority ? a.priority > b.priority : a.kind < b.kind;
  };
  std::string table;
  for (const KernelDef &k : call.op->kernels) {
    std::string why = why_not(k, call, outputs);
    if (!why.empty()) {
      table += cat("\n  ", kernel_text(k), " ", why);
      continue;
    }
    // a rival ranks equal to the best one; a better kernel found later settles the tie
    if (!best || before(k, *best))
      best = &k, rival = nullptr;
    else if (!before(*best, k))
      rival = &k;
  }
  const std::string &name = call.op->def.name;
  if (!best)
    throw OpError(
        OpError::Kind::no_kernel,
        cat("no kernel of ", name, " runs ", call_text(call), table.empty() ? ": it has none" : ":", table),
        name);
  if (rival)
    throw_runtime_error(cat("two kernels of ", name, " run ", call_text(call),
                            " equally well: ", kernel_text(*best), " and ", kernel_text(*rival),
                            "; give one of them a higher priority"));
  return *best;
}

std::vector<Tensor> call_op(OpCall call) {
  check_call(call);
  std::vector<TensorType> types;
  if (call.op->def.infer) types = call.op->def.infer(call);
  const KernelDef &kernel = resolve_kernel(call, types);
  bool recorded = is_recorded(call);
  // counted before the run, so that record() can detect which inputs the kernel wrote
  std::vector<uint64_t> writes = recorded ? count_writes(call.inputs) : std::vector<uint64_t>();
  std::vector<Tensor> outputs;
  {
    GradModeGuard off(false);  // calls made by a kernel are part of it
    outputs = kernel.run(call, types);
  }
  check_outputs(call, kernel, types, outputs);
  if (recorded) record(std::move(call), outputs, writes);
  return outputs;
}

std::vector<Tensor> call_op(std::string_view name, std::vector<Tensor> inputs, Attrs attrs) {
  OpCall call{registry().need(name), std::move(inputs), std::move(attrs)};
  // a single dynamic input takes all tensors; with other inputs the caller must give the counts
  for (const OpInput &i : call.op->def.inputs)
    if (i.arity == Arity::dynamic && call.op->def.inputs.size() == 1)
      call.counts = {static_cast<uint32_t>(call.inputs.size())};
  return call_op(std::move(call));
}

std::string call_text(const OpCall &call) {
  std::vector<std::string> parts;
  for (const Tensor &t : call.inputs) parts.push_back(t ? type_text(t.dtype(), t.shape()) : "None");
  for (const auto &[name, value] : call.attrs) parts.push_back(cat(name, "=", attr_text(value)));
  std::string name = call.op->def.name;
  return cat(name.substr(name.find("::") == std::string::npos ? 0 : name.find("::") + 2), "(",
             join_text(parts, ", "), ")");
}

}  // namespace kw
