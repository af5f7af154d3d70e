// The directives that change how a loop runs, as data. A hint of the user is one of them; whether it may be
// followed is the question of schedule/legal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/node.h"

namespace kw {

struct Directive {
  enum class Verb : uint8_t { parallel, vectorize, reduce };
  Verb verb = Verb::parallel;
  uint32_t loop = 0;  ///< of the nest
};

std::string_view verb_name(Directive::Verb verb);
/// What a hint claims; nothing for hints that claim nothing.
std::optional<Directive::Verb> claim_of(Hint hint);

}  // namespace kw
