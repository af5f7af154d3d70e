// The body of a loop whose memory may be misaligned is emitted twice.
#include "codegen/cuda/vectors.h"

#include "analysis/gpu/side_by_side.h"
#include "codegen/cuda/statements.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/diagnostic.h"

namespace kw {

namespace {

/// One access, and the variable of its elements.
struct Vector {
  VectorAccess access;
  std::string type, variable;
};

std::vector<Vector> vectors_of(const VectorLoop &loop, uint32_t width, CudaNames &names) {
  std::vector<Vector> out;
  for (const VectorAccess &a : loop.accesses) {
    std::string type = cat("kw_vec<", cuda_memory_type(a.buf->dtype), ", ", width, ">");
    std::string variable = names.fresh(cat(a.buf->sym->name, "_", width));
    out.push_back({a, std::move(type), std::move(variable)});
  }
  return out;
}

/// Emits the iterations of the block's threads one by one, as many for each as it has. The threads of a warp
/// access memory side by side: where it is aligned, their vectors, of which only the last ones of a row are
/// cut short; else elements.
void one_by_one(const For &n, const ThreadIterations &mine, const std::string &aligned, CudaStatements &out) {
  CudaText &text = out.text();
  int64_t width = n.how.vector_width, groups = std::max<int64_t>(n.how.unroll, 1),
          apart = width * mine.threads;
  std::string e = out.names().fresh("e"), iterator = out.names().of(n.iter), begin = mine.first;
  std::string in_vectors = groups > 1 ? cat(e, " / ", width, " * ", apart, " + ", e, " % ", width) : e;
  text.line("#pragma unroll 1");
  text.open(cat("for (i32 ", e, " = 0; ", e, " < ", width * groups, "; ", e, "++)"));
  text.line(cat("const i64 ", iterator, " = ", aligned, " ? ", begin, " + ", in_vectors, " : ", begin,
                " - kw_thread * ", width - 1, " + ", e, " * ", mine.threads, ";"));
  text.line(cat("if (", iterator, " >= ", mine.end, ") break;"));
  out.block(n.body);
  text.close();
}

}  // namespace

std::string vectors_are_aligned(const For &n, const VectorLoop &loop, CudaStatements &out) {
  std::vector<std::string> conditions;
  auto is_multiple = [&](const Expr &size) {
    out.expressions().begin({size});
    std::string text = out.expressions().subscript(size);
    text = cat(as<Ref>(size) || as<Const>(size) ? text : cat("(", text, ")"), " % ", n.how.vector_width,
               " == 0");
    if (std::find(conditions.begin(), conditions.end(), text) == conditions.end()) conditions.push_back(text);
  };
  for (const VectorAccess &a : loop.accesses) {
    size_t bytes = n.how.vector_width * item_size(a.buf->dtype);
    if (!is_team_array(*a.buf))
      conditions.push_back(cat("(u64)", out.names().of(a.buf->sym), " % ", bytes, " == 0"));
    if (n.how.flatten) continue;
    for (const Expr &e : multiples_in_rows(a)) is_multiple(e);
  }
  if (conditions.empty()) return loop.accesses.empty() ? "false" : "true";
  return join_text(conditions, " && ");
}

namespace {

/// Emits what is executed for each group of a thread.
class GroupEmitter {
 public:
  GroupEmitter(const For &n, const VectorLoop &loop, const Groups &groups, CudaStatements &out)
      : n_(n),
        parts_(loop.parts),
        groups_(groups),
        out_(out),
        text_(out.text()),
        vectors_(vectors_of(loop, n.how.vector_width, out.names())),
        iterator_(out.names().of(n.iter)),
        group_(groups.count > 1 ? out.names().fresh("group") : ""),
        first_(groups.count > 1 ? out.names().fresh("first") : groups.begin),
        u_(out.names().fresh("u")),
        value_(groups.lo.empty() ? first_ : cat("(", groups.lo, " + ", first_, ")")) {
    ensure(groups.count > 1 || groups.end.empty(), "a single group may lie behind the end");
  }

  void load_and_execute(const EmitIteration &iteration) {
    std::string count = group_.empty() ? "" : cat("[", groups_.count, "]");
    bool loads = false;
    for (const Vector &v : vectors_) {
      text_.line(cat(v.type, " ", v.variable, count, ";"));
      loads = loads || v.access.is_loaded;
    }
    if (loads)
      each_group([&] {
        for (const Vector &v : vectors_)
          if (v.access.is_loaded) text_.line(cat(element(v), " = kw_ld(", address(v), ");"));
      });
    each_group([&] { execute(iteration); });
  }

  void copy() {
    each_group([&] {
      walk(parts_.inner, [&](const Store &s, const Stmt &) {
        const Load &from = *as<Load>(s.value);
        text_.line(cat("kw_copy_async(", address(vector_at(s.buf, s.index)), ", ",
                       address(vector_at(from.buf, from.index)), ");"));
      });
    });
  }

 private:
  void at(const std::string &place) { out_.names().set(n_.iter, place); }
  std::string element(const Vector &v) const {
    return group_.empty() ? v.variable : cat(v.variable, "[", group_, "]");
  }
  std::string address(const Vector &v) const {
    out_.expressions().begin(v.access.index);
    return cat("(", v.access.is_stored ? "" : "const ", v.type, " *)&",
               out_.expressions().place(v.access.buf, v.access.index));
  }
  const Vector &vector_at(const Buf &b, const std::vector<Expr> &index) const {
    auto found = std::find_if(vectors_.begin(), vectors_.end(), [&](const Vector &v) {
      return v.access.buf == b && equal(v.access.index, index);
    });
    ensure(found != vectors_.end(), "a copy of vectors accesses single elements");
    return *found;
  }

  void each_group(const std::function<void()> &body) {
    if (group_.empty()) {
      text_.open("");
    } else {
      text_.line("#pragma unroll");
      text_.open(cat("for (i32 ", group_, " = 0; ", group_, " < ", groups_.count, "; ", group_, "++)"));
      text_.line(cat("const i64 ", first_, " = ", groups_.begin, " + ", group_, " * ", groups_.apart, ";"));
      if (!groups_.end.empty()) text_.line(cat("if (", first_, " >= ", groups_.end, ") continue;"));
    }
    at(value_);
    for (const Stmt &s : parts_.names) out_.define(as<Let>(s)->sym, as<Let>(s)->value);
    body();
    at(iterator_);
    text_.close();
  }

  void execute(const EmitIteration &iteration) {
    at(iterator_);
    for (const Vector &v : vectors_)
      out_.expressions().redirect(v.access.buf, v.access.index, cat(element(v), ".v[", u_, "]"));
    text_.line("#pragma unroll");
    text_.open(cat("for (i32 ", u_, " = 0; ", u_, " < ", n_.how.vector_width, "; ", u_, "++)"));
    execute_one(iteration);
    text_.close();
    for (const Vector &v : vectors_) out_.expressions().restore(v.access.buf.get());
    at(value_);
    for (const Vector &v : vectors_)
      if (v.access.is_stored)
        text_.line(cat(is_team_array(*v.access.buf) ? "kw_st_shared(" : "kw_st(", address(v), ", ",
                       element(v), ");"));
  }

  /// NVRTC does not know that the first one is a multiple: what is the same for all comes from the names of
  /// the first one.
  void execute_one(const EmitIteration &iteration) {
    SideBySide values(n_, n_.how.vector_width, parts_.names);
    GuardedBody others{{}, {}, parts_.inner};
    for (const Stmt &s : parts_.names)
      if (!values.is_fixed(as<Let>(s)->value)) others.names.push_back(s);
    iteration(cat(first_, " + ", u_), with_names(others, others.inner));
  }

  const For &n_;
  const GuardedBody &parts_;
  const Groups &groups_;
  CudaStatements &out_;
  CudaText &text_;
  std::vector<Vector> vectors_;
  std::string iterator_, group_, first_, u_;
  std::string value_;  ///< of the iterator, at the first of a group
};

}  // namespace

void emit_groups(const For &n, const VectorLoop &loop, const Groups &groups, CudaStatements &out,
                 const EmitIteration &iteration) {
  GroupEmitter(n, loop, groups, out).load_and_execute(iteration);
}

void emit_copies(const For &n, const VectorLoop &loop, const Groups &groups, CudaStatements &out) {
  GroupEmitter(n, loop, groups, out).copy();
}

void emit_vector_loop(const For &n, CudaStatements &out) {
  ensure(as_int(n.lo) == 0 && as_int(n.hi) == int64_t{n.how.vector_width} && n.step == 1,
         "a vector loop of a thread is no vector");
  VectorLoop loop = vector_loop(n, n.how.vector_width);
  CudaText &text = out.text();
  text.open("");
  emit_groups(n, loop, {"0", 1, 0, "", ""}, out, [&](const std::string &number, const Stmt &body) {
    text.line(cat("const i64 ", out.names().of(n.iter), " = ", number, ";"));
    out.block(body);
  });
  text.close();
}

void emit_vector(const For &n, const VectorLoop &loop, const ThreadIterations &mine,
                 const std::string &aligned, CudaStatements &out) {
  CudaText &text = out.text();
  int64_t width = n.how.vector_width, groups = std::max<int64_t>(n.how.unroll, 1),
          apart = width * mine.threads;
  text.open(
      cat("if (", aligned, " && ", mine.first, " + ", (groups - 1) * apart + width, " <= ", mine.end, ")"));
  std::string iterator = out.names().of(n.iter);
  emit_groups(n, loop, {mine.first, groups, apart, "", ""}, out,
              [&](const std::string &number, const Stmt &body) {
                text.line(cat("const i64 ", iterator, " = ", number, ";"));
                out.block(body);
              });
  text.otherwise();
  one_by_one(n, mine, aligned, out);
  text.close();
}

std::string guard_holds(const For &n, const GuardedBody &parts, const std::string &first,
                        const std::string &last, CudaStatements &out) {
  if (!parts.guard) return "";
  CudaText &text = out.text();
  std::vector<Expr> increasing = SideBySide(n, 1, parts.names).increasing_values(parts.guard);
  const std::string iterator = out.names().of(n.iter), all = out.names().fresh("all");
  std::vector<std::string> least;
  for (size_t k = 0; k < increasing.size(); ++k) least.push_back(out.names().fresh("least"));
  text.line(cat("bool ", all, ";"));
  if (!least.empty()) text.line(cat("i64 ", join_text(least, ", "), ";"));
  auto at = [&](const std::string &value, const std::function<void()> &body) {
    text.open("");
    out.names().set(n.iter, value);
    for (const Stmt &s : parts.names) out.define(as<Let>(s)->sym, as<Let>(s)->value);
    body();
    out.names().set(n.iter, iterator);
    text.close();
  };
  at(first, [&] {
    for (size_t k = 0; k < increasing.size(); ++k) {
      out.expressions().begin({increasing[k]});
      text.line(cat(least[k], " = ", out.expressions().bare(increasing[k]), ";"));
    }
  });
  at(last, [&] {
    std::vector<Expr> roots = increasing;
    roots.push_back(parts.guard);
    out.expressions().begin(roots);
    std::string holds = out.expressions().value(parts.guard);
    // A value that wraps on its way is less in the end.
    for (size_t k = 0; k < increasing.size(); ++k)
      holds += cat(" && ", least[k], " <= ", out.expressions().value(increasing[k]));
    text.line(cat(all, " = ", holds, ";"));
  });
  return cat(all, " && ");
}

int64_t groups_at_once(const For &n, const VectorLoop &loop) {
  bool stores = std::any_of(loop.accesses.begin(), loop.accesses.end(),
                            [](const VectorAccess &a) { return a.is_stored; });
  return stores ? 1 : std::max<int64_t>(n.how.unroll / 2, 1);
}

void emit_unrolled(const For &n, const ThreadIterations &mine, CudaStatements &out) {
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
