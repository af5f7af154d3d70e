// The result of a compilation, which the cache stores as one block of bytes, KWA1 (core.md 3). A later
// process can run the kernel from it without source, front end or LLVM. Knows nothing of files
// (runtime/cache).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/entry_program.h"
#include "codegen/launch_program.h"
#include "ir/func.h"
#include "ir/signature.h"
#include "support/diagnostic.h"

namespace kw {

/// The version of the encoding of an artifact; a part of every key.
inline constexpr uint32_t artifact_version = 11;

/// One parameter of the compiled function, in the order of the ABI.
struct ParamRecord {
  std::string name;
  bool is_tensor = true;
  DType dtype = DType::f32;
  uint8_t rank = 0;
  ParamMode mode = ParamMode::in;
  StrideClass stride_class = StrideClass::contiguous;
  Fill fill = Fill::none;
  int32_t arg = -1;  ///< index in the call; -1 for an output
  /// For an output: one bit for each argument that the output may overwrite.
  uint64_t in_place = 0;
};

/// A sum of extents, as messages write it and as a call evaluates it.
struct ExtentSum {
  struct Term {
    uint32_t dim;  ///< index into the dims of the ABI
    int64_t factor;
    friend bool operator==(const Term &, const Term &) = default;
  };
  std::string text;
  std::vector<Term> terms;
  int64_t constant = 0;
  friend bool operator==(const ExtentSum &, const ExtentSum &) = default;
};

/// A condition on the shapes of a call, from an access that every run executes: `larger` is at least
/// `smaller`.
struct ShapeCondition {
  ExtentSum larger, smaller;
  friend bool operator==(const ShapeCondition &, const ShapeCondition &) = default;
};

/// The data for the message of a failed check; lines are as in Resolved.
struct SiteRecord {
  Code code = Code::E303;
  int32_t line = -1;
  uint32_t column = 0, end_column = 0;
  std::string line_text;
  std::string tensor;  ///< "" if the site has a message
  uint32_t dim = 0;
  bool from_end = false;     ///< the source counts from the end, the value from 0
  bool is_unsigned = false;  ///< the value is an unsigned number
  std::vector<ShapeCondition> conditions;
  std::vector<std::string> notes;  ///< the calls through which the place was inlined
  uint32_t text = 0;               ///< as in Resolved
  SiteMessage message{};           ///< as in Site
  uint32_t rank = 0;               ///< as in Site
};

/// `library` and `cubin` are no kernels and have their own kinds of keys: a shared library that was compiled
/// from a user's source, and machine code of one kernel for a GPU, whose log stands in `explain`.
enum class CodeKind : uint8_t { elf, ir, library, cuda, cubin };

struct Artifact {
  std::string key;  ///< the preimage of the request key, readable lines
  std::string name;
  std::vector<ParamRecord> params;
  std::vector<uint32_t> results;  ///< indices into params
  bool tuple_of_one = false;      ///< a single result is returned in a tuple
  EntryProgram program;
  std::vector<SiteRecord> sites;
  std::vector<Resolved> warnings;
  CodeKind code_kind = CodeKind::elf;
  std::string code;
  LaunchProgram launches;  ///< of code for GPUs
  std::string explain;     ///< the conditions on shapes, one per line, for reports without the source
  std::string from;        ///< build id of the producer
};

std::string serialize(const Artifact &a);
/// Returns nothing if a magic, length, count or checksum is wrong: the entry is corrupt, which is a cache
/// miss.
std::optional<Artifact> deserialize(std::string_view bytes);
/// Returns whether a file claims to hold another version of this format.
bool is_of_another_version(std::string_view bytes);

}  // namespace kw
