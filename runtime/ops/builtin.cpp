// The registry of the process, which initially holds the operators of this folder. runtime/calls declares it
// and knows none of them.
#include "runtime/calls/registry.h"
#include "runtime/ops/table.h"

namespace kw {

namespace {

/// Collects the rows of all files of this folder for one commit, so that all faults are reported together.
Registration builtin_ops() {
  Registration rows;
  ops::register_elementwise(rows);
  ops::register_shapes(rows);
  ops::register_reductions(rows);
  ops::register_matmul(rows);
  ops::register_rows(rows);
  ops::register_windows(rows);
  ops::register_indexed(rows);
  return rows;
}

}  // namespace

Registry &registry() {
  static Registry *const instance = [] {
    auto *made = new Registry;  // never destroyed, because calls use it while the process ends
    made->commit(builtin_ops());
    return made;
  }();
  return *instance;
}

}  // namespace kw
