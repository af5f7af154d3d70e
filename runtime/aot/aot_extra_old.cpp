// `extra` for libraries that use std::string from before C++11; CMake selects it for the compiler.
#include "runtime/aot/aot_extra_impl.h"

namespace kw {

const AotExtraApi &aot_extra_old() { return extra_api; }

}  // namespace kw
