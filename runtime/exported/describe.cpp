// Artifact → description.
#include "runtime/exported/description.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/cpu/object_file.h"
#include "runtime/exported/exported.h"
#include "runtime/versions/faults.h"
#include "support/text.h"

namespace kw {

namespace {

/// Bytes that grow; places in them are counted from their beginning.
class GrowingBytes {
 public:
  explicit GrowingBytes(size_t bytes) : bytes_(bytes, '\0') {}

  /// Appends bytes at the next multiple of `align` and returns their place.
  uint64_t add(std::string_view bytes, size_t align) {
    bytes_.resize((bytes_.size() + align - 1) / align * align, '\0');
    uint64_t place = bytes_.size();
    bytes_ += bytes;
    return place;
  }
  uint32_t add_text(std::string_view text) { return small(add(cat(text, '\0'), 1)); }
  template <class T>
  uint32_t add_list(const std::vector<T> &items) {
    return small(add({reinterpret_cast<const char *>(items.data()), items.size() * sizeof(T)}, alignof(T)));
  }
  template <class T>
  void set(uint64_t place, const T &value) {
    std::memcpy(bytes_.data() + place, &value, sizeof(T));
  }
  std::string take() { return std::move(bytes_); }

 private:
  static uint32_t small(uint64_t place) {
    ensure(place <= std::numeric_limits<uint32_t>::max(),
           "the description of an exported kernel exceeds 4 GB");
    return static_cast<uint32_t>(place);
  }
  std::string bytes_;
};

/// Returns the pattern of a site with its place, "softmax.py:12: E303: index …".
std::string placed_pattern(const SiteRecord &s, std::span<const TextPlace> places) {
  std::string message = cat(row_of(s.code).name, ": ", fault_pattern(s));
  if (s.line < 0) return message;
  const TextPlace &place = place_of(s.text, places);
  std::string_view file = place.path;
  file = file.substr(file.find_last_of('/') + 1);  // the folders are those of the machine that exports
  return cat(file, ":", place.first_line + static_cast<uint32_t>(s.line), ": ", message);
}

ExportedBody describe_body(const Artifact &a, std::span<const TextPlace> places, GrowingBytes &block) {
  std::vector<uint32_t> patterns;
  for (const SiteRecord &s : a.sites)
    patterns.push_back(block.add_text(expand_marks(placed_pattern(s, places), places, s.text)));
  ExportedBody body{};
  body.program_at = block.add_text(a.program.code);
  body.program_bytes = static_cast<uint32_t>(a.program.code.size());
  body.sites_at = block.add_list(patterns);
  body.site_count = static_cast<uint32_t>(patterns.size());
  return body;
}

/// Returns the elements of an array in row-major order.
std::string elements_of(const ArrayView &a) {
  std::string out;
  std::vector<int64_t> index(a.rank, 0);
  int64_t count = 1;
  for (size_t d = 0; d < a.rank; ++d) count *= a.extents[d];
  for (int64_t n = 0; n < count; ++n) {
    const char *from = static_cast<const char *>(a.data);
    for (size_t d = 0; d < a.rank; ++d) from += index[d] * a.stride_bytes(d);
    out.append(from, item_size(a.dtype));
    for (size_t d = a.rank; d-- > 0;) {
      if (++index[d] < a.extents[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

/// Returns the bits of exported_features for a target. Its other features are of every processor of its kind.
uint64_t feature_bits(const Target &target) {
  uint64_t bits = 0;
  for (size_t i = 0; i < std::size(exported_features); ++i)
    bits |= uint64_t{target.has(exported_features[i])} << i;
  return bits;
}

}  // namespace

std::vector<uint32_t> outputs_in_order(const Artifact &a) {
  std::vector<uint32_t> order;
  for (uint32_t param : a.results)
    if (a.params[param].mode == ParamMode::out) order.push_back(param);
  return order;
}

std::string describe(const KernelToExport &k) {
  GrowingBytes block(sizeof(Exported));
  Exported out{};
  std::vector<uint32_t> outputs = outputs_in_order(k.main);
  std::vector<ExportedParam> params;
  for (uint32_t i = 0; i < k.main.params.size(); ++i) {
    const ParamRecord &p = k.main.params[i];
    ExportedParam e{};
    auto argument = static_cast<size_t>(p.arg);
    if (p.mode == ParamMode::out) {
      auto number = std::ranges::find(outputs, i) - outputs.begin();
      e.position = static_cast<int32_t>(k.arguments.size()) + static_cast<int32_t>(number);
    } else if (argument < k.arguments.size()) {
      e.position = p.arg;
    } else {
      const ArrayView &array = k.captured[argument - k.arguments.size()];
      e.position = -1;
      std::copy_n(array.extents, array.rank, e.extents);
      e.captured_at = block.add(elements_of(array), 64);
    }
    e.name_at = block.add_text(p.name);
    e.is_tensor = p.is_tensor, e.rank = p.rank, e.dtype = p.dtype;
    e.mode = p.mode, e.stride_class = p.stride_class, e.fill = p.fill;
    params.push_back(e);
  }
  out.features = feature_bits(k.target);
  out.name_at = block.add_text(k.symbol);
  out.param_count = static_cast<uint32_t>(params.size());
  out.params_at = block.add_list(params);
  out.argument_count = static_cast<uint32_t>(k.arguments.size());
  out.position_count = static_cast<uint32_t>(k.arguments.size() + outputs.size());
  out.result_count = static_cast<uint32_t>(k.main.results.size());
  out.results_at = block.add_list(k.main.results);
  out.main = describe_body(k.main, k.places, block);
  out.plain = describe_body(k.plain, k.places, block);
  block.set(0, out);
  return block.take();
}

ExportedParts export_parts(const KernelToExport &k) {
  ExportedParts parts;
  auto entry_as = [](const char *name) {
    return [name](const std::string &symbol) { return symbol == "kw_entry" ? std::string(name) : symbol; };
  };
  parts.main = rename_symbols(k.main.code, entry_as("kw_exported_main"));
  parts.plain = rename_symbols(k.plain.code, entry_as("kw_exported_plain"));
  parts.description = data_object("kw_exported_kernel", describe(k), k.main.code);
  parts.header = c_header(k);
  return parts;
}

}  // namespace kw
