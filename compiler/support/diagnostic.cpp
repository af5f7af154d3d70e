// Collects, resolves and renders diagnostics.
#include "support/diagnostic.h"

#include <algorithm>

#include "support/text.h"

namespace kw {

namespace {
constexpr char mark_begin = '\x02', mark_end = '\x03';

/// Returns the line below the source line. Repeats the source's tabs before the caret, so that the caret
/// points right whatever tab width a terminal uses.
std::string caret_line(const Resolved &d) {
  std::u32string line = decode_utf8(d.line_text);
  size_t begin = d.column - 1, end = std::min<size_t>(std::max(d.end_column, d.column) - 1, line.size());
  std::string padding;
  for (size_t i = 0; i < begin; ++i) {
    char32_t point = i < line.size() ? line[i] : U' ';
    padding += point == U'\t' ? "\t" : std::string(display_width(point), ' ');
  }
  uint32_t width = 0;
  for (size_t i = begin; i < end; ++i) width += display_width(line[i]);
  return padding + '^' + std::string(std::max<uint32_t>(width, 1) - 1, '~');
}
}  // namespace

std::string line_mark(const SourceMap &sources, Loc loc) {
  return cat(mark_begin, sources.text_number(loc.source), ":", sources.position(loc).line, mark_end);
}

const TextPlace &place_of(uint32_t text, std::span<const TextPlace> places) {
  return places[text < places.size() ? text : 0];
}

std::string expand_marks(std::string_view text, std::span<const TextPlace> places, uint32_t of) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != mark_begin) {
      out += text[i];
      continue;
    }
    uint32_t numbers[2] = {0, 0}, at = 0;
    for (++i; i < text.size() && text[i] != mark_end; ++i) {
      if (text[i] == ':') at = 1;
      if (text[i] >= '0' && text[i] <= '9')
        numbers[at] = numbers[at] * 10 + static_cast<uint32_t>(text[i] - '0');
    }
    const TextPlace &place = place_of(numbers[0], places);
    out += std::to_string(place.first_line + numbers[1]);
    if (place.path != place_of(of, places).path) out += cat(" of ", place.path);
  }
  return out;
}

std::string expand_marks(std::string_view text, uint32_t first_line) {
  TextPlace place{{}, first_line};
  return expand_marks(text, {&place, 1}, 0);
}

Resolved resolve(const Diagnostic &d, const SourceMap &sources) {
  Resolved r{d.code, -1, 0, 0, {}, d.message, d.notes, d.help, sources.text_number(d.loc.source)};
  Loc loc = d.loc;
  for (Loc call = sources.inlined_at(loc.source); call.known(); call = sources.inlined_at(call.source))
    r.notes.push_back(cat("inlined by the call at line ", line_mark(sources, call)));
  if (!loc.known()) return r;
  Position at = sources.position(loc), end = sources.end_position(loc);
  r.line = static_cast<int32_t>(at.line);
  r.column = at.column;
  r.line_text = sources.line_text(loc);
  r.end_column = end.line == at.line ? end.column : count_code_points(r.line_text) + 1;
  return r;
}

std::string render(const Resolved &d, std::string_view path, uint32_t first_line) {
  TextPlace place{std::string(path), first_line};
  return render(d, {&place, 1});
}

std::string render(const Resolved &d, std::span<const TextPlace> places) {
  const auto &[path, first_line] = place_of(d.text, places);
  auto expanded = [&](const std::string &text) { return expand_marks(text, places, d.text); };
  const CodeRow &row = row_of(d.code);
  std::string kind = cat(row.name[0] == 'W' ? "warning[" : "error[", row.name, "]: ");
  std::string out;
  if (d.line >= 0) {
    std::string number = std::to_string(first_line + static_cast<uint32_t>(d.line));
    std::string gutter(std::max<size_t>(number.size(), 5), ' ');
    out = cat(path, ":", number, ":", d.column, ": ", kind, expanded(d.message), "\n");
    out += cat(std::string(gutter.size() - number.size(), ' '), number, " | ", d.line_text, "\n");
    out += cat(gutter, " | ", caret_line(d), "\n");
  } else {
    out = cat(path, path.empty() ? "" : ": ", kind, expanded(d.message), "\n");
  }
  return out + render_advice(d, places);
}

std::string render_advice(const Resolved &d, std::span<const TextPlace> places) {
  std::string out;
  auto line = [&](std::string_view kind, const std::string &text) {
    out += cat("      = ", kind, ": ", expand_marks(text, places, d.text), "\n");
  };
  for (const std::string &note : d.notes) line("note", note);
  for (const std::string &help : d.help) line("help", help);
  return out;
}

const char *CompileError::what() const noexcept {
  return found_.empty() ? "" : found_.front().message.c_str();
}

void Sink::add(Diagnostic d) {
  for (const Diagnostic &seen : found_)
    if (seen.code == d.code && seen.loc == d.loc && seen.message == d.message) return;
  bool error = !d.is_warning();
  found_.push_back(std::move(d));
  if (error && ++errors_ >= max_errors) throw_if_errors();
}

void Sink::throw_if_errors() const {
  if (!errors_) return;
  std::vector<Diagnostic> errors;
  for (const Diagnostic &d : found_)
    if (!d.is_warning()) errors.push_back(d);
  throw CompileError(std::move(errors));
}

std::vector<Diagnostic> Sink::warnings() const {
  std::vector<Diagnostic> out;
  for (const Diagnostic &d : found_)
    if (d.is_warning()) out.push_back(d);
  return out;
}

void internal_error(const char *file, int line, std::string_view what) {
  std::string_view path = file;
  if (size_t slash = path.rfind('/'); slash != std::string_view::npos) path.remove_prefix(slash + 1);
  throw CompileError(Diagnostic{
      Code::E503,
      {},
      cat(what, " (", path, ":", line, ")"),
      {},
      {"this is a fault of kernelwright: report it with the output of KW_DEBUG=\"dump:after=all\""}});
}

void ensure(bool ok, std::string_view what, const char *file, int line) {
  if (!ok) [[unlikely]]
    internal_error(file, line, what);
}

}  // namespace kw
