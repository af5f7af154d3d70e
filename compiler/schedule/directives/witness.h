// Searches for two concrete iterations that show a refusal, among the points of a pair of accesses. Decides
// nothing: a refusal without a witness remains one.
#pragma once

#include "analysis/affine.h"
#include "schedule/directives/legal.h"

namespace kw {

class WitnessSearch {
 public:
  WitnessSearch(const Func &f, const Nest &nest) : f_(f), nest_(nest) {}

  /// Returns the verdict for a dependence that forbids a directive, with the variable that is not affine.
  Verdict refusal(const Dependence &d) const;
  /// Adds a witness from `system`, which describes the conflicting iterations. Without a witness, a conflict
  /// becomes unproved. If the refusal rests on a guess, only data may be guessed.
  Verdict with_witness(Verdict v, PairSystem &system);

  /// Returns the first variable in the subscripts of the two accesses that matches.
  template <class F>
  std::optional<uint32_t> in_subscripts(const Dependence &d, F &&matches) const {
    for (const NestAccess *a : {&from(d), &to(d)})
      for (const LinearForm &form : a->subscripts)
        for (auto [v, c] : form.terms)
          if (matches(nest_.variables[v])) return v;
    return std::nullopt;
  }

  const NestAccess &from(const Dependence &d) const { return nest_.statements[d.source].accesses[d.from]; }
  const NestAccess &to(const Dependence &d) const { return nest_.statements[d.sink].accesses[d.to]; }

 private:
  std::optional<PairSystem::Point> find_point(PairSystem &system);

  const Func &f_;
  const Nest &nest_;
  std::optional<std::vector<Affine>> conditions_;  ///< computed by the first search
  int64_t work_ = 400'000;                         ///< budget of all searches together. Chosen: some 20 ms
};

}  // namespace kw
