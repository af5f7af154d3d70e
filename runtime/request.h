// A request for one specialization of a kernel, and its cache key (core.md 4). The key is the hash of a
// readable preimage that holds everything that can change the bytes. Reads no files and no source text.
#pragma once

#include <string>
#include <string_view>

#include "ir/signature.h"
#include "support/diagnostic.h"
#include "support/hash.h"
#include "support/options.h"
#include "support/target.h"

namespace kw {

struct Request {
  std::string name;
  /// Hash of Python's bytecode version and the code objects of the kernel and its callees, or of the text of
  /// a kernel given as text. Covers no file and no first line.
  std::string identity;
  Captures captures;
  Signature signature;
  CodegenOptions options;
  Target target;
  std::string backend = "llvm";
  std::vector<Derivation> derive{};  ///< the derivatives to compile, the innermost first
  /// Where the texts of the kernel and of its callees begin: for names of code, and for line tables. In the
  /// key only with debug_info.
  std::vector<TextPlace> places{};
};

/// Returns the name of the functions of its code, for profilers and debuggers: "kw_softmax_12".
std::string code_name(const Request &r);

/// Sets the present target and back end of compilations (KW_TARGET, KW_DEBUG=interp).
void set_present_target(Request &r);

/// Returns the type of an argument for messages: "float32[:, :]", with a note about unusual strides.
std::string type_text(const ArgSpec &a);

/// Returns the preimage of the key: one "name value" line per field.
std::string key_text(const Request &r);
Hash128 key_of(const Request &r);

}  // namespace kw
