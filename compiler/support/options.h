// The two kinds of options. CodegenOptions can change the bytes of an artifact, so every field is hashed into
// the cache key; DebugOptions (KW_DEBUG) can never change a byte. Neither reads the other.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

/// language.md 3: how sums may be reordered and whether products fuse with sums.
enum class FpMode : uint8_t { strict, normal, fast };
/// core.md 3: the optimised body, or the serial fully checked one, also for arguments that share memory.
enum class Body : uint8_t { main, plain, overlapping };

/// Whether different arguments of a call may share memory: in body `overlapping`.
enum class Overlap : uint8_t { none, possible };

struct CodegenOptions {
  FpMode fp = FpMode::normal;
  Body body = Body::main;
  bool debug = false;      ///< every access is checked, also those proved in bounds
  bool unchecked = false;  ///< accesses whose subscripts are data are not checked
  bool asserts = true;     ///< with debug, assert statements count; as in CPython they do not under -O
};

/// Calls f(name, value) for every field, in declaration order; values are printed as text into the key.
template <class F>
void for_each_field(const CodegenOptions &o, F &&f) {
  f("fp", static_cast<int>(o.fp));
  f("body", static_cast<int>(o.body));
  f("debug", static_cast<int>(o.debug));
  f("unchecked", static_cast<int>(o.unchecked));
  f("asserts", static_cast<int>(o.asserts));
}

struct DebugOptions {
  std::vector<std::string> dump_after;  ///< pass names, or "all"
  std::string dump_dir;                 ///< files instead of stderr
  std::string kernel = "*";             ///< glob over kernel names that dumps and times concern
  bool time = false;                    ///< print the time of each stage
  bool verify_each = false;             ///< verify the IR after each pass also in release builds
  bool interp = false;                  ///< run kernels by the IR interpreter, loops as written
  std::string interp_target{};  ///< with interp: the IR that code for this class of machine is made of
  bool cache = true;            ///< use the disk cache
  int log = 0;                  ///< 1: tells of cache entries of no use, 2: also of others
};

struct ParsedDebug {
  DebugOptions options;
  std::string error;  ///< empty, or which word is wrong and which words there are
};

/// Parses "dump:after=unroll; time; log=1". Unknown words are errors.
ParsedDebug parse_debug(std::string_view text);

/// Returns the options in force: at first those of KW_DEBUG, or the default ones if that is malformed. They
/// stay valid until the process ends. Thread-safe.
const DebugOptions &debug_options();
void set_debug_options(DebugOptions options);
/// How kernels run at present: 0 as machine code, else by the interpreter, a number for each way. Cheap
/// enough for every call.
uint8_t execution_mode();
inline bool interpreting() { return execution_mode() != 0; }

std::string_view fp_name(FpMode fp);

}  // namespace kw
