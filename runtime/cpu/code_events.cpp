// Names the functions of an object and calls who asked.
#include "runtime/cpu/code_events.h"

#include "runtime/cpu/gdb_interface.h"
#include "runtime/cpu/object_file.h"
#include "runtime/cpu/perf_files.h"
#include "support/options.h"
#include "support/text.h"

namespace kw {

std::shared_ptr<void> announce_code(std::string_view object, std::span<const uint64_t> addresses,
                                    const std::string &name) {
  const DebugOptions &options = debug_options();
  if (!options.perf_map && !options.jitdump && !options.gdb) return nullptr;
  std::string named = rename_symbols(std::string(object), [&](const std::string &symbol) {
    return symbol == "kw_entry" ? name : cat(name, ".", symbol);
  });
  std::vector<CodeRange> functions;
  for (const ObjectFunction &f : functions_of(named))
    if (f.section < addresses.size() && addresses[f.section])
      functions.push_back({f.name, addresses[f.section] + f.offset, f.size});
  if (options.perf_map) write_perf_map(functions);
  if (options.jitdump) write_jitdump(functions);
  return options.gdb ? register_with_gdb(place_sections(std::move(named), addresses)) : nullptr;
}

}  // namespace kw
