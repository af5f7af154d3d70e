// A library of a user: operators that register themselves when it is opened. With KW_FAULTY its rows are
// wrong.
#include "runtime/calls/call.h"

namespace {

void twice(kw::KernelContext &context) {
  const kw::Tensor &x = context.call.inputs[0];
  kw::Tensor y = kw::Tensor::empty(x.dtype(), x.shape());
  for (int64_t i = 0; i < x.size(); ++i)
    static_cast<float *>(y.data())[i] = 2 * static_cast<const float *>(x.data())[i];
  context.outputs = {y};
}

const bool registered = [] {
  kw::Registration rows;
#ifdef KW_FAULTY
  rows.ops = {{"plugin", {{"x"}}, {{"y"}}}};
  rows.kernels = {{"plugin::missing", kw::BodyKind::cpp_kernel, twice}};
#else
  rows.ops = {{"plugin::twice", {{"x"}}, {{"y"}}}};
  rows.kernels = {{"plugin::twice", kw::BodyKind::cpp_kernel, twice}};
#endif
  kw::add_pending(std::move(rows));
  return true;
}();

}  // namespace

extern "C" int plugin_number() { return registered ? 7 : 0; }
