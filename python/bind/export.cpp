// Compiles as warm-up does, and describes what was compiled (runtime/exported).
#include "bind/export.h"

#include <algorithm>

#include "bind/dispatch/dispatch.h"
#include "bind/inspect.h"
#include "bind/warm.h"
#include "runtime/exported/exported.h"
#include "support/text.h"

namespace py = pybind11;

namespace kw {

namespace {

/// Returns null with E508.
py::object refuse(const std::string &kernel, std::string_view why, std::string help = {}) {
  raise_error(Code::E508, cat("kernel '", kernel, "' cannot be exported: ", why), std::move(help));
  return {};
}

/// Returns whether a text is a name in C that the header does not use itself.
bool is_c_name(std::string_view name) {
  bool is_name = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
  for (char c : name)
    is_name &= c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_name && !is_c_word(name);
}

py::object to_python(const ExportedParts &parts, const std::string &symbol) {
  return py::make_tuple(py::bytes(parts.main), py::bytes(parts.plain), py::bytes(parts.description),
                        parts.header, symbol);
}

}  // namespace

py::object export_kernel(PyObject *kernel, const py::tuple &args, const py::dict &keywords,
                         const ExportRequest &wanted) {
  KernelState *k = state_of(kernel);
  if (!k || !k->look()) return {};
  auto target = target_from_name(wanted.target);
  CallFrame f;
  if (!target || !read_call(*k, args, keywords, f)) return {};
  KernelToExport out;
  out.symbol = wanted.symbol.empty() ? k->name : wanted.symbol;
  if (!is_c_name(out.symbol))
    return refuse(k->name, cat("'", out.symbol, "' is no name of a function in C and C++"),
                  "give one, as name=\"k\"");
  if (is_called_function(out.symbol))
    return refuse(k->name, cat("the library itself calls '", out.symbol, "' of C's library"),
                  "give another name, as name=\"k\"");
  out.library = wanted.library, out.header = wanted.header, out.target = *target;

  Request r = k->request(signature_of(f.words), Body::main);
  r.target = *target;
  CallPlan plan;
  if (!(plan.main = k->obtain(r))) return {};
  out.main = plan.main->artifact();
  for (const ParamRecord &p : out.main.params) plan.has_inout |= p.mode == ParamMode::inout;
  if (plan.has_inout && !check_written(*k, plan, f)) return {};
  if (f.same_views || f.in_source_order)
    return refuse(k->name, "an argument that it writes shares memory with another",
                  "exported kernels write arrays of their own");
  r.options.body = Body::plain;
  auto plain = k->obtain(r);
  if (!plain) return {};
  out.plain = plain->artifact();
  out.stack_bytes = std::max(plan.main->stack_bytes(), plain->stack_bytes());
  if (out.main.code_kind != CodeKind::elf || out.plain.code_kind != CodeKind::elf)
    return refuse(k->name, "it is interpreted, so there is no machine code", "unset KW_DEBUG");

  size_t shown = f.arg_count - k->captured.arrays.size();
  for (size_t i = 0; i < shown; ++i) out.arguments.push_back(parameter_name(*k, i));
  for (size_t i = shown; i < f.arg_count; ++i) out.captured.push_back(array_of(f.args[i]));
  out.places = k->place.texts();
  return to_python(export_parts(out), out.symbol);
}

}  // namespace kw
