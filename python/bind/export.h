// Export: the parts of a shared library that contains one kernel, compiled for given types of arguments.
// kernelwright/export.py links them; nothing here writes a file.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace kw {

/// What the caller wants of an exported library.
struct ExportRequest {
  std::string target;           ///< as for warm_kernel, but one
  std::string symbol;           ///< name of the functions; "": the kernel's
  std::string library, header;  ///< names of the files
};

/// Compiles or finds both bodies of a kernel for the types of the given arguments. Returns the tuple (main,
/// plain, description, header, symbol) of bytes and texts. Null with an exception (E508).
pybind11::object export_kernel(PyObject *kernel, const pybind11::tuple &args, const pybind11::dict &keywords,
                               const ExportRequest &request);

}  // namespace kw
