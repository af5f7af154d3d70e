// In all tests each pass and each step of a schedule leaves sound IR, and a loop that is planned as vector
// runs as one: else E503.
#include "support/options.h"

namespace kw {
namespace {

const bool is_verified = [] {
  DebugOptions options = debug_options();
  options.verify_each = true;
  set_debug_options(options);
  return true;
}();

}  // namespace
}  // namespace kw
