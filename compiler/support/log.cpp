// The only place that writes log lines.
#include "support/log.h"

#include <cstdio>

#include "support/options.h"
#include "support/text.h"

namespace kw {

void log_line(int level, std::string_view text) {
  if (debug_options().log < level) return;
  std::string line = cat("[kw] ", text, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace kw
