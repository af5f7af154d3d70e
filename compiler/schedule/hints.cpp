// Visits every hinted loop, and writes what is wrong with its claim.
#include "schedule/hints.h"

#include <algorithm>

#include "analysis/bounds.h"
#include "analysis/nest/privatize.h"
#include "ir/match.h"
#include "ir/print.h"
#include "schedule/steps/unroll_hints.h"
#include "support/text.h"

namespace kw {

namespace {

/// Writes the text of one refusal.
class Refusal {
 public:
  Refusal(const Func &f, const SourceMap &sources, const Nest &nest, Claim claim, const Verdict &verdict)
      : f_(f), sources_(sources), nest_(nest), claim_(claim), v_(verdict) {}

  /// Builds the warning: the claim and what is wrong, then as notes the cause and a pair of iterations that
  /// conflict. If no pair is known, the notes name the two places.
  Diagnostic diagnostic() const {
    std::string iterator = nest_.loops[0].loop->iter->name;
    Diagnostic d{code(), nest_.loops[0].loc, {}, {}, {}};
    d.message = cat("`", claim_name(claim_), "(", iterator, ")` ",
                    is_refuted() ? "is false: " : "could not be proved: ", what(iterator));
    if (v_.cause) d.notes.push_back(cause_note());
    if (v_.witness) {
      d.notes.push_back(cat(lead(), pair_note()));
      if (std::string sizes = sizes_note(); !sizes.empty()) d.notes.push_back(std::move(sizes));
    } else if (v_.dependence) {
      d.notes.push_back(places_note());
    }
    if (v_.reason == Reason::unproved && !v_.dependence) d.notes.push_back("it is too large for a proof");
    if (v_.reason == Reason::jump) d.notes.push_back(cat("it stands at line ", line(v_.jump)));
    // threads of a GPU may accumulate in one element by atomic operations
    d.notes.push_back(v_.reason == Reason::repeated ? "on the CPU, the loop runs in order"
                                                    : "the loop runs in order");
    if (std::string help = help_for(iterator); !help.empty()) d.help.push_back(std::move(help));
    return d;
  }

  /// Returns what is wrong and where, without the consequences.
  std::string text() const {
    std::string out = what(nest_.loops[0].loop->iter->name);
    if (v_.cause) out += cat("; ", cause_note());
    if (v_.witness) out += cat("; ", lead(), pair_note());
    if (!v_.witness && v_.dependence) out += cat("; ", places_note());
    if (v_.reason == Reason::jump) out += cat(" (line ", line(v_.jump), ")");
    return out;
  }

 private:
  /// Returns the code of the warning. A conflict in a temporary has one of its own, since its help differs.
  Code code() const {
    switch (v_.reason) {
      case Reason::repeated: return Code::W403;
      case Reason::ordered: return Code::W404;
      case Reason::unproved: return Code::W405;
      case Reason::conflict:
        if (is_shared_temporary()) return Code::W408;
        [[fallthrough]];
      default: return claim_ == Claim::vectorize ? Code::W402 : Code::W401;
    }
  }

  /// Returns whether two iterations are known that show the claim false.
  bool is_refuted() const {
    bool shown = v_.reason == Reason::conflict || v_.reason == Reason::ordered;
    return shown && v_.witness && v_.witness->certain;
  }

  /// Returns whether iterations conflict in an array that is made outside the loop and that could be private
  /// to each iteration.
  bool is_shared_temporary() const {
    return v_.reason == Reason::conflict && v_.dependence && from().buf->space != Space::param &&
           from().buf->space != Space::registers && could_be_private(f_, nest_, 0, *from().buf);
  }

  std::string what(const std::string &iterator) const {
    std::string_view depend = is_refuted() ? "depend on each other" : "may depend on each other";
    switch (v_.reason) {
      case Reason::jump: return "`break` lets an iteration decide whether later ones run";
      case Reason::repeated: return cat("two iterations may write the same element of '", name(), "'");
      case Reason::ordered:
        return cat("it ", reduction_verb(from().reduction.kind), " '", name(),
                   "', and that keeps the order of the iterations");
      case Reason::unproved: return cat("its iterations ", depend);
      default: break;
    }
    if (is_shared_temporary())
      return cat("iterations of `", iterator, "` share the temporary '", name(), "'");
    return cat("iterations of `", iterator, "` ", depend,
               claim_ == Claim::reduce ? " by more than a reduction" : "");
  }

  /// Names the variable that is not affine: by its source text, or as IR if its place is unknown.
  std::string cause_note() const {
    const NestVariable &cause = nest_.variables[*v_.cause];
    Loc at = cause.expr.loc();
    std::string text = at.known() ? cat("`", sources_.text(at.source).substr(at.begin, at.end - at.begin),
                                        "` (line ", line(at), ")")
                                  : cat("`", print(cause.expr), "`");
    if (v_.reason == Reason::repeated) return cat(text, " is data and can hold one value twice");
    return cause.reads_data ? cat("the subscript ", text, " is computed from data")
                            : cat(text, " is no sum of sizes and iterators");
  }

  std::string_view lead() const {
    if (v_.reason == Reason::repeated) return "then ";
    return v_.reason == Reason::unproved ? "for some values " : "";
  }

  /// Returns "iteration i = 2 reads a[1] (line 5), which iteration i = 1 writes (line 4)".
  std::string pair_note() const {
    std::string_view way = to().is_write ? (from().is_write ? "writes as well" : "reads") : "writes";
    if (v_.reason == Reason::ordered) way = "does as well";
    std::string_view verb = to().is_write ? "writes " : "reads ";
    if (v_.reason == Reason::ordered) verb = "updates ";
    std::string out =
        cat(iteration(true), verb, element(), where(true), ", which ", iteration(false), way, where(false));
    if (!v_.witness->certain && v_.reason != Reason::repeated && v_.reason != Reason::unproved)
      out += ", when the conditions around both hold";
    return out;
  }

  std::string iteration(bool sink) const {
    const For &loop = *nest_.loops[0].loop;
    return cat("iteration ", loop.iter->name, " = ", (sink ? v_.witness->sink : v_.witness->source)[0], " ");
  }

  /// Returns "a[2, 0]", or the name of a scalar in quotes.
  std::string element() const {
    if (v_.witness->element.empty()) return cat("'", name(), "'");
    std::vector<std::string> parts;
    for (int64_t i : v_.witness->element) parts.push_back(cat(i));
    return cat(name(), "[", join_text(parts, ", "), "]");
  }

  /// Returns " (line 9, i = 2, j = 1)": the place of an access and the loops inside the hinted one.
  std::string where(bool sink) const {
    const NestStatement &s = nest_.statements[sink ? v_.dependence->sink : v_.dependence->source];
    const std::vector<int64_t> &values = sink ? v_.witness->sink : v_.witness->source;
    std::string out = cat(" (line ", line((sink ? to() : from()).loc));
    for (size_t l = 1; l < s.loops.size(); ++l)
      if (const For *loop = nest_.loops[s.loops[l]].loop)
        out += cat(", ", loop->iter->name, " = ", values[l]);
    return out + ")";
  }

  std::string sizes_note() const {
    std::vector<std::string> parts;
    for (const auto &[size, value] : v_.witness->sizes)
      parts.push_back(cat(bound_text(f_, size), " = ", value));
    return parts.empty() ? std::string() : cat("for example with ", join_text(parts, ", "));
  }

  /// Returns "'a' is written at line 4 and read at line 5": what is known without a witness.
  std::string places_note() const {
    auto place = [&](const NestAccess &a) {
      return cat(a.is_write ? "written" : "read", " at line ", line(a.loc));
    };
    bool one = &from() == &to();
    return cat("'", name(), "' is ", place(from()), one ? "" : " and ", one ? "" : place(to()),
               v_.cause ? "" : ", and no pair of iterations that conflicts was found either");
  }

  /// Returns what the user can write instead; "" if nothing is known.
  std::string help_for(const std::string &iterator) const {
    if (v_.reason == Reason::ordered && from().reduction.kind != ReductionKind::arg_reduction)
      return cat("`reduce(", iterator, ")` is the claim that holds here");
    return is_shared_temporary()
               ? cat("allocate '", name(), "' inside the loop: then each iteration has its own")
               : std::string();
  }

  const NestAccess &from() const {
    return nest_.statements[v_.dependence->source].accesses[v_.dependence->from];
  }
  const NestAccess &to() const { return nest_.statements[v_.dependence->sink].accesses[v_.dependence->to]; }
  const std::string &name() const { return from().buf->sym->name; }
  std::string line(Loc at) const { return line_mark(sources_, at); }

  const Func &f_;
  const SourceMap &sources_;
  const Nest &nest_;
  Claim claim_;
  const Verdict &v_;
};

/// Visits every loop and checks its hint. Extracts the nest of the hinted loop alone, in which the loop has
/// number 0.
class HintWalk {
 public:
  HintWalk(const Func &f, const SourceMap &sources) : f_(f), sources_(sources) {}

  std::vector<CheckedHint> run() {
    for_each_loop(f_.body, [&](const Stmt &s, const For &n, const NestScope &scope) { claim(s, n, scope); });
    return std::move(found_);
  }

 private:
  void claim(const Stmt &s, const For &n, const NestScope &scope) {
    if (n.hint == Hint::unroll) return unrolled(s, n);
    auto claim = claim_of(n.hint);
    if (!claim) return;
    Nest nest = extract_nest(s, scope);
    Verdict verdict = legal(f_, nest, *claim, 0);
    found_.push_back({&n, n.hint, verdict.shared, verdict.in_step, {}});
    if (!verdict.ok()) found_.back().refusal = Refusal(f_, sources_, nest, *claim, verdict).diagnostic();
  }

  /// Adds W406 if the trip count is known and not all iterations are unrolled, or if no iteration is.
  void unrolled(const Stmt &s, const For &n) {
    UnrollPlan plan = unroll_plan(n);
    bool followed = plan.trips ? *plan.trips <= plan.copies : plan.copies > 1;
    if (followed && !plan.jumps) return;
    std::string all = plan.trips ? counted(*plan.trips, "iteration") : std::string("iterations");
    Diagnostic d{Code::W406, s.loc(), {}, {}, {}};
    d.message = cat("`unroll(", n.iter->name, ")` is not followed", plan.copies > 1 ? " in full: " : ": ");
    d.message += plan.jumps ? std::string("the loop can end early")
                            : cat("its ", all, " of ", counted(plan.operations, "operation"),
                                  " exceed the limit of ", most_operations_written);
    d.notes.emplace_back(plan.copies > 1 ? "as many iterations as fit are written out at a time"
                                         : "the loop runs as it stands");
    found_.push_back({&n, n.hint, {}, false, std::move(d)});
  }

  const Func &f_;
  const SourceMap &sources_;
  std::vector<CheckedHint> found_;
};

}  // namespace

std::vector<CheckedHint> checked_hints(const Func &f, const SourceMap &sources) {
  return HintWalk(f, sources).run();
}

std::string refusal_text(const Func &f, const SourceMap &sources, const Nest &nest, Claim claim,
                         const Verdict &verdict) {
  return Refusal(f, sources, nest, claim, verdict).text();
}

std::vector<Diagnostic> check_hints(const Func &f, const SourceMap &sources) {
  std::vector<Diagnostic> out;
  for (CheckedHint &claim : checked_hints(f, sources))
    if (claim.refusal) out.push_back(std::move(*claim.refusal));
  return out;
}

}  // namespace kw
