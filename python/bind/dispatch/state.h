// What a kernel object knows: its function, its guards on captured values, and its plans (one per signature).
// All of it is used under the GIL; compilations run without it behind one cell per key.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bind/dispatch/raise.h"
#include "runtime/versions/signature_words.h"
#include "runtime/versions/single_flight.h"
#include "runtime/versions/version.h"

namespace kw {

/// A function of any type for a PyType_Slot.
template <class F>
void *slot(F *f) {
  return reinterpret_cast<void *>(f);
}

/// Owning reference.
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

/// A place of which the current captures were made, with the object seen there: the entry of a dict, a cell,
/// or what a function runs and its default values. Numbered as in kernelwright.capture.
struct Guard {
  enum class Kind : uint8_t { entry, cell, code, defaults, keyword_defaults };
  PyRef container, key, seen;
  Kind kind{};
  mutable uint64_t version = 0;  ///< of a dict that had the entry; 0 is none's

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
  /// CPython numbers the states of all dicts (PEP 509); from 3.12 on it wants nobody to look.
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

/// A Python function that a kernel calls, and what it ran when the captures were made.
struct Callee {
  PyRef function, code;
};

inline constexpr size_t max_plans = 64;  ///< a kernel forgets the least recently used ones beyond these
inline constexpr size_t max_dims = max_rank * (2 * max_args + max_outputs);

/// What a call that repeats the last one's types and shapes is recognised by: plain arrays of NumPy's own
/// dtypes, Python's numbers, one output. Not valid for any other call.
struct InlineCache {
  struct Tensor {
    const void *descr = nullptr;  ///< NumPy's immortal object of the dtype
    uint32_t rank = 0;
    bool zeroed = false;
    int64_t bytes = 0;
  };
  enum class Kind : uint8_t { tensor, truth, integer, real };
  bool valid = false;
  uint32_t arguments = 0, inputs = 0;  ///< inputs: those of the arguments that are tensors
  Kind kinds[max_args] = {};
  Tensor tensors[max_args + 1];  ///< the inputs, then the output
};

/// A version with what recognises its calls.
struct CallPlan : Version {
  std::array<uint16_t, max_words> words{};
  size_t word_count = 0;
  uint64_t generation = 0;           ///< of the captured values
  uint8_t mode = 0;                  ///< execution_mode() that it is for
  bool results_are_outputs = false;  ///< it returns its outputs in their order
  uint32_t users = 0;                ///< calls that hold it: it cannot be forgotten now
  InlineCache inline_cache;          ///< of the last call
};

/// Holds a plan for a call.
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

/// In a frame that calls Python without the GIL or may lose it: a thread that the interpreter ends there
/// sleeps (bind/dispatch/thread_end.cpp says why). For frames that have nothing to destroy, which the
/// unwinding does not ask, below frames of the core.
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

/// The GIL is free while this lives.
class GilReleased {
 public:
  GilReleased() : saved_(PyEval_SaveThread()) {}
  ~GilReleased() { take(); }
  GilReleased(const GilReleased &) = delete;
  GilReleased &operator=(const GilReleased &) = delete;
  /// Runs f(), which throws nothing, with the GIL held.
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
  bool has_out_parameter = false;  ///< out= binds it
};

/// The captured values of a kernel. Each set of them is a generation.
struct CapturedState {
  std::vector<Guard> guards;
  std::vector<Callee> callees;  ///< also those called through others
  Captures values;
  /// The captured arrays as the names hold them now, by the names: the last arguments of every call.
  std::vector<std::pair<std::string, PyRef>> arrays;
  uint64_t generation = 0;
  std::map<std::string, uint64_t> generations;  ///< by the captured values, of those that have plans
  uint64_t last_generation = 0;                 ///< the highest number given so far
  std::string changing;                         ///< a captured number that had another value before, or ""
  size_t versions = 0;                          ///< how many sets of captured values were compiled for
  bool told_changing = false;                   ///< W502 was issued
  bool fresh = false;                           ///< the values were read and have compiled
};

/// The function, the captured values and the plans that one kernel object owns.
class KernelState {
 public:
  PyObject *function = nullptr;  ///< owned
  PyRef code, default_values;    ///< what it ran, and its defaults or null, when read_function read it
  std::string name;
  Parameters parameters;
  KernelPlace place;
  CodegenOptions options;
  std::string identity;
  CapturedState captured;
  std::vector<std::unique_ptr<CallPlan>> plans;  ///< the most recently used first
  CallPlan *last_plan = nullptr;                 ///< the first of them
  std::set<std::string> warned;

  ~KernelState();
  /// Visits the references that may lead back to the kernel (tp_traverse).
  int traverse(visitproc visit, void *arg);

  /// True when every captured name still has the object it had.
  bool guards_hold() const {
    for (const Guard &g : captured.guards)
      if (!g.holds()) return false;
    return true;
  }
  /// True when the function still runs the code, with the default values, that read_function found.
  bool function_holds() const {
    return PyFunction_GET_CODE(function) == code.get() &&
           PyFunction_GET_DEFAULTS(function) == default_values.get();
  }
  /// Reads name, parameters and place of the function; the captures are read anew at the next call. False
  /// when Python raised.
  bool read_function();
  /// What a look at the kernel without a call begins with: the function and its captured values as they are
  /// now. False when Python raised.
  bool look() { return (function_holds() || read_function()) && refresh(); }
  /// Reads the captured values anew (kernelwright.capture); a change of value starts a new generation. False
  /// when Python raised.
  bool refresh();

  /// Returns the request for one body of the version for `signature`, for the present target.
  Request request(const Signature &signature, Body body) const;
  /// From memory, disk or a compilation; null with a Python exception set.
  std::shared_ptr<const LoadedKernel> obtain(const Request &r);
  /// False with a Python exception set when a text shows errors without any types.
  bool check();
  /// The source text (kernelwright.source); false when Python raised.
  bool read_source(SourceText &out) const;
  /// Adds a plan, and forgets old ones beyond max_plans.
  CallPlan *add_plan(std::unique_ptr<CallPlan> plan);
  /// Counts a new version by its captured values; W502 when a number changes at every one. False when Python
  /// raised.
  bool count_version();
  /// Issues the kernel's warnings, each once in a process; false when Python raised.
  bool warn_once(const LoadedKernel &kernel);

 private:
  SingleFlight compiler_;
  bool has_plans_of(uint64_t number) const;
};

}  // namespace kw
