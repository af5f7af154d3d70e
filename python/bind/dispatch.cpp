// Calls: plan lookup, shapes, allocation, run, results.
#include "bind/dispatch.h"

#include <algorithm>
#include <cstring>

#include "bind/dispatch_args.h"
#include "runtime/entry.h"
#include "runtime/launch.h"
#include "support/text.h"

namespace kw {

namespace {

constexpr int64_t release_gil_above = 16'000;  ///< operations, about 5 µs (core.md 5)
constexpr int64_t watch_above =
    6'000'000;  ///< operations, about 2 ms: long enough that Ctrl-C must be noticed

struct KernelObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *dict, *weakrefs;
  KernelState *state;
};

KernelObject *as_kernel(PyObject *o) { return reinterpret_cast<KernelObject *>(o); }

Plan *find_plan(KernelState &k, const CallFrame &f) {
  auto matches = [&](const Plan &p) {
    return p.word_count == f.word_count && p.generation == k.generation && p.interp == interpreting() &&
           !std::memcmp(p.words.data(), f.words, f.word_count * sizeof(uint16_t));
  };
  if (k.last && matches(*k.last)) [[likely]]
    return k.last;
  for (const auto &p : k.plans)
    if (matches(*p)) return k.last = p.get();
  return nullptr;
}

Plan *make_plan(KernelState &k, const CallFrame &f) {
  auto plan = std::make_unique<Plan>();
  std::copy(f.words, f.words + f.word_count, plan->words.begin());
  plan->word_count = f.word_count;
  plan->generation = k.generation;
  plan->interp = interpreting();
  plan->signature = describe_signature(f);
  plan->main = k.obtain(plan->signature, Body::main);
  if (!plan->main) k.fresh = false;  // a name that was missing may be defined by the next call
  if (!plan->main || !k.warn_once(*plan->main)) return nullptr;
  for (const ParamRecord &p : plan->main->artifact().params) plan->has_inout |= p.mode == ParamMode::inout;
  if (Plan *made_meanwhile = find_plan(k, f)) return made_meanwhile;
  k.plans.push_back(std::move(plan));
  return k.last = k.plans.back().get();
}

bool raise_extent_error(const KernelState &k, const LoadedKernel &kernel, size_t index, Code code,
                        int64_t value) {
  size_t extent = index;
  std::string output;
  for (const ParamRecord &p : kernel.artifact().params) {
    if (p.mode != ParamMode::out) continue;
    output = p.name;
    if (extent < p.rank) break;
    extent -= p.rank;
  }
  Resolved e;
  e.code = code;
  const auto &places = kernel.artifact().program.extent_places;
  if (index < places.size()) {
    e.line = places[index].line;
    e.column = places[index].column;
    e.end_column = places[index].end_column;
    e.line_text = places[index].line_text;
  }
  e.message = code == Code::E304 ? cat("extent ", extent, " of output '", output, "' is negative: ", value)
                                 : cat("the extents of output '", output, "' exceed 2^46 elements");
  raise_errors({e}, k.place);
  return false;
}

bool raise_entry_error(const KernelState &k, const LoadedKernel &kernel, const EntryResult &r) {
  if (r.error == EntryResult::Error::malformed)
    return raise_error(Code::E503, cat("the entry program of '", k.name, "' is malformed")), false;
  bool negative = r.error == EntryResult::Error::negative_extent;
  return raise_extent_error(k, kernel, r.error_index, negative ? Code::E304 : Code::E224, r.error_value);
}

/// Elements of each output stay below 2^46 too, not only its extents.
bool check_sizes(const KernelState &k, const LoadedKernel &kernel, const std::vector<int64_t> &extents) {
  size_t at = 0;
  for (const ParamRecord &p : kernel.artifact().params) {
    if (p.mode != ParamMode::out) continue;
    int64_t elements = 1;
    bool empty = false, wide = false;
    for (size_t d = 0; d < p.rank; ++d) {
      empty |= extents[at + d] == 0;
      wide |= __builtin_mul_overflow(elements, extents[at + d], &elements) || elements >= (int64_t{1} << 46);
    }
    if (wide && !empty) return raise_extent_error(k, kernel, at, Code::E224, 0);
    at += p.rank;
  }
  return true;
}

/// Runs the entry program for new extents; chooses the body.
bool enter_shape(KernelState &k, Plan &plan, const CallFrame &f) {
  EntryResult r =
      evaluate_entry(plan.main->artifact().program, f.extents, f.extent_count, f.scalars, f.scalar_count);
  if (r.error != EntryResult::Error::none) return raise_entry_error(k, *plan.main, r);
  bool use_plain = !r.facts_hold;
  if (use_plain) {
    if (!plan.plain) plan.plain = k.obtain(plan.signature, Body::plain);
    if (!plan.plain) return false;
    r = evaluate_entry(plan.plain->artifact().program, f.extents, f.extent_count, f.scalars, f.scalar_count);
    if (r.error != EntryResult::Error::none) return raise_entry_error(k, *plan.plain, r);
  }
  const LoadedKernel &kernel = use_plain ? *plan.plain : *plan.main;
  if (!check_sizes(k, kernel, r.extents)) return false;
  plan.extents.assign(f.extents, f.extents + f.extent_count);
  plan.out_extents = std::move(r.extents);
  plan.workspace = r.workspace;
  plan.work = kernel.artifact().program.bounded ? r.work : INT64_MAX;
  plan.use_plain = use_plain;
  // scalars enter entry programs too, so shapes are only remembered for kernels without them
  plan.shape_known = f.scalar_count == 0;
  return true;
}

int64_t value_of(const ExtentSum &sum, const CallFrame &f) {
  auto value = static_cast<uint64_t>(sum.constant);
  for (const ExtentSum::Term &t : sum.terms)
    if (t.dim < f.extent_count)
      value += static_cast<uint64_t>(t.factor) * static_cast<uint64_t>(f.extents[t.dim]);
  return static_cast<int64_t>(value);
}

/// "b.shape[1] is 3 but must be at least a.shape[1] = 4", or "" when the condition holds.
std::string failed_condition(const ShapeCondition &c, const CallFrame &f) {
  int64_t larger = value_of(c.larger, f), smaller = value_of(c.smaller, f);
  if (larger >= smaller) return {};
  if (c.larger.terms.empty()) return cat(c.smaller.text, " is ", smaller, " but must be at most ", larger);
  return cat(c.larger.text, " is ", larger, " but must be at least ", c.smaller.text,
             c.smaller.terms.empty() ? "" : cat(" = ", smaller));
}

PyObject *raise_fault(const KernelState &k, const LoadedKernel &kernel, const CallFrame &f,
                      const KwFault &fault) {
  const auto &sites = kernel.artifact().sites;
  if (fault.site >= sites.size()) return raise_error(Code::E503, "a fault of an unknown site");
  const SiteRecord &s = sites[fault.site];
  Resolved e;
  e.code = s.code;
  e.line = s.line;
  e.column = s.column;
  e.end_column = s.end_column;
  e.line_text = s.line_text;
  int64_t index = s.from_end ? fault.value - fault.bound : fault.value;
  e.message = cat("index ", index, " is out of range for dimension ", s.dim, " of '", s.tensor,
                  "', whose extent is ", fault.bound);
  if (fault.bound > 0) e.message += cat(" (valid 0..", fault.bound - 1, ")");
  if (index < 0 && !s.from_end) e.notes.push_back("a variable index below 0 does not count from the end");
  for (const ShapeCondition &c : s.conditions)
    if (std::string note = failed_condition(c, f); !note.empty()) e.notes.push_back(std::move(note));
  return raise_errors({e}, k.place);
}

bool is_main_thread() {
  static const uint64_t main_id = [] {
    PyRef threading(PyImport_ImportModule("threading"));
    PyRef thread(threading ? PyObject_CallMethod(threading.get(), "main_thread", nullptr) : nullptr);
    PyRef ident(thread ? PyObject_GetAttrString(thread.get(), "ident") : nullptr);
    uint64_t id = ident ? PyLong_AsUnsignedLongLong(ident.get()) : 0;
    PyErr_Clear();
    return id;
  }();
  return PyThread_get_thread_ident() == main_id;
}

RunResult run(const LoadedKernel &kernel, int64_t work, const CallWords &words) {
  if (work <= release_gil_above) return run_here(kernel, words, nullptr);
  bool watched = work > watch_above && is_main_thread();
  struct Released {  // takes the GIL back also when the run throws
    PyThreadState *saved = PyEval_SaveThread();
    ~Released() { PyEval_RestoreThread(saved); }
  } released;
  if (!watched) return run_here(kernel, words, nullptr);
  return run_watched(kernel, words, [&] {
    PyEval_RestoreThread(released.saved);
    bool interrupted = PyErr_CheckSignals() != 0;
    released.saved = PyEval_SaveThread();
    return interrupted;
  });
}

/// Outputs of one call: new arrays or those of out=.
struct Outputs {
  int64_t extents[max_outputs *
                  max_rank];  // copied: an allocation may run Python code that calls the kernel again
  PyObject *array[max_outputs] = {};
  size_t count = 0;
  ~Outputs() {
    for (size_t i = 0; i < count; ++i) Py_XDECREF(array[i]);
  }
};

bool make_outputs(const LoadedKernel &kernel, CallFrame &f, Outputs &outs) {
  size_t at = 0;
  for (const ParamRecord &p : kernel.artifact().params) {
    if (p.mode != ParamMode::out) continue;
    PyObject *given = outs.count < f.out_count ? f.outs[outs.count] : nullptr;
    PyObject *array = given ? Py_NewRef(given) : new_array(p.dtype, p.rank, outs.extents + at);
    if (!array) return false;
    outs.array[outs.count++] = array;
    if (p.fill == Fill::zero && !zero_array(array)) return false;
    f.data[f.data_count++] = array_data(array);
    at += p.rank;
  }
  return true;
}

PyObject *make_result(const LoadedKernel &kernel, const CallFrame &f, Outputs &outs) {
  const Artifact &a = kernel.artifact();
  auto object = [&](uint32_t param) {
    const ParamRecord &p = a.params[param];
    if (p.arg >= 0) return Py_NewRef(f.args[p.arg]);
    size_t number = 0;
    for (uint32_t i = 0; i < param; ++i) number += a.params[i].mode == ParamMode::out;
    bool from_user = number < f.out_count && f.given[number];
    return Py_NewRef(from_user ? f.given[number] : outs.array[number]);
  };
  if (a.results.size() == 1) return object(a.results[0]);
  PyObject *tuple = PyTuple_New(static_cast<Py_ssize_t>(a.results.size()));
  for (size_t i = 0; tuple && i < a.results.size(); ++i)
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), object(a.results[i]));
  return tuple;
}

PyObject *finish(KernelState &k, const LoadedKernel &kernel, CallFrame &f, Outputs &outs,
                 const RunResult &r) {
  if (r.status == 1) return raise_fault(k, kernel, f, r.fault);
  if (r.status == 3) return PyErr_NoMemory();
  if (r.status == 2) return PyErr_Occurred() ? nullptr : (PyErr_SetNone(PyExc_KeyboardInterrupt), nullptr);
  if (PyErr_Occurred()) return nullptr;  // a signal handler raised as the run ended
  if (!f.copies.empty() && !write_back(kernel, f)) return nullptr;
  return make_result(kernel, f, outs);
}

/// Binds the arguments. Parameters with `*` are refused as such, not by the count that they confuse.
bool bind(KernelState &k, PyObject *const *args, size_t nargs, PyObject *kwnames, CallFrame &f) {
  if (bind_arguments(k, args, nargs, kwnames, f)) [[likely]]
    return true;
  if (!k.starred) return false;
  PyErr_Clear();
  if (k.check()) raise_error(Code::E112, cat("kernel '", k.name, "' has '*' parameters"));
  return false;
}

PyObject *call(KernelState &k, PyObject *const *args, size_t nargs, PyObject *kwnames) {
  CallFrame f;
  if (!bind(k, args, nargs, kwnames, f) || !read_arguments(k, f)) return nullptr;
  if (!k.fresh || !k.guards_hold()) [[unlikely]]
    if (!k.refresh()) return nullptr;
  Plan *plan = find_plan(k, f);
  if (!plan && !(plan = make_plan(k, f))) return nullptr;
  bool same_shape = plan->shape_known && std::equal(plan->extents.begin(), plan->extents.end(), f.extents,
                                                    f.extents + f.extent_count);
  if (!same_shape && !enter_shape(k, *plan, f)) return nullptr;
  if ((plan->has_inout || f.has_out) && !check_written(k, *plan, f)) return nullptr;
  // another thread may give the plan another shape while the GIL is released; loaded kernels stay
  const LoadedKernel *kernel = plan->use_plain ? plan->plain.get() : plan->main.get();
  if (f.has_out && !check_out(k, *kernel, f, plan->out_extents)) return nullptr;
  Outputs outs;
  std::copy(plan->out_extents.begin(), plan->out_extents.end(), outs.extents);
  int64_t workspace = plan->workspace, work = plan->work;
  if (!make_outputs(*kernel, f, outs)) return nullptr;
  std::memcpy(f.extents + f.extent_count, f.strides, f.stride_count * sizeof(int64_t));
  RunResult r = run(*kernel, work, {f.data, f.extents, f.scalars, workspace});
  return finish(k, *kernel, f, outs, r);
}

PyObject *kernel_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  return guarded([&] {
    return call(*as_kernel(self)->state, args, static_cast<size_t>(PyVectorcall_NARGS(nargsf)), kwnames);
  });
}

bool read_function(KernelState &k, PyObject *function) {
  PyRef code(PyObject_GetAttrString(function, "__code__")),
      defaults(PyObject_GetAttrString(function, "__defaults__"));
  PyRef name(PyObject_GetAttrString(function, "__name__"));
  if (!code || !defaults || !name) return false;
  PyRef only(PyObject_GetAttrString(code.get(), "co_posonlyargcount")),
      by_keyword(PyObject_GetAttrString(code.get(), "co_kwonlyargcount")),
      flags(PyObject_GetAttrString(code.get(), "co_flags"));
  if (!only || !by_keyword || !flags) return false;
  k.positional_only = static_cast<size_t>(PyLong_AsLong(only.get()));
  constexpr int64_t stars = 0x4 | 0x8;  // CO_VARARGS, CO_VARKEYWORDS
  k.starred = PyLong_AsLong(by_keyword.get()) > 0 || (PyLong_AsLong(flags.get()) & stars);
  PyRef names(PyObject_GetAttrString(code.get(), "co_varnames")),
      count(PyObject_GetAttrString(code.get(), "co_argcount"));
  PyRef path(PyObject_GetAttrString(code.get(), "co_filename")),
      line(PyObject_GetAttrString(code.get(), "co_firstlineno"));
  if (!names || !count || !path || !line) return false;
  auto n = static_cast<size_t>(PyLong_AsLong(count.get()));
  if (n > max_args) {
    raise_error(Code::E112, cat("a kernel has at most ", max_args, " parameters, this one has ", n));
    return false;
  }
  size_t given = defaults.get() == Py_None ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(defaults.get()));
  for (size_t i = 0; i < n; ++i) {
    k.parameters.emplace_back(Py_NewRef(PyTuple_GET_ITEM(names.get(), static_cast<Py_ssize_t>(i))));
    bool has = i + given >= n;
    k.defaults.emplace_back(
        has ? Py_NewRef(PyTuple_GET_ITEM(defaults.get(), static_cast<Py_ssize_t>(i + given - n))) : nullptr);
  }
  k.function = Py_NewRef(function);
  k.name = PyUnicode_AsUTF8(name.get());
  k.place = {PyUnicode_AsUTF8(path.get()), static_cast<uint32_t>(PyLong_AsLong(line.get()))};
  return true;
}

PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *keywords[] = {"function", "fp", "debug", nullptr};
  PyObject *function = nullptr;
  const char *fp = "default";
  int debug = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|sp", const_cast<char **>(keywords), &PyFunction_Type,
                                   &function, &fp, &debug))
    return nullptr;
  return guarded([&]() -> PyObject * {
    auto state = std::make_unique<KernelState>();
    std::string_view mode = fp;
    if (mode != "default" && mode != "strict" && mode != "fast")
      return PyErr_Format(PyExc_ValueError, "fp is '%s', but must be 'strict', 'default' or 'fast'", fp);
    state->options.fp = mode == "strict" ? FpMode::strict : mode == "fast" ? FpMode::fast : FpMode::normal;
    state->options.debug = debug != 0;
    if (!read_function(*state, function)) return nullptr;
    PyObject *self = type->tp_alloc(type, 0);
    if (!self) return nullptr;
    as_kernel(self)->vectorcall = kernel_vectorcall;
    as_kernel(self)->state = state.release();
    return self;
  });
}

void kernel_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (as_kernel(self)->weakrefs) PyObject_ClearWeakRefs(self);
  delete as_kernel(self)->state;
  Py_CLEAR(as_kernel(self)->dict);
  type->tp_free(self);
  Py_DECREF(type);
}

int kernel_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_kernel(self)->dict);
  return as_kernel(self)->state ? as_kernel(self)->state->traverse(visit, arg) : 0;
}

int kernel_clear(PyObject *self) {
  Py_CLEAR(as_kernel(self)->dict);
  return 0;
}

PyObject *kernel_get(PyObject *self, PyObject *instance, PyObject *) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(KernelObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(KernelObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(KernelObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};

template <class F>
void *slot(F *f) {
  return reinterpret_cast<void *>(f);
}

}  // namespace

PyObject *make_kernel_type() {
  PyType_Slot slots[] = {{Py_tp_new, slot(kernel_new)},
                         {Py_tp_dealloc, slot(kernel_dealloc)},
                         {Py_tp_traverse, slot(kernel_traverse)},
                         {Py_tp_clear, slot(kernel_clear)},
                         {Py_tp_call, slot(PyVectorcall_Call)},
                         {Py_tp_descr_get, slot(kernel_get)},
                         {Py_tp_members, members},
                         {Py_tp_getset, getset},
                         {Py_tp_doc, const_cast<char *>("A compiled kernel; made by kernelwright.kernel.")},
                         {0, nullptr}};
  PyType_Spec spec{
      "kernelwright._core.Kernel", sizeof(KernelObject), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
      slots};
  return PyType_FromSpec(&spec);
}

KernelState &state_of(PyObject *kernel) { return *as_kernel(kernel)->state; }

PyObject *inspect_kernel(PyObject *kernel, PyObject *args, const char *stage) {
  KernelState &k = state_of(kernel);
  if (!k.refresh()) return nullptr;
  Signature signature;
  if (PyTuple_GET_SIZE(args) == 0 && k.last && !k.parameters.empty()) {
    signature = k.last->signature;
  } else {
    CallFrame f;
    auto count = static_cast<size_t>(PyTuple_GET_SIZE(args));
    if (!bind(k, PySequence_Fast_ITEMS(args), count, nullptr, f) || !read_arguments(k, f)) return nullptr;
    signature = describe_signature(f);
  }
  SourceText source;
  if (!k.read_source(source)) return nullptr;
  try {
    std::string text = inspect(k.request(signature, Body::main), source, stage);
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  } catch (const ResolvedError &e) {
    return raise_errors(e.errors, k.place);
  }
}

}  // namespace kw
