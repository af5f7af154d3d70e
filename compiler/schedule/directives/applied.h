// An applied directive: what a schedule consists of. Its text is one line of a schedule, which
// schedule/replay reads back.
//     short_sums: loop 2: vectorize i by 16
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/directives/directives.h"

namespace kw {

struct AppliedDirective {
  Directive directive;  ///< names loops by their numbers in the nest before the directive
  std::string line;     ///< the text of the directive
  /// The directive rewrites the version for short sums (schedule/cpu/short_sums).
  bool in_short_sums = false;
  /// In a kernel that is too large for one nest: numbers in LoopNest::loops_alone. The first number selects a
  /// loop, the next one a loop inside that, and so on. Else empty.
  std::vector<uint32_t> alone{};

  std::string text() const;
};

/// Returns the lines of a schedule.
std::vector<std::string> texts_of(const std::vector<AppliedDirective> &steps);

/// Drops "short_sums: " from the beginning of a line; returns whether the prefix was there.
bool drop_short_sums(std::string_view &line);
/// Drops "loop N: " from the beginning of a line and returns N; nothing if the line does not begin so.
std::optional<uint32_t> drop_loop_alone(std::string_view &line);

}  // namespace kw
