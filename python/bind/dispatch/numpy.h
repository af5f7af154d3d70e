// NumPy's C interface with this module's settings. dispatch/args.cpp holds the table of its functions, and
// names it before it includes this; the other files refer to that one.
#pragma once

#ifndef PY_ARRAY_UNIQUE_SYMBOL
#define PY_ARRAY_UNIQUE_SYMBOL kernelwright_numpy
#define NO_IMPORT_ARRAY
#endif
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>
