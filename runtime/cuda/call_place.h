// Where in the user's text a call of a kernel stands, for errors that come after the call has returned. The
// runtime knows nothing of the caller's language, which sets how places are found.
#pragma once

#include <cstdint>
#include <string>

namespace kw {

struct CallPlace {
  std::string file;
  int64_t line = 0;
};

/// Returns where the call that this thread is making stands, or null if that is unknown. The place lives as
/// long as the process.
using CallPlaceFinder = const CallPlace *(*)();
/// Sets what finds places for all threads. Without one, no place is known.
void set_call_place_finder(CallPlaceFinder finder);
const CallPlace *find_call_place();

}  // namespace kw
