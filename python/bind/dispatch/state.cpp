// Captured values, compilation cells and warnings of one kernel.
#include "bind/dispatch/state.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "bind/dispatch/log.h"
#include "bind/dispatch/recorded.h"
#include "runtime/cuda/device.h"
#include "runtime/frozen.h"
#include "support/log.h"
#include "support/text.h"

namespace kw {

namespace {

/// Calls kernelwright.<module>.<hook>(function, code). Returns a new reference or null.
PyObject *call_hook(const char *module_name, const char *hook, PyObject *function, const PyRef &code) {
  PyRef module(PyImport_ImportModule(module_name));
  if (!module) return nullptr;
  PyRef callable(PyObject_GetAttrString(module.get(), hook));
  PyRef running(code);  // the kernel may drop it meanwhile
  return callable ? PyObject_CallFunctionObjArgs(callable.get(), function, running.get(), nullptr) : nullptr;
}

/// Returns a new reference to an item of a tuple.
PyObject *tuple_item(PyObject *tuple, Py_ssize_t i) { return Py_NewRef(PyTuple_GET_ITEM(tuple, i)); }

/// Reads an int from 2^63 to 2^64 - 1; leaves `c` unchanged for greater ones.
void read_unsigned(PyObject *value, Captured &c) {
  uint64_t bits = PyLong_AsUnsignedLongLong(value);
  if (bits == UINT64_MAX && PyErr_Occurred()) return PyErr_Clear();
  c.integer = static_cast<int64_t>(bits);
  c.exceeds_int64 = true;
}

/// Converts (kind, value, attributes), by which kernelwright.capture describes a value.
///     x = 3          ("integer", 3)
///     p = (0.5, x)   ("tuple", (("real", 0.5), ("integer", 3)))
///     math           ("module", "math", (("pi", ("real", 3.14159)),)): the attributes that the code names
Captured captured_from(PyObject *described) {
  using Kind = Captured::Kind;
  static constexpr std::pair<const char *, Kind> kinds[] = {
      {"integer", Kind::integer}, {"real", Kind::real},     {"boolean", Kind::boolean},
      {"text", Kind::text},       {"tuple", Kind::tuple},   {"dtype", Kind::dtype},
      {"word", Kind::word},       {"module", Kind::module}, {"function", Kind::function},
      {"scalar", Kind::scalar},   {"array", Kind::array},   {"other", Kind::other}};
  Captured c;
  std::string kind = utf8(PyTuple_GET_ITEM(described, 0));
  PyObject *value = PyTuple_GET_ITEM(described, 1);
  for (auto [name, k] : kinds)
    if (kind == name) c.kind = k;
  switch (c.kind) {
    case Kind::integer:
    case Kind::boolean: {
      int overflow = 0;
      auto v = PyLong_AsLongLongAndOverflow(value, &overflow);
      if (!overflow) c.integer = v;
      // ints from 2^63 on may fit unsigned; others beyond 64 bits are kept as hexadecimal text
      if (overflow > 0) read_unsigned(value, c);
      if (overflow && !c.integer) c.text = utf8(PyRef(PyNumber_ToBase(value, 16)).get());
      break;
    }
    case Kind::real: c.real = PyFloat_AsDouble(value); break;
    case Kind::dtype:
      c.text = utf8(value);
      c.dtype = dtype_from_numpy(c.text).value_or(DType::f64);
      break;
    case Kind::tuple:
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
        c.items.push_back(captured_from(PyTuple_GET_ITEM(value, i)));
      break;
    case Kind::scalar:
      c.text = utf8(PyTuple_GET_ITEM(value, 0));
      c.dtype = dtype_from_numpy(c.text).value_or(DType::f64);
      c.integer = static_cast<int64_t>(PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(value, 1)));
      break;
    case Kind::array:
    case Kind::function:
      // a function in a tuple or a default value is a bare name without a number
      if (!PyTuple_Check(value)) break;
      c.text = utf8(PyTuple_GET_ITEM(value, 0));
      c.integer = PyLong_AsLongLong(PyTuple_GET_ITEM(value, 1));
      break;
    default: c.text = utf8(value);
  }
  if (PyTuple_GET_SIZE(described) > 2) {
    PyObject *attributes = PyTuple_GET_ITEM(described, 2);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(attributes); ++i) {
      PyObject *item = PyTuple_GET_ITEM(attributes, i);
      c.attributes.emplace_back(utf8(PyTuple_GET_ITEM(item, 0)), captured_from(PyTuple_GET_ITEM(item, 1)));
    }
  }
  return c;
}

/// Compares two captured values. Reals compare by their bits: a NaN equals itself, 0.0 differs from -0.0.
bool same_constant(const Captured &a, const Captured &b) {
  return a.kind == b.kind && a.integer == b.integer && a.exceeds_int64 == b.exceeds_int64 &&
         std::bit_cast<uint64_t>(a.real) == std::bit_cast<uint64_t>(b.real) && a.text == b.text &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), same_constant);
}

/// Returns the first name whose number, or tuple of numbers, has changed; "" if there is none.
std::string changed_number(const Captures &before, const Captures &now) {
  using Kind = Captured::Kind;
  for (const auto &[name, value] : now) {
    const Captured *old = find_captured(before, name);
    if (!old) continue;
    bool number = value.kind == Kind::integer || value.kind == Kind::real || value.kind == Kind::tuple ||
                  value.kind == Kind::scalar;
    if (number && !same_constant(*old, value)) return name;
    std::string inner = changed_number(old->attributes, value.attributes);
    if (!inner.empty()) return value.kind == Kind::module ? cat(name, ".", inner) : inner;
  }
  return {};
}

constexpr size_t quiet_versions = 8;  ///< different captured values before W502

}  // namespace

KernelState::~KernelState() { Py_XDECREF(function); }

int KernelState::traverse(visitproc visit, void *arg) {
  Py_VISIT(function);
  for (const PyRef &value : parameters.defaults) Py_VISIT(value.get());
  for (const auto &[name, array] : captured.arrays) Py_VISIT(array.get());
  for (const Callee &callee : captured.callees) Py_VISIT(callee.function.get());
  Py_VISIT(default_values.get());
  for (const Guard &g : captured.guards) {
    Py_VISIT(g.container.get());
    Py_VISIT(g.seen.get());
  }
  return 0;
}

bool KernelState::read_function() {
  // all attributes are read before a member changes, so an exception leaves the state unchanged
  PyRef running(Py_NewRef(PyFunction_GET_CODE(function)));
  PyRef values(Py_XNewRef(PyFunction_GET_DEFAULTS(function)));
  auto read = [&](const char *name) { return PyRef(PyObject_GetAttrString(running.get(), name)); };
  PyRef only = read("co_posonlyargcount"), by_keyword = read("co_kwonlyargcount"), flags = read("co_flags"),
        names = read("co_varnames"), count = read("co_argcount"), path = read("co_filename"),
        line = read("co_firstlineno"), own_name(PyObject_GetAttrString(function, "__name__"));
  if (!only || !by_keyword || !flags || !names || !count || !path || !line || !own_name) return false;
  constexpr int64_t stars = 0x4 | 0x8;  // CO_VARARGS, CO_VARKEYWORDS
  auto n = static_cast<size_t>(PyLong_AsLong(count.get()));
  parameters.refused =
      PyLong_AsLong(by_keyword.get()) > 0 || (PyLong_AsLong(flags.get()) & stars) || n > max_args;
  if (n > max_args) n = 0;  // no call binds them, so the first call reports the error
  size_t given = values ? static_cast<size_t>(PyTuple_GET_SIZE(values.get())) : 0;
  std::vector<PyRef> names_now, defaults_now;
  for (size_t i = 0; i < n; ++i) {
    names_now.emplace_back(tuple_item(names.get(), static_cast<Py_ssize_t>(i)));
    // default values belong to the last parameters
    bool has = i + given >= n;
    defaults_now.emplace_back(has ? tuple_item(values.get(), static_cast<Py_ssize_t>(i + given - n))
                                  : nullptr);
  }
  parameters.positional_only = static_cast<size_t>(PyLong_AsLong(only.get()));
  name = utf8(own_name.get());
  place = {utf8(path.get()), static_cast<uint32_t>(PyLong_AsLong(line.get())), {}};
  captured.fresh = false;
  std::swap(code, running);
  auto is_out = [](const PyRef &p) { return PyUnicode_CompareWithASCIIString(p.get(), "out") == 0; };
  parameters.has_out_parameter = std::any_of(names_now.begin(), names_now.end(), is_out);
  parameters.names.swap(names_now);
  parameters.defaults.swap(defaults_now);
  std::swap(default_values, values);  // destroys the old values last: a finalizer may call this kernel
  return true;
}

bool KernelState::refresh() {
  PyRef described(call_hook("kernelwright.capture", "describe", function, code));
  if (!described) return false;
  // (identity, ((container, key, kind, object), …), ((name, description), …), ((callee, code, file, line),
  // …),
  // ((name, array), …))
  PyObject *id = PyTuple_GET_ITEM(described.get(), 0), *places = PyTuple_GET_ITEM(described.get(), 1),
           *values = PyTuple_GET_ITEM(described.get(), 2), *called = PyTuple_GET_ITEM(described.get(), 3);
  identity = hash_bytes({PyBytes_AS_STRING(id), static_cast<size_t>(PyBytes_GET_SIZE(id))}).text();
  std::vector<Guard> guards_now;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(places); ++i) {
    PyObject *p = PyTuple_GET_ITEM(places, i);
    auto item = [&](Py_ssize_t k) { return PyRef(tuple_item(p, k)); };
    auto kind = static_cast<Guard::Kind>(PyLong_AsLong(PyTuple_GET_ITEM(p, 2)));
    // capture passes None for a function without defaults, but CPython's field is null then
    bool may_lack = kind == Guard::Kind::defaults || kind == Guard::Kind::keyword_defaults;
    bool lacks = may_lack && PyTuple_GET_ITEM(p, 3) == Py_None;
    guards_now.push_back({item(0), item(1), lacks ? PyRef() : item(3), kind});
  }
  Captures values_now;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i) {
    PyObject *v = PyTuple_GET_ITEM(values, i);
    values_now.emplace_back(utf8(PyTuple_GET_ITEM(v, 0)), captured_from(PyTuple_GET_ITEM(v, 1)));
  }
  PyObject *found = PyTuple_GET_ITEM(described.get(), 4);
  std::vector<std::pair<std::string, PyRef>> arrays_now;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(found); ++i) {
    PyObject *a = PyTuple_GET_ITEM(found, i);
    arrays_now.emplace_back(utf8(PyTuple_GET_ITEM(a, 0)), tuple_item(a, 1));
  }
  std::vector<Callee> callees_now;
  place.callees.clear();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(called); ++i) {
    PyObject *c = PyTuple_GET_ITEM(called, i);
    callees_now.push_back({PyRef(tuple_item(c, 0)), PyRef(tuple_item(c, 1))});
    place.callees.push_back(
        {utf8(PyTuple_GET_ITEM(c, 2)), static_cast<uint32_t>(PyLong_AsUnsignedLong(PyTuple_GET_ITEM(c, 3)))});
  }
  // the key of a request that holds only the values identifies this set of values
  Request of_values;
  of_values.captures = values_now;
  of_values.identity = identity;
  std::string changed = changed_number(captured.values, values_now);
  if (!changed.empty()) captured.changing = std::move(changed);
  // values that occurred before get their plans back
  auto [known, is_new] =
      captured.generations.try_emplace(key_of(of_values).text(), captured.last_generation + 1);
  captured.generation = known->second;
  captured.last_generation += is_new;
  // drops generations without plans, so that an ever-changing value cannot fill the memory
  if (captured.generations.size() > 2 * max_plans)
    std::erase_if(captured.generations,
                  [&](const auto &g) { return g.second != captured.generation && !has_plans_of(g.second); });
  captured.values = std::move(values_now);
  captured.fresh = true;
  captured.callees.swap(callees_now);
  captured.arrays.swap(arrays_now);
  captured.guards.swap(guards_now);  // the old guards are destroyed last: a finalizer may call this kernel
  return true;
}

Request KernelState::request(const Signature &signature, Body body, Device device) const {
  Request r{name, identity, captured.values, signature, options, {}};
  r.places = place.texts();
  r.options.body = body;
  set_target(r, device);
  return r;
}

bool KernelState::read_source(SourceText &out) const {
  PyRef text(call_hook("kernelwright.source", "read", function, code));
  if (!text) return false;
  out = {utf8(text.get()), place.path, place.first_line, {}};
  const std::vector<Callee> called =
      captured.callees;  // a copy: reading runs Python code, which may call this kernel
  const std::vector<TextPlace> places = place.callees;
  for (size_t i = 0; i < called.size(); ++i) {
    PyRef callee(call_hook("kernelwright.source", "read", called[i].function.get(), called[i].code));
    if (!callee) return false;
    out.callees.push_back({utf8(callee.get()), places[i].path, places[i].first_line, {}});
  }
  return true;
}

bool KernelState::check() {
  // look() first, because callees and places must belong to the code that is read
  SourceText source;
  if (!look() || !read_source(source)) return false;
  std::vector<Resolved> errors = check_text(source, captured.values);
  if (!errors.empty()) raise_errors(errors, place);
  return errors.empty();
}

std::shared_ptr<const LoadedKernel> KernelState::obtain(const Request &r, bool *was_stored) {
  LogPasser log;
  SourceText source;
  auto begin = std::chrono::steady_clock::now();
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  // a cache hit needs no source text, except for a recorder
  auto stored = process_jit().find(r);
  if (was_stored) *was_stored = stored != nullptr;
  if (auto kernel = std::move(stored)) {
    ++stats.loaded, stats.load_seconds += seconds();
    if (!is_recording_versions()) return kernel;
    if (!read_source(source)) {
      // what the cache serves runs without its text; the manifest then says that it has none
      PyErr_Clear();
      source = {{}, place.path, place.first_line, {}};
      for (const TextPlace &at : place.callees) source.callees.push_back({{}, at.path, at.first_line, {}});
    }
    record_version(*this, r, source);
    return kernel;
  }
  // under KW_FROZEN nothing is compiled, and a process may have no source files
  if (!is_frozen() && !read_source(source)) return nullptr;
  // `held` is the released GIL of the wait; `look` reacquires it briefly
  GilReleased *held = nullptr;
  auto without_gil = [&](const std::function<void()> &body) {
    GilReleased released;
    held = &released;
    body();
  };
  // only the main thread receives signals, so it stays free to notice Ctrl-C
  SingleFlight::Look look;
  if (::gettid() == ::getpid())
    look = [&] { return held->with_gil([] { return PyErr_CheckSignals() != 0; }); };
  // the compilation owns copies of request and source, because it continues after an interrupted caller has
  // left
  Compiled made =
      compiler_.get(key_text(r), [r, source] { return process_jit().compile(r, source); }, without_gil, look);
  if (made.is_interrupted) return nullptr;
  if (made.ran_out_of_memory()) {
    PyErr_Format(PyExc_MemoryError, "there is no memory to compile kernel '%s'", name.c_str());
    return nullptr;
  }
  if (!made.kernel) {
    raise_errors(made.errors, place);
    return nullptr;
  }
  ++stats.compiled, stats.compile_seconds += seconds();
  if (is_recording_versions()) record_version(*this, r, source);
  return std::move(made.kernel);
}

/// Issues a warning that belongs to no place of a kernel. Returns false if Python raised.
static bool warn(Code code, std::string message, std::string help) {
  Resolved w;
  w.code = code;
  w.message = std::move(message);
  w.help.push_back(std::move(help));
  return issue_warning(w, {});
}

/// Issues W501 and W506, each kind once per process. Returns false if Python raised.
static bool warn_of_cache() {
  static bool told = false, told_settings = false;
  if ((told && told_settings) || !debug_options().cache) return true;
  bool is_first = !std::exchange(told_settings, true);
  for (const SharedCache &cache : process_jit().shared_caches())
    if (is_first && !cache.problem().empty() &&
        !warn(Code::W506, cat("the shared cache ", cache.directory(), " is not used: ", cache.problem()),
              "root or you must own it and what is in it, and nobody else may write it"))
      return false;
  std::string problem = process_jit().cache_problem(), size = is_first ? cache_size_problem() : "";
  if (!size.empty() && !warn(Code::W501, cat(size, ": the disk cache keeps up to 1 GiB"),
                             "give bytes, or a number with K, M or G: KW_CACHE_SIZE=500M"))
    return false;
  if (problem.empty() || told) return true;
  told = true;
  return warn(Code::W501, cat("compiled kernels are kept in memory only: ", problem),
              "set KW_CACHE_DIR to a directory of your own");
}

bool KernelState::has_plans_of(uint64_t number) const {
  return std::any_of(plans.begin(), plans.end(), [&](const auto &p) { return p->generation == number; });
}

CallPlan *KernelState::add_plan(std::unique_ptr<CallPlan> plan) {
  ++stats.versions;
  plans.insert(plans.begin(), std::move(plan));
  // from the least recently used on; plans that calls hold remain, so more than max_plans may remain
  for (size_t i = plans.size(); plans.size() > max_plans && i-- > 1;)
    if (!plans[i]->users) plans.erase(plans.begin() + static_cast<ptrdiff_t>(i));
  return last_plan = plans[0].get();
}

bool KernelState::count_version() {
  if (has_plans_of(captured.generation) || ++captured.versions <= quiet_versions || captured.told_changing ||
      captured.changing.empty())
    return true;
  captured.told_changing = true;
  Resolved w;
  w.code = Code::W502;
  w.message = cat("kernel '", name, "' captures '", captured.changing,
                  "', whose value keeps changing: it is compiled anew ", "for each value, ",
                  captured.versions, " times so far");
  w.help.push_back(
      cat("pass it as an argument: the code of an argument '", captured.changing, "' serves all its values"));
  return issue_warning(w, place);
}

bool KernelState::warn_once(const LoadedKernel &kernel) {
  for (const Resolved &w : kernel.artifact().warnings) {
    // a kernel gets the warning about the default dtype once, whatever the types of a call
    std::string key = w.code == Code::W102 ? "W102" : cat(w.line, ":", w.message);
    if (warned.insert(std::move(key)).second && !issue_warning(w, place)) return false;
  }
  return warn_of_cache();
}

}  // namespace kw
