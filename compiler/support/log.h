// Writes one line to stderr if KW_DEBUG asks for it.
// Nothing in the product decides anything by logging.
#pragma once

#include <string_view>

namespace kw {

/// Writes "[kw] text\n" to stderr in one call if `level` is at most the current `log` level of KW_DEBUG.
void log_line(int level, std::string_view text);

}  // namespace kw
