// The extension module kernelwright._core_testing: parts of the compiler that only tests call. It is next to
// the package in the build tree and is not installed.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <tuple>

#include "codegen/backend.h"
#include "codegen/llvm_library.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "runtime/jit.h"
#include "runtime/launch.h"
#include "runtime/memory/buffer.h"
#include "runtime/versions/entry.h"
#include "schedule/replay.h"
#include "schedule/schedule.h"
#include "support/hash.h"
#include "support/text.h"

namespace py = pybind11;

namespace kw {

namespace {

/// Compiles text for given dtypes and ranks without running it. Returns the diagnostics as text, or "".
std::string compile_text(const std::string &text, const std::vector<std::pair<std::string, int>> &tensors) {
  Request r;
  r.name = "text";
  r.target = kernel_target().target;
  // the tests check diagnostics, not machine code
  r.backend = "interp";
  for (const auto &[dtype, rank] : tensors) {
    ArgSpec a;
    a.dtype = dtype_from_numpy(dtype).value_or(DType::f32);
    a.rank = static_cast<uint8_t>(rank);
    r.signature.args.push_back(a);
  }
  try {
    compile_request(r, {text, "<text>", 1});
    return {};
  } catch (const ResolvedError &e) {
    std::string out;
    for (const Resolved &d : e.errors) out += render(d, "<text>", 1);
    return out.empty() ? "error" : out;
  }
}

/// Returns the errors of kernel.check() in a text, rendered, or "".
std::string check_rendered(const std::string &text) {
  std::string out;
  for (const Resolved &d : check_text({text, "<text>", 1}, {})) out += render(d, "<text>", 1);
  return out;
}

/// Returns print(f), the error, and whether parse(print(f)) equals f. The first is empty if the text is not
/// IR.
py::tuple round_trip(const std::string &text) {
  std::string error;
  auto first = parse_ir_text(text, error);
  if (!first) return py::make_tuple("", error, false);
  std::string printed = print(*first);
  auto second = parse_ir_text(printed, error);
  return py::make_tuple(printed, error, second && equal(*first, *second));
}

/// Returns the IR after the directives of a schedule, or "" and the error in one of them.
std::pair<std::string, std::string> schedule_ir(const std::string &ir, const std::string &schedule) {
  std::string error;
  auto f = parse_ir_text(ir, error);
  if (!f) return {"", error};
  SourceMap sources;
  uint32_t text = sources.add_text("<schedule>", 0, schedule);
  LoopNest nest(*f);
  try {
    auto refused = replay(nest, sources, text);
    if (!refused) return {print(nest.func()), ""};
    // the message quotes the line of the refused directive
    return {"", cat("refused: ",
                    sources.text(text).substr(refused->line.begin, refused->line.end - refused->line.begin))};
  } catch (const CompileError &e) {
    return {"", render(resolve(e.found()[0], sources), "<schedule>", 1)};
  }
}

/// Returns the IR after a plan that assumes each directive of a schedule to be legal, and a warning if one is
/// not.
std::pair<std::string, std::string> planned_ir(const std::string &ir, const std::string &schedule) {
  std::string error;
  auto f = parse_ir_text(ir, error);
  if (!f) return {"", error};
  SourceMap sources;
  sources.add_text("<ir>", 0, ir);
  uint32_t text = sources.add_text("<schedule>", 0, schedule);
  LoopNest nest(*f);
  run_or_restore(nest, [&](LoopNest &n) {
    for (Loc line : directive_lines(sources, text))
      n.require(parse_directive(n.func(), n.nest(), sources, line));
  });
  std::string warned;
  for (const Diagnostic &d : nest.func().warnings) warned += render(resolve(d, sources), "<plan>", 1);
  return {print(nest.func()), warned};
}

/// Returns the code sections of a safe function, scheduled and scheduled anew by the printed directives; and
/// an error of the replay.
std::tuple<py::bytes, py::bytes, std::string> scheduled_codes(const std::string &ir) {
  std::string error;
  auto f = parse_ir_text(ir, error);
  if (!f) return {"", "", error};
  const Backend &backend = find_backend("llvm");
  const Target &target = kernel_target().target;
  auto code = [&](const Func &scheduled) {
    return backend.emit(run_passes(backend.lowering, scheduled, target), target, nullptr).bytes;
  };
  Schedule chosen = backend.schedule(*f, target, true);
  Replayed again = replayed(*f, texts_of(chosen.steps));
  return {code(chosen.func), code(again.func), again.error};
}

/// Returns the IR as code generation receives it, and the warnings of the passes.
std::pair<std::string, std::string> lowered_ir(const std::string &ir) {
  std::string error;
  auto f = parse_ir_text(ir, error);
  if (!f) return {"", error};
  SourceMap sources;
  sources.add_text("<ir>", 0, ir);
  Func out = run_passes(find_backend("llvm").lowering, *f, kernel_target().target);
  std::string warned;
  for (const Diagnostic &d : out.warnings) warned += render(resolve(d, sources), "<ir>", 1);
  return {print(out), warned};
}

/// Runs printed IR as machine code on the memory of arrays, under Ctrl-C as kernels do. Returns the status
/// and the fault's value. For loops that the front end does not write.
std::pair<int, int64_t> run_ir(const std::string &text, const std::vector<py::buffer> &arrays,
                               const std::vector<int64_t> &dims) {
  std::vector<py::buffer_info> views;
  std::vector<void *> data;
  for (const py::buffer &array : arrays) data.push_back(views.emplace_back(array.request(true)).ptr);
  std::string error;
  RunResult r;
  // the GIL is released in this block, also while the IR is compiled; only `look` acquires it
  {
    py::gil_scoped_release released;
    if (auto kernel = load_ir_text(text, error)) {
      EntryResult entry = evaluate_entry(kernel->artifact().program, dims.data(), dims.size(), nullptr, 0);
      r = run_watched(*kernel, {data.data(), dims.data(), nullptr, entry.workspace}, [] {
        py::gil_scoped_acquire held;
        return PyErr_CheckSignals() != 0;
      });
    }
  }
  // exceptions are thrown after the GIL is reacquired
  if (!error.empty()) throw py::value_error(error);
  if (PyErr_Occurred()) throw py::error_already_set();
  return {r.status, r.fault.value};
}

/// Provokes a failure of LLVM (see llvm_library.h) and returns the contained error.
std::string llvm_fault(const std::string &ir, int what) {
  std::string error;
  auto f = parse_ir_text(ir, error);
  return f ? provoke_llvm_fault(*f, kernel_target().target, what) : error;
}

/// Returns the checksum of a cache entry with these bytes.
py::bytes checksum(const py::bytes &bytes) {
  Hash128 h = hash_bytes(std::string_view(bytes));
  std::string out;
  // 16 bytes: the low half first, each half with its lowest byte first
  for (uint64_t half : {h.low, h.high})
    for (int i = 0; i < 8; ++i) out += static_cast<char>(half >> (8 * i));
  return py::bytes(out);
}

}  // namespace

PYBIND11_MODULE(_core_testing, m) {
  m.doc() = "Parts of kernelwright that its tests call.";
  m.def("compile_text", compile_text);
  m.def("check_text", check_rendered);
  m.def("round_trip", round_trip);
  m.def("schedule_ir", schedule_ir);
  m.def("planned_ir", planned_ir);
  m.def("lowered_ir", lowered_ir);
  m.def("scheduled_codes", scheduled_codes);
  m.def("run_ir", run_ir);
  m.def("llvm_fault", llvm_fault);
  m.def("kept_memory", kept_buffer_bytes);
  m.def("give_back_memory", give_back_buffers);
  m.def("checksum", checksum);
}

}  // namespace kw
