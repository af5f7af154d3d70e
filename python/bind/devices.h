// What Python asks of the GPUs of the process: whether there are any, their streams and memory, and waits.
// Binds runtime/cuda; kernelwright.cuda is its public form.
#pragma once

#include <pybind11/pybind11.h>

namespace kw {

void bind_cuda(pybind11::module_ &m);

}  // namespace kw
