// Files by their descriptors: what takes more than one call of the system. Opens and names none, and throws
// nothing.
#pragma once

#include <string_view>

namespace kw {

/// Writes all of it, also where signals interrupt; false, with errno, when the system takes no more.
bool write_all(int fd, std::string_view bytes);

}  // namespace kw
