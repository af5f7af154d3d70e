// Checking, resolution and running of operator calls.
#include "runtime/calls/call.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "runtime/calls/tape.h"
#include "runtime/op_error.h"
#include "runtime/resolved_error.h"
#include "support/log.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns the name of a dtype for a message; "any" for an open one.
std::string dtype_text(std::optional<DType> t) { return t ? std::string(numpy_name(*t)) : "any"; }

/// Returns "one tensor", "3 tensors", "at least 2 tensors" or "1 to 3 tensors".
std::string count_text(uint64_t min, uint64_t max) {
  if (min == max) return min == 1 ? "one tensor" : counted(min, "tensor");
  return max >= any_number ? cat("at least ", counted(min, "tensor")) : cat(min, " to ", max, " tensors");
}

/// Returns whether a call gives one tensor for each declared input, as most calls do.
bool has_one_each(const OpCall &call) {
  const std::vector<OpInput> &declared = call.op->def.inputs;
  if (!call.counts.empty() || call.inputs.size() != declared.size()) return false;
  for (size_t i = 0; i < declared.size(); ++i)
    if (declared[i].is_list() || !call.inputs[i]) return false;
  return true;
}

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
    if (!declared.is_list() && n != 1)
      throw_type_error(
          cat("input '", declared.name, "' of ", def.name, " is one tensor, but ", n, " were given"));
    if (declared.is_list() && (n < declared.min || n > declared.max))
      throw_type_error(cat("input '", declared.name, "' of ", def.name, " is ",
                           count_text(declared.min, declared.max), ", but ", n, " were given"));
    for (size_t k = flat; k < flat + n; ++k)
      if (k >= call.inputs.size() || (!call.inputs[k] && !declared.is_optional()))
        throw_type_error(cat("input '", declared.name, "' of ", def.name, " is missing"));
    flat += n;
  }
}

/// Checks how many tensors of each output a call that counts them asks for. Throws OpError.
void check_out_counts(const OpCall &call) {
  const OpDef &def = call.op->def;
  if (call.out_counts.size() != def.outputs.size())
    throw_type_error(cat(def.name, " has ", counted(def.outputs.size(), "output"), ", but the call counts ",
                         call.out_counts.size()));
  for (size_t i = 0; i < def.outputs.size(); ++i) {
    const OpOutput &declared = def.outputs[i];
    if (call.out_counts[i] < declared.min || call.out_counts[i] > declared.max)
      throw_type_error(cat("output '", declared.name, "' of ", def.name, " is ",
                           count_text(declared.min, declared.max), ", but the call asks for ",
                           call.out_counts[i]));
  }
}

/// Converts the attributes of a call, fills in defaults and orders them as declared. Throws OpError.
void check_attrs(OpCall &call) {
  const OpDef &def = call.op->def;
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
    if (const Attr *misfit = declared.word ? find_misfit(value, *declared.word) : nullptr)
      throw_value_error(cat("attribute '", declared.name, "' of ", def.name, ": ", attr_text(*misfit),
                            " does not fit into ", numpy_name(*declared.word)));
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

/// Returns whether a kernel runs on the device of a call itself. A kernel for the CPU runs calls of other
/// devices on copies.
bool runs_on_device(const KernelDef &k, const OpCall &call) {
  return !k.device || *k.device == call.device.kind;
}

/// Returns why a kernel cannot run a call, or "".
std::string why_not(const KernelDef &k, const OpCall &call, std::span<const TensorType> outputs) {
  if (call.kind && *call.kind != k.kind)
    return cat("is no ", body_name(*call.kind), ", which the call asks for");
  if (!runs_on_device(k, call) && k.device != DeviceKind::cpu)
    return cat("runs on ", device_name(*k.device), ", not on ", device_name(call.device.kind));
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

/// Compares a number of outputs with the declared ones, or with those that the call asks for. Throws OpError
/// that begins with `subject()`: "the inference of f gives ".
template <class Subject>
void check_output_count(const OpCall &call, size_t count, Subject &&subject) {
  const OpDef &def = call.op->def;
  uint64_t least = 0, most = 0;
  for (size_t i = 0; i < def.outputs.size(); ++i) {
    least += call.out_counts.empty() ? def.outputs[i].min : call.out_counts[i];
    most += call.out_counts.empty() ? def.outputs[i].max : call.out_counts[i];
  }
  if (count >= least && count <= most) return;
  std::string declared =
      least == most ? cat(least, least == 1 ? " is" : " are") : cat(count_text(least, most), " are");
  throw_runtime_error(cat(subject(), counted(count, "output"), ", but ", declared, " declared"));
}

/// Compares the outputs of a kernel with the inferred types, or with the number of declared outputs. So a
/// wrong kernel is found at its own call. Throws OpError.
void check_outputs(const OpCall &call, const KernelDef &k, std::span<const TensorType> types,
                   const std::vector<Tensor> &outputs) {
  const OpDef &def = call.op->def;
  if (!def.infer)
    return check_output_count(call, outputs.size(),
                              [&] { return cat(kernel_text(k), " of ", def.name, " makes "); });
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

/// Returns a number on a device. The same numbers are asked for again and again, so a few are kept.
static Tensor device_constant(const Tensor &number, Device device) {
  constexpr size_t most_constants = 256;  // chosen: the literals of a program
  static auto &mutex = *new std::mutex;
  static auto &known = *new std::map<std::tuple<uint32_t, DType, uint64_t>, Tensor>;
  uint64_t bits = 0;
  std::memcpy(&bits, number.data(), item_size(number.dtype()));
  std::scoped_lock lock(mutex);
  if (known.size() >= most_constants) known.clear();
  Tensor &found = known[{device.index, number.dtype(), bits}];
  if (!found) found = number.to(device).read_only();
  return found;
}

std::string input_name(const OpCall &call, size_t flat) {
  const OpDef &def = call.op->def;
  size_t end = 0;
  for (size_t i = 0; i < def.inputs.size(); ++i) {
    end += call.counts.empty() ? 1 : call.counts[i];
    if (flat < end) return def.inputs[i].name;
  }
  return cat(flat);
}

/// Throws E505 for a tensor that lies on another device than the call.
[[noreturn]] static void throw_other_device(const OpCall &call, size_t tensor) {
  auto on_device = [&](const Tensor &t) { return t && t.device() == call.device; };
  auto first = std::find_if(call.inputs.begin(), call.inputs.end(), on_device) - call.inputs.begin();
  std::string name = input_name(call, tensor);
  Device its = call.inputs[tensor].device();
  Resolved e;
  e.code = Code::E505;
  e.message = cat("input '", name, "' of operator '", call.op->def.name, "' is on ",
                  its.kind == DeviceKind::cpu ? "the " : "", device_text(its), ", '",
                  input_name(call, static_cast<size_t>(first)), "' on ", device_text(call.device));
  std::string device = call.device.kind == DeviceKind::cpu ? "cpu" : device_text(call.device);
  e.help = {cat("move it: ", name, ".to(\"", device, "\"), or of an array kw.Tensor(", name, ", device=\"",
                device, "\")")};
  throw ResolvedError({e});
}

/// Sets the device of a call to that of its tensors. Numbers in the memory of the host go to the device of
/// the others. Throws ResolvedError (E505) if tensors lie on several devices.
static void find_device(OpCall &call) {
  const Tensor *first = nullptr, *other = nullptr;
  for (const Tensor &t : call.inputs) {
    if (!t) continue;
    if (!first) first = &t;
    if (t.device() == first->device()) continue;
    other = &t;
    if (first->device().kind == DeviceKind::cpu && t.device().kind != DeviceKind::cpu)
      std::swap(first, other);
  }
  if (!first) return;
  call.device = first->device();
  if (!other) [[likely]]
    return;
  for (Tensor &t : call.inputs) {
    if (!t || t.device() == call.device) continue;
    bool is_number = t.device().kind == DeviceKind::cpu && t.rank() == 0 && !t.history();
    if (!is_number) throw_other_device(call, static_cast<size_t>(&t - call.inputs.data()));
    t = device_constant(t, call.device);
  }
}

void check_call(OpCall &call) {
  if (!has_one_each(call)) check_inputs(call);
  if (!call.out_counts.empty()) check_out_counts(call);
  find_device(call);
  if (!call.op->def.attrs.empty() || !call.attrs.empty()) check_attrs(call);
  if (call.op->def.check) call.op->def.check(call);
}

std::vector<bool> mutable_tensors(const OpCall &call) {
  std::vector<bool> out;
  for (size_t i = 0; i < call.op->def.inputs.size(); ++i)
    out.insert(out.end(), call.counts.empty() ? 1 : call.counts[i], call.op->def.inputs[i].is_mutable);
  return out;
}

const KernelDef &resolve_kernel(const OpCall &call, std::span<const TensorType> outputs) {
  const KernelDef *best = nullptr, *rival = nullptr;
  // copies to the host come last; priority decides first, then the kind of code in the order of BodyKind
  auto before = [&](const KernelDef &a, const KernelDef &b) {
    if (bool of_device = runs_on_device(a, call); of_device != runs_on_device(b, call)) return of_device;
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

namespace {

/// Returns the input that a kernel changes in place as an output. Throws OpError unless it can be that
/// output.
const Tensor &changed_input(const OpCall &call, const KernelDef &k, uint32_t input, uint32_t output,
                            const TensorType &type) {
  const Tensor &t = call.inputs[input];
  auto subject = [&] { return cat("input '", call.op->def.inputs[input].name, "' of ", call.op->def.name); };
  if (!t.writable()) throw_value_error(cat(subject(), " is written but read-only"));
  if (t.dtype() != type.dtype || !(type.shape == t.shape()))
    throw_runtime_error(cat(subject(), " is ", type_text(t.dtype(), t.shape()), ", and ", kernel_text(k),
                            " changes it in place, but ", type_text(type.dtype, type.shape),
                            " was inferred for output ", output));
  return t;
}

/// Returns the outputs that a kernel writes: new memory, or inputs that it changes in place.
std::vector<Tensor> allocate_outputs(const OpCall &call, const KernelDef &k,
                                     std::span<const TensorType> types) {
  std::vector<Tensor> out(types.size());
  for (auto [output, input] : k.in_place)
    if (output < out.size()) out[output] = changed_input(call, k, input, output, types[output]);
  for (size_t i = 0; i < types.size(); ++i)
    if (!out[i]) out[i] = Tensor::empty(types[i].dtype, types[i].shape, call.device);
  return out;
}

/// Returns what a kernel with a state keeps between its runs. The state is made without the lock, because
/// making it may call operators or wait for Python; of two threads, the first one's is kept.
void *state_of(const KernelDef &k, const OpCall &call) {
  {
    std::scoped_lock lock(k.state->mutex);
    if (k.state->value) return k.state->value.get();
  }
  std::shared_ptr<void> made = k.make_state(call);
  std::scoped_lock lock(k.state->mutex);
  if (!k.state->value) k.state->value = std::move(made);
  return k.state->value.get();
}

/// Counts, when a run ends in any way, the writes into the inputs that a kernel changes.
struct WritesOfRun {
  const KernelDef &kernel;
  const OpCall &call;
  ~WritesOfRun() {
    for (auto [output, input] : kernel.in_place) call.inputs[input].storage().note_write();
    if (!kernel.writes_mutable) return;
    std::vector<bool> may_write = mutable_tensors(call);
    for (size_t i = 0; i < may_write.size(); ++i)
      if (may_write[i] && call.inputs[i]) call.inputs[i].storage().note_write();
  }
};

/// Prepares the thread and the memory of a run on a device; returns its stream.
DeviceStream enter_device(const KernelContext &x) {
  std::vector<void *> memory;
  for (std::span<const Tensor> tensors : {std::span(x.call.inputs), std::span(x.outputs)})
    for (const Tensor &t : tensors)
      if (t) memory.push_back(t.data());
  if (!x.workspace.empty()) memory.push_back(x.workspace.data());
  return device_api(x.call.device.kind).enter(x.call.device, memory);
}

/// Runs a kernel with all that it gets.
void run_kernel(const KernelDef &k, KernelContext &x) {
  if (!k.makes_outputs) x.outputs = allocate_outputs(x.call, k, x.types);
  if (k.state) x.state = state_of(k, x.call);
  std::shared_ptr<Storage> workspace;
  if (size_t bytes = k.workspace ? k.workspace(x.call, x.types) : 0) {
    workspace = Storage::allocate(bytes, false, x.call.device);
    x.workspace = {static_cast<std::byte *>(workspace->data()), bytes};
  }
  // Kernels of loops and functions of Python go by the stream of their thread.
  if (k.kind == BodyKind::cpp_kernel && x.call.device.kind != DeviceKind::cpu) x.stream = enter_device(x);
  GradModeGuard off(false);  // calls made by a kernel are part of it
  WritesOfRun writes{k, x.call};
  k.run(x);
}

std::string_view words_of(BodyKind k) {
  switch (k) {
    case BodyKind::cpp_kernel: return "its C++ kernel is";
    case BodyKind::aot_symbol: return "its library is";
    case BodyKind::jit_loop: return "its loops are";
    case BodyKind::py_func: return "its Python function is";
  }
  return {};
}

/// Says once for each operator that its calls with tensors of a GPU run on the host.
void warn_of_host_run(const OpCall &call, const KernelDef &k) {
  static auto &mutex = *new std::mutex;
  static auto &told = *new std::set<std::string>;
  std::scoped_lock lock(mutex);
  if (!told.insert(call.op->def.name).second) return;
  Resolved warning;
  warning.code = Code::W505;
  warning.message = cat("operator '", call.op->def.name, "' runs on the host, on copies of its tensors on ",
                        device_text(call.device), ": ", words_of(k.kind), " for the CPU");
  warning.help = {k.kind == BodyKind::jit_loop
                      ? "leave device= out of its kernel_row: loops run on every device"
                      : "write it as a kernel (kw.kernel), which runs on every device"};
  log_warning(std::move(warning));
}

/// Runs a kernel for the CPU on copies of tensors of another device. What it writes goes back, and so do its
/// results.
void run_on_copies(const KernelDef &k, KernelContext &x) {
  warn_of_host_run(x.call, k);
  OpCall call = x.call;
  call.device = {};
  for (Tensor &t : call.inputs)
    if (t) t = t.to(call.device);
  KernelContext on_host{call, x.types};
  run_kernel(k, on_host);
  std::vector<bool> may_write = mutable_tensors(call);
  for (size_t i = 0; i < may_write.size(); ++i)
    if (may_write[i] && call.inputs[i]) x.call.inputs[i].assign(call.inputs[i].to(x.call.device));
  auto moved = [&](const Tensor &t) {
    for (size_t i = 0; i < call.inputs.size(); ++i)
      if (t && t.is(call.inputs[i])) return x.call.inputs[i];
    return t ? t.to(x.call.device) : t;
  };
  for (const Tensor &t : on_host.outputs) x.outputs.push_back(moved(t));
  for (const Tensor &t : on_host.saved) x.saved.push_back(moved(t));
}

}  // namespace

std::vector<Tensor> call_op(OpCall call) {
  check_call(call);
  const bool infers = bool(call.op->def.infer);
  const TensorTypes types = infers ? call.op->def.infer(call) : TensorTypes();
  if (infers)
    check_output_count(call, types.size(),
                       [&] { return cat("the inference of ", call.op->def.name, " gives "); });
  const KernelDef &kernel = resolve_kernel(call, types);
  bool recorded = is_recorded(call);
  std::optional<Recording> recording;
  if (recorded) recording.emplace(call, kernel.kind == BodyKind::py_func);
  KernelContext x{call, types};
  if (runs_on_device(kernel, call)) [[likely]]
    run_kernel(kernel, x);
  else
    run_on_copies(kernel, x);
  check_outputs(call, kernel, types, x.outputs);
  if (recording) recording->finish(std::move(call), x.outputs, std::move(x.saved));
  return std::move(x.outputs);
}

std::vector<Tensor> call_op(std::string_view name, std::vector<Tensor> inputs, Attrs attrs) {
  OpCall call{registry().need(name), std::move(inputs), std::move(attrs)};
  // a single dynamic input takes all tensors; with other inputs the caller must give the counts
  for (const OpInput &i : call.op->def.inputs)
    if (i.is_list() && call.op->def.inputs.size() == 1)
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
