// Runs one compilation after the front end.
#include "driver/compile.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/access.h"
#include "analysis/bounds.h"
#include "analysis/in_place.h"
#include "analysis/init.h"
#include "codegen/backend.h"
#include "driver/explain.h"
#include "driver/pipeline.h"
#include "ir/match.h"
#include "ir/verify.h"
#include "schedule/hints.h"
#include "support/build_id.h"
#include "support/text.h"

namespace kw {

namespace {

/// Describes the parameters: the arguments that the code receives, then the outputs. Their dtypes are those
/// of the source; a back end may have lowered them to words.
void describe_parameters(const Func &f, const Func &source, const Signature &signature, Artifact &a) {
  size_t out = 0;
  ensure(f.params.size() == source.params.size(), "a pass changed the parameters");
  std::vector<std::optional<size_t>> args = argument_numbers(f, signature);
  for (size_t i = 0; i < f.params.size(); ++i) {
    const Param &p = f.params[i], &declared = source.params[i];
    ParamRecord r;
    r.name = p.buf ? p.buf->sym->name : p.sym->name;
    r.is_tensor = p.buf != nullptr;
    r.dtype = p.buf ? declared.buf->dtype : declared.sym->dtype;
    r.rank = p.buf ? static_cast<uint8_t>(p.buf->rank()) : 0;
    r.mode = p.mode;
    r.fill = p.fill == Fill::none ? Fill::none : Fill::zero;
    if (p.mode == ParamMode::out) {
      r.stride_class = out < signature.outs.size() ? signature.outs[out] : StrideClass::contiguous;
      ++out;
      // zeros that the kernel relies on would overwrite its input
      if (p.fill == Fill::none)
        for (const Buf &input : inputs_to_overwrite(source, declared.buf))
          for (size_t k = 0; k < source.params.size(); ++k)
            if (source.params[k].buf == input && args[k]) r.in_place |= uint64_t{1} << *args[k];
    } else {
      r.stride_class = signature.args[*args[i]].stride_class;
      r.arg = static_cast<int32_t>(*args[i]);
    }
    a.params.push_back(std::move(r));
  }
  a.tuple_of_one = f.tuple_of_one;
  for (const Buf &b : f.results)
    for (size_t i = 0; i < f.params.size(); ++i)
      if (f.params[i].buf == b) a.results.push_back(static_cast<uint32_t>(i));
}

/// The location of an index (source, begin), its tensor and its dimension.
using IndexKey = std::tuple<uint32_t, uint32_t, std::string, size_t>;

/// Copies the terms of one sign to a side of a condition, with positive factors. Returns false if a term is
/// no extent of the function.
bool read_terms(const Func &f, const Affine &form, int64_t sign, ExtentSum &out) {
  Affine part;
  for (const AffineTerm &t : form.terms) {
    if ((t.coefficient > 0) != (sign > 0)) continue;
    const Ref *r = as<Ref>(t.atom);
    auto found = r ? std::find(f.extents.begin(), f.extents.end(), r->sym) : f.extents.end();
    if (found == f.extents.end() || r->sym->kind != SymKind::extent) return false;
    out.terms.push_back({static_cast<uint32_t>(found - f.extents.begin()), sign * t.coefficient});
    part.terms.push_back({t.atom, sign * t.coefficient});
  }
  part.constant = out.constant;
  out.text = affine_text(f, part);
  return true;
}

/// Returns `form` >= 0 with its negative part on the other side; nothing if it is not over extents alone.
std::optional<ShapeCondition> shape_condition(const Func &f, const Affine &form) {
  ShapeCondition c;
  // The constant goes to the side without extents, if there is one: 8 - n >= 0 becomes 8 >= n.
  bool extents_on_top = std::any_of(form.terms.begin(), form.terms.end(),
                                    [](const AffineTerm &t) { return t.coefficient > 0; });
  (extents_on_top ? c.smaller : c.larger).constant = extents_on_top ? -form.constant : form.constant;
  if (!read_terms(f, form, 1, c.larger) || !read_terms(f, form, -1, c.smaller)) return std::nullopt;
  return c;
}

/// Returns the conditions on shapes of each unguarded access, found before the pipeline like the facts of
/// guard_bounds.
std::map<IndexKey, std::vector<ShapeCondition>> find_conditions(const Func &f) {
  std::map<IndexKey, std::vector<ShapeCondition>> out;
  for_each_access(f, true, [&](const Access &a, const BoundsContext &context) {
    for (size_t d = 0; !a.guarded && d < a.index->size(); ++d) {
      IndexProof proof = prove_index(a, d, context);
      Loc loc = (*a.index)[d].loc().known() ? (*a.index)[d].loc() : a.loc;
      for (const Proof *p : {&proof.low, &proof.high})
        if (p->fact)
          if (auto condition = shape_condition(f, p->worst))
            out[{loc.source, loc.begin, a.buf->sym->name, d}].push_back(*condition);
    }
  });
  return out;
}

/// Resolves the places of all checks, since the source may be gone when one fails.
void describe_sites(const Func &f, const Func &source, const SourceMap &sources, Artifact &a) {
  auto conditions = f.sites.empty() ? decltype(find_conditions(source)){} : find_conditions(source);
  for (const Site &s : f.sites) {
    Resolved r = resolve(Diagnostic{s.code, s.loc, {}, {}, {}}, sources);
    std::string tensor = s.buf ? s.buf->sym->name : std::string();
    a.sites.push_back({s.code, r.line, r.column, r.end_column, r.line_text, tensor, s.dim, s.from_end,
                       s.is_unsigned, conditions[{s.loc.source, s.loc.begin, tensor, s.dim}], r.notes, r.text,
                       s.message, s.rank});
  }
}

/// Tells the lines of the loops of each launch, in source order.
void describe_launches(const std::vector<std::vector<Loc>> &loops, const SourceMap &sources,
                       LaunchProgram &p) {
  for (size_t i = 0; i < loops.size(); ++i) {
    std::vector<LoopLine> &lines = p.kernels[i].loops;
    for (const Loc &loc : loops[i])
      if (loc.known())
        lines.push_back({sources.text_number(loc.source), static_cast<int32_t>(sources.position(loc).line)});
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  }
}

}  // namespace

std::vector<std::optional<size_t>> argument_numbers(const Func &f, const Signature &signature) {
  std::vector<std::optional<size_t>> out;
  size_t arg = 0;
  for (const Param &p : f.params) {
    if (p.mode == ParamMode::out) {
      out.emplace_back();
      continue;
    }
    // Arguments that the kernel does not use have a number and no parameter.
    while (arg < signature.args.size() && signature.args[arg].kind == ArgKind::unused) ++arg;
    ensure(arg < signature.args.size(), "more parameters than arguments");
    out.emplace_back(arg++);
  }
  return out;
}

/// Runs the passes up to `stage` and returns the function after it. If no pass has that name, returns nothing
/// and leaves the result of all passes in `f`.
static std::optional<Func> after_pass(PassList list, Func &f, const Target &target, std::string_view stage) {
  for (const Pass &pass : list) {
    f = run_passes({&pass, 1}, std::move(f), target);
    if (pass.name == stage) return f;
  }
  return std::nullopt;
}

std::optional<Func> func_at_stage(Func f, const CompileInput &input, std::string_view stage) {
  if (stage == "lower") return f;
  for (PassList list : pipeline_passes(input.options))
    if (auto found = after_pass(list, f, input.target, stage)) return found;
  const Backend &backend = find_backend(input.backend);
  if (is_scheduled(input.options)) {
    for (size_t k = 0; k < backend.steps.size(); ++k)
      if (backend.steps[k].name == stage)
        return run_schedule(f, input.target, backend.steps.first(k + 1), false).func;
    f = scheduled(f, input.options, input.target, backend);
    if (stage == "schedule") return f;
  }
  if (auto found = after_pass(backend.lowering, f, input.target, stage)) return found;
  return stage == "final" ? std::optional(std::move(f)) : std::nullopt;
}

static void add_stages(const CodegenOptions &options, std::string_view backend,
                       std::vector<std::string> &out) {
  auto add = [&](std::string_view name) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.emplace_back(name);
  };
  add("lower");
  for (PassList list : pipeline_passes(options))
    for (const Pass &pass : list) add(pass.name);
  if (is_scheduled(options)) {
    for (const ScheduleStep &step : find_backend(backend).steps) add(step.name);
    add("schedule");
  }
  for (const Pass &pass : find_backend(backend).lowering) add(pass.name);
}

std::vector<std::string> stage_names(const CompileInput &input) {
  std::vector<std::string> out;
  add_stages(input.options, input.backend, out);
  out.push_back("final");
  return out;
}

std::vector<std::string> dump_names() {
  std::vector<std::string> out;
  for (const Pass &pass : source_passes()) out.emplace_back(pass.name);
  CodegenOptions plain, debug;
  plain.body = Body::plain;
  debug.debug = true;
  for (const CodegenOptions &options : {CodegenOptions{}, plain, debug}) add_stages(options, "llvm", out);
  add_stages({}, "cuda", out);
  out.insert(out.end(), {"emit", "all"});
  return out;
}

/// Runs the passes of the back end on `safe`, the scheduled form of `source`, and describes and emits the
/// result, which it returns.
static Func emit(const Func &source, const Func &safe, const CompileInput &input, Artifact &a) {
  const Backend &backend = find_backend(input.backend);
  Func ready = run_passes(backend.lowering, safe, input.target);
  a.name = source.name;
  describe_parameters(ready, source, input.signature, a);
  a.program = build_entry_program(ready, estimate_work(safe), input.sources);
  StageClock verifying;
  std::string wrong = verify(ready);  // in machine code, a symbol out of scope has some other value
  ensure(wrong.empty(), cat("the passes broke the IR of '", source.name, "': ", wrong));
  report_time("verify", ready.name, verifying.ms());
  StageClock emitting;
  a.code_kind = backend.code_kind;
  SourcePlaces places{input.sources, input.places};
  EmittedCode code = backend.emit(ready, input.target, input.places.empty() ? nullptr : &places);
  a.code = std::move(code.bytes), a.launches = std::move(code.launches);
  describe_launches(code.loops, input.sources, a.launches);
  report_stage("emit", ready, emitting.ms());
  return ready;
}

Artifact compile(const Func &f, const CompileInput &input, std::span<const Diagnostic> warnings) {
  std::string wrong = verify(f);
  ensure(wrong.empty(), cat("the front end made malformed IR of '", f.name, "': ", wrong));
  ensure(!f.orders_open, cat("the sums of '", f.name, "' have no order"));
  Sink sink;
  for (const Diagnostic &d : warnings) sink.add(d);
  for (Diagnostic &d : find_bounds_errors(f, input.sources)) sink.add(std::move(d));
  for (Diagnostic &d : analyse_initialisation(f).warnings) sink.add(std::move(d));
  // One compilation reports all errors of the kernel together.
  sink.throw_if_errors();
  for (Diagnostic &d : check_hints(f, input.sources)) sink.add(std::move(d));

  Func safe = run_pipeline(f, input.options, input.target);
  safe = scheduled(safe, input.options, input.target, find_backend(input.backend));
  Artifact a;
  Func ready = emit(f, safe, input, a);
  describe_sites(ready, f, input.sources, a);
  for (const Diagnostic &d : ready.warnings) sink.add(d);
  for (const Diagnostic &d : sink.warnings()) a.warnings.push_back(resolve(d, input.sources));
  a.explain = join_text(condition_texts(safe), "\n");
  a.from = build_id();
  return a;
}

Artifact compile_unscheduled(const Func &f, const Target &target) {
  SourceMap no_sources;
  Signature signature;
  for (const Param &p : f.params)
    if (p.mode != ParamMode::out) signature.args.emplace_back();
  Artifact a;
  emit(f, f, {no_sources, signature, {}, target}, a);
  return a;
}

}  // namespace kw
