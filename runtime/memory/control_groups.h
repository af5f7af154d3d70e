// The Linux control groups of this process, in both versions of the interface.
// Knows their folders, not their limits.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kw {

/// Calls visit(folder, second_version) for each group whose `controller` ("cpu", "memory") may limit this
/// process, and for its enclosing groups. If a group is not visible from here (a container's outer name), its
/// enclosing groups are still visited. `root` is a prefix of /proc and /sys; "" for the machine's own.
void for_each_control_group(const std::string &root, std::string_view controller,
                            const std::function<void(const std::string &folder, bool second_version)> &visit);

}  // namespace kw
