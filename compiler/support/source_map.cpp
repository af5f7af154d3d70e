// Computes lines and columns in the texts of one compilation.
#include "support/source_map.h"

#include <algorithm>

#include "support/text.h"

namespace kw {

uint32_t SourceMap::add_text(std::string path, uint32_t first_line, std::string text) {
  entries_.push_back({std::move(path), first_line, std::move(text), 0, {}, texts_++});
  return static_cast<uint32_t>(entries_.size() - 1);
}

uint32_t SourceMap::add_inlined(uint32_t callee, Loc call) {
  entries_.push_back({{}, 1, {}, callee, call, 0});
  return static_cast<uint32_t>(entries_.size() - 1);
}

const SourceMap::Entry &SourceMap::resolve(uint32_t source) const {
  if (source >= entries_.size()) return entries_[0];
  const Entry *e = &entries_[source];
  while (e->callee) e = &entries_[e->callee];
  return *e;
}

std::string_view SourceMap::text(uint32_t source) const { return resolve(source).text; }
const std::string &SourceMap::path(uint32_t source) const { return resolve(source).path; }

Position SourceMap::position_of(uint32_t source, uint32_t offset) const {
  const Entry &e = resolve(source);
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(e.text.size()));
  std::string_view before = std::string_view(e.text).substr(0, offset);
  size_t newline = before.rfind('\n');
  std::string_view in_line = newline == std::string_view::npos ? before : before.substr(newline + 1);
  auto lines = static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
  return {e.first_line + lines, 1 + count_code_points(in_line)};
}

Position SourceMap::position(Loc loc) const { return position_of(loc.source, loc.begin); }
Position SourceMap::end_position(Loc loc) const { return position_of(loc.source, loc.end); }

std::string_view SourceMap::line_text(Loc loc) const {
  std::string_view all = text(loc.source);
  size_t at = std::min<size_t>(loc.begin, all.size());
  size_t begin = at == 0 ? std::string_view::npos : all.rfind('\n', at - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  size_t end = all.find('\n', at);
  if (end == std::string_view::npos) end = all.size();
  return all.substr(begin, end - begin);
}

Loc SourceMap::inlined_at(uint32_t source) const {
  return source < entries_.size() && entries_[source].callee ? entries_[source].call : Loc{};
}

}  // namespace kw
