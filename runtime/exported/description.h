// What an exported library knows of its kernel: one block of bytes, in which places are counted from its
// beginning, so that linking has nothing to relocate. describe.cpp writes it, standalone/ reads it.
//     Exported | ExportedParam[] | results[] | text, entry programs, sites | captured arrays
#pragma once

#include <cstdint>

#include "codegen/artifact.h"

namespace kw {

/// Features that code can need, as LLVM names them; an index here is a bit of Exported::features.
inline constexpr const char *exported_features[] = {"sse3", "ssse3",   "sse4.1",   "sse4.2",   "popcnt",
                                                    "avx",  "avx2",    "bmi",      "bmi2",     "fma",
                                                    "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"};

/// One parameter of the compiled function, in the order of the ABI.
struct ExportedParam {
  int64_t extents[max_rank];  ///< of a captured array, which is row-major
  uint64_t captured_at;       ///< place of the elements of a captured array; else 0
  uint32_t name_at;
  int32_t position;  ///< in the C interface: arguments as called, then outputs; -1 for a captured array
  bool is_tensor;
  uint8_t rank;
  DType dtype;
  ParamMode mode;
  StrideClass stride_class;
  Fill fill;
};

/// One of the two bodies.
struct ExportedBody {
  uint32_t program_at, program_bytes;
  uint32_t sites_at, site_count;  ///< per site the place of its pattern (versions/fault_pattern.h), 4 bytes
};

struct Exported {
  uint64_t features;  ///< that the code needs
  uint32_t name_at;
  uint32_t param_count, params_at;
  uint32_t argument_count;            ///< that a caller passes, unused ones included
  uint32_t position_count;            ///< arguments and outputs
  uint32_t result_count, results_at;  ///< per result the index of its parameter, 4 bytes
  ExportedBody main, plain;
};

}  // namespace kw
