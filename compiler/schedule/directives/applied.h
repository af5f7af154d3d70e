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
  Directive directive;  ///< the numbers of its loops are those of the nest before it
  std::string line;     ///< its text, which names these loops
  /// For the version of the kernel for short sums (schedule/cpu/short_sums).
  bool in_short_sums = false;
  /// Of a kernel that is too large to be scheduled as one nest: the loop of LoopNest::loops_alone that the
  /// directive is for, then the one in there, and so on.
  std::vector<uint32_t> alone{};

  std::string text() const;
};

/// Returns the lines of a schedule.
std::vector<std::string> texts_of(const std::vector<AppliedDirective> &steps);

/// Drops "short_sums: " from the begin of a line; returns whether it was there.
bool drop_short_sums(std::string_view &line);
/// Drops "loop N: " from the begin of a line and returns N; nothing if it does not begin so.
std::optional<uint32_t> drop_loop_alone(std::string_view &line);

}  // namespace kw
