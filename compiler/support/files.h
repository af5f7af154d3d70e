// Operations on file descriptors that take more than one system call. Opens and names no files, and throws
// nothing.
#pragma once

#include <string_view>

namespace kw {

/// Writes all bytes, even if signals interrupt. Returns false, with errno set, if the system takes no more.
bool write_all(int fd, std::string_view bytes);

}  // namespace kw
