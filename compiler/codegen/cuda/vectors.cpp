// The body is emitted twice.
#include "codegen/cuda/vectors.h"

#include "codegen/cuda/statements.h"
#include "ir/build.h"

namespace kw {

namespace {

/// One access, and the variable of its elements.
struct Vector {
  VectorAccess access;
  std::string type, variable;
};

std::vector<Vector> vectors_of(const For &n, CudaNames &names) {
  std::vector<Vector> out;
  for (VectorAccess &a : vector_accesses(n)) {
    std::string type = cat("kw_vec<", cuda_memory_type(a.buf->dtype), ", ", n.how.vector_width, ">");
    std::string variable = names.fresh(cat(a.buf->sym->name, "_", n.how.vector_width));
    out.push_back({std::move(a), std::move(type), std::move(variable)});
  }
  return out;
}

}  // namespace

std::string vectors_are_aligned(const For &n, CudaStatements &out) {
  std::vector<std::string> conditions, lengths;
  auto rows_of = [&](const Expr &length) {
    out.expressions().begin({length});
    std::string text = cat(out.expressions().subscript(length), " % ", n.how.vector_width, " == 0");
    if (std::find(conditions.begin(), conditions.end(), text) == conditions.end()) conditions.push_back(text);
  };
  for (const VectorAccess &a : vector_accesses(n)) {
    size_t bytes = n.how.vector_width * item_size(a.buf->dtype);
    conditions.push_back(cat("(u64)", out.names().of(a.buf->sym), " % ", bytes, " == 0"));
    if (n.how.flatten) continue;
    // Each row begins a multiple of the vectors behind the first one.
    if (a.buf->rank() > 1 && a.buf->strides.empty()) rows_of(a.buf->extents.back());
    for (size_t d = 0; d + 1 < a.buf->strides.size(); ++d) rows_of(a.buf->strides[d]);
  }
  return conditions.empty() ? "false" : join_text(conditions, " && ");
}

void emit_vector(const For &n, const Several &mine, const std::string &aligned, CudaStatements &out) {
  CudaText &text = out.text();
  const std::string &first = mine.first, &end = mine.end;
  uint32_t width = n.how.vector_width;
  std::vector<Vector> vectors = vectors_of(n, out.names());
  std::string iterator = out.names().of(n.iter), u = out.names().fresh("u");
  auto address = [&](const Vector &v) {
    out.names().set(n.iter, first);
    out.expressions().begin(v.access.index);
    std::string at = out.expressions().place(v.access.buf, v.access.index);
    out.names().set(n.iter, iterator);
    return cat("(", v.access.is_stored ? "" : "const ", v.type, " *)&", at);
  };
  text.open(cat("if (", aligned, " && ", first, " + ", width, " <= ", end, ")"));
  for (const Vector &v : vectors)
    text.line(cat(v.type, " ", v.variable, v.access.is_loaded ? cat(" = kw_ld(", address(v), ")") : "", ";"));
  text.line("#pragma unroll");
  text.open(cat("for (i32 ", u, " = 0; ", u, " < ", width, "; ", u, "++)"));
  text.line(cat("const i64 ", iterator, " = ", first, " + ", u, ";"));
  for (const Vector &v : vectors)
    out.expressions().redirect(v.access.buf, v.access.index, cat(v.variable, ".v[", u, "]"));
  out.block(n.body);
  for (const Vector &v : vectors) out.expressions().restore(v.access.buf.get());
  text.close();
  for (const Vector &v : vectors)
    if (v.access.is_stored) text.line(cat("kw_st(", address(v), ", ", v.variable, ");"));
  text.otherwise();
  // The threads of a warp access memory side by side in both cases: only the last vector of a row is cut
  // short.
  std::string at = out.names().fresh("at"), by = out.names().fresh("by"), last = out.names().fresh("last");
  int64_t others = (width - 1) * mine.threads;
  text.line(cat("const i64 ", by, " = ", aligned, " ? 1 : ", mine.threads, ";"));
  text.line(
      cat("const i64 ", at, " = ", aligned, " ? ", first, " : ", first, " - kw_thread * ", width - 1, ";"));
  text.line(cat("const i64 ", last, " = kw_min<i64>(", end, ", ", at, " + (", aligned, " ? ", width, " : ",
                others + 1, "));"));
  text.line("#pragma unroll 1");
  text.open(
      cat("for (i64 ", iterator, " = ", at, "; ", iterator, " < ", last, "; ", iterator, " += ", by, ")"));
  out.block(n.body);
  text.close();
  text.close();
}

void emit_unrolled(const For &n, const Several &mine, CudaStatements &out) {
  CudaText &text = out.text();
  int64_t copies = n.how.unroll;
  std::string u = out.names().fresh("u"),
              k = mine.lo.empty() ? out.names().of(n.iter) : out.names().fresh("k");
  auto body = [&] {
    if (!mine.lo.empty()) out.define(n.iter, cat(mine.lo, " + ", k, n.step == 1 ? "" : cat(" * ", n.step)));
    out.block(n.body);
    text.close();
  };
  text.open(cat("if (", mine.first, " + ", (copies - 1) * mine.threads, " < ", mine.end, ")"));
  text.line("#pragma unroll");
  text.open(cat("for (i32 ", u, " = 0; ", u, " < ", copies, "; ", u, "++)"));
  text.line(cat("const i64 ", k, " = ", mine.first, " + ", u, " * ", mine.threads, ";"));
  body();
  text.otherwise();
  text.line("#pragma unroll 1");
  text.open(
      cat("for (i64 ", k, " = ", mine.first, "; ", k, " < ", mine.end, "; ", k, " += ", mine.threads, ")"));
  body();
  text.close();
}

}  // namespace kw
