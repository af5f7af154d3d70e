// `extra` for libraries whose std::string is the one from before C++11: CMake says so to the compiler.
#include "runtime/aot/aot_extra_impl.h"

namespace kw {

const AotExtraApi &aot_extra_old() { return extra_api; }

}  // namespace kw
