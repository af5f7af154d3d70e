// The control groups of Linux that this process runs in, of both versions. Knows where they are, not what
// they limit.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kw {

/// Calls visit(folder, second_version) for each group that `controller` ("cpu", "memory") may limit this
/// process by, and for those around it. Of a group that cannot be seen from here (a container's name
/// outside) those around it still come. `root` stands before /proc and /sys; "" for those of the machine.
void for_each_control_group(const std::string &root, std::string_view controller,
                            const std::function<void(const std::string &folder, bool second_version)> &visit);

/// The whole text; "" when it cannot be read.
std::string read_file(const std::string &path);

}  // namespace kw
