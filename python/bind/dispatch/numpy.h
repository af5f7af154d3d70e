// NumPy's C interface with this module's settings. dispatch/args.cpp holds its function table, and defines
// PY_ARRAY_UNIQUE_SYMBOL before it includes this file; the other files refer to that table.
#pragma once

#ifndef PY_ARRAY_UNIQUE_SYMBOL
#define PY_ARRAY_UNIQUE_SYMBOL kernelwright_numpy
#define NO_IMPORT_ARRAY
#endif
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>
