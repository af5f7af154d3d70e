// Calls of kernels: plan lookup, shapes, allocation, run, results.
#include "bind/dispatch/dispatch.h"

#include <algorithm>
#include <cstring>

#include "bind/dispatch/args.h"
#include "bind/dispatch/changed.h"
#include "bind/dispatch/device_call.h"
#include "bind/dispatch/inline_cache.h"
#include "bind/dispatch/log.h"
#include "bind/dispatch/notes.h"
#include "bind/dispatch/tensor.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/run.h"
#include "runtime/launch.h"
#include "runtime/versions/faults.h"
#include "support/text.h"

namespace kw {

namespace {

constexpr int64_t release_gil_above = 16'000;  ///< operations, about 5 µs (core.md 5)
/// Operations above which a run gets a separate thread, so that this thread can notice Ctrl-C: about 30 ms,
/// or a second if all of them wait for memory. Starting the thread and moving to the caches of another core
/// costs a fifth of a run of 0.1 ms.
constexpr int64_t watch_above = 100'000'000;

/// The Python object of a kernel. Owns its state.
struct KernelObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *dict, *weakrefs;
  KernelState *state;
};

PyTypeObject *kernel_type = nullptr;  ///< created once, when the module is imported

KernelObject *as_kernel(PyObject *o) { return reinterpret_cast<KernelObject *>(o); }

/// Returns the plan for the words of a call, the captured values and the execution mode; null if there is
/// none. Moves the plan to the front, because plans are ordered by their last use.
CallPlan *find_plan(KernelState &k, const CallFrame &f) {
  auto matches = [&](const CallPlan &p) {
    return p.generation == k.captured.generation && p.serves(f.words);
  };
  if (k.last_plan && matches(*k.last_plan)) [[likely]]
    return k.last_plan;
  for (auto p = k.plans.begin(); p != k.plans.end(); ++p) {
    if (!matches(**p)) continue;
    std::rotate(k.plans.begin(), p, p + 1);
    return k.last_plan = k.plans[0].get();
  }
  return nullptr;
}

/// Returns whether a kernel returns exactly its outputs, in the order of their declarations.
bool returns_outputs(const Artifact &a) {
  size_t number = 0;
  for (uint32_t i = 0; i < a.params.size(); ++i) {
    if (a.params[i].mode != ParamMode::out) continue;
    if (number >= a.results.size() || a.results[number] != i) return false;
    ++number;
  }
  return number == a.results.size() && number > 0;
}

/// Compiles or loads the specialization for a call and adds its plan. Returns null with an exception.
CallPlan *make_plan(KernelState &k, const CallFrame &f) {
  auto plan = std::make_unique<CallPlan>();
  plan->set_calls(f.words);
  plan->generation = k.captured.generation;
  plan->request = k.request(signature_of(f.words), Body::main, f.device);
  plan->main = k.obtain(plan->request);
  if (!plan->main) k.captured.fresh = false;  // the next call may define a missing name
  if (!plan->main || !k.warn_once(*plan->main) || !k.count_version()) return nullptr;
  const Artifact &a = plan->main->artifact();
  for (const ParamRecord &p : a.params) plan->has_inout |= p.mode == ParamMode::inout;
  plan->results_are_outputs = returns_outputs(a);
  // the GIL was released for the compilation: another call may have added the same plan
  if (CallPlan *made_meanwhile = find_plan(k, f)) return made_meanwhile;
  return k.add_plan(std::move(plan));
}

/// Returns the plan of a call; makes it if there is none. Returns null with an exception.
CallPlan *need_plan(KernelState &k, const CallFrame &f) {
  CallPlan *plan = find_plan(k, f);
  return plan ? plan : make_plan(k, f);
}

/// Raises an error of a call; returns false.
bool raise_in_call(const KernelState &k, const Resolved &error) {
  raise_errors({error}, error.line < 0 ? KernelPlace{} : k.place);
  return false;
}

/// Returns true for a run that ended well, else false with an exception. `extents` are those of the
/// arguments.
bool end_run(const KernelState &k, const LoadedKernel &kernel, std::span<const int64_t> extents,
             const RunResult &r) {
  if (r.status == 1) return raise_in_call(k, fault_error(kernel, extents, r.fault));
  if (r.status == 3) {
    PyErr_Format(PyExc_MemoryError, "no memory for the temporaries of kernel '%s'", k.name.c_str());
    return false;
  }
  if (r.status == 2) raise_interrupt();
  return !PyErr_Occurred();  // a signal handler may have raised as the run ended
}

/// Chooses the body for a call and computes the sizes of its run. Returns false with an exception.
bool enter_plan(KernelState &k, CallPlan &plan, const CallFrame &f, Entry &entry) {
  Resolved error;
  Entered entered = enter_call(
      plan, f.sizes(), f.in_source_order, [&](Body body) { return need_body(k, plan, body); }, entry, error);
  if (entered == Entered::refused) raise_in_call(k, error);
  // the next call with these types and shapes may take the fast path
  bool may_repeat = entered == Entered::ok && entry.is_new_shape && f.device.kind == DeviceKind::cpu;
  if (may_repeat) remember(plan, plan.body(), f.args);
  return entered == Entered::ok;
}

/// Runs a body. Short runs keep the GIL, longer ones and those that may compile a part of it, or launch parts
/// in loops, release it. Very long ones run in a separate thread while this thread checks for signals.
RunResult run(const LoadedKernel &kernel, int64_t work, const CallWords &words) {
  const DeviceCode *code = kernel.device_code();
  bool is_short =
      work <= release_gil_above && (!code || (code->is_whole() && !kernel.artifact().launches.has_loops));
  LogPasser logged;
  if (is_short) return run_on_device(kernel, words, nullptr);
  GilReleased released;
  if (work <= watch_above) return run_on_device(kernel, words, nullptr);
  return run_watched(kernel, words,
                     [&] { return released.with_gil([] { return PyErr_CheckSignals() != 0; }); });
}

/// The outputs of one call: new arrays or those of out=.
struct Outputs {
  PyObject *array[max_outputs] = {};
  size_t count = 0;
  ~Outputs() {
    for (size_t i = 0; i < count; ++i) Py_XDECREF(array[i]);
  }
};

/// Provides the array of each output, new or given, in the order of the parameters, and appends its address
/// to the data of the call. Returns false with an exception.
bool make_outputs(const Entry &entry, CallFrame &f, Outputs &outs) {
  size_t at = 0;
  for (const ParamRecord &p : entry.kernel->artifact().params) {
    if (p.mode != ParamMode::out) continue;
    PyObject *given = outs.count < f.out_count ? f.outs[outs.count] : nullptr;
    bool zeroed = p.fill == Fill::zero;
    PyObject *array =
        given ? Py_NewRef(given) : new_array(p.dtype, p.rank, entry.out_extents.data() + at, zeroed);
    if (!array) return false;
    outs.array[outs.count++] = array;
    // an output that aliases an argument is written completely, although a separate buffer would need zeros
    bool aliased = given && f.same_views && !f.in_source_order && f.out_alias[outs.count - 1] != UINT8_MAX;
    if (zeroed && given && !aliased && !zero_array(array)) return false;
    f.data.push_back(array_data(array));
    at += p.rank;
  }
  return true;
}

/// Returns the class of the results of a call with tensors: that of the first one. Null for other calls.
PyTypeObject *class_of_results(const CallFrame &f) {
  for (const auto &[view, original] : f.foreign)
    if (tensor_of(original)) return result_class(original);
  return nullptr;
}

/// Builds the result of the call: for an argument or an array of out= the object that the caller passed, else
/// the new array, in calls with tensors a tensor over it. Returns null with an exception.
PyObject *make_result(const LoadedKernel &kernel, const CallFrame &f, Outputs &outs) {
  const Artifact &a = kernel.artifact();
  PyTypeObject *type = class_of_results(f);
  auto made = [&](PyObject *array) {
    if (!type) [[likely]]
      return Py_NewRef(array);
    Tensor t = tensor_over(array, "a result");
    return t ? wrap_tensor(type, std::move(t)) : nullptr;
  };
  auto object = [&](uint32_t param) {
    const ParamRecord &p = a.params[param];
    if (p.arg >= 0) return Py_NewRef(passed(f, static_cast<size_t>(p.arg)));
    size_t number = 0;
    for (uint32_t i = 0; i < param; ++i) number += a.params[i].mode == ParamMode::out;
    bool from_user = number < f.out_count && f.given[number];
    return from_user ? Py_NewRef(as_passed(f, f.given[number])) : made(outs.array[number]);
  };
  if (a.results.size() == 1 && !a.tuple_of_one) return object(a.results[0]);
  PyRef tuple(PyTuple_New(static_cast<Py_ssize_t>(a.results.size())));
  for (size_t i = 0; tuple && i < a.results.size(); ++i) {
    PyObject *one = object(a.results[i]);
    if (!one) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), one);
  }
  return tuple.release();
}

/// Counts the writes of a run into memory of tensors, over which arguments or arrays of out= are arrays.
void note_writes(const LoadedKernel &kernel, const CallFrame &f) {
  for (const ParamRecord &p : kernel.artifact().params)
    if (p.mode == ParamMode::inout) note_write_through(f.args[p.arg]);
  for (size_t i = 0; i < f.out_count; ++i)
    if (f.given[i]) note_write_through(f.given[i]);
}

/// Finishes a call after its run: raises its error, or copies copies and temporaries to the caller's arrays
/// and returns the result.
PyObject *finish(KernelState &k, const LoadedKernel &kernel, CallFrame &f, Outputs &outs,
                 const RunResult &r) {
  if (!end_run(k, kernel, f.extents, r)) return note_call(k, f);
  // arguments first: the results are stored last, as by an assignment in Python
  if (!f.copies.empty() && !write_back(kernel, f)) return nullptr;
  for (size_t i = 0; f.temporaries && i < f.out_count; ++i)
    if ((f.temporaries >> i & 1u) && !copy_array(f.given[i], outs.array[i])) return nullptr;
  return make_result(kernel, f, outs);
}

/// Executes a call with the types and shapes of the last one, the common case of small tensors. Returns null
/// without an exception if the call is a different one.
PyObject *fast_call(KernelState &k, PyObject *const *args, size_t nargs, PyObject *kwnames) {
  const CallPlan *plan = k.last_plan;
  CachedCall c;
  // the guards come first: they may compare dict keys by Python code, which may change all later state
  if (!plan || !k.guards_hold() || plan != k.last_plan || !plan->inline_cache.valid ||
      (kwnames && k.parameters.has_out_parameter) || !k.captured.fresh ||
      plan->generation != k.captured.generation || plan->mode != execution_mode() ||
      !matches_repeat(*plan, args, nargs, kwnames, c))
    return nullptr;
  PlanPin held(c.work > release_gil_above ? k.last_plan : nullptr);  // shorter runs keep the GIL
  const LoadedKernel &kernel = plan->body();
  PyRef out(open_output(*plan, c));
  if (!out) return nullptr;
  RunResult r = run(kernel, c.work, {c.data, c.extents, c.scalars, c.workspace});
  if (c.out_is_a_view) note_write_through(c.out);
  return end_run(k, kernel, {c.extents, c.extent_count}, r) ? out.release() : note_call(k, args, nargs);
}

/// Executes a call with arrays on a GPU. The run only starts there, so it needs no time in which other
/// threads of Python could work; a kernel for which the host waits is run like a long one.
PyObject *call_on_device(KernelState &k, Device device, CallFrame &f) {
  DeviceArguments arguments;
  if (!read_device_arguments(k, device, f, arguments)) return nullptr;
  PlanPin plan(find_plan(k, f));
  if (!plan) {
    cuda_device(device.index).refuse_capture(present_stream(device.index), "cuLibraryLoadData");
    if (!(plan = need_plan(k, f))) return nullptr;
  }
  if (f.has_out && !check_out_count(k, *plan->main, f)) return nullptr;
  if (plan->has_inout || f.has_out) {
    if (!check_written(k, *plan, f, arguments)) return nullptr;
    if (f.same_views && !f.in_source_order) {
      f.add_alias_words(f.arg_count, f.out_count);
      if (!(plan = need_plan(k, f))) return nullptr;
    }
  }
  Entry entry;
  if (!enter_plan(k, *plan, f, entry)) return nullptr;
  auto outputs = open_outputs(k, entry, f, arguments);
  if (!outputs) return nullptr;
  CallWords words = f.abi_words(entry);
  words.stream = stream_of_thread(device);
  words.waits = k.options.waits;
  RunResult r = run(*entry.kernel, k.options.waits || waits_for_host(*entry.kernel) ? INT64_MAX : 0, words);
  for (const ParamRecord &p : entry.kernel->artifact().params)
    if (p.mode == ParamMode::inout) arguments.tensors[static_cast<size_t>(p.arg)].storage().note_write();
  for (const Tensor &t : arguments.given)
    if (t) t.storage().note_write();
  if (!end_run(k, *entry.kernel, f.extents, r)) return nullptr;
  return device_result(*entry.kernel, f, arguments, *outputs);
}

/// Executes a call that is not known to repeat the last one. Most steps may run Python code of the user, so
/// check_unchanged is the last check before the run.
PyObject *call(KernelState &k, PyObject *const *args, size_t nargs, PyObject *kwnames) {
  if (PyObject *result = fast_call(k, args, nargs, kwnames)) return result;
  if (PyErr_Occurred()) return nullptr;
  CallFrame f;
  if (!k.function_holds() && !k.read_function()) return nullptr;
  if (!k.captured.fresh || !k.guards_hold()) [[unlikely]]
    if (!k.refresh()) return nullptr;
  std::vector<std::pair<std::string, PyRef>> held;  // captured arrays: other calls may rebind their names
  if (!k.captured.arrays.empty()) held = k.captured.arrays;
  if (!bind_call(k, args, nargs, kwnames, f)) return nullptr;
  LibraryStream stream;
  if (!adopt_cuda_arrays(f, stream)) return note_call(k, f);
  if (Device device = device_of_arguments(f); device.kind != DeviceKind::cpu) {
    PyObject *result = call_on_device(k, device, f);
    return result ? result : note_call(k, f);
  }
  PlanPin plan;
  if (!read_arguments(k, f) || !choose_plan(k, f, plan)) return note_call(k, f);
  Entry entry;
  if (!enter_plan(k, *plan, f, entry)) return note_call(k, f);
  if (f.has_out && !check_out(k, *entry.kernel, f, entry.out_extents.data())) return note_call(k, f);
  Outputs outs;
  if (!make_outputs(entry, f, outs)) return nullptr;
  if (!check_unchanged(k, f, {outs.array, outs.count})) return note_call(k, f);
  RunResult r = run(*entry.kernel, entry.work, f.abi_words(entry));
  if (plan->has_inout || f.has_out) note_writes(*entry.kernel, f);
  return finish(k, *entry.kernel, f, outs, r);
}

PyObject *kernel_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  return guarded([&] {
    ++as_kernel(self)->state->stats.calls;
    return call(*as_kernel(self)->state, args, static_cast<size_t>(PyVectorcall_NARGS(nargsf)), kwnames);
  });
}

/// Creates Kernel(function, fp, debug, unchecked, debug_info, wait). Reads no source text.
PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *keywords[] = {"function", "fp", "debug", "unchecked", "debug_info", "wait", nullptr};
  PyObject *function = nullptr;
  const char *fp = "default";
  int debug = 0, unchecked = 0, debug_info = 0, wait = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|spppp", const_cast<char **>(keywords), &PyFunction_Type,
                                   &function, &fp, &debug, &unchecked, &debug_info, &wait))
    return nullptr;
  return guarded([&]() -> PyObject * {
    auto state = std::make_unique<KernelState>();
    std::string_view mode = fp;
    if (mode != "default" && mode != "strict" && mode != "fast")
      return PyErr_Format(PyExc_ValueError, "fp is '%s', but must be 'strict', 'default' or 'fast'", fp);
    state->options.fp = mode == "strict" ? FpMode::strict : mode == "fast" ? FpMode::fast : FpMode::normal;
    state->options.debug = debug != 0;
    state->options.unchecked = unchecked != 0;
    state->options.debug_info = debug_info != 0;
    state->options.waits = wait != 0;
    // debug kernels follow `python -O`, which disables assert statements
    PyRef optimize(PyObject_GetAttrString(PySys_GetObject("flags"), "optimize"));
    if (!optimize) return nullptr;
    state->options.asserts = !debug || PyLong_AsLong(optimize.get()) == 0;
    state->function = Py_NewRef(function);
    if (!state->read_function()) return nullptr;
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

/// The class of kernels that are bound to an instance, and the names of its two slots; kept forever.
struct BoundClass {
  PyTypeObject *type = nullptr;
  PyObject *function = nullptr, *instance = nullptr;

  /// Imports the class at the first use. Returns false with an exception.
  bool find() {
    if (type) return true;
    PyRef module(PyImport_ImportModule("kernelwright.bound_kernel"));
    PyRef found(module ? PyObject_GetAttrString(module.get(), "BoundKernel") : nullptr);
    function = found ? PyUnicode_InternFromString("__func__") : nullptr;
    instance = function ? PyUnicode_InternFromString("__self__") : nullptr;
    if (!instance) return false;
    type = reinterpret_cast<PyTypeObject *>(found.release());
    return true;
  }
};
BoundClass bound_class;

/// Implements `instance.kernel`. The bound object is created without a call, as for methods.
PyObject *kernel_get(PyObject *self, PyObject *instance, PyObject *) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  if (!bound_class.find()) return nullptr;
  PyRef bound(bound_class.type->tp_alloc(bound_class.type, 0));
  if (!bound || PyObject_GenericSetAttr(bound.get(), bound_class.function, self) < 0 ||
      PyObject_GenericSetAttr(bound.get(), bound_class.instance, instance) < 0)
    return nullptr;
  return bound.release();
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(KernelObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(KernelObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(KernelObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

bool need_body(KernelState &k, CallPlan &plan, Body body) {
  auto &slot = body == Body::plain ? plan.plain : plan.overlapping;
  if (slot) return true;
  auto kernel = k.obtain(plan.request_of(body));
  // the GIL was released meanwhile: a thread may run the kernel that another call has put there
  if (!slot) slot = std::move(kernel);
  return slot != nullptr;
}

bool choose_plan(KernelState &k, CallFrame &f, PlanPin &plan) {
  // only a plan says which arguments are written, so checks of written arrays follow the lookup
  plan = need_plan(k, f);
  if (!plan || (f.has_out && !check_out_count(k, *plan->main, f))) return false;
  if ((plan->has_inout || f.has_out) && !check_written(k, *plan, f)) return false;
  // outputs computed in new arrays count as not given, which makes another signature
  if (f.temporaries && (!reread_out(k, f) || !(plan = need_plan(k, f)))) return false;
  if (!f.same_views || f.in_source_order) return true;
  f.add_alias_words(f.arg_count, f.out_count);  // same views are compiled as one buffer
  return bool(plan = need_plan(k, f));
}

std::optional<std::vector<Tensor>> fast_call(PyObject *kernel, std::span<const Tensor> tensors) {
  KernelState *k = state_of(kernel);
  if (!k) return std::vector<Tensor>();
  CallPlan *plan = k->last_plan;
  if (!plan || plan->has_inout || !plan->results_are_outputs || !k->captured.fresh ||
      plan->generation != k->captured.generation || !k->function_holds() || !k->guards_hold())
    return std::nullopt;
  if (tensors.size() > max_args || !std::all_of(tensors.begin(), tensors.end(), [](auto &t) { return !!t; }))
    return std::nullopt;
  Invocation call;
  for (const Tensor &t : tensors) call.add(t.array(), t.stride_class());
  if (!tensors.empty()) call.device = tensors[0].device();
  call.add_device_word();
  if (!plan->serves(call.words) || !plan->knows(call.sizes())) return std::nullopt;
  // run() may release the GIL, so the pin keeps other calls from dropping the plan
  PlanPin held(plan);
  ++k->stats.calls;  // other calls pass through kernel_vectorcall
  const LoadedKernel &body = plan->body();
  Entry entry;  // not in braces, which would zero its 2 KB
  entry.kernel = &body, entry.workspace = plan->workspace, entry.work = plan->work;
  entry.out_extents.append(plan->out_extents);
  std::vector<Tensor> outputs = make_outputs(body, entry.out_extents, call);
  CallWords words = call.abi_words(entry);
  bool is_host = call.device.kind == DeviceKind::cpu;
  if (!is_host) words.stream = stream_of_thread(call.device);
  RunResult r = run(body, is_host || waits_for_host(body) ? entry.work : 0, words);
  if (!end_run(*k, body, call.extents, r)) return std::vector<Tensor>();
  return outputs;
}

bool infer_outputs(KernelState &k, PyObject *const *args, size_t nargs, std::vector<TensorType> &out) {
  CallFrame f;
  if (!k.function_holds() && !k.read_function()) return false;
  if ((!k.captured.fresh || !k.guards_hold()) && !k.refresh()) return false;
  if (!bind_call(k, args, nargs, nullptr, f)) return false;
  if (!read_arguments(k, f)) return note_call(k, f), false;
  PlanPin plan(need_plan(k, f));
  Entry entry;
  if (!plan || !enter_plan(k, *plan, f, entry)) return note_call(k, f), false;
  const Artifact &a = entry.kernel->artifact();
  // types of all parameters first, because results may be arguments as well as outputs
  std::vector<TensorType> by_param;
  size_t at = 0;
  for (const ParamRecord &p : a.params) {
    TensorType type{p.dtype, {}};
    if (p.mode == ParamMode::out) {
      type.shape = Extents(entry.out_extents).subspan(at, p.rank);
      at += p.rank;
    } else if (p.is_tensor) {
      type.shape = shape_of_array(f.args[p.arg]);
    }
    by_param.push_back(std::move(type));
  }
  for (uint32_t param : a.results) out.push_back(by_param[param]);
  return true;
}

RunResult run_for_cpp(const LoadedKernel &kernel, int64_t work, const CallWords &words) {
  // a thread without the GIL cannot release it
  return PyGILState_Check() ? run(kernel, work, words) : run_on_device(kernel, words, nullptr);
}

bool bind_call(KernelState &k, PyObject *const *args, size_t nargs, PyObject *kwnames, CallFrame &f) {
  if (!k.parameters.refused && k.parameters.names.size() + k.captured.arrays.size() <= max_args) [[likely]]
    return bind_arguments(k, args, nargs, kwnames, f);
  // the check of the text can point at the parameter; the message below has no location
  if (k.check())
    raise_error(Code::E112, cat("kernel '", k.name, "' has parameters that kernels cannot have"));
  return false;
}

bool note_same_views(KernelState &k, CallFrame &f) {
  CallPlan *last = k.last_plan;
  PlanPin plan(find_plan(k, f));
  // not a call, so the plan that the next call tries first must stay the same
  k.last_plan = last;
  if (!plan || !(plan->has_inout || f.has_out)) return true;
  if (f.has_out && !check_out_count(k, *plan->main, f)) return false;
  if (!check_written(k, *plan, f) || (f.temporaries && !reread_out(k, f))) return false;
  if (f.same_views && !f.in_source_order) f.add_alias_words(f.arg_count, f.out_count);
  return true;
}

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
  PyObject *type = PyType_FromSpec(&spec);
  kernel_type = reinterpret_cast<PyTypeObject *>(type);
  return type;
}

KernelState *state_of(PyObject *kernel) {
  if (PyObject_TypeCheck(kernel, kernel_type)) return as_kernel(kernel)->state;
  PyErr_Format(PyExc_TypeError, "expected a kernel, got %s", Py_TYPE(kernel)->tp_name);
  return nullptr;
}

}  // namespace kw
