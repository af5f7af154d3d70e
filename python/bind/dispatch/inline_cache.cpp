// Compares NumPy objects with the plan's data of its last call.
#include "bind/dispatch/inline_cache.h"

#include "bind/dispatch/numpy.h"

#include <algorithm>
#include <cstring>

#include "bind/dispatch/args.h"
#include "bind/dispatch/memory.h"

namespace kw {

namespace {

PyArrayObject *as_array(const void *o) { return static_cast<PyArrayObject *>(const_cast<void *>(o)); }

/// Compares type, layout, dtype and shape in one pass; copies the shape to `copied`.
inline bool is_like(PyObject *o, const InlineCache::Tensor &t, int wanted_flags, const int64_t *extents,
                    int64_t *copied) {
  if (!PyArray_CheckExact(o)) return false;
  PyArrayObject *a = as_array(o);
  if ((PyArray_FLAGS(a) & wanted_flags) != wanted_flags || PyArray_DESCR(a) != t.descr ||
      PyArray_NDIM(a) != static_cast<int>(t.rank))
    return false;
  for (uint32_t d = 0; d < t.rank; ++d) {
    if (PyArray_DIMS(a)[d] != extents[d]) return false;
    copied[d] = extents[d];
  }
  return true;
}

/// Flags of the arrays that the cache covers: their layout needs no strides.
constexpr int plain_flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;

/// Returns NumPy's own, immortal object of a dtype, or null.
const void *descr_of(PyArrayObject *a) {
  // a dtype in foreign byte order or with metadata is another object, which is not cached
  PyArray_Descr *own = PyArray_DescrFromType(PyArray_TYPE(a));
  Py_DECREF(own);
  return own == PyArray_DESCR(a) ? own : nullptr;
}

/// Returns the kind of a Python number; `tensor` for any other object.
InlineCache::Kind kind_of_number(PyObject *o) {
  if (PyFloat_CheckExact(o)) return InlineCache::Kind::real;
  if (PyLong_CheckExact(o)) return InlineCache::Kind::integer;
  return PyBool_Check(o) ? InlineCache::Kind::truth : InlineCache::Kind::tensor;
}

/// Reads the bits of a Python number of this kind; returns false for any other object.
inline bool read_number(PyObject *o, InlineCache::Kind kind, uint64_t &bits) {
  if (kind_of_number(o) != kind) return false;
  if (kind == InlineCache::Kind::real) {
    double v = PyFloat_AS_DOUBLE(o);
    std::memcpy(&bits, &v, sizeof bits);
    return true;
  }
  int overflow = 0;
  bits = kind == InlineCache::Kind::truth ? o == Py_True
                                          : static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(o, &overflow));
  return overflow == 0;
}

/// Returns whether there are captured arrays. They are not among the passed arguments, so the cache cannot
/// compare them.
bool has_captured_arrays(const Captures &captures) {
  return std::any_of(captures.begin(), captures.end(), [](const auto &c) {
    return c.second.kind == Captured::Kind::array || has_captured_arrays(c.second.attributes);
  });
}

/// Returns whether the array given as out= is like the last output and shares no byte with an input. Sets
/// `c.out`.
bool matches_out(const CallPlan &plan, PyObject *o, CachedCall &c) {
  const InlineCache &r = plan.inline_cache;
  const InlineCache::Tensor &t = r.tensors[r.inputs];
  if (!is_like(o, t, plain_flags | NPY_ARRAY_WRITEABLE, plan.out_extents.data(), c.out_extents)) return false;
  char *low = PyArray_BYTES(as_array(o)), *high = low + t.bytes;
  // in any other case the general path decides whether the output needs a new array
  for (uint32_t i = 0; i < r.inputs; ++i) {
    char *other = static_cast<char *>(c.data[i]);
    if (low < other + r.tensors[i].bytes && other < high) return false;
  }
  c.out = o;
  c.out_is_a_view = PyArray_BASE(as_array(o)) != nullptr;
  return true;
}

}  // namespace

void remember(CallPlan &plan, const LoadedKernel &kernel, PyObject *const *args) {
  InlineCache &r = plan.inline_cache;
  const Artifact &a = kernel.artifact();
  // stays false on each early return, so that a partly filled cache is never used
  r.valid = false;
  if (!plan.shape_known || plan.has_inout || kernel.output_count() != 1 || a.results.size() != 1 ||
      a.tuple_of_one || !plan.request.signature.outs.empty() || has_captured_arrays(plan.request.captures))
    return;
  // the entries follow the signature: extents of all tensors are concatenated in the plan
  r.arguments = r.inputs = 0;
  const int64_t *extents = plan.extents.data();
  int64_t copied[max_rank];
  for (const ArgSpec &s : plan.request.signature.args) {
    PyObject *o = args[r.arguments];
    auto kind = s.kind == ArgKind::weak_scalar ? kind_of_number(o) : InlineCache::Kind::tensor;
    r.kinds[r.arguments++] = kind;
    if (kind != InlineCache::Kind::tensor) continue;
    // strong scalars and unused arguments have no descriptor either, so such calls are not cached
    const void *descr = s.kind == ArgKind::tensor && PyArray_CheckExact(o) ? descr_of(as_array(o)) : nullptr;
    if (!descr || s.stride_class != StrideClass::contiguous ||
        !is_like(o, {descr, s.rank}, plain_flags, extents, copied))
      return;
    r.tensors[r.inputs++] = {descr, s.rank, false, bytes_of(s.dtype, s.rank, extents)};
    extents += s.rank;
  }
  for (const ParamRecord &p : a.params) {
    if (p.mode != ParamMode::out) continue;
    // null for bfloat16 without ml_dtypes: the general path raises the error
    const void *descr = output_descr(p.dtype);
    r.tensors[r.inputs] = {descr, p.rank, p.fill == Fill::zero,
                           bytes_of(p.dtype, p.rank, plan.out_extents.data())};
    r.valid = descr != nullptr;
  }
}

bool matches_repeat(const CallPlan &plan, PyObject *const *args, size_t nargs, PyObject *kwnames,
                    CachedCall &c) {
  static PyObject *const out_key = PyUnicode_InternFromString("out");
  const InlineCache &r = plan.inline_cache;
  if (nargs != r.arguments) return false;
  const int64_t *extents = plan.extents.data();
  int64_t *copied = c.extents;
  uint64_t *number = c.scalars;
  const InlineCache::Tensor *t = r.tensors;
  void **data = c.data;
  for (uint32_t i = 0; i < r.arguments; ++i) {
    if (r.kinds[i] != InlineCache::Kind::tensor) {
      if (!read_number(args[i], r.kinds[i], *number++)) return false;
      continue;
    }
    if (!is_like(args[i], *t, plain_flags, extents, copied)) return false;
    *data++ = PyArray_DATA(as_array(args[i]));
    extents += t->rank, copied += t->rank, ++t;
  }
  // empty unless the sizes of outputs, the workspace or the body depend on the scalars
  if (!std::equal(plan.scalars.begin(), plan.scalars.end(), c.scalars)) return false;
  c.extent_count = static_cast<size_t>(copied - c.extents);
  c.workspace = plan.workspace;
  c.work = plan.work;
  if (!kwnames) {
    // copied, because another call may change the plan while this one runs without the GIL
    for (uint32_t d = 0; d < r.tensors[r.inputs].rank; ++d) c.out_extents[d] = plan.out_extents[d];
    return true;
  }
  // other keywords, and names that are not interned, take the general path
  return PyTuple_GET_SIZE(kwnames) == 1 && PyTuple_GET_ITEM(kwnames, 0) == out_key &&
         matches_out(plan, args[nargs], c);
}

PyObject *open_output(const CallPlan &plan, CachedCall &c) {
  // a copy, because making the array may run Python code, which may drop the plan
  const InlineCache::Tensor t = plan.inline_cache.tensors[plan.inline_cache.inputs];
  size_t at = plan.inline_cache.inputs;
  PyObject *o = c.out;
  if (o) {
    Py_INCREF(o);
  } else {
    auto *descr = static_cast<PyArray_Descr *>(const_cast<void *>(t.descr));
    Py_INCREF(descr);
    o = new_result(descr, t.rank, c.out_extents, static_cast<size_t>(t.bytes), t.zeroed);
    if (!o) return nullptr;
  }
  c.data[at] = PyArray_DATA(as_array(o));
  // a new array is zeroed by its allocation; an array given as out= holds old values
  if (t.zeroed && c.out) std::memset(c.data[at], 0, static_cast<size_t>(t.bytes));
  return o;
}

}  // namespace kw
