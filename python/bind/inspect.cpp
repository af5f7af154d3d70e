// Builds requests from call arguments or from plans, and converts the compiler's answers to Python objects.
#include "bind/inspect.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <charconv>

#include "bind/dispatch/dispatch.h"
#include "bind/dispatch/recorded.h"
#include "runtime/cuda/cubins.h"
#include "runtime/cuda/device.h"
#include "support/text.h"

namespace py = pybind11;

namespace kw {

std::optional<Target> device_target(std::string_view name) {
  if (name == "cuda") return cuda_device(0).target();
  constexpr std::string_view numbered = "cuda:";
  uint32_t index = 0;
  const char *end = name.data() + name.size();
  if (name.starts_with(numbered)) {
    auto read = std::from_chars(name.data() + numbered.size(), end, index);
    if (read.ec == std::errc() && read.ptr == end) return cuda_device(index).target();
  }
  auto target = target_of_class(name);
  return target && target->is_gpu() ? target : std::nullopt;
}

std::string unknown_device(std::string_view name) {
  std::vector<std::string> known;
  for (const GpuMachine &m : gpu_machines()) known.emplace_back(m.name);
  return cat("there is no GPU architecture '", name, "'; there are: ", join_text(known, ", "),
             "; \"cuda\" is that of the GPU at hand");
}

namespace {

/// Returns whether the pending exception has this code.
bool is_pending(const char *code) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyRef found(value ? PyObject_GetAttrString(value, "code") : nullptr);
  bool same = found && PyUnicode_Check(found.get()) && utf8(found.get()) == code;
  PyErr_Restore(type, value, trace);  // also clears an exception raised by the test itself
  return same;
}

/// Returns whether a parameter has no default value, so that a call without arguments is impossible.
bool needs_arguments(const KernelState &k) {
  return std::any_of(k.parameters.defaults.begin(), k.parameters.defaults.end(),
                     [](const PyRef &value) { return !value; });
}

/// Sets a TypeError that shows how to call `method` with arguments.
void ask_for_arguments(const KernelState &k, std::string_view method) {
  std::vector<std::string> names;
  for (const PyRef &p : k.parameters.names) names.push_back(utf8(p.get()));
  std::string text =
      cat("kernel '", k.name, "' has no compiled version yet: call it first, or give arguments, `", k.name,
          ".", method, "(", join_text(names, ", "), ")`, or their types as texts such as \"f32[:, :]\"");
  PyErr_SetString(PyExc_TypeError, text.c_str());
}

/// Returns the signature of a call with these arguments, and sets `overlaps` if a written one overlaps
/// another. Returns nothing with an exception.
std::optional<Signature> signature_of_call(KernelState &k, const py::tuple &args, const py::dict &keywords,
                                           bool &overlaps) {
  CallFrame f;
  if (!read_call(k, args, keywords, f) || !note_same_views(k, f)) return std::nullopt;
  overlaps = f.in_source_order;
  return signature_of(f.words);
}

/// Returns (kind, path, line, subject, dimension, what, why) for each finding; line 0 means no location.
py::list findings_of(const ResolvedExplanation &found, const std::vector<TextPlace> &texts) {
  py::list out;
  for (const ResolvedFinding &r : found.findings) {
    const Finding &f = r.finding;
    const TextPlace &at = place_of(r.text, texts);
    int64_t line = r.line < 0 ? 0 : int64_t{at.first_line} + r.line;
    out.append(
        py::make_tuple(f.kind, at.path, line, f.subject, f.dim, f.what, expand_marks(f.why, texts, r.text)));
  }
  return out;
}

/// One specialization to explain. Holds no plan, because another thread may drop it while the source is read.
struct Wanted {
  Request request;
  bool main, plain;  ///< whether this body is compiled
  std::shared_ptr<const LoadedKernel> loaded{};
  bool overlaps = false;  ///< the call with the given arguments runs the body `overlapping`
};

/// Returns the entries that explanations with and without the source share.
py::dict describe(const KernelState &k, const Wanted &wanted) {
  py::list parameters;
  const std::vector<ArgSpec> &args = wanted.request.signature.args;
  for (size_t i = 0; i < args.size(); ++i)
    parameters.append(py::make_tuple(parameter_name(k, i), type_text(args[i])));
  py::dict out;
  out["parameters"] = parameters;
  out["main"] = wanted.main;
  out["plain"] = wanted.plain;
  out["overlaps"] = wanted.overlaps;
  return out;
}

/// Explains from the compiled artifact alone, for a kernel whose source text cannot be read.
py::dict explain_stored(const KernelState &k, const Wanted &wanted) {
  const Artifact &a = wanted.loaded->artifact();
  const std::vector<TextPlace> texts = k.place.texts();
  py::list checks;
  for (const SiteRecord &s : a.sites) {
    // the other sites do not check an index
    if (s.code != Code::E303) continue;
    const TextPlace &at = place_of(s.text, texts);
    int64_t line = s.line < 0 ? 0 : int64_t{at.first_line} + s.line;
    checks.append(py::make_tuple("access", at.path, line, s.tensor, s.dim, "checked", ""));
  }
  py::dict out = describe(k, wanted);
  out["device"] = "";
  out["schedule"] = std::vector<std::string>();
  out["conditions"] = a.explain.empty() ? std::vector<std::string>() : split_text(a.explain, '\n');
  out["shared"] = py::list();
  out["stored"] = true;
  out["findings"] = checks;
  return out;
}

/// Returns (name, lines of its loops, threads of a block, bytes that they share, registers, bytes spilled,
/// condition, names of the arrays that it stores to) of each kernel that a call launches; -1 for what is not
/// compiled yet.
py::list launches_of(const Artifact &a, const std::vector<TextPlace> &texts) {
  py::list out;
  std::vector<CubinSource> sources = cubin_sources(a, NvrtcWant::cubin);
  for (size_t i = 0; i < sources.size(); ++i) {
    auto code = find_cubin(sources[i]);
    KernelFigures figures = code ? code->figures() : KernelFigures{-1, -1, 0, 0};
    const LaunchKernel &kernel = a.launches.kernels[i];
    py::list lines;
    for (const LoopLine &l : kernel.loops) {
      const TextPlace &at = place_of(l.text, texts);
      if (l.line >= 0) lines.append(py::make_tuple(at.path, int64_t{at.first_line} + l.line));
    }
    out.append(py::make_tuple(kernel.name, lines, kernel.threads, kernel.block_bytes, figures.registers,
                              figures.spill_bytes, kernel.condition, kernel.stores));
  }
  return out;
}

/// Runs the compiler on the source again and returns its decisions.
py::dict explain_one(const KernelState &k, const Wanted &wanted, const SourceText &source) {
  ResolvedExplanation found = explain(wanted.request, source);
  py::dict out = describe(k, wanted);
  out["device"] = wanted.request.target.arch;
  if (wanted.request.target.is_gpu())
    out["launches"] = launches_of(compile_request(wanted.request, source), k.place.texts());
  out["conditions"] = found.conditions;
  out["schedule"] = found.schedule;
  out["shared"] = found.shared;
  out["stored"] = false;
  out["findings"] = findings_of(found, k.place.texts());
  return out;
}

}  // namespace

bool read_call(KernelState &k, const py::tuple &args, const py::dict &keywords, CallFrame &f) {
  std::vector<PyObject *> values;
  for (py::handle value : args) values.push_back(value.ptr());
  py::tuple names(keywords.size());
  size_t at = 0;
  for (auto [name, value] : keywords) {
    names[at++] = name;
    values.push_back(value.ptr());
  }
  return bind_call(k, values.data(), args.size(), names.empty() ? nullptr : names.ptr(), f) &&
         read_arguments(k, f);
}

py::object inspect_kernel(PyObject *kernel, const py::tuple &args, const py::dict &keywords,
                          const std::string &stage) {
  KernelState *k = state_of(kernel);
  if (!k || !k->look()) return {};
  bool given = !args.empty() || !keywords.empty();
  std::optional<Signature> signature;
  // without arguments, the types of the last call are used; a kernel without parameters has one signature
  if (!given && k->last_plan && !k->parameters.names.empty()) {
    signature = k->last_plan->request.signature;
  } else if (!given && needs_arguments(*k)) {
    bool is_machine = stage == "llvm" || stage == "asm";
    std::string method = stage.substr(0, stage.find(':'));  // cuda:sm_90
    ask_for_arguments(*k, is_machine || method != stage ? method : "ir");
    return {};
  } else {
    bool overlaps = false;
    signature = signature_of_call(*k, args, keywords, overlaps);
  }
  SourceText source;
  if (!signature || !k->read_source(source)) return {};
  try {
    Request r = k->request(*signature, Body::main);
    std::string_view name = stage;
    for (std::string_view of_device : {"cuda", "ptx"}) {
      if (!name.starts_with(cat(of_device, ":"))) continue;
      std::string_view device = name.substr(of_device.size() + 1);
      std::optional<Target> target = device_target(device);
      if (!target) throw std::invalid_argument(unknown_device(device));
      r.target = *target, r.backend = "cuda";
      name = of_device;
      break;
    }
    std::string text = inspect(r, source, name);
    return py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  } catch (const ResolvedError &e) {
    raise_errors(e.errors, k->place);
  } catch (const std::invalid_argument &e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  }
  return {};
}

py::object count_kernel(PyObject *kernel, const py::tuple &args, const py::dict &keywords) {
  KernelState *k = state_of(kernel);
  CallFrame f;
  if (!k || !k->look() || !read_call(*k, args, keywords, f) || !note_same_views(*k, f)) return {};
  SourceText source;
  if (!k->read_source(source)) return {};
  try {
    Request r = k->request(signature_of(f.words), Body::main);
    f.abi_words(Entry{});  // appends the strides
    WorkCount n = count_work(r, source, f.extents, f.scalars);
    py::dict out;
    out["float64"] = n.float64, out["float32"] = n.float32, out["statements"] = n.statements;
    out["bytes_read"] = n.bytes_read, out["bytes_written"] = n.bytes_written;
    py::list types;
    for (const ArgSpec &a : r.signature.args) types.append(argument_to_python(a));
    out["types"] = types;
    out["unknown_operations"] = n.unknown_operations;
    out["at_most_operations"] = n.at_most_operations, out["at_most_bytes"] = n.at_most_bytes;
    return out;
  } catch (const ResolvedError &e) {
    raise_errors(e.errors, k->place);
    return {};
  }
}

py::object explain_kernel(PyObject *kernel, const py::tuple &args, const py::dict &keywords,
                          const std::string &device) {
  KernelState *k = state_of(kernel);
  if (!k || !k->look()) return {};
  std::optional<Target> target;
  if (!device.empty() && !(target = device_target(device))) {
    PyErr_SetString(PyExc_ValueError, unknown_device(device).c_str());
    return {};
  }
  bool on_host = target && k->options.debug;  // debug kernels run on the host
  if (on_host) target.reset();
  std::vector<Wanted> wanted;
  // without arguments: all specializations for the present captured values
  if (args.empty() && keywords.empty() && !target)
    for (const auto &plan : k->plans)
      if (plan->generation == k->captured.generation)
        wanted.push_back({plan->request, true, plan->plain != nullptr, plan->main});
  if (wanted.empty() && args.empty() && keywords.empty() && needs_arguments(*k)) {
    ask_for_arguments(*k, "explain");
    return {};
  }
  if (wanted.empty()) {
    bool overlaps = false;
    auto signature = signature_of_call(*k, args, keywords, overlaps);
    if (!signature) return {};
    wanted.push_back({k->request(*signature, Body::main), false, false});
    wanted[0].overlaps = overlaps;
    if (target) wanted[0].request.target = *target, wanted[0].request.backend = "cuda";
    // an existing plan of this key shows which of its bodies exist
    std::string key = key_text(wanted[0].request);
    for (const auto &plan : k->plans)
      if (key_text(plan->request) == key)
        wanted[0].main = true, wanted[0].plain = plan->plain != nullptr, wanted[0].loaded = plan->main;
  }
  SourceText source;
  // without a source text (E120) the artifacts answer, if each specialization has one
  bool loaded =
      std::all_of(wanted.begin(), wanted.end(), [](const Wanted &w) { return w.loaded != nullptr; });
  bool readable = k->read_source(source);
  if (!readable && (!loaded || !is_pending("E120"))) return {};
  if (!readable) PyErr_Clear();
  try {
    py::list out;
    if (!readable) {
      for (const Wanted &w : wanted) out.append(explain_stored(*k, w));
      return out;
    }
    for (const Wanted &w : wanted) {
      py::dict one = explain_one(*k, w, source);
      one["on_host"] = on_host;
      out.append(one);
    }
    return out;
  } catch (const ResolvedError &e) {
    raise_errors(e.errors, k->place);
    return {};
  }
}

}  // namespace kw
