// Keeps names apart from the words of C++ and of the prelude.
#include "codegen/cuda/text.h"

namespace kw {

namespace {

/// Words that a kernel may use as names and that mean something else in the text, with spaces around each.
constexpr std::string_view reserved =
    " alignas alignof and and_eq asm auto bitand bitor blockDim blockIdx bool break case catch "
    "char class compl concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double dynamic_cast else enum explicit export extern f32 f64 false float "
    "for friend goto gridDim i16 i32 i64 i8 if inline int long main mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires return short signed sizeof static static_assert static_cast struct "
    "switch template this thread_local threadIdx throw true try typedef typeid typename u16 u32 "
    "u64 u8 union unsigned using virtual void volatile warpSize wchar_t while xor xor_eq ";

/// Whatever the locale says, C++ takes these alone everywhere.
bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Returns an identifier of ASCII letters, digits and single underscores. Names that begin with an underscore
/// or hold two are the compiler's, those that begin with kw_ the prelude's.
std::string identifier(std::string_view name) {
  std::string out;
  for (char c : name) {
    char next = is_alphanumeric(c) ? c : '_';
    if (next != '_' || out.empty() || out.back() != '_') out += next;
  }
  bool is_foreign =
      out.empty() || out[0] == '_' || (out[0] >= '0' && out[0] <= '9') || out.starts_with("kw_");
  return is_foreign ? cat("v", out.starts_with("_") ? "" : "_", out) : out;
}

}  // namespace

std::string line_directive(const Loc &loc, const SourcePlaces &places) {
  if (!loc.known()) return "";
  uint32_t text = places.sources.text_number(loc.source);
  if (text >= places.texts.size()) return "";
  const TextPlace &place = places.texts[text];
  if (place.path.find('\n') != std::string::npos) return "";  // no directive can hold it
  std::string path;
  for (char c : place.path) path += c == '"' || c == '\\' ? cat("\\", std::string(1, c)) : std::string(1, c);
  return cat("#line ", place.first_line + places.sources.position(loc).line, " \"", path, "\"");
}

std::string CudaNames::fresh(std::string_view like) {
  std::string name = identifier(like), out = name;
  auto is_taken = [&](const std::string &n) {
    return taken_.count(n) || reserved.find(cat(" ", n, " ")) != std::string_view::npos;
  };
  for (int number = 1; is_taken(out); ++number) out = cat(name, "_", number);
  taken_.insert(out);
  return out;
}

const std::string &CudaNames::of(const Sym &s) {
  std::string &name = names_[s.get()];
  if (name.empty()) name = fresh(s->name);
  return name;
}

}  // namespace kw
