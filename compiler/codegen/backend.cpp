// The table of back ends.
#include "codegen/backend.h"

#include "codegen/llvm_library.h"
#include "ir/print.h"
#include "schedule/choose_cpu.h"
#include "schedule/choose_gpu.h"
#include "support/text.h"
#include "transform/lowering/if_convert.h"
#include "transform/lowering/passes.h"
#include "transform/math/expand.h"
#include "transform/passes.h"

namespace kw {

namespace {

/// Lowers a scheduled function to the operations that machine code has. split_fma sees sums before
/// lower_reductions splits them. simplify folds what lower_reductions, expand_math and legalise_types
/// insert. guard_operations comes last: every integer division that a pass makes needs its guard.
constexpr Pass cpu_tail[] = {
    {"split_fma", split_fma},
    {"lower_reductions", lower_reductions},
    {"expand_math", expand_math},
    {"legalise_types", legalise_types},
    {"simplify", simplify},
    {"bound_trips", bound_trips},
    {"settle_vector_loops", settle_vector_loops},
    {"count_threads", count_threads},
    {"mark_recurrences", mark_recurrences},
    {"unroll_inner_loops", unroll_inner_loops},
    {"if_convert", if_convert},
    {"guard_operations", guard_operations},
};

/// Lowers a scheduled function to what one thread of a GPU executes, and to launches. The emitter makes
/// functions of the calls.
constexpr Pass gpu_tail[] = {
    {"form_launches", form_launches},   {"split_fma", split_fma}, {"lower_reductions", lower_reductions},
    {"legalise_types", legalise_types}, {"simplify", simplify},
};

/// Returns an ELF object. The first call opens the library of LLVM, unless open_llvm_early has done so.
EmittedCode emit_object(const Func &f, const Target &target, const SourcePlaces *places) {
  return {call_llvm(f, target, LlvmWant::object, places)};
}
/// Returns the printed IR, which the interpreter's loader parses again.
EmittedCode emit_ir(const Func &f, const Target &, const SourcePlaces *) { return {print(f)}; }
/// Returns the texts of the launches. NVRTC compiles them later, when a device is known.
EmittedCode emit_text(const Func &f, const Target &target, const SourcePlaces *places) {
  return emit_launches(f, target, places);
}

void prepare_nothing(const Target &) {}

}  // namespace

const Backend &find_backend(std::string_view name) {
  static const Backend table[] = {
      {"llvm", cpu_steps(), cpu_tail, CodeKind::elf, emit_object, open_llvm_early},
      {"cuda", gpu_steps(), gpu_tail, CodeKind::cuda, emit_text, prepare_nothing},
      {"interp", {}, {}, CodeKind::ir, emit_ir, prepare_nothing},
      // The IR that machine code and launches are made of, for tests of everything in front of an emitter.
      {"interp_lowered", cpu_steps(), cpu_tail, CodeKind::ir, emit_ir, prepare_nothing},
      {"interp_gpu", gpu_steps(), gpu_tail, CodeKind::ir, emit_ir, prepare_nothing}};
  for (const Backend &b : table)
    if (b.name == name) return b;
  internal_error(__FILE__, __LINE__, cat("no back end is called ", name));
}

}  // namespace kw
