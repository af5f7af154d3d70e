// The two kinds of options. CodegenOptions can change the bytes of an artifact, so every field is hashed into
// the cache key; DebugOptions (KW_DEBUG) can never change a byte. Neither reads the other.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

/// The freedom to reorder sums and to fuse products with sums (language.md 3).
enum class FpMode : uint8_t { strict, normal, fast };
/// The optimised body, or the serial, fully checked one, also in a form for arguments that share memory
/// (core.md 3).
enum class Body : uint8_t { main, plain, overlapping };

/// Tells whether different arguments of a call may share memory; they may only in body `overlapping`.
enum class Overlap : uint8_t { none, possible };

struct CodegenOptions {
  FpMode fp = FpMode::normal;
  Body body = Body::main;
  bool debug = false;       ///< checks every access, also those proved in bounds
  bool unchecked = false;   ///< omits the checks of subscripts that are data
  bool asserts = true;      ///< with debug, assert statements count; under -O they do not, as in CPython
  bool debug_info = false;  ///< line tables for debuggers, of the places that Request names
};

/// Calls f(name, value) for every field, in declaration order; values are printed as text into the key.
template <class F>
void for_each_field(const CodegenOptions &o, F &&f) {
  f("fp", static_cast<int>(o.fp));
  f("body", static_cast<int>(o.body));
  f("debug", static_cast<int>(o.debug));
  f("unchecked", static_cast<int>(o.unchecked));
  f("asserts", static_cast<int>(o.asserts));
  f("debug_info", static_cast<int>(o.debug_info));
}

struct DebugOptions {
  std::vector<std::string> dump_after;  ///< pass names, or "all"
  std::string dump_dir;                 ///< files instead of stderr
  std::string kernel = "*";             ///< glob over the kernels to dump and time
  bool time = false;                    ///< print the time of each stage
  bool verify_each = false;             ///< verify the IR after each pass also in release builds
  bool interp = false;                  ///< run kernels by the IR interpreter, with loops as written
  std::string interp_target{};  ///< with interp: run the IR that is compiled for this class of machine
  bool cache = true;            ///< use the disk cache
  // who is told of loaded code (runtime/cpu/code_events)
  bool perf_map = false;  ///< Linux perf, by a map of names
  bool jitdump = false;   ///< Linux perf, by a dump of the code
  bool gdb = false;       ///< GDB
  bool wait = false;      ///< a call on a GPU waits for its kernel, so its faults are raised by itself
};

struct ParsedDebug {
  DebugOptions options;
  std::string error;  ///< empty, or the wrong word and the known words
};

/// Parses "dump:after=unroll; time; perf:map". Unknown words are errors.
ParsedDebug parse_debug(std::string_view text);

/// Returns the options in force: initially those of KW_DEBUG, or the defaults if that is malformed. They stay
/// valid until the process ends. Thread-safe.
const DebugOptions &debug_options();
void set_debug_options(DebugOptions options);
/// Returns how kernels run at present: 0 as machine code, else by the interpreter, with one number per way.
/// Cheap enough for every call.
uint8_t execution_mode();
inline bool interpreting() { return execution_mode() != 0; }

std::string_view fp_name(FpMode fp);

}  // namespace kw
