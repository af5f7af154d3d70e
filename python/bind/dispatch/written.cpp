// Checks arrays that a kernel writes: they are writable, have no element twice, and share no memory with
// other arguments, or only in allowed ways. Changes no array.
#include "bind/dispatch/args.h"

#include "bind/dispatch/numpy.h"

#include <algorithm>
#include <cstdlib>

#include "support/text.h"

namespace kw {

namespace {

/// The bytes from the lowest to the highest element of an array, gaps included. Disjoint ranges prove that
/// two arrays are disjoint; intersecting ranges prove nothing.
struct AddressRange {
  const char *low, *high;  ///< `high` is exclusive; equal for an array without elements
  bool meets(const AddressRange &o) const {
    return low != high && o.low != o.high && low < o.high && o.low < high;
  }
};

/// Returns the address range of an array. A negative stride reaches below the address of the first element.
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

/// Returns whether two arrays with intersecting address ranges overlap: exact if NumPy can decide within a
/// bounded search, else true.
bool overlap(PyArrayObject *a, PyArrayObject *b) {
  PyRef numpy(PyImport_ImportModule("numpy"));
  PyRef shares(numpy ? PyObject_CallMethod(numpy.get(), "shares_memory", "OOi", a, b, 10'000) : nullptr);
  if (!shares) PyErr_Clear();
  return !shares || PyObject_IsTrue(shares.get()) == 1;
}

/// Returns whether two elements share a byte. Sorted by stride, each dimension must step over the range of
/// all smaller ones. The few other layouts without shared bytes are found by listing the addresses.
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

/// Returns how messages name a written array: by its parameter, or as out= if there is none.
std::string subject(const char *parameter) { return parameter ? cat("argument '", parameter, "'") : "out="; }

/// Returns whether an array is writable and its elements share no memory, else false with E222. With shared
/// elements the result would depend on the order of the stores.
bool check_writable(const KernelState &k, const char *parameter, PyArrayObject *a) {
  if (!(PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE)) {
    raise_error(Code::E222, cat(subject(parameter), " of kernel '", k.name, "' is written but read-only"),
                parameter ? cat("pass a writable copy: ", parameter, ".copy()")
                          : "pass a writable array, or leave out= away and take the result");
    return false;
  }
  if (overlaps_itself(a)) {
    raise_error(Code::E222,
                cat(subject(parameter), " of kernel '", k.name,
                    "' is written but several of its elements share memory"),
                parameter ? cat("pass a copy: ", parameter, ".copy()")
                          : "pass an array of its own, or leave out= away and take the result");
    return false;
  }
  return true;
}

/// Returns whether the call works on a contiguous copy of the array.
bool is_copied(const CallFrame &f, PyArrayObject *a) {
  return std::any_of(f.copies.begin(), f.copies.end(),
                     [&](const auto &c) { return c.second == reinterpret_cast<PyObject *>(a); });
}

/// Returns whether two arrays are the same view of the same memory.
bool is_same_view(PyArrayObject *a, PyArrayObject *b) {
  if (PyArray_DATA(a) != PyArray_DATA(b) || PyArray_TYPE(a) != PyArray_TYPE(b) ||
      PyArray_NDIM(a) != PyArray_NDIM(b))
    return false;
  for (int d = 0; d < PyArray_NDIM(a); ++d)
    if (PyArray_DIM(a, d) != PyArray_DIM(b, d) ||
        (PyArray_DIM(a, d) > 1 && PyArray_STRIDE(a, d) != PyArray_STRIDE(b, d)))
      return false;
  return true;
}

/// Merges two groups of arguments that are the same view. The least index represents the group.
void join_aliases(CallFrame &f, size_t i, size_t j) {
  uint8_t first = std::min(f.alias[i], f.alias[j]), other = std::max(f.alias[i], f.alias[j]);
  for (size_t k = 0; k < f.arg_count; ++k)
    if (f.alias[k] == other) f.alias[k] = first;
}

/// A written argument, or an array of out=.
struct Written {
  const char *parameter;  ///< null for out=
  PyArrayObject *array;
  size_t number;  ///< number of the argument or the output
  bool joins;     ///< may be compiled as one buffer with an argument that is the same view
  bool is_argument(size_t i) const { return parameter && number == i; }
};

/// Notes that a written array is the same view as argument `i`. The first note initializes the tables: until
/// then each argument is its own group, and no output has one.
void note_same_view(CallFrame &f, const Written &w, size_t i) {
  if (!std::exchange(f.same_views, true)) {
    for (size_t k = 0; k < f.arg_count; ++k) f.alias[k] = static_cast<uint8_t>(k);
    std::fill(std::begin(f.out_alias), std::end(f.out_alias), uint8_t{UINT8_MAX});
  }
  if (w.parameter) return join_aliases(f, w.number, i);
  uint8_t &out = f.out_alias[w.number];
  if (out == UINT8_MAX) out = static_cast<uint8_t>(i);
  join_aliases(f, out, i);
}

/// Notes overlaps of a written array with the arguments. Returns false with an exception for overlaps that
/// copies would break.
bool check_apart(const KernelState &k, const Written &w, CallFrame &f) {
  AddressRange range = address_range(w.array);
  for (size_t i = 0; i < f.arg_count; ++i) {
    if (w.is_argument(i) || !PyArray_Check(f.args[i])) continue;
    auto *other = reinterpret_cast<PyArrayObject *>(f.args[i]);
    if (!range.meets(address_range(other))) continue;
    // a copy would not see writes of the kernel through the other array
    bool copied = is_copied(f, w.array) || is_copied(f, other);
    if (w.joins && !copied && is_same_view(w.array, other)) {
      note_same_view(f, w, i);
      continue;
    }
    if (!overlap(w.array, other)) continue;
    f.overlaps = true;
    if (!copied) continue;
    raise_error(Code::E222,
                cat(subject(w.parameter), " of kernel '", k.name, "' is written and overlaps argument '",
                    parameter_name(k, i), "', and one of them is not aligned to its items"),
                "pass aligned arrays, or arrays that are apart");
    return false;
  }
  return true;
}

/// Returns whether a kernel may write this array of out= directly. It must share no memory with an argument,
/// or be the same view as an argument whose elements the kernel reads before it writes them.
bool is_apart_or_in_place(const ParamRecord &p, PyArrayObject *a, size_t number, CallFrame &f) {
  AddressRange range = address_range(a);
  bool right_type = PyArray_NDIM(a) == p.rank &&
                    dtype_of_array(reinterpret_cast<PyObject *>(a)) == static_cast<int>(p.dtype);
  std::vector<size_t> views;
  for (size_t i = 0; i < f.arg_count; ++i) {
    if (!PyArray_Check(f.args[i])) continue;
    auto *other = reinterpret_cast<PyArrayObject *>(f.args[i]);
    if (!range.meets(address_range(other))) continue;
    bool in_place = right_type && (p.in_place >> i & 1u) && !is_copied(f, a) && !is_copied(f, other);
    if (in_place && is_same_view(a, other))
      views.push_back(i);
    else if (overlap(a, other))
      return false;
  }
  for (size_t i : views) note_same_view(f, {nullptr, a, number, true}, i);
  return true;
}

bool check(const KernelState &k, const Written &w, CallFrame &f) {
  return check_writable(k, w.parameter, w.array) && check_apart(k, w, f);
}

}  // namespace

bool check_written(const KernelState &k, const CallPlan &plan, CallFrame &f) {
  size_t out = 0;
  for (const ParamRecord &p : plan.main->artifact().params) {
    if (p.mode == ParamMode::inout) {
      auto i = static_cast<size_t>(p.arg);
      if (!check(k, {p.name.c_str(), reinterpret_cast<PyArrayObject *>(f.args[i]), i, true}, f)) return false;
    }
    if (p.mode != ParamMode::out) continue;
    size_t number = out++;
    auto *a = number < f.out_count ? reinterpret_cast<PyArrayObject *>(f.given[number]) : nullptr;
    if (!a) continue;
    if (!check_writable(k, nullptr, a)) return false;
    // the kernel writes a new array, which the call copies to this one after the run
    if (!is_apart_or_in_place(p, a, number, f)) f.temporaries |= 1u << number;
  }
  // two outputs in the same memory would have no defined contents
  for (size_t i = 0; i < f.out_count; ++i)
    for (size_t j = 0; j < i; ++j) {
      auto *a = reinterpret_cast<PyArrayObject *>(f.given[i]);
      auto *b = reinterpret_cast<PyArrayObject *>(f.given[j]);
      if (!a || !b || !address_range(a).meets(address_range(b)) || !overlap(a, b)) continue;
      raise_error(Code::E222, cat("two arrays of out= of kernel '", k.name, "' overlap"));
      return false;
    }
  return true;
}

void add_alias_words(CallFrame &f) {
  for (size_t i = 0; i < f.arg_count; ++i)
    if (f.alias[i] != i) f.words[f.word_count++] = alias_word(i, f.alias[i]);
  for (size_t i = 0; i < f.out_count; ++i)
    if (f.out_alias[i] != UINT8_MAX) f.words[f.word_count++] = out_alias_word(i, f.alias[f.out_alias[i]]);
}

}  // namespace kw
