// The fields of a request, written and read in one place, so that a new field cannot be forgotten in one of
// them.
#include "bind/dispatch/recorded.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <tuple>

#include "bind/dispatch/log.h"
#include "runtime/cuda/cubins.h"
#include "support/text.h"
#include "transform/pass.h"

namespace py = pybind11;

namespace kw {

namespace {

constexpr int deepest_capture = 16;  // chosen: capture describes tuples of at most four levels

[[noreturn]] void refuse(const std::string &what) { throw py::value_error(what); }

/// Returns the value of a key; throws ValueError if it is missing or of another type.
template <class T>
T field(const py::dict &from, const char *name) {
  if (!from.contains(name)) refuse(cat("'", name, "' is missing"));
  try {
    return py::cast<T>(from[name]);
  } catch (const py::cast_error &) {
    refuse(cat("'", name, "' has a value of a wrong type"));
  }
}

/// Returns an enumerator by its number, of `count`.
template <class E>
E enumerator(int value, int count, const char *name) {
  if (value < 0 || value >= count) refuse(cat("'", name, "' has the value ", value, ", which none has"));
  return static_cast<E>(value);
}

/// Returns a text field. Lone surrogates, which pybind11 refuses, are kept.
std::string text_field(const py::dict &from, const char *name) {
  auto value = field<py::object>(from, name);
  if (!py::isinstance<py::str>(value)) refuse(cat("'", name, "' has a value of a wrong type"));
  return utf8(value.ptr());
}

py::object text_to_python(const std::string &text) {
  PyObject *out = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass");
  if (!out) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(out);
}

/// Returns the float64 of these bits, in hexadecimal digits.
double real_of(const std::string &digits) {
  uint64_t bits = 0;
  bool has_prefix = digits.starts_with("0x");
  const char *begin = digits.data() + (has_prefix ? 2 : 0), *end = digits.data() + digits.size();
  auto [read, error] = std::from_chars(begin, end, bits, 16);
  if (error != std::errc{} || read != end) refuse("'real' is no hexadecimal number");
  return std::bit_cast<double>(bits);
}

DType dtype_of(const std::string &name) {
  auto found = dtype_from_numpy(name);
  if (!found) refuse(cat("'", name, "' is no dtype"));
  return *found;
}

py::dict captures_to_python(const Captures &captures);

/// Writes only what differs from the default, because manifests are read by people too.
py::dict captured_to_python(const Captured &c) {
  py::dict out;
  out["kind"] = static_cast<int>(c.kind);
  if (c.integer) out["integer"] = *c.integer;
  if (c.exceeds_int64) out["exceeds_int64"] = true;
  if (std::bit_cast<uint64_t>(c.real) != 0) out["real"] = hex_text(std::bit_cast<uint64_t>(c.real));
  if (c.dtype != DType::f64) out["dtype"] = std::string(numpy_name(c.dtype));
  if (!c.text.empty()) out["text"] = text_to_python(c.text);
  py::list items;
  for (const Captured &item : c.items) items.append(captured_to_python(item));
  if (!c.items.empty()) out["items"] = items;
  if (!c.attributes.empty()) out["attributes"] = captures_to_python(c.attributes);
  return out;
}

py::dict captures_to_python(const Captures &captures) {
  py::dict out;
  for (const auto &[name, value] : captures) out[text_to_python(name)] = captured_to_python(value);
  return out;
}

Captures captures_from_python(const py::dict &from, int depth);

Captured captured_from_python(const py::dict &from, int depth) {
  if (depth > deepest_capture) refuse("'captures' is nested too deeply");
  Captured c;
  c.kind = enumerator<Captured::Kind>(field<int>(from, "kind"), static_cast<int>(Captured::Kind::other) + 1,
                                      "kind");
  if (from.contains("integer")) c.integer = field<int64_t>(from, "integer");
  if (from.contains("exceeds_int64")) c.exceeds_int64 = field<bool>(from, "exceeds_int64");
  if (from.contains("real")) c.real = real_of(text_field(from, "real"));
  if (from.contains("dtype")) c.dtype = dtype_of(text_field(from, "dtype"));
  if (from.contains("text")) c.text = text_field(from, "text");
  if (from.contains("items"))
    for (auto item : field<py::list>(from, "items"))
      c.items.push_back(captured_from_python(py::cast<py::dict>(item), depth + 1));
  if (from.contains("attributes"))
    c.attributes = captures_from_python(field<py::dict>(from, "attributes"), depth + 1);
  return c;
}

Captures captures_from_python(const py::dict &from, int depth) {
  Captures out;
  for (auto [name, value] : from)
    out.emplace_back(utf8(name.ptr()), captured_from_python(py::cast<py::dict>(value), depth));
  return out;
}

}  // namespace

py::tuple argument_to_python(const ArgSpec &a) {
  auto [kind, dtype, rank, stride_class, alias] = a;
  return py::make_tuple(static_cast<int>(kind), std::string(numpy_name(dtype)), static_cast<int>(rank),
                        static_cast<int>(stride_class), alias == UINT8_MAX ? -1 : static_cast<int>(alias));
}

namespace {

ArgSpec argument_from_python(py::handle from) {
  auto [kind, dtype, rank, strides, alias] = py::cast<std::tuple<int, std::string, int, int, int>>(
      py::tuple(py::reinterpret_borrow<py::object>(from)));
  if (rank < 0 || rank > static_cast<int>(max_rank)) refuse(cat("'args' has the rank ", rank));
  if (alias < -1 || alias >= static_cast<int>(max_args)) refuse(cat("'args' has the alias ", alias));
  return {enumerator<ArgKind>(kind, 4, "args"), dtype_of(dtype), static_cast<uint8_t>(rank),
          enumerator<StrideClass>(strides, 3, "args"),
          alias < 0 ? uint8_t{UINT8_MAX} : static_cast<uint8_t>(alias)};
}

py::dict request_to_python(const Request &r) {
  auto [name, identity, captures, signature, options, target, backend, derive, places] =
      r;  // the text has its place
  ensure(derive.empty(), "no derivation is implemented");
  py::dict out, chosen;
  out["name"] = text_to_python(name);
  out["identity"] = identity;
  out["captures"] = captures_to_python(captures);
  py::list args, outs, out_aliases;
  for (const ArgSpec &a : signature.args) args.append(argument_to_python(a));
  for (StrideClass c : signature.outs) outs.append(static_cast<int>(c));
  for (uint8_t alias : signature.out_aliases) out_aliases.append(static_cast<int>(alias));
  out["args"] = args, out["outs"] = outs, out["out_aliases"] = out_aliases;
  auto [fp, body, debug, unchecked, asserts, debug_info] = options;
  chosen["fp"] = static_cast<int>(fp), chosen["body"] = static_cast<int>(body);
  chosen["debug"] = debug, chosen["unchecked"] = unchecked, chosen["asserts"] = asserts;
  chosen["debug_info"] = debug_info;
  out["options"] = chosen;
  out["target"] = target.class_name();
  if (target.grain) out["grain"] = *target.grain;
  out["backend"] = backend;
  return out;
}

CodegenOptions options_from_python(const py::dict &from) {
  CodegenOptions out;
  auto &[fp, body, debug, unchecked, asserts, debug_info] = out;
  fp = enumerator<FpMode>(field<int>(from, "fp"), 3, "fp");
  body = enumerator<Body>(field<int>(from, "body"), 3, "body");
  debug = field<bool>(from, "debug");
  unchecked = field<bool>(from, "unchecked");
  asserts = field<bool>(from, "asserts");
  debug_info = field<bool>(from, "debug_info");
  return out;
}

Request request_from_python(const py::dict &from) {
  Request r;
  r.name = text_field(from, "name");
  r.identity = text_field(from, "identity");
  r.captures = captures_from_python(field<py::dict>(from, "captures"), 0);
  for (auto a : field<py::list>(from, "args")) r.signature.args.push_back(argument_from_python(a));
  if (r.signature.args.size() > max_args) refuse("'args' has more arguments than a kernel can have");
  for (int c : field<std::vector<int>>(from, "outs"))
    r.signature.outs.push_back(enumerator<StrideClass>(c, 3, "outs"));
  for (int alias : field<std::vector<int>>(from, "out_aliases"))
    r.signature.out_aliases.push_back(static_cast<uint8_t>(enumerator<int>(alias, 256, "out_aliases")));
  r.options = options_from_python(field<py::dict>(from, "options"));
  auto name = text_field(from, "target");
  auto target = target_of_class(name);
  if (!target) refuse(cat("there is no target '", name, "'"));
  r.target = *target;
  if (from.contains("grain"))
    r.target.grain = static_cast<uint32_t>(enumerator<int>(field<int>(from, "grain"), 41, "grain"));
  r.backend = text_field(from, "backend");
  if (r.backend != (r.target.is_gpu() ? "cuda" : "llvm"))
    refuse(cat("the back end '", r.backend, "' stores no code for machines"));
  return r;
}

py::dict source_to_python(const SourceText &s) {
  py::dict out;
  py::list callees;
  for (const SourceText &callee : s.callees) callees.append(source_to_python(callee));
  out["text"] = text_to_python(s.text), out["path"] = text_to_python(s.path), out["line"] = s.first_line;
  if (!s.callees.empty()) out["callees"] = callees;
  return out;
}

SourceText source_from_python(const py::dict &from) {
  SourceText out{text_field(from, "text"), text_field(from, "path"), field<uint32_t>(from, "line"), {}};
  if (from.contains("callees"))
    for (auto callee : field<py::list>(from, "callees"))
      out.callees.push_back(source_from_python(py::cast<py::dict>(callee)));
  return out;
}

}  // namespace

/// The callable of set_recorder; null if nothing records. Used under the GIL, and never destroyed.
static py::object &callable() {
  static auto &held = *new py::object;
  return held;
}

/// Calls the recorder. Its exceptions end with a message: the call of the kernel goes on.
static void call_recorder(const Request &r, const SourceText &source, const py::list &functions) {
  if (!callable() || r.backend.starts_with("interp")) return;
  try {
    callable()(request_to_python(r), source_to_python(source), functions);
  } catch (py::error_already_set &error) {
    error.discard_as_unraisable("recording a version of a kernel");
  }
}

void set_recorder(PyObject *recorder) {
  bool is_on = recorder != Py_None;
  callable() = is_on ? py::reinterpret_borrow<py::object>(recorder) : py::object();
  process_jit().set_recorder(!is_on ? Recorder() : [](const Request &r, const SourceText &source) {
    py::gil_scoped_acquire gil;
    call_recorder(r, source, py::list());
  });
}

bool is_recording_versions() { return bool(callable()); }

void record_version(const KernelState &k, const Request &r, const SourceText &source) {
  py::list functions;
  auto add = [&](PyObject *function, const PyRef &code) {
    functions.append(py::make_tuple(py::reinterpret_borrow<py::object>(function),
                                    py::reinterpret_borrow<py::object>(code.get())));
  };
  add(k.function, k.code);
  for (const Callee &callee : k.captured.callees) add(callee.function.get(), callee.code);
  call_recorder(r, source, functions);
}

PyObject *compile_recorded(PyObject *request, PyObject *source) {
  Request r;
  SourceText text;
  try {
    r = request_from_python(py::reinterpret_borrow<py::dict>(request));
    text = source_from_python(py::reinterpret_borrow<py::dict>(source));
  } catch (const std::runtime_error &e) {  // of pybind11's casts, and of refuse()
    PyErr_SetString(PyExc_ValueError, e.what());
    return nullptr;
  }
  r.places = {{text.path, text.first_line}};
  for (const SourceText &callee : text.callees) r.places.push_back({callee.path, callee.first_line});
  LogPasser log;
  double begin = now_ms();
  bool is_stored = false;
  try {
    py::gil_scoped_release released;
    if (r.target.is_gpu()) {
      warm_device(r, text, is_stored);
    } else {
      is_stored = process_jit().find(r) != nullptr;
      if (!is_stored) process_jit().compile(r, text);
    }
  } catch (const ResolvedError &e) {
    KernelPlace place{text.path, text.first_line, {}};
    for (const SourceText &callee : text.callees) place.callees.push_back({callee.path, callee.first_line});
    return raise_errors(e.errors, place);
  }
  return py::make_tuple(key_of(r).text(), is_stored, now_ms() - begin).release().ptr();
}

}  // namespace kw
