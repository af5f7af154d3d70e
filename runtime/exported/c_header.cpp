// Artifact → C header: what the functions take, and a function with typed parameters that calls them.
#include <algorithm>
#include <cctype>
#include <set>

#include "runtime/exported/exported.h"
#include "support/text.h"

namespace kw {

namespace {

/// Types of C by DType. C has none for the floats of 16 bits: their bits are passed.
constexpr std::string_view c_types[] = {"bool",     "int8_t",   "int16_t",  "int32_t",  "int64_t",
                                        "uint8_t",  "uint16_t", "uint32_t", "uint64_t", "uint16_t",
                                        "uint16_t", "float",    "double"};
std::string_view c_type(DType t) { return c_types[static_cast<size_t>(t)]; }

/// The most bytes of stack that a call needs beside the frames of the kernel: ExportedCall holds tables for
/// all arguments that a kernel can have.
constexpr size_t stack_of_exported_calls = 64 << 10;

/// One row of the C interface: an argument, used by the kernel or not, or an output.
struct CPosition {
  std::string name;
  const ParamRecord *param;  ///< null if the kernel does not use the argument

  bool is_array() const { return param && param->is_tensor; }
  bool has_strides() const { return is_array() && param->stride_class != StrideClass::contiguous; }
};

/// Renames what C cannot name so: an output may have the name of an argument, a name may be a word of C, and
/// an array also takes the names of its shape and strides.
void make_unique(std::vector<CPosition> &positions) {
  std::set<std::string, std::less<>> taken;
  for (size_t i = 0; i < positions.size(); ++i) {
    CPosition &p = positions[i];
    auto is_free = [&](const std::string &name) {
      return !is_c_word(name) && !taken.contains(name) && !taken.contains(cat(name, "_shape")) &&
             !taken.contains(cat(name, "_strides"));
    };
    bool is_ascii = std::ranges::all_of(p.name, [](unsigned char c) { return c < 128; });
    if (!is_ascii || !is_free(p.name)) p.name = cat("arg", i);
    while (!is_free(p.name)) p.name += '_';
    taken.insert({p.name, cat(p.name, "_shape"), cat(p.name, "_strides")});
  }
}

std::vector<CPosition> positions_of(const KernelToExport &k) {
  std::vector<CPosition> out;
  for (size_t i = 0; i < k.arguments.size(); ++i) {
    const ParamRecord *used = nullptr;
    for (const ParamRecord &p : k.main.params)
      if (p.mode != ParamMode::out && p.arg == static_cast<int32_t>(i)) used = &p;
    out.push_back({k.arguments[i], used});
  }
  for (uint32_t output : outputs_in_order(k.main))
    out.push_back({k.main.params[output].name, &k.main.params[output]});
  make_unique(out);
  return out;
}

/// Returns one line of the table of arguments: "0  x  float32, 2 dimensions, row-major".
std::string line_of(const CPosition &p, size_t number) {
  std::string what = "not used";
  if (p.param) {
    what = numpy_name(p.param->dtype);
    if (p.is_array()) {
      what += cat(", ", counted(p.param->rank, "dimension"));
      what += p.param->stride_class == StrideClass::contiguous   ? ", row-major"
              : p.param->stride_class == StrideClass::inner_unit ? ", last dimension without gaps"
                                                                 : ", any strides";
      if (p.param->mode == ParamMode::out) what += ", result";
      if (p.param->mode == ParamMode::inout) what += ", written in place";
    } else {
      what += ", scalar";
    }
  }
  return cat(" *   ", number, "  ", p.name, ": ", what, "\n");
}

/// Returns the parameters of the typed function.
std::string typed_parameters(const std::vector<CPosition> &positions) {
  std::vector<std::string> out;
  for (const CPosition &p : positions) {
    if (!p.param) continue;
    std::string type(c_type(p.param->dtype));
    if (!p.is_array()) {
      out.push_back(cat(type, " ", p.name));
      continue;
    }
    out.push_back(cat(p.param->mode == ParamMode::in ? "const " : "", type, " *", p.name));
    if (p.param->rank) out.push_back(cat("const int64_t ", p.name, "_shape[", p.param->rank, "]"));
    if (p.has_strides()) out.push_back(cat("const int64_t ", p.name, "_strides[", p.param->rank, "]"));
  }
  out.push_back("char *message");
  out.push_back("size_t message_bytes");
  return join_text(out, ",\n    ");
}

/// Returns the lists that the typed function passes on.
std::string typed_body(const KernelToExport &k, const std::vector<CPosition> &positions) {
  std::vector<std::string> data, shapes, strides;
  for (const CPosition &p : positions) {
    bool shaped = p.is_array() && p.param->rank;
    data.push_back(!p.param ? "NULL" : p.is_array() ? cat("(void *)", p.name) : cat("&", p.name));
    shapes.push_back(shaped ? cat(p.name, "_shape") : "NULL");
    strides.push_back(p.has_strides() ? cat(p.name, "_strides") : "NULL");
  }
  std::string n = cat(std::max<size_t>(positions.size(), 1));
  auto list = [](std::vector<std::string> items) {
    if (items.empty()) items.push_back("NULL");
    return join_text(items, ", ");
  };
  return cat("  void *const data[", n, "] = {", list(data), "};\n  const int64_t *const shapes[", n, "] = {",
             list(shapes), "};\n  const int64_t *const strides[", n, "] = {", list(strides), "};\n  return ",
             k.symbol, "_run(data, shapes, strides, message, message_bytes);\n");
}

std::string upper(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto letter = static_cast<unsigned char>(c);
    out += std::isalnum(letter) ? static_cast<char>(std::toupper(letter)) : '_';
  }
  return out;
}

}  // namespace

bool is_c_word(std::string_view name) {
  // of C and C++, macros of compilers, and what the typed function uses
  static constexpr std::string_view words =
      " NULL alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t "
      "char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr "
      "constinit continue data decltype default delete do double dynamic_cast else enum explicit export "
      "extern false float for friend goto if inline int int16_t int32_t int64_t int8_t linux long main "
      "message message_bytes mutable namespace new noexcept not not_eq nullptr operator or or_eq private "
      "protected public register reinterpret_cast requires restrict return shapes short signed size_t "
      "sizeof static static_assert static_cast strides struct switch template this thread_local throw true "
      "try typedef typeid typename typeof uint16_t uint32_t uint64_t uint8_t union unix unsigned using "
      "virtual void volatile wchar_t while xor xor_eq ";
  bool is_reserved = name.size() > 1 && name[0] == '_' &&
                     (name[1] == '_' || std::isupper(static_cast<unsigned char>(name[1])));
  return is_reserved || words.find(cat(" ", name, " ")) != std::string_view::npos;
}

bool is_called_function(std::string_view name) {
  static constexpr std::string_view functions[] = {"aligned_alloc", "free",    "memcmp",   "memcpy",
                                                   "memmove",       "memset",  "snprintf", "strcmp",
                                                   "strlen",        "strpbrk", "strtod",   "write"};
  return std::ranges::find(functions, name) != std::end(functions);
}

/// The header; words that begin with $ stand for what differs between kernels.
static constexpr std::string_view header_text =
    R"(/* $header: the kernel '$kernel' as functions of C, written by `kw export`.
 * $library needs C's library only, and a processor of the class $class.
 *
 * Positions:
$table *
 * data[i]: the first element of an array, or the address of a scalar.
 * shapes[i]: the extents of an array; NULL for a scalar.
 * strides[i]: the strides of an array in elements, or NULL if it is row-major. `strides` itself may be NULL.
 * Results are row-major arrays of the caller. Elements of float16 and bfloat16 are passed as their bits.
 *
 * A call needs up to $stack KB of the stack of its thread.
 *
 * Each function returns 0, or a code after which `message` (or NULL) holds a text of at most `message_bytes`
 * bytes, ended by 0:
 *   1  a check of the kernel failed; results may be partly written
 *   2  an argument or a result does not fit; nothing was written
 *   3  no memory
 *   4  the processor lacks a feature that the code needs
 * All functions may be called by several threads at once; a call runs in its own thread only. */
#ifndef $guard
#define $guard

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the kernel. */
int $symbol_run(void *const *data, const int64_t *const *shapes, const int64_t *const *strides,
    char *message, size_t message_bytes);

/* Computes the extents of the results ($results) from the shapes of the arguments and from the scalars; of
 * `data` only the scalars are read. results[r] has room for the extents of result r. */
int $symbol_shapes(void *const *data, const int64_t *const *shapes, int64_t *const *results,
    char *message, size_t message_bytes);

/* The entry of MindSpore's ahead-of-time kernels, for ops.Custom("./$library:$symbol", ..., func_type="aot").
 * The text of an error goes to the standard error stream. */
int $symbol(int count, void **params, int *ranks, int64_t **shapes, const char **dtypes,
    void *stream, void *extra);

/* Runs the kernel, with types that the compiler checks. */
static inline int $symbol_call(
    $typed_parameters) {
$typed_body}

#ifdef __cplusplus
}
#endif

#endif
)";

std::string c_header(const KernelToExport &k) {
  std::vector<CPosition> positions = positions_of(k);
  std::string table, results;
  for (size_t i = 0; i < positions.size(); ++i) table += line_of(positions[i], i);
  for (uint32_t r : k.main.results)
    for (const CPosition &p : positions)
      if (p.param == &k.main.params[r]) results += cat(results.empty() ? "" : ", ", p.name);
  const std::pair<std::string_view, std::string> words[] = {
      {"$header", k.header},
      {"$kernel", k.main.name},
      {"$library", k.library},
      {"$stack", cat((k.stack_bytes + stack_of_exported_calls) >> 10)},
      {"$class", std::string(k.target.machine().name)},
      {"$table", table},
      {"$guard", cat("KW_", upper(k.header))},
      {"$results", results},
      {"$typed_parameters", typed_parameters(positions)},
      {"$typed_body", typed_body(k, positions)},
      {"$symbol", k.symbol}};
  std::string out;
  for (std::string_view rest = header_text; !rest.empty();) {
    const auto *word = std::ranges::find_if(words, [&](const auto &w) { return rest.starts_with(w.first); });
    out += word == std::end(words) ? std::string(1, rest[0]) : word->second;
    rest.remove_prefix(word == std::end(words) ? 1 : word->first.size());
  }
  return out;
}

}  // namespace kw
