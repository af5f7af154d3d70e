// What `kw export` links into a shared library: the objects of a kernel's two bodies, and a description of
// its arguments that standalone/ reads. Makes bytes and text; writes no file and runs no linker.
#pragma once

#include <string>
#include <vector>

#include "codegen/artifact.h"
#include "runtime/array_view.h"
#include "support/target.h"

namespace kw {

/// A kernel to export, for the types of one call.
struct KernelToExport {
  std::string symbol;           ///< name of the functions in C
  std::string library, header;  ///< names of the files, for the comments of the header
  Artifact main, plain;
  size_t stack_bytes = 0;  ///< of the body that needs more
  Target target;
  std::vector<std::string>
      arguments;                    ///< names, as called, unused ones included; captured arrays follow them
  std::vector<ArrayView> captured;  ///< their elements are copied
  std::vector<TextPlace> places;    ///< of the kernel's text and of those inlined, for messages
};

/// The inputs of the linker, and the C header.
struct ExportedParts {
  std::string main, plain, description;  ///< relocatable ELF objects
  std::string header;
};

/// Makes the parts. Both artifacts hold machine code.
ExportedParts export_parts(const KernelToExport &k);

/// Returns the description (description.h).
std::string describe(const KernelToExport &k);
/// Returns the text of the header. Its functions are those of standalone/entries.
std::string c_header(const KernelToExport &k);
/// Returns whether a name cannot be that of a function or parameter in the header: a word of C or C++, or one
/// that the header uses.
bool is_c_word(std::string_view name);
/// Returns whether the library itself calls a function of C's library of that name.
bool is_called_function(std::string_view name);
/// The outputs of a kernel in the order of the C interface: as it returns them. Indices of parameters.
std::vector<uint32_t> outputs_in_order(const Artifact &a);

}  // namespace kw
