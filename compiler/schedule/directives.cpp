// The names of directives.
#include "schedule/directives.h"

namespace kw {

std::string_view verb_name(Directive::Verb verb) {
  static constexpr std::string_view names[] = {"parallel", "vectorize", "reduce"};
  return names[static_cast<size_t>(verb)];
}

std::optional<Directive::Verb> claim_of(Hint hint) {
  switch (hint) {
    case Hint::parallel: return Directive::Verb::parallel;
    case Hint::vectorize: return Directive::Verb::vectorize;
    case Hint::reduce: return Directive::Verb::reduce;
    default: return std::nullopt;
  }
}

}  // namespace kw
