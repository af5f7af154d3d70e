// Tensors of few elements for tests, and kernels run by the interpreter, which needs no LLVM. Holds no
// test itself.
#pragma once

#include "runtime/tensor.h"
#include "support/options.h"

namespace kw {

using Values = std::vector<double>;

inline Tensor tensor(std::vector<int64_t> shape, const Values &of, DType dtype = DType::f32) {
  Tensor t = Tensor::empty(dtype, shape);
  for (size_t i = 0; i < of.size(); ++i) {
    if (dtype == DType::f32) static_cast<float *>(t.data())[i] = static_cast<float>(of[i]);
    if (dtype == DType::f64) static_cast<double *>(t.data())[i] = of[i];
    if (dtype == DType::i32) static_cast<int32_t *>(t.data())[i] = static_cast<int32_t>(of[i]);
    if (dtype == DType::i64) static_cast<int64_t *>(t.data())[i] = static_cast<int64_t>(of[i]);
  }
  return t;
}

/// The elements in order; of row-major tensors.
inline Values values(const Tensor &t) {
  Values out;
  for (int64_t i = 0; i < t.size(); ++i) {
    if (t.dtype() == DType::f32) out.push_back(static_cast<const float *>(t.data())[i]);
    if (t.dtype() == DType::f64) out.push_back(static_cast<const double *>(t.data())[i]);
    if (t.dtype() == DType::i32) out.push_back(static_cast<const int32_t *>(t.data())[i]);
    if (t.dtype() == DType::i64)
      out.push_back(static_cast<double>(static_cast<const int64_t *>(t.data())[i]));
    if (t.dtype() == DType::b1) out.push_back(static_cast<const bool *>(t.data())[i]);
  }
  return out;
}

/// What an error of this class says, or "no error".
template <class Error, class F>
std::string error_of(F &&f) {
  try {
    f();
  } catch (const Error &e) {
    return e.what();
  }
  return "no error";
}

/// Kernels run by the interpreter, and nothing is cached, while this lives.
class Interpreted {
 public:
  Interpreted() : before_(debug_options()) {
    DebugOptions options = before_;
    options.interp = true;
    options.cache = false;
    set_debug_options(options);
  }
  ~Interpreted() { set_debug_options(before_); }

 private:
  DebugOptions before_;
};

}  // namespace kw
