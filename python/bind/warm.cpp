// Compiles kernels as calls do, but for any target, and without running them.
#include "bind/warm.h"

#include <pybind11/stl.h>

#include "bind/dispatch/dispatch.h"
#include "bind/dispatch/recorded.h"
#include "bind/inspect.h"
#include "runtime/cuda/cubins.h"
#include "support/text.h"
#include "transform/pass.h"

namespace py = pybind11;

namespace kw {

namespace {

/// Warms one kernel for the arguments of one call; lists what it made.
class WarmUp {
 public:
  WarmUp(KernelState &k, const py::tuple &args, const py::dict &keywords)
      : k_(k), args_(args), keywords_(keywords) {}

  /// Compiles what a call would need on a machine of this target. Returns false with an exception.
  bool compile_for(const std::string &name, const Target &target) {
    CallFrame f;
    if (!read_call(k_, args_, keywords_, f)) return false;
    Request r = k_.request(signature_of(f.words), Body::main);
    r.target = target;
    CallPlan plan;
    plan.main = obtain(name, r);
    if (!plan.main) return false;
    // only the artifact says which arguments are written
    for (const ParamRecord &p : plan.main->artifact().params) plan.has_inout |= p.mode == ParamMode::inout;
    if (plan.has_inout && !check_written(k_, plan, f)) return false;
    if (f.same_views && !f.in_source_order) {
      f.add_alias_words(f.arg_count, f.out_count);
      r.signature = signature_of(f.words);
      if (!obtain(name, r)) return false;
    }
    r.options.body = Body::plain;
    return obtain(name, r) != nullptr;
  }

  /// Compiles what a call with arrays on such a GPU needs of it. Returns false with an exception.
  bool compile_for_device(const Target &target) {
    CallFrame f;
    SourceText source;
    if (!read_call(k_, args_, keywords_, f) || !k_.read_source(source)) return false;
    Request r = k_.request(signature_of(f.words), Body::main);
    r.target = target, r.backend = "cuda";
    Artifact made;
    if (!obtain_for_device(r, source, made)) return false;
    CallPlan plan;
    for (const ParamRecord &p : made.params) plan.has_inout |= p.mode == ParamMode::inout;
    if (!plan.has_inout) return true;
    // arguments that are the same view are compiled as one buffer
    if (!note_written(made, f)) return false;
    if (!f.same_views || f.in_source_order) return true;
    f.add_alias_words(f.arg_count, f.out_count);
    r.signature = signature_of(f.words);
    return obtain_for_device(r, source, made);
  }

  /// Makes the plan of such calls in this process, from what compile_for stored. Returns false with an
  /// exception.
  bool make_plan() {
    CallFrame f;
    PlanPin plan;
    return read_call(k_, args_, keywords_, f) && choose_plan(k_, f, plan) &&
           need_body(k_, *plan, Body::plain);
  }

  py::list made() { return std::move(made_); }

 private:
  /// Obtains the body of a request and lists it; null with an exception.
  std::shared_ptr<const LoadedKernel> obtain(const std::string &target, const Request &r) {
    double begin = now_ms();
    bool was_stored = false;
    auto kernel = k_.obtain(r, &was_stored);
    if (!kernel) return nullptr;
    const char *body = r.options.body == Body::main ? "main" : "plain";
    made_.append(py::make_tuple(target, body, key_of(r).text(), was_stored, now_ms() - begin));
    return kernel;
  }

  /// Makes text and machine code for a GPU and lists the body. Returns false with an exception.
  bool obtain_for_device(const Request &r, const SourceText &source, Artifact &made) {
    double begin = now_ms();
    bool was_stored = false;
    try {
      GilReleased released;
      made = warm_device(r, source, was_stored);
    } catch (const ResolvedError &e) {
      raise_resolved(e, k_.place);
      return false;
    }
    made_.append(py::make_tuple(r.target.arch, "main", key_of(r).text(), was_stored, now_ms() - begin));
    if (is_recording_versions()) record_version(k_, r, source);
    return true;
  }

  /// Finds arguments that are the same view as a written one. Returns false with an exception.
  bool note_written(const Artifact &a, CallFrame &f) {
    CallArrays arrays;
    for (size_t i = 0; i < f.arg_count; ++i) arrays.arguments.push_back(array_of(f.args[i]));
    auto refused = kw::check_written(f, arrays, a, k_.name);
    if (refused) raise_error(Code::E222, refused->message, refused->help);
    return !refused;
  }

  KernelState &k_;
  const py::tuple &args_;
  const py::dict &keywords_;
  py::list made_;
};

}  // namespace

std::optional<Target> target_from_name(const std::string &name) {
  if (name == "host") return kernel_target().target;
  if (name == "avx512" || name == "avx2" || name == "generic") return target_of_class(name);
  std::string text = cat("there is no target '", name, "'; the targets are: host, avx512, avx2, generic");
  PyErr_SetString(PyExc_ValueError, text.c_str());
  return {};
}

py::object warm_kernel(PyObject *kernel, const py::tuple &args, const py::dict &keywords,
                       const std::vector<std::string> &targets, const std::vector<std::string> &devices) {
  KernelState *k = state_of(kernel);
  if (!k || !k->look()) return {};
  const Target &present = kernel_target().target;
  WarmUp warm(*k, args, keywords);
  // every name is known before the first version is made
  std::vector<std::pair<std::string, Target>> hosts, gpus;
  for (const std::string &name : targets) {
    auto target = target_from_name(name);
    if (!target) return {};
    hosts.emplace_back(name, *target);
  }
  for (const std::string &name : devices) {
    auto target = device_target(name);
    if (!target) PyErr_SetString(PyExc_ValueError, unknown_device(name).c_str());
    if (!target) return {};
    gpus.emplace_back(name, *target);
  }
  for (const auto &[name, target] : hosts) {
    bool is_present = target.feature_text() == present.feature_text();
    if (!warm.compile_for(name, is_present ? present : target) || (is_present && !warm.make_plan()))
      return {};
  }
  for (const auto &[name, target] : gpus)
    if (!warm.compile_for_device(target)) return {};
  return warm.made();
}

}  // namespace kw
