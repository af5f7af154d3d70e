// The extension module kernelwright._core: the kernel type and functions that calls do not need.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "analysis/cost.h"
#include "bind/call_place.h"
#include "bind/devices.h"
#include "bind/dispatch/args.h"
#include "bind/dispatch/dispatch.h"
#include "bind/dispatch/log.h"
#include "bind/dispatch/recorded.h"
#include "bind/export.h"
#include "bind/inspect.h"
#include "bind/ops/operators.h"
#include "bind/warm.h"
#include "codegen/interp/interp.h"
#include "ir/build.h"
#include "ir/intrinsics.h"
#include "runtime/cpu/thread_count.h"
#include "runtime/frozen.h"
#include "runtime/launch.h"
#include "support/build_id.h"
#include "support/stack.h"
#include "support/text.h"
#include "transform/math/expand.h"

namespace py = pybind11;

namespace kw {

namespace {

/// Returns the result, or passes a set Python exception to pybind11.
py::object checked(PyObject *result) {
  if (!result) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

/// Returns (code, class, title, test) for each diagnostic.
py::list codes() {
  py::list out;
  for (const CodeRow &row : code_table())
    out.append(py::make_tuple(std::string(row.name), std::string(class_name(row.error_class)),
                              std::string(row.title), std::string(row.test)));
  return out;
}

/// Sets the options from a text of KW_DEBUG. Returns "", or the error in the text, which then changes
/// nothing.
std::string set_debug(const std::string &text) {
  ParsedDebug parsed = parse_debug(text);
  std::vector<std::string> stages = dump_names();
  for (const std::string &stage : parsed.options.dump_after)
    if (parsed.error.empty() && std::find(stages.begin(), stages.end(), stage) == stages.end())
      parsed.error =
          cat("KW_DEBUG: dump:after= names no pass '", stage, "'; the passes are: ", join_text(stages, ", "));
  if (parsed.error.empty()) set_debug_options(parsed.options);
  return parsed.error;
}

/// Computes an elementary function by the same expansion as kernels. Arguments and result are bits of dtype
/// `dtype`.
uint64_t call_intrinsic(const std::string &name, const std::string &dtype,
                        const std::vector<uint64_t> &bits) {
  const IntrinsicRow *row = find_intrinsic(name);
  auto t = dtype_from_numpy(dtype);
  if (!row || !t || row->arity != bits.size())
    throw py::value_error(cat("no function ", name, " of ", bits.size(), " ", dtype));
  std::vector<Expr> args;
  for (uint64_t b : bits) args.push_back(constant(Value{*t, b}));
  return evaluate(expand_call(row->fn, args, {}, kernel_target().target)).bits;
}

/// Converts one scalar to another dtype by the rules of kernels; takes and returns bits.
uint64_t convert_scalar(const std::string &from, const std::string &to, uint64_t bits) {
  auto source = dtype_from_numpy(from), target = dtype_from_numpy(to);
  if (!source || !target) throw py::value_error(cat("no cast from ", from, " to ", to));
  return convert(*target, Value{*source, bits}).bits;
}

/// Returns the state of a kernel object. Throws for other objects.
KernelState &kernel_state(py::handle kernel) {
  KernelState *k = state_of(kernel.ptr());
  if (!k) throw py::error_already_set();
  return *k;
}

/// Returns the options of a kernel that differ from the defaults, by their names in Python.
py::dict options_of(py::handle kernel) {
  const KernelOptions &o = kernel_state(kernel).options;
  py::dict out;
  if (o.fp != FpMode::normal) out["fp"] = std::string(fp_name(o.fp));
  if (o.debug) out["debug"] = true;
  if (o.unchecked) out["unchecked"] = true;
  if (o.debug_info) out["debug_info"] = true;
  if (o.waits) out["wait"] = true;
  return out;
}

/// Raises the errors that the text of a kernel shows without any types.
void check_kernel(py::handle kernel) {
  if (!kernel_state(kernel).check()) throw py::error_already_set();
}

/// Returns the preimage of the cache key for a call, for tests.
std::string key_preimage(py::handle kernel, const py::tuple &args) {
  KernelState &k = kernel_state(kernel);
  CallFrame f;
  bool ok = k.refresh() && bind_arguments(k, PySequence_Fast_ITEMS(args.ptr()), args.size(), nullptr, f) &&
            read_arguments(k, f);
  if (!ok) throw py::error_already_set();
  return key_text(k.request(signature_of(f.words), Body::main));
}

/// Returns the keys of the specializations that a kernel holds, the last used first, for tests.
std::vector<std::string> held_versions(py::handle kernel) {
  std::vector<std::string> out;
  for (const auto &plan : kernel_state(kernel).plans) out.push_back(key_text(plan->request));
  return out;
}

/// Returns (calls, versions, compiled, loaded, seconds of compilation, seconds of loading).
py::tuple stats_of(py::handle kernel) {
  const KernelStats &s = kernel_state(kernel).stats;
  return py::make_tuple(s.calls, s.versions, s.compiled, s.loaded, s.compile_seconds, s.load_seconds);
}

/// What the bytes of an entry tell of it; only they decide whether it is damaged.
struct Judged {
  std::string state, name = "?", preimage{};  ///< preimage: of the key
};

Judged judge_bytes(std::string_view bytes) {
  if (is_of_another_version(bytes)) return {"of another version"};
  auto artifact = deserialize(bytes);
  if (!artifact) return {"damaged"};
  return {"sound", artifact->name, artifact->key};
}

/// Judges a file of the cache, which may also have a wrong mode or hold another entry than its name says.
Judged judge_entry(const Hash128 &key) {
  StoredEntry stored = process_jit().cache().inspect(key);
  if (!stored.is_readable) return {"not readable"};
  if (!stored.bytes) return {"damaged"};
  Judged found = judge_bytes(*stored.bytes);
  if (found.state != "sound") return found;
  if (hash_bytes(found.preimage) != key) return {"damaged", found.name};
  if (!stored.is_private) found.state = "not private";
  return found;
}

/// Returns a text of a file, which may be arbitrary bytes.
py::object shown(const std::string &text) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

/// Returns (state, key) of the bytes of an entry, wherever they are from; the key is "" unless it is sound.
py::tuple read_entry(const py::bytes &bytes) {
  Judged found = judge_bytes(std::string_view(bytes));
  return py::make_tuple(found.state, found.state == "sound" ? hash_bytes(found.preimage).text() : "");
}

/// Returns (key, bytes, last use in seconds since 1970, kernel name, state, preimage of the key) for each
/// entry of the cache; the preimage is "" for damaged ones and those of another version.
py::list cache_list() {
  py::list out;
  for (const CacheEntry &e : process_jit().cache().list()) {
    Judged found = judge_entry(Hash128::parse(e.key).value());
    out.append(py::make_tuple(e.key, e.bytes, e.used, shown(found.name), found.state, shown(found.preimage)));
  }
  return out;
}

/// Returns false with ImportError in a sub-interpreter: pybind11 would acquire the GIL by the main
/// interpreter's thread state there and deadlock.
bool in_main_interpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return true;
  PyErr_SetString(PyExc_ImportError,
                  "kernelwright cannot be imported in a sub-interpreter: import it in the main interpreter, "
                  "and use processes instead of sub-interpreters");
  return false;
}

/// Binds what the compiler does with a kernel besides calls.
void bind_compiler(py::module_ &m) {
  // guarded() converts C++ exceptions to Python ones; checked() passes those to pybind11
  m.def("inspect",
        [](py::handle kernel, const py::tuple &args, const py::dict &keywords, const std::string &stage) {
          return checked(
              guarded([&] { return inspect_kernel(kernel.ptr(), args, keywords, stage).release().ptr(); }));
        });
  m.def("explain",
        [](py::handle kernel, const py::tuple &args, const py::dict &keywords, const std::string &device) {
          return checked(
              guarded([&] { return explain_kernel(kernel.ptr(), args, keywords, device).release().ptr(); }));
        });
  m.def("warm", [](py::handle kernel, const py::tuple &args, const py::dict &keywords,
                   const std::vector<std::string> &targets, const std::vector<std::string> &devices) {
    return checked(
        guarded([&] { return warm_kernel(kernel.ptr(), args, keywords, targets, devices).release().ptr(); }));
  });
  m.def("count", [](py::handle kernel, const py::tuple &args, const py::dict &keywords) {
    return checked(guarded([&] { return count_kernel(kernel.ptr(), args, keywords).release().ptr(); }));
  });
  m.def("export",
        [](py::handle kernel, const py::tuple &args, const py::dict &keywords, const std::string &target,
           const std::string &symbol, const std::string &library, const std::string &header) {
          ExportRequest wanted{target, symbol, library, header};
          return checked(
              guarded([&] { return export_kernel(kernel.ptr(), args, keywords, wanted).release().ptr(); }));
        });
}

}  // namespace

// PYBIND11_MODULE with a condition
PYBIND11_MODULE_PYINIT(_core, if (!in_main_interpreter()) return nullptr;
                       pybind11::detail::get_num_interpreters_seen() += 1)
PYBIND11_MODULE_EXEC(_core, m) {
  if (!in_main_interpreter()) throw py::error_already_set();  // from 3.13 on init tests only the main one
  m.doc() = "The compiled part of kernelwright.";
  if (!import_numpy()) throw py::error_already_set();
  m.attr("Kernel") = checked(make_kernel_type());
  bind_operators(m);
  if (!add_device_functions(m.ptr())) throw py::error_already_set();
  // so that kernels called from C++ release the GIL and notice Ctrl-C like calls from Python
  set_runner(run_for_cpp);
  std::string file = py::str(m.attr("__file__"));
  set_package_folder(file.substr(0, file.rfind('/') + 1));
  set_call_place_finder(find_python_call);
  // a thread that waits for a compilation releases the GIL if it holds it
  set_waiter([](const std::function<void()> &body) {
    std::optional<py::gil_scoped_release> released;
    if (PyGILState_Check()) released.emplace();
    body();
  });
  m.attr("build_id") = std::string(build_id());
  m.attr("unknown_trips") = unknown_trips;
  m.def("codes", codes);
  m.def("set_debug", set_debug);
  m.def("target_class", [] { return kernel_target().target.class_name(); });
  m.def("target_error", [] { return kernel_target().error; });
  m.def("call_intrinsic", call_intrinsic);
  m.def("convert_scalar", convert_scalar);
  bind_compiler(m);
  m.def("hash_text", [](const py::bytes &bytes) { return hash_bytes(std::string_view(bytes)).text(); });
  m.def("set_recorder", [](py::handle recorder) { set_recorder(recorder.ptr()); });
  m.def("compile_recorded", [](const py::dict &request, const py::dict &source) {
    return checked(guarded([&] { return compile_recorded(request.ptr(), source.ptr()); }));
  });
  m.def("check", check_kernel);
  m.def("function_of",
        [](py::handle kernel) { return py::reinterpret_borrow<py::object>(kernel_state(kernel).function); });
  m.def("options_of", options_of);
  m.def("key_preimage", key_preimage);
  m.def("held_versions", held_versions);
  m.def("stats_of", stats_of);
  m.def("pass_on_log", pass_on_log);
  m.def("is_frozen", is_frozen);
  m.def("count_definition_lines", [](const std::string &text) { return count_definition_lines(text); });
  m.def("threads", thread_count);
  m.def("set_threads", set_thread_count);
  m.def("threads_problem", thread_count_problem);
  m.attr("max_threads") = max_threads;
  m.attr("max_text") = most_characters;
  m.def("cache_directory", [] { return process_jit().cache().directory(); });
  m.def("cache_size_problem", cache_size_problem);
  m.def("shared_caches", [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const SharedCache &c : process_jit().shared_caches()) out.emplace_back(c.directory(), c.problem());
    return out;
  });
  m.def("cache_problem", [] { return process_jit().cache_problem(); });
  m.def("cache_list", cache_list);
  m.def("cache_clear", [] { return process_jit().cache().clear(); });
  m.def("stack_left", stack_left);
  m.def("cache_trim", [] { return process_jit().cache().trim(); });
  m.def("read_entry", read_entry);
  m.def("cache_store", [](const std::string &key, const py::bytes &bytes) {
    auto h = Hash128::parse(key);
    return h ? process_jit().store_entry(*h, std::string_view(bytes)) : std::string("no key");
  });
  m.def("cache_remove", [](const std::string &key) {
    if (auto h = Hash128::parse(key)) process_jit().cache().remove(*h);
  });
}

}  // namespace kw
