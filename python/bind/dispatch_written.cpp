// Arrays that a kernel writes: writable, no element twice, and what memory they share with the other
// arguments. Changes no array.
#include "bind/dispatch_args.h"

#define PY_ARRAY_UNIQUE_SYMBOL kernelwright_numpy
#define NO_IMPORT_ARRAY
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstdlib>

#include "support/text.h"

namespace kw {

namespace {

struct AddressRange {
  const char *low, *high;  ///< end exclusive; equal for an array without elements
  bool meets(const AddressRange &o) const {
    return low != high && o.low != o.high && low < o.high && o.low < high;
  }
};

AddressRange address_range(PyArrayObject *a) {
  const char *low = PyArray_BYTES(a), *high = low;
  if (PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS) {
    npy_intp bytes = PyArray_ITEMSIZE(a);
    for (int d = 0; d < PyArray_NDIM(a); ++d) bytes *= PyArray_DIM(a, d);
    return {low, low + bytes};
  }
  for (int d = 0; d < PyArray_NDIM(a); ++d) {
    if (PyArray_DIM(a, d) == 0) return {low, low};
    npy_intp span = (PyArray_DIM(a, d) - 1) * PyArray_STRIDE(a, d);
    (span < 0 ? low : high) += span;
  }
  return {low, high + PyArray_ITEMSIZE(a)};
}

/// Of two arrays whose address ranges meet: exact where NumPy can tell within a bounded search, else true.
bool overlap(PyArrayObject *a, PyArrayObject *b) {
  PyRef numpy(PyImport_ImportModule("numpy"));
  PyRef shares(numpy ? PyObject_CallMethod(numpy.get(), "shares_memory", "OOi", a, b, 10'000) : nullptr);
  if (!shares) PyErr_Clear();
  return !shares || PyObject_IsTrue(shares.get()) == 1;
}

/// Whether two elements share a byte. Sorted by stride, each dimension must step over all that the smaller
/// ones reach; where it does not, the few layouts that are apart all the same are found by listing the
/// addresses.
bool overlaps_itself(PyArrayObject *a) {
  if ((PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS) || PyArray_SIZE(a) == 0) return false;
  std::vector<std::pair<npy_intp, npy_intp>> dims;  // (stride, extent)
  for (int d = 0; d < PyArray_NDIM(a); ++d)
    if (PyArray_DIM(a, d) > 1) dims.emplace_back(std::abs(PyArray_STRIDE(a, d)), PyArray_DIM(a, d));
  std::sort(dims.begin(), dims.end());
  npy_intp item = PyArray_ITEMSIZE(a), reach = item;
  bool nested = true;
  for (auto [stride, extent] : dims) nested = nested && stride >= reach, reach += stride * (extent - 1);
  if (nested) return false;
  constexpr npy_intp most_listed = 1 << 16;
  if (PyArray_SIZE(a) > most_listed) return true;
  std::vector<npy_intp> offsets{0};
  for (auto [stride, extent] : dims)
    for (size_t i = 0, n = offsets.size(); i < n * static_cast<size_t>(extent - 1); ++i)
      offsets.push_back(offsets[i] + stride);
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end(),
                            [&](npy_intp x, npy_intp y) { return y - x < item; }) != offsets.end();
}

/// How messages name a written array: by its parameter, or as out= when there is none.
std::string subject(const char *parameter) { return parameter ? cat("argument '", parameter, "'") : "out="; }

bool check_writable(const KernelState &k, const char *parameter, PyArrayObject *a) {
  if (!(PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE)) {
    raise_error(Code::E222, cat(subject(parameter), " of kernel '", k.name, "' is written but read-only"),
                "pass a writable copy: a.copy()");
    return false;
  }
  if (overlaps_itself(a)) {
    raise_error(Code::E222,
                cat(subject(parameter), " of kernel '", k.name,
                    "' is written but several of its elements share memory"),
                "pass a copy: a.copy()");
    return false;
  }
  return true;
}

bool is_copied(const CallFrame &f, PyArrayObject *a) {
  return std::any_of(f.copies.begin(), f.copies.end(),
                     [&](const auto &c) { return c.second == reinterpret_cast<PyObject *>(a); });
}

/// Whether two arguments are the same view of the same memory.
bool is_same_view(const CallFrame &f, size_t i, size_t j) {
  auto *a = reinterpret_cast<PyArrayObject *>(f.args[i]), *b = reinterpret_cast<PyArrayObject *>(f.args[j]);
  if (f.words[i] != f.words[j] || PyArray_DATA(a) != PyArray_DATA(b)) return false;
  for (int d = 0; d < PyArray_NDIM(a); ++d)
    if (PyArray_DIM(a, d) != PyArray_DIM(b, d) ||
        (PyArray_DIM(a, d) > 1 && PyArray_STRIDE(a, d) != PyArray_STRIDE(b, d)))
      return false;
  return true;
}

void note_same_view(CallFrame &f, size_t i, size_t j) {
  if (!std::exchange(f.same_views, true))
    for (size_t k = 0; k < f.arg_count; ++k) f.alias[k] = static_cast<uint8_t>(k);
  uint8_t first = std::min(f.alias[i], f.alias[j]), other = std::max(f.alias[i], f.alias[j]);
  for (size_t k = 0; k < f.arg_count; ++k)
    if (f.alias[k] == other) f.alias[k] = first;
}

/// Notes overlaps of a written array with the arguments; false with an exception for those that copies cannot
/// keep.
bool check_apart(const KernelState &k, const char *parameter, PyArrayObject *written, CallFrame &f,
                 size_t self) {
  AddressRange range = address_range(written);
  for (size_t i = 0; i < f.arg_count; ++i) {
    if (i == self || !PyArray_Check(f.args[i])) continue;
    auto *other = reinterpret_cast<PyArrayObject *>(f.args[i]);
    if (!range.meets(address_range(other)) || !overlap(written, other)) continue;
    bool copied = is_copied(f, written) || is_copied(f, other);
    if (self != SIZE_MAX && !copied && is_same_view(f, i, self)) {
      note_same_view(f, i, self);
      continue;
    }
    f.overlaps = true;
    if (!copied) continue;
    raise_error(Code::E222,
                cat(subject(parameter), " of kernel '", k.name, "' is written and overlaps argument '",
                    parameter_name(k, i), "', and one of them is not aligned to its items"),
                "pass aligned arrays, or arrays that are apart");
    return false;
  }
  return true;
}

}  // namespace

bool check_written(const KernelState &k, const Plan &plan, CallFrame &f) {
  for (const ParamRecord &p : plan.main->artifact().params) {
    if (p.mode != ParamMode::inout) continue;
    auto i = static_cast<size_t>(p.arg);
    auto *a = reinterpret_cast<PyArrayObject *>(f.args[i]);
    if (!check_writable(k, p.name.c_str(), a) || !check_apart(k, p.name.c_str(), a, f, i)) return false;
  }
  for (size_t i = 0; i < f.out_count; ++i) {
    auto *a = reinterpret_cast<PyArrayObject *>(f.given[i]);
    if (a && (!check_writable(k, nullptr, a) || !check_apart(k, nullptr, a, f, SIZE_MAX))) return false;
    for (size_t j = 0; a && j < i; ++j)
      if (auto *b = reinterpret_cast<PyArrayObject *>(f.given[j]);
          b && address_range(a).meets(address_range(b)) && overlap(a, b)) {
        raise_error(Code::E222, cat("two arrays of out= of kernel '", k.name, "' overlap"));
        return false;
      }
  }
  return true;
}

void add_alias_words(CallFrame &f) {
  for (size_t i = 0; i < f.arg_count; ++i)
    if (f.alias[i] != i) f.words[f.word_count++] = static_cast<uint16_t>(alias_word | i << 5 | f.alias[i]);
}

}  // namespace kw
