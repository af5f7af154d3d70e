// Operations on files that take more than one system call. Failures are
// reported by the result, not by an exception.
#pragma once

#include <string>
#include <string_view>

namespace kw {

/// Writes all bytes, even if signals interrupt. Returns false, with errno set, if the system takes no more.
bool write_all(int fd, std::string_view bytes);

/// Returns all bytes of a file; "" if it cannot be read.
std::string read_file(const std::string &path);

}  // namespace kw
