// The state of a kernel object: its function, its guards on captured values, and its plans (one per
// signature). Used only under the GIL; compilations run without the GIL, with one cell per key.
#pragma once

#include <Python.h>
#include <unistd.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bind/dispatch/raise.h"
#include "runtime/calls/invocation.h"
#include "runtime/versions/single_flight.h"

namespace kw {

/// Converts a function of any type for a PyType_Slot.
template <class F>
void *slot(F *f) {
  return reinterpret_cast<void *>(f);
}

/// An owning reference.
class PyRef {
 public:
  PyRef() = default;
  explicit PyRef(PyObject *owned) : p_(owned) {}
  PyRef(PyRef &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  PyRef(const PyRef &o) : p_(Py_XNewRef(o.p_)) {}
  PyRef &operator=(PyRef o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(p_); }
  PyObject *get() const { return p_; }
  PyObject *release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject *p_ = nullptr;
};

/// A place from which the current captures were read, and the object found there. The place is a dict entry,
/// a cell, or the code or default values of a function. Numbered as in kernelwright.capture.
struct Guard {
  enum class Kind : uint8_t { entry, cell, code, defaults, keyword_defaults };
  PyRef container, key, seen;
  Kind kind{};
  mutable uint64_t version = 0;  ///< version of the dict that had the entry; no dict has version 0

  /// Returns whether the place still has the same object, by identity. The lookup in a dict may run Python
  /// code.
  bool holds() const {
    PyObject *c = container.get(), *now = nullptr;
    switch (kind) {
      case Kind::entry: return entry_holds();
      case Kind::cell: now = PyCell_GET(c); break;
      case Kind::code: now = PyFunction_GET_CODE(c); break;
      case Kind::defaults: now = PyFunction_GET_DEFAULTS(c); break;
      case Kind::keyword_defaults: now = PyFunction_GET_KW_DEFAULTS(c); break;
    }
    return now == seen.get();
  }

 private:
  /// Returns whether a dict entry is unchanged. CPython numbers the states of all dicts (PEP 509), but from
  /// 3.12 on deprecates reading the numbers.
  bool entry_holds() const {
#if PY_VERSION_HEX < 0x030C0000
    uint64_t now = reinterpret_cast<PyDictObject *>(container.get())->ma_version_tag;
    if (now == version) return true;
#else
    uint64_t now = 0;
#endif
    if (PyDict_GetItem(container.get(), key.get()) != seen.get()) return false;
    version = now;
    return true;
  }
};

/// A Python function that a kernel calls, and its code when the captures were made.
struct Callee {
  PyRef function, code;
};

inline constexpr size_t max_plans = 64;  ///< beyond this a kernel drops the least recently used plans

/// The data by which a call with the types and shapes of the last one is recognized. Covers only plain arrays
/// of NumPy's own dtypes, Python's numbers and one output.
struct InlineCache {
  struct Tensor {
    const void *descr = nullptr;  ///< NumPy's immortal object of the dtype
    uint32_t rank = 0;
    bool zeroed = false;
    int64_t bytes = 0;
  };
  enum class Kind : uint8_t { tensor, truth, integer, real };
  bool valid = false;
  uint32_t arguments = 0, inputs = 0;  ///< inputs: number of arguments that are tensors
  Kind kinds[max_args] = {};
  Tensor tensors[max_args + 1];  ///< the inputs, then the output
};

/// A specialization with the data that recognizes its calls.
struct CallPlan : Version {
  uint64_t generation = 0;           ///< generation of the captured values
  bool results_are_outputs = false;  ///< it returns its outputs in their order
  uint32_t users = 0;                ///< calls that hold it; while there are any, it cannot be dropped
  InlineCache inline_cache;          ///< cache of the last call
};

/// Pins a plan during a call.
class PlanPin {
 public:
  explicit PlanPin(CallPlan *plan = nullptr) : plan_(plan) { count(1); }
  PlanPin &operator=(CallPlan *plan) {
    count(-1);
    plan_ = plan;
    count(1);
    return *this;
  }
  PlanPin(const PlanPin &) = delete;
  ~PlanPin() { count(-1); }
  CallPlan *operator->() const { return plan_; }
  CallPlan &operator*() const { return *plan_; }
  explicit operator bool() const { return plan_ != nullptr; }

 private:
  void count(int by) {
    if (plan_) plan_->users += static_cast<uint32_t>(by);
  }
  CallPlan *plan_;
};

/// Guards a frame that calls Python without the GIL or may lose it. A thread that the interpreter ends there
/// sleeps instead (bind/dispatch/thread_end.cpp gives the reason). For frames without destructors, which
/// unwinding skips, below frames of the core.
class StaysAtEnd {
 public:
  StaysAtEnd() = default;
  StaysAtEnd(const StaysAtEnd &) = delete;
  ~StaysAtEnd() {
    while (!is_over_) ::pause();
  }
  void over() { is_over_ = true; }

 private:
  volatile bool is_over_ = false;
};

/// Releases the GIL during its lifetime.
class GilReleased {
 public:
  GilReleased() : saved_(PyEval_SaveThread()) {}
  ~GilReleased() { take(); }
  GilReleased(const GilReleased &) = delete;
  GilReleased &operator=(const GilReleased &) = delete;
  /// Runs f(), which must not throw, with the GIL held.
  template <class F>
  auto with_gil(F &&f) {
    StaysAtEnd stays;
    PyEval_RestoreThread(saved_);
    auto result = f();
    saved_ = PyEval_SaveThread();
    stays.over();
    return result;
  }

 private:
  void take() {
    StaysAtEnd stays;
    PyEval_RestoreThread(saved_);
    stays.over();
  }
  PyThreadState *saved_;
};

/// The parameters of a kernel's function.
struct Parameters {
  std::vector<PyRef> names, defaults;  ///< interned names; defaults may be null
  size_t positional_only = 0;
  bool refused = false;            ///< some are of a kind that kernels cannot have (E112)
  bool has_out_parameter = false;  ///< a parameter binds the keyword out=
};

/// The captured values of a kernel. Each distinct set of values is a generation.
struct CapturedState {
  std::vector<Guard> guards;
  std::vector<Callee> callees;  ///< including callees of callees
  Captures values;
  /// The captured arrays as now bound, by name: the last arguments of every call.
  std::vector<std::pair<std::string, PyRef>> arrays;
  uint64_t generation = 0;
  std::map<std::string, uint64_t> generations;  ///< keyed by the captured values, for those with plans
  uint64_t last_generation = 0;                 ///< the highest number given so far
  std::string changing;                         ///< name of a captured number that changed its value, or ""
  size_t versions = 0;                          ///< sets of captured values compiled for
  bool told_changing = false;                   ///< W502 was issued
  bool fresh = false;                           ///< the values were read and compiled
};

/// What a kernel object has done in this process.
struct KernelStats {
  uint64_t calls = 0, versions = 0;   ///< calls include those that raised; versions include dropped ones
  uint64_t compiled = 0, loaded = 0;  ///< bodies, by compilation and from the disk cache
  double compile_seconds = 0, load_seconds = 0;
};

/// What the user says about a kernel.
struct KernelOptions : CodegenOptions {
  bool waits = false;  ///< calls on a GPU return when the kernel has ended, and raise its faults
};

/// The function, the captured values and the plans of one kernel object.
class KernelState {
 public:
  PyObject *function = nullptr;  ///< owned
  PyRef code, default_values;    ///< its code, and its defaults or null, when read_function read it
  std::string name;
  Parameters parameters;
  KernelPlace place;
  KernelOptions options;
  std::string identity;
  CapturedState captured;
  std::vector<std::unique_ptr<CallPlan>> plans;  ///< most recently used first
  CallPlan *last_plan = nullptr;                 ///< the first of them
  std::set<std::string> warned;
  KernelStats stats;

  ~KernelState();
  /// Visits the references that may form cycles with the kernel (tp_traverse).
  int traverse(visitproc visit, void *arg);

  /// Returns whether every captured name still has the same object.
  bool guards_hold() const {
    for (const Guard &g : captured.guards)
      if (!g.holds()) return false;
    return true;
  }
  /// Returns whether the function still has the code and the default values that read_function found.
  bool function_holds() const {
    return PyFunction_GET_CODE(function) == code.get() &&
           PyFunction_GET_DEFAULTS(function) == default_values.get();
  }
  /// Reads name, parameters and place of the function. The next call reads the captures again. Returns false
  /// if Python raised.
  bool read_function();
  /// Updates the function and its captured values, for uses of the kernel other than calls. Returns false if
  /// Python raised.
  bool look() { return (function_holds() || read_function()) && refresh(); }
  /// Reads the captured values again (kernelwright.capture); a changed value starts a new generation. Returns
  /// false if Python raised.
  bool refresh();

  /// Returns the request for one body of the specialization for `signature`, for the present target of a
  /// device.
  Request request(const Signature &signature, Body body, Device device = {}) const;
  /// Returns a body from memory, from disk or by compilation; null with a Python exception. Sets
  /// `was_stored`, if given, to whether it was on disk.
  std::shared_ptr<const LoadedKernel> obtain(const Request &r, bool *was_stored = nullptr);
  /// Checks the text without types. Returns false with a Python exception if it has errors.
  bool check();
  /// Reads the source text (kernelwright.source). Returns false if Python raised.
  bool read_source(SourceText &out) const;
  /// Adds a plan and drops the oldest ones beyond max_plans.
  CallPlan *add_plan(std::unique_ptr<CallPlan> plan);
  /// Counts a new set of captured values. Issues W502 if a number changes each time. Returns false if Python
  /// raised.
  bool count_version();
  /// Issues the kernel's warnings, each once per process. Returns false if Python raised.
  bool warn_once(const LoadedKernel &kernel);

 private:
  SingleFlight compiler_;
  bool has_plans_of(uint64_t number) const;
};

}  // namespace kw
