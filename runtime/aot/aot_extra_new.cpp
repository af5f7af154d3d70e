// `extra` for libraries that use today's std::string; CMake selects it for the compiler.
#include "runtime/aot/aot_extra_impl.h"

namespace kw {

const AotExtraApi &aot_extra_new() { return extra_api; }

}  // namespace kw
