// Writes and reads the prefixes of lines; no other file knows them.
#include "schedule/directives/applied.h"

#include <charconv>

#include "support/text.h"

namespace kw {

static constexpr std::string_view short_sums_prefix = "short_sums: ", alone_prefix = "loop ";

std::string AppliedDirective::text() const {
  std::string out(in_short_sums ? short_sums_prefix : "");
  for (uint32_t loop : alone) out += cat(alone_prefix, loop, ": ");
  return out + line;
}

std::vector<std::string> texts_of(const std::vector<AppliedDirective> &steps) {
  std::vector<std::string> out;
  for (const AppliedDirective &step : steps) out.push_back(step.text());
  return out;
}

bool drop_short_sums(std::string_view &line) {
  bool found = line.starts_with(short_sums_prefix);
  if (found) line.remove_prefix(short_sums_prefix.size());
  return found;
}

std::optional<uint32_t> drop_loop_alone(std::string_view &line) {
  if (!line.starts_with(alone_prefix)) return std::nullopt;
  uint32_t out = 0;
  const char *end = line.data() + line.size();
  auto [at, error] = std::from_chars(line.data() + alone_prefix.size(), end, out);
  auto rest = std::string_view(at, static_cast<size_t>(end - at));
  if (error != std::errc() || !rest.starts_with(": ")) return std::nullopt;
  line = rest.substr(2);
  return out;
}

}  // namespace kw
