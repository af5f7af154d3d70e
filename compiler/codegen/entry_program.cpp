// Writes the parts of a program in the order in which its results are read.
#include "codegen/entry_program.h"

#include "analysis/affine.h"
#include "codegen/stack_code.h"
#include "ir/build.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

EntryProgram build_entry_program(const Func &f, const WorkEstimate &work, const SourceMap &sources) {
  EntryProgram out;
  StackCode b(f);
  // The order matters: each out_extent takes the next extent of the next output.
  for (const Param &p : f.params) {
    if (!p.buf || p.mode != ParamMode::out) continue;
    for (const Expr &e : p.buf->extents) {
      if (!b.expression(e))
        throw CompileError(Diagnostic{Code::E206,
                                      e.loc().known() ? e.loc() : p.buf->sym->loc,
                                      cat("the extents of output '", p.buf->sym->name,
                                          "' must follow from shapes and integer arguments"),
                                      {},
                                      {"pass the size as an argument"}});
      b.op(Op::out_extent);
      Resolved at = resolve(Diagnostic{Code::E304, p.buf->sym->loc, {}, {}, {}}, sources);
      out.extent_places.push_back({at.line, at.column, at.end_column, at.line_text});
    }
  }
  for (const Expr &fact : f.facts) {
    ensure(b.expression(fact), "a fact that the entry program cannot express");
    b.op(Op::fact);
  }
  for (const WorkspaceSlot &slot : plan_workspace(f)) {
    Expr bytes = slot.bytes;
    // Threads allocate it later. Here only a size that is too large, or wraps, is reported.
    if (slot.per_thread) {
      Expr most = const_int(max_extent);
      bytes = select(binary(BinOp::lt, bytes, most), const_int(0), most);
    }
    ensure(b.expression(bytes), "a workspace size that the entry program cannot express");
    b.op(Op::workspace);
  }
  out.bounded = work.bounded;
  out.code = b.take();
  // Unlike the parts above, the estimate may have no code; the kernel then counts as unbounded work.
  StackCode estimate(f);
  if (estimate.expression(work.operations)) {
    estimate.op(Op::work);
    out.code += estimate.take();
  } else {
    out.bounded = false;
  }
  return out;
}

}  // namespace kw
