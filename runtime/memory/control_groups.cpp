// Reads /proc/self/cgroup: a line "number:controllers:path" for each hierarchy.
#include "runtime/memory/control_groups.h"

#include <algorithm>

#include "support/files.h"
#include "support/text.h"

namespace kw {

namespace {

using Visit = std::function<void(const std::string &, bool)>;

/// Visits a group and all enclosing groups up to the root, because a limit of any of them applies.
void outwards(const std::string &mount, std::string path, bool second_version, const Visit &visit) {
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    visit(mount + path, second_version);
    if (path.empty()) return;
    size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
}

}  // namespace

void for_each_control_group(const std::string &root, std::string_view controller, const Visit &visit) {
  std::string groups = read_file(root + "/proc/self/cgroup"), top = root + "/sys/fs/cgroup";
  for (size_t at = 0; at < groups.size();) {
    size_t end = std::min(groups.find('\n', at), groups.size());
    std::string_view line = std::string_view(groups).substr(at, end - at);
    at = end + 1;
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    // version 2 names no controllers: "0::/user.slice"; version 1 does: "4:cpu,cpuacct:/docker/1f2e"
    std::string controllers(line.substr(first + 1, second - first - 1)), path(line.substr(second + 1));
    if (controllers.empty()) {
      outwards(top, path, true, visit);
      // where both versions are in use, the second one is mounted in a separate folder
      outwards(top + "/unified", path, true, visit);
    } else if (cat(",", controllers, ",").find(cat(",", controller, ",")) != std::string::npos) {
      outwards(cat(top, "/", controllers), path, false, visit);
      outwards(cat(top, "/", controller), path, false, visit);
    }
  }
}

}  // namespace kw
