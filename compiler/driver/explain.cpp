// Derives findings from the analyses and from the IR after the pipeline: a site there is a check, a fact a
// condition.
#include "driver/explain.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/access.h"
#include "analysis/bounds.h"
#include "analysis/init.h"
#include "analysis/nest/trip_counts.h"
#include "driver/loop_report.h"
#include "driver/missed_launches.h"
#include "driver/missed_optimizations.h"
#include "driver/pipeline.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/match.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "schedule/hints.h"
#include "schedule/replay.h"
#include "support/text.h"

namespace kw {

namespace {

using Kind = Proof::Kind;

/// Returns the text of `worst` >= 0, with the negative terms on the other side.
///     a.shape[0] - b.shape[0] - 1 >= 0   →   "a.shape[0] >= b.shape[0] + 1"
std::string condition_text(const Func &f, const Affine &worst) {
  Affine larger, smaller;
  for (const AffineTerm &t : worst.terms)
    if (t.coefficient > 0)
      larger.terms.push_back(t);
    else
      smaller.terms.push_back({t.atom, -t.coefficient});
  (larger.terms.empty() ? larger : smaller).constant =
      larger.terms.empty() ? worst.constant : -worst.constant;
  return cat(affine_text(f, larger), " >= ", affine_text(f, smaller));
}

/// Returns the text of the fact `a <= b`, larger side first. A fact that only keeps a number small begins
/// with it.
std::string fact_text(const Func &f, const Expr &fact) {
  const Binary *b = as<Binary>(fact);
  if (b && as_int(b->a) == -max_extent) return cat(bound_text(f, b->b), " >= -2**46");
  if (b && as_int(b->b) == max_extent) return cat(bound_text(f, b->a), " <= 2**46");
  return b && b->op == BinOp::le ? cat(bound_text(f, b->b), " >= ", bound_text(f, b->a)) : print(fact);
}

/// Returns whether the fact is `1 <= extent` for an extent of the function. Such facts are not reported.
bool is_extent_fact(const Func &f, const Expr &fact) {
  const Binary *b = as<Binary>(fact);
  const Ref *r = b && as_int(b->a) == 1 ? as<Ref>(b->b) : nullptr;
  return r && std::find(f.extents.begin(), f.extents.end(), r->sym) != f.extents.end();
}

/// Collects the findings of one kernel. Runs the pipeline and the scheduler again, with a recorded schedule,
/// since an artifact keeps neither.
class Explainer {
 public:
  Explainer(const Func &f, const CompileInput &input) : f_(f), in_(input) {
    safe_ = run_pipeline(f, input.options, input.target);
    // Other bodies run their loops as written, so there is no schedule to report.
    if (!is_scheduled(input.options)) return;
    const Backend &backend = find_backend(input.backend);
    if (backend.steps.empty()) return;
    schedule_ = backend.schedule(safe_, input.target, true);
    if (debug_options().verify_each) check_schedule(backend);
    // the models of time, and what they leave out, are of processors
    if (!input.target.is_gpu()) {
      out_.findings = describe_loops(safe_, schedule_, input.target);
      for (Finding &finding : describe_missed(safe_, schedule_, input)) add(std::move(finding));
    } else {
      for (Finding &finding : describe_missed_launches(safe_, schedule_, input)) add(std::move(finding));
    }
    out_.schedule = texts_of(schedule_.steps);
    // Checks, conditions and buffers are those of the function that runs.
    safe_ = schedule_.func;
  }

  Explanation run() {
    out_.conditions = condition_texts(safe_);
    find_shared();
    loops();
    for_each_access(f_, in_.options.body == Body::main && !in_.options.debug,
                    [&](const Access &a, const BoundsContext &context) {
                      for (size_t d = 0; d < a.index->size(); ++d) access(a, d, context);
                    });
    buffers();
    return std::move(out_);
  }

 private:
  /// Checks that the report is what runs: the recorded directives and the steps of a compilation make the
  /// same loops.
  void check_schedule(const Backend &backend) const {
    Replayed again = replayed(safe_, texts_of(schedule_.steps));
    std::string wrong = again.error;
    bool same = print(backend.schedule(safe_, in_.target).func) == print(schedule_.func);
    if (wrong.empty() && !same) wrong = "a recorded schedule is another one";
    // The lowered IR too: it depends on the numbers of loops, which are not printed.
    auto lowered = [&](const Func &f) { return print(run_passes(backend.lowering, f, in_.target)); };
    if (wrong.empty() && lowered(again.func) != lowered(schedule_.func))
      wrong = "the directives make other code";
    ensure(wrong.empty(), cat("the schedule of '", f_.name, "' is not what explain() tells: ", wrong));
  }

  /// Finds arguments and outputs that are the same view as an earlier argument, from the aliases in the
  /// signature.
  void find_shared() {
    const Signature &signature = in_.signature;
    std::vector<std::optional<size_t>> args = argument_numbers(f_, signature);
    std::vector<std::string> names(signature.args.size());
    size_t out = 0;
    for (size_t i = 0; i < f_.params.size(); ++i) {
      const Param &p = f_.params[i];
      std::string name = p.buf ? p.buf->sym->name : p.sym->name;
      size_t same = UINT8_MAX;
      if (p.mode == ParamMode::out) {
        same = out < signature.out_aliases.size() ? signature.out_aliases[out] : same;
        ++out;
      } else {
        size_t arg = *args[i];
        names[arg] = name;
        if (p.buf && signature.args[arg].alias < arg) same = signature.args[arg].alias;
      }
      if (same < names.size()) out_.shared.emplace_back(std::move(name), names[same]);
    }
  }

  bool is_shared(const std::string &name) const {
    auto is_it = [&](const auto &pair) { return pair.first == name; };
    return std::any_of(out_.shared.begin(), out_.shared.end(), is_it);
  }

  void loops() {
    // Reads the tree of the front end, so that the findings follow the source.
    std::vector<CheckedHint> claims = checked_hints(f_, in_.sources);
    walk(
        f_.body,
        [&](const For &n, const Stmt &s) {
          if (n.iter->loc == s.loc()) return;  // one copy of an expanded loop
          auto claim =
              std::find_if(claims.begin(), claims.end(), [&](const CheckedHint &c) { return c.loop == &n; });
          auto [how, why] = scheduled(n);
          if (claim != claims.end()) why += cat(why.empty() ? "" : "; ", claim_text(*claim));
          add({"loop", s.loc(), cat(n.iter->name, " in ", range_text(n)), -1, std::move(how),
               std::move(why)});
        },
        [&](const While &n, const Stmt &s) {
          std::string condition = excerpt(in_.sources, n.cond.loc());
          add({"loop", s.loc(), cat("while ", condition), -1, "serial", {}});
        });
  }

  /// Returns how the schedule runs a loop, "parallel vector", and remarks on it.
  std::pair<std::string, std::string> scheduled(const For &loop) const {
    const For *threads = nullptr, *lanes = nullptr, *copies = nullptr, *grid = nullptr, *team = nullptr,
              *block = nullptr, *stages = nullptr;
    bool is_left = false;
    LoopId executor = schedule_.executor_of(loop.id);
    Loc at = loop.iter->loc;
    // Directives like split and peel leave several loops with one LoopId: the kind of each of them counts.
    walk(schedule_.func.body ? schedule_.main() : safe_.body, [&](const For &n, const Stmt &) {
      if (n.id != executor) return;
      at = n.iter->loc, is_left = true;
      if (n.kind == ForKind::unroll) copies = &n;
      if (n.how.stages > 1) stages = &n;
      if (n.kind == ForKind::parallel) threads = &n;
      if (n.kind == ForKind::grid) grid = &n;
      if (n.kind == ForKind::block) (n.how.threads > warp_threads ? block : team) = &n;
      if (n.kind == ForKind::vector || (n.kind == ForKind::parallel && n.how.vector_width)) lanes = &n;
    });
    std::vector<std::string> how, why;
    if (executor != loop.id) why.push_back(cat("one with the loop of line ", line_mark(in_.sources, at)));
    if (threads) how.emplace_back("parallel"), why.emplace_back("on as many threads as its work is worth");
    if (lanes) how.emplace_back("vector"), why.push_back(cat(lanes->how.vector_width, " iterations at once"));
    if (grid) how.emplace_back("grid"), why.push_back(grid_text(*grid));
    if (team || block) {
      std::vector<std::string> who;
      if (team) who.push_back(cat("a warp of ", team->how.threads, " threads"));
      if (block) who.push_back(cat("a block of ", block->how.threads, " threads"));
      how.emplace_back("team"), why.push_back(cat(join_text(who, " or "), " shares its iterations"));
      const For &n = team ? *team : *block;
      if (n.how.vector_width) why.back() += cat(", a thread ", n.how.vector_width, " of them side by side");
    }
    if (stages) {
      uint32_t ahead = stages->how.stages - 1;
      how.emplace_back("pipelined");
      why.push_back(cat("copies to shared memory are ", ahead, ahead == 1 ? " tile" : " tiles", " ahead"));
    }
    if (copies && how.empty())
      how.emplace_back("unrolled"), why.push_back(cat(copies->how.unroll, " copies of its body"));
    // A loop is written out if its length is known; else another loop executes its iterations, too.
    if (!is_left && constant_trips(loop))
      how.emplace_back("written out");
    else if (!is_left)
      how.emplace_back("merged"), why.emplace_back("into the loop around it");
    if (how.empty()) how.emplace_back(kind_text(loop.kind));
    walk(schedule_.short_sums(), [&](const For &n, const Stmt &) {
      if (n.id == executor && n.kind == ForKind::vector && !lanes)
        why.push_back(
            cat(n.how.vector_width, " iterations at once in calls whose sums have fewer than 64 terms"));
    });
    return {join_text(how, " "), join_text(why, ", ")};
  }

  /// Returns how a loop is spread over the threads of a GPU.
  static std::string grid_text(const For &n) {
    uint32_t width = n.how.vector_width, of_thread = std::max(width, 1u) * std::max(n.how.unroll, 1u);
    if (of_thread > 1)
      return cat("a thread for ", of_thread, " iterations, ",
                 width ? cat(width, " of them side by side, ") : "", n.how.per_block / of_thread,
                 " threads in a block");
    // The threads of a team share the iterations of a tile: the loop stands in itself.
    bool has_teams = false, has_tiles = false;
    walk(n.body, [&](const For &inner, const Stmt &) {
      has_teams |= inner.kind == ForKind::block;
      has_tiles |= inner.kind == ForKind::block && inner.id == n.id;
    });
    std::string_view who = n.how.per_block <= 1 ? "block" : has_teams ? "warp" : "thread";
    std::string out = cat("a ", who, " for each ", has_tiles ? "tile" : "iteration");
    if (n.how.per_block > 1) out += cat(", ", n.how.per_block, " in a block");
    std::vector<std::string> names;
    for (const Buf &b : n.atomics) names.push_back(cat("'", b->sym->name, "'"));
    return names.empty() ? out : cat(out, ", atomic operations on ", join_text(names, ", "));
  }

  /// Returns a range as the source could have it: "parallel(1, a.shape[0])".
  std::string range_text(const For &n) const {
    bool from_zero = as_int(n.lo) == 0 && n.step == 1;
    return cat(n.hint == Hint::none ? "range" : hint_text(n.hint), "(",
               from_zero ? "" : cat(end_text(n.lo), ", "), end_text(n.hi),
               n.step == 1 ? "" : cat(", ", n.step), ")");
  }

  /// Returns the end of a range: over sizes if it is a sum of them, else as the source has it.
  std::string end_text(const Expr &e) const {
    bool named = true;
    walk(e, [&](const Load &, const Expr &) { named = false; });
    std::string words = excerpt(in_.sources, e.loc());
    return words.empty() || (named && affine_of(e)) ? bound_text(f_, e) : words;
  }

  /// Returns that a hint is proved, with the reductions that its iterations share; if it is not, its warning.
  std::string claim_text(const CheckedHint &c) const {
    if (c.refusal) return cat(row_of(c.refusal->code).name, ": ", c.refusal->message);
    std::vector<std::string> shared;
    for (const SharedReduction &r : c.shared)
      shared.push_back(cat(reduction_noun(r.kind), ", whose order is ", r.free ? "free" : "kept"));
    if (c.in_step) shared.emplace_back("the order of statements, which lanes keep");
    std::string fact = "no iteration depends on another";
    if (!shared.empty())
      fact = cat("iterations depend on each other only by ", join_text(shared, ", and by "));
    return cat("`", hint_text(c.hint), "(", c.loop->iter->name, ")` is proved: ", fact);
  }

  /// Explains one subscript. A site comes first: it shows that the check runs, whatever the proof says of the
  /// function before the passes.
  void access(const Access &a, size_t d, const BoundsContext &context) {
    IndexProof proof = prove_index(a, d, context);
    Finding finding{"access", a.loc, target_text(a), static_cast<int32_t>(d), {}, {}};
    if (has_site(a, d)) {
      finding.what = "checked";
      finding.why = why_checked(a, d, proof);
    } else if (std::vector<std::string> needed = conditions(proof); !needed.empty()) {
      finding.what = "conditional";
      finding.why = cat("needs ", join_text(needed, " and "));
    } else if (proof.low.kind == Kind::proved && proof.high.kind == Kind::proved) {
      finding.what = "proved";
    } else if (in_.options.unchecked) {
      finding.what = "unchecked";
      finding.why = "unchecked=True vouches for subscripts that are data";
    } else {
      finding.what = "proved";  // by folding: the check was a constant
    }
    add(std::move(finding));
  }

  /// Returns whether the function checks the subscript when it runs. Matches place, dimension and buffer.
  bool has_site(const Access &a, size_t d) const {
    const Expr &index = (*a.index)[d];
    Loc loc = index.loc().known() ? index.loc() : a.loc;
    return std::any_of(safe_.sites.begin(), safe_.sites.end(), [&](const Site &s) {
      return s.code == Code::E303 && s.loc == loc && s.dim == d && s.buf && s.buf->sym == a.buf->sym;
    });
  }

  /// Returns the conditions on sizes that the proof of a subscript needs, as text.
  std::vector<std::string> conditions(const IndexProof &proof) const {
    std::vector<std::string> out;
    for (const Proof *p : {&proof.low, &proof.high}) {
      if (p->fact) out.push_back(condition_text(f_, p->worst));
      for (const Expr &small : p->small) out.push_back(cat("abs(", bound_text(f_, small), ") <= 2**46"));
    }
    return out;
  }

  /// Returns the first reason that applies, from the options of the compilation to the form of the subscript.
  std::string why_checked(const Access &a, size_t d, const IndexProof &proof) const {
    if (in_.options.debug) return "debug=True checks every access";
    if (in_.options.body != Body::main) return "the plain body assumes nothing about sizes";
    const Expr &index = (*a.index)[d];
    bool memory = false, local = false;
    walk(
        index,
        [&](const Load &n, const Expr &) { (n.buf->space == Space::registers ? local : memory) = true; },
        [&](const Ref &n, const Expr &) { local |= n.sym->kind == SymKind::local; });
    if (memory) return "the index is read from memory";
    if (local) return "the index is a local whose range is not known";
    auto form = affine_of(index);
    auto is_name = [](const AffineTerm &t) { return as<Ref>(t.atom) != nullptr; };
    if (!form || !std::all_of(form->terms.begin(), form->terms.end(), is_name))
      return "the index is no sum of multiples of loop variables and sizes";
    std::vector<std::string> needed = conditions(proof);
    if (!needed.empty() && a.guarded)
      return cat("it needs ", join_text(needed, " and "), " only where its guard lets it run");
    return "no proof was found from the loops and guards around it";
  }

  /// Returns the text of an access: of a store such as `a[i] += b[j]` only "a[i]".
  std::string target_text(const Access &a) const {
    std::string text = excerpt(in_.sources, a.loc);
    if (!a.is_store) return text;
    int depth = 0;  // of brackets: the target ends at the `]` that returns it to 0
    for (size_t i = 0; i < text.size(); ++i) {
      depth += text[i] == '[' || text[i] == '(';
      bool closes = text[i] == ']' || text[i] == ')';
      if (closes && --depth == 0 && text[i] == ']') return text.substr(0, i + 1);
    }
    return text;
  }

  void buffers() {
    InitReport report = analyse_initialisation(f_);
    // Outputs that are a view of an argument are listed in Explanation::shared.
    for (const Param &p : safe_.params)
      if (p.buf && p.mode == ParamMode::out && !is_shared(p.buf->sym->name))
        buffer(p.buf, p.fill, "output", report);
    std::unordered_set<const SymNode *>
        own;  // excludes what passes add, such as the shadows of debug mode, from the report
    walk(f_.body, [&](const Alloc &n, const Stmt &) { own.insert(n.buf->sym.get()); });
    walk(safe_.body, [&](const Alloc &n, const Stmt &) {
      if (own.count(n.buf->sym.get()) && n.buf->space != Space::registers)
        buffer(n.buf, n.fill, "temporary", report);
    });
  }

  void buffer(const Buf &buf, Fill fill, std::string_view kind, const InitReport &report) {
    std::vector<std::string> dims(buf->rank(), ":");
    std::string role = cat(kind, " ", numpy_name(buf->dtype), "[", join_text(dims, ", "), "]");
    Finding finding{"buffer", buf->sym->loc, buf->sym->name, -1, {}, {}};
    finding.what = fill != Fill::none ? "zeroed" : "not zeroed";
    std::vector<std::string> lines = first_reads(buf, report);
    if (fill == Fill::none)
      finding.why = cat(role, ", every element is written before it is read",
                        kind == "output" ? " and before the return" : "");
    else if (!lines.empty())
      finding.why = cat(role, lines.size() == 1 ? ", line " : ", lines ", join_text(lines, ", "),
                        " may read an element before it is written");
    else
      finding.why = cat(role, ", not every element is proved written before the return");
    add(std::move(finding));
  }

  /// Returns the lines of the reads that may precede a write.
  std::vector<std::string> first_reads(const Buf &buf, const InitReport &report) const {
    std::vector<std::string> out;
    for (const auto &[read, loc] : report.first_reads) {
      if (read->sym != buf->sym) continue;
      std::string line = line_mark(in_.sources, loc);
      if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(line);
    }
    return out;
  }

  /// Adds a finding unless it is known: the copies of an expanded loop give equal findings.
  void add(Finding finding) {
    bool known = std::any_of(out_.findings.begin(), out_.findings.end(), [&](const Finding &o) {
      return o.loc == finding.loc && o.subject == finding.subject && o.dim == finding.dim &&
             o.what == finding.what && o.why == finding.why && o.kind == finding.kind;
    });
    if (!known) out_.findings.push_back(std::move(finding));
  }

  const Func &f_;
  const CompileInput &in_;
  Func safe_;
  Schedule schedule_;  ///< of the main body; empty for other bodies
  Explanation out_;
};

}  // namespace

std::vector<std::string> condition_texts(const Func &safe) {
  std::vector<std::string> out;
  for (const Expr &fact : safe.facts)
    if (!is_extent_fact(safe, fact)) out.push_back(fact_text(safe, fact));
  return out;
}

std::string excerpt(const SourceMap &sources, Loc loc) {
  std::string_view text = sources.text(loc.source);
  if (loc.begin >= text.size() || loc.end > text.size()) return {};
  std::string out;
  for (char c : text.substr(loc.begin, loc.end - loc.begin)) {
    // Line breaks and indentation become one space.
    bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!space)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  return out;
}

Explanation explain(const Func &f, const CompileInput &input) {
  Sink sink;
  for (Diagnostic &d : find_bounds_errors(f, input.sources)) sink.add(std::move(d));
  sink.throw_if_errors();
  return Explainer(f, input).run();
}

}  // namespace kw
