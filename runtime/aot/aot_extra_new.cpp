// `extra` for libraries whose std::string is today's: CMake says so to the compiler.
#include "runtime/aot/aot_extra_impl.h"

namespace kw {

const AotExtraApi &aot_extra_new() { return extra_api; }

}  // namespace kw
