// Reads all entries for the message, once for a version: most programs end there anyway.
#include "runtime/frozen.h"

#include <cstdlib>

#include "codegen/artifact.h"
#include "support/text.h"

namespace kw {

namespace {

/// Finds the entry of the same kernel whose key has the fewest lines that differ.
class NearestEntry {
 public:
  explicit NearestEntry(const Request &r) : name_(r.name), wanted_(split_text(key_text(r), '\n')) {}

  void look_at(const Hash128 &key, const std::optional<std::string> &bytes) {
    auto artifact = bytes ? deserialize(*bytes) : std::nullopt;
    if (!artifact || artifact->name != name_) return;
    std::vector<std::string> lines = split_text(artifact->key, '\n');
    size_t differences = 0, first = SIZE_MAX;
    for (size_t i = 0; i < std::max(lines.size(), wanted_.size()); ++i) {
      if (line(lines, i) == line(wanted_, i)) continue;
      ++differences;
      // another target has another back end: the target tells more
      bool tells_less = first != SIZE_MAX && line(wanted_, first).starts_with("backend ");
      if (first == SIZE_MAX || tells_less) first = i;
    }
    if (first == SIZE_MAX || differences >= fewest_) return;
    fewest_ = differences;
    found_ = cat("the nearest entry is ", key.text(), "; the first line of its key that differs is `",
                 shown(line(lines, first)), "`, not `", shown(line(wanted_, first)), "`");
  }
  /// Returns the note on the nearest entry, or that there is none.
  std::string note() const {
    return fewest_ == SIZE_MAX ? cat("no entry is of a kernel '", name_, "'") : found_;
  }

 private:
  static std::string line(const std::vector<std::string> &lines, size_t i) {
    return i < lines.size() ? lines[i] : "";
  }
  /// Shortens a line: a list of features may be long.
  static std::string shown(const std::string &text) {
    constexpr size_t most = 60;  // chosen: two of them fit into two lines of a terminal
    return text.size() <= most ? text : cat(text.substr(0, most), "…");
  }

  std::string name_;
  std::vector<std::string> wanted_;
  size_t fewest_ = SIZE_MAX;
  std::string found_;
};

}  // namespace

bool is_frozen() {
  static const bool on = [] {
    const char *text = std::getenv("KW_FROZEN");
    return text && std::string_view(text) == "1";
  }();
  return on;
}

Resolved frozen_error(const Request &r, const DiskCache &own, std::span<const SharedCache> shared) {
  std::vector<std::string> types;
  for (const ArgSpec &a : r.signature.args) types.push_back(type_text(a));
  NearestEntry nearest(r);
  for (const CacheEntry &e : own.list())
    if (auto key = Hash128::parse(e.key)) nearest.look_at(*key, own.inspect(*key).bytes);
  for (const SharedCache &cache : shared)
    for (const Hash128 &key : cache.keys()) nearest.look_at(key, cache.read(key));
  std::string_view body = r.options.body == Body::main ? "" : ", in its serial and fully checked form,";
  Resolved error;
  error.code = Code::E507;
  error.message = cat("kernel '", r.name, "' for (", join_text(types, ", "), ")", body,
                      " is in no cache, and KW_FROZEN=1 forbids compiling it");
  error.notes.push_back(nearest.note());
  error.help.push_back("warm the cache up for these types (kw warmup), or run without KW_FROZEN");
  return error;
}

}  // namespace kw
